"""Find code of the package that is never used, with vulture; part of ``make lint``.

    python -m scripts.dead_code

Each exception is a rule with its reason; a rule that fits nothing any more is reported as well.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from vulture import Vulture

ROOT = Path(__file__).parent.parent

DECORATORS = (
    "@request",
    "@verb",
    "@provides",
    "@family",
    "@semantics",
    "@golden",
    "@formula",
    "@form",
    "@tiu",
    "@host_operation",
    "@host_function",
    "@server.feature",
    "@when_stopped",
    "@field_validator",
)
"""What they stand on is registered by them and called by name."""


@dataclass(frozen=True)
class Rule:
    """``path``, ``names``: patterns of what is used elsewhere than vulture looks; ``kind``: its words for it."""

    path: str
    kind: str
    names: str
    why: str


RULES = (
    Rule("tdb_dap/targets/families/*", "variable", r"\w+", "operands, rows and codes are read by @family"),
    Rule("tdb_dap/targets/chips/chip.py", "method", "learn", "plugins may still call it"),
    Rule("tdb_dap/targets/chips/chip.py", "method", "plan_coverage", "scripts/record_plans.py records it"),
    Rule("*", "variable", r"model_config|schema_version", "pydantic reads the one and writes the other"),
    Rule("tdb_dap/adapter/*", "attribute", r"symbol|unreadableBytes|instructionPointerReference", "fields of DAP"),
    Rule("tdb_dap/adapter/*responses.py", "variable", r"\w+", "fields of bodies, which clients read"),
    Rule("tdb_dap/adapter/worker.py", "class", "WorkerSession", "vscode-extension/pages/web/worker.ts starts it"),
    Rule("tdb_dap/tools/pages/data.py", "variable", r"\w+", "fields of the data of pages, which their program reads"),
    Rule("tdb_dap/agent/server.py", "attribute", "__signature__|__annotations__", "the SDK makes the schema of them"),
    Rule("tdb_dap/terminal/highlight.py", "variable", "highlights|base_style", "rich reads them"),
    Rule("tdb_dap/terminal/view.py", "attribute", "justify", "rich reads it"),
    Rule("tdb_dap/cli/frozen.py", "attribute", "__stdout__", "the frozen program flushes it at its end"),
    Rule("tdb_dap/terminal/prompt.py", "method", "get_completions", "prompt_toolkit calls it"),
    Rule("tdb_dap/terminal/prompt.py", "variable", "complete_event", "signature of prompt_toolkit's Completer"),
    Rule(
        "tdb_dap/targets/kernel/__init__.py", "function", "switched|choose_width", "tests compare all ways to compute"
    ),
    Rule("tdb_dap/engine/compare/tdb_profile.py", "variable", "close_order", "part of the vendor's verdict"),
    Rule("tdb_dap/notebook.py", "method", "set_filters", "public: scripts/documentation/python_reference.py"),
    Rule("tdb_dap/cli/options.py", "variable", "namespace", "signature of argparse.Action"),
    Rule("tdb_dap/engine/sanitizers/origins.py", "variable", "NAN|INF|DENORMAL", "looked up by name, with _part"),
    Rule(
        "tdb_dap/engine/sanitizers/*",
        "function",
        "decoding|legality|hazards|unused|bounds",
        "looked up by name, with _part",
    ),
    Rule("tdb_dap/engine/sanitizers/*", "class", "Saturation|Uninitialized", "looked up by name, with _part"),
    Rule("tdb_dap/engine/expressions/evaluator.py", "method", "generic_visit", "ast.NodeVisitor calls it"),
    Rule("tdb_dap/engine/recording/*", "variable|class|function|method", r"\w+", "the file's numbers, for its readers"),
    Rule("tdb_dap/engine/*", "method", "who_wrote|global_|neuron", "public: scripts/documentation/python_reference.py"),
)


def findings() -> tuple[list[str], list[str]]:
    """Lines about what is dead, and about rules that fit nothing."""
    vulture = Vulture(ignore_decorators=list(DECORATORS))
    vulture.scavenge([str(ROOT / "tdb_dap")], exclude=["*_generated.py", "*/protocol/types.py"])
    dead: list[str] = []
    used: set[Rule] = set()
    for item in vulture.get_unused_code(min_confidence=60):
        path = Path(item.filename).resolve().relative_to(ROOT).as_posix()
        rule = next((rule for rule in RULES if _fits(rule, path, item)), None)
        if rule is None:
            dead.append(f"{path}:{item.first_lineno}: nobody uses the {item.typ} {item.name!r}")
        else:
            used.add(rule)
    return dead, [f"{rule.path}: {rule.names}: this exception is not needed" for rule in RULES if rule not in used]


def _fits(rule: Rule, path: str, item: Any) -> bool:
    return (
        fnmatch(path, rule.path)
        and item.typ in rule.kind.split("|")
        and re.fullmatch(rule.names, item.name) is not None
    )


def main() -> int:
    """Print what is dead; 1 if anything is."""
    lines = [line for found in findings() for line in found]
    print("\n".join(lines) or "no dead code")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
