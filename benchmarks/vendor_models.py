"""Models for benchmarks/simulate.py, made and compiled with the vendor's tools (run with the vendor's Python).

    PYTHON benchmarks/vendor_models.py DIR [NAME ...] [--for CHIP:FORMAT[:CORES] ...] [--runtime]

Random weights from a fixed seed. Every model is compiled for BM1684X in each of its number formats into a context
directory DIR/NAME_FORMAT, or for what ``--for`` names into DIR/NAME_CHIP_FORMAT; what is there already is kept. The
networks of vendor_networks.py are compiled when they are named. Prints {"contexts": [...]}.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from vendor_graph import Graph
from vendor_networks import (
    Net,
    convnext,
    crnn,
    efficient,
    enlarger,
    pyramid,
    reader,
    segmenter,
    unet,
    vit,
    whisper,
    yolo,
)


def resnet18(g: Graph) -> tuple[list[int], str]:
    """ResNet-18 at 224 x 224, batch normalisation folded."""
    x = g.apply("Relu", g.convolution("x", 3, 64, 7, 2))
    x = g.apply("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    before = 64
    for width, stride in ((64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1)):
        inner = g.apply("Relu", g.convolution(x, before, width, 3, stride))
        short = x if before == width else g.convolution(x, before, width, 1, stride)
        x = g.apply("Relu", g.apply("Add", g.convolution(inner, width, width, 3), short))
        before = width
    x = g.apply("Flatten", g.apply("GlobalAveragePool", x))
    return [1, 3, 224, 224], g.linear(x, 512, 1000)


def transformer(g: Graph) -> tuple[list[int], str]:
    """12 layers of 4 heads over 128 tokens of width 256."""
    tokens, width, heads = 128, 256, 4
    x = "x"
    split = g.constant(np.array([1, tokens, heads, width // heads]))
    joined = g.constant(np.array([1, tokens, width]))
    for _ in range(12):
        n = g.normalized(x, width)
        q, k, v = (g.apply("Reshape", g.linear(n, width, width), split) for _ in range(3))
        q, v = (g.apply("Transpose", t, perm=[0, 2, 1, 3]) for t in (q, v))
        scores = g.apply("MatMul", q, g.apply("Transpose", k, perm=[0, 2, 3, 1]))
        scores = g.apply("Softmax", g.apply("Mul", scores, g.constant(np.float32((width // heads) ** -0.5))), axis=-1)
        mixed = g.apply("Transpose", g.apply("MatMul", scores, v), perm=[0, 2, 1, 3])
        x = g.apply("Add", x, g.linear(g.apply("Reshape", mixed, joined), width, width))
        inner = g.linear(g.normalized(x, width), width, 4 * width)
        bent = g.apply("Erf", g.apply("Mul", inner, g.constant(np.float32(0.5**0.5))))
        bent = g.apply("Mul", inner, g.apply("Add", bent, g.constant(np.float32(1))))
        x = g.apply("Add", x, g.linear(g.apply("Mul", bent, g.constant(np.float32(0.5))), 4 * width, width))
    return [1, tokens, width], x


def mobilenet(g: Graph) -> tuple[list[int], str]:
    """MobileNetV2 at 224 x 224: expansions, depthwise convolutions, projections."""

    def bounded(x: str) -> str:
        return g.apply("Clip", x, g.constant(np.float32(0)), g.constant(np.float32(6)))

    x = bounded(g.convolution("x", 3, 32, 3, 2))
    before = 32
    blocks = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
    for expansion, width, count, first in blocks:
        for index in range(count):
            stride, wide = first if index == 0 else 1, expansion * before
            inner = x if expansion == 1 else bounded(g.convolution(x, before, wide, 1))
            inner = bounded(g.convolution(inner, wide, wide, 3, stride, groups=wide))
            inner = g.convolution(inner, wide, width, 1)
            x = g.apply("Add", inner, x) if stride == 1 and before == width else inner
            before = width
    x = g.apply("Flatten", g.apply("GlobalAveragePool", bounded(g.convolution(x, before, 1280, 1))))
    return [1, 3, 224, 224], g.linear(x, 1280, 1000)


def detector(g: Graph) -> tuple[list[int], str]:
    """A detector at 640 x 640 of the build of YOLOv5s: partial stages, pyramid, nearest resize, three heads."""

    def block(x: str, inputs: int, outputs: int, kernel: int = 1, stride: int = 1) -> str:
        x = g.convolution(x, inputs, outputs, kernel, stride)
        return g.apply("Mul", x, g.apply("Sigmoid", x))

    def stage(x: str, inputs: int, outputs: int, count: int, adds: bool = True) -> str:
        half = outputs // 2
        inner = block(x, inputs, half)
        for _ in range(count):
            deeper = block(block(inner, half, half), half, half, 3)
            inner = g.apply("Add", inner, deeper) if adds else deeper
        return block(g.apply("Concat", inner, block(x, inputs, half), axis=1), outputs, outputs)

    def larger(x: str) -> str:
        scales = g.constant(np.array([1, 1, 2, 2], np.float32))
        form = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
        return g.apply("Resize", x, "", scales, **form)

    x = stage(block(block("x", 3, 32, 5, 2), 32, 64, 3, 2), 64, 64, 1)
    fine = stage(block(x, 64, 128, 3, 2), 128, 128, 2)
    middle = stage(block(fine, 128, 256, 3, 2), 256, 256, 3)
    x = block(stage(block(middle, 256, 512, 3, 2), 512, 512, 1), 512, 256)
    parts = [x]
    for _ in range(3):
        parts.append(g.apply("MaxPool", parts[-1], kernel_shape=[5, 5], strides=[1, 1], pads=[2, 2, 2, 2]))
    coarse = block(block(g.apply("Concat", *parts, axis=1), 1024, 512), 512, 256)
    x = stage(g.apply("Concat", larger(coarse), middle, axis=1), 512, 256, 1, False)
    half = block(x, 256, 128)
    small = stage(g.apply("Concat", larger(half), fine, axis=1), 256, 128, 1, False)
    medium = stage(g.apply("Concat", block(small, 128, 128, 3, 2), half, axis=1), 256, 256, 1, False)
    large = stage(g.apply("Concat", block(medium, 256, 256, 3, 2), coarse, axis=1), 512, 512, 1, False)
    heads = []
    for x, width, side in ((small, 128, 80), (medium, 256, 40), (large, 512, 20)):
        found = g.reshaped(g.convolution(x, width, 255, 1), 1, 3, 85, side * side)
        heads.append(g.reshaped(g.apply("Transpose", found, perm=[0, 1, 3, 2]), 1, 3 * side * side, 85))
    return [1, 3, 640, 640], g.apply("Sigmoid", g.apply("Concat", *heads, axis=1))


def swin(g: Graph) -> tuple[list[int], str]:
    """The build of Swin-T at 224 x 224: attention in windows of 7 x 7, shifted in every second block."""
    window = 7

    def windows(x: str, side: int, width: int) -> str:
        x = g.reshaped(x, side // window, window, side // window, window, width)
        return g.reshaped(g.apply("Transpose", x, perm=[0, 2, 1, 3, 4]), -1, window * window, width)

    def joined(x: str, side: int, width: int) -> str:
        x = g.reshaped(x, side // window, side // window, window, window, width)
        return g.reshaped(g.apply("Transpose", x, perm=[0, 2, 1, 3, 4]), 1, side, side, width)

    def rolled(x: str, side: int, by: int) -> str:
        for axis in (1, 2):
            borders = [g.constant(np.array([at])) for at in (0, by % side, side)]
            along = g.constant(np.array([axis]))
            parts = [g.apply("Slice", x, borders[i], borders[i + 1], along) for i in (1, 0)]
            x = g.apply("Concat", *parts, axis=axis)
        return x

    def attention(x: str, width: int, heads: int, count: int) -> str:
        area = window * window
        q, k, v = (g.reshaped(g.linear(x, width, width), count, area, heads, width // heads) for _ in range(3))
        q, k, v = (g.apply("Transpose", t, perm=[0, 2, 1, 3]) for t in (q, k, v))
        scores = g.apply("MatMul", q, g.apply("Transpose", k, perm=[0, 1, 3, 2]))
        scores = g.apply("Mul", scores, g.constant(np.float32((width // heads) ** -0.5)))
        scores = g.apply("Softmax", g.apply("Add", scores, g.weight(1, heads, area, area, scale=0.1)), axis=-1)
        mixed = g.apply("Transpose", g.apply("MatMul", scores, v), perm=[0, 2, 1, 3])
        return g.linear(g.reshaped(mixed, count, area, width), width, width)

    def bent(x: str) -> str:
        shaped = g.apply("Erf", g.apply("Mul", x, g.constant(np.float32(0.5**0.5))))
        shaped = g.apply("Mul", x, g.apply("Add", shaped, g.constant(np.float32(1))))
        return g.apply("Mul", shaped, g.constant(np.float32(0.5)))

    patches = g.apply("Conv", "x", g.weight(96, 3, 4, 4, scale=0.2), g.weight(96, scale=0.1), strides=[4, 4])
    x = g.normalized(g.apply("Transpose", patches, perm=[0, 2, 3, 1]), 96)
    side, width = 56, 96
    for heads, depth in ((3, 2), (6, 2), (12, 6), (24, 2)):
        for index in range(depth):
            shift = window // 2 if index % 2 and side > window else 0
            inner = g.normalized(x, width)
            inner = rolled(inner, side, shift) if shift else inner
            inner = attention(windows(inner, side, width), width, heads, (side // window) ** 2)
            inner = joined(inner, side, width)
            x = g.apply("Add", x, rolled(inner, side, -shift) if shift else inner)
            inner = bent(g.linear(g.normalized(x, width), width, 4 * width))
            x = g.apply("Add", x, g.linear(inner, 4 * width, width))
        if side > window:
            quarter = g.reshaped(x, side // 2, 2, side // 2, 2, width)
            quarter = g.reshaped(
                g.apply("Transpose", quarter, perm=[0, 2, 3, 1, 4]), 1, side // 2, side // 2, 4 * width
            )
            x = g.linear(g.normalized(quarter, 4 * width), 4 * width, 2 * width)
            side, width = side // 2, 2 * width
    x = g.apply("ReduceMean", g.normalized(g.reshaped(x, 1, side * side, width), width), axes=[1], keepdims=0)
    return [1, 3, 224, 224], g.linear(x, width, 1000)


def toy(g: Graph) -> tuple[list[int], str]:
    """Two convolutions, a pooling and a softmax: little more than overhead."""
    x = g.apply("MaxPool", g.apply("Relu", g.convolution("x", 3, 16, 3)), kernel_shape=[2, 2], strides=[2, 2])
    x = g.apply("Relu", g.convolution(x, 16, 32, 3, 2))
    x = g.apply("Flatten", g.apply("GlobalAveragePool", x))
    return [1, 3, 32, 32], g.apply("Softmax", g.linear(x, 32, 10), axis=1)


MODELS: dict[str, tuple[Callable[[Graph], Net], tuple[str, ...]]] = {
    "resnet18": (resnet18, ("F32", "F16", "INT8")),
    "transformer": (transformer, ("F32", "F16")),
    "mobilenet": (mobilenet, ("F32", "INT8")),
    "detector": (detector, ("F32", "F16", "INT8")),
    "swin": (swin, ("F32", "INT8")),
    "toy": (toy, ("F32",)),
}

SMALL = (unet, segmenter, pyramid, yolo, vit, convnext, efficient, crnn, reader, whisper, enlarger)
NETWORKS = {**{name: made for name, (made, _) in MODELS.items()}, **{made.__name__: made for made in SMALL}}


CVIMODELS = ("cv180x", "cv181x", "cv182x", "cv183x")
"""Chips with another container."""


class Target(NamedTuple):
    """What a network is compiled for."""

    chip: str
    form: str
    cores: int

    @classmethod
    def of(cls, text: str) -> Target:
        """``bm1688:F16:2``; without a number: one core."""
        chip, form, *cores = text.split(":")
        return cls(chip.lower(), form.upper(), int(cores[0]) if cores else 1)

    @property
    def ending(self) -> str:
        """Of the context's name; BM1684X goes without saying."""
        cores = f"c{self.cores}" if self.cores > 1 else ""
        return f"{'' if self.chip == 'bm1684x' else f'_{self.chip}'}_{self.form.lower()}{cores}"


