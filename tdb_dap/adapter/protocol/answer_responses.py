"""Bodies of ``tdb/answer``, ``tdb/logits`` and ``tdb/tokenTimes``."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from tdb_dap.adapter.protocol.model_responses import exact


@exact
class AnsweredToken(TypedDict):
    """A token of an answer."""

    number: int
    """From 0, the one that the prefill gives."""
    id: int | None
    """Null where it was never answered, or an edit has changed what is before it. Going back forgets nothing."""
    text: str | None
    """Null without a tokenizer next to the model."""
    expected: int | None
    """What the float model answers after the same tokens."""
    expectedText: str | None
    first: int
    """Ordinal of its first command."""
    state: Literal["done", "now", "ahead"]


@exact
class AnsweringLaunch(TypedDict):
    """A launch of a net for a token."""

    number: int
    net: str
    token: int
    first: int
    """Ordinal of its first command."""
    state: Literal["done", "now", "ahead"]
    verdict: Literal["right", "wrong", "unknown"]
    """Compared with the float model on the same states."""
    why: str
    """What is wrong first; empty where nothing is."""
    look: int
    """Ordinal at which that can be seen."""


@exact
class AnswerState(TypedDict):
    """Body of `tdb/answer`: an answer as far as it has got."""

    prompt: list[int]
    promptText: str | None
    """Null without a tokenizer next to the model."""
    tokens: list[AnsweredToken]
    launches: list[AnsweringLaunch]
    isCompared: bool
    """Whether it is compared with a float model."""


@exact
class LogitCandidate(TypedDict):
    """A token that could be answered."""

    id: int
    text: str | None
    logit: float | str
    """``NaN`` and ``Infinity`` as texts."""
    probability: float | str
    """Of all tokens, at temperature 1."""


@exact
class Logits(TypedDict):
    """Body of `tdb/logits`: the likeliest tokens, the likeliest first."""

    token: int
    """The number of the token that they choose."""
    expression: str
    """The tensor of all of them."""
    candidates: list[LogitCandidate]


@exact
class TokenShare(TypedDict):
    """A net, all blocks of a kind, or a kind of op."""

    name: str
    """Empty: commands of no op."""
    shares: list[float]
    """Of the cycles of each token."""


@exact
class TokenTimes(TypedDict):
    """Body of `tdb/tokenTimes`: estimated times of the chip for each token of an answer, the prompt first."""

    milliseconds: list[float | None]
    """Null where the clock is not known."""
    weights: list[float]
    """Share of the DMA's cycles that loads weights."""
    weightsRead: list[int]
    """Bytes of weights that are loaded."""
    nets: list[TokenShare]
    """The one that takes longest first."""
    kinds: list[TokenShare]
    rate: float | None
    """Tokens per second after the prompt."""
