"""The process that records a net for a client: ``recording_child FOLDER``. Its last line is the reason if it fails."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from tdb_dap.backends.launch.recorded_net import record_net
from tdb_dap.backends.remote.recordings import FILES, RECORDING, REQUEST
from tdb_dap.engine.files.context import Context
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.program.compiled_program import CompiledProgram
from tdb_dap.errors import BadInput, TdbError
from tdb_dap.targets.chips.registry import target_for


def main(folder: Path) -> int:
    """0, or 2 with the reason on standard error."""
    wanted = json.loads((folder / REQUEST).read_text(encoding="utf-8"))
    libraries = Path(wanted["libraries"]) if wanted["libraries"] is not None else None
    try:
        program = CompiledProgram(Context.find(folder), target_for, wanted["net"], wanted["stage"])
        chip = target_for(program.chip, FILES["model"])
        record_net(program, chip, _inputs(program, folder / FILES["inputs"]), folder / RECORDING, libraries, True)
    except (TdbError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _inputs(program: CompiledProgram, path: Path) -> dict[str, Array]:
    """The stored words of each input in its compiled shape, from all of them one after another."""
    data = path.read_bytes() if path.exists() else b""
    sizes = [tensor.view.nbytes for tensor in program.inputs]
    if len(data) != sum(sizes):
        raise BadInput(f"{len(data):,} bytes of inputs were given, the net {program.net.name} takes {sum(sizes):,}")
    starts = np.cumsum([0, *sizes])
    return {
        tensor.name: np.frombuffer(data, tensor.dtype.bits_dtype, tensor.view.size, int(start)).reshape(tensor.shape)
        for tensor, start in zip(program.inputs, starts, strict=False)
    }


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
