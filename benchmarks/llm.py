"""A language model of 12 blocks of 896 in W4BF16 with 50,000 tokens: processor time of a prefill and of a token.

    python benchmarks/llm.py write FOLDER [--blocks N] [--hidden N] [--vocabulary N]     # random weights, Qwen2
    llm_convert.py -m FOLDER -s 512 -q w4bf16 -c bm1684x --max_input_length 128 --debug -o MODEL    # the vendor's
    python benchmarks/llm.py measure MODEL [--old DIR] [--native PYTHON] [--tokens N] [--rounds N] [--json FILE]

``--old``: a clone of this project at another commit, with its kernel built in place. Each round runs both, one after
the other, in processes of their own; the least processor time of each counts, as does its wall time. ``--native``: a
Python with torch and transformers, which computes a Qwen2 of the same size (12 blocks of 896 and so on) in float32.
  open     until the first command, without the start of Python
  prefill  the first token, from a prompt of ``--prompt`` tokens
  token    each later token, the mean without the first of them, in which plans are made
  memory   the most that is resident, and as a multiple of the bmodel
The tokens and hashes of the last logits' states must be equal. ``roofline``: bytes of weights that a token reads, by
the bandwidth of this machine's memory (a copy of 256 MB, both directions).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parents[1]

RUN = """
import hashlib, json, resource, sys, time
sys.path[:] = [place for place in sys.path if place]
from pathlib import Path
from tdb_dap.tools.llm.language_model import read_model
from tdb_dap.tools.llm.opening import open_model
from tdb_dap.tools.llm.running import Answering
folder, prompt, tokens = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
start, wall = time.process_time(), time.perf_counter()
model = read_model(folder)
ids = [7 * n % 997 + 1 for n in range(prompt)]
debugger = open_model(model, ids, tokens, (), 0)
found = {"open": time.process_time() - start, "cpu": [], "wall": [], "ids": []}
answering = iter(Answering(debugger, model, ids, gives_back=True).tokens())
while True:
    start, wall = time.process_time(), time.perf_counter()
    token = next(answering, None)
    if token is None:
        break
    found["cpu"].append(time.process_time() - start)
    found["wall"].append(time.perf_counter() - wall)
    found["ids"].append(token.id)
