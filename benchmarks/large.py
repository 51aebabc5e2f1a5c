"""Large things: how long the first stop takes, and what memory, beside reading the files once.

    python benchmarks/large.py [--commands N] [--reference MB] [--keep DIR]

Made of the bundled sample: its commands again and again (each time with ops, lines and names of their own), weights up
to a bmodel of 40 MB, a final.mlir of 50 MB, and a reference of all tensors and some of 300 MB, once stored and once
deflated. Measured through the wire, each in an adapter of its own:

  first stop   from the process to the stopped event; ``files``: reading all files once, unpacked where they are packed
  memory       largest resident size at that time, beside what an adapter takes without a program; the goal is 1.5 times
               the model's own regions and files of text
  compare      a step over an op and what an editor asks for then, beside the reference
  slice        4 MB of a tensor of 300 MB: seconds and megabytes read, in process
"""

from __future__ import annotations

import argparse
import json
import lzma
import re
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from decode import SAMPLE, _own, _put, _streams  # noqa: E402
from wire import Adapter  # noqa: E402

from tdb_dap.engine.bmodel.writing import Border, Model, Stream  # noqa: E402
from tdb_dap.engine.machine.npz import LargeNpz, open_npz, read_npz, write_npz  # noqa: E402
from tdb_dap.tools.opening import open_program  # noqa: E402

_ADDRESS = re.compile(r"\b42950\d{5}\b")
_BMODEL, _MLIR = 40_000_000, 50_000_000
_PARTS = (("l32", "h8"), ("h32", "l8"))
_PLANES = 75
"""Slices that the largest tensor has, of 4 MB."""


