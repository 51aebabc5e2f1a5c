#!/usr/bin/env python3
"""Make a language model of 12 blocks of the one with two in tests/data: one weight of one block has the wrong sign.

    language.py DIRECTORY

The first block of the small model is repeated, with names of its own. Prints JSON: the folders of the model and of the
model before conversion, and the net and the layer at fault.
"""

from __future__ import annotations

import argparse
import json
import lzma
import re
import struct
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT)]

from tdb_dap.engine.bmodel import schema  # noqa: E402
from tdb_dap.engine.bmodel.file import HEADER, HEADER_BYTES, MAGIC  # noqa: E402
from tdb_dap.engine.files.flat_buffer import Block, Table  # noqa: E402
from tests.llm.models import QWEN  # noqa: E402
from tests.llm_case import negate  # noqa: E402

BLOCKS, WRONG = 12, 7
_SOURCES = (*[0] * (BLOCKS - 1), 1)
"""The block of the small model that each block is: the last one also normalises the states."""


def make(directory: Path) -> dict[str, object]:
    """Write the folder of the converter and that of the model in float; what is wrong in it."""
    model, reference = directory / "model", directory / "float"
    model.mkdir(parents=True)
    reference.mkdir()
    right = directory / "small_qwen2.bmodel"
    right.write_bytes(repeated(lzma.decompress((QWEN / "small_qwen2.bmodel.xz").read_bytes())))
    for folder in (QWEN / "nets").iterdir():
        for block in _blocks(folder.name):
            target = model / "nets" / _renamed(folder.name, block)
            target.mkdir(parents=True)
            for file in folder.iterdir():
                text = lzma.decompress(file.read_bytes()).decode()
                (target / file.name.removesuffix(".xz")).write_text(_renamed(text, block))
    write_float(reference)
    layer = f"model.layers.{WRONG}.mlp.up_proj"
    negate(right, model / right.name, model / "nets" / f"block_{WRONG}", f"{layer}.weight_bf16")
    right.unlink()
    return {"directory": str(model), "float": str(reference), "net": f"block_{WRONG}", "layer": layer}


def _blocks(net: str) -> list[int]:
    """The blocks that a net of the small model is; for other nets, one that leaves their names alone."""
    source = re.fullmatch(r"block(?:_cache)?_(\d+)", net)
    return [block for block in range(BLOCKS) if _SOURCES[block] == int(source[1])] if source else [0]


def _renamed(text: str, block: int) -> str:
    """The names of a block in place of those of its source."""
    source = _SOURCES[block]
    text = re.sub(rf"model\.layers\.{source}\.", f"model.layers.{block}.", text)
    return re.sub(rf"\b(block|block_cache)_{source}\b", rf"\g<1>_{block}", text)


def repeated(content: bytes) -> bytes:
    """The bmodel with further blocks, each with weights of its own.

    Offsets in a FlatBuffer are relative: each block is one of a further copy of the tables, with another name.
    """
    _, _, size, payload_size = HEADER.unpack(content[: HEADER.size])
    tables, payload = content[HEADER_BYTES : HEADER_BYTES + size], content[HEADER_BYTES + size :][:payload_size]
    tables = tables.ljust(-(-len(tables) // 8) * 8, b"\0")
    root = Block(tables).root()
    old = list(root.tables(schema.Model.NETS))
    names = [net.text(schema.Net.NAME) for net in old]
    nets = [(index, block) for index, name in enumerate(names) for block in _blocks(name)]
    vector = len(tables)
    copies = -(-(vector + 4 + 4 * len(nets)) // 8) * 8
    made = bytearray(tables.ljust(copies, b"\0") + tables * BLOCKS)
    _point(made, _field(root, schema.Model.NETS), vector)
    struct.pack_into("<I", made, vector, len(nets))
    for number, (index, block) in enumerate(nets):
        start = copies + block * len(tables)
        net = old[index]
        _point(made, vector + 4 + 4 * number, start + net.start)
        _point(made, start + _field(net, schema.Net.NAME), len(made))
        name = _renamed(names[index], block)
        text = struct.pack("<I", len(name)) + name.encode() + b"\0"
        made += text.ljust(-(-len(text) // 8) * 8, b"\0")
        weights = next(net.tables(schema.Net.STAGES)).table(schema.Stage.WEIGHTS)
        assert weights is not None
        first, size = weights.record(schema.Weights.BINARY, schema.SPAN) or (0, 0)
        struct.pack_into("<Q", made, start + _field(weights, schema.Weights.BINARY), len(payload))
        payload += payload[first : first + size]
    header = HEADER.pack(MAGIC, HEADER_BYTES, len(made), len(payload)).ljust(HEADER_BYTES, b"\0")
    return header + bytes(made) + payload


def _field(table: Table, slot: int) -> int:
    place = table.position(slot)
    assert place is not None, "the small model has no such field"
    return place


def _point(tables: bytearray, field: int, target: int) -> None:
    struct.pack_into("<I", tables, field, target - field)


def write_float(folder: Path) -> None:
    """The model before conversion, with the weights of the layers that are repeated."""
    source = QWEN / "float"
    config = json.loads((source / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "num_hidden_layers": BLOCKS}))
    content = (source / "model.safetensors").read_bytes()
    (size,) = struct.unpack_from("<Q", content)
    tensors = json.loads(content[8 : 8 + size])
    own = list(tensors.items())
    for block, like in enumerate(_SOURCES):
        tensors |= {_renamed(name, block): tensor for name, tensor in own if f".layers.{like}." in name}
    text = json.dumps(tensors).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + content[8 + size :])


def main() -> int:
    """Make the model, and print what is wrong in it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    json.dump(make(parser.parse_args().directory.resolve()), sys.stdout, indent=2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
