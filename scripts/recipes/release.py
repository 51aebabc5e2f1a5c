"""A release: the next version."""

from __future__ import annotations

import re

from scripts.generated import ROOT
from scripts.recipes.recipe import Change, Recipe

_VERSION = re.findall(r'^__version__ = "(.+)"$', (ROOT / "tdb_dap" / "version.py").read_text("utf-8"), re.MULTILINE)[0]

RELEASE = Recipe(
    "A release",
    (
        Change(1, "tdb_dap/version.py", ".1", (f'__version__ = "{_VERSION}',)),
        Change(1, "CHANGELOG.md", f"\n## {_VERSION}.1 - 2030-01-01\n", ("## Unreleased\n",)),
    ),
    left_out={
        "make setup": "it makes an environment, which takes minutes",
        "python -m pytest -n auto -m fuzz": "it searches for a quarter of an hour",
        "make release": "the section `release` of .ci/run does it",
    },
)
