"""The files view: for each path, its versions and which of them is the head."""

from __future__ import annotations

import msgspec


class Version(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The state of one path after one record. `blob` is b"" where the path was gone or not captured."""

    seq: int
    at_ns: int
    writer: int
    batch: int
    type: str  # writer type: "edit", "write_file", "outside", "undo"
    blob: bytes
    size: int
    mode: int
    base: int = 0  # seq of the version that it was made from
    entry: int = 0  # events.REGULAR, LINK, FOLDER
    gone: bool = False  # the path does not exist after this record
    evidence: str = ""  # of an outside version
    uncaptured: str = ""  # why the bytes are not in the journal: "too_large", "secret", "unreadable"
    moved_from: str = ""
    moved_to: str = ""
    index: int = 0  # of this version among those of its path, from 0
    kind: str = ""  # of the record
