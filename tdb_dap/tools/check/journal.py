"""A directory in which an interrupted check finds what it has done already.

One file per segment with the rows and the tensors that are kept, and, of a cascade, the memories at the end of one of
them. Nothing in it is executed when it is read.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import asdict

from tdb_dap.engine.files.atomic_files import write_text
from tdb_dap.engine.machine.checkpoints import Snapshot, Snapshots
from tdb_dap.engine.machine.npz import read_npz, write_npz
from tdb_dap.errors import BadInput
from tdb_dap.tools.check.results import Looked, Walked
from tdb_dap.tools.check.schema import Row
from tdb_dap.tools.report_schema import json_form, read
from tdb_dap.version import __version__

if TYPE_CHECKING:
    from tdb_dap.engine.compare.walk import Mode
    from tdb_dap.engine.control.debugger import Debugger
    from tdb_dap.engine.hardware.dtypes import Array
    from tdb_dap.tools.check.worker import Job, Segment

_WHAT = "check.json"
_MEMORIES = "memories.npz"
_ORDINAL = "ordinal"


class Journal:
    """Finished part of one check, on disk. ``every``: seconds between two copies of the memories, at least."""

    def __init__(self, directory: Path, job: Job, mode: Mode, every: float = 20.0) -> None:
        self._directory = directory
        self._every = every
        self._copied = time.monotonic()
        identity = json.dumps(_identity(job, mode), indent=1, sort_keys=True)
        try:
            directory.mkdir(parents=True, exist_ok=True)
            what = directory / _WHAT
            if not what.exists():
                if any(directory.iterdir()):
                    raise BadInput(f"--resume {directory}: is not empty and holds no check; give another directory")
                write_text(what, identity)
            elif what.read_text("utf-8", errors="replace") != identity:
                raise BadInput(
                    f"--resume {directory}: was begun with another model, other data or other options; give the same, "
                    "or another directory"
                )
        except OSError as error:
            raise BadInput(f"--resume {directory}: {error.strerror or error}") from None

    def known(self) -> dict[Segment, Walked]:
        """Results of the segments that are done."""
        walked: dict[Segment, Walked] = {}
        for file in self._directory.glob("*-*.npz"):
            try:
                start, stop = map(int, file.stem.split("-"))
                walked[start, stop] = _loaded(read_npz(file))
            except (KeyError, ValueError):
                raise BadInput(f"{file}: is damaged; remove it, and its part is checked again") from None
        return walked

    def add(self, segment: Segment, walked: Walked) -> None:
        """A segment is done; one that stopped early is not kept."""
        if not walked.stopped:
            self._write(f"{segment[0]}-{segment[1]}.npz", _saved(walked))

    def copy_memories(self, debugger: Debugger) -> None:
        """Keep the memories as they are now, if that has not been done lately."""
        if time.monotonic() - self._copied < self._every:
            return
        machine = debugger.machine
        pages = Snapshots(machine.memory, debugger.program.ddr_regions()).take().pages
        arrays: dict[str, Array] = {f"{region}.{start}": page for (region, start), page in pages.items()}
        self._write(_MEMORIES, {**arrays, _ORDINAL: np.array(machine.ordinal)})
        self._copied = time.monotonic()

    def restore_memories(self, debugger: Debugger) -> int:
        """Bring a debugger at the start to the moment of the last copy; its ordinal, 0 if there is none."""
        file = self._directory / _MEMORIES
        if not file.exists():
            return 0
        arrays = read_npz(file)
        machine = debugger.machine
        try:
            ordinal = int(arrays.pop(_ORDINAL))
            pages = {tuple(map(int, name.split("."))): page for name, page in arrays.items()}
            snapshots = Snapshots(machine.memory, debugger.program.ddr_regions())
            snapshots.restore(Snapshot({(region, start): page for (region, start), page in pages.items()}))
        except (KeyError, ValueError):
            raise BadInput(f"{file}: is damaged; remove it, and the check begins anew") from None
        machine.backend.edited()
        machine.ordinal = ordinal
        return ordinal

    def _write(self, name: str, arrays: Mapping[str, Array]) -> None:
        """Whole or not at all."""
        write_npz(self._directory / name, arrays)


def _identity(job: Job, mode: Mode) -> dict[str, object]:
    """Settings that must be the same for results to belong together."""
    model = job.model
    files = [path for path in (model.context, model.inputs, *model.references) if path is not None]
    stamps = [[str(path.resolve()), _stamp(path)] for path in files]
    others = ("model", "context", "inputs", "references", "pictures", "wanted")
    options = {name: str(value) for name, value in (asdict(model) | asdict(job)).items() if name not in others}
    return {"tool": __version__, "mode": mode, "files": stamps, "options": options}


def _stamp(path: Path) -> list[int]:
    """Size and time of change of a file, or of all files of a directory."""
    try:
        files = sorted(path.iterdir()) if path.is_dir() else [path]
        return [number for file in files for number in (file.stat().st_size, file.stat().st_mtime_ns)]
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror or error}") from None


def _saved(walked: Walked) -> dict[str, Array]:
    rows = [json_form(row) for row in walked.rows]
    arrays: dict[str, Array] = {"rows": np.frombuffer(json.dumps(rows).encode(), np.uint8)}
    for index, looked in enumerate(walked.results):
        if looked.actual is not None and looked.expected is not None:
            arrays[f"{index}.actual"], arrays[f"{index}.expected"] = looked.actual, looked.expected
    return arrays


def _loaded(arrays: Mapping[str, Array]) -> Walked:
    rows = read(list[Row], arrays["rows"].tobytes())
    return Walked(
        tuple(Looked(row, arrays.get(f"{i}.actual"), arrays.get(f"{i}.expected")) for i, row in enumerate(rows))
    )
