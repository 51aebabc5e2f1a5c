"""Targets: texts that are open in an editor."""

from __future__ import annotations

from scripts.robustness.fuzz_parsers.target import target
from tdb_dap.language.document_kinds import document_of
from tdb_dap.language.documents import Documents
from tdb_dap.tools.programs import open_program
from tests.samples import SAMPLE


def ask(uri: str, text: str) -> None:
    """Everything that an editor asks about a text."""
    documents = Documents(document_of)
    document = documents.put(uri, text)
    last = len(document.lines) - 1
    list(document.folds())
    document.outline()
    list(document.lenses())
    document.problems()
    for line in sorted({0, last // 2, last}):
        tokens = document.tokens(line)
        list(document.hints(line))
        for column in {0, *(token.start for token in tokens[:4]), len(document.lines[line])}:
            document.hover(line, column)
            document.definitions(line, column)
            document.references(line, column, True)


_MLIR = ('"tpu.Conv2D"(', "loc(#loc1)", "#loc1 = loc(", "func.func @main(", "-> tensor<1x3xf32>", "%1 = ", "({", "})")


@target("mlir document", lambda: [(SAMPLE / "final.mlir").read_bytes()[:6000]], words=_MLIR, longest=8192)
def mlir_document(data: bytes) -> None:
    """A file of MLIR."""
    ask("file:///nowhere/final.mlir", data.decode("utf-8", "replace"))


@target(
    "listing document",
    lambda: [open_program(SAMPLE).listing.text.encode()[:3000]],
    words=("wait B1", "%R0: ", "B12:", "D3@core1:", "subnet 0"),
)
def listing_document(data: bytes) -> None:
    """A disassembly."""
    ask("file:///nowhere/x.tdbasm", data.decode("utf-8", "replace"))
