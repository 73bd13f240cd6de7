"""A dialect: one edit protocol as agents speak it, as a record of functions.

A dialect only says what the caller means: `plan` turns its arguments into splices of one immutable text, or
refuses. Staleness, leases, safety, journalling, rebase and the atomic write exist once, outside
(`tools/edit/engine.py`), and are the same for every dialect.

To add one: a file beside this one, a line in `table.py`, a page in `manuals/`, a test.
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
"""What a call proves that its caller knows, and so what a change by another writer since the base means for it.

* `base`: the file as a whole. Any change makes the call stale: refused, or rebased.
* `lines`: the lines that it names (`Plan.anchors`). Each must stand where it stood, as it was; the rest may differ.
* `text`: what it brings along. It is judged on the file as it is, and changes by others are only reported.
"""


def whole_file(params: object) -> Proof:
    """The proof of most dialects: the base."""
    return "base"


def own_text(params: object) -> Proof:
    """The proof of dialects that say which text they replace."""
    return "text"


HASH_MISMATCH: Final = "hash_mismatch"
"""The code of a refusal because a line that a call names is not the one that its caller was shown."""


class Sight(msgspec.Struct, frozen=True):
    """What the caller is judged on: its base, and which lines of it this caller was shown.

    `shown` is None for a caller that was never shown the file; it is judged on the file as it is.
    """

    text: Text
    shown: tuple[tuple[int, int], ...] | None = None

    def was_shown(self, line: int) -> bool:
        """Was line `line` (0-based) of the base shown to this caller?"""
        return self.shown is not None and any(start <= line < stop for start, stop in self.shown)


class Plan(msgspec.Struct, frozen=True):
    """What a request does to one text: sorted splices in the coordinates of `Sight.text`; and its new name."""

    splices: tuple[Splice, ...]
    operations: int  # how many operations the caller asked for
    final_break: bool | None = None  # None keeps the file's own
    warnings: tuple[dict[str, Any], ...] = ()
    fields: Mapping[str, Any] = msgspec.field(default_factory=dict)  # more fields of the reply, in the dialect's words
    anchors: tuple[int, ...] = ()  # lines (0-based, sorted) that the call names by number or hash, not by their text
    by_hint: tuple[int, ...] = ()  # anchors that only a number told from equal lines, and the lines of that number
    rename: str = ""  # the path, as the caller wrote it, that the result gets
    by_number: bool = False  # the anchors are bare numbers: they do not show that the caller knows what stands there


class InOtherWords(msgspec.Struct, frozen=True):
    """A call that means what another tool does, in that tool's words: to view a file is to read it."""

    tool: str
    arguments: Mapping[str, Any]


def planned_here(params: object) -> InOtherWords | None:
    """Most dialects plan all their calls themselves."""
    return None


class Dialect(msgspec.Struct, Generic[P], frozen=True):
    """One edit protocol."""

    name: str  # the tool's name
    params: type[P]  # arguments beside the common ones; decoded strictly
    plan: Callable[[P, Sight, Settings], Plan]  # pure; raises `Refusal`
    stale: str  # the code of a refusal because another writer changed the file since the base
    proof: Callable[[P], Proof] = whole_file
    in_place: bool = False  # the lines that a call names must stand where they stood, even after the caller's own edits
    in_other_words: Callable[[P], InOtherWords | None] = planned_here
    reply: type[WriteReply] = WriteReply  # the shape of what it answers
    safety: str = "warn"  # default of `safety_check`


class NamedFile(WriteArguments, frozen=True, kw_only=True):
    """Base of their arguments: `file` means what `path` means, and becomes it, so that both are one call."""

    file: str = ""

    def __post_init__(self) -> None:
        if self.file and self.path and self.file != self.path:
            raise ValueError("`file` and `path` name different files; give one of them")
        force_setattr(self, "path", self.path or self.file)
        force_setattr(self, "file", "")
        super().__post_init__()
