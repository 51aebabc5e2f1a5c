"""The third column of a check against computed tensors: chip, expected at this precision, ideal."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from tdb_dap.engine.hardware.dtypes import BY_NAME, Array
from tdb_dap.engine.machine.npz import open_npz
from tdb_dap.engine.reference.comparison import compare
from tdb_dap.engine.reference.tolerance import Tolerances
from tdb_dap.engine.rendering.printable import aligned, fitted
from tdb_dap.tools.check.results import Looked
from tdb_dap.tools.check.schema import ROUNDED, Blame, Key, Numbers, Row, Shadows

if TYPE_CHECKING:
    from tdb_dap.engine.source.mlir_file import MlirOp
    from tdb_dap.tools.golden.files.compilation import Files
    from tdb_dap.tools.golden.judging import Judged
    from tdb_dap.tools.golden.level import Level
    from tdb_dap.tools.shadow.shadow import Shadow

_COLUMNS = ("line", "op", "tensor", "chip", "expected", "ideal", "made here", "inherited", "means")
_MOST = 8
_MOST_BETWEEN = 16
_MOVES = ("tpu.Load", "tpu.Store")
_NEARLY_ALL = 0.9999
_LOADED = "load_"
_RESEMBLING = 0.9
"""Cosine of an output from which on it is what the net should give, less what its formats cost."""
_COSINE, _EUCLIDEAN = 0.99, 0.9
"""Least similarities that the compiler asks of the outputs of a bmodel and its interpreter, by default."""


def with_shadows(
    rows: Sequence[Row],
    looked: Sequence[Looked],
    context: Path,
    inputs: Mapping[str, Array],
    outputs: Collection[str],
) -> list[Row]:
    """The same rows, those of results with their shadows. BadInput if the compilation cannot be read.

    A tensor that differs passes if its op does what the format allows; the net's ``outputs`` must also resemble what
    they should be.
    """
    from tdb_dap.tools.shadow.shadow import Shadow  # takes milliseconds to load, and few checks need it

    shadow = Shadow(context, inputs)
    judged = _judged(shadow, rows, looked, _chip_of(shadow, looked), None)
    lost = {row.name for row in rows if row.name in outputs and row.numbers and row.numbers.cosine < _RESEMBLING}
    return _without_lost(rows, judged, lost)


def _without_lost(rows: Sequence[Row], judged: Sequence[Row], lost: Collection[str]) -> list[Row]:
    """The judged rows, but those of ``lost`` outputs still fail where no op is to blame.

    An output that has little to do with what was expected is no pass, whatever has added up to it.
    """
    blames_none = all(one.verdict != "fail" for one in judged if one.role != "operand")
    grown = _grows_at(rows) if lost and blames_none else ""
    settled = []
    for row, one in zip(rows, judged, strict=True):
        is_lost = row.name in lost and row.role != "operand" and row.verdict == "fail" and one.verdict == "pass"
        if not is_lost or row.numbers is None:
            settled.append(one)
            continue
        text = f"no op is wrong by itself: roundings add up, and {row.name} has cosine {row.numbers.cosine:.4f}{grown}"
        blame = Blame(kind="accumulates", line=0, text=text) if blames_none else row.blame
        settled.append(replace(row, shadow=one.shadow, blame=blame))
    return settled


def _grows_at(rows: Sequence[Row]) -> str:
    """The first op whose result does not resemble what was expected while its operands do, as the end of a sentence."""
    operands: dict[int, float] = {}
    for row in rows:
        if row.role == "operand" and row.numbers is not None:
            operands[row.line] = min(row.numbers.cosine, operands.get(row.line, 1.0))
    for row in sorted(rows, key=lambda row: row.last):
        if row.role == "result" and row.numbers is not None and row.numbers.cosine < _RESEMBLING:
            before = operands.get(row.line)
            if before is None or before >= _RESEMBLING:
                start = "" if before is None else f"from {before:.4f} "
                fall = f"{start}to {row.numbers.cosine:.4f}"
                return f"; it falls below {_RESEMBLING} at {row.name} ({row.title}), {fall}"
    return ""


def without_accumulated(
    rows: Sequence[Row],
    looked: Sequence[Looked],
    shadow: Shadow,
    reference: Path,
    outputs: Collection[str],
    right_alone: Callable[[Sequence[Row]], Collection[Key]],
) -> list[Row]:
    """The same rows, but a tensor passes that differs from its compilation's own reference by roundings that add up.

    Both sides must do, from the operands that each had, what the op's format allows, and start from the same inputs.
    ``right_alone``: keys of those rows that pass with the reference's operands; asked for ops without a golden.
    The cosines of the net's ``outputs`` must be within their limit all the same; where they are not, and no op is
    wrong, the rows say so. BadInput if the compilation cannot be read; the rows as they are if the reference was
    made with other inputs.
    """
    # Takes milliseconds to load, and a check in which nothing differs needs none of it.
    from tdb_dap.tools.golden.judging import executed

    tensors = open_npz(reference, defers=True, at_once=0)  # few of them are needed, and the check has verified all
    if not all(name in tensors and _are_equal(tensors[name], array) for name, array in shadow.inputs.items()):
        return list(rows)
    failed = {row.name.removeprefix(_LOADED) for row in rows if row.verdict == "fail"}
    ops = {op.line: op for name in failed if (op := shadow.level.by_name.get(name)) is not None}
    judged = executed(shadow.level, tensors, [ops[line] for line in sorted(ops)], closely=False)
    explained = {one.name for one in judged if one.verdict in ("exact", "quantisation", "overflow")}
    far = {row.name for row in rows if row.name in outputs and row.numbers is not None and not _is_like(row.numbers)}
    chip, right = _chip_of(shadow, looked), frozenset[str]()
    while True:
        settled = _judged(shadow, rows, looked, chip, explained | right, right)
        unjudged = [row for row in _first_wrong(settled) if row.name not in far | right]
        unjudged = [row for row in unjudged if _is_unjudged(shadow, row.name, chip)]
        keys = right_alone(unjudged) if unjudged else ()
        more = frozenset(row.name for row in unjudged if row.key in keys)
        if not more:
            equal = {row.name for row in rows if row.verdict == "pass"} - failed
            contradictions = _Contradictions(shadow.level, tensors, equal)
            return _of_the_reference(shadow, _without_lost(rows, settled, far), chip, contradictions)
        right |= more


class _Contradictions:
    """Tensors of a reference that do not follow from its others. ``equal``: those that the chip has, too."""

    def __init__(self, level: Level, tensors: Mapping[str, Array], equal: Collection[str]) -> None:
        self._level = level
        self._tensors = tensors
        self._equal = equal
        self._known: dict[str, str] = {}

    def before(self, name: str) -> str:
        """The first one from a tensor backwards, and why it is one; empty if there is none near."""
        waiting, seen = [name], set[str]()
        while waiting and len(seen) < _MOST_BETWEEN:
            name = waiting.pop(0)
            op = self._level.by_name.get(name)
            if op is None or name in seen:
                continue
            seen.add(name)
            if name not in self._known:
                self._known[name] = self._contradiction(name, op)
            if self._known[name]:
                return self._known[name]
            names = self._level.operand_names(op)
            waiting += [before for before in names if before in self._tensors and before not in self._equal]
        return ""

    def _contradiction(self, name: str, op: MlirOp) -> str:
        from tdb_dap.tools.golden.judging import across_a_gap, executed  # as above

        judged = executed(self._level, self._tensors, [op], closely=False)
        verdicts = [across_a_gap(one, self._level, self._tensors) for one in judged if one.name == name]
        return next((f"{name} is {one.reason}" for one in verdicts if one.verdict == "bug"), "")


def _of_the_reference(
    shadow: Shadow, rows: Sequence[Row], chip: Mapping[str, Array], contradictions: _Contradictions
) -> list[Row]:
    """The rows; those that fail say so where the reference is wrong by itself, and the op is not."""
    settled = []
    for row in rows:
        name = row.name.removeprefix(_LOADED)
        waits = row.verdict == "fail" and row.blame is None and name in chip
        if waits and (contradiction := contradictions.before(name)):
            judged = shadow.judged(name, chip)
            if judged is None or judged.verdict == "unknown":
                is_right = _is_near(shadow, name, row.dtype, chip, chip[name])
            else:
                is_right = judged.verdict != "bug"
            if is_right:
                text = f"the op is right, the reference is not: its {contradiction}"
                row = replace(row, blame=Blame(kind="unclear", line=0, text=text))
        settled.append(row)
    return settled


def is_own(files: Files, reference: Path | None) -> bool:
    """Whether a file holds the tensors of the compiler's interpreter for a compilation."""
    own = files.get("tpu_output")
    return own is not None and reference is not None and own.samefile(reference)


