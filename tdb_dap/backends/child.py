"""The process that holds the vendor's library. It may abort, print, and set the floating-point mode: nobody else sees.

Started as ``python -m tdb_dap.backends.child FD``; FD is its end of the connection. The functions of the
library were found in the vendor's debugger; the memories are the library's own, compared with a block that is shared
with the debugger.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import struct
import sys
import threading
import time
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tdb_dap.backends.messages import (
    ENGINE_NUMBERS,
    LINE,
    Area,
    Changed,
    Done,
    Emulator,
    Execute,
    Refresh,
    Refused,
    Setup,
    Take,
    asked,
    send,
)

Bytes = NDArray[np.uint8]

_BLOCK = 1 << 18
"""Bytes compared at once: small enough to stay in the cache, large enough to make the calls cheap."""


class _LocalMemory(ctypes.Structure):
    """The head of what get_local_mem returns."""

    _fields_ = (("start", ctypes.c_void_p),)


def _load(path: str) -> ctypes.CDLL:
    """A library whose functions are looked up when they are called; OSError with what the loader says.

    Some of the vendor's libraries lack functions that no command calls. Python itself loads only what is complete.
    """
    loader = ctypes.CDLL(None)
    loader.dlopen.argtypes, loader.dlopen.restype = [ctypes.c_char_p, ctypes.c_int], ctypes.c_void_p
    loader.dlerror.restype = ctypes.c_char_p
    handle = loader.dlopen(os.fsencode(path), os.RTLD_LAZY)
    if not handle:
        raise OSError(loader.dlerror().decode("utf-8", "replace"))
    return ctypes.CDLL(path, handle=handle)


class Library:
    """The vendor's library, initialised. OSError or AttributeError if it is not what it should be."""

    def __init__(self, setup: Setup) -> None:
        self._lib = lib = _load(setup.library)
        self._single_call = setup.single_call
        self._cores = setup.cores
        lib.cmodel_init.argtypes = [ctypes.c_int32, ctypes.c_int64]
        lib.get_local_mem.argtypes = [ctypes.c_int32]
        lib.get_local_mem.restype = ctypes.POINTER(_LocalMemory)
        for core in range(setup.cores):
            lib.cmodel_init(core, setup.ddr_size)
        for core, bases in enumerate(setup.bases):
            self._set_bases(core, bases)

    def _set_bases(self, core: int, bases: dict[int, int]) -> None:
        """Set the positions of the tags of addresses; the engine number is that of the DMA."""
        lib = self._lib
        count = len(bases)
        lib.atomic_set_base_ddr.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32, ctypes.c_uint32]
        self._select(core)
        tags, values = (ctypes.c_int32 * count)(*bases), (ctypes.c_uint64 * count)(*bases.values())
        lib.atomic_set_base_ddr(tags, values, count, ENGINE_NUMBERS["dma"])

    def _select(self, core: int) -> None:
        if self._cores > 1:
            self._lib.set_cur_nodechip_idx(ctypes.c_int32(core))

    def execute(self, core: int, engine: str, descriptor: bytes) -> None:
        """Carry out one command."""
        number = ENGINE_NUMBERS[engine]
        data = ctypes.create_string_buffer(descriptor, len(descriptor) + 64)
        if self._single_call:
            self._select(core)
            self._lib.execute_command(ctypes.c_int32(core), ctypes.cast(data, ctypes.c_void_p), ctypes.c_uint32(number))
            return
        find = self._lib.get_atomic_function
        find.restype = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32, ctypes.c_void_p)
        find(ctypes.cast(data, ctypes.c_void_p), ctypes.c_uint32(number))(core, ctypes.addressof(data))

    def memory(self, area: Area) -> Bytes:
        """The library's own bytes of an area."""
        if area.kind == "local":
            address = self._lib.get_local_mem(area.core).contents.start
        else:
            name = {"ddr": "get_global_memaddr", "l2": "get_l2_sram", "static": "get_static_memaddr_by_node"}[area.kind]
            function = getattr(self._lib, name)
            function.argtypes, function.restype = [ctypes.c_int32], ctypes.c_void_p
            address = function(area.core)
        return np.ctypeslib.as_array((ctypes.c_uint8 * area.size).from_address(address + area.start))


