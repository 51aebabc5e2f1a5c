"""BM1688 and CV186X: up to two cores of 32 lanes, tagged 40-bit addresses, fused requantisation."""

from tdb_dap.engine.hardware.geometry import Geometry, Space, window
from tdb_dap.targets.chips.chip import Chip
from tdb_dap.targets.chips.static_tables import BM1688_TABLES
from tdb_dap.targets.chips.vendor_library import VendorLibrary
from tdb_dap.targets.kernel.constants import Reciprocal
from tdb_dap.targets.rules import Extremum, Rules
from tdb_dap.targets.timing import Monitor, MonitorRecord, Timing, Transfer

BM1688 = Chip(
    name="BM1688",
    table="bm1688",
    geometry=Geometry(
        lanes=32,
        lane_bytes=128 << 10,
        bank_bytes=8 << 10,
        eu_bytes=16,
        cube_channels=32,
        static_bytes=64 << 10,
        l2_bytes=2 << 20,
        windows=(
            window(Space.LOCAL, 0, 1 << 23),
            window(Space.STATIC, 1 << 23, 1 << 24),
            window(Space.GLOBAL, 1 << 39, 1 << 40, base=0),
            # Inputs and outputs of their own (io_alone): the model names them by place, commands by tag 0.
            window(Space.GLOBAL, 1 << 32, 1 << 36, base=-(1 << 39)),
        ),
        tag_shift=36,
        tag_mask=7,
        static_by_offset=True,
        repeats=(1 << 24, 1 << 39),
        message_bits=7,
    ),
    rules=Rules(
        channel_group=16,
        extremum=Extremum.IGNORES_NAN,
        reciprocal=Reciprocal.TRUE_ZEROS,
        signs_distance=True,
        drops_bits=True,
        divides_by_steps=True,
        convolves_int4=True,
        counts_numbers=True,
    ),
    static_tables=BM1688_TABLES,
    vendor_library=VendorLibrary("libcmodel_bm1688.so", ddr_start=0x100000000, cores=2),
    # Register 127 stands for none: three times nothing is written.
    idle_commands={
        "tiu": ("system_tr_wr.wr_imm", {"reg_idx0": 127, "reg_idx1": 127, "reg_idx2": 127}),
        "dma": ("dma.sys.nop", {}),
    },
    timing=Timing(
        clock=900,
        places=4,
        products={4: 1, 2: 8, 1: 32, 0.5: 64},
        load=Transfer(289, 16.65, 80, 80),
        store=Transfer(169, 16.65, 80, 80),
        copy=Transfer(289, 16.65, 80, 80),
        skipping=2,
        monitor=Monitor(MonitorRecord(32, 0, 2), MonitorRecord(256, 0, 2), tiu_clock=900, dma_clock=750),
        source="fitted to the cycle counts that the compiler leaves in its models",
    ),
)

CHIPS = (BM1688,)
