"""Membership of a checkout in a team while `quire ship` runs: presence, leases, and news for the checkout's daemon.

Only uncommitted changes are sent: git transports commits.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from quire_client.cli import git_output
from quire_client.hub.keeper import Kept, LeaseKeeper
from quire_client.hub.nats_leases import NatsLeases
from quire_client.hub.presence import BEAT_S, News, Presence
from quire_client.hub.team import Card, Cards
from quire_client.ship import NatsConnection
from quire_journal.workspaces import Place, family_in, members

STEP_S: Final = 1.0
"""Shortest time in seconds between two steps."""

MOST_FILES: Final = 200
"""Maximum number of changed files that are sent, the latest."""

CARD_S: Final = 10.0
"""Seconds between two checks of this checkout's card, which a server may lose."""

FOLDER: Final = "folder-"
"""Prefix of the id of a folder that is no git repository."""

_EXCLUSIVE: Final = "exclusive"

Exchange = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Calls the tool `hub` of the daemon."""


class TeamMember:
    """A checkout as a member of its team. `step` is called repeatedly, also after it raised an error of the hub."""

    def __init__(
        self,
        connection: NatsConnection,
        exchange: Exchange,
        writers: Callable[[], Iterable[Mapping[str, Any]]],
        keys: Sequence[str],
        place: Place,
        environ: Mapping[str, str],
        now_s: Callable[[], float],
    ) -> None:
        """`exchange` calls the daemon's tool `hub`. `writers`: rows of the tool `who`. `keys`: verifier keys of the
        signed heads. Raises `FarSideUnreachable`.
        """
        self._exchange, self._writers = exchange, writers
        self._place, self._environ, self._now_s = place, environ, now_s
        self._host = host_name(environ)
        first = exchange({})
        self._checkout = str(first["checkout"])
        self._holder = hashlib.sha256(f"{_boot()} {place.state}".encode(errors="surrogateescape")).hexdigest()[:20]
        self._repository = repository_of(place.root, environ)
        self._family = family_in(place.state, place.root)
        self._is_git = not self._repository.startswith(FOLDER)
        self._presence = Presence(connection, self._repository, str(first["journal"]), now_s)
        self._keeper = LeaseKeeper(NatsLeases(connection), now_s)
        self._cards = Cards(connection)
        self._verifiers = "\n".join(keys)
        self._taken: set[str] = set()  # keys of leases that other hosts hold
        self._keys: dict[str, str] = {}  # number of an exclusive lease here → its key at the hub
        self._files: Sequence[Any] = ()
        self._uncommitted: frozenset[str] = frozenset()
        self._stepped_s = self._carded_s = self._asked_s = float("-inf")

    def step(self) -> None:
        """Exchange news between daemon and hub, and renew leases; do nothing within `STEP_S` seconds of the last step.
        Raises `FarSideUnreachable`.
        """
        now_s = self._now_s()
        if now_s - self._stepped_s < STEP_S:
            return
        self._stepped_s = now_s
        family = {one.identity.id for one in members(self._family) if one.place != self._place}  # has its own notes
        heard = [news for news in self._presence.heard() if news["journal"] not in family]
        told = self._exchange({"hosts": heard, "leases": self._kept()})
        note, journal = dict(told["note"]), str(told["journal"])
        self._keep(note.get("leases") or ())
        self._presence.tell(self._news(note), journal)
        if now_s - self._carded_s >= CARD_S:
            self._cards.put(Card(journal, self._host, self._checkout, self._repository, self._verifiers))
            self._carded_s = now_s

    def _news(self, note: Mapping[str, Any]) -> News:
        files = self._changed(note.get("files") or ())
        named = {file[0] for file in files}
        writers = [_writer(row, named) for row in self._writers() if row.get("present")]
        leases = [[*lease[:4], round(lease[4], -10), *lease[5:]] for lease in note.get("leases") or ()]
        return {
            "host": self._host,
            "checkout": self._checkout,
            "note": {**note, "files": files, "leases": leases},
            "writers": [one for one in writers if one["agent"] or one["paths"]],
        }

    def _changed(self, files: Sequence[Any]) -> list[Any]:
        """Return those of `files` that are not committed. Git is asked when `files` changes, and every `BEAT_S`
        seconds, as a commit does not change `files`.
        """
        if self._is_git and (files != self._files or self._now_s() - self._asked_s >= BEAT_S):
            self._files, self._asked_s = files, self._now_s()
            self._uncommitted = uncommitted(self._place.root, self._environ)
        return [file for file in files if not self._is_git or file[0] in self._uncommitted][-MOST_FILES:]

    def _keep(self, leases: Iterable[list[Any]]) -> None:
        """Hold the exclusive leases among this checkout's `leases` at the hub, and release all others there."""
        wanted: dict[str, bytes] = {}
        self._keys = {}
        for number, path, form, strength, _, *rest in leases:
            if strength == _EXCLUSIVE:
                key = _key(self._repository, path, form, rest[3] if len(rest) > 3 else None)
                said = {"host": self._host, "checkout": self._checkout, "holder": self._holder}
                wanted[key] = json.dumps(said, sort_keys=True).encode()
                self._keys[str(number)] = key
        self._taken = {key for key, kept in self._keeper.keep(wanted).items() if kept.standing == "taken"}

    def _kept(self) -> dict[str, dict[str, Any]]:
        """Return the current state at the hub of this checkout's exclusive leases, by number."""
        kept = {number: self._keeper.kept(key) for number, key in self._keys.items()}
        taken = Kept("taken")
        return {number: (taken if self._keys[number] in self._taken else one)._asdict() for number, one in kept.items()}


def host_name(environ: Mapping[str, str]) -> str:
    """Return the name of this host in its team: `QUIRE_HOST`, or the host name without its domain."""
    return environ.get("QUIRE_HOST") or socket.gethostname().partition(".")[0] or "host"


def repository_of(root: Path, environ: Mapping[str, str]) -> str:
    """Return an id that all clones of a repository share, from its first commit; without git, from its name."""
    roots = git_output(("rev-list", "--max-parents=0", "HEAD"), root, environ).split()
    if roots:
        return min(roots)[:20]
    return FOLDER + hashlib.sha256(os.fsencode(root.name)).hexdigest()[:16]


def uncommitted(root: Path, environ: Mapping[str, str]) -> frozenset[str]:
    """Return the paths that differ from HEAD, and new files that are not ignored."""
    changed = git_output(("diff", "--name-only", "--no-renames", "-z", "HEAD"), root, environ)
    new = git_output(("ls-files", "--others", "--exclude-standard", "-z"), root, environ)
    return frozenset(filter(None, (changed + new).split("\0")))


def _writer(row: Mapping[str, Any], named: set[str]) -> dict[str, Any]:
    on = row.get("on") or {}
    paths = [str(file.get("path", "")) for file in on.get("writing") or ()]
    return {
        "agent": str(row.get("agent") or ""),
        "session": str(row.get("agent_session") or ""),
        "present": True,
        "paths": [path for path in paths if path in named],
    }


def _key(repository: str, path: str, form: str, lines: object) -> str:
    """Return the key of a lease at the hub: the repository's id, and a hash that hides the path."""
    return f"{repository}." + hashlib.sha256(json.dumps([form, path, lines]).encode()).hexdigest()[:40]


def _boot() -> str:
    """Return the id of the machine's boot, which differs in a clone of the machine with the same journals; "" if
    unknown.
    """
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
