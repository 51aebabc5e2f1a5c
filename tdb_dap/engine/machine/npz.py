"""NumPy's files. What they say of themselves is checked before memory is taken; nothing in them is executed."""

from __future__ import annotations

import io
import math
import os
import threading
import tokenize
import weakref
import zipfile
import zlib
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from tdb_dap.engine.files import limits
from tdb_dap.engine.files.atomic_files import whole_file
from tdb_dap.engine.files.bounded_files import read_file, size_of
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.machine.npz_members import Member, read_header, refuse_less, refuse_unfit
from tdb_dap.engine.rendering.printable import visible
from tdb_dap.errors import BadInput

_SUFFIX = ".npy"
_CHUNK = 1 << 20

_TROUBLE = (
    *(OSError, ValueError, EOFError, KeyError, RecursionError, MemoryError, OverflowError, TypeError),
    *(NotImplementedError, RuntimeError, SyntaxError, tokenize.TokenError, zipfile.BadZipFile, zlib.error),
)
"""What the readers raise for files that are damaged, encrypted, or packed in a way that they do not know."""


def read_npz(path: Path) -> dict[str, Array]:
    """All arrays of an npz file (read at once); BadInput names the file and what is wrong with it."""
    try:
        with zipfile.ZipFile(path) as archive:
            return {name: _member(archive, member) for name, member in _members(archive, path).items()}
    except _TROUBLE as error:
        raise _unusable(path, "an npz file", error) from None


def shapes_in(path: Path) -> dict[str, tuple[int, ...]]:
    """Shapes of the arrays of an npz file by name, of which only the headers are read; BadInput as for ``read_npz``."""
    shapes: dict[str, tuple[int, ...]] = {}
    try:
        with zipfile.ZipFile(path) as archive:
            for name, member in _members(archive, path).items():
                with archive.open(member) as file:
                    shapes[name] = _header(file, member.file_size)[0]
    except _TROUBLE as error:
        raise _unusable(path, "an npz file", error) from None
    return shapes


def open_npz(path: Path, defers: bool = False, at_once: int | None = None) -> Mapping[str, Array]:
    """The arrays of an npz file, each read when it is asked for where they are large; BadInput as for ``read_npz``.

    Such a file is read once from its start to its end, so that what is damaged is known now; ``defers``: an array when
    it is first asked for, and the rest by ``LargeNpz.verify``; ``at_once``: bytes up to which a file is held in memory
    (default ``AT_ONCE``).
    """
    try:
        with zipfile.ZipFile(path) as archive:
            total = sum(member.file_size for member in _members(archive, path).values())
    except _TROUBLE as error:
        raise _unusable(path, "an npz file", error) from None
    return read_npz(path) if total <= (AT_ONCE if at_once is None else at_once) else LargeNpz(path, defers)


AT_ONCE = 64 << 20
"""Bytes of arrays up to which a file is held in memory."""

_SMALL = 1 << 20
"""Bytes up to which an array is read whole, though only a part of it is asked for."""

_KEPT = 8 << 20
"""Bytes of arrays of a large file that are kept: the results of an op are soon asked for again, as operands.

More of them save little: what was read lately the system gives again without a look at the disk.
"""


