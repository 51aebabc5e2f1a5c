"""The court: verbs that judge must acquit every correct compilation and name every fault.

    python -m scripts.robustness.verdicts made [--seeds N] [--write]
    python -m scripts.robustness.verdicts compile MODEL.onnx FOLDER --shapes [[1,3,64,64]] --configs bm1684x:INT8 ...
    python -m scripts.robustness.verdicts compiled FOLDER... [--write]

``made``: compilations that tests/made_compilation.py writes, sound and with the faults of tests/compilation_faults.py;
no compiler is needed. ``compile``: a model for several chips and formats with the compiler that is first on the PATH,
of any release; each compilation gets a folder. ``compiled``: triage, sanitize, check and check --golden on every
compilation below the folders; each is taken for correct. ``--write``: the figures go into docs/verdicts.md.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from scripts import figures
from tdb_dap.cli.main import main as tdb_dap
from tdb_dap.engine.machine.npz import write_npz
from tdb_dap.errors import TdbError
from tdb_dap.tools.golden.files.compilation import Files, find
from tdb_dap.tools.golden.files.onnx_inputs import input_shapes
from tdb_dap.tools.triage.schema import Triage
from tdb_dap.tools.triage.triaging import triage
from tests.compilation_faults import FAULTS, Fault
from tests.made_compilation import FLOATS, Made, attention, dense

MODES = (*FLOATS, "INT8")
VERBS = ("triage", "sanitize", "check", "check --golden")
_ACCUSING = ("bug", "fault", "calibration", "input", "range")
_PATIENCE = 1800
_CALIBRATED = ("INT8", "INT4", "F8E4M3", "F8E5M2")


def made(seeds: int) -> tuple[list[str], int]:
    """How much was acquitted and named, and how many verdicts were wrong."""
    sound: Counter[str] = Counter()
    acquitted: Counter[str] = Counter()
    total: Counter[str] = Counter()
    named: Counter[str] = Counter()
    for seed in range(seeds):
        for mode in MODES:
            for kind, net in (("convolutions", dense), ("attention", attention)):
                if (kind, mode) == ("attention", "INT8"):
                    continue
                sound[mode] += 1
                triaged = _made(mode, seed, kind == "attention")
                acquitted[mode] += triaged.verdict not in _ACCUSING
                if triaged.verdict in _ACCUSING:
                    print(f"{net.__name__} {mode}, seed {seed}: {triaged.sentence}")
        for fault in FAULTS:
            for mode in fault.modes:
                triaged = _made(mode, seed, fault.is_attention, fault)
                right = (triaged.verdict, triaged.stage, triaged.tensor.split("__")[0]) == (
                    "bug",
                    fault.stage,
                    fault.tensor,
                )
                total[fault.kind] += 1
                named[fault.kind] += right
                if not right:
                    print(f"{fault.kind} in {fault.tensor} at {fault.stage}, {mode}, seed {seed}: {triaged.sentence}")
    lines = [
        f"Acquitted: {acquitted.total()} of {sound.total()} ({_counted(acquitted, sound, MODES)}).",
        "",
        f"Named by stage, op and kind: {named.total()} of {total.total()} ({_counted(named, total, sorted(total))}).",
    ]
    return lines, sound.total() - acquitted.total() + total.total() - named.total()


def _counted(right: Counter[str], total: Counter[str], keys: Iterable[str]) -> str:
    return ", ".join(f"{key} {right[key]}" + f" of {total[key]}" * (right[key] < total[key]) for key in keys)


def _made(mode: str, seed: int, is_attention: bool, fault: Fault | None = None) -> Triage:
    with tempfile.TemporaryDirectory(prefix="tdb-dap-") as folder:
        one = Made(Path(folder), mode, net=attention(seed) if is_attention else dense(seed))
        if fault is not None:
            fault.put(one)
        return triage(one.folder)


def compiled(folders: Sequence[Path]) -> tuple[list[str], int]:
    """A table of the verbs' verdicts on the compilations below folders, and how many are accusations."""
    rows: Counter[tuple[str, str]] = Counter()
    chips: Counter[str] = Counter()
    accused = 0
    for files, folder in _compilations(folders):
        chips[files.properties.get("chip", "?")] += 1
        for verb in VERBS:
            verdict = _verdict(verb, files, folder)
            rows[verb, verdict.partition(":")[0]] += 1
            if verdict.startswith("accused"):
                accused += 1
                print(f"{folder}: {verb}: {verdict}", flush=True)
    lines = [f"{chips.total()} compilations: {', '.join(f'{n} for {chip}' for chip, n in sorted(chips.items()))}.", ""]
    lines += ["| verb | acquitted | accused | could not run |", "|---|---|---|---|"]
    lines += [
        f"| `{verb}` | {' | '.join(str(rows[verb, kind]) for kind in ('acquitted', 'accused', 'not run'))} |"
        for verb in VERBS
    ]
    return lines, accused


