"""``tdb-dap llm``: what is printed, as text and as JSON, and damaged weights."""

from __future__ import annotations

import json
import struct
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tdb_dap.errors import BadInput
from tdb_dap.tools.float_model.model import FloatModel
from tdb_dap.tools.float_model.safetensors_file import SafetensorsFile
from tdb_dap.tools.llm.language_model import read_model, require_attention
from tests.command_line import tdb_dap
from tests.llm.models import DYNAMIC, LLAMA, QWEN, SAMPLE, copied


def test_a_recorded_run_of_a_program_that_counts_wrongly() -> None:
    done = tdb_dap("llm", DYNAMIC, "--recording", DYNAMIC / "early.tdbrec", "--reference", QWEN / "float")
    assert done.returncode == 1
    assert (
        "first wrong: token 2, block_cache_0 (launch 9): it is given position_ids 3 instead of 4 at position 4"
        in done.stdout
    )
    right = tdb_dap("llm", DYNAMIC, "--recording", DYNAMIC / "right.tdbrec", "--reference", QWEN / "float", "--json")
    found = json.loads(right.stdout)
    assert (right.returncode, found["prompt"]) == (0, [5, 17, 30])
    assert [token["id"] for token in found["tokens"]] == [token["expected"] for token in found["tokens"]]
    assert {part["net"] for part in found["tokens"][0]["launches"]} == {"embedding", "block_0", "block_1", "lm_head"}


def test_a_token_that_only_the_number_format_changes() -> None:
    done = tdb_dap("llm", LLAMA, "--ids", "5,17,30", "--tokens", "2", "--reference", LLAMA / "float")
    assert done.returncode == 0
    assert "this is quantisation, not a fault" in done.stdout


def test_a_stop_token_ends_the_completion(tmp_path: Path) -> None:
    """``eos_token_id`` of the files next to the bmodel; given tokens are fed in spite of it."""
    folder = copied(QWEN, tmp_path)
    prompt = ("--ids", "5,17,30", "--tokens", "4")
    ids = [token["id"] for token in json.loads(tdb_dap("llm", folder, *prompt, "--json").stdout)["tokens"]]
    assert len(ids) == 4
    (folder / "config").mkdir()
    (folder / "config" / "generation_config.json").write_text(json.dumps({"eos_token_id": [90, ids[1]]}))
    done = tdb_dap("llm", folder, *prompt)
    assert done.stdout.splitlines()[-1].startswith(f"token 1: {ids[1]} ")
    assert done.stdout.endswith("ends the completion\n")
    given = tdb_dap("llm", folder, *prompt, "--given", ",".join(map(str, ids[:3])), "--json")
    assert len(json.loads(given.stdout)["tokens"]) == 4


def test_tokens_that_are_drawn_have_no_expected_one() -> None:
    done = tdb_dap("llm", SAMPLE, "--ids", "5,17", "--tokens", "2", "--sample", "seed=1", "--reference", QWEN / "float")
    assert (done.returncode, "None" in done.stdout) == (0, False)
    assert "the tokens are drawn" in done.stdout
    assert "not traced: embedding, " in done.stdout


def test_a_float_model_with_nan_judges_nothing(tmp_path: Path) -> None:
    """A NaN is a number: a block of them was compared nowhere, and so right."""
    folder, tensor = spoiled(QWEN / "float", tmp_path), "model.layers.1.input_layernorm.weight"
    data = bytearray((folder / "model.safetensors").read_bytes())
    size = struct.unpack("<Q", data[:8])[0]
    entry = json.loads(data[8 : 8 + size])[tensor]
    start = 8 + size + entry["data_offsets"][0]
    data[start : start + 4] = struct.pack("<f", float("nan")) if entry["dtype"] == "F32" else b"\xc0\x7f" * 2
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").write_bytes(data)
    done = tdb_dap("llm", QWEN, "--ids", "5,17", "--tokens", "1", "--reference", folder)
    assert done.returncode == 2
    assert f"tensor {tensor} itself has nan at 0" in done.stderr


def spoiled(folder: Path, tmp_path: Path, **changes: object) -> Path:
    """A copy of a float model with other entries in config.json."""
    config = json.loads((folder / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, **changes}))
    (tmp_path / "model.safetensors").symlink_to(folder / "model.safetensors")
    return tmp_path


def test_a_float_model_that_is_not_known(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="model_type 'gemma9' is not known in float; known are llama"):
        FloatModel(spoiled(QWEN / "float", tmp_path, model_type="gemma9"))


@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_are_a_file_or_an_error(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, is_framed: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.safetensors"
    path.write_bytes(struct.pack("<Q", len(data)) + data if is_framed else data)
    with suppress(BadInput):
        SafetensorsFile(path)


@given(
    st.dictionaries(
        st.text(max_size=5),
        st.one_of(
            st.integers(),
            st.fixed_dictionaries(
                {},
                optional={
                    "dtype": st.sampled_from(["F32", "BF16", "X", 3]),
                    "shape": st.lists(st.integers(-2, 9), max_size=3),
                    "data_offsets": st.lists(st.integers(-4, 40), max_size=3),
                },
            ),
        ),
        max_size=3,
    )
)
def test_any_header_gives_numbers_or_an_error(
    tmp_path_factory: pytest.TempPathFactory, header: dict[str, object]
) -> None:
    path = tmp_path_factory.getbasetemp() / "header.safetensors"
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(range(32)))
    with suppress(BadInput):
        file = SafetensorsFile(path)
        for name in file.names:
            file.read(name)


@pytest.mark.parametrize("net", ["block_0", "block_cache_1", "lm_head"])
def test_blocks_without_attention_are_refused_by_their_inputs(net: str) -> None:
    """A recurrent state in some of them, as in Qwen 3.5, or a convolution, as in LFM2."""
    nets = read_model(QWEN).nets
    require_attention("x.bmodel", nets)
    state = replace(nets[net].inputs[0], name="recurrent_states")
    changed = replace(nets[net], inputs=(nets[net].inputs[0], state), outputs=nets[net].outputs[:2])
    with pytest.raises(BadInput, match=rf"net {net} has the inputs .*, recurrent_states.*; a pipeline file can run"):
        require_attention("x.bmodel", {**nets, net: changed})
