"""``tdb-dap weights``: compare the constants of a language model with the weights before conversion, without a run."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tdb_dap.cli.progress import Bar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tdb_dap.tools.weights.checking import WeightsReport

_MOST_SHOWN = 20
_MOST_NAMED = 6
FILLED = "filled by the host"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("model", metavar="DIR", type=Path, help="folder of the converter, or the bmodel in it")
    parser.add_argument(
        "--reference",
        metavar="DIR",
        type=Path,
        required=True,
        help="the model before conversion (folder of config.json, .safetensors)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print wrong and untraced constants. 0: none is wrong; 1: one is; 2: none could be traced."""
    from tdb_dap.errors import BadInput
    from tdb_dap.tools.float_model.model import FloatModel
    from tdb_dap.tools.llm.language_model import read_model
    from tdb_dap.tools.llm.sources import weights_report

    model = read_model(arguments.model)
    float_model = FloatModel(arguments.reference, room=model.room)
    bar = Bar(arguments.quiet, " bytes compared")
    report = weights_report(model, float_model, bar)
    if arguments.json:
        print(json.dumps(_entry(report), indent=1))
    else:
        print("\n".join(lines(report)))
    if not report.proven and not report.faults:
        if arguments.json:
            return 2
        raise BadInput(f"{model.context.bmodel}: no constant could be traced; convert with --debug")
    return int(bool(report.faults))


def lines(report: WeightsReport) -> Iterator[str]:
    """Verdicts as text: the count of proven constants, then those that are wrong and those not traced."""
    yield f"{report.proven:,} constants ({report.numbers:,} numbers) are as the model before conversion has them"
    for fault in report.faults[:_MOST_SHOWN]:
        yield f"wrong: {fault.tensor} in {fault.net}: {fault.summary}"
    if len(report.faults) > _MOST_SHOWN:
        yield f"{len(report.faults) - _MOST_SHOWN:,} more constants are wrong"
    yield from untraced_lines(report)


def untraced_lines(report: WeightsReport) -> Iterator[str]:
    """The constants that could not be compared by reason, without those that the host fills."""
    by_reason: dict[str, list[str]] = {}
    for one in report.untraced:
        if one.why != FILLED:
            by_reason.setdefault(one.why, []).append(
                one.tensor if one.tensor == one.net else f"{one.tensor} in {one.net}"
            )
    for why, names in by_reason.items():
        more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
        yield f"not traced: {', '.join(names[:_MOST_NAMED])}{more}: {why}"


def _entry(report: WeightsReport) -> dict[str, Any]:
    return {
        "proven": report.proven,
        "numbers": report.numbers,
        "wrong": [asdict(fault) for fault in report.faults],
        "untraced": [{"net": one.net, "tensor": one.tensor, "why": one.why} for one in report.untraced],
    }
