"""Write docs/capabilities.md: what this adapter announces, beside six others, and the test that uses it.

    python -m scripts.generate_capabilities            rewrite the table
    python -m scripts.generate_capabilities --check    exit 1 if it is out of date

Rows: the capabilities of the protocol's schema. Ours: what `initialize` answers. Tests: the marks in tests/adapter.
The others: `other_adapters.json`, with the version and where it was read.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
from pathlib import Path

from scripts.generated import ROOT, write_or_check
from tdb_dap.adapter.server import AREAS
from tdb_dap.adapter.session.handlers import capabilities

TABLE = ROOT / "docs" / "capabilities.md"
SCHEMA = ROOT / "tdb_dap" / "adapter" / "protocol" / "dap-1.71.json"
OTHERS = Path(__file__).with_name("other_adapters.json")

# Why the rest is not there; a capability that is neither announced nor here is reported.
NOT_ANNOUNCED = {
    "supportsExceptionOptions": "superseded by filter options, which are there",
    "supportTerminateDebuggee": "what is debugged lives in the adapter: it ends with the session in any case",
    "supportSuspendDebuggee": "the same",
    "supportsTerminateThreadsRequest": "a core of the chip cannot end on its own",
}

HEAD = """# Capabilities

The adapter announces {ours} of the {all} capabilities of the Debug Adapter Protocol {version}. The answer to
`initialize` is computed from the handlers that exist, and each capability has a test that uses it as a client would.
Written by `scripts/generate_capabilities.py`.

"""


def tests() -> dict[str, str]:
    """The first test of each capability, as ``file: name``."""
    found: dict[str, str] = {}
    mark = re.compile(r'((?:@pytest\.mark\.capability\("\w+"\)\n)+)(?:@.*\n)*def (\w+)')
    for path in sorted((ROOT / "tests" / "adapter").glob("test_*.py")):
        for match in mark.finditer(path.read_text("utf-8")):
            for name in re.findall(r'"(\w+)"', match[1]):
                found.setdefault(name, f"[{match[2]}](../tests/adapter/{path.name})")
    return found


def table() -> str:
    """The whole page."""
    for area in AREAS:
        importlib.import_module(f"tdb_dap.adapter.{area}")
    schema = json.loads(SCHEMA.read_text("utf-8"))
    known = list(schema["definitions"]["Capabilities"]["properties"])
    ours = {name for name, value in capabilities().items() if value}
    others = json.loads(OTHERS.read_text("utf-8"))
    used = tests()
    lacking = [name for name in known if name not in ours and name not in NOT_ANNOUNCED]
    lacking += [name for name in ours if name not in known or name not in used]
    if lacking:
        sys.exit(f"neither announced with a test nor explained: {', '.join(lacking)}")
    names = list(others)
    rows = [["capability", *names, "ours", "test, or why not"], ["---", *[":-:"] * (len(names) + 1), "---"]]
    for name in known:
        marks = ["x" if name in others[other]["capabilities"] else "" for other in names]
        rows.append([name, *marks, *(["x", used[name]] if name in ours else ["", NOT_ANNOUNCED[name]])])
    counts = [str(sum(name in others[other]["capabilities"] for name in known)) for other in names]
    rows.append(["together", *counts, str(len(ours)), ""])
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    sources = [f"- {name} {other['version']}: {other['from']}" for name, other in others.items()]
    head = HEAD.format(ours=len(ours), all=len(known), version="1.71")
    return head + "\n".join([*lines, "", "The others, as read:", "", *sources, ""])


def texts() -> dict[Path, str]:
    """The page, as it should be."""
    return {TABLE: table()}


if __name__ == "__main__":
    sys.exit(write_or_check(__doc__, texts))
