"""What a level's text means, rounded as its formats hold it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tdb_dap.tools.golden.formats import rounded
from tdb_dap.tools.golden.level import Level
from tests.made_compilation import Made, dense


def test_a_quantised_sum_rounds_each_operand_after_its_factor(tmp_path: Path) -> None:
    """As the compiler's interpreter and chips do it, half of a step upwards; not the sum once."""
    made = Made(tmp_path, "INT8", net=dense(3))
    level = Level("tpu", made.texts["tpu_mlir"])
    tensors, missing = level.run({"x": made.x}, is_rounded=True)
    assert not missing
    op = level.by_name["d_Add"]
    kinds = [level.type_named(name) for name in (*level.operand_names(op), "d_Add")]
    scales = [kind.scale for kind in kinds if kind is not None]
    words = [np.rint(tensors[name] / scale) for name, scale in zip(level.operand_names(op), scales, strict=False)]
    factors = [m / 2**7 for m in op.attributes["multipliers"]]
    each = sum(rounded(word * factor, "HalfUp") for word, factor in zip(words, factors, strict=True))
    np.testing.assert_array_equal(np.rint(tensors["d_Add"] / scales[2]), np.clip(each, -128, 127))
    once = np.rint(sum(word * factor for word, factor in zip(words, factors, strict=True)))
    assert (np.clip(once, -128, 127) != np.clip(each, -128, 127)).any(), "the two differ here"
