"""All checks, in the order of the report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from os import environ

from tdb_dap.tools.doctor import dependencies, executing, machine, self_test
from tdb_dap.tools.doctor.clients import clients
from tdb_dap.tools.doctor.findings import Check, anonymous, guarded, without
from tdb_dap.tools.doctor.installation import Installation

Look = Callable[[], Iterable[Check]]


def examine(installation: Installation, session: Look) -> Iterator[Check]:
    """Look at everything; each check comes as soon as it is made, fit to be shown to others.

    ``session``: a conversation with an adapter, which is not for this part of the package to have.
    """
    broken: list[str] = []
    has_run = False
    for name, look in _looks(installation):
        for check in guarded(name, look, broken, installation.again):
            if check.status == "error" and name == "dependency":
                broken.append(check.name.partition(":")[2])
            has_run = has_run or check.name.startswith("sample:")
            yield anonymous(check)
    if not has_run:
        yield Check("session", "note", "skipped: the sample cannot be run")
        return
    for check in guarded("session", session, broken, installation.again):
        # The adapter answers with an error where a package is missing, which has been told above.
        yield anonymous(without("session", broken) if broken and check.status == "error" else check)


def _looks(installation: Installation) -> list[tuple[str, Look]]:
    return [
        ("installation", installation.checks),
        ("python", lambda: machine.python(installation)),
        ("platform", machine.system),
        ("machine", machine.memory),
        ("dependency", lambda: dependencies.checks(installation, dependencies.needed())),
        ("command", lambda: machine.command(installation)),
        ("port", machine.port),
        ("cache", _cache),
        ("kernel", lambda: executing.kernel(installation)),
        ("recorder", lambda: executing.recorder(installation)),
        ("vendor", executing.simulators),
        ("plugins", lambda: executing.plugins(installation)),
        ("client", clients),
        ("sample", lambda: self_test.sample(installation)),
    ]


def _cache() -> Iterator[Check]:
    from tdb_dap.backends.discovery import library_directory

    return machine.cache(library_directory(), not environ.keys() & {"TDB_DAP_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"})
