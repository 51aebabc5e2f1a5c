"""CV180x, CV181x, CV182x and CV183x: one core, one stream of both engines' commands, eight memories in DDR.

A device address is the number of a memory (the base register that commands name) from bit 40 on, and a byte in it.
"""

from tdb_dap.engine.hardware.geometry import Geometry, Space, Window, window
from tdb_dap.targets.chips.chip import Chip
from tdb_dap.targets.chips.vendor_library import SingleChip, VendorLibrary
from tdb_dap.targets.rules import Rules
from tdb_dap.targets.timing import Timing, Transfer

_TAG_SHIFT, _TAGS = 40, 8
_DDR = (window(Space.GLOBAL, 0, _TAGS << _TAG_SHIFT),)

_DDR_START = 1 << 32
"""First byte of DDR of CV183x: its commands have the bit in every address, the container has it in none."""


def _both_spellings(tag: int) -> tuple[Window, Window]:
    """The first 4 GiB of a memory of CV183x, without and with that bit."""
    start = tag << _TAG_SHIFT
    plain = window(Space.GLOBAL, start, start + _DDR_START, start)
    return (
        Window(Space.GLOBAL, plain.start, plain.stop, 0),
        Window(Space.GLOBAL, plain.stop, plain.stop + _DDR_START, _DDR_START),
    )


def _geometry(lanes: int, windows: tuple[Window, ...] = _DDR) -> Geometry:
    return Geometry(
        lanes=lanes,
        lane_bytes=32 << 10,
        bank_bytes=4 << 10,
        eu_bytes=16,
        cube_channels=0,
        static_bytes=0,
        l2_bytes=0,
        windows=windows,
        tag_shift=_TAG_SHIFT,
        tag_mask=_TAGS - 1,
    )


def _emulator(version: int, inside: str, ddr: int = 0) -> VendorLibrary:
    """``inside``: the namespace that its functions are in, as compilers write it in names of symbols."""

    def symbol(name: str) -> str:
        plain = f"{len(name)}{name}"
        return f"_ZN{inside}{plain}EP6chip_tPv" if inside else f"_Z{plain}P6chip_tPv"

    functions = {"tiu": symbol("call_tiu_function"), "dma": symbol("call_tdma_function")}
    return VendorLibrary(
        "libcvicmodel.so",
        runtime=(),
        runtime_needs=(),
        single_chip=SingleChip(version, 0 if ddr else 0x0C000000, ddr, functions),
    )


_RULES = Rules(channel_group=0)


def _timing(clock: float, channels: int, rate: float) -> Timing:
    """``clock``: MHz; ``channels``: of bytes that a convolution takes at a time; ``rate``: of DDR, bytes per cycle."""
    transfer = Transfer(0, rate, 1, 1)
    return Timing(
        clock,
        places=0,
        products={1: channels, 2: 1},
        load=transfer,
        store=transfer,
        copy=transfer,
        skipping=1,
        source="fitted to the times that the vendor has published for ResNet-18 and MobileNetV2",
    )


def _chip(
    name: str,
    table: str,
    mark: int,
    geometry: Geometry,
    library: VendorLibrary,
    timing: Timing,
    rules: Rules = _RULES,
) -> Chip:
    return Chip(
        name=name,
        table=table,
        room="cv18xx",
        geometry=geometry,
        rules=rules,
        static_tables=(),
        id_fields=("cmd_id_tpu", "cmd_id"),
        dependency_fields=("cmd_id_gdma", "wait_id_tpu"),
        narrow_floats=True,
        layer_field="layer_info",
        packet_mark=mark,
        end_commands=(),
        needs_kernel=False,
        known_problems=("tiu mnemonic arith.lut stands for 2 operations",) if table == "cv183x" else (),
        vendor_library=library,
        timing=timing,
    )


CV180X = _chip("CV180X", "cv181x", 0xA8, _geometry(2), _emulator(182203, "6cmodel6phobos"), _timing(500, 1, 2))
CV181X = _chip("CV181X", "cv181x", 0xA7, _geometry(8), _emulator(182202, "6cmodel4mars"), _timing(500, 2, 3.5))
CV182X = _chip("CV182X", "cv181x", 0xA6, _geometry(8), _emulator(1822, "12bm1822_space"), _timing(750, 2, 2.75))
CV183X = _chip(
    "CV183X",
    "cv183x",
    0xA5,
    _geometry(32, tuple(w for tag in range(_TAGS) for w in _both_spellings(tag))),
    _emulator(18802, "", _DDR_START),
    _timing(650, 2, 8),
    Rules(channel_group=0, drops_large_casts=True, ddr_start=_DDR_START),
)

CHIPS = (CV180X, CV181X, CV182X, CV183X)
