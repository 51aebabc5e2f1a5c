"""A zoo from the first run to the report of the second, as a compiler team sees it."""

from __future__ import annotations

import json
import shlex
import shutil
import sqlite3
import stat
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

from tdb_dap.tools.zoo.store import MIGRATIONS, Store
from tests.command_line import new_process, tdb_dap
from tests.pages import data_of, needs_browser, seen
from tests.samples import DATA
from tests.triage_case import Compiled
from tests.weights.networks import spoil
from tests.zoo.zoos import break_model, model, rows, spoil_reference, zoo


def run(folder: Path, store: Path, *more: object) -> subprocess.CompletedProcess[str]:
    return tdb_dap("zoo", "run", folder, "--store", store, "--quiet", *more)


def test_two_nights_of_a_zoo(tmp_path: Path) -> None:
    folder, store = zoo(tmp_path / "models"), tmp_path / "zoo.sqlite"
    first = run(folder, store)
    assert (first.returncode, first.stderr) == (0, "")
    assert first.stdout == "run 1 of models: 4 cases, 4 pass; nothing new\n"

    name = spoil_reference(folder / "toy")
    break_model(folder / "pool")
    shutil.rmtree(folder / "older")
    second = run(folder, store)
    assert second.returncode == 1
    assert "pool: error, broken: " in second.stdout
    assert "toy: fail, broken: " in second.stdout
    assert name in second.stdout
    assert second.stdout.endswith(
        "run 2 of models: 3 cases, 1 pass, 1 fail, 1 error; 4 new things wrong compared with run 1\n"
    )

    third = run(folder, store, "--again")
    assert third.returncode == 0, "nothing is wrong that was not wrong in the run before"
    assert "nothing new" in third.stdout

    said = tdb_dap("zoo", "report", "--store", store, "--run", 2, "-o", *(tmp_path / f"it.{s}" for s in _FORMS))
    assert said.returncode == 1
    data = data_of((tmp_path / "it.html").read_text("utf-8"))
    assert data["gone"] == ["older"]
    assert data["failures"] == 4
    ops = [op for detail in data["details"] for op in detail["ops"]]
    assert any(op["name"] == name and op["verdict"] == "fail" for op in ops)
    assert "| toy | fail |" in (tmp_path / "it.md").read_text()
    suite = ElementTree.parse(tmp_path / "it.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures")) == ("3", "2")
    results = json.loads((tmp_path / "it.sarif").read_text())["runs"][0]["results"]
    assert [result["baselineState"] for result in results] == ["new"] * 4
    listed = tdb_dap("zoo", "list", "--store", store).stdout
    assert [line.split()[0] for line in listed.splitlines()] == ["1", "2", "3"]


_FORMS = ("html", "md", "xml", "sarif")


def test_the_command_of_a_case_shows_what_is_wrong(tmp_path: Path) -> None:
    folder, store = zoo(tmp_path / "models", "toy"), tmp_path / "zoo.sqlite"
    spoil_reference(folder / "toy")
    run(folder, store)
    ((command,),) = rows(store, "SELECT command FROM cases")
    words = shlex.split(str(command))
    assert words[0] == "tdb-dap"
    assert tdb_dap(*words[1:], "--quiet").returncode == 1


def test_all_that_can_be_asked_is_kept_for_each_op(tmp_path: Path) -> None:
    folder, store = zoo(tmp_path / "models", "toy"), tmp_path / "zoo.sqlite"
    assert run(folder, store, "--do", "run", "check", "sanitize", "profile", "hashes").returncode == 0
    (steps,) = rows(store, "SELECT steps FROM cases")[0]
    assert [step["ask"] for step in json.loads(str(steps))] == ["run", "check", "sanitize", "profile", "hashes"]
    found = rows(store, "SELECT verdict, cosine, cycles, hash FROM ops WHERE verdict = 'pass'")
    assert len(found) > 5
    assert any(cosine == 1.0 and cycles and len(str(digest)) == 8 for _, cosine, cycles, digest in found)