def is_of_float_model(files: Files, reference: Path) -> bool:
    """Whether a file holds the tensors of the model that a compilation has lowered (``--test_reference``)."""
    return any((path := files.get(key)) is not None and path.samefile(reference) for key in ("reference", "top_output"))


def is_near(row: Row) -> bool:
    """Whether the tensor of a row is as near as the compiler wants the outputs of a bmodel (``model_deploy``)."""
    numbers = row.numbers
    return numbers is not None and numbers.cosine >= _COSINE and numbers.euclidean >= _EUCLIDEAN


def passed(row: Row) -> Row:
    """The row of a tensor that differs although no op is wrong."""
    return replace(row, verdict="pass", complaints=(), blame=None, note=ROUNDED)


def _first_wrong(rows: Sequence[Row]) -> list[Row]:
    """Results that differ while all operands of their op are right: what differs begins there."""
    wrong = {row.line for row in rows if row.role == "operand" and row.verdict == "fail"}
    return [row for row in rows if row.role != "operand" and row.verdict == "fail" and row.line not in wrong]


def _is_unjudged(shadow: Shadow, name: str, chip: Mapping[str, Array]) -> bool:
    """Whether there is no golden of the op that computes a tensor."""
    judged = shadow.judged(name, chip)
    return judged is None or judged.verdict == "unknown"


