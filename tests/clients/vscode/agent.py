"""An agent beside an editor: starts the server of a configuration and asks what ``agent.test.mjs`` tells it to.

    python agent.py CONFIGURATION.json [TOOL JSON]...

Prints the answers as a JSON list.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import anyio
import mcp


async def main() -> None:
    """Ask everything in one conversation."""
    [server] = json.loads(Path(sys.argv[1]).read_text("utf-8"))["mcpServers"].values()
    parameters = mcp.StdioServerParameters(command=server["command"], args=server["args"], env=server["env"])
    async with mcp.Client(mcp.stdio_client(parameters)) as agent:
        answers = []
        for tool, arguments in zip(sys.argv[2::2], sys.argv[3::2], strict=True):
            answer = await agent.call_tool(tool, json.loads(arguments))
            answers.append("".join(getattr(part, "text", "") for part in answer.content))
        print(json.dumps(answers))


if __name__ == "__main__":
    anyio.run(main)
