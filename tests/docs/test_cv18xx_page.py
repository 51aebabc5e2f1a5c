"""docs/cv18xx.md with its transcripts, executed."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from tests.docs.transcripts import steps
from tests.samples import DATA

PAGE = Path(__file__).parent.parent.parent / "docs" / "cv18xx.md"
DEPLOYMENT = DATA / "deployments" / "act_relu_cv181x_int8"


def test_every_command_of_the_page_prints_what_it_says(tmp_path: Path) -> None:
    shutil.copytree(DEPLOYMENT, tmp_path / "deployed")
    for folder, endings in (
        ("duo", (".cvimodel", "_final.mlir", "_tensor_info.txt", "_in_f32.npz", "_tpu_outputs.npz")),
        ("lone", (".cvimodel",)),
    ):
        (tmp_path / folder).mkdir()
        for ending in endings:
            (source,) = DEPLOYMENT.glob(f"*{ending}")
            name = source.name.replace("_cv181x_int8.cvi", ".cvi").replace("_cv181x_int8_tensor", "_tensor")
            shutil.copy(source, tmp_path / folder / name.replace("_sym", ""))
    scripts = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = 0
    for step in steps(PAGE):
        ran = step.run(tmp_path, {**os.environ, "PATH": scripts})
        step.check(ran.stdout)
        done += 1
    assert done == 5
