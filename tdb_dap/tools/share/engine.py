"""The session inside a shared page: questions and answers as JSON, for the worker that runs Python in a browser."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tdb_dap.engine.questions.search import search
from tdb_dap.engine.questions.trace_points import parse
from tdb_dap.engine.questions.tracing import trace
from tdb_dap.engine.questions.turning import turns
from tdb_dap.errors import TdbError, sentence
from tdb_dap.tools.opening import open_debugger
from tdb_dap.tools.trace import text as answers

if TYPE_CHECKING:
    from tdb_dap.engine.control.debugger import Debugger
    from tdb_dap.engine.expressions.lexer import Level
    from tdb_dap.engine.expressions.values import Value
    from tdb_dap.engine.hardware.dtypes import Array

MANIFEST = "share.json"
"""File of a shared folder that names the others: ``model``, ``inputs``, ``reference``, ``at``, ``bookmarks``."""

_HISTORY = 64 << 20
"""Bytes of overwritten memory that are kept for going back."""

_AROUND = 40
"""Lines of the listing on either side of the next command."""

_PICTURE = 128
"""Rows and columns of a tensor's picture at most."""


class Shared:
    """A shared folder, opened at its moment. ``_ANSWERS``: what it can be given."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        self._manifest: dict[str, Any] = json.loads((self._folder / MANIFEST).read_text("utf-8"))
        self._debugger = self._opened()
        self._level: Level = "op"
        if self._manifest["at"]:
            self._debugger.travel(self._manifest["at"])

    def _opened(self) -> Debugger:
        named = {name: self._folder / self._manifest[name] for name in ("inputs", "reference") if self._manifest[name]}
        return open_debugger(
            self._folder / self._manifest["model"],
            named.get("inputs"),
            named.get("reference", ()),
            history_limit=_HISTORY,
        )

    def ask(self, question: str) -> str:
        """The answer to a question, both JSON; an error is an answer with ``error``."""
        given = json.loads(question)
        try:
            answer = _ANSWERS[given.pop("ask")]
            return json.dumps(answer(self, **given), allow_nan=False)
        except Exception as error:
            return json.dumps({"error": sentence(error)})

    def _model(self) -> dict[str, Any]:
        """All that does not change: the model, its lines and ops, and the shared moments."""
        program = self._debugger.program
        mlir = program.source.mlir
        return {
            "title": f"{program.net.name}, {program.chip}",
            "commands": len(program.commands),
            "at": self._manifest["at"],
            "bookmarks": self._manifest["bookmarks"],
            "hasReference": self._debugger.reference is not None,
            "mlir": list(mlir.lines) if mlir is not None else [],
            "ops": [
                {"line": op.line, "opcode": op.opcode, "name": op.name, "first": op.first, "last": op.last}
                for op in program.ops
            ],
        }

    def _state(self) -> dict[str, Any]:
        """The present moment: where it is, what is around it, the operands and results there."""
        debugger = self._debugger
        commands, stop = debugger.program.commands, debugger.last_stop
        focus = min(stop.focus, len(commands) - 1)
        lines = debugger.program.source.lines_of(focus) if len(commands) else ()
        first, last = max(0, focus - _AROUND), min(len(commands), focus + _AROUND + 1)
        scope = debugger.scope(level=self._level)
        values = [
            *(self._row(f"in[{index}]", value) for index, value in enumerate(scope.operands())),
            *(self._row(f"out[{index}]", value) for index, value in enumerate(scope.results())),
        ]
        return {
            "ordinal": debugger.ordinal,
            "atEnd": debugger.at_end,
            "line": lines[0] if lines and not debugger.at_end else 0,
            "text": stop.text,
            "listing": [
                {"ordinal": ordinal, "text": commands[ordinal].asm, "core": commands[ordinal].core}
                for ordinal in range(first, last)
            ],
            "focus": focus if not debugger.at_end else len(commands),
            "values": values if not debugger.at_end else [self._row(*named) for named in self._named_outputs()],
        }

    def _named_outputs(self) -> list[tuple[str, Value]]:
        scope = self._debugger.scope()
        return [
            (f'output("{tensor.name}")', scope.border("output", tensor.name))
            for tensor in self._debugger.program.outputs
        ]

    def _row(self, expression: str, value: Value) -> dict[str, Any]:
        try:
            text = value.row()
        except TdbError as error:
            text = str(error)
        return {"expression": expression, "title": value.title, "text": text}

    def _step(self, count: int, unit: str) -> dict[str, Any]:
        """``count`` ops or commands forwards, back if negative."""
        self._level = "op" if unit == "op" else "command"
        self._debugger.step(count, self._level)
        return self._state()

    def _travel(self, ordinal: int) -> dict[str, Any]:
        """The moment when ``ordinal`` commands have been executed."""
        self._debugger.travel(ordinal)
        return self._state()

    def _tensor(self, expression: str) -> dict[str, Any]:
        """A tensor's picture: its first plane, at most 128 by 128, and its difference from the reference, if known."""
        debugger = self._debugger
        value = debugger.evaluate(expression, debugger.scope(level=self._level))
        numbers = value.computed
        answer = {
            "title": value.title,
            "text": value.text(),
            "shape": list(numbers.shape),
            "picture": _picture(numbers),
            "difference": "",
        }
        if debugger.reference is not None and value.named is not None:
            try:
                expected = debugger.evaluate(f"ref({expression})", debugger.scope(level=self._level)).array
                off = np.abs(value.real.reshape(-1).astype(np.float64) - expected.reshape(-1).astype(np.float64))
                answer["difference"] = f"largest difference from the reference: {float(off.max(initial=0)):.6g}"
            except (TdbError, ValueError):
                answer["difference"] = "not comparable with the reference"
        return answer

    def _line(self, text: str) -> dict[str, Any]:
        """A line of the console that asks: an expression, ``trace``, ``when`` or ``where``."""
        verb, _, rest = text.strip().partition(" ")
        inspector = self._debugger.inspector
        if verb == "trace":
            return {"lines": list(answers.trace_lines(trace(inspector, parse(rest))))}
        if verb == "when":
            return {"lines": list(answers.turns_lines(turns(inspector, rest)))}
        if verb == "where":
            return {"lines": list(answers.search_lines(search(inspector, rest)))}
        return {"lines": [self._debugger.evaluate(text).text()]}

    def _outputs(self) -> dict[str, Any]:
        """The outputs at the end: a checksum of the stored words of each, to compare with another machine."""
        debugger = self._debugger
        if not debugger.at_end:
            debugger.travel(len(debugger.program.commands))
        if not debugger.at_end:
            raise TdbError(f"the run does not reach its end: {debugger.last_stop.text}")
        raw = debugger.outputs(raw=True)
        return {name: f"{zlib.crc32(np.ascontiguousarray(array).tobytes()):08x}" for name, array in raw.items()}


_ANSWERS: dict[str, Callable[..., Any]] = {
    "model": Shared._model,
    "state": Shared._state,
    "step": Shared._step,
    "travel": Shared._travel,
    "tensor": Shared._tensor,
    "line": Shared._line,
    "outputs": Shared._outputs,
}


def _picture(numbers: Array) -> list[list[float | None]]:
    plane = np.atleast_2d(numbers)
    while plane.ndim > 2:
        plane = plane[0]
    rows, columns = (np.unique(np.linspace(0, n - 1, min(n, _PICTURE)).astype(int)) for n in plane.shape)
    return [[_finite(number) for number in row] for row in plane[np.ix_(rows, columns)].astype(np.float64).tolist()]


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
