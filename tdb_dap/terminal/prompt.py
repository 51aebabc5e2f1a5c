"""The line that is typed: history, completion from the adapter, and where we are below it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, History, InMemoryHistory

from tdb_dap.system.user_directories import state_directory
from tdb_dap.terminal.console import Console

PROMPT = "(tdb) "


class _Names(Completer):
    def __init__(self, console: Console) -> None:
        self._console = console

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        text = document.text_before_cursor
        for item in self._console.complete(text):
            start = item.get("start", len(text))
            yield Completion(item.get("text") or item["label"], start - len(text), display_meta=item.get("detail", ""))


def history_file() -> Path:
    """File of the lines typed."""
    return state_directory() / "history"


def _history() -> History:
    path = history_file()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(path))


def talk(console: Console) -> None:
    """Ask for lines until the session is over; an empty line does the last one again."""
    session: PromptSession[str] = PromptSession(
        PROMPT,
        history=_history(),
        auto_suggest=AutoSuggestFromHistory(),
        completer=_Names(console),
        complete_while_typing=False,
        bottom_toolbar=lambda: f" {console.place}   Tab completes, help lists the verbs, q quits",
    )
    last = ""
    while not console.over:
        try:
            text = session.prompt().strip() or last
        except KeyboardInterrupt:
            continue
        except EOFError:
            break
        if text:
            console.do(text)
        last = text
