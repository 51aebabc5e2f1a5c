"""`tdb-dap debug` and `tdb-dap demo`: in scripts, in pipes, and in a real terminal."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.command_line import new_process, tdb_dap
from tests.conftest import Toy


def debug(*words: object, typed: str = "") -> subprocess.CompletedProcess[str]:
    return tdb_dap("debug", *words, typed=typed)


def test_a_script_is_carried_out(toy: Toy, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("# to the pooling\nb tpu.Pool2D\nc\np max(%16)\n\nsb\n")
    done = debug(toy.directory, "--inputs", toy.inputs, "-x", script, "-c", "info mem")
    assert done.returncode == 0, done.stderr
    assert "breakpoint: tpu.Pool2D maxpool5_MaxPool" in done.stdout
    assert "3.9359858" in done.stdout
    assert "=>     4  B2:" in done.stdout
    assert "G weights: 40,960 bytes" in done.stdout
    assert "\033" not in done.stdout


TDB_SCRIPT = """
b B3
b R16384
b #loc(13)
b tpu.MatMul
b dma.tensor
b
disable 2,3,5
c
p in 0
p out 0
info asm 3
info mlir
info loc
info reg
w out 0
info w
n 2
display info asm 1
si
check summary
check table
status
delete 1
delete 4,6
c
q
"""


def test_a_script_of_the_vendor_s_debugger_runs(toy: Toy, tmp_path: Path) -> None:
    script = tmp_path / "commands.tdb"
    script.write_text(TDB_SCRIPT)
    done = debug(toy.directory, "--inputs", toy.inputs, "--reference", toy.reference, "-x", script)
    assert done.returncode == 0, done.stdout
    assert "breakpoint: pord.maxpooling B3" in done.stdout or "breakpoint: tpu.Pool2D" in done.stdout
    assert "kernel" in done.stdout
    assert re.search(r"\(23:√\|√\)", done.stdout)
    assert "At the end: every command has been executed" in done.stdout


def test_lines_from_a_pipe_are_a_script_too(toy: Toy) -> None:
    done = new_process("debug", toy.directory, typed="si\n# nothing\np 1 + 1\n")
    assert done.returncode == 0
    assert "step: dma.tensor D2" in done.stdout
    assert done.stdout.rstrip().endswith("2")
    assert debug(toy.directory, typed="p nonsense\n").returncode == 1


def test_it_stops_at_the_first_wrong_op_where_there_is_a_reference(toy: Toy) -> None:
    words = ["-c", "si 5", "-c", "set in[0] = 0", "-c", "c"]
    done = debug(toy.directory, "--inputs", toy.inputs, "--reference", toy.reference, *words)
    assert "maxpool5_MaxPool (tpu.Pool2D at line 23): fail: cosine 0.0" in done.stdout


def test_a_line_that_fails_is_exit_code_1_and_the_rest_goes_on(toy: Toy) -> None:
    done = debug(toy.directory, "-c", "b what is this", "-c", "si")
    assert done.returncode == 1
    assert "'what is this' is not a breakpoint" in done.stdout
    assert "step: dma.tensor D2" in done.stdout


def test_what_cannot_be_loaded_is_one_line_and_exit_code_2(tmp_path: Path, toy: Toy) -> None:
    for words in (("nowhere",), (toy.directory, "-x", tmp_path / "absent")):
        done = debug(*words)
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
        assert done.stderr.startswith("tdb-dap: error: ")


def test_python_where_it_is_allowed(toy: Toy) -> None:
    assert debug(toy.directory, "--allow-python", "-c", "py dbg.program.chip").stdout.rstrip().endswith("'BM1684X'")


def test_the_demo_is_a_session_on_the_sample() -> None:
    done = new_process("demo")
    assert done.returncode == 0, done.stderr
    for words in ("(tdb) c", "=>     5  B3", "(23:√|√)", "fail: cosine", "nothing differs", "Next:"):
        assert words in done.stdout
    assert "\033" not in done.stdout


pexpect = pytest.importorskip("pexpect")
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[()=>].?")


class Terminal:
    """A program in a terminal, and what it has written there, without the escapes."""

    def __init__(self, words: list[str], **environment: str) -> None:
        self.child = pexpect.spawn(
            sys.executable, words, env={**os.environ, **environment}, dimensions=(40, 100), encoding="utf-8"
        )
        self.raw = ""

    def wait_for(self, *expected: str) -> None:
        """Read until all of these have come, in this order, behind what was waited for before."""
        deadline = time.monotonic() + 30
        for words in expected:
            while (at := _ESCAPES.sub("", self.raw).find(words)) < 0:
                assert time.monotonic() < deadline, f"no {words!r} in {_ESCAPES.sub('', self.raw)!r}"
                try:
                    self.raw += self.child.read_nonblocking(4096, 1)
                except pexpect.TIMEOUT:
                    continue
            self.raw = _ESCAPES.sub("", self.raw)[at + len(words) :]

    def typed(self, text: str, *expected: str) -> None:
        """Type a line when there is a prompt."""
        self.wait_for("(tdb)")
        self.child.send(text + "\r")
        self.wait_for(*expected)

    def exit_code(self) -> int:
        """When it has ended."""
        self.child.expect(pexpect.EOF, timeout=30)
        self.child.close()
        return int(self.child.exitstatus)


@pytest.fixture
def terminal(toy: Toy, tmp_path: Path) -> Iterator[Terminal]:
    """The debugger in a terminal of 100 columns."""
    words = ["-m", "tdb_dap", "debug", str(toy.directory)]
    words += ["--inputs", str(toy.inputs), "--reference", str(toy.reference)]
    opened = Terminal(words, TERM="xterm-256color", XDG_STATE_HOME=str(tmp_path), PROMPT_TOOLKIT_NO_CPR="1")
    yield opened
    opened.child.close(force=True)


def test_a_session_in_a_real_terminal(terminal: Terminal, tmp_path: Path) -> None:
    terminal.typed("b tpu.Pool2D", "breakpoint 1: tpu.Pool2D")
    terminal.typed("c", "breakpoint: tpu.Pool2D maxpool5_MaxPool", "=>", "f32 1×16×32×32", "relu4_Relu")
    terminal.typed("p in[0]", "[0,0,:8,:", "0.28178513", "...")
    terminal.typed("p max(in[0])", "3.9359858")
    terminal.typed("p what", "there is no tensor named")
    terminal.typed("rn", "tpu.Conv2D relu4_Relu")
    terminal.typed("n", "tpu.Pool2D maxpool5_MaxPool")
    terminal.wait_for("(tdb)")
    terminal.child.send("info ml\t")
    terminal.wait_for("ir")
    terminal.child.send("\r")
    terminal.wait_for('"tpu.Pool2D"')
    terminal.typed("q")
    assert terminal.exit_code() == 0
    assert "+b tpu.Pool2D\n" in (tmp_path / "tdb-dap" / "history").read_text()


def test_control_c_pauses_a_run_and_does_not_end_the_session(terminal: Terminal) -> None:
    slow = "sum(exp(sin(exp(sin(exp(sin(R0:f32[1,64,256,128]))))))) < 0"
    for number in range(1, 7):
        terminal.typed(f"b tpu.* if {slow}", f"breakpoint {number}: ")
    terminal.typed("c", "Ctrl-C pauses")  # said while it runs
    os.kill(terminal.child.pid, signal.SIGINT)
    terminal.wait_for("pause: ")
    terminal.typed("p 40 + 2", "42")
    terminal.wait_for("(tdb)")
    terminal.child.send("\x04")
    assert terminal.exit_code() == 0
