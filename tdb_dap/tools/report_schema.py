"""Common part of the schemas of all reports."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, field_validator


class Reported(BaseModel):
    """A part of a report. Its texts can be stored: a byte of a path that is no UTF-8 becomes an escape."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @field_validator("*", mode="before")
    @classmethod
    def _storable(cls, value: Any) -> Any:
        return _storable(value)


class Measured(Reported):
    """A part with numbers; infinities and NaN are texts in JSON."""

    model_config = ConfigDict(ser_json_inf_nan="strings")


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, tuple | list) and value and isinstance(value[0], str):
        return type(value)(map(_storable, value))
    return value
