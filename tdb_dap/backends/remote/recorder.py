"""Having a net recorded by a server: ``tdb-dap backends serve --record`` on a machine with the vendor's runtime."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tdb_dap.backends.launch.recorded_net import stored_words
from tdb_dap.backends.remote.channel import CHUNK
from tdb_dap.backends.remote.connection import Connection
from tdb_dap.backends.remote.handshake import TOKEN_VARIABLE
from tdb_dap.backends.remote.messages import Give, Record, Recorded
from tdb_dap.engine.files import limits
from tdb_dap.engine.files.atomic_files import whole_file
from tdb_dap.engine.files.bounded_files import read_file
from tdb_dap.errors import BackendFailed, BadInput
from tdb_dap.system.interruption import Interrupted

if TYPE_CHECKING:
    from tdb_dap.engine.hardware.dtypes import Array
    from tdb_dap.engine.program.compiled_program import CompiledProgram

File = Literal["model", "source", "locations", "inputs"]


def record_elsewhere(
    program: CompiledProgram,
    address: tuple[str, int],
    inputs: Mapping[str, Array],
    path: Path,
    token: str | None = None,
    with_source: bool = False,
) -> int:
    """Have the program's net run once there, and write the recording to ``path``; its bytes.

    ``inputs``: stored words by name, zeros for those that are missing; ``token``: None: that of the environment;
    ``with_source``: so that the recording can be read without the context. BadInput says why there is none.
    """
    name = f"remote:{address[0]}:{address[1]}"
    connection = Connection.to(name, address, token or os.environ.get(TOKEN_VARIABLE))
    try:
        for file, data in _files(program, inputs, with_source):
            for start in range(0, max(len(data), 1), CHUNK):
                connection.expect_done(Give(file, bytes(data[start : start + CHUNK])))
        answer = connection.ask(Record(program.net.name, program.stage_index))
        size = 0
        with whole_file(path) as written:
            while isinstance(answer, Recorded):
                size += len(answer.data)
                if size > limits.UNPACKED:
                    raise connection.lost(f"its recording has more than {limits.readable(limits.UNPACKED)}")
                written.write(answer.data)
                if not answer.more:
                    return size
                answer = connection.following()
            raise connection.lost(f"it answered with {type(answer).__name__}")
    except (BadInput, BackendFailed) as error:
        why = str(error).removeprefix(connection.complaint("")).removeprefix(f"{name} ")
        raise BadInput(f"{name} made no recording: {why}") from None
    except Interrupted:
        raise BadInput(f"{name} made no recording: it was not waited for") from None
    finally:
        connection.close()


def _files(
    program: CompiledProgram, inputs: Mapping[str, Array], with_source: bool
) -> Iterator[tuple[File, bytes | bytearray]]:
    context = program.context
    yield "model", read_file(context.bmodel, limits.UNPACKED)
    yield "inputs", stored_words(program, inputs)
    if with_source and context.mlir is not None:
        yield "source", read_file(context.mlir)
    if with_source and context.locations is not None:
        yield "locations", read_file(context.locations)
