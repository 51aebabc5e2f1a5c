"""Registry of host operations: function of each, and layout of its parameters in the bmodel."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from msgspec import Struct

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.errors import NotSimulated

Parameters = Mapping[str, Any]
Function = Callable[[Sequence[Array], Parameters], Sequence[Array]]
F = TypeVar("F", bound=Function)

_CODES = {int: "i", float: "f", bool: "?"}


class HostOperation(Struct, frozen=True):
    """``parameters``: fields of the C structure in the bmodel by name, in order: int, float (both 4 bytes) or bool."""

    function: Function
    parameters: Mapping[str, type]

    def unpack(self, data: bytes) -> Parameters:
        """The fields of a structure with the alignment of C; one that an older compiler does not write is zero."""
        values: dict[str, Any] = {}
        offset = 0
        for name, kind in self.parameters.items():
            size = 1 if kind is bool else 4
            offset = -(-offset // size) * size
            given = len(data) >= offset + size
            values[name] = struct.unpack_from(f"<{_CODES[kind]}", data, offset)[0] if given else kind(0)
            offset += size
        return values


HOST_OPERATIONS: dict[str, HostOperation] = {}
"""Operations by their name without ``CPU_``."""


def host_operation(name: str, **parameters: type) -> Callable[[F], F]:
    """Declare that a function carries out the operation; ``parameters`` as in ``HostOperation``.

    It is given the inputs (float32 or int32) and the parameters by name, and returns the outputs; one shorter than its
    tensor fills the front of it.
    """

    def declare(function: F) -> F:
        HOST_OPERATIONS[name] = HostOperation(function, parameters)
        return function

    return declare


def execute(name: str, inputs: Sequence[Array], data: bytes) -> list[Array]:
    """Carry out an operation; NotSimulated if it or one of its modes is not known, or the inputs do not fit it."""
    operation = HOST_OPERATIONS.get(name)
    if operation is None:
        raise NotSimulated(f"CPU_{name} is not simulated yet; simulated are {', '.join(sorted(HOST_OPERATIONS))}")
    with np.errstate(all="ignore"):
        try:
            return list(operation.function(inputs, operation.unpack(data)))
        except IndexError:
            raise NotSimulated(f"CPU_{name} does not fit its inputs ({len(inputs)})") from None
        except ValueError as error:
            raise NotSimulated(f"CPU_{name}: its inputs do not fit together: {error}") from None
