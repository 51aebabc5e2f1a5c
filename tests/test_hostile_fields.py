"""Every field of the files that others make, wrong in every way: one line for the user, never an internal error.

The default run takes a few of each kind; ``pytest -m fuzz`` takes them all.
"""

from __future__ import annotations

import json
import lzma
import shutil
import struct
from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import yaml

import tdb_dap
from tdb_dap.engine.recording.recording import Recording
from tdb_dap.engine.source.mlir_file import MlirFile
from tdb_dap.engine.source.op_graph import OpGraph
from tdb_dap.errors import BadInput
from tdb_dap.tools.float_model.config import KINDS, read_config
from tdb_dap.tools.float_model.model import FloatModel
from tdb_dap.tools.float_model.safetensors_file import SafetensorsFile
from tdb_dap.tools.llm.adapter import Adapter
from tdb_dap.tools.llm.pipeline_file import read_pipeline
from tdb_dap.tools.zoo.tolerated import read_contract
from tdb_dap.tools.zoo.zoo_file import read_zoo
from tests.engine.test_damaged_recordings import Row, rows_of, written
from tests.hostile_fields import require_one_line, walk, walk_numbers
from tests.llm.models import LLAMA, QWEN, write_adapter
from tests.llm.test_pipeline import ANSWER
from tests.samples import DATA, SAMPLE

FEW = 60
"""Fields of a kind of file in the default run."""

Amount = int | None

