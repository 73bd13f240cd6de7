"""Outbox: makes the next encrypted segment of the history for `quire ship`, and learns which segments have arrived at
the remote store. A worker thread seals (encrypts, signs) a segment; the main loop commits its keys and the confirmed
position.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from quire_daemon.commit import Recorder
from quire_daemon.config import LiveSettings, matches
from quire_daemon.core import Call
from quire_daemon.heads import HeadFolder, private_key
from quire_daemon.maintenance.head_signer import HeadSigner
from quire_daemon.ops import Log
from quire_daemon.watch import Ignore
from quire_daemon.workers import Breather, Failed, Job, Throttle
from quire_journal.history import rfc3339
from quire_journal.maintenance import secret_scan
from quire_journal.model import Refusal, counted, disk_path
from quire_journal.shipment import (
    ContentKeys,
    Hidden,
    Position,
    Rules,
    SealedSegment,
    address,
    adopted,
    adopted_after_gap,
    beginning,
    fork_at,
    forked,
    keep_keys,
    keep_position,
    keep_receipt,
    lineage,
    origin_of,
    position,
    receipt,
    seal,
)
from quire_journal.storage import blobs
from quire_journal.storage.blobs import BlobCache
from quire_journal.transparency import DOMAIN, Frontier, TreeHead, signed

_KEY_BYTES: Final = 32
_MOST_SAID: Final = 300

_TEXTS_BYTES: Final = 4 << 20
"""Memory for texts of versions that were shipped, from which later ones are made; none while nothing is due."""


class OutboxParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    to: str = ""  # where the shipper ships to, if not where the settings say
    took: bytes = b""  # a segment that was read back at the far side,
    number: int = 0  # under this number
    gap: int = 0  # the far side has no segment from this number to that one
    restart: bool = False  # the last segment is not there: begin at the first one
    look: bool = False  # only say how far it is
    trouble: str = ""  # why the far side cannot be reached


class OutboxHost(Throttle, Protocol):
    """Interface of the daemon, as shipping (copying the history to a remote store) needs it."""

    in_force: LiveSettings
    recorder: Recorder
    heads: HeadSigner
    log: Log

    def answer(self, call: Call, body: dict[str, Any]) -> None: ...

    def start_job(self, work: Job, what: str, failed: Failed | None = None) -> None: ...

    def told(self, what: str, error: Exception) -> dict[str, Any]: ...

    def commit_noted(self) -> None: ...


class _Found(NamedTuple):
    at: Position
    moved: bool = False  # `at` is to be stored
    fork: bool = False  # what is there is not ours
    sealed: SealedSegment | None = None
    changed: bool = False  # what was shipped under its number had other bytes
    took: bytes = b""  # the segment before `at`, if it was read back now
    keys: dict[bytes, bytes] = {}  # noqa: RUF012  never changed


class Outbox:
    """Tracks how much of the journal has arrived at the remote store, and makes the next segment (encrypted part of
    the history).
    """

    def __init__(self, host: OutboxHost, state: Path, ignore: Ignore) -> None:
        self._host, self._state, self._ignore = host, state, ignore
        self._at: Position | None = None
        self._moved = False  # since it was stored
        self._sealed: Position | None = None  # after the last segment that was sealed
        self._runs = False
        self._forget_texts()
        self._to = self._trouble = ""
        self._trouble_ns = 0
        self._asked_s: float | None = None
        self._restarted = 0  # segments that were there before it began again at the first
        self._lost: dict[str, Any] = {}  # what the remote store had taken and did not have any more

    def told(self) -> dict[str, Any]:
        """Return the state of shipping, for `status`; {} if nothing is shipped."""
        at = self._position()
        to = self._to or self._host.in_force.now.ship.to
        if not (to or at.number):
            return {}
        asked_s = None if self._asked_s is None else self._host.clock.mono_s() - self._asked_s
        return {
            "to": to,
            "journal": at.journal,
            "segments": at.number,
            "records": at.seq,
            "behind": max(0, self._host.recorder.journal.head - at.seq),
            **({"asked_s": round(asked_s, 1)} if asked_s is not None else {}),
            **({"trouble": self._trouble, "since": rfc3339(self._trouble_ns)} if self._trouble else {}),
            **({"lost": self._lost} if self._lost else {}),
            **({"gaps": list(at.gaps)} if at.gaps else {}),
            **({"forked": origin_of(at.journal)} if at.journal != origin_of(at.journal) else {}),
        }

    def answer(self, call: Call) -> None:
        """Note which segment (encrypted part of the history) has arrived at the remote store, and reply with the next
        one if there are new records.
        """
        params: OutboxParams = call.params
        if params.to and params == OutboxParams(look=True, to=params.to) and params.to != self.told().get("to"):
            journal = self._host.recorder.journal
            with journal.store.reading() as r:
                at = position(r, journal.workspace_id, params.to)
            self._host.answer(call, self._reply(None, at=at, to=params.to))  # who ships has the other one
            return
        if self._runs and params == OutboxParams(look=True):
            self._host.answer(call, self._reply(None))
            return
        if self._runs:
            raise Refusal("busy", "A segment is being sealed.", "retry", retry_after_ms=100)
        self._note_caller(params)
        at = self._position()
        if not (params.took or params.restart) and (params.look or at.seq >= self._host.recorder.journal.head):
            self._store()
            self._forget_texts()
            self._host.answer(call, self._reply(None))
            return

        def failed(error: Exception) -> None:
            self._runs = False
            self._host.answer(call, self._host.told("outbox", error))

        def come(found: _Found) -> None:
            self._runs = False
            sealed = self._take(found)
            self._host.answer(call, self._reply(sealed, found.changed))

        def begin(_: object) -> None:
            self._host.start_job(lambda: self._work(params, at, come), "outbox", failed)

        self._runs = True
        try:
            self._host.heads.cover(1, begin, failed)  # there is a tree, which has a name
        except Exception:
            self._runs = False
            raise

    def _note_caller(self, params: OutboxParams) -> None:
        self._asked_s = self._host.clock.mono_s()
        self._ship_to(params.to or self._host.in_force.now.ship.to)
        if params.trouble:
            self._trouble_ns = self._trouble_ns if self._trouble else self._host.clock.now_ns()
            self._trouble = params.trouble[:_MOST_SAID]
        elif not params.look:
            self._trouble = ""
        if params.restart:
            at = self._position()
            self._lost = {"records": at.seq, "segments": at.number, "at": rfc3339(self._host.clock.now_ns())}
            self._host.log.warning("far_side_lost", to=self._to, **self._lost)

    def _ship_to(self, to: str) -> None:
        self._position()  # reads the last address
        if not to or to == self._to:
            return
        self._to, self._at, self._sealed = to, None, None
        self._lost, self._trouble, self._restarted = {}, "", 0

    def _position(self) -> Position:
        if self._at is None:
            journal = self._host.recorder.journal
            with journal.store.reading() as r:
                self._to = self._to or address(r)
                self._at = position(r, journal.workspace_id, self._to)
        return self._at

    # ── on a worker thread ──

    def _work(self, params: OutboxParams, at: Position, come: Callable[[_Found], None]) -> Callable[[], None]:
        journal = self._host.recorder.journal
        with journal.store.reading() as r:
            moved = params.restart
            if moved:
                self._restarted = at.number
                at = beginning(r, journal.workspace_id)
            took = b""
            # Another number: the answer to it was lost, or another shipper was first.
            if params.took and (params.gap or params.number) == at.number + 1:
                last = self._sealed
                ours = last is not None and last.hash == hashlib.sha256(params.took).digest()
                adopt = adopted_after_gap if params.gap else adopted
                after = last if ours else adopt(r, at, params.took)
                if after is None:
                    return lambda: come(_Found(at, fork=True))
                at, moved, took = lineage(r, after), True, params.took
            if params.look:
                return lambda: come(_Found(at, moved, took=took))
            before = receipt(r, at.number + 1)
            again = before if before is not None and before.first == at.seq + 1 else None
            keys = ContentKeys(r, lambda: secrets.token_bytes(_KEY_BYTES))
            now_ns, breathe = self._host.clock.now_ns(), Breather(self._host)
            sign = self._sign(again.at_s if again is not None else now_ns // 1_000_000_000)
            sealed = seal(r, at, self._rules(), keys, sign, now_ns, breathe, self._bases, again)
        was_there = before is not None or at.number < self._restarted
        changed = was_there and sealed is not None and (before is None or before.hash != sealed.after.hash)
        return lambda: come(_Found(at, moved, sealed=sealed, changed=changed, took=took, keys=keys.new))

    def _sign(self, at_s: int) -> Callable[[Frontier], str]:
        head = HeadFolder.of(self._state).head()
        private = private_key(self._state, secrets.token_bytes(_KEY_BYTES))
        origin = head.origin if head is not None else f"{DOMAIN}/{self._host.recorder.journal.workspace_id}/{at_s}"
        return lambda tree: signed(TreeHead(origin, tree.size, tree.root()), private, at_s).encoded()

    def journal(self) -> str:
        """Return the name of this journal at the remote store; it changes if the history forks from the shipped one."""
        return self._position().journal

    def hidden(self) -> Hidden:
        """Return a function on paths: True if nothing about the path may leave this machine."""
        settings = self._host.in_force.now
        paths, deny = ([matches(glob) for glob in globs if glob] for globs in (settings.ship.paths, settings.ship.deny))

        def hidden(path: str) -> bool:
            name = disk_path(path)
            return (
                self._ignore.secret(name)
                or self._ignore.ignored(name, False)
                or any(match(path) for match in deny)
                or (bool(paths) and not any(match(path) for match in paths))
            )

        return hidden

    def _rules(self) -> Rules:
        settings, hidden = self._host.in_force.now, self.hidden()
        secret = self._secret if settings.capture.scan_secrets else lambda path, data: None
        return Rules(hidden, settings.ship.bytes == "all", secret)

    def _secret(self, path: str, data: bytes) -> object:
        key = path.encode("utf-8", "surrogateescape")
        before = self._clean.find(key) or b""
        found = secret_scan.find_new(data, before) if before else secret_scan.find(data)
        if found is None:
            self._clean.forget(key)
            self._clean.keep(key, data)
        return found

    # ── in the loop ──

    def _forget_texts(self) -> None:
        self._bases = BlobCache(_TEXTS_BYTES)  # by number
        self._clean = BlobCache(_TEXTS_BYTES)  # by path: the last text, if it holds no secret

    def _take(self, found: _Found) -> SealedSegment | None:
        self._at, self._moved = found.at, self._moved or found.moved
        if found.at.seq >= self._lost.get("records", 0):
            self._lost = {}  # what can be there is there again
        if found.fork:
            fork = fork_at(found.at, secrets.token_hex(4))
            self._host.recorder.note(fork)
            self._host.commit_noted()
            self._at, self._moved = forked(found.at, fork), True
        if found.keys:
            with self._host.recorder.journal.store.reading() as r:
                if not all(blobs.holds(r, blob) for blob in found.keys):
                    return None  # purged while it was sealed: no key of it may be made
        self._store(found.keys, found.took)
        self._sealed = found.sealed.after if found.sealed is not None else None
        return found.sealed

    def _store(self, keys: Mapping[bytes, bytes] = MappingProxyType({}), took: bytes = b"") -> None:
        if self._at is not None and (keys or self._moved):
            with self._host.recorder.journal.store.writing() as w:
                keep_keys(w, keys)
                keep_position(w, self._at, self._to)
                if took:
                    keep_receipt(w, took)
            self._moved = False

    def _reply(
        self, sealed: SealedSegment | None, changed: bool = False, at: Position | None = None, to: str = ""
    ) -> dict[str, Any]:
        at = at or self._position()
        behind = max(0, self._host.recorder.journal.head - at.seq)
        body: dict[str, Any] = {
            "ok": True,
            "message": f"{counted(behind, 'record')} to be shipped." if behind else "Everything was shipped.",
            "to": to or self._to or self._host.in_force.now.ship.to,
            "journal": at.journal,
            "holder": at.holder,
            "number": at.number,
            "hash": at.hash.hex(),
            "records": at.seq,
            "behind": behind,
            **({"gaps": list(at.gaps)} if at.gaps else {}),
        }
        if sealed is not None:
            body |= {"segment": sealed.data, "contents": sealed.contents, **({"changed": True} if changed else {})}
        return body
