"""The report of a zoo as one page that needs no server and nothing from the network."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import Any

from tdb_dap.engine.rendering.printable import visible
from tdb_dap.tools.zoo.changes import Overview, Seen, ops_of
from tdb_dap.tools.zoo.page_text import SCRIPT, STYLE
from tdb_dap.tools.zoo.result import STATUSES
from tdb_dap.tools.zoo.store import Store

_DETAILED = 2000
"""Cases whose ops are in the page; of others it has the command that shows them."""

_OPS = 12
_SLOWEST = 20
_COLUMNS = 60
"""Columns of the matrix: chips and precisions."""


def page(store: Store, found: Overview) -> str:
    """The whole document."""
    data = json.dumps(_data(store, found), separators=(",", ":")).replace("<", "\\u003c")
    title = visible(f"{found.run.name}: run {found.run.id}")
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width">\n<title>{_escaped(title)}</title>\n'
        f"<style>{STYLE}</style>\n</head>\n<body>\n<main></main>\n"
        f'<script type="application/json" id="data">{data}</script>\n<script>{SCRIPT}</script>\n</body>\n</html>\n'
    )


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


def moment(seconds: float) -> str:
    """A moment in UTC, to the minute."""
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M UTC")


def _data(store: Store, found: Overview) -> dict[str, Any]:
    texts: dict[str, int] = {}

    def text(value: str) -> int:
        return texts.setdefault(visible(value), len(texts))

    rows, details = [], []
    interesting = [one for one in found.seen if one.wrong or one.change]
    detailed = {id(one): number for number, one in enumerate(interesting[:_DETAILED])}
    for one in found.seen:
        case = one.case
        rows.append(
            [
                text(case.key),
                text(case.model),
                text(f"{case.chip} {case.precision}"),
                STATUSES.index(case.status),
                text(one.change),
                round(case.seconds, 2),
                round(one.was.seconds, 2) if one.was is not None else -1,
                detailed.get(id(one), -1),
                int(any(wrong.counts for wrong in one.wrong)),
            ]
        )
    for one in interesting[:_DETAILED]:
        details.append(_detail(store, one))
    return {
        "name": visible(found.run.name),
        "run": found.run.id,
        "started": moment(found.run.started),
        "complete": found.run.ended is not None,
        "expected": found.run.cases,
        "tool": found.run.tool,
        "before": {"run": found.before.id, "started": moment(found.before.started)} if found.before else None,
        "statuses": list(STATUSES),
        "failures": len(found.failures),
        "rows": rows,
        "details": details,
        "gone": [visible(key) for key in found.gone[:100]],
        "tolerated": [
            [visible(one.case.key), visible(wrong.text), wrong.tolerated.owner, str(wrong.tolerated.until)]
            for one, wrong in found.tolerated[:500]
            if wrong.tolerated is not None
        ],
        "expired": [[entry.case, entry.what, entry.owner, str(entry.until)] for entry in found.contract.expired],
        "flaky": [[visible(key), statuses] for key, statuses in list(found.flaky.items())[:200]],
        "trend": [
            [run.id, moment(run.started), [counts.get(status, 0) for status in STATUSES]]
            for run, counts in found.history[-100:]
        ],
        "slowest": sorted(range(len(rows)), key=lambda number: -float(rows[number][5]))[:_SLOWEST],
        "texts": list(texts),
        "columns": _COLUMNS,
    }


def _detail(store: Store, one: Seen) -> dict[str, Any]:
    ops = ops_of(store, one)
    return {
        "text": visible(one.case.text),
        "command": visible(one.case.command),
        "was": one.was.status if one.was is not None else "",
        "megabytes": one.case.megabytes,
        "wrong": [
            [visible(wrong.rule), visible(wrong.text), int(wrong.is_new), int(wrong.tolerated is not None)]
            for wrong in one.wrong[:_OPS]
        ],
        "more": max(0, len(one.wrong) - _OPS),
        "ops": [
            [
                op["line"],
                visible(op["opcode"]),
                visible(op["name"]),
                op["verdict"],
                op["cosine"],
                op["max_abs"],
                op["was"],
            ]
            for op in ops[:_OPS]
        ],
        "pictures": [[visible(op["name"]), json.loads(op["picture"])] for op in ops if op["picture"]][:3],
    }
