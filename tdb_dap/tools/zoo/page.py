"""The report of a zoo as one page that needs no server and nothing from the network."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from tdb_dap.engine.rendering.printable import visible
from tdb_dap.tools.check.html import error_letters
from tdb_dap.tools.pages import writing
from tdb_dap.tools.zoo.changes import Overview, Seen, ops_of
from tdb_dap.tools.zoo.result import STATUSES

if TYPE_CHECKING:
    from tdb_dap.tools.pages.data import ZooCase, ZooDetail, ZooPage, ZooPicture, ZooRun
    from tdb_dap.tools.zoo.store import Run, Store

_DETAILED = 2000
"""Cases whose ops are in the page; of others it has the command that shows them."""

_OPS = 12
_PICTURES = 3
_SLOWEST = 20
_COLUMNS = 60
"""Columns of the matrix: chips and precisions."""


def page(store: Store, found: Overview) -> str:
    """The whole document."""
    return writing.page(visible(f"{found.run.name}: run {found.run.id}"), _data(store, found))


def moment(seconds: float) -> str:
    """A moment in UTC, to the minute."""
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M UTC")


def _data(store: Store, found: Overview) -> ZooPage:
    interesting = [one for one in found.seen if one.wrong or one.change][:_DETAILED]
    detailed = {id(one): number for number, one in enumerate(interesting)}
    cases = [_case(one, detailed.get(id(one))) for one in found.seen]
    return {
        "kind": "zoo",
        "name": visible(found.run.name),
        "run": found.run.id,
        "started": moment(found.run.started),
        "tool": found.run.tool,
        "complete": found.run.ended is not None,
        "expected": found.run.cases,
        "before": _run(found.before, {}) if found.before else None,
        "statuses": list(STATUSES),
        "failures": len(found.failures),
        "cases": cases,
        "details": [_detail(store, one) for one in interesting],
        "columns": _COLUMNS,
        "gone": [visible(key) for key in found.gone[:100]],
        "tolerated": [
            {
                "case": visible(one.case.key),
                "what": visible(wrong.text),
                "owner": wrong.tolerated.owner,
                "until": str(wrong.tolerated.until),
            }
            for one, wrong in found.tolerated[:500]
            if wrong.tolerated is not None
        ],
        "expired": [
            {"case": entry.case, "what": entry.what, "owner": entry.owner, "until": str(entry.until)}
            for entry in found.contract.expired
        ],
        "flaky": [(visible(key), statuses) for key, statuses in list(found.flaky.items())[:200]],
        "trend": [_run(run, counts) for run, counts in found.history[-100:]],
        "slowest": sorted(range(len(cases)), key=lambda number: -cases[number]["seconds"])[:_SLOWEST],
    }


def _run(run: Run, counts: dict[str, int]) -> ZooRun:
    return {"run": run.id, "started": moment(run.started), "counts": [counts.get(status, 0) for status in STATUSES]}


def _case(one: Seen, detail: int | None) -> ZooCase:
    case = one.case
    return {
        "key": visible(case.key),
        "model": visible(case.model),
        "column": visible(f"{case.chip} {case.precision}"),
        "status": case.status,
        "change": one.change,
        "seconds": round(case.seconds, 2),
        "was": round(one.was.seconds, 2) if one.was is not None else None,
        "counts": any(wrong.counts for wrong in one.wrong),
        "detail": detail,
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
