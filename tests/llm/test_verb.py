"""``tdb-dap llm``: what is printed, as text and as JSON, and damaged weights."""

from __future__ import annotations

import json
import struct
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tdb_dap.errors import BadInput
from tdb_dap.tools.float_model.model import FloatModel
from tdb_dap.tools.float_model.safetensors_file import SafetensorsFile
from tests.command_line import tdb_dap
from tests.llm.models import DYNAMIC, LLAMA, QWEN


def test_a_recorded_run_of_a_program_that_counts_wrongly() -> None:
    done = tdb_dap("llm", DYNAMIC, "--recording", DYNAMIC / "early.tdbrec", "--reference", QWEN / "float")
    assert done.returncode == 1
    assert (
        "first wrong: token 2, block_cache_0 (launch 9): it is given position_ids is 3 instead of 4 at 0" in done.stdout
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
