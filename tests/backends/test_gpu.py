"""The plugin ``gpu``: its CUDA source beside NumPy, bit for bit: compiled for this processor, and on a device."""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from subprocess import CalledProcessError
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tdb_dap.backends import choice
from tdb_dap.backends.gpu import backend, device
from tdb_dap.backends.gpu.device import CudaSums
from tdb_dap.backends.gpu.proof import difference, edge
from tdb_dap.engine.hardware.dtypes import BF16, F8E4M3, F8E5M2, F16, F32, DType
from tdb_dap.engine.hardware.views import View
from tdb_dap.engine.machine.backend import InProcess
from tdb_dap.errors import TdbError
from tdb_dap.system import interruption
from tdb_dap.system.interruption import Interrupted
from tdb_dap.system.plugins import Plugin
from tdb_dap.system.remarks import heard_by
from tdb_dap.targets import kernel
from tdb_dap.targets.kernel import accelerator
from tdb_dap.targets.kernel.accelerator import accelerated
from tdb_dap.targets.kernel.integers import Steps
from tdb_dap.targets.kernel.products import Products, of_matrices
from tdb_dap.targets.semantics.numerics import dot, float32
from tdb_dap.tools.opening import open_debugger
from tests.backends.host_cuda import COMPILER, Cupy, compiled
from tests.samples import case
from tests.targets.commands import chip_named
from tests.targets.test_plans import LARGEST, NAMES, Bench, drawn
from tests.targets.test_sums import KINDS, numbers, same, scattered

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler: the CUDA source is not compiled here")
SUMMING = {"conv", "mm.mul", "conv.normal", "mm.normal", "mm2.nn", "mm2.nt", "mm2.tt"}
MODELS = ["toy_bm1684x_f32", "toy_bm1684x_f16", "toy_bm1684x_bf16", "toy_bm1684x_int8", "matmul_trans_bm1684x_f32"]


@pytest.fixture(scope="module")
def cupy(tmp_path_factory: pytest.TempPathFactory) -> Cupy:
    if COMPILER is None:
        pytest.skip("no C++ compiler: the CUDA source is not compiled here")
    return Cupy(tmp_path_factory.mktemp("cuda"))


@pytest.fixture(scope="module", params=["host", pytest.param("device", marks=pytest.mark.gpu)])
def sums(request: pytest.FixtureRequest) -> CudaSums:
    """The sums of the source as this processor executes it, and of a real device where there is one."""
    if request.param == "host":
        return CudaSums(request.getfixturevalue("cupy"))
    try:
        return device.opened()
    except device.Unusable as missing:
        pytest.skip(f"no device: {missing}")


