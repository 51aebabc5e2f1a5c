"""``tdb-dap llm``: run a compiled language model on a prompt, and compare it with the float model."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict, replace

from tdb_dap.cli.options import prompt_options, token_ids
from tdb_dap.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tdb_dap.tools.llm.language_model import LanguageModel
    from tdb_dap.tools.llm.running import Token
    from tdb_dap.tools.llm.words import Words


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
    parser.add_argument(
        "--errors", metavar="NETS", help="with --reference, print the error of each launch of these nets: block_*"
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
    from tdb_dap.tools.llm.running import Answering, prompt_of, require_pictures
    from tdb_dap.tools.llm.sources import weights_report
    from tdb_dap.tools.llm.stop_tokens import stop_tokens
    from tdb_dap.tools.llm.text import error_lines, look_lines, token_line, verdict_lines
    from tdb_dap.tools.llm.words import find_tokenizer

    if arguments.errors is not None and arguments.reference is None:
        raise BadInput("--errors: give the model before conversion, --reference DIR")
    model = read_model(arguments.model)
    text_or_ids = arguments.prompt if arguments.ids is None else arguments.ids
    chat = arguments.chat and arguments.ids is None
    of_model = (arguments.tokens, chat, arguments.sample, arguments.lora)
    shown = {"image": arguments.image, "embeds": arguments.embeds}
    options = PromptOptions(arguments.model, text_or_ids, *of_model, **shown)
    adapter = options.adapter
    pairs = adapter.pairs if adapter is not None else {}
    float_model = FloatModel(arguments.reference, pairs, model.room) if arguments.reference is not None else None
    folders = [model.context.bmodel.parent, *([arguments.reference] if float_model is not None else [])]
    words = _quiet(find_tokenizer, folders)
    given = arguments.given
    prompt, pictures = options.shown(model, arguments.reference) if text_or_ids is not None else ([], None)
    if arguments.recording is not None:
        debugger = open_recorded(arguments.recording)
        if not prompt:
            prompt, pictures = replace(options, prompt=prompt_of(debugger)).shown(model, arguments.reference)
    elif not prompt:
        raise BadInput("give a prompt: --prompt TEXT, or --ids N,N")
    elif arguments.record is not None:
        if adapter is not None:
            raise BadInput("--lora: not with --record; how the vendor's runtime is given an adapter is not known")
        record(model, prompt, arguments.tokens, given, arguments.record, pictures=pictures)
        debugger = open_recorded(arguments.record)
    else:
        debugger = open_model(model, prompt, arguments.tokens, given, 0, options.sampling, adapter, pictures)
    tokens: list[Token] = []
    if not arguments.json:
        _head(model, debugger.program.chip, len(prompt))
    report = weights_report(model, float_model) if float_model is not None else None
    is_recorded = arguments.recording is not None or arguments.record is not None
    stops = frozenset[int]() if is_recorded else stop_tokens(folders)
    require_pictures(debugger.program, pictures)
    answering = Answering(
        debugger,
        model,
        prompt,
        given,
        float_model,
        gives_back=True,
        weights=report,
        stops=stops,
        pictures=pictures,
    )
    try:
        for token in answering.tokens():
            tokens.append(token)
            if not arguments.json:
                print(token_line(token, words), flush=True)
    finally:
        debugger.close()
    faults = report.faults if report is not None else []
    if arguments.json:
        entries = {"prompt": prompt, "tokens": [_entry(token, words) for token in tokens]}
        wrong = {"weights": [asdict(fault) for fault in faults]} if report is not None else {}
        print(json.dumps({**entries, **wrong}, indent=1))
    elif report is not None:
        if arguments.errors is not None:
            print("\n".join(error_lines(tokens, arguments.errors)))
        recording = arguments.recording or arguments.record
        print("\n".join([*verdict_lines(tokens, report), *look_lines(options, recording, bool(given), prompt, tokens)]))
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
