"""Commands for the user's own shell: that of POSIX, or those of Windows."""

from __future__ import annotations

import shlex
import subprocess
import sys


def quoted(word: str) -> str:
    """A word of a command line, in quotes where it needs them."""
    return subprocess.list2cmdline([word]) if sys.platform == "win32" else shlex.quote(word)


def setting(name: str, value: str) -> str:
    """The command that sets a variable of the environment; on Windows for every terminal that is opened after it."""
    return f"setx {name} {quoted(value)}" if sys.platform == "win32" else f"export {name}={quoted(value)}"


def unsetting(name: str) -> str:
    """The command that removes a variable of the environment."""
    return f"reg delete HKCU\\Environment /F /V {name}" if sys.platform == "win32" else f"unset {name}"
