"""Recipes of CONTRIBUTING.md; ``scripts/check_recipes.py`` follows them, and here it is seen that it would notice."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from scripts.check_recipes import RECIPES, follow, run
from scripts.recipes.recipe import CONTRIBUTING, BadRecipe, Change, Recipe

TEXT = CONTRIBUTING.read_text("utf-8")


def test_every_section_with_numbered_steps_is_followed() -> None:
    sections = re.findall(r"^## (.*)\n\n(?:[^#\n].*\n+)*?1\. ", TEXT, re.MULTILINE)
    assert sections == [recipe.title for recipe in RECIPES]


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.title)
def test_each_step_names_the_files_that_it_changes(recipe: Recipe) -> None:
    steps = recipe.steps(TEXT)
    recipe.check_paths(steps)
    assert any(recipe.commands(step) for step in steps)
    assert {command for step in steps for command in recipe.commands(step)} >= recipe.shown.keys()


def test_a_step_that_does_not_name_its_file_is_noticed() -> None:
    recipe = RECIPES[1]
    with pytest.raises(BadRecipe, match=r"step 1 of 'Add a request' does not name tdb_dap/engine/x\.py"):
        replace(recipe, changes=(Change(1, "tdb_dap/engine/x.py", ""),)).check_paths(recipe.steps(TEXT))
    with pytest.raises(BadRecipe, match="has no recipe 'Add a wheel'"):
        Recipe("Add a wheel", ()).steps(TEXT)


def test_a_place_that_is_gone_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("one two one\n")
    Change(1, "a.py", "!", ("two", "one")).apply(tmp_path)
    assert (tmp_path / "a.py").read_text() == "one two one!\n"
    with pytest.raises(BadRecipe, match=r"a\.py has no 'three'"):
        Change(1, "a.py", "", ("three",)).apply(tmp_path)
    with pytest.raises(BadRecipe, match=r"a\.py exists already"):
        Change(1, "a.py", "x").apply(tmp_path)


def test_a_command_that_fails_or_shows_something_else_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    run("python -c 'print(1 + 1)'", tmp_path, "2")
    with pytest.raises(BadRecipe, match="does not show '3'"):
        run("python -c 'print(1 + 1)'", tmp_path, "3")
    with pytest.raises(BadRecipe, match="ended with exit code 1:\nno\n"):
        run("""python -c 'raise SystemExit("no")'""", tmp_path, "")
    with pytest.raises(BadRecipe, match="step 1 of 'Add a request' does not name"):
        follow(replace(RECIPES[1], changes=(Change(1, "b.py", ""),)), tmp_path)
