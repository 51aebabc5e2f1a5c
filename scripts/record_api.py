"""Record what tdb_dap.api offers, in tests/data/api.json: names, signatures, public methods and fields.

python -m scripts.record_api            rewrite the record; refused where the version is still that of the record
python -m scripts.record_api --check    exit 1 if the record is not what there is
"""

from __future__ import annotations

import enum
import inspect
import json
import sys
import types
from typing import Any

from msgspec import Struct

from scripts.generated import ROOT
from tdb_dap import api

RECORD = ROOT / "tests" / "data" / "api.json"


def offered() -> dict[str, Any]:
    """The version, and every public name with what can be relied on."""
    return {"version": api.VERSION, "names": {name: _described(getattr(api, name)) for name in sorted(api.__all__)}}


def _described(thing: Any) -> Any:
    if isinstance(thing, types.GenericAlias):  # Python 3.10 takes it for a class
        return "value"
    if inspect.isclass(thing):
        return _class(thing)
    return _signature(thing) if inspect.isfunction(thing) else "value"


def _class(thing: type[Any]) -> dict[str, Any]:
    """Its constructor, fields, members, and public methods and properties, those that it inherits from us included."""
    found: dict[str, Any] = {}
    if issubclass(thing, enum.Enum):
        return {member.name: member.value for member in thing}
    fields = thing.__struct_fields__ if issubclass(thing, Struct) else ()
    if "__init__" in vars(thing) or fields:
        found["()"] = _signature(thing)
    if fields:
        found["fields"] = [name for name in fields if not name.startswith("_")]
    for name in sorted({*dir(thing)} - {*fields}):
        owner = next((base for base in thing.__mro__ if name in vars(base)), object)
        if name.startswith("_") or not owner.__module__.startswith("tdb_dap"):
            continue
        member = inspect.getattr_static(thing, name)
        if isinstance(member, classmethod | staticmethod):
            member = member.__func__
        found[name] = _signature(member) if inspect.isfunction(member) else "attribute"
    return found


def _signature(thing: Any) -> str:
    """Parameters by name, kind and whether they have a default; annotations are written differently by versions."""
    try:
        parameters = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):
        return "?"
    stars: dict[object, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    parts = [
        f"{stars.get(p.kind, '')}{p.name}{'=' if p.default is not inspect.Parameter.empty else ''}"
        + ("!" if p.kind is inspect.Parameter.KEYWORD_ONLY else "")
        for p in parameters
    ]
    return f"({', '.join(parts)})"


def main() -> int:
    """Rewrite or check the record."""
    now = offered()
    before = json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else {}
    if now == before:
        return 0
    if "--check" in sys.argv[1:]:
        print(
            "tdb_dap.api is not what tests/data/api.json records; raise api.VERSION, then python -m scripts.record_api"
        )
        return 1
    if now["version"] == before.get("version"):
        print(f"tdb_dap.api has changed; raise api.VERSION, which is {api.VERSION} in the record as well")
        return 1
    RECORD.write_text(json.dumps(now, indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
