"""Reading of .bmodel files: container, metadata and payload."""

from tdb_dap.engine.bmodel.file import Bmodel
from tdb_dap.engine.bmodel.metadata import CommandGroup, Net, RunMode, Span, Stage, SubnetInfo, TensorInfo
from tdb_dap.engine.bmodel.model_file import ModelFile
from tdb_dap.engine.bmodel.selection import input_shapes, select, stages_text

__all__ = [
    "Bmodel",
    "CommandGroup",
    "ModelFile",
    "Net",
    "RunMode",
    "Span",
    "Stage",
    "SubnetInfo",
    "TensorInfo",
    "input_shapes",
    "select",
    "stages_text",
]
