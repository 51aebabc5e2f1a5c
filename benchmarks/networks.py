"""Real networks: this project, an older state of it, ONNX Runtime and the vendor's simulator, one after the other.

    python benchmarks/networks.py --models DIR [NAME ...] [--for CHIP:FORMAT ...] [--vendor-python PYTHON]
                                  [--old DIR] [--vendor [NAME ...]] [--rounds N] [--json FILE]

NAME: networks of benchmarks/vendor_models.py; none: ResNet-18, MobileNetV2, a detector, Swin, a toy. They are compiled
into ``--models`` once with the vendor's tools (``--vendor-python`` or $TDB_VENDOR_PYTHON; their environment brings ONNX
Runtime as well). ``--old``: a clone of this project at another commit, installed in place with its kernel.
``--vendor``: the vendor's library, too, of all networks or of those named; it takes minutes, as does NumPy alone on
large networks (``--skip numpy``).

Seconds of wall time, the best of several runs, each in a separate process. What is compared takes turns, ``--rounds``
times, and the best of each counts: a machine that is slower for a while is slower for all of them.
  run      from the first command to the last, without history, after a first run
  numpy    the same without the C kernel
  old      as ``run``, by the project in ``--old``
  onnx     ONNX Runtime on the processor: the same network in float32, or quantised to 8 bits with one scale per channel
           and the ranges of the same input; it has no float16 of its own on a processor
  vendor   the vendor's library executing every command
``of onnx``: how many times as long as ONNX Runtime we take; ``than old``, ``than vendor``: how many times as fast.
The outputs of ``run``, ``numpy`` and ``old`` are compared bit by bit: any difference ends the benchmark with code 1.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from simulate import HERE, VENDOR, measured

NETWORKS = ["resnet18", "mobilenet", "detector", "swin", "toy"]

OURS = """
import hashlib, json, sys, time
sys.path[:] = [place for place in sys.path if place]  # not the project in the current directory
from tdb_dap.tools.opening import open_debugger
from tdb_dap.targets import kernel
context, runs = sys.argv[1], int(sys.argv[2])
debugger = open_debugger(context, context + "/input.npz", history_limit=0)
seconds = []
while len(seconds) <= runs or (sum(seconds) < 1 and len(seconds) < 100):
    debugger.machine.reset()
    start = time.perf_counter()
    stop = debugger.run()
    seconds.append(time.perf_counter() - start)
    if stop.reason != "end":
        raise SystemExit(stop.text)
digest = hashlib.sha256()
for tensor in debugger.program.outputs:
    digest.update(debugger.machine.memory.read(tensor.view).tobytes())
print(json.dumps({"seconds": min(seconds[1:]), "outputs": digest.hexdigest(), "how": kernel.describe()}))
"""

ONNX = """
import json, os, sys, time, types
import numpy as np
import onnxruntime
try:  # the vendor's environment may have a stand-in of a few lines, which the quantiser does not expect
    import torch
    torch.nn = getattr(torch, "nn", types.SimpleNamespace(Module=object))
except ImportError:
    pass
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
model, inputs, form, runs = sys.argv[1], dict(np.load(sys.argv[2])), sys.argv[3], int(sys.argv[4])

class Once(CalibrationDataReader):
    given = iter([inputs])
    def get_next(self):
        return next(self.given, None)

if form == "int8":
    quantised = model[:-5] + "_int8.onnx"
    if not os.path.exists(quantised):
        quantize_static(model, quantised, Once(), quant_format=QuantFormat.QDQ, per_channel=True,
                        weight_type=QuantType.QInt8, activation_type=QuantType.QUInt8)
    model = quantised
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = len(os.sched_getaffinity(0))
session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
seconds = []
while len(seconds) <= 3 * runs or (sum(seconds) < 1 and len(seconds) < 300):
    start = time.perf_counter()
    session.run(None, inputs)
    seconds.append(time.perf_counter() - start)
