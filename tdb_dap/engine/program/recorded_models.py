"""The compiled models that a recorded program loaded, as far as their files were kept in the recording."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from tdb_dap.engine.bmodel.metadata import Metadata, Net, Stage, read_metadata
from tdb_dap.engine.files import limits
from tdb_dap.engine.files.bounded_files import read_file
from tdb_dap.engine.files.net_folders import name_of_folder
from tdb_dap.engine.recording.format import NO_STAGE, Event
from tdb_dap.engine.recording.payloads import LaunchBegin, Region
from tdb_dap.errors import BadInput

if TYPE_CHECKING:
    from tdb_dap.engine.program.compiled_program import CompiledProgram
    from tdb_dap.engine.recording.recording import Recording

_FOLDER = "models"
NETS = "nets"
"""Folder of a model in a recording with a folder for each net that was compiled apart."""


class RecordedModel(Struct, frozen=True):
    """A model. ``path``: where it was; ``metadata``: its nets.

    ``source``, ``locations``: the bytes of its final.mlir and its tensor_location.json, or None; ``nets``: those of the
    nets that were compiled apart, by the names of their folders. ``mlir``: where its final.mlir was, or None.
    """

    number: int
    path: str
    metadata: Metadata
    source: bytes | None
    locations: bytes | None
    nets: Mapping[str, tuple[bytes, bytes | None]] = field(default_factory=dict[str, tuple[bytes, bytes | None]])
    mlir: Path | None = None

    def own_file(self) -> Path | None:
        """The final.mlir on this machine, if it is there and still holds the same."""
        if self.mlir is None or self.source is None:
            return None
        try:
            # Its size first: what a recording names may be a device, or of any size.
            is_alike = self.mlir.is_file() and self.mlir.stat().st_size == len(self.source)
            return self.mlir if is_alike and read_file(self.mlir, limits.TEXT) == self.source else None
        except (OSError, ValueError, BadInput):
            return None


class RecordedModels:
    """All models of a recording. ``chip``: name of the chip that was emulated."""

    def __init__(
        self, recording: Recording, chip_of: Callable[[str], str | None], known: RecordedModel | None = None
    ) -> None:
        """``chip_of``: the chip of an emulator's file; ``known``: the one model that was run, if that is known."""
        self.models = (known,) if known is not None else tuple(_read(recording))
        self.chip = self.models[0].metadata.chip if self.models else self._from_library(recording, chip_of)
        self.compiler = self.models[0].metadata.version if self.models else "unknown"

    @staticmethod
    def _from_library(recording: Recording, chip_of: Callable[[str], str | None]) -> str:
        for index in recording.of(Event.REGION).tolist():
            library = recording.parsed(index, Region.parse).library
            if (chip := chip_of(library)) is not None:
                return chip
        raise BadInput(
            f"{recording.path}: neither a model nor an emulator of a known chip is named in it; "
            "was anything executed while it was recorded?"
        )

    def model_of(self, launch: LaunchBegin) -> RecordedModel | None:
        """The model that a launch is of: the last one loaded that has its net."""
        candidates = (model for model in reversed(self.models) if _net(model, launch.net) is not None)
        return next(candidates, None)

    def folder_of(self, launch: LaunchBegin) -> str:
        """Name of the folder of a launch's net, where the nets of its model were compiled apart; else empty."""
        model, stage = self.model_of(launch), self.stage_of(launch)
        net = _net(model, launch.net) if model is not None and model.nets else None
        number = next((number for number, one in enumerate(net.stages) if one is stage), 0) if net is not None else 0
        return name_of_folder(launch.net, number) if net is not None else ""

    def stage_of(self, launch: LaunchBegin) -> Stage | None:
        """The stage of a launch: the one that was told, else the first with these shapes, else the first."""
        model = self.model_of(launch)
        net = _net(model, launch.net) if model is not None else None
        if net is None or not net.stages:
            return None
        if launch.stage != NO_STAGE and launch.stage < len(net.stages):
            return net.stages[launch.stage]
        shapes = tuple(tensor.shape for tensor in launch.inputs)
        fitting = (stage for stage in net.stages if tuple(tensor.shape for tensor in stage.inputs) == shapes)
        return next(fitting, net.stages[0])


def model_in(program: CompiledProgram) -> RecordedModel:
    """The model of a program, with the files next to it."""
    context = program.context
    source, locations = (bytes(read_file(file)) if file else None for file in (context.mlir, context.locations))
    return RecordedModel(0, str(context.bmodel), program.bmodel.metadata, source, locations, mlir=context.mlir)


def _net(model: RecordedModel, name: str) -> Net | None:
    return next((net for net in model.metadata.nets if net.name == name), None)


def _read(recording: Recording) -> list[RecordedModel]:
    models: list[RecordedModel] = []
    for name, content in recording.files.items():
        folder, _, rest = name.partition("/")
        number, _, file = rest.partition("/")
        if folder != _FOLDER or file != "description" or not number.isdigit():
            continue
        metadata = read_metadata(content, f"{recording.path}: {name}")
        info = recording.files.get(f"{_FOLDER}/{number}/info.json", b"{}")
        mlir = _text_in(info, "mlir")
        models.append(
            RecordedModel(
                int(number),
                _text_in(info, "path"),
                metadata,
                recording.files.get(f"{_FOLDER}/{number}/final.mlir"),
                recording.files.get(f"{_FOLDER}/{number}/tensor_location.json"),
                _nets(recording, f"{_FOLDER}/{number}/{NETS}/"),
                Path(mlir) if mlir else None,
            )
        )
    return sorted(models, key=lambda model: model.number)


def _nets(recording: Recording, folder: str) -> dict[str, tuple[bytes, bytes | None]]:
    nets: dict[str, tuple[bytes, bytes | None]] = {}
    for name, content in recording.files.items():
        net, _, file = name.removeprefix(folder).partition("/")
        if name.startswith(folder) and file == "final.mlir":
            nets[net] = content, recording.files.get(f"{folder}{net}/tensor_location.json")
    return nets


def _text_in(info: bytes, key: str) -> str:
    try:
        value = json.loads(info)
    except (ValueError, RecursionError):
        return ""
    return str(value.get(key, "")) if isinstance(value, dict) else ""
