/** The times of an answer as a strip: tokens across; down, the share of loading weights, of each net, of each kind of op. */
import type { TokenTimes } from "../../src/protocol/generated";
import { html } from "../shared/dom";
import { t } from "../shared/l10n";
import { shareRows, type ShareRow } from "./model";

const DIGITS = 3;

export function timesTable(times: TokenTimes): HTMLElement {
  const numbers = times.milliseconds.map((_, number) =>
    html("th", { scope: "col", class: "number" }, number === 0 ? t("prompt") : String(number)),
  );
  const milliseconds = times.milliseconds.map((one) =>
    html("td", { class: "number" }, one === null ? "" : one.toPrecision(DIGITS)),
  );
  return html(
    "div",
    {},
    html(
      "table",
      {},
      html("thead", {}, html("tr", {}, html("th", { scope: "col" }, t("Token")), ...numbers)),
      html(
        "tbody",
        {},
        html("tr", {}, html("th", { scope: "row" }, t("ms on the chip, estimated")), ...milliseconds),
        ...shareRows(times).map(rowOf),
      ),
    ),
    html(
      "p",
      { class: "status" },
      times.rate === null ? "" : t("{0} tokens/s after the prompt", times.rate.toFixed(1)),
    ),
  );
}

function rowOf({ kind, name, shares }: ShareRow): HTMLElement {
  return html(
    "tr",
    { class: kind },
    html("th", { scope: "row" }, kind === "weights" ? t("weights, of the DMA") : name || t("no op")),
    ...shares.map((share) => {
      const cell = html("td", { class: "number share" }, `${String(Math.round(100 * share))} %`);
      cell.style.setProperty("--share", share.toFixed(DIGITS));
      return cell;
    }),
  );
}
