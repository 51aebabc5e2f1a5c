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


class _Memory(ctypes.Structure):
    _fields_ = (("place", ctypes.c_ulonglong * 2), ("flags", ctypes.c_uint), ("size", ctypes.c_uint))


class _Tensor(ctypes.Structure):
    _fields_ = (("dtype", ctypes.c_int), ("shape", _Shape), ("memory", _Memory), ("store_mode", ctypes.c_int))


class _Stage(ctypes.Structure):
    _fields_ = (
        ("input_shapes", ctypes.POINTER(_Shape)),
        ("output_shapes", ctypes.POINTER(_Shape)),
        ("inputs", ctypes.POINTER(_Memory)),
        ("outputs", ctypes.POINTER(_Memory)),
    )


class _NetInfo(ctypes.Structure):
    """Description of a net by the runtime, up to its stages."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("is_dynamic", ctypes.c_bool),
        ("input_count", ctypes.c_int),
        ("inputs", ctypes.c_void_p * 3),
        ("output_count", ctypes.c_int),
        ("outputs", ctypes.c_void_p * 3),
        ("stage_count", ctypes.c_int),
        ("stages", ctypes.POINTER(_Stage)),
    )


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
        functions.bmrt_launch_tensor_ex.restype = ctypes.c_bool
        functions.bmrt_get_network_info.restype = ctypes.POINTER(_NetInfo)
        if not functions.bmrt_load_bmodel(self._runtime, model.encode()):
            raise Failed("the model could not be loaded")

    def launch(self, net: Net, words: list[bytes]) -> list[bytes]:
        """The outputs of a net for these inputs; Failed if it cannot be run."""
        if net.in_place:
            return self._launch_in_place(net, words)
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

    def _launch_in_place(self, net: Net, words: list[bytes]) -> list[bytes]:
        functions, device = self._functions, self._device
        info = functions.bmrt_get_network_info(self._runtime, net.name.encode())
        if not info or info.contents.stage_count != 1:
            raise Failed(f"net {net.name} has not one stage, so the shapes do not tell where its inputs are")
        stage = info.contents.stages[0]
        inputs = [_tensor(border, stage.inputs[index]) for index, border in enumerate(net.given)]
        outputs = [_tensor(border, stage.outputs[index]) for index, border in enumerate(net.made)]
        for tensor, data in zip(inputs, words, strict=True):
            if functions.bm_memcpy_s2d_partial(device, tensor.memory, data, ctypes.c_uint(len(data))):
                raise Failed(f"net {net.name}: its inputs could not be copied")
        done = functions.bmrt_launch_tensor_ex(
            self._runtime,
            net.name.encode(),
            (_Tensor * len(inputs))(*inputs),
            len(inputs),
            (_Tensor * len(outputs))(*outputs),
            len(outputs),
            ctypes.c_bool(True),
            ctypes.c_bool(False),
        )
        if not done or functions.bm_thread_sync(device):
            raise Failed(f"net {net.name} could not be run")
        results: list[bytes] = []
        for tensor, border in zip(outputs, net.made, strict=True):
            taken = ctypes.create_string_buffer(max(1, border.size))
            if functions.bm_memcpy_d2s_partial(device, taken, tensor.memory, ctypes.c_uint(border.size)):
                raise Failed(f"net {net.name}: its outputs could not be copied")
            results.append(taken.raw[: border.size])
        return results

    def close(self) -> None:
        """Give everything back."""
        self._functions.bmrt_destroy(self._runtime)
        self._functions.bm_dev_free(self._device)


def _pointers(buffers: list[ctypes.Array[ctypes.c_char]]) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * max(1, len(buffers)))(*(ctypes.addressof(buffer) for buffer in buffers))


def _shapes(borders: tuple[Border, ...]) -> ctypes.Array[_Shape]:
    return (_Shape * max(1, len(borders)))(*map(_shape, borders))


def _shape(border: Border) -> _Shape:
    shape = _Shape(len(border.shape))
    for axis, extent in enumerate(border.shape[:_MOST_DIMENSIONS]):
        shape.extents[axis] = extent
    return shape


def _tensor(border: Border, memory: _Memory) -> _Tensor:
    return _Tensor(border.dtype, _shape(border), memory, 0)
