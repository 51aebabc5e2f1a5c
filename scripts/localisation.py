"""Texts that a user of an editor sees, from the sources, and whether the catalogue translates them.

python -m scripts.localisation     list texts without a translation, and translations without a text
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from msgspec import Struct

from tdb_dap.system.localisation import catalogue, localised

PACKAGE = Path(__file__).resolve().parent.parent / "tdb_dap"
HOLE = re.compile(r"\{[^{}]*\}")
_PROSE = re.compile("[a-z]{2,} [a-z]{2,}")
_FINISHED = "x1"
"""Stands for the value of a hole."""

SEEN = (
    "adapter",
    "engine",
    "language",
    "tools/check/causes/blame.py",
    "tools/check/causes/overwriting.py",
    "tools/explain/command.py",
    "tools/explain/op.py",
    "tools/llm",
    "tools/opening.py",
    "tools/profile/text.py",
    "tools/profile/trace.py",
    "tools/sanitize/text.py",
    "tools/trace/text.py",
    "tools/weights/guessing.py",
    "tools/weights/proving.py",
)
"""Files and folders of the package whose texts reach an editor."""

_RAISED = ("tools/llm",)
"""Of these an editor sees only why they refuse."""

_UNSEEN = (
    "adapter/cli.py",
    "adapter/protocol",  # of a client, and what is no message
    "adapter/session/launch_configuration.py",  # in package.nls.zh-cn.json
    "engine/compare/alignment.py",
    "engine/sanitizers/__init__.py",  # tdb/sanitizers lists them for programs
    "language/cli.py",
    "tools/llm/cli.py",
    "tools/llm/text.py",
    "tools/llm/weights.py",
)
"""Of the command line alone, or translated elsewhere."""

_NO_TEXT = (
    # Names of functions, threads and fields, and lists that are looked up
    "abs sqrt exp",
    "min max sum",
    "one of ",
    "info asm",
    "info watch",
    "tdb-dap reader",
    "tdb-dap attached sessions",
    "local memory",
    "static memory",
    "private memory",
    "serverReadyAction",
    r"\(",  # patterns
    # The log of a server, and headings of Markdown
    "tdb-dap: a connection is closed",
    "# Profile of",
    "The run did not reach the end",
    "host ms",  # the title of a column
)
"""How texts begin that are no sentences for a person."""


class Text(Struct, frozen=True):
    """A text of a source with holes ``{}`` for its values. ``place``: file and line."""

    template: str
    place: str
    is_raised: bool


def template(node: ast.AST | None) -> str:
    """The text of an expression with holes for its values; empty if it is none."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(template(part) or "{}" for part in node.values)
    return ""


@cache
def texts(path: str) -> tuple[Text, ...]:
    """All texts of a file or folder of the package but those of the catalogues."""
    start = PACKAGE / path
    files = [start] if start.is_file() else sorted(start.rglob("*.py"))
    return tuple(text for file in files if file.parent.name != "localisation" for text in _of_file(file))


def _of_file(file: Path) -> Iterator[Text]:
    tree = ast.parse(file.read_text("utf-8"))
    name = file.relative_to(PACKAGE).as_posix()
    raised = {id(part) for node in ast.walk(tree) if isinstance(node, ast.Raise) for part in ast.walk(node)}
    comments = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant | ast.JoinedStr) and not {id(node)} & (comments | parts):
            yield Text(template(node), f"{name}:{node.lineno}", id(node) in raised)


def seen() -> Iterator[Text]:
    """The sentences that a user of an editor sees, and parts of them."""
    for path in SEEN:
        for text in texts(path):
            if text.place.startswith(_UNSEEN) or (path in _RAISED and not text.is_raised):
                continue
            words = HOLE.sub("", text.template)
            if _PROSE.search(words) and not text.template.startswith(_NO_TEXT):
                yield text


def instructions() -> Iterator[Text]:
    """What each family of instructions computes, and where the times of each chip come from."""
    for file in sorted((PACKAGE / "targets").rglob("*.py")):
        place = file.relative_to(PACKAGE).as_posix()
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef) and any(map(_is_family, node.decorator_list)):
                summary = " ".join((ast.get_docstring(node) or "").partition("\n\n")[0].split())
                yield Text(summary, f"{place}:{node.lineno}", is_raised=False)
            elif isinstance(node, ast.keyword) and node.arg == "source" and (text := template(node.value)):
                yield Text(text, f"{place}:{node.value.lineno}", is_raised=False)


def _is_family(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Call) and isinstance(decorator.func, ast.Name) and decorator.func.id == "family"


def longest(text: str) -> str:
    """The longest clause without a hole."""
    clauses = (clause.strip(" :;,.()%") for piece in HOLE.split(text) for clause in re.split("[,;] ", piece))
    return max(clauses, key=len)


def is_translated(text: str) -> bool:
    """Whether a text is one of the catalogue, or a part of one."""
    finished = HOLE.sub(_FINISHED, text)
    return localised(finished, "zh-cn") != finished or longest(text).lower() in _catalogue()


@cache
def _catalogue() -> str:
    return "\n".join(catalogue()).lower()


def missing() -> list[Text]:
    """What is seen and not translated."""
    return [text for text in (*seen(), *instructions()) if not is_translated(text.template)]


_JOINTS = re.compile(r"[,;:|(] | {2,}| (?:and|at|by|for|from|in|of|on|the|to) (?:the )?")
"""Where a text may be put together of parts; a plural is one, too."""


def unused() -> list[str]:
    """Texts of the catalogue of whose longest part no source has anything."""
    sources = "\n".join(text.template for text in (*texts(""), *instructions())).lower()
    return [text for text in catalogue() if _part(text).lower() not in sources]


def _part(text: str) -> str:
    parts = (part.strip(" :;,.()%").removesuffix("s") for piece in HOLE.split(text) for part in _JOINTS.split(piece))
    return max(parts, key=len)


def main() -> int:
    """Print what is missing and unused; 1 if anything is."""
    lines = [f"{text.place}: not translated: {text.template}" for text in missing()]
    lines += [f"unused: {text}" for text in unused()]
    print("\n".join(lines) or "every text is translated")
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main())
