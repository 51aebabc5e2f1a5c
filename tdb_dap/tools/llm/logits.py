"""The numbers that a token is chosen by."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.hardware.views import View
from tdb_dap.engine.machine.machine import Machine
from tdb_dap.engine.program.program import Launch, Program


class Candidate(Struct, frozen=True):
    """A token that could be answered. ``probability``: of all tokens, at temperature 1."""

    id: int
    logit: float
    probability: float


def logits_of(program: Program, own: Sequence[Launch]) -> View | None:
    """Place of the logits that a token's launches leave; None if they leave none."""
    head = next((launch for launch in own if launch.net == "lm_head"), None)
    views = [tensor.view for tensor in program.made_by(head) if tensor.view.dtype.is_float] if head is not None else []
    return max(views, key=lambda view: view.size, default=None)


def best(machine: Machine, view: View, most: int) -> list[Candidate]:
    """The most likely tokens, the likeliest first. NaN comes last and has no probability."""
    logits: Array = machine.read(view).reshape(-1).astype(np.float64)
    order = np.argsort(-np.where(np.isnan(logits), -np.inf, logits), kind="stable")[:most]
    with np.errstate(all="ignore"):
        shares = np.exp(logits - np.nanmax(logits)) if not np.isnan(logits).all() else logits
        shares = shares / np.nansum(shares)
    return [Candidate(int(id), float(logits[id]), float(shares[id])) for id in order]
