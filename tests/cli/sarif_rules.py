"""The rules of SARIF 2.1.0, as far as reports of this package use it, written from the standard's text.

What a report does not use is not allowed here, so that a new part of it is written down as well.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote, urlsplit

from jsonschema import Draft202012Validator


def _object(required: str = "", /, **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required.split() or list(properties),
        "additionalProperties": False,
    }


def _array(items: Any, **limits: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **limits}


TEXT = {"type": "string", "minLength": 1}
INDEX = {"type": "integer", "minimum": 0}
LEVEL = {"enum": ["none", "note", "warning", "error"]}
MESSAGE = _object(text=TEXT)
PHYSICAL = _object(
    "artifactLocation",
    artifactLocation=_object(uri=TEXT),
    region=_object(startLine={"type": "integer", "minimum": 1}),
)
LOGICAL = _object(name=TEXT, fullyQualifiedName=TEXT, kind=TEXT)
PLACE = {"physicalLocation": PHYSICAL, "logicalLocations": _array(LOGICAL, minItems=1)}
RULE = _object(id=TEXT, name=TEXT, shortDescription=MESSAGE, fullDescription=MESSAGE)
RESULT = _object(
    "ruleId ruleIndex level message locations relatedLocations partialFingerprints",
    ruleId=TEXT,
    ruleIndex=INDEX,
    level=LEVEL,
    message=MESSAGE,
    locations=_array(_object("", **PLACE), minItems=1),
    relatedLocations=_array(_object("", id=INDEX, message=MESSAGE, **PLACE), uniqueItems=True),
    partialFingerprints={"type": "object", "minProperties": 1, "additionalProperties": TEXT},
    baselineState={"enum": ["new", "unchanged", "updated", "absent"]},
)
RUN = _object(
    tool=_object(driver=_object(name=TEXT, version=TEXT, rules=_array(RULE, uniqueItems=True))),
    automationDetails=_object(id=TEXT),
    invocations=_array(
        _object(
            executionSuccessful={"type": "boolean"},
            toolExecutionNotifications=_array(_object(level=LEVEL, message=MESSAGE)),
        )
    ),
    results=_array(RESULT),
)
LOG = _object(
    "",
    **{"$schema": {"type": "string", "format": "uri"}},
    version={"const": "2.1.0"},
    runs=_array(RUN, minItems=1, maxItems=1),
)


Draft202012Validator.check_schema(LOG)
VALIDATOR = Draft202012Validator(LOG)


def violations(log: dict[str, Any]) -> list[str]:
    """Rules that a log breaks: of its form, then of what its parts say about each other."""
    found = [f"{error.json_path}: {error.message}" for error in VALIDATOR.iter_errors(log)]
    return found or [text for run in log["runs"] for text in _contradictions(run)]


def _contradictions(run: dict[str, Any]) -> list[str]:
    found = []
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    if len(set(rules)) < len(rules):
        found.append("two rules have the same id")
    states = {"baselineState" in result for result in run["results"]}
    if len(states) > 1:
        found.append("some results have a baseline state, and some none")
    prints: list[str] = []
    for result in run["results"]:
        prints += result["partialFingerprints"].values()
        if result["ruleIndex"] >= len(rules) or rules[result["ruleIndex"]] != result["ruleId"]:
            found.append(f"{result['ruleId']}: its index is of another rule")
        related = [place["id"] for place in result["relatedLocations"]]
        if len(set(related)) < len(related):
            found.append("two related locations have the same id")
        for place in [*result["locations"], *result["relatedLocations"]]:
            uri = place["physicalLocation"]["artifactLocation"]["uri"]
            split = urlsplit(uri)
            if any(letter in uri for letter in ' \\<>"{}|^`') or not uri.isascii() or split.query or split.fragment:
                found.append(f"{uri}: is no URI of a file")
            if split.scheme not in ("", "file") or "\0" in unquote(uri):
                found.append(f"{uri}: is not the URI of a file")
    if len(set(prints)) < len(prints):
        found.append("two results have the same fingerprint")
    return found
