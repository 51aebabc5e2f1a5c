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
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.program.linked_program import LinkedProgram
from tdb_dap.engine.program.program import Launch
from tdb_dap.engine.program.schedule import Border
from tdb_dap.engine.reference.reference import numbers_of
from tdb_dap.engine.source.mapped_tensor import layer_names
from tdb_dap.engine.source.op_records import OpRecord
from tdb_dap.errors import TdbError
from tdb_dap.tools.llm.float_model import FloatModel
from tdb_dap.tools.llm.language_model import GREEDY_HEAD, LanguageModel


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
    """Runs a program of ``linked`` to its end. ``beside``: the float model to compare with."""

    def __init__(
        self, debugger: Debugger, model: LanguageModel, prompt: Sequence[int], beside: FloatModel | None = None
    ) -> None:
        assert isinstance(debugger.program, LinkedProgram)
        self._debugger = debugger
        self._program = debugger.program
        self._model = model
        self._ids = list(prompt)
        self._prompt = len(prompt)
        self._beside = _Beside(debugger, self._program, model, self._prompt, beside) if beside is not None else None

    def tokens(self) -> Iterator[Token]:
        """The tokens, each when it is there. TdbError where a command cannot be executed."""
        launches = self._program.launches
        for number in dict.fromkeys(launch.token for launch in launches):
            own = [launch for launch in launches if launch.token == number]
            started = time.perf_counter()
            parts: list[Part] = []
            for launch in own:
                if self._beside is not None:
                    parts.append(self._beside.run(launch, self._ids))
                self._to(launch.stop)
            seconds = time.perf_counter() - started
            self._ids.append(self._token())
            expected = self._beside.expected(self._ids[:-1]) if self._beside is not None else None
            yield Token(number or 0, self._ids[-1], seconds, expected, tuple(parts))

    def _to(self, ordinal: int) -> None:
        run_to(self._debugger, ordinal)

    def _token(self) -> int:
        model = self._model
        net = GREEDY_HEAD if model.has_greedy_head and not model.gives_tokens else "lm_head"
        view = self._program.border_view(Border(net, model.output(net, 0).name))
        numbers = self._debugger.machine.read(view).reshape(-1)
        return int(numbers.argmax() if view.dtype.is_float else numbers[0])


def run_to(debugger: Debugger, ordinal: int) -> None:
    """Execute up to a command; TdbError where one before it cannot be executed."""
    stop = debugger.run_to(ordinal)
    if stop.finding is not None:
        hint = "; --backend numpy does without it" if stop.finding.filter == BACKEND_FAILED else ""
        raise TdbError(f"{stop.finding.details[0] if hint else stop.text}{hint}")


