"""Observers that look at some commands only: the others are executed many at a time, and as much is found."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from scripts.robustness.mutate_models.faults import DROPPED, SHIFTED, SHORTENED
from tdb_dap.engine.commands.commands import Command, Commands
from tdb_dap.engine.compare.finding import Checked
from tdb_dap.engine.compare.judging import Judge
from tdb_dap.engine.compare.walk import Walk
from tdb_dap.engine.control.debugger import Debugger
from tdb_dap.engine.control.inspector import Inspector
from tdb_dap.engine.control.observers import NEVER, Observer
from tdb_dap.engine.control.plugin_observers import Guarded
from tdb_dap.engine.control.stops import Finding
from tdb_dap.engine.hardware.dtypes import F32
from tdb_dap.engine.hardware.memory import Memory
from tdb_dap.engine.hardware.target import WATCHED_FORMATS, Cost, Watched
from tdb_dap.engine.machine.backend import InProcess
from tdb_dap.engine.machine.machine import Machine
from tdb_dap.engine.reference.comparison import Comparison
from tdb_dap.engine.sanitizers import chosen, made, unused
from tdb_dap.engine.sanitizers.survey import survey
from tdb_dap.engine.sanitizers.uninitialized import Uninitialized
from tdb_dap.engine.source.source_map import OpRecord
from tdb_dap.system.plugins import Plugin
from tdb_dap.targets import kernel
from tdb_dap.targets.kernel.constants import Format
from tdb_dap.tools.check import rows
from tdb_dap.tools.check.schema import Picture
from tdb_dap.tools.opening import open_debugger
from tdb_dap.tools.profile.profiling import Costs
from tdb_dap.tools.programs import open_program
from tests.command_line import tdb_dap
from tests.conftest import Toy
from tests.mutants import with_fault
from tests.samples import DATA, Case, case, cases, of_more_chips, typical

pytestmark = pytest.mark.skipif(not kernel.is_active(), reason="commands are executed at once by the C kernel")

TOY = case("toy_bm1684x_f32")
MODELS = [*(c for c in cases() if not c.is_dynamic), *of_more_chips()]


def has_floats(of: Case) -> bool:
    """Whether an input of a model is of floats."""
    return any(tensor.dtype.is_float for tensor in open_program(of.path).inputs)


@contextmanager
def one_by_one() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Machine, "can_run_ahead", property(lambda machine: False))
        yield


@contextmanager
def counting() -> Iterator[list[int]]:
    """The ordinals that were executed many at a time."""
    run_ahead, found = Machine.run_ahead, list[int]()

    def counted(machine: Machine, ordinal: int, watched: Watched | None = None) -> None:
        before = machine.ordinal
        run_ahead(machine, ordinal, watched)
        found.extend(range(before, machine.ordinal))

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Machine, "run_ahead", counted)
        yield found


def opened(of: Case, reference: Path | None = None) -> Debugger:
    """A run that keeps nothing of each command; its forms are known."""
    debugger = open_debugger(of.path, of.inputs, [] if reference is None else [reference], history_limit=0)
    for _ in range(2):
        debugger.run()
        debugger.restart()
    return debugger


class Ops(Observer):
    """Writes down the ops that begin and end."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, int, int]] = []

    def before_op(self, inspector: Inspector, record: OpRecord) -> None:
        self.seen.append(("begins", record.index, inspector.ordinal))

    def after_op(self, inspector: Inspector, record: OpRecord) -> None:
        self.seen.append(("ends", record.index, inspector.ordinal))


class Some(Observer):
    """Looks at some commands, and stops at one of them."""

    def __init__(self, wanted: list[int], stops_at: int) -> None:
        self.wanted = wanted
        self.stops_at = stops_at
        self.seen: list[int] = []

    def next_look(self, inspector: Inspector) -> int:
        return min((ordinal for ordinal in self.wanted if ordinal >= inspector.ordinal), default=NEVER)

    def after_command(self, inspector: Inspector, command: Command) -> Finding | None:
        self.seen.append(command.ordinal)
        return Finding("some", "Here", "here", command.ordinal) if command.ordinal == self.stops_at else None


