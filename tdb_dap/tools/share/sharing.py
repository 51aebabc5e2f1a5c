"""Writing a shared page: the engine, the model and its data, and the program that shows them."""

from __future__ import annotations

import base64
import io
import json
import shutil
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Literal

from msgspec import Struct

from tdb_dap.engine.files.atomic_files import whole_path, write_text
from tdb_dap.engine.files.context import Context
from tdb_dap.errors import BadInput
from tdb_dap.tools.pages.writing import json_text, policy_hash
from tdb_dap.tools.programs import RECORDING
from tdb_dap.tools.share.engine import MANIFEST

_PAGES = Path(__file__).parent.parent / "pages"
PROGRAM = ("share.js", "share.css", "shareWorker.js")
"""What scripts/generate_pages.py has made of the page and of its worker."""

ENGINE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
"""Files of the engine besides the wheels."""

PACKAGES = ("flatbuffers", "msgspec", "numpy", "tdb_dap")
"""Of the wheels of an engine, those that a page has."""

Role = Literal["model", "source", "inputs", "reference"]


class Part(Struct, frozen=True):
    """A file of a page: ``path`` on this machine, its ``role``, ``what`` it is in words."""

    path: Path
    role: Role
    what: str

    @property
    def name(self) -> str:
        """Its name in the page."""
        return self.path.name


def parts(context: Path, inputs: Path | None, reference: Path | None) -> list[Part]:
    """The files of a model and its data; BadInput if there is no model, or two files have one name."""
    given: list[tuple[Path | None, Role, str]]
    if context.suffix == RECORDING:
        given = [(context, "model", "recording, with what the program has read and written")]
    else:
        files = Context.find(context)
        given = [
            (files.bmodel, "model", "compiled model, with its weights"),
            (files.mlir, "source", "text of the compiler"),
            (files.locations, "source", "places of the tensors"),
        ]
    given += [(inputs, "inputs", "inputs"), (reference, "reference", "expected values of the tensors")]
    chosen = [Part(path, role, what) for path, role, what in given if path is not None]
    for part in chosen:
        if not part.path.is_file():
            raise BadInput(f"{part.path}: there is no such file to share")
    names = Counter(part.name for part in chosen)
    if names.most_common(1)[0][1] > 1:
        raise BadInput(f"{names.most_common(1)[0][0]}: two files to share have this name; rename one")
    return chosen


def contents(chosen: list[Part]) -> Iterator[str]:
    """The parts of a page, a line each."""
    for part in chosen:
        yield f"{part.name}: {part.what}, {part.path.stat().st_size:,} bytes"


def write(chosen: list[Part], engine: Path, target: Path, at: int, bookmarks: Mapping[str, int]) -> int:
    """Write a folder, or one .html file, and return its size in bytes: all of it, or nothing.

    BadInput if the engine is not complete, or the page cannot be written.
    """
    wheels = _wheels(engine)
    named = {part.role: part.name for part in chosen}
    manifest = {role: named.get(role, "") for role in ("model", "inputs", "reference")}
    data = _packed(chosen, {**manifest, "at": at, "bookmarks": dict(bookmarks)})
    files = {f"engine/{path.name}": path for path in [*(engine / name for name in ENGINE), *wheels]}
    settings = {"wheels": [path.name for path in wheels], "title": named["model"]}
    if target.suffix == ".html":
        write_text(target, _single(files, data, settings))
        return target.stat().st_size
    with whole_path(target) as folder:
        (folder / "engine").mkdir(parents=True)
        for name, path in [*files.items(), *((name, _PAGES / name) for name in PROGRAM)]:
            shutil.copyfile(path, folder / name)
        (folder / "data.zip").write_bytes(data)
        program = '<script type="module" src="share.js"></script>'
        index = _index(settings, "'self'", '<link rel="stylesheet" href="share.css">', program)
        (folder / "index.html").write_text(index, "utf-8")
    return sum(path.stat().st_size for path in target.rglob("*") if path.is_file())


def _wheels(engine: Path) -> list[Path]:
    missing = [name for name in ENGINE if not (engine / name).is_file()]
    wheels = sorted(path for path in engine.glob("*.whl") if path.name.split("-")[0] in PACKAGES)
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
    program = (_PAGES / "share.js").read_text("utf-8")
    element = f'<script type="module">{program}</script>'
    return _index(settings, policy_hash(program), style, f"{elements}{element}")


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _index(settings: Mapping[str, object], programs: str, style: str, program: str) -> str:
    """The page. ``programs``: whose scripts it runs besides those that it makes for its worker."""
    title = escape(str(settings["title"]))
    policy = (
        f"default-src 'none'; script-src {programs} blob: 'wasm-unsafe-eval'; worker-src blob:; "
        "connect-src 'self' blob: data:; style-src 'self' 'unsafe-inline'; img-src data:"
    )
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<meta name="viewport" content="width=device-width">\n<title>{title}</title>\n{style}\n</head>\n<body>\n'
        f"<main></main>\n<noscript><p>{title}: this page needs JavaScript.</p></noscript>\n"
        f'<script type="application/json" id="settings">{json_text(settings)}</script>\n'
        f"{program}\n</body>\n</html>\n"
    )
