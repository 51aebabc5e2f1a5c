"""The text of a reduced case."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tdb_dap.engine.machine.npz import read_npz
from tdb_dap.tools.reduce.cases import Case
from tdb_dap.tools.reduce.slicing import Sliced
from tdb_dap.tools.triage.schema import Triage

_MOST_SHOWN = 4

_SHARED = "Inputs that other ops of the whole model read, too, are outputs here: the compiler looks at their readers."
_LOWERED = (
    "The ops are cut out of the compiler's stage tpu: their scales, factors and tables are those of the whole model. "
)
_NOT_TOP = "Cut out of the imported model and compiled, they do not fail."
_NOT_COMPILED = "The compiler was not available: tdb-dap computed the wrong values from the text of the stage."
_RECORDED = (
    "The operands and the wrong numbers are those that the whole model had. Computed again from these operands the "
    "numbers are right: look at the machine, the version and the run that wrote the whole model's."
)
_MODEL = (
    "This is the bmodel of the whole with the commands that the op needs; all others do nothing; no byte has moved."
)
_NOT_ALONE = "Compiled alone, the op does not fail. "
_NOT_TRIED = "The compiler was not there: whether the op fails when it is compiled alone has not been tried. "


def readme(
    case: Case,
    triage: Triage,
    result: Triage | None,
    folder: Path,
    sizes: tuple[int, int],
    is_recorded: bool = False,
    is_compiled: bool = False,
) -> str:
    """Description of a failure and of how to see it.

    ``found``: the verdict on the case; ``sizes``: elements before and after; ``is_recorded``: whether the wrong numbers
    are those of the whole model, because computed again they are right; ``is_compiled``: whether the
    compiler was there.
    """
    main = case.main
    shapes = [f"{name} {list(array.shape)}" for name, array in main.given().items()]
    has_wrong = (folder / "actual.npz").is_file()
    lines = [f"# {triage.tensor}", "", triage.sentence, ""]
    if result is not None:
        lines += [f"Reduced to {len(main.ops)} op(s), {', '.join(main.titles)}: {result.sentence}", ""]
    else:
        lines += [f"{len(main.ops)} op(s), {', '.join(main.titles)}; whether they fail alone has not been shown.", ""]
    if is_recorded:
        lines += [_RECORDED, ""]
    elif case.tpu is not None:
        lines += [_LOWERED + (_NOT_TOP if is_compiled else _NOT_COMPILED), ""]
    if main.is_sharing:
        lines += [_SHARED, ""]
    numbers = f"{sizes[1]:,} of {sizes[0]:,} elements are left that are not 0" if sizes[1] < sizes[0] else ""
    lines += [
        "- `reproduce.sh`: compiles and runs it; `tdb-dap triage .` then reports the fault",
        f"- `inputs.npz`: {', '.join(shapes)}{'; ' + numbers if numbers else ''}",
        f"- `expected.npz`: the right results{'; `actual.npz`: those that are wrong' if has_wrong else ''}",
        "",
    ]
    return "\n".join([*lines, *_shown(folder, triage.tensor)])


def _shown(folder: Path, tensor: str) -> list[str]:
    """The elements that are furthest off."""
    paths = (folder / "expected.npz", folder / "actual.npz")
    if not all(path.is_file() for path in paths):
        return []
    right, wrong = (read_npz(path).get(tensor) for path in paths)
    if right is None or wrong is None or right.size != wrong.size:
        return []
    wrong = wrong.reshape(right.shape)
    with np.errstate(all="ignore"):
        off = np.nan_to_num(np.abs(wrong.astype(np.float64) - right), nan=np.inf)
    lines = ["| element | expected | actual |", "|---|---|---|"]
    for flat in np.argsort(-off.reshape(-1), kind="stable")[:_MOST_SHOWN].tolist():
        index = tuple(int(i) for i in np.unravel_index(flat, right.shape))
        lines.append(f"| {tensor}{list(index)} | {right[index]:.6g} | {wrong[index]:.6g} |")
    return [*lines, ""]


def readme_of_slice(left: Sliced, triage: Triage, is_compiled: bool) -> str:
    """The same for a bmodel that was cut."""
    return "\n".join(
        [
            f"# {triage.tensor}",
            "",
            triage.sentence,
            "",
            (_NOT_ALONE if is_compiled else _NOT_TRIED) + _MODEL,
            "",
            f"- `reduced/compilation.bmodel`: {left.commands:,} of {left.before:,} commands, {left.own:,} of the op",
            f"- `commands/`: those {left.own:,} with the bytes that they read, in NumPy; `python commands/test_*.py`",
            "- `inputs.npz`: of the whole model; `expected.npz`, `actual.npz`: the op's result",
            "- `reproduce.sh`: compares the op's result with the expected values",
            "",
        ]
    )
