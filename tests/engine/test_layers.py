"""Source of CV18xx: layer numbers of commands, the compiler's table, final.mlir; and what follows from them."""

from __future__ import annotations

import lzma
import math
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import tdb_dap
from tdb_dap.cli.main import main
from tdb_dap.engine.commands.commands import Columns
from tdb_dap.engine.files.context import Context
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.machine.npz import write_npz
from tdb_dap.engine.program.compiled_program import CompiledProgram
from tdb_dap.engine.source.layer_records import _Function, segments_of
from tdb_dap.engine.source.layer_table import Layer, read_layers
from tdb_dap.engine.source.mlir_file import MlirFile
from tdb_dap.errors import BadInput
from tdb_dap.tools.programs import open_program
from tests.samples import DATA

CHIP = DATA / "chips" / "cv181x"
TOY, SPOILED = CHIP / "toy_cv181x_int8", CHIP / "act_relu_cv181x_int8"


def work_folder(tmp_path: Path, names: dict[str, str]) -> Path:
    """The toy's files under other names."""
    for old, new in names.items():
        (tmp_path / new).parent.mkdir(exist_ok=True)
        shutil.copy(TOY / old, tmp_path / new)
    return tmp_path


def test_every_command_belongs_to_the_op_whose_tensor_its_layer_names() -> None:
    program = open_program(TOY)
    ops = [(op.opcode, op.name, op.first, op.last) for op in program.ops]
    assert ops[0] == ("tpu.GenericCpu", "xrelu4_Relu_si8", 0, 0)
    assert ("tpu.Conv2D", "relu4_Relu", 4, 4) in ops
    assert ("tpu.Store", "globalaveragepool11_GlobalAveragePool", 12, 12) in ops
    assert all(program.commands[ordinal].mlir_lines for ordinal in range(len(program.commands)))


def test_an_operand_is_the_slice_that_the_layer_computes_with() -> None:
    """Slices of an operand overlap and begin elsewhere; a slice is stored after the next one is begun."""
    program = open_program(DATA / "chips" / "cv180x" / "sliced_cv180x_int8")
    convolution, stores = program.ops.named('#loc("conv5_Conv")')
    taken = [record.operands[0].slices for record in convolution.records]
    stored = [record.operands[0].slices for record in stores.records]
    assert [part[3] for part in taken if part] == [
        slice(start, stop) for start, stop in ((0, 16), (15, 32), (31, 48), (47, 64), (63, 80), (79, 96))
    ]
    assert [part[3] for part in stored if part] == [slice(start, start + 8) for start in range(0, 48, 8)]
    assert [record.slice_text for record in convolution.records][:2] == ["h[0:8]", "h[8:16]"]


def test_tensors_are_in_local_memory_inside_of_groups_and_in_their_memory_outside() -> None:
    program = open_program(TOY)
    [convolution] = program.ops.named('#loc("relu4_Relu")')
    result = convolution.records[0].results[0].view
    operand = convolution.records[0].operands[0].view
    assert result is not None
    assert operand is not None
    assert (result.space, result.name, result.shape) == (Space.LOCAL, "R0", (1, 16, 32, 32))
    assert operand.name == "R1"
    [product] = program.ops.named('#loc("gemm15_Gemm")')
    result = product.records[0].results[0].view
    assert result is not None
    assert result.name == "G0.32"


@pytest.mark.parametrize(
    "names",
    [
        {"final.mlir": "toy_final.mlir", "tensor_info.txt": "toy_tensor_info.txt"},
        {"final.mlir": "toy_cv181x_int8_final.mlir", "tensor_info.txt": "toy_cv181x_int8_tensor_info.txt"},
        {"final.mlir": "toy/final.mlir", "tensor_info.txt": "other_tensor_info.txt"},
    ],
)
def test_the_files_of_a_working_directory_are_found_by_their_names(names: dict[str, str], tmp_path: Path) -> None:
    folder = work_folder(tmp_path, {"model.cvimodel.xz": "toy.cvimodel.xz", "input.npz": "toy_in_f32.npz", **names})
    for given in (folder, folder / "toy.cvimodel.xz", folder / names["final.mlir"]):
        context = Context.find(given)
        assert context.mlir == folder / names["final.mlir"]
        assert context.locations == folder / names["tensor_info.txt"]
        assert context.inputs == folder / "toy_in_f32.npz"


