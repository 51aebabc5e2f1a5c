"""The adapter's texts in the client's language, and that none is missing or left over."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tdb_dap
from tdb_dap.adapter.protocol.capabilities_generated import CAPABILITIES
from tdb_dap.adapter.session.localisation import localised, localised_capabilities
from tdb_dap.adapter.session.localisation_zh import TEXTS
from tests.conftest import Toy
from tests.dap_client import EVERYTHING, DapClient

ADAPTER = Path(tdb_dap.__file__).parent / "adapter"
CHINESE = re.compile(r"[\u4e00-\u9fff]")


def shown(item: Any) -> Iterator[str]:
    """The texts of capabilities that clients show."""
    if isinstance(item, dict):
        for name, value in item.items():
            if name in ("label", "description", "conditionDescription"):
                yield value
            else:
                yield from shown(value)
    elif isinstance(item, list):
        for value in item:
            yield from shown(value)


def constants() -> set[str]:
    """Every text that the sources of the adapter hold, but for the catalogue."""
    files = [path for path in ADAPTER.rglob("*.py") if path.name != "localisation_zh.py"]
    nodes = (node for path in files for node in ast.walk(ast.parse(path.read_text("utf-8"))))
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def translated() -> set[str]:
    """Texts that are arguments of ``localised`` or ``passing``."""
    texts = set()
    for path in ADAPTER.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in ("localised", "say", "passing"):
                texts |= {
                    one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)
                }
    return texts


def test_no_text_is_missing_and_none_is_left_over() -> None:
    wanted = translated() | set(shown(CAPABILITIES))
    assert len(wanted) > 25
    assert wanted <= set(TEXTS)
    assert set(TEXTS) <= constants() | set(shown(CAPABILITIES))


@pytest.mark.parametrize(("text", "chinese"), TEXTS.items())
def test_a_text_has_the_same_holes_and_the_punctuation_of_chinese(text: str, chinese: str) -> None:
    holes = re.compile(r"\{[^}]*\}")
    assert sorted(holes.findall(text)) == sorted(holes.findall(chinese))
    assert CHINESE.search(chinese)
    assert not re.search(r"[\u4e00-\u9fff] ?[,;:?!()](?!\d)|[,;:?!()] ?[\u4e00-\u9fff]", chinese)
    assert not re.search(r"[\u4e00-\u9fff]\.", chinese)


def test_other_languages_are_english() -> None:
    assert [localised("Weights", locale) for locale in ("", "en", "de", "zh-tw")] == ["Weights"] * 4
    assert [localised("Weights", locale) for locale in ("zh-cn", "zh_CN", "zh")] == ["权重"] * 3
    assert localised("no such text", "zh-cn") == "no such text"
    assert localised_capabilities(CAPABILITIES, "en") == CAPABILITIES


def test_a_session_in_chinese(new_client: Callable[..., DapClient], toy: Toy) -> None:
    client = new_client({**EVERYTHING, "locale": "zh-cn"})
    capabilities = client.raw.initialize(**client.traits)
    assert [known["label"] for known in capabilities["exceptionBreakpointFilters"]] == [
        "与参考数据不一致",
        "模拟器结果不一致",
        "数值上看不出的错误",
    ]
    client.launch(toy.directory, stop_on_entry=True)
    stop = client.expect_stopped("entry")
    assert stop.description == "位于起点"
    (thread,) = client.request("threads")["threads"]
    assert thread["name"] == "核 0"
    frame = client.request("stackTrace", threadId=thread["id"])["stackFrames"][0]
    scopes = client.request("scopes", frameId=frame["id"])["scopes"]
    assert [scope["name"] for scope in scopes][:2] == ["操作数", "结果"]
    assert scopes[0]["presentationHint"] == "locals"
    client.disconnect()
