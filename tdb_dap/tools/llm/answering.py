"""The order of launches with which a language model answers a prompt: a prefill, then one pass per token.

Position ids, masks and the places in the cache are those of the vendor's programs for these models.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from tdb_dap.engine.bmodel import RunMode
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
from tdb_dap.tools.llm.language_model import GREEDY_HEAD, LanguageModel

MASKED = -10000.0
"""The number in masks for positions that are not to be seen; in bf16 it is stored as -9984."""


def answer(model: LanguageModel, prompt: Sequence[int], tokens: int, given: Sequence[int] = ()) -> Schedule:
    """Launches for ``tokens`` tokens after a prompt. Tokens count from 0, the one that the prefill gives.

    ``given``: the tokens that are to be fed back instead of what the model has answered, as far as they go. BadInput
    where the prompt or the tokens do not fit.
    """
    _check(model, prompt, tokens, given)
    steps: list[Step] = [*_prefill(model, prompt)]
    for token in range(1, tokens):
        steps += _decode(model, len(prompt) + token - 1, token, given[token - 1] if token <= len(given) else None)
    return Schedule(tuple(steps), _substitutes(model))


def _check(model: LanguageModel, prompt: Sequence[int], tokens: int, given: Sequence[int]) -> None:
    if not prompt:
        raise BadInput("the prompt is empty; give at least one token")
    if len(prompt) > model.length:
        raise BadInput(
            f"the prompt has {len(prompt):,} tokens; the model was converted for at most {model.length:,} "
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
    size = _vocabulary(model)
    for number in (*prompt, *given):
        if not 0 <= number < size:
            raise BadInput(f"token {number} is not in the vocabulary of {size:,}")


def _vocabulary(model: LanguageModel) -> int:
    """Rows of the table of embeddings: the weights of its net are little else."""
    stage, out = model.nets["embedding"], model.output("embedding", 0)
    return stage.weights.size // (out.shape[-1] * out.dtype.itemsize)


def _prefill(model: LanguageModel, prompt: Sequence[int]) -> Iterator[Step]:
    count = len(prompt)
    ids = np.zeros(model.length, np.int32)
    ids[:count] = prompt
    yield filled(_in(model, "embedding", 0), ids.reshape(model.input("embedding", 0).shape))
    yield NetStep("embedding", token=0)
    states = _out(model, "embedding", 0)
    positions = np.zeros(model.input("block_0", 1).shape, np.int32)
    positions[..., :count] = np.arange(count)
    seen = np.tril(np.ones((model.length, model.length), bool))
    seen[count:] = False
    mask = np.where(seen, 0.0, MASKED).astype(np.float32)
    for layer in range(model.layers):
        net = f"block_{layer}"
        yield copied(states, _in(model, net, 0))
        yield filled(_in(model, net, 1), positions)
        if model.has_mask:
            yield filled(_in(model, net, 2), mask.reshape(model.input(net, 2).shape))
        yield NetStep(net, token=0)
        for output, history in ((1, 3), (2, 4)):
            cache = f"block_cache_{layer}"
            yield copied(_out(model, net, output), _part(model, cache, history, 0, model.length * model.line))
        states = _out(model, net, 0)
    row = Border(states.net, states.tensor, (count - 1) * model.hidden, model.hidden)
    yield from _head(model, row, 0)


def _decode(model: LanguageModel, position: int, token: int, given: int | None) -> Iterator[Step]:
    """One pass with the token at ``position``, the one before ``token``."""
    ids = _in(model, "embedding_cache", 0)
    if given is not None:
        yield filled(ids, np.full(model.input("embedding_cache", 0).shape, given, np.int32))
    elif model.gives_tokens:
        yield copied(_out(model, "lm_head", 0), ids)
    elif model.has_greedy_head:
        yield copied(_out(model, GREEDY_HEAD, 0), ids)
    else:
        yield largest(_out(model, "lm_head", 0), ids)
    yield NetStep("embedding_cache", token=token)
    states = _out(model, "embedding_cache", 0)
    mask = np.zeros(model.room + 1, np.float32)
    mask[position : model.room] = MASKED
    for layer in range(model.layers):
        net = f"block_cache_{layer}"
        yield copied(states, _in(model, net, 0))
        yield filled(_in(model, net, 1), np.full(model.input(net, 1).shape, position, np.int32))
        yield filled(_in(model, net, 2), mask.reshape(model.input(net, 2).shape))
        yield NetStep(net, token=token)
        for output, history in ((1, 3), (2, 4)):
            line = _part(model, net, history, position * model.line, model.line)
            yield copied(_out(model, net, output), line)
        states = _out(model, net, 0)
    yield from _head(model, states, token)


def _head(model: LanguageModel, states: Border, token: int) -> Iterator[HostStep | NetStep]:
    yield copied(states, _in(model, "lm_head", 0))
    yield NetStep("lm_head", token=token)
    if model.has_greedy_head and not model.gives_tokens:
        yield copied(_out(model, "lm_head", 0), _in(model, GREEDY_HEAD, 0))
        yield NetStep(GREEDY_HEAD, token=token)


def _in(model: LanguageModel, net: str, index: int) -> Border:
    return Border(net, model.input(net, index).name)


def _out(model: LanguageModel, net: str, index: int) -> Border:
    return Border(net, model.output(net, index).name)


def _part(model: LanguageModel, net: str, index: int, first: int, count: int) -> Border:
    return Border(net, model.input(net, index).name, first, count)


def _substitutes(model: LanguageModel) -> dict[tuple[str, int], Compute]:
    """Dynamic subnets of the heads that take the index of the largest logit: one row in, one whole number out."""
    found: dict[tuple[str, int], Compute] = {}
    for net in ("lm_head", GREEDY_HEAD):
        for subnet in model.nets[net].subnets if net in model.nets else ():
            takes = [tensor for tensor in subnet.inputs if tensor.dtype.is_float]
            gives = [math.prod(tensor.shape) for tensor in subnet.outputs if not tensor.dtype.is_float]
            if subnet.run_mode is RunMode.TPU_DYNAMIC and len(takes) == len(subnet.inputs) == 1 and gives == [1]:
                found[net, subnet.id] = index_of_largest
    return found
