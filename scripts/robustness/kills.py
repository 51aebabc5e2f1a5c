"""Kill commands of all verbs at random moments, and look at what is left.

    python -m scripts.robustness.kills [--kills 500] [--jobs 2] [--seed 1] [--write]

Each command is run to its end first, for how long it takes and what it writes. Then it is killed somewhere on the way,
most with SIGKILL, some with SIGTERM or SIGINT. Wrong is: a process that still runs two seconds later; an output file
that is neither missing nor as long as a whole one; a hidden unfinished file (.part) that the same command, run again,
does not remove; and, at the end, what is in the temporary directory after one more
command, which removes what killed ones have left. Exit code 1 if anything is.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from scripts import figures
from scripts.generated import ROOT

SAMPLE = ROOT / "tdb_dap" / "sample"
DATA = ROOT / "tests" / "data"
LANGUAGE = DATA / "llm" / "qwen2_bm1684x_bf16"
MARK = "TDB_DAP_KILLED"
"""In the environment of a command and of all that it starts."""
PATIENCE = 2.0
SIGNALS = (signal.SIGKILL,) * 6 + (signal.SIGTERM, signal.SIGINT)

RECORD = "record -o {out}/run.tdbrec -- sleep 1"
"""Ends with an error, since nothing is recorded; what it starts is there as long as it waits."""
ZOO = "zoo run {models} --store {out}/zoo.sqlite --jobs 2"

COMMANDS = (
    "info {model}",
    "dis {model}",
    "run {model} --inputs {inputs} --outputs {out}/outputs.npz",
    "run {model} --inputs {inputs} --hashes {out}/run.hashes",
    "check {model} --inputs {inputs} --reference {reference} --blame --report {out}/check.html",
    "check {model} --inputs {inputs} --reference {reference} --mode standalone --jobs 2 --report {out}/check.json",
    "sanitize {model} --inputs {inputs} --report {out}/sanitize.json",
    "profile {model} -o {out}/profile.json",
    "graph {model} -o {out}/graph.html",
    "explain {model} 21",
    "export {model} -o {out}/exported",
    "patch {model} -o {out}/patched.bmodel --set B3.res0_addr=0",
    "diff {model} {other}",
    "trace {model} --inputs {inputs} 'max(out[0]) at tpu.Conv2D' -o {out}/trace.csv",
    "llm {language} --ids 5,17 --tokens 2 --reference {language}/float",
    "weights {language} --reference {language}/float",
    ZOO,
    "share {model} --no-weights -o {out}/page.html",
    "debug {model} --inputs {inputs} -c c -c q",
    RECORD,
    "doctor",
    "backends",
    "targets",
)


@dataclass
class Kills:
    """``places``: what the commands are about; ``found``: what was wrong."""

    places: dict[str, Path]
    scratch: Path
    seconds: dict[str, float] = field(default_factory=dict)
    sizes: dict[str, dict[str, int]] = field(default_factory=dict)
    found: list[str] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)

    def start(self, line: str, out: Path, mark: str) -> subprocess.Popen[bytes]:
        """A command that writes into a new directory."""
        out.mkdir(exist_ok=True)
        words = [word.format(out=out, **self.places) for word in shlex.split(line)]
        environment = {**os.environ, "TMPDIR": str(self.scratch), MARK: mark}
        return subprocess.Popen(
            [sys.executable, "-m", "tdb_dap", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
            cwd=out,
            start_new_session=True,
        )

    def measure(self, line: str, out: Path) -> int:
        """Run it to its end; its exit code."""
        started = time.monotonic()
        code = self.start(line, out, "whole").wait()
        if code == 2 and line != RECORD:
            raise SystemExit(f"kills: error: does not run here: tdb-dap {line}")
        self.seconds[line] = time.monotonic() - started
        self.sizes[line] = sizes(out)
        shutil.rmtree(out)
        return code

    def kill(self, number: int, line: str, out: Path, share: float, how: signal.Signals) -> None:
        """Kill it after a share of its time, and look."""
        mark = str(number)
        process = self.start(line, out, mark)
        time.sleep(share * self.seconds[line])
        self.done["before its end" if process.poll() is None else "after its end"] += 1
        process.send_signal(how)
        process.wait()
        until = time.monotonic() + PATIENCE
        while (left := running(mark)) and time.monotonic() < until:
            time.sleep(0.05)
        what = f"{line}, {how.name} at {share:.0%} of {self.seconds[line]:.1f} s"
        for name in left:
            self.found.append(f"{what}: still runs: {name}")
        whole = self.sizes[line]
        for name, size in sizes(out).items():
            if (
                size != whole.get(name)
                and not is_unfinished(name)
                and not name.endswith((".sqlite", ".sqlite-wal", ".sqlite-shm", ".sqlite-journal"))
            ):
                self.found.append(f"{what}: {name} has {size:,} bytes, a whole one {whole.get(name, 0):,}")
        if any(map(is_unfinished, sizes(out))):
            self.done["unfinished files"] += 1
            self.start(line, out, "again").wait()
            if left := list(filter(is_unfinished, sizes(out))):
                self.found.append(f"{what}: the same command has left {', '.join(left)}")
        shutil.rmtree(out, ignore_errors=True)


_SECONDS = re.compile(rb'(?<="seconds":) *[\d.]+')


def sizes(folder: Path) -> dict[str, int]:
    """Bytes of the files in and below a folder, less the digits of the time that a report says it took."""
    return {
        str(path.relative_to(folder)): len(_SECONDS.sub(b"", path.read_bytes()))
        for path in folder.rglob("*")
        if path.is_file()
    }


def is_unfinished(name: str) -> bool:
    """Whether a file is a hidden one that is not done, or in such a folder."""
    return any(part.endswith(".part") for part in Path(name).parts)


def running(mark: str) -> list[str]:
    """Command lines of the processes that have a mark in their environment."""
    wanted, lines = f"{MARK}={mark}".encode(), []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and wanted in (process / "environ").read_bytes().split(b"\0"):
                lines.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:200])
        except OSError:
            continue  # it has ended, or is another user's
    return [line for line in lines if line]


def main() -> int:
    """Kill, and print what was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="write the figures into docs/hardening.md")
    arguments = parser.parse_args()
    random_numbers = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        scratch = home / "scratch"
        scratch.mkdir()
        models = home / "models"
        shutil.copytree(SAMPLE, models / "toy")
        places = {
            "model": models / "toy",
            "models": models,
            "inputs": SAMPLE / "input.npz",
            "reference": SAMPLE / "ref.npz",
            "other": DATA / "bm1684x" / "toy_bm1684x_int8",
            "language": Path(shutil.copytree(LANGUAGE, home / "language")),
        }
        kills = Kills(places, scratch)
        for number, line in enumerate(COMMANDS):
            code = kills.measure(line, home / f"whole{number}")
            print(f"{line}: {kills.seconds[line]:.1f} s, exit code {code}, {len(kills.sizes[line])} files", flush=True)
        with ThreadPoolExecutor(arguments.jobs) as pool:
            for number in range(arguments.kills):
                line = COMMANDS[number % len(COMMANDS)]
                share, how = random_numbers.random(), random_numbers.choice(SIGNALS)
                pool.submit(kills.kill, number, line, home / f"out{number}", share, how)
        before = len(list(scratch.iterdir()))
        kills.measure(ZOO, home / "last")
        left = sorted(path.name for path in scratch.iterdir())
    total = kills.done["before its end"] + kills.done["after its end"]
    said = (
        f"{total} kills of {len(COMMANDS)} commands, {kills.done['after its end']} of them too late; "
        f"{len(kills.found)} findings; {kills.done['unfinished files']} unfinished files, gone with the next of the "
        f"same name; {before} temporary files before the last command, {len(left)} after it"
    )
    print(said, *kills.found, *left, sep="\n")
    if arguments.write:
        figures.write("kills", [f"- {said}"])
    return int(bool(kills.found or left or total != arguments.kills))


if __name__ == "__main__":
    sys.exit(main())
