"""A language model that answers: token by token, beside the float model where there is one."""

from __future__ import annotations

import math
import time
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

import numpy as np

from tdb_dap.engine.control.debugger import Debugger
from tdb_dap.engine.control.inspector import Inspector
from tdb_dap.engine.control.observers import Observer
from tdb_dap.engine.control.stops import BACKEND_FAILED
from tdb_dap.engine.files.context import Context
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.program.program import Launch
from tdb_dap.engine.reference.reference import numbers_of
from tdb_dap.engine.source.mapped_tensor import layer_names
from tdb_dap.engine.source.mlir_file import MlirFile
from tdb_dap.engine.source.op_records import OpRecord
from tdb_dap.errors import BadInput, TdbError
from tdb_dap.tools.llm.float_model import FloatModel
from tdb_dap.tools.llm.language_model import HEADS, LanguageModel
from tdb_dap.tools.llm.sources import sources_of


@dataclass(frozen=True)
class Compared:
    """A tensor of a launch beside the float model. ``line``: of its op in the joined source; ``command``: its last.

    ``cosine``: similarity; ``ratio``: of its length as a vector to the expected one; ``is_wrong``: they differ by more
    than the number format explains.
    """

    name: str
    opcode: str
    line: int
    command: int
    cosine: float
    ratio: float
    is_wrong: bool


@dataclass(frozen=True)
class Part:
    """A launch beside the float model, which gets the same states, and the right positions, mask and cache.

    ``given``: what is wrong with what the launch was given, a phrase each; ``compared``: its tensors, as they were
    computed.
    """

    launch: Launch
    given: tuple[str, ...] = ()
    compared: tuple[Compared, ...] = ()

    @property
    def first_wrong(self) -> Compared | None:
        """The tensor with which it begins to be wrong."""
        return next((one for one in self.compared if one.is_wrong), None)

    @property
    def is_wrong(self) -> bool:
        """Whether it was given something wrong, or has made it."""
        return bool(self.given) or self.first_wrong is not None


@dataclass(frozen=True)
class Token:
    """A token that was answered. ``number``: from 0 on; ``seconds``: that it took.

    ``expected``: the token of the float model after the same tokens, None without one; ``parts``: the launches.
    """

    number: int
    id: int
    seconds: float
    expected: int | None = None
    parts: tuple[Part, ...] = field(default=())


class Answering:
    """Runs a program with the launches of an answer to its end: one of ``linked``, or a recording.

    ``given``: the tokens that are fed back in place of the answered ones; ``beside``: the float model to compare with.
    """

    def __init__(
        self,
        debugger: Debugger,
        model: LanguageModel,
        prompt: Sequence[int],
        given: Sequence[int] = (),
        beside: FloatModel | None = None,
    ) -> None:
        self._debugger = debugger
        self._model = model
        self._ids = list(prompt)
        self._given = tuple(given)
        self._beside = _Beside(debugger, model, len(prompt), beside) if beside is not None else None

    def tokens(self) -> Iterator[Token]:
        """The tokens, each when it is there. TdbError where a command cannot be executed."""
        for number, own in enumerate(passes(self._debugger.program.launches)):
            started = time.perf_counter()
            parts: list[Part] = []
            for launch in own:
                if self._beside is not None:
                    parts.append(self._beside.run(launch, number == 0, self._ids))
                run_to(self._debugger, launch.stop)
            answered = self._token(own[-1])
            expected = self._beside.expected(self._ids) if self._beside is not None else None
            self._ids.append(self._given[number] if number < len(self._given) else answered)
            yield Token(number, answered, time.perf_counter() - started, expected, tuple(parts))

    def _token(self, head: Launch) -> int:
        view = self._debugger.program.borders_of(head)[1][0].view
        numbers = self._debugger.machine.read(view).reshape(-1)
        return int(numbers.argmax() if view.dtype.is_float else numbers[0])


def passes(launches: Sequence[Launch]) -> list[list[Launch]]:
    """The launches of each token: up to the head that gives it."""
    found: list[list[Launch]] = [[]]
    for launch, ahead in zip(launches, [*launches[1:], None], strict=True):
        found[-1].append(launch)
        is_last = launch.net in HEADS and (ahead is None or ahead.net not in HEADS)
        if is_last and ahead is not None:
            found.append([])
    return [own for own in found if own and own[-1].net in HEADS]


