"""The answer of a language model that a session runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdb_dap.engine.rendering.printable import visible
from tdb_dap.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tdb_dap.tools.llm.judging.float_reference import FloatReference
    from tdb_dap.tools.llm.words import Words


class Answering:
    """Tokens and comparison of the answer of a session. ``float_reference``: None where it runs none."""

    def __init__(self) -> None:
        self.float_reference: FloatReference | None = None
        self._words: Words | None = None

    def begin(self, float_reference: FloatReference | None, folders: Sequence[Path] = ()) -> None:
        """Take down another answer. ``folders``: where a tokenizer may be."""
        from tdb_dap.tools.llm.words import find_tokenizer

        self.float_reference, self._words = float_reference, None
        try:
            self._words = find_tokenizer(folders)
        except BadInput:
            return  # the text is shown only where it can be

    def text(self, ids: Sequence[int]) -> str | None:
        """Text of tokens; None without a tokenizer, or where one of them is not known."""
        return visible(self._words.text(ids)) if self._words is not None and None not in ids else None
