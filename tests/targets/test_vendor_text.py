"""Commands that no recorded model holds, as the vendor's disassembler prints them. The lines are its own output."""

from __future__ import annotations

import pytest

from tests.targets.commands import chip_named, command

TABLES = {"opd0_addr": 0, "opd1_addr": 8192, "res0_addr": 16384, "opd0_prec": 4, "opd0_sign": 1, "opd2_sign": 1}
SHAPE = {"res0_n": 1, "res0_c": 40, "res0_h": 3, "res0_w": 5}
SOURCE = {"src_nsize": 1, "src_csize": 3, "src_hsize": 4, "src_wsize": 5, "src_data_format": 1}
LOCAL = {"src_start_addr_l32": 4096, "dst_start_addr_l32": 8192}
INTEGERS = "memref<1x40x3x5xsi32, strides: [32, 16, 5, 1]>"
COLUMN = "memref<1x40x1x1xsi32, strides: [2, 1, 1, 1]>"
ROWS = {"res0_n": 1, "res0_c": 3, "res0_h": 4, "res0_w": 5, "opd0_h": 7}


@pytest.mark.parametrize(
    ("chip", "mnemonic", "engine", "fields", "line"),
    [
        (
            "BM1688",
            "quant.rq1",
            "tiu",
            {**SHAPE, **TABLES},
            f'%R2, %B1C0 = "quant.rq1"(%R0, %R1, %R1.4, %R1.8, %D0C0) {{round_mode = 0}}: ({INTEGERS}, {COLUMN}, '
            f"{COLUMN}, {COLUMN}, none) -> (memref<1x40x3x5xsi8, strides: [32, 16, 5, 1]>, none)",
        ),
        *(
            (
                "BM1688",
                f"dma.reverse.{axis}",
                "dma",
                {**SOURCE, **LOCAL},
                f'%R1, %D1C0 = "dma.reverse.{axis}"(%R0.4096, %B0C0) {{base = 0}}: (memref<1x3x4x5xf16, '
                "strides: [24, 24, 5, 1]>, none) -> (memref<1x4x5x3xf16, strides: [16, 16, 3, 1]>, none)",
            )
            for axis in "whcn"
        ),
        (
            "BM1688",
            "dma.reverse.h",
            "dma",
            {**SOURCE, "src_nsize": 2, **LOCAL, "src_start_addr_h8": 144, "dst_nstride": 7},
            '%R1, %D1C0 = "dma.reverse.h"(%G1.4096, %B0C0) {base = 7}: (memref<2x3x4x5xf16, strides: [60, 20, 5, 1]>, '
            "none) -> (memref<2x4x5x3xf16, strides: [16, 16, 3, 1]>, none)",
        ),
        ("BM1684X", "sgl.pe_s_gather_line", "tiu", ROWS, "short scatter_gather_line"),
    ],
)
def test_a_line_is_the_vendors(chip: str, mnemonic: str, engine: str, fields: dict[str, int], line: str) -> None:
    made = chip_named(chip)
    assert made.vendor_text(command(made, mnemonic, **fields), engine, (1, 0)) == line