class LargeNpz(Mapping[str, Array]):
    """Arrays of an npz file that is too large to be held in memory, by name; they must not be written to.

    BadInput for any access after the file has been changed: other numbers must not pass for those that it held.
    ``dtypes``: formats of the arrays.
    """

    def __init__(self, path: Path, defers: bool = False) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._defers = defers
        self._kept: OrderedDict[str, Array] = OrderedDict()
        self._open()
        self._state = _state_of(path)
        self._members: dict[str, Member | zipfile.ZipInfo] = {}
        self._verifies_reads = True
        self._waiting: dict[str, zipfile.ZipInfo] = {}
        """Arrays that are still to be verified, in the order of the file."""
        self.dtypes: dict[str, np.dtype[Any]] = {}
        try:
            self._look_through()
        except BadInput:
            self.verify()  # the first thing that is damaged is what counts
            raise

    def verify(self) -> None:
        """Read once what was not read yet, if that was deferred; BadInput if it is damaged."""
        self._defers = False
        with self._lock, self._trouble():  # it has not been changed
            for name in list(self._waiting):
                self._verify(name)

    def read_unverified(self) -> None:
        """Verify arrays no more when they are first asked for: ``verify`` is called, here or in another process."""
        self._verifies_reads = False

    def _verify(self, name: str) -> None:
        info, member = self._waiting.get(name), self._members[name]
        if info is not None and isinstance(member, Member):
            with _naming(info):
                member.verify(self._file, info)
            del self._waiting[name]

    def _look_through(self) -> None:
        try:
            with zipfile.ZipFile(self._path) as archive:
                for name, info in _members(archive, self._path).items():
                    self._members[name], self.dtypes[name] = self._checked(archive, info)
                    if self._defers and info.compress_type == zipfile.ZIP_STORED:
                        self._waiting[name] = info
        except _TROUBLE as error:
            raise _unusable(self._path, "an npz file", error) from None

    def _checked(
        self, archive: zipfile.ZipFile, info: zipfile.ZipInfo
    ) -> tuple[Member | zipfile.ZipInfo, np.dtype[Any]]:
        try:
            with _naming(info):
                member = Member.checked(self._file, info, self._defers)
        except NotImplementedError:  # packed in another way: read by the library, as a whole
            return info, _checked(archive, info)
        return member, member.dtype

    def _open(self) -> None:
        self._file = self._path.open("rb")
        weakref.finalize(self, self._file.close)
        self._process = os.getpid()

    def __getitem__(self, name: str) -> Array:
        member = self._members[name]
        with self._lock:
            values = self._kept.pop(name, None)
            if values is None:
                values = self._read(name, member)
            self._kept[name] = values
            held = sum(array.nbytes for array in self._kept.values())
            while held > _KEPT and len(self._kept) > 1:
                held -= self._kept.popitem(last=False)[1].nbytes
        return values

    def __contains__(self, name: object) -> bool:
        return name in self._members

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of an array."""
        member = self._members[name]
        return member.shape if isinstance(member, Member) else self[name].shape

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(m.nbytes if isinstance(m, Member) else m.file_size for m in self._members.values())

    def part(self, name: str, shape: tuple[int, ...], index: tuple[slice, ...]) -> Array:
        """Of an array, seen in another shape, the part within ``index``, for which little more is read.

        ValueError if the array has another number of elements.
        """
        member = self._members[name]
        if name in self._kept or not isinstance(member, Member) or member.by_column or member.nbytes <= _SMALL:
            return self[name].reshape(shape)[index]
        if math.prod(shape) != math.prod(member.shape) or len(index) != len(shape):
            raise ValueError(f"{name} has another shape")
        with self._lock, self._trouble():
            if self._verifies_reads:
                self._verify(name)
            array = member.part(self._file, shape, index)
        array.flags.writeable = False
        return array

    def _read(self, name: str, member: Member | zipfile.ZipInfo) -> Array:
        with self._trouble():
            if self._verifies_reads:
                self._verify(name)
            if isinstance(member, Member):
                array = member.whole(self._file)
            else:
                with zipfile.ZipFile(self._path) as archive:
                    array = _member(archive, member)
        array.flags.writeable = False
        return array

    @contextmanager
    def _trouble(self) -> Iterator[None]:
        """Reading from the file that was opened, and no other."""
        try:
            if self._process != os.getpid():  # copies of a process share the place where they read
                self._open()
            if _state_of(self._path) != self._state:
                raise BadInput(f"{self._path}: has been changed while it was in use; begin again")
            yield
        except _TROUBLE as error:
            raise _unusable(self._path, "an npz file", error) from None


@contextmanager
def _naming(info: zipfile.ZipInfo) -> Iterator[None]:
    """Errors name the array."""
    try:
        yield
    except NotImplementedError:
        raise
    except _TROUBLE as error:
        raise ValueError(f"{info.filename[:80]!r}: {error or type(error).__name__}") from None


def _state_of(path: Path) -> tuple[int, int, int]:
    """Numbers that change with the contents of a file."""
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


def _members(archive: zipfile.ZipFile, path: Path) -> dict[str, zipfile.ZipInfo]:
    """The arrays by name; BadInput if they are too many or too large."""
    most = limits.unpacked(size_of(path))
    members = archive.infolist()
    total = sum(member.file_size for member in members)
    if total > most:
        raise BadInput(
            f"{path}: unpacks to {total:,} bytes, more than {limits.readable(most)}, the limit for a file of "
            "its size; save it without compression (numpy.savez)"
        )
    if len(members) > limits.ARRAYS:
        raise BadInput(f"{path}: holds {len(members):,} arrays, more than the limit of {limits.ARRAYS:,}")
    return {member.filename.removesuffix(_SUFFIX): member for member in members}


def read_npy(path: Path) -> Array:
    """The array of an npy file; BadInput names the file and what is wrong with it."""
    data = read_file(path, limits.UNPACKED)
    try:
        return _array(io.BytesIO(data), len(data))
    except _TROUBLE as error:
        raise _unusable(path, "an npy file", error) from None


def write_npz(path: Path, arrays: Mapping[str, Array], packed: bool = False) -> None:
    """Arrays by any name (``numpy.savez`` takes ``file`` for its own); BadInput if it cannot be written."""
    kind = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
    with whole_file(path) as file, zipfile.ZipFile(file, "w", kind) as archive:
        for name, array in arrays.items():
            with archive.open(f"{visible(name)}{_SUFFIX}", "w", force_zip64=True) as member:
                npy.write_array(member, np.asarray(array), allow_pickle=False)


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Array:
    with archive.open(member) as file:
        try:
            return _array(file, member.file_size)
        except _TROUBLE as error:
            raise ValueError(f"{member.filename[:80]!r}: {error or type(error).__name__}") from None


def _checked(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.dtype[Any]:
    """Format of an array that is read to its end and not kept."""
    with archive.open(member) as file:
        try:
            shape, _, dtype = _header(file, member.file_size)
            wanted = math.prod(shape) * dtype.itemsize
            taken = 0
            while part := file.read(_CHUNK):
                taken += len(part)
            refuse_less(wanted, taken)
        except _TROUBLE as error:
            raise ValueError(f"{member.filename[:80]!r}: {error or type(error).__name__}") from None
    return dtype


def _header(file: IO[bytes], size: int) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether it is by column, and format; ValueError if more is announced than ``size``, or objects."""
    shape, by_column, dtype = read_header(file)
    refuse_unfit(shape, dtype, size)
    return shape, by_column, dtype


def _array(file: IO[bytes], size: int) -> Array:
    """An array of a file of ``size`` bytes; ValueError if its header announces more than that, or objects."""
    shape, by_column, dtype = _header(file, size)
    wanted = math.prod(shape) * dtype.itemsize
    array: Array = np.empty(shape, dtype, order="F" if by_column else "C")
    target: Array = array.reshape(-1, order="A").view(np.uint8) if wanted else np.empty(0, np.uint8)
    taken = 0
    while taken < wanted and (part := file.read(min(_CHUNK, wanted - taken))):
        target[taken : taken + len(part)] = np.frombuffer(part, np.uint8)
        taken += len(part)
    refuse_less(wanted, taken)
    return array


def _unusable(path: Path, kind: str, error: Exception) -> BadInput:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else error
    text = str(reason).split("\n")[0][:200] or type(error).__name__
    return BadInput(f"{path}: cannot be read as {kind}: {text}")
