"""Compiling a model again by a quantize table, where the compiler is there, and what its output is then worth."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from tdb_dap.engine.files.atomic_files import write_text
from tdb_dap.errors import BadInput
from tdb_dap.system.child_processes import run_logged
from tdb_dap.system.notices import heard_by
from tdb_dap.system.scratch import scratch_directory
from tdb_dap.tools.golden.files.compilation import Files, find
from tdb_dap.tools.golden.level import Level
from tdb_dap.tools.triage.outputs import similarity
from tdb_dap.tools.triage.triaging import examined

COMPILER = "model_deploy"

_PATIENCE = 1800
"""Seconds that a compilation may take."""

_WORD = re.compile(r"[A-Za-z0-9_.]+")
_VALUES = ("--quantize", "--processor", "--chip", "--num_core", "--q_group_size", "--opt", "--addr_mode")
_FLAGS = ("--asymmetric", "--dynamic", "--quant_input", "--quant_output", "--high_precision", "--disable_layer_group")
"""Options of the compiler's command line that are kept; files are given by us: the notes may be anybody's."""

_FILES = {
    "--mlir": "top_mlir",
    "--test_input": "mlir_input",
    "--test_reference": "reference",
    "--calibration_table": "calibration",
}
_TABLE = "quantize_table.txt"
_LINES = 3


def is_there(files: Files) -> bool:
    """Whether the compiler is on the PATH and it is known how the model was compiled."""
    return shutil.which(COMPILER) is not None and bool(_kept(files)) and files.get("top_mlir") is not None


def compiled(files: Files, table: str) -> float | None:
    """Least cosine of an output of the model compiled by a table with the imported model's.

    None if no output can be compared. BadInput with the last lines of the compiler's log if it fails.
    """
    with scratch_directory() as place:
        folder = place
        write_text(folder / _TABLE, table)
        words = [COMPILER, *_kept(files), *_copied(files, folder), "--quantize_table", _TABLE]
        words += ["--compare_all", "--debug", "--tolerance", "0.0,-9.0", "--model", _model(files)]
        _run(words, folder)
        with heard_by(lambda text: None):
            judged = examined(find(folder))[0]
        return similarity([stage for stage in judged if stage.is_usable])


def _kept(files: Files) -> list[str]:
    """The options of the compilation, but those that name files; empty if they are not known."""
    try:
        words = shlex.split(files.commands.get("deploy_cmd", ""))
    except ValueError:
        return []
    kept: list[str] = []
    for before, word in pairwise(words):
        if before in _VALUES and _WORD.fullmatch(word):
            kept += [before, word]
        if word in _FLAGS:
            kept.append(word)
    return kept


def _copied(files: Files, folder: Path) -> Iterator[str]:
    """The files of the compilation, copied: the compiler writes next to them."""
    for option, key in _FILES.items():
        path = files.get(key)
        if path is not None:
            shutil.copy(path, folder / path.name)
            yield from (option, path.name)
    top = files.get("top_mlir")
    weights = Level("top", top).weight_file if top is not None else None
    if weights is not None:
        shutil.copy(weights, folder / weights.name)


def _model(files: Files) -> str:
    given = files.get("bmodel")
    return "mixed.cvimodel" if given is not None and given.suffix == ".cvimodel" else "mixed.bmodel"


def _run(words: list[str], folder: Path) -> None:
    log = folder / "compile.log"
    code = run_logged(words, folder, log, _PATIENCE)
    if code is None:
        raise BadInput(f"{COMPILER} did not end within {_PATIENCE:,} s with the table")
    if code:
        lines = [line for line in log.read_text("utf-8", "replace").splitlines() if line.strip()]
        raise BadInput(f"{COMPILER} failed with the table: {' | '.join(lines[-_LINES:])[:400]}")
