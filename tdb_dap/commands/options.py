"""Options that several subcommands share."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from tdb_dap.errors import BadInput


def context_argument(parser: argparse.ArgumentParser) -> None:
    """The model."""
    parser.add_argument(
        "context", type=Path, metavar="CONTEXT", help="context directory of a compiled model, or a .bmodel file"
    )


class _TokenFile(argparse.Action):
    """Hands a token to everything that is started from here, and to no list of processes: by the environment."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: Any, values: Any, option: str | None = None) -> None:
        from tdb_dap.targets.backends.remote.handshake import TOKEN_VARIABLE

        try:
            os.environ[TOKEN_VARIABLE] = read_token(values)
        except BadInput as error:
            raise argparse.ArgumentError(self, str(error)) from None


def read_token(path: Path) -> str:
    """The word in a file; BadInput if there is none."""
    try:
        token = path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: the token cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if not token:
        raise BadInput(f"{path}: holds no token")
    return token


def backend_options(parser: argparse.ArgumentParser) -> None:
    """Who executes."""
    parser.add_argument(
        "--backend",
        default="numpy",
        metavar="NAME",
        help="who executes: numpy (built in, default), cmodel (the vendor's simulator), lockstep (both, compared), "
        "remote:HOST:PORT (what tdb-dap backends serve offers there)",
    )
    parser.add_argument(
        "--backend-token-file",
        metavar="FILE",
        type=Path,
        action=_TokenFile,
        help="the word that a backend elsewhere was started with (default: TDB_DAP_BACKEND_TOKEN of the environment)",
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


def input_options(parser: argparse.ArgumentParser) -> None:
    """What goes in, what should come out, and who computes."""
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


def data_options(parser: argparse.ArgumentParser) -> None:
    """What goes in, who computes, and how it is started."""
    input_options(parser)
    parser.add_argument(
        "--static-tables",
        default="firmware",
        choices=("firmware", "tdb"),
        help="fill the static memory as the chip's firmware does, or as the vendor debugger does",
    )
    parser.add_argument("--quiet", action="store_true", help="show no progress")
