"""The console: declares verbs and executes lines. The verbs themselves are in the modules ``..._verbs``.

A verb is a function with a line of help; names that users of the vendor debugger know keep their meaning. One that
moves in time does so when its answer is out, like any other request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from textwrap import wrap
from typing import TYPE_CHECKING

from msgspec import Struct

from tdb_dap.adapter.console.gdb_words import translated
from tdb_dap.adapter.requests.scopes import names_at
from tdb_dap.adapter.requests.stepping import resume
from tdb_dap.engine.rendering.printable import quoted, wrapped
from tdb_dap.errors import BadExpression, TdbError
from tdb_dap.system.plugins import Plugin, plugins

if TYPE_CHECKING:
    from tdb_dap.adapter.session.handles import Frame
    from tdb_dap.adapter.session.session import Session
    from tdb_dap.engine.control.debugger import Debugger
    from tdb_dap.engine.control.stops import Stop

Act = Callable[["Session", str, "Frame | None"], str]


class Verb(Struct, frozen=True):
    """``usage``: how it is written; ``help``: what it does; ``takes``: what completion offers after it.

    That is ``expression``, ``place`` (of a breakpoint), ``breakpoint`` (its number), ``topic``, ``verb``,
    ``one of A B``, or nothing. ``only_looks``: it moves and changes nothing, so that it can be displayed.
    ``opens``: of what is after it, the expression whose value the client can open; empty if there is none.
    ``topic``: under which title help lists it.
    """

    names: tuple[str, ...]
    usage: str
    help: str
    act: Act
    takes: str = ""
    only_looks: bool = False
    opens: Callable[[str], str] = lambda rest: ""
    topic: str = "plugins"

    @property
    def needs_text(self) -> bool:
        """Whether it means nothing without what its usage names first."""
        after = self.usage.partition(" ")[2]
        return bool(after) and not after.startswith("[")


_USAGE = 36
"""Width of the first column of help; what is longer gets its own line."""

_WIDTH = 96
"""Of a line of help: that of a debug console below an editor of 1280 pixels."""

_TITLES = {
    "running": "Run and step",
    "breakpoints": "Breakpoints",
    "inspecting": "Look at values",
    "frames": "Call stack",
    "checking": "Find what is wrong",
    "sanitizing": "Find what is wrong",
    "explaining": "Find what is wrong",
    "time_travel": "Writers, watches and edits",
    "asking": "Ask about the whole run",
    "session": "Session",
    "verbs": "Session",
    "answers": "Find what is wrong",
    "attached_sessions": "Session",
    "plugins": "From plugins",
}
"""Module that declares a verb -> title in help, in the order of help."""

_VERBS: dict[str, Verb] = {}


def verb(
    *names: str,
    usage: str = "",
    help: str,
    takes: str = "",
    only_looks: bool = False,
    opens: Callable[[str], str] = lambda rest: "",
) -> Callable[[Act], Act]:
    """Declare a console verb under all its names."""

    def declare(act: Act) -> Act:
        topic = act.__module__.rpartition(".")[2]
        add_verb(Verb(names, f"{'/'.join(names)} {usage}".strip(), help, act, takes, only_looks, opens, topic))
        return act

    return declare


def add_verb(verb: Verb) -> None:
    """Make a verb known under all its names."""
    _VERBS.update(dict.fromkeys(verb.names, verb))


def find_verb(name: str) -> Verb | None:
    """The verb of a name, if there is one; verbs of plugins are there after ``load_plugins``."""
    return _VERBS.get(name)


def is_verb(text: str) -> bool:
    """Whether a console line begins with a verb rather than being an expression."""
    first, _, rest = text.partition(" ")
    if first not in _VERBS:
        load_plugins()
    if first not in _VERBS:
        return False
    prints = _VERBS[first].takes == "expression"  # p [1, 2] prints a list; x [0] is an element of x
    return not rest.lstrip().startswith("=" if prints else ("=", "["))


def spelled(text: str) -> str:
    """A line as it is written here; words of gdb give way to verbs that plugins have called the same."""
    return translated(text) if not is_verb(text) or text.startswith("set ") else text


def opened_by(text: str) -> str:
    """The expression in a console line whose value the client can open; empty if there is none."""
    first, _, rest = text.partition(" ")
    return (_VERBS[first].opens(rest.strip()) if rest.strip() else "") if is_verb(text) else text


def verbs() -> list[Verb]:
    """Every verb once, in the order of declaration; those of plugins last."""
    load_plugins()
    return list(dict.fromkeys(_VERBS.values()))


@cache
def load_plugins() -> tuple[str, ...]:
    """Declare the verbs of installed plugins; returns what is wrong with those that cannot be used.

    A verb is a function ``(debugger, text) -> str``; its docstring is the help.
    """
    return tuple(problem for plugin in plugins("console_commands") if (problem := _declare(plugin)))


def _declare(plugin: Plugin) -> str:
    if find_verb(plugin.name) is not None:
        return f"{plugin.title}: there is such a verb already"
    if plugin.problem:
        return f"{plugin.title} {plugin.problem}"
    function = plugin.loaded

    def act(session: Session, rest: str, frame: Frame | None) -> str:
        try:
            answer = function(session.debugger, rest)
        except TdbError:
            raise
        except Exception as error:
            raise BadExpression(f"{plugin.title}: {type(error).__name__}: {error}") from None
        finally:
            session.handles.forget_values()
        return "" if answer is None else str(answer)

    about = (function.__doc__ or "").strip().splitlines()
    help = (about[0] if about else "a plugin") + f" (plugin {plugin.value})"
    add_verb(Verb((plugin.name,), f"{plugin.name} [TEXT]", help, act, takes="expression"))
    return ""


@contextmanager
def expression_of_console(text: str) -> Iterator[None]:
    """Name both in the error for text that is neither an expression nor a verb."""
    try:
        yield
    except BadExpression as error:
        first = text.split(maxsplit=1)[0]
        if not first.isalpha():
            raise
        raise BadExpression(f"{error}; nor is {quoted(first)} a verb: help lists them") from None


def execute(session: Session, text: str, frame: Frame | None = None) -> str:
    """Carry out one console line and return what to print; BadExpression if it is no verb."""
    text = spelled(text.strip())
    first, _, rest = text.partition(" ")
    if not first:
        return ""
    if not is_verb(text):
        with expression_of_console(text):
            return session.debugger.evaluate(text, names_at(session, frame)).text()
    entry = _VERBS[first]
    if entry.needs_text and not rest.strip():
        raise BadExpression(f"{first} needs more: {entry.usage}")
    return entry.act(session, rest.strip(), frame)


@verb("help", "?", usage="[VERB]", help="list the verbs, or explain one", takes="verb")
def _help(session: Session, rest: str, frame: Frame | None) -> str:
    say = session.traits.localised
    if rest:
        if rest not in _VERBS:
            raise BadExpression(f"there is no verb {quoted(rest)}; help lists them")
        return f"{_VERBS[rest].usage}\n  {say(_VERBS[rest].help)}"
    by_title: dict[str, list[Verb]] = {title: [] for title in _TITLES.values()}
    for known in verbs():
        by_title[_TITLES[known.topic]].append(known)
    lines: list[str] = []
    for title, under in by_title.items():
        if under:
            lines += [title, *(line for known in under for line in _described(known.usage, say(known.help))), ""]
    lines.append('Anything else is an expression: %16, in[0], max(abs(in[0] - ref(in[0]))), #loc("x"), R0:f32[64]')
    return "\n".join(lines)


def _described(usage: str, help: str) -> Iterator[str]:
    """Usage in the first column, help in the second, wrapped."""
    texts = wrapped(help, _WIDTH - _USAGE - 2)
    usages = wrap(usage, _WIDTH - 2, subsequent_indent="  ", break_long_words=False)
    if len(usage) <= _USAGE - 2:
        yield f"  {usage:{_USAGE - 2}}  {texts.pop(0)}"
    else:
        yield from (f"  {usage}" for usage in usages)
    yield from (f"{'':{_USAGE + 2}}{text}" for text in texts)


def resume_quietly(session: Session, go: Callable[[Debugger], Stop], by_instruction: bool = False) -> str:
    """Run when the answer to the console line is out; the answer is empty."""
    session.after(lambda: session.event("continued", {"threadId": 1, "allThreadsContinued": True}))
    resume(session, go, by_instruction=by_instruction, stay=True)
    return ""


def count(rest: str) -> int:
    """A number of steps; 1 where none is given."""
    if not rest:
        return 1
    if not rest.isdigit() or int(rest) < 1:
        raise BadExpression(f"{quoted(rest)} is not a number of steps")
    return int(rest)
