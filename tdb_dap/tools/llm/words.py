"""Texts and the numbers of their tokens, as the tokenizer beside a model has them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from tdb_dap.errors import BadInput

_PLACES = ("tokenizer.json", "config/tokenizer.json")


class Words(Protocol):
    """A tokenizer."""

    def ids(self, text: str) -> list[int]:
        """Numbers of the tokens of a text."""
        ...

    def text(self, ids: Sequence[int]) -> str:
        """Text of tokens."""
        ...


class _Tokenizer:
    """tokenizer.json, read by the package ``tokenizers``."""

    def __init__(self, made: Any) -> None:
        self._made = made

    def ids(self, text: str) -> list[int]:
        found: list[int] = self._made.encode(text).ids
        return found

    def text(self, ids: Sequence[int]) -> str:
        found: str = self._made.decode(list(ids), skip_special_tokens=False)
        return found


def prompt_ids(prompt: str | Sequence[int], folder: Path) -> list[int]:
    """Numbers of the tokens of a prompt, by the tokenizer in ``folder`` if it is a text; BadInput without one."""
    if not isinstance(prompt, str):
        return list(prompt)
    words = find_tokenizer([folder])
    if words is None:
        raise BadInput(
            f"{folder}: no tokenizer.json is in it or in config; copy it there from the model, or give the prompt as "
            "numbers of tokens"
        )
    return words.ids(prompt)


def find_tokenizer(folders: Sequence[Path]) -> Words | None:
    """The tokenizer in the first folder that has one; None if none has. BadInput where it cannot be used."""
    places = [folder / place for folder in folders for place in _PLACES]
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        return None
    try:
        import tokenizers
    except ImportError:
        raise BadInput(
            f"{path}: the package tokenizers reads it: pip install 'tdb-dap[llm]', or give the prompt with --ids"
        ) from None
    try:
        return _Tokenizer(tokenizers.Tokenizer.from_file(str(path)))
    except Exception as error:  # the package raises no class of its own
        raise BadInput(f"{path}: cannot be used: {error}") from None
