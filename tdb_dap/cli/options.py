"""Options that several subcommands share."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tdb_dap.errors import BadInput
from tdb_dap.system.ports import BACKEND_TOKEN

if TYPE_CHECKING:
    from msgspec import Struct

    from tdb_dap.tools.llm.opening import PromptOptions
    from tdb_dap.tools.model_options import ModelOptions

_T = TypeVar("_T", bound="Struct")

INPUTS = ".npz by input name, .npy or raw .dat (default: those next to the model, else zeros)"


def context_argument(parser: argparse.ArgumentParser) -> None:
    """The model."""
    parser.add_argument(
        "context",
        type=Path,
        metavar="CONTEXT",
        help="context directory of a compiled model, a .bmodel or .cvimodel file, or a recording (.tdbrec)",
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
        help=f"{help}. Process lists show it: use --token-file or {variable} of the environment to hide it",
    )
    parser.add_argument("--token-file", metavar="FILE", type=Path, help="read the token from a file")


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
    """The token of a server that is already running."""
    parser.add_argument(
        "--backend-token-file",
        metavar="FILE",
        type=Path,
        action=_TokenFile,
        help="read the token of a remote backend from a file (default: TDB_DAP_BACKEND_TOKEN)",
    )


def backend_options(parser: argparse._ActionsContainer) -> None:
    """Options that choose the backend."""
    parser.add_argument(
        "--backend",
        default="numpy",
        metavar="NAME",
        help="numpy (built in, default), cmodel (the vendor's simulator), lockstep (both, compared), "
        "remote:HOST:PORT or a plugin's",
    )
    backend_token_option(parser)
    parser.add_argument(
        "--cmodel-path", metavar="DIR", type=Path, help="directory of the vendor's libraries; see tdb-dap backends"
    )
    parser.add_argument(
        "--no-plan-cache",
        action=_WithoutPlans,
        nargs=0,
        default=argparse.SUPPRESS,
        help="do not use or keep data of earlier runs (plans, accesses), as with TDB_DAP_PLAN_CACHE=0",
    )


class _WithoutPlans(argparse.Action):
    """Tells this process, and those that it starts, by the environment."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: Any, values: Any, option: str | None = None) -> None:
        from tdb_dap.system.kept_files import SWITCH

        os.environ[SWITCH] = "0"


def model_arguments(parser: argparse.ArgumentParser) -> None:
    """The model, and which of its nets and stages is meant."""
    context_argument(parser)
    net_options(parser)


def net_options(parser: argparse._ActionsContainer) -> None:
    """The net of a file with several, and its stage."""
    parser.add_argument("--net", metavar="NAME", help="net of a file with several (default: the first)")
    parser.add_argument(
        "--stage",
        metavar="N",
        type=int,
        help="stage of a net for several input shapes (default: the one that takes the inputs)",
    )


def given_model(arguments: argparse.Namespace) -> ModelOptions:
    """The model, its data and its backend, as far as the subcommand has options for them."""
    from tdb_dap.tools.model_options import ModelOptions

    return filled(ModelOptions, arguments, references=tuple(getattr(arguments, "reference", ())))


def filled(options: type[_T], arguments: argparse.Namespace, **others: Any) -> _T:
    """A record of options with those that were given under the names of its fields, and ``others``."""
    given = {name: value for name, value in vars(arguments).items() if name in options.__struct_fields__}
    return options(**given | others)


