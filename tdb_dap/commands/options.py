"""Options that several subcommands share."""

from __future__ import annotations

import argparse
from pathlib import Path


def context_argument(parser: argparse.ArgumentParser) -> None:
    """The model."""
    parser.add_argument(
        "context", type=Path, metavar="CONTEXT", help="context directory of a compiled model, or a .bmodel file"
    )


def backend_options(parser: argparse.ArgumentParser) -> None:
    """Who executes."""
    parser.add_argument(
        "--backend",
        default="numpy",
        metavar="NAME",
        help="who executes: numpy (built in, default), cmodel (the vendor's simulator), lockstep (both, compared)",
    )
    parser.add_argument(
        "--cmodel-path", metavar="DIR", type=Path, help="where the vendor's libraries are; see tdb-dap backends"
    )


def model_arguments(parser: argparse.ArgumentParser) -> None:
    """The model, and which of its nets and stages is meant."""
    context_argument(parser)
    parser.add_argument("--net", metavar="NAME", help="which net of a file with several (default: the first)")
    parser.add_argument(
        "--stage", metavar="N", type=int, default=0, help="which stage of a net compiled for several input shapes"
    )


def data_options(parser: argparse.ArgumentParser) -> None:
    """What goes in, and who computes."""
    parser.add_argument("--inputs", metavar="X", type=Path, help=".npz by input name, or raw .dat (default: zeros)")
    parser.add_argument(
        "--reference",
        metavar="R",
        nargs="+",
        type=Path,
        default=(),
        help="expected data: .npz by tensor name, or another CONTEXT that is run on the same inputs",
    )
    backend_options(parser)
    parser.add_argument(
        "--static-tables",
        default="firmware",
        choices=("firmware", "tdb"),
        help="fill the static memory as the chip's firmware does, or as the vendor debugger does",
    )
    parser.add_argument("--quiet", action="store_true", help="show no progress")
