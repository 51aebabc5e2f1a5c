"""An answer on the vendor's runtime, recorded: what it computes is the truth, and nets may be dynamic."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from tdb_dap.backends.launch.job import Border as JobBorder
from tdb_dap.backends.launch.job import Copy, Fill, Largest, Launch, Net, Piece
from tdb_dap.backends.launch.job import Step as JobStep
from tdb_dap.backends.launch.recorded_net import record_nets
from tdb_dap.engine.bmodel import Bmodel, Stage, TensorInfo
from tdb_dap.engine.bmodel.metadata import TENSOR_DTYPES
from tdb_dap.engine.program.schedule import Border, HostStep, NetStep, Schedule, index_of_largest
from tdb_dap.errors import BadInput
from tdb_dap.targets.chips.registry import target_for
from tdb_dap.tools.llm.language_model import LanguageModel
from tdb_dap.tools.llm.sources import sources_of

_NUMBERS = {dtype.name: number for number, dtype in TENSOR_DTYPES.items()}


def record_answer(model: LanguageModel, schedule: Schedule, path: Path, given: Path | None = None) -> list[bytes]:
    """Run a schedule on the vendor's runtime and leave a recording in ``path``; the outputs of each launch.

    ``given``: as in ``--cmodel-path``. BadInput says what is missing, or what the runtime said.
    """
    bmodel = Bmodel(model.context.bmodel)
    chip = target_for(bmodel.metadata.chip, str(model.context.bmodel))
    job = _Job(model)
    steps = [job.step(step) for step in schedule.steps]
    folders = {
        name: [file for file in (context.mlir, context.locations) if file is not None]
        for name, context in sources_of(model).items()
        if context is not None
    }
    results = record_nets(bmodel, chip, job.nets, tuple(steps), b"".join(job.data), path, given, folders=folders)
    recordings: list[bytes] = []
    for step in steps:
        if isinstance(step, Launch):
            size = sum(border.size for border in job.nets[step.net].made)
            recordings.append(results[:size])
            results = results[size:]
    return recordings


class _Job:
    """Steps as the process with the runtime takes them. ``data``: what is filled in."""

    def __init__(self, model: LanguageModel) -> None:
        self._stages = model.nets
        self._names = list(model.nets)
        self.nets = tuple(
            Net(name, tuple(map(_border, stage.inputs)), tuple(map(_border, stage.outputs)))
            for name, stage in model.nets.items()
        )
        self.data: list[bytes] = []
        self._size = 0

    def step(self, step: HostStep | NetStep) -> JobStep:
        if isinstance(step, NetStep):
            return Launch(self._names.index(step.net), self._given(step))
        to, dtype = self._piece(step.destination)
        if step.is_exact:
            return Copy(self._piece(step.sources[0])[0], to)
        if step.compute is index_of_largest:
            source, given = self._piece(step.sources[0])
            return Largest(source, given.dtype.name, to)
        if step.sources:
            raise BadInput(f"{step.name} cannot run together with the vendor's runtime")
        words = dtype.dtype.encode(step.compute(())).tobytes()
        self.data.append(words)
        self._size += len(words)
        return Fill(to, self._size - len(words))

    def _given(self, step: NetStep) -> tuple[JobBorder, ...]:
        """Inputs with the shapes of a launch; none where they are the largest."""
        if not step.shapes:
            return ()
        tensors = self._stages[step.net].inputs
        return tuple(_border(replace(one, shape=shape)) for one, shape in zip(tensors, step.shapes, strict=True))

    def _piece(self, border: Border) -> tuple[Piece, TensorInfo]:
        stage: Stage = self._stages[border.net]
        for is_output, tensors in ((False, stage.inputs), (True, stage.outputs)):
            for index, tensor in enumerate(tensors):
                if tensor.name == border.tensor:
                    width = tensor.dtype.itemsize
                    size = _border(tensor).size - border.first * width if border.count is None else border.count * width
                    return Piece(self._names.index(border.net), is_output, index, border.first * width, size), tensor
        raise BadInput(f"net {border.net} has no input or output {border.tensor}")


def _border(tensor: TensorInfo) -> JobBorder:
    size = tensor.dtype.itemsize
    for extent in tensor.shape:
        size *= extent
    return JobBorder(_NUMBERS[tensor.dtype.name], tensor.shape, size)
