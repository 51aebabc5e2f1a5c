"""Every tensor that a run computes, by name: what another run can be compared with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tdb_dap.engine.control.observers import Observer
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.reference.reference import numbers_of
from tdb_dap.engine.source.mapped_tensor import MappedTensor, layer_names
from tdb_dap.engine.source.op_records import is_doubtful
from tdb_dap.errors import NotSimulated

if TYPE_CHECKING:
    from tdb_dap.engine.control.debugger import Debugger
    from tdb_dap.engine.control.inspector import Inspector
    from tdb_dap.engine.source.source_map import OpRecord


class Recorder(Observer):
    """Puts together the results of all ops, and the operands that no op computes (weights, inputs).

    ``arrays``: name -> float32, dequantised, in the shape of the whole tensor; zeros where nothing was written. Of
    parts that are written twice (borders of slices, several cores) the later one counts. Tensors in local memory of ops
    whose commands are not known for certain are left out, and what was taken from a reference.
    """

    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {}
        self._computed: set[str] = set()

    def before_op(self, inspector: Inspector, record: OpRecord) -> None:
        for value in record.operands:
            if value.name not in self._computed and not is_doubtful(record, value):
                self._take(inspector, value)

    def after_op(self, inspector: Inspector, record: OpRecord) -> None:
        for value in record.results:
            self._computed.add(value.name)
            if not is_doubtful(record, value):
                self._take(inspector, value)

    def finished(self, inspector: Inspector) -> None:
        computed = {n: a for n, a in inspector.outputs().items() if not inspector.machine.expected.get(n)}
        for name, array in computed.items():
            self.arrays.setdefault(name, np.asarray(array, np.float32))

    def _take(self, inspector: Inspector, value: MappedTensor) -> None:
        name = layer_names(value.name)[-1]
        if name != value.name and name in self._computed:
            return  # a copy in local memory of what an op has computed
        if value.view is None or value.rearranged or inspector.machine.expected.get(value.name):
            return
        array = self.arrays.get(name)
        if array is None:
            array = np.zeros(value.reshape or value.shape, np.float32)
        try:
            target = value.expected(array)
        except (ValueError, IndexError):
            return  # the same name with another shape
        if target.size == value.view.size:
            numbers = numbers_of(inspector.machine, value)
            if numbers is None:
                return
            target[...] = numbers.reshape(target.shape)
            self.arrays[name] = array


def record(debugger: Debugger) -> dict[str, Array]:
    """Run a debugger to the end and return all tensors by name; NotSimulated if it cannot get there."""
    recorder = Recorder()
    debugger.observers.append(recorder)
    stop = debugger.run()
    debugger.observers.remove(recorder)
    if stop.finding is not None:
        raise NotSimulated(f"{debugger.program.context.bmodel}: {stop.text}")
    return recorder.arrays
