"""A command that is a matrix product of float32, and its factors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tdb_dap.api import Chip, Constant, Memory, Rules, View

Float32 = NDArray[np.float32]


@dataclass(frozen=True)
class Factors:
    """``left`` (rows, inner), ``right`` (inner, columns), ``bias`` (columns), ``second`` (rows, columns); C-contiguous.

    The chip adds in two chains: [bias, second, products] go to them in turn; ``position``: how many of these are no
    products. No number is subnormal.
    """

    left: Float32
    right: Float32
    bias: Float32
    second: Float32
    position: int


@dataclass(frozen=True)
class Product:
    """``mm.normal`` of float32: result = left x right + bias (+ old)."""

    left: View
    right: View
    bias: View | Constant
    old: View | None
    result: View
    is_left_turned: bool
    rules: Rules

    @property
    def size(self) -> int:
        """Number of products of factors."""
        return int(np.prod(self.left.shape)) * self.result.shape[1]

    def factors(self, memory: Memory) -> Factors:
        """The numbers at this moment, subnormals flushed to zero as the chip does."""
        left, right = read(memory, self.left), read(memory, self.right)
        shape = self.result.shape
        if isinstance(self.bias, View):
            bias = read(memory, self.bias)
        else:
            number = np.array([[self.bias.bits]], np.uint32).view(np.float32)
            bias = np.broadcast_to(flushed(self.rules.first_bias("mm", number, True)), (1, shape[1]))
        second = np.full(shape, self.rules.first_zero, np.float32) if self.old is None else read(memory, self.old)
        return Factors(
            np.ascontiguousarray(left.T if self.is_left_turned else left),
            right,
            np.ascontiguousarray(bias.reshape(-1)),
            second,
            1 if self.old is None else 2,
        )


def product_of(description: Any, chip: Chip) -> Product | None:
    """The matrix product that a described command is; None for another command, or one that is not formed here."""
    roles: Mapping[str, Any] = dict(zip(description.operand_roles, description.operands, strict=True))
    attributes, rules = description.attributes, chip.rules
    if description.name != "mm.normal" or rules is None or rules.fast or attributes.get("do_relu"):
        return None
    left, right, bias, (result,) = roles["left"], roles["right"], roles["bias"], description.results
    views = [view for view in (left, right, result) if isinstance(view, View)]
    old = next((view for view in description.reads if view not in description.operands), None)
    if len(views) < 3 or any(operand.dtype.name != "f32" for operand in (*views, bias)):
        return None
    if attributes["res_add"] and old is None:
        return None
    return Product(left, right, bias, old, result, bool(attributes["l_trans"]), rules)


def read(memory: Memory, view: View) -> Float32:
    """The numbers of a float32 tensor, subnormals flushed to zero."""
    return flushed(np.ascontiguousarray(memory.read(view)).view(np.float32))


def flushed(numbers: Float32) -> Float32:
    """Subnormals replaced by zero of their sign."""
    words = numbers.view(np.uint32)
    is_subnormal = (words & 0x7F800000) == 0
    return np.where(is_subnormal, words & 0x80000000, words).astype(np.uint32).view(np.float32)
