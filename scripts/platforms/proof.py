"""Run recorded models on this system and compare their outputs, bit for bit, with those of the vendor's runtime.

python -m scripts.platforms.proof DATA    DATA: tests/data; prints one line of JSON; as a file it needs the package only
"""

from __future__ import annotations

import json
import platform
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

CHIPS = ("bm1684", "bm1684x", "bm1688", "bm1690", "chips/*")


def cases(data: Path) -> Iterator[Path]:
    """Models with inputs and the outputs of the vendor's runtime."""
    for chip in CHIPS:
        yield from (
            path.parent for path in sorted(data.glob(f"{chip}/*/runtime.npz")) if (path.parent / "input.npz").exists()
        )


def outcome(case: Path) -> str:
    """``equal``, ``different``, or why it was not run; the words of all outputs as a checksum after it."""
    from tdb_dap.errors import TdbError
    from tdb_dap.tools.opening import open_debugger

    try:
        debugger = open_debugger(case, case / "input.npz", history_limit=0)
        stop = debugger.run()
        if stop.reason != "end":
            return f"refused: {stop.text}"
        outputs, raw = debugger.outputs(), debugger.outputs(raw=True)
    except TdbError as error:
        return f"refused: {error}"
    finally:
        if "debugger" in locals():
            debugger.close()
    with np.load(case / "runtime.npz") as truth:
        for name in truth.files:
            expected = truth[name]
            own = outputs.get(name)
            if own is None or not _is_equal(own, raw[name], expected):
                return "different"
    total = 0
    for name in sorted(raw):
        total = zlib.crc32(np.ascontiguousarray(raw[name]).tobytes(), total)
    return f"equal {total:08x}"


def _is_equal(numbers: Any, stored: Any, expected: Any) -> bool:
    """Whether words are equal: the runtime gives the real numbers, or what is stored."""
    for own in (numbers, stored):
        if own.size == expected.size and np.array_equal(
            own.reshape(-1), expected.reshape(-1), equal_nan=expected.dtype.kind == "f"
        ):
            return True
    return False


def prove(data: Path, quick: bool = False) -> dict[str, Any]:
    """Outcomes by way of computing: the kernel in each width, and NumPy."""
    from tdb_dap.targets import kernel
    from tdb_dap.version import __version__

    ways: list[tuple[str, int | None]] = [(f"kernel, {lanes} lanes", lanes) for lanes in kernel.widths()]
    ways.append(("NumPy", None))
    chosen = sorted(cases(data), key=lambda case: sum(path.stat().st_size for path in case.iterdir()))
    if quick:
        chosen = chosen[: len(chosen) // 2]
    result: dict[str, Any] = {
        "version": __version__,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "numpy": np.__version__,
        "machine": platform.machine(),
        "system": platform.system() or sys.platform,
        "cases": len(chosen),
        "ways": {},
    }
    for title, lanes in ways:
        with kernel.switched(lanes is not None):
            if lanes is not None:
                kernel.choose_width(lanes)
            outcomes = {case.relative_to(data).as_posix(): outcome(case) for case in chosen}
        result["ways"][title] = outcomes
    return result


if __name__ == "__main__":
    print(json.dumps(prove(Path(sys.argv[1]), "--quick" in sys.argv)))
