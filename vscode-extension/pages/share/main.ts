/** A shared session: the moment, the source, the commands, the values, and buttons that step both ways. */
import "./share.css";
import type { Files, Model, Reply, State, Tensor } from "./messages";
import { draw } from "../shared/picture";

const AROUND = 200;
/** Lines of final.mlir that are shown on either side of the present one. */

interface Settings {
  readonly wheels: readonly string[];
  readonly title: string;
}

function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Partial<HTMLElementTagNameMap[K]> = {},
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  Object.assign(made, properties);
  made.append(...children);
  return made;
}

/** Files that the page holds itself, taken out of it; null where they are next to it. */
function inside(): Files | null {
  const holders = [...document.querySelectorAll<HTMLScriptElement>("script[data-name]")];
  if (holders.length === 0) return null;
  const files: Record<string, ArrayBuffer> = {};
  for (const holder of holders) {
    const text = atob(holder.textContent);
    const bytes = new Uint8Array(text.length);
    for (let index = 0; index < text.length; index++) bytes[index] = text.charCodeAt(index);
    files[holder.dataset.name ?? ""] = bytes.buffer;
    holder.remove();
  }
  return files;
}

class Engine {
  private readonly waiting = new Map<number, (answer: Record<string, unknown>) => void>();
  private next = 1;

  constructor(private readonly worker: Worker) {}

  /** Let the engine start; `progress` is told how far it is. */
  async start(settings: Settings, files: Files | null, progress: (text: string) => void): Promise<void> {
    const base = files === null ? document.baseURI : "file:///shared/";
    await new Promise<void>((resolve, reject) => {
      this.worker.addEventListener("message", (event: MessageEvent<Reply>) => {
        const { data } = event;
        if (data.kind === "progress") progress(data.text);
        else if (data.kind === "ready") resolve();
        else if (data.kind === "failed") reject(new Error(data.text));
        else {
          this.waiting.get(data.id)?.(JSON.parse(data.answer) as Record<string, unknown>);
          this.waiting.delete(data.id);
        }
      });
      this.worker.addEventListener("error", (event) => {
        reject(new Error(event.message));
      });
      this.worker.postMessage({ base, files, wheels: settings.wheels });
    });
  }

  /** The answer to a question; an error says why there is none. */
  async ask<T>(ask: string, more: Readonly<Record<string, unknown>> = {}): Promise<T> {
    const id = this.next++;
    const answer = await new Promise<Record<string, unknown>>((resolve) => {
      this.waiting.set(id, resolve);
      this.worker.postMessage({ id, question: JSON.stringify({ ask, ...more }) });
    });
    if (typeof answer.error === "string") throw new Error(answer.error);
    return answer as T;
  }
}

class Page {
  private readonly source = element("ol", { className: "source" });
  private readonly listing = element("ol", { className: "listing" });
  private readonly values = element("ul", { className: "values" });
  private readonly where = element("p", { className: "where" });
  private readonly picture = element("section", { className: "tensor" });
  private readonly console = element("pre", { className: "console" });
  private readonly slider = element("input", { type: "range", min: "0" });
  private shown = "";
  private isBusy = false;

  constructor(
    private readonly engine: Engine,
    private readonly model: Model,
    main: HTMLElement,
  ) {
    this.slider.max = String(model.commands);
    this.slider.setAttribute("aria-label", "Moment");
    this.slider.addEventListener("change", () => {
      void this.go("travel", { ordinal: Number(this.slider.value) });
    });
    const button = (text: string, title: string, act: () => void): HTMLButtonElement => {
      const made = element("button", { textContent: text, title });
      made.addEventListener("click", act);
      return made;
    };
    const step = (text: string, title: string, count: number, unit: string): HTMLButtonElement =>
      button(text, title, () => void this.go("step", { count, unit }));
    const marks = Object.entries(model.bookmarks).map(([name, ordinal]) =>
      button(name, `command ${String(ordinal)}`, () => void this.go("travel", { ordinal })),
    );
    const ask = element("input", { type: "text", placeholder: "max(out[0]), trace max(out[0]), where max(x) > 6e4" });
    ask.setAttribute("aria-label", "Ask");
    ask.addEventListener("keydown", (event) => {
      if (event.key === "Enter") void this.line(ask.value);
    });
    main.replaceChildren(
      element("h1", { textContent: model.title }),
      element(
        "nav",
        {},
        button("start", "To the start", () => void this.go("travel", { ordinal: 0 })),
        step("◀ op", "Back one op", -1, "op"),
        step("◀ command", "Back one command", -1, "command"),
        step("command ▶", "One command", 1, "command"),
        step("op ▶", "One op", 1, "op"),
        button("end", "To the end", () => void this.go("travel", { ordinal: model.commands })),
        this.slider,
        ...marks,
      ),
      this.where,
      element(
        "div",
        { className: "columns" },
        this.source,
        element("div", { className: "side" }, this.values, this.picture, ask, this.console, this.listing),
      ),
    );
  }

