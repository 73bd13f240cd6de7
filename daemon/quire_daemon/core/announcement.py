"""Announcements: an agent's claims about a call of its own tool. Several payloads may describe the same file."""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

MOST_PAYLOADS: Final = 64
"""Maximum number of payloads of a call."""


class _Account(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind"):
    """Base of the claims; `kind` is the tag on the wire."""


class Content(_Account, frozen=True, tag="content"):
    """The file holds `text` afterwards."""

    path: str
    text: str


class Replacement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One text in place of another, at its first occurrence or everywhere."""

    old: str
    new: str
    all: bool = False


class Replace(_Account, frozen=True, tag="replace"):
    """The replacements are made in order."""

    path: str
    edits: list[Replacement]


class Patch(_Account, frozen=True, tag="patch"):
    """The patch (an agent's envelope or a unified diff) is applied to its files."""

    text: str


class Cell(_Account, frozen=True, tag="cell"):
    """A notebook cell is replaced, inserted behind another, or deleted."""

    path: str
    cell: str = ""  # id of the cell, or `cell-N`; of an insertion the one that it goes behind, "" for the beginning
    source: str = ""
    type: str = ""  # "code" or "markdown"; "" leaves it
    mode: str = "replace"  # "replace", "insert", "delete"


class AccountHunk(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Adjacent lines, as an agent reports them after the call."""

    start: int  # of the old lines, 1-based
    lines: list[str]  # each with " ", "-" or "+" in front


class Hunks(_Account, frozen=True, tag="hunks"):
    """The reported result of the call: `before`, and its changes."""

    path: str
    before: str | None
    hunks: list[AccountHunk]


class Removal(_Account, frozen=True, tag="removed"):
    """The file is gone afterwards."""

    path: str


Payload = Content | Replace | Patch | Cell | Hunks | Removal


class WritePart(NamedTuple):
    """A part of a change on disk, with the evidence of its writer."""

    data: bytes | None = None  # the bytes after it; None for the last part, which comes to what was found
    writer: int = 0
    evidence: str = ""  # "": nothing is known
    burst: int = 0
    candidates: tuple[int, ...] = ()  # of an overlap: the bursts of the calls that could have made it


class AnnouncedCall(msgspec.Struct, frozen=True):
    """An open call of an agent's own tool."""

    burst: int  # the number under which the journal knows it
    writer: int
    paths: tuple[str, ...] = ()  # of files, as the journal spells them; none: a command that may write anything
    payloads: tuple[Payload, ...] = ()
    command: str = ""
    process: tuple[int, int] | None = None  # pid and start of the process in which the agent is at work
    began_s: float = 0.0  # monotonic
    owner: bytes = b""  # the key of the caller whose call it is
