"""Errors as one line: those of the user, of the system, and our own."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys

import pytest

from tdb_dap.adapter.protocol.client import ADAPTER, Client, ConnectionLost
from tdb_dap.adapter.session.error_responses import error_message
from tdb_dap.errors import BadInput, is_internal, sentence
from tests.samples import SAMPLE


def system(number: int, name: str | None = None) -> OSError:
    return OSError(number, os.strerror(number), *([] if name is None else [name]))


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (system(errno.EMFILE), "too many open files; close some, or raise the limit (ulimit -n)"),
        (system(errno.EMFILE, "a.npz"), "a.npz: too many open files; close some, or raise the limit (ulimit -n)"),
        (system(errno.ENAMETOOLONG, "x" * 5000), f"{'x' * 120}: file name too long"),
        (system(errno.EACCES, "a"), "a: permission denied"),
        (ConnectionResetError(), "connectionreseterror"),
        (RuntimeError("can't start new thread"), "no thread can be started: there is not enough memory, or there are "),
        (MemoryError(), "there is not enough memory for this"),
        (BadInput("a: b"), "a: b"),
    ],
)
def test_what_the_system_refuses_is_one_line_and_no_internal_error(error: Exception, text: str) -> None:
    assert sentence(error).startswith(text)
    assert len(sentence(error)) < 300
    assert error_message(error, loud=False)["message"] == sentence(error)
    assert not is_internal(error)


def test_a_full_disk_is_told_with_what_to_do() -> None:
    assert sentence(system(errno.ENOSPC)) == (
        "no space left on device; make room, or choose another directory (TMPDIR for temporary files)"
    )


def test_what_is_our_own_fault_stays_an_internal_error() -> None:
    assert sentence(KeyError("a")).startswith("internal error, please report it: KeyError: 'a'")
    assert error_message(KeyError("a"), loud=True)["message"].startswith("internal error, please report it: KeyError")
    assert is_internal(KeyError("a"))
    assert is_internal(ModuleNotFoundError("no", name="tdb_dap.nothing"))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of a process")
def test_an_adapter_without_descriptors_says_so() -> None:
    client = Client.spawn(("sh", "-c", 'ulimit -n 5; exec "$0" "$@"', *ADAPTER), timeout=60)
    with pytest.raises(ConnectionLost, match=r"ended with code \d: .*[Tt]oo many open files"):
        client.initialize()
    client.close()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of a process")
def test_an_adapter_that_dies_is_named_with_its_code_and_its_last_line() -> None:
    """In 200 MB of address space NumPy's library gives up in the middle of ``launch``."""
    client = Client.spawn(("sh", "-c", 'ulimit -v 200000; exec "$0" "$@"', *ADAPTER), timeout=60)
    with pytest.raises(
        ConnectionLost, match=r"the adapter has ended with (code \d+|SIG\w+)(: .*([Mm]emory|thread).*)?$"
    ):
        client.answer(client.send("launch", program=str(SAMPLE)))
    client.close()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of a process")
@pytest.mark.parametrize("kilobytes", [60_000, 200_000, 260_000])
def test_a_terminal_without_memory_says_so(kilobytes: int) -> None:
    """Where a library gives up, or cannot be loaded, or the model does not fit; nothing waits."""
    command = (
        "sh",
        "-c",
        f'ulimit -v {kilobytes}; exec "$0" "$@"',
        sys.executable,
        "-m",
        "tdb_dap",
        "debug",
        str(SAMPLE),
    )
    done = subprocess.run([*command, "-c", "quit"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    [error] = [line for line in done.stderr.splitlines() if line.startswith("tdb-dap: error: ")]
    assert re.search(r"[Mm]emory|thread", error), error


def test_the_last_line_of_an_adapter_is_told_however_much_it_prints() -> None:
    printing = "import sys; sys.stderr.write('x' * 80 + chr(10) * 2000000 + 'the last one' + chr(10)); sys.exit(3)"
    client = Client.spawn((sys.executable, "-c", printing), timeout=60)
    with pytest.raises(ConnectionLost, match=r"^the adapter has ended with code 3: the last one$"):
        client.initialize()
    client.close()


def test_a_terminal_tells_how_its_adapter_ended() -> None:
    """Here because the module of its adapter cannot be loaded."""
    program = (
        "import sys; from tdb_dap.adapter.protocol import client; "
        "client.Client.spawn.__func__.__defaults__ = ((sys.executable, '-c', 'raise SystemExit(\"no room\")'), "
        "*client.Client.spawn.__func__.__defaults__[1:]); "
        "from tdb_dap.cli.main import main; sys.exit(main(['debug', sys.argv[1], '-c', 'continue']))"
    )
    done = subprocess.run([sys.executable, "-c", program, str(SAMPLE)], capture_output=True, text=True, timeout=120)
    assert done.stderr == "tdb-dap: error: the adapter has ended with code 1: no room\n"
    assert done.returncode == 2
