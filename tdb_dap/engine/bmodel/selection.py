"""Choice of a net and a stage of a file."""

from __future__ import annotations

from tdb_dap.engine.bmodel.metadata import Net, Stage
from tdb_dap.engine.bmodel.model_file import ModelFile
from tdb_dap.engine.rendering.printable import quoted
from tdb_dap.errors import BadInput


def select(bmodel: ModelFile, file: str, net: str | None, stage: int) -> tuple[Net, Stage]:
    """The net of that name (None: the first) and its stage of that number; BadInput lists what there is."""
    nets = bmodel.metadata.nets
    if not any(each.stages for each in nets):
        raise BadInput(f"{file}: the model holds no net; compile it again")
    chosen = next((each for each in nets if each.stages and net in (None, each.name)), None)
    if chosen is None:
        names = ", ".join(each.name for each in nets)
        raise BadInput(f"{file}: there is no net {quoted(net or '')}; the file holds {names}")
    if not 0 <= stage < len(chosen.stages):
        raise BadInput(f"{file}: the net {chosen.name} has no stage {stage}; it has {stages_text(chosen)}")
    return chosen, chosen.stages[stage]


def input_shapes(stage: Stage) -> str:
    """``x f32[1,3,32,32], y si8[4]``: what tells the stages of a net apart."""
    return ", ".join(f"{t.name} {t.dtype}[{','.join(map(str, t.shape))}]" for t in stage.inputs) or "no inputs"


def stages_text(net: Net) -> str:
    """``0 (x f32[1,3]), 1 (x f32[4,3])``: the stages of a net."""
    return ", ".join(f"{number} ({input_shapes(stage)})" for number, stage in enumerate(net.stages))
