"""Runs one case on both sides and judges it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from scripts.robustness.fuzz_simulator.contents import Random, words
from scripts.robustness.fuzz_simulator.filling import SelfComparison
from scripts.robustness.fuzz_simulator.forked import ForkedBackend
from scripts.robustness.fuzz_simulator.mutation import BENCH_BYTES
from scripts.robustness.fuzz_simulator.seeds import Case
from tdb_dap.backends.divergence import Results, compare
from tdb_dap.engine.hardware.dtypes import F16, F32, Array
from tdb_dap.engine.hardware.geometry import Geometry, Space
from tdb_dap.engine.hardware.memory import Region
from tdb_dap.engine.hardware.target import Description
from tdb_dap.engine.hardware.views import Operand, View
from tdb_dap.engine.machine.backend import InProcess
from tdb_dap.engine.machine.undo_log import Change
from tdb_dap.errors import BackendFailed, BadAccess, NotSimulated
from tdb_dap.targets.chips.chip import Chip
from tdb_dap.targets.families.arithmetic import ARITHMETIC_SHIFT, LOGIC_SHIFT, ROTATE
from tdb_dap.targets.families.gather import GATHER_1D, GATHER_2D, GATHERS, LINE_GATHER

Verdict = Literal["exact", "nan", "inexact", "refused", "failed", "undefined", "skipped", "agree", "silent", "differs"]
"""exact: every byte; nan: but for sign and payload of NaNs; inexact; refused: we say that we cannot; failed: our
semantics raise; undefined: the vendor's simulator ends, or its answer depends on memory that was never written;
skipped: not a case (no room, results over operands)."""

_MOST = 1 << 18
"""Elements of a tensor; larger ones take too long."""
_PATIENCE = 20.0
_BYTES_OF_CHANNEL = (5, 9)
"""Bytes of the table of a channel of CV18xx: a bias, multiplier and shift."""


@dataclass(frozen=True)
class Outcome:
    verdict: Verdict
    text: str = ""


_OF_BENCH = ("_mem_size", "sys_mem->size")
"""In the assertions on sizes of DDR: the bench has less than any chip."""


class Bench:
    """One chip, both sides, and the memory that cases work on."""

    def __init__(self, chip: Chip, library: Path) -> None:
        self.chip = chip
        self.ddr_start = ddr_of_bench(chip.geometry)
        self._own = InProcess(chip)
        self._vendor = ForkedBackend(chip, library, timeout=_PATIENCE)
        self._ddr = Region(self.ddr_start, np.zeros(BENCH_BYTES, np.uint8), "bench")
        self._memory = self._vendor.open_memories(1, [self._ddr])
        self._library = library
        self._itself: SelfComparison | None = None
        chip.fill_tables(self._memory, "firmware")
        self._vendor.edited()

    def close(self) -> None:
        self._vendor.close()
        if self._itself is not None:
            self._itself.close()

    def is_defined(self, case: Case) -> bool:
        """Whether the vendor's simulator agrees with itself on what a command makes of the memories as they are."""
        if self._itself is None:
            self._itself = SelfComparison(self.chip, self._library, _PATIENCE, self._ddr)
        return self._itself.agrees(case, self._memory)

    def run(self, case: Case, random: Random, kind: str) -> Outcome:
        """Fill the operands with numbers of a kind, execute on both sides, compare all memories."""
        try:
            description = case.description
        except NotSimulated as error:
            return self._unsupported(case, "refused", str(error))
        except (AttributeError, KeyError) as error:
            return Outcome("skipped", repr(error))
        try:
            if not _is_fair(description):
                return Outcome("skipped")
            self._fill(case, random, kind)
        except (BadAccess, ValueError, NotSimulated) as error:
            return Outcome("skipped", str(error))
        self._vendor.refresh()
        try:
            changes = self._own.execute(case, self._memory).changes
        except NotSimulated as error:
            return self._unsupported(case, "refused", str(error))
        except BadAccess as error:
            return Outcome("skipped", str(error))
        except Exception as error:  # a fault of ours, unless the command is not one at all
            return self._unsupported(case, "failed", repr(error))
        return self._judge(case, changes)

    def vendor_result(
        self, case: Case, random: Random | None = None, kind: str = "finite"
    ) -> tuple[tuple[int, int, int, bytes], ...] | None:
        """What the vendor's simulator writes, (area, start, stop, bytes); None if it ends. The memories stay.

        ``random``: fill the operands first, with numbers of a kind.
        """
        if random is not None:
            if not _is_fair(case.description):
                return None
            self._fill(case, random, kind)
        self._vendor.edited()
        self._vendor.refresh()
        try:
            ranges = self._vendor.run(case)
        except BackendFailed:
            self._vendor.restart()
            return None
        before = self._vendor.overwritten(ranges)
        self._vendor.take(ranges)
        after = self._vendor.overwritten(ranges)
        for change in before:
            change.undo(self._memory)
        return tuple(
            (index, start, stop, new.old.tobytes()) for (index, start, stop), new in zip(ranges, after, strict=True)
        )

    def vendor_numbers(self, case: Case, numbers: Mapping[str, Array]) -> Array:
        """The first result that the vendor's simulator computes of operands given by role, in their order in memory."""
        description = case.description
        for role, view in description.binding.operands.items():
            if role in numbers and isinstance(view, View):
                self._memory.write(view, view.dtype.encode(numbers[role]).reshape(view.shape))
        self._vendor.edited()
        self._vendor.refresh()
        self._vendor.take(self._vendor.run(case))
        result = description.results[0]
        assert isinstance(result, View)
        return result.dtype.decode(self._memory.read(result))

    def run_mutant(self, case: Case, sound: Case, random: Random) -> Outcome:
        """Execute a damaged command on both sides, after the ``sound`` one here; see ``mutants``."""
        with suppress(BadAccess, NotSimulated):
            self._own.execute(sound, self._memory)
        try:
            description = case.description
            illegal = self.chip.illegal(description)
            if illegal:
                return Outcome("refused", illegal)
            if any(isinstance(view, View) and view.size > _MOST for view in (*description.results, *description.reads)):
                return Outcome("skipped")
            with suppress(BadAccess, ValueError, NotSimulated):
                self._fill(case, random, "finite")
            self._vendor.edited()
            self._vendor.refresh()
            changes = self._own.execute(case, self._memory).changes
        except (NotSimulated, BadAccess) as error:
            return Outcome("refused", str(error))
        except Exception as error:  # a fault of ours
            return Outcome("failed", repr(error))
        outcome = self._judge(case, changes)
        if outcome.verdict == "undefined" and not outcome.text.startswith("the vendor's simulator reads"):
            for change in changes[::-1]:
                change.undo(self._memory)
            self._vendor.edited()
            if any(name in outcome.text for name in _OF_BENCH):
                return Outcome("skipped", outcome.text)
            return Outcome("silent", outcome.text) if self._ends_again(case) else Outcome("undefined", outcome.text)
        names: dict[str, Verdict] = {"exact": "agree", "nan": "agree", "inexact": "differs"}
        return Outcome(names.get(outcome.verdict, outcome.verdict), outcome.text)

    def _ends_again(self, case: Case) -> bool:
        """Whether the vendor's simulator ends on a command in a process of its own, too, whatever it did before."""
        self._vendor.refresh()
        try:
            self._vendor.run(case)
        except BackendFailed:
            self._vendor.restart()
            return True
        self._vendor.edited()
        return False

    def _judge(self, case: Case, changes: Sequence[Change]) -> Outcome:
        ours = Results(case.description, self._memory)
        try:
            ranges = self._vendor.run(case)
            if not ranges:
                return Outcome("exact")
            differing = self._vendor.overwritten(ranges)
            self._vendor.take(ranges)
        except BackendFailed as error:  # also after its answer: a thread of it writes where nothing is
            return self._ended(error)
        comparison = compare(ours, differing, self._memory)
        if comparison.text is not None:
            for change in (*changes, *differing)[::-1]:
                change.undo(self._memory)
            self._vendor.edited()
            return self._unless_undefined(case, Outcome("inexact", comparison.text))
        return Outcome("exact" if comparison.exact else "nan")

    def _unsupported(self, case: Case, verdict: Verdict, text: str) -> Outcome:
        """What we cannot do counts only if the vendor's simulator can."""
        self._vendor.refresh()
        try:
            self._vendor.run(case)
        except BackendFailed as error:
            return self._ended(error)
        self._vendor.edited()
        return self._unless_undefined(case, Outcome(verdict, text))

    def _unless_undefined(self, case: Case, outcome: Outcome) -> Outcome:
        """An outcome that counts only where the vendor's simulator agrees with itself."""
        if self.is_defined(case):
            return outcome
        return Outcome("undefined", "the vendor's simulator reads memory that was never written")

    def _ended(self, error: BackendFailed) -> Outcome:
        self._vendor.restart()
        return Outcome("undefined", str(error))

    def _fill(self, case: Case, random: Random, kind: str) -> None:
        """Random numbers in everything that is read or written; indices stay near what they index."""
        description = case.description
        views = [view for view in (*description.results, *description.reads) if isinstance(view, View)]
        limit = max((max(view.shape) for view in views), default=1) + 2
        indices = {
            id(operand)
            for role, operand in zip(description.operand_roles, description.operands, strict=True)
            if role in ("index", "boxes")
        }
        shifts = (LOGIC_SHIFT, ARITHMETIC_SHIFT, ROTATE)
        amounts = {
            id(operand)
            for role, operand in zip(description.operand_roles, description.operands, strict=True)
            if (case.family == "arith" and role == "third" and not operand.dtype.is_float)
            or (case.family == "arith" and role == "right" and case.instruction.sub in shifts)
            or (case.family == "bm1684.arith" and role == "right" and case.instruction.sub == LOGIC_SHIFT)
        }
        # An exponential is known with a table of numbers from 1 to 2, as compilers write it.
        powers = {
            id(operand)
            for role, operand in zip(description.operand_roles, description.operands, strict=True)
            if case.family == "sfu" and role == "table"
        }
        # These are the same on every lane, or the command is not defined.
        rows = {
            id(operand)
            for role, operand in zip(description.operand_roles, description.operands, strict=True)
            if case.family == "mm2"
            and role in ("bias", "zero_point", "zero_points")
            and len(operand_shape(operand)) == 4
        }
        tables = {
            id(operand): role
            for role, operand in zip(description.operand_roles, description.operands, strict=True)
            if (case.family == "quant" and role != "input") or role == "requantisation"
        }
        # Sums are finite: the chip rounds toward zero.
        sums = {
            id(operand)
            for role, operand in zip(description.operand_roles, description.operands, strict=True)
            if role == "sum_upper"
        }
        for view in views:
            if view.space is Space.STATIC:
                continue  # tables
            if id(view) in tables:
                made = _quantisation(random, tables[id(view)], view.shape, kind == "extreme")
            elif id(view) in amounts:
                least = 0 if view.dtype.kind == "u" else -9
                made = random.integers(least, 10, view.shape)
                if kind == "extreme":  # by more than 31 to the left nothing but a shift itself is known
                    is_shift = case.instruction.sub in shifts
                    made = random.integers(-128 if is_shift else -64, 128 if is_shift else 32, view.shape)
                made = made.astype(view.dtype.bits_dtype)
            elif id(view) in rows:
                one_lane = (1, 1, *view.shape[2:])
                made = np.broadcast_to(words(random, view.dtype, one_lane, kind), view.shape)
            elif id(view) in powers:
                made = F16.encode(random.uniform(1, 1.999, view.shape).astype(np.float32))
            elif id(view) in indices:
                made = _indices(random, case, view.shape, limit).astype(view.dtype.bits_dtype)
            else:
                made = words(random, view.dtype, view.shape, kind)
                made = made & 0xBFFF if id(view) in sums else made
            self._memory.write(view, made)
        self._vendor.edited()


