"""SG2380: up to four cores of 32 lanes, tagged 45-bit addresses."""

from msgspec.structs import replace

from tdb_dap.engine.hardware.geometry import Geometry, Space, window
from tdb_dap.targets.chips.bm1690 import BM1690_RULES
from tdb_dap.targets.chips.chip import Chip
from tdb_dap.targets.chips.static_tables import SG2380_TABLES
from tdb_dap.targets.chips.vendor_library import VendorLibrary
from tdb_dap.targets.timing import Timing, Transfer

SG2380 = Chip(
    name="SG2380",
    table="sg2380",
    geometry=Geometry(
        lanes=32,
        lane_bytes=128 << 10,
        bank_bytes=8 << 10,
        eu_bytes=16,
        cube_channels=32,
        static_bytes=64 << 10,
        l2_bytes=0,
        windows=(
            window(Space.LOCAL, 31 << 40, 31 << 40 | 1 << 22),
            window(Space.STATIC, 31 << 40 | 1 << 22, 31 << 40 | 1 << 23),
            window(Space.GLOBAL, 1 << 40, 31 << 40, base=0),
        ),
        tag_shift=40,
        tag_mask=31,
        static_by_offset=True,
        message_bits=9,
        cube_halves=32,
    ),
    rules=replace(
        BM1690_RULES,
        strided_by_sizes=True,
        convolves_int4=True,
        absent_bias=("conv", "mm"),
        symmetric_floats=False,
        symmetric_halves=("f16", "bf16"),
        symmetric_sums=True,
        rectifies_nan=True,
        image_nan_first=True,
        lacks=("arith@28",),
        finite_casts=("f16", "bf16"),
        unsigned_words=True,
        rotation_period=0,
        loses_shifted=True,
        keeps_least_word=True,
    ),
    static_tables=SG2380_TABLES,
    vendor_library=VendorLibrary(
        "libcmodel_sg2380.so",
        ddr_start=1 << 31,
        local_tag=31,
        local_start=0xFC00000000,
        local_step=1 << 23,
        cores=4,
    ),
    timing=Timing(
        clock=1000,
        places=4,
        products={4: 1, 2: 16, 1: 32, 0.5: 64},
        load=Transfer(0, 26.07, 80, 80),
        store=Transfer(0, 26.07, 80, 80),
        copy=Transfer(0, 13.03, 80, 80),
        source="fitted to the cycle counts that the compiler leaves in its models; the clock is assumed",
    ),
)

CHIPS = (SG2380,)