def test_who_looks_at_ops_sees_all_of_them_and_the_rest_is_not_looked_at() -> None:
    def seen(debugger: Debugger) -> list[tuple[str, int, int]]:
        ops = Ops()
        debugger.observers.append(ops)
        debugger.run()
        debugger.observers.remove(ops)
        debugger.restart()
        return ops.seen

    debugger = opened(TOY)
    with counting() as ahead:
        found = seen(debugger)
    with one_by_one():
        assert found == seen(debugger)
    assert len(found) == 2 * sum(bool(record.ordinals) for record in debugger.program.source.records)
    assert ahead
    assert not set(ahead) & set(debugger.program.source.borders)


def test_an_observer_may_be_of_any_kind() -> None:
    @dataclass
    class Counter(Observer):
        count: int = 0

        def after_op(self, inspector: Inspector, record: OpRecord) -> None:
            self.count += 1

    debugger = opened(TOY)
    first, second = Counter(), Counter()
    debugger.observers += [first, second]
    debugger.run()
    assert first == second
    assert first.count == sum(bool(record.ordinals) for record in debugger.program.source.records)


def test_an_observer_sees_what_it_asks_for_and_stops_there_every_time() -> None:
    debugger = opened(TOY)
    some, nobody = Some([3, 9, 40, 57], stops_at=40), Observer()
    debugger.observers += [nobody, some]
    with counting() as ahead:
        for _ in range(2):
            some.seen = []
            assert debugger.run().finding is not None
            assert (debugger.ordinal, some.seen) == (41, [3, 9, 40])
            debugger.run_to(50)
            assert debugger.run().reason == "end"
            assert some.seen == some.wanted
            debugger.restart()
    assert ahead
    assert not set(ahead) & set(some.wanted)
    with one_by_one():
        debugger.run()
        assert some.seen[-41:] == list(range(41)), "who is asked nothing sees all"


def test_plugins_see_what_they_ask_for_or_all_where_they_do_not_know_the_question() -> None:
    class Plain:
        def __init__(self) -> None:
            self.seen: list[int] = []

        def before_command(self, inspector: Inspector, command: Command) -> None:
            self.seen.append(command.ordinal)

        def nothing(self, *arguments: object) -> None:
            pass

        after_command = before_op = after_op = changed_after = stopped = finished = loaded = nothing

    class Wrong(Observer):
        def next_look(self, inspector: Inspector) -> int:
            raise ValueError("no")

    debugger = opened(TOY)
    plugin = Plugin("observers", "some", "some:Some", "package", "1.0", None)
    plain, some = Plain(), Some([5], stops_at=-1)
    for observer in (plain, some, Wrong()):
        debugger.observers.append(Guarded(plugin, observer))  # type: ignore[arg-type]
    debugger.run()
    assert plain.seen == list(range(len(debugger.program.commands)))
    assert some.seen == [5]


def texts(debugger: Debugger, *names: str) -> list[tuple[int, str]]:
    found = survey(debugger, made(chosen(names)), lambda done: None, comes_back=False)
    debugger.restart()
    return [(finding.focus, finding.text) for finding in found.findings]


@pytest.mark.parametrize("of", typical(MODELS), ids=lambda of: of.name)
def test_sanitizers_find_the_same_when_they_look_at_some_commands_only(of: Case) -> None:
    debugger = opened(of)
    found = texts(debugger, "all", "inf", "denormal")
    with one_by_one():
        assert found == texts(debugger, "all", "inf", "denormal")


@pytest.mark.parametrize("of", [model for model in MODELS if has_floats(model)], ids=lambda of: of.name)
def test_origins_of_nan_are_found_without_a_look_at_each_command(of: Case) -> None:
    """Inputs that sums cannot take make NaNs all over the net, here and there."""
    debugger = opened(of)
    tensors = {tensor.name: tensor.dtype for tensor in debugger.program.inputs if tensor.dtype.is_float}
    seen = set[int]()
    for numbers in ([3.0e38, -3.0e38], [np.inf], [np.nan], [0.0, 1.0e-45], [1.0, np.inf, -np.inf, np.nan, -1.0]):
        words = dict(debugger.machine.inputs)
        for name, dtype in tensors.items():
            words[name] = dtype.encode(np.resize(np.array(numbers, np.float32), words[name].shape))
        debugger.machine.load_inputs(words)
        with counting() as ahead:
            origins = texts(debugger, "nan")
        with one_by_one():
            assert origins == texts(debugger, "nan")
        seen |= set(ahead)
    assert seen


