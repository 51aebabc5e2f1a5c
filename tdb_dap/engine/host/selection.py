"""Selecting the largest numbers and the boxes that do not overlap."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.host.registry import Parameters, host_operation
from tdb_dap.errors import NotSimulated


@host_operation("TOPK", k=int, axis=int, sorted=bool, descending=bool, values_used_only=bool)
def largest(inputs: Sequence[Array], p: Parameters) -> list[Array]:
    """The k largest numbers along an axis and their indices; equal numbers: the one with the smaller index first.

    Sorted by value, else by index. A second input overrides k. ``descending`` has no effect: the runtime's library
    gives the largest numbers where the model asks for the smallest, too.
    """
    numbers, axis = inputs[0], p["axis"]
    k = int(inputs[1].reshape(-1)[0]) if len(inputs) > 1 else p["k"]
    order = np.argsort(-numbers, axis=axis, kind="stable")
    chosen = np.take(order, np.arange(min(k, numbers.shape[axis])), axis=axis)
    if not p["sorted"]:
        chosen = np.sort(chosen, axis=axis)
    return [np.take_along_axis(numbers, chosen, axis), chosen.astype(np.int32)]


@host_operation("ONNX_NMS", center_point_box=int, max_output_size=int)
def without_overlap(inputs: Sequence[Array], p: Parameters) -> list[Array]:
    """Rows (batch, class, box): per class the boxes by falling score, less those that overlap a better one.

    Inputs: boxes (batch, box, 4) as two corners (y, x), scores (batch, class, box), then one number each if given: how
    many per class (default 0), the largest overlap, the score to exceed (both default 0).
    """
    if p["center_point_box"]:
        raise NotSimulated("CPU_ONNX_NMS with boxes given by their centre is not simulated")
    boxes, scores = inputs[0], inputs[1]
    most, overlap, threshold = (
        inputs[place].reshape(-1)[0] if len(inputs) > place else np.float32(0) for place in (2, 3, 4)
    )
    limit = boxes.shape[1] if most < 0 else min(int(most), boxes.shape[1])
    rows: list[tuple[int, int, int]] = []
    for batch, of_class in np.ndindex(scores.shape[:2]):
        kept: list[int] = []
        score = scores[batch, of_class]
        candidates = score[score > threshold]
        if np.unique(candidates).size < candidates.size:
            raise NotSimulated("CPU_ONNX_NMS of boxes with equal scores is not simulated: their order is not defined")
        for candidate in np.argsort(-score, kind="stable"):
            if len(kept) >= limit or not score[candidate] > threshold:
                break
            shares = [_overlap(boxes[batch, candidate], boxes[batch, other]) for other in kept]
            if not any(share > overlap and share != 0 for share in shares):
                kept.append(int(candidate))
        rows.extend((batch, of_class, box) for box in kept)
    return [np.array(rows, np.int32).reshape(-1, 3)]


def _overlap(a: Array, b: Array) -> np.float32:
    """Intersection over union of two boxes of any two opposite corners, in float32; 0 if one has no area."""
    low_a, high_a = np.minimum(a[:2], a[2:]), np.maximum(a[:2], a[2:])
    low_b, high_b = np.minimum(b[:2], b[2:]), np.maximum(b[:2], b[2:])
    areas = [np.prod(high - low, dtype=np.float32) for low, high in ((low_a, high_a), (low_b, high_b))]
    sides = np.maximum(np.minimum(high_a, high_b) - np.maximum(low_a, low_b), np.float32(0))
    if min(areas) <= 0 or not sides.all():
        return np.float32(0)
    shared = np.float32(sides[0] * sides[1])
    return np.float32(shared / np.float32(np.float32(areas[0] + areas[1]) - shared))
