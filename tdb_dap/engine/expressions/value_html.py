"""A tensor in a notebook: what it is, its statistics, and the first of its numbers, coloured by magnitude."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.rendering import html

if TYPE_CHECKING:
    from tdb_dap.engine.expressions.values import Value

_MOST = 8
"""Rows and columns of numbers that are shown."""


def value_html(value: Value) -> str:
    """Title, type and place, statistics, and a corner of the numbers."""
    parts = [html.title(f"{value.title} = {value.text()}")]
    where = value.view.name if value.view is not None and hasattr(value.view, "space") else None
    named = value.named
    scaled = f"scale {named.scale:g}, zero point {named.zero_point}" if named is not None and named.scale != 1 else None
    parts.append(html.fields({"lies at": f"%{where}" if where else None, "quantised": scaled}))
    if value.array.size:
        parts.append(_corner(value.array))
    return html.block(*parts)


def _corner(array: Array) -> str:
    """The first rows and columns of the last two axes, at the start of all others."""
    plane = array.reshape(-1, array.shape[-1]) if array.ndim else array.reshape(1, 1)
    rows = array.shape[-2] if array.ndim > 1 else 1
    shown = plane[: min(rows, _MOST), :_MOST]
    reach = float(np.abs(array[np.isfinite(array)].astype(np.float64)).max(initial=0.0))
    body = [html.element("tr", [_number(number, reach) for number in row]) for row in shown]
    index = ", ".join(["0"] * max(0, array.ndim - 2) + ["..."] * min(2, array.ndim))
    note = "" if shown.size == array.size else f"[{index}]: {shown.size:,} of {array.size:,} elements"
    return html.block(html.element("table", body, {"border-collapse": "collapse"}), html.element("p", note))


def _number(number: np.generic, reach: float) -> str:
    plain = float(number)
    strength = abs(plain) / reach if reach and math.isfinite(plain) else 0.0
    colour = "255, 80, 60" if plain > 0 else "60, 120, 255"
    style = {
        "padding": "1px 6px",
        "text-align": "right",
        "font-family": "monospace",
        "background": f"rgba({colour}, {0.6 * strength:.2f})" if math.isfinite(plain) else "#d0f",
    }
    return html.element("td", html.text_of(number.item() if hasattr(number, "item") else number), style)
