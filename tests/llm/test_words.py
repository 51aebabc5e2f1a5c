"""Prompts as texts: a tokenizer beside the model, its chat template, and what is wrong with them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import tokenizers
from tokenizers import models, pre_tokenizers

from tdb_dap.errors import BadInput
from tdb_dap.tools.llm.words import find_tokenizer, prompt_ids
from tests.command_line import tdb_dap
from tests.dap_client import DapClient
from tests.llm.models import QWEN

WORDS = {"the": 5, "cat": 17, "sat": 30, "<user>": 2, "<model>": 3, **{f"w{n}": n for n in range(31, 96)}}
TEMPLATE = "{% for one in messages %}<user> {{ one.content }}{% endfor %}{{ ' <model>' if add_generation_prompt }}"


def write_tokenizer(folder: Path, template: str | None = TEMPLATE) -> Path:
    """A tokenizer of whole words in a folder, in the files that Transformers leaves."""
    made = tokenizers.Tokenizer(models.WordLevel(WORDS, unk_token="the"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    folder.mkdir(parents=True, exist_ok=True)
    made.save(str(folder / "tokenizer.json"))
    if template is not None:
        settings = {"chat_template": template, "eos_token": {"content": "w95"}, "bos_token": "w94"}
        (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model with a tokenizer in its folder ``config``, as the converter leaves it."""
    folder = tmp_path / "model"
    shutil.copytree(QWEN, folder, ignore=shutil.ignore_patterns("float"))
    write_tokenizer(folder / "config")
    return folder


def test_a_prompt_and_its_answer_as_text(model: Path) -> None:
    done = tdb_dap("llm", model, "--prompt", "the cat sat", "--tokens", "2")
    assert "prompt of 3 tokens" in done.stderr
    assert [line.split("  ")[0] for line in done.stdout.splitlines()] == ["token 0: 81 'w81'", "token 1: 53 'w53'"]
    as_ids = tdb_dap("llm", model, "--ids", "5,17,30", "--tokens", "2", "--json")
    assert [token["text"] for token in json.loads(as_ids.stdout)["tokens"]] == ["w81", "w53"]


def test_the_models_own_template_is_put_around_a_prompt(model: Path) -> None:
    assert prompt_ids("cat sat", model, chat=True) == [2, 17, 30, 3]
    template = (model / "config" / "tokenizer_config.json").read_text()
    (model / "config" / "tokenizer_config.json").write_text(json.dumps({**json.loads(template), "chat_template": None}))
    (model / "config" / "chat_template.jinja").write_text("{{ bos_token }} {{ messages[0].content }} {{ eos_token }}")
    assert prompt_ids("cat", model, chat=True) == [94, 17, 95]
    done = tdb_dap("llm", model, "--prompt", "cat", "--chat", "--tokens", "1")
    assert "prompt of 3 tokens" in done.stderr


@pytest.mark.parametrize(
    ("template", "says"),
    [
        (None, "no chat template is in it or in config"),
        ("{{ messages[0].content", "its chat template cannot be used"),
        ("{{ raise_exception('no') }}", "its chat template cannot be used"),
        ("{{ messages.append(1) }}", "its chat template cannot be used"),
        ("{{ ''.__class__.__mro__[1].__subclasses__() }}", "its chat template cannot be used"),
    ],
)
def test_a_template_that_cannot_be_used(tmp_path: Path, template: str | None, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        prompt_ids("cat", write_tokenizer(tmp_path, template), chat=True)


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("{{ 'x' * 3000000000 }}", "asks for more than 1 GiB of memory"),
        ("{{ 'x' * 3000000 }}", "makes 3,000,000 characters; 1,048,576 are read"),
        ("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", "takes more than 2 seconds"),
        ("{# nothing #}", "makes an empty text"),
    ],
)
def test_a_template_that_asks_for_too_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, template: str, says: str
) -> None:
    monkeypatch.setattr("tdb_dap.tools.llm.words._PATIENCE", 2.0 if "takes" in says else 60.0)
    with pytest.raises(BadInput, match=says):
        prompt_ids("cat", write_tokenizer(tmp_path, template), chat=True)


def test_a_chat_needs_a_text(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="a chat begins with a text"):
        prompt_ids([5], write_tokenizer(tmp_path), chat=True)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"model": {"type": "BPE"}}'])
def test_a_tokenizer_that_cannot_be_used(tmp_path: Path, text: str) -> None:
    (tmp_path / "tokenizer.json").write_text(text)
    with pytest.raises(BadInput, match=r"tokenizer\.json: cannot be used"):
        find_tokenizer([tmp_path])


def test_texts_in_a_session(client: DapClient, model: Path) -> None:
    client.launch(model, prompt="the cat sat", tokens=2, stop_on_entry=False, stopOnExit=True)
    client.expect_stopped("step")
    body = client.request("tdb/answer")
    assert (body["promptText"], [token["text"] for token in body["tokens"]]) == ("the cat sat", ["w81", "w53"])
    best = client.request("tdb/logits", most=2)
    assert best["token"] == 1
    assert best["candidates"][0]["text"] == "w53"
    assert best["candidates"][0]["logit"] >= best["candidates"][1]["logit"]
    client.disconnect()
