"""Where the time of a model goes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from scripts.compare_timing import is_near
from tdb_dap.cli.main import main
from tdb_dap.engine.commands.commands import ENGINES
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.views import View
from tdb_dap.engine.program.occupancy import Resident, Timeline, _place, residents, use_at
from tdb_dap.tools.profile.comparing import compare
from tdb_dap.tools.profile.estimating import likely_cycles
from tdb_dap.tools.profile.profiling import Costs, Profile
from tdb_dap.tools.profile.report import report_of
from tdb_dap.tools.profile.schedule import schedule, waits
from tdb_dap.tools.profile.text import lines
from tdb_dap.tools.profile.trace import THREADS, TRACKS, trace
from tdb_dap.tools.programs import open_program
from tests.samples import DATA, Case, case, cases, typical

TOY = "toy_bm1684x_f32"
STATIC = [case for case in cases() if not case.is_dynamic]


@pytest.mark.parametrize("of", typical(cases()), ids=lambda of: of.name)
def test_a_tensor_is_where_its_bytes_are(of: Case) -> None:
    program = open_program(of.path)
    lane = program.target.geometry.lane_bytes
    for record in program.source.records:
        for view in (value.view for value in (*record.operands, *record.results)):
            if view is None or view.space not in (Space.LOCAL, Space.GLOBAL, Space.L2):
                continue
            ranges = view.byte_ranges()
            place = 0, ranges[0][0], ranges[-1][1]
            if view.space is Space.LOCAL:
                start, stop = min(start % lane for start, _ in ranges), max((stop - 1) % lane + 1 for _, stop in ranges)
                place = view.core, start, stop
            assert _place(view) == place


def test_every_engine_has_a_track() -> None:
    assert set(THREADS) == set(ENGINES)
    assert set(TRACKS) == set(THREADS.values())


def profile_of(name: str, use_compiler: bool = True) -> Profile:
    return Profile(open_program(case(name).path), use_compiler)


@pytest.mark.parametrize("of", typical(STATIC), ids=lambda of: of.name)
def test_estimates_are_near_the_figures_of_the_compiler(of: Case) -> None:
    profile = Profile(open_program(of.path))
    found = compare(profile)
    assert profile.unknown == []
    if found is None:
        assert profile.program.chip == "BM1684" or not profile.has_compiler_figures
    else:
        assert is_near(found), found


def test_the_compilers_own_total_is_met_to_the_cycle() -> None:
    # API_END total_cycle in the table that the compiler left in this model
    assert profile_of(TOY).total == 4911


def test_commands_wait_for_their_engine_and_for_what_they_depend_on() -> None:
    profile = profile_of(TOY)
    ended: dict[str, float] = {"tiu": 0, "dma": 0}
    by_id: dict[tuple[str, int], float] = {}
    for timed in profile.commands:
        command = timed.command
        assert timed.span.start >= ended[command.engine]
        other = "dma" if command.engine == "tiu" else "tiu"
        if command.dep:
            assert timed.span.start >= by_id[other, command.dep]
        ended[command.engine] = by_id[command.engine, command.id] = timed.span.stop


def test_a_core_waits_for_the_message_of_another() -> None:
    program = open_program(case("toy_bm1688_f16c2").path)
    slow = 100_000
    first = next(c for c in program.commands if c.core == 1 and not c.is_system)
    cycles = [float(slow) if c.ordinal == first.ordinal else 1.0 for c in program.commands]
    spans = schedule(program, cycles)
    waits = [c.ordinal for c in program.commands if c.core == 0 and c.ordinal > first.ordinal]
    assert any(spans[ordinal].start >= slow for ordinal in waits), "core 0 goes on behind the slow command of core 1"


def slices(events: list[dict[str, Any]]) -> dict[tuple[int, int], list[dict[str, Any]]]:
    found: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for event in events:
        if event["ph"] == "X":
            found.setdefault((event["pid"], event["tid"]), []).append(event)
    return found


@pytest.mark.parametrize("name", [TOY, "toy_bm1684x_int8", "toy_bm1688_f16c2", "toy_bm1690_f16c8", "toy_bm1684_int8"])
def test_the_trace_nests_and_its_time_never_goes_back(name: str) -> None:
    profile = profile_of(name)
    found = json.loads(json.dumps(trace(profile)))
    events = found["traceEvents"]
    named = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    tracks = slices(events)
    assert set(tracks) == set(named)
    assert set(named.values()) == {"TIU", "DMA"}
    assert {pid for pid, _ in tracks} == set(range(profile.program.core_count))
    commands = [e for track in tracks.values() for e in track if e["cat"] == "command"]
    assert sorted(e["args"]["ordinal"] for e in commands) == list(range(len(profile.commands)))
    tiny = 2e-6
    for track in tracks.values():
        inside: list[float] = []
        latest = 0.0
        for event in track:
            start, stop = event["ts"], event["ts"] + event["dur"]
            assert event["dur"] >= 0
            assert start >= latest - tiny
            latest = start
            while inside and inside[-1] <= start + tiny and event["cat"] == "op":
                inside.pop()
            if event["cat"] == "op":
                inside = [stop]
            elif inside and event["args"]["ordinal"] in _of_ops(profile):
                assert stop <= inside[-1] + tiny, "a command is in its op"
    counters: dict[str, list[dict[str, Any]]] = {}
    for event in events:
        if event["ph"] == "C":
            counters.setdefault(event["name"], []).append(event)
    assert any("local memory" in counter for counter in counters)
    for values in counters.values():
        assert [e["ts"] for e in values] == sorted(e["ts"] for e in values)
        assert all(e["args"]["bytes"] >= 0 for e in values)


def _of_ops(profile: Profile) -> set[int]:
    return {t.command.ordinal for t in profile.commands if t.record is not None}


def test_the_sums_of_the_report_are_those_of_its_parts() -> None:
    profile = profile_of(TOY)
    report = report_of(profile)
    assert sum(op.share for op in report.ops) == pytest.approx(1)
    assert sum(op.commands for op in report.ops) == report.commands == 58
    assert [op.tiu + op.dma for op in report.ops] == sorted((op.tiu + op.dma for op in report.ops), reverse=True)
    convolution = next(op for op in report.ops if op.name == "relu4_Relu")
    # a convolution of 3 x 3 x 3 -> 16 channels on 32 x 32 places, and the rectification of its result
    assert convolution.operations == 2 * 27 * 16 * 32 * 32 + 16 * 32 * 32
    assert report.engines[0].utilisation <= 1
    assert report.overlap[0] <= min(engine.busy for engine in report.engines)


def test_the_command_prints_and_writes_what_it_has_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    of = case(TOY)
    outputs = [str(tmp_path / name) for name in ("t.json", "r.json", "r.md")]
    reports = ["-o", outputs[0], "--report", outputs[1], "--report", outputs[2]]
    assert main(["profile", str(of.path), "--inputs", str(of.inputs), "--quiet", *reports]) == 0
    text = capsys.readouterr().out
    assert "4,911 cycles, 0.005 ms at 1000 MHz" in text
    assert "host ms" in text
    assert "local memory of a lane: at most" in text
    assert json.loads(Path(outputs[0]).read_text())["otherData"]["chip"] == "BM1684X"
    assert json.loads(Path(outputs[1]).read_text())["cycles"] == 4911
    assert Path(outputs[2]).read_text().startswith("# Profile of")


@pytest.mark.parametrize(
    ("chip", "cycles", "seconds"),
    [("cv180x", 8 * 64 * 9 * 4, "500"), ("cv181x", 2 * 64 * 9 * 2, "500"), ("cv183x", 64 * 9 * 2, "650")],
)
def test_a_convolution_of_bytes_takes_lanes_and_channels_at_a_time(
    chip: str, cycles: int, seconds: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rounds of 16 channels over the lanes, 64 steps for 1,024 elements, 9 taps, 4 input channels, 1 or 2 a cycle."""
    model = DATA / "chips" / chip / f"toy_{chip}_int8"
    profile = Profile(open_program(model))
    assert [number for number, _ in profile.unknown] == [0]  # quant, on the host
    first = next(timed for timed in profile.commands if timed.command.description.name == "conv")
    assert first.estimated == cycles
    assert main(["profile", str(model), "--quiet"]) == 0
    assert f"at {seconds} MHz" in capsys.readouterr().out