def prompt_of(debugger: Debugger) -> list[int]:
    """The prompt that a recorded run was given, without the padding; the program goes on to its first command.

    BadInput where its first launch is not that of the net ``embedding``.
    """
    program = debugger.program
    first = program.launches[0] if program.launches else None
    if first is None or first.net != "embedding":
        raise BadInput("the run does not begin with the net embedding; give its prompt with --ids")
    run_to(debugger, program.first_own(first))
    numbers = debugger.machine.read(program.borders_of(first)[0][0].view).reshape(-1)
    used = np.flatnonzero(numbers)
    return [int(number) for number in numbers[: int(used[-1]) + 1]] if used.size else [0]


def run_to(debugger: Debugger, ordinal: int) -> None:
    """Execute up to a command; TdbError where one before it cannot be executed."""
    stop = debugger.run_to(ordinal)
    if stop.finding is not None:
        hint = "; --backend numpy does without it" if stop.finding.filter == BACKEND_FAILED else ""
        raise TdbError(f"{stop.finding.details[0] if hint else stop.text}{hint}")


class _Beside:
    """The launches beside the float model."""

    def __init__(self, debugger: Debugger, model: LanguageModel, prompt: int, beside: FloatModel) -> None:
        self._debugger = debugger
        self._program = debugger.program
        self._model = model
        self._prompt = prompt
        self._float = beside
        self._states: Array | None = None
        self._caches: dict[tuple[int, int], Array] = {}
        self._ideal = _Ideal(beside, model.layers)
        self._limits = {net: limits_of(context) for net, context in sources_of(model).items()}

    def expected(self, ids: Sequence[int]) -> int:
        """The token that the float model gives after these."""
        return self._ideal.next_token(ids)

    def run(self, launch: Launch, is_first: bool, ids: Sequence[int]) -> Part:
        """Execute a launch, compare its tensors, and keep what the next ones need."""
        count = self._prompt if is_first else 1
        kind, _, number = launch.net.rpartition("_")
        run_to(self._debugger, self._program.first_own(launch))
        if launch.net in ("embedding", "embedding_cache"):
            fed = np.array(ids[-count:])
            given = self._same("input_ids", fed, self._read(launch, 0)[:count])
            part = self._compared(launch, {self._output(launch, 0): self._float.embedded(fed)}, given, is_first, count)
            self._states = self._rows(launch, count)
            return part
        if kind in ("block", "block_cache"):
            return self._block(launch, int(number), is_first, len(ids), count)
        if launch.net == "lm_head" and self._states is not None:
            given = self._same("hidden_states", self._states[-1], self._read(launch, 0))
            logits = self._float.logits(self._states[-1])
            return self._compared(launch, {"lm_head": logits, "lm_head.reshape": logits, "": logits}, given, False, 1)
        return Part(launch)

    def _block(self, launch: Launch, layer: int, is_first: bool, length: int, count: int) -> Part:
        model = self._model
        before = 0 if is_first else length - 1
        positions = np.arange(before, before + count)
        states = self._read(launch, 0)[: count * model.hidden].reshape(count, model.hidden)
        given = [
            *(self._same("input_states", self._states, states.reshape(-1)) if self._states is not None else ()),
            *self._same("position_ids", positions, self._read(launch, 1)[:count]),
        ]
        if not is_first or model.has_mask:
            given += self._mask(self._read(launch, 2), before, count, is_first)
        caches = [None if is_first else self._caches.get((layer, which)) for which in (0, 1)]
        for which, name in enumerate(("history_k", "history_v")):
            cache = caches[which]
            if cache is not None:
                given += self._same(name, cache, self._read(launch, 3 + which)[: cache.size])
        wanted = self._float.block(layer, states if self._states is None else self._states, positions, *caches)
        part = self._compared(launch, wanted, tuple(given), is_first, count)
        heads = wanted["k_cache"].shape[1:]
        for which in (0, 1):
            made = self._numbers(launch, 1 + which)[: count * model.line].reshape(count, *heads)
            old = caches[which]
            self._caches[layer, which] = made if old is None else np.concatenate([old, made])
        self._states = self._rows(launch, count)
        return part

    def _mask(self, found: Array, before: int, count: int, is_first: bool) -> list[str]:
        """Fault of a mask, none if it is right: a position that is seen and should not be, or the other way round."""
        model = self._model
        if is_first:
            seen = found.reshape(model.length, model.length)[:count] == 0
            wanted = np.tril(np.ones((model.length, model.length), bool))[:count]
        else:
            seen = found.reshape(1, -1) == 0
            wanted = np.zeros_like(seen)
            wanted[:, :before] = True
            wanted[:, -1] = True
        wrong = np.argwhere(seen != wanted)
        if not len(wrong):
            return []
        row, column = wrong[0]
        which = "is hidden from" if wanted[row, column] else "is seen by"
        column_text = "the position itself" if not is_first and column == seen.shape[1] - 1 else f"position {column}"
        return [f"attention_mask: {column_text} {which} position {before + row}"]

    def _same(self, name: str, wanted: Array, found: Array) -> tuple[str, ...]:
        """Fault of numbers that are copied or counted, and so are exact; none if they are right."""
        wanted = np.asarray(wanted).reshape(-1)
        different = np.flatnonzero(wanted != found)
        if not different.size:
            return ()
        at = int(different[0])
        many = f", {different.size:,} of {wanted.size:,} differ" if wanted.size > 1 else ""
        return (f"{name} is {found[at]:g} instead of {wanted[at]:g} at {at}{many}",)

    def _compared(
        self, launch: Launch, wanted: Mapping[str, Array], given: Sequence[str], is_first: bool, rows: int
    ) -> Part:
        limits = self._limits[launch.net]
        watch = _Watch(wanted, rows if is_first else None, self._model.length, limits)
        self._debugger.observers.append(watch)
        try:
            run_to(self._debugger, launch.stop)
        finally:
            self._debugger.observers.remove(watch)
        found = list(watch.compared())
        named = {one.name for one in found}
        for tensor in self._program.made_by(launch):
            name, view = tensor.name, tensor.view
            expected = wanted.get(name, wanted.get(""))
            if expected is not None and name not in named and view.dtype.is_float:
                actual = self._debugger.machine.read(view).reshape(-1)[: expected.size]
                found.append(watch.output(name, actual, expected, launch.stop - 1))
                named.add(name)
        return Part(launch, tuple(given), tuple(found))

    def _read(self, launch: Launch, index: int) -> Array:
        """Numbers of an input, flat."""
        view = self._program.borders_of(launch)[0][index].view
        return self._debugger.machine.read(view).reshape(-1).astype(np.float64)

    def _numbers(self, launch: Launch, index: int) -> Array:
        """Numbers of an output, flat."""
        view = self._program.borders_of(launch)[1][index].view
        return self._debugger.machine.read(view).reshape(-1).astype(np.float64)

    def _output(self, launch: Launch, index: int) -> str:
        return self._program.borders_of(launch)[1][index].name

    def _rows(self, launch: Launch, count: int) -> Array:
        return self._numbers(launch, 0).reshape(-1, self._model.hidden)[:count]


