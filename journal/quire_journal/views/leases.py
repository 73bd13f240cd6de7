"""Leases view: claims on files, folders and globs, and when they expire.

A lease expires without a record, so every query takes `now_ns`. A broken lease restricts nobody, but is stored for its
holder until it expires or is released.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from quire_journal.model import (
    Event,
    LeaseBroken,
    LeaseExpired,
    LeaseGranted,
    LeaseReleased,
    LeaseRenewed,
    LineRange,
    Record,
)
from quire_journal.storage import ReadTransaction, WriteTransaction, u64
from quire_journal.views.clock import over
from quire_journal.views.writers import caller_of

TABLES = ("leases", "broken_leases")
KINDS: Final = (LeaseGranted, LeaseRenewed, LeaseReleased, LeaseExpired, LeaseBroken)

INTENT: Final = "intent"
SHARED: Final = "shared"
EXCLUSIVE: Final = "exclusive"


class Lease(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Lease on a file, folder, glob or lines. `number` is also its fencing token, which rises from lease to lease."""

    number: int  # seq of the grant; 0: a waiting claim
    holder: bytes  # the caller's key
    writer: int  # writer id of the holder at the grant
    strength: str
    path: str
    form: str  # "file", "folder", "glob"
    granted_ns: int
    expires_ns: int
    reason: str = ""
    lines: LineRange | None = None
    version: int = 0  # the version to which `lines` refer
    bind: str = "session"
    broken: int = 0  # seq of the record that broke the lease

    def binds(self, now_ns: int) -> bool:
        """True if the lease restricts other callers at this time."""
        return not self.broken and not self.over_at(now_ns)

    def over_at(self, now_ns: int) -> bool:
        return over(self.expires_ns, now_ns)


_ENCODER: Final = msgspec.msgpack.Encoder()
_LEASE: Final = msgspec.msgpack.Decoder(Lease)


def fold(w: WriteTransaction, record: Record, event: Event | None) -> None:
    """Add, renew, end or break a lease. Events about ended or broken leases change nothing, but a broken lease can be
    released.
    """
    match event:
        case LeaseGranted():
            _forget_broken(w, record.at_ns)
            _put(
                w,
                Lease(
                    record.seq,
                    caller_of(w, record.writer),
                    record.writer,
                    event.strength,
                    event.path,
                    event.form,
                    record.at_ns,
                    event.expires_ns,
                    event.reason,
                    event.lines,
                    event.version,
                    event.bind,
                ),
            )
        case LeaseRenewed():
            held = lease(w, event.lease)
            if held is not None and not held.broken:
                reason = event.reason or held.reason
                _put(w, msgspec.structs.replace(held, expires_ns=event.expires_ns, reason=reason))
        case LeaseReleased() | LeaseExpired():
            for table in TABLES:
                w.delete(table, _key(event.lease))
        case LeaseBroken():
            held = lease(w, event.lease)
            if held is not None and not held.broken:
                w.delete("leases", _key(event.lease))
                _put(w, msgspec.structs.replace(held, broken=record.seq), "broken_leases")
        case _:
            pass


def lease(r: ReadTransaction, number: int) -> Lease | None:
    """Return the lease with this number, even if broken or expired; None if it ended."""
    found = next((stored for table in TABLES if (stored := r.get(table, _key(number))) is not None), None)
    return None if found is None else _LEASE.decode(found)


def leases(r: ReadTransaction) -> Iterator[Lease]:
    """Yield every lease that no record has ended, oldest first, then broken leases; some may have expired."""
    for table in TABLES:
        for _, value in r.scan(table):
            yield _LEASE.decode(value)


def _key(number: int) -> bytes:
    return u64(number if 0 < number < 1 << 63 else 0)


def _put(w: WriteTransaction, held: Lease, table: str = "leases") -> None:
    w.put(table, u64(held.number), _ENCODER.encode(held))


def _forget_broken(w: WriteTransaction, now_ns: int) -> None:
    for key, value in list(w.scan("broken_leases")):
        if _LEASE.decode(value).over_at(now_ns):
            w.delete("broken_leases", key)
