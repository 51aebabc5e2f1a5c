"""How long an editor waits: steps, the panes after a stop, long tensors, and a pause during a run.

    python benchmarks/dap.py [CONTEXT] [--inputs X.npz] [--runs N]

CONTEXT: default the bundled sample; the goals are for a transformer of 3,000 commands. Measured through the wire, from
the request to the last answer, as medians; of a step by op, the time that the chip's commands take (the same commands
run in process, behind each other) is subtracted.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
SAMPLE = ROOT / "tdb_dap" / "sample"
sys.path.insert(0, str(ROOT))

from wire import Adapter  # noqa: E402

import tdb_dap  # noqa: E402

GOALS = {
    "step by command": 5.0,
    "step by op, without computing": 10.0,
    "stack, scopes, variables": 20.0,
    "2,000 children": 10.0,
    "pause": 50.0,
}
"""Milliseconds."""


def milliseconds(since: float) -> float:
    return 1000 * (time.perf_counter() - since)


def step(adapter: Adapter, granularity: str) -> float:
    """From the request to the stopped event."""
    started = time.perf_counter()
    adapter.call("next", threadId=1, granularity=granularity)
    adapter.event("stopped")
    return milliseconds(started)


def panes(adapter: Adapter) -> float:
    """What an editor asks for after every stop."""
    started = time.perf_counter()
    frames = adapter.call("stackTrace", threadId=1, startFrame=0, levels=20)["stackFrames"]
    for scope in adapter.call("scopes", frameId=frames[0]["id"])["scopes"]:
        if not scope.get("expensive"):
            adapter.call("variables", variablesReference=scope["variablesReference"])
    return milliseconds(started)


def long_tensor(adapter: Adapter) -> float:
    """2,000 children of one axis."""
    found = adapter.call("evaluate", expression="R0:f32[2000]", context="watch")
    started = time.perf_counter()
    reference = found["variablesReference"]
    children = adapter.call("variables", variablesReference=reference, filter="indexed", start=0, count=2000)
    assert len(children["variables"]) == 2000
    return milliseconds(started)


def pause(adapter: Adapter, context: Path) -> list[float]:
    """From the request to the stopped event, at moments all over the run."""
    found: list[float] = []
    for part in range(10):
        adapter.call("restart")
        adapter.event("stopped")
        adapter.call("continue", threadId=1)
        time.sleep(0.02 + 0.03 * part)
        started = time.perf_counter()
        adapter.call("pause", threadId=1)
        stop = adapter.event("stopped")
        if stop["reason"] == "pause":
            found.append(milliseconds(started))
    return found


def computing(context: Path, inputs: Path | None, ops: int) -> list[float]:
    """What the engine takes for the same steps by op."""
    debugger = tdb_dap.open(context, inputs=inputs)
    found: list[float] = []
    for _ in range(ops):
        started = time.perf_counter()
        debugger.step(1, unit="op")
        found.append(milliseconds(started))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("context", nargs="?", type=Path, default=SAMPLE)
    parser.add_argument("--inputs", type=Path)
    parser.add_argument("--runs", type=int, default=40)
    arguments = parser.parse_args()
    ops = arguments.runs // 4  # the sample has no more than a dozen
    inputs = arguments.inputs or (SAMPLE / "input.npz" if arguments.context == SAMPLE else None)
    configuration: dict[str, Any] = {"stopOnExit": True, **({"inputs": str(inputs)} if inputs else {})}

    adapter = Adapter()
    adapter.initialize()
    adapter.launch(arguments.context, **configuration)
    found: dict[str, list[float]] = {"step by command": [], "stack, scopes, variables": []}
    for _ in range(min(arguments.runs, 50)):
        found["step by command"].append(step(adapter, "instruction"))
        found["stack, scopes, variables"].append(panes(adapter))
    adapter.call("restart")
    adapter.event("stopped")
    by_op = [step(adapter, "statement") for _ in range(ops)]
    alone = computing(arguments.context, inputs, ops)
    found["step by op, without computing"] = [max(0.0, a - b) for a, b in zip(by_op, alone, strict=True)]
    found["2,000 children"] = [long_tensor(adapter) for _ in range(10)]
    found["pause"] = pause(adapter, arguments.context)
    adapter.close()

    missed = False
    print(f"{'milliseconds':32} {'median':>8} {'worst':>8} {'goal':>8}")
    for name, goal in GOALS.items():
        values = found[name]
        if not values:
            print(f"{name:32} the run is too short")
            continue
        median = statistics.median(values)
        missed = missed or median > goal
        print(f"{name:32} {median:8.2f} {max(values):8.2f} {goal:8.0f}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