def operand_shape(operand: Operand) -> tuple[int, ...]:
    """Shape of a tensor; a constant has none."""
    return operand.shape if isinstance(operand, View) else ()


def _indices(random: Random, case: Case, shape: tuple[int, ...], limit: int) -> Array:
    """Indices of what they choose from, now and then beyond it."""
    beyond = 2 if random.random() < 0.25 else 0
    if case.family not in ("sg", "sgl"):
        return random.integers(0, limit if beyond else max(1, limit - 2), shape)
    role = "data" if case.instruction.sub in (GATHER_1D, GATHER_2D, *GATHERS, LINE_GATHER) else "result"
    description = case.description
    views = dict(zip(description.operand_roles, description.operands, strict=True))
    chosen = views["data"] if role == "data" else description.results[0]
    _, _, height, width = operand_shape(chosen)
    if case.instruction.sub == GATHER_2D:
        return random.integers(0, height + beyond, shape) << 16 | random.integers(0, width + beyond, shape)
    if case.family == "sgl":
        return random.integers(0, height + beyond, shape)
    return random.integers(0, height * width + beyond, shape)


def _quantisation(random: Random, role: str, shape: tuple[int, ...], is_extreme: bool) -> Array:
    """Numbers of requantisation by their role: shifts go to the right, by not much more than a word.

    ``is_extreme``: all that fit their bits, as a command has them that takes the wrong bytes for its table.
    """
    if shape[-1] in _BYTES_OF_CHANNEL:
        made = random.integers(0, 256, shape)
        made[..., -1] = random.integers(0, 24, shape[:-1])
        return made.astype(np.uint8)
    if "scale" in role or "offset" in role:
        return words(random, F32, shape, "finite")
    zeros, shifts = random.integers(-300, 300, shape), -random.integers(0, 40, shape)
    multipliers = random.integers(1, 1 << 30, shape)
    if is_extreme:
        zeros, shifts = random.integers(-1 << 15, 1 << 15, shape), random.integers(-128, 128, shape)
        multipliers = random.integers(-1 << 31, 1 << 31, shape) >> random.integers(0, 32, shape)
    if "multiplier" in role:
        made = multipliers
    elif role == "requantisation":
        words_of_row = np.arange(shape[-1]) == 0
        made = np.where(words_of_row, multipliers, (shifts & 0xFF) | (zeros & 0xFFFF) << 16)
    elif "shift_zero" in role:
        made = (shifts & 0xFF) | (zeros & 0xFFFF) << 16
    else:
        made = shifts if "shift" in role else zeros
    return (made & 0xFFFFFFFF).astype(np.uint32)


