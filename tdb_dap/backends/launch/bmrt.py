"""Running a net through libbmrt, the runtime of all chips but BM1690.

The functions are those of the public header bmruntime_interface.h:
https://github.com/sophgo/libsophon/blob/master/tpu-runtime/include/bmruntime_interface.h
"""

from __future__ import annotations

import ctypes

from tdb_dap.backends.launch.job import Border, Job

_MOST_DIMENSIONS = 8


class _Shape(ctypes.Structure):
    _fields_ = (("rank", ctypes.c_int), ("extents", ctypes.c_int * _MOST_DIMENSIONS))


def run(job: Job, words: list[bytes], functions: ctypes.CDLL) -> str:
    """Load the model and run the net once; what went wrong, or the empty string."""
    handle = ctypes.c_void_p()
    if functions.bm_dev_request(ctypes.byref(handle), 0):
        return "the emulated device could not be opened"
    functions.bmrt_create.restype = ctypes.c_void_p
    runtime = ctypes.c_void_p(functions.bmrt_create(handle))
    functions.bmrt_load_bmodel.restype = ctypes.c_bool
    if not functions.bmrt_load_bmodel(runtime, job.model.encode()):
        return "the model could not be loaded"
    inputs = [ctypes.create_string_buffer(data, max(1, len(data))) for data in words]
    outputs = [ctypes.create_string_buffer(max(1, border.size)) for border in job.made]
    functions.bmrt_launch_data.restype = ctypes.c_bool
    done = functions.bmrt_launch_data(
        runtime,
        job.net.encode(),
        _pointers(inputs),
        _shapes(job.given),
        len(inputs),
        _pointers(outputs),
        (_Shape * max(1, len(outputs)))(),
        len(outputs),
        ctypes.c_bool(True),
    )
    functions.bmrt_destroy(runtime)
    functions.bm_dev_free(handle)
    return "" if done else "the net could not be run"


def _pointers(buffers: list[ctypes.Array[ctypes.c_char]]) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * max(1, len(buffers)))(*(ctypes.addressof(buffer) for buffer in buffers))


def _shapes(borders: tuple[Border, ...]) -> ctypes.Array[_Shape]:
    made = (_Shape * max(1, len(borders)))()
    for shape, border in zip(made, borders, strict=False):
        shape.rank = len(border.shape)
        for axis, extent in enumerate(border.shape[:_MOST_DIMENSIONS]):
            shape.extents[axis] = extent
    return made
