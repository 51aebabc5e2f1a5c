"""``tdb-dap llm``: run a compiled language model on a prompt, and compare it with the float model."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tdb_dap.cli.options import prompt_options, token_ids
from tdb_dap.engine.rendering.printable import visible
from tdb_dap.errors import BadInput
from tdb_dap.tools.weights.cli import untraced_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tdb_dap.tools.llm.language_model import LanguageModel
    from tdb_dap.tools.llm.opening import PromptOptions
    from tdb_dap.tools.llm.running import Token
    from tdb_dap.tools.llm.words import Words
    from tdb_dap.tools.weights.checking import WeightsReport


_MOST_WEIGHTS = 10
"""Wrong weights that are listed."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("model", metavar="DIR", type=Path, help="folder of the converter, or the bmodel in it")
    prompt_options(parser, with_pipeline=False)
    parser.add_argument(
        "--given", metavar="N,N", type=token_ids, default=[], help="feed back these tokens, not the generated ones"
    )
    parser.add_argument(
        "--reference",
        metavar="DIR",
        type=Path,
        help="compare every block with the model before conversion, in float (folder of config.json, .safetensors)",
    )
    run = parser.add_mutually_exclusive_group()
    run.add_argument(
        "--record",
        metavar="FILE.tdbrec",
        type=Path,
        help="record a run on the vendor's runtime and compare that; dynamic models need it",
    )
    run.add_argument("--recording", metavar="FILE.tdbrec", type=Path, help="compare this recording of another program")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print tokens as they come. 0: nothing is wrong; 1: something differs from the float model."""
    from tdb_dap.tools.float_model.model import FloatModel
    from tdb_dap.tools.llm.language_model import read_model
    from tdb_dap.tools.llm.opening import PromptOptions, open_model, open_recorded, record
    from tdb_dap.tools.llm.running import Answering, prompt_of
    from tdb_dap.tools.llm.sources import weights_report
    from tdb_dap.tools.llm.stop_tokens import stop_tokens
    from tdb_dap.tools.llm.words import find_tokenizer

    model = read_model(arguments.model)
    text_or_ids = arguments.prompt if arguments.ids is None else arguments.ids
    chat = arguments.chat and arguments.ids is None
    options = PromptOptions(arguments.model, text_or_ids, arguments.tokens, chat, arguments.sample, arguments.lora)
    adapter = options.adapter
    pairs = adapter.pairs if adapter is not None else {}
    float_model = FloatModel(arguments.reference, pairs, model.room) if arguments.reference is not None else None
    folders = [model.context.bmodel.parent, *([arguments.reference] if float_model is not None else [])]
    words = _quiet(find_tokenizer, folders)
    given = arguments.given
    prompt = options.ids(model)
    if arguments.recording is not None:
        debugger = open_recorded(arguments.recording)
        prompt = prompt or prompt_of(debugger)
    elif not prompt:
        raise BadInput("give a prompt: --prompt TEXT, or --ids N,N")
    elif arguments.record is not None:
        if adapter is not None:
            raise BadInput("--lora: not with --record; how the vendor's runtime is given an adapter is not known")
        record(model, prompt, arguments.tokens, given, arguments.record)
        debugger = open_recorded(arguments.record)
    else:
        debugger = open_model(model, prompt, arguments.tokens, given, 0, options.sampling, adapter)
    tokens: list[Token] = []
    if not arguments.json:
        _head(model, debugger.program.chip, len(prompt))
    report = weights_report(model, float_model) if float_model is not None else None
    is_recorded = arguments.recording is not None or arguments.record is not None
    stops = frozenset[int]() if is_recorded else stop_tokens(folders)
    answering = Answering(debugger, model, prompt, given, float_model, gives_back=True, weights=report, stops=stops)
    try:
        for token in answering.tokens():
            tokens.append(token)
            if not arguments.json:
                print(_line(token, words), flush=True)
    finally:
        debugger.close()
    faults = report.faults if report is not None else []
    if arguments.json:
        entries = {"prompt": prompt, "tokens": [_entry(token, words) for token in tokens]}
        wrong = {"weights": [asdict(fault) for fault in faults]} if report is not None else {}
        print(json.dumps({**entries, **wrong}, indent=1))
    elif report is not None:
        recording = arguments.recording or arguments.record
        print("\n".join([*_verdict(tokens, report), *_next(options, recording, bool(given), prompt, tokens)]))
    return int(bool(faults) or any(part.is_wrong for token in tokens for part in token.parts))


def _quiet(find: Any, folders: Sequence[Path]) -> Words | None:
    """A tokenizer for the answer's text, which is shown only where it can be."""
    try:
        words: Words | None = find(folders)
    except BadInput:
        return None
    return words


def _head(model: LanguageModel, chip: str, prompt: int) -> None:
    name = model.context.bmodel.name
    print(
        f"{name}: {chip}, {model.layers} blocks, prefill of {model.length} positions, cache of {model.room}; prompt of "
        f"{prompt} token{'s' if prompt > 1 else ''}",
        file=sys.stderr,
    )


def _line(token: Token, words: Words | None) -> str:
    text = f" {visible(words.text([token.id]))!r}" if words is not None else ""
    end = "  ends the completion" if token.ends else ""
    line = f"token {token.number}: {token.id}{text}  {token.seconds:.2f} s{end}"
    if token.expected is None and not token.parts:
        return line
    wrong = next((part for part in token.parts if part.is_wrong), None)
    mark = "ok" if wrong is None else "WRONG"
    other = "" if token.expected in (None, token.id) else f", the float model answers {token.expected}"
    return f"{line}  {mark}{other}"


def _verdict(tokens: Sequence[Token], report: WeightsReport) -> list[str]:
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


def _next(
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
    lora = f" --lora {shlex.quote(str(options.lora))}" if options.lora is not None else ""
    context = shlex.quote(str(options.context))
    return [f"look: tdb-dap debug {context} --ids {ids} --tokens {len(tokens)}{lora} -c 'goto {where}'{given}"]


def _entry(token: Token, words: Words | None) -> dict[str, Any]:
    return {
        "number": token.number,
        "id": token.id,
        **({"text": words.text([token.id])} if words is not None else {}),
        "seconds": round(token.seconds, 3),
        **({"ends": True} if token.ends else {}),
        **({"expected": token.expected} if token.expected is not None else {}),
        **({"cost": round(token.cost, 6)} if token.cost is not None else {}),
        "launches": [
            {
                "launch": part.launch.number,
                "net": part.launch.net,
                "given": list(part.given),
                "tensors": [
                    {
                        "name": one.name,
                        "op": one.opcode,
                        "command": one.command,
                        "cosine": round(one.cosine, 6),
                        "ratio": round(one.ratio, 4),
                        "wrong": one.is_wrong,
                    }
                    for one in part.compared
                ],
            }
            for part in token.parts
        ],
    }
