"""Common part of the schemas of all reports, and the way from them to JSON and back.

They are structs of msgspec, as messages are: nothing large is imported for a report that nobody writes.
"""

from __future__ import annotations

import json
import math
from typing import Any, TypeVar

import msgspec

from tdb_dap.system.twins import twin


class Reported(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of a report."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """For pydantic, which describes types to generators, it is the model with the same fields."""
        return handler.generate_schema(twin(cls))


class Measured(Reported, frozen=True, kw_only=True):
    """A part with numbers; infinities and NaN are texts in JSON."""


Schema = TypeVar("Schema")


def json_form(report: Reported) -> dict[str, Any]:
    """A report as JSON has it: dictionaries, lists, texts, and numbers that are finite.

    A byte of a path that is no UTF-8 becomes an escape; NaN and infinities become the texts NaN, Infinity and
    -Infinity.
    """
    body: dict[str, Any] = _storable(msgspec.to_builtins(report, enc_hook=_number))
    return body


def json_text(report: Reported, indent: int | None = None) -> str:
    """Text of a report in JSON."""
    separators = (",", ":") if indent is None else (",", ": ")
    return json.dumps(json_form(report), indent=indent, ensure_ascii=False, allow_nan=False, separators=separators)


def read(schema: type[Schema], text: bytes | str) -> Schema:
    """A report, or a list of its parts, from JSON; ValueError says where it is something else."""
    try:
        return msgspec.json.decode(text, type=schema, strict=False)
    except RecursionError:
        raise ValueError("is nested too deeply") from None


def _number(value: Any) -> Any:
    """A number of NumPy as one of Python."""
    return value.item()


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, float):
        return value if math.isfinite(value) else _NOT_FINITE[repr(value)]
    if isinstance(value, dict):
        return {name: _storable(part) for name, part in value.items()}
    return [_storable(part) for part in value] if isinstance(value, list | tuple) else value


_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
