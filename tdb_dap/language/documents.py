"""The documents that an editor has open, and what it may ask about each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from tdb_dap.language.models import Model, Models
from tdb_dap.language.text_ranges import TextRange, path_of
from tdb_dap.language.tokens import Token
from tdb_dap.language.verdicts import Verdict

if TYPE_CHECKING:
    from tdb_dap.engine.program.program import Program
    from tdb_dap.language.outline import Entry
    from tdb_dap.language.problems import Problem


class Document(ABC):
    """One text. Lines and columns of all questions and answers count from 0.

    ``verdicts``: what a session has reported about its ops, None where none has.
    ``current``: the line, from 1, at which a session stands, None where none does.
    """

    def __init__(self, uri: str, text: str, documents: Documents) -> None:
        self.uri = uri
        self.path = path_of(uri)
        self.text = text
        self.documents = documents
        self.verdicts: tuple[Verdict, ...] | None = None
        self.current: int | None = None
        self._lock = Lock()
        self._model: Model | None = None

    @property
    @abstractmethod
    def lines(self) -> Sequence[str]:
        """The text by lines."""

    @property
    def program(self) -> Program | None:
        """The model whose source this is, read when it is first asked for; None if there is none or it is damaged."""
        return self.model.program

    @property
    def reason(self) -> str:
        """Why there is no model, if there should be one."""
        return self.model.reason

    @property
    def model(self) -> Model:
        """The model, or why there is none."""
        with self._lock:
            if self._model is None:
                self._model = self.find_model() or Model(None)
            return self._model

    @abstractmethod
    def find_model(self) -> Model | None:
        """The model that this text belongs to; None if there is none."""

    @abstractmethod
    def hover(self, line: int, column: int) -> tuple[str, Token] | None:
        """Markdown about what stands at a place, and that token."""

    @abstractmethod
    def definitions(self, line: int, column: int) -> list[TextRange]:
        """Definitions of the token at a position."""

    @abstractmethod
    def references(self, line: int, column: int, with_definition: bool) -> list[TextRange]:
        """Uses of the token at a position."""

    @abstractmethod
    def outline(self) -> list[Entry]:
        """Its parts."""

    @abstractmethod
    def folds(self) -> Iterator[tuple[int, int]]:
        """First and last line of what can be folded."""

    @abstractmethod
    def lenses(self) -> Iterator[tuple[int, str]]:
        """Line, and what stands above it."""

    @abstractmethod
    def hints(self, line: int) -> Iterable[tuple[int, str]]:
        """Column, and what is put there into a line."""

    @abstractmethod
    def tokens(self, line: int) -> list[Token]:
        """The names of a line, for their colours."""

    @abstractmethod
    def problems(self) -> list[Problem]:
        """Problems of the document; takes as long as reading and looking through the whole model takes."""


class Bound(BaseModel):
    """The notification ``tdb/program``: to which model a document belongs that is no file next to one."""

    model_config = ConfigDict(extra="ignore", frozen=True, from_attributes=True)

    uri: str
    program: str


class Documents:
    """By URI; what is known of a text is kept until it changes. ``locale``: of the editor, such as ``zh-cn``."""

    def __init__(self, make: Callable[[str, str, Documents], Document]) -> None:
        """``make``: the document of a URI and its text."""
        self.models = Models()
        self.locale = ""
        self._make = make
        self._open: dict[str, Document] = {}
        self._bound: dict[str, Path] = {}

    def put(self, uri: str, text: str) -> Document:
        """The editor has opened or changed a document."""
        document = self._make(uri, text, self)
        before = self._open.get(uri)
        if before is not None:
            document.verdicts, document.current = before.verdicts, before.current
        self._open[uri] = document
        return document

    def bind(self, uri: str, context: Path) -> None:
        """A document that is about to be opened, and is no file, belongs to this model."""
        self._bound[uri] = context

    def bound(self, uri: str) -> Path | None:
        """The model that the editor has named for a document."""
        return self._bound.get(uri)

    def close(self, uri: str) -> None:
        """The editor has closed it."""
        closed = self._open.pop(uri, None)
        self._bound.pop(uri, None)
        if closed is not None and not any(other.path.parent == closed.path.parent for other in self._open.values()):
            self.models.forget(closed.path.parent)

    def get(self, uri: str) -> Document | None:
        """An open document."""
        return self._open.get(uri)

    def reread(self, directory: Path) -> list[Document]:
        """Files in a directory have changed: the documents that may be concerned, as new."""
        return [
            self.put(document.uri, document.text)
            for document in list(self._open.values())
            if directory in (document.path.parent, self._bound.get(document.uri))
        ]

    def of(self, program: Program) -> Iterator[Document]:
        """The open documents that belong to a model."""
        for document in list(self._open.values()):
            if document.program is program:
                yield document
