"""Nets of one bmodel in an order of one's own: a file of steps, and everything that can be wrong with one."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tdb_dap.errors import BadInput
from tdb_dap.tools.llm.opening import open_model, open_pipeline
from tdb_dap.tools.llm.pipeline_file import read_pipeline
from tests.command_line import tdb_dap
from tests.dap_client import DapClient
from tests.limits import address_space
from tests.llm.models import PROMPT, QWEN, program

ANSWER = """
- fill: embedding.input_ids
  value: [5, 17, 30, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
- launch: embedding
  token: 0
- for: layer
  until: 2
  steps:
    - for: first                      # what the first block is given differs from the others
      from: "{layer}"
      until: 1
      steps:
        - copy: embedding.embedding
          to: block_0.input_states
    - fill: block_{layer}.position_ids
      value: [0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    - fill: block_{layer}.attention_mask
      value: masks.npz:prefill
    - launch: block_{layer}
      token: 0
    - copy: block_{layer}.k_cache
      to: block_cache_{layer}.history_k[0:{16 * 32}]
    - copy: block_{layer}.v_cache
      to: block_cache_{layer}.history_v[0:{16 * 32}]
    - for: last
      from: "{layer}"
      until: 1
      steps:
        - copy: block_0.output_states
          to: block_1.input_states
- copy: block_1.output_states[{2 * 64}:{3 * 64}]
  to: lm_head.hidden_states
- launch: lm_head
  token: 0
"""


def names_of_tensors() -> dict[str, str]:
    """Names of the inputs and outputs in the file -> those of the model."""
    model, _ = program(QWEN, 1)
    given = {f"block_{layer}.output_states": model.output(f"block_{layer}", 0).name for layer in (0, 1)}
    return {**given, "embedding.embedding": model.output("embedding", 0).name}


@pytest.fixture
def pipeline(tmp_path: Path) -> Path:
    """The prefill of the small model, step by step, as a file."""
    text = ANSWER
    for name, own in names_of_tensors().items():
        text = text.replace(name, f"{name.partition('.')[0]}.{own}")
    path = tmp_path / "prefill.yaml"
    path.write_text(text)
    seen = np.tril(np.ones((16, 16), bool))
    seen[3:] = False
    np.savez(tmp_path / "masks.npz", prefill=np.where(seen, 0, -10000).astype(np.float32))
    return path


def test_it_runs_as_the_order_that_is_known_without_a_file(pipeline: Path) -> None:
    model, _ = program(QWEN, 1)
    own, known = open_pipeline(QWEN, pipeline), open_model(model, PROMPT, 1)
    own.run()
    known.run()
    assert [launch.net for launch in own.program.launches] == [launch.net for launch in known.program.launches]
    for one, other in zip(own.outputs(raw=True).items(), known.outputs(raw=True).items(), strict=True):
        assert (one[0], one[1].tolist()) == (other[0], other[1].tolist())


def test_everything_takes_it(pipeline: Path, client: DapClient) -> None:
    done = tdb_dap("sanitize", QWEN, "--pipeline", pipeline)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 errors" in done.stdout
    shown = tdb_dap("debug", QWEN, "--pipeline", pipeline, "-c", "b net:block_1", "-c", "c", "-c", "bt")
    assert "block_1 at small_qwen2.tdbasm" in shown.stdout
    client.launch(QWEN, pipeline=str(pipeline))
    stop = client.expect_stopped("entry")
    assert [frame.name for frame in stop.frames][-4:] == ["embedding", "token 0", "main", "layer embedding"]
    client.disconnect()


NOTHING = {"for": "k", "until": 0, "steps": []}


@pytest.mark.parametrize("part", ["{value: *i}", "[*i]"])
def test_aliases_do_not_make_more_of_a_file_than_it_holds(tmp_path: Path, part: str) -> None:
    """Nine lists of ten times the one before are a billion numbers in 200 bytes."""
    names = "abcdefghi"
    lists = [f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]" for before, name in pairwise(names)]
    path = tmp_path / "steps.yaml"
    path.write_text("\n".join([f"a: &a [{', '.join('1' * 10)}]", *lists, f"steps: {part}"]))
    with address_space(), pytest.raises(BadInput, match=r"aliases \(\*name\) repeat more than it holds"):
        open_pipeline(QWEN, path)
    path.write_text("a: &a [*a]")
    with pytest.raises(BadInput, match="an alias stands inside of what it repeats"):
        open_pipeline(QWEN, path)
    path.write_text("a: &a [1, 2]\nb: [*a, *a]")
    with pytest.raises(BadInput, match="is no list of steps"):
        open_pipeline(QWEN, path)


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        ("", "is no list of steps"),
        ({"fill": "a.b"}, "is no list of steps"),
        ([], "is no list of steps"),
        ([7], "step 1 is none of fill, copy, largest, launch, for"),
        ([{"fill": "a.b", "copy": "c.d"}], "step 1 is none of"),
        ([{"launch": "lm_head", "times": 3}], "step 1 launch has no times; it has token"),
        ([{"copy": "a.b"}], "step 1 copy lacks to"),
        ([{"fill": "a.b", "value": "seven"}], "is no whole number"),
        ([{"fill": "a.b", "value": {"x": 1}}], "is no number, no list of them and no FILE.npz:NAME"),
        ([{"fill": "a.b", "value": [[1], [2, 3]]}], "is no number, no list of them"),
        ([{"fill": "a.b", "value": "nowhere.npz:x"}], "nowhere.npz"),
        ([{"copy": "a", "to": "b"}], "'a' is no tensor; write net.tensor, or net.tensor[first:stop]"),
        ([{"copy": "a.b[3:3]", "to": "b.c"}], "has no elements"),
        ([{"copy": 7, "to": "b.c"}], "'7' is no name"),
        ([{"launch": "a b"}], "'a b' is no net"),
        ([{"launch": "lm_head", "token": "x"}], "is no whole number"),
        ([{"launch": "lm_head", "token": True}], "is no name"),
        ([{"for": "i", "until": 2}], "for lacks steps"),
        ([{"for": "1", "until": 2, "steps": []}], "is no name for a loop"),
        ([{"for": "i", "until": 10**9, "steps": [{"launch": "lm_head"}]}], "at most 100,000"),
        ([{"for": "i", "until": 2, "steps": [{"launch": "b_{j}"}]}], "step 1.1 {j} cannot be computed"),
        ([{"launch": "b_{9 ** 9 ** 9}"}], "cannot be computed; it is arithmetic"),
        ([{"launch": "b_{1 // 0}"}], "cannot be computed"),
        ([{"launch": "b_{__import__('os')}"}], "cannot be computed"),
        ([{"fill": "lm_head.hidden_states", "value": 0}], "launches no net; add a step such as 'launch: encoder'"),
        ([{"for": "i", "until": 400, "steps": [{"for": "j", "until": 400, "steps": [{"launch": "a"}]}]}], "more than"),
        (
            [{"for": "i", "until": 9**5, "steps": [{"for": "j", "until": 9**5, "steps": [NOTHING]}]}],
            "all loops together run more than 400,000 times",
        ),
        ([{"launch": "decoder"}], "there is no net decoder"),
        ([{"launch": "lm_head:3"}], "there is no net lm_head with a stage 3"),
        ([{"launch": "lm_head"}, {"copy": "lm_head.x", "to": "lm_head.y"}], "net lm_head has no input or output x"),
        ([{"fill": "lm_head.hidden_states[0:900]", "value": 0}, {"launch": "lm_head"}], "has 64 elements"),
    ],
)
def test_what_is_wrong_is_said_with_its_step(tmp_path: Path, steps: Any, says: str) -> None:
    path = tmp_path / "steps.json"
    path.write_text(json.dumps(steps))
    with pytest.raises(BadInput) as refused:
        open_pipeline(QWEN, path)
    assert says in str(refused.value)
    assert str(path) in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "text", ["- launch: [", "\x00", "a: &a [*a]", "- {fill: a.b, value: !!python/object:os.system x}"]
)
def test_a_file_that_is_no_yaml(tmp_path: Path, text: str) -> None:
    path = tmp_path / "steps.yaml"
    path.write_text(text)
    with pytest.raises(BadInput, match=r"steps\.yaml"):
        read_pipeline(path)


def test_it_does_not_go_with_settings_of_single_nets(pipeline: Path, client: DapClient) -> None:
    done = tdb_dap("debug", QWEN, "--pipeline", pipeline, "--ids", "5")
    assert done.returncode == 2
    assert "not allowed with argument" in done.stderr
    text = client.failed_launch(program=str(QWEN), pipeline=str(pipeline), net="lm_head", reference="x.npz")
    assert text == "reference, net: not with pipeline; leave them out"
