"""How often triage names the stage, the op and the kind of a fault: faults of ten kinds put into sound compilations.

    python benchmarks/triage.py CONTEXT... [--each N] [--seed N] [--all]
    python benchmarks/triage.py correct DIR...

CONTEXT: context directories that model_deploy --debug left behind, with their stages beside them. Each is triaged as
it is first: a sound one that is called wrong counts against us. Then come ``--each`` faults of each kind (4), each in a
copy of a compilation that is chosen by the seed; one that changes no number is passed over. Prints a line for each
fault that is not found where it is, and the rates.

``correct`` triages every compilation below the directories as it is, with stages or without, and prints those that are
called wrong. Where the vendor's own run has left its outputs (``runtime.npz``) and these are not the reference's
(``ref.npz``) either, the compilation is not a correct one: it is counted apart.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from tdb_dap.engine.machine.npz import read_npz, write_npz
from tdb_dap.engine.source.mlir_file import MlirOp
from tdb_dap.errors import TdbError
from tdb_dap.system.notices import heard_by
from tdb_dap.tools.golden.files.compilation import Files, find
from tdb_dap.tools.golden.level import Level, names
from tdb_dap.tools.golden.library import NoGolden, compute
from tdb_dap.tools.patch.editor import Editor
from tdb_dap.tools.programs import open_program
from tdb_dap.tools.triage.triaging import triage

Array = Any
Change = Callable[[MlirOp, Any, Array], Array]


@dataclass(frozen=True)
class Fault:
    """``put``: makes it in a copy of the compilation; ``stage`` and ``tensors``: the right answer."""

    kind: str
    text: str
    stage: str
    tensors: tuple[str, ...]
    put: Callable[[Files], None]


class Sound:
    """A sound compilation, and the faults that can be put into it."""

    def __init__(self, context: Path) -> None:
        self.context = context
        self.files = find(context)
        tpu = self.files.get("tpu_mlir")
        if tpu is None:
            raise TdbError(f"{context}: no tpu.mlir")
        self.level = Level("tpu", tpu)
        data = self.files.get("tpu_output")
        self.tensors = read_npz(data) if data is not None else {}
        inputs = {name: self.tensors[name] for name in self.level.inputs()}
        self.is_whole = not self.level.run(inputs, is_rounded=True)[1]

    def copy(self, folder: Path) -> Files:
        """A copy of what triage looks at."""
        around = self.files.directory.parent
        target = folder / self.files.directory.name
        shutil.copytree(self.files.directory, target)
        for path in around.iterdir():
            if path.suffix in (".mlir", ".npz"):
                shutil.copyfile(path, folder / path.name)
        return find(target)

    def faults(self, random: Random) -> Iterator[Fault]:
        if self.is_whole:
            yield from self._in_text(random)
            yield from self._in_weights(random)
            yield from self._in_results()
        yield from self._in_model(random)

    def _ops(self, *opcodes: str) -> Iterator[MlirOp]:
        return (op for op in self.level.ops if op.name in opcodes)

    def _edit(self, kind: str, op: MlirOp, text: str, new: str) -> Fault:
        def put(files: Files) -> None:
            path = files.paths["tpu_mlir"]
            lines = path.read_text("utf-8").split("\n")
            lines[op.line - 1] = new
            path.write_text("\n".join(lines), "utf-8")
            interpret(files)

        return Fault(kind, f"{op.name} {op.location}: {text}", "tpu", names(op), put)

    def _in_text(self, random: Random) -> Iterator[Fault]:
        for op in self.level.ops:
            line = self.level.mlir.lines[op.line - 1]
            found = re.search(r"(multipliers? = \[?)(\d+)", line)
            if found and op.name in FACTORED and int(found[2]) > 8 and "!quant.uniform" in line:
                more = re.sub(
                    r"(multipliers? = )(\[[\d, ]+\]|\d+)",
                    lambda match: match[1] + re.sub(r"\d+", _larger, match[2]),
                    line,
                )
                yield self._edit("scale wrong", op, "factors 15 % too large", more)
            if (found := re.search(r"const_val = ([-\d.e+]+)", line)) and op.name == "tpu.MulConst":
                new = line.replace(found[0], f"const_val = {float(found[1]) * 1.1:e}")
                yield self._edit("scale wrong", op, "constant 10 % too large", new)
            if op.name in ("tpu.Conv2D", "tpu.Pool2D") and (found := re.search(r"strides = \[2, 2\]", line)):
                pads = re.search(r"pads = \[(\d+), (\d+), (\d+), (\d+)\]", line)
                if pads and int(pads[1]) > 0:
                    one = [int(number) for number in pads.groups()]
                    moved = f"pads = [{one[0] - 1}, {one[1]}, {one[2] + 1}, {one[3]}]"
                    yield self._edit("stride", op, "windows one row on", line.replace(pads[0], moved))
            kinds = self.level.types(op)
            shape = kinds[1][0].shape if kinds[1] and kinds[1][0] is not None else None
            if op.name == "tpu.Concat" and len(op.operands) > 1 and kinds[0][0] == kinds[0][1]:
                a, b = op.operands[:2]
                if a != b:
                    new = line.replace(f"({a}, {b}", f"({b}, {a}")
                    yield self._edit("axis", op, "parts exchanged", new)
            if op.name == "tpu.Permute" and shape is not None:
                order = list(op.attributes["order"])
                source = kinds[0][0].shape if kinds[0][0] is not None else None
                for i in range(len(order) - 1):
                    if source and source[order[i]] == source[order[i + 1]] > 1:
                        other = [*order[:i], order[i + 1], order[i], *order[i + 2 :]]
                        new = line.replace(f"order = {order}", f"order = {other}")
                        yield self._edit("axis", op, "two axes exchanged", new)
                        break
            if op.name == "tpu.Softmax" and shape is not None:
                axis = int(op.attributes["axis"]) % len(shape)
                other_axis = next((i for i, n in enumerate(shape) if n > 1 and i != axis), None)
                if other_axis is not None:
                    new = re.sub(r"axis = -?\d+", f"axis = {other_axis}", line)
                    yield self._edit("axis", op, "another axis", new)

    def _weight(self, kind: str, op: MlirOp, place: int, text: str, change: Callable[[Array], Array]) -> Fault | None:
        if place >= len(op.operands):
            return None
        weight = self.level.mlir.op_defining(op.operands[place], op.line)
        if weight is None or weight.name != "top.Weight" or weight.location not in self.level.weights:
            return None
        shape = self.level.types(weight)[1][0]
        old = self.level.weights[weight.location]
        if shape is None or shape.shape is None or shape.storage in ("f16", "bf16") or not old.any():
            return None
        new = change(old.reshape(shape.shape)).reshape(old.shape).astype(old.dtype)
        if np.array_equal(new, old):
            return None

        def put(files: Files) -> None:
            assert self.level.weight_file is not None
            path = files.directory.parent / self.level.weight_file.name
            write_npz(path, {**read_npz(path), weight.location: new})
            interpret(files)

        return Fault(kind, f"{op.name} {op.location}: {text}", "tpu", names(op), put)

    def _in_weights(self, random: Random) -> Iterator[Fault]:
        for op in self._ops("tpu.Conv2D", "tpu.MatMul", "tpu.A16MatMul"):
            axis = -1 if op.name == "tpu.MatMul" else 0
            rolled = partial(np.roll, shift=1, axis=axis)
            found = [self._weight("weight swapped", op, 1, "channels in another order", rolled)]
            kinds = self.level.types(op)[0]
            if kinds[0] is not None and kinds[0].is_quantised and kinds[0].zero_point:
                found.append(self._weight("zero point lost", op, 2, "bias without the zero point", np.zeros_like))
            yield from filter(None, found)
        for op in self._ops("tpu.A16MatMul"):
            half = self._weight("scale wrong", op, 2, "scales exchanged", lambda w: np.roll(w, 1, 0))
            zero = self._weight("zero point lost", op, 3, "zero points are 0", np.zeros_like)
            yield from filter(None, (half, zero))
        for op in self._ops("tpu.Lut"):
            shifted = self._weight("wrong table", op, 1, "entries one on", lambda w: np.roll(w, 1, -1))
            turned = self._weight("wrong table", op, 1, "signs read as unsigned", lambda w: np.roll(w, 128, -1))
            yield from filter(None, (shifted, turned))

    def _injected(self, kind: str, op: MlirOp, text: str, change: Change) -> Fault:
        def put(files: Files) -> None:
            interpret(files, {op.line: change})

        return Fault(kind, f"{op.name} {op.location}: {text}", "tpu", names(op), put)

    def _in_results(self) -> Iterator[Fault]:
        for op in self._ops("tpu.Conv2D", "tpu.MatMul", "tpu.Add", "tpu.MulShift", "tpu.Mul", "tpu.A16MatMul"):
            kind = self.level.types(op)[1][0]
            if kind is None or kind.shape is None or int(np.prod(kind.shape)) < 64 or kind.storage == "f32":
                continue
            yield self._injected("round mode", op, "rounds down", _down)
            yield self._injected("round mode", op, "rounds towards zero", _to_zero)
            if op.name in ("tpu.Conv2D", "tpu.MatMul", "tpu.A16MatMul"):
                yield self._injected("saturated accumulation", op, "sums end at half of their reach", _saturated)
        last: MlirOp | None = None
        for op in self.level.ops:
            if op.name == "top.Input":
                continue
            if last is not None and self.level.types(op)[1] == self.level.types(last)[1]:
                before = self.tensors.get(names(last)[0])
                if before is not None and names(op)[0] in self.tensors:
                    stale = np.asarray(before, np.float64)
                    yield self._injected("stale buffer", op, "half of it is what was there before", _half_of(stale))
            last = op

    def _in_model(self, random: Random) -> Iterator[Fault]:
        """Fields of commands: strides, addresses, dependencies."""
        program = open_program(self.context)
        step = program.target.geometry.eu_bytes
        for command in program.commands:
            records = program.source.records_of(command.ordinal)
            if len(records) != 1 or not command.has_descriptor or program.target.writes_registers(command.kind):
                continue
            results = tuple(value.name for value in records[0].results)
            forms: list[tuple[str, str, Callable[[int], int]]] = [("missing dependency", r"cmd_id_dep$", lambda old: 0)]
            if command.engine == "tiu" and any(name in self.level.by_name for name in results):
                forms.append(("stride", r"opd0_[hw]_str$", lambda old: old + 1))
                forms.append(("stale buffer", r"opd0_addr$", lambda old: old + step))
            for kind, pattern, other in forms:
                for field, old in command.fields.items():
                    if re.search(pattern, field) and old > 0:
                        yield self._field(kind, records[0].opcode, results, command.token, field, other(old))

    def _field(self, kind: str, opcode: str, results: tuple[str, ...], token: str, field: str, value: int) -> Fault:
        def put(files: Files) -> None:
            path = files.paths["bmodel"]
            program = open_program(path)
            changed = path.with_name("changed.bmodel")
            with Editor(program, changed) as editor:
                editor.set_field(token, field, value)
            path.unlink()
            changed.rename(path.with_name("compilation.bmodel"))

        return Fault(kind, f"{opcode} {results[0]}: {token} {field} = {value}", "bmodel", results, put)


FACTORED = ("tpu.Conv2D", "tpu.MatMul", "tpu.Add", "tpu.Mul", "tpu.MulShift")
"""Ops with factors of a requantisation."""


def _larger(found: re.Match[str]) -> str:
    return str(round(int(found[0]) * 1.15))


def _down(op: MlirOp, kind: Any, exact: Array) -> Array:
    step = kind.step(exact)
    return kind.stored(np.floor(exact / step + 1e-9) * step)


def _to_zero(op: MlirOp, kind: Any, exact: Array) -> Array:
    step = kind.step(exact)
    return kind.stored(np.trunc(exact / step) * step)


def _saturated(op: MlirOp, kind: Any, exact: Array) -> Array:
    reach = float(np.abs(exact).max()) / 2
    return kind.stored(np.clip(exact, -reach, reach))


def _half_of(stale: Array) -> Change:
    def change(op: MlirOp, kind: Any, exact: Array) -> Array:
        result = kind.stored(exact).reshape(-1)
        result[: result.size // 2] = stale.reshape(-1)[: result.size // 2]
        return result.reshape(exact.shape)

    return change


def interpret(files: Files, changes: Mapping[int, Change] | None = None) -> None:
    """Compute the tensors of stage tpu again; the op of a line gives what ``changes`` makes of its exact result."""
    level = Level("tpu", files.paths["tpu_mlir"])
    path = files.paths["tpu_output"]
    old = read_npz(path)
    tensors = {name: np.asarray(old[name], np.float64) for name in level.inputs()}
    for op in level.ops:
        call = level.call(op, tensors)
        for name, array, kind in zip(names(op), compute(call), call.result_types, strict=False):
            change = (changes or {}).get(op.line)
            if kind is None:
                continue
            mode = str(call.get("round_mode", "HalfAwayFromZero"))
            tensors[name] = change(op, kind, array) if change is not None else kind.stored(array, mode)
    write_npz(path, {name: np.asarray(array, np.float32) for name, array in tensors.items()})


KINDS = (
    "weight swapped",
    "scale wrong",
    "zero point lost",
    "round mode",
    "axis",
    "stride",
    "stale buffer",
    "missing dependency",
    "wrong table",
    "saturated accumulation",
)


def correct(directories: list[Path]) -> int:
    """Triage what is below directories as it is. 0: nothing that is correct is called wrong."""
    counts: Counter[str] = Counter()
    for context in _contexts(directories):
        try:
            found = triage(context)
        except TdbError as error:
            print(f"{context}: not judged: {error}")
            counts["not judged"] += 1
            continue
        outcome: str = found.verdict
        if found.verdict == "incomplete":
            print(f"{context}: {found.sentence}; {found.stages[-1].missing}")
        elif found.is_wrong:
            outcome = "wrong in the vendor's run, too" if _differs_elsewhere(context) else "called wrong"
            print(f"{context}: {outcome}: {found.sentence}")
        counts[outcome] += 1
    print(f"{counts.total()} compilations: " + ", ".join(f"{count} {name}" for name, count in counts.most_common()))
    return int(counts["called wrong"] > 0)


def _contexts(directories: list[Path]) -> Iterator[Path]:
    """Contexts with the compiler's notes or a bmodel; of a folder with both, what is around it is not one more."""
    seen: set[Path] = set()
    for directory in directories:
        for path in sorted((*directory.rglob("compilation.bmodel"), *directory.rglob("compilation.bmodel.xz"))):
            if path.parent not in seen:
                seen.add(path.parent)
                yield path.parent


