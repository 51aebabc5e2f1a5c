"""Networks of many builds for the sanitizers, small enough that each is compiled and executed in seconds."""

from __future__ import annotations

import numpy as np
from vendor_graph import Graph

Net = tuple[list[int], str]
"""Shape of the input, name of the output."""


def unet(g: Graph) -> Net:
    """U-Net at 64 x 64: four levels, transposed convolutions, each level joined with what came down."""

    def pair(x: str, inputs: int, outputs: int) -> str:
        x = g.apply("Relu", g.convolution(x, inputs, outputs, 3))
        return g.apply("Relu", g.convolution(x, outputs, outputs, 3))

    widths = (16, 32, 64, 128)
    x, before, levels = "x", 3, []
    for width in widths:
        x = pair(x, before, width)
        levels.append(x)
        x, before = g.apply("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2]), width
    x = pair(x, before, 2 * before)
    for width, level in zip(widths[::-1], levels[::-1], strict=True):
        weight = g.weight(2 * width, width, 2, 2, scale=(2 * width) ** -0.5)
        x = g.apply("ConvTranspose", x, weight, g.weight(width, scale=0.1), kernel_shape=[2, 2], strides=[2, 2])
        x = pair(g.apply("Concat", x, level, axis=1), 2 * width, width)
    return [1, 3, 64, 64], g.apply("Sigmoid", g.convolution(x, widths[0], 2, 1))


def segmenter(g: Graph) -> Net:
    """The build of DeepLabV3 at 65 x 65: dilated convolutions beside each other, bilinear resizes."""

    def resized(x: str, side: int) -> str:
        sizes = g.constant(np.array([1, 48, side, side]))
        return g.apply("Resize", x, "", "", sizes, mode="linear", coordinate_transformation_mode="align_corners")

    def dilated(x: str, inputs: int, outputs: int, rate: int) -> str:
        weight, bias = g.weight(outputs, inputs, 3, 3, scale=(9 * inputs / 2) ** -0.5), g.weight(outputs, scale=0.1)
        return g.apply("Relu", g.apply("Conv", x, weight, bias, pads=[rate] * 4, dilations=[rate] * 2))

    x = g.apply("Relu", g.convolution("x", 3, 24, 3, 2))
    fine = g.apply("Relu", g.convolution(x, 24, 48, 3, 2))
    x = g.apply("Relu", g.convolution(fine, 48, 96, 3, 2))
    whole = g.apply("Relu", g.convolution(g.apply("GlobalAveragePool", x), 96, 48, 1))
    rates = [dilated(x, 96, 48, rate) for rate in (1, 2, 4)]
    x = g.convolution(g.apply("Concat", *rates, resized(whole, 9), axis=1), 192, 48, 1)
    x = g.apply("Concat", resized(g.apply("Relu", x), 17), fine, axis=1)
    x = g.convolution(g.apply("Relu", g.convolution(x, 96, 48, 3)), 48, 48, 1)
    return [1, 3, 65, 65], g.apply("Softmax", resized(x, 65), axis=1)


def pyramid(g: Graph) -> Net:
    """A feature pyramid at 128 x 128 with two heads over all levels (RetinaNet): nearest resizes, the same weights."""

    def larger(x: str) -> str:
        form = {"mode": "nearest", "coordinate_transformation_mode": "half_pixel", "nearest_mode": "round_prefer_floor"}
        return g.apply("Resize", x, "", g.constant(np.array([1, 1, 2, 2], np.float32)), **form)

    x = g.apply("Relu", g.convolution("x", 3, 32, 7, 2))
    x = g.apply("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    levels, before = [], 32
    for width in (64, 128, 192):
        inner = g.apply("Relu", g.convolution(x, before, width, 3, 2))
        inner = g.convolution(inner, width, width, 3)
        x, before = g.apply("Relu", g.apply("Add", inner, g.convolution(x, before, width, 1, 2))), width
        levels.append((x, width))
    merged, above = [], ""
    for x, width in levels[::-1]:
        x = g.convolution(x, width, 64, 1)
        above = g.apply("Add", x, larger(above)) if above else x
        merged.append(g.convolution(above, 64, 64, 3))
    sides, outputs = (4, 8, 16), []
    for numbers in (4, 20):
        weights = [g.weight(64, 64, 3, 3, scale=0.06), g.weight(3 * numbers, 64, 3, 3, scale=0.04)]
        heads = []
        for x, side in zip(merged, sides, strict=True):
            x = g.apply("Relu", g.apply("Conv", x, weights[0], pads=[1] * 4))
            x = g.apply("Transpose", g.apply("Conv", x, weights[1], pads=[1] * 4), perm=[0, 2, 3, 1])
            heads.append(g.reshaped(x, 1, 3 * side * side, numbers))
        outputs.append(g.apply("Concat", *heads, axis=1))
    return [1, 3, 128, 128], g.apply("Concat", outputs[0], g.apply("Sigmoid", outputs[1]), axis=2)


def yolo(g: Graph) -> Net:
    """The build of YOLOv8n at 160 x 160: split stages, pyramid, boxes as means of distributions, anchors."""

    def block(x: str, inputs: int, outputs: int, kernel: int = 1, stride: int = 1) -> str:
        return g.swish(g.convolution(x, inputs, outputs, kernel, stride))

    def stage(x: str, inputs: int, outputs: int, adds: bool = True) -> str:
        half = outputs // 2
        first, second = g.halves(block(x, inputs, outputs), 1, half)
        inner = block(block(second, half, half, 3), half, half, 3)
        inner = g.apply("Add", inner, second) if adds else inner
        return block(g.apply("Concat", first, second, inner, axis=1), 3 * half, outputs)

    def larger(x: str) -> str:
        form = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
        return g.apply("Resize", x, "", g.constant(np.array([1, 1, 2, 2], np.float32)), **form)

    x = stage(block(block("x", 3, 16, 3, 2), 16, 32, 3, 2), 32, 32)
    fine = stage(block(x, 32, 64, 3, 2), 64, 64)
    middle = stage(block(fine, 64, 128, 3, 2), 128, 128)
    x = block(stage(block(middle, 128, 256, 3, 2), 256, 256), 256, 128)
    parts = [x]
    for _ in range(3):
        parts.append(g.apply("MaxPool", parts[-1], kernel_shape=[5, 5], strides=[1, 1], pads=[2] * 4))
    coarse = block(g.apply("Concat", *parts, axis=1), 512, 256)
    half = stage(g.apply("Concat", larger(coarse), middle, axis=1), 384, 128, False)
    small = stage(g.apply("Concat", larger(half), fine, axis=1), 192, 64, False)
    medium = stage(g.apply("Concat", block(small, 64, 64, 3, 2), half, axis=1), 192, 128, False)
    large = stage(g.apply("Concat", block(medium, 128, 128, 3, 2), coarse, axis=1), 384, 256, False)
    boxes, classes = [], []
    for x, width, side in ((small, 64, 20), (medium, 128, 10), (large, 256, 5)):
        boxes.append(g.reshaped(g.convolution(block(x, width, 64, 3), 64, 64, 1), 1, 64, side * side))
        classes.append(g.reshaped(g.convolution(block(x, width, 80, 3), 80, 80, 1), 1, 80, side * side))
    anchors = 525
    x = g.reshaped(g.apply("Concat", *boxes, axis=2), 1, 4, 16, anchors)
    x = g.apply("Softmax", g.apply("Transpose", x, perm=[0, 2, 1, 3]), axis=1)
    means = g.constant(np.arange(16, dtype=np.float32).reshape(1, 16, 1, 1))
    sides = g.reshaped(g.apply("Conv", x, means), 1, 4, anchors)
    start, stop = g.halves(sides, 1, 2)
    centres = g.constant(np.random.default_rng(3).uniform(0, 20, (1, 2, anchors)).astype(np.float32))
    start, stop = g.apply("Sub", centres, start), g.apply("Add", stop, centres)
    middle = g.scalar(g.apply("Add", start, stop), "Div", 2)
    places = g.scalar(g.apply("Concat", middle, g.apply("Sub", stop, start), axis=1), "Mul", 8)
    scores = g.apply("Sigmoid", g.apply("Concat", *classes, axis=2))
    return [1, 3, 160, 160], g.apply("Concat", places, scores, axis=1)


def vit(g: Graph) -> Net:
    """ViT at 112 x 112: patches of 16, a token of its own for the class, 4 layers of width 192."""
    width, tokens = 192, 50
    patches = g.apply("Conv", "x", g.weight(width, 3, 16, 16, scale=0.04), g.weight(width, scale=0.1), strides=[16, 16])
    x = g.apply("Transpose", g.reshaped(patches, 1, width, tokens - 1), perm=[0, 2, 1])
    x = g.apply("Concat", g.weight(1, 1, width, scale=1), x, axis=1)
    x = g.apply("Add", x, g.weight(1, tokens, width, scale=0.1))
    for _ in range(4):
        x = g.encoder_layer(x, tokens, width, 3)
    x = g.apply("Gather", g.normalized(x, width), g.constant(np.array(0)), axis=1)
    return [1, 3, 112, 112], g.linear(x, width, 1000)


def convnext(g: Graph) -> Net:
    """ConvNeXt at 96 x 96: depthwise 7 x 7, normalised along channels, residuals scaled by channel."""

    def along_channels(x: str, width: int) -> str:
        x = g.normalized(g.apply("Transpose", x, perm=[0, 2, 3, 1]), width)
        return g.apply("Transpose", x, perm=[0, 3, 1, 2])

    def smaller(x: str, inputs: int, outputs: int, by: int) -> str:
        weight = g.weight(outputs, inputs, by, by, scale=(inputs * by * by) ** -0.5)
        return g.apply("Conv", x, weight, g.weight(outputs, scale=0.1), strides=[by, by])

    x = along_channels(smaller("x", 3, 48, 4), 48)
    before = 48
    for width, depth in ((48, 1), (96, 1), (192, 3), (384, 1)):
        if width > before:
            x = smaller(along_channels(x, before), before, width, 2)
        for _ in range(depth):
            inner = g.apply("Transpose", g.convolution(x, width, width, 7, groups=width), perm=[0, 2, 3, 1])
            inner = g.gelu(g.linear(g.normalized(inner, width), width, 4 * width))
            inner = g.apply("Mul", g.linear(inner, 4 * width, width), g.weight(width, scale=0.5))
            x = g.apply("Add", x, g.apply("Transpose", inner, perm=[0, 3, 1, 2]))
        before = width
    x = g.apply("ReduceMean", x, axes=[2, 3], keepdims=0)
    return [1, 3, 96, 96], g.linear(g.normalized(x, before), before, 1000)


def efficient(g: Graph) -> Net:
    """The build of EfficientNet and MobileNetV3 at 96 x 96: channels weighed by their means, hard and soft swish."""

    def weighed(x: str, width: int, hard: bool) -> str:
        inner = g.apply("Relu", g.convolution(g.apply("GlobalAveragePool", x), width, width // 4, 1))
        inner = g.convolution(inner, width // 4, width, 1)
        gate = g.apply("HardSigmoid", inner, alpha=1 / 6, beta=0.5) if hard else g.apply("Sigmoid", inner)
        return g.apply("Mul", x, gate)

    def bent(x: str, hard: bool) -> str:
        return g.apply("HardSwish", x) if hard else g.swish(x)

    x, before = bent(g.convolution("x", 3, 16, 3, 2), True), 16
    for width, wide, kernel, stride, hard in (
        (24, 64, 3, 2, True),
        (24, 72, 3, 1, False),
        (40, 96, 5, 2, True),
        (40, 120, 5, 1, False),
        (96, 240, 3, 2, True),
        (96, 288, 5, 1, False),
    ):
        inner = bent(g.convolution(x, before, wide, 1), hard)
        inner = weighed(bent(g.convolution(inner, wide, wide, kernel, stride, groups=wide), hard), wide, hard)
        inner = g.convolution(inner, wide, width, 1)
        x = g.apply("Add", inner, x) if stride == 1 and before == width else inner
        before = width
    x = g.apply("Flatten", g.apply("GlobalAveragePool", bent(g.convolution(x, before, 576, 1), True)))
    return [1, 3, 96, 96], g.linear(x, 576, 1000)


def crnn(g: Graph) -> Net:
    """CRNN for a line of text of 32 x 128: convolutions down to one row, two LSTMs in both directions."""
    x, before = "x", 1
    for width, pool in ((32, [2, 2]), (64, [2, 2]), (128, [2, 1]), (128, [2, 1])):
        x = g.apply("Relu", g.convolution(x, before, width, 3))
        x, before = g.apply("MaxPool", x, kernel_shape=pool, strides=pool), width
    weight = g.weight(128, before, 2, 1, scale=0.06)
    x = g.apply("Relu", g.apply("Conv", x, weight, g.weight(128, scale=0.1)))
    x = g.apply("Transpose", g.apply("Squeeze", x, g.constant(np.array([2]))), perm=[2, 0, 1])
    for _ in range(2):
        x = g.lstm(x, 32, 128, 64)
    return [1, 1, 32, 128], g.apply("Softmax", g.linear(x, 128, 37), axis=2)


def reader(g: Graph) -> Net:
    """Reading text with attention: features, an LSTM, and a decoder of six steps that each look at all columns."""
    x, before = "x", 1
    for width, pool in ((32, [2, 2]), (64, [2, 2]), (128, [4, 2])):
        x = g.apply("Relu", g.convolution(x, before, width, 3))
        x, before = g.apply("MaxPool", x, kernel_shape=pool, strides=pool), width
    x = g.apply("Transpose", g.apply("ReduceMean", x, axes=[2], keepdims=0), perm=[2, 0, 1])
    features = g.apply("Transpose", g.lstm(x, 12, 128, 64), perm=[1, 0, 2])
    keys, state = g.linear(features, 128, 128), g.weight(1, 128, scale=0.5)
    query, vote = g.weight(128, 128, scale=0.09), g.weight(128, 1, scale=0.3)
    gates, bias = g.weight(256, 256, scale=0.06), g.weight(256, scale=0.1)
    candidate, letters = g.weight(256, 128, scale=0.06), g.weight(128, 40, scale=0.3)
    found = []
    for _ in range(6):
        asked = g.reshaped(g.apply("MatMul", state, query), 1, 1, 128)
        scores = g.apply("MatMul", g.apply("Tanh", g.apply("Add", keys, asked)), vote)
        scores = g.apply("Transpose", g.apply("Softmax", scores, axis=1), perm=[0, 2, 1])
        seen = g.reshaped(g.apply("MatMul", scores, features), 1, 128)
        both = g.apply("MatMul", g.apply("Concat", seen, state, axis=1), gates)
        reset, update = g.halves(g.apply("Sigmoid", g.apply("Add", both, bias)), 1, 128)
        new = g.apply("Concat", seen, g.apply("Mul", reset, state), axis=1)
        new = g.apply("Tanh", g.apply("MatMul", new, candidate))
        state = g.apply("Add", state, g.apply("Mul", update, g.apply("Sub", new, state)))
        found.append(g.reshaped(g.apply("MatMul", state, letters), 1, 1, 40))
    return [1, 1, 32, 96], g.apply("Softmax", g.apply("Concat", *found, axis=1), axis=2)


def whisper(g: Graph) -> Net:
    """The encoder of Whisper for 200 frames of 80 bands: two convolutions along time, 4 layers of width 192."""
    width, tokens = 192, 100
    x, before = "x", 80
    for stride in (1, 2):
        weight, bias = g.weight(width, before, 3, scale=(3 * before / 2) ** -0.5), g.weight(width, scale=0.1)
        x, before = g.gelu(g.apply("Conv", x, weight, bias, pads=[1, 1], strides=[stride])), width
    x = g.apply("Add", g.apply("Transpose", x, perm=[0, 2, 1]), g.weight(1, tokens, width, scale=0.3))
    for _ in range(4):
        x = g.encoder_layer(x, tokens, width, 3)
    return [1, 80, 200], g.normalized(x, width)


def enlarger(g: Graph) -> Net:
    """Super-resolution of 48 x 48: residual blocks, channels to pixels, a parametric rectifier."""
    x = first = g.convolution("x", 3, 32, 3)
    for _ in range(4):
        slope = g.constant(np.full((32, 1, 1), 0.2, np.float32))
        x = g.apply("Add", x, g.convolution(g.apply("PRelu", g.convolution(x, 32, 32, 3), slope), 32, 32, 3))
    x = g.convolution(g.apply("Add", x, first), 32, 128, 3)
    x = g.apply("LeakyRelu", g.apply("DepthToSpace", x, blocksize=2, mode="CRD"), alpha=0.1)
    return [1, 3, 48, 48], g.apply("Tanh", g.convolution(x, 32, 3, 3))
