"""Programs that use the vendor's runtime as applications do: NAME LIBRARIES OUT.json MODEL [MODEL]; see ``PROGRAMS``.

What each gets back from the device goes into a file as texts of hexadecimal bytes, in order.
"""

from __future__ import annotations

import ctypes
import faulthandler
import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

MOST = 1 << 16
TYPES = {0: np.float32, 1: np.float16, 2: np.int8, 3: np.uint8, 6: np.int32}


class Shape(ctypes.Structure):
    """A shape as the runtime has it."""

    _fields_ = (("rank", ctypes.c_int), ("sizes", ctypes.c_int * 8))

    @classmethod
    def of(cls, *sizes: int) -> Shape:
        return cls(len(sizes), (ctypes.c_int * 8)(*sizes))


class Memory(ctypes.Structure):
    """Device memory."""

    _fields_ = (("place", ctypes.c_ulonglong * 2), ("flags", ctypes.c_uint), ("size", ctypes.c_uint))


class Tensor(ctypes.Structure):
    """A tensor in device memory."""

    _fields_ = (("dtype", ctypes.c_int), ("shape", Shape), ("memory", Memory), ("mode", ctypes.c_int))


class Device:
    """The emulated device. ``results``: what was copied from it."""

    def __init__(self, folder: Path, results: list[str]) -> None:
        self.lib = ctypes.CDLL(str(folder / "libbmlib.so.0"), mode=ctypes.RTLD_GLOBAL)
        self.runtime = ctypes.CDLL(str(folder / "libbmrt.so.1.0"))
        self.runtime.bmrt_create.restype = ctypes.c_void_p
        self.results = results
        self.handle = ctypes.c_void_p()
        assert self.lib.bm_dev_request(ctypes.byref(self.handle), 0) == 0

    def close(self) -> None:
        self.lib.bm_dev_free(self.handle)

    def allocate(self, size: int) -> Memory:
        memory = Memory()
        assert self.lib.bm_malloc_device_byte(self.handle, ctypes.byref(memory), ctypes.c_uint(size)) == 0
        return memory

    def free(self, memory: Memory) -> None:
        self.lib.bm_free_device(self.handle, memory)

    def put(self, memory: Memory, array: np.ndarray[Any, Any]) -> None:
        raw = array.tobytes()
        assert self.lib.bm_memcpy_s2d_partial(self.handle, memory, raw, ctypes.c_uint(len(raw))) == 0

    def get(self, memory: Memory, size: int) -> bytes:
        taken = ctypes.create_string_buffer(size)
        assert self.lib.bm_memcpy_d2s_partial(self.handle, taken, memory, ctypes.c_uint(size)) == 0
        self.results.append(taken.raw.hex())
        return taken.raw

    def fill(self, memory: Memory, value: int) -> None:
        assert self.lib.bm_memset_device(self.handle, ctypes.c_int(value), memory) == 0

    def move(self, to: Memory, source: Memory, size: int) -> None:
        zero = ctypes.c_ulong(0)
        assert self.lib.bm_memcpy_d2d_byte(self.handle, to, zero, source, zero, ctypes.c_ulong(size)) == 0


class Runtime:
    """A runtime with one model of one input and one output."""

    def __init__(self, device: Device, model: str) -> None:
        self.device = device
        self.functions = device.runtime
        self.opened = ctypes.c_void_p(self.functions.bmrt_create(device.handle))
        assert self.functions.bmrt_load_bmodel(self.opened, model.encode()) & 1
        names = ctypes.POINTER(ctypes.c_char_p)()
        self.functions.bmrt_get_network_names(self.opened, ctypes.byref(names))
        self.name = names[0]

    def close(self) -> None:
        self.functions.bmrt_destroy(self.opened)

    def launch(self, array: np.ndarray[Any, Any]) -> bytes:
        """With host memory; the output is a result."""
        pointer = (ctypes.c_void_p * 1)(array.ctypes.data)
        output, shape = np.zeros(MOST, np.float32), Shape()
        target = (ctypes.c_void_p * 1)(output.ctypes.data)
        done = self.functions.bmrt_launch_data(
            self.opened,
            self.name,
            pointer,
            (Shape * 1)(Shape.of(*array.shape)),
            1,
            target,
            ctypes.byref(shape),
            1,
            ctypes.c_bool(True),
        )
        assert done & 1
        size = int(np.prod(shape.sizes[: shape.rank])) * 4
        self.device.results.append(output.tobytes()[:size].hex())
        return output.tobytes()[:size]

    def launch_in(self, given: Memory, shape: tuple[int, ...], made: Memory) -> None:
        """With device memory."""
        inputs = (Tensor * 1)(Tensor(0, Shape.of(*shape), given, 0))
        outputs = (Tensor * 1)(Tensor(0, Shape(), made, 0))
        done = self.functions.bmrt_launch_tensor_ex(
            self.opened, self.name, inputs, 1, outputs, 1, ctypes.c_bool(True), ctypes.c_bool(False)
        )
        assert done & 1
        assert self.device.lib.bm_thread_sync(self.device.handle) == 0


INPUT = (1, 3, 32, 32)
BYTES = 4 * 3 * 32 * 32
ANSWER = 40


def image(seed: int, shape: tuple[int, ...] = INPUT) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def load_free_load(device: Device, models: list[str]) -> None:
    """Another model where one was."""
    for number, model in enumerate([*models, models[0]]):
        runtime = Runtime(device, model)
        runtime.launch(image(number))
        runtime.close()


