"""Add a view: the number of commands of the current model."""

from __future__ import annotations

from scripts.recipes.recipe import Change, Recipe

_EXTENSION = "vscode-extension"
_PAGE = """import "../shared/page.css";
import { html } from "../shared/dom";
import { ask } from "../shared/host";
import { t } from "../shared/l10n";
import { follow } from "../shared/session";

const text = html("p", {});
document.body.append(text);

function say(what: string): void {
  text.textContent = what;
}

async function load(): Promise<void> {
  const moment = await ask("tdb/moment", {});
  say(t("This model has {0} commands.", moment.commands));
}

follow({
  load,
  stopped: load,
  ended: () => {
    say(t("There is no model."));
  },
  failed: say,
});
"""
_COMMAND = """
      {
        "command": "tdb.showCounts",
        "category": "TDB",
        "title": "%command.showCounts%"
      },"""
_TEXTS = """
  "This model has {0} commands.": "此模型有 {0} 条命令。",
  "There is no model.": "没有模型。",
  "Counts": "计数","""

VIEW = Recipe(
    "Add a view",
    (
        Change(1, f"{_EXTENSION}/pages/counts/main.ts", _PAGE),
        Change(2, f"{_EXTENSION}/src/panels/frame.ts", ' | "counts"', ('PageName = "tensor"',)),
        Change(
            2,
            f"{_EXTENSION}/src/panels/modelPanels.ts",
            '\n    ...page(COMMANDS.counts, "counts", vscode.l10n.t("Counts")),',
            ('vscode.l10n.t("Graph")),',),
        ),
        Change(3, f"{_EXTENSION}/src/contributions.ts", '\n  counts: "tdb.showCounts",', ('graph: "tdb.showGraph",',)),
        Change(3, f"{_EXTENSION}/package.json", _COMMAND, ('"title": "%command.showGraph%"', "},")),
        Change(3, f"{_EXTENSION}/package.nls.json", '\n  "command.showCounts": "Show Counts",', ('"Show Graph",',)),
        Change(3, f"{_EXTENSION}/package.nls.zh-cn.json", '\n  "command.showCounts": "显示计数",', ('"显示计算图",',)),
        Change(4, f"{_EXTENSION}/l10n/bundle.l10n.zh-cn.json", _TEXTS, ("{",)),
        Change(6, "docs/views.md", "\n\nA page that follows the recipe.", ("# ", "\n")),
    ),
    {"NAME": "counts"},
)
