"""How long the language server takes to answer in a very large file.

    python benchmarks/language.py [--megabytes 50]

The ops of the bundled sample are repeated until final.mlir is that large. Measured through the wire, with pygls' own
client, after the file has been opened: hover, definition and references, as medians, in milliseconds.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

SAMPLE = Path(__file__).parent.parent / "tdb_dap" / "sample" / "final.mlir"
_ASKED = 40


def large(megabytes: int) -> str:
    """The sample with its function of ops repeated, each copy under a name of its own."""
    lines = SAMPLE.read_text().split("\n")
    start = next(n for n, line in enumerate(lines) if "func.func @subfunc_0" in line)
    stop = next(n for n in range(start, len(lines)) if lines[n] == "    } loc(#loc)")
    body = "\n".join(lines[start : stop + 1])
    copies = (megabytes << 20) // len(body)
    bodies = [body.replace("@subfunc_0", f"@subfunc_{number}") for number in range(copies)]
    return "\n".join([*lines[:start], *bodies, *lines[stop + 1 :]])


async def measure(text: str) -> None:
    client = LanguageClient("benchmark", "1")
    await client.start_io(sys.executable, "-m", "tdb_dap", "lsp")
    await client.initialize_async(lsp.InitializeParams(lsp.ClientCapabilities()))
    client.initialized(lsp.InitializedParams())
    document = lsp.TextDocumentIdentifier("file:///final.mlir")
    started = time.perf_counter()
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(document.uri, "mlir", 1, text)))
    first = lsp.HoverParams(document, lsp.Position(0, 0))
    await client.text_document_hover_async(first)
    print(f"{len(text) / 1e6:.0f} MB opened and indexed in {time.perf_counter() - started:.2f} s")
    lines = text.split("\n")
    choice = random.Random(0)
    places = []
    while len(places) < _ASKED:
        line = choice.randrange(len(lines))
        if match := re.search(r"\((%\d+)", lines[line]):
            places.append(lsp.Position(line, match.start(1) + 1))
    context = lsp.ReferenceContext(include_declaration=True)
    ask: dict[str, Callable[[lsp.Position], Awaitable[Any]]] = {
        "hover": lambda place: client.text_document_hover_async(lsp.HoverParams(document, place)),
        "definition": lambda place: client.text_document_definition_async(lsp.DefinitionParams(document, place)),
        "references": lambda place: client.text_document_references_async(
            lsp.ReferenceParams(context, document, place)
        ),
    }
    for name, function in ask.items():
        times = []
        for place in places:
            before = time.perf_counter()
            assert await function(place), f"{name} at {place}"
            times.append(1e3 * (time.perf_counter() - before))
        print(f"{name:12} median {statistics.median(times):6.2f} ms, longest {max(times):6.2f} ms")
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--megabytes", type=int, default=50)
    asyncio.run(asyncio.wait_for(measure(large(parser.parse_args().megabytes)), 300))


if __name__ == "__main__":
    main()
