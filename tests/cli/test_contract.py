"""Exit codes are contracts, for every verb and outcome, and whatever becomes of what it prints and writes.

0: done, nothing differs; 1: something differs; 2: it could not be done, and one line on stderr says what, where and
what to do. Whoever reads only the first lines (``| head``) gets the same code. No file is ever half written.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from tdb_dap.cli.main import COMMANDS
from tdb_dap.engine.machine.npz import read_npz, write_npz
from tests.cli.forks import Case, Forks, Output, Result
from tests.llm_case import spoil
from tests.samples import DATA, SAMPLE, without_data
from tests.triage_case import Compiled

pytestmark = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full and fork")

_LONGEST = 300
_DIRECTORIES = re.compile(r"/[^\s:;,]*/")
"""The length of an error does not count them."""

LANGUAGE = DATA / "llm" / "qwen2_bm1684x_bf16"
RACE = DATA / "findings" / "toy_bm1690_f16c4"
"""A model in which a sanitizer finds an error."""


@dataclass(frozen=True)
class Verb:
    """How a verb is made to succeed, to find a difference, and to fail.

    ``{sample}``: a context directory; ``{data}``: inputs and the right reference; ``{spoiled}``: inputs and a reference
    of which one tensor is another; ``{other}``: another model; ``{out}``: a place for what is written.
    """

    ok: str
    differs: str = ""
    cannot: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    """Command lines that write nothing but files, and fail where these cannot be written."""


CHECK = "check {sample} --inputs {inputs} --quiet"

VERBS = {
    "adapter": Verb("adapter", cannot=("adapter --log {out}/nowhere/log", "adapter --listen nowhere")),
    "info": Verb("info {sample}", cannot=("info {out}/nowhere", "info {inputs}", "info")),
    "dis": Verb(
        "dis {sample}",
        cannot=("dis {out}/nowhere", "dis {sample} -o {out}/nowhere/listing", "dis {sample} -o {out}"),
        writes=("dis {sample} -o {out}/listing", "dis {sample} --format json -o {out}/listing"),
    ),
    "run": Verb(
        "run {sample} --inputs {inputs} --quiet",
        cannot=(
            "run {sample} --inputs {out}/nowhere.npz",
            "run {sample} --inputs {large} --quiet",
            "run {sample} --inputs {inputs} --outputs {fifo}",
            "run {sample} --inputs {inputs} --outputs {out}",
        ),
        writes=("run {sample} --inputs {inputs} --quiet --outputs {out}/out.npz",),
    ),
    "check": Verb(
        CHECK + " --reference {reference}",
        CHECK + " --reference {spoiled}",
        (
            "check {bare} --inputs {inputs} --quiet",
            CHECK + " --reference {complex}",
            CHECK + " --reference {reference} --tolerance cosine=nan",
            CHECK + " --reference {reference} --except *",
            CHECK + " --reference {reference} --report {out}/nowhere/r.json",
            CHECK + " --reference {reference} --baseline {out}/nowhere.json",
            CHECK + " --reference {reference} --write-baseline {out}/nowhere/b.json",
        ),
        (
            CHECK + " --reference {reference} --report {out}/r.json",
            CHECK + " --reference {spoiled} --report {out}/r.md",
            CHECK + " --reference {spoiled} --report {out}/r.html",
            CHECK + " --reference {spoiled} --report {out}/r.sarif",
            CHECK + " --reference {spoiled} --report {out}/r.xml",
            CHECK + " --reference {spoiled} --write-baseline {out}/b.json",
            CHECK + " --reference {spoiled} --dump all --dump-file {out}/t.npz",
            CHECK + " --reference {reference} --resume {out}/journal",
        ),
    ),
    "diff": Verb(
        "diff {sample} {sample} --inputs {inputs} --quiet",
        "diff {sample} {other} --structure --quiet",
        ("diff {sample} {out}/nowhere",),
        ("diff {sample} {sample} --structure --report {out}/d.json", "diff {sample} {sample} --report {out}/d.md"),
    ),
    "share": Verb(
        "share --help",  # needs the engine for browsers: tests/share
        cannot=(
            "share {sample}",
            "share {sample} -o {out}/page",
            "share {sample} -o {out}/page --with-weights",
            "share {out}/nowhere -o {out}/page --with-weights",
        ),
    ),
    "trace": Verb(
        "trace {sample} max(out[0])",
        cannot=(
            "trace {sample}",
            "trace {sample} max(nowhere)",
            "trace {sample} max(out[0]) --when max(out[0])>1",
            "trace {sample} --where max(out[0])>1",
            "trace {sample} --history nowhere",
            "trace {sample} max(out[0]) -o {out}/t.xlsx",
            "trace {sample} --when max(out[0])>1 -o {out}/t.csv",
        ),
        writes=("trace {sample} max(out[0]) -o {out}/t.csv", "trace {sample} max(out[0]) -o {out}/t.html"),
    ),
    "profile": Verb(
        "profile {sample} --quiet",
        cannot=("profile {out}/nowhere", "profile {sample} -o {out}/trace.txt"),
        writes=("profile {sample} --quiet -o {out}/trace.json", "profile {sample} --quiet --report {out}/p.md"),
    ),
    "record": Verb(
        "record --help",  # what it records needs the vendor's runtime: tests/backends/recorder
        cannot=("record -o {out}/nowhere/x.tdbrec -- true", "record -o {out}/x.tdbrec -- {out}/nowhere"),
    ),
    "import": Verb(
        "import --help",  # what it reads is written by the vendor's library: tests/engine
        cannot=("import {out}/nowhere --chip BM1688", "import {inputs}", "import {out}/nowhere --chip BM1"),
    ),
    "perturb": Verb(
        "perturb {compiled} --inputs {toy_inputs} --quiet",
        cannot=("perturb {out}/nowhere", "perturb {bare}", "perturb {compiled} --runs 0"),
    ),
    "export": Verb(
        "export {sample} --op 23 --inputs {inputs} -o {out}/exported",
        cannot=("export {sample} --op 9999 -o {out}/exported", "export {sample} -o {inputs}"),
        writes=("export {sample} --op 23 --inputs {inputs} -o {out}/exported",),
    ),
    "patch": Verb(
        "patch {sample} --until 23 -o {out}/new.bmodel",
        cannot=(
            "patch {sample} --set B9999.x=1 -o {out}/new.bmodel",
            "patch {sample} --until 23 -o {out}/nowhere/x.bmodel",
        ),
        writes=("patch {sample} --until 23 -o {out}/new.bmodel",),
    ),
    "explain": Verb("explain {sample} 23 B12", cannot=("explain {sample} B9999", "explain {out}/nowhere 1")),
    "graph": Verb(
        "graph {sample}",
        cannot=("graph {out}/nowhere", "graph {sample} -o {out}/g.png", "graph {sample} --check {inputs}"),
        writes=("graph {sample} -o {out}/g.dot",),
    ),
    "lsp": Verb("lsp"),
    "sanitize": Verb(
        "sanitize {sample} --inputs {inputs} --quiet",
        "sanitize {faulty} --sanitizers hazard --quiet",
        ("sanitize {out}/nowhere", "sanitize {sample} --sanitizers nonsense"),
        tuple(
            f"sanitize {{sample}} --inputs {{inputs}} --quiet --{written}"
            for written in (
                *(f"report {{out}}/s.{end}" for end in ("json", "md", "sarif", "xml")),
                "write-baseline {out}/b",
            )
        ),
    ),
    "triage": Verb(
        "triage {compiled}",
        "triage {miscompiled}",
        ("triage {out}/nowhere", "triage {out}", "triage {inputs}", "triage {compiled} --nonsense"),
    ),
    "reduce": Verb(
        "reduce {miscompiled} -o {out}/case",
        "",
        (
            "reduce {compiled} -o {out}/case",
            "reduce {out}/nowhere -o {out}/case",
            "reduce {miscompiled}",
            "reduce {miscompiled} -o {out}",
        ),
    ),
    "debug": Verb(
        "debug {sample} -c info",
        "debug {sample} -c nonsense",
        ("debug {out}/nowhere -c info",),
    ),
    "doctor": Verb("doctor", cannot=("doctor --nonsense", "doctor {sample}")),
    "backends": Verb("backends", cannot=("backends serve --listen nowhere", "backends serve --token-file {out}/none")),
    "targets": Verb("targets", cannot=("targets --forms BM1",)),
    "plugins": Verb("plugins"),
    "mcp": Verb("mcp --help", cannot=("mcp --root {out}/nowhere",)),
    "llm": Verb(
        "llm {language} --ids 5,17 --tokens 2",
        "llm {language} --ids 5,17 --tokens 2 --reference {float}",
        (
            "llm {language}",
            "llm {language} --ids 5,x",
            "llm {language} --ids 500",
            "llm {language} --ids 5 --tokens 99",
            "llm {language} --prompt hello",
            "llm {sample} --ids 5",
            "llm {language} --ids 5 --reference {out}",
            "llm {language} --recording {out}/nowhere.tdbrec",
        ),
    ),
    "weights": Verb(
        "weights {float}/.. --reference {float}",
        "weights {language} --reference {float}",
        cannot=("weights {sample} --reference {sample}", "weights {language} --reference {out}", "weights {language}"),
    ),
    "zoo": Verb(
        "zoo --help",  # its cases run in processes of their own: tests/zoo
        cannot=(
            "zoo",
            "zoo run {out}/nowhere --store {out}/zoo.sqlite",
            "zoo run {sample} --store {out}/nowhere/zoo.sqlite",
            "zoo report --store {out}/nowhere",
            "zoo bisect --case it --builds {out}",
        ),
    ),
    "demo": Verb("demo", cannot=("demo --client nobody",)),
}


def test_every_verb_is_here() -> None:
    assert set(VERBS) == set(COMMANDS)


class Places:
    """What command lines name, in a directory whose name is ``name``."""

    def __init__(self, root: Path, name: str) -> None:
        self.home = root / os.fsdecode(name.encode("latin-1"))
        self.home.mkdir()
        self.out = self.home / "out"
        shutil.copytree(SAMPLE, self.home / "model")
        without_data(SAMPLE, self.home / "bare")
        arrays = read_npz(SAMPLE / "ref.npz")
        spoiled = {name: array + (name == "maxpool5_MaxPool") for name, array in arrays.items()}
        write_npz(self.home / "spoiled.npz", spoiled)
        write_npz(self.home / "complex.npz", {name: array + 1j for name, array in arrays.items()})
        large = {name: array.astype(np.float64) * 1e300 for name, array in read_npz(SAMPLE / "input.npz").items()}
        write_npz(self.home / "large.npz", large)
        compiled, wrong = (Compiled.into(self.home / name) for name in ("compiled", "miscompiled"))
        wrong.edit(wrong.tpu, "rshifts = [29]", "rshifts = [28]")
        spoil(LANGUAGE, self.home / "exclamation")
        os.mkfifo(self.home / "fifo")
        self.names = {
            "sample": self.home / "model",
            "bare": self.home / "bare",
            "inputs": self.home / "model" / "input.npz",
            "reference": self.home / "model" / "ref.npz",
            "spoiled": self.home / "spoiled.npz",
            "complex": self.home / "complex.npz",
            "large": self.home / "large.npz",
            "fifo": self.home / "fifo",
            "other": DATA / "bm1684x" / "toy_bm1684x_f32opt1",
            "faulty": RACE,
            "compiled": compiled.context,
            "miscompiled": wrong.context,
            "toy_inputs": compiled.folder / "toy_in_f32.npz",
            "language": self.home / "exclamation",
            "float": LANGUAGE / "float",
            "out": self.out,
        }

    def case(self, line: str, output: Output = "read", file_limit: int = 0) -> Case:
        return Case(tuple(word.format(**self.names) for word in line.split()), output, file_limit)


def complaints(result: Result, code: int, case: Case) -> list[str]:
    """What is wrong with a result that should have this exit code."""
    found = [] if result.code == code else [f"exit code {result.code}, not {code}"]
    found += [f"{word} on stderr" for word in ("Traceback", "Exception ignored", "Warning:") if word in result.stderr]
    errors = [line for line in result.stderr.splitlines() if line.startswith("tdb-dap: error: ")]
    if case.output != "closed" and len(errors) != (code == 2):
        found.append(f"{len(errors)} lines of errors")
    found += [f"an error of {len(line)} characters" for line in errors if len(_DIRECTORIES.sub("", line)) > _LONGEST]
    if found:
        found.append(f"stderr: {result.stderr[-400:]}")
    return found


def outcomes(verb: Verb) -> list[tuple[str, int]]:
    """Command lines and their exit codes, with everything else as it should be."""
    lines = [(verb.ok, 0), (verb.differs, 1), *((line, 2) for line in verb.cannot)]
    lines += [(line, int("{spoiled}" in line)) for line in verb.writes]
    return [(line, code) for line, code in lines if line]


def conditions(verb: Verb, line: str) -> list[Output]:
    """What becomes of what a command line prints; one that fails or writes files prints little."""
    return ["read"] if line in verb.writes else ["read", "closed"] if line in verb.cannot else [*get_args(Output)]


def conditions_at(home: str, verb: Verb, line: str, code: int) -> list[Output]:
    """In a directory whose name is no text, what works elsewhere works."""
    return conditions(verb, line) if home == "plain" else ["read"] if code < 2 else []


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    running = Forks()
    yield running
    running.close()


@pytest.mark.parametrize("name", VERBS)
def test_exit_codes_are_those_of_the_outcome(name: str, tmp_path: Path, forks: Forks) -> None:
    wrong = []
    for home in ("plain", "not \xff UTF-8"):
        if home != "plain" and sys.platform != "linux":
            continue
        places = Places(tmp_path, home.replace(" ", "-"))
        wanted = [
            (line, code, places.case(line, output))
            for line, code in outcomes(VERBS[name])
            for output in conditions_at(home, VERBS[name], line, code)
        ]
        printed = False
        for (line, code, case), result in zip(
            wanted, forks.run([case for *_, case in wanted], places.out), strict=True
        ):
            printed = bool(result.stdout) if case.output == "read" else printed
            said = complaints(result, 2 if case.output == "full" and printed else code, case)
            said += [f"leaves {file}" for file in result.left if file.endswith(".part")]
            wrong += [f"{home}, output {case.output}: {line}: {text}" for text in said]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", [name for name, verb in VERBS.items() if verb.writes])
def test_what_cannot_be_written_whole_is_not_written(name: str, tmp_path: Path, forks: Forks) -> None:
    places = Places(tmp_path, "plain")
    wrong = []
    cases = [places.case(line, file_limit=100) for line in VERBS[name].writes]
    for line, case, result in zip(VERBS[name].writes, cases, forks.run(cases, places.out), strict=True):
        said = complaints(result, 2, case)
        if result.left not in ([], ["journal", "journal/cascade"]):
            said.append(f"leaves {result.left}")
        wrong += [f"{line}: {text}" for text in said]
    assert not wrong, "\n".join(wrong)
