"""A language model as the converter leaves it: one bmodel of many nets, known by their names and shapes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tdb_dap.engine.bmodel import Bmodel, RunMode, Stage, TensorInfo
from tdb_dap.engine.files.context import Context
from tdb_dap.errors import BadInput

_LAYER = re.compile(r"(block|block_cache)_(\d+)")
_OTHER_KINDS = re.compile(r"(block_kv|block_cache_\d+_\d+|vit|.*lora).*")
_MOST_NAMED = 6

GREEDY_HEAD = "greedy_head"

HEADS = ("lm_head", GREEDY_HEAD, "sample_head")
"""Nets that end the pass of a token."""


@dataclass(frozen=True)
class LanguageModel:
    """A model. ``layers``: number of blocks; ``length``: positions of a prefill; ``room``: positions in the cache.

    ``hidden``: numbers of a position between two blocks; ``line``: numbers of a position in one cache.
    ``has_mask``: whether a prefill is given its mask; ``has_greedy_head``: whether a net of its own takes the token
    from the logits.
    """

    context: Context
    nets: dict[str, Stage]
    layers: int
    length: int
    room: int
    hidden: int
    line: int
    has_mask: bool
    has_greedy_head: bool

    def input(self, net: str, index: int) -> TensorInfo:
        """An input of a net, by its position."""
        return self.nets[net].inputs[index]

    def output(self, net: str, index: int) -> TensorInfo:
        """An output of a net, by its position."""
        return self.nets[net].outputs[index]

    @property
    def gives_tokens(self) -> bool:
        """Whether the head gives the token itself, not the logits."""
        return not self.output("lm_head", 0).dtype.is_float


def read_model(given: Path) -> LanguageModel:
    """The language model of a bmodel, or of the converter's folder with one; BadInput says what it has not."""
    context = Context.find(_bmodel_in(given))
    bmodel = Bmodel(context.bmodel)
    stages = {net.name: net.stages[0] for net in bmodel.metadata.nets if net.stages}
    where = str(context.bmodel)
    layers = _layers(stages, where)
    prefill, decode = stages["block_0"], stages["block_cache_0"]
    for name, stage, inputs, outputs in (
        ("block_0", prefill, (2, 3), 3),
        ("block_cache_0", decode, (5,), 3),
        ("lm_head", stages["lm_head"], (1,), 1),
    ):
        if len(stage.inputs) not in inputs or len(stage.outputs) != outputs:
            raise BadInput(
                f"{where}: net {name} has {len(stage.inputs)} inputs and {len(stage.outputs)} outputs, which no known "
                "form of a language model has"
            )
    hidden, line = prefill.inputs[0].shape[-1], 1
    for extent in decode.inputs[3].shape[2:]:
        line *= extent
    if decode.inputs[0].shape[0] != 1:
        raise BadInput(f"{where}: was converted for a batch of {decode.inputs[0].shape[0]}; only one prompt can be run")
    return LanguageModel(
        context=context,
        nets=stages,
        layers=layers,
        length=prefill.inputs[0].shape[1],
        room=decode.inputs[3].shape[1],
        hidden=hidden,
        line=line,
        has_mask=len(prefill.inputs) == 3,
        has_greedy_head=GREEDY_HEAD in stages,
    )


def _bmodel_in(given: Path) -> Path:
    path = given.expanduser()
    if not path.is_dir():
        return path
    models = sorted([*path.glob("*.bmodel"), *path.glob("*.bmodel.xz")])
    if len(models) == 1:
        return models[0]
    if not models:
        raise BadInput(f"{path}: no bmodel is in it; give the folder that the converter has written, or the bmodel")
    names = ", ".join(model.name for model in models[:_MOST_NAMED])
    raise BadInput(f"{path}: {len(models)} bmodels are in it ({names}); give one of them")


def _layers(stages: dict[str, Stage], where: str) -> int:
    found: dict[str, set[int]] = {"block": set(), "block_cache": set()}
    for name in stages:
        if (match := _LAYER.fullmatch(name)) is not None:
            found[match[1]].add(int(match[2]))
    layers = len(found["block"])
    wanted = ["embedding", "embedding_cache", "lm_head"]
    wanted += [f"{kind}_{layer}" for kind in found for layer in range(max(1, layers))]
    missing = [name for name in wanted if name not in stages]
    if missing:
        named = ", ".join(missing[:_MOST_NAMED]) + (", ..." if len(missing) > _MOST_NAMED else "")
        raise BadInput(
            f"{where}: is no language model that can be run: it has no net {named}"
            + ("; a model converted with --embedding_disk cannot be run yet" if missing[0] == "embedding" else "")
        )
    if others := [name for name in stages if _OTHER_KINDS.fullmatch(name)]:
        raise BadInput(
            f"{where}: has nets that are not run yet: {', '.join(others[:_MOST_NAMED])} (history while prefilling, "
            "caches of several lengths, pictures, LoRA)"
        )
    return layers


def require_static(model: LanguageModel) -> None:
    """BadInput if a block is dynamic, so that its commands are only known from a run."""
    dynamic = [
        name
        for name, stage in model.nets.items()
        if _LAYER.fullmatch(name) and any(subnet.run_mode is RunMode.TPU_DYNAMIC for subnet in stage.subnets)
    ]
    if dynamic:
        raise BadInput(
            f"{model.context.bmodel}: dynamic blocks ({', '.join(dynamic[:_MOST_NAMED])}): the commands "
            "are made while the vendor's runtime runs; add --record FILE.tdbrec, which runs it there"
        )
