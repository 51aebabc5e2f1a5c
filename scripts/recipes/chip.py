"""Add a chip: one that has the table of SG2380 under another name."""

from __future__ import annotations

from scripts.generated import ROOT
from scripts.recipes.recipe import Change, Recipe

_TABLE = (ROOT / "tdb_dap" / "targets" / "isa" / "sg2380.json").read_text("utf-8").replace("sg2380", "sg1234", 1)
_PAGE = '''"""SG1234: as SG2380."""

from msgspec.structs import replace

from tdb_dap.targets.chips.sg2380 import SG2380

SG1234 = replace(SG2380, name="SG1234", table="sg1234", rules=None, vendor_library=None)

CHIPS = (SG1234,)
'''
_REGISTRY = "tdb_dap/targets/chips/registry.py"

CHIP = Recipe(
    "Add a chip",
    (
        Change(1, "tdb_dap/targets/isa/sg1234.json", _TABLE),
        Change(2, "tdb_dap/targets/chips/sg1234.py", _PAGE),
        Change(3, _REGISTRY, '    "SG1234": "sg1234",\n', ('"SG2380": "sg2380",\n',)),
        Change(
            3, "mkdocs.yml", "\n          - SG1234: reference/chips/sg1234.md", ("CV186X: reference/chips/cv186x.md",)
        ),
    ),
    {"CHIP": "sg1234", "FOLDER": "tests/data/bm1688"},
    {"tdb-dap targets": "SG1234"},
)
