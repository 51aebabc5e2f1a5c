"""A baseline of a zoo as a contract: what is tolerated, by whom, and until when."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from msgspec import Struct
from pydantic import BaseModel, ConfigDict, ValidationError

from tdb_dap.engine.files.documents import read_document
from tdb_dap.errors import BadInput
from tdb_dap.tools.zoo.zoo_file import LARGEST, complaint


class Tolerated(BaseModel):
    """Something that may be wrong; texts are patterns."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    case: str
    what: str = "*"
    """Fingerprint of a finding or ``status:timeout``; * stands for anything."""
    owner: str
    until: date
    """The last day on which it holds."""
    why: str = ""

    def covers(self, key: str, what: str, today: date) -> bool:
        """Whether it holds for one thing that is wrong."""
        return today <= self.until and fnmatch.fnmatchcase(key, self.case) and fnmatch.fnmatchcase(what, self.what)


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    tolerated: tuple[Tolerated, ...]


class Contract(Struct, frozen=True):
    """All that is tolerated, as of one day."""

    entries: tuple[Tolerated, ...]
    today: date

    def entry(self, key: str, what: str) -> Tolerated | None:
        """The entry that tolerates this, if there is one."""
        return next((entry for entry in self.entries if entry.covers(key, what, self.today)), None)

    @property
    def expired(self) -> Sequence[Tolerated]:
        """Entries that hold no more."""
        return [entry for entry in self.entries if entry.until < self.today]


NOTHING = Contract((), date.min)
"""The contract that tolerates nothing."""


def read_contract(path: Path, today: date) -> Contract:
    """Read a file in YAML or JSON; BadInput says what is wrong with it."""
    try:
        return Contract(_File.model_validate(read_document(path, LARGEST)).tolerated, today)
    except ValidationError as error:
        raise BadInput(f"{path}: {complaint(error)}; docs/zoo.md shows what a baseline holds") from None
