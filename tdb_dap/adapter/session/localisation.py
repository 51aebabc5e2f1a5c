"""The adapter's own texts in the language of the client, by their English text."""

from __future__ import annotations

from typing import Any

from tdb_dap.adapter.session.localisation_zh import TEXTS

_SIMPLIFIED = ("zh", "zh-cn", "zh-hans", "zh-sg")
_SHOWN = ("label", "description", "conditionDescription")
"""What a client shows of a capability."""


def localised(text: str, locale: str) -> str:
    """A text in the language of a locale such as ``zh-cn``; in English where the language or the text is not known."""
    if locale.lower().replace("_", "-") not in _SIMPLIFIED:
        return text
    return TEXTS.get(text, text)


def localised_capabilities(capabilities: Any, locale: str) -> Any:
    """Capabilities with the texts that a client shows in its language."""
    if isinstance(capabilities, dict):
        return {
            name: localised(item, locale)
            if name in _SHOWN and isinstance(item, str)
            else localised_capabilities(item, locale)
            for name, item in capabilities.items()
        }
    if isinstance(capabilities, list):
        return [localised_capabilities(item, locale) for item in capabilities]
    return capabilities
