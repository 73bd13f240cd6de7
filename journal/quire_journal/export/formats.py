"""Export formats: a range of the journal as bytes that other tools read.

A format is a function from a `Source` and a key of `steps.BY` to chunks of bytes, empty at pause points; it opens and
writes nothing. A new format is a module and a line in `FORMATS`. Raises `JournalDamaged` for damaged bytes,
`blobs.NotHeld` for dropped bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from quire_journal.export.source import Source


class Format(NamedTuple):
    """Export format, whose module is loaded at first use."""

    module: str  # of this room
    about: str
    function: str = "export"

    def export(self, source: Source, by: str) -> Iterator[bytes]:
        chunks: Iterator[bytes] = getattr(import_module(f"{__package__}.{self.module}"), self.function)(source, by)
        return chunks


FORMATS: Final[dict[str, Format]] = {
    "jsonl": Format("jsonl", "every event and its bytes, one a line; `quire import` makes the same journal of it"),
    "events": Format("jsonl", "the same without the bytes of files", "events"),
    "patches": Format("mail_patches", "a mail for each step, for `git am`"),
    "git": Format("fast_import", "a stream for `git fast-import`, on the branch quire"),
    "agent-trace": Format("agent_trace", "Agent Trace records, one a line: which lines who wrote"),
}
