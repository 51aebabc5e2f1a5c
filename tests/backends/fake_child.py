"""Stands in for the process that holds a vendor library. Computes nothing; behaves as its first argument says.

agree        whatever the debugger has is right
die N        prints two lines and aborts in command N
hang N       never answers command N
refuse       cannot load its library
wrong N      says that byte 5 of area 0 differs after command N, and is 0xab there
"""

from __future__ import annotations

import mmap
import os
import sys
import time
from multiprocessing.connection import Connection

from tdb_dap.backends.messages import Changed, Done, Execute, Refresh, Refused, Setup, Take, asked, send


def main(behaviour: str, moment: int, connection: Connection) -> None:
    setup = asked(connection)
    assert isinstance(setup, Setup)
    if behaviour == "refuse":
        send(connection, Refused("undefined symbol: cmodel_init"))
        return
    block = mmap.mmap(*setup.block)
    send(connection, Done())
    count = 0
    while True:
        message = asked(connection)
        if isinstance(message, Take):
            block[setup.areas[0].offset + 5] = 0xAB
            send(connection, Done())
        if isinstance(message, Refresh):
            send(connection, Done())
        if not isinstance(message, Execute):
            continue
        count += 1
        if count == moment and behaviour == "die":
            print("loading...\nASSERT: shape is illegal", flush=True)
            os.abort()
        if count == moment and behaviour == "hang":
            time.sleep(60)
        send(connection, Changed(((0, 0, 64),) if count == moment and behaviour == "wrong" else ()))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Connection(int(sys.argv[3])))
