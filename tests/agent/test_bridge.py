"""A generic bridge from the Debug Adapter Protocol to agents, as its registry has it: docs/agents.md."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path

import anyio
import pytest

from tests.zoo.zoos import model

mcp = pytest.importorskip("mcp")

pytestmark = pytest.mark.install


def test_the_bridge_of_the_page_goes_to_an_op(tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    scripts = tmp_path / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
    wanted = [str(scripts / "python"), "-m", "pip", "install", "--quiet", "dap-mcp==0.1.5", "mcp<2"]
    subprocess.run(wanted, check=True, timeout=300, capture_output=True)
    context = model("toy", tmp_path)
    line = next(
        n for n, text in enumerate((context / "final.mlir").read_text().splitlines(), 1) if "tpu.Pool2D" in text
    )
    configuration = {
        "type": "lldb",
        "name": "toy",
        "request": "launch",
        "program": str(context),
        "stopOnEntry": True,
        "debuggerPath": sys.executable,
        "debuggerArgs": ["-m", "tdb_dap", "adapter"],
        "sourceDirs": [str(context)],
    }
    (tmp_path / "bridge.json").write_text(json.dumps(configuration))
    said: list[str] = []

    async def story() -> None:
        words = ["--config", str(tmp_path / "bridge.json")]
        parameters = mcp.StdioServerParameters(command=str(scripts / "dap-mcp"), args=words)
        async with mcp.Client(mcp.stdio_client(parameters)) as agent:
            for tool, arguments in (
                ("set_breakpoint", {"path": "final.mlir", "line": line}),
                ("launch", {}),
                ("continue_execution", {}),
                ("evaluate", {"expression": "max(in[0])"}),
                ("terminate", {}),
            ):
                with anyio.fail_after(60):
                    answer = await agent.call_tool(tool, arguments)
                said.append("".join(getattr(part, "text", "") for part in answer.content))

    anyio.run(story)
    assert '"verified": true' in said[0]
    assert float(json.loads(said[3].partition(">")[2].rpartition("<")[0])["result"]) > 0
