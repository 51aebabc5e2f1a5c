"""Plans kept between processes: a file per program, chip and build, in the user's cache directory.

Plans say what the kernel reads and writes, so a file counts only with the mark that the user's own key gives it: one
that is damaged, or that somebody else has written, is ignored, as is one of another build. The key is in another
directory than the files, because caches are what machines share.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import sys
from collections.abc import Callable, Set
from contextlib import suppress
from functools import cache
from pathlib import Path

import msgspec
import numpy as np

from tdb_dap.engine.hardware.runs import distinct
from tdb_dap.engine.hardware.target import EncodedCommands
from tdb_dap.system.user_directories import cache_directory, state_directory
from tdb_dap.targets import kernel
from tdb_dap.targets.plans.forms import AddressSlot, Shape
from tdb_dap.targets.plans.known import Known
from tdb_dap.targets.plans.making import Made, Unpacks
from tdb_dap.targets.semantics import SEMANTICS
from tdb_dap.version import __version__

SWITCH = "TDB_DAP_PLAN_CACHE"
"""Environment variable: ``0`` keeps no plans."""
_MARK_BYTES = 32
_MOST_BYTES = 1 << 28
"""Of all files; the ones that were not used for the longest time go first."""
_LARGEST = 1 << 26
"""Bytes of one file."""
_OURS = "tdb_dap.targets.semantics."


class _Form(msgspec.Struct, array_like=True):
    shape: int
    key: bytes
    family: str
    sub: int
    slots: list[tuple[int, int, int]]
    block: bytes
    """Empty: there is no plan."""
    unpacks: Unpacks | None


class _Shape(msgspec.Struct, array_like=True):
    kind: int
    slots: list[AddressSlot]
    mask: bytes
    registers: tuple[int, ...]


class _File(msgspec.Struct, array_like=True):
    shapes: list[_Shape]
    forms: list[_Form]
    hopeless: list[int]
    """Kinds of command that have no plans."""


class KeptPlans:
    """The plans of one program on a chip. ``chip``: everything that tells it from others, as text."""

    def __init__(self, chip: str, commands: EncodedCommands, size_of: Callable[[int], int]) -> None:
        digest = hashlib.blake2b(digest_size=16)
        for part in (_build(), chip.encode(), commands.kinds.tobytes()):
            digest.update(part)
        for kind in distinct(commands.kinds):
            if kind >= 0:
                starts = commands.offsets[commands.kinds == kind]
                digest.update(commands.payload[starts[:, None] + np.arange(size_of(kind))].tobytes())
        self._name = digest.digest()
        self._path = cache_directory() / "plans" / f"{digest.hexdigest()}.plans"
        self.count = 0
        """Forms in the file."""

    def load(self, known: Known) -> None:
        """Add the forms of the file, if there is one that counts."""
        key = _key(to_make=False)
        if key is None:
            return
        with suppress(OSError, ValueError, msgspec.MsgspecError):
            if self._path.stat().st_size > _LARGEST + _MARK_BYTES:
                return
            data = self._path.read_bytes()
            if not hmac.compare_digest(data[:_MARK_BYTES], self._mark(key, data[_MARK_BYTES:])):
                return
            kept = msgspec.msgpack.decode(memoryview(data)[_MARK_BYTES:], type=_File)
            shapes = [_numbers(known, shape) for shape in kept.shapes]
            for form in kept.forms:
                if form.key in shapes[form.shape]:
                    continue
                if (made := _made(form)) is not None or not form.block:
                    known.add(shapes[form.shape], form.key, made)
            known.hopeless.update(kept.hopeless)
            self.count = len(kept.forms)
            os.utime(self._path)

    def save(self, known: Known, chosen: Set[int]) -> None:
        """Keep these forms, if the file has less; what cannot be written is not kept."""
        if len(chosen) <= self.count:
            return
        kept = _File([], [], sorted(known.hopeless))
        for kind, shapes in list(known.shapes.items()):
            for shape, own in list(shapes):
                forms = [(key, number) for key, number in list(own.items()) if number in chosen]
                if forms:
                    mask = shape.mask.to_bytes(shape.size, "little")
                    kept.shapes.append(_Shape(kind, list(shape.slots), mask, shape.registers))
                    kept.forms += [_kept(len(kept.shapes) - 1, key, known.plans[number]) for key, number in forms]
        self.count = len(chosen)  # whatever happens: it is not tried again
        data, key = msgspec.msgpack.encode(kept), _key(to_make=True)
        if key is None or len(data) > _LARGEST:
            return
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            # Under another name first, which nobody else has; a link in the file's place is replaced, not followed.
            unfinished = self._path.with_suffix(f".{os.urandom(8).hex()}.plans")
            with unfinished.open("xb") as file:
                file.write(self._mark(key, data) + data)
            unfinished.replace(self._path)
            _make_room(self._path.parent)

    def _mark(self, key: bytes, data: bytes) -> bytes:
        return hashlib.blake2b(self._name + data, key=key, digest_size=_MARK_BYTES).digest()


def are_wanted() -> bool:
    """Whether plans are kept: not where a plugin computes some commands."""
    return os.environ.get(SWITCH, "1") != "0" and all(f.__module__.startswith(_OURS) for f in SEMANTICS.values())


def _kept(shape: int, key: bytes, made: Made | None) -> _Form:
    if made is None:
        return _Form(shape, key, "", 0, [], b"", None)
    return _Form(shape, key, *made.sub, list(made.slots), made.block, made.unpacks)


def _made(form: _Form) -> Made | None:
    sub = form.family, form.sub
    function = SEMANTICS.get(sub)
    if not form.block or function is None:
        return None
    return Made(kernel.plan(form.block), tuple(form.slots), sub, function, form.block, form.unpacks)


def _numbers(known: Known, shape: _Shape) -> dict[bytes, int]:
    return known.numbers_of(
        shape.kind, Shape(tuple(shape.slots), int.from_bytes(shape.mask, "little"), len(shape.mask), shape.registers)
    )


@cache
def _build() -> bytes:
    """The version of this package, and the state of the sources that plans depend on."""
    digest = hashlib.blake2b(f"{__version__} {kernel.checksum()} {np.__version__}".encode(), digest_size=16)
    digest.update(f"{sys.version}\n".encode())
    with suppress(OSError):  # where Python is a library, as in a browser, there is no such file
        program = os.stat(sys.executable)
        digest.update(f"{program.st_size} {program.st_mtime_ns}\n".encode())
    package = Path(__file__).parents[2]
    folders = [package / "targets", package / "engine" / "hardware"]
    for folder in folders:
        with suppress(OSError), os.scandir(folder) as entries:  # a frozen program has no folders
            for entry in sorted(entries, key=lambda each: each.name):
                if entry.name.endswith((".py", ".json")):
                    state = entry.stat()
                    digest.update(f"{entry.path} {state.st_size} {state.st_mtime_ns}\n".encode())
                elif entry.is_dir() and entry.name != "__pycache__":
                    folders.append(Path(entry.path))
    return digest.digest()


def _key(to_make: bool) -> bytes | None:
    """The user's key; None where there is none, or others may read or change it."""
    path = state_directory() / "plans.key"
    try:
        if to_make and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with suppress(FileExistsError):  # another process was first
                descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                with os.fdopen(descriptor, "wb") as file:
                    file.write(os.urandom(_MARK_BYTES))
        state = path.stat()
        if os.name == "posix" and (state.st_uid != os.getuid() or state.st_mode & 0o077):
            return None
        key = path.read_bytes()
    except OSError:
        return None
    return key if len(key) == _MARK_BYTES else None


def _make_room(folder: Path) -> None:
    """Remove the files that were not used for the longest time, as far as all together are too large."""
    files = [(path.stat(), path) for path in folder.glob("*.plans")]
    total = sum(state.st_size for state, _ in files)
    for state, path in sorted(files, key=lambda file: file[0].st_mtime):
        if total <= _MOST_BYTES:
            return
        path.unlink(missing_ok=True)
        total -= state.st_size
