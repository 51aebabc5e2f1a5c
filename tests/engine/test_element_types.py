"""Element types of the compiler's text, in every form the quant dialect can write."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tdb_dap.engine.hardware.geometry import Geometry
from tdb_dap.engine.source.element_types import ElementType, element_type
from tdb_dap.engine.source.mapped_tensor import MappedTensor
from tdb_dap.errors import BadInput
from tdb_dap.targets.chips.bm1684x import BM1684X


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f32", ElementType("f32")),
        ("tensor<1x3x4xf16, 4295024640 : i64>", ElementType("f16")),
        ("tensor<f32>", ElementType("f32")),
        ("tensor<?x3xsi32>", ElementType("si32")),
        ("!quant.uniform<i8:f32, 5.000000e-01>", ElementType("i8", "f32", 0.5, 0, True)),
        ("!quant.uniform<u8:bf16, 0.25:128>", ElementType("u8", "bf16", 0.25, 128, True)),
        ("!quant.uniform<u8<0:255>:f16, 0.25:-3>", ElementType("u8", "f16", 0.25, -3, True, (0, 255))),
        ("!quant.uniform<i4:f32, 1e-3>", ElementType("i4", "f32", 1e-3, 0, True)),
        ("!quant.any<i8<-8:7>:f32>", ElementType("i8", "f32", limits=(-8, 7))),
        ("!quant.calibrated<f32<-1.5:2.0>>", ElementType("f32", "f32", calibrated=(-1.5, 2.0))),
        (
            "tensor<2x!quant.calibrated<f8E4M3FN<-1.0:2.0>>>",
            ElementType("f8E4M3FN", "f8E4M3FN", calibrated=(-1.0, 2.0)),
        ),
    ],
)
def test_a_type_is_what_the_text_says(text: str, expected: ElementType) -> None:
    assert element_type(text) == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("!quant.uniform<i8:f32:1, {0.1,0.2:3}>", "several scales"),
        ("!quant.uniform<i8:f32:{0:1, 1:2}, {{1.0, 2.0}, {3.0, 4.0}}>", "several scales"),
        ("!quant.uniform<i8:f32:1, 0.5>", "a scale of each channel"),
        ("!quant.uniform<i8:f32, much>", "not known"),
        ("!quant.quantile<i8:f32, 0.5>", "not known"),
        ("", "not known"),
    ],
)
def test_a_form_that_is_not_known_is_refused(text: str, problem: str) -> None:
    with pytest.raises(BadInput, match=problem):
        element_type(text)


@given(st.text(alphabet="!quant.uniform<>{}[]()i8f32:,-+.eE0 x?*", max_size=60))
def test_any_text_is_a_type_or_refused(text: str) -> None:
    with suppress(BadInput):
        assert element_type(text).storage


@given(
    st.sampled_from(["i8", "u8", "i4", "u4", "i16", "i8<-127:127>"]),
    st.sampled_from(["f32", "f16", "bf16"]),
    st.floats(1e-6, 1e6),
    st.integers(-128, 255),
)
def test_scale_and_zero_point_survive(storage: str, expressed: str, scale: float, zero_point: int) -> None:
    kind = element_type(f"tensor<1x2x!quant.uniform<{storage}:{expressed}, {scale!r}:{zero_point}>, 7 : i64>")
    assert (kind.scale, kind.zero_point, kind.expressed) == (scale, zero_point, expressed)


def mapped(type_text: str, geometry: Geometry = BM1684X.geometry) -> MappedTensor:
    record = {
        "name": "x",
        "layout": "continuous",
        "memory_type": "<1x2x2x2xui8>",
        "type": type_text,
        "reshape": "1x2x1x2x2",
        "slice": "",
        "address": 0x100000000,
        "shape": [1, 2, 2, 2],
    }
    return MappedTensor(record, geometry, 0)


def test_of_a_type_that_is_not_known_nobody_says_what_its_numbers_stand_for() -> None:
    assert mapped("tensor<1x!quant.uniform<u8:bf16, 0.5:3>>").element_type is not None
    assert mapped("tensor<1x!quant.uniform<u8:f32:1, {0.5,0.25}>>").element_type is None
