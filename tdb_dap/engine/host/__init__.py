"""Operations that the runtime carries out on the host's CPU, between the subnets of the chip."""

from tdb_dap.engine.host import indexing, sampling, selection
from tdb_dap.engine.host.registry import HOST_OPERATIONS, execute

__all__ = ["HOST_OPERATIONS", "execute", "indexing", "sampling", "selection"]
