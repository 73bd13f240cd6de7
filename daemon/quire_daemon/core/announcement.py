"""Announcements: an agent's claims about a call of its own tool."""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

MOST_PAYLOADS: Final = 64


class _Account(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind"):
    """Base of the claims; `kind` names the sort of claim on the wire."""


class Content(_Account, frozen=True, tag="content"):
    """Claim that the file has the content `text` after the call."""

    path: str
    text: str


class Replacement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Replacement of `old` by `new`: the first occurrence, or with `all` each."""

    old: str
    new: str
    all: bool = False


class Replace(_Account, frozen=True, tag="replace"):
    """Claim that the call makes these replacements, in order."""

    path: str
    edits: list[Replacement]


class Patch(_Account, frozen=True, tag="patch"):
    """Claim that the call applies this patch: an agent's own format, or a unified diff."""

    text: str


class Cell(_Account, frozen=True, tag="cell"):
    """Claim that the call replaces, inserts or deletes a notebook cell."""

    path: str
    cell: str = ""  # id of the cell, or `cell-N`; for an insertion the cell before it, or "" for the beginning
    source: str = ""
    type: str = ""  # "code" or "markdown"; "" leaves it
    mode: str = "replace"  # "replace", "insert", "delete"


class AccountHunk(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Adjacent lines, as an agent reports them after the call."""

    start: int  # of the old lines, 1-based
    lines: list[str]  # each with " ", "-" or "+" in front


class Hunks(_Account, frozen=True, tag="hunks"):
    """Claim that the agent reports after the call: the file's content before, and the changes."""

    path: str
    before: str | None
    hunks: list[AccountHunk]


class Removal(_Account, frozen=True, tag="removed"):
    """Claim that the file does not exist after the call."""

    path: str


Payload = Content | Replace | Patch | Cell | Hunks | Removal


class WritePart(NamedTuple):
    """A part of a change on disk, with its writer and the evidence."""

    data: bytes | None = None  # bytes after this part; None for the last part, whose bytes are on disk
    writer: int = 0
    evidence: str = ""  # "": unknown
    burst: int = 0
    candidates: tuple[int, ...] = ()  # of an overlap: bursts of the calls that may have written


class AnnouncedCall(msgspec.Struct, frozen=True):
    burst: int  # the number under which the journal knows it
    writer: int
    paths: tuple[str, ...] = ()  # of files, as in the log; none: a command that may write any file
    payloads: tuple[Payload, ...] = ()
    command: str = ""
    process: tuple[int, int] | None = None  # pid and start of the process in which the agent is at work
    began_s: float = 0.0  # monotonic
    owner: bytes = b""  # key of the caller
