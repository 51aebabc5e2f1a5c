"""The program of these tests and what a recording of it holds."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tdb_dap.engine.recording import format as form
from tdb_dap.engine.recording.format import Event
from tdb_dap.engine.recording.payloads import Block, CommandStart, CopyIn, CopyOut, Hash, LaunchBegin, LaunchEnd, Mark
from tdb_dap.engine.recording.recording import Recording

START = 0x100000000
PAGE = 16368
"""Bytes of the first block: a host page of malloc's begins with 16 bytes of malloc's own."""


@dataclass
class Fake:
    """``run`` executes it as it is, ``record`` under the recorder; both with one argument for each thing to do."""

    built: Path
    folder: Path
    output: str = ""
    errors: str = ""

    @property
    def file(self) -> Path:
        return self.folder / "run.tdbrec"

    def command(self, *steps: str) -> list[str]:
        """The program's command line."""
        return [str(self.built / "program"), str(self.built / "vendor.so"), *steps]

    def environment(self) -> Mapping[str, str]:
        """Of all its processes."""
        return {**os.environ, "FAKE_VENDOR": str(self.built / "vendor.so")}

    def run(self, *steps: str) -> int:
        """Exit code without the recorder."""
        done = subprocess.run(self.command(*steps), env=self.environment(), capture_output=True, text=True)
        self.output, self.errors = done.stdout, done.stderr
        return done.returncode

    def recorder(self, *steps: str) -> list[str]:
        """The command line that records it."""
        return [sys.executable, "-m", "tdb_dap", "record", "-o", str(self.file), "--", *self.command(*steps)]

    def record(self, *steps: str, code: int = 0) -> Recorded:
        """What is recorded, if the exit code is ``code``."""
        done = subprocess.run(self.recorder(*steps), env=self.environment(), capture_output=True, text=True)
        self.output, self.errors = done.stdout, done.stderr
        assert done.returncode == code, done.stderr
        return self.read()

    def read(self) -> Recorded:
        """What the file holds."""
        return Recorded(Recording.read(self.file))


_PARSERS: dict[int, Any] = {
    Event.COMMAND: CommandStart.parse,
    Event.HASH: Hash.parse,
    Event.MARK: Mark.parse,
    Event.COPY_OUT: CopyOut.parse,
    Event.LAUNCH_BEGIN: LaunchBegin.parse,
    Event.LAUNCH_END: LaunchEnd.parse,
}


@dataclass
class Recorded:
    """A recording, its events parsed."""

    recording: Recording
    events: list[tuple[Event, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for index, row in enumerate(self.recording.events):
            kind, flags, payload = Event(row["type"]), int(row["flags"]) & 15, self.recording.payload(index)
            if kind is Event.BLOCK:
                self.events.append((kind, Block.parse(payload, flags)))
            elif kind is Event.COPY_IN:
                self.events.append((kind, CopyIn.parse(payload, flags)))
            else:
                self.events.append((kind, _PARSERS.get(kind, bytes)(payload)))

    def names(self, *left_out: Event) -> list[str]:
        """Types of the events in order; blocks of local and static memory and regions are not counted."""
        out = (Event.REGION, *left_out)
        return [
            kind.name
            for kind, value in self.events
            if kind not in out and not (kind is Event.BLOCK and value.space in "LS")
        ]

    def of(self, kind: Event) -> list[Any]:
        """The events of one type."""
        return [value for found, value in self.events if found is kind]

    def blocks(self, space: str = "G") -> list[Block]:
        """Blocks of one memory."""
        return [block for block in self.of(Event.BLOCK) if block.space == space]

    def verify(self) -> NDArray[np.uint8]:
        """Execute the recorded commands from the recorded bytes alone, compare with every hash; the DDR at the end."""
        memory, l2 = np.zeros(64 << 20, np.uint8), np.zeros(100 << 10, np.uint8)
        spaces = {"G": memory, "R": l2}
        period: list[tuple[Event, Any]] = []
        for kind, value in [*self.events, (Event.QUIET, None)]:
            if kind is Event.COPY_IN and value.data is not None:
                start = value.address - START
                memory[start : start + value.size] = np.frombuffer(value.data, np.uint8)
            elif kind is not Event.QUIET:
                period.append((kind, value))
                continue
            for found, block in period:
                if found is Event.BLOCK and block.space in spaces:
                    content = np.frombuffer(block.content, np.uint8)
                    spaces[block.space][block.offset : block.offset + content.size] = content
            for found, command in period:
                if found is Event.COMMAND:
                    _execute(memory, l2, command.descriptor)
            for found, value in period:
                if found is Event.HASH:
                    assert form.hash_of(spaces[value.space][value.offset : value.offset + value.size]) == value.value
            period = []
        return memory


def _execute(memory: NDArray[np.uint8], l2: NDArray[np.uint8], descriptor: bytes) -> None:
    kind, _ = np.frombuffer(descriptor, "<u4", 2).tolist()
    source, to, size = np.frombuffer(descriptor, "<u8", 3, 8).tolist()
    if kind == 2:
        memory[to : to + size] = source
    elif kind in (1, 3, 4, 10):
        memory[to : to + size] = memory[source : source + size].copy()
    elif kind == 7:
        l2[to : to + size] = memory[source : source + size]
    elif kind == 8:
        memory[to : to + size] = l2[source : source + size]
