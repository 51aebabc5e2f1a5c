"""Recording one run of a program into a ``.tdbrec`` file."""

from __future__ import annotations

import os
import platform
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import IO

import numpy as np
from msgspec import Struct

from tdb_dap.backends.recorder.keeper import Keeper
from tdb_dap.backends.recorder.models import Models
from tdb_dap.engine.files.atomic_files import cannot_write, refuse_unwritable
from tdb_dap.engine.recording import format as form
from tdb_dap.engine.recording.payloads import Model
from tdb_dap.engine.recording.writer import Writer
from tdb_dap.errors import BadInput
from tdb_dap.system.child_processes import outside_environment
from tdb_dap.version import __version__

LIBRARY = Path(__file__).parent / "library" / "librecorder.so"
"""The library that is loaded into the program; made when the package is installed."""


class Outcome(Struct, frozen=True):
    """``code``: exit code of the program, 128 + n for a signal; ``size``: bytes of the file, 0 if there is none.

    ``others``: processes that used the runtime and are not recorded.
    """

    code: int
    size: int
    commands: int
    others: int


def is_possible() -> bool:
    """Whether this is a system that the vendor's emulators are for."""
    return sys.platform.startswith("linux") and platform.machine() == "x86_64"


def library() -> Path:
    """The recorder's library; BadInput says what is missing and what to do."""
    if not is_possible():
        raise BadInput(
            f"recording works on Linux x86-64, where the vendor's emulators run, and this is {platform.system()} "
            f"{platform.machine()}; record there, the file can be used here"
        )
    if not LIBRARY.exists():
        raise BadInput(
            f"the recorder was not built: {LIBRARY.name} is missing; install a C compiler, such as gcc, and then "
            "tdb-dap again from its sources: pip install --force-reinstall DIRECTORY"
        )
    return LIBRARY


def record(
    command: Sequence[str],
    path: Path,
    environment: Mapping[str, str] | None = None,
    output: IO[bytes] | None = None,
    patience: float | None = None,
) -> Outcome:
    """Run ``command`` to its end and write what it executes to ``path``.

    ``environment``: of the program; default: that of this one. ``output``: takes what it prints, if not the terminal;
    ``patience``: see ``Keeper.run``.

    BadInput if it cannot be started, or the file cannot be written to the end; what is in it then can be read.
    If nothing was recorded there is no file, and what was at ``path`` is as it was.
    """
    refuse_unwritable(path)
    code_library = library()
    try:
        writer = Writer(path, _head(command))
    except OSError as error:
        raise cannot_write(path, error) from None
    sink = _Sink(writer)
    keeper = Keeper(code_library, sink.take)
    with writer:
        code = keeper.run(command, outside_environment() if environment is None else environment, output, patience)
        try:
            if keeper.error is None and sink.counts:
                writer.done({"exit": code, "events": sink.named_counts(), "others": keeper.others})
        except OSError as error:
            keeper.error = error
    if keeper.error is not None:
        reason = keeper.error.strerror or keeper.error
        kept = "what was recorded before can be read" if writer.has_content else "nothing of it was kept"
        raise BadInput(f"{path}: could not be written to the end: {reason}; {kept}")
    return Outcome(code, writer.size if sink.counts else 0, sink.counts[form.Event.COMMAND], keeper.others)


class _Sink:
    """Writes events, counts them, and attaches the models as they are loaded."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._models = Models()
        self.counts: Counter[int] = Counter()

    def take(self, part: bytes | bytearray) -> None:
        """Whole events. OSError where the file cannot be written."""
        starts = form.starts_of(part)
        kinds = np.frombuffer(part, np.uint8)[starts]
        self.counts.update(dict(enumerate(np.bincount(kinds).tolist())))
        self._writer.events(part)
        self._writer.flush()
        for start in starts[kinds == form.Event.MODEL].tolist():
            size = form.EVENT_HEADER.unpack_from(part, start)[3]
            first = start + form.EVENT_HEADER.size
            model = Model.parse(bytes(part[first : first + size]))
            for name, content in self._models.attachments(model.number, model.path):
                self._writer.attach(name, content)

    def named_counts(self) -> dict[str, int]:
        """Events by the name of their type."""
        names = {kind.value: kind.name for kind in form.Event}
        return {names.get(kind, str(kind)): count for kind, count in sorted(self.counts.items()) if count}


def _head(command: Sequence[str]) -> dict[str, object]:
    return {
        "arguments": list(command),
        "directory": os.getcwd(),
        "time": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "tdb_dap": __version__,
        "system": platform.platform(),
        "mode": form.COMMANDS,
    }
