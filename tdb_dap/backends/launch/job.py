"""A request to run one net once."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Border:
    """An input or output. ``dtype``: its number in the bmodel; ``size``: bytes without padding."""

    dtype: int
    shape: tuple[int, ...]
    size: int


@dataclass(frozen=True)
class Job:
    """A net to run. ``libraries``: files to load, in order, as the loader finds them; ``inputs``: stored words, one
    input after the other; ``interface``: ``bmrt`` or ``tpuv7``, the functions that the runtime has.
    """

    libraries: tuple[str, ...]
    interface: str
    model: str
    net: str
    inputs: str
    given: tuple[Border, ...]
    made: tuple[Border, ...]

    def write(self, path: Path) -> None:
        """Store it as JSON."""
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Job:
        """Read what ``write`` has stored."""
        value = json.loads(path.read_text(encoding="utf-8"))
        for key in ("given", "made"):
            value[key] = tuple(Border(b["dtype"], tuple(b["shape"]), b["size"]) for b in value[key])
        return cls(**{**value, "libraries": tuple(value["libraries"])})
