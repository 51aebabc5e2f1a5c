"""pydantic models with the fields of structs: for errors that name each wrong field, and for JSON schemas."""

from __future__ import annotations

import functools
from typing import Any, get_type_hints

import msgspec


@functools.cache
def twin(model: type[msgspec.Struct]) -> Any:
    """The pydantic model with the fields of a struct; it forbids other fields if the struct does."""
    from pydantic import ConfigDict, create_model  # takes 0.06 s, and most sessions never need it

    hints = get_type_hints(model)
    fields: dict[str, Any] = {
        field.name: (hints[field.name], ... if field.required else field.default)
        for field in msgspec.structs.fields(model)
    }
    config = ConfigDict(
        defer_build=True,
        extra="forbid" if model.__struct_config__.forbid_unknown_fields else "ignore",
        protected_namespaces=(),
    )
    return create_model(model.__name__, __config__=config, __doc__=model.__doc__, **fields)
