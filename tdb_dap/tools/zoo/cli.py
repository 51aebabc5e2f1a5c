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
from tdb_dap.system.notices import notice
from tdb_dap.tools.zoo.cases import ASKS

if TYPE_CHECKING:
    from tdb_dap.tools.zoo.cases import Case
    from tdb_dap.tools.zoo.changes import Overview
    from tdb_dap.tools.zoo.result import Result
    from tdb_dap.tools.zoo.runner import Progress
    from tdb_dap.tools.zoo.store import Run, Store

_FORMATS = (".html", ".md", ".xml", ".sarif")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    run_it = actions.add_parser(
        "run", help="run all cases and keep the results", description="Run all cases and keep the results."
    )
    _store(run_it)
    run_it.add_argument(
        "zoo", metavar="ZOO.yaml|DIR", nargs="+", type=Path, help="a zoo file, or directories of compiled models"
    )
    run_it.add_argument(
        "--do",
        metavar="WHAT",
        nargs="+",
        choices=ASKS,
        help=f"run these: {', '.join(ASKS)} (default: sanitize, and check where there is reference data, else run)",
    )
    run_it.add_argument(
        "--only",
        metavar="GLOB",
        nargs="+",
        default=[],
        help="run only cases of this name, network, chip or precision (* allowed)",
    )
    run_it.add_argument("--jobs", metavar="N", type=int, help="cases at a time (default: one per processor)")
    run_it.add_argument("--dask", metavar="ADDRESS", help="scheduler of a Dask cluster; its workers need no files")
    run_it.add_argument("--seconds", metavar="N", type=float, help="time limit of a case (default: 1800)")
    run_it.add_argument("--megabytes", metavar="N", type=int, help="memory limit of a case, on Linux (default: none)")
    run_it.add_argument("--again", action="store_true", help="start over; do not resume an interrupted run")
    run_it.add_argument("--quiet", action="store_true", help="no progress")
    _compared(run_it)

    report = actions.add_parser(
        "report",
        help="report a run compared with the one before",
        description="Report a run compared with the one before.",
    )
    _store(report)
    report.add_argument("--run", metavar="N", type=int, help="run to report (default: the newest)")
    report.add_argument("--case", metavar="NAME", help="print what is wrong with this case, and its ops that fail")
    report.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        nargs="+",
        type=Path,
        default=[],
        help="write .html, .md, .xml (JUnit) or .sarif",
    )
    _compared(report)

    runs = actions.add_parser(
        "list", help="list the runs in a store", description="List the runs in a store, the newest last."
    )
    _store(runs)

    export = actions.add_parser(
        "export",
        help="write tables for DuckDB, pandas and others",
        description="Write the tables runs, cases, ops and findings as files.",
    )
    _store(export)
    export.add_argument("folder", metavar="FOLDER", type=Path, help="write a file for each table here")
    export.add_argument(
        "--form", choices=("parquet", "csv"), default="parquet", help="file format (default: %(default)s)"
    )

    bisect = actions.add_parser(
        "bisect",
        help="find the first build that breaks a case",
        description="Find the first build that breaks a case, by bisection. Exit code 1: found; 2: not found.",
    )
    bisect.add_argument(
        "zoo", metavar="ZOO.yaml|DIR", nargs="?", type=Path, help="zoo file or directories that describe the case"
    )
    bisect.add_argument("--case", metavar="NAME", required=True, help="name of the case")
    bisect.add_argument(
        "--builds",
        metavar="BUILD",
        nargs="+",
        default=[],
        help="builds, the oldest first: directories of compiled models, wheels or versions of the compiler "
        "(tpu_mlir==1.21), or any words for --build-command",
    )
    bisect.add_argument(
        "--commits", metavar="GOOD..BAD", help="use commits of --repository as builds, for --build-command"
    )
    bisect.add_argument(
        "--repository", metavar="DIR", type=Path, default=Path(), help="git repository of --commits (default: here)"
    )
    bisect.add_argument(
        "--build-command",
        metavar="LINE",
        default="",
        help="command that makes the context {out} with the build {build}",
    )
    bisect.add_argument(
        "--do", metavar="WHAT", nargs="+", choices=ASKS, help=f"require these to pass: {', '.join(ASKS)}"
    )
    bisect.add_argument(
        "--reduce",
        metavar="DIR",
        type=Path,
        help="new directory: write the smallest case of the first wrong build",
    )
    bisect.add_argument("--keep", metavar="DIR", type=Path, help="keep contexts and results here for the next time")