def test_compressed_weights_count_with_the_bytes_that_they_unpack_to() -> None:
    profile = Profile(open_program(DATA / "chips" / "cv183x" / "gemm2d_cv183x_bf16"))
    packed = [timed for timed in profile.commands if timed.command.attributes.get("compressed")]
    assert packed
    for timed in packed:
        (result,) = timed.command.results
        assert isinstance(result, View)
        assert timed.cost.read == result.nbytes
        assert timed.estimated == result.nbytes / 8


def test_a_chip_of_unknown_speed_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from msgspec.structs import replace

    from tdb_dap.targets.chips import bm1684x

    monkeypatch.setattr(bm1684x, "CHIPS", (replace(bm1684x.BM1684X, timing=None),))
    assert main(["profile", str(case(TOY).path), "--estimate", "--quiet"]) == 0
    text = capsys.readouterr().out
    assert "no time known: command 0: the speed of BM1684X is not known" in text
    assert "55 more commands" in text


def made(name: str, start: int, stop: int, born: int, died: int) -> Resident:
    return Resident(name, Space.LOCAL, 0, start, stop, born, died, 1)


def test_memory_in_use_over_time() -> None:
    found = [made("a", 0, 100, 0, 4), made("b", 100, 300, 2, 6), made("c", 0, 50, 5, 9)]
    timeline = Timeline(found)
    assert [timeline.level(ordinal) for ordinal in (0, 2, 4, 5, 7, 20)] == [100, 300, 300, 250, 50, 0]
    assert timeline.peak() == (2, 300)
    assert [resident.name for resident in timeline.at(5)] == ["b", "c"]
    use = use_at(timeline.at(5), 1000)
    assert use.used == 250
    assert use.fragmentation == pytest.approx(1 - 700 / 750)


