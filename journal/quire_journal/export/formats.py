"""Exports: the journal, or a stretch of it, in formats that others read.

A format is a function from a `Source` (what can be read of a stretch of the log) and a word of `steps.BY` to chunks
of bytes, in order; it holds little in memory, opens nothing and writes nothing. A new one is a module and a line in
`FORMATS`. An empty chunk is a place to pause at. Bytes may turn out damaged, or be dropped,
while it runs: then it raises `log.JournalDamaged` or `blobs.NotHeld`, and what was written so far is of no use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from quire_journal.export import agent_trace, fast_import, jsonl, mail_patches
from quire_journal.export.source import Source


class Format(NamedTuple):
    """How an export is written."""

    export: Callable[[Source, str], Iterator[bytes]]
    about: str


FORMATS: Final[dict[str, Format]] = {
    "jsonl": Format(jsonl.export, "every event and its bytes, one a line; `quire import` reads it"),
    "events": Format(jsonl.events, "every event, one a line, without the bytes of files"),
    "patches": Format(mail_patches.export, "a mail for each step, for `git am`"),
    "git": Format(fast_import.export, "a stream for `git fast-import`"),
    "agent-trace": Format(agent_trace.export, "Agent Trace records, one a line"),
}
"""Every format, by the name that callers use."""
