"""The store of a zoo: one SQLite file with every run, case, op and finding.

Rows of a case are written in one transaction when it is done, so a run that ends in the middle, however it ends, loses
only what was being worked on, and goes on from there.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, astuple

from tdb_dap.errors import BadInput
from tdb_dap.tools.zoo.cases import Case
from tdb_dap.tools.zoo.result import Result
from tdb_dap.tools.zoo.tables import COLUMNS
from tdb_dap.version import __version__

_APPLICATION = 0x7464625A
"""Stands in the file's header and tells a store from any other SQLite file."""

_PATIENCE = 30.0
"""Seconds to wait for another process that is writing."""

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE runs (
        id INTEGER PRIMARY KEY, name TEXT NOT NULL, started REAL NOT NULL, ended REAL, tool TEXT NOT NULL,
        fingerprint TEXT NOT NULL, cases INTEGER NOT NULL
    );
    CREATE TABLE cases (
        id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE, key TEXT NOT NULL,
        model TEXT NOT NULL, chip TEXT NOT NULL, precision TEXT NOT NULL, status TEXT NOT NULL, text TEXT NOT NULL,
        digest TEXT NOT NULL, seconds REAL NOT NULL, megabytes REAL NOT NULL, worker TEXT NOT NULL, ended REAL NOT NULL,
        versions TEXT NOT NULL, command TEXT NOT NULL, steps TEXT NOT NULL, UNIQUE (run, key)
    );
    CREATE TABLE ops (
        id INTEGER PRIMARY KEY, case_id INTEGER NOT NULL REFERENCES cases (id) ON DELETE CASCADE, line INTEGER NOT NULL,
        opcode TEXT NOT NULL, name TEXT NOT NULL, verdict TEXT NOT NULL, cosine REAL, euclidean REAL, max_abs REAL,
        cycles REAL, hash TEXT NOT NULL, picture TEXT NOT NULL
    );
    CREATE TABLE findings (
        id INTEGER PRIMARY KEY, case_id INTEGER NOT NULL REFERENCES cases (id) ON DELETE CASCADE, ask TEXT NOT NULL,
        fingerprint TEXT NOT NULL, rule TEXT NOT NULL, text TEXT NOT NULL
    );
    CREATE INDEX ops_of_case ON ops (case_id);
    CREATE INDEX findings_of_case ON findings (case_id);
    """,
)
"""Statements that make a store of each version from one of the version before; the first from an empty file."""


class Run(Struct, frozen=True):
    """One run of a zoo."""

    id: int
    name: str
    """Name of the zoo file or directory."""
    started: float
    """Seconds since 1970."""
    ended: float | None
    """None: it has not come to its end."""
    tool: str
    cases: int
    """Number of its cases."""
    fingerprint: str
    """Hash of the cases and what is asked of them."""


class Kept(Struct, frozen=True):
    """A case of a run, without its ops and findings."""

    id: int
    key: str
    model: str
    chip: str
    precision: str
    status: str
    text: str
    digest: str
    seconds: float
    megabytes: float
    command: str


class Store:
    """An open store; ``path``: its file, which is made if there is none and ``create`` is set.

    ``reading``: nothing is written, also not beside it.
    """

    def __init__(self, path: Path, create: bool = False, reading: bool = False) -> None:
        self.path = path
        if not create and not path.exists():
            raise BadInput(f"{path}: there is no store of a zoo; tdb-dap zoo run makes one")
        mode = "rwc"
        if reading:  # a run that goes on has a second file; without one nothing will be written
            mode = "ro" if path.with_name(f"{path.name}-wal").exists() else "ro&immutable=1"
        try:
            name = f"{path.absolute().as_uri()}?mode={mode}"
            self._database = sqlite3.connect(name, uri=True, timeout=_PATIENCE, isolation_level=None)
            self._prepare(reading)
        except sqlite3.Error as error:
            raise self._bad(error) from None

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()

    def _bad(self, error: sqlite3.Error) -> BadInput:
        if isinstance(error, sqlite3.DatabaseError) and "not a database" in str(error):
            return BadInput(f"{self.path}: is no store of a zoo; give another --store")
        return BadInput(f"{self.path}: cannot be used as a store: {error}")

    def _prepare(self, reading: bool) -> None:
        """Bring the tables to this version, or only look; BadInput for a newer one, or another program's file."""
        version = self._one("PRAGMA user_version")
        application = self._one("PRAGMA application_id")
        if application != _APPLICATION:
            if reading or version or application or self._one("SELECT count(*) FROM sqlite_master"):
                raise BadInput(f"{self.path}: is a SQLite file, but no store of a zoo; give another --store")
            self._database.execute(f"PRAGMA application_id = {_APPLICATION}")
        if version > len(MIGRATIONS):
            raise BadInput(
                f"{self.path}: is a store of version {version}, and tdb-dap {__version__} knows those up to "
                f"{len(MIGRATIONS)}; use the tdb-dap that has written it, or another --store"
            )
        if reading:
            if version < len(MIGRATIONS):
                raise BadInput(
                    f"{self.path}: is a store of an older version; `tdb-dap zoo list --store FILE` renews it"
                )
            return
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = NORMAL")
        self._database.execute("PRAGMA foreign_keys = ON")
        for number, script in enumerate(MIGRATIONS[version:], version + 1):
            with self._transaction():
                # Another process may have been quicker.
                if self._one("PRAGMA user_version") < number:
                    for statement in filter(str.strip, script.split(";")):
                        self._database.execute(statement)
                    self._database.execute(f"PRAGMA user_version = {number}")

    def _one(self, query: str, *values: object) -> Any:
        row = self._database.execute(query, values).fetchone()
        return row[0] if row is not None else None

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")

    def begin(self, name: str, fingerprint: str, count: int, again: bool) -> tuple[Run, set[str]]:
        """The run to work on, and the keys of the cases that it has.

        The newest with the same fingerprint that has not ended goes on, unless ``again``; else a new one.
        """
        with self._guarded(), self._transaction():
            unfinished = self._database.execute(
                "SELECT id FROM runs WHERE fingerprint = ? AND ended IS NULL ORDER BY id DESC LIMIT 1", (fingerprint,)
            ).fetchone()
            if unfinished is None or again:
                cursor = self._database.execute(
                    "INSERT INTO runs (name, started, tool, fingerprint, cases) VALUES (?, ?, ?, ?, ?)",
                    (name, time.time(), f"tdb-dap {__version__}", fingerprint, count),
                )
                number = int(cursor.lastrowid or 0)
            else:
                number = unfinished[0]
        keys = {row[0] for row in self._database.execute("SELECT key FROM cases WHERE run = ?", (number,))}
        return self.run(number), keys

    def put(self, run: Run, case: Case, result: Result) -> None:
        """Write a case with its ops and findings; one that is there already stays as it is."""
        with self._guarded(), self._transaction():
            cursor = self._database.execute(
                _insertion("cases", "OR IGNORE"),
                (
                    run.id,
                    _storable(case.key),
                    _storable(case.model or case.key),
                    case.chip or "?",
                    case.precision or "?",
                    result.status,
                    result.text,
                    result.digest,
                    result.seconds,
                    result.megabytes,
                    result.worker,
                    time.time(),
                    json.dumps(dict(result.versions)),
                    _storable(result.command),
                    json.dumps([asdict(step) for step in result.steps]),
                ),
            )
            if not cursor.rowcount:
                return
            number = cursor.lastrowid
            for table, rows in (("ops", result.ops), ("findings", result.findings)):
                self._database.executemany(_insertion(table), [(number, *astuple(row)) for row in rows])

    def end(self, run: Run) -> None:
        """All cases of a run are done."""
        with self._guarded(), self._transaction():
            self._database.execute("UPDATE runs SET ended = ? WHERE id = ?", (time.time(), run.id))

    def runs(self) -> list[Run]:
        """All runs, the oldest first."""
        query = "SELECT id, name, started, ended, tool, cases, fingerprint FROM runs ORDER BY id"
        with self._guarded():
            return [Run(*row) for row in self._database.execute(query)]

    def run(self, number: int | None = None) -> Run:
        """The run of that number, or the newest; BadInput if there is none."""
        runs = self.runs()
        matching = [run for run in runs if number in (None, run.id)]
        if not matching:
            what = "holds no run" if number is None else f"holds no run {number}"
            raise BadInput(f"{self.path}: {what}" + (f"; the newest is {runs[-1].id}" if runs else ""))
        return matching[-1]

    def before(self, run: Run) -> Run | None:
        """The newest earlier run of the same name that has come to its end."""
        return next(
            (
                one
                for one in reversed(self.runs())
                if one.id < run.id and one.name == run.name and one.ended is not None
            ),
            None,
        )

    def cases(self, run: Run) -> Iterator[Kept]:
        """The cases of a run, by key."""
        columns = ", ".join(Kept.__struct_fields__)
        with self._guarded(), closing(self._database.cursor()) as cursor:
            for row in cursor.execute(f"SELECT {columns} FROM cases WHERE run = ? ORDER BY key", (run.id,)):
                yield Kept(*row)

    def statuses(self, runs: Iterable[Run]) -> Iterator[tuple[int, str, str, str]]:
        """Run, key, status and digest of every case of some runs."""
        for run in runs:
            with self._guarded():
                yield from self._database.execute(
                    "SELECT run, key, status, digest FROM cases WHERE run = ? ORDER BY key", (run.id,)
                )

    def ops(self, case: int) -> list[dict[str, Any]]:
        """The ops of a case, by line."""
        return self._rows("ops", case)

    def findings(self, case: int) -> list[dict[str, Any]]:
        """The findings of a case."""
        return self._rows("findings", case)

    def _rows(self, table: str, case: int) -> list[dict[str, Any]]:
        names = COLUMNS[table]
        query = f"SELECT {', '.join(names)} FROM {table} WHERE case_id = ? ORDER BY id"
        with self._guarded():
            return [dict(zip(names, row, strict=True)) for row in self._database.execute(query, (case,))]

    def table(self, name: str) -> tuple[tuple[str, ...], Iterator[tuple[Any, ...]]]:
        """Columns and rows of a whole table, for other programs."""
        names = COLUMNS[name]
        with self._guarded():
            return names, self._database.execute(f"SELECT {', '.join(names)} FROM {name} ORDER BY id")

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise self._bad(error) from None


def _insertion(table: str, otherwise: str = "") -> str:
    """The statement that adds a row to a table; its number is given by the database."""
    names = COLUMNS[table][1:]
    return f"INSERT {otherwise} INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"


def _storable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()
