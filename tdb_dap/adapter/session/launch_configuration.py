"""The launch configuration: what it may contain, and how an error in it reads.

From these models follow the validation, the attributes of the editor's launch.json, and their documentation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import PydanticCustomError

from tdb_dap.engine.rendering.printable import field_path, first_of, quoted
from tdb_dap.errors import BadExpression, BadInput


class Tolerance(BaseModel):
    """Limits within which a tensor counts as equal to the reference."""

    model_config = ConfigDict(defer_build=True, extra="forbid")

    cosine: float | None = Field(None, ge=0, le=1, description="Least cosine similarity.")
    euclidean: float | None = Field(None, ge=0, le=1, description="Least euclidean similarity.")
    maxAbs: float | None = Field(None, ge=0, description="Largest absolute difference of an element.")
    ulp: int | None = Field(None, ge=0, description="Largest difference of an element in units in the last place.")


def _not_empty(text: str) -> str:
    """As ``min_length=1``, which takes no path that is not UTF-8."""
    if not text:
        raise PydanticCustomError("string_too_short", "String should have at least 1 character")
    return text


class Configuration(BaseModel):
    """Settings that launch and attach share."""

    model_config = ConfigDict(defer_build=True, extra="allow", populate_by_name=True)

    program: Annotated[str, AfterValidator(_not_empty)] = Field(
        json_schema_extra={"minLength": 1},
        description="Context directory written by the compiler (compilation.bmodel, final.mlir, "
        "tensor_location.json), a .bmodel or .cvimodel file, or a recording (.tdbrec).",
    )
    inputs: str | None = Field(
        None,
        description="Input data: an .npz file by input name, or raw bytes as the device gets them. Default: "
        "those next to the model (input_ref_data.dat, ..._in_f32.npz, input.npz), else zeros.",
    )
    reference: str | list[str] | None = Field(
        None,
        description="Expected data: one or several .npz files by tensor name, or another context directory, which is "
        "run on the same inputs; with `prompt` the folder of the model before conversion (config.json, .safetensors). "
        "Default: that next to the model (..._tpu_outputs.npz, ref.npz). Turns comparison on.",
    )
    backend: str = Field(
        "numpy",
        description="Backend that executes the commands: numpy (built-in simulator), cmodel (the vendor's library), "
        "lockstep (both, compared), remote:HOST:PORT (served by `tdb-dap backends serve`), or one from an installed "
        "package.",
        examples=["numpy", "cmodel", "lockstep", "remote:127.0.0.1:4712"],
    )
    backendToken: str | None = Field(
        None,
        description="Token of a remote backend. Default: the environment variable TDB_DAP_BACKEND_TOKEN.",
    )
    cmodelPath: str | None = Field(
        None, description="Directory of the vendor's libraries. Default: where `tdb-dap backends` finds them."
    )
    recording: str | None = Field(
        None,
        description="Recorded run of this model (.tdbrec), for its dynamic subnets, or remote:HOST:PORT of a machine "
        "that makes one (`tdb-dap backends serve --record`). Default: where the vendor's runtime is found, the model "
        "is run and recorded at the start.",
    )
    prompt: str | list[int] | None = Field(
        None,
        description="Prompt of a language model that the vendor's converter has compiled into `program`: a text, for "
        "which tokenizer.json has to be next to it, or the numbers of tokens. All nets are then one program.",
    )
    tokens: int = Field(8, ge=1, description="Tokens that the language model answers to `prompt`.")
    chat: bool = Field(
        False, description="Whether the model's own chat template (tokenizer_config.json) is put around `prompt`."
    )
    sample: str | None = Field(
        None,
        description="How tokens are drawn in the answer to `prompt`, of a model converted with --do_sample: "
        "`temperature=0.7,top_k=20,top_p=0.9,penalty=1.1,seed=1`. Default: the likeliest token.",
    )
    lora: str | None = Field(
        None,
        description="Folder of a LoRA adapter (adapter_config.json, adapter_model.safetensors) that is written into "
        "the language model that answers `prompt`; of a model converted with --lora_max_rank.",
    )
    image: str | None = Field(
        None,
        description="Picture that `prompt` shows (.png, .jpg, or .npy of uint8): the prompt has the token of a picture "
        "once. Known are Qwen2-VL, Qwen2.5-VL and Qwen3-VL.",
    )
    embeds: str | None = Field(
        None,
        description="Rows (.npz: rows, at, position_ids) in place of the tokens of `prompt` that stand for pictures.",
    )
    pipeline: str | None = Field(
        None,
        description="File (.yaml, .json) with the order in which the nets of the bmodel run, and the data that flows "
        "between them. All nets are then one program.",
    )
    measured: str | None = Field(
        None,
        description="Folder bmprofile_data-N that the vendor's runtime has left of a run of this model on a board: "
        "profile and timeline show its times with those expected.",
    )
    net: str | None = Field(None, description="Net to debug, if the file has several. Default: the first.")
    stage: int | None = Field(
        None,
        ge=0,
        description="Stage of a net compiled for several input shapes. Default: the one that takes the inputs.",
    )
    stopOnEntry: bool = Field(True, description="Stop before the first command.")
    stopOnDifference: bool = Field(
        True,
        description="Stop where a result differs from the reference, if the client's filter is on; false: only after "
        "the filter is switched on again in the session.",
    )
    stopOnExit: bool = Field(
        True, description="Stop after the last command, where outputs can be inspected; false: end the session there."
    )
    tolerance: Tolerance | None = Field(
        None, description="Limits within which a tensor counts as equal to the reference."
    )
    historyLimit: int | None = Field(
        None, ge=0, description="Memory in bytes for stepping back without replaying. Default: 1 GiB."
    )
    threads: Literal["core", "engine"] = Field(
        "core", description="Show one thread per core. One per engine is not available yet."
    )
    sanitizers: list[str] = Field(
        default_factory=list,
        description="Sanitizers to run during the session: all, bounds, uninitialized, hazard, decode, legal, unused, "
        'nan, inf, denormal, saturate; with a condition after a colon ("saturate: 5%"; "hazard: conv1*" excludes that '
        "location).",
    )
    except_: list[str] = Field(
        default_factory=list, alias="except", description="Names of tensors to exclude from comparison."
    )
    commands: list[str] = Field(default_factory=list, description="Console commands to run after loading.")
    allowPython: bool = Field(False, description="Let the console command `py` evaluate Python.")
    memoryReferences: bool = Field(
        True,
        description="Give variables references with which the editor shows their memory; false: no icon for it. The "
        "extension sets it where no hex editor is installed.",
    )
    token: str | None = Field(
        None,
        description="Token of an adapter that listens on a port: given at its start, or printed by it.",
    )

    @property
    def without_debugging(self) -> bool:
        """Whether the program only runs, and nobody looks at it where it cannot go on."""
        return False


class LaunchArguments(Configuration):
    """A configuration with `"request": "launch"`: the adapter is started for it."""

    noDebug: bool = Field(False, description="Run without breakpoints.")

    @property
    def without_debugging(self) -> bool:
        return self.noDebug


class AttachArguments(Configuration):
    """A configuration with `"request": "attach"`: the adapter listens already (tdb-dap adapter --listen)."""

    host: str = Field("127.0.0.1", description="Host on which the adapter listens.")
    port: int | None = Field(None, ge=1, le=65535, description="Port on which the adapter listens.")


_EDITOR_KEYS = frozenset(
    """type name request preLaunchTask postDebugTask internalConsoleOptions debugServer presentation restart noDebug
    serverReadyAction suppressMultipleSessionWarning console cwd env windows linux osx adapterID order group hidden
    debugAdapter""".split()  # noqa: SIM905
)
"""Keys of a launch configuration that belong to the editor."""


def files_of(configuration: Configuration) -> tuple[object, ...]:
    """Settings that a program is loaded from; if they are equal, nothing is loaded again."""
    of = configuration
    model = (
        of.program,
        of.net,
        of.stage,
        of.inputs,
        of.reference,
        of.recording,
        of.prompt,
        of.tokens,
        of.chat,
        of.sample,
        of.lora,
        of.image,
        of.embeds,
        of.pipeline,
    )
    return *model, of.backend, of.backendToken, of.cmodelPath


Model = TypeVar("Model", bound=Configuration)


def validated(model: type[Model], arguments: Mapping[str, Any], warn: Callable[[str], None]) -> Model:
    """The configuration; BadInput names every field that is wrong. ``warn``: told of keys that have no effect."""
    given = {key: value for key, value in arguments.items() if value is not None}
    try:
        configuration = model.model_validate(given)
    except ValidationError as error:
        raise BadInput(f"launch configuration: {_problems(error)}") from None
    try:
        from tdb_dap.engine.sanitizers import chosen

        chosen(configuration.sanitizers)
    except BadExpression as error:
        raise BadInput(f"launch configuration: sanitizers: {error}") from None
    if configuration.threads != "core":
        raise BadInput('launch configuration: threads: "engine" is not available yet in this version; use "core"')
    from difflib import get_close_matches

    known = [field.alias or name for name, field in model.model_fields.items()]
    for key in configuration.model_extra or {}:
        if key not in _EDITOR_KEYS and not key.startswith("_"):
            near = get_close_matches(key, known, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            warn(f"launch configuration: {quoted(key)} is not known and has no effect{hint}")
    return configuration


def _problems(error: ValidationError) -> str:
    parts: list[str] = []
    for problem in error.errors():
        field = field_path([part for part in problem["loc"] if part not in ("str", "list[str]")])
        text = "is missing" if problem["type"] == "missing" else problem["msg"].lower()
        parts.append(f"{field}: {text}")
    return first_of(parts)
