"""Execute the notebooks of examples/notebook and keep what they show.

python -m scripts.execute_notebooks            write the outputs into the files
python -m scripts.execute_notebooks --check    only report whether the files hold them (exit 1 if not)
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "examples" / "notebook"
_LONGEST_DIRECTORY = 70


def notebooks() -> list[Path]:
    """The files."""
    return sorted(FOLDER.glob("*.ipynb"))


def executed(path: Path) -> Any:
    """The notebook with fresh outputs, and with nothing in it that depends on the machine or the hour."""
    notebook: Any = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory(prefix="tdb-", dir=_short_directory()) as directory:
        client = NotebookClient(
            notebook,
            timeout=120,
            kernel_name="python3",
            record_timing=False,
            coalesce_streams=True,  # what a slow machine sends in parts is one output
            extra_arguments=["--HistoryManager.enabled=False"],
            config=_own_channels(directory),
        )
        client.execute(cwd=str(ROOT))
    notebook.metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    for number, cell in enumerate(notebook.cells, 1):
        cell.id = f"cell-{number}"
    return notebook


def _short_directory() -> str | None:
    """Directory for sockets, whose paths have at most 107 characters; None for the usual one."""
    is_long = os.name == "posix" and len(tempfile.gettempdir()) > _LONGEST_DIRECTORY
    return "/tmp" if is_long else None


def _own_channels(directory: str) -> Config:
    """Kernels that start at the same time could choose the same TCP ports; sockets in a directory are not shared."""
    config = Config()
    if os.name == "posix":
        config.KernelManager.transport = "ipc"
        config.KernelManager.ip = os.path.join(directory, "kernel")
    return config


def differences(path: Path) -> Iterator[str]:
    """Where a notebook shows something else than its file holds."""
    kept: Any = nbformat.read(path, as_version=4)
    fresh = executed(path)
    for number, (old, new) in enumerate(zip(kept.cells, fresh.cells, strict=True), 1):
        if old != new:
            where = f"{path.relative_to(ROOT)}: cell {number}"
            yield f"{where} shows something else; run python -m scripts.execute_notebooks"


def main() -> int:
    """Write or compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    if parser.parse_args().check:
        found = [text for path in notebooks() for text in differences(path)]
        print("\n".join(found))
        return int(bool(found))
    for path in notebooks():
        nbformat.write(executed(path), path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
