/** The time slider: shows what comes next at each moment, and travels to where it is let go. */
import type { Moment, ToTime } from "../../src/time/messages";
import { make } from "../dom";
import { listen, tell } from "../host";
import "./time.css";

const slider = make("input", { type: "range", min: 0, max: 0, value: 0, "aria-label": "Commands executed" });
const number = make("output", { id: "ordinal" });
const about = make("p", { id: "moment" });
const nothing = make("p", {}, "While a model is debugged, its moments are here to travel to.");

/** Whether the slider has been moved and the journey has not begun. */
let looking = false;
/** With the keyboard it is let go at each key, and a journey takes the focus to the editor: wait for the last one. */
const PAUSE = 250;
let going: number | undefined;

slider.addEventListener("input", () => {
  looking = true;
  number.textContent = `${slider.value} of ${slider.max}`;
  tell({ type: "look", ordinal: slider.valueAsNumber });
});
slider.addEventListener("change", () => {
  window.clearTimeout(going);
  going = window.setTimeout(() => {
    looking = false;
    tell({ type: "travel", ordinal: slider.valueAsNumber });
  }, PAUSE);
});

function show(moment: Moment | undefined): void {
  if (moment === undefined) {
    document.body.replaceChildren(nothing);
    return;
  }
  if (slider.parentElement === null) document.body.replaceChildren(slider, number, about);
  const { at, commands, op, location, line, command } = moment;
  // An answer to an earlier look must not tear the slider from under the hand.
  if (looking && at !== slider.valueAsNumber) return;
  slider.max = String(commands);
  slider.valueAsNumber = at;
  number.textContent = `${String(at)} of ${String(commands)}`;
  const place = op === undefined ? "" : `${op} ${location ?? ""}, line ${String(line ?? "")}`;
  about.replaceChildren(make("strong", {}, command === undefined ? "At the end" : place), make("code", {}, command ?? ""));
  slider.setAttribute("aria-valuetext", `${number.textContent} ${place}`);
}

listen((message) => { show((message as ToTime).moment); });
tell({ type: "ready" });
