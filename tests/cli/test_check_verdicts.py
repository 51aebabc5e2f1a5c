"""What ``tdb-dap check`` says of outputs that were destroyed, and of references that are not what they seem."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from subprocess import CompletedProcess

import numpy as np
import pytest

from tdb_dap.engine.machine.npz import read_npz, write_npz
from tdb_dap.engine.program.compiled_program import CompiledProgram
from tdb_dap.engine.source.op_records import OpRecord
from tdb_dap.tools.programs import open_program
from tests.command_line import tdb_dap
from tests.conftest import Toy
from tests.samples import DATA, case, without_data

INT8 = DATA / "bm1684x" / "toy_bm1684x_int8"
SOFTMAX = DATA / "bm1684x" / "softmax_bm1684x_f32"


def check(toy: Toy, *options: object) -> CompletedProcess[str]:
    return tdb_dap("check", toy.directory, "--inputs", toy.inputs, *options)


def reference_of(toy: Toy) -> dict[str, np.ndarray]:
    with np.load(toy.reference) as archive:
        return dict(archive)


def output_of(toy: Toy) -> str:
    """Name of the only output."""
    (line,) = (line for line in tdb_dap("info", toy.directory).stdout.splitlines() if line.startswith("output"))
    return line.split()[1]


@pytest.fixture
def two_outputs(tmp_path: Path) -> Path:
    """A context of a model with two outputs, at 8192 and at 16384; the second one is stored by ten commands."""
    folder = tmp_path / "softmax"
    shutil.copytree(SOFTMAX, folder)
    (folder / "compilation.bmodel.xz").unlink()
    return folder


def moved_store(folder: Path, address: int) -> CompletedProcess[str]:
    """The check of the model with its last store moved, against the unchanged model."""
    change = f"D22.dst_start_addr_l32={address}"
    assert tdb_dap("patch", SOFTMAX, "-o", folder / "compilation.bmodel", "--set", change).returncode == 0
    inputs = folder / "inputs.npz"
    np.savez(inputs, x=np.random.default_rng(1).standard_normal((1, 6, 10, 20)).astype(np.float32))
    return tdb_dap("check", folder, "--inputs", inputs, "--reference", SOFTMAX, "--blame")


def test_an_output_that_is_overwritten_after_its_op_fails_with_the_command(two_outputs: Path) -> None:
    done = moved_store(two_outputs, 8192)
    assert done.returncode == 1
    assert "output softmax1_Softmax is right when line 12 has computed it; D22 (line 13) overwrites it" in done.stdout


def test_a_store_beside_an_output_is_not_said_to_overwrite_it(two_outputs: Path) -> None:
    done = moved_store(two_outputs, 8192 + 4800)
    assert done.returncode == 1
    assert "first at fault is softmax2_Softmax" in done.stdout
    assert "softmax1" not in done.stdout


def test_with_another_input_no_op_is_judged(toy: Toy, tmp_path: Path) -> None:
    with np.load(toy.inputs) as archive:
        other = {name: array[..., ::-1] for name, array in archive.items()}
    write_npz(tmp_path / "other.npz", other)
    done = tdb_dap(
        *("check", toy.directory, "--inputs", tmp_path / "other.npz", "--reference", toy.reference, "--blame")
    )
    assert done.returncode == 1
    (line,) = done.stdout.splitlines()
    assert line.startswith("fail: x is not the input that the reference was made with (cosine ")
    assert line.endswith("): no op is judged; give --inputs the file that the reference was made with")


def test_an_input_within_the_limits_is_the_same_input(toy: Toy, tmp_path: Path) -> None:
    with np.load(toy.inputs) as archive:
        close = {name: array * np.float32(1.0001) for name, array in archive.items()}
    write_npz(tmp_path / "close.npz", close)
    done = tdb_dap("check", toy.directory, "--inputs", tmp_path / "close.npz", "--reference", toy.reference)
    assert "is not the input" not in done.stdout


def test_a_reference_of_the_inputs_alone_gives_no_verdict(toy: Toy) -> None:
    done = check(toy, "--reference", toy.inputs)
    assert done.returncode == 2
    assert "pass" not in done.stdout
    assert "no result of an op and no output was compared: the reference holds only x" in done.stderr


def test_a_check_that_does_not_reach_the_outputs_names_them(toy: Toy, tmp_path: Path) -> None:
    """An op without a golden, or a reference that was cut off: what passes is not the net."""
    output, arrays = output_of(toy), reference_of(toy)
    del arrays[output]
    reference = tmp_path / "partial.npz"
    write_npz(reference, arrays)
    done = check(toy, "--reference", reference)
    assert done.returncode == 0
    assert done.stdout.splitlines()[0].endswith(f"; output {output} not compared")
    assert "not compared" not in check(toy).stdout.splitlines()[0].rpartition(")")[2]
    assert "; output" not in check(toy, "--except", output).stdout.splitlines()[0], "left out on purpose"


def test_a_reference_by_another_layout_is_compared_transposed(toy: Toy, tmp_path: Path) -> None:
    arrays = reference_of(toy)
    arrays["conv8_Conv"] = np.ascontiguousarray(arrays["conv8_Conv"].transpose(0, 2, 3, 1))
    write_npz(tmp_path / "ref.npz", arrays)
    done = check(toy, "--reference", tmp_path / "ref.npz")
    assert done.returncode == 0, done.stdout
    assert "conv8_Conv: compared transposed: the reference has shape [1, 8, 8, 32], the model [1, 32, 1, 8, 8]" in (
        done.stdout
    )


def test_other_numbers_in_another_layout_are_not_comparable(toy: Toy, tmp_path: Path) -> None:
    arrays = reference_of(toy)
    name = output_of(toy)
    array = arrays["conv8_Conv"]
    arrays["conv8_Conv"] = np.roll(array, 1).reshape(array.shape[0], *array.shape[2:], array.shape[1])
    write_npz(tmp_path / "ref.npz", arrays)
    done = check(toy, "--reference", tmp_path / "ref.npz")
    assert done.returncode == 0, done.stdout
    assert "conv8_Conv: not comparable: the reference has shape [1, 8, 8, 32]" in done.stdout
    assert "another shape in the reference" in done.stdout
    # Other numbers in the same layout are a difference.
    arrays[name] = arrays[name] + 1
    write_npz(tmp_path / "ref.npz", arrays)
    assert check(toy, "--reference", tmp_path / "ref.npz").returncode == 1


def test_the_only_output_is_taken_from_an_npy_and_from_raw_numbers(toy: Toy, tmp_path: Path) -> None:
    array = reference_of(toy)[output_of(toy)].astype(np.float32)
    np.save(tmp_path / "out.npy", array)
    array.tofile(tmp_path / "out.bin")
    for name in ("out.npy", "out.bin"):
        done = check(toy, "--reference", tmp_path / name)
        assert (done.returncode, done.stdout.split(",")[0]) == (0, "pass: 1 tensor compared")
    np.save(tmp_path / "wrong.npy", array + 1)
    assert check(toy, "--reference", tmp_path / "wrong.npy").returncode == 1


def test_raw_numbers_of_another_size_are_refused_with_what_would_fit(toy: Toy, tmp_path: Path) -> None:
    array = reference_of(toy)[output_of(toy)].astype(np.float32)
    (tmp_path / "out.bin").write_bytes(array.tobytes()[:-4])
    done = check(toy, "--reference", tmp_path / "out.bin")
    assert done.returncode == 2
    assert f"{array.nbytes - 4:,} bytes, no .npz and no .npy; the outputs {output_of(toy)} take {array.nbytes:,}" in (
        done.stderr
    )


def test_one_array_for_two_outputs_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "out.npy", np.zeros((1, 6, 10, 20), np.float32))
    done = tdb_dap("check", SOFTMAX, "--reference", tmp_path / "out.npy")
    assert done.returncode == 2
    assert "holds one array; the outputs are softmax1_Softmax, softmax2_Softmax: give an .npz" in done.stderr


def test_an_output_is_known_by_its_name_in_the_onnx_model(toy: Toy, tmp_path: Path) -> None:
    name = output_of(toy)
    onnx = name.rsplit("_", 1)[0]
    write_npz(tmp_path / "ort.npz", {onnx: reference_of(toy)[name]})
    assert check(toy, "--reference", tmp_path / "ort.npz").stdout.startswith("pass: 1 tensor compared")
    write_npz(tmp_path / "ort.npz", {onnx: reference_of(toy)[name] + 1})
    assert check(toy, "--reference", tmp_path / "ort.npz").returncode == 1
    write_npz(tmp_path / "ort.npz", {f"{onnx}x": reference_of(toy)[name], "other": np.zeros(3)})
    done = check(toy, "--reference", tmp_path / "ort.npz")
    assert done.returncode == 2
    assert "is a tensor of this model" in done.stderr


def test_the_only_array_of_a_file_is_the_only_output_if_it_is_as_large(toy: Toy, tmp_path: Path) -> None:
    array = reference_of(toy)[output_of(toy)]
    write_npz(tmp_path / "out.npz", {"arr_0": array})
    done = check(toy, "--reference", tmp_path / "out.npz")
    assert done.stdout.startswith("pass: 1 tensor compared")
    assert f"array arr_0 of out.npz is compared with the only output, {output_of(toy)}" in done.stderr
    write_npz(tmp_path / "out.npz", {"arr_0": array.reshape(-1)[:-1]})
    assert check(toy, "--reference", tmp_path / "out.npz").returncode == 2


def test_a_tensor_that_is_overwritten_before_it_is_read_fails_with_the_command(tmp_path: Path) -> None:
    """A load of the toy goes where a result is that is still to be read; a load beside it does no harm."""
    toy = case("toy_bm1684x_f32")
    for address, is_lost in ((134217728 + 4096, True), (134217728 + 0x30000, False)):
        folder = tmp_path / str(address)
        shutil.copytree(toy.path, folder)
        (folder / "compilation.bmodel.xz").unlink()
        change = f"D5.dst_start_addr_l32={address}"
        assert tdb_dap("patch", toy.path, "-o", folder / "compilation.bmodel", "--set", change).returncode == 0
        done = tdb_dap("check", folder, "--inputs", toy.inputs, "--reference", toy.reference)
        assert ("has computed it; D5 (line " in done.stdout) == is_lost, done.stdout


@pytest.fixture
def compiled(tmp_path: Path) -> Path:
    """A compilation as the compiler leaves it: the context, and beside it what it expects of this and of another."""
    toy = case("toy_bm1684x_f32")
    folder = tmp_path / "toy_f32"
    without_data(toy.path, folder)
    with np.load(toy.inputs) as archive:
        (folder / "input_ref_data.dat").write_bytes(
            b"".join(np.ascontiguousarray(a).tobytes() for a in archive.values())
        )
    shutil.copy(toy.reference, tmp_path / "toy_bm1684x_f32_tpu_outputs.npz")
    with np.load(toy.reference) as archive:
        np.savez(tmp_path / "toy_bm1690_f16_tpu_outputs.npz", **{name: array + 1 for name, array in archive.items()})
    return folder


def test_of_two_compilations_in_a_directory_each_has_its_own_reference(compiled: Path) -> None:
    done = tdb_dap("check", compiled)
    assert done.returncode == 0, done.stdout
    assert "toy_bm1684x_f32_tpu_outputs.npz, next to the model" in done.stderr
    (compiled.parent / "toy_bm1684x_f32_tpu_outputs.npz").unlink()
    done = tdb_dap("check", compiled)  # the other one is not taken for its own, though it is the only one
    assert done.returncode == 2
    assert "nothing to compare with" in done.stderr


def test_the_compilers_notes_name_the_reference(compiled: Path) -> None:
    (compiled.parent / "toy_bm1684x_f32_tpu_outputs.npz").rename(compiled.parent / "mine_tpu_outputs.npz")
    (compiled / "ref_files.json").write_text('{"files": {"tpu_output": {"path": "../mine_tpu_outputs.npz"}}}')
    done = tdb_dap("check", compiled)
    assert (done.returncode, "mine_tpu_outputs.npz, next to the model" in done.stderr) == (0, True)


def test_a_reference_that_was_only_picked_up_and_does_not_fit_is_dropped(compiled: Path) -> None:
    path = compiled.parent / "toy_bm1684x_f32_tpu_outputs.npz"
    with np.load(path) as archive:
        arrays = dict(archive)
    arrays["x"] = arrays["x"][:, :, :-1]
    write_npz(path, arrays)
    done = tdb_dap("run", compiled)
    assert done.returncode == 0
    assert "not used as the reference: " in done.stderr
    assert "x has shape [1, 3, 31, 32], that of the model has [1, 3, 32, 32]" in done.stderr
    path.write_bytes(b"PK\x03\x04 no archive")
    done = tdb_dap("run", compiled)
    assert (done.returncode, "cannot be read as an npz file" in done.stderr) == (0, True)
    done = tdb_dap("run", compiled, "--reference", path)  # named by the user it is an error
    assert done.returncode == 2


def test_outputs_of_the_boards_test_tool_are_a_reference_for_its_own_inputs(compiled: Path, toy: Toy) -> None:
    (compiled.parent / "toy_bm1684x_f32_tpu_outputs.npz").unlink()
    name = output_of(toy)
    reference_of(toy)[name].astype(np.float32).tofile(compiled / "output_ref_data.dat")
    done = tdb_dap("check", compiled)
    assert (done.returncode, done.stdout.split(",")[0]) == (0, "pass: 1 tensor compared")
    done = tdb_dap("check", compiled, "--inputs", toy.inputs)  # nobody knows that they are the same
    assert done.returncode == 2
    assert "output_ref_data.dat is for the inputs next to it: leave --inputs out to use it" in done.stderr


def weight_file(folder: Path) -> dict[str, np.ndarray]:
    """The compiler's file of the weights of a context, made of the bmodel itself, as the compiler leaves it."""
    program = open_program(folder)
    mlir = program.source.mlir
    assert mlir is not None
    assert isinstance(program, CompiledProgram)
    held = program.bmodel.bytes_of(program.stage.weights, "weights").tobytes()
    arrays: dict[str, np.ndarray] = {}
    for op in mlir.ops.values():
        match = re.search(r"-> tensor<((?:\d+x)+)f32, (\d+) : i64>", op.text)
        if op.name == "top.Weight" and match:
            count = int(np.prod([int(part) for part in match[1].split("x") if part]))
            arrays[op.location] = np.frombuffer(held, np.float32, count, int(match[2]) - program.stage.weights_address)
    return arrays


