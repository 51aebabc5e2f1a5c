"""The machine: each line, sound and wrong."""

from __future__ import annotations

import shlex
import socket
import sys
from pathlib import Path

import pytest

from tdb_dap.system import plugins
from tdb_dap.targets import kernel
from tdb_dap.tools.doctor import executing, machine
from tdb_dap.tools.doctor.installation import Installation
from tests.doctor.installations import only

HERE = Installation.here()


def test_python_is_new_enough_or_not() -> None:
    found = only(machine.python(HERE))
    assert (found.status, found.mend) == ("ok", "")
    assert found.text.endswith(f" bits, {sys.executable}")
    old = only(machine.python(HERE, (3, 9, 1)))
    assert old.status == "error"
    assert old.mend.startswith("uv tool install --python 3.10 ")
    assert not old.mend.endswith(" tdb-dap"), "no index is told to have it"
    assert "3.9.1" in old.text


def test_the_platform_does_not_name_the_machine() -> None:
    found = only(machine.system())
    assert found.status == "ok"
    assert socket.gethostname() not in found.text


def test_little_memory_is_noted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert only(machine.memory(4 << 30)).text.startswith("4.0 GiB of memory, ")
    little = only(machine.memory(512 << 20))
    assert (little.status, little.text[:19]) == ("note", "512 MiB of memory, ")
    limit = tmp_path / "memory.max"
    limit.write_text(f"{256 << 20}\n")
    monkeypatch.setattr(machine, "_LIMITS", (str(tmp_path / "none"), str(limit)))
    assert only(machine.memory()).text.startswith("256 MiB of memory, ")
    limit.write_text("max\n")
    assert only(machine.memory()).status == "ok"
    monkeypatch.setattr(machine, "_memory", lambda: 0)
    assert only(machine.memory()).text.endswith("an unknown amount of memory")


def test_a_machine_whose_programs_cannot_reach_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    assert only(machine.port()).status == "ok"

    def unreachable(*_: object, **__: object) -> socket.socket:
        raise OSError(101, "Network is unreachable")

    for name in ("create_server", "create_connection"):
        with monkeypatch.context() as patched:
            patched.setattr(socket, name, unreachable)
            patched.setattr(sys, "platform", "linux")
            found = only(machine.port())
            assert (found.status, found.mend) == ("error", "sudo ip link set lo up")
            assert "(Network is unreachable); sessions over standard streams work" in found.text


@pytest.mark.skipif(sys.platform == "win32", reason="a program is a file with the right to be executed")
def test_the_command_of_another_installation_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = Installation(tmp_path, str(tmp_path / "own" / "python"), False)
    for folder in ("own", "other", "links"):
        (tmp_path / folder).mkdir()
    for folder in ("own", "other"):
        (tmp_path / folder / "tdb-dap").write_text("#!/bin/sh\n")
        (tmp_path / folder / "tdb-dap").chmod(0o755)
    (tmp_path / "links" / "tdb-dap").symlink_to(tmp_path / "own" / "tdb-dap")
    seen = {}
    for folder in ("none", "own", "other", "links"):
        monkeypatch.setenv("PATH", str(tmp_path / folder))
        found = only(machine.command(here))
        seen[folder] = (found.status, found.mend)
    assert seen == {
        "none": ("note", f"export PATH={shlex.quote(str(tmp_path / 'own'))}:$PATH"),
        "own": ("ok", ""),
        "other": ("note", f"{shlex.quote(str(tmp_path / 'other' / 'tdb-dap'))} doctor"),
        "links": ("ok", ""),
    }


def test_a_cache_that_cannot_be_written_is_noted(tmp_path: Path) -> None:
    assert only(machine.cache(tmp_path / "a" / "b", True)).text == f"{tmp_path / 'a' / 'b'} can be written"
    assert not (tmp_path / "a").exists()
    (tmp_path / "file").touch()
    found = only(machine.cache(tmp_path / "file" / "b", False))
    assert (found.status, found.mend.partition("=")[0]) == ("note", "export TDB_DAP_CACHE")
    assert str(tmp_path) not in found.text  # the environment named it


def test_the_kernel_is_used_switched_off_not_built_or_of_another_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kernel.is_built:
        assert only(executing.kernel(HERE)).status == "ok"
        with kernel.switched(False):
            found = only(executing.kernel(HERE))
            assert (found.status, found.mend) == ("note", "unset TDB_DAP_KERNEL")
    monkeypatch.setattr(kernel, "_enabled", False)
    monkeypatch.setattr(kernel, "is_built", False)
    monkeypatch.setattr(kernel, "__file__", str(tmp_path / "__init__.py"))
    found = only(executing.kernel(HERE))
    assert (found.status, found.mend) == ("note", HERE.again)
    assert "is not built" in found.text
    (tmp_path / "_kernel.abi3.so").touch()
    assert "_kernel.abi3.so cannot be loaded on this machine" in only(executing.kernel(HERE)).text
    monkeypatch.setattr(kernel, "is_outdated", True)
    assert "was built from other sources: install again" in only(executing.kernel(HERE)).text


def test_a_vendor_s_library_is_there_missing_or_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tdb_dap.backends.discovery._package_directory", lambda: None)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    monkeypatch.setenv("TDB_DAP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TPUC_ROOT", str(tmp_path))
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libcmodel_bm1684x.so").write_bytes(b"\x7fELF...")
    (tmp_path / "lib" / "libcmodel_bm1688.so").write_bytes(b"")
    (tmp_path / "lib" / "libcmodel_bm1684.so").mkdir()
    found = {check.name.partition(":")[2]: check for check in executing.simulators()}
    assert (found["BM1684X"].status, found["BM1684X"].text) == ("ok", "libcmodel_bm1684x.so (TPUC_ROOT)")
    assert (found["BM1688"].status, found["BM1688"].mend) == ("error", "tdb-dap backends fetch")
    assert found["BM1688"].text == "libcmodel_bm1688.so (TPUC_ROOT) is no library for Linux"
    assert (found[""].status, found[""].mend) == ("note", "tdb-dap backends fetch")
    missing = "BM1684, BM1684X2, BM1690, BM1690E, CV184X, SG2380, SGTPUV8, CV180X, CV181X, CV182X, CV183X"
    assert found[""].text.startswith(f"the vendor's simulator is missing for {missing}; ")
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    assert only(executing.simulators()).text.startswith("the vendor's simulators need Linux on x86-64")


def test_a_library_that_may_not_be_read_says_so(tmp_path: Path) -> None:
    assert executing._damage(tmp_path).startswith("cannot be read: ")


def test_a_plugin_that_cannot_be_loaded_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    information = tmp_path / "mine-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Name: mine\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[tdb_dap.observers]\nbad = no_such_thing:x\ngood = json:loads\n")
    plugins.plugins.cache_clear()
    try:
        assert {check.name for check in executing.plugins(HERE)} == {"plugins"}, "none is installed"
        with monkeypatch.context() as without:
            without.setattr(executing, "GROUPS", {})
            assert only(executing.plugins(HERE)).text == "none"
        monkeypatch.syspath_prepend(tmp_path)
        plugins.plugins.cache_clear()
        found = {check.name: check for check in executing.plugins(HERE)}
    finally:
        plugins.plugins.cache_clear()
    assert found["plugin:good"].status == "ok"
    assert (found["plugin:bad"].status, found["plugin:bad"].mend) == ("error", HERE.without("mine"))
    assert "mine 1.0 cannot be loaded: ModuleNotFoundError" in found["plugin:bad"].text
