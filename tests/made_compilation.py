"""Compilations made here: a seeded network in every stage up to tpu, in float or INT8, and ways to spoil it.

Texts, weights and tensors are as the compiler leaves them; the numbers are those of the golden functions. Nothing of a
vendor's is needed, and every fault is known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.machine.npz import read_npz, write_npz
from tdb_dap.tools.golden.formats import TensorType
from tdb_dap.tools.golden.level import Level

NET = "net"
FLOATS = ("F32", "F16", "BF16")
_SHIFT = 24


@dataclass
class Layer:
    """An op of the imported model. ``weights``: by role, in the order of the operands after ``inputs``."""

    name: str
    opcode: str
    inputs: tuple[str, ...]
    weights: tuple[Array, ...] = ()
    attributes: Mapping[str, str] = field(default_factory=dict[str, str])


def dense(seed: int) -> tuple[Array, list[Layer]]:
    """An input and a network of convolutions, a residual addition, a pooling and a product of matrices."""
    random = np.random.default_rng(seed)
    x = random.normal(0, 1, (1, 8, 12, 12))

    def window(kernel: int, group: int, relu: bool) -> dict[str, str]:
        pad = kernel // 2
        return {
            "dilations": "[1, 1]",
            "do_relu": str(relu).lower(),
            "group": f"{group} : i64",
            "kernel_shape": f"[{kernel}, {kernel}]",
            "pads": f"[{pad}, {pad}, {pad}, {pad}]",
            "strides": "[1, 1]",
        }

    def weights(outer: int, inner: int, kernel: int) -> tuple[Array, Array]:
        spread = 1 / math.sqrt(inner * kernel * kernel)
        return random.normal(0, spread, (outer, inner, kernel, kernel)), random.normal(0, 0.3, outer)

    layers = [
        Layer("a_Conv", "Conv", ("x",), weights(16, 8, 3), window(3, 1, True)),
        Layer("b_Conv", "Conv", ("a_Conv",), weights(16, 1, 3), window(3, 16, False)),
        Layer("c_Conv", "Conv", ("b_Conv",), weights(16, 16, 1), window(1, 1, True)),
        Layer("d_Add", "Add", ("a_Conv", "c_Conv"), (), {"do_relu": "false"}),
        Layer("e_Conv", "Conv", ("d_Add",), weights(12, 16, 3), window(3, 1, False)),
        Layer("f_Relu", "Relu", ("e_Conv",), (), {"relu_limit": "-1.0 : f64"}),
        Layer("g_Reshape", "Reshape", ("f_Relu",), (), {"shape": "[12, 144]"}),
        Layer(
            "h_MatMul",
            "MatMul",
            ("g_Reshape",),
            (random.normal(0, 1 / 12, (144, 10)), random.normal(0, 0.3, 10)),
            {"do_relu": "false", "right_transpose": "false"},
        ),
        Layer("i_Softmax", "Softmax", ("h_MatMul",), (), {"axis": "1 : si32", "log": "false"}),
    ]
    return x, layers


def attention(seed: int, gain: float = 1.0) -> tuple[Array, list[Layer]]:
    """An input and a layer of attention. ``gain``: size of its scores."""
    random = np.random.default_rng(seed)
    x = random.normal(0, 1, (1, 16, 32))
    plain = {"do_relu": "false", "right_transpose": "false"}

    def projection() -> tuple[Array, ...]:
        return (random.normal(0, 1 / math.sqrt(32), (32, 32)),)

    return x, [
        Layer("q_MatMul", "MatMul", ("x",), tuple(gain * weight for weight in projection()), plain),
        Layer("k_MatMul", "MatMul", ("x",), projection(), plain),
        Layer("v_MatMul", "MatMul", ("x",), projection(), plain),
        Layer("s_MatMul", "MatMul", ("q_MatMul", "k_MatMul"), (), {**plain, "right_transpose": "true"}),
        Layer("t_MulConst", "MulConst", ("s_MatMul",), (), {"const_val": f"{0.25 / gain!r} : f64", "do_relu": "false"}),
        Layer("p_Softmax", "Softmax", ("t_MulConst",), (), {"axis": "2 : si32", "log": "false"}),
        Layer("o_MatMul", "MatMul", ("p_Softmax", "v_MatMul"), (), plain),
        Layer("r_Sub", "Sub", ("x", "o_MatMul"), (), {"do_relu": "false", "is_reverse": "false"}),
    ]


class Made:
    """A compilation in a folder. ``mode``: the format as of ``--quantize``."""

    def __init__(self, folder: Path, mode: str, chip: str = "bm1684x", *, net: tuple[Array, list[Layer]]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.mode = mode
        self.x, self.layers = net
        self.prefix = f"{NET}_{chip}_{mode.lower()}" + ("_sym" if mode == "INT8" else "")
        self._chip = chip
        self._shapes = {"x": self.x.shape}
        self._write_inputs()
        for suffix, weights in (("_origin", "_origin"), ("", "")):
            self._write_imported(folder / f"{NET}{suffix}.mlir", f"{NET}_top_f32_all{weights}_weight.npz")
        self.compute("origin_mlir")
        self.compute("top_mlir")
        self._write_lowered()
        self.compute("tpu_mlir")

    @property
    def texts(self) -> dict[str, Path]:
        """The text of each stage."""
        return {
            "origin_mlir": self.folder / f"{NET}_origin.mlir",
            "top_mlir": self.folder / f"{NET}.mlir",
            "tpu_mlir": self.folder / f"{self.prefix}_tpu.mlir",
        }

    @property
    def tensors(self) -> dict[str, Path]:
        """The tensors of each stage."""
        return {
            "origin_mlir": self.folder / f"{NET}_ref_outputs.npz",
            "top_mlir": self.folder / f"{NET}_top.npz",
            "tpu_mlir": self.folder / f"{self.prefix}_tpu_outputs.npz",
        }

    @property
    def weights(self) -> dict[str, Path]:
        """The weights of each stage."""
        return {
            "origin_mlir": self.folder / f"{NET}_top_f32_all_origin_weight.npz",
            "top_mlir": self.folder / f"{NET}_top_f32_all_weight.npz",
            "tpu_mlir": self.folder / f"{self.prefix}_tpu_weights.npz",
        }

    def compute(self, key: str) -> None:
        """Write the tensors that the text of a stage means."""
        level = Level(key, self.texts[key])
        with np.errstate(all="ignore"):
            computed, missing = level.run({"x": self.x}, is_rounded=True)
            arrays = {name: np.asarray(array, np.float32) for name, array in computed.items()}
        assert not missing, missing
        if key == "origin_mlir":
            del arrays["x"]
        write_npz(self.tensors[key], arrays)

    def edit(self, key: str, name: str, old: str, new: str) -> None:
        """Another attribute in the text of a tensor's op."""
        lines = self.texts[key].read_text("utf-8").splitlines()
        place = next(
            i for i, line in enumerate(lines) if line.endswith(f'loc("{name}")') and '"top.Weight"' not in line
        )
        assert lines[place].count(old) == 1, f"{old} in {lines[place]}"
        lines[place] = lines[place].replace(old, new)
        self.texts[key].write_text("\n".join([*lines, ""]), "utf-8")

    def change(self, path: Path, name: str, change: Callable[[Array], Array]) -> None:
        """Another array in a file of weights or tensors."""
        arrays = read_npz(path)
        write_npz(path, {**arrays, name: np.ascontiguousarray(change(arrays[name])).astype(arrays[name].dtype)})

    def _write_inputs(self) -> None:
        write_npz(self.folder / f"{NET}_in_f32.npz", {"x": self.x.astype(np.float32)})

    def _write_imported(self, path: Path, weights: str) -> None:
        text = _Text(self.x.shape)
        arrays: dict[str, Array] = {}
        for layer in self.layers:
            operands = [(text.value(name), self._type(self._shapes[name], "f32")) for name in layer.inputs]
            for index, weight in enumerate(layer.weights):
                name = f"{layer.name}_w{index}"
                arrays[name] = weight.astype(np.float32)
                operands.append((text.weight(name, weight.shape, "f32"), self._type(weight.shape, "f32")))
            shape = self._shapes[layer.name] = self._result(layer)
            text.op(layer.name, f"top.{layer.opcode}", operands, layer.attributes, self._type(shape, "f32"))
        path.write_text(text.module({"chip": "ALL", "state": "TOP_F32", "weight_file": weights}), "utf-8")
        write_npz(self.folder / weights, arrays)

    def _result(self, layer: Layer) -> tuple[int, ...]:
        shape = self._shapes[layer.inputs[0]]
        if layer.opcode == "Conv":
            return (shape[0], layer.weights[0].shape[0], *shape[2:])
        if layer.opcode == "Reshape":
            return tuple(int(n) for n in layer.attributes["shape"][1:-1].split(","))
        if layer.opcode == "MatMul":
            right = layer.weights[0].shape if layer.weights else self._shapes[layer.inputs[1]]
            return (*shape[:-1], right[-2 if layer.attributes["right_transpose"] == "true" else -1])
        return shape

    @staticmethod
    def _type(shape: Sequence[int], element: str) -> str:
        return f"tensor<{'x'.join(map(str, shape))}x{element}>"

    def _write_lowered(self) -> None:
        lowering = _Quantised(self) if self.mode == "INT8" else _Float(self)
        for layer in self.layers:
            lowering.add(layer)
        lowering.end(self.layers[-1].name)
        heading: dict[str, str | bool] = {
            "chip": self._chip,
            "mode": self.mode,
            "state": "TPU_LOWERED",
            "asymmetric": False,
            "weight_file": self.weights["tpu_mlir"].name,
        }
        self.texts["tpu_mlir"].write_text(lowering.text.module(heading), "utf-8")
        write_npz(self.weights["tpu_mlir"], lowering.arrays)


