"""``tdb-dap zoo``: many models, chips and precisions at once, night after night."""

from __future__ import annotations

import argparse
import sys
import time
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from tdb_dap.engine.files.atomic_files import write_text
from tdb_dap.engine.rendering.printable import direct, visible
from tdb_dap.errors import BadInput
from tdb_dap.tools.zoo.cases import ASKS

if TYPE_CHECKING:
    from tdb_dap.tools.zoo.cases import Case
    from tdb_dap.tools.zoo.changes import Overview
    from tdb_dap.tools.zoo.crews import Crew
    from tdb_dap.tools.zoo.result import Result
    from tdb_dap.tools.zoo.runner import Progress
    from tdb_dap.tools.zoo.store import Run, Store

_FORMATS = (".html", ".md", ".xml", ".sarif")
_MOST_JOBS = 1024


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    run_it = actions.add_parser("run", help="work on all cases and keep the results", description=_run.__doc__)
    _store(run_it)
    run_it.add_argument(
        "zoo", metavar="ZOO.yaml|DIR", nargs="+", type=Path, help="a zoo file, or directories of compiled models"
    )
    run_it.add_argument(
        "--do",
        metavar="WHAT",
        nargs="+",
        choices=ASKS,
        help=f"{', '.join(ASKS)} (default: sanitize, and check where there is reference data, else run)",
    )
    run_it.add_argument(
        "--only", metavar="GLOB", nargs="+", default=[], help="cases by name, network, chip or precision (* allowed)"
    )
    run_it.add_argument("--jobs", metavar="N", type=int, help="cases at a time (default: one for each processor)")
    run_it.add_argument("--dask", metavar="ADDRESS", help="scheduler of a Dask cluster; its workers need no files")
    run_it.add_argument("--seconds", metavar="N", type=float, help="longest time for a case (default: 1800)")
    run_it.add_argument("--megabytes", metavar="N", type=int, help="most memory of a case, on Linux (default: any)")
    run_it.add_argument(
        "--again", action="store_true", help="begin anew in place of going on with what was interrupted"
    )
    run_it.add_argument("--quiet", action="store_true", help="show no progress")
    _compared(run_it)

    report = actions.add_parser("report", help="what a run came to, beside the one before", description=_report.__doc__)
    _store(report)
    report.add_argument("--run", metavar="N", type=int, help="which run (default: the newest)")
    report.add_argument(
        "-o", "--output", metavar="FILE", nargs="+", type=Path, default=[], help="page .html, .md, JUnit .xml or .sarif"
    )
    _compared(report)

    runs = actions.add_parser("list", help="the runs in a store", description=_list.__doc__)
    _store(runs)

    export = actions.add_parser("export", help="tables for DuckDB, pandas and others", description=_export.__doc__)
    _store(export)
    export.add_argument("folder", metavar="FOLDER", type=Path, help="where a file for each table is written")
    export.add_argument("--form", choices=("parquet", "csv"), default="parquet", help="default: %(default)s")

    bisect = actions.add_parser("bisect", help="the first build that breaks a case", description=_bisect.__doc__)
    bisect.add_argument("zoo", metavar="ZOO.yaml|DIR", nargs="?", type=Path, help="where the case is described")
    bisect.add_argument("--case", metavar="NAME", required=True, help="name of the case")
    bisect.add_argument(
        "--builds",
        metavar="BUILD",
        nargs="+",
        default=[],
        help="the oldest first: directories of compiled models, wheels or versions of the compiler (tpu_mlir==1.21), "
        "or any words for --build-command",
    )
    bisect.add_argument("--commits", metavar="GOOD..BAD", help="commits of --repository as builds, for --build-command")
    bisect.add_argument("--repository", metavar="DIR", type=Path, default=Path(), help="default: here")
    bisect.add_argument(
        "--build-command", metavar="LINE", default="", help="makes the context {out} with the build {build}"
    )
    bisect.add_argument("--do", metavar="WHAT", nargs="+", choices=ASKS, help=f"what has to pass: {', '.join(ASKS)}")
    bisect.add_argument(
        "--reduce",
        metavar="DIR",
        type=Path,
        help="a new directory for the smallest case, made of the first wrong build",
    )
    bisect.add_argument(
        "--keep", metavar="DIR", type=Path, help="where contexts and results are kept for the next time"
    )


def _store(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--store", metavar="FILE", type=Path, default=Path("zoo.sqlite"), help="the store (default: %(default)s)"
    )


