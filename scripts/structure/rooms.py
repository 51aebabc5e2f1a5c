"""The rooms of the package from the ground up: a room may import those of lower storeys, and nothing else."""

from __future__ import annotations

STOREYS: tuple[tuple[str, ...], ...] = (
    ("errors", "version"),
    ("engine.files", "engine.rendering"),
    ("system",),
    ("engine.hardware",),
    ("engine.bmodel", "engine.host", "engine.recording"),
    ("engine.commands", "engine.cvimodel"),
    ("engine.source",),
    ("engine.program",),
    ("engine.machine",),
    ("engine.device", "engine.reference"),
    ("engine.expressions",),
    ("engine.control",),
    ("engine.compare", "engine.sanitizers"),
    ("engine.checks", "engine.questions"),
    ("targets.declaration", "targets.timing"),
    ("targets.families",),
    ("targets.kernel",),
    ("targets.arithmetic", "targets.rules"),
    ("targets.semantics",),
    ("targets.plans",),
    ("targets.chips",),
    ("targets.validation",),
    ("backends",),
    ("tools.float_model", "tools.golden"),
    ("tools.programs",),
    ("tools.opening", "tools.pages", "tools.report_schema", "tools.shadow", "tools.weights"),
    ("tools.findings", "tools.hashes", "tools.model_options"),
    ("tools.profile", "tools.sanitize"),
    (
        "tools.check",
        "tools.disassemble",
        "tools.doctor",
        "tools.explain",
        "tools.export",
        "tools.info",
        "tools.llm",
        "tools.patch",
        "tools.perturb",
        "tools.run",
        "tools.streams",
        "tools.trace",
    ),
    ("tools.diff", "tools.graph", "tools.share", "tools.triage", "tools.zoo"),
    ("tools.reduce",),
    ("adapter.protocol",),
    ("adapter.session",),
    ("adapter.requests",),
    ("adapter.console",),
    ("adapter.extensions",),
    ("adapter",),
    ("language", "notebook", "terminal"),
    ("agent",),
    ("api", "cli"),
    ("verbs",),
    ("__init__", "__main__", "adapter.__main__"),
)
"""Rooms by storey, the ground first. A room is a file, or a folder with all that is in no room further down.

``verbs``: the modules ``cli`` next to the tools, which belong to the command line and not to the folders they are in.
"""

LEVELS = {room: level for level, rooms in enumerate(STOREYS) for room in rooms}

APART = {
    "targets": ("errors", "version", "system", "engine.hardware", "engine.rendering", "targets"),
    "tools": ("errors", "version", "system", "engine", "targets", "backends", "tools"),
    "language": ("errors", "version", "system.localisation", "engine", "tools", "language"),
    "terminal": ("errors", "system", "engine.rendering", "adapter.protocol", "terminal"),
}
"""Part of the package -> all that it may know, where that is less than all storeys below it."""


def room_of(module: str) -> str:
    """The room of a module, both without the name of the package; empty if it is in none."""
    if module.endswith(".cli"):
        return "verbs"
    name = module or "__init__"
    while name and name not in LEVELS:
        name = name.rpartition(".")[0]
    return name