def _is_like(numbers: Numbers) -> bool:
    """Whether a cosine is within its limit."""
    return numbers.cosine >= (Tolerances.parse([], []).default.cosine or 0.0)


def _judged(
    shadow: Shadow,
    rows: Sequence[Row],
    comparisons: Sequence[Looked],
    chip: Mapping[str, Array],
    explained: Collection[str] | None,
    right: Collection[str] = (),
) -> list[Row]:
    """The rows with verdicts on the errors that their ops make themselves.

    ``chip``: its tensors by name; ``explained``: tensors for which that is asked, whose rows then only change from fail
    to pass; None: all, and the rows show their shadows. ``right``: tensors without a golden whose ops are right with
    the reference's operands.
    """
    known: dict[str, Shadows | Judged | None] = {}

    def of(name: str) -> Shadows | Judged | None:
        if name not in known:
            known[name] = shadow.judged(name, chip) if explained is not None else _shadow(shadow, name, chip)
        return known[name]

    suspects = None if explained is None else _suspects(shadow, rows)
    results = (row for row in rows if row.role != "operand" and (suspects is None or row.name in suspects))
    faults = (row.first for row in results if (judged := of(row.name)) and judged.verdict == "bug")
    wrong = min(faults, default=None)  # what comes after it inherits a fault
    read = {looked.row.key: looked for looked in comparisons}
    near: dict[str, bool] = {}
    settled = []
    for row in rows:
        name = row.name.removeprefix(_LOADED)
        is_copy = row.role == "operand" or row.opcode in _MOVES
        is_after = wrong is not None and row.first > wrong
        judged = of(name)
        is_explained = judged is not None and judged.verdict not in ("bug", "unknown")
        if not is_after and row.verdict == "fail" and (judged is None or judged.verdict == "unknown"):
            if name not in near:
                near[name] = _is_near(shadow, name, row.dtype, chip, chip.get(name, _actual(read.get(row.key))))
            is_explained = near[name] or name in right
        is_bug = explained is None and judged is not None and judged.verdict == "bug"
        if explained is not None and name not in explained:
            is_explained = False
        held = not is_copy or holds(read.get(row.key), chip.get(name))
        one = row if is_after or not held else _settled(row, is_explained, judged.reason if judged and is_bug else "")
        settled.append(replace(one, shadow=judged) if isinstance(judged, Shadows) and not is_copy else one)
    return settled


