"""Backends: the C kernel, the recorder, the vendor's simulators, and what plugins add."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from tdb_dap.errors import BadInput
from tdb_dap.system.plugins import GROUPS
from tdb_dap.system.plugins import plugins as plugins_of
from tdb_dap.system.shells import unsetting
from tdb_dap.tools.doctor.findings import Check
from tdb_dap.tools.doctor.installation import NAME, Installation

_ELF = b"\x7fELF"


def kernel(installation: Installation) -> Iterator[Check]:
    """The part that computes sums of products: C or NumPy."""
    from tdb_dap.targets import kernel

    if kernel.is_active():
        yield _width(kernel.describe(), max(kernel.widths()), installation)
    elif kernel.is_built:
        yield Check("kernel", "note", kernel.describe(), unsetting(kernel.SWITCH))
    elif kernel.is_outdated:
        yield Check("kernel", "note", kernel.describe(), installation.again)
    elif files := [path.name for path in sorted(Path(kernel.__file__).parent.iterdir()) if _is_kernel(path)]:
        text = f"NumPy (the C kernel {files[0]} cannot be loaded on this machine; results are equal)"
        yield Check("kernel", "note", text, installation.from_sources)
    else:
        yield Check("kernel", "note", kernel.describe(), installation.from_sources)


_WIDTHS = ((16, ("AVX512_CLX", "AVX512_ICL", "AVX512_SPR")), (8, ("AVX2",)))
"""Numbers at a time, and the features by NumPy's names of which one is enough for the kernel to compute so many."""


def _width(described: str, used: int, installation: Installation) -> Check:
    """Whether the kernel uses what the processor has, as NumPy sees it."""
    features = _features()
    offered, name = next(
        ((lanes, name) for lanes, names in _WIDTHS for name in names if features.get(name)), (4, "no AVX2")
    )
    if used < offered:
        text = f"{described}; with {name} of this processor it would compute {offered} at a time"
        return Check("kernel", "note", text, installation.from_sources)
    return Check("kernel", "ok", f"{described} (processor: {name})" if features else described)


def _features() -> Mapping[str, bool]:
    """Features of the processor by NumPy's names; empty where NumPy does not say."""
    for module in ("numpy._core._multiarray_umath", "numpy.core._multiarray_umath"):
        with suppress(ImportError, AttributeError):
            known: dict[str, bool] = import_module(module).__cpu_features__
            return known if platform.machine().lower() in ("x86_64", "amd64", "i686") else {}
    return {}


def _is_kernel(path: Path) -> bool:
    return path.name.startswith("_kernel") and path.suffix in (".so", ".pyd")


def recorder(installation: Installation) -> Iterator[Check]:
    """The library that records what programs execute on the vendor's emulator."""
    from tdb_dap.backends.recorder.record import LIBRARY, is_possible

    if not is_possible():
        yield Check("recorder", "ok", "recording needs Linux on x86-64; recordings can be read here")
    elif problem := "is missing" if not LIBRARY.exists() else _damage(LIBRARY):
        yield Check("recorder", "note", f"{LIBRARY.name} {problem}: tdb-dap record does not work", installation.again)
    else:
        yield Check("recorder", "ok", LIBRARY.name)


def simulators() -> Iterator[Check]:
    """The vendor's library of each chip that was found, then the chips without one."""
    from tdb_dap.backends.discovery import find, require_platform, supported

    try:
        require_platform()
    except BadInput:
        yield Check("vendor", "ok", "the vendor's simulators need Linux on x86-64; the built-in one does not")
        return
    missing = []
    for chip in supported():
        assert chip.vendor_library is not None
        file, library = chip.vendor_library.file, find(chip.vendor_library.file)
        name = f"vendor:{chip.name}"
        if library is None:
            missing.append(chip.name)
        elif problem := _damage(library[0]):
            yield Check(name, "error", f"{file} ({library[1]}) {problem}", "tdb-dap backends fetch")
        else:
            yield Check(name, "ok", f"{file} ({library[1]})")
    if missing:
        text = f"the vendor's simulator is missing for {', '.join(missing)}; the built-in one does not need it"
        yield Check("vendor", "note", text, "tdb-dap backends fetch")


def _damage(library: Path) -> str:
    """The damage that a library shows without being loaded; empty if there is none."""
    try:
        with library.open("rb") as file:
            return "" if file.read(len(_ELF)) == _ELF else "is no library for Linux"
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"


def plugins(installation: Installation) -> Iterator[Check]:
    """Each plugin of another package, and its problems; those of this package have separate checks."""
    installed = [plugin for group in GROUPS for plugin in plugins_of(group) if plugin.package != NAME]
    for plugin in installed:
        name, about = f"plugin:{plugin.name}", f"{GROUPS[plugin.group]}, of {plugin.package} {plugin.version}"
        if plugin.problem:
            yield Check(name, "error", f"{about} {plugin.problem}", installation.without(plugin.package))
        else:
            yield Check(name, "ok", about)
    if not installed:
        yield Check("plugins", "ok", "none")
