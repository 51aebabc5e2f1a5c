"""Random numbers. Written from the fields; no compiled model holds them."""

from __future__ import annotations

from tdb_dap.engine.hardware.dtypes import UI8
from tdb_dap.engine.hardware.views import Layout
from tdb_dap.targets.declaration.family import Row, family, flag, operand, result_
from tdb_dap.targets.declaration.fields import Fields
from tdb_dap.targets.families.dma.tensors import Shape4, data_type, default_strides, lane_mask, located, side

GLOBAL_STATE, INITIAL_SEED, LOADED_STATE = 0, 1, 2


def _state_shape(f: Fields) -> tuple[int, ...]:
    """Per lane a generator of two 64-bit words for every eight bytes that the lane makes at once."""
    return 1, f.geometry.lanes, 1, 2 * f.geometry.eu_bytes


def _attributes(f: Fields) -> dict[str, int]:
    return {"channel_offset": f.opd2_n_str, "jumps": f.opd2_c_str} if f.sub == INITIAL_SEED else {}


def _numbers() -> Row:
    shape = (1, "res0_c", 1, "res0_w")
    return result_("res0", shape, sign=0)


@family("rand", registers=("RAND", "sPRNG"), evidence="fields")
class RandomNumbers:
    """Random integers from the generators of the lanes; their state may be loaded before and stored after."""

    state = operand(
        "opd0", _state_shape, Layout.COMPACT, dtype=UI8, constant=False, when=lambda f: f.sub == LOADED_STATE
    )
    result = _numbers()
    new_state = result_("res1", _state_shape, Layout.COMPACT, dtype=UI8, when=flag("res_add"))
    attributes = staticmethod(_attributes)


def _shape(f: Fields) -> Shape4:
    return f.src_nsize, f.src_csize, f.src_hsize, f.src_wsize


def _strides(f: Fields) -> Shape4:
    if f.stride_enable:
        return f.dst_nstride, f.dst_cstride, f.dst_hstride, f.dst_wstride
    return default_strides(f, *located(f, "dst"), _shape(f), data_type(f))


@family("dma.randmask", registers=("DMA_randmask",), evidence="fields")
class RandomMask:
    """A mask of random bits; the generator starts from a seed or from a state in memory."""

    state = side("src", (1, 1, 1, 1), storage=Layout.STRIDE, dtype=UI8, strides=lambda f: (1, 1, 1, 1))
    destination = side("dst", _shape, is_result=True, storage=Layout.STRIDE, strides=_strides, lane_mask=lane_mask)
    attributes = {"initial_seed": flag("init_seed"), "intermediate_state": flag("inter_state")}