def test_tensors_live_from_being_written_to_being_read_last() -> None:
    program = open_program(case(TOY).path)
    found = {resident.name: resident for resident in residents(program)}
    convolution = found["relu4_Relu"]
    reader = next(r for r in program.source.records if any(v.name == "relu4_Relu" for v in r.operands))
    writer = next(r for r in program.source.records if any(v.name == "relu4_Relu" for v in r.results))
    assert (convolution.born, convolution.died) == (writer.first, reader.last)
    assert convolution.size == 32 * 32 * 4, "a lane holds one channel"


def test_what_is_not_estimated_yet_takes_as_long_as_its_kind() -> None:
    program = open_program(case("toy_bm1684x_f16").path)
    costs, whole = Costs(program), Costs(program)
    whole.given.clear()
    costs.given.clear()  # as in a model without the compiler's table
    whole.extend()
    assert likely_cycles(program, costs) == [1.0] * len(program.commands), "nothing is known: the order alone"
    half = len(program.commands) // 2
    costs.known = whole.known[:half]
    found = likely_cycles(program, costs)
    assert found[:half] == [cost.cycles for cost in whole.known[:half]]
    kinds = program.commands.columns.kind
    seen = set(kinds[:half].tolist())
    alike = [ordinal for ordinal in range(half, len(found)) if int(kinds[ordinal]) in seen]
    assert alike
    for ordinal in alike:
        same = [cost.cycles for cost, kind in zip(costs.known, kinds[:half], strict=True) if kind == kinds[ordinal]]
        assert found[ordinal] == pytest.approx(sum(same) / len(same))
    assert likely_cycles(program, whole) == [cost.cycles for cost in whole.known]


def test_the_compilers_figures_are_known_before_any_estimate() -> None:
    program = open_program(case(TOY).path)
    costs = Costs(program)
    assert schedule(program, likely_cycles(program, costs))[-1].stop == pytest.approx(profile_of(TOY).total)
    assert costs.known == []


@pytest.mark.parametrize("name", [TOY, "toy_bm1688_f16c2", "toy_bm1690_f16c8"])
def test_what_waits_begins_when_what_it_waits_for_has_ended(name: str) -> None:
    profile = profile_of(name)
    pairs = waits(profile.program)
    assert pairs
    spans = [timed.span for timed in profile.commands]
    places = [(timed.command.core, timed.command.engine) for timed in profile.commands]
    for before, after in pairs:
        assert before < after
        assert places[before] != places[after]
        assert spans[after].start >= spans[before].stop


def test_names_fit_into_the_lines_of_a_terminal() -> None:
    report = report_of(profile_of(TOY))
    name = "/model.0/m.0/cv2/" + "a" * 70
    memory = replace(report.memories[0], responsible=((name, 128),))
    report = replace(report, memories=(memory,))
    assert any(name in line for line in lines(report)), "whole in a file"
    shown = [line for line in lines(report, width=80) if "/model.0" in line]
    assert len(shown) == 1
    assert len(shown[0]) <= 80
    assert shown[0].endswith("aaa 128 bytes")


def test_ops_of_several_cores_name_them() -> None:
    report = report_of(profile_of("toy_bm1690_f16c8"))
    product = next(op for op in report.ops if op.opcode == "tpu.MatMul")
    assert product.cores == (0, 1, 2, 3, 4)
    table = "\n".join(lines(report))
    assert re.search(r"GB/s +cores$", table, re.MULTILINE)
    assert re.search(r"tpu\.MatMul .* 0-4$", table, re.MULTILINE)
    assert "cores" not in "\n".join(lines(report_of(profile_of(TOY))))
