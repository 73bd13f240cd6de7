"""Other hosts of the repository, as `quire ship` heard of them at the hub; pure.

What another host says is checked as if a stranger had. It ages by the clock of this daemon: a host that was not heard
of for `FRESH_S` is gone. Ends of leases come as nanoseconds from now on, since no two clocks are compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from quire_daemon.family.compare import Elsewhere
from quire_daemon.family.note import MOST_NAME, ChangedFile, HeldLease, Note, checked
from quire_journal.model import plain

FRESH_S: Final = 15.0
MOST_HOSTS: Final = 200
MOST_WRITERS: Final = 50

UNCONFIRMED: Final = "lease_unconfirmed"
TAKEN: Final = "lease_taken"


class RemoteWriter(msgspec.Struct, frozen=True, omit_defaults=True):
    """Somebody who writes in a checkout of another host."""

    agent: str
    session: str = ""
    present: bool = True
    paths: Sequence[str] = ()  # of files that were written recently


class RemoteHost(msgspec.Struct, frozen=True):
    """What a checkout on another host tells the team."""

    host: str
    checkout: str  # name of its folder
    journal: str
    note: Note
    writers: Sequence[RemoteWriter] = ()
    silent_s: float = 0.0  # seconds since it was heard of

    @property
    def label(self) -> str:
        return f"{self.host}:{self.checkout}"


class _Heard(NamedTuple):
    at_s: float
    remote: RemoteHost
    files: Mapping[str, ChangedFile]


class RemoteHosts:
    """The hosts that were heard of. Times are those of the daemon's monotonic clock."""

    def __init__(self) -> None:
        self._heard: dict[str, _Heard] = {}  # by journal
        self.standing: Mapping[int, str] = {}  # own lease → "held", "taken" or "unconfirmed" at the hub
        self.asked_s = float("-inf")

    def hear(self, said: Sequence[RemoteHost], standing: Mapping[int, str], mono_s: float, now_ns: int) -> None:
        """Take what the shipper heard; all of it, each time."""
        self.asked_s, self.standing = mono_s, standing
        self._heard = {}
        for remote in said[:MOST_HOSTS]:
            note = checked(remote.note)
            leases = [msgspec.structs.replace(one, expires_ns=now_ns + one.expires_ns) for one in note.leases]
            known = msgspec.structs.replace(
                remote,
                host=plain(remote.host, MOST_NAME),
                checkout=plain(remote.checkout, MOST_NAME),
                note=msgspec.structs.replace(note, leases=leases),
                writers=[_plain(writer) for writer in remote.writers[:MOST_WRITERS]],
            )
            files = {file.path: file for file in note.files}
            self._heard[remote.journal] = _Heard(mono_s - max(0.0, remote.silent_s), known, files)

    def present(self, mono_s: float) -> list[RemoteHost]:
        """The hosts that are heard of, each with the seconds since."""
        return [
            msgspec.structs.replace(one.remote, silent_s=round(mono_s - one.at_s, 1)) for one in self._fresh(mono_s)
        ]

    def changed(self, path: str, mine: str, mono_s: float) -> Iterator[Elsewhere]:
        """Other hosts' uncommitted changes of a file that is `mine` (its sha256) here."""
        for one in self._fresh(mono_s):
            file = one.files.get(path)
            if file is not None and file.sha256 != mine:
                remote = one.remote
                yield Elsewhere(Path(remote.journal), Path(remote.label), remote.note.branch, file, "", None)

    def leases(self, mono_s: float) -> Iterator[tuple[Path, Sequence[HeldLease]]]:
        """The leases of each other host."""
        for one in self._fresh(mono_s):
            yield Path(one.remote.label), one.remote.note.leases

    def _fresh(self, mono_s: float) -> Iterator[_Heard]:
        return (one for one in self._heard.values() if mono_s - one.at_s <= FRESH_S)


def standing_told(lease: HeldLease, standing: str) -> dict[str, Any]:
    """The warning about a lease of this checkout that other hosts may not know."""
    if standing == "taken":
        message = f"Another host has a lease on {lease.path} as well; `quire claims --all-checkouts` says who."
        return {"type": TAKEN, "message": message, "path": lease.path}
    message = f"The hub does not confirm the lease on {lease.path}: another host may take one. It holds here."
    return {"type": UNCONFIRMED, "message": message, "path": lease.path}


def _plain(writer: RemoteWriter) -> RemoteWriter:
    agent, session = plain(writer.agent, MOST_NAME), plain(writer.session, MOST_NAME)
    return msgspec.structs.replace(writer, agent=agent, session=session, paths=list(writer.paths[:MOST_WRITERS]))
