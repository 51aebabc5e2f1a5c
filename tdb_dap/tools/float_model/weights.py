"""Weights of a language model before conversion, by the names that the converter gives them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.errors import BadInput
from tdb_dap.tools.float_model.config import Config
from tdb_dap.tools.float_model.names import Names
from tdb_dap.tools.float_model.quantised import PACKED
from tdb_dap.tools.float_model.safetensors_file import SafetensorsFile

_LAYER = re.compile(r"\.layers\.\d+\.")


class FloatWeights:
    """Tensors of the .safetensors files in a folder, read when they are asked for; BadInput where none is there.

    ``names``: of this model, whose text half may be within a larger one.
    """

    def __init__(self, folder: Path, config: Config) -> None:
        self.folder = folder
        self._config = config
        self._files = [SafetensorsFile(path) for path in sorted(folder.glob("*.safetensors"))]
        if not self._files:
            raise BadInput(f"{folder}: no .safetensors file is in it; give the folder of the model before conversion")
        self._where = {name: file for file in self._files for name in file.names}
        self.names = self._within(config.kind.names)

    def __contains__(self, name: str) -> bool:
        return self._holds(name) or self._fused(name) is not None

    def read(self, name: str) -> Array:
        """Numbers of a tensor, float32; BadInput where there is none."""
        if self._holds(name):
            return self._finite(name, self._all_of(name))
        fused = self._fused(name)
        if fused is None:
            raise BadInput(f"{self.folder}: no tensor {name} in its .safetensors files{self._packed(name)}")
        rows = self._all_of(fused)
        if self._config.kind.names.is_fused_by_head:
            return self._finite(fused, self._of_heads(fused, rows, name.rpartition(".")[0]))
        start, stop = self._rows(name.rpartition(".")[0])
        if stop > len(rows):
            raise BadInput(f"{self.folder}: {fused} has {len(rows):,} rows; {stop:,} are needed")
        return self._finite(fused, rows[start:stop])

    def like(self, name: str) -> list[str]:
        """Names of the other tensors of the same shape, those of the same layer first."""
        file = self._where.get(name)
        if file is None:
            return []
        shape, layer = file.names[name].get("shape"), _LAYER.search(name)
        others = [one for one, of in self._where.items() if one != name and of.names[one].get("shape") == shape]
        return sorted(others, key=lambda one: (layer is None or layer[0] not in one, one))

    @property
    def head(self) -> str:
        """Name of the matrix that gives the logits: that of the embeddings where they are tied."""
        name = f"{self.names.head}.weight"
        return name if name in self and not self._config.is_tied else f"{self.names.embedding}.weight"

    def _holds(self, name: str) -> bool:
        """Whether a file has a tensor, or the packed words of it."""
        return name in self._where or (
            self._config.quantisation is not None and f"{name.removesuffix('.weight')}.{PACKED}" in self._where
        )

    def _all_of(self, name: str) -> Array:
        """Numbers of a tensor of a file, as it is or of its packed words."""
        form = self._config.quantisation
        if form is not None and name.endswith(".weight"):
            base = name.removesuffix(".weight")
            numbers = form.numbers(base, lambda one: self._where[one].read(one), self._where.__contains__)
            if numbers is not None:
                return numbers
        return self._where[name].read(name)

    def _path(self, name: str) -> Path:
        """The file of a tensor, or of its packed words."""
        packed = f"{name.removesuffix('.weight')}.{PACKED}"
        return self._where[name if name in self._where else packed].path

    def _packed(self, name: str) -> str:
        """A remark where a tensor is there in few bits, and config.json does not say how."""
        packed = f"{name.removesuffix('.weight')}.{PACKED}" in self._where
        return f": it is packed ({PACKED}), and config.json has no quantization_config" if packed else ""

    def _of_heads(self, fused: str, rows: Array, base: str) -> Array:
        """Queries, keys or values of a tensor that holds those of each shared head together."""
        config, names = self._config, self._config.kind.names
        each = config.heads // config.shared_heads
        if len(rows) != (each + 2) * config.shared_heads * config.head:
            raise BadInput(f"{self.folder}: {fused} has {len(rows):,} rows for {config.heads} heads")
        heads = rows.reshape(config.shared_heads, each + 2, config.head, *rows.shape[1:])
        part = heads[:, :each] if base.endswith(names.q) else heads[:, -2 if base.endswith(names.k) else -1]
        return np.ascontiguousarray(part.reshape(-1, *rows.shape[1:]))

    def _finite(self, name: str, numbers: Array) -> Array:
        wrong = np.flatnonzero(~np.isfinite(numbers.reshape(-1)))
        if wrong.size:
            raise BadInput(
                f"{self._path(name)}: tensor {name} itself has {numbers.reshape(-1)[wrong[0]]:g} at {wrong[0]:,} "
                f"({wrong.size:,} of {numbers.size:,} numbers); nothing can be compared with it"
            )
        return numbers

    def _within(self, names: Names) -> Names:
        """The names with what this model has before ``model.``."""
        wanted = f"{names.embedding}.weight"
        if wanted in self._where:
            return names
        matches = [name for name in self._where if name.endswith(".embed_tokens.weight")]
        if len(matches) != 1:
            raise BadInput(f"{self.folder}: no tensor {wanted} in its .safetensors files")
        prefix = matches[0].removesuffix(".embed_tokens.weight")
        heads = [name for name in self._where if name.endswith("lm_head.weight")]
        head = heads[0].removesuffix(".weight") if len(heads) == 1 else f"{prefix}.lm_head"
        return replace(
            names, layers=f"{prefix}.layers", embedding=f"{prefix}.embed_tokens", norm=f"{prefix}.norm", head=head
        )

    def _fused(self, name: str) -> str | None:
        """The tensor that holds one of ``Names.fused``; None if that is not such a name, or not there."""
        base, _, last = name.rpartition(".")
        for part, of in self._config.kind.names.fused.items():
            if base.endswith(part) and self._holds(f"{base.removesuffix(part)}{of}.{last}"):
                return f"{base.removesuffix(part)}{of}.{last}"
        return None

    def _rows(self, base: str) -> tuple[int, int]:
        """Rows of a part within the fused tensor."""
        config, names = self._config, self._config.kind.names
        q, shared = config.heads * config.head, config.shared_heads * config.head
        sizes = {names.q: q, names.k: shared, names.v: shared}
        if base.endswith((names.gate, names.up)):
            sizes = {names.gate: config.middle, names.up: config.middle}
        ends = np.cumsum(list(sizes.values())).tolist()
        index = next(number for number, part in enumerate(sizes) if base.endswith(part))
        return ends[index] - list(sizes.values())[index], ends[index]
