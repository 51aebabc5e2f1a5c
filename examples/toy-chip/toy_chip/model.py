"""A model for the chip: y = (a + b) * a, on tensors of six channels. ``python -m toy_chip.model FILE.bmodel``."""

from __future__ import annotations

import sys
from pathlib import Path

from tdb_dap.api import Border, Model, Stream
from toy_chip.chip import DDR, TOY4

SHAPE = (1, 6, 2, 3)  # six channels on four lanes: two rows per lane
BYTES = 4 * 36
_SIZES = dict(zip("nchw", SHAPE, strict=True))
_FLOAT = 2


def _descriptor(mnemonic: str, **fields: int) -> bytes:
    instruction = next(i for i in TOY4.instruction_set.instructions if i.mnemonic == mnemonic)
    kind, sub = ("tsk_typ", "tsk_eu_typ") if instruction.engine == "tiu" else ("cmd_type", "cmd_sp_func")
    head = {"cmd_short": 1, kind: instruction.kind, sub: instruction.sub}
    return instruction.encode(bytes(instruction.size), **head, **fields)


def _move(number: int, waits_for: int, source: int, destination: int) -> bytes:
    sizes = {f"{side}_{axis}size": extent for side in ("src", "dst") for axis, extent in _SIZES.items()}
    ends = {"src_start_addr_l32": source, "dst_start_addr_l32": destination}
    return _descriptor(
        "dma.tensor", cmd_id=number, cmd_id_dep=waits_for, src_data_format=_FLOAT, nchw_copy=1, **sizes, **ends
    )


def _arithmetic(name: str, number: int, waits_for: int, left: int, right: int, result: int) -> bytes:
    sizes = {f"res0_{axis}": extent for axis, extent in _SIZES.items()}
    formats = dict.fromkeys(("opd0_prec", "opd1_prec", "res0_prec"), _FLOAT)
    places = {"opd0_addr": left, "opd1_addr": right, "res0_addr": result}
    return _descriptor(name, cmd_id=number, cmd_id_dep=waits_for, tsk_opd_num=2, **sizes, **formats, **places)


def write(path: Path) -> Path:
    """Write the model."""
    tiu = [_arithmetic("arith.add", 1, 2, 0, 1024, 2048), _arithmetic("arith.mul", 2, 2, 2048, 0, 0)]
    dma = [_move(1, 0, DDR, 0), _move(2, 0, DDR + BYTES, 1024), _move(3, 2, 0, DDR + 2 * BYTES)]
    a, b, y = (Border(name, SHAPE, DDR + index * BYTES) for index, name in enumerate("aby"))
    streams = Stream(b"".join(tiu), len(tiu)), Stream(b"".join(dma), len(dma))
    model = Model("TOY4", *streams, inputs=(a, b), outputs=(y,), activations=(DDR, 3 * BYTES))
    return model.write(path)


if __name__ == "__main__":
    print(write(Path(sys.argv[1])))
