"""Several final.mlir as one text, in which functions and locations of several do not meet; lines stay lines."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tdb_dap.engine.source.mlir_attributes import integer

_ALIAS = re.compile(r"#loc(\d*)")
_FUNCTION = re.compile(r"@(main|subfunc_\d+)\b")
_ALIASES_APART = 10_000_000


class JoinedText:
    """``parts``: prefix of the names of the functions, and text, of each. ``before``: lines before each part."""

    def __init__(self, parts: Sequence[tuple[str, bytes]]) -> None:
        texts = [_apart(text, prefix, number) for number, (prefix, text) in enumerate(parts)]
        self.before: list[int] = []
        count = 0
        for text in texts:
            self.before.append(count)
            count += text.count(b"\n") + 1
        self.text = b"\n".join(texts)


def _apart(text: bytes, prefix: str, number: int) -> bytes:
    if not prefix:
        return text
    named = _FUNCTION.sub(lambda match: f"@{prefix}{match[1]}", text.decode("utf-8", "replace"))
    return _ALIAS.sub(lambda m: f"#loc{(number + 1) * _ALIASES_APART + integer(m[1] or '0')}", named).encode()
