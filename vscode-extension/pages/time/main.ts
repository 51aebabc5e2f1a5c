/** The time slider: shows what comes next at each moment, and travels to where it is let go. */
import "../shared/theme.css";
import "./time.css";
import type { FromTimePage, ToTimePage } from "../../src/protocol/messages";
import { html } from "../shared/dom";
import { listen, send } from "../shared/host";
import { t } from "../shared/l10n";
import { elided } from "../shared/text";
import { Marks } from "./marks";

const slider = html("input", { type: "range", min: 0, max: 0, value: 0, "aria-label": t("Commands executed") });
const number = html("output", { id: "ordinal" });
const about = html("p", { id: "moment" });
const nothing = html("p", {}, t("Debug a model to travel forwards and backwards through its commands."));

const marks = new Marks((ordinal) => {
  send({ type: "travel", ordinal } satisfies FromTimePage);
});
const bookmark = html("button", {
  type: "button",
  id: "bookmark",
  click: () => {
    send({ type: "bookmark", ordinal: slider.valueAsNumber } satisfies FromTimePage);
  },
});

/** Of a name: more do not fit a line of the side bar. */
const LETTERS = 32;

/** Whether the slider has been moved and the journey has not begun. */
let looking = false;
/** With the keyboard it is let go at each key, and a journey takes the focus to the editor: wait for the last one. */
const PAUSE_MILLISECONDS = 250;
let going: number | undefined;

slider.addEventListener("input", () => {
  looking = true;
  number.textContent = t("{0} of {1}", slider.value, slider.max);
  send({ type: "look", ordinal: slider.valueAsNumber } satisfies FromTimePage);
});
slider.addEventListener("change", () => {
  window.clearTimeout(going);
  going = window.setTimeout(() => {
    looking = false;
    send({ type: "travel", ordinal: slider.valueAsNumber } satisfies FromTimePage);
  }, PAUSE_MILLISECONDS);
});

function show({ moment, marks: found }: ToTimePage): void {
  if (moment === undefined) {
    document.body.replaceChildren(nothing);
    return;
  }
  if (slider.parentElement === null)
    document.body.replaceChildren(
      marks.element,
      slider,
      html("div", { class: "bar" }, number, marks.buttons, bookmark),
      about,
    );
  const { at, commands, op, location, line, command, launch } = moment;
  // An answer to an earlier look must not tear the slider from under the hand.
  if (looking && at !== slider.valueAsNumber) return;
  slider.max = String(commands);
  slider.valueAsNumber = at;
  number.textContent = t("{0} of {1}", at, commands);
  const where = moment.place ?? t("line {0}", line ?? "");
  const place = op === undefined ? "" : t("{0}, {1}", `${op} ${elided(location ?? "", LETTERS)}`, where);
  about.replaceChildren(
    html("span", { id: "launch", title: launch ?? "" }, launch ?? ""),
    html("strong", { title: location ?? "" }, command === undefined ? t("At the end") : place),
    html("code", {}, command ?? ""),
  );
  marks.show(found, commands, at);
  const isKept = found.some(({ kind, ordinal }) => kind === "bookmark" && ordinal === at);
  bookmark.textContent = isKept ? "★" : "☆";
  bookmark.title = isKept ? t("Remove the bookmark at this moment") : t("Bookmark this moment; kept for this model");
  bookmark.setAttribute("aria-label", t("Bookmark"));
  bookmark.setAttribute("aria-pressed", String(isKept));
  slider.setAttribute("aria-valuetext", `${number.textContent} ${place}`);
}

listen((message: ToTimePage) => {
  show(message);
});
