"""Parser of patches: an envelope (`*** Begin Patch`) or a unified diff becomes one value per file.

Nothing is repaired: a meaningless line is refused as `patch_parse_error`, with its number. Whitespace may surround the
first and last line and the lines that begin a file, and a shell here-document the patch.
"""

from __future__ import annotations

from quire_daemon.dialects.patch.envelope import Envelope
from quire_daemon.dialects.patch.model import BEGIN, FilePatch, PatchLines
from quire_daemon.dialects.patch.unified import UnifiedParser


def parse_patch(patch: str) -> tuple[FilePatch, ...]:
    """Parse a patch into its files, in order. Raises `Refusal` (`patch_parse_error`) if it is malformed."""
    lines = PatchLines(patch)
    lines.unwrap()
    first = lines.first_filled()
    begins = lines.at(first)
    if begins.strip() == BEGIN or begins.startswith("***"):
        return Envelope(lines).files(first)
    return UnifiedParser(lines).files()
