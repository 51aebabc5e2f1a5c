"""``tdb-dap debug``: the debugger in a terminal."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tdb_dap.adapter.protocol.client import Client
from tdb_dap.cli.options import input_options, model_arguments, prompt_options
from tdb_dap.errors import BadInput


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    model_arguments(parser)
    input_options(parser)
    prompt_options(parser)
    parser.add_argument("--allow-python", action="store_true", help="allow the verb py to evaluate Python")
    parser.add_argument(
        "-c", dest="commands", metavar="CMD", action="append", default=[], help="run this console command"
    )
    parser.add_argument("-x", dest="script", metavar="FILE", type=Path, help="run the console commands of a file")


def run(arguments: argparse.Namespace) -> int:
    """Carry out the lines given, then ask for more if somebody is there; 1 if a line of a script has failed."""
    from tdb_dap.terminal.console import Console
    from tdb_dap.terminal.view import View

    script = [*arguments.commands, *_lines(arguments.script)]
    client = Client.spawn(timeout=None)
    try:
        console = Console(client, View(quiet=arguments.quiet))
        filters = ["mismatch"] if arguments.reference else []
        filters += ["divergence"] if arguments.backend == "lockstep" else []
        console.start(_configuration(arguments), filters)
        failed = [text for text in script if not console.over and not console.do(text)]
        if sys.stdin.isatty():
            from tdb_dap.terminal.prompt import talk

            talk(console)
        elif not script:
            failed = [text for text in _commands(sys.stdin) if not console.over and not console.do(text)]
        return 1 if failed else 0
    finally:
        client.close()


def _configuration(arguments: argparse.Namespace) -> dict[str, Any]:
    """The launch configuration, without what was not given."""
    given: dict[str, Any] = {
        "program": arguments.context,
        "backend": arguments.backend,
        "net": arguments.net,
        "stage": arguments.stage,
        "allowPython": arguments.allow_python,
        "pipeline": arguments.pipeline,
        "cmodelPath": arguments.cmodel_path,
        "inputs": arguments.inputs,
        "recording": arguments.recording,
        "reference": list(map(str, arguments.reference)) or None,
    }
    prompt = arguments.prompt if arguments.ids is None else arguments.ids
    if prompt is not None:
        names = ("tokens", "chat", "sample", "lora", "image", "embeds")
        given |= {"prompt": prompt, **{name: getattr(arguments, name) for name in names}}
    return {
        name: str(value) if isinstance(value, Path) else value for name, value in given.items() if value is not None
    }


def _lines(path: Path | None) -> list[str]:
    """The lines of a script."""
    if path is None:
        return []
    try:
        return list(_commands(path.read_text("utf-8").splitlines()))
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _commands(lines: Iterable[str]) -> Iterator[str]:
    """Lines without those that are empty or comments (#)."""
    return (line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#"))
