"""Options of a check."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from tdb_dap.errors import BadInput
from tdb_dap.tools.model_options import ModelOptions

if TYPE_CHECKING:
    from tdb_dap.engine.compare.walk import Mode

MOST_JOBS = 1024
"""Processes that may be asked for; more is a slip of the fingers."""


class CheckOptions(Struct, frozen=True):
    """Options of a check.

    ``golden``, ``onnx``: compute the expected values in float64 from ``..._tpu.mlir``, or from the nodes of an ONNX
    model, in place of ``model.references``. ``tolerance``, ``excepted``: as for ``Tolerances.parse``. ``ops_only``:
    only what is not explained by accumulated rounding fails. ``sanitize``, ``profile``: also run all sanitizers, also
    profile. ``jobs``, ``dask``: worker processes, or the scheduler of a cluster. ``resume``: checkpoint directory.
    ``keep``: tensors to return: ``none``, ``failed``, ``all``. ``baseline``: file of known findings.
    """

    model: ModelOptions
    mode: Mode = "cascade"
    golden: bool = False
    onnx: Path | None = None
    tolerance: Sequence[str] = ()
    excepted: Sequence[str] = ()
    blame: bool = False
    ops_only: bool = False
    sanitize: bool = False
    profile: bool = False
    jobs: int = 1
    dask: str | None = None
    resume: Path | None = None
    keep: str = "none"
    pictures: bool = False
    baseline: Path | None = None


def resolved(options: CheckOptions) -> CheckOptions:
    """The options with the reference that they name; BadInput where they exclude each other."""
    if options.jobs < 1:
        raise BadInput(f"--jobs {options.jobs}: give the number of processes, 1 or more")
    if options.jobs > MOST_JOBS:
        raise BadInput(f"--jobs {options.jobs:,}: give the number of processes, at most {MOST_JOBS:,}")
    blame = options.blame or (options.ops_only and options.mode == "cascade")
    several = [option for option, given in (("--jobs", options.jobs > 1), ("--dask", options.dask)) if given]
    if several and options.mode == "cascade" and not blame:
        raise BadInput(
            f"{several[0]}: in a cascade each op waits for the one before it; use --mode standalone or --blame"
        )
    if len(several) > 1:
        raise BadInput("--jobs and --dask: give one of them")
    if options.sanitize and (options.mode != "cascade" or options.resume):
        other = "--resume" if options.resume else "--mode standalone"
        raise BadInput(f"--sanitize and {other}: sanitizers need one run from start to end; leave one out")
    references = options.model.references
    if options.onnx is not None:
        if references or options.golden:
            raise BadInput(f"--onnx and {'--golden' if options.golden else '--reference'}: give one of them")
        if options.onnx.suffix != ".onnx":
            raise BadInput(f"--onnx {options.onnx}: its name must end in .onnx")
        references = (options.onnx,)
    if options.golden:
        if references:
            raise BadInput("--golden and --reference: give one of them")
        from tdb_dap.tools.golden.reference import text_of  # only that choice of the command needs it

        references = (text_of(options.model.context),)
    return replace(options, blame=blame, model=replace(options.model, references=references))