last = debugger.program.launches[-1]
view = debugger.program.borders_of(last)[0][0].view
found["states"] = hashlib.sha256(debugger.machine.memory.read(view).tobytes()).hexdigest()
found["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
found["bmodel"] = model.context.bmodel.stat().st_size
found["weights"] = sum({s.weights.start: s.weights.size for n, s in model.nets.items()
                        if n.startswith("block_cache_") or n == "lm_head"}.values())
print(json.dumps(found))
"""

NATIVE = """
import json, sys, time
import torch
from transformers import Qwen2Config, Qwen2ForCausalLM
torch.set_num_threads(2)
blocks, hidden, vocabulary, prompt, tokens = map(int, sys.argv[1:])
heads = hidden // 64
shape = Qwen2Config(num_hidden_layers=blocks, hidden_size=hidden, intermediate_size=4864 * hidden // 896,
                    num_attention_heads=heads, num_key_value_heads=max(1, heads // 7), vocab_size=vocabulary,
                    tie_word_embeddings=True)
model = Qwen2ForCausalLM(shape).eval()
cpu, wall, cache, given = [], [], None, torch.tensor([[7 * n % 997 + 1 for n in range(prompt)]])
with torch.no_grad():
    for _ in range(tokens):
        start, begun = time.process_time(), time.perf_counter()
        answer = model(given, past_key_values=cache, use_cache=True)
        cache, given = answer.past_key_values, answer.logits[:, -1:].argmax(-1)
        cpu.append(time.process_time() - start)
        wall.append(time.perf_counter() - begun)
print(json.dumps({"cpu": cpu, "wall": wall}))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    write = verbs.add_parser("write")
    write.add_argument("folder", type=Path)
    write.add_argument("--blocks", type=int, default=12)
    write.add_argument("--hidden", type=int, default=896)
    write.add_argument("--vocabulary", type=int, default=50000)
    write.set_defaults(run=write_model)
    measure = verbs.add_parser("measure")
    measure.add_argument("model", type=Path)
    measure.add_argument("--old", type=Path)
    measure.add_argument("--native", type=Path)
    measure.add_argument("--blocks", type=int, default=12)
    measure.add_argument("--hidden", type=int, default=896)
    measure.add_argument("--vocabulary", type=int, default=50000)
    measure.add_argument("--tokens", type=int, default=6)
    measure.add_argument("--prompt", type=int, default=128)
    measure.add_argument("--rounds", type=int, default=3)
    measure.add_argument("--json", type=Path)
    measure.set_defaults(run=measure_model)
    arguments = parser.parse_args()
    arguments.run(arguments)


def write_model(arguments: argparse.Namespace) -> None:
    """config.json and model.safetensors of a Qwen2 with random weights and tied embeddings."""
    hidden, middle, heads = arguments.hidden, 4864 * arguments.hidden // 896, arguments.hidden // 64
    shared = max(1, heads // 7)
    config = {
        "model_type": "qwen2",
        "num_hidden_layers": arguments.blocks,
        "hidden_size": hidden,
        "intermediate_size": middle,
        "num_attention_heads": heads,
        "num_key_value_heads": shared,
        "vocab_size": arguments.vocabulary,
        "rms_norm_eps": 1e-6,
        "rope_theta": 1000000.0,
        "max_position_embeddings": 32768,
        "hidden_act": "silu",
        "tie_word_embeddings": True,
        "torch_dtype": "bfloat16",
    }
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (arguments.vocabulary, hidden)}
    for layer in range(arguments.blocks):
        own = {
            "self_attn.q_proj": hidden,
            "self_attn.k_proj": shared * 64,
            "self_attn.v_proj": shared * 64,
        }
        for name, rows in own.items():
            shapes[f"model.layers.{layer}.{name}.weight"] = (rows, hidden)
            shapes[f"model.layers.{layer}.{name}.bias"] = (rows,)
        shapes[f"model.layers.{layer}.self_attn.o_proj.weight"] = (hidden, hidden)
        for name in ("mlp.gate_proj", "mlp.up_proj"):
            shapes[f"model.layers.{layer}.{name}.weight"] = (middle, hidden)
        shapes[f"model.layers.{layer}.mlp.down_proj.weight"] = (hidden, middle)
        for name in ("input_layernorm", "post_attention_layernorm"):
            shapes[f"model.layers.{layer}.{name}.weight"] = (hidden,)
    shapes["model.norm.weight"] = (hidden,)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    (arguments.folder / "config.json").write_text(json.dumps(config, indent=1))
    header: dict[str, Any] = {}
    offset = 0
    for name, shape in shapes.items():
        size = 4 * int(np.prod(shape))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    random = np.random.default_rng(8)
    with (arguments.folder / "model.safetensors").open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name, shape in shapes.items():
            numbers = random.standard_normal(shape, np.float32)
            numbers = 1 + 0.1 * numbers if "norm" in name else numbers / np.float32(shape[-1] ** 0.5)
            file.write(numbers.astype("<f4").tobytes())


def measure_model(arguments: argparse.Namespace) -> None:
    """Print the table, and write it as JSON."""
    places = {"new": HERE, **({"old": arguments.old.resolve()} if arguments.old is not None else {})}
    rounds: dict[str, list[dict[str, Any]]] = {name: [] for name in places}
    native: list[dict[str, Any]] = []
    size = arguments.blocks, arguments.hidden, arguments.vocabulary, arguments.prompt, arguments.tokens
    for _ in range(arguments.rounds):
        for name, place in places.items():
            command = [sys.executable, "-c", RUN, arguments.model, arguments.prompt, arguments.tokens]
            environment = {**os.environ, "PYTHONPATH": str(place)}
            done = subprocess.run(
                [str(word) for word in command], env=environment, cwd="/", check=True, stdout=subprocess.PIPE
            )
            rounds[name].append(json.loads(done.stdout))
        if arguments.native is not None:
            command = [str(arguments.native), "-c", NATIVE, *map(str, size)]
            native.append(json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout))
    results = {name: _summary(of) for name, of in rounds.items()}
    for name, result in results.items():
        print(f"{name}: {json.dumps(result)}")
    if "old" in results:
        if (
            rounds["old"][0]["ids"] != rounds["new"][0]["ids"]
            or rounds["old"][0]["states"] != rounds["new"][0]["states"]
        ):
            raise SystemExit("the tokens or states differ")
        for key in ("prefill", "token"):
            print(f"{key}: {results['old'][key] / results['new'][key]:.2f} times as fast in processor time")
    if native:
        prefill = min(one["cpu"][0] for one in native)
        token = min(float(np.mean(one["cpu"][2:])) for one in native)
        print(f"native: {prefill:.2f} s for the prefill, {token:.3f} s for a token, of processor")
        print(
            f"of native: {results['new']['prefill'] / prefill:.1f}, {results['new']['token'] / token:.1f} times as long"
        )
    weights = rounds["new"][0]["weights"]
    seconds = weights / _bandwidth()
    print(f"roofline: {weights / 1e6:.0f} MB of weights a token, {seconds * 1e3:.0f} ms at this machine's bandwidth")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(results, indent=1))


def _summary(rounds: list[dict[str, Any]]) -> dict[str, float]:
    return {
        "open": round(min(one["open"] for one in rounds), 3),
        "prefill": round(min(one["cpu"][0] for one in rounds), 3),
        "prefill wall": round(min(one["wall"][0] for one in rounds), 3),
        "first token": round(min(one["cpu"][1] for one in rounds), 3),
        "token": round(min(float(np.mean(one["cpu"][2:])) for one in rounds), 3),
        "token wall": round(min(float(np.mean(one["wall"][2:])) for one in rounds), 3),
        "memory": max(one["memory"] for one in rounds),
        "of bmodel": round(max(one["memory"] / one["bmodel"] for one in rounds), 2),
    }


def _bandwidth() -> float:
    """Bytes per second of a copy, read and written."""
    source = np.ones(1 << 28, np.uint8)
    target = np.empty_like(source)
    best = float("inf")
    for _ in range(4):
        start = time.perf_counter()
        np.copyto(target, source)
        best = min(best, time.perf_counter() - start)
    return 2 * source.nbytes / best


if __name__ == "__main__":
    main()