def test_a_run_stops_at_each_origin_of_a_nan_that_the_kernel_has_seen() -> None:
    def stops(debugger: Debugger) -> list[tuple[int, int, str]]:
        debugger.restart()
        debugger.observers[:] = made(chosen(["nan"])).values()
        found: list[tuple[int, int, str]] = []
        while debugger.run().reason != "end":
            found.append((debugger.ordinal, debugger.last_stop.focus, debugger.last_stop.text))
        debugger.observers.clear()
        return found

    among_others = 0
    for of in (TOY, case("lstm_bm1684x_f32"), case("softmax_bm1684_f32")):
        debugger = opened(of)
        infinite = F32.encode(np.array(np.inf, np.float32))
        debugger.machine.load_inputs({name: words * 0 + infinite for name, words in debugger.machine.inputs.items()})
        with counting() as ahead:
            found = stops(debugger)
        among_others += len({focus for _, focus, _ in found} & set(ahead))
        with one_by_one():
            assert found == stops(debugger)
    assert among_others > 1


def test_a_backend_with_its_own_way_to_execute_some_leaves_what_is_watched_to_be_seen() -> None:
    """A plugin knows nothing of what is watched; no NaN may pass unseen for that."""

    class Own(InProcess):
        def execute_some(self, commands: Commands, first: int, stop: int, memory: Memory) -> int:
            return super().execute_some(commands, first, stop, memory)

    def found(make: type[InProcess]) -> list[tuple[int, str]]:
        program = open_program(case("lstm_bm1684x_f32").path)
        machine = Machine(program, history_limit=0, backend=make(program.target))
        infinite = F32.encode(np.array(np.inf, np.float32))
        words = {tensor.name: np.full(tensor.shape, infinite) for tensor in program.inputs}
        machine.load_inputs(words)
        machine.keep_no_changes()
        debugger = Debugger(program, machine)
        debugger.run()
        debugger.restart()
        return texts(debugger, "nan")

    with counting() as ahead:
        own = found(Own)
    assert own == found(InProcess)
    assert own
    assert ahead


def test_formats_that_are_watched_are_those_of_the_kernel() -> None:
    assert {name: Format[name.upper()] + 1 for name in WATCHED_FORMATS} == WATCHED_FORMATS


@pytest.mark.parametrize("reference", [False, True])
@pytest.mark.parametrize(("kind", "start"), [(DROPPED, "2 D3"), (SHORTENED, "7 D5"), (SHIFTED, "7 D5")])
def test_faults_are_found_where_they_were_found(kind: str, start: str, reference: bool) -> None:
    of = with_fault(TOY, kind, start)
    compared = opened(TOY, TOY.reference).reference if reference else None
    machine = Machine(of.program, history_limit=0)
    machine.load_inputs(of.machine.inputs)
    machine.keep_no_changes()
    debugger = Debugger(of.program, machine, compared)
    for _ in range(2):
        debugger.run()
        debugger.restart()
    names = ("all", "inf")
    with counting() as ahead:
        found = texts(debugger, *names)
    assert found
    assert ahead
    with one_by_one():
        assert found == texts(debugger, *names)


def test_marks_are_carried_past_what_reads_defined_bytes_before_it_is_executed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    debugger = opened(TOY)
    uninitialized = Uninitialized()
    first = uninitialized.next_look(debugger.inspector)
    assert first > 20
    seen: list[int] = []
    before = Uninitialized.before_command

    def noted(observer: Uninitialized, inspector: Inspector, command: Command) -> None:
        seen.append(command.ordinal)
        before(observer, inspector, command)

    monkeypatch.setattr(Uninitialized, "before_command", noted)
    debugger.observers.append(uninitialized)
    with counting() as ahead:
        debugger.run_to(10)
        debugger.run()
    assert len(ahead) > 20
    assert seen[0] == first
    assert len(seen) < len(debugger.program.commands) / 2
    assert seen[-1] == len(debugger.program.commands) - 1, "the outputs are looked at in the end"


