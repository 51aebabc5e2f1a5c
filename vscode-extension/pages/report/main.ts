/** The program of a page outside of the editor: it shows the data that the page holds. */
import "../shared/page.css";
import "./report.css";
import type { Page } from "../../src/protocol/generated";
import { showCheck } from "./check";
import { showGraph } from "./graph";
import { askHost } from "./view";
import { showZoo } from "./zoo";

function show(page: Page, main: HTMLElement): void {
  document.body.className = page.kind;
  switch (page.kind) {
    case "check":
      showCheck(page, main);
      break;
    case "graph":
      showGraph(page, main);
      break;
    case "zoo":
      showZoo(page, main);
      break;
    case "view":
      askHost(page, main, show);
      break;
  }
}

const [main, data] = [document.querySelector("main"), document.getElementById("data")];
if (main !== null && data !== null) show(JSON.parse(data.textContent) as Page, main);
