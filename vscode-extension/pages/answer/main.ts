import "../shared/page.css";
import "./answer.css";
import { textOf } from "../../src/protocol/errors";
import type { AnswerState, Logits } from "../../src/protocol/generated";
import type { FromModelPage } from "../../src/protocol/messages";
import { button, html } from "../shared/dom";
import { ask, send } from "../shared/host";
import { t } from "../shared/l10n";
import { follow, travel, viewTensor } from "../shared/session";
import { count } from "../shared/text";
import { firstWrong, promptOf, stripOf, tokenText, type Cell } from "./model";
import { stateText, StripTable } from "./strip";
import { timesTable } from "./times";

/** While the program runs, the page looks how far it has got. */
const POLL_MILLISECONDS = 1000;
const MOST_CANDIDATES = 12;
const DIGITS = 3;

const prompt = html("textarea", {
  rows: 2,
  placeholder: t("Prompt: a text, or numbers of tokens such as 5, 17, 30"),
  "aria-label": t("Prompt"),
  keydown: (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey) return;
    event.preventDefault();
    start();
  },
});
const tokens = html("input", { type: "number", id: "tokens", min: 1, max: 9999, value: 8 });
const chat = html("input", { type: "checkbox", id: "chat" });
const status = html("span", { class: "status", role: "status" });
const trouble = html("p", { class: "trouble", role: "alert" });
const verdict = html("div", { class: "verdict" });
const text = html("p", { class: "answer", "aria-live": "polite" });
const details = html("p", { class: "details status", "aria-live": "polite" });
const candidates = html("section", { class: "candidates" });
const times = html("div", { class: "strip" });
const timesFolded = html(
  "details",
  { class: "times", toggle: () => void showTimes() },
  html("summary", {}, t("Time per Token")),
  times,
);
const strip = new StripTable({
  chosen: ({ launch }) => {
    travel(launch.look);
  },
  pointed: (cell) => {
    details.textContent = cell === undefined ? "" : detailsOf(cell);
  },
});

let isDebugged = false;
let seen = -1;
let turn = 0;
let isFinished = false;

document.body.append(
  html(
    "form",
    {
      class: "ask",
      submit: (event: Event) => {
        event.preventDefault();
        start();
      },
    },
    prompt,
    html(
      "div",
      { class: "bar" },
      html("button", { type: "submit", class: "primary" }, t("Ask")),
      html("label", { for: "tokens" }, t("Tokens")),
      tokens,
      html("span", {}, chat, html("label", { for: "chat" }, t("chat template"))),
      button(t("Compare with the Float Model …"), chooseFloatModel, {
        title: t("Choose the folder of the model before conversion: config.json and .safetensors"),
      }),
      html("span", { class: "fill" }),
      status,
    ),
  ),
  trouble,
  text,
  verdict,
  html("main", {}, strip.element, candidates),
  details,
  timesFolded,
);

follow({
  load: (debugged) => {
    isDebugged = debugged;
    seen = -1;
    timesFolded.open = false;
    times.replaceChildren();
    return load();
  },
  stopped: load,
  ended: () => {
    isDebugged = false;
    status.textContent = seen < 0 ? "" : t("The session has ended.");
  },
  failed: (why) => {
    trouble.textContent = why;
  },
});
setInterval(() => void poll(), POLL_MILLISECONDS);

function start(): void {
  const asked = promptOf(prompt.value);
  if (asked.length === 0) {
    prompt.focus();
    return;
  }
  trouble.textContent = "";
  send({
    type: "prompt",
    prompt: asked,
    tokens: Math.max(1, Math.trunc(tokens.valueAsNumber || 1)),
    chat: chat.checked && typeof asked === "string",
  } satisfies FromModelPage);
}

function chooseFloatModel(): void {
  send({ type: "chooseFloatModel" } satisfies FromModelPage);
}

async function poll(): Promise<void> {
  if (!isDebugged || isFinished || document.visibilityState !== "visible") return;
  const found = await ask("tdb/time").catch(() => undefined);
  if (found !== undefined && found.ordinal !== seen) await load();
}

async function load(): Promise<void> {
  if (!isDebugged) {
    clear(t("Type a prompt and press Enter: all nets of the language model run as one program."));
    return;
  }
  const mine = ++turn;
  const [state, time] = await Promise.all([ask("tdb/answer").catch(textOf), ask("tdb/time")]);
  if (mine !== turn) return;
  if (typeof state === "string") {
    clear(t("This session runs a single net. Type a prompt to run the whole language model."));
    return;
  }
  seen = time.ordinal;
  isFinished = time.ordinal >= time.commands;
  show(state);
  const logits = await ask("tdb/logits", { most: MOST_CANDIDATES }).catch(() => undefined);
  if (mine === turn) showCandidates(logits);
}