def test_outputs_that_are_not_those_expected_fail_the_case(tmp_path: Path) -> None:
    folder, store = zoo(tmp_path / "models", "toy"), tmp_path / "zoo.sqlite"
    assert run(folder, store, "--do", "run").returncode == 0
    shutil.copy(folder / "toy" / "input.npz", folder / "toy" / "runtime.npz")
    said = run(folder, store, "--do", "run", "--again")
    assert said.returncode == 1
    assert "no output is called x" in said.stdout


def test_cvimodels_are_cases_and_dumps_of_all_tensors_are_outputs(tmp_path: Path) -> None:
    """With final.mlir the folder is the case, else the file; a dump has tensors that are no outputs."""
    source, store = DATA / "chips" / "cv181x" / "toy_cv181x_int8", tmp_path / "zoo.sqlite"
    whole, lone = tmp_path / "models" / "whole", tmp_path / "models" / "lone"
    shutil.copytree(source, whole)
    lone.mkdir()
    shutil.copy(source / "model.cvimodel.xz", lone / "lone.cvimodel.xz")
    with np.load(source / "runtime.npz") as outputs:
        np.savez(whole / "runtime.npz", another=np.zeros(3, np.float32), **outputs)
    assert run(tmp_path / "models", store, "--do", "run", "sanitize").returncode == 0
    names = rows(store, "SELECT key, chip, precision FROM cases ORDER BY key")
    assert names == [("lone/lone.cvimodel.xz", "CV181X", "?"), ("whole", "CV181X", "INT8")]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_a_case_that_hangs_eats_memory_or_dies_is_a_result(tmp_path: Path) -> None:
    store, out = tmp_path / "zoo.sqlite", tmp_path / "zoo.json"
    model("toy", tmp_path)
    commands = {
        "hangs": "sleep 100",
        "eats": f"{sys.executable} -c 'import time; x = b\"1\" * 400_000_000; time.sleep(100)'",
        "dies": "kill -SEGV $$",
        "refuses": "echo it is too large >&2; exit 3",
        "works": f"cp -r {shlex.quote(str(tmp_path / 'toy'))}/. {{out}}",
    }
    cases = [
        {
            "name": name,
            "compile": {"command": line},
            "limits": {"seconds": 30 if name == "works" else 3, "megabytes": 300},
        }
        for name, line in commands.items()
    ]
    cases[1]["limits"] = {"seconds": 30, "megabytes": 300}
    out.write_text(json.dumps({"cases": cases}))
    said = tdb_dap("zoo", "run", out, "--store", store, "--quiet", "--jobs", 3)
    assert said.returncode == 1
    found = {str(key): str(text) for key, text in rows(store, "SELECT key, status || ': ' || text FROM cases")}
    assert found["hangs"] == "timeout: not done within 3 s"
    assert found["eats"] == "memory: took more than 300 MB"
    assert found["dies"] == "crash: its process ended with SIGSEGV"
    assert found["refuses"].startswith("crash: its process ended with code 3: it is too large")
    assert found["works"] == "pass: "
    assert not [path for path in (tmp_path / "zoo-built").iterdir() if path.name == "dies"]
    again = tdb_dap("zoo", "run", out, "--store", store, "--quiet", "--only", "works")
    assert again.returncode == 0, "what is compiled is not compiled again"


