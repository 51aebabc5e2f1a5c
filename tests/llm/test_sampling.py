"""Tokens that are drawn: repeated by the seed, by time travel, and by whoever asks again."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tdb_dap.errors import BadInput
from tdb_dap.tools.llm.sampling import Sampling, candidates, choose, parse
from tests.command_line import tdb_dap
from tests.dap_client import DapClient
from tests.llm.models import PROMPT, QWEN, SAMPLE


def tokens(*options: str) -> list[str]:
    done = tdb_dap("llm", SAMPLE, "--ids", "5,17,30", "--tokens", "5", *options)
    assert done.returncode == 0, done.stderr
    return [line.split()[2] for line in done.stdout.splitlines()]


def test_the_seed_says_which_tokens_come() -> None:
    greedy = tokens()
    assert tokens("--sample", "seed=1") == tokens("--sample", "seed=1") != tokens("--sample", "seed=2")
    assert tokens("--sample", "top_k=1,seed=9") == greedy
    assert tokens("--sample", "temperature=0.0001,seed=9") == greedy


def test_time_travel_draws_the_same_and_an_edit_another(client: DapClient) -> None:
    client.launch(SAMPLE, prompt=list(PROMPT), tokens=4, sample="seed=1", stop_on_entry=False, stopOnExit=True)
    client.expect_stopped("step")
    before = answered(client)
    for moment in (2, 1, 0):
        client.console(f"goto token {moment}")
        client.expect_stopped("goto")
        client.resume()
        client.expect_stopped("step")
        assert answered(client) == before
    client.console("goto token 1")
    client.expect_stopped("goto")
    logits = client.request("tdb/logits", most=1)["expression"]
    client.console("sb")
    client.expect_stopped("step")
    client.console(f"set {logits}[0, 7] = 1000")
    client.resume()
    client.expect_stopped("step")
    assert answered(client)[0] == 7 != before[0]
    client.disconnect()


def answered(client: DapClient) -> list[int]:
    return [token["id"] for token in client.request("tdb/answer")["tokens"]]


@given(st.lists(st.floats(-30, 30, width=32), min_size=60, max_size=60), st.integers(0, 99), st.integers(0, 99))
def test_only_candidates_are_drawn_and_their_shares_are_one(logits: list[float], seed: int, token: int) -> None:
    wanted = Sampling(temperature=0.8, top_k=12, top_p=0.9, penalty=1.2, seed=seed)
    numbers, ids = np.array(logits, np.float32), np.array([3, 3, 0])
    shares, likely = candidates(numbers, ids, wanted)
    assert abs(float(shares.sum()) - 1) < 1e-5
    assert len(likely) == len(set(likely.tolist())) == 12
    assert choose(numbers, ids, wanted, token) in likely.tolist()


def test_a_penalty_makes_what_was_there_less_likely() -> None:
    numbers = np.array([2.0, 1.9, -1.0, -1.1], np.float32)
    _, likely = candidates(numbers, np.array([0, 2]), Sampling(penalty=2))
    assert likely.tolist() == [1, 0, 3, 2]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("top_k=0", "top_k is 0; give a whole number from 1 to 50"),
        ("top_k=51", "top_k is 51; give a whole number from 1 to 50"),
        ("temperature=0", "temperature is 0; give a number above 0"),
        ("temperature=nan", "temperature is nan; give a number above 0"),
        ("top_p=1.5", "top_p is 1.5; give a number above 0, at most 1"),
        ("penalty=-1", "penalty is -1; give a number above 0"),
        ("seed=-1", "seed is -1; give a whole number of at least 0"),
        ("seed=1.5", "seed is '1.5'; give a number"),
        ("heat=2", "'heat=2' is none of temperature, top_k, top_p, penalty, seed"),
        ("temperature", "temperature is ''; give a number"),
    ],
)
def test_what_cannot_be_drawn_with(text: str, says: str) -> None:
    with pytest.raises(BadInput) as refused:
        parse(text)
    assert says in str(refused.value)


def test_logits_that_are_nan_have_no_likely_token() -> None:
    with pytest.raises(BadInput, match="1 of 2 logits are NaN: none is likely"):
        choose(np.array([1, np.nan], np.float32), np.array([0]), Sampling(), 0)


def test_a_model_without_the_net_cannot_draw(client: DapClient) -> None:
    text = client.failed_launch(program=str(QWEN), prompt=[5], sample="seed=1")
    assert "has no net sample_head; convert it with --do_sample" in text
    done = tdb_dap("llm", SAMPLE, "--ids", "5,17,30", "--tokens", "14", "--sample", "seed=1")
    assert "sample_head knows 16 tokens; 3 of the prompt and 14 are more" in done.stderr