def test_time_goes_back_over_commands_that_were_not_looked_at() -> None:
    def stops(debugger: Debugger) -> list[tuple[int, str]]:
        debugger.observers[:] = made(chosen(["uninitialized", "nan"])).values()
        debugger.run()
        found: list[tuple[int, str]] = [(debugger.ordinal, debugger.last_stop.reason)]
        while debugger.ordinal > len(debugger.program.commands) - 4:
            debugger.step(-1)
            found.append((debugger.ordinal, debugger.last_stop.reason))
        debugger.observers.clear()
        debugger.restart()
        return found

    debugger = opened(TOY)
    found = stops(debugger)
    with one_by_one():
        assert found == stops(debugger)


@pytest.mark.parametrize("of", typical(MODELS), ids=lambda of: of.name)
def test_results_known_to_be_read_are_those_that_are_read(of: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    program = open_debugger(of.path, of.inputs, history_limit=0).program
    readers = unused._Readers(program)
    written = np.flatnonzero(program.access_rows.is_write)
    certain = readers.are_certain(written)
    assert all(readers.has(row) for row in written[certain].tolist())
    found = [finding.text for finding in unused.unused(program)]
    monkeypatch.setattr(unused._Readers, "are_certain", lambda readers, rows: np.zeros(rows.size, np.bool_))
    assert found == [finding.text for finding in unused.unused(program)]


@pytest.mark.parametrize("of", typical(MODELS), ids=lambda of: of.name)
def test_what_a_form_costs_each_of_its_commands_costs(of: Case) -> None:
    program = open_debugger(of.path, of.inputs, history_limit=0).program
    costs = Costs(program)
    costs.extend()
    assert costs.known == [
        program.target.cost(command.description) if command.has_descriptor else Cost(0) for command in program.commands
    ]


def test_a_check_looks_at_the_ends_of_ops() -> None:
    debugger = opened(TOY, TOY.reference)
    found: list[Checked] = []
    judge = Judge(debugger.reference)
    debugger.observers.append(Walk("cascade", lambda gathered: found.append(judge(gathered))))
    with counting() as ahead:
        debugger.run()
    assert ahead
    assert not set(ahead) & set(debugger.program.source.borders)
    assert {checked.verdict for checked in found if checked.role == "result"} <= {"pass", "unknown"}


def test_a_run_is_not_looked_at_where_no_backends_are_compared(toy: Toy) -> None:
    for _ in range(2):
        with counting() as ahead:
            assert tdb_dap("run", toy.directory, "--inputs", toy.inputs).returncode == 0
    assert len(ahead) > 30


def test_pictures_are_drawn_where_a_report_shows_them(
    toy: Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[str] = []
    draw = rows._picture

    def noted(result: Comparison) -> Picture:
        drawn.append(result.name)
        return draw(result)

    monkeypatch.setattr(rows, "_picture", noted)
    with np.load(toy.reference) as archive:
        arrays = dict(archive)
    arrays["conv8_Conv"][0, 3] *= -1
    np.savez(tmp_path / "spoiled.npz", **arrays)
    words = ("check", toy.directory, "--inputs", toy.inputs, "--reference", tmp_path / "spoiled.npz")
    assert tdb_dap(*words, "--blame", "--report", tmp_path / "r.md").returncode == 1
    assert not drawn
    assert tdb_dap(*words, "--blame", "--report", tmp_path / "r.html").returncode == 1
    assert drawn == ["conv8_Conv"]


def test_a_race_is_told_as_before() -> None:
    race = DATA / "findings" / "toy_bm1690_f16c4"
    debugger = open_debugger(race, history_limit=0)
    found = texts(debugger, "all")
    with one_by_one():
        assert found == texts(debugger, "all")
    assert len(found) == 2
