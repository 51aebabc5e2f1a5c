"""A language model as the converter leaves it: one bmodel of many nets, known by their names and shapes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct

from tdb_dap.engine.bmodel import Bmodel, RunMode, Stage, TensorInfo
from tdb_dap.engine.cvimodel import is_cvimodel
from tdb_dap.engine.files.context import Context
from tdb_dap.engine.files.file_bytes import FileBytes
from tdb_dap.errors import BadInput

_LAYER = re.compile(r"(block|block_kv|block_cache)_(\d+)")
_MOST_NAMED = 6
_TABLE = "embedding.bin"

GREEDY_HEAD = "greedy_head"

SAMPLE_HEAD = "sample_head"

ADD = "add"
"""The net that adds rows of a picture to the states of all positions, after the first blocks."""

HEADS = ("lm_head", GREEDY_HEAD, SAMPLE_HEAD)
"""Nets that end the pass of a token."""


class LanguageModel(Struct, frozen=True):
    """A model. ``layers``: number of blocks; ``length``: positions of a prefill; ``room``: positions in the cache.

    ``hidden``: numbers of a position between two blocks; ``line``: numbers of a position in one cache.
    ``has_mask``: whether a prefill is given its mask; ``has_greedy_head``: whether a separate net takes the token
    from the logits; ``has_history``: whether a prefill can go on after an earlier one (``block_kv``).
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
    has_history: bool = False
    caches: tuple[int, ...] = ()
    """Positions in the cache for which ``block_cache`` was compiled, by stage; the first is ``room``."""
    table: FileBytes | None = None
    """The table of embeddings, where the host looks them up (``--embedding_disk``)."""

    @property
    def longest(self) -> int:
        """Most tokens of a prompt."""
        return self.room if self.has_history else self.length

    @property
    def axes(self) -> int:
        """Positions of a token: one, or three of models with pictures (mrope)."""
        shape = self.input("block_0", 1).shape
        return shape[-2] if len(shape) > 1 else 1

    @property
    def vocabulary(self) -> int:
        """Number of tokens: rows of the table of embeddings, which is its net's weights but for little."""
        if self.table is not None:
            return self.table.data.size // (self.hidden * self.input("block_0", 0).dtype.itemsize)
        out = self.output("embedding", 0)
        return self.nets["embedding"].weights.size // (out.shape[-1] * out.dtype.itemsize)

    def stage_for(self, position: int) -> int:
        """The stage of ``block_cache`` with the shortest cache that holds all positions before one."""
        fitting = [(length, stage) for stage, length in enumerate(self.caches) if length >= position]
        return min(fitting)[1] if fitting else 0

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
    context = Context.find(bmodel_in(given))
    bmodel = Bmodel(context.bmodel)
    stages = {net.name: net.stages[0] for net in bmodel.metadata.nets if net.stages}
    where = str(context.bmodel)
    table = _table(context.bmodel.parent) if "embedding" not in stages else None
    layers = _layers(stages, where, table is not None)
    prefill, decode = stages["block_0"], stages["block_cache_0"]
    require_attention(where, stages)
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
        has_history="block_kv_0" in stages,
        caches=_caches(bmodel, layers),
        table=FileBytes(table) if table is not None else None,
    )


def _caches(bmodel: Bmodel, layers: int) -> tuple[int, ...]:
    """Lengths of the caches by stage; only that of the first where the stages have none in common."""
    blocks = {f"block_cache_{layer}" for layer in range(layers)}
    sizes: set[tuple[int, ...]] = set()
    for net in bmodel.metadata.nets:
        if net.name in blocks:
            first = net.stages[0]
            one_place = all(
                (stage.io_address, stage.io_size) == (first.io_address, first.io_size)
                and [tensor.address for tensor in stage.inputs[3:5]] == [tensor.address for tensor in first.inputs[3:5]]
                for stage in net.stages
            )
            sizes.add(tuple(s.inputs[3].shape[1] for s in (net.stages if one_place and first.io_size else [first])))
    lengths = next(iter(sizes))
    return lengths if len(sizes) == 1 else lengths[:1]


def _table(folder: Path) -> Path | None:
    """The file that the converter leaves with ``--embedding_disk``."""
    places = (folder / "config" / _TABLE, folder / _TABLE)
    return next((place for place in places if place.is_file()), None)


def is_language_model(nets: Iterable[str]) -> bool:
    """Whether these are the names of a language model's nets."""
    return {"block_0", "block_cache_0", "lm_head"} <= set(nets)


def require_attention(where: str, stages: Mapping[str, Stage]) -> None:
    """BadInput with the inputs of the first net that no model of attention has, such as a recurrent state."""
    borders = {"block": ((2, 3), 3), "block_cache": ((5,), 3), "block_kv": ((4,), 3)}
    for name, stage in stages.items():
        block = _LAYER.fullmatch(name)
        inputs, outputs = borders[block[1]] if block is not None else ((1,), 1)
        if (block is not None or name == "lm_head") and (
            len(stage.inputs) not in inputs or len(stage.outputs) != outputs
        ):
            named = ", ".join(tensor.name for tensor in stage.inputs)
            raise BadInput(
                f"{where}: net {name} has the inputs {named} and {len(stage.outputs)} outputs, which no "
                "known form of a language model has; a pipeline file can run its nets (--pipeline)"
            )


def bmodel_in(given: Path) -> Path:
    """The bmodel itself, or the only one in a folder; BadInput where it is not clear which."""
    path = given.expanduser()
    if not path.is_dir():
        if is_cvimodel(path):
            raise BadInput(f"{path}: llm runs bmodels, and this is a cvimodel; use run, check or debug")
        return path
    models = sorted([*path.glob("*.bmodel"), *path.glob("*.bmodel.xz")])
    if len(models) == 1:
        return models[0]
    if not models:
        raise BadInput(f"{path}: no bmodel is in it; give the folder that the converter has written, or the bmodel")
    names = ", ".join(model.name for model in models[:_MOST_NAMED])
    raise BadInput(f"{path}: {len(models)} bmodels are in it ({names}); give one of them")


def _layers(stages: dict[str, Stage], where: str, has_table: bool) -> int:
    numbers: dict[str, set[int]] = {"block": set(), "block_cache": set()}
    if any(name.startswith("block_kv_") for name in stages):
        numbers["block_kv"] = set()
    for name in stages:
        if (match := _LAYER.fullmatch(name)) is not None:
            numbers[match[1]].add(int(match[2]))
    layers = len(numbers["block"])
    wanted = [*([] if has_table else ["embedding", "embedding_cache"]), "lm_head"]
    wanted += [f"{kind}_{layer}" for kind in numbers for layer in range(max(1, layers))]
    missing = [name for name in wanted if name not in stages]
    if missing:
        named = ", ".join(missing[:_MOST_NAMED]) + (", ..." if len(missing) > _MOST_NAMED else "")
        raise BadInput(
            f"{where}: is no language model that can be run: it has no net {named}"
            + (
                "; of a model converted with --embedding_disk also embedding.bin is needed"
                if "embedding" in missing
                else ""
            )
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
