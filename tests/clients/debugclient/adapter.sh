#!/bin/sh
# DebugClient starts an adapter as "program file", with no room for arguments.
exec "$PYTHON" -m tdb_dap.adapter --log "$TRANSCRIPT"
