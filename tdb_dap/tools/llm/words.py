"""Texts and the numbers of their tokens, as the tokenizer next to a model has them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from tdb_dap.engine.files import limits
from tdb_dap.engine.files.bounded_files import read_file
from tdb_dap.errors import BadInput, TdbError
from tdb_dap.system.worker_process import WorkerProcess

_LONGEST = 1 << 20
"""Characters of a conversation."""
_MOST_MEMORY = 1 << 30
_PATIENCE = 10.0
"""Seconds that a chat template may take."""

_PLACES = ("tokenizer.json", "config/tokenizer.json")


class Words(Protocol):
    """A tokenizer."""

    def ids(self, text: str) -> list[int]:
        """Numbers of the tokens of a text."""
        ...

    def text(self, ids: Sequence[int]) -> str:
        """Text of tokens."""
        ...


class _Tokenizer:
    """tokenizer.json, read by the package ``tokenizers``."""

    def __init__(self, made: Any) -> None:
        self._made = made

    def ids(self, text: str) -> list[int]:
        encoded: list[int] = self._made.encode(text).ids
        return encoded

    def text(self, ids: Sequence[int]) -> str:
        decoded: str = self._made.decode(list(ids), skip_special_tokens=False)
        return decoded


def prompt_ids(prompt: str | Sequence[int], folder: Path, chat: bool = False, has_picture: bool = False) -> list[int]:
    """Numbers of the tokens of a prompt, by the tokenizer in ``folder`` if it is a text; BadInput without one.

    ``chat``: the text is what a user says; the model's own template writes the conversation around it; ``has_picture``:
    and a picture before it.
    """
    if not isinstance(prompt, str):
        if chat:
            raise BadInput("a chat begins with a text, not with numbers of tokens; give --prompt, or leave --chat out")
        return list(prompt)
    if chat:
        prompt = _conversation(prompt, folder, has_picture)
    words = find_tokenizer([folder])
    if words is None:
        raise BadInput(
            f"{folder}: no tokenizer.json is in it or in config; copy it there from the model, or give the prompt as "
            "numbers of tokens"
        )
    return words.ids(prompt)


def _conversation(prompt: str, folder: Path, has_picture: bool) -> str:
    """The text of a conversation, by the template of the tokenizer (Jinja, as Transformers writes it):

    https://huggingface.co/docs/transformers/chat_templating.
    """
    template, words = _template(folder)
    if find_spec("jinja2") is None:
        raise BadInput(f"{folder}: the package jinja2 reads its chat template: pip install jinja2")
    content = [{"type": "image"}, {"type": "text", "text": prompt}] if has_picture else prompt
    with WorkerProcess(_rendered, template, content, words) as worker:
        if not worker.wait(_PATIENCE):
            raise BadInput(f"{folder}: its chat template takes more than {_PATIENCE:.0f} seconds; leave --chat out")
        try:
            made = worker.result()
        except TdbError as error:
            raise BadInput(f"{folder}: its chat template cannot be used: {error}; leave --chat out") from None
    if not made.strip():
        raise BadInput(f"{folder}: its chat template makes an empty text; leave --chat out")
    return made


def _rendered(template: str, content: str | list[dict[str, str]], words: Mapping[str, str]) -> str:
    """The text that a template makes; TdbError for one that is wrong, or that makes too much.

    In a process of its own: a template of a line can ask for any amount of memory and time. Where the system has no
    limit for the memory of a process, only its time is bounded.
    """
    from jinja2.exceptions import TemplateError
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    with suppress(ImportError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    messages = [{"role": "user", "content": content}]
    try:
        made: str = environment.from_string(template).render(messages=messages, add_generation_prompt=True, **words)
    except MemoryError:
        raise TdbError(f"it asks for more than {limits.readable(_MOST_MEMORY)} of memory") from None
    except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError, RecursionError) as error:
        raise TdbError(str(error)) from None
    if len(made) > _LONGEST:
        raise TdbError(f"it makes {len(made):,} characters; {_LONGEST:,} are read")
    return made


def _template(folder: Path) -> tuple[str, dict[str, str]]:
    """The chat template of a tokenizer, and the special words that it may name."""
    for place in (folder, folder / "config"):
        path = place / "tokenizer_config.json"
        try:
            configuration: Any = json.loads(read_file(path, limits.REPORT)) if path.is_file() else {}
            words = {name: _word(configuration[name]) for name in ("bos_token", "eos_token") if configuration.get(name)}
            template_file = place / "chat_template.jinja"
            template = (
                read_file(template_file, limits.REPORT).decode()
                if template_file.is_file()
                else configuration.get("chat_template")
            )
        except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
            raise BadInput(f"{path}: cannot be used: {error}") from None
        if isinstance(template, str):
            return template, words
    raise BadInput(
        f"{folder}: no chat template is in it or in config (tokenizer_config.json, chat_template.jinja); copy it there "
        "from the model, or leave --chat out"
    )


def _word(given: Any) -> str:
    """A special token, written as a text or with what else is known of it."""
    return str(given["content"]) if isinstance(given, dict) else str(given)


def find_tokenizer(folders: Sequence[Path]) -> Words | None:
    """The tokenizer in the first folder that has one; None if none has. BadInput where it cannot be used."""
    places = [folder / place for folder in folders for place in _PLACES]
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        return None
    try:
        import tokenizers
    except ImportError:
        raise BadInput(
            f"{path}: the package tokenizers reads it: pip install tokenizers, or give the prompt with --ids"
        ) from None
    try:
        return _Tokenizer(tokenizers.Tokenizer.from_file(str(path)))
    except Exception as error:  # the package raises no class of its own
        raise BadInput(f"{path}: cannot be used: {error}") from None
