"""Write the launch and attach attributes of the extensions for VS Code and Zed from the adapter's own models.

    python -m scripts.generate_extension_schema            rewrite package.json, package.nls.json, and Zed's schema
    python -m scripts.generate_extension_schema --check    exit 1 if it is out of date

One declaration, `tdb_dap/adapter/session/launch_configuration.py`, decides what a configuration may contain, how an
error in it reads, and what the editor offers while it is typed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from scripts.generated import ROOT, write_or_check
from tdb_dap.adapter.session.launch_configuration import AttachArguments, LaunchArguments

PACKAGE = ROOT / "vscode-extension" / "package.json"
TEXTS = PACKAGE.with_name("package.nls.json")
"""The texts of the manifest in English, by key; those of the attributes are written here."""

ZED = ROOT / "packaging" / "editors" / "zed" / "debug_adapter_schemas" / "tdb.json"

_KEY = "attribute."

# VS Code describes these itself for every debugger.
OWNED_BY_THE_EDITOR = {"type", "request", "name", "noDebug"}

RECORD: dict[str, Any] = {
    "type": "object",
    "description": "Program to record before the session: its run on the vendor's emulator becomes the recording that "
    "'program' names (.tdbrec), which is then debugged.",
    "required": ["program"],
    "additionalProperties": False,
    "properties": {
        "program": {
            "type": "string",
            "minLength": 1,
            "description": "Program that uses the vendor's runtime: model_runner, python, or one of your own.",
        },
        "args": {"type": "array", "items": {"type": "string"}, "description": "Its arguments."},
        "cwd": {"type": "string", "description": "Its working directory. Default: the workspace folder."},
        "env": {
            "type": "object",
            "additionalProperties": {"type": "string"},
            "description": "Environment variables that are added for it.",
        },
    },
}
"""What VS Code's extension does itself before it starts the adapter, which does not know it."""


def attributes(model: type[BaseModel]) -> dict[str, Any]:
    """The schema of one request, in the shape that `configurationAttributes` takes."""
    schema = model.model_json_schema(by_alias=True)
    flat = simplify(schema, schema.get("$defs", {}))
    properties = {
        name: value
        for name, value in flat["properties"].items()
        if name not in OWNED_BY_THE_EDITOR and not name.startswith("_")
    }
    required = [name for name in flat.get("required", []) if name in properties]
    return {"required": required, "properties": properties}


def simplify(schema: Any, definitions: Mapping[str, Any]) -> Any:
    """The same schema without references (VS Code cannot follow them here), titles and null."""
    if isinstance(schema, list):
        return [simplify(item, definitions) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        target = definitions[schema["$ref"].rsplit("/", 1)[-1]]
        # What stands next to a reference, such as the field's description, is closer to the field.
        schema = {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
    schema = {key: value for key, value in schema.items() if key not in ("title", "$defs")}
    schema = without_nulls(schema)
    schema = {
        key: {name: simplify(value, definitions) for name, value in values.items()}
        if key == "properties"
        else simplify(values, definitions)
        for key, values in schema.items()
    }
    choices = [choice for choice in schema.get("anyOf", []) if choice != {"type": "null"}]
    if len(choices) == 1:
        outer = {key: value for key, value in schema.items() if key != "anyOf"}
        return {**choices[0], **outer}
    if choices:
        schema["anyOf"] = choices
    return schema


def without_nulls(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without defaults that only say "not given", also inside the default of an object."""
    default = schema.get("default", ...)
    if isinstance(default, dict):
        return {**schema, "default": {name: value for name, value in default.items() if value is not None}}
    return {key: value for key, value in schema.items() if key != "default" or value is not None}


def with_keys(schema: Any, key: str, found: dict[str, str]) -> Any:
    """The schema with a key in place of every description; ``found`` receives the texts by key."""
    if isinstance(schema, list):
        return [with_keys(item, f"{key}.{position}", found) for position, item in enumerate(schema)]
    if not isinstance(schema, dict):
        return schema
    made = dict(schema)
    for name, value in schema.items():
        if name == "description" and isinstance(value, str):
            if found.setdefault(key, value) != value:
                raise ValueError(f"{key} is described in two ways: {found[key]!r} and {value!r}")
            made[name] = f"%{key}%"
        elif name == "properties":
            made[name] = {field: with_keys(inner, f"{key}.{field}", found) for field, inner in value.items()}
        elif name in ("anyOf", "items"):
            made[name] = with_keys(value, key, found)
    return made


def schema_for_zed() -> dict[str, Any]:
    """A JSON schema of both requests; the editor's own fields (label, adapter) are not in it."""
    requests = []
    for request, model in (("launch", LaunchArguments), ("attach", AttachArguments)):
        found = attributes(model)
        requests.append(
            {
                "type": "object",
                "required": ["request", *found["required"]],
                "properties": {"request": {"const": request}, **found["properties"]},
            }
        )
    return {"$schema": "http://json-schema.org/draft-07/schema#", "oneOf": requests}


def texts() -> dict[Path, str]:
    """The manifest, its English texts and Zed's schema with the attributes as they should be."""
    manifest = json.loads(PACKAGE.read_text("utf-8"))
    [debugger] = manifest["contributes"]["debuggers"]
    described: dict[str, str] = {}
    launch = attributes(LaunchArguments)
    launch["properties"]["record"] = RECORD
    debugger["configurationAttributes"] = {
        "launch": with_keys(launch, "attribute", described),
        "attach": with_keys(attributes(AttachArguments), "attribute", described),
    }
    others = {key: text for key, text in json.loads(TEXTS.read_text("utf-8")).items() if not key.startswith(_KEY)}
    return {
        PACKAGE: json.dumps(manifest, indent=2, ensure_ascii=False) + "\n",
        ZED: json.dumps(schema_for_zed(), indent=2, ensure_ascii=False) + "\n",
        TEXTS: json.dumps({**others, **described}, indent=2, ensure_ascii=False) + "\n",
    }


if __name__ == "__main__":
    sys.exit(write_or_check(__doc__, texts))
