"""docs/architecture.md: every room and every function that it names is there."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from scripts.structure.imports import PACKAGE
from scripts.structure.rooms import LEVELS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
MOST_ROOMS = 10
"""Rooms that a path goes through."""

PATHS = {
    title: PAGE[PAGE.index(f"## {title}") :].split("\n## ")[0]
    for title in ("The life of a breakpoint", "The life of a step", "The life of a tensor")
}


def rooms_of(text: str) -> list[str]:
    return list(dict.fromkeys(re.findall(r"`((?:adapter|engine|targets)/\w+)`", text)))


@pytest.mark.parametrize("title", PATHS)
def test_a_path_goes_through_few_rooms(title: str) -> None:
    rooms = rooms_of(PATHS[title])
    assert 3 < len(rooms) <= MOST_ROOMS
    assert all((ROOT / PACKAGE / room).is_dir() for room in rooms)


@pytest.mark.parametrize("title", PATHS)
def test_every_function_at_a_door_is_there(title: str) -> None:
    text = PATHS[title]
    named = 0
    rooms: list[str] = []
    for part in re.findall(r"`([\w/.]+)`", text):
        if "/" in part:
            rooms.append(part)
        elif "." in part and not part.endswith((".mlir", ".json")):
            module, *names = part.split(".")
            assert any(_has(room, module, names) for room in reversed(rooms)), f"{part} is in none of {rooms}"
            named += 1
    assert named >= 6


def _has(room: str, module: str, names: list[str]) -> bool:
    path = ROOT / PACKAGE / room / f"{module}.py"
    if not path.is_file():
        return False
    found = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    for name in names:
        if not hasattr(found, name):
            return False
        found = getattr(found, name)
    return True


def test_the_map_names_every_room() -> None:
    told = set(re.findall(r"`([\w/]+?)/?`", PAGE))
    for room in LEVELS:
        parts = room.split(".")
        if room.startswith("_") or parts[-1].startswith("_"):
            continue
        wanted = {parts[-1], "/".join(parts), f"{parts[0]}"} if parts[0] == "targets" else {parts[-1], "/".join(parts)}
        assert wanted & told or f"{parts[-1]}.py" in PAGE or parts[-1] == "report_schema", room
