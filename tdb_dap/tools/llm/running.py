"""Completion of a language model: token by token, compared with a float model if there is one."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct, field

from tdb_dap.engine.control.debugger import Debugger
from tdb_dap.engine.control.stops import BACKEND_FAILED
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.memory import give_back
from tdb_dap.engine.program.linked_program import LinkedProgram
from tdb_dap.engine.program.program import Launch, Program
from tdb_dap.errors import BadInput, TdbError
from tdb_dap.tools.float_model.model import FloatModel
from tdb_dap.tools.float_model.vision_config import ENCODER
from tdb_dap.tools.llm.judging.comparing import Part
from tdb_dap.tools.llm.judging.float_reference import FloatReference
from tdb_dap.tools.llm.language_model import LanguageModel
from tdb_dap.tools.llm.passes import passes, rows_of, token_of
from tdb_dap.tools.llm.pictures.reading import Pictures
from tdb_dap.tools.weights.checking import WeightsReport


class Token(Struct, frozen=True):
    """A token that was answered. ``number``: from 0 on; ``seconds``: that it took.

    ``expected``: the token of the float model after the same tokens, None without one; ``parts``: the launches;
    ``cost``: cosine of its logits to those of the float model, None where that is not known; ``ends``: it is one that
    ends a completion.
    """

    number: int
    id: int
    seconds: float
    expected: int | None = None
    parts: tuple[Part, ...] = field(default=())
    cost: float | None = None
    ends: bool = False


class Answering:
    """Runs a program with the launches of an answer to its end: one of ``linked``, or a recording.

    ``given``: tokens to feed back instead of the completed ones; ``float_model``: the float model to compare with;
    ``gives_back``: the memory of nets that have run for the last time, so nothing of them can be looked at afterwards;
    ``weights``: as in ``FloatReference``; ``stops``: tokens that end the completion; ``pictures``: of the prompt.
    """

    def __init__(
        self,
        debugger: Debugger,
        model: LanguageModel,
        prompt: Sequence[int],
        given: Sequence[int] = (),
        float_model: FloatModel | None = None,
        gives_back: bool = False,
        weights: WeightsReport | None = None,
        stops: frozenset[int] = frozenset(),
        pictures: Pictures | None = None,
    ) -> None:
        self._debugger = debugger
        program = debugger.program
        self._unused = program.unused_from() if gives_back and isinstance(program, LinkedProgram) else []
        self._float_reference = (
            FloatReference(debugger.program, model, prompt, given, float_model, weights=weights, pictures=pictures)
            if float_model is not None
            else None
        )
        self._stops = stops
        self._given = len(given)

    def tokens(self) -> Iterator[Token]:
        """The tokens, each when it is there. TdbError where a command cannot be executed."""
        program, float_reference = self._debugger.program, self._float_reference
        self._debugger.observers += [float_reference] if float_reference is not None else []
        for number, own in enumerate(passes(program.launches)):
            started = time.perf_counter()
            while self._unused and self._unused[0][0] < own[-1].stop:
                moment, place = self._unused.pop(0)
                run_to(self._debugger, moment)
                give_back(self._debugger.machine.memory.region(Space.GLOBAL, place.start, place.stop).data)
            run_to(self._debugger, own[-1].stop)
            answered = token_of(self._debugger.machine, program, own[-1])
            parts = (
                [float_reference.parts.get(launch.number, Part(launch)) for launch in own]
                if float_reference is not None
                else []
            )
            expected = float_reference.expected(number) if float_reference is not None else None
            cost = float_reference.cost(number) if float_reference is not None else None
            ends = answered in self._stops and number >= self._given
            yield Token(number, answered, time.perf_counter() - started, expected, tuple(parts), cost, ends)
            if ends:
                return


def require_pictures(program: Program, pictures: Pictures | None) -> None:
    """BadInput for a run with a picture that was not given: nothing after it could be judged."""
    if pictures is None and any(launch.net == ENCODER for launch in program.launches):
        raise BadInput(f"the run shows a picture (net {ENCODER}); give it with --image FILE")


def prompt_of(debugger: Debugger) -> list[int]:
    """The prompt that a recorded run was given, without the padding; the program goes on to its first command.

    BadInput where its first launch is not that of the net ``embedding``.
    """
    program = debugger.program
    prefill = next(iter(passes(program.launches)), list(program.launches))
    if not prefill or prefill[0].net != "embedding":
        raise BadInput("the run does not begin with the net embedding; give its prompt with --ids")
    parts = [index for index, launch in enumerate(prefill) if launch.net == "embedding"]
    ids: list[int] = []
    for index, after in zip(parts, [*parts[1:], None], strict=True):
        run_to(debugger, program.first_own(prefill[index]))
        numbers = debugger.machine.read(program.borders_of(prefill[index])[0][0].view).reshape(-1)
        rows = min([numbers.size, *(rows_of(program, launch) for launch in prefill[index + 1 : index + 2])])
        if after is None and rows == numbers.size:  # it may be padded
            rows = max([0, *np.flatnonzero(numbers).tolist()]) + 1
        ids += [int(number) for number in numbers[:rows]]
    debugger.machine.travel(program.first_own(prefill[0]))
    return ids


def token_seconds(debugger: Debugger, passes: Sequence[Sequence[Launch]]) -> Iterator[float]:
    """Seconds that this machine takes to simulate each token; TdbError where a command cannot be executed."""
    for own in passes:
        started = time.perf_counter()
        run_to(debugger, own[-1].stop)
        yield time.perf_counter() - started


def run_to(debugger: Debugger, ordinal: int) -> None:
    """Execute up to a command; TdbError where one before it cannot be executed."""
    stop = debugger.run_to(ordinal)
    if stop.finding is not None:
        hint = "; --backend numpy does without it" if stop.finding.filter == BACKEND_FAILED else ""
        raise TdbError(f"{stop.finding.details[0] if hint else stop.text}{hint}")
