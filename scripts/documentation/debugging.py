"""Console verbs, functions of expressions, and the attributes of launch and attach."""

from __future__ import annotations

from typing import Any

from scripts.documentation.markdown import prose, table
from scripts.generate_extension_schema import attributes
from tdb_dap.adapter.areas import load
from tdb_dap.adapter.console.verbs import verbs
from tdb_dap.adapter.session.launch_configuration import AttachArguments, LaunchArguments
from tdb_dap.engine.expressions.functions import FUNCTIONS, KEYWORDS


def console_page() -> str:
    """Every verb and every function."""
    load()
    rows = [(f"`{verb.usage}`", prose(verb.help)) for verb in verbs()]
    functions = ", ".join(f"`{name}`" for name in sorted(FUNCTIONS))
    keywords = ", ".join(f"`{name}`" for name in sorted(KEYWORDS))
    return (
        "# Console verbs and expressions\n\n"
        "For the Debug Console of every editor, the terminal and scripts; [how to use them](../console.md).\n\n"
        f"{table(('verb', 'what it does'), rows)}\n\n"
        "## Expressions\n\n"
        "Arithmetic, comparisons, slices and `x if condition else y` as in Python, on the names `%16`, `in[0]`, "
        '`out[0]`, `ref[0]`, `ref(in[0])`, `#loc("x")`, `R0:f16[1,64,8,8]`, and these functions of NumPy:\n\n'
        f"{functions}.\n\nKeywords: {keywords}.\n"
    )


def configuration_page() -> str:
    """Attributes of both requests."""
    return (
        "# Launch and attach configuration\n\n"
        "Any client may send these; editors complete them in `launch.json`. Relative paths count from the directory of "
        "the client.\n\n"
        f"## launch\n\n{_attributes(attributes(LaunchArguments))}\n\n"
        f"## attach\n\nAs launch, and:\n\n{_attributes(attributes(AttachArguments), attributes(LaunchArguments))}\n"
    )


def _attributes(schema: dict[str, Any], known: dict[str, Any] | None = None) -> str:
    rows = []
    for name, about in schema["properties"].items():
        if known is not None and name in known["properties"]:
            continue
        required = ", required" if name in schema["required"] else ""
        default = f"`{about['default']}`" if about.get("default") not in (None, "", [], {}) else ""
        rows.append((f"`{name}`", f"{_type(about)}{required}", default, about.get("description", "")))
    return table(("attribute", "type", "default", "meaning"), rows)


def _type(about: dict[str, Any]) -> str:
    if "enum" in about:
        return ", ".join(f"`{value}`" for value in about["enum"])
    if "anyOf" in about:
        return " or ".join(_type(choice) for choice in about["anyOf"])
    if about.get("type") == "array":
        return f"list of {_type(about.get('items', {}))}"
    return str(about.get("type", "any"))
