"""BM1690 and BM1690E: up to eight cores of 64 lanes, tagged 45-bit addresses, shared L2."""

from msgspec.structs import replace

from tdb_dap.engine.hardware.geometry import Geometry, Space, window
from tdb_dap.targets.chips.chip import Chip
from tdb_dap.targets.chips.static_tables import BM1690_TABLES
from tdb_dap.targets.chips.vendor_library import VendorLibrary
from tdb_dap.targets.chips.vendor_text import Style
from tdb_dap.targets.kernel.constants import Reciprocal
from tdb_dap.targets.rules import Extremum, Rules
from tdb_dap.targets.timing import Monitor, MonitorRecord, Timing, Transfer

_L2 = 30 << 40 | 0x6980000000

_EMULATOR = VendorLibrary(
    "libtpuv7_emulator.so",
    needs=("libdnnl.so.3", "libgomp.so.1", "libomp.so.5"),
    local_tag=31,
    local_start=0x6900000000,
    local_step=16 << 20,
    cores=8,
    runtime=("libtpuv7_rt.so", "libtpuv7_modelrt.so"),
    runtime_needs=("libcdm_daemon_emulator.so", "libtpuv7_scalar_emulator.so"),
    runtime_interface="tpuv7",
    kernel_module="libbm1690_kernel_module.so",
)

BM1690_RULES = Rules(
    channel_group=32,
    extremum=Extremum.FIRST_TAP,
    reciprocal=Reciprocal.TRUE_SUBNORMALS,
    nan_wins=True,
    flushes_bf16_extremum=True,
    negative_zero_start=True,
    absent_bias=("conv",),
    overflow_to_infinity=True,
    normalize_zero=True,
    flushes_absolute=True,
    casts_halves=True,
    keeps_nan=True,
    symmetric_floats=True,
    distributes=False,
    skips_negative_zero=True,
    lacks=("arith@23", "arith@28"),
)

_OWN_RULES = replace(BM1690_RULES, sized_index=True, has_float8=True, idles_by_moves=False, compares_formats=True)

BM1690 = Chip(
    name="BM1690",
    table="bm1690",
    geometry=Geometry(
        lanes=64,
        lane_bytes=256 << 10,
        bank_bytes=16 << 10,
        eu_bytes=64,
        cube_channels=64,
        static_bytes=64 << 10,
        l2_bytes=128 << 20,
        windows=(
            window(Space.LOCAL, 31 << 40, 31 << 40 | 1 << 26),
            window(Space.STATIC, 31 << 40 | 1 << 26, 31 << 40 | 1 << 27),
            window(Space.L2, _L2, _L2 + (128 << 20)),
            window(Space.GLOBAL, 1 << 40, 30 << 40, base=0),
        ),
        tag_shift=40,
        tag_mask=31,
        hexadecimal=True,
        static_by_offset=True,
        message_bits=9,
    ),
    rules=_OWN_RULES,
    static_tables=BM1690_TABLES,
    message_engines=3,
    same_commands={"sdma": "dma"},
    vendor_library=_EMULATOR,
    vendor_style=Style(loses_dependencies=True),
    timing=Timing(
        clock=1000,
        places=16,
        products={4: 1, 2: 16, 1: 32, 0.5: 64},
        load=Transfer(289, 73.14, 128, 128),
        store=Transfer(169, 73.14, 128, 128),
        copy=Transfer(289, 73.14, 128, 128),
        matrix_steps=2,
        monitor=Monitor(
            MonitorRecord(16, 0, 2),
            MonitorRecord(64, 0, 2),
            tiu_clock=1000,
            dma_clock=1000,
            is_scaled=True,
            synchronising=2,
        ),
        source="fitted to the cycle counts that the compiler leaves in its models",
    ),
)

# The compiler emits BM1690 commands for it; the L2 is smaller, and linear moves look at their sizes if they have steps.
BM1690E = replace(
    BM1690,
    name="BM1690E",
    rules=replace(_OWN_RULES, strided_by_sizes=True, extends_sizes=True),
    geometry=replace(BM1690.geometry, l2_bytes=16 << 20),
    vendor_library=replace(
        _EMULATOR, file="libtpuv7.1_emulator.so", kernel_module="libbm1690e_kernel_module.so", cores=4
    ),
)

CHIPS = (BM1690, BM1690E)
