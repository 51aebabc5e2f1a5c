/** What can be done with a compiled model or a recording: debug it, or look at it. */
import type { ModelContents } from "../../src/protocol/generated";
import type { Link } from "../../src/protocol/messages";
import { button, html } from "../shared/dom";
import { t } from "../shared/l10n";
import { follow } from "./parts";

/** Nets that a language model has. */
const LANGUAGE_NETS = ["block_0", "block_cache_0", "lm_head"];

/** The buttons at the top; the first is what people have come for. */
export function actions({ nets, net, recording }: ModelContents): HTMLElement {
  const names = nets.map(({ name }) => name);
  const isOneOfMany = names.length > 1 && recording === null;
  const isLanguage = isOneOfMany && LANGUAGE_NETS.every((name) => names.includes(name));
  const action = (text: string, to: Link, title: string, isPrimary = false) =>
    button(
      text,
      () => {
        follow(to);
      },
      { ...(isPrimary && { class: "primary" }), title },
    );
  const debug = action(
    isOneOfMany ? t("Debug {0}", net) : t("Start Debugging"),
    { to: "debug" },
    recording === null ? t("Debug this model") : t("Debug this recording"),
    !isLanguage,
  );
  const ask = () =>
    action(
      t("Ask the Language Model"),
      { to: "view", view: "answer" },
      t("All nets as one program that answers a prompt"),
      true,
    );
  return html(
    "div",
    { class: "actions", role: "toolbar", "aria-label": t("Views of this model") },
    ...(isLanguage ? [ask()] : []),
    debug,
    action(t("Graph"), { to: "view", view: "graph" }, t("Ops and what flows between them")),
    action(t("Timeline"), { to: "view", view: "timeline" }, t("Estimated time of each command")),
    action(t("Chip Memory"), { to: "view", view: "memory" }, t("Which tensor lies where, and when")),
    action(t("Disassembly"), { to: "listing", line: 1 }, t("Every command, one in a line")),
  );
}