def test_of_several_compilations_each_has_its_own_files(tmp_path: Path) -> None:
    folder = work_folder(
        tmp_path,
        {"model.cvimodel.xz": "a.cvimodel.xz", "final.mlir": "a_final.mlir", "tensor_info.txt": "a_tensor_info.txt"},
    )
    for name in ("final.mlir", "tensor_info.txt"):
        shutil.copy(SPOILED / (f"{name}.xz" if name == "final.mlir" else name), folder / f"b_{name}")
    shutil.copy(folder / "a.cvimodel.xz", folder / "c.cvimodel.xz")
    assert Context.find(folder / "a.cvimodel.xz").locations == folder / "a_tensor_info.txt"
    assert Context.find(folder / "c.cvimodel.xz").locations is None
    with pytest.raises(BadInput, match="2 models are here"):
        Context.find(folder)


def test_the_compilation_of_final_mlir_names_the_reference(tmp_path: Path) -> None:
    """A compilation for another chip in the same directory has its own; what no other text names may be anyone's."""
    folder = work_folder(
        tmp_path,
        {"model.cvimodel.xz": "duo.cvimodel.xz", "final.mlir": "duo/final.mlir", "tensor_info.txt": "duo_info.txt"},
    )
    own, other = (folder / f"toy_{name}_sym_tpu_outputs.npz" for name in ("cv181x_int8", "bm1684_int8"))
    for name in ("toy_bm1684_int8_sym_tpu.mlir", "toy_in_f32.npz", "net_in_f32.npz", own.name, other.name):
        (folder / name).touch()
    context = Context.find(folder / "duo.cvimodel.xz")
    assert (context.reference, context.inputs) == (own, folder / "toy_in_f32.npz")
    own.unlink()
    assert Context.find(folder / "duo.cvimodel.xz").reference is None, "the only one is that of the other compilation"
    (folder / "toy_bm1684_int8_sym_tpu.mlir").unlink()
    assert Context.find(folder / "duo.cvimodel.xz").reference == other, "no text says whose it is"


def test_a_model_is_known_by_its_content_and_not_by_its_name(tmp_path: Path) -> None:
    """The compiler takes any name, and cuts as many characters from it as .cvimodel has."""
    names = {"model.cvimodel.xz": "x", "final.mlir": "duo/final.mlir", "tensor_info.txt": "d_tensor_info.txt"}
    folder = work_folder(tmp_path, {**names, "input.npz": "toy_in_f32.npz"})
    (folder / "duo.bmodel").write_bytes(lzma.decompress((folder / "x").read_bytes()))
    for given in (folder, folder / "duo", folder / "duo.bmodel"):
        context = Context.find(given)
        assert context.bmodel == folder / "duo.bmodel"
        assert (context.mlir, context.locations) == (folder / "duo" / "final.mlir", folder / "d_tensor_info.txt")
    (folder / "duo.bmodel").write_bytes(b"another kind of model")
    assert Context.find(folder / "duo.bmodel").locations is None
    with pytest.raises(BadInput, match=r"no compilation\.bmodel in this directory"):
        Context.find(folder / "duo")


TWICE = """#loc = loc(unknown)
module {
  func.func @subfunc_0() {
    %1 = "tpu.Group"(%0) ({
      %2 = "tpu.Load"(%0) {ginfo = #tpu.lg<out_addr = 0, h_idx = [0, 10], h_slice = [12, 22]>} : () -> () loc(#loc1)
      %3 = "tpu.Load"(%0) {ginfo = #tpu.lg<out_addr = 8192, h_idx = [0, 16], h_slice = [16, 16]>} : () -> () loc(#loc1)
    }) : () -> () loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc1 = loc("load_x")
"""


