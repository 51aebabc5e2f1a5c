"""Console verbs about the session itself: displays, files, Python, and verbs that plugins bring."""

from __future__ import annotations

import contextlib
import io
import platform
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tdb_dap.adapter.console.inspecting import TOPICS
from tdb_dap.adapter.console.verbs import execute, find_verb, load_plugins, verb
from tdb_dap.adapter.requests.loading import load_again
from tdb_dap.adapter.requests.scopes import names_at
from tdb_dap.adapter.session.handlers import when_stopped
from tdb_dap.errors import BadExpression, TdbError
from tdb_dap.system.plugins import GROUPS, plugins, problems
from tdb_dap.version import __version__

if TYPE_CHECKING:
    from tdb_dap.adapter.session.handles import Frame
    from tdb_dap.adapter.session.session import Session


# Displays


class Displays(dict[int, str]):
    """Displays shown after each stop: number -> expression or verb."""


class PythonNames(dict[str, Any]):
    """The variables of ``py``."""


@verb(
    "display",
    usage="[EXPRESSION | VERB ...]",
    help="show an expression or verb after each stop, or list them",
    takes="expression",
)
def _display(session: Session, rest: str, frame: Frame | None) -> str:
    if not rest:
        return "\n".join(f"{number:3}  {text}" for number, text in session.feature(Displays).items()) or "no displays"
    shown = _shown(session, rest, frame)
    number = max(session.feature(Displays), default=0) + 1
    session.feature(Displays)[number] = rest
    return f"{number}: {rest} = {shown}"


@verb("undisplay", usage="[N ...]", help="remove a display, by default all")
def _undisplay(session: Session, rest: str, frame: Frame | None) -> str:
    if not rest:
        session.feature(Displays).clear()
        return "no displays"
    for word in rest.replace(",", " ").split():
        if not word.isdigit() or int(word) not in session.feature(Displays):
            raise BadExpression(f"there is no display {word}; display lists them")
        del session.feature(Displays)[int(word)]
    return _display(session, "", frame)


@when_stopped
def show_displays(session: Session) -> None:
    """One block for each display; one that cannot be evaluated here says why."""
    for number, text in session.feature(Displays).items():
        try:
            shown = _shown(session, text, None)
        except TdbError as error:
            shown = f"<{error}>"
        session.output(f"{number}: {text} = {session.traits.localised(shown)}")


def _shown(session: Session, text: str, frame: Frame | None) -> str:
    """``info ...`` and other verbs that only look, or an expression; ``in`` is that of the op, or of the command."""
    first = text.split()[0]
    if (known := find_verb(first)) is not None and known.only_looks:
        return "\n" + execute(session, text, frame)
    return session.debugger.evaluate(text, names_at(session, frame)).text()


# Where the session is


@verb("status", help="show the progress of the program and the session's settings", only_looks=True)
def _status(session: Session, rest: str, frame: Frame | None) -> str:
    debugger = session.debugger
    total = len(debugger.program.commands)
    launch = debugger.program.launch_at(debugger.last_stop.focus)
    where = [f"in {launch.title}; info launches lists them"] if launch is not None else []
    return "\n".join(
        [
            *where,
            f"{debugger.ordinal:,} of {total:,} commands executed; last stop: {debugger.last_stop.reason}",
            f"{len(debugger.breakpoints)} breakpoints, {len(session.feature(Displays))} displays, "
            f"{len(debugger.machine.edits)} edits, reference: {'yes' if debugger.reference else 'no'}",
        ]
    )


def _versions(session: Session, rest: str, frame: Frame | None) -> str:
    import numpy as np

    return f"tdb-dap {__version__}, Python {platform.python_version()}, NumPy {np.__version__}, {platform.platform()}"


TOPICS["progress"] = _status
TOPICS["version"] = _versions
TOPICS["display"] = lambda session, rest, frame: _display(session, "", frame)


# Files


@verb("dump", usage="FILE.npz [EXPRESSION ...]", help="write tensors, by default those of this op")
def _dump(session: Session, rest: str, frame: Frame | None) -> str:
    from tdb_dap.engine.machine.npz import write_npz

    words = rest.split()
    if not words or not words[0].endswith(".npz"):
        raise BadExpression("write dump FILE.npz, or dump FILE.npz EXPRESSION ...")
    names = names_at(session, frame)
    arrays: dict[str, Any] = {}
    for text in words[1:]:
        value = session.debugger.evaluate(text, names)
        if value.absence:
            raise BadExpression(f"{text} {value.absence}: nothing was written")
        arrays[text] = value.array
    if not words[1:]:
        for kind, values in (("in", names.operands()), ("out", names.results())):
            for index, value in enumerate(values):
                if not value.absence:
                    arrays[f"{kind}[{index}] {value.title}"] = value.array
    path = Path(words[0]).expanduser()
    write_npz(path, arrays, packed=True)
    return f"{len(arrays)} tensors written to {path}"


_WORDS = re.compile(r'"([^"]*)"|(\S+)')


@verb(
    "reload",
    usage="[input FILE | reference FILE ...]",
    help="reload the model from disk, or with other data, and stop at its start; quote spaces",
    takes="one of input reference",
)
def _reload(session: Session, rest: str, frame: Frame | None) -> str:
    what, *files = [quoted or word for quoted, word in _WORDS.findall(rest)] or [""]
    changes: dict[str, Any] = {}
    if what in ("input", "inputs") and len(files) == 1:
        changes["inputs"] = files[0]
    elif what == "reference" and files:
        changes["reference"] = files
    elif what:
        raise BadExpression("write reload, reload input FILE, or reload reference FILE ...")
    load_again(session, changes)
    return ""


# Python


@verb("py", usage="CODE", help='evaluate Python (dbg is the debugger); needs "allowPython": true at launch')
def _python(session: Session, rest: str, frame: Frame | None) -> str:
    import numpy as np

    if not session.configuration.allowPython:
        raise BadExpression('py needs "allowPython": true in the launch configuration: Python can do anything')
    names = session.feature(PythonNames)
    names.update(dbg=session.debugger, np=np)
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            try:
                code = compile(rest, "<console>", "eval")
            except SyntaxError:
                exec(compile(rest, "<console>", "exec"), names)
                result = None
            else:
                result = eval(code, names)
    except Exception as error:
        raise BadExpression(f"{type(error).__name__}: {error}") from None
    finally:
        session.handles.forget_values()
    text = printed.getvalue().rstrip("\n")
    return "\n".join(part for part in (text, "" if result is None else repr(result)) if part)


# Plugins


@verb("plugin", "plugins", help="list installed plugins", only_looks=True)
def _plugins(session: Session, rest: str, frame: Frame | None) -> str:
    unusable = load_plugins()
    rows = [
        f"{group[:-1].replace('_', ' ')} {plugin.name}  {plugin.value}" for group in GROUPS for plugin in plugins(group)
    ]
    others = [problem for problem in problems() if problem not in unusable]
    return "\n".join([*rows, *unusable, *others]) or "no plugins"