@dataclass
class _Sums:
    """Sums that a similarity is made of."""

    product: float
    actual: float
    wanted: float

    @classmethod
    def of(cls, actual: Array, wanted: Array) -> _Sums:
        """Of the numbers that are expected; NaN is where nothing is."""
        counts = ~np.isnan(wanted).reshape(-1)
        one, other = (array.reshape(-1)[counts].astype(np.float64) for array in (actual, wanted))
        with np.errstate(all="ignore"):
            return cls(float(one @ other), float(one @ one), float(other @ other))

    def with_(self, more: _Sums) -> _Sums:
        return _Sums(self.product + more.product, self.actual + more.actual, self.wanted + more.wanted)

    @property
    def cosine(self) -> float:
        if not self.actual or not self.wanted:
            return float(self.actual == self.wanted)
        return self.product / math.sqrt(self.actual * self.wanted)

    @property
    def ratio(self) -> float:
        return math.sqrt(self.actual / self.wanted) if self.wanted else 1.0


@dataclass(frozen=True)
class Limits:
    """Differences that a number format explains: least ``cosine``, and the largest difference of ``ratio`` from 1."""

    cosine: float
    ratio: float

    def are_kept(self, sums: _Sums) -> bool:
        """Whether a tensor is within them; not if it holds NaN or infinity."""
        return sums.cosine >= self.cosine and abs(sums.ratio - 1) <= self.ratio