def test_weights_are_compared_with_the_compilers_file_of_them(compiled: Path) -> None:
    path = compiled.parent / "toy_tpu_addressed_bm1684x_f32_weight.npz"
    arrays = weight_file(compiled)
    write_npz(path, arrays)
    done = tdb_dap("check", compiled)
    assert (done.returncode, f"; {len(arrays)} weights as compiled" in done.stdout) == (0, True), done.stdout
    name = next(iter(arrays))
    changed = arrays[name].copy()
    changed[1] += 1
    write_npz(path, {**arrays, name: changed})
    done = tdb_dap("check", compiled)
    assert done.returncode == 1
    assert done.stdout.startswith("fail: 1 weight of the bmodel not as compiled; ")
    assert f"weight {name} (line " in done.stdout
    assert f"of {changed.nbytes:,} bytes differ, the first at " in done.stdout


def test_weights_of_another_compilation_accuse_nobody(compiled: Path) -> None:
    arrays = {name: array + 1 for name, array in weight_file(compiled).items()}
    write_npz(compiled.parent / "toy_tpu_addressed_bm1684x_f32_weight.npz", arrays)
    done = tdb_dap("check", compiled)
    assert (done.returncode, "is of another compilation" in done.stderr) == (0, True), done.stdout


def test_a_reference_of_nothing_but_nan_passes_nothing_and_accuses_nobody(toy: Toy, tmp_path: Path) -> None:
    arrays = reference_of(toy)
    name = output_of(toy)
    arrays[name] = np.full_like(arrays[name], np.nan)
    write_npz(tmp_path / "ref.npz", arrays)
    done = check(toy, "--reference", tmp_path / "ref.npz")
    assert done.returncode == 0, done.stdout
    assert "1 only NaN in the reference" in done.stdout
    assert f"{name}: not comparable: the reference holds only NaN" in done.stdout
    # Where one number is left, the others are a difference.
    arrays[name].flat[0] = 0
    write_npz(tmp_path / "ref.npz", arrays)
    assert check(toy, "--reference", tmp_path / "ref.npz").returncode == 1
    write_npz(tmp_path / "ref.npz", {name: np.full_like(arrays[name], np.nan)})
    done = check(toy, "--reference", tmp_path / "ref.npz")
    assert done.returncode == 2
    assert f"not one result could be compared; {name}: not comparable: the reference holds only NaN" in done.stderr