  /** Show a moment. */
  show(state: State): void {
    const { ordinal, line, values } = state;
    this.slider.value = String(ordinal);
    const at = `${ordinal.toLocaleString("en")} of ${this.model.commands.toLocaleString("en")} commands executed`;
    const op = this.model.ops.find((each) => each.line === line);
    const name = op === undefined ? "" : `; next: ${op.opcode} ${op.name}, line ${String(op.line)}`;
    this.where.textContent = `${at}${state.atEnd ? "; the end" : name}${state.text === "" ? "" : `: ${state.text}`}`;
    this.showSource(line);
    this.listing.replaceChildren(
      ...state.listing.map((command) =>
        element("li", {
          value: command.ordinal,
          className: command.ordinal === state.focus ? "here" : "",
          textContent: command.text,
        }),
      ),
    );
    this.values.replaceChildren(
      ...values.map((value) => {
        const made = element("button", { textContent: value.title, title: "Show as a picture" });
        made.addEventListener("click", () => void this.tensor(value.expression));
        return element("li", {}, made, element("span", { textContent: value.text }));
      }),
    );
    for (const list of [this.source, this.listing]) list.querySelector(".here")?.scrollIntoView({ block: "center" });
    if (this.shown !== "" && values.some((value) => value.expression === this.shown)) void this.tensor(this.shown);
  }

  private showSource(line: number): void {
    const lines = this.model.mlir;
    const first = Math.max(0, line - AROUND);
    this.source.start = first + 1;
    this.source.replaceChildren(
      ...lines
        .slice(first, line + AROUND)
        .map((text, index) =>
          element("li", { className: first + index + 1 === line ? "here" : "", textContent: text.trim() }),
        ),
    );
  }

  /** Go somewhere, and show what is there. */
  async go(ask: string, more: Readonly<Record<string, unknown>>): Promise<void> {
    if (this.isBusy) return;
    this.isBusy = true;
    document.body.classList.add("busy");
    try {
      this.show(await this.engine.ask<State>(ask, more));
    } catch (error) {
      this.where.textContent = error instanceof Error ? error.message : String(error);
    } finally {
      this.isBusy = false;
      document.body.classList.remove("busy");
    }
  }

  private async tensor(expression: string): Promise<void> {
    this.shown = expression;
    try {
      const tensor = await this.engine.ask<Tensor>("tensor", { expression });
      this.picture.replaceChildren(
        element("h2", { textContent: tensor.title }),
        draw(tensor.picture, `picture of ${tensor.title}`),
        element("p", { textContent: [tensor.text, tensor.difference].filter((text) => text !== "").join("; ") }),
      );
    } catch (error) {
      this.picture.replaceChildren(
        element("p", { textContent: error instanceof Error ? error.message : String(error) }),
      );
    }
  }

  private async line(text: string): Promise<void> {
    try {
      const answer = await this.engine.ask<{ lines: string[] }>("line", { text });
      this.console.textContent = answer.lines.join("\n");
    } catch (error) {
      this.console.textContent = error instanceof Error ? error.message : String(error);
    }
  }
}

async function open(main: HTMLElement): Promise<void> {
  const settings = JSON.parse(document.getElementById("settings")?.textContent ?? "{}") as Settings;
  const status = element("p", { className: "status" });
  status.setAttribute("role", "status");
  main.replaceChildren(element("h1", { textContent: settings.title }), status);
  const files = inside();
  try {
    const code = files?.["shareWorker.js"] ?? (await (await fetch("shareWorker.js")).arrayBuffer());
    const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
    const engine = new Engine(new Worker(url));
    await engine.start(settings, files, (text) => {
      status.textContent = `${text} ...`;
    });
    const model = await engine.ask<Model>("model");
    const page = new Page(engine, model, main);
    page.show(await engine.ask<State>("state"));
    Object.assign(window, { shared: (ask: string, more: Readonly<Record<string, unknown>>) => engine.ask(ask, more) });
    document.body.classList.add("ready");
  } catch (error) {
    status.textContent = `this page cannot run here: ${error instanceof Error ? error.message : String(error)}`;
    document.body.classList.add("failed");
  }
}

const main = document.querySelector("main");
if (main !== null) void open(main);
