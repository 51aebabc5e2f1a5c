"""Words of gdb as they are written here; those that nothing corresponds to name what to use instead."""

from __future__ import annotations

import re

from tdb_dap.errors import BadExpression

WORDS = {
    "step": "si",
    "nexti": "si",
    "ni": "si",
    "reverse-step": "sb",
    "reverse-nexti": "sb",
    "rs": "sb",
    "rsi": "sb",
    "rni": "sb",
    "tbreak": "tb",
    "hbreak": "b",
    "thbreak": "tb",
    "br": "b",
    "d": "delete",
    "i": "info",
    "h": "help",
    "f": "frame",
    "fin": "finish",
    "u": "until",
    "advance": "until",
    "exit": "q",
    "kill": "q",
    "k": "q",
    "detach": "q",
    "inspect": "p",
    "output": "p",
    "call": "p",
    "jump": "skip",
    "disassemble": "info asm",
    "pwd": "status",
    "python": "py",
    "apropos": "help",
}
"""Word of gdb -> the same here."""

INSTEAD = {
    "file": "reload loads the model again; another model is another session",
    "load": "reload loads the model again",
    "symbol-file": "names come from final.mlir and tensor_location.json next to the model",
    "core-file": "there are no core files; s goes back to the start of the model",
    "attach": "a session has one model; the request attach opens another session",
    "return": "finish runs to the end of the frame, skip N leaves commands out",
    "signal": "there are no signals; c continues",
    "handle": "there are no signals; exception filters of the editor stop at faults",
    "catch": "exception filters of the editor stop at faults, sanitize finds them in one run",
    "thread": "threads are cores, the editor chooses one; b core:N stops at one",
    "inferior": "a session has one model",
    "commands": "log points print at a breakpoint, display EXPRESSION shows it after each stop",
    "condition": "b PLACE if CONDITION",
    "ignore": "hit counts are set in the editor",
    "clear": "b lists breakpoints, delete N removes one",
    "rbreak": "b takes patterns: b tpu.Conv*",
    "ptype": "p EXPRESSION shows type and shape",
    "whatis": "p EXPRESSION shows type and shape",
    "printf": "p EXPRESSION; log points take formats",
    "echo": "p EXPRESSION",
    "record": "every run can go back: rc, rn, sb, goto N",
    "checkpoint": "goto N leads to any moment, nothing need be saved",
    "define": "an installed package can bring verbs: docs/console.md",
    "document": "an installed package can bring verbs: docs/console.md",
    "source": "tdb-dap debug CONTEXT -x FILE runs a script",
    "shell": "use another terminal, or py CODE",
    "cd": "paths are relative to where tdb-dap was started",
    "search": "info asm FROM TO, or tdb-dap dis CONTEXT for all of it",
    "forward-search": "info asm FROM TO, or tdb-dap dis CONTEXT for all of it",
    "edit": "the editor shows final.mlir; set PLACE = EXPRESSION changes data",
    "show": "status, and info with a topic",
    "directory": "final.mlir is searched for next to the model",
    "layout": "after each stop source, commands and values are shown; the editor has views",
    "tui": "after each stop source, commands and values are shown; the editor has views",
    "generate-core-file": "dump FILE.npz writes tensors",
    "restore": "set PLACE = EXPRESSION, reload input FILE",
    "find": "who EXPRESSION says who wrote a place, watch EXPRESSION stops there",
    "compare-sections": "check compares with the reference",
    "target": "the backend is chosen at the launch: --backend NAME",
    "monitor": "the backend is chosen at the launch: --backend NAME",
    "unset": "undo takes an edit back, undisplay a display",
    "tty": "use another terminal",
    "start-recording": "every run can go back: rc, rn, sb, goto N",
}
"""Word of gdb -> what to use instead."""

_WATCHES = {"rwatch": "read", "awatch": "readWrite"}
_EXAMINE = re.compile(r"x/(\d*)([a-zA-Z]*)\s*(.*)")
_UNITS = {"b": 1, "h": 2, "w": 4, "g": 8}
_FORMATTED = re.compile(r"(p|print|inspect|output|call|display)/\w+\s*(.*)")
_SET_VARIABLE = re.compile(r"set\s+var(?:iable)?\s+(.*)")


def translated(text: str) -> str:
    """A console line of gdb as one of ours, any other as it is; BadExpression names our word where there is no such."""
    if examined := _EXAMINE.fullmatch(text):
        return _examined(examined[1], examined[2], examined[3])
    if formatted := _FORMATTED.fullmatch(text):
        raise BadExpression(f"{formatted[1]} takes no formats here: {formatted[1]} {formatted[2] or 'EXPRESSION'}")
    if assigned := _SET_VARIABLE.fullmatch(text):
        return f"set {assigned[1]}"
    first, _, rest = text.partition(" ")
    if rest.lstrip().startswith("="):
        return text
    if first in INSTEAD:
        raise BadExpression(f"{first} is not a verb here: {INSTEAD[first]}")
    if first in _WATCHES:
        return f"watch {rest} : {_WATCHES[first]}"
    return f"{WORDS[first]} {rest}".strip() if first in WORDS else text


def _examined(count: str, letters: str, place: str) -> str:
    """``x/8xw R4.64``: bytes of N units; ``x/5i``: commands."""
    number = int(count or 1)
    if "i" in letters:
        return f"info asm {number}"
    size = next((_UNITS[letter] for letter in letters if letter in _UNITS), 1)
    return f"x {place} {max(number * size, 1)}".strip() if place else "x"
