"""Fields that change nothing of what any command computes, and why.

What else is without effect in single forms is in ``isa/field_use.json``; the vendor's simulator has proven it.
"""

from __future__ import annotations

import re
from functools import cache

_REASONS = {
    r"cmd_short|cmd_long|tsk_typ|tsk_eu_typ|cmd_type|cmd_special_function|special_func|des_type": "selects the form",
    r"cmd_id.*|cmd_en|cmd_end|cmd_keep|eng\d_sync_id|barrier_enable|chain_end|pio_gdma_enable": "order of commands",
    r"layer_info": "number of the compiler's layer",
    r"spec_func|trans_dir": "selects the form",
    r"row\d": "numbers of the rows of a descriptor",
    r"vld|eod|intp_en|bar_en|wait_id_.*": "order of commands",
    r"outstanding_en|intra_cmd_paral|check_bf16_value": "speed and checks",
    r"(cmd_)?intr_en|break_?point|dbg_mode|debug_mode|single_step": "interrupts and debugging",
    r"pwr_step|cache_en|cache_flush|prefetch_disable|hold_des_value|eu_half_en": "power, caches, speed",
}


@cache
def reason_of(name: str) -> str | None:
    """Why a field has no effect in any form; None if it may have one. ``name``: the shared one."""
    return next((reason for pattern, reason in _REASONS.items() if re.fullmatch(pattern, name)), None)