function clear(why: string): void {
  status.textContent = why;
  text.replaceChildren();
  verdict.replaceChildren();
  candidates.replaceChildren();
  strip.show({ rows: [], tokens: [], cells: new Map() });
  strip.element.hidden = true;
  timesFolded.hidden = true;
}

/** Estimated when they are first looked at: all commands of the answer have to be. */
async function showTimes(): Promise<void> {
  if (!timesFolded.open || times.hasChildNodes() || !isDebugged) return;
  times.replaceChildren(t("Estimating …"));
  const found = await ask("tdb/tokenTimes").catch(textOf);
  times.replaceChildren(typeof found === "string" ? found : timesTable(found));
  timesFolded.scrollIntoView({ block: "nearest" });
}

function show(state: AnswerState): void {
  strip.element.hidden = false;
  timesFolded.hidden = false;
  trouble.textContent = "";
  const known = state.tokens.filter(({ id }) => id !== null).length;
  status.textContent = t("{0} of {1} tokens", known, state.tokens.length);
  const asked = state.promptText ?? state.prompt.map((id) => `#${String(id)}`).join(" ");
  text.replaceChildren(
    html("span", { class: "asked" }, asked),
    ...state.tokens.map(({ number, id, text: shown, expected, expectedText, first, state: when }) =>
      button(
        tokenText(id, shown),
        () => {
          travel(first);
        },
        {
          class: `token ${when} ${expected !== null && expected !== id ? "differs" : ""}`,
          title:
            expected !== null && expected !== id
              ? t("token {0}; in float {1}", number, tokenText(expected, expectedText))
              : t("token {0}: travel to its first command", number),
        },
      ),
    ),
  );
  verdict.replaceChildren(...verdictOf(state));
  strip.show(stripOf(state));
  details.textContent = "";
}

function verdictOf(state: AnswerState): Node[] {
  if (!state.isCompared) return [];
  const wrong = firstWrong(state);
  if (wrong !== undefined)
    return [
      html("strong", { class: "trouble" }, t("First wrong: token {0}, {1}", wrong.token, wrong.net)),
      html("span", {}, ` ${wrong.why} `),
      button(
        t("travel there"),
        () => {
          travel(wrong.look);
        },
        { class: "link" },
      ),
    ];
  const differs = state.tokens.some(({ id, expected }) => expected !== null && expected !== id);
  return [
    html(
      "span",
      {},
      differs
        ? t("Every net is as near to the float model as its number format allows: what differs is quantisation.")
        : t("Every net so far is as the float model computes it."),
    ),
  ];
}

function detailsOf(cell: Cell): string {
  const { launch, token } = cell;
  return [t("token {0}", token), launch.net, stateText(cell), launch.why].filter(Boolean).join(" · ");
}

function showCandidates(logits: Logits | undefined): void {
  if (logits === undefined) {
    candidates.replaceChildren();
    return;
  }
  const rows = logits.candidates.map(({ id, text: shown, logit, probability }) =>
    html(
      "tr",
      {},
      html("td", {}, tokenText(id, shown)),
      html("td", { class: "number" }, count(id)),
      html("td", { class: "number" }, typeof logit === "number" ? logit.toFixed(DIGITS) : logit),
      html(
        "td",
        {},
        typeof probability === "number"
          ? html("meter", { min: 0, max: 1, value: probability, "aria-label": t("probability") })
          : probability,
      ),
      html("td", { class: "number" }, typeof probability === "number" ? `${(100 * probability).toFixed(1)} %` : ""),
    ),
  );
  candidates.replaceChildren(
    html("h2", {}, t("Logits of token {0}", logits.token)),
    button(
      t("all as a tensor"),
      () => {
        viewTensor(logits.expression);
      },
      { class: "link" },
    ),
    html(
      "table",
      {},
      html(
        "thead",
        {},
        html(
          "tr",
          {},
          html("th", { scope: "col" }, t("Token")),
          html("th", { scope: "col", class: "number" }, t("Number")),
          html("th", { scope: "col", class: "number" }, t("Logit")),
          html("th", { scope: "col", colspan: 2 }, t("Probability")),
        ),
      ),
      html("tbody", {}, ...rows),
    ),
  );
}
