"""Tensors put together from pieces: any order, pieces that overlap, pieces that are stored in different ways."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tdb_dap.engine.compare.assembly import Assembly
from tdb_dap.engine.hardware.dtypes import BY_NAME, Array
from tdb_dap.engine.reference.reference import numbers_from
from tdb_dap.engine.source.mapped_tensor import MappedTensor
from tdb_dap.targets.chips.bm1684x import BM1684X

SHAPE = (1, 6, 10, 8)
Slices = tuple[tuple[int, int], ...]


def piece(slices: Slices, dtype: str, scale: float = 1.0, layout: str = "continuous") -> MappedTensor:
    extents = "x".join(str(stop - start) for start, stop in slices)
    kind = f"tensor<1x!quant.uniform<i8:f32, {scale}:3>>" if scale != 1 else f"tensor<1x{dtype}>"
    record: dict[str, Any] = {
        "name": "x",
        "address": 0x100000000,
        "layout": layout,
        "memory_type": f"<{extents}x{dtype}>",
        "type": kind,
        "reshape": f"<{'x'.join(map(str, SHAPE))}xf32>",
        "slice": "[" + ", ".join(f"{start}:{stop}" for start, stop in slices) + "]",
    }
    return MappedTensor(record, BM1684X.geometry, 0)


def put_together(reference: Array, pieces: Sequence[tuple[MappedTensor, Array]]) -> tuple[Array, float]:
    """The same in the plainest way: numbers and truth values of the whole tensor."""
    whole, seen = np.zeros(SHAPE, np.float32), np.zeros(SHAPE, np.bool_)
    for value, words in pieces:
        target, before, wanted = whole[value.slices], seen[value.slices], reference[value.slices]
        numbers = numbers_from(value, words).reshape(target.shape)
        with np.errstate(all="ignore"):
            further = ~(np.abs(numbers - wanted) <= np.abs(target - wanted)) & (numbers != wanted)
        target[...] = np.where(before & ~further, target, numbers)
        before[...] = True
    return np.where(seen, whole, reference), float(seen.mean())


def several(random: np.random.Generator, dtypes: Sequence[str]) -> list[tuple[MappedTensor, Array]]:
    found: list[tuple[MappedTensor, Array]] = []
    for _ in range(int(random.integers(1, 9))):
        ends = [sorted(random.choice(extent + 1, 2, replace=False).tolist()) for extent in SHAPE]
        dtype = str(random.choice(dtypes))
        value = piece(tuple((a, b) for a, b in ends), dtype, 0.25 if dtype == "si8" else 1.0)
        assert value.view is not None
        numbers = random.integers(-3, 4, value.view.shape).astype(np.float32)
        if dtype != "si8":
            numbers[random.random(numbers.shape) < 0.1] = random.choice([np.nan, np.inf, -np.inf])
        found.append((value, BY_NAME[dtype].encode(numbers)))
    return found


@pytest.mark.parametrize("dtypes", [("f32",), ("f16",), ("bf16",), ("si8",), ("f16", "f32", "si8")], ids="-".join)
def test_pieces_in_any_order_and_over_each_other_make_the_tensor(dtypes: tuple[str, ...]) -> None:
    random = np.random.default_rng(len(dtypes))
    for _ in range(60):
        reference = random.integers(-3, 4, SHAPE).astype(np.float32)
        reference[random.random(SHAPE) < 0.05] = np.nan
        pieces = several(random, dtypes)
        assembly = Assembly(SHAPE, lambda reference=reference: reference)  # type: ignore[misc]
        for value, words in pieces:
            assembly.add(value, words.copy())
        expected, covered = put_together(reference, pieces)
        np.testing.assert_array_equal(assembly.whole.numbers(reference), expected)
        assert (assembly.covered, assembly.pieces) == (covered, len(pieces))
        assert assembly.is_complete == (covered == 1)


@pytest.mark.parametrize("dtypes", [("f16",), ("f16", "f32", "si8")], ids="-".join)
def test_an_operand_is_the_result_that_it_was_until_one_of_them_changes(dtypes: tuple[str, ...]) -> None:
    """Whatever is put into both, in any order, they hold what they would hold each by itself."""
    random, borrowed = np.random.default_rng(5), 0
    for _ in range(150):
        reference = random.integers(-3, 4, SHAPE).astype(np.float32)
        pieces = {"result": several(random, dtypes), "operand": several(random, dtypes)}
        seen: dict[str, list[tuple[MappedTensor, Array]]] = {"result": [], "operand": []}
        result = Assembly(SHAPE, lambda reference=reference: reference)  # type: ignore[misc]
        operand = Assembly(SHAPE, lambda reference=reference: reference, result)  # type: ignore[misc]
        for value, words in pieces["result"]:
            result.add(value, words.copy())
            seen["result"].append((value, words))
            if random.integers(3):  # is read as it was made
                part = result.whole.words[value.slices] if result.whole.form is not None else words
                operand.add(value, part.reshape(words.shape).copy())
                seen["operand"].append((value, part.copy()))
            if random.integers(4) == 0 and pieces["operand"]:
                value, words = pieces["operand"].pop()
                words = words * random.integers(2, dtype=words.dtype)  # perhaps zeros, as uninitialised memory
                operand.add(value, words.copy())
                seen["operand"].append((value, words))
            borrowed += bool(operand.pieces) and np.shares_memory(operand.whole.words, result.whole.words)
        for assembly, name in ((result, "result"), (operand, "operand")):
            if seen[name]:
                expected, covered = put_together(reference, seen[name])
                np.testing.assert_array_equal(assembly.whole.numbers(reference), expected, name)
                assert (assembly.covered, assembly.pieces) == (covered, len(seen[name]))
    assert borrowed > 20


def test_equal_numbers_have_one_identity_however_they_were_cut() -> None:
    numbers = np.arange(np.prod(SHAPE)).astype(np.float32).reshape(SHAPE)
    reference = np.zeros(SHAPE, np.float32)

    def made(cuts: Sequence[int], numbers: Array = numbers, dtype: str = "f32") -> Assembly:
        assembly = Assembly(SHAPE, lambda: reference)
        for start, stop in pairwise(cuts):
            value = piece(((0, 1), (start, stop), (0, 10), (0, 8)), dtype)
            assembly.add(value, BY_NAME[dtype].encode(numbers[:, start:stop]))
        return assembly

    whole = made([0, 6]).whole.identity
    assert whole is not None
    assert made([0, 2, 5, 6]).whole.identity == whole
    assert made([0, 6], numbers + 1).whole.identity != whole
    assert made([0, 6], dtype="bf16").whole.identity != whole
    assert made([0, 5]).whole.identity is None, "uninitialised bytes are not known"
