"""Findings in SARIF 2.1.0, the format in which editors and continuous integration take results of analyses."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tdb_dap.tools.findings.findings import Finding, Findings, Place
from tdb_dap.version import __version__

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

FINGERPRINT = "tdb/v2"
"""Name of the kind of fingerprint; another one whenever what it is made of changes."""


def sarif(findings: Findings) -> str:
    """One run with all findings; files are named relative to the current directory where they are below it."""
    names = list(findings.rules)
    rules = [
        {
            "id": name,
            "name": name.capitalize(),
            "shortDescription": {"text": rule.label},
            "fullDescription": {"text": rule.description},
        }
        for name, rule in findings.rules.items()
    ]
    notes = [{"level": "error", "message": {"text": findings.stopped}}] if findings.stopped else []
    run = {
        "tool": {"driver": {"name": "tdb-dap", "version": __version__, "rules": rules}},
        "automationDetails": {"id": f"tdb-dap/{findings.command}/{findings.model}/{findings.net}/{findings.stage}/"},
        "invocations": [{"executionSuccessful": not findings.stopped, "toolExecutionNotifications": notes}],
        "results": [_result(findings, names, finding) for finding in findings.findings],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _result(findings: Findings, names: list[str], finding: Finding) -> dict[str, Any]:
    state = {"baselineState": "unchanged" if finding.is_known else "new"} if findings.has_baseline else {}
    return {
        "ruleId": finding.rule,
        "ruleIndex": names.index(finding.rule),
        "level": finding.level,
        "message": {"text": finding.text},
        "locations": [_location(finding.place)],
        "relatedLocations": [
            {"id": number, "message": {"text": other.text}, **_location(other)}
            for number, other in enumerate(finding.related)
        ],
        # The same fault in another build of the model is the same result.
        "partialFingerprints": {FINGERPRINT: finding.fingerprint},
        **state,
    }


def _location(place: Place) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": {"uri": _uri(place.file)}}
    if place.line:
        physical["region"] = {"startLine": place.line}
    logical = {"name": place.name, "fullyQualifiedName": place.full_name, "kind": place.kind}
    return {"physicalLocation": physical, "logicalLocations": [logical]}


def _uri(file: str) -> str:
    path = Path(file).absolute()
    try:
        return quote(os.fsencode(path.relative_to(Path.cwd()).as_posix()))
    except ValueError:
        return path.as_uri()
