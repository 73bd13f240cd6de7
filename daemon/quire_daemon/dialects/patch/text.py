"""Patches as text: the `*** Begin Patch` envelope and unified diffs, read into one value per file.

Nothing is known of any file in here, and nothing is repaired: a line that has no meaning at its place is a
`patch_parse_error` with its number in the patch. What a patch means for a text is said in `apply_patch.py`.

As in the first tool that took such envelopes, there may be blanks around the lines that begin and end one and around
those that begin a file (below an update, a line behind a blank is one of the file), and a here-document around it all.
"""

from __future__ import annotations

from quire_daemon.dialects.patch.envelope import Envelope
from quire_daemon.dialects.patch.model import BEGIN, FilePatch, PatchLines
from quire_daemon.dialects.patch.unified import UnifiedParser


def parse_patch(patch: str) -> tuple[FilePatch, ...]:
    """The files that `patch` is about, in its order. Raises `Refusal("patch_parse_error")`."""
    lines = PatchLines(patch)
    lines.unwrap()
    first = lines.first_filled()
    begins = lines.at(first)
    if begins.strip() == BEGIN or begins.startswith("***"):
        return Envelope(lines).files(first)
    return UnifiedParser(lines).files()
