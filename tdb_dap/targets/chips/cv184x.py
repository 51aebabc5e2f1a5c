"""CV184X and SGTPUV8: one core of 8 lanes, tagged 45-bit addresses, fused requantisation."""

from msgspec.structs import replace

from tdb_dap.engine.hardware.geometry import Geometry, Space, window
from tdb_dap.targets.chips.bm1690 import BM1690_RULES
from tdb_dap.targets.chips.chip import Chip
from tdb_dap.targets.chips.static_tables import CV184X_TABLES, SGTPUV8_TABLES
from tdb_dap.targets.chips.vendor_library import VendorLibrary
from tdb_dap.targets.timing import Monitor, MonitorRecord, Timing, Transfer

_EMULATOR = VendorLibrary("libcmodel_cv184x.so", ddr_start=0x80000000, local_tag=31, local_start=0x0C080000)

CV184X = Chip(
    name="CV184X",
    table="cv184x",
    geometry=Geometry(
        lanes=8,
        lane_bytes=64 << 10,
        bank_bytes=4 << 10,
        eu_bytes=16,
        cube_channels=16,
        static_bytes=2 << 10,
        l2_bytes=2 << 20,
        windows=(
            window(Space.LOCAL, 31 << 40, 31 << 40 | 1 << 22),
            window(Space.STATIC, 31 << 40 | 1 << 22, 31 << 40 | 1 << 23),
            window(Space.GLOBAL, 1 << 40, 31 << 40, base=0),
        ),
        tag_shift=40,
        tag_mask=31,
        static_by_offset=True,
        message_bits=9,
    ),
    rules=replace(
        BM1690_RULES,
        strided_by_sizes=True,
        masks_lanes=False,
        computes_f16=False,
        channel_group=8,
        convolution_zero=False,
        unsigned_words=True,
        keeps_least_word=True,
        compares_bf16=True,
        symmetric_halves=("f16", "bf16"),
        symmetric_sums=True,
        keeps_sum_nan=("conv", "mm2"),
        rotates=False,
        loses_shifted=True,
        lacks=("vc", "arith@18", "arith@22", "arith@23", "arith@28", "quant@0", "quant@4", "dma.matrix@1"),
    ),
    static_tables=CV184X_TABLES,
    vendor_library=_EMULATOR,
    timing=Timing(
        clock=750,
        places=4,
        products={4: 1, 2: 4, 1: 16, 0.5: 32},
        load=Transfer(0, 5.73, 80, 80),
        store=Transfer(0, 5.73, 80, 80),
        copy=Transfer(0, 5.73, 80, 80),
        skipping=2,
        monitor=Monitor(MonitorRecord(16, 2, 0), MonitorRecord(64, 0, 2), tiu_clock=750, dma_clock=650),
        source="fitted to the cycle counts that the compiler leaves in its models",
    ),
)

SGTPUV8 = replace(
    CV184X,
    name="SGTPUV8",
    static_tables=SGTPUV8_TABLES,
    vendor_library=replace(_EMULATOR, file="libcmodel_sgtpuv8.so", needs=("libgomp.so.1",)),
)

CHIPS = (CV184X, SGTPUV8)
