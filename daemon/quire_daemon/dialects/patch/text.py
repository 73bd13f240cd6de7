"""Parser of patches: an envelope (`*** Begin Patch`) or a unified diff becomes one value per file.

Malformed patches are not repaired: the refusal `patch_parse_error` has the number of the first malformed line.
Whitespace around the envelope's own lines and a shell here-document around the patch are accepted.
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
