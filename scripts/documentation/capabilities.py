"""The capabilities that the adapter announces, next to those of six others, and the test that uses each.

Rows: the capabilities of the protocol's schema. Ours: what the handlers declare. Tests: the marks in tests/adapter.
The others: `other_adapters.json`, with the version and where it was read.
"""

from __future__ import annotations

import json
import re

from scripts.documentation.markdown import table
from scripts.generated import ROOT
from tdb_dap.adapter.areas import load
from tdb_dap.adapter.session.handlers import capabilities

SCHEMA = ROOT / "tdb_dap" / "adapter" / "protocol" / "dap-1.71.json"
OTHERS = ROOT / "scripts" / "other_adapters.json"

NOT_ANNOUNCED = {
    "supportsExceptionOptions": "superseded by filter options, which are there",
    "supportTerminateDebuggee": "what is debugged lives in the adapter: it ends with the session in any case",
    "supportSuspendDebuggee": "the same",
    "supportsTerminateThreadsRequest": "a core of the chip cannot end on its own",
}
"""Why the rest is not there."""


def page() -> str:
    """The whole page; LookupError names capabilities that are neither announced with a test nor explained."""
    load()
    known = list(json.loads(SCHEMA.read_text("utf-8"))["definitions"]["Capabilities"]["properties"])
    ours = {name for name, value in capabilities().items() if value}
    others = json.loads(OTHERS.read_text("utf-8"))
    used = _tests()
    lacking = [name for name in known if name not in ours and name not in NOT_ANNOUNCED]
    lacking += [name for name in ours if name not in known or name not in used]
    if lacking:
        raise LookupError(f"neither announced with a test nor explained: {', '.join(lacking)}")
    rows = []
    for name in known:
        marks = ["x" if name in other["capabilities"] else "" for other in others.values()]
        rows.append([name, *marks, *(["x", used[name]] if name in ours else ["", NOT_ANNOUNCED[name]])])
    counts = [sum(name in other["capabilities"] for name in known) for other in others.values()]
    sources = "\n".join(f"- {name} {other['version']}: {other['from']}" for name, other in others.items())
    return (
        "# Capabilities\n\n"
        f"The adapter announces {len(ours)} of the {len(known)} capabilities of the Debug Adapter Protocol 1.71, and "
        "each has a test that uses it as a client would.\n\n"
        f"{table(('capability', *others, 'ours', 'test, or why not'), [*rows, ['together', *counts, len(ours), '']])}"
        f"\n\nThe others, as read:\n\n{sources}\n"
    )


def _tests() -> dict[str, str]:
    """A link to the first test of each capability."""
    links: dict[str, str] = {}
    mark = re.compile(r'((?:@pytest\.mark\.capability\("\w+"\)\n)+)(?:@.*\n)*def (\w+)')
    for path in sorted((ROOT / "tests" / "adapter").glob("test_*.py")):
        for match in mark.finditer(path.read_text("utf-8")):
            for name in re.findall(r'"(\w+)"', match[1]):
                links.setdefault(name, f"[{match[2]}](../../tests/adapter/{path.name})")
    return links
