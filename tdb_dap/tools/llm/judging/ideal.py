"""The float model on its own: the tokens of a completion without the number formats of a chip."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.tools.float_model.model import FloatModel
from tdb_dap.tools.float_model.vision import VisionModel
from tdb_dap.tools.llm.pictures.reading import Pictures


class Ideal:
    """Logits after tokens, with separate caches. ``pictures``: of the prompt."""

    def __init__(self, float_model: FloatModel, layers: int, pictures: Pictures | None = None) -> None:
        self._float = float_model
        self._layers = layers
        self._pictures = pictures
        self._start()

    def _start(self) -> None:
        self._caches: list[tuple[Array | None, Array | None]] = [(None, None)] * self._layers
        self._done: list[int] = []
        self._logits: Array = np.zeros(0)

    def logits(self, ids: Sequence[int]) -> Array:
        """Logits of the token after these."""
        if list(ids) == self._done:
            return self._logits
        if list(ids[: len(self._done)]) != self._done:
            self._start()
        first, count = len(self._done), len(ids) - len(self._done)
        pictures, rows = self._pictures, self._rows() if not first else []
        positions = np.arange(first, first + count) if pictures is None else pictures.positions_at(first, count)
        states = self._float.embedded(np.array(ids[first:]))
        if pictures is not None and rows:
            states[pictures.at] = rows[0]
        for layer, (keys, values) in enumerate(self._caches):
            made = self._float.block(layer, states, positions, keys, values)
            new = made["k_cache"], made["v_cache"]
            self._caches[layer] = (
                new[0] if keys is None else np.concatenate([keys, new[0]]),
                new[1] if values is None else np.concatenate([values, new[1]]),
            )
            states = made["output_states"]
            if pictures is not None and layer + 1 < len(rows):
                states[pictures.at] += rows[layer + 1]
        self._done = list(ids)
        self._logits = self._float.logits(states[-1])
        return self._logits

    def _rows(self) -> Sequence[Array]:
        """Rows of the pictures in float; none without pictures."""
        pictures = self._pictures
        if pictures is None or pictures.config is None:
            return pictures.rows if pictures is not None else ()
        vision = VisionModel(pictures.config, self._float.weights)
        return vision.outputs(vision.results(pictures.own_inputs()))
