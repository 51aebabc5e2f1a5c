"""``tdb-dap weights``: compare the constants of a language model with the weights before conversion, without a run."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from tdb_dap.cli.progress import Bar

if TYPE_CHECKING:
    from tdb_dap.tools.weights.checking import WeightsReport


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
    from tdb_dap.tools.weights.text import lines

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


def _entry(report: WeightsReport) -> dict[str, Any]:
    return {
        "proven": report.proven,
        "numbers": report.numbers,
        "wrong": [asdict(fault) for fault in report.faults],
        "untraced": [{"net": one.net, "tensor": one.tensor, "why": one.why} for one in report.untraced],
    }
