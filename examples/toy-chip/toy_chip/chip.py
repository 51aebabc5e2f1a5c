"""A chip that does not exist: four lanes, two engines, three instructions. Nothing here but data."""

from tdb_dap.api import Chip, Geometry, Rules, Space, window

DDR = 0x1000_0000


def _fields(text: str) -> list[list[object]]:
    """``name:width`` one after another, as [name, bit, width]."""
    found: list[list[object]] = []
    bit = 0
    for part in text.split():
        name, width = part.split(":")
        found.append([name, bit, int(width)])
        bit += int(width)
    return found


_HEAD = "cmd_short:1 cmd_id:20 cmd_id_dep:20 tsk_typ:4 tsk_eu_typ:5 "
_ARITHMETIC = _HEAD + (
    "tsk_opd_num:2 opd0_const:1 opd1_const:1 opd2_const:1 res0_prec:3 opd0_prec:3 opd1_prec:3 opd2_prec:3 opd0_sign:1 "
    "opd1_sign:1 opd2_sign:1 res0_str:3 opd0_str:3 opd1_str:3 opd2_n_str:3 reserved:14 "
    "res0_n:16 res0_c:16 res0_h:16 res0_w:16 res0_addr:32 opd0_addr:32 opd1_addr:32 opd2_addr:32 "
    "res0_n_str:16 res0_c_str:16 res0_h_str:16 res0_w_str:16 opd0_n_str:16 opd0_c_str:16 opd0_h_str:16 opd0_w_str:16 "
    "opd1_n_str:16 opd1_c_str:16 opd1_h_str:16 opd1_w_str:16 reserved:32"
)
_MOVE = (
    "cmd_short:1 cmd_id:20 cmd_id_dep:20 cmd_type:4 cmd_sp_func:3 stride_enable:1 nchw_copy:1 fill_constant_en:1 "
    "src_data_format:3 reserved:10 constant_value:32 "
    "src_nsize:16 src_csize:16 src_hsize:16 src_wsize:16 dst_nsize:16 dst_csize:16 dst_hsize:16 dst_wsize:16 "
    "src_nstride:32 src_cstride:32 src_hstride:32 src_wstride:32 dst_nstride:32 dst_cstride:32 dst_hstride:32 "
    "dst_wstride:32 src_start_addr_l32:32 src_start_addr_h8:8 reserved:24 dst_start_addr_l32:32 dst_start_addr_h8:8 "
    "reserved:24"
)

_TABLE = {
    "chip": "toy4",
    "engines": {
        "tiu": {
            "head": [["cmd_short", 0, 1], ["tsk_typ", 41, 4], ["tsk_eu_typ", 45, 5]],
            "key": ["cmd_short", "tsk_typ", "tsk_eu_typ"],
            "index": [[1, 3, 0, "sAR", "arith.mul"], [1, 3, 2, "sAR", "arith.add"], [1, 3, 4, "sAR", "arith.max"]],
        },
        "dma": {
            "head": [["cmd_short", 0, 1], ["cmd_type", 41, 4], ["cmd_sp_func", 45, 3]],
            "key": ["cmd_short", "cmd_type", "cmd_sp_func"],
            "index": [[1, 0, 0, "DMA_tensor", "dma.tensor"]],
        },
    },
    "regs": {"sAR": {"bits": 512, "layout": "arithmetic"}, "DMA_tensor": {"bits": 608, "layout": "move"}},
    "layouts": {"arithmetic": _fields(_ARITHMETIC), "move": _fields(_MOVE)},
}

TOY4 = Chip(
    name="TOY4",
    table=_TABLE,
    geometry=Geometry(
        lanes=4,
        lane_bytes=4 << 10,
        bank_bytes=1 << 10,
        eu_bytes=16,
        cube_channels=16,
        static_bytes=1 << 10,
        l2_bytes=0,
        windows=(window(Space.LOCAL, 0, 16 << 10), window(Space.GLOBAL, DDR, 2 * DDR)),
    ),
    rules=Rules(channel_group=32),
    static_tables=(),
    id_fields=("cmd_id",),
)
