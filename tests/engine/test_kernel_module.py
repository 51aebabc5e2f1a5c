"""A kernel module that is put into a model: everything else stays what it was."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from tdb_dap.engine.bmodel import Bmodel
from tdb_dap.engine.bmodel import bmodel_generated as fb
from tdb_dap.engine.bmodel.file import HEADER_BYTES
from tdb_dap.engine.bmodel.kernel_module import give_kernel
from tests.samples import DATA, SAMPLE

MODELS = sorted([SAMPLE, *(folder for folder in (DATA / "contexts").iterdir() if list(folder.glob("*.bmodel*")))])


@pytest.mark.parametrize("folder", MODELS, ids=lambda folder: folder.name)
def test_a_model_with_a_kernel_is_the_same_model(tmp_path: Path, folder: Path) -> None:
    [packed] = folder.glob("*.bmodel.xz")
    before = Bmodel(packed)
    model, library = tmp_path / "model.bmodel", tmp_path / "libkernel_module.so"
    before.copy_to(model)
    library.write_bytes(b"kernel" * 100)
    had_one = not give_kernel(model, library)
    after = Bmodel(model)
    assert replace(after.metadata, kernel_bytes=0) == replace(before.metadata, kernel_bytes=0)
    assert after.metadata.kernel_bytes == (before.metadata.kernel_bytes if had_one else 600)
    assert np.array_equal(after.payload[: before.payload.size], before.payload)
    block = model.read_bytes()[HEADER_BYTES : after.payload_start]
    root = fb.Model.GetRootAs(block, 0)
    kernel = root.KernelModule()
    assert kernel is not None
    span = kernel.Binary()
    assert span is not None
    if not had_one:
        assert str(kernel.FileName()) == "b'libkernel_module.so'"  # bytes, whatever its stub says
        assert after.payload[span.Start() : span.Start() + span.Size()].tobytes() == b"kernel" * 100
    assert root.Type() is not None
    assert not give_kernel(model, library), "it has one now"
    assert Bmodel(model).metadata == after.metadata
