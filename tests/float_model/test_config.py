"""config.json of language models: both spellings of rotary embeddings, and keys that are refused by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tdb_dap.errors import BadInput
from tdb_dap.tools.float_model.config import Config, read_config

LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "num_hidden_layers": 2,
    "hidden_size": 64,
    "num_attention_heads": 4,
    "rms_norm_eps": 1e-6,
    "rope_theta": 500000.0,
    "max_position_embeddings": 131072,
    "hidden_act": "silu",
}
FORMS: tuple[dict[str, Any], ...] = (
    {"rope_type": "linear", "factor": 2.0},
    {"rope_type": "dynamic", "factor": 2.0},
    {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768},
    {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    },
    {
        "rope_type": "longrope",
        "short_factor": [1.0] * 8,
        "long_factor": [4.0] * 8,
        "original_max_position_embeddings": 4096,
    },
    {"rope_type": "mrope", "mrope_section": [2, 3, 3]},
)


def read(folder: Path, **changes: Any) -> Config:
    path = folder / "config.json"
    path.write_text(json.dumps({**LLAMA, **changes}))
    return read_config(path)


def test_both_spellings_are_the_same_rotation(tmp_path: Path) -> None:
    heads = np.random.default_rng(1).standard_normal((3, 4, 16))
    positions = np.array([1, 7, 5000])
    plain = read(tmp_path).rotary[0].rotate(heads, positions, 5001)
    for form in FORMS:
        old = {**form, "type": form["rope_type"]}
        old.pop("rope_type")
        one = read(tmp_path, rope_scaling=old).rotary[0].rotate(heads, positions, 5001)
        theta = {"rope_theta": LLAMA["rope_theta"], **form}
        other = read(tmp_path, rope_parameters=theta, rope_theta=None).rotary[0].rotate(heads, positions, 5001)
        assert (one == other).all()
        is_plain = form["rope_type"] in ("mrope", "dynamic")  # 5,001 positions are fewer than it is trained for
        assert np.allclose(one, plain) == is_plain, form


def test_long_sequences_have_other_frequencies(tmp_path: Path) -> None:
    for form in (FORMS[1], FORMS[4]):
        rotary = read(tmp_path, rope_scaling=form, max_position_embeddings=8192).rotary[0]
        heads, positions = np.ones((1, 1, 16)), np.array([3])
        short, long = (rotary.rotate(heads, positions, length) for length in (4096, 9000))
        assert (short == rotary.rotate(heads, positions, 5)).all()
        assert not np.allclose(short, long)


def test_windows_by_layer(tmp_path: Path) -> None:
    window = {"model_type": "qwen2", "sliding_window": 100, "max_window_layers": 1}
    assert read(tmp_path, **window, use_sliding_window=True).windows == (0, 100)
    assert read(tmp_path, **window, use_sliding_window=False).windows == (0, 0)
    assert read(tmp_path, model_type="mistral", sliding_window=64).windows == (64, 64)
    assert read(tmp_path, model_type="mistral", sliding_window=None).windows == (0, 0)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"model_type": "mamba"}, "model_type 'mamba' is not known in float; known are llama, mistral, qwen2"),
        ({"rope_scaling": {"rope_type": "proportional"}}, "rope_type 'proportional' is not known in float"),
        ({"rope_scaling": {"rope_type": "linear", "factor": 2, "bend": 3}}, "bend of rope_type 'linear' is not known"),
        ({"rope_scaling": {"rope_type": "llama3"}}, "it has no 'factor'"),
        ({"rope_scaling": {"type": "linear", "factor": -1}}, "factor is -1; it must be a number above 0"),
        ({"rope_theta": -1}, "rope_theta is -1; it must be a number above 0"),
        ({"rms_norm_eps": float("nan")}, "rms_norm_eps is nan"),
        ({"partial_rotary_factor": 0.35}, "would be rotated"),
        ({"hidden_act": "mish"}, "hidden_act 'mish' is not known in float"),
        ({"attention_multiplier": 2.0}, "attention_multiplier of model_type 'llama' is not known in float"),
        (
            {"quantization_config": {"quant_method": "bitsandbytes"}},
            "quant_method 'bitsandbytes' is not read; known are",
        ),
        ({"quantization_config": {"quant_method": "gptq", "bits": 3}}, "3 bits of gptq are not read"),
        ({"quantization_config": {"quant_method": "awq", "bits": 4, "version": "gemv"}}, "version 'gemv' of awq"),
        ({"quantization_config": {"quant_method": "fp8", "weight_block_size": [0]}}, "weight_block_size"),
        ({"compression_config": {"format": "pack"}}, "quantised weights are not read"),
        ({"model_type": "gemma4_text"}, "model_type 'gemma4_text' is not known in float"),
        ({"model_type": "qwen3_5_text"}, "model_type 'qwen3_5_text' is not known in float"),
        ({"model_type": "lfm2_text"}, "model_type 'lfm2_text' is not known in float"),
        ({"model_type": "mllama"}, "model_type 'mllama' is not known in float"),
        ({"num_key_value_heads": 3}, "4 heads and 3 shared"),
        ({"rope_scaling": {**FORMS[4], "long_factor": [1.0]}}, "long_factor has 1 numbers instead of 8"),
    ],
)
def test_what_is_not_known_is_refused_by_name(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    with pytest.raises(BadInput, match=says):
        read(tmp_path, **changes)


def test_keys_that_change_no_number_are_accepted(tmp_path: Path) -> None:
    accepted = {"torch_dtype": "bfloat16", "use_cache": True, "architectures": ["X"], "attention_multiplier": None}
    assert read(tmp_path, **accepted, eos_token_id=[2, 7]).layers == 2