_DIFFERENT = 0.01
"""Relative distance from which on the outputs of two runs are not the same."""


def _differs_elsewhere(context: Path) -> bool:
    run, reference = context / "runtime.npz", context / "ref.npz"
    if not run.is_file() or not reference.is_file():
        return False
    outputs, expected = read_npz(run), read_npz(reference)
    for name, array in outputs.items():
        if name in expected and expected[name].size == array.size:
            wanted = np.asarray(expected[name], np.float64).reshape(-1)
            error = np.asarray(array, np.float64).reshape(-1) - wanted
            if not np.linalg.norm(error) <= _DIFFERENT * np.linalg.norm(wanted):
                return True
    return False


def main() -> int:
    if sys.argv[1:2] == ["correct"]:
        return correct([Path(text) for text in sys.argv[2:]])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("contexts", metavar="CONTEXT", nargs="+", type=Path)
    parser.add_argument("--each", type=int, default=4, help="faults of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--all", action="store_true", help="a line for the right answers, too")
    given = parser.parse_args()
    random = Random(given.seed)
    sound: list[Sound] = []
    false = 0
    for context in given.contexts:
        try:
            compiled = Sound(context)
            verdict = triage(context)
        except (TdbError, KeyError) as error:
            print(f"left out: {error}", file=sys.stderr)
            continue
        if verdict.is_wrong:
            false += 1
            print(f"called wrong as it is: {context.name}: {verdict.sentence[:160]}")
        else:
            sound.append(compiled)
    print(f"{len(sound) + false} compilations as they are: {false} called wrong")
    pool: dict[str, list[tuple[Sound, Fault]]] = {kind: [] for kind in KINDS}
    for compiled in sound:
        for fault in compiled.faults(random):
            pool[fault.kind].append((compiled, fault))
    counts: Counter[str] = Counter()
    for kind in KINDS:
        random.shuffle(pool[kind])
        done = 0
        for compiled, fault in pool[kind]:
            if done == given.each:
                break
            outcome = judged(compiled, fault)
            if outcome:
                done += 1
                counts[outcome.split(":")[0]] += 1
                counts["faults"] += 1
                if given.all or not outcome.startswith("right"):
                    print(f"{kind}: {compiled.context.name}: {fault.text}: {outcome}")
        if done < given.each:
            print(f"{kind}: {done} of {given.each}: no more can be made here")
    total = counts["faults"]
    print(
        f"{total} faults: {counts['right']} stage, op and kind right, {counts['elsewhere']} found elsewhere, ", end=""
    )
    print(f"{counts['missed']} missed")
    return int(counts["right"] < 0.95 * total)


