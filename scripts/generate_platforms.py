"""Write docs/platforms.md: on which systems the package was seen to compute the same bits.

python -m scripts.generate_platforms            rewrite it from scripts/platforms/results.json
python -m scripts.generate_platforms --check    exit 1 if it is not what the results give
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scripts.generated import ROOT, write_or_check
from scripts.platforms.systems import ONLY_BUILT, SYSTEMS

PAGE = ROOT / "docs" / "platforms.md"
RESULTS = ROOT / "scripts" / "platforms" / "results.json"


def texts() -> dict[Path, str]:
    """The page."""
    results: dict[str, Any] = json.loads(RESULTS.read_text())
    return {PAGE: _page(results)}


_HEAD = """# Platforms

tdb-dap needs CPython 3.10 or newer on a little-endian machine; on a big-endian one a model is not opened. The bits are
the same everywhere, with and without the C kernel, NaNs included. `tdb-dap doctor` runs the sample on your machine and
prints which width of the kernel it uses, and why.

## Proved

Each row was run, once for each way of computing: recorded models of all chips, their outputs compared bit for bit
with those of the vendor's runtime. *Refused* are dynamic models, which need the vendor's runtime or a recording; *same
words* counts outputs whose stored words, NaNs included, are those of the first row. `python -m scripts.platforms`
repeats it.

| system | Python | NumPy | computed by | equal | refused | different | same words | seen |
|---|---|---|---|---|---|---|---|---|
"""

_BUILT = """
## Built, not run

`make release` builds a wheel with the kernel for these as well, with one cross compiler on one machine. None of them
was run; without the kernel NumPy computes the same.

"""

_LACKS = """
## What a system lacks

| | Linux x86-64 | Linux aarch64 | macOS, Windows | WebAssembly |
|---|---|---|---|---|
| decode, simulate, check, sanitize, time travel | yes | yes | yes | yes |
| dynamic models without a recording, `cmodel`, `lockstep` | yes | refused by name | refused by name | refused by name |
| record a program | yes | refused by name | refused by name | refused by name |
| read a recording | yes | yes | yes | yes |
| several processes (`check --jobs`, `zoo`) | yes | yes | yes | no |
| threads in the kernel | yes | yes | yes | one |
"""


def _page(results: dict[str, Any]) -> str:
    built = "".join(f"- {title}\n" for title in ONLY_BUILT.values())
    return _HEAD + "".join(_rows(results)) + _BUILT + built + _LACKS


def _rows(results: dict[str, Any]) -> Iterator[str]:
    for name, (title, _) in SYSTEMS.items():
        if name not in results:
            continue
        seen = results[name]
        ways: dict[str, list[str]] = {}
        for way, counts in seen["ways"].items():
            numbers = f"{counts['equal']} of {seen['cases']} | {counts['refused']} | {counts['different']}"
            ways.setdefault(f"{numbers} | {counts['same words']}", []).append(way)
        for numbers, same in ways.items():
            made = f"{seen['python']} | {seen['numpy']} | {'; '.join(same)}"
            yield f"| {title} | {made} | {numbers} | {seen['date']} |\n"


if __name__ == "__main__":
    sys.exit(write_or_check(__doc__, texts))
