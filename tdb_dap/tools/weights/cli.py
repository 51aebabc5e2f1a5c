"""``tdb-dap weights``: compare the constants of a compiled model with the weights before conversion, without a run."""

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
    parser.add_argument(
        "model", metavar="DIR", type=Path, help="folder of llm_convert, or context directory of model_deploy --debug"
    )
    parser.add_argument(
        "--reference",
        metavar="PATH",
        type=Path,
        help="model before conversion: folder of config.json and .safetensors for a language model; for a network an "
        ".onnx, or an .npz of its layers' weights (default: files of the compilation)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print wrong and untraced constants. 0: none is wrong; 1: one is; 2: none could be traced."""
    from tdb_dap.errors import BadInput
    from tdb_dap.tools.llm.weights import weights_of
    from tdb_dap.tools.weights.text import lines

    report = weights_of(arguments.model, arguments.reference, Bar(arguments.quiet, " bytes compared"))
    if arguments.json:
        print(json.dumps(_entry(report), indent=1))
    else:
        print("\n".join(lines(report)))
    if not report.proven and not report.faults:
        if arguments.json:
            return 2
        raise BadInput(f"{arguments.model}: no constant could be traced; compile with --debug")
    return int(bool(report.faults))


def _entry(report: WeightsReport) -> dict[str, Any]:
    return {
        "proven": report.proven,
        "numbers": report.numbers,
        "wrong": [asdict(fault) for fault in report.faults],
        "untraced": [{"net": one.net, "tensor": one.tensor, "why": one.why} for one in report.untraced],
    }
