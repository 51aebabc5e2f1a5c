"""Findings as the XML that JUnit has made customary, which every continuous integration shows."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from tdb_dap.engine.rendering.printable import visible
from tdb_dap.tools.findings.findings import Case, Findings

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(findings: Findings) -> str:
    """A test case for each op or tensor. A finding that is known skips its case; a warning is its output."""
    suite = Element("testsuite", name=_text(f"tdb-dap {findings.command} {findings.net}"))
    for case in findings.cases:
        _add(suite, findings, case)
    if findings.stopped:
        stopped = SubElement(suite, "testcase", classname=_text(findings.net), name="the run reaches its end")
        SubElement(stopped, "error", message=_text(findings.stopped))
    counts = {
        "tests": len(suite),
        "failures": len(suite.findall("testcase/failure")),
        "errors": len(suite.findall("testcase/error")),
        "skipped": len(suite.findall("testcase/skipped")),
    }
    suites = Element("testsuites")
    suites.append(suite)
    for element in (suite, suites):
        for name, count in counts.items():
            element.set(name, str(count))
    indent(suites, " ")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(suites, "unicode")}\n'


def _add(suite: Element, report: Findings, case: Case) -> None:
    element = SubElement(suite, "testcase", classname=_text(f"{report.net}.{case.group}"), name=_text(case.name))
    findings = [report.findings[number] for number in case.findings]
    failing = [finding for finding in findings if finding.fails and not finding.is_known]
    known = [finding for finding in findings if finding.is_known]
    if failing:
        # Some readers show the first failure of a case only.
        message = failing[0].text if len(failing) == 1 else f"{len(failing)} findings, the first: {failing[0].text}"
        failure = SubElement(element, "failure", message=_text(message), type=failing[0].rule)
        failure.text = _text("\n".join(f"{finding.text} [{finding.rule}]" for finding in failing))
    elif known:
        SubElement(element, "skipped", message=_text(f"known: {known[0].text}"))
    elif case.left_out:
        SubElement(element, "skipped", message=_text(case.left_out))
    others = [finding for finding in findings if finding not in failing]
    if others:
        output = SubElement(element, "system-out")
        output.text = _text("\n".join(f"{finding.level}: {finding.text} [{finding.rule}]" for finding in others))


def _text(text: str) -> str:
    """Text that an XML document can hold, and that is shown as it is."""
    return _NOT_XML.sub(lambda match: ascii(match[0])[1:-1], visible(text))
