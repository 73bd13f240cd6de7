"""News of other hosts of the repository, which `quire ship` receives at the hub. Pure.

News is validated like untrusted input. Its age is measured by this daemon's clock: a host without news for `FRESH_S`
counts as gone. A lease's end is sent as nanoseconds from now, since no two clocks are compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import msgspec

from quire_daemon.family.compare import Elsewhere
from quire_daemon.family.note import MOST_NAME, ChangedFile, HeldLease, Note, checked
from quire_journal.model import plain

FRESH_S: Final = 15.0
MOST_HOSTS: Final = 200
MOST_WRITERS: Final = 50

GRACE_NS: Final = 5_000_000_000
"""Age in nanoseconds of an own lease from which warnings are given: a new one takes time to reach the hub."""

Standing = Literal["held", "taken", "unconfirmed"]
"""Standing of an own exclusive lease at the hub: `taken` means that another host holds one there, `unconfirmed` that
nothing is known for certain.
"""

UNCONFIRMED: Final = "lease_unconfirmed"
TAKEN: Final = "lease_taken"


class HubLease(msgspec.Struct, frozen=True):
    """State at the hub of an exclusive lease of this checkout, as `quire ship` reports it."""

    standing: Standing
    for_s: float = 0.0  # seconds for which nobody else can get it
    token: int = 0  # fencing token: greater than that of every earlier holder; 0: never granted


class RemoteWriter(msgspec.Struct, frozen=True, omit_defaults=True):
    """A writer in a checkout on another host."""

    agent: str
    session: str = ""
    present: bool = True
    paths: Sequence[str] = ()  # files that were written recently


class RemoteHost(msgspec.Struct, frozen=True):
    """News of a checkout on another host."""

    host: str
    checkout: str  # name of its folder
    journal: str
    note: Note
    writers: Sequence[RemoteWriter] = ()
    silent_s: float = 0.0  # seconds since its last news

    @property
    def label(self) -> str:
        return f"{self.host}:{self.checkout}"


class _Heard(NamedTuple):
    at_s: float
    remote: RemoteHost
    files: Mapping[str, ChangedFile]


class RemoteHosts:
    """News of other hosts, and the states of own leases at the hub. Times are those of the daemon's monotonic clock."""

    def __init__(self, in_team: bool = False) -> None:
        self._heard: dict[str, _Heard] = {}  # by journal
        self._leases: Mapping[int, tuple[float, HubLease]] = {}  # own number → (time until it is surely held, state)
        self._asked_s = float("-inf")
        self.in_team = in_team  # own leases must be held at the hub

    def hear(self, said: Sequence[RemoteHost], leases: Mapping[int, HubLease], mono_s: float, now_ns: int) -> None:
        """Replace all news and states by those that the shipper received."""
        self.in_team, self._asked_s = True, mono_s
        self._leases = {number: (mono_s + lease.for_s, lease) for number, lease in leases.items()}
        self._heard = {remote.journal: _heard(remote, mono_s, now_ns) for remote in said[:MOST_HOSTS]}

    def leave(self) -> None:
        """Forget all news, as the checkout has left the team."""
        self.in_team, self._heard, self._leases, self._asked_s = False, {}, {}, float("-inf")

    def linked(self, mono_s: float) -> bool:
        """Return True if `quire ship` brought news within `FRESH_S` seconds."""
        return mono_s - self._asked_s <= FRESH_S

    def lease(self, number: int, mono_s: float) -> HubLease:
        """Return the state at the hub of an own exclusive lease: `held` or `taken` while that is certain, whether or
        not `quire ship` still runs, else `unconfirmed`.
        """
        until_s, lease = self._leases.get(number, (0.0, HubLease("unconfirmed")))
        sure = lease.standing == "held" and mono_s < until_s
        fresh = lease.standing == "taken" and self.linked(mono_s)
        return lease if sure or fresh else HubLease("unconfirmed", 0.0, lease.token)

    def present(self, mono_s: float) -> list[RemoteHost]:
        """Return the hosts with news within `FRESH_S` seconds; `silent_s` is the age of the news in seconds."""
        return [
            msgspec.structs.replace(one.remote, silent_s=round(mono_s - one.at_s, 1)) for one in self._fresh(mono_s)
        ]

    def changed(self, path: str, mine: str, mono_s: float) -> Iterator[Elsewhere]:
        """Yield other hosts' uncommitted changes of a file, unless they have its local bytes (sha256 `mine`)."""
        for one in self._fresh(mono_s):
            file = one.files.get(path)
            if file is not None and file.sha256 != mine:
                remote = one.remote
                yield Elsewhere(Path(remote.journal), Path(remote.label), remote.note.branch, file, "", None)

    def leases(self, mono_s: float) -> Iterator[tuple[Path, Sequence[HeldLease]]]:
        """Yield (label, leases) of each other host with recent news."""
        for one in self._fresh(mono_s):
            yield Path(one.remote.label), one.remote.note.leases

    def _fresh(self, mono_s: float) -> Iterator[_Heard]:
        return (one for one in self._heard.values() if mono_s - one.at_s <= FRESH_S)


def _heard(remote: RemoteHost, mono_s: float, now_ns: int) -> _Heard:
    note = checked(remote.note)
    leases = [msgspec.structs.replace(one, expires_ns=now_ns + one.expires_ns) for one in note.leases]
    known = msgspec.structs.replace(
        remote,
        host=plain(remote.host, MOST_NAME),
        checkout=plain(remote.checkout, MOST_NAME),
        note=msgspec.structs.replace(note, leases=leases),
        writers=[_plain(writer) for writer in remote.writers[:MOST_WRITERS]],
    )
    return _Heard(mono_s - max(0.0, remote.silent_s), known, {file.path: file for file in note.files})


def standing_told(lease: HeldLease, standing: Standing) -> dict[str, Any]:
    """Build the warning about a lease of this checkout that another host has, too (`taken`), or that the hub does not
    confirm.
    """
    if standing == "taken":
        message = f"Another host has a lease on {lease.path} as well; `quire claims --all-checkouts` says who."
        return {"type": TAKEN, "message": message, "path": lease.path}
    message = f"The hub does not confirm the lease on {lease.path}: another host may take one. It holds here."
    return {"type": UNCONFIRMED, "message": message, "path": lease.path}


def _plain(writer: RemoteWriter) -> RemoteWriter:
    agent, session = plain(writer.agent, MOST_NAME), plain(writer.session, MOST_NAME)
    return msgspec.structs.replace(writer, agent=agent, session=session, paths=list(writer.paths[:MOST_WRITERS]))