_LOWERED = {"Conv": "Conv2D"}


class _Text:
    """Lines of a text; values by the names of their tensors."""

    def __init__(self, shape: Sequence[int]) -> None:
        self._lines: list[str] = []
        self._values: dict[str, str] = {}
        kind = f"tensor<{'x'.join(map(str, shape))}xf32>"
        self._heading = f"  func.func @main(%arg0: {kind}) -> tensor<f32> {{"
        self.op("x", "top.Input", [("%arg0", kind)], {}, kind)
        self._none = ""

    def value(self, name: str) -> str:
        return self._values[name]

    def none(self) -> tuple[str, str]:
        """The value that stands for no operand, and its type."""
        if not self._none:
            self._none = "%none"
            self._lines.append('    %none = "top.None"() : () -> none loc(unknown)')
        return self._none, "none"

    def weight(self, name: str, shape: Sequence[int], element: str) -> str:
        kind = f"tensor<{'x'.join(map(str, shape))}x{element}>"
        self.op(name, "top.Weight", [], None, kind)
        return self._values[name]

    def op(
        self,
        name: str,
        opcode: str,
        operands: Sequence[tuple[str, str]],
        attributes: Mapping[str, str] | None,
        result: str,
    ) -> None:
        value = self._values[name] = f"%{len(self._lines)}"
        given = "" if attributes is None else f" {{{', '.join(f'{k} = {v}' for k, v in attributes.items())}}}"
        values, kinds = ", ".join(v for v, _ in operands), ", ".join(k for _, k in operands)
        self._lines.append(f'    {value} = "{opcode}"({values}){given} : ({kinds}) -> {result} loc("{name}")')

    def module(self, attributes: Mapping[str, str | bool]) -> str:
        given = ", ".join(
            f"module.{key} = {str(value).lower() if isinstance(value, bool) else chr(34) + value + chr(34)}"
            for key, value in attributes.items()
        )
        head = ["#loc = loc(unknown)", f"module @{NET} attributes {{{given}}} {{", self._heading]
        return "\n".join([*head, *self._lines, "    return", "  }", "}", ""])


