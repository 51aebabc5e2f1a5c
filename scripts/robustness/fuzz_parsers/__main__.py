"""Run the targets of the parser fuzzer, each in its own process, and count what they reached.

    python -m scripts.robustness.fuzz_parsers [--seconds 60] [--jobs 1] [--seed 1] [--write] [NAME ...]

An input that breaks a target stays in build/fuzz/NAME/crash-... and can be tried again:

    python -m scripts.robustness.fuzz_parsers.one NAME SCRATCH build/fuzz/NAME/crash-...

Inputs that reached something new stay in build/fuzz/NAME/corpus, where the next run begins. ``--write`` puts the rows
of these targets into the table of docs/hardening.md. Exit code 1 if any target broke.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from scripts import figures
from scripts.robustness.fuzz_parsers.one import load
from scripts.robustness.fuzz_parsers.target import TARGETS

HOME = Path("build") / "fuzz"
LONGEST_SECONDS = 120
"""By the clock, for one input; ``attempt`` limits its processor time."""
MOST_MEGABYTES = 2048


@dataclass(frozen=True)
class Outcome:
    """``reached``: edges of the control flow of the instrumented package; ``broken``: what was printed at the end.

    ``lanes``: targets that shared the machine.
    """

    name: str
    what: str
    seconds: int
    lanes: int
    executions: int
    per_second: int
    reached: int
    inputs: int
    megabytes: int
    broken: str


def fuzz(name: str, seconds: int, lanes: int, seed: int) -> Outcome:
    """One target for a while; ``lanes``: how many run concurrently."""
    home = HOME / name.replace(" ", "-")
    corpus = home / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="tdb-dap-fuzz-") as scratch:
        command = [sys.executable, "-m", "scripts.robustness.fuzz_parsers.one", name, scratch, str(corpus.resolve())]
        command += [
            f"-max_total_time={seconds}",
            f"-seed={seed}",
            f"-timeout={LONGEST_SECONDS}",
            "-use_value_profile=1",
        ]
        command += [f"-rss_limit_mb={MOST_MEGABYTES}", "-print_final_stats=1", f"-artifact_prefix={home.resolve()}/"]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    return outcome(name, done.returncode, done.stderr + done.stdout, seconds, lanes)


def outcome(name: str, code: int, said: str, seconds: int, lanes: int) -> Outcome:
    """From what libFuzzer has printed."""

    def last(pattern: str) -> int:
        found = re.findall(pattern, said)
        return int(found[-1]) if found else 0

    broken = ""
    if code:
        causes = re.findall(r"^ === Uncaught Python exception: ===\n(.*)|^(==\d+== ERROR: .*)", said, re.MULTILINE)
        broken = "".join(causes[-1])[:200] if causes else said.strip().split("\n")[-1][:200]
    executions = max(last(r"number_of_executed_units: (\d+)"), last(r"#(\d+)\s"))
    about = (TARGETS[name].run.__doc__ or "").split("\n")[0].rstrip(".")
    found = last(r"average_exec_per_sec:\s+(\d+)") or executions // max(1, seconds)
    reached, inputs, megabytes = last(r"cov: (\d+)"), last(r"corp: (\d+)"), last(r"(\d+)Mb")
    return Outcome(name, about, seconds, lanes, executions, found, reached, inputs, megabytes, broken)


HEAD = (
    "| target | what | seconds | lanes | executions | per second | edges reached | MB | broken |",
    "|---|---|---:|---:|---:|---:|---:|---:|---|",
)


def row(outcome: Outcome) -> str:
    """Of the table, in Markdown."""
    o = outcome
    return (
        f"| {o.name} | {o.what} | {o.seconds:,} | {o.lanes} | {o.executions:,} | {o.per_second:,} | {o.reached:,} "
        f"| {o.megabytes:,} | {o.broken.replace('|', chr(92) + '|') or 'no'} |"
    )


def table(outcomes: list[Outcome], before: str) -> list[str]:
    """Markdown: these rows, and those of other targets in the table that was there before."""
    rows = {name: line for line, name in re.findall(r"^(\| ([^|]+) \| .*)$", before, re.MULTILINE)}
    rows.update((o.name, row(o)) for o in outcomes)
    return [*HEAD, *(rows[name] for name in TARGETS if name in rows)]


def main() -> int:
    """Run, print, and write the figures into the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="targets; default: all")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--jobs", type=int, default=1, help="targets at once")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="write the table into docs/hardening.md")
    arguments = parser.parse_args()
    load()
    names = arguments.names or list(TARGETS)
    if unknown := [name for name in names if name not in TARGETS]:
        parser.error(f"there is no target {', '.join(unknown)}; there are: {', '.join(TARGETS)}")
    outcomes: list[Outcome] = []
    lanes = min(arguments.jobs, len(names))
    with ThreadPoolExecutor(lanes) as pool:
        running = [pool.submit(fuzz, name, arguments.seconds, lanes, arguments.seed) for name in names]
        for done in as_completed(running):
            o = done.result()
            outcomes.append(o)
            print(
                f"{o.name:18} {o.executions:9,} executions, {o.per_second:6,}/s, {o.reached:6,} edges, "
                f"{o.inputs:5,} inputs, {o.megabytes:5,} MB{'  BROKEN: ' + o.broken if o.broken else ''}",
                flush=True,
            )
    if arguments.write:
        figures.write("fuzz", table(outcomes, figures.read("fuzz")))
    return int(any(o.broken for o in outcomes))


if __name__ == "__main__":
    sys.exit(main())