def test_a_tensor_that_a_group_loads_twice_has_two_ops(tmp_path: Path) -> None:
    """A residual block takes its input with the convolution's border, and once more without."""
    table = tmp_path / "tensor_info.txt"
    rows = [(17, "0,1,0,12", "0"), (24, "0,1,10,22", "0"), (37, "0,1,0,16", "8192"), (41, "0,1,16,16", "8192")]
    lines = [f"{n} load_x true false x 1,24,32,64 {part} {address} bf16 1.0" for n, part, address in rows]
    table.write_text("\n".join(["Cmdbuf1: layer_id", *lines, "50 load_x true false x x x x bf16 1.0", ""]))
    (layers,) = read_layers(table)
    function = _Function(MlirFile(TWICE, Path("final.mlir")), "subfunc_0", [])
    ops = [function.op_of(layer) for layer in layers.values()]
    assert [op.line if op is not None else 0 for op in ops] == [5, 5, 6, 6, 5]


def columns_of(numbers: list[int]) -> Columns:
    """As many commands of one subnet."""
    zeros = np.zeros(len(numbers), np.int64)
    return Columns(**dict.fromkeys(Columns.__struct_fields__, zeros))  # type: ignore[arg-type]


def test_a_command_without_a_number_is_of_the_layer_that_has_none() -> None:
    """The compiler writes none for a transposed convolution in a group; other commands go on with the layer before."""
    numbers = [0, 3, 3, 0, 5, 0, 7, 0]
    columns, layers = columns_of(numbers), np.array(numbers)

    def parts(unnumbered: set[int]) -> list[tuple[int, list[int]]]:
        return [(one.layer, one.ordinals.tolist()) for one in segments_of(columns, layers, {0: unnumbered})]

    assert parts({4}) == [(0, [0]), (3, [1, 2]), (4, [3]), (5, [4, 5]), (7, [6, 7])]
    assert parts({9}) == [(0, [0]), (3, [1, 2, 3]), (5, [4, 5]), (7, [6]), (9, [7])]
    assert parts(set()) == [(0, [0]), (3, [1, 2, 3]), (5, [4, 5]), (7, [6, 7])]


DECONVOLUTION = """
  func.func @subfunc_0(%arg0: tensor<1x4x2x2xbf16>) -> tensor<1x4x4x4xbf16> {
    %0 = "tpu.Group"(%arg0) ({
      %1 = "tpu.Deconv"(%arg0) {ginfo = #tpu.lg<out_addr = 0>} : (tensor<1x4x2x2xbf16>) -> tensor<1x4x4x4xbf16> \
loc("inside")
    }) : (tensor<1x4x2x2xbf16>) -> tensor<1x4x4x4xbf16>
    %2 = "tpu.Deconv"(%0) : (tensor<1x4x4x4xbf16>) -> tensor<1x4x4x4xbf16> loc("outside")
    %3 = "tpu.Conv2D"(%2) {ginfo = #tpu.lg<out_addr = 0>} : (tensor<1x4x4x4xbf16>) -> tensor<1x4x4x4xbf16> loc("other")
  }
"""


def test_layers_without_a_number_are_transposed_convolutions_in_groups() -> None:
    function = _Function(MlirFile(DECONVOLUTION, Path("final.mlir")), "subfunc_0", [])
    table = {number: Layer(number, name, False, None) for number, name in enumerate(("inside", "outside", "other"), 4)}
    assert function.unnumbered(table) == {4}