def many_runtimes(device: Device, models: list[str]) -> None:
    """Runtimes that live at once, launched in turn, and closed in another order."""
    runtimes = [Runtime(device, model) for model in (*models, *models)]
    for number in range(2):
        for runtime in runtimes:
            runtime.launch(image(number))
    runtimes.pop(0).close()
    runtimes.append(Runtime(device, models[0]))
    for runtime in runtimes:
        runtime.launch(image(7))
    for runtime in runtimes:
        runtime.close()


def buffers_that_grow(device: Device, models: list[str]) -> None:
    """Inputs in device memory that is freed between launches and asked for again, larger each time."""
    runtime = Runtime(device, models[0])
    for number in range(4):
        given, made = device.allocate(BYTES + (number << 16)), device.allocate(4096 << number)
        device.put(given, image(number))
        runtime.launch_in(given, INPUT, made)
        device.get(made, ANSWER)
        device.free(given)
        if number % 2:
            device.free(made)
    runtime.close()


def freed_in_between(device: Device, models: list[str]) -> None:
    """A hole in the middle of the memory gets something else before the next launch."""
    runtime = Runtime(device, models[0])
    parts = [device.allocate(BYTES) for _ in range(5)]
    made = device.allocate(4096)
    for number, part in enumerate(parts):
        device.put(part, image(number))
    device.free(parts[2])
    small = device.allocate(512)
    device.fill(small, 0x11)
    for number in (0, 1, 3, 4):
        runtime.launch_in(parts[number], INPUT, made)
        device.get(made, ANSWER)
    device.get(small, 512)
    other = Runtime(device, models[-1])
    other.launch_in(parts[0], INPUT, made)
    device.get(made, ANSWER)
    device.get(parts[4], BYTES)
    for opened in (runtime, other):
        opened.close()


def moved_on_the_device(device: Device, models: list[str]) -> None:
    """Outputs become inputs without the host, some bytes are set, and read back."""
    runtime = Runtime(device, models[0])
    first, second, made = device.allocate(BYTES), device.allocate(BYTES), device.allocate(4096)
    device.put(first, image(1))
    runtime.launch_in(first, INPUT, made)
    device.fill(second, 0)
    device.move(second, made, ANSWER)
    runtime.launch_in(second, INPUT, made)
    device.get(made, ANSWER)
    device.move(first, second, BYTES)
    device.get(first, BYTES)
    device.get(second, BYTES)
    runtime.launch_in(first, INPUT, made)
    device.get(made, ANSWER)
    runtime.close()


def read_before_and_after(device: Device, models: list[str]) -> None:
    """The host reads memory that no one has written, its own bytes, and parts of an output."""
    fresh, own = device.allocate(1 << 14), device.allocate(1 << 14)
    device.put(own, image(3, (64, 64)))
    device.get(own, 1 << 14)
    device.get(own, 100)
    runtime = Runtime(device, models[0])
    given, made = device.allocate(BYTES), device.allocate(4096)
    device.put(given, image(2))
    device.get(given, BYTES)
    runtime.launch_in(given, INPUT, made)
    device.get(made, 16)
    device.get(made, ANSWER)
    device.get(fresh, 1 << 14)
    device.get(given, BYTES)
    runtime.close()


def opened_again(device: Device, models: list[str]) -> None:
    """The device is given back and asked for again."""
    folder = Path(sys.argv[2])
    for number in range(3):
        again = Device(folder, device.results)
        runtime = Runtime(again, models[number % len(models)])
        runtime.launch(image(number))
        runtime.close()
        again.close()


def _in_threads(work: list[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=one) for one in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def threads_with_a_runtime_each(device: Device, models: list[str]) -> None:
    """Two threads, two models, one device."""
    runtimes = [Runtime(device, model) for model in (models[0], models[-1])]

    def work(runtime: Runtime, first: int) -> Callable[[], None]:
        def launching() -> None:
            for number in range(3):
                runtime.launch(image(first + number))

        return launching

    _in_threads([work(runtime, 10 * number) for number, runtime in enumerate(runtimes)])
    for runtime in runtimes:
        runtime.close()


def threads_that_load(device: Device, models: list[str]) -> None:
    """One thread launches while another loads and frees models."""
    steady = Runtime(device, models[0])

    def launching() -> None:
        for number in range(4):
            steady.launch(image(number))

    def loading() -> None:
        for number in range(3):
            runtime = Runtime(device, models[-1])
            runtime.launch(image(20 + number))
            runtime.close()

    _in_threads([launching, loading])
    steady.close()


def shapes(device: Device, models: list[str]) -> None:
    """Other input shapes of a dynamic model."""
    runtime = Runtime(device, models[0])
    for number, batch in enumerate((1, 1, 1)):
        runtime.launch(image(number, (batch, 3, 32, 32)))
    given, made = device.allocate(BYTES), device.allocate(4096)
    device.put(given, image(9))
    runtime.launch_in(given, INPUT, made)
    device.get(made, ANSWER)
    runtime.close()


PROGRAMS: dict[str, Callable[[Device, list[str]], None]] = {
    program.__name__: program
    for program in (
        load_free_load,
        many_runtimes,
        buffers_that_grow,
        freed_in_between,
        moved_on_the_device,
        read_before_and_after,
        opened_again,
        threads_with_a_runtime_each,
        threads_that_load,
        shapes,
    )
}


def main() -> None:
    """Run one program, and write what it got back."""
    faulthandler.enable()
    results: list[str] = []
    device = Device(Path(sys.argv[2]), results)
    if sys.argv[1] == opened_again.__name__:
        device.close()
    PROGRAMS[sys.argv[1]](device, sys.argv[4:])
    if sys.argv[1] != opened_again.__name__:
        device.close()
    Path(sys.argv[3]).write_text(json.dumps(results))
    sys.stdout.flush()
    os._exit(0)  # threads of the emulators do not always end


if __name__ == "__main__":
    main()