_NARROW, _WIDE = Limits(0.99, 0.03), Limits(0.93, 0.1)
"""For a tensor of a block that got the right states: with weights in 8 bits and more, and in 4 bits."""


def limits_of(context: Context | None) -> Limits:
    """Limits for a net that was compiled with these files; those of 4 bits where nothing says that it has more."""
    if context is None or context.mlir is None:
        return _WIDE
    mode = MlirFile.read(context.mlir).mode
    return _NARROW if mode and not mode.startswith("W4") else _WIDE


class _Watch(Observer):
    """Compares results of ops by name while a launch runs.

    ``rows``: positions that count of a prefill of ``length`` positions; None: all. Of the same part that several cores
    write the last writer counts.
    """

    def __init__(self, wanted: Mapping[str, Array], rows: int | None, length: int, limits: Limits) -> None:
        self._wanted = {name: _padded(array, rows, length) for name, array in wanted.items()}
        self._parts: dict[str, dict[Hashable, tuple[OpRecord, _Sums]]] = {}
        self._limits = limits

    def after_op(self, inspector: Inspector, record: OpRecord) -> None:
        for value in record.results:
            name = next((name for name in layer_names(value.name) if name in self._wanted), None)
            if name is None or value.view is None or value.name.startswith("load_"):
                continue
            try:
                expected = value.expected(self._wanted[name])
            except (ValueError, IndexError):
                continue
            actual = numbers_of(inspector.machine, value)
            if actual is not None and actual.size == expected.size:
                is_shared = value.view.space.is_shared
                part = (record.line, value.slice_text, value.address) if is_shared else record.index
                self._parts.setdefault(value.name, {})[part] = record, _Sums.of(actual, expected)

    def compared(self) -> Iterator[Compared]:
        """The tensors in the order in which they were whole."""
        for name, parts in sorted(self._parts.items(), key=lambda item: max(r.last for r, _ in item[1].values())):
            records = [record for record, _ in parts.values()]
            sums = reduce(_Sums.with_, (sums for _, sums in parts.values()))
            last = max(record.last for record in records)
            yield self.judged(name, records[0].opcode, records[0].line, last, sums)

    def output(self, name: str, actual: Array, wanted: Array, command: int) -> Compared:
        """An output of the net, which is compared whatever is known of its op."""
        return self.judged(name, "output", 0, command, _Sums.of(actual, wanted))

    def judged(self, name: str, opcode: str, line: int, command: int, sums: _Sums) -> Compared:
        is_wrong = not self._limits.are_kept(sums)
        return Compared(name, opcode, line, command, sums.cosine, sums.ratio, is_wrong)


def _padded(array: Array, rows: int | None, length: int) -> Array:
    """With rows of NaN up to the length of a prefill: what padding gives does not count."""
    if rows is None:
        return array[None]
    whole = np.full((1, length, *array.shape[1:]), np.nan)
    whole[0, :rows] = array
    return whole


class _Ideal:
    """The float model on its own, with caches of its own."""

    def __init__(self, beside: FloatModel, layers: int) -> None:
        self._float = beside
        self._caches: list[tuple[Array | None, Array | None]] = [(None, None)] * layers
        self._done = 0

    def next_token(self, ids: Sequence[int]) -> int:
        positions = np.arange(self._done, len(ids))
        states = self._float.embedded(np.array(ids[self._done :]))
        for layer, (keys, values) in enumerate(self._caches):
            made = self._float.block(layer, states, positions, keys, values)
            new = made["k_cache"], made["v_cache"]
            self._caches[layer] = (
                new[0] if keys is None else np.concatenate([keys, new[0]]),
                new[1] if values is None else np.concatenate([values, new[1]]),
            )
            states = made["output_states"]
        self._done = len(ids)
        return int(self._float.logits(states[-1]).argmax())