print(json.dumps({"seconds": min(seconds[1:])}))
"""


def better(before: dict[str, Any] | None, now: dict[str, Any]) -> dict[str, Any]:
    """The faster of two measurements; outputs that differ between them are kept as different."""
    if before is None:
        return now
    best = min(before, now, key=lambda each: each["seconds"])
    if before.get("outputs") != now.get("outputs"):
        best = {**best, "outputs": f"{before['outputs']} {now['outputs']}"}
    return best


def compare(context: Path, options: argparse.Namespace) -> dict[str, Any]:
    """All times of one network in one format."""
    name, *_, form = context.name.split("_")
    row: dict[str, Any] = {"model": context.name}
    for number in range(options.rounds):
        for how, switch, place in (("run", "1", HERE.parent), ("numpy", "0", HERE.parent), ("old", "1", options.old)):
            if place is None or how in options.skip or (how == "numpy" and number):
                continue
            count = "1" if how == "numpy" else str(options.runs)
            command = [sys.executable, "-c", OURS, str(context), count]
            row[how] = better(row.get(how), measured(command, TDB_DAP_KERNEL=switch, PYTHONPATH=str(place)))
        if form in ("f32", "int8") and "onnx" not in options.skip:
            model = options.models / "work" / name / f"{name}.onnx"
            command = [
                options.vendor_python,
                "-c",
                ONNX,
                str(model),
                str(context / "input.npz"),
                form,
                str(options.runs),
            ]
            row["onnx"] = better(row.get("onnx"), measured(command))
    if options.vendor is not None and (not options.vendor or name in options.vendor):
        path = f"{Path(options.vendor_python).parent}:{os.environ['PATH']}"
        command = [options.vendor_python, "-c", VENDOR, str(context), str(context / "input.npz"), "1"]
        row["vendor"] = measured(command, PATH=path)
    return row


def line(row: dict[str, Any]) -> str:
    text = f"{row['model']:22}"
    for how in ("run", "numpy", "old", "onnx", "vendor"):
        text += f" {row[how]['seconds']:9.4f}" if how in row else f" {'-':>9}"
    ours = row["run"]["seconds"]
    text += f" {ours / row['onnx']['seconds']:9.1f}x" if "onnx" in row else f" {'-':>10}"
    for how in ("old", "vendor"):
        text += f" {row[how]['seconds'] / ours:9.1f}x" if how in row else f" {'-':>10}"
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=NETWORKS, metavar="NAME")
    parser.add_argument("--models", type=Path, default=HERE.parent / "build" / "models", help="where to compile")
    parser.add_argument("--vendor-python", default=os.environ.get("TDB_VENDOR_PYTHON"))
    parser.add_argument(
        "--for", dest="targets", nargs="*", metavar="CHIP:FORMAT", help="compile for these (cv181x:INT8)"
    )
    parser.add_argument("--old", type=Path, help="a clone at another commit, with its kernel built")
    parser.add_argument("--vendor", nargs="*", metavar="NAME", help="measure the vendor's library, too")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is measured, by turns")
    parser.add_argument("--skip", nargs="*", default=[], choices=["numpy", "onnx"], help="leave out what takes long")
    parser.add_argument("--runs", type=int, default=5, help="at least; short ones are repeated for a second")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    options = parser.parse_args()
    if not options.vendor_python:
        parser.error("the vendor's tools compile the networks: give their interpreter as --vendor-python")
    maker = [options.vendor_python, str(HERE / "vendor_models.py"), str(options.models), *options.names]
    maker += ["--for", *options.targets] if options.targets else []
    path = f"{Path(options.vendor_python).parent}:{os.environ['PATH']}"
    contexts = [Path(found) for found in measured(maker, PATH=path)["contexts"]]
    columns = "".join(f" {how:>9}" for how in ("run", "numpy", "old", "onnx", "vendor"))
    print(f"{'seconds':22}{columns} {'of onnx':>10} {'than old':>10} {'than vendor':>10}")
    rows = []
    for context in contexts:
        rows.append(compare(context, options))
        print(line(rows[-1]), flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    different = [
        row["model"] for row in rows if len({row[how]["outputs"] for how in ("run", "numpy", "old") if how in row}) > 1
    ]
    if different:
        print(f"outputs differ: {', '.join(different)}")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
