"""Lines of a diagnosis, as they may be shown to others."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

from tdb_dap.engine.rendering.printable import counted
from tdb_dap.version import __version__

Status = Literal["ok", "note", "error"]

SCHEMA_VERSION = 1
"""Version of the report in JSON; it changes when a field goes away or means something else."""


@dataclass(frozen=True)  # not a struct: a diagnosis works where msgspec is missing
class Check:
    """One thing that was looked at."""

    name: str
    """Its name: a word, or a group and a word, ``dependency:numpy``."""

    status: Status
    """``ok``; ``note``: works, with less; ``error``: something does not work."""

    text: str
    """One line that says what was found."""

    mend: str = ""
    """The one command that fixes it; empty if there is nothing to fix."""


def guarded(name: str, look: Callable[[], Iterable[Check]], broken: Sequence[str], mend: str) -> Iterator[Check]:
    """The checks that ``look`` makes; an exception of its is one more, an error that ``mend`` fixes.

    ``broken``: dependencies that cannot be used; with such, an exception is their fault, and only noted.
    """
    try:
        yield from look()
    except Exception as error:
        if broken:
            yield without(name, broken)
        else:
            yield Check(name, "error", f"{type(error).__name__}: {error}", mend)


def without(name: str, broken: Sequence[str]) -> Check:
    """A check that cannot be made without these dependencies."""
    return Check(name, "note", f"skipped: {', '.join(broken)} cannot be used")


def anonymous(check: Check) -> Check:
    """The same on one line each: home directories of this user are ``~``, other directories of that name ``$USER``."""
    return replace(check, text=_anonymous(check.text), mend=_anonymous(check.mend))


def _anonymous(text: str) -> str:
    text = " ".join(text.split())
    for home in _homes():
        text = re.sub(rf"{re.escape(home)}(?=$|[^\w.-])", "~", text)
    for user in _users():
        text = re.sub(rf"(?<=[/\\]){re.escape(user)}(?=$|[^\w.-])", "$USER", text)
    return text


def _account() -> tuple[str, str]:
    """Name and home directory of the account, empty where nobody knows."""
    try:
        import pwd

        entry = pwd.getpwuid(os.getuid())
    except (ImportError, KeyError):
        return "", ""  # not on every system; not every number is an account
    return entry.pw_name, entry.pw_dir


def _users() -> set[str]:
    """Names of this user; of root's there is nothing to be hidden."""
    return {_account()[0], os.environ.get("USER", ""), os.environ.get("USERNAME", "")} - {"", "root"}


def _homes() -> list[str]:
    """Home directories, the longest first: of the environment, and of the account, which may be another (``sudo``)."""
    homes = {os.environ.get("HOME", ""), os.environ.get("USERPROFILE", ""), _account()[1]}
    homes |= {os.path.realpath(home) for home in homes if home}
    directories = {home.rstrip("/\\") for home in homes if home}
    return sorted((home for home in directories if home and Path(home).parent != Path(home)), key=len, reverse=True)


def lines(check: Check) -> Iterator[str]:
    """Lines for the terminal and for an issue: status, name, finding; below it the command that fixes it."""
    yield f"{check.status:5}  {check.name}: {check.text}"
    if check.mend:
        yield f"       fix with: {check.mend}"


def summary(checks: Sequence[Check]) -> str:
    """Outcome in one line."""
    errors, notes = (sum(check.status == status for check in checks) for status in ("error", "note"))
    wrong = f"{counted(errors, 'error')} in {len(checks)} checks" if errors else "nothing is wrong"
    return f"{wrong}, {counted(notes, 'note')}" if notes else wrong


def as_json(checks: Sequence[Check]) -> str:
    """The report for programs; its fields are listed in docs/install.md."""
    report = {"version": SCHEMA_VERSION, "tdb_dap": __version__, "checks": [asdict(check) for check in checks]}
    return json.dumps(report, indent=1)