amounts = pytest.mark.parametrize(
    "most", [pytest.param(FEW, id="few"), pytest.param(None, id="all", marks=pytest.mark.fuzz)]
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TDB_DAP_CACHE", str(tmp_path / "cache"))


CONFIGURATION: dict[str, Any] = {
    "num_hidden_layers": 2,
    "num_layers": 2,
    "hidden_size": 64,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 96,
    "rms_norm_eps": 1e-6,
    "layernorm_epsilon": 1e-6,
    "rope_theta": 500000.0,
    "max_position_embeddings": 4096,
    "vocab_size": 96,
    "hidden_act": "silu",
    "head_dim": 16,
}
OWN: dict[str, dict[str, Any]] = {
    "qwen2_moe": {"num_experts": 4, "num_experts_per_tok": 2, "mlp_only_layers": [0], "decoder_sparse_step": 1},
    "qwen3": {"sliding_window": 8, "use_sliding_window": True, "layer_types": ["full_attention", "sliding_attention"]},
    "gemma3_text": {"sliding_window": 8, "sliding_window_pattern": 2, "query_pre_attn_scalar": 16},
    "minicpm": {"scale_emb": 12, "scale_depth": 1.4, "dim_model_base": 32},
    "chatglm": {"multi_query_attention": True, "multi_query_group_num": 2, "rope_ratio": 2.0, "kv_channels": 16},
}
ROTARY: tuple[dict[str, Any], ...] = (
    {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024, "mscale": 1.0, "beta_fast": 32},
    {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0},
    {"rope_type": "longrope", "short_factor": [1.0] * 8, "long_factor": [4.0] * 8},
    {"rope_type": "dynamic", "factor": 2.0},
)


@amounts
@pytest.mark.parametrize("kind", list(KINDS))
def test_configurations_of_language_models(kind: str, most: Amount, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    rotary = ROTARY[list(KINDS).index(kind) % len(ROTARY)]
    parameters = {} if kind == "chatglm" else {"rope_scaling": rotary}
    known = {"model_type": kind, **CONFIGURATION, **OWN.get(kind, {}), **parameters}

    def used() -> None:
        config = read_config(path)
        for one in config.rotary[:4]:
            one.table(np.arange(4), 8192)

    for what, document in walk(known, 1, most):
        path.write_text(json.dumps(document))
        require_one_line(used, f"{kind}: {what}")


def computed(folder: Path) -> None:
    """Every weight is read and computed with, but for layers beyond those that there are."""
    model = FloatModel(folder)
    states, positions = model.embedded(np.array([5, 17, 30])), np.arange(3)
    for layer in range(min(model.config.layers, 3)):
        states = model.block(layer, states, positions)["output_states"]
    model.logits(states[-1])


@amounts
@pytest.mark.parametrize("model", [LLAMA, QWEN], ids=lambda folder: folder.name)
def test_float_models(model: Path, most: Amount, tmp_path: Path) -> None:
    folder = tmp_path / "float"
    shutil.copytree(model / "float", folder)
    path = folder / "config.json"
    require_one_line(partial(computed, folder), "as it is")
    for what, document in walk(json.loads(path.read_bytes()), 2, most):
        path.write_text(json.dumps(document))
        require_one_line(partial(computed, folder), what)


def with_header(path: Path, content: bytes, header: Any) -> None:
    """A .safetensors file with another header."""
    size = struct.unpack("<Q", content[:8])[0]
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + content[8 + size :])


@amounts
def test_safetensors(most: Amount, tmp_path: Path) -> None:
    folder = tmp_path / "float"
    shutil.copytree(LLAMA / "float", folder)
    path = folder / "model.safetensors"
    content = path.read_bytes()
    header = json.loads(content[8 : 8 + struct.unpack("<Q", content[:8])[0]])
    for what, document in walk(header, 3, most):
        with_header(path, content, document)
        require_one_line(partial(computed, folder), what)


def test_a_safetensors_file_says_which_field_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    entry = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
    for change, text in (
        ({"shape": [-1]}, "tensor a needs dtype, shape and two data_offsets"),
        ({"data_offsets": [0, 80]}, "tensor a is at bytes 0 to 80 of 8"),
        ({"shape": [3]}, "tensor a of F32 and shape [3] has 8 bytes"),
    ):
        with_header(path, struct.pack("<Q", 0) + bytes(8), {"a": {**entry, **change}})
        with pytest.raises(BadInput) as caught:
            SafetensorsFile(path)
        assert text in str(caught.value)


@amounts
def test_adapters(most: Amount, tmp_path: Path) -> None:
    write_adapter(tmp_path / "adapter")
    path = tmp_path / "adapter" / "adapter_config.json"
    weights = tmp_path / "adapter" / "adapter_model.safetensors"
    known, content = json.loads(path.read_bytes()), weights.read_bytes()

    def used() -> None:
        model = FloatModel(LLAMA / "float", Adapter(tmp_path / "adapter").pairs)
        model.block(0, model.embedded(np.array([5])), np.arange(1))

    require_one_line(used, "as it is")
    for what, document in walk(known, 4, most):
        path.write_text(json.dumps(document))
        require_one_line(used, what)
    path.write_text(json.dumps(known))
    header = json.loads(content[8 : 8 + struct.unpack("<Q", content[:8])[0]])
    for what, document in walk(header, 4, most):
        with_header(weights, content, document)
        require_one_line(used, what)


@amounts
def test_pipelines(most: Amount, tmp_path: Path) -> None:
    path = tmp_path / "steps.yaml"
    np.savez(tmp_path / "masks.npz", prefill=np.zeros(256, np.uint16))
    for what, document in walk(yaml.safe_load(ANSWER), 5, most):
        path.write_text(yaml.safe_dump(document))
        require_one_line(lambda: read_pipeline(path), what)


ZOO: dict[str, Any] = {
    "do": ["check"],
    "limits": {"seconds": 10, "megabytes": 100},
    "directories": ["models"],
    "cases": [
        {"name": "a{x}", "context": "a", "inputs": "in.npz", "reference": "ref.npz", "each": {"x": ["1", "2"]}},
        {"name": "b", "compile": {"command": "make {x}", "environment": {"A": "1"}}, "chip": "BM1684X"},
    ],
}
CONTRACT: dict[str, Any] = {
    "tolerated": [{"case": "a*", "what": "status:*", "owner": "x", "why": "known", "until": "2099-01-01"}],
}


@amounts
@pytest.mark.parametrize("form", ["yaml", "json"])
def test_zoos_and_contracts(form: str, most: Amount, tmp_path: Path) -> None:
    read: dict[str, Callable[[Path], object]] = {
        "zoo": read_zoo,
        "contract": lambda path: read_contract(path, date(2026, 1, 1)),
    }
    for name, known in (("zoo", ZOO), ("contract", CONTRACT)):
        path = tmp_path / f"{name}.{form}"
        for what, document in walk(known, 6, most):
            path.write_text(yaml.safe_dump(document) if form == "yaml" else json.dumps(document))
            require_one_line(partial(read[name], path), f"{name}: {what}")


# Texts of MLIR and their locations


def inspected(folder: Path) -> None:
    """What a session shows of a model's source."""
    debugger = tdb_dap.open(folder)
    program = debugger.program
    for record in program.source.records:
        for tensor in (*record.operands, *record.results):
            assert tensor.shape is not None, tensor.scale
    if program.source.mlir is not None:
        OpGraph.of(program.source.mlir)
    for ordinal in range(0, len(program.commands), 7):
        debugger.travel(ordinal)


MODELS = (
    SAMPLE,
    DATA / "contexts" / "sliced_int8",
    DATA / "contexts" / "branches",
    DATA / "contexts" / "rows_bm1684_int8",
)


def plain_copy(model: Path, folder: Path) -> Path:
    """A copy whose texts are not packed."""
    shutil.copytree(model, folder)
    for path in folder.glob("*.xz"):
        if not path.name.endswith(".bmodel.xz"):
            path.with_suffix("").write_bytes(lzma.decompress(path.read_bytes()))
            path.unlink()
    return folder


@amounts
@pytest.mark.parametrize("model", MODELS, ids=lambda folder: folder.name)
def test_numbers_in_texts_of_mlir(model: Path, most: Amount, tmp_path: Path) -> None:
    folder = plain_copy(model, tmp_path / "model")
    path = folder / "final.mlir"
    text = path.read_text()
    for seed in range(1 if most else 20):
        for what, other in walk_numbers(text, seed, 8):
            path.write_text(other)
            require_one_line(partial(inspected, folder), what)
            require_one_line(lambda: OpGraph.of(MlirFile(path.read_text(), path)), f"graph: {what}")


@amounts
@pytest.mark.parametrize("model", MODELS, ids=lambda folder: folder.name)
def test_locations(model: Path, most: Amount, tmp_path: Path) -> None:
    folder = plain_copy(model, tmp_path / "model")
    path = folder / "tensor_location.json"
    if not path.exists():
        pytest.skip("its compiler writes none")
    for what, document in walk(json.loads(path.read_bytes()), 7, 12 if most else 400):
        path.write_text(json.dumps(document))
        require_one_line(partial(inspected, folder), what)


def test_a_dimension_of_many_digits_is_one_line_of_the_graph(tmp_path: Path) -> None:
    text = (SAMPLE / "final.mlir").read_text().replace("tensor<1x", f"tensor<{'1' * 5000}x")
    with pytest.raises(BadInput, match=r"11111111... in final.mlir has 5,000 digits; is the file damaged"):
        OpGraph.of(MlirFile(text, tmp_path / "final.mlir"))


# Recordings


RECORDINGS = ("branches_bm1684x", "mixed_bm1684", "shapes_bm1688", "pipeline_bm1684x")


def exchanged(rows: list[Row], rng: Random) -> list[Row]:
    """The events with some of them in each other's places, elsewhere, or once more."""
    rows = list(rows)
    for _ in range(rng.choice([1, 1, 2, 5, 50])):
        first, second = rng.randrange(len(rows)), rng.randrange(len(rows))
        how = rng.random()
        if how < 0.6:
            rows[first], rows[second] = rows[second], rows[first]
        elif how < 0.8:
            rows.insert(first, rows.pop(second))
        else:
            rows.insert(first, rows[second])
    return rows


@amounts
@pytest.mark.parametrize("name", RECORDINGS)
def test_events_in_another_order(name: str, most: Amount, tmp_path: Path) -> None:
    recording = Recording.read(DATA / "recordings" / f"{name}.tdbrec")
    rows = rows_of(recording)
    for seed in range(5 if most else 300):
        path = written(exchanged(rows, Random(seed)), recording, tmp_path / "a.tdbrec")

        def used(path: Path = path) -> None:
            debugger = tdb_dap.open(path)
            debugger.run()
            for record in debugger.program.source.records:
                assert len(record.operands) + len(record.results) >= 0

        require_one_line(used, f"seed {seed}")
