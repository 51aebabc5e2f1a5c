"""BM1684: one core of 64 lanes, its own instruction set, absolute addresses, packed batches of 8 and 16 bits."""

from tdb_dap.engine.hardware.geometry import Geometry, Space, window
from tdb_dap.targets.chips.chip import Chip
from tdb_dap.targets.chips.l2_tables import BM1684_TABLES, START
from tdb_dap.targets.chips.vendor_library import VendorLibrary
from tdb_dap.targets.chips.vendor_text import Style
from tdb_dap.targets.rules import Rules
from tdb_dap.targets.timing import Monitor, MonitorRecord, Timing, Transfer

BM1684 = Chip(
    name="BM1684",
    table="bm1684",
    room="bm1684",
    geometry=Geometry(
        lanes=64,
        lane_bytes=512 << 10,
        bank_bytes=64 << 10,
        eu_bytes=128,
        cube_channels=0,
        static_bytes=0,
        l2_bytes=4 << 20,
        windows=(
            window(Space.LOCAL, 0x8000000, 0xA000000),
            window(Space.L2, 0x10000000, 0x10400000),
            window(Space.GLOBAL, 0x100000000, 0x300000000),
        ),
        tiu_by_address=True,
        processor_memory=window(Space.STATIC, 0x2000000, 0x2080000),
    ),
    rules=Rules(channel_group=0, has_int4=False),
    gelu_by_tanh=True,
    static_tables=(),
    l2_tables=BM1684_TABLES,
    l2_tables_start=START,
    id_fields=("cmd_id_tpu", "cmd_id"),
    dependency_fields=("cmd_id_gdma", "eng0_sync_id"),
    vendor_style=Style(cores=False, described=True),
    end_commands=(),
    needs_kernel=False,
    vendor_library=VendorLibrary("libcmodel_bm1684.so", single_call=False),
    known_problems=(
        "tiu mnemonic arith.cmp stands for 2 operations",
        "tiu mnemonic arith.cmp_select stands for 2 operations",
        "tiu mnemonic arith.select stands for 2 operations",
        "tiu mnemonic arith.square_diff stands for 2 operations",
        "tiu mnemonic arith.square_sum stands for 2 operations",
        "tiu mnemonic conv stands for 2 operations",
        "tiu mnemonic lut stands for 2 operations",
    ),
    timing=Timing(
        clock=550,
        places=32,
        products={4: 1, 2: 1, 1: 8},
        load=Transfer(0, 31, 256, 60, 4),
        store=Transfer(0, 31, 256, 60, 4),
        copy=Transfer(0, 31, 256, 60, 4),
        monitor=Monitor(MonitorRecord(32, 0, 2), MonitorRecord(192, 0, 2), tiu_clock=550, dma_clock=575),
        source="data sheet: 550 MHz, 2.2 TFLOPS of F32, 17.6 TOPS of INT8, 68 GB/s; not compared with anything",
    ),
)

CHIPS = (BM1684,)
