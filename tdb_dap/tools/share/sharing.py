"""Writing a shared page: the engine, the model and its data, and the program that shows them."""

from __future__ import annotations

import base64
import io
import json
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path

from tdb_dap.engine.files.context import Context
from tdb_dap.errors import BadInput
from tdb_dap.tools.pages.writing import json_text
from tdb_dap.tools.share.engine import MANIFEST

_PAGES = Path(__file__).parent.parent / "pages"
PROGRAM = ("share.js", "share.css", "shareWorker.js")
"""What scripts/generate_pages.py has made of the page and of its worker."""

ENGINE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
"""Files of the engine besides the wheels."""

_POLICY = (
    "default-src 'none'; script-src 'self' blob: 'wasm-unsafe-eval' 'unsafe-eval'; worker-src blob:; "
    "connect-src 'self' blob: data:; style-src 'self' 'unsafe-inline'; img-src data:"
)


@dataclass(frozen=True)
class Part:
    """One thing that a page holds: ``name`` in it, ``path`` on this machine, ``what`` it is in words."""

    name: str
    path: Path
    what: str


def parts(context: Path, inputs: Path | None, reference: Path | None) -> list[Part]:
    """The files of a model and its data, the model first; BadInput if there is no model."""
    if context.suffix == ".tdbrec":
        chosen = [Part(context.name, context, "recording, with what the program has read and written")]
    else:
        files = Context.find(context)
        chosen = [Part(files.bmodel.name, files.bmodel, "compiled model, with its weights")]
        for path, what in ((files.mlir, "text of the compiler"), (files.locations, "places of the tensors")):
            if path is not None:
                chosen.append(Part(path.name, path, what))
    for path, what in ((inputs, "inputs"), (reference, "expected values of the tensors")):
        if path is not None and not path.is_file():
            raise BadInput(f"{path}: there is no such file to share")
        if path is not None:
            chosen.append(Part(path.name, path, what))
    if twice := {part.name for part in chosen if sum(other.name == part.name for other in chosen) > 1}:
        raise BadInput(f"{min(twice)}: two files to share have this name; rename one")
    return chosen


def contents(chosen: list[Part]) -> Iterator[str]:
    """The parts of a page, a line each."""
    for part in chosen:
        yield f"{part.name}: {part.what}, {part.path.stat().st_size:,} bytes"


def write(
    chosen: list[Part], engine: Path, target: Path, at: int, bookmarks: Mapping[str, int], has: tuple[bool, bool]
) -> int:
    """Write a folder, or one .html file, and return its size in bytes. ``has``: whether inputs and reference are
    among the parts, which are the last ones then. BadInput if the engine is not complete.
    """
    wheels = _wheels(engine)
    inputs, reference = _names(chosen, has)
    manifest = {
        "model": chosen[0].name,
        "inputs": inputs,
        "reference": reference,
        "at": at,
        "bookmarks": dict(bookmarks),
    }
    data = _packed(chosen, manifest)
    files = {f"engine/{path.name}": path for path in [*(engine / name for name in ENGINE), *wheels]}
    settings = {"wheels": [path.name for path in wheels], "title": chosen[0].name}
    if target.suffix == ".html":
        target.write_text(_single(files, data, settings), "utf-8")
        return target.stat().st_size
    (target / "engine").mkdir(parents=True, exist_ok=True)
    for name, path in files.items():
        shutil.copyfile(path, target / name)
    for name in PROGRAM:
        shutil.copyfile(_PAGES / name, target / name)
    (target / "data.zip").write_bytes(data)
    (target / "index.html").write_text(
        _index(settings, "", '<link rel="stylesheet" href="share.css">', _LOADED), "utf-8"
    )
    return sum(path.stat().st_size for path in target.rglob("*") if path.is_file())


_LOADED = '<script type="module" src="share.js"></script>'


def _names(chosen: list[Part], has: tuple[bool, bool]) -> tuple[str, str]:
    last = [part.name for part in chosen[len(chosen) - sum(has) :]]
    return (last[0] if has[0] else ""), (last[-1] if has[1] else "")


def _wheels(engine: Path) -> list[Path]:
    missing = [name for name in ENGINE if not (engine / name).is_file()]
    wheels = sorted(engine.glob("*.whl"))
    if missing or not any(path.name.startswith("tdb_dap-") for path in wheels):
        lacks = ", ".join([*missing, *([] if wheels else ["the wheels"])]) or "the wheel of tdb-dap"
        raise BadInput(
            f"{engine}: is no engine for browsers, it lacks {lacks}; a release has one, and in a clone "
            "`python -m scripts.release.engine` makes it"
        )
    return wheels


def _packed(chosen: list[Part], manifest: Mapping[str, object]) -> bytes:
    """The model and its data as one archive, the same bytes each time."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for part in chosen:
            archive.writestr(zipfile.ZipInfo(part.name), part.path.read_bytes(), zipfile.ZIP_DEFLATED)
        archive.writestr(zipfile.ZipInfo(MANIFEST), json.dumps(manifest), zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def _single(files: Mapping[str, Path], data: bytes, settings: Mapping[str, object]) -> str:
    inside = {name: path.read_bytes() for name, path in files.items()}
    inside |= {"data.zip": data, "shareWorker.js": (_PAGES / "shareWorker.js").read_bytes()}
    elements = "".join(
        f'<script type="application/octet-stream" data-name="{escape(name)}">{_base64(content)}</script>\n'
        for name, content in inside.items()
    )
    style = f"<style>{(_PAGES / 'share.css').read_text('utf-8')}</style>"
    program = f'<script type="module">{(_PAGES / "share.js").read_text("utf-8")}</script>'
    return _index(settings, elements, style, program).replace("script-src 'self'", "script-src 'unsafe-inline'", 1)


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _index(settings: Mapping[str, object], elements: str, style: str, program: str) -> str:
    title = escape(str(settings["title"]))
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        f'<meta name="viewport" content="width=device-width">\n<title>{title}</title>\n{style}\n</head>\n<body>\n'
        f"<main></main>\n<noscript><p>{title}: this page needs JavaScript.</p></noscript>\n"
        f'<script type="application/json" id="settings">{json_text(settings)}</script>\n'
        f"{elements}{program}\n</body>\n</html>\n"
    )
