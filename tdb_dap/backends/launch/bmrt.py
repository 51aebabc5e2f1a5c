"""Running a net through libbmrt, the runtime of all chips but BM1690.

The functions are those of the public header bmruntime_interface.h:
https://github.com/sophgo/libsophon/blob/master/tpu-runtime/include/bmruntime_interface.h
"""

from __future__ import annotations

import ctypes

from tdb_dap.backends.launch.job import Border, Failed, Net

_MOST_DIMENSIONS = 8


class _Shape(ctypes.Structure):
    _fields_ = (("rank", ctypes.c_int), ("extents", ctypes.c_int * _MOST_DIMENSIONS))


class Bmrt:
    """The runtime with a model."""

    def __init__(self, model: str, functions: ctypes.CDLL) -> None:
        self._functions = functions
        self._device = ctypes.c_void_p()
        if functions.bm_dev_request(ctypes.byref(self._device), 0):
            raise Failed("the emulated device could not be opened")
        functions.bmrt_create.restype = ctypes.c_void_p
        self._runtime = ctypes.c_void_p(functions.bmrt_create(self._device))
        functions.bmrt_load_bmodel.restype = ctypes.c_bool
        functions.bmrt_launch_data.restype = ctypes.c_bool
        if not functions.bmrt_load_bmodel(self._runtime, model.encode()):
            raise Failed("the model could not be loaded")

    def launch(self, net: Net, words: list[bytes]) -> list[bytes]:
        """The outputs of a net for these inputs; Failed if it cannot be run."""
        inputs = [ctypes.create_string_buffer(data, max(1, len(data))) for data in words]
        outputs = [ctypes.create_string_buffer(max(1, border.size)) for border in net.made]
        done = self._functions.bmrt_launch_data(
            self._runtime,
            net.name.encode(),
            _pointers(inputs),
            _shapes(net.given),
            len(inputs),
            _pointers(outputs),
            (_Shape * max(1, len(outputs)))(),
            len(outputs),
            ctypes.c_bool(True),
        )
        if not done:
            raise Failed(f"net {net.name} could not be run")
        return [output.raw[: border.size] for output, border in zip(outputs, net.made, strict=True)]

    def close(self) -> None:
        """Give everything back."""
        self._functions.bmrt_destroy(self._runtime)
        self._functions.bm_dev_free(self._device)


def _pointers(buffers: list[ctypes.Array[ctypes.c_char]]) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * max(1, len(buffers)))(*(ctypes.addressof(buffer) for buffer in buffers))


def _shapes(borders: tuple[Border, ...]) -> ctypes.Array[_Shape]:
    made = (_Shape * max(1, len(borders)))()
    for shape, border in zip(made, borders, strict=False):
        shape.rank = len(border.shape)
        for axis, extent in enumerate(border.shape[:_MOST_DIMENSIONS]):
            shape.extents[axis] = extent
    return made
