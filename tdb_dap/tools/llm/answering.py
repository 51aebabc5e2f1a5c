"""The order of launches with which a language model answers a prompt: a prefill, then one pass per token.

Position ids, masks and the places in the cache are those of the vendor's programs for these models.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from tdb_dap.engine.bmodel import RunMode, Stage
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.program.schedule import (
    Border,
    Compute,
    HostStep,
    NetStep,
    Schedule,
    Step,
    copied,
    filled,
    index_of_largest,
    largest,
)
from tdb_dap.errors import BadInput
from tdb_dap.tools.llm.borders import net_input, net_output, part_of
from tdb_dap.tools.llm.language_model import ADD, GREEDY_HEAD, SAMPLE_HEAD, LanguageModel
from tdb_dap.tools.llm.pictures.reading import Pictures
from tdb_dap.tools.llm.pictures.steps import added, encoded, placed
from tdb_dap.tools.llm.sampling import Sampling, choose, described

MASKED = -10000.0
"""The number in masks for positions that are not to be seen; in bf16 it is stored as -9984."""


def answer(
    model: LanguageModel,
    prompt: Sequence[int],
    tokens: int,
    given: Sequence[int] = (),
    all_stages: bool = True,
    sampling: Sampling | None = None,
    before: Iterable[Step] = (),
    pictures: Pictures | None = None,
) -> Schedule:
    """Launches for ``tokens`` tokens after a prompt. Tokens count from 0, the one that the prefill gives.

    ``given``: the tokens that are to be fed back instead of what the model has answered, as far as they go;
    ``all_stages``: run each position with the shortest cache that is long enough; ``sampling``: the host draws the
    tokens, as after ``sample_head``, whose inputs hold those that were there before; ``before``: steps of the host that
    come first; ``pictures``: of the prompt. BadInput where the prompt or the tokens do not fit.
    """
    _check(model, prompt, tokens, given)
    head = _Head(model, len(prompt), sampling)
    prefill = _prefill_in_chunks if model.has_history else _prefill
    steps: list[Step] = [*before, *head.begin(prompt, tokens), *prefill(model, prompt, head, pictures)]
    shift = pictures.shift if pictures is not None else 0
    for token in range(1, tokens):
        position = len(prompt) + token - 1
        stage = model.stage_for(position) if all_stages else 0
        fed = given[token - 1] if token <= len(given) else None
        steps += _decode(model, position, shift, token, fed, stage, head)
    answers = {token: head.place(token) for token in range(tokens)} if sampling is not None else {}
    return Schedule(tuple(steps), substitutes_for(model.nets), answers)


class _Head:
    """The end of a pass: how the token is taken from the logits, and where it is then."""

    def __init__(self, model: LanguageModel, prompt: int, sampling: Sampling | None) -> None:
        self._model = model
        self._prompt = prompt
        self._sampling = sampling

    def begin(self, prompt: Sequence[int], tokens: int) -> Iterator[Step]:
        """Steps before the first pass: tokens of the prompt, where the net that draws looks for them."""
        if self._sampling is None:
            return
        if SAMPLE_HEAD not in self._model.nets:
            raise BadInput(f"{self._model.context.bmodel}: has no net {SAMPLE_HEAD}; convert it with --do_sample")
        ids = np.zeros(self._model.input(SAMPLE_HEAD, 1).shape, np.int32)
        if len(prompt) + tokens > ids.size:
            raise BadInput(
                f"{SAMPLE_HEAD} knows {ids.size:,} tokens; {len(prompt):,} of the prompt and {tokens:,} are more"
            )
        ids.reshape(-1)[: len(prompt)] = prompt
        yield filled(net_input(self._model, SAMPLE_HEAD, 1), ids)

    def place(self, token: int) -> Border:
        """Place of a token that was drawn."""
        return part_of(self._model, SAMPLE_HEAD, 1, self._prompt + token, 1)

    def answered(self, token: int) -> Border:
        """Output or place that gives a token, or its logits."""
        model = self._model
        if self._sampling is not None:
            return self.place(token)
        return net_output(model, "lm_head" if model.gives_tokens or not model.has_greedy_head else GREEDY_HEAD, 0)

    @property
    def gives_ids(self) -> bool:
        """Whether that is the token, not its logits."""
        return self._model.gives_tokens or self._model.has_greedy_head or self._sampling is not None

    def run(self, states: Border, token: int) -> Iterator[Step]:
        """The launches, and what the host does after them."""
        model, sampling = self._model, self._sampling
        yield copied(states, net_input(model, "lm_head", 0))
        yield NetStep("lm_head", token=token)
        if sampling is not None:
            sources = (net_output(model, "lm_head", 0), net_input(model, SAMPLE_HEAD, 1))

            def drawn(numbers: Sequence[Array]) -> Array:
                return np.array(
                    [choose(numbers[0], numbers[1].reshape(-1).astype(np.int64), sampling, token)], np.int32
                )

            summary = f"The host draws a token: {', '.join(described(sampling))}."
            yield HostStep("host.sample", summary, sources, self.place(token), drawn)
        elif model.has_greedy_head and not model.gives_tokens:
            yield copied(net_output(model, "lm_head", 0), net_input(model, GREEDY_HEAD, 0))
            yield NetStep(GREEDY_HEAD, token=token)


def _check(model: LanguageModel, prompt: Sequence[int], tokens: int, given: Sequence[int]) -> None:
    if not prompt:
        raise BadInput("the prompt is empty; give at least one token")
    if len(prompt) > model.longest:
        raise BadInput(
            f"the prompt has {len(prompt):,} tokens; the model was converted for at most {model.longest:,} "
            "(--max_input_length, --seq_length)"
        )
    if tokens < 1:
        raise BadInput(f"--tokens {tokens}: give a number of at least 1")
    last = len(prompt) + tokens - 1
    if last > model.room:
        raise BadInput(
            f"{len(prompt):,} tokens of the prompt and {tokens:,} more do not fit into the cache of {model.room:,} "
            f"positions; give --tokens {max(1, model.room - len(prompt) + 1)} or less"
        )
    if len(given) >= tokens:
        raise BadInput(f"{len(given)} tokens are given for {tokens}: the last one is always the model's")
    size = model.vocabulary
    for number in (*prompt, *given):
        if not 0 <= number < size:
            raise BadInput(f"token {number} is not in the vocabulary of {size:,}")


def _prefill(model: LanguageModel, prompt: Sequence[int], head: _Head, pictures: Pictures | None) -> Iterator[Step]:
    count = len(prompt)
    ids = np.zeros(model.length, np.int32)
    ids[:count] = prompt
    states: Border | None = None
    if model.table is None:
        yield filled(net_input(model, "embedding", 0), ids.reshape(model.input("embedding", 0).shape))
        yield NetStep("embedding", token=0)
        states = net_output(model, "embedding", 0)
    yield from encoded(model, pictures)
    positions = np.zeros(model.input("block_0", 1).shape, np.int32)
    positions[..., :count] = pictures.positions if pictures is not None else np.arange(count)
    seen = np.tril(np.ones((model.length, model.length), bool))
    seen[count:] = False
    mask = np.where(seen, 0.0, MASKED).astype(np.float32)
    for layer in range(model.layers):
        net = f"block_{layer}"
        if states is None:
            yield filled(net_input(model, net, 0), _rows(model, ids).reshape(model.input(net, 0).shape))
        else:
            yield copied(states, net_input(model, net, 0))
        if not layer:
            yield from placed(model, pictures, net, 0, count)
        yield filled(net_input(model, net, 1), positions)
        if model.has_mask:
            yield filled(net_input(model, net, 2), mask.reshape(model.input(net, 2).shape))
        yield NetStep(net, token=0)
        for output, history in ((1, 3), (2, 4)):
            cache = f"block_cache_{layer}"
            yield copied(net_output(model, net, output), part_of(model, cache, history, 0, model.length * model.line))
        states = net_output(model, net, 0)
        if pictures is not None and layer < pictures.taps:
            yield from added(model, pictures, layer, states, 0, count)
            states = net_output(model, ADD, 0)
    assert states is not None
    row = Border(states.net, states.tensor, (count - 1) * model.hidden, model.hidden)
    yield from head.run(row, 0)


def _prefill_in_chunks(
    model: LanguageModel, prompt: Sequence[int], head: _Head, pictures: Pictures | None
) -> Iterator[Step]:
    """Chunks of at most ``length`` positions, each with its own length; those after the first see the cache."""
    states: Border | None = None
    yield from encoded(model, pictures)
    for before in range(0, len(prompt), model.length):
        count = min(model.length, len(prompt) - before)
        ids = np.zeros(model.length, np.int32)
        ids[:count] = prompt[before : before + count]
        states = None
        if model.table is None:
            yield filled(net_input(model, "embedding", 0), ids.reshape(model.input("embedding", 0).shape))
            yield NetStep("embedding", token=0)
            states = net_output(model, "embedding", 0)
        for layer in range(model.layers):
            cache, net = f"block_cache_{layer}", f"block_kv_{layer}" if before else f"block_{layer}"
            given = replace(net_input(model, net, 0), count=count * model.hidden)
            if states is None:
                yield filled(given, _rows(model, ids[:count]))
            else:
                yield copied(replace(states, count=count * model.hidden), given)
            if not layer:
                yield from placed(model, pictures, net, before, count)
            positions = np.tile(np.arange(before, before + count), model.axes)
            if pictures is not None:
                positions = pictures.positions[:, before : before + count].reshape(-1)
            yield filled(replace(net_input(model, net, 1), count=positions.size), positions)
            for history, of_cache in ((2, 3), (3, 4)) if before else ():
                kept = replace(net_input(model, net, history), count=before * model.line)
                yield copied(part_of(model, cache, of_cache, 0, before * model.line), kept)
            rows = (count, count, before, before)
            shapes = (_with_rows(one.shape, length) for one, length in zip(model.nets[net].inputs, rows, strict=False))
            yield NetStep(net, token=0, shapes=tuple(shapes))
            for output, history in ((1, 3), (2, 4)):
                line = part_of(model, cache, history, before * model.line, count * model.line)
                yield copied(replace(net_output(model, net, output), count=count * model.line), line)
            states = net_output(model, net, 0)
            if pictures is not None and layer < pictures.taps:
                yield from added(model, pictures, layer, states, before, count)
                states = net_output(model, ADD, 0)
    assert states is not None
    yield from head.run(Border(states.net, states.tensor, (count - 1) * model.hidden, model.hidden), 0)


def _with_rows(shape: tuple[int, ...], rows: int) -> tuple[int, ...]:
    """The shape of an input of a block with another number of positions; these are the second extent."""
    return (shape[0], rows, *shape[2:])


def _decode(
    model: LanguageModel, position: int, shift: int, token: int, given: int | None, stage: int, head: _Head
) -> Iterator[Step]:
    """One pass with the token at ``position`` of the cache, the one before ``token``; ``stage``: of ``block_cache``.

    ``shift``: its position in the rotary embedding less that in the cache.
    """
    first = net_input(model, "block_cache_0", 0, stage)
    if model.table is not None:
        yield _looked_up(model, given, first, head, token)
    else:
        ids = net_input(model, "embedding_cache", 0)
        if given is not None:
            yield filled(ids, np.full(model.input("embedding_cache", 0).shape, given, np.int32))
        elif head.gives_ids:
            yield copied(head.answered(token - 1), ids)
        else:
            yield largest(head.answered(token - 1), ids)
        yield NetStep("embedding_cache", token=token)
        yield copied(net_output(model, "embedding_cache", 0), first)
    room = model.caches[stage]
    mask = np.zeros((1, 1, 1, room + 1), np.float32)
    mask[..., position:room] = MASKED
    states = first
    for layer in range(model.layers):
        net = f"block_cache_{layer}"
        if layer:
            yield copied(states, net_input(model, net, 0, stage))
        yield filled(net_input(model, net, 1, stage), np.full(model.input(net, 1).shape, position + shift, np.int32))
        yield filled(net_input(model, net, 2, stage), mask)
        yield NetStep(net, stage, token=token)
        for output, history in ((1, 3), (2, 4)):  # all stages have one cache, the longest
            line = part_of(model, net, history, position * model.line, model.line)
            yield copied(net_output(model, net, output, stage), line)
        states = net_output(model, net, 0, stage)
    yield from head.run(states, token)


def _looked_up(model: LanguageModel, given: int | None, states: Border, head: _Head, token: int) -> HostStep:
    """The host looks up the embedding of the last token, or of one that is given."""
    if given is not None:
        return filled(states, _rows(model, np.array([given])))
    source = head.answered(token - 1)

    def rows(numbers: Sequence[Array]) -> Array:
        token = int(numbers[0].reshape(-1)[0]) if head.gives_ids else int(index_of_largest(numbers)[0])
        if not 0 <= token < model.vocabulary:
            raise BadInput(f"token {token} is not in the vocabulary of {model.vocabulary:,}")
        return _rows(model, np.array([token]))

    return HostStep("host.embedding", "The host looks up the embedding of a token.", (source,), states, rows)


def _rows(model: LanguageModel, ids: Array) -> Array:
    """Rows of the table of embeddings, float32 (positions, hidden)."""
    assert model.table is not None
    dtype = model.input("block_0", 0).dtype
    model.table.require_intact()
    rows = model.table.data[: model.vocabulary * model.hidden * dtype.itemsize]
    words = rows.view(f"<u{dtype.itemsize}").reshape(-1, model.hidden)
    return dtype.decode(words[ids].astype(words.dtype.newbyteorder("="))).astype(np.float32)


def substitutes_for(nets: Mapping[str, Stage]) -> dict[tuple[str, int], Compute]:
    """Dynamic subnets of the heads that take the index of the largest logit: one row in, one whole number out."""
    substitutes: dict[tuple[str, int], Compute] = {}
    for net in ("lm_head", GREEDY_HEAD):
        for subnet in nets[net].subnets if net in nets else ():
            takes = [tensor for tensor in subnet.inputs if tensor.dtype.is_float]
            gives = [math.prod(tensor.shape) for tensor in subnet.outputs if not tensor.dtype.is_float]
            if subnet.run_mode is RunMode.TPU_DYNAMIC and len(takes) == len(subnet.inputs) == 1 and gives == [1]:
                substitutes[net, subnet.id] = index_of_largest
    return substitutes