def _store(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--store", metavar="FILE", type=Path, default=Path("zoo.sqlite"), help="store of results (default: %(default)s)"
    )


def _compared(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--against", metavar="N", type=int, help="run to compare with (default: the one before)")
    parser.add_argument("--baseline", metavar="FILE", type=Path, help="tolerated findings, with owner and date")


def run(arguments: argparse.Namespace) -> int:
    """Do one of the actions; returns its exit code."""
    action = {"run": _run, "report": _report, "list": _list, "export": _export, "bisect": _bisect}[arguments.action]
    return action(arguments)


def _run(arguments: argparse.Namespace) -> int:
    """Work on all cases and keep the results. 0: nothing new is wrong; 1: something is; 2: could not be done."""
    from tdb_dap.tools.zoo.executors import executor_of
    from tdb_dap.tools.zoo.runner import run_zoo
    from tdb_dap.tools.zoo.store import Store
    from tdb_dap.tools.zoo.zoo_file import zoo_cases

    name, cases = zoo_cases(arguments.zoo, arguments.do or (), arguments.only, arguments.seconds, arguments.megabytes)
    executor = executor_of(arguments.jobs, arguments.dask)
    with Store(arguments.store, create=True) as store:
        shown = _Shown(arguments.quiet)
        try:
            done = run_zoo(store, name, cases, executor, arguments.again, shown.update)
        except KeyboardInterrupt:
            shown.clear()
            print(f"tdb-dap: interrupted; run the same command to resume from {arguments.store} holds", file=sys.stderr)
            raise
        shown.clear()
        return _told(_overview(store, done, arguments.against, arguments.baseline))


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


def _overview(store: Store, run: Run, against: int | None, baseline: Path | None) -> Overview:
    from tdb_dap.tools.zoo.changes import overview
    from tdb_dap.tools.zoo.tolerated import NOTHING, read_contract

    contract = read_contract(baseline, date.today()) if baseline is not None else NOTHING
    before = store.run(against) if against is not None else store.before(run)
    return overview(store, run, before, contract)


def _told(overview: Overview) -> int:
    from tdb_dap.tools.zoo.summary import headline, lines

    for line in lines(overview):
        print(line)
    for entry in overview.contract.expired:
        print(f"tolerated no more since {entry.until}: {entry.case} ({entry.owner})")
    print(headline(overview))
    return int(bool(overview.failures))


def _report(arguments: argparse.Namespace) -> int:
    """Outcome of a run, compared with the one before. 0: no new findings; 1: new findings; 2: could not run."""
    from tdb_dap.tools.findings.junit import junit
    from tdb_dap.tools.findings.sarif import sarif
    from tdb_dap.tools.zoo.page import page
    from tdb_dap.tools.zoo.store import Store
    from tdb_dap.tools.zoo.summary import case_lines, findings_of, markdown

    for path in arguments.output:
        if path.suffix not in _FORMATS:
            raise BadInput(f"{path}: the name has to end with one of {', '.join(_FORMATS)}")
    with Store(arguments.store) as store:
        overview = _overview(store, store.run(arguments.run), arguments.against, arguments.baseline)
        for path in arguments.output:
            if path.suffix == ".html":
                text = page(store, overview)
            elif path.suffix == ".md":
                text = markdown(overview)
            else:
                text = (junit if path.suffix == ".xml" else sarif)(findings_of(overview))
            write_text(path, text)
        if arguments.case is None:
            return _told(overview)
        print("\n".join(case_lines(store, overview, arguments.case)))
        return int(any(one.case.key == arguments.case for one, _ in overview.failures))


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


def _bisect(arguments: argparse.Namespace) -> int:
    """Find the first build that breaks a case, by halving. 1: found; 2: nothing can be told."""
    from tdb_dap.tools.reduce.folder import reduce
    from tdb_dap.tools.reduce.text import lines as reduced_lines
    from tdb_dap.tools.zoo.bisect import BisectOptions, bisect, lines
    from tdb_dap.tools.zoo.zoo_file import zoo_case

    options = BisectOptions(
        zoo_case(arguments.zoo, arguments.case),
        arguments.builds,
        arguments.commits,
        arguments.repository,
        arguments.build_command,
        arguments.do or (),
        arguments.keep,
    )
    outcome = bisect(options, lambda text: print(f"tdb-dap: {visible(text)}", file=sys.stderr, flush=True))
    print("\n".join(lines(outcome)))
    if arguments.reduce is not None:
        case = reduce(outcome.context, arguments.reduce, lambda text: notice(f"tries {text}"))
        print("\n".join(reduced_lines(case, arguments.reduce)))
    return 1