class _Float:
    """Lowering to a float format."""

    def __init__(self, made: Made) -> None:
        self.text = _Text(made.x.shape)
        self.arrays: dict[str, Array] = {}
        self._made = made
        self._element = made.mode.lower()
        self._kind = TensorType(None, self._element)
        self._names = {"x": "x"}
        if made.mode != "F32":
            self._names["x"] = f"x{made.layers[0].name}_{self._element}"
            self._cast("x", self._names["x"], "f32", self._element)

    def _cast(self, source: str, name: str, before: str, after: str) -> None:
        shape = self._made._shapes[source.split("__")[0]]
        kinds = [self._made._type(shape, element) for element in (before, after)]
        mode = {"round_mode": "#tpu<round_mode HalfAwayFromZero>", "with_scale": "true"}
        self.text.op(name, "tpu.Cast", [(self.text.value(source), kinds[0])], mode, kinds[1])

    def add(self, layer: Layer) -> None:
        made, element = self._made, self._element
        operands = [
            (self.text.value(self._names.get(name, name)), made._type(made._shapes[name], element))
            for name in layer.inputs
        ]
        for index, weight in enumerate(layer.weights):
            kind = "f32" if index else element  # biases stay in f32
            name = f"{layer.name}_w{index}_{kind}"
            stored = TensorType(None, kind).stored(weight).astype(np.float32)
            self.arrays[name] = _packed(stored, kind)
            operands.append((self.text.weight(name, weight.shape, kind), made._type(weight.shape, kind)))
        if layer.opcode == "MatMul" and len(operands) < 3:
            operands.append(self.text.none())
        opcode = f"tpu.{_LOWERED.get(layer.opcode, layer.opcode)}"
        self.text.op(layer.name, opcode, operands, layer.attributes, made._type(made._shapes[layer.name], element))

    def end(self, name: str) -> None:
        if self._made.mode != "F32":
            self._cast(name, f"{name}_f32", self._element, "f32")


def _packed(array: Array, element: str) -> Array:
    if element == "f16":
        return array.astype(np.float16).view(np.uint16)
    return (array.view(np.uint32) >> 16).astype(np.uint16) if element == "bf16" else array


