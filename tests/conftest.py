"""Fixtures that all tests share. Every session is recorded and its transcript checked against the protocol."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.clients.validate import Protocol, check
from tests.dap_client import DapClient
from tests.samples import SAMPLE, without_data

SLOW = frozenset((Path(__file__).parent / "slow.txt").read_text("utf-8").split())
"""Test functions that are left out where all tests are run: python -m scripts.record_slow_tests."""
WITHOUT_SLOW = pytest.StashKey[bool]()


def pytest_configure(config: pytest.Config) -> None:
    """Let workers and the processes of tests keep what they compile, whatever the environment says.

    Some images set PYTHONDONTWRITEBYTECODE: then each of a few hundred processes would compile the package again, and
    each worker rewrite the assertions of all tests.

    How long an example of Hypothesis takes is no matter of right or wrong: machines are loaded. Its examples are the
    same on every run, so that a change fails for what it changes; ``--hypothesis-profile=search`` draws new ones.

    A shell starts what it runs in the background with Ctrl-C ignored, and processes inherit that: those of tests are
    to be interruptible as in a terminal, however pytest was started.
    """
    workers = getattr(config, "workerinput", None)
    named = config.args_source is config.ArgsSource.ARGS or config.option.keyword or "slow" in config.option.markexpr
    config.stash[WITHOUT_SLOW] = workers["without_slow"] if workers is not None else not named
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    search = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
    settings.register_profile("search", search)
    settings.register_profile("same on every run", search, derandomize=True, database=None)
    settings.load_profile("same on every run")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark slow tests, and leave them out unless files, names or the mark are given: `pytest -m slow`."""
    slow = [item for item in items if item.nodeid.partition("[")[0] in SLOW]
    for item in slow:
        item.add_marker("slow")
    if config.stash[WITHOUT_SLOW] and slow:
        config.hook.pytest_deselected(items=slow)
        left_out = set(slow)
        items[:] = [item for item in items if item not in left_out]


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker whether slow tests are left out."""
    node.workerinput["without_slow"] = node.config.stash[WITHOUT_SLOW]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Workers begin with a half of the list each, and share what is left: a module stays with one, and nobody idles."""
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log) if config.getoption("dist") == "load" else None


def pytest_collection_finish() -> None:
    """Take what was collected, which lives to the end, out of every search for garbage."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def nothing_fetched(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No libraries of the vendor's but in tests about them: with these, models with dynamic subnets run on."""
    with pytest.MonkeyPatch.context() as patch:
        if request.node.get_closest_marker("vendor") is None:
            patch.setenv("TDB_DAP_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
            patch.delenv("TPUC_ROOT", raising=False)
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.getbasetemp() / "state"))
        yield


class Toy:
    """The bundled sample and what the tests have to know of it."""

    directory = SAMPLE
    mlir = SAMPLE / "final.mlir"
    inputs = SAMPLE / "input.npz"
    reference = SAMPLE / "ref.npz"

    def line_of(self, text: str) -> int:
        """The first line of final.mlir that holds ``text``."""
        lines = self.mlir.read_text().split("\n")
        return next(number for number, line in enumerate(lines, 1) if text in line)

    @property
    def data(self) -> dict[str, Any]:
        """Inputs and reference, for a launch."""
        return {"inputs": str(self.inputs), "reference": str(self.reference)}


@pytest.fixture(scope="session")
def toy() -> Toy:
    return Toy()


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """The bundled sample without inputs and reference next to it."""
    return without_data(SAMPLE, tmp_path / "bare")


@pytest.fixture(scope="session")
def protocol() -> Protocol:
    return Protocol()


@pytest.fixture
def new_client(tmp_path: Path, protocol: Protocol) -> Iterator[Callable[..., DapClient]]:
    """Makes clients; ``checked=False`` for those that break the protocol on purpose, ``process=True``: of a process."""
    clients: list[tuple[DapClient, Path, bool]] = []

    def make(traits: dict[str, Any] | None = None, checked: bool = True, process: bool = False) -> DapClient:
        log = tmp_path / f"session-{len(clients)}.jsonl"
        client = DapClient(log, traits, process)
        clients.append((client, log, checked))
        return client

    yield make
    for client, log, checked in clients:
        client.close()
        if checked:
            complaints, _ = check(log.read_text().splitlines(), protocol)
            assert complaints == []


@pytest.fixture
def client(new_client: Callable[..., DapClient]) -> DapClient:
    """A client that announces everything, in a separate session."""
    return new_client()
