"""Time of commands: estimates from a few numbers per chip."""

from tdb_dap.targets.timing.cost import cost_of
from tdb_dap.targets.timing.monitor import Monitor, MonitorRecord
from tdb_dap.targets.timing.numbers import Timing, Transfer

__all__ = ["Monitor", "MonitorRecord", "Timing", "Transfer", "cost_of"]
