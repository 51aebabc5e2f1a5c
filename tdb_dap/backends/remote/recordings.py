"""Recordings made for a client: its model is run on the vendor's runtime of this machine, in a process apart."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO

from tdb_dap.backends.remote.channel import CHUNK
from tdb_dap.backends.remote.messages import Give, Record, Recorded
from tdb_dap.errors import BadInput
from tdb_dap.system.child_processes import command
from tdb_dap.system.scratch import scratch_directory

FILES = {
    "model": "compilation.bmodel",
    "source": "final.mlir",
    "locations": "tensor_location.json",
    "inputs": "inputs.bin",
}
"""The names that given files have in the folder of a run; a client chooses none."""

RECORDING = "run.tdbrec"
REQUEST = "request.json"

_LOOK = 0.2
"""Seconds between two looks at whether the client is still there."""


class Recordings:
    """The runs of one client. ``most``: bytes that it may give for one; ``libraries``: as in ``--cmodel-path``."""

    def __init__(self, most: int, libraries: Path | None) -> None:
        self._most = most
        self._libraries = libraries
        self._folder: Path | None = None
        self._scratch = ExitStack()
        self._files: dict[str, IO[bytes]] = {}
        self._given = 0

    def give(self, part: Give) -> None:
        """Take a part of a file; BadInput if it is too much."""
        self._given += len(part.data)
        if self._given > self._most:
            given = self._given
            self.close()
            raise BadInput(f"{given:,} bytes of files are more than a client may give here: {self._most:,} (--memory)")
        if self._folder is None:
            self._folder = self._scratch.enter_context(scratch_directory())
        if part.file not in self._files:
            self._files[part.file] = (self._folder / FILES[part.file]).open("wb")
        self._files[part.file].write(part.data)

    def record(self, request: Record, is_over: Callable[[], bool]) -> Iterator[Recorded]:
        """Run and send the recording in parts; BadInput says why there is none.

        ``is_over``: whether the client is gone; the run is ended then.
        """
        if self._folder is None or "model" not in self._files:
            raise BadInput("no model was given to run")
        folder = self._folder
        for file in self._files.values():
            file.close()
        libraries = str(self._libraries) if self._libraries is not None else None
        text = json.dumps({"net": request.net, "stage": request.stage, "libraries": libraries})
        (folder / REQUEST).write_text(text, encoding="utf-8")
        try:
            self._run(folder, is_over)
            with (folder / RECORDING).open("rb") as file:
                part = file.read(CHUNK)
                while part:
                    following = file.read(CHUNK)
                    yield Recorded(part, more=bool(following))
                    part = following
        finally:
            self.close()

    def _run(self, folder: Path, is_over: Callable[[], bool]) -> None:
        run = [*command("tdb_dap.backends.remote.recording_child"), str(folder)]
        with (folder / "said").open("w+b") as output:
            child = subprocess.Popen(run, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
            try:
                while child.poll() is None:
                    if is_over():
                        raise BadInput("the client has gone")
                    try:
                        child.wait(_LOOK)
                    except subprocess.TimeoutExpired:
                        continue
            finally:
                child.terminate()
                child.wait()
            if child.returncode:
                output.seek(0)
                lines = [line for line in output.read().decode("utf-8", "replace").splitlines() if line.strip()]
                raise BadInput(lines[-1][:400] if lines else f"the run ended with code {child.returncode}")

    def close(self) -> None:
        """Forget what was given."""
        for file in self._files.values():
            file.close()
        self._files.clear()
        self._given = 0
        self._scratch.close()
        self._folder = None