def test_a_damaged_table_is_one_line(tmp_path: Path) -> None:
    table = tmp_path / "tensor_info.txt"
    table.write_text("Cmdbuf1: layer_id\n0 load_0 true false x 1 0,1,0,32 4096 int8 0.1\nnonsense\n")
    with pytest.raises(BadInput, match="line 3 is no row of a layer"):
        read_layers(table)


def test_check_passes_right_tensors_and_finds_an_op_that_spoils_its_input(capsys: pytest.CaptureFixture[str]) -> None:
    """INT8 PReLU computes min(x, 0) in place of x, which leaky relu reads next: the compiler's error on all chips."""
    arguments = ["--inputs", str(TOY / "input.npz"), "--reference", str(TOY / "ref.npz"), "--quiet"]
    assert main(["check", str(TOY), *arguments]) == 0
    assert "0 differ" in capsys.readouterr().out
    arguments = ["--inputs", str(SPOILED / "input.npz"), "--reference", str(SPOILED / "ref.npz"), "--quiet"]
    assert main(["check", str(SPOILED), *arguments]) == 1
    assert "first at fault is leakyrelu2_LeakyRelu (tpu.LeakyRelu at line 24)" in capsys.readouterr().out


def test_weights_are_compared_with_the_compilers_file_of_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A weight that no input reaches differs, too."""
    names = {"model.cvimodel.xz": "toy.cvimodel.xz", "final.mlir": "toy_final.mlir", "ref.npz": "ref.npz"}
    folder = work_folder(tmp_path, {**names, "tensor_info.txt": "toy_tensor_info.txt", "input.npz": "toy_in_f32.npz"})
    program = open_program(folder)
    assert isinstance(program, CompiledProgram)
    assert program.source.mlir is not None
    held = program.bmodel.bytes_of(program.stage.weights, "weights")
    arrays: dict[str, np.ndarray] = {}
    for op in program.source.mlir.ops.values():
        match = re.search(r"-> tensor<([\dx]+)x[su]*i8, (\d+) : i64>", op.text)
        if op.name == "top.Weight" and match is not None and "do_compress = true" not in op.text:
            start = int(match[2]) - program.stage.weights_address
            arrays[op.location] = np.array(held[start : start + math.prod(map(int, match[1].split("x")))])
    assert arrays
    file = folder / "toy_tpu_addressed_cv181x_int8_sym_weight.npz"
    write_npz(file, arrays)
    assert main(["check", str(folder), "--quiet"]) == 0
    assert f"; {len(arrays)} weight" in capsys.readouterr().out
    name = next(iter(arrays))
    arrays[name] = arrays[name] ^ 1
    write_npz(file, arrays)
    code = main(["check", str(folder), "--quiet"])
    printed = capsys.readouterr()
    assert code == int(len(arrays) > 1), printed.err


def test_sanitizers_have_no_findings_in_right_models(capsys: pytest.CaptureFixture[str]) -> None:
    for folder in sorted((DATA / "chips").glob("cv18[0-3]x/*")):
        assert main(["sanitize", str(folder), "--inputs", str(folder / "input.npz"), "--quiet"]) == 0, folder
        assert "no findings" in capsys.readouterr().out


def test_a_missing_wait_is_a_hazard(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    patched = tmp_path / "racing.cvimodel"
    assert main(["patch", str(TOY), "--set", "B1.cmd_id_gdma=0", "-o", str(patched), "--quiet"]) == 0
    capsys.readouterr()
    assert main(["sanitize", str(patched), "--quiet"]) == 1
    assert "[hazard]" in capsys.readouterr().out


def test_stepping_back_restores_a_tensor() -> None:
    debugger = tdb_dap.open(TOY, inputs=TOY / "input.npz")
    debugger.breakpoints.add("mlir:27")
    assert debugger.run().reason == "breakpoint"
    result = debugger.program.commands[debugger.ordinal].results[0]
    before = debugger.read(result)
    debugger.step()
    assert not np.array_equal(debugger.read(result), before)
    debugger.step(-1)
    assert np.array_equal(debugger.read(result), before)
