"""The backend's CUDA source compiled for this processor, and on a device where there is one."""

from __future__ import annotations

import ctypes
import logging
import re
import sys
from pathlib import Path
from subprocess import CalledProcessError, run
from typing import Any

import gpu_backend
import numpy as np
import pytest
from gpu_backend import WithDevice, attach, device
from gpu_backend.device import Device, Unusable
from gpu_backend.product import Float32, product_of
from gpu_backend.proof import command, differs
from host_cuda import COMPILER, Cupy, compiled

import tdb_dap
from tdb_dap.api import Chip, Debugger, InProcess, Machine, load_inputs, open_program, target_for

SAMPLE = Path(tdb_dap.__file__).parent / "sample"
INPUTS = SAMPLE / "input.npz"
CHIPS = ["BM1684X", "BM1688", "BM1690", "SG2380"]
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler: the CUDA source is not compiled here")


@pytest.fixture(scope="module")
def cupy(tmp_path_factory: pytest.TempPathFactory) -> Cupy:
    if COMPILER is None:
        pytest.skip("no C++ compiler: the CUDA source is not compiled here")
    return Cupy(tmp_path_factory.mktemp("cuda"))


@pytest.fixture(scope="module", params=["host", pytest.param("device", marks=pytest.mark.gpu)])
def opened(request: pytest.FixtureRequest) -> Device:
    """The source as this processor executes it, and on a real device where there is one."""
    if request.param == "host":
        return Device(request.getfixturevalue("cupy"))
    try:
        return device.opened(chip_named("BM1684X"))
    except Unusable as missing:
        pytest.skip(f"no device: {missing}")


@pytest.fixture
def installed_cupy(cupy: Cupy, monkeypatch: pytest.MonkeyPatch) -> Cupy:
    """CuPy counts as installed, and small products are worth it, too."""
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setattr(gpu_backend, "WORTH", 0)
    cupy.launches.clear()
    return cupy


def chip_named(name: str) -> Chip:
    chip = target_for(name, "the test")
    assert isinstance(chip, Chip)
    return chip


def drawn(random: np.random.Generator, shape: tuple[int, int]) -> Float32:
    """Any words: NaNs with payloads, infinities, subnormals; or numbers of nearly one magnitude."""
    if random.integers(2):
        return random.integers(0, 1 << 32, shape, np.uint32).view(np.float32)
    return (random.standard_normal(shape) * 2.0 ** random.integers(-80, 60)).astype(np.float32)


def open_sample() -> Debugger:
    program = open_program(SAMPLE)
    machine = Machine(program, backend=attach(program))
    machine.load_inputs(load_inputs(INPUTS, program.inputs))
    return Debugger(program, machine)


@pytest.mark.parametrize("name", CHIPS)
def test_products_have_the_bits_of_the_built_in_simulator(opened: Device, name: str) -> None:
    chip, random = chip_named(name), np.random.default_rng(7)
    assert not differs(chip, opened.product)
    for number in range(60):
        rows, inner, columns = (int(random.integers(1, most)) for most in (20, 60, 90))
        turned = int(number % 3 == 0)
        left = drawn(random, (inner, rows) if turned else (rows, inner))
        sizes = {"left_tran": turned, "opd0_n": left.shape[0], "opd0_w": left.shape[1], "opd1_w": left.shape[1]}
        bias = drawn(random, (1, columns))
        description, memory = command(
            chip, left, drawn(random, (inner, columns)), bias, **sizes, res0_n=rows, res_add=number % 2
        )
        product = product_of(description, chip)
        assert product is not None
        assert product.size == rows * inner * columns
        memory.write(product.result, drawn(random, (rows, columns)).view(np.uint32))
        formed = opened.product(product.factors(memory)).view(np.uint32)
        with np.errstate(all="ignore"):
            chip.execute(description, memory)
        differing = np.flatnonzero(formed != memory.read(product.result))
        assert not differing.size, (number, rows, inner, columns, turned, differing[:8])


def test_other_commands_are_not_taken() -> None:
    program = open_program(SAMPLE)
    chip = program.target
    assert isinstance(chip, Chip)
    taken = [each.name for each in program.commands if product_of(each.description, chip) is not None]
    assert taken == ["mm.normal"]


def test_a_run_is_that_of_the_built_in_simulator_and_goes_back(installed_cupy: Cupy) -> None:
    debugger, expected = open_sample(), tdb_dap.open(SAMPLE, INPUTS)
    assert isinstance(debugger.machine.backend, WithDevice)
    installed_cupy.launches.clear()  # of the comparison at the beginning
    for one in (debugger, expected):
        one.run()
    assert installed_cupy.launches == ["chain", "joined"]
    assert debugger.machine.backend.formed == 1
    for ordinal in (58, 30, 58):
        debugger.travel(ordinal)
        expected.travel(ordinal)
        assert debugger.machine.memory.local().tobytes() == expected.machine.memory.local().tobytes(), ordinal
    outputs = expected.outputs()
    assert debugger.outputs().keys() == outputs.keys()
    for name, numbers in debugger.outputs().items():
        assert numbers.tobytes() == outputs[name].tobytes(), name


def test_a_device_that_fails_changes_no_result(installed_cupy: Cupy, caplog: pytest.LogCaptureFixture) -> None:
    debugger, expected = open_sample(), tdb_dap.open(SAMPLE, INPUTS)
    installed_cupy.fails = RuntimeError("cudaErrorIllegalAddress")
    with caplog.at_level(logging.WARNING):
        try:
            debugger.run()
        finally:
            installed_cupy.fails = None
    expected.run()
    assert caplog.messages == ["gpu: RuntimeError: cudaErrorIllegalAddress; the built-in simulator continues"]
    for name, numbers in expected.outputs().items():
        assert debugger.outputs()[name].tobytes() == numbers.tobytes()


