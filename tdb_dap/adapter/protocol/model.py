"""Base of the types of the wire, and the way from JSON to them and back.

They are structs of msgspec: made and written at the speed of C, and nothing large is imported for them. What a client
sends and msgspec does not take goes to a pydantic model with the same fields. It takes what can be converted (``"1"``
for 1), or says in one sentence for each field what is wrong.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from tdb_dap.engine.rendering.printable import field_path, first_of
from tdb_dap.errors import TdbError
from tdb_dap.system.twins import twin


class BadArguments(TdbError):
    """Arguments of a request that do not have the form of their type."""


class ProtocolModel(msgspec.Struct, omit_defaults=True):
    """Base of all: fields that a client adds are ignored, those that are None are not sent."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """For pydantic it is the model with the same fields."""
        from pydantic_core import core_schema  # for arguments that msgspec does not take, and for generators

        fields = handler.generate_schema(twin(cls))
        return core_schema.no_info_after_validator_function(lambda taken: _struct(cls, taken), fields)


Model = TypeVar("Model", bound=ProtocolModel)


def validated(model: type[Model], given: Mapping[str, Any]) -> Model:
    """The model for what a client has sent; BadArguments names each field that is wrong."""
    try:
        return msgspec.convert(given, model)
    except (ValueError, RecursionError):  # msgspec.ValidationError is one; so is half a surrogate pair
        return _converted(model, given)


def plain(model: ProtocolModel) -> dict[str, Any]:
    """A model as it is sent: dictionaries and lists, without the fields that are None."""
    body: dict[str, Any] = msgspec.to_builtins(model)
    return body


def _converted(model: type[Model], given: Mapping[str, Any]) -> Model:
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # looking for plugins costs as much as starting
    from pydantic import ValidationError  # takes 0.06 s, and most sessions never need it here

    try:
        return _struct(model, twin(model).model_validate(given))
    except ValidationError as error:
        raise BadArguments(_text(error)) from None


def _struct(model: type[Model], taken: Any) -> Model:
    """The struct with the fields of its twin."""
    return model(**dict(taken))


def _text(error: Any) -> str:
    """One line: where and what, for the first problems of a ValidationError."""
    return first_of([f"{field_path(problem['loc']) or 'arguments'}: {problem['msg']}" for problem in error.errors()])
