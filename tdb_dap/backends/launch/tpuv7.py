"""Running a net through libtpuv7_modelrt, the runtime of BM1690."""

from __future__ import annotations

import ctypes

from tdb_dap.backends.launch.job import Border, Job

_MOST_DIMENSIONS = 8


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("dtype", ctypes.c_int),
        ("rank", ctypes.c_int),
        ("extents", ctypes.c_int * _MOST_DIMENSIONS),
        ("address", ctypes.c_uint64),
        ("reserved", ctypes.c_uint8 * 64),
    )


def run(job: Job, words: list[bytes], functions: ctypes.CDLL) -> str:
    """Load the model and run the net once; what went wrong, or the empty string."""
    stream, context, net = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    if functions.tpuRtInit() or functions.tpuRtSetDevice(0) or functions.tpuRtStreamCreate(ctypes.byref(stream)):
        return "the emulated device could not be opened"
    if functions.tpuRtCreateNetContext(ctypes.byref(context)):
        return "the runtime gave no context"
    if functions.tpuRtLoadNet(job.model.encode(), context, ctypes.byref(net)):
        return "the model could not be loaded"
    inputs = (_Tensor * max(1, len(job.given)))()
    outputs = (_Tensor * max(1, len(job.made)))()
    for tensor, border, data in zip(inputs, job.given, words, strict=False):
        _describe(tensor, border, functions)
        functions.tpuRtMemcpyS2D(ctypes.c_void_p(tensor.address), data, ctypes.c_ulonglong(len(data)))
    for tensor, border in zip(outputs, job.made, strict=False):
        _describe(tensor, border, functions)
    if functions.tpuRtLaunchNet(net, inputs, outputs, job.net.encode(), stream):
        return "the net could not be run"
    functions.tpuRtStreamSynchronize(stream)
    for tensor, border in zip(outputs, job.made, strict=False):
        taken = ctypes.create_string_buffer(max(1, border.size))
        functions.tpuRtMemcpyD2S(taken, ctypes.c_void_p(tensor.address), ctypes.c_ulonglong(border.size))
    functions.tpuRtUnloadNet(net)
    return ""


def _describe(tensor: _Tensor, border: Border, functions: ctypes.CDLL) -> None:
    """Fill in a tensor, with device memory of its own."""
    tensor.dtype, tensor.rank = border.dtype, len(border.shape)
    for axis, extent in enumerate(border.shape[:_MOST_DIMENSIONS]):
        tensor.extents[axis] = extent
    place = ctypes.c_void_p()
    functions.tpuRtMalloc(ctypes.byref(place), ctypes.c_ulonglong(max(1, border.size)), 0)
    tensor.address = place.value or 0
