"""The vendor's runtime, asked for the outputs of a whole net: its ``model_runner``, where it is installed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from tdb_dap.backends.discovery import library_paths
from tdb_dap.engine.bmodel.kernel_module import give_kernel
from tdb_dap.engine.commands.net_tensors import Tensor
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.machine.npz import read_npz, write_npz
from tdb_dap.engine.program.program import Program
from tdb_dap.errors import BadInput
from tdb_dap.system.child_processes import exit_text, outside_environment, run_logged
from tdb_dap.system.scratch import scratch_directory

# A net of many layers takes minutes on the vendor's simulator.
TIMEOUT = 600


_FOLDERS = ("bin", "python/tools")
"""Where the vendor's programs are: those of ``bin`` know their Python, so they come first."""

_ENVIRONMENT = 5
"""How far above the package's libraries its environment is: ENV/lib/python3.10/site-packages/tpu_mlir/lib."""


def find(given: Path | None = None) -> Path | None:
    """The program ``model_runner``: next to the vendor's libraries, wherever these are found, else on the search path.

    ``given``: as in ``--cmodel-path``. None if it is nowhere.
    """
    for candidate in library_paths(given.parent if given is not None and given.is_file() else given):
        runtime = _near(candidate.directory, "model_runner", "model_runner.py")
        if runtime is not None:
            return runtime
    on_path = shutil.which("model_runner")
    return Path(on_path) if on_path else None


def _near(directory: Path, *names: str) -> Path | None:
    """A program of the environment that a directory of the vendor's belongs to."""
    directory = directory.absolute()
    for folder in _FOLDERS:
        for above in (directory, *directory.parents[:_ENVIRONMENT]):
            for name in names:
                path = above / folder / name
                if path.is_file() and os.access(path, os.X_OK):
                    return path
    return None


class VendorRuntime:
    """Outputs of a net by name, computed from its inputs by the vendor's runtime in its own process.

    It runs once for the same inputs, when it is first asked. ``inputs``: stored words by name; ``reason``: why it gave
    nothing, if so; ``kernel``: see ``VendorLibrary.kernel_module``.
    """

    title = "the vendor's runtime, from the net's inputs"
    is_expected = False

    def __init__(
        self, executable: Path, program: Program, inputs: Callable[[], Mapping[str, Array]], kernel: str = ""
    ) -> None:
        self._executable = executable
        self._program = program
        self.inputs = inputs
        self._kernel = kernel
        self._known: tuple[bytes, Mapping[str, Array]] | None = None
        self.reason = ""

    def whole(self, name: str) -> Array | None:
        """All numbers of an output of the net, dequantised; None if it has none of that name or could not be run."""
        given = {tensor.name: self._numbers(tensor) for tensor in self._program.inputs}
        key = b"".join(numbers.tobytes() for numbers in given.values())
        if self._known is None or self._known[0] != key:
            self._known = key, self._run(given)
        return self._known[1].get(name)

    def _numbers(self, tensor: Tensor) -> Array:
        """An input as the runtime takes it: what its own lowering turns into the stored words again."""
        words = self.inputs().get(tensor.name)
        if words is None:
            words = np.zeros(tensor.shape, tensor.dtype.bits_dtype)
        return tensor.dtype.decode(words).reshape(tensor.shape)

    def _run(self, given: Mapping[str, Array]) -> Mapping[str, Array]:
        with scratch_directory() as folder:
            model, inputs, outputs = folder / "model.bmodel", folder / "inputs.npz", folder / "outputs.npz"
            self._program.bmodel.copy_to(model)
            model = self._alone(model)
            if self.reason:
                return {}
            root = self._executable.parent.parent
            library = next(iter(root.glob(f"lib/python3*/site-packages/*/lib/{self._kernel}")), None)
            if self._kernel and library is not None:
                give_kernel(model, library)
            write_npz(inputs, given)
            command = [str(self._executable), "--input", str(inputs), "--model", str(model), "--output", str(outputs)]
            self.reason = self._execute(command, folder)
            if not self.reason and outputs.exists():
                try:
                    return read_npz(outputs)
                except BadInput as error:
                    self.reason = str(error)
        return {}

    def _alone(self, model: Path) -> Path:
        """A file with this net and stage only: of several the runner takes the first."""
        program = self._program
        nets = program.bmodel.metadata.nets
        if len(nets) == 1 and len(nets[0].stages) == 1:
            return model
        tool = _tool(self._executable)
        number = [net.name for net in nets].index(program.net.name)
        alone = model.with_name(f"bm_net{number}_stage{program.stage_index}.bmodel")
        self.reason = self._execute([str(tool), "--extract", str(model)], model.parent)
        if not self.reason and not alone.exists():
            self.reason = f"{tool} --extract has not made {alone.name}"
        return alone

    def _execute(self, command: Sequence[str], folder: Path) -> str:
        return _execute(command, folder, self._executable)


def _tool(executable: Path) -> Path:
    sibling = executable.with_name("model_tool")
    return sibling if sibling.is_file() else _near(executable.parent, "model_tool") or sibling


def _execute(command: Sequence[str], folder: Path, executable: Path) -> str:
    """Run one of the vendor's programs, which call each other by name; what went wrong, or the empty string."""
    environment = outside_environment()
    environment["PATH"] = f"{executable.parent}{os.pathsep}{environment.get('PATH', os.defpath)}"
    log = folder / "log"
    try:
        code = run_logged(command, folder, log, TIMEOUT, environment)
    except OSError as error:
        return f"{command[0]}: {error}"
    if code == 0:
        return ""
    lines = [line for line in log.read_text("utf-8", "replace").splitlines() if line.strip()]
    how = f"given up after {TIMEOUT:g} seconds" if code is None else f"ended with {exit_text(code)}"
    return f"{command[0]}: {how}: {lines[-1][:200] if lines else 'it said nothing'}"