class Made:
    """The files of a large model in a folder. ``weight_bytes``, ``text_bytes``: sizes that are filled up to."""

    weight_bytes, text_bytes = _BMODEL, _MLIR

    def __init__(self, folder: Path, commands: int, megabytes: int) -> None:
        self.folder = folder
        self.program = open_program(SAMPLE)
        self.times = -(-commands // len(self.program.commands))
        self.records = json.loads(lzma.decompress((SAMPLE / "tensor_location.json.xz").read_bytes()))
        tensors = read_npz(SAMPLE / "ref.npz")
        self.tensors = {name: array for name, array in tensors.items() if name != "x"}
        size = sum(array.nbytes for array in self.tensors.values())
        self.named = max(1, min(self.times, (megabytes * 1_000_000 - _PLANES * (4 << 20)) // size))
        self.rest = megabytes * 1_000_000 - self.named * size
        self.context()
        self.references = {"stored": self.reference(packed=False), "deflated": self.reference(packed=True)}

    @property
    def moved(self) -> int:
        """How far the activations are after their place in the sample, since there are more weights before them."""
        return max(0, -(-(self.weight_bytes - 100 * len(self.program.commands) * self.times) // 4096) * 4096)

    def name(self, name: str, turn: int) -> str:
        """Each turn has names of its own; of those beyond the reference nobody knows what they should be."""
        return f"layers.{turn}/{name}"

    def context(self) -> None:
        (self.folder / "compilation.bmodel").write_bytes(b"")
        self.bmodel(self.folder / "compilation.bmodel")
        lines = self.mlir(self.folder / "final.mlir")
        self.locations(self.folder / "tensor_location.json", lines)

    def bmodel(self, path: Path) -> None:
        program, stage = self.program, self.program.stage
        streams = list(_streams(program, self.times))
        dma = np.frombuffer(streams[1].data, np.uint8).reshape(self.times, -1).copy()
        position = 0
        for command in _own(program)["dma"]:
            instruction = program.target.instruction_set.instructions[command.kind]
            # The table calls the two parts of an address differently in its two forms.
            for side, (low, high) in product(("src", "dst"), _PARTS):
                number = command.fields.get(f"{side}_start_addr_{low}", 0)
                upper = command.fields.get(f"{side}_start_addr_{high}", 0) << 32
                if 0 <= number + upper - stage.activations_address < stage.activations_size:
                    field = instruction.by_name[f"{side}_start_addr_{low}"]
                    _put(dma, position, field, np.full(self.times, number + self.moved))
            position += instruction.size
        own = bytes(program.bmodel.bytes_of(stage.weights, "the weights"))
        Model(
            program.chip,
            streams[0],
            Stream(dma.tobytes(), streams[1].count),
            inputs=[Border(tensor.name, tensor.shape, tensor.address + self.moved) for tensor in stage.inputs],
            activations=(stage.activations_address + self.moved, stage.activations_size),
            weights=(stage.weights_address, own.ljust(len(own) + self.moved, b"\0")),
        ).write(path)

    def mlir(self, path: Path) -> int:
        """final.mlir; the number of lines of each turn."""
        lines = (SAMPLE / "final.mlir").read_text().splitlines(keepends=True)
        lines = [_ADDRESS.sub(self._moved, line) for line in lines]
        first = next(i for i, line in enumerate(lines) if '"tpu.Group"' in line)
        last = next(i for i, line in enumerate(lines) if '"tpu.Softmax"' in line)
        end = next(i for i, line in enumerate(lines) if i > last and line.startswith("#loc"))
        self.first = first + 1
        body = lines[first : last + 1]
        padding = max(0, self.text_bytes // self.times - len("".join(body)) - len("".join(lines[end:])))
        with path.open("w") as file:
            file.writelines(lines[:first])
            for turn in range(self.times):
                file.writelines(self._turned(line, turn) for line in body[:-1])
                # Attributes that nobody reads, as weights in the text of a quantised model are.
                note = f'note = "{"x" * padding}", ' if padding else ""
                file.write(self._turned(body[-1], turn).replace("{axis", f"{{{note}axis", 1))
            file.writelines(lines[last + 1 : end])
            for turn in range(self.times):
                file.writelines(self._turned(line, turn) for line in lines[end:])
        return len(body)

    def _moved(self, found: re.Match[str]) -> str:
        number, stage = int(found[0]), self.program.stage
        return str(number + self.moved if number >= stage.activations_address else number)

    def _turned(self, line: str, turn: int) -> str:
        # The values up to %4 are weights, which all turns share.
        line = re.sub(r"%([5-9]|\d\d+)\b", lambda found: f"%{int(found[1]) + 100 * turn}", line)
        line = re.sub(r"#loc(\d+)\b", lambda found: f"#loc{int(found[1]) + 100 * turn}", line)
        return re.sub(r'loc\("([^"]+)"\)', lambda found: f'loc("{self.name(found[1], turn)}")', line)

    def locations(self, path: Path, lines: int) -> None:
        ends = [max(record["tiu_dma_id(after)"][engine] for record in self.records) for engine in (0, 1)]
        text = _ADDRESS.sub(self._moved, json.dumps(self.records))
        with path.open("w") as file:
            file.write("[")
            for turn in range(self.times):
                records = json.loads(text)
                for record in records:
                    record["file-line"] += turn * lines
                    for key in ("tiu_dma_id(before)", "tiu_dma_id(after)"):
                        record[key] = [n + turn * end for n, end in zip(record[key], ends, strict=True)]
                    for value in (*record["operands"], *record["results"]):
                        if value:
                            value["name"] = self.name(value["name"], turn)
                file.write(("," if turn else "") + json.dumps(records, indent=2)[1:-1])
            file.write("]")

    def reference(self, packed: bool) -> Path:
        path = self.folder / f"{'packed' if packed else 'stored'}.npz"
        write_npz(path, dict(self._arrays()), packed)
        return path

    def _arrays(self) -> Iterator[tuple[str, Any]]:
        for turn in range(self.named):
            for name, array in self.tensors.items():
                yield self.name(name, turn), array
        random = np.random.default_rng(1)
        for number in range(max(1, self.rest // (_PLANES * 4 << 20))):
            yield f"large{number}", random.standard_normal((_PLANES, 1 << 20), np.float32)


def measured(made: Made, reference: Path | None) -> dict[str, float]:
    started = time.perf_counter()
    for path in (*made.folder.glob("*.mlir"), *made.folder.glob("*.json"), *made.folder.glob("*.bmodel")):
        path.read_bytes()
    if reference is not None:
        with zipfile.ZipFile(reference) as archive:
            for name in archive.namelist():
                with archive.open(name) as member:
                    while member.read(1 << 20):
                        pass
    files = time.perf_counter() - started
    empty = Adapter()
    empty.initialize()
    before = empty.peak_megabytes()
    empty.close()
    adapter = Adapter()
    adapter.initialize()
    more = {} if reference is None else {"reference": [str(reference)]}
    adapter.launch(made.folder, inputs=str(SAMPLE / "input.npz"), **more)
    found = {"first stop": adapter.elapsed(), "files": files}
    found["memory"] = adapter.peak_megabytes() - before
    started = time.perf_counter()
    for _ in range(6):
        adapter.call("next", threadId=1, granularity="statement")
        adapter.event("stopped")
        frames = adapter.call("stackTrace", threadId=1, startFrame=0, levels=20)["stackFrames"]
        for scope in adapter.call("scopes", frameId=frames[0]["id"])["scopes"]:
            adapter.call("variables", variablesReference=scope["variablesReference"])
    found["compare"] = (time.perf_counter() - started) / 6
    found["memory then"] = adapter.peak_megabytes() - before
    adapter.close()
    return found


def sliced(reference: Path) -> dict[str, float]:
    """One slice of 4 MB from the middle of the largest tensor, from the opened file."""
    found = open_npz(reference)
    assert isinstance(found, LargeNpz)
    before, started = _bytes_read(), time.perf_counter()
    part = found.part("large0", (_PLANES, 1 << 20), (slice(40, 41), slice(0, 1 << 20)))
    assert part.nbytes == 4 << 20
    return {"slice": time.perf_counter() - started, "slice MB": (_bytes_read() - before) / 1e6}


def _bytes_read() -> int:
    """Bytes that this process has asked its system for (Linux)."""
    return int(Path("/proc/self/io").read_text().split()[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commands", type=int, default=100_000)
    parser.add_argument("--reference", type=int, default=2000, metavar="MB")
    parser.add_argument("--keep", type=Path, help="a folder for the files, which stay there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        made = Made(folder, options.commands, options.reference)
        for path in sorted(folder.iterdir()):
            print(f"{path.name:24} {path.stat().st_size / 1e6:8,.0f} MB")
        for name, reference in {"no reference": None, **made.references}.items():
            found = {**measured(made, reference), **(sliced(reference) if reference is not None else {})}
            print(f"{name:14}" + "".join(f"  {key} {value:,.2f}" for key, value in found.items()), flush=True)


if __name__ == "__main__":
    main()
