"""Execution in NumPy: operands are read through their views, computed, and results written through theirs."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from tdb_dap.engine.hardware.dtypes import BF16, F8E4M3, F8E5M2, F16, F32, I4, SI4, UI4, Array, DType
from tdb_dap.engine.hardware.target import Words
from tdb_dap.engine.hardware.views import Operand, View
from tdb_dap.errors import NotSimulated
from tdb_dap.targets.arithmetic.stored import Value
from tdb_dap.targets.families import Bound, arithmetic
from tdb_dap.targets.families.arithmetic import ABSOLUTE, ADD, CAST, COPY, DISTANCE, MAX, MIN, MUL, SUB, SUB_SATURATE
from tdb_dap.targets.families.compare import SELECT_EQUAL
from tdb_dap.targets.families.matrix import NN, NT, TT
from tdb_dap.targets.families.pooling import AVERAGE, DEPTHWISE, MAXIMUM, MINIMUM
from tdb_dap.targets.families.quantize import DQ0, DQ1, DQ2, RQ1
from tdb_dap.targets.rules import Rules
from tdb_dap.targets.semantics import SEMANTICS
from tdb_dap.targets.semantics.registry import Operation, Semantic

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
_PRODUCTS_OF_NIBBLES = frozenset(("mm2", sub) for sub in (NN, NT, TT))
_OF_NIBBLES = frozenset(("quant", sub) for sub in (DQ0, RQ1, DQ1, DQ2))
_PROVEN: dict[DType, frozenset[tuple[str, int]]] = {
    SI4: frozenset({("arith", CAST), ("conv", 0), *_PRODUCTS_OF_NIBBLES, *_OF_NIBBLES}),
    UI4: frozenset({("arith", CAST), ("arith", SUB_SATURATE), *_PRODUCTS_OF_NIBBLES, *_OF_NIBBLES}),
    F8E5M2: _FLOAT8,
    F8E4M3: _FLOAT8,
}


_CALCULATING = frozenset({"arith", "lin", "pord", "sfu", "vc"})
# What is selected is moved, whatever its format; only a cast has two.
_OF_TWO_FORMATS = frozenset(
    ("arith", sub)
    for sub in (CAST, arithmetic.MUL_CAST, arithmetic.SELECT_EQUAL, arithmetic.SELECT_GREATER, arithmetic.SELECT_LESS)
)
_COMPARING = frozenset(("arith", sub) for sub in (ABSOLUTE, DISTANCE, MAX, MIN))


_BY_ELEMENT = frozenset({"arith"})
_AT_ONCE = 1 << 20
"""Elements of a result that are computed at once, at most."""


def execute(name: str, bound: Bound, memory: Words, rules: Rules) -> None:
    """Carry out one command; NotSimulated if its form has no semantic function or is undefined on the chip."""
    if bound.family.name in _WITHOUT_EFFECT:
        return
    form = bound.family.name, bound.fields.sub
    formats = tuple([operand.dtype.name for operand in (*bound.operands.values(), *bound.results.values())])
    known = rules, form, formats
    function = SEMANTICS.get(form)  # not kept: a plugin may put another one in its place
    if function is None or known not in _known:
        function = function_of(name, bound, rules)
        if len(_known) > _MOST_KNOWN:
            _known.clear()
        _known.add(known)
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


_known: set[tuple[Rules, tuple[str, int], tuple[str, ...]]] = set()
"""What may be computed: the chip's rules, form, and formats of all operands and results."""
_MOST_KNOWN = 1 << 12


def function_of(name: str, bound: Bound, rules: Rules) -> Semantic:
    """Semantic function of a form; NotSimulated where that is not known for its formats."""
    form = bound.family.name, bound.fields.sub
    function = SEMANTICS.get(form)
    if function is None or rules.does_lack(*form):
        raise NotSimulated(f"{name} is not simulated yet")
    formats = [operand.dtype for operand in (*bound.operands.values(), *bound.results.values())]
    for dtype in formats:
        if dtype in _PROVEN and form not in _PROVEN[dtype] and not form[0].startswith("dma."):
            raise NotSimulated(f"{name} with {dtype} operands is not simulated yet")
        if dtype is I4 and form[0].startswith("dma."):
            # Floats of 20 bits on BM1690; elsewhere nibbles whose order in a row is not known.
            raise NotSimulated(f"{name} with data format 6 (less than a byte, or 20 bits) is not simulated yet")
    if rules.compares_bf16 and form in _COMPARING:
        first = next(iter(bound.operands.values())).dtype
        if first in (F16, F32):
            raise NotSimulated(f"{name} of {first} numbers: of floats this chip compares bf16 alone")
    if form[0] in _CALCULATING and form not in _OF_TWO_FORMATS and {F16, BF16} <= set(formats):
        raise NotSimulated(f"{name} of f16 and bf16 numbers at once is not known")
    return function


def _in_parts(function: Semantic, operation: Operation) -> Array | tuple[Array, ...]:
    """The result of a function of elements, computed in pieces: numbers between its steps are several times as wide."""
    shape = operation.shape
    size = math.prod(shape)
    count = -(-size // _AT_ONCE)
    if count < 2 or len(operation.result_shapes) != 1:
        return function(operation)
    axis = max(range(len(shape)), key=lambda number: shape[number])
    rows = -(-shape[axis] // count)
    pieces = [slice(start, start + rows) for start in range(0, shape[axis], rows)]
    if operation.part(axis, pieces[0]) is None:
        return function(operation)
    words: Array = np.empty(shape, operation.dtype.bits_dtype)
    for piece in pieces:
        part = operation.part(axis, piece)
        assert part is not None
        words[(slice(None),) * axis + (piece,)] = function(part)
    return words


def _value(role: str, operand: Operand, memory: Words) -> Value:
    """An operand; what the result was before is a copy that may be written to."""
    if isinstance(operand, View):
        return Value(memory.read(operand) if role == "old" else memory.peek(operand), operand.dtype)
    return Value(constant_bits(operand.bits, operand.dtype.itemsize), operand.dtype, is_constant=True)


@lru_cache(maxsize=1 << 12)
def constant_bits(bits: int, size: int) -> Array:
    """The low ``size`` bytes of a word, as an operand that nobody writes to."""
    constant = np.full((1, 1, 1, 1), bits & ((1 << (8 * size)) - 1), f"u{size}")
    constant.flags.writeable = False
    return constant
