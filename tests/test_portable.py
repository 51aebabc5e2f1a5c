"""Right on every machine, or refused by name: byte order, NaNs, the commands of a shell."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from tdb_dap.cli.main import main
from tdb_dap.engine.hardware import dtypes
from tdb_dap.engine.hardware.dtypes import BF16, F16, F32, DType
from tdb_dap.system import shells
from tdb_dap.targets import kernel
from tdb_dap.targets.arithmetic import float32
from tdb_dap.tools.doctor import executing
from tdb_dap.tools.doctor.installation import Installation
from tests.samples import SAMPLE


def test_a_big_endian_machine_opens_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Results would be wrong there without a word."""
    monkeypatch.setattr(sys, "byteorder", "big")
    for verb in ("run", "info", "check", "dis"):
        assert main([verb, str(SAMPLE)]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert "not opened: this machine stores the high byte of a number first" in line
    monkeypatch.setattr(sys, "byteorder", "little")
    assert main(["info", str(SAMPLE)]) == 0


@pytest.mark.parametrize("makes_quiet", [False, True], ids=["as here", "as on ARM"])
def test_widening_keeps_every_nan_of_f16(monkeypatch: pytest.MonkeyPatch, makes_quiet: bool) -> None:
    """Each of the 2,046 NaNs, signalling ones too, whatever NumPy's conversion does on this processor."""
    monkeypatch.setattr(dtypes, "_MAKES_NAN_QUIET", makes_quiet)
    halves = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16)
    words = np.ascontiguousarray(F16.widen(halves)).view(np.uint32)
    nan = (halves & 0x7FFF) > 0x7C00
    expected = (halves.astype(np.uint32) & 0x8000) << 16 | 0x7F800000 | (halves.astype(np.uint32) & 0x3FF) << 13
    assert np.array_equal(words[nan], expected[nan])
    assert np.array_equal(F16.encode(words[~nan].view(np.float32)), halves[~nan])


SPECIAL = np.array([0x7F800000, 0xFF800000, 0, 0x80000000, 0x7FC00123, 0xFFC00456, 0x7F800001, 0xFF802000], np.uint32)


@pytest.mark.parametrize("dtype", [F32, F16, BF16], ids=lambda dtype: dtype.name)
def test_what_is_no_number_is_decided_by_words(dtype: DType) -> None:
    """The NaN of a product is that of SSE even where the processor gives another one: all pairs of special numbers."""
    numbers = SPECIAL.view(np.float32)
    a, b = (np.ascontiguousarray(x.reshape(-1)) for x in np.meshgrid(numbers, numbers))
    with kernel.switched(False):
        here = dtype.encode(float32.product_in(a, b, dtype))
    signs, nan = a.view(np.uint32) >> 31, np.isnan(a)
    shift = 8 * dtype.itemsize - 1
    assert np.array_equal((here >> shift)[nan], signs[nan]), "the first operand's NaN"
    invalid = ~np.isnan(a) & ~np.isnan(b) & ((np.isinf(a) & (b == 0)) | (np.isinf(b) & (a == 0)))
    assert invalid.sum() == 8
    assert (here[invalid] >> shift == 1).all(), "an invalid operation gives the negative NaN"


@pytest.mark.parametrize(
    ("platform", "commands"),
    [
        ("linux", ["'a b'", "export X='a b'", "unset X"]),
        ("win32", ['"a b"', 'setx X "a b"', "reg delete HKCU\\Environment /F /V X"]),
    ],
)
def test_commands_are_those_of_the_systems_shell(
    monkeypatch: pytest.MonkeyPatch, platform: str, commands: list[str]
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    assert [shells.quoted("a b"), shells.setting("X", "a b"), shells.unsetting("X")] == commands


@pytest.mark.skipif(not kernel.is_built, reason="no kernel")
def test_a_kernel_that_uses_less_than_the_processor_has_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    here = Installation.here()
    monkeypatch.setattr(executing, "_features", lambda: {"AVX2": True})
    with kernel.switched(True):
        monkeypatch.setattr(kernel, "widths", lambda: [4])
        (narrow,) = executing.kernel(here)
        monkeypatch.setattr(kernel, "widths", lambda: [4, 8])
        (right,) = executing.kernel(here)
    assert (narrow.status, right.status) == ("note", "ok")
    assert "with AVX2 of this processor it would compute 8 at a time" in narrow.text
    assert "(processor: AVX2)" in right.text
