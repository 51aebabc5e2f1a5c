"""The command line, from its own help."""

from __future__ import annotations

import argparse
import importlib

from scripts.documentation.markdown import table
from tdb_dap.cli.main import COMMANDS, GROUPS, MODULES, Help

WIDTH = 100


def page() -> str:
    """Every subcommand with its help."""
    parts = [
        "# Command line",
        "`tdb-dap COMMAND --help` prints the same. Exit codes: 0 if all is well, 1 for findings (a tensor that "
        "differs, an error of a sanitizer, a failed line), 2 for an error, with one line on stderr: what, where, "
        "what to do.",
        table(
            ("", "command", "what it does"),
            [
                (group, f"[`{name}`](#{name})", line)
                for group, verbs in GROUPS.items()
                for name, (_, line) in verbs.items()
            ],
        ),
    ]
    for name in COMMANDS:
        parts.append(f"## {name}\n\n```text\n{help_of(name)}\n```")
    return "\n\n".join(parts) + "\n"


def help_of(name: str) -> str:
    """What ``--help`` of a subcommand prints."""
    parser = argparse.ArgumentParser(
        prog=f"tdb-dap {name}",
        description=COMMANDS[name][0].upper() + COMMANDS[name][1:] + ".",
        formatter_class=lambda prog: Help(prog, width=WIDTH),
    )
    importlib.import_module(MODULES[name]).arguments(parser)
    return parser.format_help().rstrip()
