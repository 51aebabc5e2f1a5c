"""One target in one process.

    python -m scripts.robustness.fuzz_parsers.one NAME SCRATCH [libFuzzer's options and corpus directories]
    python -m scripts.robustness.fuzz_parsers.one NAME SCRATCH --plain COUNT SEED

With ``--plain`` inputs are seeds with random changes, and nothing but Python is needed; NAME may be ``all``.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from scripts.robustness.fuzz_parsers import sandbox
from scripts.robustness.fuzz_parsers.target import TARGETS, Target, attempt

MODULES = ("files", "words", "wires", "documents", "recordings")
_APART = ("__main__", "child", "conf")
"""Modules that are not instrumented."""


def load() -> None:
    """Declare all targets, and import everything they may come to."""
    import tdb_dap

    for module in pkgutil.walk_packages(tdb_dap.__path__, "tdb_dap."):
        if module.name.rsplit(".", 1)[-1] not in _APART:
            importlib.import_module(module.name)
    for name in MODULES:
        importlib.import_module(f"scripts.robustness.fuzz_parsers.{name}")


def mutated(target: Target, count: int, seed: int) -> Iterator[bytes]:
    """The seeds, then seeds with changes."""
    seeds = list(target.seeds())
    yield from seeds
    chance = random.Random(f"{target.name} {seed}")
    words = [word.encode() for word in target.words] or [bytes(8), b"\xff" * 8]
    for _ in range(count):
        data = bytearray(chance.choice(seeds))
        for _ in range(chance.randint(1, 6)):
            place = chance.randrange(len(data) + 1)
            what = chance.randrange(4)
            if what == 0:
                data[place:place] = chance.choice(words)
            elif what == 1:
                del data[place : place + chance.randint(1, 16)]
            elif what == 2 and place < len(data):
                data[place] = chance.randrange(256)
            else:
                other = chance.choice(seeds)
                start = chance.randrange(len(other) + 1)
                data[place:place] = other[start : start + chance.randint(1, 64)]
        yield bytes(data[: target.longest])


def plainly(names: list[str], count: int, seed: int) -> None:
    for name in names:
        for data in mutated(TARGETS[name], count, seed):
            try:
                attempt(TARGETS[name], data)
            except BaseException:
                print(f"{name}: broken by {data!r}", file=sys.stderr, flush=True)
                raise


def main() -> None:
    """Confined to SCRATCH from the moment when everything is imported."""
    name, scratch, *options = sys.argv[1:]
    folder = Path(scratch).resolve()
    if options[:1] == ["--plain"]:
        load()
        sandbox.confine(folder)
        plainly(list(TARGETS) if name == "all" else [name], int(options[1]), int(options[2]))
        return
    import atheris

    options = [option if option.startswith("-") else str(Path(option).resolve()) for option in options]
    with atheris.instrument_imports(include=["tdb_dap"]):
        load()
    target = TARGETS[name]
    corpus, words = folder / "seeds", folder / "words"
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(target.seeds()):
        (corpus / str(number)).write_bytes(seed)
    words.write_text("".join('"{}"\n'.format(word.replace('"', '\\"')) for word in target.words))
    if target.words:
        options.append(f"-dict={words}")
    # Inputs are tried again one by one, without others that are made of them.
    is_again = any(Path(option).is_file() for option in options)
    arguments = [sys.argv[0], f"-max_len={target.longest}", *options, *([] if is_again else [str(corpus)])]
    tempfile.tempdir = str(folder)
    os.environ["TMPDIR"] = str(folder)
    sandbox.confine(folder)
    atheris.Setup(arguments, lambda data: attempt(target, data))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
