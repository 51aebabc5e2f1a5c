"""Kind of document of a file."""

from __future__ import annotations

from tdb_dap.language.documents import Document, Documents
from tdb_dap.language.listing_document import ListingDocument
from tdb_dap.language.mlir_document import MlirDocument
from tdb_dap.language.text_ranges import path_of


def document_of(uri: str, text: str, documents: Documents) -> Document:
    """A disassembly by its name, else MLIR."""
    make = ListingDocument if path_of(uri).suffix == ".tdbasm" else MlirDocument
    return make(uri, text, documents)