def prompt_options(parser: argparse.ArgumentParser, with_pipeline: bool = True) -> None:
    """Options for the completion of a prompt, or for nets in the order of a pipeline file."""
    options = parser.add_argument_group("language model") if with_pipeline else parser
    prompt = options.add_mutually_exclusive_group()
    if with_pipeline:
        prompt.add_argument(
            "--pipeline",
            metavar="FILE",
            type=Path,
            help="run nets of the bmodel in the order of this file (.yaml, .json)",
        )
    prompt.add_argument("--prompt", metavar="TEXT", help="complete this text, with the tokens of tokenizer.json")
    prompt.add_argument("--ids", metavar="N,N", type=token_ids, help="complete these token ids")
    options.add_argument("--chat", action="store_true", help="apply the model's chat template to --prompt")
    options.add_argument("--tokens", metavar="N", type=int, default=8, help="number of tokens to generate (default: 8)")
    options.add_argument(
        "--sample",
        metavar="KEY=N,...",
        help="sample tokens (model converted with --do_sample): temperature, top_k, top_p, penalty, seed",
    )
    options.add_argument(
        "--lora",
        metavar="DIR",
        type=Path,
        help="load this adapter into a model converted with --lora_max_rank",
    )

    picture = options.add_mutually_exclusive_group()
    picture.add_argument(
        "--image",
        metavar="FILE",
        type=Path,
        help="picture at the image token of the prompt (Qwen2-VL, Qwen2.5-VL, Qwen3-VL)",
    )
    picture.add_argument(
        "--embeds",
        metavar="NPZ",
        type=Path,
        help="states in place of the prompt's image tokens: rows, rows_0 ... (Qwen3-VL), at, position_ids",
    )


def given_prompt(arguments: argparse.Namespace) -> PromptOptions | None:
    """The completion or pipeline that was asked for, None without one; BadInput for options of single nets."""
    if all(given is None for given in (arguments.prompt, arguments.ids, arguments.pipeline)):
        return None
    from tdb_dap.tools.llm.opening import PromptOptions

    others = ("inputs", "reference", "recording", "net", "measured")
    given = [f"--{name}" for name in others if getattr(arguments, name, None)]
    given += ["--backend"] if getattr(arguments, "backend", "numpy") != "numpy" else []
    if given:
        raise BadInput(
            f"{', '.join(given)}: not with a prompt or a pipeline; leave {'it' if len(given) == 1 else 'them'} out"
        )
    prompt = arguments.prompt if arguments.ids is None else arguments.ids
    of_model = (arguments.tokens, arguments.chat, arguments.sample, arguments.lora)
    pictures = {"image": arguments.image, "embeds": arguments.embeds}
    return PromptOptions(arguments.context, prompt, *of_model, pipeline=arguments.pipeline, **pictures)


def token_ids(text: str) -> list[int]:
    """Numbers of tokens with commas between them."""
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text[:40]}: give whole numbers with commas between them") from None


def input_options(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Options for inputs, reference and backend; returns their group."""
    options = parser.add_argument_group("data and backend")
    options.add_argument("--inputs", metavar="X", type=Path, help=INPUTS)
    options.add_argument(
        "--reference",
        metavar="R",
        nargs="+",
        type=Path,
        default=(),
        help="expected values: .npz by tensor name, another CONTEXT (run on the same inputs), or ..._tpu.mlir "
        "(computed; default: those next to the model)",
    )
    options.add_argument(
        "--recording",
        metavar="FILE",
        help="recorded run of the model for its dynamic subnets: .tdbrec, or remote:HOST:PORT to record one",
    )
    backend_options(options)
    return options


def data_options(parser: argparse.ArgumentParser) -> None:
    """Options for inputs, backend and start."""
    input_options(parser).add_argument(
        "--static-tables",
        default="firmware",
        choices=("firmware", "tdb"),
        help="fill the static memory as the firmware (default) or the vendor's debugger (tdb) does",
    )


def tolerance_options(parser: argparse.ArgumentParser) -> None:
    """Limits of a comparison, and what is left out of it."""
    parser.add_argument(
        "--tolerance",
        metavar="[WHERE:]LIMIT=NUMBER,...",
        action="append",
        default=[],
        help="set limits (cosine euclidean channel relative maxAbs ulp sqnr badShare) of all tensors, or of those of a "
        "number format or a name pattern; 0.99,0.98 is short for cosine and euclidean",
    )
    parser.add_argument(
        "--except", metavar="GLOB", nargs="+", default=[], dest="excepted", help="do not compare tensors of these names"
    )
