"""The sources of a language model's nets."""

from __future__ import annotations

from tdb_dap.engine.files.context import Context
from tdb_dap.engine.files.net_folders import name_of_folder, sources_beside
from tdb_dap.tools.llm.language_model import LanguageModel


def sources_of(model: LanguageModel) -> dict[str, Context | None]:
    """The files that each net was compiled with, by the name of its folder; None where there are none."""
    stages = range(1, len(model.caches))
    others = [name_of_folder(f"block_cache_{layer}", stage) for layer in range(model.layers) for stage in stages]
    return sources_beside(model.context.bmodel, [*model.nets, *others])
