"""A kernel module that is put into a model: everything else stays what it was."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from tdb_dap.engine.bmodel import Bmodel, schema
from tdb_dap.engine.bmodel.file import HEADER_BYTES
from tdb_dap.engine.bmodel.kernel_module import give_kernel
from tdb_dap.engine.files.flat_buffer import Block
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
    root = Block(block).root()
    kernel = root.table(schema.Model.KERNEL_MODULE)
    assert kernel is not None
    span = kernel.record(schema.KernelModule.BINARY, schema.SPAN)
    assert span is not None
    if not had_one:
        assert kernel.text(0) == "libkernel_module.so"
        assert after.payload[span[0] : sum(span)].tobytes() == b"kernel" * 100
    assert root.position(schema.Model.TYPE) is not None
    assert not give_kernel(model, library), "it has one now"
    assert Bmodel(model).metadata == after.metadata
