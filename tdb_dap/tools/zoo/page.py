"""The report of a zoo as one page that needs no server and nothing from the network."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from tdb_dap.engine.rendering.printable import visible
from tdb_dap.tools.check.html import error_letters
from tdb_dap.tools.pages import writing
from tdb_dap.tools.zoo.changes import Overview, Seen, ops_of
from tdb_dap.tools.zoo.result import STATUSES

if TYPE_CHECKING:
    from tdb_dap.tools.pages.data import ZooCases, ZooDetail, ZooPage, ZooPicture, ZooRun
    from tdb_dap.tools.zoo.store import Run, Store

_DETAILED = 2000
"""Cases whose ops are in the page; of others it has the command that shows them."""

_OPS = 12
_PICTURES = 3
_SLOWEST = 20
_COLUMNS = 60
"""Columns of the matrix: chips and precisions."""


def page(store: Store, overview: Overview) -> str:
    """The whole document."""
    return writing.page(visible(f"{overview.run.name}: run {overview.run.id}"), _data(store, overview))


def moment(seconds: float) -> str:
    """A moment in UTC, to the minute."""
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M UTC")


def _data(store: Store, overview: Overview) -> ZooPage:
    seen = overview.seen
    detailed = [i for i, one in enumerate(seen) if one.wrong or one.change][:_DETAILED]
    return {
        "kind": "zoo",
        "name": visible(overview.run.name),
        "run": overview.run.id,
        "started": moment(overview.run.started),
        "tool": overview.run.tool,
        "complete": overview.run.ended is not None,
        "expected": overview.run.cases,
        "before": _run(overview.before, {}) if overview.before else None,
        "statuses": list(STATUSES),
        "failures": len(overview.failures),
        "cases": _cases(seen, detailed),
        "details": [_detail(store, seen[i]) for i in detailed],
        "columns": _COLUMNS,
        "gone": [visible(key) for key in overview.gone[:100]],
        "tolerated": [
            {
                "case": visible(one.case.key),
                "what": visible(wrong.text),
                "owner": wrong.tolerated.owner,
                "until": str(wrong.tolerated.until),
            }
            for one, wrong in overview.tolerated[:500]
            if wrong.tolerated is not None
        ],
        "expired": [
            {"case": entry.case, "what": entry.what, "owner": entry.owner, "until": str(entry.until)}
            for entry in overview.contract.expired
        ],
        "flaky": [(visible(key), statuses) for key, statuses in list(overview.flaky.items())[:200]],
        "trend": [_run(run, counts) for run, counts in overview.history[-100:]],
        "slowest": sorted(range(len(seen)), key=lambda i: -seen[i].case.seconds)[:_SLOWEST],
    }


def _run(run: Run, counts: dict[str, int]) -> ZooRun:
    return {"run": run.id, "started": moment(run.started), "counts": [counts.get(status, 0) for status in STATUSES]}


def _cases(seen: Sequence[Seen], detailed: list[int]) -> ZooCases:
    texts: dict[str, int] = {}

    def text(value: str) -> int:
        return texts.setdefault(visible(value), len(texts))

    cases = [one.case for one in seen]
    return {
        "key": [text(case.key) for case in cases],
        "model": [text(case.model) for case in cases],
        "column": [text(f"{case.chip} {case.precision}") for case in cases],
        "status": [STATUSES.index(case.status) for case in cases],
        "change": [text(one.change) for one in seen],
        "seconds": [round(case.seconds, 2) for case in cases],
        "was": [round(one.was.seconds, 2) if one.was is not None else None for one in seen],
        "counting": [i for i, one in enumerate(seen) if any(wrong.counts for wrong in one.wrong)],
        "detailed": detailed,
        "texts": list(texts),
    }


def _detail(store: Store, one: Seen) -> ZooDetail:
    ops = ops_of(store, one)
    return {
        "text": visible(one.case.text),
        "command": visible(one.case.command),
        "was": one.was.status if one.was is not None else "",
        "findings": [
            {
                "rule": visible(wrong.rule),
                "text": visible(wrong.text),
                "isNew": wrong.is_new,
                "isTolerated": wrong.tolerated is not None,
            }
            for wrong in one.wrong[:_OPS]
        ],
        "more": max(0, len(one.wrong) - _OPS),
        "ops": [
            {
                "name": visible(op["name"]),
                "opcode": visible(op["opcode"]),
                "line": op["line"],
                "verdict": op["verdict"],
                "cosine": writing.measured(op["cosine"]),
                "error": writing.measured(op["max_abs"]),
                "was": op["was"],
            }
            for op in ops[:_OPS]
        ],
        "pictures": [_picture(op) for op in ops if op["picture"]][:_PICTURES],
    }


def _picture(op: Mapping[str, Any]) -> ZooPicture:
    return {"name": visible(op["name"]), "heat": error_letters(json.loads(op["picture"]))}
