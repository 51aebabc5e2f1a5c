"""How recordings end: well, by signals and crashes on either side, on a full disk, and with several processes."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tdb_dap.backends.recorder import keeper
from tdb_dap.backends.recorder import record as recording
from tdb_dap.backends.recorder.keeper import Stalled
from tdb_dap.backends.recorder.record import record
from tdb_dap.engine.recording.format import Event
from tdb_dap.engine.recording.recording import Recording
from tdb_dap.errors import BadInput
from tests.backends.recorder.recorded import Fake
from tests.command_line import tdb_dap

FAR = 1 << 20
WORK = ("write 0 5 100", f"copy 0 {FAR} 100")


@pytest.mark.parametrize("code", [0, 1, 3])
def test_the_exit_code_is_the_program_s(fake: Fake, code: int) -> None:
    run = fake.record(*WORK, f"exit {code}", code=code)
    assert run.recording.is_complete
    assert run.recording.done["exit"] == code
    assert run.recording.done["events"]["COMMAND"] == 1


@pytest.mark.parametrize(
    ("step", "number"),
    [
        ("crash", signal.SIGSEGV),
        ("crash_in_command", signal.SIGSEGV),
        ("abort", signal.SIGABRT),
        ("kill", signal.SIGKILL),
    ],
)
def test_a_program_that_is_ended_by_a_signal_is_recorded_up_to_there(fake: Fake, step: str, number: int) -> None:
    assert fake.run(*WORK, step) == -number
    run = fake.record(*WORK, step, code=128 + number)
    assert run.names()[:4] == ["COMMAND", "BLOCK", "HASH", "QUIET"]
    assert len(run.of(Event.COMMAND)) == (2 if step == "crash_in_command" else 1)
    assert run.recording.is_complete


@pytest.mark.parametrize("step", ["crash", "crash_in_command"])
def test_a_program_that_handles_its_faults_still_does(fake: Fake, step: str) -> None:
    fake.record(*WORK, "handler", "asked", f"copy {FAR} 0 100", step, code=7)
    assert fake.output == "handler own\ncaught\n"


def test_the_program_does_not_see_the_recorder_s_handler(fake: Fake) -> None:
    fake.record(*WORK, "asked")
    assert fake.output == "handler default\n"


def test_a_thread_that_blocks_all_signals_is_recorded(fake: Fake) -> None:
    assert fake.record("blocked", *WORK).names() == ["COMMAND", "BLOCK", "HASH", "QUIET"]


def test_a_child_is_not_recorded_and_is_not_disturbed(fake: Fake) -> None:
    run = fake.record(*WORK, "fork", f"copy {FAR} 0 100")
    assert fake.output == "child 0\n"
    assert len(run.of(Event.COMMAND)) == 2
    run.verify()


def test_another_process_that_executes_commands_is_reported(fake: Fake) -> None:
    run = fake.record(*WORK, "again")
    assert len(run.of(Event.COMMAND)) == 1
    assert "other processes used the runtime and are not recorded: 1" in fake.errors
    assert run.recording.done["others"] == 1


def test_a_recording_that_is_killed_can_be_read_and_the_program_goes_on(fake: Fake) -> None:
    recorder = subprocess.Popen(
        fake.recorder(*WORK, "pause", *WORK, "print 0"),
        env=fake.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert recorder.stdin is not None
    assert recorder.stdout is not None
    assert recorder.stdout.readline() == "paused\n"
    _wait_for_events(fake.file)
    recorder.kill()
    recorder.wait()
    recorder.stdin.write("\n")
    recorder.stdin.flush()
    assert recorder.stdout.readline() == "byte 5\n"  # of the program, which is nobody's child now
    run = fake.read()
    assert run.names() == ["COMMAND", "BLOCK", "HASH", "QUIET"]
    assert not run.recording.is_complete
    assert "interrupted" in run.recording.remark
    recorder.stdin.close()
    recorder.stdout.close()


def _wait_for_events(path: Path) -> None:
    """A recording grows while the program runs, although no buffer is full."""
    while True:
        try:
            if len(Recording.read(path).events) > 3:
                return
        except Exception:
            continue


def test_a_request_to_end_is_passed_on(fake: Fake) -> None:
    recorder = subprocess.Popen(
        fake.recorder(*WORK, "pause"), env=fake.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert recorder.stdout is not None
    assert recorder.stdout.readline() == "paused\n"
    recorder.terminate()
    assert recorder.wait() == 128 + signal.SIGTERM
    assert fake.read().recording.is_complete
    recorder.communicate()


def test_a_request_to_end_that_comes_while_the_program_starts_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    start = keeper._started

    def interrupted(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        child = start(*arguments, **options)
        os.kill(os.getpid(), signal.SIGTERM)
        return child

    monkeypatch.setattr(keeper, "_started", interrupted)
    before = signal.getsignal(signal.SIGTERM)
    assert keeper._run(["sleep", "5"], dict(os.environ), None) == -signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) is before


SILENT = (
    "import subprocess, time; print('the last word', flush=True); subprocess.Popen(['sleep', '{0}']); time.sleep({0})"
)


def running(seconds: str) -> bool:
    """Whether a process waits for just this time."""
    lines = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout.splitlines()
    return f"sleep {seconds}" in lines


def test_a_program_that_does_nothing_is_given_up_with_all_that_it_started(built: Path, tmp_path: Path) -> None:
    """Nor does what it holds open keep this process waiting."""
    seconds = str(3000 + os.getpid() % 1000)
    with (
        (tmp_path / "said").open("w+b") as output,
        pytest.raises(Stalled, match=r"given up after 0.5 seconds in which"),
    ):
        record([sys.executable, "-c", SILENT.format(seconds)], tmp_path / "a.tdbrec", None, output, 0.5)
    assert (tmp_path / "said").read_text() == "the last word\n"
    assert not running(seconds)
    assert not (tmp_path / "a.tdbrec").exists()


def test_a_program_that_works_slowly_is_not_given_up(built: Path, tmp_path: Path) -> None:
    words = "import time\nfor _ in range(8): print('on', flush=True); time.sleep(0.5)"
    with (tmp_path / "said").open("w+b") as output:
        assert record([sys.executable, "-c", words], tmp_path / "a.tdbrec", None, output, 2.5).code == 0


def test_a_request_to_end_ends_a_program_that_hears_none(built: Path, tmp_path: Path) -> None:
    seconds = str(5000 + os.getpid() % 1000)
    deaf = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SILENT.format(seconds)}"
    program = (
        "import sys; from pathlib import Path; from tdb_dap.backends.recorder.record import record\n"
        "command = [sys.executable, '-c', sys.argv[2]]\n"
        "with open(sys.argv[1], 'w+b') as output: record(command, Path(sys.argv[3]), None, output, 60)"
    )
    words = [sys.executable, "-c", program, str(tmp_path / "said"), deaf, str(tmp_path / "a.tdbrec")]
    recorder = subprocess.Popen(words)
    while not (tmp_path / "said").exists() or not (tmp_path / "said").read_text() or not running(seconds):
        time.sleep(0.05)
    recorder.terminate()
    assert recorder.wait(60) == -signal.SIGTERM
    assert not running(seconds)


def test_a_full_disk_ends_the_recording_and_not_the_program(fake: Fake) -> None:
    steps = [
        *WORK,
        f"file {FAR} 3000000",
        f"copy {FAR} {8 * FAR} 3000000",
        f"print {8 * FAR}",
        "write 0 77 1",
        "print 0",
    ]
    limit = 2 << 20  # the recorder's own buffer needs half of it
    done = subprocess.run(
        fake.recorder(*steps),
        env=fake.environment(),
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY)),
    )
    assert done.returncode == 2
    assert done.stderr == (
        f"tdb-dap: error: {fake.file}: could not be written to the end: File too large; "
        "what was recorded before can be read\n"
    )
    assert done.stdout.endswith("byte 77\n")
    assert fake.file.stat().st_size <= limit
    assert not fake.read().recording.is_complete


def test_a_program_without_the_runtime_leaves_no_file(tmp_path: Path) -> None:
    file = tmp_path / "x.tdbrec"
    done = tdb_dap("record", "-o", str(file), "--", "true")
    assert done.returncode == 2
    assert "true: nothing was recorded" in done.stderr
    assert not file.exists()


def test_a_program_that_fails_without_the_runtime_keeps_its_exit_code(tmp_path: Path) -> None:
    file = tmp_path / "x.tdbrec"
    done = tdb_dap("record", "-o", str(file), "--", "sh", "-c", "exit 5")
    assert (done.returncode, "nothing was recorded" in done.stderr, file.exists()) == (5, True, False)


def test_a_program_that_is_not_there_is_said(tmp_path: Path) -> None:
    file = tmp_path / "x.tdbrec"
    done = tdb_dap("record", "-o", str(file), "--", str(tmp_path / "nothing"))
    assert done.returncode == 2
    assert done.stderr == f"tdb-dap: error: {tmp_path / 'nothing'}: cannot be started: No such file or directory\n"
    assert not file.exists()


@pytest.mark.parametrize("words", [("true",), ("/nothing/there",), ("sh", "-c", "exit 5"), ("sh", "-c", "kill -9 $$")])
@pytest.mark.parametrize("is_link", [False, True])
def test_a_run_without_the_runtime_leaves_the_recording_that_was_there(
    tmp_path: Path, words: tuple[str, ...], is_link: bool
) -> None:
    """``python.tdbrec`` is the default of every Python program, and an environment may lack the runtime."""
    file = tmp_path / "x.tdbrec"
    target = tmp_path / "elsewhere.tdbrec" if is_link else file
    target.write_bytes(b"an older recording")
    if is_link:
        file.symlink_to(target)
    assert tdb_dap("record", "-o", str(file), "--", *words).returncode
    assert target.read_bytes() == b"an older recording"
    assert file.is_symlink() == is_link
    assert sorted(tmp_path.iterdir()) == sorted({file, target})


def test_a_recording_takes_the_place_of_another_with_its_first_event(fake: Fake) -> None:
    fake.file.write_bytes(b"an older recording")
    fake.file.chmod(0o600)
    run = fake.record(*WORK)
    assert run.recording.is_complete
    assert fake.file.stat().st_mode & 0o777 == 0o600
    assert not list(fake.file.parent.glob(".*.part"))


def test_it_records_below_a_long_temporary_directory(fake: Fake, tmp_path: Path) -> None:
    folder = tmp_path.joinpath(*["long" * 10] * 4)
    folder.mkdir(parents=True)
    done = subprocess.run(
        fake.recorder(*WORK), env={**fake.environment(), "TMPDIR": str(folder)}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert fake.read().recording.is_complete
    assert not list(folder.iterdir())


def test_no_program_is_said() -> None:
    done = tdb_dap("record")
    assert (done.returncode, done.stderr) == (
        2,
        "tdb-dap: error: no program is given; tdb-dap record -- PROGRAM ARGUMENTS\n",
    )


def test_a_file_that_cannot_be_written_is_said_before_the_program_runs(tmp_path: Path) -> None:
    done = tdb_dap("record", "-o", str(tmp_path / "no" / "x.tdbrec"), "--", "touch", str(tmp_path / "ran"))
    assert done.returncode == 2
    assert "cannot be written" in done.stderr
    assert not (tmp_path / "ran").exists()


def test_a_recorder_that_was_not_built_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(recording, "LIBRARY", tmp_path / "librecorder.so")
    with pytest.raises(BadInput, match=r"not built: librecorder.so is missing; install a C compiler"):
        recording.library()


@pytest.mark.parametrize(("system", "machine"), [("darwin", "x86_64"), ("linux", "aarch64"), ("win32", "AMD64")])
def test_another_system_is_said(monkeypatch: pytest.MonkeyPatch, system: str, machine: str) -> None:
    monkeypatch.setattr("sys.platform", system)
    monkeypatch.setattr("platform.machine", lambda: machine)
    with pytest.raises(BadInput, match="recording works on Linux x86-64"):
        recording.library()
