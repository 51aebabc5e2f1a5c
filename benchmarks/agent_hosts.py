"""Faults of the programs that run language models, for benchmarks/agent.py.

A host program fills positions, masks and tokens, copies states and keeps the cache. A fault changes one of its steps.
The vendor's runtime runs the changed program and records it; the agent is given the recording and the two models. The
right answer is the launch that first gets something wrong, known from the step that was changed.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
from msgspec.structs import replace

from tdb_dap.engine.program.schedule import Border, HostStep, NetStep, Schedule, Step, copied, filled
from tdb_dap.tools.llm.answering import MASKED, answer
from tdb_dap.tools.llm.language_model import LanguageModel, read_model
from tdb_dap.tools.llm.recorded_answer import record_answer
from tests.llm.models import DYNAMIC, HISTORY, LLAMA, LONG_PROMPT, PROMPT, QWEN, float_model
from tests.llm.models import copied as copied_model

POSITION, MASK, TOKEN = "wrong positions", "a wrong mask", "a wrong token"
SLOT, LOST, EXCHANGED, LAYER = (
    "a line in the wrong place",
    "a lost line",
    "keys for values",
    "the cache of another layer",
)
STALE, ROW, LENGTH = "stale states", "the wrong row", "too short a cache"

TOKENS = 4
"""Tokens of a completion; one of a prompt in parts."""


Change = tuple[str, str, tuple[Step, ...]]
"""A cause, words for it, and the steps that take the place of one."""


@dataclass(frozen=True)
class Host:
    """A program with a fault: ``step`` is replaced by ``instead``; ``launches`` are the first that it reaches."""

    cause: str
    text: str
    step: int
    instead: tuple[Step, ...]
    launches: frozenset[str]


class Steps:
    """The steps of a right program, and where the next launch of each net is."""

    def __init__(self, model: LanguageModel, prompt: Sequence[int], tokens: int) -> None:
        self.model = model
        self.schedule: Schedule = answer(model, prompt, tokens, all_stages=False)
        self.steps = self.schedule.steps
        self._outputs: list[bytes] = []

    def outputs(self, path: Path) -> list[bytes]:
        """Outputs of the launches of the right program; ``path``: of a recording that is written the first time."""
        if not self._outputs:
            self._outputs = record_answer(self.model, self.schedule, path)
            path.unlink()
        return self._outputs

    def next_launch(self, after: int, to: Border) -> str | None:
        """``block_0 at token 2``: the next launch that takes an input, or the cache; None if there is none."""
        nets = {to.net, to.net.replace("block_cache", "block_kv")} if to.tensor.startswith("history") else {to.net}
        later = (step for step in self.steps[after + 1 :] if isinstance(step, NetStep) and step.net in nets)
        launch = next(later, None)
        return f"{launch.net} at token {launch.token}" if launch is not None else None

    def last_launch(self, before: int) -> NetStep | None:
        """The launch before a step."""
        return next((step for step in reversed(self.steps[:before]) if isinstance(step, NetStep)), None)

    def faults(self, random: Random) -> Iterator[Host]:
        """Faults of all steps, without those whose effect no launch takes."""
        for index, step in enumerate(self.steps):
            if isinstance(step, NetStep):
                yield from self._short(index, step)
                continue
            launch = self.next_launch(index, step.destination)
            if launch is None:
                continue
            for cause, text, instead in self._changes(index, step, random):
                shown = f"{text} ({step.name} to {step.destination.net}.{step.destination.tensor}, for {launch})"
                yield Host(cause, shown, index, instead, frozenset({launch}))

    def _short(self, index: int, step: NetStep) -> Iterator[Host]:
        """A part of a prefill that is given half of the cache."""
        if step.net.startswith("block_kv"):
            shapes = (*step.shapes[:2], *((1, shape[1] // 2, *shape[2:]) for shape in step.shapes[2:]))
            launch = f"{step.net} at token {step.token}"
            text = f"{launch} gets {shapes[2][1]} positions of the cache"
            yield Host(LENGTH, text, index, (replace(step, shapes=shapes),), frozenset({launch}))

    def _changes(self, index: int, step: HostStep, random: Random) -> Iterator[Change]:
        to = step.destination
        if step.name == "host.fill" and to.tensor == "position_ids":
            by = random.choice((-1, 1, 2))
            numbers = np.asarray(step.compute(())) + by
            if numbers.min() >= 0:
                yield POSITION, f"positions are {by:+}", (filled(to, numbers),)
        elif step.name == "host.fill" and to.tensor == "attention_mask":
            yield from self._masks(step, random)
        elif to.tensor == "input_ids":
            yield from self._tokens(step, random)
        elif to.tensor in ("history_k", "history_v"):
            yield from self._lines(step)
        elif to.tensor == "hidden_states":
            first = step.sources[0].first
            if first:
                yield (
                    ROW,
                    "the head gets the row before",
                    (copied(replace(step.sources[0], first=first - self.model.hidden), to),),
                )
            elif self._is_later(index):
                yield STALE, "the head gets the states of the token before", ()
        elif to.tensor == "input_states" and self._is_later(index):
            yield STALE, "states are not copied", ()

    def _is_later(self, index: int) -> bool:
        """Whether a step belongs to a token after the first two, so that states of the token before are there."""
        launch = self.last_launch(index)
        return launch is not None and (launch.token or 0) > 1

    def _masks(self, step: HostStep, random: Random) -> Iterator[Change]:
        mask = np.array(step.compute(()), np.float32)
        if step.destination.net.startswith("block_cache"):
            row = mask.reshape(-1)
            seen = np.flatnonzero(row == 0)
            hidden, shown = int(random.choice(seen[:-1].tolist())), int(np.flatnonzero(row)[0])
            for text, place, number in (
                (f"position {hidden} is hidden", hidden, MASKED),
                (f"position {shown} is seen", shown, 0.0),
                ("the position itself is hidden", len(row) - 1, MASKED),
            ):
                changed = mask.copy()
                changed.reshape(-1)[place] = number
                yield MASK, text, (filled(step.destination, changed),)
        else:
            yield MASK, "all positions are seen", (filled(step.destination, np.zeros_like(mask)),)

    def _tokens(self, step: HostStep, random: Random) -> Iterator[Change]:
        if step.sources:
            token = random.randrange(self.model.vocabulary)
            yield TOKEN, f"token {token} is fed", (filled(step.destination, np.full((1, 1), token, np.int32)),)
        else:
            ids = np.array(step.compute(()))
            ids.reshape(-1)[1] += 1
            yield TOKEN, "the second token of the prompt is another", (filled(step.destination, ids),)

    def _lines(self, step: HostStep) -> Iterator[Change]:
        to, source = step.destination, step.sources[0]
        yield LOST, "the cache is not kept", ()
        layers = [int(name.rpartition("_")[2]) for name in (to.net, source.net)]
        if source.net.startswith("block_cache"):
            line = self.model.line
            for way in (-line, line):
                yield SLOT, f"{way // line:+} positions too far", (copied(source, replace(to, first=to.first + way)),)
        other = {"k_cache": "v_cache", "v_cache": "k_cache"}.get(source.tensor)
        if other is not None:
            yield EXCHANGED, f"it gets {other}", (copied(replace(source, tensor=other), to),)
        if layers[0] == 1 and layers[0] == layers[1]:
            net = f"{source.net.rpartition('_')[0]}_0"
            yield LAYER, "it gets the lines of layer 0", (copied(replace(source, net=net), to),)


CAUSES = (POSITION, MASK, TOKEN, SLOT, LOST, EXCHANGED, LAYER, STALE, ROW, LENGTH)
MODELS = ((QWEN, PROMPT), (LLAMA, PROMPT), (DYNAMIC, PROMPT), (HISTORY, LONG_PROMPT))
DYNAMIC_MODELS = (DYNAMIC.name, HISTORY.name)


def faults(random: Random) -> Iterator[tuple[str, Host, tuple[int, ...], Callable[[Path], Path | None]]]:
    """Model, fault, prompt, and what makes a folder with the model, the recording ``run.tdbrec`` and ``float``."""
    for folder, prompt in MODELS:
        steps = Steps(read_model(folder), prompt, TOKENS)
        for fault in steps.faults(random):
            yield folder.name, fault, prompt, _maker(folder, steps, fault)


def _maker(folder: Path, steps: Steps, fault: Host) -> Callable[[Path], Path | None]:
    return lambda into: _made(folder, steps, fault, into)


def _made(folder: Path, steps: Steps, fault: Host, into: Path) -> Path | None:
    all_steps = steps.schedule.steps
    changed = (*all_steps[: fault.step], *fault.instead, *all_steps[fault.step + 1 :])
    copy = copied_model(folder, into)
    for recording in copy.glob("*.tdbrec"):
        recording.unlink()
    outputs = record_answer(steps.model, replace(steps.schedule, steps=changed), copy / "run.tdbrec")
    if outputs == steps.outputs(into / "right.tdbrec"):
        return None
    shutil.copytree(float_model(folder).folder, copy / "float")
    return copy
