"""Options that several subcommands share."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from tdb_dap.errors import BadInput
from tdb_dap.system.ports import BACKEND_TOKEN


def context_argument(parser: argparse.ArgumentParser) -> None:
    """The model."""
    parser.add_argument(
        "context",
        type=Path,
        metavar="CONTEXT",
        help="context directory of a compiled model, a .bmodel file, or a recorded run (.tdbrec)",
    )


class _TokenFile(argparse.Action):
    """Hands a token to everything that is started from here, and to no list of processes: by the environment."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: Any, values: Any, option: str | None = None) -> None:
        try:
            os.environ[BACKEND_TOKEN] = read_token(values)
        except BadInput as error:
            raise argparse.ArgumentError(self, str(error)) from None


def token_options(parser: argparse._ActionsContainer, variable: str, help: str) -> None:
    """The token of a server; ``help`` says what it is for, ``variable`` names the environment's."""
    parser.add_argument(
        "--token",
        help=f"{help}. Lists of processes show it: --token-file or {variable} of the environment hides it",
    )
    parser.add_argument("--token-file", metavar="FILE", type=Path, help="a file that holds the token")


def given_token(arguments: argparse.Namespace, variable: str) -> str | None:
    """The token of a server, of ``token_options`` or the environment; None if none is given, BadInput if it is empty.

    Empty is what an unset variable of a shell leaves: to go on as if there were a token would let everybody in.
    """
    if arguments.token_file is not None:
        if arguments.token is not None:
            raise BadInput("--token and --token-file: give one of them")
        return read_token(arguments.token_file)
    for origin, token in (("--token", arguments.token), (variable, os.environ.get(variable))):
        if token is not None:
            if not token.strip():
                raise BadInput(f"{origin}: the token is empty; is a variable not set?")
            return str(token)
    return None


def read_token(path: Path) -> str:
    """The word in a file; BadInput if there is none."""
    try:
        token = path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: the token cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if not token:
        raise BadInput(f"{path}: holds no token")
    return token


def backend_token_option(parser: argparse._ActionsContainer) -> None:
    """The token of somebody else's server."""
    parser.add_argument(
        "--backend-token-file",
        metavar="FILE",
        type=Path,
        action=_TokenFile,
        help="token that a remote backend was started with (default: TDB_DAP_BACKEND_TOKEN of the environment)",
    )


def backend_options(parser: argparse.ArgumentParser) -> None:
    """Options that choose the backend."""
    parser.add_argument(
        "--backend",
        default="numpy",
        metavar="NAME",
        help="backend: numpy (built in, default), cmodel (the vendor's simulator), lockstep (both, compared), "
        "remote:HOST:PORT (what tdb-dap backends serve offers there), or that of a plugin",
    )
    backend_token_option(parser)
    parser.add_argument(
        "--cmodel-path", metavar="DIR", type=Path, help="where the vendor's libraries are; see tdb-dap backends"
    )


def model_arguments(parser: argparse.ArgumentParser) -> None:
    """The model, and which of its nets and stages is meant."""
    context_argument(parser)
    parser.add_argument("--net", metavar="NAME", help="which net of a file with several (default: the first)")
    parser.add_argument(
        "--stage",
        metavar="N",
        type=int,
        help="which stage of a net compiled for several input shapes (default: the one that takes the inputs)",
    )


def prompt_options(parser: argparse.ArgumentParser, with_pipeline: bool = True) -> None:
    """Options for what a language model answers, or several nets in an order of the user's own do."""
    prompt = parser.add_mutually_exclusive_group()
    if with_pipeline:
        prompt.add_argument(
            "--pipeline", metavar="FILE", type=Path, help="nets of the bmodel in the order of this file (.yaml, .json)"
        )
    prompt.add_argument("--prompt", metavar="TEXT", help="a text; its tokens are those of tokenizer.json")
    prompt.add_argument("--ids", metavar="N,N", type=token_ids, help="numbers of tokens in place of a text")
    parser.add_argument("--chat", action="store_true", help="put the model's own chat template around --prompt")
    parser.add_argument("--tokens", metavar="N", type=int, default=8, help="tokens to answer (default: 8)")
    parser.add_argument(
        "--sample",
        metavar="KEY=N,...",
        help="draw tokens of a model converted with --do_sample: temperature, top_k, top_p, penalty, seed",
    )
    parser.add_argument(
        "--lora",
        metavar="DIR",
        type=Path,
        help="write this adapter (adapter_config.json, adapter_model.safetensors) into a model converted with "
        "--lora_max_rank",
    )


def token_ids(text: str) -> list[int]:
    """Numbers of tokens with commas between them."""
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text[:40]}: give whole numbers with commas between them") from None


def input_options(parser: argparse.ArgumentParser) -> None:
    """Options for inputs, reference and backend."""
    parser.add_argument("--inputs", metavar="X", type=Path, help=".npz by input name, or raw .dat (default: zeros)")
    parser.add_argument(
        "--reference",
        metavar="R",
        nargs="+",
        type=Path,
        default=(),
        help="expected data: .npz by tensor name, another CONTEXT that is run on the same inputs, or the compiler's "
        "..._tpu.mlir, which is computed",
    )
    parser.add_argument(
        "--recording",
        metavar="FILE",
        help=".tdbrec of a run of this model: what its dynamic subnets have executed (see tdb-dap record); or "
        "remote:HOST:PORT of a machine with the vendor's runtime: tdb-dap backends serve --record",
    )
    backend_options(parser)


def data_options(parser: argparse.ArgumentParser) -> None:
    """Options for inputs, backend and start."""
    input_options(parser)
    parser.add_argument(
        "--static-tables",
        default="firmware",
        choices=("firmware", "tdb"),
        help="fill the static memory as the chip's firmware does, or as the vendor debugger does",
    )