def test_a_client_that_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    folder, store = zoo(tmp_path / "models"), tmp_path / "zoo.sqlite"
    for number in range(8):
        shutil.copytree(folder / "toy", folder / f"toy{number}")
    words = [sys.executable, "-m", "tdb_dap", "zoo", "run", str(folder), "--store", str(store), "--jobs", "2"]
    victim = subprocess.Popen(words, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    while not store.exists() or _count(store) < 3:
        assert victim.poll() is None
        time.sleep(0.05)
    victim.kill()
    victim.wait()
    before = _count(store)
    assert 3 <= before < 12
    said = new_process(*words[3:])
    assert said.returncode == 0
    assert f"going on: {_done(said.stderr):,} cases are done" in said.stderr
    assert _done(said.stderr) >= before
    assert rows(store, "SELECT count(*), count(DISTINCT key) FROM cases") == [(12, 12)]
    assert rows(store, "SELECT count(*) FROM runs") == [(1,)]


def _count(store: Path) -> int:
    try:
        return int(str(rows(store, "SELECT count(*) FROM cases")[0][0]))
    except sqlite3.OperationalError:
        return 0


def _done(text: str) -> int:
    return int(text.split("going on: ")[1].split()[0])


def test_a_case_that_is_not_the_same_twice_is_listed(tmp_path: Path) -> None:
    folder, store = zoo(tmp_path / "models", "toy"), tmp_path / "zoo.sqlite"
    assert run(folder, store, "--do", "run").returncode == 0
    assert run(folder, store, "--do", "run", "--seconds", "0.001").returncode == 1
    tdb_dap("zoo", "report", "--store", store, "-o", tmp_path / "it.html", tmp_path / "it.md")
    data = data_of((tmp_path / "it.html").read_text("utf-8"))
    assert data["flaky"] == [["toy", "pass timeout"]]
    assert [run["counts"] for run in data["trend"]] == [[1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 1, 0]]
    assert "Not the same twice: toy" in (tmp_path / "it.md").read_text()


def test_what_is_tolerated_fails_no_run_until_its_day(tmp_path: Path) -> None:
    folder, store = zoo(tmp_path / "models", "toy"), tmp_path / "zoo.sqlite"
    spoil_reference(folder / "toy")
    entry = {"case": "t*", "what": "check:*", "owner": "anna", "until": "2999-12-31", "why": "known"}
    contract = tmp_path / "tolerated.json"
    contract.write_text(json.dumps({"tolerated": [entry]}))
    said = run(folder, store, "--baseline", contract)
    assert said.returncode == 0, said.stdout
    contract.write_text(json.dumps({"tolerated": [{**entry, "until": "2001-01-01"}]}))
    said = tdb_dap("zoo", "report", "--store", store, "--baseline", contract)
    assert said.returncode == 1
    assert "tolerated no more since 2001-01-01: t* (anna)" in said.stdout
    contract.write_text(json.dumps({"tolerated": [{"case": "t*", "until": "2001-01-01"}]}))
    said = tdb_dap("zoo", "report", "--store", store, "--baseline", contract)
    assert (said.returncode, "owner: Field required" in said.stderr) == (2, True)


def test_a_zoo_file_multiplies_its_cases(tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    folder = zoo(tmp_path / "models", "toy", "pool")
    (tmp_path / "it.yaml").write_text(
        "do: [sanitize]\n"
        "cases:\n"
        "  - {name: 'of-{net}', context: 'models/{net}', each: {net: [toy, pool]}, precision: int8}\n"
    )
    store = tmp_path / "zoo.sqlite"
    assert tdb_dap("zoo", "run", tmp_path / "it.yaml", "--store", store, "--quiet").returncode == 0
    assert rows(store, "SELECT key, chip, precision FROM cases ORDER BY key") == [
        ("of-pool", "BM1684X", "INT8"),
        ("of-toy", "BM1684X", "INT8"),
    ]
    assert folder.exists()


BAD_FILES = {
    "broken.yaml": ("cases: [\n  - {", "is no YAML"),
    "broken.json": ("{", "is no JSON"),
    "list.json": ("[1]", "valid dictionary"),
    "empty.yaml": ("", "has neither cases nor directories"),
    "typo.json": ('{"case": []}', "case: Extra inputs are not permitted"),
    "nothing.json": ('{"cases": [{}]}', "a case has neither name nor context"),
    "how.json": ('{"cases": [{"name": "x"}]}', "give its context, or how to compile it"),
    "twice.json": ('{"cases": [{"context": "x"}, {"context": "x"}]}', "two cases are called x"),
    "variable.json": ('{"cases": [{"context": "{net}"}]}', "'net' is no variable of its 'each'"),
    "newer.json": ('{"version": 2}', "version"),
    "missing.json": ('{"directories": ["nowhere"]}', "no such file or directory"),
    "limits.json": ('{"limits": {"seconds": 0}}', "limits.seconds"),
    "deep.json": ("[" * 100_000, ""),
    "deep.yaml": ("[" * 100_000, ""),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_zoo_file_is_one_line(name: str, tmp_path: Path) -> None:
    text, said = BAD_FILES[name]
    (tmp_path / name).write_text(text)
    done = tdb_dap("zoo", "run", tmp_path / name, "--store", tmp_path / "zoo.sqlite")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("tdb-dap: error: ")
    assert len(done.stderr.splitlines()) == 1
    assert said in done.stderr


def test_a_missing_context_is_a_result_and_a_missing_folder_an_error(tmp_path: Path) -> None:
    (tmp_path / "it.json").write_text('{"cases": [{"context": "nowhere"}]}')
    done = tdb_dap("zoo", "run", tmp_path / "it.json", "--store", tmp_path / "zoo.sqlite", "--quiet")
    assert done.returncode == 1
    assert "nowhere: error: " in done.stdout
    done = tdb_dap("zoo", "run", tmp_path / "nowhere", "--store", tmp_path / "zoo.sqlite")
    assert done.returncode == 2
    (tmp_path / "empty").mkdir()
    done = tdb_dap("zoo", "run", tmp_path / "empty", "--store", tmp_path / "zoo.sqlite")
    assert (done.returncode, "no compiled model is in there" in done.stderr) == (2, True)


def test_a_store_that_is_none_stays_as_it_is(tmp_path: Path) -> None:
    text, foreign, newer = tmp_path / "text", tmp_path / "foreign", tmp_path / "newer"
    text.write_text("this is no database, but a text that somebody wants to keep" * 20)
    for path, script in ((foreign, "CREATE TABLE mine (x)"), (newer, "")):
        if path is newer:
            Store(path, create=True).close()
            script = f"PRAGMA user_version = {len(MIGRATIONS) + 1}"
        database = sqlite3.connect(path)
        database.executescript(script)
        database.close()
    folder = zoo(tmp_path / "models", "pool")
    for path, words in (
        (text, "is no store of a zoo"),
        (foreign, "is a SQLite file, but no store of a zoo"),
        (newer, "is a store of version"),
    ):
        before = path.read_bytes()
        for command in (("run", folder), ("report",), ("list",)):
            done = tdb_dap("zoo", *command, "--store", path)
            assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
            assert words in done.stderr
        assert path.read_bytes() == before
    done = tdb_dap("zoo", "report", "--store", tmp_path / "nowhere")
    assert (done.returncode, "tdb-dap zoo run makes one" in done.stderr) == (2, True)
    assert not (tmp_path / "nowhere").exists()


def test_a_store_of_an_older_version_is_brought_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, path = zoo(tmp_path / "models", "pool"), tmp_path / "zoo.sqlite"
    assert run(folder, path).returncode == 0
    later = (*MIGRATIONS, "ALTER TABLE runs ADD COLUMN note TEXT NOT NULL DEFAULT 'none'")
    monkeypatch.setattr("tdb_dap.tools.zoo.store.MIGRATIONS", later)
    with Store(path) as store:
        assert [one.cases for one in store.runs()] == [1]
    assert rows(path, "SELECT note FROM runs") == [("none",)]
    assert rows(path, "PRAGMA user_version") == [(2,)]


def test_names_of_a_model_are_only_ever_text(tmp_path: Path) -> None:
    store = tmp_path / "zoo.sqlite"
    hostile = "a</script><img src=x onerror=alert(1)>|`\x1b[31m"
    folder = tmp_path / "models"
    shutil.copytree(zoo(tmp_path / "given", "pool") / "pool", folder / hostile.replace("/", "_"))
    source = folder / hostile.replace("/", "_") / "final.mlir"
    text = source.read_text()
    source.chmod(source.stat().st_mode | stat.S_IWUSR)
    source.write_text(text.replace("module @pool2d", f'module @"{hostile}"', 1))
    break_model(source.parent)
    assert run(folder, store).returncode == 1
    said = tdb_dap("zoo", "report", "--store", store, "-o", *(tmp_path / f"it.{s}" for s in _FORMS))
    assert "\x1b" not in said.stdout
    page = (tmp_path / "it.html").read_text()
    assert page.count("</script>") == 2
    assert "<img" not in page
    assert "\x1b" not in page
    assert "<img" not in (tmp_path / "it.md").read_text()
    ElementTree.parse(tmp_path / "it.xml")


@pytest.mark.browser
@needs_browser
def test_the_page_shows_models_and_what_is_wrong_with_a_case(tmp_path: Path) -> None:
    folder, store = zoo(tmp_path / "models", "toy", "argmax"), tmp_path / "zoo.sqlite"
    assert run(folder, store).returncode == 0
    name = spoil_reference(folder / "toy")
    assert run(folder, store).returncode == 1
    tdb_dap("zoo", "report", "--store", store, "-o", tmp_path / "it.html")
    outcome, models, cell, failed, detail, pictures, is_open = seen(
        (tmp_path / "it.html").read_text("utf-8"),
        """
        const texts = (selector) => [...page.querySelectorAll(selector)].map((one) => one.textContent);
        said.push(texts(".outcome")[0], texts(".matrix tbody th"), texts(".matrix .s1")[0]);
        const choice = page.querySelector("select");
        choice.value = "not passed";
        choice.dispatchEvent(new Event("change"));
        said.push(texts(".matrix tbody th"));
        page.querySelector(".matrix .s1 button").click();
        said.push(texts("dialog td.name"), page.querySelectorAll("dialog canvas").length);
        page.querySelector("dialog button").click();
        said.push(page.querySelector("dialog").open);
        """,
        tmp_path,
    )
    assert outcome.endswith("new things are wrong: 2 cases, 1 pass, 1 fail.")
    assert (models, cell, failed) == (["toy", "argmax"], "fail *", ["toy"])
    assert name in detail
    assert (pictures > 0, is_open) == (True, False)


def test_tables_for_other_programs(tmp_path: Path) -> None:
    folder, store = zoo(tmp_path / "models", "toy"), tmp_path / "zoo.sqlite"
    run(folder, store)
    assert tdb_dap("zoo", "export", tmp_path / "csv", "--form", "csv", "--store", store).returncode == 0
    lines = (tmp_path / "csv" / "cases.csv").read_text().splitlines()
    assert lines[0].startswith("id,run,key,model")
    assert len(lines) == 2
    parquet = pytest.importorskip("pyarrow.parquet")
    assert tdb_dap("zoo", "export", tmp_path / "parquet", "--store", store).returncode == 0
    table = parquet.read_table(tmp_path / "parquet" / "ops.parquet")
    assert table.num_rows == rows(store, "SELECT count(*) FROM ops")[0][0]
    assert {"verdict", "cosine", "cycles"} <= set(table.column_names)


def test_a_zoo_names_the_wrong_weight_of_a_case(tmp_path: Path) -> None:
    toy = Compiled.into(tmp_path / "models" / "toy")
    spoil(toy.context, "conv8_Conv_merge", lambda words: words.__setitem__((7, 70), words[7, 70] ^ 0x40))
    shutil.copyfile(toy.folder / "toy_in_f32.npz", toy.context / "input.npz")
    store = tmp_path / "store.db"
    done = run(toy.context, store)
    assert done.returncode == 1, done.stderr
    texts = [str(text) for (text,) in rows(store, "select text from cases")]
    assert any("weight w6 is wrong: one number; first at channel 7, " in text for text in texts), texts
