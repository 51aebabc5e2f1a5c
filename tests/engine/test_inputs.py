"""Numbers that an input cannot hold are refused, not changed without a word."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from tdb_dap.engine.commands.net_tensors import Tensor
from tdb_dap.engine.hardware.dtypes import UI8
from tdb_dap.engine.machine.input_data import load_inputs
from tdb_dap.engine.machine.npz import write_npz
from tdb_dap.engine.reference.tolerance import Tolerances
from tdb_dap.errors import BadInput
from tdb_dap.system.notices import heard_by
from tdb_dap.tools.opening import open_debugger
from tdb_dap.tools.programs import open_program
from tests.samples import DATA


@pytest.mark.parametrize(
    ("model", "number", "problem"),
    [
        ("toy_bm1684x_f32", 1e300, "numbers are too large for input x of type f32, the first is 1e+300"),
        ("toy_bm1684x_f32", -1e39, "the first is -1e+39"),
        ("toy_bm1684x_f32", np.inf, ""),
        ("toy_bm1684x_f32", np.nan, ""),
        ("toy_bm1684x_int8qio", np.nan, "holds NaN, which input x"),
        ("toy_bm1684x_int8qio", 1e300, ""),  # of quantised inputs what is too large is the largest
        ("toy_bm1684x_int8qio", -np.inf, ""),
    ],
)
def test_a_number_fits_or_is_refused(model: str, number: float, problem: str, tmp_path: Path) -> None:
    tensors = open_program(DATA / "bm1684x" / model).inputs
    arrays = {tensor.name: np.zeros(tensor.shape) for tensor in tensors}
    arrays[tensors[0].name].flat[3] = number
    write_npz(tmp_path / "in.npz", arrays)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if problem:
            with pytest.raises(BadInput) as refused:
                load_inputs(tmp_path / "in.npz", tensors)
            assert problem in str(refused.value)
        else:
            load_inputs(tmp_path / "in.npz", tensors)


TOY = DATA / "bm1684x" / "toy_bm1684x_f32"
CAST = DATA / "bm1684x" / "toy_bm1684x_int8qio"


def loaded(path: Path, tensors: Sequence[Tensor]) -> tuple[dict[str, np.ndarray], list[str]]:
    """The words of the inputs in a file, and the remarks made."""
    remarks: list[str] = []
    with heard_by(remarks.append):
        return load_inputs(path, tensors), remarks


@pytest.mark.parametrize(
    ("shape", "problem"),
    [
        ((1, 3, 32, 32), ""),
        ((3, 32, 32), ""),
        ((3, 1024), ""),
        ((3072,), ""),
        ((1, 32, 32, 3), "the same axes in another order; give the array.transpose(0, 3, 1, 2)"),
        ((32, 3, 32, 1), "give the array.transpose(3, 1, 0, 2)"),
        ((1, 3, 16, 64), "as many numbers in another layout"),
        ((1, 3, 32, 31), "does not fit input x of shape [1, 3, 32, 32]"),
    ],
)
def test_as_many_numbers_in_another_layout_are_refused(shape: tuple[int, ...], problem: str, tmp_path: Path) -> None:
    tensors = open_program(TOY).inputs
    array = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    np.save(tmp_path / "in.npy", array)
    if problem:
        with pytest.raises(BadInput) as refused:
            load_inputs(tmp_path / "in.npy", tensors)
        assert problem in str(refused.value)
    else:
        words, remarks = loaded(tmp_path / "in.npy", tensors)
        assert (words["x"].view(np.float32).reshape(-1) == array.reshape(-1)).all()
        assert not remarks


@pytest.mark.parametrize(
    ("numbers", "share"),
    [
        (np.array([0, 1, 2, 255], np.float32), ""),
        (np.array([0, 0.25, 0.5, 1], np.float32), "100 % become 0 or 1"),
        (np.array([0, 0.25, 0.125, 0], np.float32), "100 % become 0"),
        (np.array([0, 2.5, 3, 4], np.float32), "25.0 % are rounded"),
        (np.array([0, 256, 3, 300], np.float32), "50.0 % are clipped"),
        (np.array([0.5, 256, 3, 300], np.float32), "25.0 % are rounded and 50.0 % are clipped"),
        (np.array([0, 1, 2, 3], np.uint8), ""),
        (np.array([0, 1, 2, 255], np.int32), ""),
    ],
)
def test_numbers_that_an_input_of_integers_changes_are_counted(numbers: np.ndarray, share: str, tmp_path: Path) -> None:
    plain = replace(open_program(TOY).inputs[0], dtype=UI8, shape=(4,))
    plain = replace(plain, view=replace(plain.view, shape=(4,), dtype=UI8, strides=(1,)))
    np.save(tmp_path / "in.npy", numbers)
    _, remarks = loaded(tmp_path / "in.npy", [plain])
    assert len(remarks) == bool(share)
    assert all(remark.endswith(share) for remark in remarks)


def test_rounding_to_the_steps_of_a_quantised_input_is_no_remark(tmp_path: Path) -> None:
    (tensor,) = open_program(CAST).inputs
    assert tensor.scale != 1
    top = (tensor.dtype.maximum + 0.9) / tensor.scale
    np.save(tmp_path / "in.npy", np.linspace(-top, top, tensor.view.size).reshape(tensor.shape))
    assert not loaded(tmp_path / "in.npy", [tensor])[1]
    np.save(tmp_path / "in.npy", np.linspace(-2 * top, 2 * top, tensor.view.size).reshape(tensor.shape))
    (remark,) = loaded(tmp_path / "in.npy", [tensor])[1]
    assert re.search(r" steps: of the values (49|50)\.\d % are clipped$", remark)


@pytest.mark.parametrize(
    ("start", "kind"), [(b"\xff\xd8\xff\xe0", "JPEG"), (b"\x89PNG\r\n", "PNG"), (b"RIFF\0\0\0\0WEBPVP8 ", "WebP")]
)
def test_a_picture_is_refused_by_kind_with_the_file_to_give(start: bytes, kind: str, tmp_path: Path) -> None:
    tensors = open_program(TOY).inputs
    picture = tmp_path / "dog.jpg"
    picture.write_bytes(start + bytes(500))
    with pytest.raises(BadInput, match=f"dog.jpg: is a {kind} picture; give its numbers, x f32.1,3,32,32., as .npz"):
        load_inputs(picture, tensors)
    write_npz(tmp_path / "other.npz", {"x": np.zeros((1, 32, 32, 3), np.float32)})
    write_npz(tmp_path / "toy_in_f32.npz", {"x": np.zeros((1, 3, 32, 32), np.float32)})
    with pytest.raises(BadInput, match=r"give its numbers: .*toy_in_f32.npz holds x f32"):
        load_inputs(picture, tensors)


def test_bytes_that_begin_like_a_picture_are_inputs_if_there_are_as_many(tmp_path: Path) -> None:
    tensors = open_program(TOY).inputs
    (tmp_path / "in.dat").write_bytes(b"BM" + bytes(tensors[0].view.nbytes - 2))
    assert loaded(tmp_path / "in.dat", tensors)[0]["x"].reshape(-1)[0] == int.from_bytes(b"BM\0\0", "little")
    (tmp_path / "in.dat").write_bytes(b"BM" + bytes(98))
    with pytest.raises(BadInput, match="100 bytes; the inputs x take 12,288"):
        load_inputs(tmp_path / "in.dat", tensors)


def test_the_stage_that_takes_the_inputs_is_run(tmp_path: Path) -> None:
    model = DATA / "contexts" / "nets_and_stages"
    first, second = (open_program(model, "pool2d", number).inputs for number in (0, 1))
    remarks: list[str] = []
    for number, tensors in enumerate((first, second)):
        write_npz(tmp_path / f"{number}.npz", {t.name: np.zeros(t.shape, np.float32) for t in tensors})
        with heard_by(remarks.append), closing(open_debugger(model, tmp_path / f"{number}.npz", net="pool2d")) as run:
            assert run.program.stage_index == number
    assert any("stage 1 of pool2d takes 1.npz" in remark for remark in remarks)
    assert not any("stage 0 of" in remark for remark in remarks)
    with pytest.raises(BadInput, match="stage 1 takes it"):
        open_debugger(model, tmp_path / "1.npz", net="pool2d", stage=0)
    write_npz(tmp_path / "none.npz", {t.name: np.zeros((7, *t.shape), np.float32) for t in first})
    with pytest.raises(BadInput, match=r"the stages take 0 \(.*\), 1 \("):
        open_debugger(model, tmp_path / "none.npz", net="pool2d")


@pytest.mark.parametrize(
    "limit", ["cosine=nan", "cosine=1.1", "0.99,nan", "f16:ulp=-1", "x*:badShare=2", "relative=-inf", "sqnr=nan"]
)
def test_a_limit_that_is_none_is_refused(limit: str) -> None:
    with pytest.raises(BadInput, match="is a number from"):
        Tolerances.parse([limit])