def _compilations(folders: Sequence[Path]) -> Iterator[tuple[Files, Path]]:
    for path in sorted({text.parent for folder in folders for text in folder.rglob("final.mlir")}):
        with contextlib.suppress(TdbError):
            yield find(path), path


def _verdict(verb: str, files: Files, context: Path) -> str:
    words = [*verb.split(), str(context), "--quiet"]
    inputs, reference = files.get("mlir_input"), files.get("tpu_output")
    if verb != "triage" and inputs is not None:
        words += ["--inputs", str(inputs)]
    if verb == "check" and reference is not None:
        words += ["--reference", str(reference)]
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(io.StringIO()):
        code = tdb_dap(words)
    lines = text.getvalue().splitlines()
    if verb == "triage" and code == 1:
        verdict = next((line for line in lines if line.partition(":")[0] in (*_ACCUSING, "incomplete")), "")
        return f"accused: {verdict}" if verdict.partition(":")[0] in _ACCUSING else "not run"
    return {0: "acquitted", 1: f"accused: {lines[0] if lines else ''}"}.get(code, "not run")


def compile_model(model: Path, folder: Path, shapes: str, configs: Sequence[str]) -> int:
    """Import a model, calibrate it by random inputs and compile it; how many compilations failed."""
    if shutil.which("model_deploy") is None:
        sys.exit("model_deploy is not on the PATH: pip install tpu_mlir in an environment of its own, and put it first")
    name = model.stem.replace("-", "_").replace(".", "_")
    work = folder / name
    work.mkdir(parents=True, exist_ok=True)
    shutil.copy(model, work / f"{name}.onnx")
    random = np.random.default_rng(0)
    names = list(input_shapes(model))
    given = dict(zip(names, json.loads(shapes), strict=True))

    def inputs() -> dict[str, np.ndarray]:
        return {one: random.uniform(0, 1, shape).astype(np.float32) for one, shape in given.items()}

    write_npz(work / f"{name}_in.npz", inputs())
    (work / "calibration").mkdir(exist_ok=True)
    for number in range(4):
        write_npz(work / "calibration" / f"{number}.npz", inputs())
    imported = ["model_transform", "--model_name", name, "--model_def", f"{name}.onnx", "--mlir", f"{name}.mlir"]
    imported += ["--input_shapes", shapes.replace(" ", ""), "--test_input", f"{name}_in.npz"]
    if not _ran([*imported, "--test_result", f"{name}_top.npz", "--debug"], work):
        return len(configs)
    table = ["run_calibration", f"{name}.mlir", "--dataset", "calibration", "--input_num", "4", "-o", "calibration.txt"]
    has_table = _ran(table, work)
    failed = 0
    for config in configs:
        chip, mode, *options = config.split(":")
        place = folder / f"{name}_{config.replace(':', '_').replace('-', '').lower()}"
        shutil.copytree(work, place, dirs_exist_ok=True)
        words = ["model_deploy", "--mlir", f"{name}.mlir", "--quantize", mode, "--chip", chip, *options]
        words += ["--test_input", f"{name}_in_f32.npz", "--test_reference", f"{name}_top.npz", "--compare_all"]
        words += ["--debug", "--tolerance", "0.0,-9.0", "--model", f"{place.name}.bmodel"]
        words += ["--calibration_table", "calibration.txt"] if mode in _CALIBRATED and has_table else []
        failed += not _ran(words, place)
    return failed


def _ran(words: Sequence[str], folder: Path) -> bool:
    log = folder / f"{words[0]}.log"
    with log.open("wb") as output:
        try:
            done = subprocess.run(words, cwd=folder, stdout=output, stderr=output, timeout=_PATIENCE, check=False)
        except subprocess.TimeoutExpired:
            return False
    print(f"{folder.name}: {words[0]}: {'done' if not done.returncode else f'failed, see {log}'}", flush=True)
    return not done.returncode


def main() -> int:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(dest="part", required=True)
    one = parts.add_parser("made", help="compilations that are made here")
    one.add_argument("--seeds", type=int, default=4)
    one.add_argument("--write", action="store_true", help="write the figures into docs/verdicts.md")
    two = parts.add_parser("compile", help="compile a model for several chips and formats")
    two.add_argument("model", type=Path)
    two.add_argument("folder", type=Path)
    two.add_argument("--shapes", required=True)
    two.add_argument("--configs", nargs="+", required=True, metavar="CHIP:FORMAT[:OPTION...]")
    three = parts.add_parser("compiled", help="judge correct compilations")
    three.add_argument("folders", nargs="+", type=Path)
    three.add_argument("--write", action="store_true", help="write the figures into docs/verdicts.md")
    arguments = parser.parse_args()
    if arguments.part == "compile":
        return int(compile_model(arguments.model, arguments.folder, arguments.shapes, arguments.configs) > 0)
    is_made = arguments.part == "made"
    lines, wrong = made(arguments.seeds) if is_made else compiled(arguments.folders)
    print("\n".join(lines))
    if arguments.write:
        figures.write("court" if is_made else "compilations", lines)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
