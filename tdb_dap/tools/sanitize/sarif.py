"""Findings in SARIF 2.1.0, the format in which editors and continuous integration take results of analyses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tdb_dap.engine.checks.exception_filters import FILTERS
from tdb_dap.tools.sanitize.schema import CommandPlace, SanitizerFinding, SanitizerReport
from tdb_dap.version import __version__

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif(report: SanitizerReport) -> str:
    """One run with all findings; files are named relative to the current directory where they lie below it."""
    names = list(report.sanitizers)
    rules = [
        {
            "id": name,
            "name": name.capitalize(),
            "shortDescription": {"text": FILTERS[name].label},
            "fullDescription": {"text": FILTERS[name].description},
        }
        for name in names
    ]
    notes = [{"level": "error", "message": {"text": report.stopped}}] if report.stopped else []
    run = {
        "tool": {"driver": {"name": "tdb-dap", "version": __version__, "rules": rules}},
        "invocations": [{"executionSuccessful": not report.stopped, "toolExecutionNotifications": notes}],
        "results": [_result(report, names, finding) for finding in report.findings],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _result(report: SanitizerReport, names: list[str], finding: SanitizerFinding) -> dict[str, Any]:
    at = finding.command
    return {
        "ruleId": finding.sanitizer,
        "ruleIndex": names.index(finding.sanitizer),
        "level": finding.severity,
        "message": {"text": finding.text},
        "locations": [_location(report, at)],
        "relatedLocations": [
            {"id": number, "message": {"text": other.asm}, **_location(report, other)}
            for number, other in enumerate(finding.related)
        ],
        # The same fault in another build of the model is the same result.
        "partialFingerprints": {"tdb/v1": f"{finding.sanitizer}:{at.location or at.op}:{at.core}:{at.token}"},
    }


def _location(report: SanitizerReport, place: CommandPlace) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": {"uri": _uri(report.source if place.line else report.model)}}
    if place.line:
        physical["region"] = {"startLine": place.line}
    name = f"core {place.core}: {place.token} {place.name}"
    logical = {"name": name, "fullyQualifiedName": f"{place.location or report.net}: {name}", "kind": "instruction"}
    return {"physicalLocation": physical, "logicalLocations": [logical]}


def _uri(file: str) -> str:
    path = Path(file).absolute()
    try:
        return path.relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path.as_uri()
