"""The vendor's simulator of one chip, as data for the chip's page."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct


class SingleChip(Struct, frozen=True):
    """A library that is made for one chip at a time, and executes one descriptor at once.

    ``version``: its number of the chip; ``shared_memory``: device address of a memory that no command uses; ``ddr``:
    that of the first byte of DDR; ``functions``: the symbol that executes a descriptor, by engine.
    """

    version: int
    shared_memory: int
    ddr: int
    functions: Mapping[str, str]


class VendorLibrary(Struct, frozen=True):
    """Facts needed to run commands on the vendor's library."""

    file: str
    """Its name."""
    needs: tuple[str, ...] = ()
    """Libraries that it loads and that come in the same package."""
    single_call: bool = True
    """Commands go through one function that takes core, descriptor and engine; otherwise the library is asked for the
    function of a descriptor.
    """
    ddr_start: int = 0
    """The device address of the first byte of its DDR, where addresses have a tag and base registers say where each tag
    is.
    """
    local_tag: int | None = None
    """The tag of a core's own memories, which begin at ``local_start``, ``local_step`` bytes per core; None: they
    need no tag.
    """
    local_start: int = 0
    local_step: int = 0
    cores: int = 1
    """How many it simulates."""
    runtime: tuple[str, ...] = ("libbmlib.so.0", "libbmrt.so.1.0")
    """Libraries of the runtime that runs whole nets on it, in the order in which they are loaded."""
    runtime_needs: tuple[str, ...] = ("libcpuop.so",)
    """What these load: layers on the host, other parts of the runtime."""
    runtime_interface: str = "bmrt"
    """The functions that they have: ``bmrt`` or ``tpuv7``."""
    single_chip: SingleChip | None = None
    """How such a library is told which chip it is; None for one that has functions of a node."""
    kernel_module: str = ""
    """The library that the vendor's runtime insists on finding inside of the bmodel; empty: it does not."""
