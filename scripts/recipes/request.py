"""Add a request: ``tdb/recipe`` with the number of commands of a model."""

from __future__ import annotations

from scripts.recipes.recipe import Change, Recipe

_HANDLER = '''"""Number of commands of an engine: ``tdb/recipe``, described in docs/requests.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdb_dap.adapter.protocol.model import ProtocolModel
from tdb_dap.adapter.session.handlers import request

if TYPE_CHECKING:
    from tdb_dap.adapter.protocol.recipe_responses import RecipeBody
    from tdb_dap.adapter.session.session import Session


class RecipeArguments(ProtocolModel, kw_only=True):
    """Arguments of `tdb/recipe`."""

    engine: str


@request("tdb/recipe", while_running="answer")
def recipe(session: Session, arguments: RecipeArguments) -> RecipeBody:
    """Number of commands of the engine."""
    commands = session.debugger.program.commands
    return {"commands": sum(command.engine == arguments.engine for command in commands)}
'''

_BODY = '''"""Body of ``tdb/recipe``."""

from __future__ import annotations

from typing_extensions import TypedDict

from tdb_dap.adapter.protocol.model_responses import exact


@exact
class RecipeBody(TypedDict):
    """Body of `tdb/recipe`."""

    commands: int
'''

_TEST = """

def test_a_request_that_follows_the_recipe(pooling: Stop) -> None:
    counts = [pooling.client.request("tdb/recipe", engine=engine)["commands"] for engine in ("tiu", "dma")]
    assert sum(counts) == 58
"""

REQUEST = Recipe(
    "Add a request",
    (
        Change(1, "tdb_dap/adapter/extensions/recipe.py", _HANDLER),
        Change(2, "tdb_dap/adapter/protocol/recipe_responses.py", _BODY),
        Change(3, "tdb_dap/adapter/areas.py", '\n    "extensions.recipe",', ('    "extensions.attached_sessions",',)),
        Change(5, "tests/adapter/test_model_requests.py", _TEST, ('not in pooling.client.request("tdb/profile")\n',)),
        Change(
            5,
            "tests/adapter/test_responses.py",
            '\n    "tdb/recipe": ({"engine": "tiu"},),',
            ('    "tdb/travel": ({"ordinal": 0},),',),
        ),
        Change(
            6,
            "docs/requests.md",
            "\n| `tdb/recipe` | `engine` | `commands` |",
            ("| request | arguments | answer |\n|---|---|---|",),
        ),
    ),
    {"NAME": "recipe"},
)
