"""Tools beyond one net: the whole run, two models, language models and their weights, time."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from tdb_dap.cli.main import main
from tests.agent.test_mcp import Ask, Refused, talk
from tests.llm.models import DYNAMIC, VISION, write_picture
from tests.llm_case import spoil
from tests.samples import DATA
from tests.zoo import zoos

TOY = DATA / "bm1684x" / "toy_bm1684x_f32"
LANGUAGE = DATA / "llm" / "qwen2_bm1684x_bf16"


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """A copy of the toy network below the root of the server."""
    return Path(shutil.copytree(TOY, tmp_path / "toy"))


@pytest.fixture
def language(tmp_path: Path) -> Path:
    """A copy of a small language model with the one before conversion."""
    return Path(shutil.copytree(LANGUAGE, tmp_path / "language"))


def test_the_whole_run_is_asked_without_moving(toy: Path, tmp_path: Path) -> None:
    async def story(ask: Ask) -> None:
        await ask("open", context=str(toy), inputs=f"{toy}/input.npz")
        table = await ask("trace", point="max(out[0]) at tpu.Conv2D")
        assert "2 hits at 2 places" in table
        assert "toy at command 0 of 58" in table
        assert "first: moment" in await ask("trace", when="max(out[0]) > 3")
        assert "of 9 tensors" in await ask("trace", where="max(x) > 3.5")
        assert "load_0" in await ask("trace", history="R0x0:f32[4]")
        with pytest.raises(Refused, match="give one of point, when, where and history"):
            await ask("trace")

    talk(tmp_path, story)


def test_two_models_differ_where_a_weight_does(toy: Path, tmp_path: Path) -> None:
    other = shutil.copytree(DATA / "bm1684x" / "toy_bm1684x_f16", tmp_path / "other")

    async def story(ask: Ask) -> None:
        assert (await ask("diff", a=str(toy), b=str(toy))).startswith("the models are the same")
        assert (await ask("diff", a=str(toy), b=str(other))).startswith("the models differ")
        with pytest.raises(Refused, match="not below"):
            await ask("diff", a=str(toy), b="/etc")

    talk(tmp_path, story)


def test_time_is_said_to_be_an_estimate(toy: Path, tmp_path: Path) -> None:
    async def story(ask: Ask) -> None:
        await ask("open", context=str(toy))
        assert "tpu.Conv2D" in await ask("profile")

    talk(tmp_path, story)


def test_a_language_model_is_judged_and_its_wrong_weight_named(language: Path, tmp_path: Path) -> None:
    spoiled = tmp_path / "spoiled"
    spoil(LANGUAGE, spoiled)

    async def story(ask: Ask) -> None:
        reference = str(language / "float")
        right = await ask("judge_model", directory=str(language), ids="5,17,30", tokens=2, reference=reference)
        assert right.startswith("nothing is wrong")
        assert "token 1: " in right
        wrong = await ask("judge_model", directory=str(spoiled), ids="5,17,30", tokens=2, reference=reference)
        assert wrong.startswith("something is wrong")
        assert (await ask("weights", directory=str(language), reference=reference)).startswith("no weight is wrong")
        assert (await ask("weights", directory=str(spoiled), reference=reference)).startswith("weights are wrong")
        times = await ask("profile", directory=str(language), ids="5,17,30", tokens=2)
        assert "block_cache" in times
        assert "weights" in times
        with pytest.raises(Refused, match="give directory and ids of a language model"):
            await ask("profile", directory=str(language))
        alone = await ask("judge_model", directory=str(language), ids="5,17,30", tokens=1)
        assert alone.startswith("completed; nothing was judged")
        with pytest.raises(Refused, match="whole numbers"):
            await ask("judge_model", directory=str(language), ids="5;rm")
        with pytest.raises(Refused, match="give prompt or ids, or a recording"):
            await ask("judge_model", directory=str(language))

    talk(tmp_path, story)


def test_a_model_that_is_shown_a_picture_is_judged(tmp_path: Path) -> None:
    shutil.copytree(VISION, tmp_path / "vision")
    write_picture(tmp_path / "picture.npy", 56, 84)

    async def story(ask: Ask) -> None:
        model, shown = str(tmp_path / "vision"), {"ids": "5,93,91,94", "tokens": 1}
        picture, reference = str(tmp_path / "picture.npy"), str(tmp_path / "vision" / "float")
        right = await ask("judge_model", directory=model, picture=picture, reference=reference, **shown)
        assert right.startswith("nothing is wrong")
        np.savez(tmp_path / "rows.npz", others=np.zeros(3))
        with pytest.raises(Refused, match="no array 'rows'"):
            await ask("judge_model", directory=model, picture=str(tmp_path / "rows.npz"), **shown)

    talk(tmp_path, story)


def test_the_run_of_a_host_program_is_judged(language: Path, tmp_path: Path) -> None:
    """Its positions are counted wrongly; the prompt is read from the recording."""
    dynamic = shutil.copytree(DYNAMIC, tmp_path / "dynamic")

    async def story(ask: Ask) -> None:
        given = {"directory": str(dynamic), "reference": str(language / "float")}
        right = await ask("judge_model", recording=str(dynamic / "right.tdbrec"), **given)
        assert right.startswith("nothing is wrong")
        wrong = await ask("judge_model", recording=str(dynamic / "early.tdbrec"), **given)
        assert "token 2, block_cache_0 (launch 9): it is given position_ids 3 instead of 4 at position 4" in wrong
        assert re.search("early.tdbrec'? -c 'goto launch 9'", wrong)
        with pytest.raises(Refused, match="not below"):
            await ask("judge_model", recording="/etc/passwd", **given)

    talk(tmp_path, story)


def test_the_results_of_many_models_are_read_and_nothing_is_written_beside_them(tmp_path: Path) -> None:
    models, store = zoos.zoo(tmp_path / "models", "toy", "pool"), tmp_path / "results" / "zoo.sqlite"
    store.parent.mkdir()
    words = ["zoo", "run", str(models), "--store", str(store), "--jobs", "1", "--quiet"]
    assert main(words) == 0
    before = store.read_bytes()

    async def passes(ask: Ask) -> None:
        assert (await ask("zoo", store=str(store))).startswith("nothing is newly wrong")
        assert (await ask("zoo", store=str(store), case="pool")).startswith("nothing is wrong")
        with pytest.raises(Refused, match="other: is no case of run 1 of models"):
            await ask("zoo", store=str(store), case="other")
        with pytest.raises(Refused, match="not below"):
            await ask("zoo", store="/etc/passwd")

    talk(tmp_path, passes)
    assert store.read_bytes() == before
    assert [path.name for path in store.parent.iterdir()] == ["zoo.sqlite"]
    name = zoos.spoil_reference(models / "toy")
    assert main(words) == 1

    async def fails(ask: Ask) -> None:
        answer = await ask("zoo", store=str(store))
        assert answer.startswith("something is newly wrong")
        assert "3 new things wrong compared with run 1" in answer
        answer = await ask("zoo", store=str(store), case="toy")
        assert answer.startswith("something is wrong")
        assert "toy (BM1684X, INT8): fail; pass in run 1" in answer
        assert name.removesuffix("_MaxPool") in answer

    talk(tmp_path, fails)
