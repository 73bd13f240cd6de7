"""The parser of patches: the `*** Begin Patch` envelope and unified diffs become one value per file.

Nothing is repaired: a line without a meaning is a `patch_parse_error` with its number. As in the first tool with such
envelopes, blanks may surround the first and last line and the lines that begin a file, and a here-document the whole.
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
