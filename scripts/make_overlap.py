"""Make examples/overlap: the bundled sample as a compiler with a mistake in its memory planning would compile it.

    python -m scripts.make_overlap [DIRECTORY]

The bias of the second convolution gets bytes in the middle of the pooled tensor, which the same convolution still has
to read. Commands, final.mlir and tensor_location.json agree, as they do when a compiler is wrong about lifetimes.
"""

from __future__ import annotations

import lzma
import shutil
import sys
from pathlib import Path

from tdb_dap.tools.patch.editor import Editor
from tdb_dap.tools.programs import open_program

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = ROOT / "tdb_dap" / "sample"
OVERLAP = ROOT / "examples" / "overlap"

PLANNED, WRONG = 81920, 4608
"""Where the bias belongs in a lane, and an address inside of what is from 4096 to 5120."""

LOCAL_MEMORY = 0x8000000
"""Where the DMA engine of BM1684X sees the local memory."""


def make(directory: Path) -> None:
    """Write the context directory and what it is checked with; files that are there are replaced."""
    directory.mkdir(parents=True, exist_ok=True)
    bmodel = directory / "compilation.bmodel"
    bmodel.unlink(missing_ok=True)
    with Editor(open_program(SAMPLE), bmodel) as editor:
        editor.set_field("D4", "dst_start_addr_l32", LOCAL_MEMORY + WRONG)
        editor.set_field("B4", "opd2_addr", WRONG)
    mlir = (SAMPLE / "final.mlir").read_text("utf-8")
    (directory / "final.mlir").write_text(mlir.replace(f"out_addr = {PLANNED},", f"out_addr = {WRONG},"), "utf-8")
    with lzma.open(SAMPLE / "tensor_location.json.xz", "rt", encoding="utf-8") as file:
        records = file.read().replace(f'"address": {PLANNED},', f'"address": {WRONG},')
    (directory / "tensor_location.json").write_text(records, "utf-8")
    shutil.copyfile(SAMPLE / "input.npz", directory / "input.npz")
    shutil.copyfile(SAMPLE / "ref.npz", directory / "ref.npz")


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else OVERLAP)