def test_without_results_of_ops_before_it_none_is_the_first_at_fault(toy: Toy, tmp_path: Path) -> None:
    arrays = reference_of(toy)
    arrays["conv8_Conv"] = arrays["conv8_Conv"] + 1
    write_npz(tmp_path / "all.npz", arrays)
    assert "fail: first at fault is conv8_Conv" in check(toy, "--reference", tmp_path / "all.npz").stdout
    write_npz(tmp_path / "one.npz", {"conv8_Conv": arrays["conv8_Conv"]})
    done = check(toy, "--reference", tmp_path / "one.npz").stdout
    assert "fail: first to differ is conv8_Conv" in done
    assert "is at fault, or lines" in done


def test_integers_of_the_other_sign_are_the_reason_of_a_fault(tmp_path: Path) -> None:
    """What BM1684 gets where a product without a sign ends in a command with one: clipped to 127."""
    context = tmp_path / "toy"
    shutil.copytree(INT8, context)
    (context / "compilation.bmodel.xz").unlink()
    tdb_dap("patch", INT8, "-o", context / "compilation.bmodel", "--set", "B58.opd2_sign=0")
    arrays = read_npz(INT8 / "ref.npz")
    write_npz(tmp_path / "ref.npz", {**arrays, "conv8_Conv": -arrays["conv8_Conv"]})
    right, inputs = INT8 / "ref.npz", INT8 / "input.npz"
    for options in ([], ["--blame"]):
        done = tdb_dap("check", context, "--inputs", inputs, "--reference", right, *options).stdout
        assert re.match(r"fail: first .* conv8_Conv \(.*\): B58 computes ui8, which is read as si8; ", done), done
    done = tdb_dap("check", INT8, "--inputs", inputs, "--reference", tmp_path / "ref.npz", "--blame").stdout
    assert re.match(r"fail: first .* conv8_Conv \([^)]*\); ", done), done


def test_parts_that_are_not_certain_are_not_compared(toy: Toy, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Firmware may cut the tensors of a layer group in places of its own; outside of local memory they are whole."""
    arrays = reference_of(toy)
    arrays["conv8_Conv"] = arrays["conv8_Conv"] + 1
    write_npz(tmp_path / "ref.npz", arrays)
    assert check(toy, "--reference", tmp_path / "ref.npz").returncode == 1
    monkeypatch.setattr(OpRecord, "is_certain", False)
    done = check(toy, "--reference", tmp_path / "ref.npz")
    assert done.returncode == 0, done.stdout
    assert "not certain in the recording" in done.stdout
    arrays[output_of(toy)] += 1
    write_npz(tmp_path / "ref.npz", arrays)
    done = check(toy, "--reference", tmp_path / "ref.npz")
    assert done.returncode == 1
    assert "is at fault" not in done.stdout
    assert "is not judged: in the recording it is not certain which commands compute it" in done.stdout
    assert "the reference holds no result of an op before it" not in done.stdout