@pytest.fixture
def everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also sums of a few products are offered to the device."""
    monkeypatch.setattr(accelerator, "WORTH", -1)


@pytest.fixture
def installed(cupy: Cupy, monkeypatch: pytest.MonkeyPatch, everything: None) -> Cupy:
    """CuPy counts as installed, and the plugin too."""
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setattr(choice, "plugins", lambda group: (Plugin(group, "gpu", "", "", "", backend.attach),))
    cupy.launches.clear()
    return cupy


shapes = st.tuples(st.integers(1, 20), st.integers(1, 90), st.integers(1, 300))


def products_of(seed: int, shape: tuple[int, int, int], dtype: DType, kind: str) -> Products:
    rows, count, columns = shape
    if dtype.itemsize == 1 and kind == "special":
        random = np.random.default_rng(seed)
        left, right = (
            dtype.widen(random.integers(0, 256, each, np.uint8)) for each in ((rows, count), (count, columns))
        )
    else:
        left, right = numbers((rows, count), dtype, kind, seed), numbers((count, columns), dtype, kind, seed + 1)
    products = of_matrices(float32.operand(left, dtype), float32.operand(right, dtype))
    return scattered(products, seed) if seed % 3 else products


@settings(max_examples=120, deadline=None)
@given(st.integers(0, 1 << 32), shapes, st.sampled_from(KINDS), st.integers(0, 2), st.booleans(), st.booleans())
def test_chains_have_the_bits_of_numpy(
    sums: CudaSums, seed: int, shape: tuple[int, int, int], kind: str, starts: int, by_row: bool, swapped: bool
) -> None:
    products = products_of(seed, shape, F32, kind)
    products = products.transposed() if swapped else products
    rows, columns = products.shape
    first = float32.flush(numbers((rows, 1) if by_row else (1, columns), F32, "plain", seed))
    before = float32.flush(numbers((rows, columns), F32, kind, seed + 2))
    both = [first, before][:starts] + [None] * (2 - starts)
    zero = -0.0 if seed % 2 else 0.0
    given_ones = [np.broadcast_to(each, products.shape) for each in both if each is not None]
    terms = [(products.left, products.image), *((each,) for each in given_ones)]
    with kernel.switched(False), np.errstate(all="ignore"):
        normal = float32.stays_normal(*terms)
        expected = dot.interleaved(both[0], both[1], products, normal, zero)
    found = sums.interleaved(products, given_ones, normal, zero)
    assert found is not None, sums.left
    same(found, expected)


@settings(max_examples=120, deadline=None)
@given(
    st.integers(0, 1 << 32),
    shapes,
    st.sampled_from(KINDS),
    st.sampled_from([F16, BF16, F8E4M3, F8E5M2]),
    st.sampled_from([1, 16, 32, 64]),
    st.booleans(),
    st.booleans(),
)
def test_groups_have_the_bits_of_numpy(
    sums: CudaSums,
    seed: int,
    shape: tuple[int, int, int],
    kind: str,
    dtype: DType,
    size: int,
    nan_wins: bool,
    drops: bool,
) -> None:
    drops_bits = drops and dtype is F16
    products = products_of(seed, shape, dtype, kind)
    totals = float32.flush(numbers(products.shape, F32, kind, seed + 2))
    with kernel.switched(False), np.errstate(all="ignore"):
        expected = dot.grouped(totals, products, size, nan_wins, drops_bits)
    found = totals.copy()
    assert sums.grouped(products, found, size, (nan_wins, drops_bits)), sums.left
    same(found, expected)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 1 << 32),
    shapes,
    st.sampled_from([np.int8, np.uint8, np.int16, np.int32, np.int64]),
    st.sampled_from([np.int8, np.uint8, np.int16, np.int32]),
)
def test_sums_of_whole_numbers_are_exact(
    sums: CudaSums,
    seed: int,
    shape: tuple[int, int, int],
    left: type[np.signedinteger],
    right: type[np.signedinteger],
) -> None:
    random = np.random.default_rng(seed)
    rows, count, columns = shape
    factors = [
        random.integers(max(-(1 << 20), np.iinfo(t).min), min(1 << 20, np.iinfo(t).max), extents, t, endpoint=True)
        for t, extents in ((left, (rows, count)), (right, (count, columns)))
    ]
    products = scattered(of_matrices(*factors), seed)
    expected = products.left.astype(np.int64) @ products.right(slice(None), slice(None)).astype(np.int64)
    np.testing.assert_array_equal(sums.exact(products), expected)


def test_numbers_just_below_the_normal_ones(sums: CudaSums) -> None:
    """A product that rounds to the smallest normal number is kept from (1 - 2^-25) of it on; so for each last place."""
    products = edge()
    with kernel.switched(False):
        expected = dot.interleaved(None, None, products, False, -0.0)
    found = sums.interleaved(products, [], False, -0.0)
    assert found is not None
    same(found, expected)
    assert 0 < np.count_nonzero(found) < found.size


def test_what_a_device_does_not_take_is_counted_by_its_reason(sums: CudaSums) -> None:
    large = np.full((2, 3), 1 << 40, np.int64)
    said: list[str] = []
    with heard_by(said.append):
        assert sums.exact(of_matrices(large, large.T)) is None
    assert sums.left["whole numbers beyond 32 bits, or sums beyond 63"] == 1
    assert "left to the built-in simulator 1 time (whole numbers beyond" in sums.describe()
    assert said == [
        "gpu: long sums are left to the built-in simulator, with the same results: whole numbers beyond 32 bits, or "
        "sums beyond 63"
    ]
    sums.left.clear()


@pytest.mark.parametrize("with_kernel", [True, False], ids=["kernel", "numpy"])
@pytest.mark.parametrize("name", NAMES)
def test_commands_leave_the_same_memories(sums: CudaSums, name: str, with_kernel: bool, everything: None) -> None:
    """Convolutions and products of every chip, drawn over formats, extents, strides and kinds of numbers."""
    if with_kernel and not kernel.is_built:
        pytest.skip(kernel.describe())
    bench, formed = Bench(chip_named(name)), 0
    chip = bench.chip
    for case_, random, kind in drawn(name, 40, seed=7, only=SUMMING):
        views = [view for view in (*case_.description.reads, *case_.description.results) if isinstance(view, View)]
        if not views or max(view.size for view in views) > LARGEST:
            continue
        before_done = sums.done
        try:
            bench.fill(case_.description, random, kind)
            kept = bench.kept()
            with kernel.switched(with_kernel):
                chip.execute(case_.description, bench.memory)
            expected = bench.kept()
            bench.restore(kept)
            with kernel.switched(with_kernel), accelerated(sums):
                chip.execute(case_.description, bench.memory)
        except (TdbError, AttributeError, KeyError, ValueError):
            continue
        formed += sums.done - before_done
        for wanted, found in zip(expected, bench.all(), strict=True):
            differing = np.flatnonzero(wanted.reshape(-1) != found.reshape(-1))
            assert not differing.size, (name, case_.name, kind, case_.description, differing[:8])
    assert formed > 5
    assert not sums.left


@pytest.mark.parametrize("with_kernel", [True, False], ids=["kernel", "numpy"])
@pytest.mark.parametrize("name", MODELS)
def test_a_model_on_the_backend_gpu(
    installed: Cupy, name: str, with_kernel: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if with_kernel and not kernel.is_built:
        pytest.skip(kernel.describe())
    monkeypatch.setattr(kernel, "_PART", 1)  # plans of products are long
    sample, said, found = case(name), list[str](), []
    for which in ("numpy", "gpu"):
        with kernel.switched(with_kernel), heard_by(said.append):
            debugger = open_debugger(str(sample.path), str(sample.inputs), backend=which)
            installed.launches.clear()  # of the comparison at the beginning
            for _ in range(3):  # forms have plans from the second time on
                debugger.restart()
                debugger.run()
            found.append({key: value.copy() for key, value in debugger.outputs(raw=True).items()})
            debugger.close()
    assert found[0].keys() == found[1].keys()
    for key, expected in found[0].items():
        assert expected.tobytes() == found[1][key].tobytes(), key
    assert installed.launches
    assert any(text.startswith("gpu: this processor, CuPy host: long sums formed ") for text in said)


def test_short_sums_stay_on_this_processor(cupy: Cupy) -> None:
    sums = CudaSums(cupy)
    products = of_matrices(np.ones((8, 8), np.float32), np.ones((8, 8), np.float32))
    with accelerated(sums):
        dot.interleaved(None, None, products, True)
        assert sums.done == 0
    assert accelerator.accelerator_for(products) is None


def test_sums_after_their_steps(cupy: Cupy, everything: None) -> None:
    random = np.random.default_rng(3)
    products = of_matrices(random.integers(-9, 9, (4, 30), np.int8), random.integers(-9, 9, (30, 20), np.int8))
    start, steps = random.integers(-99, 99, (4, 1)), Steps(0, multiplier=3, amount=-2, zero=1)
    found = []
    for by_kernel in (kernel.is_built, False):
        with kernel.switched(by_kernel), accelerated(CudaSums(cupy)):
            found.append(dot.summed(products, start, steps, None))
    expected = np.rint((products.left.astype(np.int64) @ products.right(slice(None), slice(None)) + start) * 3 / 4) + 1
    for each in found:
        np.testing.assert_array_equal(each, expected)


@pytest.mark.parametrize(
    ("error", "later"),
    [(MemoryError("no room"), 1), (RuntimeError("cudaErrorIllegalAddress"), 0)],
    ids=["room", "lost"],
)
def test_a_device_that_fails_changes_no_result(cupy: Cupy, error: Exception, later: int, everything: None) -> None:
    """The built-in way forms the sums; after an error that is not about memory the device is not asked again."""
    sums, products = CudaSums(cupy), products_of(1, (4, 60, 40), BF16, "plain")
    totals = np.ones(products.shape, np.float32)
    expected = dot.grouped(totals, products, 32)
    said: list[str] = []
    with heard_by(said.append), accelerated(sums):
        cupy.fails = error
        try:
            same(dot.grouped(totals, products, 32), expected)
        finally:
            cupy.fails = None
        same(dot.grouped(totals, products, 32), expected)
    assert sums.done == later
    assert sums.left.total() == 2 - later
    assert said[0].startswith("gpu: long sums are left to the built-in simulator, with the same results: ")


def test_a_long_command_can_be_interrupted(cupy: Cupy, everything: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "_AT_ONCE", 1)
    sums, products = CudaSums(cupy), products_of(1, (9, 20, 200), F32, "plain")
    cupy.launches.clear()
    with accelerated(sums), interruption.asking(lambda: len(cupy.launches) > 2), pytest.raises(Interrupted):
        dot.interleaved(None, None, products, True)
    assert cupy.launches == ["chain"] * 3
    assert not sums.left


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ("begin = (side + position) & 1", "begin = side", "float32"),
        ("nan_of(a, b) : flushed(sum)", "nan_of(b, a) : flushed(sum)", "float32"),
        ("swapped ? multiplied(b, a) : ", "", "float32"),
        ("flushed(float number)\n{", "flushed(float number)\n{\n    return number;", "float32"),
        ("return flushed(product)", "return product", "float32"),
        ("<< 1 >> below", ">> below << 1", "f16"),
        ("drops_bits ? kept_part(product) : product", "product", "f16"),
        ("nan_wins ? 0x7fc00000u : 0xffc00000u", "0x7fc00000u", "f16"),
        ("if (size < SMALLEST_NORMAL || below > 24)", "if (below > 24)", "bf16"),
        ("exact < 0x380ffffff0000000LL", "exact < 0", "float32"),
        ("if (taps[k] >= 0)", "", "whole numbers"),
    ],
)
@needs_compiler
def test_a_device_with_other_bits_is_not_used(
    before: str, after: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = device.SOURCE.read_text()
    assert before in source
    (tmp_path / "sums.cu").write_text(source.replace(before, after))
    monkeypatch.setattr(device, "SOURCE", tmp_path / "sums.cu")
    found = difference(CudaSums(Cupy(tmp_path)))
    assert found == f"sums of {kind}"
    monkeypatch.setitem(sys.modules, "cupy", Cupy(tmp_path))
    with pytest.raises(device.Unusable, match=f"sums of {kind} have other bits than on this processor"):
        device.opened()


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
    assert compiler.nvrtcCreateProgram(ctypes.byref(program), source, b"sums.cu", 0, None, None) == 0
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
    assert set(re.findall(r"\.entry (\w+)", text)) == {"chain", "joined", "grouped", "exact"}
    found = set(re.findall(r"\b((?:add|sub|mul|fma|mad|div|min|max)\.\S*f(?:32|64))\b", text))
    assert found == {"add.rn.f32", "mul.rn.f32", "mul.rn.f64"}


class Missing:
    """What stands for CuPy in each way in which it cannot be used."""

    def __init__(self, **runtime: Any) -> None:
        self.cuda = type("cuda", (), {"runtime": type("runtime", (), {"is_hip": False, **runtime})})


def no_driver() -> int:
    raise RuntimeError("cudaErrorInsufficientDriver:\n CUDA driver version is insufficient")


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        (None, "CuPy is not installed (pip install 'tdb-dap[gpu]')"),
        (Missing(is_hip=True), "CuPy is built for ROCm here; sums are written for CUDA"),
        (Missing(getDeviceCount=lambda: 0), "there is no CUDA device"),
        (
            Missing(getDeviceCount=no_driver),
            "CuPy finds no CUDA device that works: RuntimeError: cudaErrorInsufficientDriver: CUDA driver version is "
            "insufficient",
        ),
    ],
    ids=["no CuPy", "ROCm", "no device", "no driver"],
)
def test_without_a_device_the_session_says_so_and_goes_on(
    module: Any, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cupy", module)
    monkeypatch.setattr(choice, "plugins", lambda group: (Plugin(group, "gpu", "", "", "", backend.attach),))
    sample, said = case("toy_bm1684x_f32"), list[str]()
    with heard_by(said.append):
        debugger = open_debugger(str(sample.path), str(sample.inputs), backend="gpu")
    assert said == [f"gpu: {reason}; the built-in simulator forms all sums, with the same results"]
    assert type(debugger.machine.backend) is InProcess
    debugger.run()
    assert debugger.outputs()
    assert device.status() == f"none: {reason}"


def test_the_plugin_is_found_by_its_entry_point() -> None:
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    value = "tdb_dap.backends.gpu.backend:attach"
    assert f'[project.entry-points."tdb_dap.backends"]\ngpu = "{value}"\n' in project
    assert EntryPoint("gpu", value, "tdb_dap.backends").load() is backend.attach


@pytest.fixture
def fresh() -> Iterator[None]:
    """A process that has not loaded the plugin."""
    kept = {name: module for name, module in sys.modules.items() if name.startswith("tdb_dap.backends.gpu")}
    for name in kept:
        del sys.modules[name]
    yield
    sys.modules.update(kept)


def test_nobody_loads_it_who_does_not_ask_for_it(fresh: None) -> None:
    sample = case("toy_bm1684x_f32")
    open_debugger(str(sample.path), str(sample.inputs)).run()
    assert not [name for name in sys.modules if name.startswith("tdb_dap.backends.gpu")]
