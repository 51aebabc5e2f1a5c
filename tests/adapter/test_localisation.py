"""Our texts in the client's language, and that none is missing or left over."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from scripts.localisation import HOLE, is_translated, missing, seen, unused
from tdb_dap.adapter.protocol.capabilities_generated import CAPABILITIES
from tdb_dap.system.localisation import CATALOGUE, catalogue, localised, localised_capabilities
from tests.conftest import Toy
from tests.dap_client import EVERYTHING, DapClient

CHINESE = re.compile(r"[\u4e00-\u9fff，：（]")


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


def test_no_text_is_missing_and_none_is_left_over() -> None:
    assert len(list(seen())) > 600
    assert [(text.place, text.template) for text in missing()] == []
    assert unused() == []
    assert set(shown(CAPABILITIES)) <= catalogue().keys()


def test_no_text_is_translated_twice() -> None:
    pairs: list[str] = []

    def entries(read: list[tuple[str, Any]]) -> dict[str, Any]:
        pairs.extend(english for english, chinese in read if isinstance(chinese, str))
        return dict(read)

    columns = json.loads(CATALOGUE.read_text("utf-8"), object_pairs_hook=entries)["columns"]
    assert len(pairs) == len(catalogue()) + len(columns)


def test_a_new_text_in_english_is_missing() -> None:
    assert not is_translated("the moon of {} is in another house")
    assert is_translated("; never read")


@pytest.mark.parametrize(
    ("text", "chinese"),
    [
        (
            "Nothing to compare with; reload reference FILE gives it.",
            "没有可比较的参考数据；用 reload reference FILE 指定。",
        ),
        (
            "launch configuration: sanitizers: there is no thread 3",
            "启动配置：sanitizers：没有线程 3",
        ),
        ("B3 conv.normal: its id is 3 and should be 4", "B3 conv.normal：其 id 为 3，应为 4"),
        ("there is no weight named a\nof the user's", "没有名为 a 的权重\nof the user's"),
        ("there is no input named x", "没有名为 x 的 input"),
        (
            "conv8 (tpu.Conv2D at line 24): fail: cosine 0.999, max difference 0.8, 32 of 2,048 elements differ",
            "conv8（tpu.Conv2D，第 24 行）：不一致：余弦相似度 0.999，最大差异 0.8，2,048 个元素中有 32 个不一致",
        ),
        ("channel 13 euclidean -0.5 (limit 0.8)", "通道 13 的欧氏相似度 -0.5（限值 0.8）"),
        ("the user's own: text, with commas", "the user's own: text, with commas"),
        (
            "reads      bias: f32[1, 32] at R0 (local memory, bank 0), written by D3 dma.tensor",
            "读取       bias: f32[1, 32] at R0 (local memory, bank 0)，由 D3 dma.tensor 写入",
        ),
        (
            "Wrong weight: a.up_proj in block_7: the sign is wrong; first at row 0, column 2: 0.5 instead of -0.5; "
            "3 of 4 numbers.",
            "错误的权重：block_7 中的 a.up_proj：符号错误；首个在第 0 行第 2 列：0.5，应为 -0.5；4 个数中有 3 个。",
        ),
        ("zero points of 2 groups off by +1", "zero point（2 个组）偏差 +1"),
        ("command 4, block_0/final.mlir:13: D2: %G8 f32", "命令 4，block_0/final.mlir:13：D2: %G8 f32"),
        ("line  op          verdict  cosine", "行    op          判定     余弦"),
        ("line  operation   done", "line  operation   done"),
        ("  2  off  tpu.Load  hits 3", "  2  禁用  tpu.Load  命中 3"),
    ],
)
def test_a_finished_text_is_recognised(text: str, chinese: str) -> None:
    assert localised(text, "zh-cn") == chinese


@pytest.mark.parametrize(("text", "chinese"), catalogue().items())
def test_a_text_has_the_same_holes_and_the_punctuation_of_chinese(text: str, chinese: str) -> None:
    holes = HOLE.findall(text)
    numbers = [hole for hole in HOLE.findall(chinese) if hole[1:-1].isdigit()]
    assert all(int(hole[1:-1]) < len(holes) for hole in numbers)
    if not numbers:
        assert sorted(holes) == sorted(HOLE.findall(chinese))
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
    assert client.refusal("evaluate", expression="nonsense 1", context="repl").startswith("无法理解")
    assert "，模型 compilation.bmodel" in client.printed()
    client.disconnect()
