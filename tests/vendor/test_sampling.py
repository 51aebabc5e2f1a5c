"""Drawing tokens: what the host prepares, and what the net ``sample_head`` gives on the vendor's runtime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tdb_dap.engine.program.schedule import Border, NetStep, Schedule, filled
from tdb_dap.tools.llm.language_model import SAMPLE_HEAD, read_model
from tdb_dap.tools.llm.recorded_answer import record_answer
from tdb_dap.tools.llm.sampling import MOST, Sampling, candidates
from tests.llm.models import SAMPLE

pytestmark = pytest.mark.vendor


@pytest.mark.parametrize(
    "wanted",
    [
        Sampling(),
        Sampling(temperature=0.7, top_p=0.8),
        Sampling(temperature=1.5, penalty=1.3),
        Sampling(top_p=0.05, penalty=2),
        Sampling(temperature=0.3, top_p=0.5, penalty=0.5),
    ],
    ids=str,
)
def test_the_same_tokens_are_as_likely(wanted: Sampling, tmp_path: Path) -> None:
    model = read_model(SAMPLE)
    random = np.random.default_rng(3)
    logits = random.normal(size=(1, 96)).astype(np.float32) * 3
    ids = np.zeros((1, 16), np.int32)
    ids[0, :5] = random.integers(0, 96, 5)
    given = [logits, ids, wanted.penalty, wanted.temperature, wanted.top_k, wanted.top_p]
    steps = [
        filled(Border(SAMPLE_HEAD, model.input(SAMPLE_HEAD, index).name), np.asarray(numbers).reshape(shape))
        for index, numbers in enumerate(given)
        for shape in [model.input(SAMPLE_HEAD, index).shape]
    ]
    (made,) = record_answer(model, Schedule((*steps, NetStep(SAMPLE_HEAD))), tmp_path / "run.tdbrec")
    shares = np.frombuffer(made[: 4 * MOST], np.float32)
    tokens = np.frombuffer(made[4 * MOST :], np.int32)
    ours, own = candidates(logits, ids.reshape(-1), wanted)
    assert own.tolist() == tokens.tolist()
    # A sum that comes within rounding of top_p, as that of all does of 1, may be on either side of it.
    both = (ours > 0) & (shares > 0)
    whole = np.cumsum(ours.astype(np.float64))
    assert np.abs(whole[both != ((ours > 0) | (shares > 0))] - whole[-1]).max(initial=0) < 1e-3
    assert np.abs(ours[both] / ours[both].sum() - shares[both] / shares[both].sum()).max() < 1e-5
