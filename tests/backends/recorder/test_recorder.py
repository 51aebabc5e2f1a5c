"""What the recorder writes down: commands, the bytes they read, what they wrote, and what the host did."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tdb_dap.engine.recording import format as form
from tdb_dap.engine.recording.format import Event
from tdb_dap.engine.recording.payloads import Region
from tests.backends.recorder.recorded import PAGE, START, Fake

FAR = 1 << 20


def test_a_command_stands_before_the_bytes_it_reads_and_the_hash_of_what_it_wrote(fake: Fake) -> None:
    run = fake.record("write 0 5 100", f"copy 0 {FAR} 100", f"print {FAR}")
    assert fake.output == "byte 5\n"
    assert run.names() == ["COMMAND", "BLOCK", "HASH", "QUIET"]
    [command], [block], [written] = run.of(Event.COMMAND), run.blocks(), run.of(Event.HASH)
    assert (command.engine, len(command.descriptor)) == (1, 32)
    assert (block.offset, len(block.content), block.command) == (0, PAGE, 0)
    assert block.content[:101] == b"\5" * 100 + b"\0"
    assert written.offset <= FAR < written.offset + written.size
    assert run.verify()[FAR : FAR + 100].tolist() == [5] * 100
    assert run.recording.is_complete


def test_bytes_that_a_command_wrote_are_not_recorded_when_the_next_reads_them(fake: Fake) -> None:
    run = fake.record("write 0 5 100", f"copy 0 {FAR} 100", f"copy {FAR} {2 * FAR} 100", f"copy {FAR} {3 * FAR} 100")
    assert run.names().count("BLOCK") == 1
    assert run.names().count("HASH") == 3
    run.verify()


def test_memory_of_zeros_takes_no_event(fake: Fake) -> None:
    assert fake.record(f"copy 0 {FAR} 60000").names() == ["COMMAND", "QUIET"]


def test_what_the_host_writes_unseen_is_recorded_at_the_next_touch_and_only_then(fake: Fake) -> None:
    run = fake.record("write 0 5 100", f"copy 0 {FAR} 100", "write 0 6 100", f"fill 9 {4 * FAR} 8", f"copy 0 {FAR} 100")
    reads = ["COMMAND", "BLOCK", "HASH", "QUIET"]
    assert run.names() == [*reads, "COMMAND", "HASH", "QUIET", *reads]
    assert [block.content[0] for block in run.blocks()] == [5, 6]
    run.verify()


def test_what_the_firmware_writes_into_a_command_s_result_is_no_effect_of_commands(fake: Fake) -> None:
    run = fake.record(f"fill 9 {FAR} 64", f"write {FAR} 3 8", f"copy {FAR} 0 64")
    [block] = [block for block in run.blocks() if block.command == 1]
    assert FAR - block.offset >= 0
    assert block.content[FAR - block.offset :][:10] == b"\3" * 8 + b"\x09" * 2
    assert run.verify()[:10].tolist() == [3] * 8 + [9] * 2


def test_what_the_host_writes_while_a_command_runs_is_no_effect_of_it(fake: Fake) -> None:
    run = fake.record("write 0 5 64", f"during {4 * FAR} 7 64", f"copy {4 * FAR} {5 * FAR} 64")
    [written] = [h for h in run.of(Event.HASH) if h.offset < 3 * FAR]
    assert written.offset <= 2 * FAR < written.offset + written.size
    assert run.names() == ["COMMAND", "BLOCK", "HASH", "QUIET"] * 2
    assert run.verify()[5 * FAR : 5 * FAR + 64].tolist() == [7] * 64


def test_a_child_that_is_made_while_a_command_runs_leaves_no_trace(fake: Fake) -> None:
    run = fake.record("write 0 5 64", f"write {3 * FAR} 9 64", f"during {4 * FAR} 7 64 1")  # the child touches all
    assert fake.output == "child 0\n"
    assert run.names() == ["COMMAND", "BLOCK", "HASH", "QUIET"]
    run.verify()


def test_commands_of_two_cores_at_once_have_one_quiet_point(fake: Fake) -> None:
    run = fake.record("write 0 5 64", f"write {FAR} 6 64", f"meet 0 {4 * FAR} 64")
    assert [name for name in run.names() if name != "BLOCK"] == ["COMMAND", "COMMAND", "HASH", "HASH", "QUIET"]
    assert set(run.recording.events["core"][run.recording.of(Event.COMMAND)].tolist()) == {0, 1}
    regions = run.recording.of(Event.REGION).tolist()
    found = {(run.recording.parsed(i, Region.parse).space, int(run.recording.events[i]["core"])) for i in regions}
    assert {("L", 0), ("L", 1), ("S", 0), ("S", 1)} < found
    assert len(regions) == 6  # DDR and L2 are there once
    memory = run.verify()
    assert (memory[4 * FAR], memory[5 * FAR]) == (5, 6)


def test_a_helper_thread_of_a_command_counts_as_the_command(fake: Fake) -> None:
    run = fake.record("write 0 5 64", f"helper 0 {FAR} 64")
    assert run.names() == ["COMMAND", "BLOCK", "HASH", "QUIET"]
    assert run.blocks()[0].command == 0
    run.verify()


def test_the_recorder_does_not_change_what_the_program_computes(fake: Fake) -> None:
    steps = [
        "write 0 5 64",
        "next",
        f"op 0 {FAR} 64 3",
        f"copy {FAR} 99 64",
        "print 99",
        f"launch 0 {FAR} 64",
        "file 0 4096",
    ]
    assert fake.run(*steps) == 0
    plain = fake.output
    fake.record(*steps)
    assert fake.output == plain
    assert "next found" in plain
    assert "sum 36" in plain
    assert "read 4096" in plain


def test_firmware_calls_have_the_tensor_and_commands_say_which_call_they_follow(fake: Fake) -> None:
    run = fake.record("write 0 5 64", f"op 0 {FAR} 64 12")
    first, second = run.of(Event.MARK)
    assert (first.arguments, first.result, first.shape) == ((1, 2, 3, 4), 36, None)
    assert (second.tensor, second.shape) == (12, (1, 64, 7))
    assert [command.mark for command in run.of(Event.COMMAND)] == [0, 1]
    texts = [payload[4:].decode() for payload in run.of(Event.NAME)]
    assert texts == ["dynamic_context_set_io_tensors", "dynamic_context_local_set_output_info"]


def test_a_command_of_a_stream_is_not_one_that_the_firmware_queued(fake: Fake) -> None:
    run = fake.record("copy 0 64 8", "stream 0 128 8", "copy 0 256 8")
    rows = run.recording.events[run.recording.of(Event.COMMAND)]
    assert (rows["flags"] & form.CommandFlag.ISSUED).tolist() == [1, 0, 1]


def test_bases_of_tags_are_recorded(fake: Fake) -> None:
    run = fake.record("bases", "copy 0 64 8")
    assert [np.frombuffer(payload, "<u4").tolist() for payload in run.of(Event.BASE)] == [
        [1, 1, 0x1000, 0],
        [1, 2, 0x2000, 0],
    ]


def test_a_copy_in_is_recorded_once_and_its_bytes_when_they_are_read(fake: Fake) -> None:
    run = fake.record("s2d 4096 7 100", f"copy 4096 {FAR} 100")
    assert run.names() == ["COPY_IN", "COMMAND", "BLOCK", "HASH", "QUIET"]
    [copy] = run.of(Event.COPY_IN)
    assert (copy.address, copy.size, copy.data) == (START + 4096, 100, None)


def test_a_copy_in_over_bytes_that_are_known_has_data(fake: Fake) -> None:
    run = fake.record("s2d 4096 7 100", f"copy 4096 {FAR} 100", "s2d 4096 8 50", f"copy 4096 {FAR} 100")
    assert run.names().count("BLOCK") == 1
    assert run.of(Event.COPY_IN)[1].data == b"\x08" * 50
    assert run.verify()[FAR : FAR + 100].tolist() == [8] * 50 + [7] * 50


def test_a_copy_in_over_bytes_known_and_unknown_is_one_copy_in_parts(fake: Fake) -> None:
    run = fake.record("write 0 5 16000", f"copy 0 {FAR} 16000", "s2d 100 8 200000", f"copy 100 {FAR} 200000")
    copies = run.of(Event.COPY_IN)
    flags = run.recording.events["flags"][run.recording.of(Event.COPY_IN)].tolist()
    assert [(copy.address - START, copy.size, copy.data is not None) for copy in copies] == [
        (100, PAGE - 100, True),
        (PAGE, 200100 - PAGE, False),
    ]
    assert flags == [form.CopyFlag.DATA, form.CopyFlag.CONTINUED]
    assert (run.verify()[FAR : FAR + 200000] == 8).all()


def test_a_long_copy_in_over_known_bytes_is_cut_into_parts(fake: Fake) -> None:
    size = 3 * FAR
    run = fake.record(
        f"write 0 5 {size}", f"copy 0 {8 * FAR} {size}", f"s2d 7 8 {size - 7}", f"copy 0 {8 * FAR} {size}"
    )
    copies = run.of(Event.COPY_IN)
    assert len(copies) > 1
    assert sum(copy.size for copy in copies) == size - 7
    assert run.verify()[8 * FAR : 8 * FAR + 9].tolist() == [5] * 7 + [8] * 2


def test_a_copy_in_over_bytes_that_the_host_changed_before_is_read_again(fake: Fake) -> None:
    run = fake.record("write 0 5 100", f"copy 0 {FAR} 100", "write 0 6 100", "s2d 50 7 10", f"copy 0 {FAR} 100")
    assert run.of(Event.COPY_IN)[0].data is None
    assert run.verify()[FAR : FAR + 100].tolist() == [6] * 50 + [7] * 10 + [6] * 40


def test_a_copy_out_has_the_hash_of_what_the_host_got(fake: Fake) -> None:
    run = fake.record(f"fill 3 {FAR} 500", f"d2s {FAR} 400")
    [copy] = run.of(Event.COPY_OUT)
    assert (copy.address, copy.size) == (START + FAR, 400)
    assert copy.value == form.hash_of(b"\3" * 400)
    assert fake.output == "first 3\n"


def test_a_launch_holds_its_commands_and_its_shapes_of_this_run(fake: Fake) -> None:
    run = fake.record("write 0 5 64", f"launch 0 {FAR} 64", f"launch 0 {2 * FAR} 32")
    assert run.names(Event.BLOCK, Event.HASH) == ["LAUNCH_BEGIN", "COMMAND", "QUIET", "LAUNCH_END"] * 2
    begin, end = run.of(Event.LAUNCH_BEGIN)[1], run.of(Event.LAUNCH_END)[1]
    assert (begin.number, begin.net, begin.stage) == (1, "net", form.NO_STAGE)
    assert [(t.shape, t.address, t.size, t.dtype) for t in begin.inputs] == [((4, 8), START, 32, 2)]
    assert (end.number, end.result) == (1, 0)
    assert [t.shape for t in end.outputs] == [(2, 8)]


def test_what_the_firmware_writes_between_the_commands_of_a_launch_is_seen(fake: Fake) -> None:
    overlapping = f"launch 0 {FAR} 4096 3"  # each reads what the firmware wrote after the one before
    run = fake.record("write 0 5 20000", "firmware 1", overlapping, f"launch 0 {2 * FAR} 4096 3")
    memory = run.verify()
    assert memory[2 * FAR : 2 * FAR + 16384 : 4096].tolist() == [100, 101, 102, 103]


def test_a_child_that_is_made_while_memory_is_closed_is_not_disturbed(fake: Fake) -> None:
    run = fake.record("write 0 5 64", "firmware 2", f"launch 0 {2 * FAR} 64 1")
    assert fake.output == "child 0\nchild 0\n"
    assert len(run.of(Event.COMMAND)) == 2
    run.verify()


def test_firmware_on_a_thread_that_blocks_all_signals_is_recorded(fake: Fake) -> None:
    fake.record("blocked", "write 0 5 64", "firmware 1", f"launch 0 {2 * FAR} 64 2").verify()


def test_memory_that_shares_pages_with_others_is_recorded_to_the_byte(fake: Fake) -> None:
    last = (100 << 10) - 8
    run = fake.record(
        "write 0 5 64",
        "write_l2 0 6 8",
        f"write_l2 {last} 7 8",
        f"from_l2 0 {FAR} 8",
        f"from_l2 {last} {2 * FAR} 8",
        f"to_l2 0 {last} 4",
        "to_l2 0 50000 4",
        f"from_l2 {last} {3 * FAR} 8",
        f"from_l2 50000 {4 * FAR} 8",
        "write_l2 50000 9 2",
        f"from_l2 50000 {5 * FAR} 8",
    )
    memory = run.verify()
    assert [memory[k * FAR : k * FAR + 8].tolist() for k in range(1, 6)] == [
        [6] * 8,
        [7] * 8,
        [5] * 4 + [7] * 4,
        [5] * 4 + [0] * 4,
        [9] * 2 + [5] * 2 + [0] * 4,
    ]


def test_too_many_pieces_of_memory_end_the_observation_and_not_the_program(fake: Fake) -> None:
    steps = [*(f"write {k << 16} {k} 8" for k in range(40)), "maps", f"copy 0 {8 * FAR} 10"]
    run = fake.record(*steps, f"scattered 0 {9 * FAR} {40 << 16}", f"print {9 * FAR + (39 << 16)}", "copy 0 9 10")
    assert fake.output == "byte 39\n"
    assert any(b"too many pieces of memory" in text for text in run.of(Event.REMARK))
    assert run.names()[-1] == "QUIET"


def test_memory_that_was_closed_in_a_launch_is_open_to_the_system_after_it(fake: Fake) -> None:
    fake.record("write 0 5 64", f"launch 0 {FAR} 64", "file 0 4096", f"file {5 * FAR} 100000")
    assert fake.output == "read 4096\nread 100000\n"


def test_many_commands_of_a_launch_are_verified_one_by_one(fake: Fake) -> None:
    run = fake.record("write 0 5 100000", f"launch 0 {20 * FAR} 100 500")
    assert len(run.of(Event.COMMAND)) == 501
    assert len(run.of(Event.QUIET)) == 501
    assert len(run.of(Event.HASH)) >= 501
    run.verify()


def test_local_memory_that_the_emulator_filled_is_one_event(fake: Fake) -> None:
    run = fake.record("fill 3 0 4")
    [block] = run.blocks("L")
    assert (block.offset, block.content) == (0, b"\xef\xbe\xad\xde" * (4 * (64 << 10) // 4))


def test_what_commands_make_of_local_memory_is_not_recorded(fake: Fake) -> None:
    launch = "launch 0 4096 64 0 1"
    run = fake.record("write 0 5 64", launch, launch, "local 0 128 64", launch, launch)
    assert [block.offset for block in run.blocks("L")] == [0, 0]  # filled at first; changed outside of all launches


def test_a_runtime_that_is_opened_again_begins_with_fresh_memory(fake: Fake) -> None:
    run = fake.record("write 0 5 64", f"copy 0 {FAR} 64", "close", "write 0 6 64", f"copy 0 {FAR} 64")
    assert [block.content[0] for block in run.blocks()] == [5, 6]
    assert len([i for i in run.recording.of(Event.REGION) if run.recording.payload(i)[:1] == b"G"]) == 2
    assert run.verify()[FAR : FAR + 64].tolist() == [6] * 64


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_any_program_can_be_replayed_from_its_recording(fake: Fake, data: st.DataObject) -> None:
    place = st.integers(0, 6 * FAR)
    size = st.sampled_from([1, 7, 64, 4096, 16384, 70000])
    byte = st.integers(0, 255)
    step = st.one_of(
        st.builds("write {} {} {}".format, place, byte, size),
        st.builds("s2d {} {} {}".format, place, byte, size),
        st.builds("fill {} {} {}".format, byte, place, size),
        st.builds("copy {} {} {} {}".format, place, place, size, st.integers(0, 1)),
        st.builds("helper {} {} {}".format, place, place, size),
        st.builds("launch {} {} {}".format, place, place, size),
        st.builds("d2s {} {}".format, place, size),
    )
    steps = data.draw(st.lists(step, min_size=1, max_size=30))
    run = fake.record(*steps, f"copy 0 {8 * FAR} {7 * FAR}")  # a hash for every byte
    assert run.of(Event.COMMAND)
    run.verify()