class _Beside:
    """The launches beside the float model."""

    def __init__(
        self, debugger: Debugger, program: LinkedProgram, model: LanguageModel, prompt: int, beside: FloatModel
    ) -> None:
        self._debugger = debugger
        self._program = program
        self._model = model
        self._prompt = prompt
        self._float = beside
        self._states: Array = np.zeros((0, model.hidden))
        self._caches: dict[tuple[int, int], Array] = {}
        self._ideal = _Ideal(beside, model.layers)

    def expected(self, ids: Sequence[int]) -> int:
        """The token that the float model gives after these."""
        return self._ideal.next_token(ids)

    def run(self, launch: Launch, ids: Sequence[int]) -> Part:
        """Execute a launch, compare its tensors, and keep what the next ones need."""
        count = self._prompt if launch.token == 0 else 1
        kind, _, number = launch.net.rpartition("_")
        debugger = self._debugger
        run_to(debugger, self._program.first_own(launch))
        if launch.net in ("embedding", "embedding_cache"):
            given = self._same("input_ids", np.array(ids[-count:]), self._read(launch.net, 0)[:count])
            wanted = {self._output(launch.net, 0): self._float.embedded(np.array(ids[-count:]))}
            part = self._compared(launch, wanted, given, count)
            self._states = self._rows(launch.net, count)
            return part
        if kind in ("block", "block_cache"):
            return self._block(launch, int(number), ids, count)
        if launch.net == "lm_head":
            given = self._same("hidden_states", self._states[-1], self._read("lm_head", 0))
            logits = self._float.logits(self._states[-1])
            return self._compared(launch, {"lm_head": logits, "lm_head.reshape": logits, "": logits}, given, None)
        return Part(launch)

    def _block(self, launch: Launch, layer: int, ids: Sequence[int], count: int) -> Part:
        model, is_first = self._model, launch.token == 0
        before = 0 if is_first else len(ids) - 1
        positions = np.arange(before, before + count)
        given = [
            *self._same("input_states", self._states, self._read(launch.net, 0)[: self._states.size]),
            *self._same("position_ids", positions, self._read(launch.net, 1)[:count]),
        ]
        if model.has_mask or not is_first:
            given += self._mask(self._read(launch.net, 2), before, count, is_first)
        caches = [self._caches.get((layer, which)) for which in (0, 1)]
        if not is_first:
            for which, name in enumerate(("history_k", "history_v")):
                cache = caches[which]
                if cache is not None:
                    given += self._same(name, cache, self._read(launch.net, 3 + which)[: cache.size])
        wanted = self._float.block(layer, self._states, positions, *(caches if not is_first else (None, None)))
        part = self._compared(launch, wanted, tuple(given), count)
        heads = wanted["k_cache"].shape[1:]
        for which in (0, 1):
            made = self._read_output(launch.net, 1 + which)[: count * model.line].reshape(count, *heads)
            old = caches[which]
            self._caches[layer, which] = made if is_first or old is None else np.concatenate([old, made])
        self._states = self._rows(launch.net, count)
        return part

    def _mask(self, found: Array, before: int, count: int, is_first: bool) -> list[str]:
        """What is wrong with a mask: a position that is seen and should not be, or the other way round."""
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
        """What is wrong with numbers that are copied or counted, and so are exact."""
        wanted = np.asarray(wanted).reshape(-1)
        different = np.flatnonzero(wanted != found)
        if not different.size:
            return ()
        at = int(different[0])
        many = f", {different.size:,} of {wanted.size:,} differ" if wanted.size > 1 else ""
        return (f"{name} is {found[at]:g} instead of {wanted[at]:g} at {at}{many}",)

    def _compared(self, launch: Launch, wanted: Mapping[str, Array], given: Sequence[str], rows: int | None) -> Part:
        limits = next(limits for mode, limits in LIMITS.items() if self._mode(launch).startswith(mode))
        watch = _Watch(wanted, rows if launch.token == 0 else None, self._model.length, limits)
        self._debugger.observers.append(watch)
        try:
            run_to(self._debugger, launch.stop)
        finally:
            self._debugger.observers.remove(watch)
        found = list(watch.compared())
        named = {one.name for one in found}
        for name, view in self._program.made_by(launch):
            expected = wanted.get(name, wanted.get("") if name not in named else None)
            if expected is not None and name not in named and view.dtype.is_float:
                actual = self._debugger.machine.read(view).reshape(-1)[: expected.size]
                found.append(watch.output(name, actual, expected, launch.stop - 1))
        return Part(launch, tuple(given), tuple(found))

    def _mode(self, launch: Launch) -> str:
        """The number format of a launch's net, as the compiler calls it; empty where its source was not found."""
        source = self._program.source_of(launch)
        return source.mode if source is not None else ""

    def _read(self, net: str, index: int) -> Array:
        return self._numbers(Border(net, self._model.input(net, index).name))

    def _read_output(self, net: str, index: int) -> Array:
        return self._numbers(Border(net, self._output(net, index)))

    def _output(self, net: str, index: int) -> str:
        return self._model.output(net, index).name

    def _numbers(self, border: Border) -> Array:
        return self._debugger.machine.read(self._program.border_view(border)).reshape(-1).astype(np.float64)

    def _rows(self, net: str, count: int) -> Array:
        return self._read_output(net, 0).reshape(-1, self._model.hidden)[:count]


@dataclass
class _Sums:
    """What a similarity is made of."""

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
    """What a number format explains: least ``cosine``, and the largest difference of ``ratio`` from 1."""

    cosine: float
    ratio: float

    def are_kept(self, sums: _Sums) -> bool:
        """Whether a tensor is within them; not if it holds NaN or infinity."""
        return sums.cosine >= self.cosine and abs(sums.ratio - 1) <= self.ratio


LIMITS = {"W4": Limits(0.93, 0.1), "": Limits(0.99, 0.03)}
"""Begin of the compiler's name of a number format -> limits, for a tensor of a block that got the right states."""


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