class SingleChipLibrary:
    """A library that makes one chip and executes one descriptor at once, without numbers and waits."""

    _LOCAL_MEMORY = 0x58
    """Offset of the pointer to local memory, all lanes in order, in the structure of a chip."""

    def __init__(self, setup: Setup, emulator: Emulator) -> None:
        self._lib = lib = _load(setup.library)
        self._chip = ctypes.c_void_p()
        lib.bm_cmodel_init(ctypes.byref(self._chip), _description(emulator, setup.ddr_size))
        lib.bm_cmodel_get_chipGmem.argtypes, lib.bm_cmodel_get_chipGmem.restype = [ctypes.c_void_p], ctypes.c_void_p
        lib.bm_cmodel_set_base_reg.argtypes = [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64]
        for register, base in setup.bases[0].items():
            lib.bm_cmodel_set_base_reg(self._chip, register, base & (1 << 64) - 1)
        self._functions = {engine: getattr(lib, symbol) for engine, symbol in emulator.functions.items()}
        for function in self._functions.values():
            function.argtypes = [ctypes.c_void_p, ctypes.c_void_p]

    def execute(self, core: int, engine: str, descriptor: bytes) -> None:
        """Carry out one command."""
        data = ctypes.create_string_buffer(descriptor, len(descriptor) + 64)
        self._functions[engine](self._chip, ctypes.cast(data, ctypes.c_void_p))

    def memory(self, area: Area) -> Bytes:
        """The library's own bytes of an area."""
        if area.kind == "ddr":
            address = self._lib.bm_cmodel_get_chipGmem(self._chip)
        else:
            address = ctypes.c_void_p.from_address((self._chip.value or 0) + self._LOCAL_MEMORY).value
        return np.ctypeslib.as_array((ctypes.c_uint8 * area.size).from_address((address or 0) + area.start))


def _description(emulator: Emulator, ddr_size: int) -> bytes:
    """The chip as the library wants it: numbers of 32 bits, then addresses and sizes of 64."""
    numbers = (
        *(emulator.version, 1, 0, emulator.lanes, emulator.lanes.bit_length() - 1, emulator.unit_bytes),
        *(emulator.unit_bytes.bit_length() - 1, emulator.lane_bytes, emulator.lane_bytes.bit_length() - 1),
        *(emulator.lane_bytes // emulator.bank_bytes, emulator.bank_bytes, 0),
    )
    return struct.pack("<12I4Q", *numbers, emulator.shared_memory, emulator.ddr, ddr_size, 0)


class Mirror:
    """The library's memories next to the shared block."""

    def __init__(self, library: Library | SingleChipLibrary, setup: Setup) -> None:
        descriptor, size = setup.block
        shared: Bytes = np.frombuffer(mmap.mmap(descriptor, size), np.uint8)
        self._pairs = [(library.memory(a), shared[a.offset : a.offset + a.size]) for a in setup.areas]
        self._memcmp: Any = ctypes.CDLL(None).memcmp
        self._memcmp.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]

    def refresh(self) -> None:
        """Bring the library's memories up to the shared block; equal pages are not touched."""
        for own, shared in self._pairs:
            for start in self._different(own, shared):
                own[start : start + _BLOCK] = shared[start : start + _BLOCK]

    def changed(self) -> tuple[tuple[int, int, int], ...]:
        """Ranges of whole lines in which the two differ."""
        changes: list[tuple[int, int, int]] = []
        for index, (own, shared) in enumerate(self._pairs):
            for block in self._different(own, shared):
                differs = own[block : block + _BLOCK] != shared[block : block + _BLOCK]
                lines = np.unique(np.flatnonzero(differs) // LINE)
                ends = np.flatnonzero(np.diff(lines, append=lines[-1] + 2) > 1)
                firsts = np.concatenate([[0], ends[:-1] + 1])
                for first, last in zip(lines[firsts].tolist(), lines[ends].tolist(), strict=True):
                    start, stop = block + first * LINE, min(block + (last + 1) * LINE, own.size)
                    changes.append((index, start, stop))
        return tuple(changes)

    def take(self, ranges: tuple[tuple[int, int, int], ...]) -> None:
        """Copy ranges to the shared block."""
        for index, start, stop in ranges:
            own, shared = self._pairs[index]
            shared[start:stop] = own[start:stop]

    def _different(self, own: Bytes, shared: Bytes) -> list[int]:
        """Starts of the blocks that differ."""
        compare, a, b, size = self._memcmp, own.ctypes.data, shared.ctypes.data, own.size
        return [s for s in range(0, size, _BLOCK) if compare(a + s, b + s, min(_BLOCK, size - s))]


def serve(connection: Connection) -> None:
    """Answer until the other side is gone."""
    setup = asked(connection)
    assert isinstance(setup, Setup)
    try:
        library = Library(setup) if setup.emulator is None else SingleChipLibrary(setup, setup.emulator)
        mirror = Mirror(library, setup)
    except (OSError, AttributeError, ValueError) as error:
        send(connection, Refused(str(error)))
        return
    send(connection, Done())
    while True:
        message = asked(connection)
        if isinstance(message, Execute):
            for engine, descriptor in message.descriptors:
                library.execute(message.core, engine, descriptor)
            send(connection, Changed(mirror.changed()))
        elif isinstance(message, Refresh):
            mirror.refresh()
            send(connection, Done())
        elif isinstance(message, Take):
            mirror.take(message.ranges)
            send(connection, Done())


def _die_with(parent: int) -> None:
    """End this process when its parent is gone: a command may take minutes, and nobody waits for it then."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def main() -> None:
    """Serve the connection given on the command line."""
    threading.Thread(target=_die_with, args=(os.getppid(),), daemon=True).start()
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):  # the debugger has closed the session
        serve(Connection(int(sys.argv[1])))
    os._exit(0)  # what the library does at exit is of no interest, and may crash


if __name__ == "__main__":
    main()
