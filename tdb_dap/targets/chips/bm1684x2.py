"""BM1684X2: up to four cores of 16 lanes, tagged 45-bit addresses."""

from msgspec.structs import replace

from tdb_dap.engine.hardware.geometry import Geometry, Space, window
from tdb_dap.targets.chips.bm1690 import BM1690_RULES
from tdb_dap.targets.chips.chip import Chip
from tdb_dap.targets.chips.static_tables import BM1684X2_TABLES
from tdb_dap.targets.chips.vendor_library import VendorLibrary
from tdb_dap.targets.rules import Extremum
from tdb_dap.targets.timing import Timing, Transfer

_L2 = 0x26D20000

BM1684X2 = Chip(
    name="BM1684X2",
    table="bm1684x2",
    geometry=Geometry(
        lanes=16,
        lane_bytes=256 << 10,
        bank_bytes=16 << 10,
        eu_bytes=32,
        cube_channels=32,
        static_bytes=64 << 10,
        l2_bytes=1 << 20,
        windows=(
            window(Space.LOCAL, 31 << 40, 31 << 40 | 1 << 22),
            window(Space.STATIC, 31 << 40 | 1 << 22, 31 << 40 | 1 << 23),
            window(Space.L2, _L2, _L2 + (1 << 20)),
            window(Space.GLOBAL, 1 << 40, 30 << 40, base=0),
        ),
        tag_shift=40,
        tag_mask=31,
        hexadecimal=True,
        static_by_offset=True,
        message_bits=9,
        message_count_bit=16,
    ),
    rules=replace(
        BM1690_RULES,
        strided_by_sizes=True,
        signs_bias=True,
        scales_int4=False,
        adds_halves=True,
        least_coefficients=3,
        channel_group=16,
        flushes_halves=True,
        halves_by_sign=True,
        convolution_zero=False,
        matrix_zero=False,
        matrix_scale=True,
        symmetric_floats=False,
        symmetric_sums=True,
        lacks=("arith@23", "arith@28"),
        symmetric_products=("f16",),
        symmetric_halves=("f16",),
        finite_casts=("f16",),
        limits_window_sums=False,
        extremum=Extremum.TWO_CHAINS,
        symmetric_casts=False,
        unsigned_words=True,
        rotation_period=0,
        loses_shifted=True,
        fills_beyond=True,
        keeps_least_word=True,
    ),
    static_tables=BM1684X2_TABLES,
    vendor_library=VendorLibrary(
        "libcmodel_bm1684x2.so",
        ddr_start=1 << 36,
        local_tag=31,
        local_start=0x24000000,
        local_step=1 << 23,
        cores=4,
    ),
    known_problems=("dma mnemonic reserved stands for 3 operations",),
    timing=Timing(
        clock=1500,
        places=8,
        products={4: 1, 2: 16, 1: 32, 0.5: 64},
        load=Transfer(179, 21.9, 256, 256),
        store=Transfer(179, 21.9, 256, 256),
        copy=Transfer(179, 21.9, 256, 256),
        source="fitted to the cycle counts that the compiler leaves in its models",
    ),
)

CHIPS = (BM1684X2,)
