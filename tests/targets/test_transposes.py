"""Transposition of lanes and columns, with more than one row: where words are, as on the vendor's simulator."""

from __future__ import annotations

import numpy as np
import pytest

from tests.targets.commands import chip_named, command, empty

N, C, H, W = 2, 5, 4, 3
SOURCE, RESULT = 0, 16384


@pytest.mark.parametrize(("chip", "row"), [("BM1684X", 16), ("BM1688", 4), ("BM1690", 16)])
@pytest.mark.parametrize("aligns", [True, False])
def test_rows_of_a_transposition(chip: str, row: int, aligns: bool) -> None:
    target = chip_named(chip)
    memory = empty(target)
    local = memory.local(0).view(np.uint32)
    lanes, words = local.shape
    local[:] = np.arange(lanes, dtype=np.uint32)[:, None] << 20 | np.arange(words, dtype=np.uint32)
    before = local.copy()
    name = "tsbc.cw_ts" if aligns else "tsbc.wc_ts"
    sizes = {"res0_n": N, "res0_c": C, "res0_h": H, "res0_w": W, "opd0_c": W, "opd0_w": C}
    target.execute(command(target, name, res0_addr=RESULT, opd0_addr=SOURCE, res0_prec=2, **sizes), memory)
    step = row if aligns else W
    unit = target.geometry.eu_bytes // 4
    batch_in, batch_out = -(-H * C // unit) * unit, -(-H * step // unit) * unit
    wanted = before.copy()
    for n, c, h, w in np.ndindex(N, C, H, W):
        # Channel and column change places; the rows of the source are side by side.
        wanted[c, RESULT // 4 + n * batch_out + h * step + w] = before[w, SOURCE // 4 + n * batch_in + h * C + c]
    assert np.array_equal(local, wanted)


def test_listing_and_vendors_listing_differ_in_the_rows() -> None:
    target = chip_named("BM1684X")
    sizes = {"res0_n": 1, "res0_c": C, "res0_h": H, "res0_w": W, "opd0_c": W, "opd0_w": C}
    described = command(target, "tsbc.cw_ts", res0_addr=RESULT, opd0_addr=SOURCE, res0_prec=2, **sizes)
    (source,), (result,) = described.operands, described.results
    assert "strides: [32, 32, 5, 1]" in source.memref
    assert "strides: [64, 64, 16, 1]" in result.memref
    theirs = target.vendor_text(described, "tiu", (1, 0))
    assert "memref<1x3x4x5xf32, strides: [64, 64, 16, 1]>" in theirs
    assert "memref<1x5x4x3xf32, strides: [16, 16, 3, 1]>" in theirs
