"""BM1684X: one core, 64 lanes, absolute addresses."""

from tdb_dap.engine.hardware.geometry import Geometry, Space, window
from tdb_dap.targets.chips.chip import Chip
from tdb_dap.targets.chips.static_tables import BM1684X_TABLES
from tdb_dap.targets.chips.vendor_library import VendorLibrary
from tdb_dap.targets.chips.vendor_text import Style
from tdb_dap.targets.rules import Rules
from tdb_dap.targets.timing import Monitor, MonitorRecord, Timing, Transfer

BM1684X = Chip(
    name="BM1684X",
    table="bm1684x",
    geometry=Geometry(
        lanes=64,
        lane_bytes=256 << 10,
        bank_bytes=16 << 10,
        eu_bytes=64,
        cube_channels=64,
        static_bytes=16 << 10,
        l2_bytes=0x1FB000,
        windows=(
            window(Space.LOCAL, 0x8000000, 0x9000000),
            window(Space.STATIC, 0x9000000, 0x9004000),
            window(Space.L2, 0x10000000, 0x10200000),
            window(Space.GLOBAL, 0x100000000, 0x300000000),
        ),
    ),
    rules=Rules(
        has_int4=False,
        adds_halves=True,
        divides_by_steps=True,
        divides_halves=False,
        channel_group=32,
        counts_numbers=True,
        signs_distance=True,
        image_nan_first=True,
        rotation_period=32,
        lacks=("arith@28",),
    ),
    static_tables=BM1684X_TABLES,
    id_fields=("cmd_id",),
    vendor_library=VendorLibrary("libcmodel_bm1684x.so"),
    idle_commands={"tiu": ("sys.nop", {}), "dma": ("dma.sys.nop", {"cmd_id_en": 1})},
    vendor_style=Style(cores=False, colon=" : ", decompress=True),
    timing=Timing(
        clock=1000,
        places=16,
        products={4: 1, 2: 8, 1: 16, 0.5: 32},
        load=Transfer(0, 13.5, 256, 60, 4),
        store=Transfer(0, 10.26, 256, 60, 4),
        copy=Transfer(0, 13.5, 2120, 60, 4),
        monitor=Monitor(
            MonitorRecord(32, 0, 2), MonitorRecord(192, 0, 2), tiu_clock=1000, dma_clock=1000, is_scaled=True
        ),
        source="fitted to the cycle counts that the compiler leaves in its models",
    ),
)

CHIPS = (BM1684X,)
