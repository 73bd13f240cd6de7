"""Files of a commit: git's commands and their output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from quire_journal.history import CommitBytes, CommitEntries, CommitEntry
from quire_journal.model import journal_path

MODES: Final = {b"100644": "100644", b"100664": "100644", b"100755": "100755", b"120000": "120000"}
"""Modes of files and links in git's tree → their displayed form."""


def tree_words(commit: str, prefix: bytes) -> list[str | bytes]:
    """The command that lists the files of a commit below a folder."""
    where: list[str | bytes] = ["--", prefix] if prefix else []
    return ["ls-tree", "-r", "-z", "-l", "--full-tree", commit, *where]


def entries(said: bytes, prefix: bytes) -> CommitEntries:
    """Entries in the output of `tree_words`: `MODE blob NAME SIZE<tab>PATH<nul>`, with paths from the
    repository's top.
    """
    found: dict[str, CommitEntry] = {}
    for row in said.split(b"\0"):
        about, _, path = row.partition(b"\t")
        parts = about.split()
        if len(parts) != 4 or parts[0] not in MODES or not path.startswith(prefix):
            continue
        entry = CommitEntry(MODES[parts[0]], parts[2].decode(), int(parts[3]))
        found[journal_path(path[len(prefix) :].decode("utf-8", "surrogateescape"))] = entry
    return CommitEntries(found)


BLOB_WORDS: Final[Sequence[str]] = ("cat-file", "--batch")
"""The command that prints the blobs named on its input, one a line."""


def contents(said: bytes) -> CommitBytes:
    """Blobs in the output of `BLOB_WORDS`: `NAME blob SIZE<lf>BYTES<lf>`, or `NAME missing<lf>`."""
    held: dict[str, bytes] = {}
    at = 0
    while (end := said.find(b"\n", at)) >= 0:
        parts = said[at:end].split(b" ")
        at = end + 1
        if len(parts) == 3 and parts[1] == b"blob":
            size = int(parts[2])
            held[parts[0].decode()] = said[at : at + size]
            at += size + 1
    return CommitBytes(held)
