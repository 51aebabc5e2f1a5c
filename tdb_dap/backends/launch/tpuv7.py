"""Running a net through libtpuv7_modelrt, the runtime of BM1690."""

from __future__ import annotations

import ctypes

from tdb_dap.backends.launch.job import Border, Failed, Net

_MOST_DIMENSIONS = 8


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("dtype", ctypes.c_int),
        ("rank", ctypes.c_int),
        ("extents", ctypes.c_int * _MOST_DIMENSIONS),
        ("address", ctypes.c_uint64),
        ("reserved", ctypes.c_uint8 * 64),
    )


class Tpuv7:
    """The runtime with a model."""

    def __init__(self, model: str, functions: ctypes.CDLL) -> None:
        self._functions = functions
        self._stream, context, self._net = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        opened = functions.tpuRtInit() or functions.tpuRtSetDevice(0)
        if opened or functions.tpuRtStreamCreate(ctypes.byref(self._stream)):
            raise Failed("the emulated device could not be opened")
        if functions.tpuRtCreateNetContext(ctypes.byref(context)):
            raise Failed("the runtime gave no context")
        if functions.tpuRtLoadNet(model.encode(), context, ctypes.byref(self._net)):
            raise Failed("the model could not be loaded")
        self._tensors: dict[str, tuple[ctypes.Array[_Tensor], ctypes.Array[_Tensor]]] = {}

    def launch(self, net: Net, words: list[bytes]) -> list[bytes]:
        """The outputs of a net for these inputs; Failed if it cannot be run."""
        functions = self._functions
        if net.in_place:
            raise Failed(f"net {net.name}: how this runtime runs nets of any shape in place is not known")
        if net.name not in self._tensors:
            self._tensors[net.name] = _placed(net.given, functions), _placed(net.made, functions)
        inputs, outputs = self._tensors[net.name]
        for tensor, data in zip(inputs, words, strict=False):
            functions.tpuRtMemcpyS2D(ctypes.c_void_p(tensor.address), data, ctypes.c_ulonglong(len(data)))
        if functions.tpuRtLaunchNet(self._net, inputs, outputs, net.name.encode(), self._stream):
            raise Failed(f"net {net.name} could not be run")
        functions.tpuRtStreamSynchronize(self._stream)
        results: list[bytes] = []
        for tensor, border in zip(outputs, net.made, strict=False):
            taken = ctypes.create_string_buffer(max(1, border.size))
            functions.tpuRtMemcpyD2S(taken, ctypes.c_void_p(tensor.address), ctypes.c_ulonglong(border.size))
            results.append(taken.raw[: border.size])
        return results

    def close(self) -> None:
        """Give everything back."""
        self._functions.tpuRtUnloadNet(self._net)


def _placed(borders: tuple[Border, ...], functions: ctypes.CDLL) -> ctypes.Array[_Tensor]:
    """Tensors with device memory of their own."""
    tensors = (_Tensor * max(1, len(borders)))()
    for tensor, border in zip(tensors, borders, strict=False):
        _describe(tensor, border, functions)
    return tensors


def _describe(tensor: _Tensor, border: Border, functions: ctypes.CDLL) -> None:
    """Fill in a tensor, with separate device memory."""
    tensor.dtype, tensor.rank = border.dtype, len(border.shape)
    for axis, extent in enumerate(border.shape[:_MOST_DIMENSIONS]):
        tensor.extents[axis] = extent
    place = ctypes.c_void_p()
    functions.tpuRtMalloc(ctypes.byref(place), ctypes.c_ulonglong(max(1, border.size)), 0)
    tensor.address = place.value or 0
