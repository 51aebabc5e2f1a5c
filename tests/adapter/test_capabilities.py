"""What initialize answers, and the code that is made from the protocol's schema."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.dap_client import DapClient

ROOT = Path(__file__).resolve().parents[2]


def test_the_answer_is_the_set_of_what_exists(client: DapClient):
    capabilities = client.raw.initialize(**client.traits)
    for name in (
        "supportsConfigurationDoneRequest",
        "supportsStepBack",
        "supportsSteppingGranularity",
        "supportsReadMemoryRequest",
        "supportsDisassembleRequest",
        "supportsConditionalBreakpoints",
        "supportsDataBreakpoints",
        "supportsDataBreakpointBytes",
        "supportsGotoTargetsRequest",
        "supportsRestartFrame",
        "supportsSetVariable",
        "supportsSetExpression",
        "supportsWriteMemoryRequest",
    ):
        assert capabilities[name] is True
    filters = {known["filter"]: known for known in capabilities["exceptionBreakpointFilters"]}
    assert {"mismatch", "divergence"} <= set(filters)
    assert [mode["mode"] for mode in capabilities["breakpointModes"]] == ["before", "after", "change"]
    client.disconnect()


def test_the_protocol_types_are_what_the_generator_writes():
    script = ROOT / "scripts" / "generate_protocol.py"
    subprocess.run([sys.executable, str(script), "--check"], check=True)
