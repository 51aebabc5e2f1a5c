"""Launch a bmodel on the vendor's runtime, without the vendor's Python: LIBRARIES BMODEL INPUT.npz TIMES OUT.json.

The emulator prints, and may end its process: the outputs of every launch go into a file.
"""

from __future__ import annotations

import ctypes
import json
import sys
from pathlib import Path

import numpy as np


class Shape(ctypes.Structure):
    """A shape as the runtime has it."""

    _fields_ = (("rank", ctypes.c_int), ("sizes", ctypes.c_int * 8))


def main() -> None:
    """Load, launch, close, and write."""
    folder, bmodel, inputs, times = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
    device = ctypes.CDLL(str(folder / "libbmlib.so.0"), mode=ctypes.RTLD_GLOBAL)
    runtime = ctypes.CDLL(str(folder / "libbmrt.so.1.0"))
    handle = ctypes.c_void_p()
    assert device.bm_dev_request(ctypes.byref(handle), 0) == 0
    runtime.bmrt_create.restype = ctypes.c_void_p
    opened = ctypes.c_void_p(runtime.bmrt_create(handle))
    assert runtime.bmrt_load_bmodel(opened, bmodel.encode())
    names = ctypes.POINTER(ctypes.c_char_p)()
    runtime.bmrt_get_network_names(opened, ctypes.byref(names))
    with np.load(inputs) as archive:
        given = [archive[name].astype(np.float32) for name in archive.files]
    results = []
    for number in range(times):
        arrays = [array + number for array in given]
        pointers = (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))
        shapes = (Shape * len(arrays))(*(Shape(array.ndim, (ctypes.c_int * 8)(*array.shape)) for array in arrays))
        output, shape = np.zeros(1 << 16, np.float32), Shape()
        target = (ctypes.c_void_p * 1)(output.ctypes.data)
        done = runtime.bmrt_launch_data(
            opened, names[0], pointers, shapes, len(arrays), target, ctypes.byref(shape), 1, ctypes.c_bool(True)
        )
        assert done & 1
        size = int(np.prod(shape.sizes[: shape.rank]))
        results.append({"shape": shape.sizes[: shape.rank], "values": output[:size].tolist()})
    runtime.bmrt_destroy(opened)
    device.bm_dev_free(handle)
    Path(sys.argv[5]).write_text(json.dumps(results))


if __name__ == "__main__":
    main()
