"""Archives without traces of where and when they were packed: order, times, owners and modes are always the same."""

from __future__ import annotations

import gzip
import io
import tarfile
import time
import zipfile
from pathlib import Path

FIRST_YEAR_OF_ZIP = 315532800
"""1980-01-01 in seconds since 1970: zip has no earlier times."""


def normalise(path: Path, epoch: int) -> None:
    """Rewrite a .tar.gz, .whl or .vsix in place; every member is from ``epoch`` (seconds since 1970)."""
    if path.name.endswith(".tar.gz"):
        _normalise_tar(path, epoch)
    else:
        _normalise_zip(path, epoch)


def contents(path: Path) -> dict[str, bytes]:
    """Every file in an archive, by name."""
    if path.name.endswith(".tar.gz"):
        with tarfile.open(path) as tar:
            files = [(member.name, tar.extractfile(member)) for member in tar if member.isfile()]
            return {name: file.read() for name, file in files if file is not None}
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}


def _mode(is_executable: bool) -> int:
    return 0o755 if is_executable else 0o644


def _normalise_tar(path: Path, epoch: int) -> None:
    packed = io.BytesIO()
    with tarfile.open(path) as old, tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as new:
        for member in sorted(old.getmembers(), key=lambda member: member.name):
            clean = tarfile.TarInfo(member.name)
            clean.type, clean.size, clean.linkname = member.type, member.size, member.linkname
            clean.mtime, clean.mode = epoch, _mode(member.isdir() or bool(member.mode & 0o100))
            new.addfile(clean, old.extractfile(member) if member.isfile() else None)
    path.write_bytes(gzip.compress(packed.getvalue(), compresslevel=9, mtime=epoch))


def _normalise_zip(path: Path, epoch: int) -> None:
    packed = io.BytesIO()
    moment = time.gmtime(max(epoch, FIRST_YEAR_OF_ZIP))[:6]
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as new:
        files = [info for info in old.infolist() if not info.is_dir()]
        for info in sorted(files, key=lambda info: _place(info.filename)):
            clean = zipfile.ZipInfo(info.filename, moment)
            clean.create_system = 3  # Unix: only then modes have a meaning
            clean.external_attr = (0o100000 | _mode(bool(info.external_attr >> 16 & 0o100))) << 16
            clean.compress_type = zipfile.ZIP_DEFLATED
            new.writestr(clean, old.read(info))
    path.write_bytes(packed.getvalue())


def _place(name: str) -> tuple[bool, bool, str]:
    """By name; a wheel has its metadata at the end, the list of its files last."""
    return ".dist-info/" in name, name.endswith(".dist-info/RECORD"), name
