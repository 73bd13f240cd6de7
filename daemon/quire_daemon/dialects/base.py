"""Definition of a dialect: one edit protocol of agents.

`plan` turns a request's arguments into splices of one text, or refuses. Staleness, leases, safety checks, records,
rebase and the atomic write are implemented once, in `tools/edit/engine.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Generic, Literal, TypeVar

import msgspec
from msgspec.structs import force_setattr

from quire_daemon.config import Settings
from quire_daemon.core import WriteArguments
from quire_daemon.core.replies import WriteReply
from quire_journal.text import Splice, Text

P = TypeVar("P", bound=msgspec.Struct)

Proof = Literal["base", "lines", "text"]
"""Extent of what a request proves that its caller has read. It decides what happens if other writers have changed the
file since the base version.

* `base`: the whole file. Any change makes the request stale: refused or rebased.
* `lines`: the named lines (`Plan.anchors`), each of which must be unchanged at its line number.
* `text`: the quoted text. The edit applies to the current file; changes of other writers are only reported.
"""


def whole_file(params: object) -> Proof:
    """Return "base": any change by another writer since the base version makes the request stale. This is the default
    of `Dialect.proof`.
    """
    return "base"


def own_text(params: object) -> Proof:
    """Return "text": the request quotes the text to replace, and so applies to the current file despite other writers'
    changes.
    """
    return "text"


HASH_MISMATCH: Final = "hash_mismatch"
"""Refusal code: the line named by the caller has another text than the caller was shown."""


class Sight(msgspec.Struct, frozen=True):
    """Version of a file on which a caller bases an edit, and the lines of it that the caller was shown.

    `shown` has sorted half-open ranges of lines from 0. It is None if the caller was never shown the file; `text` is
    then the current text.
    """

    text: Text
    shown: tuple[tuple[int, int], ...] | None = None

    def was_shown(self, line: int) -> bool:
        """True if the caller was shown line `line` (from 0)."""
        return self.shown is not None and any(start <= line < stop for start, stop in self.shown)


class Plan(msgspec.Struct, frozen=True):
    """Effect of a request on one file: splices sorted by line, and a new path if the file is renamed."""

    splices: tuple[Splice, ...]
    operations: int  # number of requested operations
    final_break: bool | None = None  # None keeps the current final break
    warnings: tuple[dict[str, Any], ...] = ()
    fields: Mapping[str, Any] = msgspec.field(default_factory=dict)  # further reply fields of the dialect
    anchors: tuple[int, ...] = ()  # lines (0-based, sorted) that the call names by number or hash, not by their text
    by_hint: tuple[int, ...] = ()  # anchors chosen among equal lines by a number, and the lines of that number
    rename: str = ""  # new path of the file, as the caller wrote it
    by_number: bool = False  # anchors are bare numbers, which do not prove knowledge of the lines


class InOtherWords(msgspec.Struct, frozen=True):
    """A request that another tool executes in place of the requested one: that tool's name and arguments."""

    tool: str
    arguments: Mapping[str, Any]


def planned_here(params: object) -> InOtherWords | None:
    """Return None: the default of `Dialect.in_other_words`, for tools that execute all their requests themselves."""
    return None


class Dialect(msgspec.Struct, Generic[P], frozen=True):
    """Definition of one edit tool: its name, arguments, the function `plan`, and the refusal code for a stale base."""

    name: str  # the tool's name
    params: type[P]  # arguments besides the common ones; decoded strictly
    plan: Callable[[P, Sight, Settings], Plan]  # pure; raises `Refusal`
    stale: str  # refusal code after another writer's change since the base
    proof: Callable[[P], Proof] = whole_file
    in_place: bool = False  # named lines must be unmoved, even after the caller's own edits
    in_other_words: Callable[[P], InOtherWords | None] = planned_here
    reply: type[WriteReply] = WriteReply  # reply of a success
    safety: str = "warn"  # default of `safety_check`


class NamedFile(WriteArguments, frozen=True, kw_only=True):
    """Base of arguments in which `file` is an alias of `path`. Raises `ValueError` if both are given and differ."""

    file: str = ""

    def __post_init__(self) -> None:
        if self.file and self.path and self.file != self.path:
            raise ValueError("`file` and `path` name different files; give one of them")
        force_setattr(self, "path", self.path or self.file)
        force_setattr(self, "file", "")
        super().__post_init__()
