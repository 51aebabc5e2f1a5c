"""The vendor's simulator of one chip, as data for the chip's page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class VendorLibrary:
    """Facts needed to run commands on the vendor's library.

    ``file``: its name; ``needs``: libraries that it loads and that come in the same package. ``single_call``: commands
    go through one function that takes core, descriptor and engine; otherwise the library is asked for the function of
    a descriptor. ``ddr_start``: the device address of the first byte of its DDR, where addresses have a tag and base
    registers say where each tag lies. ``local_tag``: the tag of a core's own memories, which lie from ``local_start``
    on, ``local_step`` bytes per core; None: they need no tag. ``cores``: how many it simulates. ``kernel_module``: the
    library that the vendor's runtime insists on finding inside of the bmodel; empty: it does not.
    """

    file: str
    needs: tuple[str, ...] = ()
    single_call: bool = True
    ddr_start: int = 0
    local_tag: int | None = None
    local_start: int = 0
    local_step: int = 0
    cores: int = 1
    kernel_module: str = ""
