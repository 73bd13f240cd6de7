"""Questions to the journal: versions of a path, the tree at a point, who changed it since, what a caller was shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from quire_journal.events import Record, WriterIntroduced
from quire_journal.ids import Seq
from quire_journal.log import Reading
from quire_journal.text import Text
from quire_journal.views.files import Version


class Shown(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a caller was last shown of a path: the version, and which of its lines (0-based, half-open)."""

    version: int
    lines: tuple[tuple[int, int], ...]
    at_ns: int = 0


class AnchorTrace(msgspec.Struct, frozen=True):
    """Where an anchor that is not in the file now was last: in which version, on which line, and what removed it."""

    version: int  # the last version that had it
    line: int  # 0-based
    removed_by: int  # seq of the version that does not have it any more


class History:
    """Read-only questions. One instance reads one state of the journal; make it for a question, then drop it.

    `text_of` gives the text of a blob (the daemon passes its cache). `recent` holds what callers were shown by
    records that are not committed yet: reads are journaled lazily.
    """

    def __init__(
        self,
        reading: Reading,
        text_of: Callable[[bytes], Text] | None = None,
        recent: Mapping[tuple[bytes, str], Shown] | None = None,
    ) -> None:
        raise NotImplementedError

    def head(self) -> Seq:
        """The seq of the newest record; 0 for an empty log."""
        raise NotImplementedError

    def file(self, path: str) -> Version | None:
        """The head of `path`; None when the journal never saw it. A removed path has a head with `gone`."""
        raise NotImplementedError

    def version(self, path: str, seq: int) -> Version | None:
        """The version of `path` that record `seq` made."""
        raise NotImplementedError

    def version_at(self, path: str, seq: int) -> Version | None:
        """The version of `path` that was the head after record `seq`."""
        raise NotImplementedError

    def versions(self, path: str, after: int = 0, upto: int | None = None, reverse: bool = False) -> Iterator[Version]:
        """Versions of `path` with after < seq <= upto."""
        raise NotImplementedError

    def paths(self, prefix: str = "") -> Iterator[tuple[str, Version]]:
        """Every path ever seen, with its head."""
        raise NotImplementedError

    def bytes_of(self, blob: bytes) -> bytes:
        """The bytes of a blob. Raises `blobs.NotHeld` (never captured, dropped) or `log.Damaged`."""
        raise NotImplementedError

    def text_of(self, blob: bytes) -> Text:
        """The text of a blob."""
        raise NotImplementedError

    def shown(self, caller: bytes, path: str) -> Shown | None:
        """What the caller was last shown of `path`."""
        raise NotImplementedError

    def caller_of(self, writer: int) -> bytes:
        """The caller's key (uid, agent, agent session) of a writer; b"" for `outside`."""
        raise NotImplementedError

    def writer(self, writer: int) -> WriterIntroduced | None:
        """Who that is; None for `outside`."""
        raise NotImplementedError

    def writer_json(self, writer: int, type: str = "") -> dict[str, Any]:
        """A writer as replies show it: `{id, type, agent, agent_session, turn, tool_call, model, uid, pid}`."""
        raise NotImplementedError

    def changed_since(self, path: str, seq: int, caller: bytes) -> list[Version]:
        """Versions of `path` after `seq` by anyone but `caller`, oldest first."""
        raise NotImplementedError

    def continuity(self, path: str, type: str) -> str:
        """`clean` when no other writer type precedes `type` in the path's history, else `mixed` (contract §2)."""
        raise NotImplementedError

    def anchor(self, path: str, prefix: str) -> AnchorTrace | None:
        """Where the line whose hash begins with `prefix` (hex) was last, when it is not in the head."""
        raise NotImplementedError

    def op(self, op: bytes) -> int | None:
        """The batch that an operation id made; None when the journal does not know it."""
        raise NotImplementedError

    def batch_state(self, batch: int) -> str:
        """`applied`, `abandoned`, or `unsettled`."""
        raise NotImplementedError

    def batch(self, batch: int) -> Sequence[Record]:
        """The records of a batch."""
        raise NotImplementedError

    def record(self, seq: int) -> Record | None:
        """Record `seq`."""
        raise NotImplementedError

    def records(self, after: int = 0, upto: int | None = None, reverse: bool = False) -> Iterator[Record]:
        """Records with after < seq <= upto."""
        raise NotImplementedError

    def last_batches(self, caller: bytes, limit: int = 1) -> list[int]:
        """The newest batches of file changes by a caller, newest first."""
        raise NotImplementedError

    def seq_at(self, at_ns: int) -> Seq:
        """The newest record not later than a time (binary search; record times are made not to go back)."""
        raise NotImplementedError

    def checkpoint(self, name: str) -> Seq | None:
        """The cursor of a named checkpoint."""
        raise NotImplementedError

    def kept_reply(self, caller: bytes, key: str) -> tuple[bytes, bytes, int] | None:
        """(sha256 of the arguments, msgpack of the reply, at_ns) of a call with this idempotency key."""
        raise NotImplementedError
