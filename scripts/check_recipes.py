"""Follow each recipe of CONTRIBUTING.md on a copy of the project, and run the commands that it names.

    python -m scripts.check_recipes [TITLE ...]    TITLE: the start of a heading, such as "Add a request"

The changes of a step are in ``scripts/recipes/``; a step must name each file that it changes. The copy has the files
that git knows, as they are now, and the environment is that of this script. Exit code 1 if a recipe does not hold.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from scripts.generated import ROOT
from scripts.recipes.chip import CHIP
from scripts.recipes.instruction import INSTRUCTION
from scripts.recipes.recipe import CONTRIBUTING, BadRecipe, Recipe
from scripts.recipes.release import RELEASE
from scripts.recipes.request import REQUEST
from scripts.recipes.view import VIEW

RECIPES = (INSTRUCTION, REQUEST, VIEW, CHIP, RELEASE)


def main() -> int:
    """Follow the recipes that are asked for, all by default."""
    wanted = tuple(sys.argv[1:])
    recipes = [recipe for recipe in RECIPES if not wanted or recipe.title.startswith(wanted)]
    if not recipes:
        titles = ", ".join(recipe.title for recipe in RECIPES)
        sys.exit(f"check_recipes: error: no recipe starts with {' or '.join(wanted)}; there are: {titles}")
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # each in a copy of its own
        held = []
        for holds, line in pool.map(tried, recipes):
            print(line, flush=True)
            held.append(holds)
    return int(not all(held))


def tried(recipe: Recipe) -> tuple[bool, str]:
    """Whether a recipe holds, and the line that says so."""
    start = time.monotonic()
    try:
        with tempfile.TemporaryDirectory() as folder:
            follow(recipe, copied(Path(folder) / "project"))
    except BadRecipe as error:
        return False, f"FAILED {recipe.title}: {error}"
    return True, f"ok     {recipe.title}, {time.monotonic() - start:.0f} s"


def copied(target: Path) -> Path:
    """A copy of the files that git knows, and of the C kernel as it was built here."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    built = [str(path.relative_to(ROOT)) for path in (ROOT / "tdb_dap").rglob("*.so")]
    for name in [*filter(None, listed.split("\0")), *built]:
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    return target


def follow(recipe: Recipe, project: Path) -> None:
    """Make the changes of each step and run its commands; BadRecipe says which of them fails."""
    steps = recipe.steps(CONTRIBUTING.read_text("utf-8"))
    recipe.check_paths(steps)
    for number, step in enumerate(steps, 1):
        for change in recipe.changes:
            if change.step == number:
                change.apply(project)
        folder = project / "vscode-extension" if "`vscode-extension/`:" in step else project
        for command in recipe.commands(step):
            run(command, folder, recipe.shown.get(command, ""))


def run(command: str, folder: Path, shown: str) -> None:
    """Run a command in the copy; BadRecipe if it fails or does not print ``shown``."""
    if command.startswith("npm ") and shutil.which("npm") is None:
        raise BadRecipe(f"`{command}` needs Node 20 with npm")
    project = folder if (folder / "pyproject.toml").exists() else folder.parent
    paths = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    environment = {**os.environ, "PATH": paths, "PYTHONPATH": str(project)}
    for part in command.split(" && "):
        done = subprocess.run(
            shlex.split(part), cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        if done.returncode:
            raise BadRecipe(f"`{part}` ended with exit code {done.returncode}:\n{done.stdout[-4000:]}")
        if shown not in done.stdout:
            raise BadRecipe(f"`{part}` does not show {shown!r}:\n{done.stdout[-4000:]}")


if __name__ == "__main__":
    sys.exit(main())
