"""The words that the compiler's notes may have handed on to its programs.

The notes are anybody's, and ``model_deploy`` runs its own steps in a shell: a value that quotes well here is a command
there. So an option counts only if it is one of these, with a value of its kind; nothing else is handed on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from tdb_dap.errors import BadInput

_WORD = re.compile(r"[A-Za-z0-9_]+(?:[.,:-][A-Za-z0-9_]+)*")
_NUMBER = re.compile(r"-?[0-9]{1,9}")
_NUMBERS = re.compile(r"-?[0-9.]{1,20}(?:,-?[0-9.]{1,20}){0,3}")
_FILE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,200}")
_PARAMETERS = re.compile(r"[A-Za-z0-9_]+=[A-Za-z0-9_.,:-]*(?: +[A-Za-z0-9_]+=[A-Za-z0-9_.,:-]*)* *")

FLAGS = frozenset(
    f"--{name}"
    for name in (
        "aligned_input",
        "asymmetric",
        "compare_all",
        "debug",
        "disable_affine",
        "disable_gdma_check",
        "disable_layer_group",
        "disable_structure_detect_opt",
        "disable_topo_sort",
        "do_winograd",
        "dynamic",
        "enable_maskrcnn",
        "fuse_preprocess",
        "high_precision",
        "ignore_f16_overflow",
        "io_alone",
        "matmul_perchannel",
        "merge_weight",
        "op_divide",
        "opt_post_processor",
        "q_symmetric",
        "quant_input_int8",
        "quant_output_bf16",
        "quant_output_int8",
        "weight_deduplicate",
    )
)
"""Options of ``model_deploy`` without a value."""
VALUES = {
    **dict.fromkeys(
        (
            *("--addr_mode", "--chip", "--compress_mode", "--customization_format", "--excepts", "--gelu_mode"),
            *("--group_by_cores", "--model_version", "--processor", "--quant_input_list", "--quant_output_list"),
            *("--quantize", "--same_addr"),
        ),
        _WORD,
    ),
    **dict.fromkeys(
        (
            *("--lg_debugger", "--log_level", "--num_core", "--num_device", "--opt", "--q_group_size"),
            "--shape_secs_search_strategy",
        ),
        _NUMBER,
    ),
    **dict.fromkeys(("--correctness", "--tolerance"), _NUMBERS),
    "--quantize_table": _FILE,
}
"""Options of ``model_deploy`` with one, and what it looks like."""
PASSES = frozenset(
    f"--{name}"
    for name in (
        "address-assign",
        "affine-opt",
        "after-layergroup-weight-reorder",
        "canonicalize",
        "codegen",
        "core-parallel",
        "deinit",
        "dev-parallel",
        "extra-optimize",
        "fuse-preprocess",
        "init",
        "layer-group",
        "mlir-disable-threading",
        "mlir-print-debuginfo",
        "op-divide",
        "op-reorder",
        "opt-post-processor",
        "processor-assign",
        "processor-top-optimize",
        "processor-tpu-optimize",
        "shape-infer",
        "strip-io-quant",
        "struct-optimize",
        "subnet-divide",
        "topo-sort",
        "weight-deduplicate",
        "weight-fold",
        "weight-reorder",
    )
)
"""Passes of ``tpuc-opt``."""


def deploy_options(words: Sequence[str], own: Mapping[str, str] = MappingProxyType({})) -> Iterator[tuple[str, str]]:
    """The options of a ``model_deploy`` command, each with its value ("" for a flag); BadInput for any other word.

    ``words``: behind the program's name; ``own``: values of options that are given whatever the notes say.
    """
    rest = iter(words)
    for word in rest:
        option, equals, value = word.partition("=")
        if option in own:
            if not equals:
                next(rest, "")
            yield option, own[option]
            continue
        if option in FLAGS and not equals:
            yield option, ""
            continue
        if not equals:
            value = next(rest, "")
        if option not in VALUES or not VALUES[option].fullmatch(value):
            text = " ".join([option, value]).strip()[:80]
            raise BadInput(f"{text!r} in the compiler's notes is no option that may be handed on; it is not executed")
        yield option, value


def pass_words(words: Sequence[str]) -> list[str]:
    """The words of a ``tpuc-opt`` command that are modules of the folder and passes; BadInput for others.

    ``words``: behind the program's name. What it writes is a module, too: never the script that is being executed.
    """
    kept: list[str] = []
    for word in words:
        option, equals, value = word.partition("=")
        is_pass = option in PASSES and (not equals or _PARAMETERS.fullmatch(value))
        is_module = _FILE.fullmatch(word) and word.endswith(".mlir")
        if not (is_pass or is_module or word in ("-o", "/dev/null", "--debug_cmd=")):
            raise BadInput(
                f"{word[:80]!r} in the compiler's notes is no pass that may be handed on; it is not executed"
            )
        if word != "--debug_cmd=":
            kept.append(word)
    return kept