def judged(compiled: Sound, fault: Fault) -> str:
    """``right``, ``elsewhere: ...`` or ``missed: ...``; empty for a fault without an effect."""
    with tempfile.TemporaryDirectory() as folder:
        files = compiled.copy(Path(folder))
        try:
            fault.put(files)
        except (TdbError, NoGolden):
            return ""
        try:
            found = triage(files.directory)
        except TdbError as error:
            return f"missed: {error}"
        if found.verdict == "incomplete":
            return ""  # the simulator has refused the command by name
        if found.verdict in ("bug", "fault"):
            is_right = found.stage == fault.stage and found.tensor in fault.tensors
            if fault.kind == "missing dependency" and found.verdict == "fault":  # a race has two ends, of two ops
                is_right |= bool(re.search(rf"\b{fault.text.split(': ')[1].split(' ')[0]}\b", found.sentence))
            return "right" if is_right else f"elsewhere: {found.sentence[:140]}"
        if not has_effect(compiled, fault, files):
            return ""
        return f"missed: {found.sentence[:140]}"


def has_effect(compiled: Sound, fault: Fault, files: Files) -> bool:
    """Whether a fault changes any number."""
    if fault.stage != "tpu":
        return found_in_model(files, compiled)
    now = read_npz(files.paths["tpu_output"])
    return any(
        name in now and not np.allclose(now[name], compiled.tensors[name], rtol=1e-6, atol=1e-7)
        for name in fault.tensors
        if name in compiled.tensors
    )


def found_in_model(files: Files, compiled: Sound) -> bool:
    """Whether a changed bmodel computes any other number."""
    from tdb_dap.engine.compare.recording import record
    from tdb_dap.tools.opening import open_debugger

    inputs = files.get("mlir_input")
    both = []
    for path in (files.paths["bmodel"], compiled.files.paths["bmodel"]):
        debugger = open_debugger(path, inputs, history_limit=0)
        try:
            both.append(record(debugger))
        finally:
            debugger.close()
    return any(not np.array_equal(both[0][name], array, equal_nan=True) for name, array in both[1].items())


if __name__ == "__main__":
    with heard_by(lambda text: None):
        raise SystemExit(main())
