"""Folders in few bits as references: GPTQ, AWQ and F8, by the documented formats, and damaged ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.errors import BadInput
from tdb_dap.tools.float_model.model import FloatModel
from tests.float_model.packing import awq, fp8, gptq, source, write
from tests.llm.models import LLAMA

FLOAT = LLAMA / "float"

FORMS: tuple[tuple[str, Callable[[Path], dict[str, Array]]], ...] = (
    ("gptq", partial(gptq, of=FLOAT, group=32)),
    ("gptq_v2", partial(gptq, of=FLOAT, group=32, form="gptq_v2")),
    ("gptq with g_idx", partial(gptq, of=FLOAT, group=32, shuffled=True)),
    ("awq", partial(awq, of=FLOAT, group=64)),
    ("fp8 in blocks", partial(fp8, of=FLOAT, block=(48, 40))),
    ("fp8 by row", partial(fp8, of=FLOAT, block=None)),
)


@pytest.mark.parametrize(("name", "make"), FORMS, ids=[name for name, _ in FORMS])
def test_packed_matrices_are_read_as_the_numbers_that_they_stand_for(
    name: str, make: Callable[[Path], dict[str, Array]], tmp_path: Path
) -> None:
    meant = make(tmp_path)
    weights = FloatModel(tmp_path).weights
    assert len(meant) == 14, name
    for tensor, numbers in meant.items():
        assert tensor in weights
        np.testing.assert_allclose(weights.read(tensor), numbers, rtol=1e-6, atol=1e-7)
        assert 0 < np.abs(numbers - source(FLOAT)[1][tensor]).max() < 0.2, "it is packed"


def test_the_zero_points_of_the_first_form_are_one_higher(tmp_path: Path) -> None:
    meant = gptq(tmp_path, FLOAT, 32)
    path = tmp_path / "config.json"
    config = json.loads(path.read_text())
    config["quantization_config"]["checkpoint_format"] = "gptq_v2"
    path.write_text(json.dumps(config))
    weights = FloatModel(tmp_path).weights
    name = "model.layers.0.mlp.up_proj.weight"
    assert (weights.read(name) - meant[name] > 0.01).all(), "all a step larger"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda t: t.update({f"{BASE}.g_idx": t[f"{BASE}.g_idx"] + 9}), "g_idx names groups"),
        (lambda t: t.update({f"{BASE}.scales": t[f"{BASE}.scales"][:, :-1].copy()}), "do not fit"),
        (lambda t: t.update({f"{BASE}.qzeros": t[f"{BASE}.qzeros"][:-1].copy()}), "do not fit"),
    ],
)
def test_damaged_packings_are_refused(change: Callable[[dict[str, Array]], None], says: str, tmp_path: Path) -> None:
    gptq(tmp_path, FLOAT, 32)
    config, _ = source(tmp_path)
    tensors = stored(tmp_path)
    change(tensors)
    write(tmp_path, config, tensors)
    with pytest.raises(BadInput, match=says):
        FloatModel(tmp_path).weights.read(f"{BASE}.weight")


BASE = "model.layers.1.self_attn.q_proj"


def stored(folder: Path) -> dict[str, Array]:
    """Tensors of a folder as they are in the file."""
    _, tensors = source(folder)
    return {name: array.astype(np.float16) if name.endswith(".scales") else array for name, array in tensors.items()}


def test_a_packed_folder_without_a_configuration_is_refused_by_name(tmp_path: Path) -> None:
    gptq(tmp_path, FLOAT, 32)
    path = tmp_path / "config.json"
    config = json.loads(path.read_text())
    del config["quantization_config"]
    path.write_text(json.dumps(config))
    with pytest.raises(BadInput, match=r"it is packed \(qweight\), and config.json has no quantization_config"):
        FloatModel(tmp_path).weights.read(f"{BASE}.weight")
