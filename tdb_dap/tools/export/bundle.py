"""Copying the arithmetic that an exported script needs: modules of this package, and those that they import."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path

_PACKAGE = "tdb_dap"
NAME = "chip"
"""The package next to the script."""

_WHOLE = ("tdb_dap.targets.kernel",)
"""Packages whose own code is needed; those of the others only gathers modules."""


def modules_for(roots: Iterable[str]) -> dict[str, Path]:
    """Module name -> file, of ``roots`` and all modules of this package that they need at run time."""
    todo = list(roots)
    modules: dict[str, Path] = {}
    while todo:
        name = todo.pop()
        spec = find_spec(name) if name.startswith(f"{_PACKAGE}.") and _is_module(name) else None
        if spec is None or spec.origin is None or name in modules:
            continue
        path = Path(spec.origin)
        if path.suffix != ".py" or (path.name == "__init__.py" and name not in _WHOLE):
            continue
        modules[name] = path
        todo += _imports(ast.parse(path.read_text("utf-8")))
    return modules


def _is_module(name: str) -> bool:
    """Whether a dotted name may be a module and not something in one."""
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def _imports(tree: ast.Module) -> Iterator[str]:
    """Names that a module imports when it runs, not those that only type checkers see."""
    todo: list[ast.AST] = list(tree.body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            todo += node.orelse
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        todo += ast.iter_child_nodes(node)


def write(roots: Iterable[str], folder: Path) -> None:
    """Write the modules as the package ``chip`` into ``folder``, their imports turned to it."""
    for name, path in modules_for(roots).items():
        parts = name.split(".")[1:]
        target = folder / NAME / Path(*parts)
        target = target / "__init__.py" if path.name == "__init__.py" else target.with_suffix(".py")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(renamed(path.read_text("utf-8")), "utf-8")
    for directory in {parent for path in (folder / NAME).rglob("*.py") for parent in path.relative_to(folder).parents}:
        if directory != Path(".") and not (folder / directory / "__init__.py").exists():
            (folder / directory / "__init__.py").write_text('"""Part of an exported model."""\n', "utf-8")


def renamed(text: str) -> str:
    """Source text with the imports of this package turned to the copy."""
    return text.replace(f"from {_PACKAGE}.", f"from {NAME}.").replace(f"from {_PACKAGE} ", f"from {NAME} ")