def _suspects(shadow: Shadow, rows: Sequence[Row]) -> set[str]:
    """Tensors that fail, and those before them whose op may have made that: with the reference's numbers none has."""
    results = [row for row in rows if row.role != "operand"]
    equal = {row.name for row in results if _is_equal(row)} - {row.name for row in results if not _is_equal(row)}
    waiting = [row.name.removeprefix(_LOADED) for row in rows if row.verdict == "fail"]
    suspects = set[str]()
    while waiting:
        name = waiting.pop()
        op = shadow.level.by_name.get(name)
        if name not in suspects and name not in equal:
            suspects.add(name)
            waiting += shadow.level.operand_names(op) if op is not None else ()
    return suspects


def _is_equal(row: Row) -> bool:
    """Whether a tensor has the numbers of the reference."""
    numbers = row.numbers
    return row.verdict == "pass" and numbers is not None and numbers.max_abs == 0 and numbers.nan_count == 0


def _settled(row: Row, is_explained: bool, fault: str) -> Row:
    """A row with the verdict on the error that its op makes itself: what roundings before it have moved is no fault.

    Expected tensors are computed without the chip's roundings, which add up from op to op. ``is_explained``: whether
    what its op did is what its format allows; ``fault``: why it is not, if so.
    """
    if row.verdict not in ("pass", "fail"):
        return row
    if fault:
        complaints = row.complaints if row.verdict == "fail" else (fault,)
        return replace(row, verdict="fail", complaints=complaints)
    if row.verdict == "pass" or not is_explained:
        return row
    return replace(row, verdict="pass", complaints=(), blame=None, note=ROUNDED)


def _chip_of(shadow: Shadow, comparisons: Sequence[Looked]) -> dict[str, Array]:
    """Tensors of the chip by name, those too that have no commands of their own."""
    read = {name: array for name, array in _operands_of(comparisons).items() if shadow.knows(name)}
    return shadow.completed({**read, **computed_of(comparisons)})


def computed_of(comparisons: Sequence[Looked]) -> dict[str, Array]:
    """Tensors of the chip by name: those of results that are known as a whole, parts of several cores put together.

    What no part has is the expected number in each.
    """
    return _put_together(looked for looked in comparisons if looked.row.role != "operand")


def _operands_of(comparisons: Sequence[Looked]) -> dict[str, Array]:
    """Tensors of the chip that ops read, by name, as ``computed_of``.

    The compiler reshapes the result of a product into the tensor that a later op reads, and splits one without a
    command: no op computes it by its name.
    """
    return _put_together(looked for looked in comparisons if looked.row.role == "operand")


def _put_together(comparisons: Iterable[Looked]) -> dict[str, Array]:
    parts: dict[str, list[Looked]] = {}
    for looked in comparisons:
        if looked.actual is not None and looked.expected is not None:
            parts.setdefault(looked.row.name, []).append(looked)
    arrays: dict[str, Array] = {}
    for name, several in parts.items():
        complete = next((one for one in reversed(several) if one.row.covered >= 1), None)
        if complete is not None and complete.actual is not None:
            arrays[name] = complete.actual
        elif sum(one.row.covered for one in several) > _NEARLY_ALL:
            merged = np.array(several[0].expected, np.float64)
            for one in several:
                part = np.asarray(one.actual, np.float64)
                merged = np.where(part != np.asarray(one.expected, np.float64), part, merged)
            arrays[name] = merged
    return arrays


