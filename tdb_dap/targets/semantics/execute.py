"""Execution in NumPy: operands are read through their views, computed, and results written through theirs."""

from __future__ import annotations

import math

import numpy as np

from tdb_dap.engine.hardware.dtypes import BF16, F8E4M3, F8E5M2, F16, F32, I4, SI4, UI4, Array, DType
from tdb_dap.engine.hardware.target import Words
from tdb_dap.engine.hardware.views import Constant, Operand, View
from tdb_dap.errors import NotSimulated
from tdb_dap.targets.families import Bound, arithmetic
from tdb_dap.targets.families.arithmetic import ABSOLUTE, ADD, CAST, COPY, DISTANCE, MAX, MIN, MUL, SUB, SUB_SATURATE
from tdb_dap.targets.families.compare import SELECT_EQUAL
from tdb_dap.targets.families.matrix import NN, NT, TT
from tdb_dap.targets.families.pooling import AVERAGE, DEPTHWISE, MAXIMUM, MINIMUM
from tdb_dap.targets.families.quantize import DQ1, DQ2, RQ1
from tdb_dap.targets.semantics import SEMANTICS
from tdb_dap.targets.semantics.registry import Operation, Semantic, Value
from tdb_dap.targets.semantics.rules import Rules

# Families that move no data in this machine: other cores' turns are the scheduler's business.
_WITHOUT_EFFECT = frozenset({"system", "registers"})


# Formats whose arithmetic has been compared with the vendor's simulator only in some forms (family, sub type);
# moving them is a matter of bytes.
_FLOAT8 = frozenset(
    {
        *(("arith", sub) for sub in (ABSOLUTE, ADD, CAST, COPY, MAX, MIN, MUL, SUB)),
        ("cmp", SELECT_EQUAL),
        ("conv", 0),
        *(("mm2", sub) for sub in (NN, NT, TT)),
        *(("pord", sub) for sub in (AVERAGE, DEPTHWISE, MAXIMUM, MINIMUM)),
    }
)
_OF_NIBBLES = frozenset(("quant", sub) for sub in (RQ1, DQ1, DQ2))
_PROVEN: dict[DType, frozenset[tuple[str, int]]] = {
    SI4: frozenset({("arith", CAST), ("conv", 0), *_OF_NIBBLES}),
    UI4: frozenset({("arith", CAST), ("arith", SUB_SATURATE), *_OF_NIBBLES}),
    F8E5M2: _FLOAT8,
    F8E4M3: _FLOAT8,
}


_CALCULATING = frozenset({"arith", "lin", "pord", "sfu", "vc"})
# What is selected is moved, whatever its format; only a cast has two.
_OF_TWO_FORMATS = frozenset(
    ("arith", sub) for sub in (CAST, arithmetic.SELECT_EQUAL, arithmetic.SELECT_GREATER, arithmetic.SELECT_LESS)
)
_COMPARING = frozenset(("arith", sub) for sub in (ABSOLUTE, DISTANCE, MAX, MIN))


_BY_ELEMENT = frozenset({"arith"})
_AT_ONCE = 1 << 20
"""Elements of a result that are computed at once."""


def execute(name: str, bound: Bound, memory: Words, rules: Rules) -> None:
    """Carry out one command; NotSimulated if its form has no semantic function or is undefined on the chip."""
    if bound.family.name in _WITHOUT_EFFECT:
        return
    function = SEMANTICS.get((bound.family.name, bound.fields.sub))
    if function is None or rules.does_lack(bound.family.name, bound.fields.sub):
        raise NotSimulated(f"{name} is not simulated yet")
    form = bound.family.name, bound.fields.sub
    for operand in (*bound.operands.values(), *bound.results.values()):
        if operand.dtype in _PROVEN and form not in _PROVEN[operand.dtype] and not form[0].startswith("dma."):
            raise NotSimulated(f"{name} with {operand.dtype} operands is not simulated yet")
        if operand.dtype is I4 and form[0].startswith("dma."):
            # Floats of 20 bits on BM1690; elsewhere nibbles whose order in a row is not known.
            raise NotSimulated(f"{name} with data format 6 (less than a byte, or 20 bits) is not simulated yet")
    if rules.compares_bf16 and form in _COMPARING:
        first = next(iter(bound.operands.values())).dtype
        if first in (F16, F32):
            raise NotSimulated(f"{name} of {first} numbers: of floats this chip compares bf16 alone")
    if form[0] in _CALCULATING and form not in _OF_TWO_FORMATS:
        formats = {operand.dtype for operand in (*bound.operands.values(), *bound.results.values())}
        if {F16, BF16} <= formats:
            raise NotSimulated(f"{name} of f16 and bf16 numbers at once is not known")
    results = [view for view in bound.results.values() if isinstance(view, View)]
    operation = Operation(
        {role: _value(role, operand, memory) for role, operand in bound.operands.items()},
        {role: view.dtype for role, view in bound.results.items()},
        {role: view.shape for role, view in bound.results.items() if isinstance(view, View)},
        bound.fields,
        rules,
    )
    try:
        with np.errstate(all="ignore"):
            computed = _in_parts(function, operation) if form[0] in _BY_ELEMENT else function(operation)
        parts: tuple[Array, ...] = computed if isinstance(computed, tuple) else (computed,)
        stored = [
            bits if bits.shape == view.shape else np.broadcast_to(bits, view.shape)
            for view, bits in zip(results, parts, strict=True)
        ]
    except KeyError as missing:
        raise NotSimulated(f"{name}: its operands and results do not fit together: it has no {missing}") from None
    except (ValueError, IndexError, ArithmeticError, MemoryError) as error:
        raise NotSimulated(f"{name}: its operands and results do not fit together: {error}") from None
    if len(stored) > 1:  # what was not computed may be part of the memory that an earlier result is written to
        stored = [bits if bits.flags.writeable else bits.copy() for bits in stored]
    for view, bits in zip(results, stored, strict=True):
        memory.write(view, bits)


def _in_parts(function: Semantic, operation: Operation) -> Array | tuple[Array, ...]:
    """The result of a function of elements, computed in pieces: numbers between the steps are several times as wide."""
    shape = operation.shape
    size = math.prod(shape)
    axis = max(range(len(shape)), key=lambda number: shape[number], default=0)
    if size <= _AT_ONCE or len(operation.result_shapes) != 1:
        return function(operation)
    rows = max(1, _AT_ONCE * shape[axis] // size)
    whole: Array | None = None
    for start in range(0, shape[axis], rows):
        piece = slice(start, start + rows)
        part = operation.part(axis, piece)
        if part is None:
            return function(operation)
        words = function(part)
        if isinstance(words, tuple):
            return function(operation)
        if whole is None:
            whole = np.empty(shape, words.dtype)
        whole[(slice(None),) * axis + (piece,)] = words
    assert whole is not None
    return whole


def _value(role: str, operand: Operand, memory: Words) -> Value:
    """An operand; what the result was before is a copy that may be written to."""
    if isinstance(operand, View):
        return Value(memory.read(operand) if role == "old" else memory.peek(operand), operand.dtype)
    return Value(_constant_bits(operand), operand.dtype, is_constant=True)


def _constant_bits(constant: Constant) -> Array:
    word = constant.bits & ((1 << (8 * constant.dtype.itemsize)) - 1)
    return np.full((1, 1, 1, 1), word, constant.dtype.bits_dtype)
