"""``tdb-dap profile DIR --ids``: time of a completion by token, net and kind of op."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tdb_dap.engine.bmodel import Bmodel
from tdb_dap.tools.llm.language_model import read_model
from tdb_dap.tools.llm.passes import passes
from tdb_dap.tools.llm.sources import sources_of
from tdb_dap.tools.profile.report import profiled
from tdb_dap.tools.profile.schema import TokensProfile
from tdb_dap.tools.profile.tokens import tokens_of
from tdb_dap.tools.weights.constants import FloatConstant, QuantisedConstant, constants
from tests.command_line import tdb_dap
from tests.llm.models import LLAMA, QWEN, program


def profile_of(folder: Path, seconds: tuple[float, ...] = ()) -> tuple[TokensProfile, float]:
    """The completion's profile, and cycles of all commands."""
    _, made = program(folder)
    profile, report = profiled(made)
    return tokens_of(profile, passes(made.launches), seconds), report.cycles


@pytest.mark.parametrize("folder", [QWEN, LLAMA], ids=["bf16", "w4"])
def test_times_of_tokens_nets_and_ops_add_up(folder: Path) -> None:
    tokens, cycles = profile_of(folder)
    assert [one.token for one in tokens.tokens] == [0, 1, 2, 3]
    assert sum(one.cycles for one in tokens.tokens) == pytest.approx(cycles)
    assert sum(net.share for net in tokens.nets) == pytest.approx(1)
    assert sum(kind.share for kind in tokens.kinds) == pytest.approx(1)
    launches = {net.net: net.launches for net in tokens.nets}
    assert (launches["block_*"], launches["block_cache_*"], launches["lm_head"]) == (2, 6, 4)
    assert tokens.tokens[1].cycles == pytest.approx(tokens.tokens[3].cycles), "decoding is the same each time"


@pytest.mark.parametrize("folder", [QWEN, LLAMA], ids=["bf16", "w4"])
def test_a_token_reads_the_weights_once(folder: Path) -> None:
    """The matrices of blocks and head; of the tables of embeddings, cosines and sines a row."""
    model = read_model(folder)
    nets = {net: stage for net, stage in model.nets.items() if net.startswith(("block_cache_", "lm_head"))}
    matrices = 0
    for constant in constants(Bmodel(model.context.bmodel), nets, sources_of(model)):
        if isinstance(constant, QuantisedConstant):
            matrices += constant.packed.held.size
        elif isinstance(constant, FloatConstant) and "rotary" not in constant.tensor:
            matrices += constant.words.held.size
    tokens, _ = profile_of(folder)
    assert matrices <= tokens.tokens[2].weights_read < 1.3 * matrices
    assert tokens.tokens[0].weights_read > 0
    assert all(0 < one.weights_share < 1 for one in tokens.tokens)
    for one in tokens.tokens:
        for shares in (one.nets, one.kinds):
            assert sum(shares.values()) == pytest.approx(1)
    assert "block_cache_*" in tokens.tokens[1].nets
    assert "block_cache_*" not in tokens.tokens[0].nets


def test_rates_are_of_the_tokens_after_the_prompt() -> None:
    tokens, _ = profile_of(LLAMA, (9.0, 0.5, 0.25, 0.25))
    times = [one.milliseconds for one in tokens.tokens[1:]]
    assert tokens.rate == pytest.approx(3e3 / sum(time or 0 for time in times))
    assert tokens.simulated_rate == 3
    assert profile_of(LLAMA)[0].simulated_rate is None


def test_the_table_and_the_report(tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    done = tdb_dap("profile", LLAMA, "--ids", "5,17,30", "--tokens", 2, "--report", path)
    assert done.returncode == 0, done.stderr
    assert any(line.split()[:2] == ["prompt", "4"] for line in done.stdout.splitlines())
    assert "tokens/s on the chip, " in done.stdout
    assert "nets: block_" in done.stdout
    report = json.loads(path.read_text("utf-8"))
    assert [one["token"] for one in report["tokens"]["tokens"]] == [0, 1]
    assert all(one["seconds"] > 0 for one in report["tokens"]["tokens"])
    plain = tdb_dap("profile", QWEN.parent.parent / "bm1684x" / "toy_bm1684x_f32", "--report", path)
    assert plain.returncode == 0
    assert json.loads(path.read_text("utf-8"))["tokens"] is None
