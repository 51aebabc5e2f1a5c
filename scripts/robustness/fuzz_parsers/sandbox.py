"""Nothing that is fuzzed may write or start anything outside of its scratch directory."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

_STARTS = {
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.spawn",
    "os.fork",
    "os.forkpty",
    "pty.spawn",
}
_REACHES = {"socket.connect", "socket.bind", "socket.sendto"}
_CHANGES = {"os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate", "os.chmod"}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


class Escaped(BaseException):
    """What is fuzzed has tried to start a process. No handler of ours may take it for an ordinary error."""


def confine(folder: Path) -> None:
    """From now on this process lives in ``folder``: writing elsewhere and connecting fail as on a full disk."""
    sys.dont_write_bytecode = True
    folder = folder.resolve()
    os.chdir(folder)

    def is_ours(path: object) -> bool:
        if isinstance(path, int):
            return True
        place = Path(os.path.realpath(os.fsdecode(path)))  # type: ignore[arg-type]
        return place.is_relative_to(folder) or str(place) == os.devnull

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _STARTS:
            raise Escaped(f"{event} {arguments!r:.200}")
        if event in _REACHES:
            raise PermissionError(13, "not while fuzzing")
        if event == "open":
            path, mode, flags = arguments
            writes = any(letter in mode for letter in "wax+") if isinstance(mode, str) else bool(flags & _WRITING)
            if writes and not is_ours(path):
                raise PermissionError(13, "not while fuzzing")
        if event in _CHANGES and not is_ours(arguments[0]):
            raise PermissionError(13, "not while fuzzing")

    sys.addaudithook(hook)