def run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{command[0]} failed in {folder}:\n{(done.stdout + done.stderr)[-2000:]}")


def prepare(name: str, folder: Path) -> None:
    """The vendor's form of the model, and a calibration table from the range of each tensor on one input."""
    graph = Graph(name)
    shape, output = NETWORKS[name](graph)
    graph.save(folder / f"{name}.onnx", shape, output)
    np.savez(folder / "input.npz", x=np.random.default_rng(2).standard_normal(shape).astype(np.float32))
    transform = ["model_transform", "--model_name", name, "--model_def", f"{name}.onnx"]
    transform += ["--input_shapes", str([shape]).replace(" ", ""), "--mlir", f"{name}.mlir"]
    run([*transform, "--test_input", "input.npz", "--test_result", f"{name}_top.npz"], folder)
    with np.load(folder / f"{name}_top.npz") as tensors, (folder / "table").open("w") as table:
        for tensor in tensors.files:
            values = tensors[tensor].astype(np.float64)
            limit = max(1e-5, float(np.abs(values).max()))
            print(tensor, f"{limit:.7f} {values.min():.7f} {values.max():.7f}", file=table)


def compiled(name: str, target: Target, folder: Path, context: Path) -> None:
    """One context directory: the bmodel, final.mlir, tensor_location.json and the input."""
    is_small = target.chip in CVIMODELS
    bmodel = f"{name}_{target.form}.{'cvimodel' if is_small else 'bmodel'}"
    deploy = ["model_deploy", "--mlir", f"{name}.mlir", "--quantize", target.form, "--processor", target.chip]
    deploy += ["--debug", "--skip_validation", "--model", bmodel]
    deploy += [] if is_small else ["--num_core", str(target.cores)]
    # The compiler leaves many files, whose names do not tell the number of cores.
    with tempfile.TemporaryDirectory(dir=folder) as work:
        for path in folder.iterdir():
            if path.is_file():
                (Path(work) / path.name).symlink_to(path)
        run([*deploy, *(["--calibration_table", "table"] if target.form == "INT8" else [])], Path(work))
        context.mkdir(parents=True)
        parts = {
            "final.mlir": next(Path(work).glob(f"{name}_{target.chip}_{target.form.lower()}*final.mlir")),
            "input.npz": folder / "input.npz",
        }
        if is_small:
            parts["tensor_info.txt"] = next(Path(work).glob("*_tensor_info.txt"))
            parts["model.cvimodel"] = Path(work) / bmodel
        else:
            parts["tensor_location.json"] = Path(work) / f"{bmodel}.json"
            parts["compilation.bmodel"] = Path(work) / bmodel
        for wanted, path in parts.items():
            shutil.copy(path, context / wanted)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("names", nargs="*", metavar="NAME", default=list(MODELS))
    parser.add_argument("--for", dest="targets", type=Target.of, nargs="*", metavar="CHIP:FORMAT[:CORES]")
    parser.add_argument("--runtime", action="store_true", help="add the outputs of the vendor's runtime, runtime.npz")
    options = parser.parse_args()
    folder, contexts = options.folder.resolve(), []
    for name in options.names:
        forms = MODELS[name][1] if name in MODELS else ("F32",)
        for target in options.targets or [Target("bm1684x", form, 1) for form in forms]:
            context = folder / (name + target.ending)
            contexts.append(str(context))
            work = folder / "work" / name
            if not (work / "table").exists():
                work.mkdir(parents=True, exist_ok=True)
                prepare(name, work)
            if not context.exists():
                compiled(name, target, work, context)
            if options.runtime and not (context / "runtime.npz").exists():
                name_of_model = "model.cvimodel" if target.chip in CVIMODELS else "compilation.bmodel"
                model = ["--input", "input.npz", "--model", name_of_model, "--output", "runtime.npz"]
                run(["model_runner", *model], context)
    print(json.dumps({"contexts": contexts}))


if __name__ == "__main__":
    main()
