"""The launches of a recording: their tensors by name, with the shapes and the addresses of the run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from tdb_dap.engine.bmodel import RunMode, Stage, SubnetInfo, TensorInfo
from tdb_dap.engine.bmodel.metadata import TENSOR_DTYPES
from tdb_dap.engine.hardware.dtypes import UI8
from tdb_dap.engine.hardware.geometry import Geometry, Space
from tdb_dap.engine.program.program import Launch
from tdb_dap.engine.program.recorded_events import Piece, RecordedEvents, RecordedLaunch
from tdb_dap.engine.program.recorded_models import RecordedModels
from tdb_dap.engine.program.recorded_source import Part
from tdb_dap.engine.recording.payloads import LaunchTensor
from tdb_dap.engine.source.dynamic_records import moved


def launches_of(launches: Sequence[RecordedLaunch]) -> Iterator[Launch]:
    """The launches that were told, in order."""
    for launch in launches:
        if launch.info is not None:
            shapes = ", ".join("×".join(map(str, tensor.shape)) for tensor in launch.info.inputs)
            yield Launch(launch.info.number, launch.info.net, shapes, launch.start, launch.stop)


class Borders:
    """Inputs and outputs of launches, and of the functions that they run."""

    def __init__(self, events: RecordedEvents, models: RecordedModels, geometry: Geometry) -> None:
        self._events = events
        self._models = models
        self._geometry = geometry

    def of(self, index: int, part: Part) -> SubnetInfo:
        """A part of a launch, with the launch's tensors: their names are those of the model."""
        launch = self._events.launches[part.launch]
        inputs: tuple[TensorInfo, ...] = ()
        outputs: tuple[TensorInfo, ...] = ()
        if launch.info is not None:
            stage = self._models.stage_of(launch.info)
            known = (stage.inputs, stage.outputs) if stage is not None else ((), ())
            made = launch.end.outputs if launch.end is not None and launch.end.outputs else launch.info.outputs
            inputs = self._named(launch.info.inputs, "input", known[0], self._places(launch, "host.copy_in"))
            outputs = self._named(made, "output", known[1], self._places(launch, "host.copy_out"))
        return SubnetInfo(
            id=index,
            run_mode=RunMode.TPU_STATIC,
            next_ids=(index + 1,),
            inputs=inputs,
            outputs=outputs,
            groups=(),
            cpu_operations=(),
        )

    def places(self, info: SubnetInfo, part: Part) -> dict[tuple[int, str], int]:
        """The compiler's addresses and names of the net's inputs and outputs -> where they lay in a launch."""
        launch = self._events.launches[part.launch]
        stage = self._models.stage_of(launch.info) if launch.info is not None else None
        given = {tensor.name: tensor.address for tensor in (*info.inputs, *info.outputs)}
        known = (*stage.inputs, *stage.outputs) if stage is not None else ()
        return {(tensor.address, tensor.name): given[tensor.name] for tensor in known if tensor.name in given}

    def of_function(self, info: SubnetInfo, part: Part) -> SubnetInfo:
        """The part with the arguments and results of its function, where that is known."""
        launch = self._events.launches[part.launch]
        stage: Stage | None = self._models.stage_of(launch.info) if launch.info is not None else None
        compiled = next((one for one in stage.subnets if one.id == part.subnet), None) if stage is not None else None
        if compiled is None or not part.function:
            return info
        given = {tensor.name: tensor for tensor in (*info.inputs, *info.outputs)}

        def placed(tensors: Iterable[TensorInfo]) -> tuple[TensorInfo, ...]:
            return tuple(
                given.get(tensor.name) or replace(tensor, address=moved(tensor.address, part.relocations, tensor.name))
                for tensor in tensors
            )

        return replace(info, inputs=placed(compiled.inputs), outputs=placed(compiled.outputs))

    def _places(self, launch: RecordedLaunch, name: str) -> list[Piece]:
        """Copies of one kind in a launch, in order."""
        actions = (self._events.actions.get(row) for row in range(launch.start, launch.stop))
        return [action.place for action in actions if action is not None and action.name == name and action.place]

    def _named(
        self,
        tensors: Sequence[LaunchTensor],
        role: str,
        known: Sequence[TensorInfo],
        copies: list[Piece],
    ) -> tuple[TensorInfo, ...]:
        """Tensors that are where the launch was told, else where the runtime has copied as many bytes.

        It copies other things before them, which may be as long: the model when it is loaded, shapes of outputs.
        """
        infos: list[TensorInfo] = []
        copies = copies[::-1]
        for index, tensor in list(enumerate(tensors))[::-1]:
            model = known[index] if index < len(known) else None
            dtype = TENSOR_DTYPES.get(tensor.dtype, UI8)
            size = tensor.size or math.prod(tensor.shape) * dtype.itemsize
            address = tensor.address
            if not address:
                run = side_by_side(copies, size)
                if not run:
                    continue
                address = self._geometry.device_address(Space.GLOBAL, copies[run.stop - 1].start)
                del copies[run.start : run.stop]
            infos.append(
                TensorInfo(
                    name=model.name if model else f"{role}{index}",
                    dtype=dtype,
                    shape=tensor.shape,
                    address=address,
                    size=size,
                    scale=model.scale if model else 1.0,
                    zero_point=model.zero_point if model else 0,
                    memory_mode=tensor.mode,
                )
            )
        return tuple(infos[::-1])


def side_by_side(copies: Sequence[Piece], size: int) -> range:
    """Positions of the copy of so many bytes; else of copies side by side that are as many, as a recorder splits one.

    ``copies``: the last one first. Empty if there is none.
    """
    for first, piece in enumerate(copies):
        if piece.size == size:
            return range(first, first + 1)
    for first, piece in enumerate(copies):
        start = piece.start + piece.size
        for position in range(first, len(copies)):
            one = copies[position]
            if one.start + one.size != start or piece.start + piece.size - one.start > size:
                break
            start = one.start
            if piece.start + piece.size - start == size:
                return range(first, position + 1)
    return range(0)
