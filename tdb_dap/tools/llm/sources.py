"""The sources of a language model's nets."""

from __future__ import annotations

from tdb_dap.engine.bmodel import Bmodel
from tdb_dap.engine.files.context import Context
from tdb_dap.engine.files.net_folders import name_of_folder, sources_beside
from tdb_dap.system.progress import SILENT, Progress
from tdb_dap.tools.float_model.model import FloatModel
from tdb_dap.tools.llm.language_model import LanguageModel
from tdb_dap.tools.weights.checking import WeightsReport, check_weights


def sources_of(model: LanguageModel) -> dict[str, Context | None]:
    """The files that each net was compiled with, by the name of its folder; None where there are none."""
    stages = range(1, len(model.caches))
    others = [name_of_folder(f"block_cache_{layer}", stage) for layer in range(model.layers) for stage in stages]
    return sources_beside(model.context.bmodel, [*model.nets, *others])


def weights_report(model: LanguageModel, float_model: FloatModel, progress: Progress = SILENT) -> WeightsReport:
    """The constants of a model compared with the float model's weights."""
    return check_weights(Bmodel(model.context.bmodel), model.nets, sources_of(model), float_model, progress)
