"""How large a model can be opened: commands, source lines and records, beside the vendor's disassembler.

    python benchmarks/decode.py [--commands N] [--chips CHIP,...] [--vendor-python PYTHON]

A model of N commands of each chip is made from the streams of a small one, one after another with ids that go on
(BM1684 and CV18xx: at most 65,535, as their ids have 16 bits); final.mlir and tensor_location.json are made the
same way. Each measurement runs in a separate process. The vendor's bmodel_dis (``--vendor-python``: a Python 3.10 in
which tpu_mlir is installed; default: $TDB_VENDOR_PYTHON; left out if there is none) and ``tdb-dap dis --format tdb``
list the same file of 20,000 commands, one right after the other.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from tdb_dap.engine.bmodel.writing import Stream
    from tdb_dap.engine.commands.commands import Command
    from tdb_dap.engine.program.program import Program

ROOT = Path(__file__).parent.parent
SAMPLE = ROOT / "tdb_dap" / "sample"
DATA = ROOT / "tests" / "data"
MODELS = {
    "BM1684": DATA / "bm1684" / "toy_bm1684_int8",
    "BM1684X": SAMPLE,
    "BM1688": DATA / "bm1688" / "toy_bm1688_int8",
    "BM1690": DATA / "bm1690" / "toy_bm1690_int8",
    "BM1690E": DATA / "bm1690" / "toy_bm1690_int8",  # the same streams under another name
    "BM1684X2": DATA / "chips" / "bm1684x2" / "toy_bm1684x2_int8",
    "CV184X": DATA / "chips" / "cv184x" / "toy_cv184x_int8",
    "SGTPUV8": DATA / "chips" / "sgtpuv8" / "toy_sgtpuv8_int8",
    "SG2380": DATA / "chips" / "sg2380" / "toy_sg2380_f16",
    "CV181X": DATA / "chips" / "cv181x" / "toy_cv181x_int8",
    "CV183X": DATA / "chips" / "cv183x" / "toy_cv183x_int8",
}
"""A small model of each chip, on one core."""
sys.path.insert(0, str(ROOT))

# What is measured runs in a fresh process and prints one JSON object.
PROBE = """
import json, random, resource, sys, time
from pathlib import Path
what, path = sys.argv[1], Path(sys.argv[2])
import tdb_dap.tools.opening, tdb_dap.tools.disassemble.vendor_module
from tdb_dap.engine.source import mlir_file, source_map
def peak():
    if sys.platform == "linux":  # its getrusage begins with what the parent held
        status = Path("/proc/self/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024 / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
before = peak()
start = time.perf_counter()
found = {}
if what == "open":
    program = tdb_dap.tools.opening.open_program(path)
    found = {"seconds": time.perf_counter() - start, "commands": len(program.commands)}
    for name, ask in (("text", lambda c: c.asm), ("fields", lambda c: c.fields), ("views", lambda c: c.results)):
        times = []
        for ordinal in random.Random(1).sample(range(len(program.commands)), 2000):
            begin = time.process_time()
            ask(program.commands[ordinal])
            times.append(time.process_time() - begin)
        found[name] = sorted(times)[len(times) // 2]
        found[name + " 99%"] = sorted(times)[len(times) * 99 // 100]
elif what == "mlir":
    file = mlir_file.MlirFile.read(path)
    found = {"seconds": time.perf_counter() - start, "lines": len(file.lines)}
elif what == "locations":
    program = tdb_dap.tools.opening.open_program(path)
    found = {"seconds": time.perf_counter() - start, "records": len(program.source.records)}
    assert program.source.records[-1].operands
elif what == "list":
    with open(sys.argv[3], "w") as file:
        file.writelines(f"{line}\\n" for line in tdb_dap.tools.disassemble.vendor_module.vendor_lines(
            tdb_dap.tools.opening.open_program(path)))
    found = {"seconds": time.perf_counter() - start}
print(json.dumps({**found, "peak MB": peak(), "before MB": before}))
"""

VENDOR = """
import sys, os, tpu_mlir
sys.path.insert(0, os.path.join(os.path.dirname(tpu_mlir.__file__), "python", "tools"))
sys.argv = ["bmodel_dis", sys.argv[1]]
import runpy
runpy.run_path(os.path.join(sys.path[0], "bmodel_dis.py"), run_name="__main__")
"""


def probe(what: str, *paths: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", PROBE, what, *map(str, paths)], stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT
    )
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured


def repeated(path: Path, commands: int, chip: str = "BM1684X") -> tuple[Path, int]:
    """A bmodel of at least that many commands: a small model's streams again and again; and how often."""
    from tdb_dap.engine.bmodel.writing import Model
    from tdb_dap.tools.programs import open_program

    program = open_program(MODELS[chip])
    times = -(-commands // len(program.commands))
    at_once = _most(program, times)
    made = [_streams(program, min(at_once, times - start)) for start in range(0, times, at_once)]
    stage = program.stage
    regions = (stage.activations_address, stage.activations_size)
    return Model(chip, *made[0], activations=regions, further=made[1:]).write(path), times


def repeated_cvimodel(path: Path, commands: int, chip: str) -> Path:
    """A cvimodel of at least that many commands: a small model's stream repeated, appended to its other sections."""
    from tdb_dap.engine.cvimodel.file import COMMANDS, Cvimodel
    from tdb_dap.tools.programs import open_program

    program = open_program(MODELS[chip])
    small = path.with_name("small.cvimodel")
    small.write_bytes(lzma.decompress((MODELS[chip] / "model.cvimodel.xz").read_bytes()))
    model, data = Cvimodel(small), bytearray(small.read_bytes())
    section = next(each for each in model.description.sections if each.kind == COMMANDS)
    span, own, chosen = (
        model.span_of(section),
        _own(program),
        [c for c in program.commands if c.engine in ("tiu", "dma")],
    )
    times = -(-commands // len(chosen))
    stream = np.tile(np.frombuffer(data, np.uint8)[span.start : span.start + span.size], (times, 1))
    encoded = program.commands.encoded
    assert encoded is not None
    rounds = np.arange(times) % (0xFFFF // max(len(commands) for commands in own.values()))  # ids begin again at 1
    for command in chosen:
        fields = program.target.instruction_set.instructions[command.kind].by_name
        for name, of in _id_fields(program, command.engine):
            if command.fields.get(name):
                numbers = command.fields[name] + len(own[of]) * rounds
                _put(stream, int(encoded.offsets[command.ordinal]) - span.start, fields[name], numbers)
    # The description contains size and start of the stream next to each other, and that pair only once.
    head, pair = data[: model.sections_start], struct.Struct("<II")
    assert head.count(pair.pack(section.size, section.start)) == 1
    pair.pack_into(data, head.find(pair.pack(section.size, section.start)), stream.size, len(data) - len(head))
    path.write_bytes(bytes(data) + stream.tobytes())
    return path


def _own(program: Program) -> dict[str, list[Command]]:
    return {engine: [c for c in program.commands if c.engine == engine] for engine in ("tiu", "dma")}


def _id_fields(program: Program, engine: str) -> list[tuple[str, str]]:
    """Fields that hold ids, and the engine that they are of."""
    target, other = program.target, {"tiu": "dma", "dma": "tiu"}[engine]
    return [(name, engine) for name in target.id_fields] + [(name, other) for name in target.dependency_fields]


def _most(program: Program, times: int) -> int:
    """How often the streams may be repeated before an id is wider than its field."""
    own = _own(program)
    for engine, commands in own.items():
        for command in commands:
            fields = program.target.instruction_set.instructions[command.kind].by_name
            for name, of in _id_fields(program, engine):
                if name in fields:
                    times = min(times, ((1 << fields[name][2]) - 1) // len(own[of]))
    return times


def _streams(program: Program, times: int) -> tuple[Stream, Stream]:
    """The streams of both engines, so many times."""
    from tdb_dap.engine.bmodel.writing import Stream

    own = _own(program)
    made: list[Stream] = []
    for engine, chosen in own.items():
        data = np.tile(np.frombuffer(b"".join(c.descriptor for c in chosen), np.uint8), (times, 1))
        position = 0
        for command in chosen:
            instruction = program.target.instruction_set.instructions[command.kind]
            for name, of in _id_fields(program, engine):
                if command.fields.get(name):
                    numbers = command.fields[name] + len(own[of]) * np.arange(times)
                    _put(data, position, instruction.by_name[name], numbers)
            position += instruction.size
        made.append(Stream(data.tobytes(), times * len(chosen)))
    return made[0], made[1]


def _put(data: np.ndarray, position: int, field: tuple[str, int, int], numbers: np.ndarray) -> None:
    """Write a field of up to 32 bits into one command of every repetition."""
    _, bit, width = field
    first = position + bit // 8
    words = np.zeros(len(data), np.uint64)
    for i in range(8):
        words |= data[:, first + i].astype(np.uint64) << np.uint64(8 * i)
    mask = np.uint64(((1 << width) - 1) << bit % 8)
    words = words & ~mask | (numbers.astype(np.uint64) << np.uint64(bit % 8)) & mask
    for i in range(8):
        data[:, first + i] = (words >> np.uint64(8 * i)).astype(np.uint8)


def large_mlir(path: Path, megabytes: int) -> Path:
    lines = (SAMPLE / "final.mlir").read_text().splitlines(keepends=True)
    first = next(i for i, line in enumerate(lines) if '"tpu.' in line)
    last = max(i for i, line in enumerate(lines) if '"tpu.' in line)
    body = "".join(line for line in lines[first : last + 1] if line.lstrip().startswith("%"))
    with path.open("w") as file:
        file.writelines(lines[:first])
        for _ in range(megabytes * 1_000_000 // len(body)):
            file.write(body)
        file.writelines(lines[last + 1 :])
    return path


def large_locations(directory: Path, megabytes: int) -> Path:
    """A context of a bmodel and a tensor_location.json of that size; without final.mlir, whose lines would not fit."""
    records = json.loads(lzma.decompress((SAMPLE / "tensor_location.json.xz").read_bytes()))
    size = len(json.dumps(records, indent=2))
    times = int(1.1 * megabytes * 1_000_000 / size)
    ends = [max(record["tiu_dma_id(after)"][engine] for record in records) for engine in (0, 1)]
    from tdb_dap.tools.programs import open_program

    count = len(open_program(SAMPLE).commands)
    repeated(directory / "compilation.bmodel", times * count)
    with (directory / "tensor_location.json").open("w") as file:
        file.write("[")
        for turn in range(times):
            for index, record in enumerate(records):
                moved = dict(record)
                for key in ("tiu_dma_id(before)", "tiu_dma_id(after)"):
                    moved[key] = [n + turn * end for n, end in zip(record[key], ends, strict=True)]
                file.write(("," if turn or index else "") + json.dumps(moved, indent=2))
        file.write("]")
    return directory


def row(name: str, value: str, goal: str = "") -> None:
    print(f"{name:52} {value:>22}  {goal}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commands", type=int, default=1_000_000)
    parser.add_argument("--chips", default=",".join(MODELS), help="chips of which that many commands are opened")
    parser.add_argument("--vendor-python", default=os.environ.get("TDB_VENDOR_PYTHON"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for chip in options.chips.upper().split(","):
            opened(folder / "large.bmodel", options.commands, chip)
        mlir = large_mlir(folder / "final.mlir", 50)
        measured = probe("mlir", mlir)
        size = mlir.stat().st_size / 1e6
        row(
            f"index final.mlir of {size:,.0f} MB, {measured['lines']:,} lines",
            f"{measured['seconds']:.2f} s",
            "goal 2 s",
        )
        context = folder / "context"
        context.mkdir()
        large_locations(context, 200)
        measured = probe("locations", context)
        size = (context / "tensor_location.json").stat().st_size / 1e6
        name = f"open with tensor_location.json of {size:,.0f} MB, {measured['records']:,} records"
        row(name, f"{measured['seconds']:.2f} s", "goal 5 s")
        row("  peak memory", f"{measured['peak MB']:,.0f} MB", f"goal {3 * size:,.0f} MB")
        small, _ = repeated(folder / "small.bmodel", 20_000)
        ours = probe("list", small, folder / "ours.txt")
        row("list 20,000 commands in the vendor's words", f"{ours['seconds']:.2f} s")
        if not options.vendor_python:
            print("the vendor's bmodel_dis was not measured: no Python with tpu_mlir given (--vendor-python)")
            return
        theirs = vendor(options.vendor_python, small, folder / "theirs.txt")
        row("  the vendor's bmodel_dis on the same file", f"{theirs:.2f} s", f"{theirs / ours['seconds']:.1f}x ours")
        same = (folder / "ours.txt").read_text().split() == (folder / "theirs.txt").read_text().split()
        row("  the texts are", "equal" if same else "DIFFERENT")


def opened(path: Path, commands: int, chip: str) -> None:
    if (MODELS[chip] / "model.cvimodel.xz").exists():
        model = repeated_cvimodel(path.with_suffix(".cvimodel"), commands, chip)
    else:
        model, _ = repeated(path, commands, chip)
    measured = probe("open", model)
    size = model.stat().st_size / 1e6
    name = f"{chip}: open {measured['commands']:,} commands ({size:,.0f} MB)"
    row(name, f"{measured['seconds']:.2f} s", "goal 5 s")
    row("  peak memory", f"{measured['peak MB']:,.0f} MB", "goal 600 MB")
    for name in ("text", "fields", "views"):
        text = f"{measured[name] * 1e6:,.0f} µs, {measured[name + ' 99%'] * 1e6:,.0f} µs"
        row(f"  one command's {name}: median, 99 %", text, "goal 1,000 µs")


def vendor(python: str, model: Path, output: Path) -> float:
    """Seconds from loading the module to the end of the text."""
    start = time.perf_counter()
    with output.open("w") as file:
        subprocess.run(
            [python, "-c", VENDOR, str(model)],
            stdout=file,
            cwd=model.parent,
            check=True,
            env={**os.environ, "PATH": f"{Path(python).parent}:{os.environ['PATH']}"},
        )
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