def ddr_of_bench(geometry: Geometry) -> int:
    """Offset in DDR of the bench: tag 1 where addresses have tags."""
    if not geometry.tag_shift:
        return 0
    window = next(window for window in geometry.windows if window.space is Space.GLOBAL)
    return window.start - window.base | 1 << geometry.tag_shift


def _is_fair(description: Description) -> bool:
    """Small enough, and no result is over something that is read, other than exactly over it."""
    results = [view for view in description.results if isinstance(view, View)]
    reads = [view for view in description.reads if isinstance(view, View)]
    if not results or any(view.size > _MOST or view.size == 0 for view in (*results, *reads)):
        return False
    for index, result in enumerate(results):
        for other in (*reads, *results[:index]):
            if other.space is not result.space or _same(result, other):
                continue
            if _overlap(result.byte_ranges(), other.byte_ranges()):
                return False
    return True


def _same(a: View, b: View) -> bool:
    return (a.address, a.shape, a.strides, a.layout, a.dtype.itemsize) == (
        b.address,
        b.shape,
        b.strides,
        b.layout,
        b.dtype.itemsize,
    )


def _overlap(a: list[tuple[int, int]], b: list[tuple[int, int]]) -> bool:
    return any(first[0] < second[1] and second[0] < first[1] for first in a for second in b)
