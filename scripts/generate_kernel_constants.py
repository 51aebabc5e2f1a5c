"""Write the header of the kernel's constants from their Python table, tdb_dap/targets/kernel/constants.py.

    python -m scripts.generate_kernel_constants            rewrite it
    python -m scripts.generate_kernel_constants --check    exit 1 if it is out of date
"""

from __future__ import annotations

import inspect
import sys
from enum import IntEnum
from pathlib import Path

from scripts.generated import ROOT, write_or_check
from tdb_dap.targets.kernel import constants

HEADER = ROOT / "tdb_dap" / "targets" / "kernel" / "scalar" / "constants.h"
_TEXT = """\
/* Generated from targets/kernel/constants.py by scripts/generate_kernel_constants.py: do not edit. */

#ifndef TDB_DAP_SCALAR_CONSTANTS_H
#define TDB_DAP_SCALAR_CONSTANTS_H

{body}

#endif
"""


def texts() -> dict[Path, str]:
    """The header: one enumeration per class, and one for the single numbers."""
    tables = [value for value in vars(constants).values() if inspect.isclass(value) and issubclass(value, IntEnum)]
    parts = [
        f"/* {inspect.getdoc(table)} */\nenum {{ {', '.join(f'{each.name} = {each.value}' for each in table)} }};"
        for table in tables
        if table is not IntEnum
    ]
    numbers = {name: value for name, value in vars(constants).items() if name.isupper() and isinstance(value, int)}
    parts.append(f"enum {{ {', '.join(f'{name} = {value}' for name, value in numbers.items())} }};")
    return {HEADER: _TEXT.format(body="\n\n".join(parts))}


if __name__ == "__main__":
    sys.exit(write_or_check(__doc__, texts))
