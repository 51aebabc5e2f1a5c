"""Print what the structure of the package is measured by.

    python -m scripts.structure            circles, wrong ways, folders, imports inside functions
    python -m scripts.structure --figures  and how large the parts of the project are
    python -m scripts.structure --trace    and the files that a request on the sample goes through

Exit code 1 if anything is not as it should be.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

from scripts.structure.c_sources import KERNEL, CSources
from scripts.structure.imports import MOST_FILES, Structure
from scripts.structure.strays import strays
from scripts.structure.traced import MOST
from scripts.structure.typescript import TypeScript

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    """Print, and say whether all is well."""
    structure, c_sources, extension = Structure(ROOT), CSources(ROOT), TypeScript(ROOT / "vscode-extension")
    wrong = [f"circle: {' '.join(circle)}" for circle in structure.circles()]
    wrong += structure.wrong_ways() + structure.homeless() + strays(ROOT)
    folders = structure.folders()
    wrong += [
        f"{folder} has {count} files, more than {MOST_FILES}" for folder, count in folders.items() if count > MOST_FILES
    ]
    print(
        f"circles {len(structure.circles())} in Python, {len(c_sources.circles(KERNEL))} in the kernel's C, "
        f"{len(c_sources.circles()) - len(c_sources.circles(KERNEL))} in the recorder's, "
        f"{len(extension.circles())} in TypeScript"
    )
    print(f"folders {len(folders)}, largest {max(folders.values())} files")
    inside = structure.inside_functions()
    print(f"imports inside functions {sum(map(len, inside.values()))}")
    for reason, found in sorted(inside.items(), key=lambda item: -len(item[1])):
        rooms = Counter(one.path.split("/")[1] for one in found)
        print(
            f"  {len(found):4}  {reason or 'NO REASON'} ({', '.join(f'{room} {n}' for room, n in rooms.most_common())})"
        )
    wrong += [
        f"{one.path}:{one.line} imports {one.target} inside a function for no reason" for one in inside.get("", ())
    ]
    if "--figures" in sys.argv[1:]:
        _print_figures()
    if "--trace" in sys.argv[1:]:
        wrong += _traced()
    print("\n".join(wrong))
    return bool(wrong)


def _print_figures() -> None:
    """Lines and words that people wrote: files that a generator writes are not counted."""
    package = sum(
        len(path.read_text("utf-8").splitlines())
        for path in (ROOT / "tdb_dap").rglob("*.py")
        if "generated" not in path.read_text("utf-8").split("\n", 1)[0].lower()
    )
    words = sum(len(path.read_text("utf-8").split()) for path in (ROOT / "docs").rglob("*.md"))
    tests = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "tests"], cwd=ROOT, capture_output=True, text=True
    )
    methods = (ROOT / KERNEL / "python" / "module.c").read_text("utf-8").count(", METH_")
    print(f"lines of Python in the package {package}")
    print(f"lines of C {CSources(ROOT).lines()}, of which {CSources(ROOT).lines(KERNEL)} in the kernel")
    print(f"functions of the kernel for Python {methods}")
    print(f"words of docs {words}")
    print(f"tests {sum('::' in line for line in tests.stdout.splitlines())}")


def _traced() -> list[str]:
    # In a process of its own: profiling hooks are for all of a process.
    run = subprocess.run(
        [sys.executable, "-m", "scripts.structure.traced"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    found: dict[str, list[str]] = json.loads(run.stdout)
    for name, files in found.items():
        print(f"files of {name} {len(files)}" + (f" (at most {MOST[name]})" if name in MOST else ""))
        if "-v" in sys.argv[1:]:
            print("\n".join(f"  {file}" for file in files))
    return [
        f"{name}: {len(found[name])} files, more than {most}" for name, most in MOST.items() if len(found[name]) > most
    ]


if __name__ == "__main__":
    raise SystemExit(main())
