"""The bundled sample, run with every way there is to compute."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from tdb_dap.system.notices import heard_by
from tdb_dap.system.sample import SAMPLE
from tdb_dap.system.shells import setting
from tdb_dap.tools.doctor.findings import Check
from tdb_dap.tools.doctor.installation import Installation

OUTPUT = "softmax16_Softmax"
KNOWN = "b232e5f434eb64eca4ec113a5b87ce70db91079f4d1bca98e05b695f9667a5a2"
"""SHA-256 of the sample's output, float32[1,10], little-endian, as the vendor's simulator computes it."""


def sample(installation: Installation, directory: Path = SAMPLE, known: str = KNOWN) -> Iterator[Check]:
    """Run it, and compare the output bit for bit: with the C kernel, if there is one, and with NumPy."""
    from tdb_dap.targets import kernel

    for by, on in [("C kernel", True)] * kernel.is_built + [("NumPy", False)]:
        with kernel.switched(on):
            digest, commands = _run(directory)
        name = f"sample:{by.lower().replace(' ', '-')}"
        if digest == known:
            yield Check(name, "ok", f"{commands} commands run with {by}; the output equals the known one, bit for bit")
        elif on:
            text = "the output with the C kernel differs from the known one: its results cannot be trusted"
            yield Check(name, "error", text, setting(kernel.SWITCH, "0"))
        else:
            text = "the output differs from the known one: results of this installation cannot be trusted"
            yield Check(name, "error", text, installation.again)


def _run(directory: Path) -> tuple[str, int]:
    """Hash of the output, and the number of commands."""
    from tdb_dap.tools.opening import open_debugger

    with heard_by(lambda text: None):  # that data is next to the sample is no news
        debugger = open_debugger(directory, directory / "input.npz", history_limit=0)
    try:
        debugger.run()
        output = debugger.outputs()[OUTPUT]
        return hashlib.sha256(output.astype("<f4").tobytes()).hexdigest(), len(debugger.program.commands)
    finally:
        debugger.close()
