"""Who imports whom: circles, imports that lead up, and imports inside functions with the reason for each."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path

from scripts.structure.rooms import APART, LEVELS, room_of

PACKAGE = "tdb_dap"
MOST_FILES = 20
"""Files of a folder."""

REASONS = (
    ("cli/*", r".*", "a subcommand loads what it needs when it is run: --help and errors are instant"),
    ("*/cli.py", r".*", "a subcommand loads what it needs when it is run: --help and errors are instant"),
    ("__init__.py", r".*", "import tdb_dap is instant; open loads the rest"),
    ("notebook.py", r"tdb_dap\.tools\..*", "a session that never checks or profiles does not load it"),
    ("notebook.py", r"tdb_dap\.engine\.questions\..*", "a session that asks nothing of the whole run does not load it"),
    ("adapter/*", r"tdb_dap\.tools\..*", "initialize is answered before tools are loaded"),
    ("adapter/*", r"tdb_dap\.engine\..*", "initialize is answered before this part of the engine is loaded"),
    ("adapter/server.py", r"tdb_dap\..*", "the port is open before the rest is loaded"),
    ("language/*", r"tdb_dap\..*", "the server answers before models are loaded"),
    ("backends/*", r"tdb_dap\..*", "only a run on that backend needs it"),
    ("targets/chips/registry.py", r"tdb_dap\.targets\.chips\..*", "pages of chips are loaded when one is asked for"),
    ("agent/calls.py", r"tdb_dap\..*", "a process that makes one call loads only the tool of that call"),
    ("tools/model_options.py", r"tdb_dap\.tools\.opening", "options are made where models are not opened"),
    ("tools/opening.py", r"tdb_dap\..*", "only models with dynamic subnets or a reference need it"),
    ("tools/programs.py", r"tdb_dap\.engine\..*", "only recordings, several stages or packed sources need it"),
    ("targets/chips/chip.py", r"tdb_dap\.targets\..*", "a chip that executes nothing does without plans and semantics"),
    ("tools/doctor/*", r"tdb_dap\..*", "what cannot be loaded is a finding"),
    ("tools/*", r"tdb_dap\.tools\..*", "only that choice of the command needs it"),
    ("tools/check/checking.py", r"tdb_dap\.engine\.sanitizers(\..*)?", "only a check with sanitizers needs them"),
    (
        "tools/run/running.py",
        r"tdb_dap\.engine\.sanitizers\..*",
        "a long program is not searched for races",
    ),
    ("tools/patch/editor.py", r"tdb_dap\.engine\..*", "only a change of commands by name needs it"),
    (
        "engine/machine/host_subnets.py",
        r"tdb_dap\.engine\.host(\.functions)?",
        "only nets with subnets on the host need it",
    ),
    ("*", r"(?!tdb_dap).*", "takes milliseconds to load, and few sessions need it"),
)
"""Files, what they import inside functions, and why there."""


@dataclass(frozen=True)
class Import:
    """``path``: of the file, ``line``; ``source``, ``target``: modules; ``inside``: in a function; ``reason``: why."""

    path: str
    line: int
    source: str
    target: str
    inside: bool

    @property
    def reason(self) -> str:
        """Why it stands in a function; empty if nothing says so."""
        for files, target, why in REASONS:
            if fnmatch(self.path.removeprefix(f"{PACKAGE}/"), files) and re.fullmatch(target, self.target):
                return why
        return ""


def circles_of(graph: Mapping[str, Set[str]]) -> list[list[str]]:
    """Groups of nodes that lead to each other (Tarjan's algorithm). ``graph``: node -> the nodes that it leads to."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    circles: list[list[str]] = []

    def visit(module: str) -> None:
        index[module] = low[module] = len(index)
        stack.append(module)
        for other in sorted(graph[module]):
            if other not in index:
                visit(other)
                low[module] = min(low[module], low[other])
            elif other in stack:
                low[module] = min(low[module], index[other])
        if low[module] == index[module]:
            at = stack.index(module)
            circle = stack[at:]
            del stack[at:]
            if len(circle) > 1:
                circles.append(sorted(circle))

    for module in sorted(graph):
        if module not in index:
            visit(module)
    return circles


class Structure:
    """The package below ``root``."""

    def __init__(self, root: Path) -> None:
        self._root = root
        files = sorted(path for path in (root / PACKAGE).rglob("*.py"))
        self.modules = {_module(path.relative_to(root)): path for path in files}

    @cached_property
    def imports(self) -> list[Import]:
        """Every import of a module of the package by another, and of any module inside a function."""
        return [found for module, path in self.modules.items() for found in self._imports_of(module, path)]

    def _imports_of(self, module: str, path: Path) -> Iterator[Import]:
        tree = ast.parse(path.read_text("utf-8"))
        functions = (ast.FunctionDef, ast.AsyncFunctionDef)
        inside = {id(node) for outer in ast.walk(tree) if isinstance(outer, functions) for node in ast.walk(outer)}
        where = path.relative_to(self._root).as_posix()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                both = [(node.module, f"{node.module}.{alias.name}") for alias in node.names]
                names = sorted({whole if whole in self.modules else outer for outer, whole in both})
            else:
                continue
            for name in names:
                ours = name in self.modules
                own = name == module or (module.startswith(name + ".") and name == PACKAGE)
                if (ours and not own) or (id(node) in inside and not own):
                    yield Import(where, node.lineno, module, name, id(node) in inside)

    def circles(self) -> list[list[str]]:
        """Groups of modules that import each other, type-only and deferred imports included."""
        graph: dict[str, set[str]] = {module: set() for module in self.modules}
        for found in self.imports:
            if found.target in graph and not found.source.startswith(found.target + "."):
                graph[found.source].add(found.target)
        return circles_of(graph)

    def wrong_ways(self) -> list[str]:
        """Imports that lead to the same storey or up, or out of what a part of the package may know."""
        return sorted({text for found in self.imports if (text := self._wrong_way(found))})

    def _wrong_way(self, found: Import) -> str:
        if found.target not in self.modules or found.target == PACKAGE:
            return ""
        source, target = (name.removeprefix(PACKAGE).removeprefix(".") for name in (found.source, found.target))
        here, there = room_of(source), room_of(target)
        if here == there:
            return ""
        allowed = None if here == "verbs" else APART.get(source.partition(".")[0])
        known = allowed is None or any(target == part or target.startswith(part + ".") for part in allowed)
        if LEVELS[there] < LEVELS[here] and known:
            return ""
        return f"{found.path}:{found.line} imports {found.target}"

    def homeless(self) -> list[str]:
        """Modules that are in no room, and rooms that are missing or empty."""
        inhabited: Counter[str] = Counter()
        found: list[str] = []
        for module, path in self.modules.items():
            name = module.removeprefix(PACKAGE).removeprefix(".")
            room = room_of(name)
            if room:
                inhabited[room] += path.name != "__init__.py" or bool(ast.parse(path.read_text("utf-8")).body[1:])
            elif path.name != "__init__.py":
                found.append(f"{module} is in no room")
        found += [f"the room {room} is missing or empty" for room in LEVELS if not inhabited[room]]
        return found

    def folders(self) -> Counter[str]:
        """Files of each folder."""
        return Counter(path.parent.relative_to(self._root).as_posix() for path in self.modules.values())

    def inside_functions(self) -> dict[str, list[Import]]:
        """Imports inside functions by their reasons; under an empty one those that have none."""
        found: dict[str, list[Import]] = {}
        for one in self.imports:
            if one.inside:
                found.setdefault(one.reason, []).append(one)
        return found


def _module(path: Path) -> str:
    name = ".".join(path.with_suffix("").parts)
    return name.removesuffix(".__init__")
