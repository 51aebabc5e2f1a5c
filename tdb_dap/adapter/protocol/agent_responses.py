"""Body of ``tdb/inviteAgent``."""

from __future__ import annotations

from typing_extensions import TypedDict

from tdb_dap.adapter.protocol.model_responses import exact


@exact
class Invitation(TypedDict):
    """Body of `tdb/inviteAgent`: what `tdb-dap mcp --join ADDRESS` needs."""

    address: str
    """HOST:PORT on this machine."""
    token: str
    """In the variable TDB_DAP_AGENT_TOKEN."""
