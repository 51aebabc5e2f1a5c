"""Finding the files of a compiled model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tdb_dap.errors import BadInput


@dataclass(frozen=True)
class Context:
    """The files of one compiled model; ``directory`` holds them, all but the bmodel may be missing."""

    directory: Path
    bmodel: Path
    mlir: Path | None
    locations: Path | None
    inputs: Path | None
    reference: Path | None

    @classmethod
    def find(cls, given: str | Path) -> Context:
        """``given``: a context directory or a bmodel file; BadInput says what is missing."""
        path = Path(given).expanduser()
        try:
            if path.is_dir():
                directory, bmodel = path, _existing(path / "compilation.bmodel")
                if bmodel is None:
                    others = sorted(path.glob("*.bmodel*"))
                    if len(others) != 1:
                        raise BadInput(_no_model(path, others))
                    bmodel = others[0]
            elif path.exists():
                directory, bmodel = path.parent, path
            else:
                raise BadInput(f"{path}: no such file or directory; give a context directory or a .bmodel file")
            return cls(
                directory,
                bmodel,
                _existing(directory / "final.mlir"),
                _existing(directory / "tensor_location.json"),
                _existing(directory / "input_ref_data.dat"),
                _lonely(directory, "*_tpu_outputs.npz"),
            )
        except OSError as error:
            raise BadInput(f"{path}: cannot be read: {error.strerror or error}") from None


def _no_model(path: Path, others: list[Path]) -> str:
    if others:
        return f"{path}: several models ({', '.join(p.name for p in others)}); give one of them"
    return (
        f"{path}: no compilation.bmodel in this directory; give the context directory that the compiler leaves "
        "(model_deploy --debug), or a .bmodel file"
    )


def _existing(path: Path) -> Path | None:
    for candidate in (path, path.with_name(path.name + ".xz")):
        if candidate.exists():
            return candidate
    return None


def _lonely(directory: Path, pattern: str) -> Path | None:
    """The one file of that kind in the directory or, as the compiler leaves it, beside the directory."""
    for folder in (directory, directory.resolve().parent):
        found = sorted(folder.glob(pattern))
        if found:
            return found[0] if len(found) == 1 else None
    return None
