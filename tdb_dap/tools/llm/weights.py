"""The weights of any compiled model compared with those before conversion."""

from __future__ import annotations

from pathlib import Path

from tdb_dap.engine.bmodel import Bmodel
from tdb_dap.engine.program.compiled_program import CompiledProgram
from tdb_dap.errors import BadInput, TdbError
from tdb_dap.system.progress import SILENT, Progress
from tdb_dap.tools.float_model.model import FloatModel
from tdb_dap.tools.llm.language_model import bmodel_in, is_language_model, read_model
from tdb_dap.tools.llm.sources import weights_report
from tdb_dap.tools.programs import open_program
from tdb_dap.tools.weights.checking import WeightsReport
from tdb_dap.tools.weights.layers import layers_of
from tdb_dap.tools.weights.network import check_network

_FILES = (".onnx", ".npz")


def weights_of(model: Path, reference: Path | None, progress: Progress = SILENT) -> WeightsReport:
    """The report on a language model (``reference``: the folder before conversion) or a network.

    ``reference`` of a network: an ONNX model or a file of its layers' weights, None for the files of the compilation.
    BadInput where it does not fit the model, or is not there.
    """
    if reference is not None and reference.suffix not in _FILES:
        read = read_model(model)
        return weights_report(read, FloatModel(reference, room=read.room), progress)
    if _is_language_model(model):
        raise BadInput(f"{model}: a language model; give --reference HF_DIR (config.json, .safetensors)")
    program = open_program(model)
    if not any(stage.weights.size for net in program.nets for stage in net.stages):
        raise BadInput(f"{model}: the model has no weights, so there is nothing to compare")
    layers = layers_of(program.context.directory, reference)
    if layers is None or not isinstance(program, CompiledProgram):
        raise BadInput(
            f"{model}: the weights of its layers are not there; give the context directory in the folder in which "
            "model_transform and model_deploy --debug were run"
        )
    return check_network(program, layers)


def _is_language_model(model: Path) -> bool:
    try:
        return is_language_model(net.name for net in Bmodel(bmodel_in(model)).metadata.nets)
    except TdbError:
        return False
