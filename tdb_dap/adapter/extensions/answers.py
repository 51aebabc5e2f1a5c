"""The answer of a language model, as far as it has got: ``tdb/answer``, ``tdb/logits`` and ``tdb/tokenTimes`` of
docs/requests.md.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np

from tdb_dap.adapter.console.verbs import count, verb
from tdb_dap.adapter.extensions.model_contents import entry_of
from tdb_dap.adapter.extensions.profile import Estimates
from tdb_dap.adapter.protocol.model import ProtocolModel
from tdb_dap.adapter.requests.scopes import names_at
from tdb_dap.adapter.session.answering import Answering
from tdb_dap.adapter.session.handlers import request
from tdb_dap.errors import BadExpression

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tdb_dap.adapter.protocol.answer_responses import (
        AnsweredToken,
        AnsweringLaunch,
        AnswerState,
        LogitCandidate,
        Logits,
        TokenShare,
        TokenTimes,
    )
    from tdb_dap.adapter.session.handles import Frame
    from tdb_dap.adapter.session.session import Session
    from tdb_dap.engine.program.program import Launch
    from tdb_dap.tools.llm.judging.comparing import Part
    from tdb_dap.tools.llm.judging.float_reference import FloatReference
    from tdb_dap.tools.llm.logits import Candidate

_MOST_CANDIDATES = 1000
_SHOWN_CANDIDATES = 10
_SHOWN_KEYS = 5
_WITH_MASK = 3


class AnswerArguments(ProtocolModel, kw_only=True):
    """Arguments of `tdb/answer`: none."""


class TokenTimesArguments(ProtocolModel, kw_only=True):
    """Arguments of `tdb/tokenTimes`: none."""


class LogitsArguments(ProtocolModel, kw_only=True):
    """``most``: tokens that are listed."""

    most: int = _SHOWN_CANDIDATES


def _float_reference(session: Session) -> FloatReference:
    """BadExpression where the session runs no answer."""
    float_reference = session.feature(Answering).float_reference
    if float_reference is None:
        raise BadExpression(
            "no answer is being computed; set `prompt` in the launch configuration, or tdb-dap debug DIR --ids N,N"
        )
    return float_reference


@request("tdb/answer", while_running="answer")
def answer(session: Session, arguments: AnswerArguments) -> AnswerState:
    """Tokens and launches of an answer, with what is wrong in each."""
    float_reference, texts = _float_reference(session), session.feature(Answering)
    if not session.running:
        float_reference.look_again(session.debugger.machine)
    return {
        "prompt": list(float_reference.prompt),
        "promptText": texts.text(float_reference.prompt),
        "tokens": [_token(session, float_reference, number) for number in range(len(float_reference.passes))],
        "launches": [
            _launch(session, float_reference, launch, number)
            for number, own in enumerate(float_reference.passes)
            for launch in own
        ],
        "isCompared": float_reference.compares,
    }


def _state(session: Session, start: int, stop: int) -> Literal["done", "now", "ahead"]:
    now = session.debugger.ordinal
    return "done" if stop <= now else "now" if start <= now else "ahead"


def _token(session: Session, float_reference: FloatReference, number: int) -> AnsweredToken:
    own = float_reference.passes[number]
    state = _state(session, own[0].start, own[-1].stop)
    id = float_reference.answered.get(number)
    expected = float_reference.expected(number) if id is not None else None
    text = session.feature(Answering).text
    return {
        "number": number,
        "id": id,
        "text": text([id]) if id is not None else None,
        "expected": expected,
        "expectedText": text([expected]) if expected is not None else None,
        "first": own[0].start,
        "state": state,
    }


def _launch(session: Session, float_reference: FloatReference, launch: Launch, number: int) -> AnsweringLaunch:
    state = _state(session, launch.start, launch.stop)
    part = float_reference.parts.get(launch.number)
    wrong = part.first_wrong if part is not None else None
    why = part.given[0] if part is not None and part.given else ""
    if wrong is not None and not why:
        why = f"{wrong.name} ({wrong.opcode}): {wrong.summary}"
    return {
        "number": launch.number,
        "net": launch.net,
        "token": number,
        "first": launch.start,
        "state": state,
        "verdict": "unknown" if part is None or not part.compared else "wrong" if part.is_wrong else "right",
        "why": why,
        "look": _look(session, launch, part),
    }


def _look(session: Session, launch: Launch, part: Part | None) -> int:
    """The command to look at: of the host if it gave wrong inputs, of the op that is wrong, else of the first op."""
    if part is not None and part.given:
        return launch.start
    wrong = part.first_wrong if part is not None else None
    return wrong.command if wrong is not None else entry_of(session.debugger.program, launch)


@request("tdb/logits", while_running="answer")
def logits(session: Session, arguments: LogitsArguments) -> Logits:
    """The likeliest tokens by the logits that were computed last."""
    if not 1 <= arguments.most <= _MOST_CANDIDATES:
        raise BadExpression(f"most must be from 1 to {_MOST_CANDIDATES:,}")
    number, expression, candidates = _candidates(session, arguments.most)
    return {
        "token": number,
        "expression": expression,
        "candidates": [_candidate(session, one) for one in candidates],
    }


@request("tdb/tokenTimes", while_running="wait")
def token_times(session: Session, arguments: TokenTimesArguments) -> TokenTimes:
    """Estimated times of the chip for each token, by net and by kind of op, with the share of loading weights."""
    from tdb_dap.tools.profile.profiling import Profile
    from tdb_dap.tools.profile.tokens import tokens_of

    passes, costs = _float_reference(session).passes, session.feature(Estimates).of(session)
    profile = Profile(session.debugger.program, progress=lambda done: session.check_withdrawn(), costs=costs)
    times = tokens_of(profile, passes, ())
    return {
        "milliseconds": [one.milliseconds for one in times.tokens],
        "weights": [one.weights_share for one in times.tokens],
        "weightsRead": [one.weights_read for one in times.tokens],
        "nets": [_share(net.net, [one.nets for one in times.tokens]) for net in times.nets],
        "kinds": [_share(kind.opcode, [one.kinds for one in times.tokens]) for kind in times.kinds],
        "rate": times.rate,
    }


def _share(name: str, tokens: Sequence[Mapping[str, float]]) -> TokenShare:
    return {"name": name, "shares": [shares.get(name, 0.0) for shares in tokens]}


def _candidates(session: Session, most: int) -> tuple[int, str, list[Candidate]]:
    from tdb_dap.tools.llm.logits import best, logits_of

    float_reference, program, now = _float_reference(session), session.debugger.program, session.debugger.ordinal
    for number, own in reversed(list(enumerate(float_reference.passes))):
        head = next((launch for launch in own if launch.net == "lm_head"), None)
        view = logits_of(program, own) if head is not None and head.stop <= now else None
        if view is not None:
            shape = ",".join(map(str, view.shape))
            return number, f"{view.name}:{view.dtype}[{shape}]", best(session.debugger.machine, view, most)
    raise BadExpression("no logits are computed yet; run to the end of the first lm_head")


def _candidate(session: Session, one: Candidate) -> LogitCandidate:
    text = session.feature(Answering).text([one.id])
    return {"id": one.id, "text": text, "logit": _number(one.logit), "probability": _number(one.probability)}


def _number(number: float) -> float | str:
    """JSON has no numbers for these."""
    if math.isfinite(number):
        return number
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"


@verb("answer", help="print the tokens of a language model so far, and the mismatches in each", only_looks=True)
def _answer(session: Session, rest: str, frame: Frame | None) -> str:
    body = answer(session, AnswerArguments())
    lines = [f"prompt: {' '.join(map(str, body['prompt']))}"]
    for token in body["tokens"]:
        if token["state"] == "ahead":
            break
        lines.append(_line(token, [one for one in body["launches"] if one["token"] == token["number"]]))
    return "\n".join(lines)


def _line(token: AnsweredToken, launches: Sequence[AnsweringLaunch]) -> str:
    shown = "..." if token["id"] is None else str(token["id"])
    text = f" {token['text']!r}" if token["text"] is not None else ""
    other = token["expected"]
    differs = f", in float {other}" if other is not None and other != token["id"] else ""
    wrong = next((one for one in launches if one["verdict"] == "wrong"), None)
    wrong_text = f"; {wrong['net']}: {wrong['why']} (goto {wrong['look']})" if wrong is not None else ""
    return f"token {token['number']}: {shown}{text}{differs}{wrong_text}"


@verb("logits", usage="[K]", help="print the K likeliest tokens by the last computed logits", only_looks=True)
def _logits(session: Session, rest: str, frame: Frame | None) -> str:
    most = min(count(rest) if rest else _SHOWN_CANDIDATES, _MOST_CANDIDATES)
    number, expression, candidates = _candidates(session, most)
    text = session.feature(Answering).text
    lines = [f"token {number}, from {expression}"]
    for one in candidates:
        shown = text([one.id])
        lines.append(
            f"  {one.id:6}  {one.logit:10.4f}  {100 * one.probability:6.2f} %" + (f"  {shown!r}" if shown else "")
        )
    return "\n".join(lines)


@verb("attention", help="print the positions that each head of an attention attends to most", only_looks=True)
def _attention(session: Session, rest: str, frame: Frame | None) -> str:
    names = names_at(session, frame)
    record = names.record
    op = session.debugger.program.source.op_of(record) if record is not None else None
    if op is None or op.name != "tpu.FAttention" or "scale" not in op.attributes:
        raise BadExpression("this is no tpu.FAttention; b tpu.FAttention stops at each")
    present = [number for number, value in enumerate(names.operands()) if value.view is not None]
    mask = f", in[{present[3]}]" if len(present) > _WITH_MASK else ""
    expression = f"attention(in[0], in[1]{mask or ', None'}, {op.attributes['scale']})"
    weights = session.debugger.evaluate(expression, names).computed
    lines = [f"{expression}: heads, queries, keys; the last query"]
    for head, row in enumerate(weights[:, -1, :]):
        most = np.argsort(-row, kind="stable")[:_SHOWN_KEYS]
        lines.append(f"  head {head}: " + ", ".join(f"{key} ({100 * row[key]:.1f} %)" for key in most))
    return "\n".join(lines)
