"""``tdb-dap record``: record what a program executes on the vendor's emulator."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tdb_dap.cli.options import INPUTS, backend_token_option, net_options
from tdb_dap.engine.rendering.printable import counted
from tdb_dap.errors import BadInput, TdbError


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.usage = (
        "%(prog)s [-h] [-o FILE.tdbrec] [--quiet] -- PROGRAM [ARGUMENTS ...]\n"
        "       %(prog)s [--at HOST:PORT] [--inputs X] [--net NAME] [--stage N] [-o FILE.tdbrec] -- CONTEXT"
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE.tdbrec", type=Path, help="write this file (default: PROGRAM.tdbrec, here)"
    )
    parser.add_argument(
        "command",
        metavar="PROGRAM",
        nargs=argparse.REMAINDER,
        help="program and arguments to run: model_runner, a Python script, anything that uses the vendor's runtime; "
        "or a context directory or .bmodel, to run one net once",
    )
    there = parser.add_argument_group("one net of a compiled model, once")
    there.add_argument(
        "--at", metavar="HOST:PORT", help="record on a machine that runs tdb-dap backends serve --record"
    )
    there.add_argument("--inputs", metavar="X", type=Path, help=INPUTS)
    net_options(there)
    backend_token_option(there)
    # Old spelling of the verb import.
    parser.add_argument("--streams", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--chip", help=argparse.SUPPRESS)


def run(arguments: argparse.Namespace) -> int:
    """Run the program; returns its exit code."""
    command = arguments.command[1:] if arguments.command[:1] == ["--"] else arguments.command
    if (arguments.streams is None) != (arguments.chip is None):
        raise BadInput("--streams and --chip: give both of them")
    if arguments.streams is not None:
        from tdb_dap.tools.streams import cli

        if command or arguments.at is not None:
            raise BadInput("with --streams nothing is run; leave the program and --at out")
        return cli.run(arguments)
    if arguments.at is not None or (command and is_model(Path(command[0]))):
        return _net(arguments, command)
    from tdb_dap.backends.recorder.record import record

    if arguments.inputs is not None or arguments.net is not None or arguments.stage is not None:
        raise BadInput("--inputs, --net and --stage go with a compiled model; give the program its arguments after it")
    if not command:
        raise BadInput("no program is given; tdb-dap record -- PROGRAM ARGUMENTS")
    path = arguments.output or Path(f"{Path(command[0]).name}.tdbrec")
    outcome = record(command, path)
    if not outcome.size:
        problem = (
            f"{command[0]}: nothing was recorded: it used no runtime of the vendor's in a way that can be seen; a "
            "program that is linked statically, or that clears LD_PRELOAD, cannot be recorded"
        )
        if outcome.code == 0:
            raise TdbError(problem)
        print(f"tdb-dap: {problem}", file=sys.stderr)
    elif not arguments.quiet:
        if outcome.others:
            print(f"tdb-dap: other processes used the runtime and are not recorded: {outcome.others}", file=sys.stderr)
        print(f"tdb-dap: {path}: {counted(outcome.commands, 'command')}, {outcome.size:,} bytes", file=sys.stderr)
    return outcome.code


def is_model(path: Path) -> bool:
    """True for a context directory or a file of a compiled model, which no program is."""
    return path.is_dir() or (path.suffix in {".bmodel", ".cvimodel"} and path.is_file())


def _net(arguments: argparse.Namespace, given: list[str]) -> int:
    """Record one run of a net of a compiled model, here or by a server. 0: done."""
    from tdb_dap.engine.machine.input_data import load_inputs
    from tdb_dap.engine.program.compiled_program import CompiledProgram
    from tdb_dap.tools.opening import read_inputs
    from tdb_dap.tools.programs import open_program

    if len(given) != 1:
        raise BadInput("one compiled model is recorded at a time; tdb-dap record [--at HOST:PORT] -- CONTEXT")
    program = open_program(given[0], arguments.net, arguments.stage, inputs=arguments.inputs)
    if not isinstance(program, CompiledProgram):
        raise BadInput(f"{given[0]}: is a recording already")
    data = arguments.inputs or program.context.inputs
    inputs = {}
    if data is not None:  # a server is given bytes, without shapes
        inputs = read_inputs(data, program) if arguments.at is None else load_inputs(data, program.inputs)
    path = arguments.output or Path(f"{program.net.name[:60]}.tdbrec")
    if arguments.at is not None:
        from tdb_dap.backends.remote.recorder import record_elsewhere
        from tdb_dap.system.ports import address

        record_elsewhere(program, address(arguments.at, "--at"), inputs, path, with_source=True)
    else:
        from tdb_dap.backends.launch.recorded_net import record_net
        from tdb_dap.targets.chips.registry import target_for

        record_net(program, target_for(program.chip, given[0]), inputs, path, with_source=True)
    if not arguments.quiet:
        print(f"tdb-dap: {path}: {path.stat().st_size:,} bytes", file=sys.stderr)
    return 0