def _compared(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--against", metavar="N", type=int, help="the run to compare with (default: the one before)")
    parser.add_argument("--baseline", metavar="FILE", type=Path, help="what is tolerated, by whom and until when")


def run(arguments: argparse.Namespace) -> int:
    """Do one of the actions; returns its exit code."""
    action = {"run": _run, "report": _report, "list": _list, "export": _export, "bisect": _bisect}[arguments.action]
    return action(arguments)


def _run(arguments: argparse.Namespace) -> int:
    """Work on all cases and keep the results. 0: nothing new is wrong; 1: something is; 2: could not be done."""
    from tdb_dap.tools.zoo.runner import run_zoo
    from tdb_dap.tools.zoo.store import Store

    name, cases = _cases(arguments)
    crew = _crew(arguments)
    with Store(arguments.store, create=True) as store:
        shown = _Shown(arguments.quiet)
        try:
            done = run_zoo(store, name, cases, crew, arguments.again, shown.update)
        except KeyboardInterrupt:
            shown.clear()
            print(f"tdb-dap: interrupted; the same command goes on with what {arguments.store} holds", file=sys.stderr)
            raise
        shown.clear()
        return _told(_overview(arguments, store, done))


def _cases(arguments: argparse.Namespace) -> tuple[str, list[Case]]:
    """The name of the zoo and its cases."""
    from dataclasses import replace

    from tdb_dap.engine.files.documents import SUFFIXES
    from tdb_dap.tools.zoo.cases import chosen, find_cases
    from tdb_dap.tools.zoo.zoo_file import read_zoo

    given: list[Path] = arguments.zoo
    asks = tuple(ask for ask in ASKS if ask in arguments.do) if arguments.do else None
    if any(path.suffix in SUFFIXES and not path.is_dir() for path in given):
        if len(given) > 1:
            raise BadInput("give one zoo file, or directories")
        cases = read_zoo(given[0])
    else:
        cases = find_cases(given)
    for option, least in (("seconds", 0.0), ("megabytes", 0)):
        value = getattr(arguments, option)
        if value is not None:
            if not value > least:
                raise BadInput(f"--{option} {value}: give more than {least:g}")
            cases = [replace(case, **{option: value}) for case in cases]
    if asks is not None:
        cases = [replace(case, asks=asks) for case in cases]
    name = given[0].stem if given[0].suffix in SUFFIXES else given[0].absolute().name
    return visible(name), chosen(cases, arguments.only)


def _crew(arguments: argparse.Namespace) -> Crew:
    from tdb_dap.tools.check.team import processes
    from tdb_dap.tools.zoo.crews import Cluster, Here

    if arguments.dask and arguments.jobs is not None:
        raise BadInput("--jobs and --dask: give one of them")
    if arguments.dask:
        return Cluster(arguments.dask)
    if arguments.jobs is not None and not 1 <= arguments.jobs <= _MOST_JOBS:
        raise BadInput(f"--jobs {arguments.jobs:,}: give the number of cases at a time, 1 to {_MOST_JOBS:,}")
    return Here(arguments.jobs or processes(_MOST_JOBS, _MOST_JOBS))


class _Shown:
    """Progress on standard error: a line that is written over on a terminal, one now and then elsewhere."""

    _EVERY = 30.0
    """Seconds between lines where there is no terminal."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._terminal = sys.stderr.isatty()
        self._next = time.monotonic() + self._EVERY

    def update(self, progress: Progress, case: Case | None, result: Result | None) -> None:
        """Tell of a case that is done, if it did not pass, and how far all is."""
        if self._quiet:
            return
        if case is None and progress.known:
            print(f"tdb-dap: going on: {progress.known:,} cases are done", file=sys.stderr)
        if case is not None and result is not None and result.status != "pass":
            self.clear()
            print(f"{visible(case.key)}: {result.status}: {visible(result.text)}", file=sys.stderr)
        now = time.monotonic()
        if self._terminal:
            print(f"\r\033[K{progress.line(now)}", end="", file=direct(sys.stderr), flush=True)
        elif now >= self._next:
            self._next = now + self._EVERY
            print(f"tdb-dap: {progress.line(now)}", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Take the line away."""
        if self._terminal and not self._quiet:
            print("\r\033[K", end="", file=direct(sys.stderr), flush=True)


def _overview(arguments: argparse.Namespace, store: Store, run: Run) -> Overview:
    from tdb_dap.tools.zoo.changes import overview
    from tdb_dap.tools.zoo.tolerated import NOTHING, read_contract

    contract = read_contract(arguments.baseline, date.today()) if arguments.baseline is not None else NOTHING
    before = store.run(arguments.against) if arguments.against is not None else store.before(run)
    return overview(store, run, before, contract)


def _told(found: Overview) -> int:
    from tdb_dap.tools.zoo.summary import headline, lines

    for line in lines(found):
        print(line)
    for entry in found.contract.expired:
        print(f"tolerated no more since {entry.until}: {entry.case} ({entry.owner})")
    print(headline(found))
    return int(bool(found.failures))


def _report(arguments: argparse.Namespace) -> int:
    """Outcome of a run, beside the one before. 0: nothing new is wrong; 1: something is; 2: could not be done."""
    from tdb_dap.tools.findings.junit import junit
    from tdb_dap.tools.findings.sarif import sarif
    from tdb_dap.tools.zoo.page import page
    from tdb_dap.tools.zoo.store import Store
    from tdb_dap.tools.zoo.summary import findings_of, markdown

    for path in arguments.output:
        if path.suffix not in _FORMATS:
            raise BadInput(f"{path}: the name has to end with one of {', '.join(_FORMATS)}")
    with Store(arguments.store) as store:
        found = _overview(arguments, store, store.run(arguments.run))
        for path in arguments.output:
            if path.suffix == ".html":
                text = page(store, found)
            elif path.suffix == ".md":
                text = markdown(found)
            else:
                text = (junit if path.suffix == ".xml" else sarif)(findings_of(found))
            write_text(path, text)
        return _told(found)


def _list(arguments: argparse.Namespace) -> int:
    """The runs in a store, the newest last."""
    from tdb_dap.tools.zoo.page import moment
    from tdb_dap.tools.zoo.store import Store

    with Store(arguments.store) as store:
        for one in store.runs():
            ended = "" if one.ended is not None else ", not at its end"
            print(f"{one.id:>4}  {moment(one.started)}  {visible(one.name)}, {one.cases:,} cases{ended}")
    return 0


def _export(arguments: argparse.Namespace) -> int:
    """Write the tables runs, cases, ops and findings as files."""
    from tdb_dap.tools.zoo.exporting import export
    from tdb_dap.tools.zoo.store import Store

    with Store(arguments.store) as store:
        for path in export(store, arguments.folder, arguments.form):
            print(path)
    return 0


def _say(text: str) -> None:
    print(f"tdb-dap: {visible(text)}", file=sys.stderr, flush=True)


def _bisect(arguments: argparse.Namespace) -> int:
    """Find the first build that breaks a case, by halving. 1: found; 2: nothing can be told."""
    from dataclasses import replace

    from tdb_dap.backends.discovery import cache_directory
    from tdb_dap.engine.files.documents import SUFFIXES
    from tdb_dap.tools.zoo.bisect import Bisection, builds_of, commits
    from tdb_dap.tools.zoo.cases import Case, find_cases
    from tdb_dap.tools.zoo.zoo_file import read_zoo

    names = list(arguments.builds)
    if arguments.commits:
        if names:
            raise BadInput("--builds and --commits: give one of them")
        if not arguments.build_command:
            raise BadInput("--commits needs --build-command, which makes the context {out} with the commit {build}")
        names = commits(arguments.repository, arguments.commits)
    case = Case(arguments.case, Path(arguments.case))
    if arguments.zoo is not None:
        is_file = arguments.zoo.suffix in SUFFIXES and not arguments.zoo.is_dir()
        cases = read_zoo(arguments.zoo) if is_file else find_cases([arguments.zoo])
        found = next((one for one in cases if one.key == arguments.case), None)
        if found is None:
            raise BadInput(f"{arguments.zoo}: has no case {arguments.case}; it has {cases[0].key} and others")
        case = found
    if arguments.do:
        case = replace(case, asks=tuple(ask for ask in ASKS if ask in arguments.do))
    builds = builds_of(names, arguments.build_command)
    keep = arguments.keep or cache_directory().parent / "bisect"
    outcome = Bisection(case, builds, keep.absolute(), arguments.build_command, _say).run()
    print(f"{visible(outcome.bad.name)} is the first build that is wrong; {visible(outcome.good.name)} was right")
    for build in outcome.skipped:
        print(f"between them {visible(build.name)} made nothing")
    print(f"{outcome.result.status}: {visible(outcome.result.text)}")
    first = next((op for op in outcome.result.ops if op.verdict == "fail"), None)
    if first is not None:
        print(f"first op: {visible(first.opcode)} at line {first.line}, {visible(first.name)}")
    print(f"{outcome.looked} of {len(builds)} builds were tried; see it with\n    {visible(outcome.result.command)}")
    if arguments.reduce is not None:
        from tdb_dap.cli.write import reduce

        reduce.run(argparse.Namespace(directory=outcome.context, output=arguments.reduce))
    return 1
