"""``tdb-dap plugins``: list plugins of installed packages."""

from __future__ import annotations

import argparse


def arguments(parser: argparse.ArgumentParser) -> None:
    """There are no options."""


def run(arguments: argparse.Namespace) -> int:
    """Print a line for each; 1 if one cannot be used."""
    from tdb_dap.system.plugins import GROUPS, plugins, problems

    for group, title in GROUPS.items():
        for plugin in plugins(group):
            print(f"{group:10} {plugin.name:20} {plugin.value:40} {plugin.package} {plugin.version}")
        if not plugins(group):
            print(f"{group:10} none ({title})")
    listed = list(problems())
    for problem in listed:
        print(f"error: {problem}")
    return int(bool(listed))
