"""A dialect: one edit protocol of agents, as a record of functions.

`plan` turns the caller's arguments into splices of one immutable text, or refuses. Staleness, leases, safety,
journaling, rebase and the atomic write exist once, in `tools/edit/engine.py`.
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
"""What a call proves about its caller's knowledge, which decides the effect of others' changes since the base.

* `base`: the whole file. Any change makes the call stale: refused, or rebased.
* `lines`: the named lines (`Plan.anchors`), each of which must be unchanged at its place.
* `text`: the text in the call, which is applied to the current file; others' changes are only reported.
"""


def whole_file(params: object) -> Proof:
    """The proof of most dialects: the base."""
    return "base"


def own_text(params: object) -> Proof:
    """The proof of dialects that quote the replaced text."""
    return "text"


HASH_MISMATCH: Final = "hash_mismatch"
"""Refusal code: a named line is not the line that the caller was shown."""


class Sight(msgspec.Struct, frozen=True):
    """The caller's base, and the lines that the caller was shown.

    `shown` is None for a caller that was never shown the file; the current file is then the base.
    """

    text: Text
    shown: tuple[tuple[int, int], ...] | None = None

    def was_shown(self, line: int) -> bool:
        """True if line `line` (0-based) of the base was shown to this caller."""
        return self.shown is not None and any(start <= line < stop for start, stop in self.shown)


class Plan(msgspec.Struct, frozen=True):
    """The effect of a request on one text: sorted splices, and a new name."""

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
    """A call that another tool performs, in that tool's arguments."""

    tool: str
    arguments: Mapping[str, Any]


def planned_here(params: object) -> InOtherWords | None:
    """For dialects that plan all their calls themselves."""
    return None


class Dialect(msgspec.Struct, Generic[P], frozen=True):
    """One edit protocol."""

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
    """Base of arguments where `file` is another name of `path`, so that both names are one call."""

    file: str = ""

    def __post_init__(self) -> None:
        if self.file and self.path and self.file != self.path:
            raise ValueError("`file` and `path` name different files; give one of them")
        force_setattr(self, "path", self.path or self.file)
        force_setattr(self, "file", "")
        super().__post_init__()
