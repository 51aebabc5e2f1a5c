"""Whether the answers of ``tdb-dap mcp`` are enough: an agent without a model looks for seeded faults.

    python benchmarks/agent.py [CONTEXT...] [--faults N] [--seed N] [--transcripts DIR] [--all]

CONTEXT: compilations with their stages, as benchmarks/triage.py takes them, besides the one that the tests have. The
faults (60, of each kind in turn, or of those that ``--kinds`` selects) are those of benchmarks/agent_faults.py. The
agent is a decision list: it sees the text of the answers, through the official client, and nothing else. A fault
counts if it names the op and the cause with at most 10 calls and 8,000 tokens of answers.

Tokens: an upper estimate, no model's own count. Each line break, each mark, each run of blanks beyond one, each begun 3
digits and each begun 4 letters count one; what is not ASCII counts one for each character.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import anyio

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

import mcp  # noqa: E402

from benchmarks.agent_faults import (  # noqa: E402
    COMMANDS,
    INTERPRETED,
    LOWERING,
    NAN,
    RACE,
    UNWRITTEN,
    WILD,
    Seeded,
    Task,
    bundled,
    seeded,
)
from benchmarks.agent_hosts import (  # noqa: E402
    EXCHANGED,
    LAYER,
    LENGTH,
    LOST,
    MASK,
    POSITION,
    ROW,
    SLOT,
    STALE,
    TOKEN,
)
from benchmarks.agent_weights import LOST as ZEROS  # noqa: E402
from benchmarks.agent_weights import NUMBER, ORDER, SCALE, SIGN, ZERO_POINTS  # noqa: E402
from tdb_dap.agent.server import make_server  # noqa: E402
from tdb_dap.agent.session import Session  # noqa: E402
from tdb_dap.system.notices import heard_by  # noqa: E402

MOST_CALLS = 10
MOST_TOKENS = 8000
WANTED = 0.9

_PIECE = re.compile(r"\n|[A-Za-z]{1,4}|[0-9]{1,3}|[^\sA-Za-z0-9]|[^\S\n]{2,}")


def tokens(text: str) -> int:
    """An upper estimate of the tokens of a text."""
    return len(_PIECE.findall(text))


class Refused(Exception):
    """The tool has answered with an error."""


Ask = Callable[..., Awaitable[str]]


@dataclass(frozen=True)
class Found:
    """What the agent says. ``ops``: names of tensors; two where two commands are not ordered."""

    ops: tuple[str, ...] = ()
    cause: str = ""


# The agent. It knows what the tools say, and nothing of how faults are made.

WAYS = {
    "does not mean what the stage before it says": LOWERING,
    "does not follow from the op as it is written": INTERPRETED,
    "the bmodel does not compute what its own op says": COMMANDS,
}
KINDS = {"bounds": WILD, "uninitialized": UNWRITTEN, "hazard": RACE, "nan": NAN}
GUESSES = {
    "zero points?": ZERO_POINTS,
    "the sign is wrong": SIGN,
    "times as large": SCALE,
    "rotated|exchanged|in another order": ORDER,
    "^one number": NUMBER,
    "^zeros": ZEROS,
}
"""What the answer on weights says of their numbers."""
GIVEN = {
    "^position_ids": POSITION,
    "^attention_mask": MASK,
    "^input_ids": TOKEN,
    "holds .* positions instead of": LENGTH,
    "of layer": LAYER,
    ": it holds the (keys|values)": EXCHANGED,
    ": its line is at|: it holds the line": SLOT,
    ": the line is not written": LOST,
    "_states.*: they are the states of": STALE,
}
"""What the answer on a recorded run says of the inputs of a launch."""


async def investigate(task: Task, ask: Ask) -> Found:
    """From the question of a user to an op and a cause."""
    if task.recording is not None:
        return await _judged_run(task, ask)
    if task.converted is not None:
        text = await ask("weights", directory=str(task.converted), reference=str(task.reference))
        wrong = re.search(r"^wrong: (\S+) in \S+: ([^;]*);", text, re.MULTILINE)
        if wrong is None:
            return Found()
        return Found((wrong[1],), next((cause for phrase, cause in GUESSES.items() if re.search(phrase, wrong[2])), ""))
    if task.folder is not None:
        text = await ask("triage", directory=str(task.folder))
        bug = re.search(r"^bug: (\S+) \([\w.]+ at [^)]*\): (.*)$", text, re.MULTILINE)
        if bug:
            return Found((bug[1],), next((cause for way, cause in WAYS.items() if way in bug[2]), ""))
        following = re.search(r"^next: open (.*); then \w+", text, re.MULTILINE)
        if following is None:
            return Found()
        opened = dict(part.split("=", 1) for part in following[1].split(", "))
    else:
        given = {"context": task.context, "inputs": task.inputs, "reference": task.reference}
        opened = {name: str(path) for name, path in given.items() if path is not None}
    await ask("open", **opened)
    text = await ask("sanitize")
    error = re.search(r"^error \[(\w+)\] (?:\S+ of \S+ (\S+) \(line \d+\)): (.*)$", text, re.MULTILINE)
    if error and error[1] == "hazard":
        other = re.match(r"\n  with \S+ of \S+ (\S+) \(line", text[error.end() :])
        return Found((error[2], other[1]) if other else (error[2],), RACE)
    if error and error[1] == "uninitialized":
        return Found((await _who_left_out(error[3], text, ask) or error[2],), UNWRITTEN)
    weight = re.search(r"^error \[nan\] \S+, of no op: .* from the weight (\S+), in which", text, re.MULTILINE)
    if error is None and weight is not None:
        return Found((weight[1],), NAN)
    if error and error[1] in KINDS:
        return Found((error[2],), KINDS[error[1]])
    text = await ask("check")
    first = re.search(r"first at fault is (\S+) \(", text)
    return Found((first[1],), COMMANDS) if first else Found()


async def _judged_run(task: Task, ask: Ask) -> Found:
    """The launch of a recorded run that first gets something wrong, and the reason."""
    ids = ",".join(map(str, task.prompt))
    paths = {"directory": task.converted, "reference": task.reference, "recording": task.recording}
    text = await ask("judge_model", ids=ids, **{name: str(path) for name, path in paths.items()})
    wrong = re.search(r"^first wrong: token (\d+), (\S+) \(launch \d+\): it is given (.*)$", text, re.MULTILINE)
    if wrong is None:
        return Found()
    cause = next((cause for phrase, cause in GIVEN.items() if re.search(phrase, wrong[3])), "")
    if cause == STALE and f" at token {wrong[1]}, " in wrong[3]:
        cause = ROW
    return Found((f"{wrong[2]} at token {wrong[1]}",), cause)


async def _who_left_out(finding: str, answer: str, ask: Ask) -> str:
    """The op that should have written the bytes that a command takes.

    If others of them are right, their writer has written too few, unless the reader reads beyond the buffers of its op.
    If none is, somebody has written elsewhere, which nobody reads, or the reader reads at the wrong place.
    """
    taken = re.search(r"(\S+) \S+ takes ([\d,]+) of ([\d,]+) bytes from (\S+) .*? as (\w+)", finding)
    if taken is None:
        return ""
    if taken[2] == taken[3] and (unused := re.search(r"^warning \[unused\] \S+ of \S+ (\S+) \(", answer, re.M)):
        return unused[1]
    if reaches := re.search(rf"^warning \[bounds\] {taken[1]} of \S+ (\S+) \(.*: beyond the buffers of", answer, re.M):
        return reaches[1]
    text = await ask("explain", place=taken[1])
    reader = re.search(r"^belongs to \S+ (\S+), line", text, re.MULTILINE)
    writer = re.search(rf"^reads +{taken[5]}: .* written by ([A-Z]\d\S*)", text, re.MULTILINE)
    if writer and taken[2] != taken[3]:
        text = await ask("explain", place=writer[1])
        op = re.search(r"^belongs to \S+ (\S+), line", text, re.MULTILINE)
        if op:
            return op[1]
    return reader[1] if reader else ""


# The judge


@dataclass
class Record:
    """One investigation: ``said`` has each call and its answer; ``tokens`` are those of the answers."""

    said: list[str] = field(default_factory=list)
    calls: int = 0
    tokens: int = 0
    outcome: str = ""


async def watched(task: Task, folder: Path, record: Record) -> Found:
    """Let the agent investigate through a client; every call is recorded."""
    session = Session([folder])
    try:
        async with mcp.Client(make_server(session)) as client:

            async def ask(tool: str, /, **arguments: Any) -> str:
                result = await client.call_tool(tool, arguments)
                text: str = result.content[0].text  # type: ignore[union-attr]
                record.calls += 1
                record.tokens += tokens(text)
                shown = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
                record.said.append(f"> {tool}({shown})\n{text}\n".replace(str(folder), "."))
                if result.is_error:
                    raise Refused(text)
                return text

            try:
                return await investigate(task, ask)
            except Refused:
                return Found()
    finally:
        session.close()


def judged(one: Seeded, found: Found, record: Record) -> str:
    """``right``, or what is not."""
    if record.calls > MOST_CALLS:
        return f"{record.calls} calls"
    if record.tokens > MOST_TOKENS:
        return f"{record.tokens:,} tokens"
    if not one.tensors & set(found.ops):
        return f"op: {' or '.join(found.ops) or 'none'} instead of {' or '.join(sorted(one.tensors))}"
    return "right" if found.cause in one.causes else f"cause: {found.cause} instead of {' or '.join(one.causes)}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("contexts", metavar="CONTEXT", nargs="*", type=Path)
    parser.add_argument("--faults", type=int, default=60)
    parser.add_argument("--kinds", default="", help="only those whose names match this regular expression")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--transcripts", metavar="DIR", type=Path, help="keep every call and answer in this folder")
    parser.add_argument("--all", action="store_true", help="a line for the right answers, too")
    given = parser.parse_args()
    random = Random(given.seed)
    counts: Counter[str] = Counter()
    right: Counter[str] = Counter()
    records: list[Record] = []
    with tempfile.TemporaryDirectory() as scratch:
        pool = seeded([bundled(Path(scratch)), *given.contexts], random)
        pool = {kind: faults for kind, faults in pool.items() if re.search(given.kinds, kind)}
        for kind in [k for k in pool if not pool[k]]:
            print(f"{kind}: none can be made here")
        while len(records) < given.faults and any(pool.values()):
            for kind in pool:
                if len(records) == given.faults:
                    break
                record = next_of(pool[kind])
                if record is None:
                    continue
                one, said = record
                records.append(said)
                counts[kind] += 1
                right[kind] += said.outcome == "right"
                if given.all or said.outcome != "right":
                    print(f"{len(records)}. {kind}: {one.model}: {one.text}: {said.outcome}", flush=True)
                if given.transcripts is not None:
                    keep(given.transcripts / f"{len(records):02}-{kind.replace(' ', '-')}.txt", one, said)
    print(f"{'kind':24}{'named':>10}")
    for kind, count in counts.items():
        print(f"{kind:24}{f'{right[kind]} of {count}':>10}")
    good = sum(right.values())
    print(
        f"{good} of {len(records)} faults named, op and cause: {good / max(1, len(records)):.0%}; calls "
        f"{_spread([record.calls for record in records])}, tokens {_spread([record.tokens for record in records])}"
    )
    print(f"start of the server to its list of tools: {started():.2f} s")
    return int(good < WANTED * len(records))


def started() -> float:
    """Seconds from the start of the server to its list of tools, the middle of five."""

    async def once() -> float:
        begun = time.perf_counter()
        words = mcp.StdioServerParameters(command=sys.executable, args=["-m", "tdb_dap", "mcp"])
        async with mcp.Client(mcp.stdio_client(words)) as client:
            await client.list_tools()
            return time.perf_counter() - begun

    return statistics.median(anyio.run(once) for _ in range(5))


def next_of(faults: list[Seeded]) -> tuple[Seeded, Record] | None:
    """Investigate the next fault that has an effect; None if there is no more."""
    while faults:
        one = faults.pop()
        with tempfile.TemporaryDirectory() as folder:
            task = one.make(Path(folder))
            if task is None:
                continue
            record = Record()
            found = anyio.run(watched, task, Path(folder), record)
            record.outcome = judged(one, found, record)
            record.said.append(f"= {' or '.join(found.ops) or 'no op'}: {found.cause or 'no cause'}\n")
            return one, record
    return None


def keep(path: Path, one: Seeded, record: Record) -> None:
    """Write a transcript."""
    path.parent.mkdir(parents=True, exist_ok=True)
    head = f"{one.kind}: {one.model}: {one.text}\n{record.outcome}; {record.calls} calls, {record.tokens:,} tokens\n"
    path.write_text("\n".join([head, *record.said]), "utf-8")


def _spread(values: list[int]) -> str:
    ordered = sorted(values) or [0]
    return f"{ordered[len(ordered) // 2]:,} in the middle, {ordered[-1]:,} at most"


if __name__ == "__main__":
    with heard_by(lambda text: None):
        raise SystemExit(main())