def test_small_products_stay_on_this_processor(installed_cupy: Cupy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "cupy", installed_cupy)
    debugger = open_sample()
    installed_cupy.launches.clear()
    debugger.run()
    assert installed_cupy.launches == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("k = (side + position) & 1", "k = side"),
        ("nan_of(a, b) : flushed(sum)", "nan_of(b, a) : flushed(sum)"),
        ("multiplied(left[row * inner + k], right[k * columns + column])",
         "multiplied(right[k * columns + column], left[row * inner + k])"),
        ("flushed(float number)\n{", "flushed(float number)\n{\n    return number;"),
        ("return flushed(product)", "return product"),
        ("exact < 0x380ffffff0000000LL", "exact < 0"),
        ("side ? second[element] : bias[column]", "side ? bias[column] : second[element]"),
    ],
)  # fmt: skip
@needs_compiler
def test_a_device_with_other_bits_is_not_used(
    before: str, after: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = device.SOURCE.read_text()
    assert before in source
    (tmp_path / "products.cu").write_text(source.replace(before, after))
    monkeypatch.setattr(device, "SOURCE", tmp_path / "products.cu")
    monkeypatch.setitem(sys.modules, "cupy", Cupy(tmp_path))
    with pytest.raises(Unusable, match="products have other bits than the built-in simulator's"):
        device.opened(chip_named("BM1684X"))


@needs_compiler
def test_arithmetic_of_floats_that_is_no_intrinsic_does_not_compile(tmp_path: Path) -> None:
    source = device.SOURCE.read_text()
    compiled(source, tmp_path / "as it is")
    with pytest.raises(CalledProcessError) as failed:
        compiled(source.replace("__fadd_rn(a, b)", "a + b"), tmp_path / "contracted")
    assert "operator+" in failed.value.stderr


def nvrtc() -> ctypes.CDLL:
    """NVIDIA's compiler for kernels as CuPy uses it; it needs no device."""
    for folder in map(Path, sys.path):
        for library in (folder / "nvidia").glob("*/lib/libnvrtc.so.*[0-9]"):
            return ctypes.CDLL(str(library))
    pytest.skip("no NVRTC: pip install nvidia-cuda-nvrtc-cu12")


def assembly(compiler: ctypes.CDLL, *options: str) -> str:
    """The source in the assembly language of all devices from one architecture on."""
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    source, given = device.SOURCE.read_bytes(), [option.encode() for option in options]
    assert compiler.nvrtcCreateProgram(ctypes.byref(program), source, b"products.cu", 0, None, None) == 0
    code = compiler.nvrtcCompileProgram(program, len(given), (ctypes.c_char_p * len(given))(*given))
    compiler.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    compiler.nvrtcGetProgramLog(program, log)
    assert code == 0, log.value
    compiler.nvrtcGetPTXSize(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    compiler.nvrtcGetPTX(program, text)
    return text.value.decode()


@pytest.mark.parametrize("options", [(*device.OPTIONS,), ()], ids=["as used", "with the compiler's own defaults"])
def test_the_compiler_of_devices_contracts_nothing(options: tuple[str, ...]) -> None:
    text = assembly(nvrtc(), "--gpu-architecture=compute_75", *options)
    assert set(re.findall(r"\.entry (\w+)", text)) == {"chain", "joined"}
    operations = set(re.findall(r"\b((?:add|sub|mul|fma|mad|div|min|max)\.\S*f(?:32|64))\b", text))
    assert operations == {"add.rn.f32", "mul.rn.f32", "mul.rn.f64"}


def test_a_chip_without_this_instruction_is_refused() -> None:
    with pytest.raises(Unusable, match=r"BM1684 has no matrix product mm\.normal"):
        device.opened(chip_named("BM1684"))


class Missing:
    """What stands for CuPy in each way in which it cannot be used."""

    def __init__(self, **runtime: Any) -> None:
        self.cuda = type("cuda", (), {"runtime": type("runtime", (), {"is_hip": False, **runtime})})


def no_driver() -> int:
    raise RuntimeError("cudaErrorInsufficientDriver:\n CUDA driver version is insufficient")


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        (None, "CuPy is not installed (pip install cupy-cuda12x)"),
        (Missing(is_hip=True), "CuPy is built for ROCm; the source is written for CUDA"),
        (Missing(getDeviceCount=lambda: 0), "there is no CUDA device"),
        (
            Missing(getDeviceCount=no_driver),
            "CuPy finds no CUDA device that works: RuntimeError: cudaErrorInsufficientDriver: CUDA driver version is "
            "insufficient",
        ),
    ],
    ids=["no CuPy", "ROCm", "no device", "no driver"],
)
def test_without_a_device_the_built_in_simulator_is_used(
    module: Any, reason: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "cupy", module)
    with caplog.at_level(logging.WARNING):
        debugger = open_sample()
    assert caplog.messages == [f"gpu: {reason}; the built-in simulator is used instead"]
    assert type(debugger.machine.backend) is InProcess
    debugger.run()
    assert debugger.outputs()


def test_the_option_backend_knows_it(installed: dict[str, str]) -> None:
    command = [sys.executable, "-m", "tdb_dap", "run", str(SAMPLE), "--inputs", str(INPUTS), "--quiet", "--backend"]
    done = run([*command, "gpu"], capture_output=True, text=True, env=installed)
    assert done.returncode == 0, done.stderr
    assert done.stdout == run([*command, "numpy"], capture_output=True, text=True, env=installed).stdout
