"""The parser of patches: the `*** Begin Patch` envelope and unified diffs become one value per file.

The parser knows no file and repairs nothing: a line without a meaning at its place is a `patch_parse_error` with its
number. `locate` finds the places in a text.

As in the first tool with such envelopes, blanks may surround the first and last line and the lines that begin a file
(below an update, a line behind a blank is a line of the file), and a here-document may surround the whole.
"""

from __future__ import annotations

from quire_daemon.dialects.patch.envelope import Envelope
from quire_daemon.dialects.patch.model import BEGIN, FilePatch, PatchLines
from quire_daemon.dialects.patch.unified import UnifiedParser


def parse_patch(patch: str) -> tuple[FilePatch, ...]:
    """The files of `patch`, in order. Raises `Refusal("patch_parse_error")`."""
    lines = PatchLines(patch)
    lines.unwrap()
    first = lines.first_filled()
    begins = lines.at(first)
    if begins.strip() == BEGIN or begins.startswith("***"):
        return Envelope(lines).files(first)
    return UnifiedParser(lines).files()