def _actual(looked: Looked | None) -> Array | None:
    return looked.actual if looked is not None and looked.row.covered >= 1 else None


def holds(looked: Looked | None, computed: Array | None) -> bool:
    """Whether a copy of a tensor, or the part of it that was looked at, holds the numbers that were computed."""
    if looked is None or looked.actual is None or looked.expected is None:
        return False
    if computed is None:
        return looked.row.covered >= 1
    if looked.row.covered >= 1 or np.size(looked.actual) != np.size(computed):
        return _are_equal(looked.actual, computed)
    part, expected, wanted = (np.reshape(one, -1) for one in (looked.actual, looked.expected, computed))
    seen = part != expected
    return _are_equal(part[seen], wanted[seen])


def _is_near(shadow: Shadow, name: str, dtype: str, chip: Mapping[str, Array], actual: Array | None) -> bool:
    """Whether a tensor is within the limits of what follows from the nearest tensors of the chip before it."""
    expected = shadow.local(name, chip)
    if expected is None or actual is None or np.size(expected) != np.size(actual) or dtype not in BY_NAME:
        return False
    kind = shadow.level.type_named(name)
    wanted = np.asarray(expected, np.float32)
    step = kind.scale if kind is not None and kind.is_quantised else 1.0
    limits = Tolerances.parse([], []).of(name, dtype)
    given = np.asarray(actual, np.float32).reshape(wanted.shape)
    return compare(name, given, wanted, limits, BY_NAME[dtype], step).verdict == "pass"


def _are_equal(one: Array | None, other: Array | None) -> bool:
    """Whether two arrays are known and hold the same numbers, in any shape, as far as f32 tells them apart."""
    if one is None or other is None or np.size(one) != np.size(other):
        return False
    first, second = (np.asarray(array, np.float64).reshape(-1) for array in (one, other))
    return bool(np.allclose(first, second, rtol=2.0**-22, atol=0, equal_nan=True))


def _shadow(shadow: Shadow, name: str, chip: Mapping[str, Array]) -> Shadows | None:
    one = shadow.of(name, chip)
    if one is None:
        return None
    return Shadows(
        index=one.index,
        actual=one.actual,
        expected=one.expected,
        ideal=one.ideal,
        here=one.here,
        inherited=one.inherited,
        verdict=one.verdict,
        reason=one.reason,
    )


def lines(rows: Sequence[Row], is_all: bool, width: int | None = None) -> Iterator[str]:
    """A table of the shadows, those with the largest error made here first; nothing if no row has one."""
    having = [(row, row.shadow) for row in rows if row.shadow is not None]
    having.sort(key=lambda pair: (pair[1].verdict != "bug", -pair[1].here))
    shown = having if is_all else having[:_MOST]
    if not shown:
        return
    yield "errors against the ideal, where they are largest, and over the size of the numbers:"
    table = [_COLUMNS, *(_cells(row, shadow) for row, shadow in shown)]
    yield from aligned(fitted(table, width, (_COLUMNS[2], _COLUMNS[1]), (_COLUMNS[1],)))
    if len(shown) < len(having):
        yield f"... and {len(having) - len(shown):,} more; --all lists them"


def _cells(row: Row, shadow: Shadows) -> tuple[str, ...]:
    expected = "" if shadow.expected is None else f"{shadow.expected:.5g}"
    means = f"bug: {shadow.reason}" if shadow.verdict == "bug" else shadow.verdict
    numbers = (f"{shadow.actual:.5g}", expected, f"{shadow.ideal:.5g}")
    return (str(row.line or ""), row.opcode, row.name, *numbers, f"{shadow.here:.2%}", f"{shadow.inherited:.2%}", means)
