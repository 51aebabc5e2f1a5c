"""Write the headers that the kernel shares with Python, from tdb_dap/targets/kernel/constants.py and records.py.

python -m scripts.generate_kernel_constants            rewrite them
python -m scripts.generate_kernel_constants --check    exit 1 if one is out of date
"""

from __future__ import annotations

import ctypes
import inspect
import sys
import textwrap
from enum import IntEnum
from pathlib import Path
from types import ModuleType
from typing import Any

from scripts.generated import ROOT, write_or_check
from tdb_dap.targets.kernel import constants, records

KERNEL = ROOT / "tdb_dap" / "targets" / "kernel"
_TEXT = """\
/* Generated from targets/kernel/{source} by scripts/generate_kernel_constants.py: do not edit. */

#ifndef TDB_DAP_{guard}_H
#define TDB_DAP_{guard}_H

{body}

#endif
"""
_TYPES = {
    ctypes.c_int32: "int32_t",
    ctypes.c_int64: "int64_t",
    ctypes.c_uint32: "uint32_t",
    ctypes.c_uint64: "uint64_t",
    ctypes.c_float: "float",
    ctypes.c_double: "double",
}


def texts() -> dict[Path, str]:
    """Both headers: an enumeration per class of numbers, a struct per record."""
    return {
        KERNEL / "scalar" / "constants.h": _header("constants.py", "SCALAR_CONSTANTS", _constants()),
        KERNEL / "plan" / "records.h": _header(
            "records.py", "PLAN_RECORDS", ["#include <stdint.h>", '#include "../scalar/constants.h"', *_records()]
        ),
    }


def _header(source: str, guard: str, parts: list[str]) -> str:
    return _TEXT.format(source=source, guard=guard, body="\n\n".join(parts))


def _classes(module: ModuleType, kind: type) -> list[Any]:
    own = [value for value in vars(module).values() if inspect.isclass(value) and value.__module__ == module.__name__]
    return [value for value in own if issubclass(value, kind)]


def _comment(text: str | None) -> str:
    return "\n * ".join(f"/* {line}" if not number else line for number, line in enumerate(_lines(text or ""))) + " */"


def _lines(text: str) -> list[str]:
    return textwrap.wrap(" ".join(text.split()), 118)


def _constants() -> list[str]:
    parts = [
        f"{_comment(inspect.getdoc(table))}\nenum {{\n"
        + "".join(f"    {each.name} = {each.value},\n" for each in table)
        + "};"
        for table in _classes(constants, IntEnum)
    ]
    numbers = {name: value for name, value in vars(constants).items() if name.isupper() and isinstance(value, int)}
    return [*parts, "enum {\n" + "".join(f"    {name} = {value},\n" for name, value in numbers.items()) + "};"]


def _records() -> list[str]:
    return [
        f"{_comment(inspect.getdoc(record))}\ntypedef struct {{\n"
        + "".join(f"    {_declared(name, kind)};\n" for name, kind in record._fields_)
        + f"}} {record.__name__};"
        for record in _classes(records, ctypes.Structure)
    ]


def _declared(name: str, kind: Any) -> str:
    if issubclass(kind, ctypes.Array):
        return f"{_declared(name, kind._type_)}[{kind._length_}]"
    return f"{_TYPES.get(kind) or kind.__name__} {name}"


if __name__ == "__main__":
    sys.exit(write_or_check(__doc__, texts))
