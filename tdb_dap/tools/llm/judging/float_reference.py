"""A completion compared with the float model, launch by launch, for any driver: a verb, an editor, a recording."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct

from tdb_dap.engine.checks.reference_checks import MISMATCH
from tdb_dap.engine.commands.commands import Command
from tdb_dap.engine.control.inspector import Inspector
from tdb_dap.engine.control.observers import Observer, next_of
from tdb_dap.engine.control.stops import Finding
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.machine.machine import Machine
from tdb_dap.engine.program.program import Launch, Program
from tdb_dap.engine.source.op_records import OpRecord
from tdb_dap.tools.float_model.model import FloatModel
from tdb_dap.tools.float_model.vision import VisionModel
from tdb_dap.tools.float_model.vision_config import ENCODER
from tdb_dap.tools.llm.judging.comparing import Compared, Comparison, Part, limits_of
from tdb_dap.tools.llm.judging.given_faults import same, traced
from tdb_dap.tools.llm.judging.ideal import Ideal
from tdb_dap.tools.llm.judging.origins import Origins, of_token
from tdb_dap.tools.llm.language_model import ADD, HEADS, LanguageModel
from tdb_dap.tools.llm.passes import Place, passes, places, rows_of, token_of
from tdb_dap.tools.llm.pictures.faults import picture_faults
from tdb_dap.tools.llm.pictures.reading import Pictures
from tdb_dap.tools.llm.sources import sources_of
from tdb_dap.tools.weights.checking import WeightsReport
from tdb_dap.tools.weights.guessing import cosine

_HISTORY = {"block": 0, "block_kv": 2, "block_cache": 3}
"""Kind of a block -> the number of its first input that holds the cache; 0: it has none."""


class _Made(Struct, frozen=True):
    """Results of a launch for those after it: states, and lines of the cache."""

    states: Array | None = None
    lines: tuple[Array, Array] | None = None


class _Open(Struct):
    """A launch that runs. ``last``: name of a tensor -> ordinal at which it is whole."""

    place: Place
    comparison: Comparison
    wanted: dict[str, Array]
    given: tuple[str, ...]
    count: int
    last: dict[str, int]


class FloatReference(Observer):
    """Records the tokens of a completion, and compares every launch with the float model on the same states.

    ``float_model``: None records the tokens only; ``given``: tokens to feed back instead of the completed ones;
    ``stops``: whether a run stops at a mismatch, after the op that computed it; ``weights``: numbers of the bmodel's
    quantised weights: launches are compared with the float model on them, under the limits of the states' format;
    ``pictures``: of the prompt.
    ``parts``: number of a launch -> its comparison; ``answered``: number of a token -> its id.
    """

    def __init__(
        self,
        program: Program,
        model: LanguageModel,
        prompt: Sequence[int],
        given: Sequence[int],
        float_model: FloatModel | None,
        stops: Callable[[], bool] = lambda: False,
        weights: WeightsReport | None = None,
        pictures: Pictures | None = None,
    ) -> None:
        self.parts: dict[int, Part] = {}
        self.answered: dict[int, int] = {}
        self._program = program
        self._model = model
        self._prompt = list(prompt)
        self._given = tuple(given)
        self._float = float_model
        if float_model is not None and weights is not None:
            self._float = float_model.with_weights(weights.dequantised)
        self._stops = stops
        self._passes = passes(program.launches)
        self._places = {place.launch.number: place for place in places(program, self._passes, len(self._prompt))}
        self._begins = {own[0].start: number for number, own in enumerate(self._passes)}
        self._starts = {program.first_own(place.launch): place for place in self._places.values()}
        self._ends = {place.launch.stop - 1: place for place in self._places.values()}
        self._moments = sorted({*self._begins, *self._starts, *self._ends})
        sources = sources_of(model) if float_model is not None else {}
        unknown = {untraced.net for untraced in weights.untraced} if weights is not None else set(sources)
        self._limits = {net: limits_of(context, net not in unknown) for net, context in sources.items()}
        self._made: dict[int, _Made] = {}
        self._rest: dict[tuple[int, int], Array] = {}
        self._open: _Open | None = None
        self._ideal = Ideal(float_model, model.layers, pictures) if float_model is not None else None
        self._pictures = pictures
        self._rows: list[Array] = []

    def expected(self, number: int) -> int | None:
        """The token that the float model gives on its own after the same tokens; None where that is not known."""
        if self._program.answered_at(number) is not None:
            return None  # it is drawn
        ids = self.ids_before(number)
        return int(self._ideal.logits(ids).argmax()) if ids is not None and self._ideal is not None else None

    def cost(self, number: int) -> float | None:
        """Cosine of a token's logits to those that the float model gives on its own: the cost of number formats.

        None where that is not known.
        """
        ids = self.ids_before(number)
        head = next((one for one in self._passes[number] if one.net == "lm_head"), None)
        place = self._places.get(head.number) if head is not None else None
        made = self._made.get(place.source) if place is not None and place.source is not None else None
        if ids is None or self._ideal is None or self._float is None or made is None or made.states is None:
            return None
        return cosine(self._float.logits(made.states[-1]), self._ideal.logits(ids))

    def ids_before(self, number: int) -> list[int] | None:
        """The prompt and the tokens that were fed back before a token; None where one is not known."""
        ids = list(self._prompt)
        for before in range(number):
            fed = self._given[before] if before < len(self._given) else self.answered.get(before)
            if fed is None:
                return None
            ids.append(fed)
        return ids

    @property
    def compares(self) -> bool:
        """Whether there is a float model."""
        return self._float is not None

    @property
    def passes(self) -> Sequence[Sequence[Launch]]:
        """The launches of each token."""
        return self._passes

    @property
    def prompt(self) -> Sequence[int]:
        """The ids of the prompt."""
        return tuple(self._prompt)

    def look_again(self, machine: Machine) -> None:
        """Take down the tokens that time travel has passed, where that costs no replay."""
        here = machine.ordinal
        missing = [
            number
            for number, own in enumerate(self._passes)
            if number not in self.answered and machine.oldest_kept <= own[-1].stop <= here
        ]
        with machine.excursion():
            for number in reversed(missing):
                machine.travel(self._passes[number][-1].stop)
                self.answered[number] = token_of(machine, self._program, self._passes[number][-1])

    # Hooks

    def next_look(self, inspector: Inspector) -> int:
        """The next start or end of a launch, and within one that is compared each start and end of an op."""
        ordinal = inspector.ordinal
        seen = next_of(self._moments, ordinal)
        if self._open is None:
            return seen
        return min(seen, next_of(inspector.program.source.borders, ordinal))

    def before_command(self, inspector: Inspector, command: Command) -> Finding | None:
        number = self._begins.get(command.ordinal)
        if number:  # what was answered may have been edited since
            self.answered[number - 1] = token_of(inspector.machine, self._program, self._passes[number - 1][-1])
        place = self._starts.get(command.ordinal)
        self._open = self._begun(inspector.machine, place) if place is not None else self._open
        if place is None or self._open is None or not self._open.given or not self._stops():
            return None
        text = f"{place.launch.net} is given {self._open.given[0]}"
        return Finding(MISMATCH, "A net is given something wrong", text, command.ordinal, self._open.given[1:])

    def after_op(self, inspector: Inspector, record: OpRecord) -> Finding | None:
        if self._open is None:
            return None
        comparison = self._open.comparison
        comparison.look(inspector.machine, record)
        if not self._stops():
            return None
        for value in record.results:
            if self._open.last.get(value.name) != record.last:
                continue
            compared = comparison.of(value.name)
            if compared is not None and compared.is_wrong:
                return self._finding(compared, record)
        return None

    def after_command(self, inspector: Inspector, command: Command) -> Finding | None:
        place = self._ends.get(command.ordinal)
        if place is None:
            return None
        if place.launch.net in HEADS:
            self.answered[place.number] = token_of(inspector.machine, self._program, place.launch)
        if self._open is not None and self._open.place is place:
            self._finish(inspector.machine, self._open)
        self._open = None
        return None

    def changed_after(self, inspector: Inspector, moment: int) -> None:
        for number in [number for number, place in self._places.items() if place.launch.stop > moment]:
            self.parts.pop(number, None)
            self._made.pop(number, None)
        self._rest.clear()
        for number, own in enumerate(self._passes):
            if own[-1].stop > moment:
                self.answered.pop(number, None)

    # One launch

    def _finding(self, compared: Compared, record: OpRecord) -> Finding:
        line = self._program.source.place_text(compared.line)
        text = f"{compared.name} ({compared.opcode} at {line}): {compared.summary}"
        return Finding(MISMATCH, f"{compared.name} differs from the float model", text, record.last)

    def _begun(self, machine: Machine, place: Place) -> _Open | None:
        """A launch with its expected tensors; None where those before it were not seen."""
        launch, is_prefill = place.launch, place.number == 0
        ids, float_model = self.ids_before(place.number), self._float
        if ids is None or float_model is None:
            return None
        count = place.count
        kind = launch.net.rpartition("_")[0]
        if launch.net in ("embedding", "embedding_cache"):
            fed = np.array(ids[place.first : place.first + count])
            given = self._tokens(fed, self._read(machine, launch, 0)[:count], place, ids)
            wanted = {self._output(launch, 0): float_model.embedded(fed)}
            return self._opened(place, wanted, given, count, is_prefill)
        states = self._made.get(place.source, _Made()).states if place.source is not None else None
        if launch.net == ENCODER:
            return self._encoder(machine, place, float_model)
        if place.begins:  # whoever drives the model has looked up the embedding
            states = self._read(machine, launch, 0)[: count * self._model.hidden].reshape(count, -1)
        if states is None:
            return None
        if launch.net == ADD:
            return self._added(machine, place, states)
        if launch.net in ("block_0", "block_kv_0") and is_prefill and self._pictures is not None:
            rows = self._rows_in(place, 0)
            if rows is None:
                return None
            states = states.copy()
            states[rows[0]] = rows[1]
        if kind in ("block", "block_kv", "block_cache"):
            return self._block(machine, place, float_model, states)
        if launch.net == "lm_head":
            row = self._read(machine, launch, 0)
            given = traced(
                same("hidden_states", states[-1], row), lambda: self._origins().of_states(self._source(place), row)
            )
            logits = float_model.logits(states[-1])
            wanted = {"lm_head": logits, "lm_head.reshape": logits, "": logits}
            return self._opened(place, wanted, given, 1, False)
        return self._opened(place, {}, (), 1, False)

    def _tokens(self, fed: Array, actual: Array, place: Place, ids: Sequence[int]) -> tuple[str, ...]:
        """Fault of the tokens that a table of embeddings is given, none if they are right."""
        fault = same("input_ids", fed, actual, place.first, place.count)
        wrong = int(np.flatnonzero(fed != actual)[0]) if fault else 0
        prompt = len(self._prompt)
        return traced(fault, lambda: of_token(int(actual[wrong]), place.first + wrong, ids, prompt))

    def _origins(self) -> Origins:
        """Results of the launches so far, to find wrong inputs among them."""
        origins = Origins(rest=self._rest)
        for number, made in self._made.items():
            place = self._places[number]
            net = place.launch.net
            if made.states is not None:
                origins.states[_title(place)] = place.first, made.states
            if made.lines is not None:
                keys, values = (array.reshape(len(array), -1) for array in made.lines)
                origins.lines.setdefault(int(net.rpartition("_")[2]), []).append((place.first, keys, values))
        return origins

    def _source(self, place: Place) -> str:
        """Title of the launch that gives states to another."""
        return _title(self._places[place.source]) if place.source is not None else ""

    def _block(self, machine: Machine, place: Place, float_model: FloatModel, states: Array) -> _Open | None:
        model, launch, is_prefill = self._model, place.launch, place.number == 0
        before, count = place.first, place.count
        pictures = self._pictures
        positions = np.arange(before, before + count) if pictures is None else pictures.positions_at(before, count)
        rows = self._read(machine, launch, 0)[: count * model.hidden].reshape(count, model.hidden)
        wrong = int((states != rows).any(axis=1).argmax())
        given = [
            *traced(
                same("input_states", states, rows.reshape(-1), before, count),
                lambda: self._origins().of_states(self._source(place), rows[wrong]),
            ),
            *self._turns(positions, self._read(machine, launch, 1), before, count),
        ]
        history = _HISTORY[launch.net.rpartition("_")[0]]
        if not is_prefill or (model.has_mask and not history):
            given += self._mask(self._read(machine, launch, 2), before, count, is_prefill)
        lines = [made.lines for number in place.before if (made := self._made.get(number)) is not None]
        if len(lines) != len(place.before) or any(one is None for one in lines):
            return None
        caches = [np.concatenate([one[at] for one in lines if one is not None]) if lines else None for at in (0, 1)]
        for which, name in enumerate(("history_k", "history_v")):
            if history:
                given += self._history(machine, launch, history + which, name, caches[which])
        layer = int(launch.net.rpartition("_")[2])
        wanted = float_model.block(layer, states, positions, *caches)
        return self._opened(place, wanted, tuple(given), count, is_prefill)

    def _turns(self, wanted: Array, held: Array, before: int, count: int) -> tuple[str, ...]:
        """Fault of the positions that a block is given, none if they are right; a token may have three."""
        axes = self._model.axes
        own = held.reshape(axes, -1)[:, :count].T
        return same("position_ids", np.broadcast_to(wanted, (axes, count)).T, own.reshape(-1), before, count)

    def _encoder(self, machine: Machine, place: Place, float_model: FloatModel) -> _Open | None:
        """A launch that makes rows of a picture; None for a picture that is not known."""
        pictures, launch = self._pictures, place.launch
        if pictures is None or pictures.config is None:
            return None
        inputs = self._program.borders_of(launch)[0]
        held = {tensor.name: machine.read(tensor.view).reshape(tensor.shape) for tensor in inputs}
        given = picture_faults(pictures, held)
        wanted = VisionModel(pictures.config, float_model.weights).results(pictures.own_inputs(held["input_states"]))
        return self._opened(place, wanted, given, pictures.patches, True, len(held["input_states"]))

    def _rows_in(self, place: Place, output: int) -> tuple[Array, Array] | None:
        """Places and numbers of the rows of pictures in a part of the prompt; None where they were not seen."""
        pictures = self._pictures
        if pictures is None:
            return None
        numbers, places = pictures.within(place.first, place.count)
        if pictures.rows:
            dtype = self._model.input("block_0", 0).dtype
            return places, dtype.decode(dtype.encode(pictures.rows[output][numbers])).astype(np.float64)
        return (places, self._rows[output][numbers]) if output < len(self._rows) else None

    def _added(self, machine: Machine, place: Place, states: Array) -> _Open | None:
        """A launch that adds rows of pictures to the states of a block; None where they were not seen."""
        launch, count, size = place.launch, place.count, place.count * self._model.hidden
        source = self._places[place.source].launch.net if place.source is not None else ""
        made = self._rows_in(place, 1 + int(source.rpartition("_")[2])) if source else None
        if made is None:
            return None
        rows = np.zeros_like(states)
        rows[made[0]] = made[1]
        held = [self._read(machine, launch, index)[:size] for index in (0, 1)]
        names = ("input_states", "the rows of the picture")
        faults = [
            same(name, own, one, place.first, count) for name, own, one in zip(names, (states, rows), held, strict=True)
        ]
        room = self._program.borders_of(launch)[0][0].view.size // self._model.hidden
        return self._opened(place, {ADD: states + rows}, [*faults[0], *faults[1]], count, True, room)

    def _history(self, machine: Machine, launch: Launch, index: int, name: str, wanted: Array | None) -> list[str]:
        """Fault of a cache that a block is given, none if it is right."""
        history = self._read(machine, launch, index)
        positions = len(wanted) if wanted is not None else 0
        line = self._model.line
        held = history.size // line
        # A dynamic block attends to all that it is given, a static one to what its mask says.
        if launch.net.startswith("block_kv") and held != positions:
            return [f"{name} holds {held:,} positions instead of {positions:,}"]
        if wanted is None:
            return []
        layer, which = int(launch.net.rpartition("_")[2]), int(name == "history_v")
        rows, expected = history.reshape(held, line), wanted.reshape(positions, line)
        fault = traced(
            same(name, wanted, history[: wanted.size], 0, positions),
            lambda: self._origins().of_history(layer, which, expected, rows),
        )
        if held > positions:
            self._rest[layer, which] = rows[positions].copy()
        return list(fault)

    def _mask(self, mask: Array, before: int, count: int, is_prefill: bool) -> list[str]:
        """Fault of a mask, none if it is right: a position that is seen and should not be, or the other way round."""
        model = self._model
        if is_prefill:
            seen = mask.reshape(model.length, model.length)[:count] == 0
            wanted = np.tril(np.ones((model.length, model.length), bool))[:count]
        else:
            seen = mask.reshape(1, -1) == 0
            wanted = np.zeros_like(seen)
            wanted[:, :before] = True
            wanted[:, -1] = True
        wrong = np.argwhere(seen != wanted)
        if not len(wrong):
            return []
        row, column = wrong[0]
        which = "is hidden from" if wanted[row, column] else "is seen by"
        column_text = "the position itself" if not is_prefill and column == seen.shape[1] - 1 else f"position {column}"
        return [f"attention_mask: {column_text} {which} position {before + row}"]

    def _opened(
        self,
        place: Place,
        wanted: dict[str, Array],
        given: Sequence[str],
        count: int,
        is_prefill: bool,
        room: int | None = None,
    ) -> _Open:
        """``room``: positions, or patches, for which the net has room; None: as its first input says."""
        launch = place.launch
        rows = (room or rows_of(self._program, launch)) if is_prefill else 0
        comparison = Comparison(wanted, count if is_prefill else None, rows, self._limits[launch.net])
        last: dict[str, int] = {}
        for record in self._program.source.records_between(launch.start, launch.stop):
            for value in record.results:
                if comparison.name_of(value) is not None:
                    last[value.name] = max(record.last, last.get(value.name, -1))
        return _Open(place, comparison, wanted, tuple(given), count, last)

    def _finish(self, machine: Machine, opened: _Open) -> None:
        launch, wanted = opened.place.launch, opened.wanted
        compared = list(opened.comparison.compared())
        named = {one.name for one in compared}
        for tensor in self._program.made_by(launch):
            name, view = tensor.name, tensor.view
            expected = wanted.get(name, wanted.get(""))
            if expected is not None and name not in named and view.dtype.is_float:
                actual = machine.read(view).reshape(-1)[: expected.size]
                compared.append(opened.comparison.output(name, actual, expected, launch.stop - 1))
                named.add(name)
        self.parts[launch.number] = Part(launch, opened.given, tuple(compared))
        self._made[launch.number] = self._kept(machine, launch, opened)

    def _kept(self, machine: Machine, launch: Launch, opened: _Open) -> _Made:
        if launch.net in HEADS:
            return _Made()
        count, model = opened.count, self._model
        if launch.net == ENCODER:
            outputs = range(len(self._program.borders_of(launch)[1]))
            self._rows = [self._numbers(machine, launch, index).reshape(-1, model.hidden) for index in outputs]
            return _Made(self._rows[0])
        states = self._numbers(machine, launch, 0).reshape(-1, model.hidden)[:count]
        if "k_cache" not in opened.wanted:
            return _Made(states)
        heads = opened.wanted["k_cache"].shape[1:]
        keys, values = (
            self._numbers(machine, launch, 1 + which)[: count * model.line].reshape(count, *heads) for which in (0, 1)
        )
        return _Made(states, (keys, values))

    def _read(self, machine: Machine, launch: Launch, index: int) -> Array:
        """Numbers of an input, flat."""
        return machine.read(self._program.borders_of(launch)[0][index].view).reshape(-1).astype(np.float64)

    def _numbers(self, machine: Machine, launch: Launch, index: int) -> Array:
        """Numbers of an output, flat."""
        return machine.read(self._program.borders_of(launch)[1][index].view).reshape(-1).astype(np.float64)

    def _output(self, launch: Launch, index: int) -> str:
        return self._program.borders_of(launch)[1][index].name


def _title(place: Place) -> str:
    """``block_1 at token 2``."""
    return f"{place.launch.net} at token {place.number}"
