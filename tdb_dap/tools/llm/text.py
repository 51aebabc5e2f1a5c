"""Completions, and their comparison with the float model, as text."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from tdb_dap.engine.rendering.printable import visible
from tdb_dap.errors import BadInput
from tdb_dap.tools.weights.text import untraced_lines

if TYPE_CHECKING:
    from tdb_dap.tools.llm.opening import PromptOptions
    from tdb_dap.tools.llm.running import Token
    from tdb_dap.tools.llm.words import Words
    from tdb_dap.tools.weights.checking import WeightsReport

_MOST_WEIGHTS = 10
"""Wrong weights that are listed."""


def token_line(token: Token, words: Words | None) -> str:
    """One token, and whether it is as the float model computes it."""
    text = f" {visible(words.text([token.id]))!r}" if words is not None else ""
    end = "  ends the completion" if token.ends else ""
    line = f"token {token.number}: {token.id}{text}  {token.seconds:.2f} s{end}"
    if token.expected is None and not token.parts:
        return line
    wrong = next((part for part in token.parts if part.is_wrong), None)
    mark = "ok" if wrong is None else "WRONG"
    other = "" if token.expected in (None, token.id) else f", the float model answers {token.expected}"
    return f"{line}  {mark}{other}"


def verdict_lines(tokens: Sequence[Token], report: WeightsReport) -> list[str]:
    """Verdict on a completion: wrong weights, the first wrong launch and op, or that nothing is wrong."""
    wrong = [(token, part) for token in tokens for part in token.parts if part.is_wrong]
    lines = [f"wrong weight: {fault.tensor} in {fault.net}: {fault.summary}" for fault in report.faults[:_MOST_WEIGHTS]]
    if len(report.faults) > _MOST_WEIGHTS:
        lines.append(f"{len(report.faults) - _MOST_WEIGHTS:,} more weights are wrong")
    if not wrong:
        return [*lines, *([] if lines else _right(tokens, report))]
    token, part = wrong[0]
    where = f"first wrong: token {token.number}, {part.launch.net} (launch {part.launch.number})"
    lines += [f"{where}: it is given {text}" for text in part.given]
    one = part.first_wrong
    if one is not None:
        is_weight = f"{one.name}.weight" in report.wrong_tensors
        reason = "; its weight is wrong, see above" if is_weight else ""
        lines.append(f"{where}: {one.opcode} {one.name}, command {one.command}: {one.summary}{reason}")
    more = len(wrong) - 1
    return [*lines, *([f"{more} more launch{'es are' if more > 1 else ' is'} wrong"] if more else [])]


def _right(tokens: Sequence[Token], report: WeightsReport) -> list[str]:
    """Verdict on a completion without a fault, and what its number formats cost."""
    others = [token for token in tokens if token.expected not in (None, token.id)]
    if others:
        first = others[0]
        lines = [
            f"token {first.number} is {first.id}, in float {first.expected}; every tensor is as near to the "
            "float model as its number format allows: this is quantisation, not a fault"
        ]
    elif any(token.expected is not None for token in tokens):
        lines = ["every block is as the float model computes it, and so is every token"]
    else:
        lines = ["every block is as the float model computes it; the tokens are drawn"]
    if report.proven:
        lines.append(f"weights: {report.proven:,} constants are as the model before conversion has them")
    lines += untraced_lines(report)
    costs = [token.cost for token in tokens if token.cost is not None]
    if costs:
        lines.append(
            f"cost of the number formats: the logits have cosine {min(costs):.4f} or more to those in float, "
            f"{len(others)} of {len(tokens)} tokens differ"
        )
    return lines


def look_lines(
    options: PromptOptions, recording: Path | None, has_given: bool, prompt: Sequence[int], tokens: Sequence[Token]
) -> list[str]:
    """The command that shows the first wrong launch."""
    part = next((part for token in tokens for part in token.parts if part.is_wrong), None)
    if part is None:
        return []
    one = part.first_wrong
    where = one.command if one is not None else f"launch {part.launch.number}"
    if recording is not None:
        return [f"look: tdb-dap debug {shlex.quote(str(recording))} -c 'goto {where}'"]
    ids = ",".join(map(str, prompt))
    given = " (without --given)" if has_given else ""
    files = {"lora": options.lora, "image": options.image, "embeds": options.embeds}
    others = "".join(f" --{name} {shlex.quote(str(path))}" for name, path in files.items() if path is not None)
    context = shlex.quote(str(options.context))
    return [f"look: tdb-dap debug {context} --ids {ids} --tokens {len(tokens)}{others} -c 'goto {where}'{given}"]


def error_lines(tokens: Sequence[Token], nets: str) -> Iterator[str]:
    """The error of each launch of the nets whose names match: that of its tensor with the least cosine."""
    launches = [(token, part) for token in tokens for part in token.parts if fnmatchcase(part.launch.net, nets)]
    rows = [
        (str(token.number), str(part.launch.number), part.launch.net, f"{1 - worst.cosine:.3g}", worst.name)
        for token, part in launches
        for worst in [min(part.compared, key=lambda one: one.cosine, default=None)]
        if worst is not None
    ]
    if not rows:
        raise BadInput(f"--errors: no launch of {nets!r:.60} was compared")
    heads = ("token", "launch", "net", "1 - cosine", "tensor")
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    for row in (heads, *rows):
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
