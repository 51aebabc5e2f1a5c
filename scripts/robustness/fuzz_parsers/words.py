"""Targets: what people type, or put into a launch configuration."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import cache

from scripts.robustness.fuzz_parsers.target import lines, target
from tdb_dap.adapter.session.launch_configuration import AttachArguments, LaunchArguments
from tdb_dap.engine.control.breakpoint_specs import resolve
from tdb_dap.engine.control.debugger import Debugger
from tdb_dap.engine.control.logpoints import message, require_message
from tdb_dap.engine.expressions.evaluator import evaluate, evaluate_place
from tdb_dap.engine.hardware.addresses import parse_address
from tdb_dap.engine.reference.reference import Tolerance
from tdb_dap.errors import TdbError
from tdb_dap.tools.opening import open_debugger
from tests.samples import SAMPLE

EXPRESSIONS = (
    *(
        "in[0][0,3]",
        "max(abs(in[0] - ref[0]))",
        "%16",
        "R0:f32[1,64]",
        "G0x1000:i8[4]",
        'loc("r1_Relu")',
        "argwhere(out[0] > 1)",
    ),
    *(
        "[x for x in y]",
        "().__class__",
        "9**9**9",
        "sum(" * 30,
        "mean(in[0], axis=1)",
        "in[0][..., None, ::2]",
        "ref(%16)",
    ),
)
BREAKPOINTS = (
    *(
        "tpu.Pool2D",
        "final.mlir:12",
        "mlir:12",
        "asm:30",
        "B12",
        "D3@core1",
        "R0",
        "G4096",
        "%16",
        "core 0",
        "subnet 1",
    ),
    *(
        "data:R0x40+4:write",
        "data:G0x1000+64*8/0x400@core0",
        "r1_*",
        "loc r1_Relu",
        "watch in[0][0,3] : change",
        "sCONV",
        "*",
        "[a-z]*",
        "W R0:f32[4]",
    ),
)


@cache
def debugger() -> Debugger:
    """The sample in the middle of its run."""
    found = open_debugger(SAMPLE, SAMPLE / "input.npz", SAMPLE / "ref.npz")
    found.travel(len(found.program.commands) // 2)
    return found


def encoded(texts: Iterable[str]) -> Iterable[bytes]:
    return [text.encode() for text in texts]


@target(
    "expression",
    lambda: encoded(EXPRESSIONS),
    words=("in[0]", "out[0]", "ref[0]", "max(", "R0:f32[", "%16", ":", "**", "<<", "lambda", "f'{'"),
    longest=600,
)
def expression(data: bytes) -> None:
    """Watches, hovers, conditions; read and written."""
    scope = debugger().scope(level="command")
    for text in lines(data)[:4]:
        try:
            _ = evaluate(text, scope).array
        finally:
            with suppress(TdbError):
                evaluate_place(text, scope)


@target(
    "breakpoint",
    lambda: encoded(BREAKPOINTS),
    words=("final.mlir:", "asm:", "core ", "subnet ", "tpu.", "watch ", "loc ", " if ", "*", "["),
    longest=600,
)
def breakpoint(data: bytes) -> None:
    """Breakpoint forms, conditions and hit counts."""
    text, condition, hits = (*lines(data), "", "")[:3]
    place = resolve(debugger().program, text)
    assert "\n" not in place.message
    added = debugger().breakpoints.add(text, condition=condition or None, hit=hits or None)
    debugger().breakpoints.remove(added)


@target(
    "address",
    lambda: encoded(("R4.64", "R16384", "G0x1000", "%R3.L5", "L0", "S64")),
    words=("0x", ".L", "R", "G"),
    longest=200,
)
def address(data: bytes) -> None:
    """Addresses, of memory and of instructions."""
    from tdb_dap.adapter.session.references import parse_instruction_reference

    text = data.decode("utf-8", "replace")
    try:
        parse_instruction_reference(text)
    except TdbError as error:
        assert str(error)
    parse_address(text, debugger().program.target.geometry)


@target(
    "log message",
    lambda: encoded(("max {max(in[0]):.3f} at {ordinal}", "{in[0]:08b}", "{R0:f32[4]:>10}", "{{x}}")),
    words=("{", "}", ":", ".3f", "in[0]"),
    longest=600,
)
def log_message(data: bytes) -> None:
    """Messages of log points."""
    text = data.decode("utf-8", "replace")
    require_message(text)
    message(text, debugger().scope(level="command"))


CONFIGURATIONS = (
    '{"program": "x", "tolerance": {"cosine": 0.9, "ulp": 1}, "sanitizers": ["all", "saturate: 5%"], "except": ["a*"]}',
    '{"program": "x", "inputs": "i.npz", "reference": ["a", "b"], "stage": 0, "historyLimit": 5, "commands": ["p 1"]}',
)


@target(
    "configuration",
    lambda: encoded(CONFIGURATIONS),
    words=tuple(f'"{name}"' for name in LaunchArguments.model_fields),
    longest=2000,
)
def configuration(data: bytes) -> None:
    """Launch and attach configurations."""
    import json

    from pydantic import ValidationError

    from tdb_dap.adapter.session.launch_configuration import _problems
    from tdb_dap.engine.sanitizers import chosen

    try:
        given = json.loads(data)
    except (ValueError, RecursionError):
        return
    for model in (LaunchArguments, AttachArguments):
        try:
            found = model.model_validate(given)
        except ValidationError as error:
            assert "\n" not in _problems(error)
            continue
        if found.tolerance:
            limits = found.tolerance
            Tolerance(
                **{
                    n: v
                    for n, v in (("cosine", limits.cosine), ("max_abs", limits.maxAbs), ("ulp", limits.ulp))
                    if v is not None
                }
            )
        chosen(found.sanitizers)
