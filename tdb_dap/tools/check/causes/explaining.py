"""Causes of the differences of a check: inputs, races, commands that write over, roundings, or an op."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tdb_dap.engine.compare.dataflow import Producers
from tdb_dap.engine.machine.input_data import load_inputs
from tdb_dap.engine.reference.tolerance import Tolerances
from tdb_dap.errors import BadInput, TdbError
from tdb_dap.system.notices import notice
from tdb_dap.tools.check.causes.blame import with_blame, with_other_inputs
from tdb_dap.tools.check.causes.overwriting import Writers
from tdb_dap.tools.check.causes.races import with_race
from tdb_dap.tools.check.causes.shadows import (
    is_near,
    is_of_float_model,
    is_own,
    passed,
    with_shadows,
    without_accumulated,
)
from tdb_dap.tools.check.results import unseen_outputs
from tdb_dap.tools.check.schema import Blame
from tdb_dap.tools.check.team import Alone, Team
from tdb_dap.tools.check.worker import Job, Worker
from tdb_dap.tools.golden.files.compilation import Files, find
from tdb_dap.tools.golden.reference import numbers, text_in

if TYPE_CHECKING:
    from tdb_dap.engine.program.program import Program
    from tdb_dap.tools.check.options import CheckOptions
    from tdb_dap.tools.check.results import Walked
    from tdb_dap.tools.check.schema import Key, Row


_SAMPLE = 32
"""Tensors that tell whether a reference is of a compilation."""


class Causes:
    """The causes of what differs in one check.

    ``walk``: runs a job in a mode by a worker and a team, all of the program or some spans of it; ``team``: makes the
    team of a job and a worker.
    """

    def __init__(
        self,
        options: CheckOptions,
        job: Job,
        program: Program,
        walk: Callable[..., Walked],
        team: Callable[[Job, Worker], Team],
    ) -> None:
        self._options = options
        self._job = job
        self._program = program
        self._walk = walk
        self._team = team
        self._lacks_text = False
        """Whether roundings could not be told from faults by what the compiler meant, so that ops are tried alone."""

    def of(self, walked: Walked, is_computed: bool) -> list[Row]:
        """The rows without differences that no op makes, and with what is to blame for the others.

        ``is_computed``: whether the reference is computed; then all rows have shadows.
        """
        rows = self._blamed(walked, is_computed)
        return self._with_shadows(rows, walked) if is_computed else rows

    def _blamed(self, walked: Walked, is_computed: bool) -> list[Row]:
        """The rows without differences that no op makes, and with what is to blame for the others."""
        options, program = self._options, self._program
        if (other_inputs := with_other_inputs(walked.rows, program)) is not None:
            return other_inputs
        writers = Writers(program)
        rows = self._with_race(walked.rows)
        if not is_computed and self._may_accumulate(rows):
            rows = self._with_right_outputs(self._without_accumulated(rows))
        rows = writers.with_overwriters(self._with_cost_of_formats(rows))
        if any(row.blame is not None and row.blame.kind == "accumulates" for row in rows):
            return rows
        failed = [row for row in rows if row.verdict == "fail"]
        if not failed or options.mode != "cascade" or not (options.blame or self._lacks_text):
            return rows
        try:
            if self._are_stored(rows) or options.blame:
                return with_blame(rows, self._alone(failed).rows, Producers(program), writers)
        except TdbError:
            if options.blame:
                raise
        return rows

    def _are_stored(self, rows: Sequence[Row]) -> bool:
        """Whether the reference holds the numbers of this compilation: those of another one accuse right ops.

        Most tensors tell: the compiler's interpreter leaves results of some kinds of ops, LayerNorm one of them,
        unrounded, and a wrong tensor may hold anything.
        """
        names = {row.name for row in rows if row.role != "operand" and row.verdict in ("pass", "fail")}
        worker = Worker(replace(self._job, keep="none", pictures=False), "standalone")
        try:
            reference = worker.debugger.reference
            results = (value for record in self._program.source.records for value in record.results)
            values = [value for value in results if value.name in names] if reference else []
            values = values[:: -(-len(values) // _SAMPLE) or 1]
            others = [value for value in values if reference and not reference.is_stored(value)]
        finally:
            worker.close()
        if 2 * len(others) <= len(values):
            return True
        name, kind = others[0].name, "its format" if others[0].view is None else others[0].view.dtype.name
        if self._options.blame:
            notice(
                f"the reference is not that of this compilation: its numbers of {name} are none of {kind}; what "
                "formats cost is blamed, too"
            )
        else:
            notice(
                f"the reference is not that of this compilation: its numbers of {name} are none of {kind}; what "
                "formats cost looks like a fault, and no op is tried alone"
            )
        return False

    def _with_race(self, rows: list[Row]) -> list[Row]:
        """The rows, where another order of the commands is right with that; see ``races``."""

        def outputs_in(ordinals: Sequence[int]) -> list[Row]:
            worker = Worker(replace(self._job, keep="none", pictures=False), "cascade")
            try:
                return worker.outputs_in(ordinals)
            except TdbError:
                return []
            finally:
                worker.close()

        return with_race(rows, self._program, outputs_in) if self._options.mode == "cascade" else rows

    @cached_property
    def _files(self) -> Files:
        """Files of the compilation; BadInput if it is not there."""
        return find(self._options.model.context)

    def _may_accumulate(self, rows: list[Row]) -> bool:
        """Whether differences may be roundings that add up, and the limits are not the user's own."""
        options = self._options
        is_strict = options.tolerance or options.blame or options.resume or options.mode != "cascade"
        return not is_strict and any(row.verdict == "fail" for row in rows)

    def _without_accumulated(self, rows: list[Row]) -> list[Row]:
        """Rows without differences that no op makes; unchanged where the reference is not the compilation's own."""
        model, program = self._options.model, self._program
        data = model.inputs or program.context.inputs
        references = [*model.references] or [path for path in (program.context.reference,) if path is not None]
        if data is None or len(references) != 1:
            return rows
        try:
            from tdb_dap.tools.shadow.shadow import Shadow  # takes milliseconds to load, and few checks need it

            shadow = Shadow(model.context, numbers(load_inputs(data, program.inputs), program.inputs), self._files)
            if not is_own(self._files, references[0]):
                return rows
            # The tensors themselves were not kept: most checks do not need them.
            kept = replace(self._job, keep="all", measures=False, pictures=False, wanted=_of_results(rows))
            again = self._walk(kept, "cascade", Worker(kept, "cascade"), Alone())
            outputs = [tensor.name for tensor in program.outputs]
            return without_accumulated(rows, again.results, shadow, references[0], outputs, self._right_alone)
        except BadInput:
            self._lacks_text = True
            return rows

    def _with_right_outputs(self, rows: list[Row]) -> list[Row]:
        """The rows, where outputs pass that are near the compilation's own, if no op of the chip is wrong.

        Its file may hold nothing but outputs: then no other tensor tells roundings that add up from a fault.
        """
        model, outputs = self._options.model, [tensor.name for tensor in self._program.outputs]
        reference = next(iter(model.references), self._program.context.reference)
        failed = [row for row in rows if row.verdict == "fail"]
        # The file has what the host or a cast is given, too, where that is an output of the float model.
        last = {row.line for row in rows if row.name in outputs}
        kept = {*outputs, *(row.name for row in rows if row.role == "operand" and row.line in last)}
        if not failed or len(model.references) > 1 or not all(row.name in kept and is_near(row) for row in failed):
            return rows
        if not is_own(self._files, reference) or not self._is_right_by_golden():
            return rows
        return [passed(row) if row.verdict == "fail" else row for row in rows]

    def _with_cost_of_formats(self, rows: list[Row]) -> list[Row]:
        """The rows, where what differs from the float model blames no op, if no op of the chip is wrong."""
        model = self._options.model
        failed = any(row.verdict == "fail" for row in rows)
        if not failed or len(model.references) != 1 or not is_of_float_model(self._files, model.references[0]):
            return rows
        if not self._is_right_by_golden():
            return rows
        blame = Blame(kind="accumulates", line=0, text="no op is wrong by itself: the formats cost it")
        return [replace(row, blame=blame) if row.verdict == "fail" else row for row in rows]

    def _is_right_by_golden(self) -> bool:
        """Whether a check of the same run with goldens reaches its outputs and finds no op wrong."""
        options, program = self._options, self._program
        if options.mode != "cascade" or options.resume is not None:
            return False
        try:
            model = replace(options.model, references=(text_in(self._files, options.model.context),))
            job = Job(model, Tolerances.parse([], options.excepted), keep="all", pictures=False)
            walked = self._walk(job, "cascade", Worker(job, "cascade"), Alone())
            golden = Causes(replace(options, model=model, blame=False), job, program, self._walk, self._team)
            rows = golden.of(walked, is_computed=True)
        except TdbError:
            return False
        return not walked.stopped and not unseen_outputs(program, rows) and all(row.verdict != "fail" for row in rows)

    def _right_alone(self, rows: Sequence[Row]) -> frozenset[Key]:
        """Keys of the rows that pass with the reference's operands."""
        return frozenset(row.key for row in self._alone(rows).rows if row.verdict == "pass")

    def _alone(self, rows: Sequence[Row]) -> Walked:
        """The ops of some rows with the reference's operands."""
        job = self._job
        if self._options.resume is None:  # what a journal holds may be asked for as a whole the next time
            job = replace(job, keep="none", pictures=False, wanted=frozenset(row.key for row in rows))
        worker = Worker(job, "standalone")
        # Of the rest nothing is asked. Rows of an op are between its first and last command.
        spans = [(row.first, row.last + 1) for row in rows]
        return self._walk(job, "standalone", worker, self._team(job, worker), spans)

    def _with_shadows(self, rows: list[Row], walked: Walked) -> list[Row]:
        """Rows with their shadows; unchanged where the compilation's own text is not there."""
        model, program = self._options.model, self._program
        data = model.inputs or program.context.inputs
        if data is None:
            return rows
        try:
            words = load_inputs(data, program.inputs)
            outputs = [tensor.name for tensor in program.outputs]
            return with_shadows(rows, walked.results, model.context, numbers(words, program.inputs), outputs)
        except BadInput:
            return rows


def _of_results(rows: Sequence[Row]) -> frozenset[Key]:
    """Keys of all results, of operands that fail, and of operands that no op computes as a whole."""
    complete = {row.name for row in rows if row.role != "operand" and row.covered >= 1 and row.numbers is not None}
    wanted = (row for row in rows if row.role != "operand" or row.verdict == "fail" or row.name not in complete)
    return frozenset(row.key for row in wanted)
