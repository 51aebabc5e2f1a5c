"""Traits of the client from ``initialize``, and the translation of lines and paths that follows from it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from msgspec import Struct

from tdb_dap.adapter.protocol.types import InitializeRequestArguments
from tdb_dap.adapter.session.ansi import styled
from tdb_dap.engine.rendering.printable import visible
from tdb_dap.system.localisation import localised


class Traits(Struct, frozen=True):
    """Defaults are those of the protocol for a client that says nothing."""

    first_line: int = 1
    first_column: int = 1
    uses_uris: bool = False
    variable_type: bool = False
    memory_references: bool = False
    progress: bool = False
    invalidated: bool = False
    memory_event: bool = False
    ansi: bool = False
    name: str = ""
    locale: str = ""
    plain_category: Literal["console", "stdout"] = "console"
    """Of output that is neither an error nor important. VS Code shows the category of the debugger's own messages in
    the colour of warnings: https://github.com/microsoft/vscode/blob/main/src/vs/workbench/contrib/debug/browser/debugSession.ts
    """

    @classmethod
    def of(cls, arguments: InitializeRequestArguments) -> Traits:
        return cls(
            first_line=0 if arguments.linesStartAt1 is False else 1,
            first_column=0 if arguments.columnsStartAt1 is False else 1,
            uses_uris=arguments.pathFormat == "uri",
            variable_type=bool(arguments.supportsVariableType),
            memory_references=bool(arguments.supportsMemoryReferences),
            progress=bool(arguments.supportsProgressReporting),
            invalidated=bool(arguments.supportsInvalidatedEvent),
            memory_event=bool(arguments.supportsMemoryEvent),
            ansi=bool(arguments.supportsANSIStyling),
            name=arguments.clientName or arguments.clientID or "",
            locale=arguments.locale or "",
            plain_category="stdout" if arguments.clientID == "vscode" else "console",
        )

    def localised(self, text: str, *values: object) -> str:
        """One of our texts in the client's language, with values in the place of its braces."""
        made = localised(text, self.locale)
        return made.format(*values) if values else made

    def answer_out(self, text: str) -> str:
        """A value, or what a verb of the console prints: of our texts, in the client's language."""
        return self.text_out(localised(text, self.locale))

    def text_out(self, text: str) -> str:
        """A line that may be the user's own, with colours if the client shows them."""
        text = visible(text)
        return styled(text) if self.ansi else text

    def line_out(self, line: int) -> int:
        """Our line, from 1, as the client counts."""
        return line - 1 + self.first_line

    def line_in(self, line: int) -> int:
        """The client's line as we count, from 1."""
        return line - self.first_line + 1

    def path_out(self, path: Path) -> str:
        """A file as the client names files."""
        absolute = Path(os.path.abspath(path))
        return absolute.as_uri() if self.uses_uris else str(absolute)

    def path_in(self, text: str) -> Path:
        """The file that the client names; a ``file:`` URI is understood in any case."""
        if text.startswith("file:"):
            from urllib.parse import unquote, urlsplit

            path = unquote(urlsplit(text).path)
            if os.name == "nt":
                path = path.lstrip("/")
            return Path(path)
        return Path(text)
