"""Moves between chips. Written from the fields; no compiled model holds them."""

from __future__ import annotations

from typing import Any

from tdb_dap.engine.hardware.dtypes import F32, UI8
from tdb_dap.engine.hardware.strides import contiguous
from tdb_dap.engine.hardware.views import Layout
from tdb_dap.targets.declaration.family import Row, family, operand
from tdb_dap.targets.declaration.fields import Fields
from tdb_dap.targets.families.dma.tensors import Shape4, side

_REDUCTIONS = {0: "none", 1: "mul", 2: "max", 3: "min", 4: "add"}
_REGISTERS = {0: "current_id", 1: "source_mac_id", 2: "destination_mac_id"}
SEND_OR_WAIT, WRITE_REGISTER = (3, 4, 5, 6), 2


def _shape(name: str) -> Any:
    def shape(f: Fields) -> Shape4:
        n, c, h, w = (f.number(f"{name}_{axis}size") for axis in "nchw")
        return n, c, h, w

    return shape


def _strides(name: str) -> Any:
    """Three strides, columns adjacent; dense if the command gives none."""

    def strides(f: Fields) -> tuple[int, ...]:
        if f.stride_enable:
            return f.number(f"{name}_nstride"), f.number(f"{name}_cstride"), f.number(f"{name}_hstride"), 1
        return contiguous(_shape(name)(f))

    return strides


def _tensor(name: str, is_result: bool = False, **details: Any) -> Row:
    return side(name, _shape(name), is_result, storage=Layout.DMA_STRIDE, strides=_strides(name), **details)


def _linear(name: str, is_result: bool = False) -> Row:
    return side(name, lambda f: (f.cmd_length,), is_result, storage=Layout.DMA_LINEAR, strides=lambda f: (1,))


@family("cdma.send", registers=("CDMA_send",), evidence="fields")
class Send:
    """A tensor of this chip to the one that receives; ``accumulate``: into what is there."""

    source = _tensor("src")
    attributes = {"accumulate": lambda f: bool(f.psum_op)}


@family("cdma.receive", registers=("CDMA_receive",), evidence="fields")
class Receive:
    """A tensor from another chip, stored or combined with what is there; the sender knows its number format."""

    destination = _tensor("dst", is_result=True, dtype=F32)
    attributes = {"reduce": lambda f: _REDUCTIONS.get(f.reduce_op, f.reduce_op)}


@family("cdma.copy", registers=("CDMA_read", "CDMA_write"), evidence="fields")
class Copy:
    """A tensor between two chips."""

    source = _tensor("src")
    destination = _tensor("dst", is_result=True)


@family("cdma.general", registers=("CDMA_general",), evidence="fields")
class LinearCopy:
    """Consecutive elements between two chips."""

    source = _linear("src")
    destination = _linear("dst", is_result=True)


@family("cdma.lossy", registers=("CDMA_lossy_compress", "CDMA_lossy_decompress"), evidence="fields")
class LossySend:
    """A tensor sent as 20-bit floats, or 20-bit floats sent as a tensor."""

    source = _tensor("src")
    attributes = {"reduce": lambda f: _REDUCTIONS.get(f.reduce_op, f.reduce_op)}


@family("cdma.tcp", registers=("CDMA_tcp_send",), evidence="fields")
class Packet:
    """A buffer sent as a network frame."""

    buffer = operand(
        "buffer",
        lambda f: (f.buffer_length,),
        Layout.DMA_LINEAR,
        dtype=UI8,
        constant=False,
        address=lambda f: 0,
        strides=lambda f: (1,),
        space=lambda f: f.geometry.locate(f.buffer_addr_h13 << 32 | f.buffer_addr_l32),
    )
    attributes = {"frame_length": "frame_length", "first": "FD", "last": "LD"}


def _system(f: Fields) -> dict[str, Any]:
    if f.sub in SEND_OR_WAIT:
        return {"msg_id": f.constant_value_l32 & 0x1FF, "cnt": f.constant_value_l32 >> 16 & 0x7F}
    if f.sub == WRITE_REGISTER:
        word = f.constant_value_h32 << 32 | f.constant_value_l32
        return {"register": _REGISTERS.get(f.reg_sel, f.reg_sel), "value": word}
    return {}


@family("cdma.system", registers=("sCDMA_sys",), evidence="fields")
class System:
    """Synchronisation between chips."""

    attributes = staticmethod(_system)
