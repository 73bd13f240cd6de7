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
"""What a request proves that its caller knows, which decides the effect of others' changes since the base.

* `base`: the whole file. Any change makes the request stale: refused or rebased.
* `lines`: the named lines (`Plan.anchors`), each of which must be unchanged in its place.
* `text`: the quoted text. The edit applies to the current file; others' changes are only reported.
"""


def whole_file(params: object) -> Proof:
    """The usual `Dialect.proof`: returns "base", as the caller must know the whole file."""
    return "base"


def own_text(params: object) -> Proof:
    """The `Dialect.proof` of tools whose requests quote the text to replace: returns "text"."""
    return "text"


HASH_MISMATCH: Final = "hash_mismatch"
"""Refusal code: a line is not the one that the caller was shown."""


class Sight(msgspec.Struct, frozen=True):
    """The version of a file on which a caller bases an edit, and the lines of it that the caller was shown.

    `shown` has half-open ranges of lines from 0; None if the caller was never shown the file (the text is then the
    current one).
    """

    text: Text
    shown: tuple[tuple[int, int], ...] | None = None

    def was_shown(self, line: int) -> bool:
        """True if the caller was shown line `line` (from 0)."""
        return self.shown is not None and any(start <= line < stop for start, stop in self.shown)


class Plan(msgspec.Struct, frozen=True):
    """The effect of a request on one file: sorted splices, and perhaps a new path."""

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
    """A request that another tool carries out: that tool's name and arguments."""

    tool: str
    arguments: Mapping[str, Any]


def planned_here(params: object) -> InOtherWords | None:
    """The usual `Dialect.in_other_words`: returns None, as no other tool carries out the request."""
    return None


class Dialect(msgspec.Struct, Generic[P], frozen=True):
    """One edit protocol: its tool's name and arguments, `plan`, and refusal codes."""

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
    """Base of arguments where `file` is another name of `path`."""

    file: str = ""

    def __post_init__(self) -> None:
        if self.file and self.path and self.file != self.path:
            raise ValueError("`file` and `path` name different files; give one of them")
        force_setattr(self, "path", self.path or self.file)
        force_setattr(self, "file", "")
        super().__post_init__()
