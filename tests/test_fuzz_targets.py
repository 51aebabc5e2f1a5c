"""The targets of the fuzzer, and what broke them once."""

from __future__ import annotations

import collections
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.robustness.fuzz_parsers.__main__ import Outcome, table
from scripts.robustness.fuzz_parsers.one import load
from scripts.robustness.fuzz_parsers.target import TARGETS, Target, attempt

load()


FRESH = "import subprocess, sys; sys.exit(abs(subprocess.call([sys.executable, *sys.argv[1:]])))"
"""Starts Python from a small process: libFuzzer's limit is for the peak of memory, which a child takes over from the
process that starts it, and other tests may have made this one large."""


def run(name: str, scratch: Path, *options: str) -> str:
    """A target in a separate process, confined to a directory."""
    command = [sys.executable, "-c", FRESH, "-m", "scripts.robustness.fuzz_parsers.one", name, str(scratch), *options]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=550)
    assert done.returncode == 0, f"{name}: {done.stderr[-3000:]}"
    return done.stderr


def test_seeds_and_some_random_changes(tmp_path: Path) -> None:
    run("all", tmp_path, "--plain", "10", "1")


@pytest.mark.fuzz
@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="Atheris is not installed")
@pytest.mark.parametrize("name", TARGETS)
def test_a_thousand_inputs(name: str, tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    limits = ("-timeout=20", "-rss_limit_mb=2048", "-max_total_time=8", "-print_final_stats=1")
    said = run(name, tmp_path, "-runs=1000", "-seed=1", *limits, str(tmp_path / "corpus"))
    # A machine that is busy with other tests executes a hundred of the slowest target in that time.
    assert int(re.findall(r"number_of_executed_units: (\d+)", said)[-1]) > 20


BROKE = {
    "records whose text is not UTF-8": (
        "locations",
        b'[{"file-line": 3, "opcode": "x", "subnet_id": 0, "core_id": 0, "tiu_dma_id(before)": [0, 0], '
        b'"tiu_dma_id(after)": [0, 0], "operands": ["\xde"], "results": []}]',
    ),
    "a message whose text is not UTF-8": ("remote client", b"\x00\x00\x00\x0d\x82\xa4type\xa4\xa5one\xa1x"),
    "a number that begins with a nought": ("address", b"R08044"),
    "a number of five thousand digits": ("address", b"R" + b"9" * 5000),
    "an index that does not fit, where a place is wanted": ("expression", b"max(abs(in[0] - ref[0]))"),
    "blanks of a kind that nobody types, in a shape": ("expression", b"in[R0:f3out[0\x1d]]"),
    "a list of lists of different lengths": ("expression", b"%16,16"),
    "a format that is a billion wide": ("log message", b"{R0:f32[4]:>1077777777777777777777}"),
    "a subnet whose tensors are beyond 64 bits": ("model", b"\x01\x30\x22\xa8\x01\x01\x00\xb7\x63\x86"),
    "a tensor of more channels than lanes can hold": ("expression", b"R0:f32[732777777,777737,80][777380][0]"),
    "a number of many digits, in a format": ("log message", b"{2222222222222222222222:>10}"),
    "a field of a message with a line end in its name": (
        "remote client",
        b"\x00\x00\x00\x13\x83\xa4type\xa4Done\xa4co\nt\xc0\xa1x\xc0",
    ),
    "a backend that refuses without a reason": (
        "remote client",
        b"\x00\x00\x00\x1d\x83\xa4type\xa7Refused\xa4kind\xa4busy\xa3why\xa0",
    ),
    "a backend whose reason is the end of a line": (
        "remote client",
        b"\x00\x00\x00\x1e\x83\xa4type\xa7Refused\xa4kind\xa4lgst\xa3why\xa1\n",
    ),
    "a tensor whose name goes on into what follows it": ("model", b"\xe6%\x04\xffbf16\xe6\x05\xff"),
    "bytes to be written that are not ASCII": (
        "session",
        '{"command": "writeMemory", "arguments": {"memoryReference": "R0", "data": "äöü"}}'.encode(),
    ),
    "a breakpoint of a thousand control characters": ("breakpoint", b"R8" + bytes(500)),
    "a sanitizer of a thousand letters": (
        "configuration",
        b'{"program": "x", "sanitizers": ["' + b"a" * 1000 + b'"]}',
    ),
    "a field of a nested configuration with a line end in its name": (
        "configuration",
        b'{"program": "x", "tolerance": {"a\\nb": 1}}',
    ),
    "a header of brackets": ("npy", b"\x93NUMPY\x01\x00\x28\x23" + b"(" * 9000),
}


@pytest.mark.parametrize(("name", "data"), BROKE.values(), ids=BROKE)
def test_what_broke_a_target_once(name: str, data: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    attempt(TARGETS[name], data)


@pytest.mark.parametrize("event", ["open('/tmp/escaped', 'w')", "__import__('os').system('true')"])
def test_the_sandbox_holds(event: str, tmp_path: Path) -> None:
    module = "scripts.robustness.fuzz_parsers.sandbox"
    code = f"from {module} import confine; from pathlib import Path; confine(Path({str(tmp_path)!r})); {event}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert re.search("PermissionError|Escaped", done.stderr)


def test_a_table_keeps_the_rows_of_targets_that_did_not_run() -> None:
    npy, xz = (Outcome(name, "Bytes", 60, 2, 1, 1, 1, 1, 1, "") for name in ("npy", "xz"))
    before = "\n".join(table([npy, xz], ""))
    again = Outcome("npy", "Bytes", 3600, 1, 7, 1, 1, 1, 1, "a | b")
    assert table([again], before)[2:] == [
        "| npy | Bytes | 3,600 | 1 | 7 | 1 | 1 | 1 | a \\| b |",
        "| xz | Bytes | 60 | 2 | 1 | 1 | 1 | 1 | no |",
    ]


def test_an_input_that_computes_for_too_long_breaks_the_rule() -> None:
    slow = Target("slow", lambda _: collections.deque(range(1_000_000), 0).clear(), list, (), (), 1)
    with pytest.raises(AssertionError, match="of processor time"):
        attempt(slow, b"", longest=0.001)
    attempt(slow, b"", longest=10)