class _Quantised:
    """Symmetric lowering to INT8 by the greatest number of each tensor; the softmax in float."""

    def __init__(self, made: Made) -> None:
        self.text = _Text(made.x.shape)
        self.arrays: dict[str, Array] = {}
        self._made = made
        numbers = read_npz(made.tensors["top_mlir"])
        self._scales = {name: float(np.abs(array).max()) / 127 for name, array in numbers.items()}
        for layer in made.layers:  # no numbers change
            if layer.opcode in ("Relu", "Reshape"):
                self._scales[layer.name] = self._scales[layer.inputs[0]]
        self._names = {"x": f"x{made.layers[0].name}_si8"}
        self._cast("x", self._names["x"], "f32", self._element("x"))
        self._is_float: set[str] = set()

    def _element(self, name: str) -> str:
        return f"!quant.uniform<i8:f32, {self._scales[name]!r}>"

    def _cast(self, source: str, name: str, before: str, after: str) -> None:
        shape = self._made._shapes[source]
        kinds = [self._made._type(shape, element) for element in (before, after)]
        mode = {"round_mode": "#tpu<round_mode HalfAwayFromZero>", "with_scale": "true"}
        self.text.op(name, "tpu.Cast", [(self.text.value(source), kinds[0])], mode, kinds[1])

    def add(self, layer: Layer) -> None:
        made = self._made
        shape = made._shapes[layer.name]
        if layer.opcode == "Softmax":
            name = f"{layer.inputs[0]}{layer.name}_f32"
            self._cast(layer.inputs[0], name, self._element(layer.inputs[0]), "f32")
            operands = [(self.text.value(name), made._type(shape, "f32"))]
            self.text.op(layer.name, "tpu.Softmax", operands, layer.attributes, made._type(shape, "f32"))
            self._is_float.add(layer.name)
            return
        operands = [
            (self.text.value(self._names.get(name, name)), made._type(made._shapes[name], self._element(name)))
            for name in layer.inputs
        ]
        attributes = dict(layer.attributes)
        if layer.opcode == "Conv":
            operands += self._window(layer, attributes)
        elif layer.opcode == "MatMul":
            operands += self._product(layer, attributes)
        elif layer.opcode == "Add":
            factors = [self._scales[name] / self._scales[layer.name] for name in layer.inputs]
            attributes |= {"multipliers": f"{[round(f * 2**7) for f in factors]}", "rshifts": "[7, 7]"}
        opcode = f"tpu.{_LOWERED.get(layer.opcode, layer.opcode)}"
        self.text.op(layer.name, opcode, operands, attributes, made._type(shape, self._element(layer.name)))

    def _window(self, layer: Layer, attributes: dict[str, str]) -> list[tuple[str, str]]:
        weight, bias = layer.weights
        steps = np.abs(weight.reshape(weight.shape[0], -1)).max(axis=1) / 127
        words = np.rint(weight / steps.reshape(-1, 1, 1, 1))
        into, out = self._scales[layer.inputs[0]], self._scales[layer.name]
        factors = np.rint(steps * into / out * 2.0**_SHIFT).astype(int)
        attributes |= {
            "kernel_zp": "0 : i64",
            "multiplier": str(factors.tolist()),
            "quant_mode": "#tpu<rq_mode MultiplierShift>",
            "rshift": str([_SHIFT] * len(factors)),
        }
        return self._stored(layer, words, np.rint(bias / (steps * into)))

    def _product(self, layer: Layer, attributes: dict[str, str]) -> list[tuple[str, str]]:
        weight, bias = layer.weights
        step = float(np.abs(weight).max()) / 127
        into, out = self._scales[layer.inputs[0]], self._scales[layer.name]
        factor = round(step * into / out * 2.0**_SHIFT)
        attributes |= {
            "multipliers": f"[{factor}]",
            "quant_mode": "#tpu<rq_mode MultiplierShift>",
            "rshifts": f"[{_SHIFT}]",
        }
        return self._stored(layer, np.rint(weight / step), np.rint(bias / (step * into)))

    def _stored(self, layer: Layer, words: Array, bias: Array) -> list[tuple[str, str]]:
        names = [f"{layer.name}_filter_i8", f"{layer.name}_bias_i32"]
        self.arrays |= {names[0]: words.astype(np.int8), names[1]: bias.astype(np.int32)}
        shapes = (words.shape, bias.shape)
        return [
            (self.text.weight(name, shape, element), self._made._type(shape, element))
            for name, shape, element in zip(names, shapes, ("i8", "i32"), strict=True)
        ]

    def end(self, name: str) -> None:
        if name not in self._is_float:
            self._cast(name, f"{name}_f32", self._element(name), "f32")
