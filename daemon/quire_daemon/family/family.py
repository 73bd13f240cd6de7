"""The main loop's part of a family: writes this checkout's note, and adds warnings about other checkouts to replies. A
reply only uses the last result of `compare`.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from quire_daemon.commit import Recorder
from quire_daemon.config import LiveSettings
from quire_daemon.core import Call
from quire_daemon.family.bell import BELL, Bell, ring
from quire_daemon.family.compare import Comparer, KnownElsewhere
from quire_daemon.family.note import MOST_FILES, MOST_LEASES, ChangedFile, HeldLease, Note, encoded
from quire_daemon.family.remote import GRACE_NS, HubLease, RemoteHost, RemoteHosts, standing_told
from quire_daemon.family.told import lease_told, told
from quire_daemon.ops import Log
from quire_daemon.tools.leases import covers
from quire_daemon.watch.git import MergeBases
from quire_daemon.workers import StartJob
from quire_journal.history import History, is_by_git
from quire_journal.model import (
    CAPTURED,
    LeaseBroken,
    LeaseExpired,
    LeaseGranted,
    LeaseReleased,
    LeaseRenewed,
    Record,
    paths_of,
)
from quire_journal.views import EXCLUSIVE, Lease, Version
from quire_journal.workspaces import (
    MOST_NOTE_BYTES,
    Place,
    branch_of,
    family_of,
    hub_file,
    members,
    note_file,
    state_home,
)

MOST_RECORDS: Final = 2_000
"""Maximum number of newest records searched for changed files."""

AROUND_S: Final = 60.0
"""Seconds between two searches for new or removed checkouts and missed notes."""

PAUSE_S: Final = 0.02
LONGEST_PAUSE_S: Final = 0.1
"""Maximum seconds between two comparisons of checkouts. The pause grows while changes keep coming."""

MOST_TOLD: Final = 10_000
LEASES: Final = (LeaseGranted, LeaseRenewed, LeaseReleased, LeaseExpired, LeaseBroken)

TOOLS: Final = ("read_file", "native", "claim")
"""Tools whose replies warn about other checkouts, besides all writing tools."""


class FamilyPoll(Protocol):
    def watch(self, fd: int) -> None: ...
    def unwatch(self, fd: int) -> None: ...
    def ready(self, fd: int) -> bool: ...


class Family:
    """Warns callers about changes in other checkouts. Main loop only. A journal outside the standard state folder has
    no family.
    """

    def __init__(
        self,
        root: Path,
        state: Path,
        recorder: Recorder,
        in_force: LiveSettings,
        poll: FamilyPoll,
        start_job: StartJob,
        log: Log,
    ) -> None:
        self._place, self._in_force, self._poll, self._start_job = Place(root, state), in_force, poll, start_job
        self._recorder, self._clock, self._log = recorder, recorder.clock, log
        self._bases = MergeBases(root)
        self._bell: Bell | None = None
        self._comparer: Comparer | None = None
        self._family = ""
        self._files: OrderedDict[str, ChangedFile] = OrderedDict()  # that were written here, the latest last
        self._looked = 0  # the newest record that was looked at
        self._touched: set[str] = set()  # since the last run
        self._rung: set[Path] = set()
        self._around_s = float("-inf")
        self._runs = self._has_left = False
        self._pause_s = PAUSE_S
        self._said = b""  # the note
        self._known = KnownElsewhere({}, {}, ())
        self._told: dict[tuple[Any, ...], None] = {}
        self._remote = RemoteHosts(hub_file(state).exists())

    def open(self) -> None:
        place = self._place
        if place.state.parent != Path(os.path.realpath(state_home())):
            return
        self._family = family_of(place.root, self._in_force.now.family.name)
        if not self._family:
            note_file(place.state).unlink(missing_ok=True)
            return
        self._comparer = Comparer(place.root, place.state, self._family, self._bases)
        try:
            self._bell = Bell(place.socket.with_suffix(BELL))
            self._poll.watch(self._bell.fileno())
        except OSError as error:  # it is looked for notes all the same
            self._log.warning("family", error=str(error))
        self._looked = max(0, self._recorder.journal.head - MOST_RECORDS)

    def databases(self) -> list[str]:
        """Return the folders of the databases of the other checkouts' journals. For any thread."""
        found = members(self._family) if self._comparer is not None else ()
        return [os.fspath(one.place.journal / "db") for one in found if one.place.state != self._place.state]

    def look(self) -> None:
        """Collect files changed here and announcements of other checkouts; if there are any, start a comparison. Called
        after each pass of the main loop.
        """
        if self._comparer is None:
            return
        if self._bell is not None and self._poll.ready(self._bell.fileno()):
            home = self._place.state.parent
            self._rung |= {home / name for name in self._bell.rung()}
        if self._runs:  # changes come together
            return
        self._collect()
        if self._touched or self._rung:
            self._run()

    def tidy(self) -> None:
        """Search for new and removed checkouts if it is time. Called about once a second."""
        if self._comparer is not None and not self._runs and self._clock.mono_s() - self._around_s >= AROUND_S:
            self._around_s = self._clock.mono_s()
            self._run(look_around=True)

    def close(self) -> None:
        self._bases.close()
        if self._bell is not None:
            self._poll.unwatch(self._bell.fileno())
            self._bell.close()
            self._bell = None
        self._comparer = None

    # ── what callers are told ──

    def notices(self, call: Call, body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield warnings about the files of `call` that other checkouts changed or leased, each once for a caller."""
        known = self._known
        silent = not (known.files or known.leases or self._remote.in_team)
        if silent or not (call.tool.writes or call.tool.name in TOOLS):
            return
        now_ns = self._clock.now_ns()
        for path in _paths(call, body, os.fspath(self._place.root)):
            yield from self._notices_of_hosts(call, path, now_ns)
            for one in known.files.get(path, ()):
                present = self._sha256(path) == one.mine
                clean = one.preview.conflicts if one.preview is not None and present else None
                if self._is_new((call.who.key, path, one.state, one.file.sha256, clean)):
                    yield told(one, clean, now_ns)
            for root, leases in known.leases.items():
                for lease in leases:
                    key = (call.who.key, path, root, lease.number)
                    if lease.expires_ns > now_ns and _covers(lease, path) and self._is_new(key):
                        yield lease_told(root, path, lease)

    # ── other hosts ──

    def hear(self, said: Sequence[RemoteHost], leases: Mapping[int, HubLease]) -> None:
        """Take over what `quire ship` received at the hub: news of other hosts, and the states there of own leases."""
        self._remote.hear(said, leases, self._clock.mono_s(), self._clock.now_ns())

    def join_hub(self) -> None:
        """Record that this checkout has joined a team, so that its exclusive leases must be held at the hub."""
        self._remote.in_team = True

    def leave_hub(self) -> None:
        """Forget the team's hosts and leases, as this checkout has left the team."""
        self._remote.leave()

    def hosts(self) -> list[RemoteHost]:
        """Return the checkouts on other hosts with recent news."""
        return self._remote.present(self._clock.mono_s())

    def linked(self) -> bool:
        """Return True if `quire ship` has recently brought news of other hosts."""
        return self._remote.linked(self._clock.mono_s())

    def leases_at_hub(self) -> dict[int, HubLease]:
        """Return the state of each own exclusive lease at the hub, by number; empty outside a team."""
        if not self._remote.in_team:
            return {}
        mono_s, now_ns = self._clock.mono_s(), self._clock.now_ns()
        with self._recorder.history() as history:
            own = [one for one in history.leases() if one.strength == EXCLUSIVE and one.binds(now_ns)]
        return {one.number: self._remote.lease(one.number, mono_s) for one in own}

    def told_to_hosts(self, hidden: Callable[[str], object]) -> Note:
        """Return the note (changed files, leases) for other hosts, without hidden paths, glob leases and reasons;
        `expires_ns` of a lease is relative to now.
        """
        self._collect(first=True)
        note, now_ns = self._note(), self._clock.now_ns()
        files = [file for file in note.files if not hidden(file.path)]
        leases = [
            msgspec.structs.replace(lease, expires_ns=lease.expires_ns - now_ns, reason="")
            for lease in note.leases
            if lease.form != "glob" and not hidden(lease.path)
        ]
        return msgspec.structs.replace(note, family="", files=files, leases=leases)

    def _notices_of_hosts(self, call: Call, path: str, now_ns: int) -> Iterator[dict[str, Any]]:
        mono_s = self._clock.mono_s()
        if not self._remote.in_team:
            return
        for one in self._remote.changed(path, self._sha256(path), mono_s):
            if self._is_new((call.who.key, path, one.state, one.file.sha256)):
                yield told(one, None, now_ns)
        for root, leases in self._remote.leases(mono_s):
            for lease in leases:
                key = (call.who.key, path, root, lease.number)
                if lease.expires_ns > now_ns and _covers(lease, path) and self._is_new(key):
                    yield lease_told(root, path, lease)
        yield from self._notices_of_own_leases(call, path, mono_s, now_ns)

    def _notices_of_own_leases(self, call: Call, path: str, mono_s: float, now_ns: int) -> Iterator[dict[str, Any]]:
        """Yield a warning about each own exclusive lease on `path` that the hub does not confirm as held."""
        with self._recorder.history() as history:
            own = [
                _held(one, history)
                for one in history.leases()
                if one.strength == EXCLUSIVE and one.binds(now_ns) and now_ns - one.granted_ns >= GRACE_NS
            ]
        for lease in own:
            standing = self._remote.lease(lease.number, mono_s).standing
            if standing == "held" or not _covers(lease, path):
                self._told.pop((call.who.key, path, lease.number, "unconfirmed"), None)
            elif self._is_new((call.who.key, path, lease.number, standing)):
                yield standing_told(lease, standing)

    def _sha256(self, path: str) -> str:
        with self._recorder.history() as history:
            return _sha256(history.file(path))

    def _is_new(self, key: tuple[Any, ...]) -> bool:
        if key in self._told:
            return False
        if len(self._told) >= MOST_TOLD:
            self._told.clear()
        self._told[key] = None
        return True

    # ── a run ──

    def _collect(self, first: bool = False) -> None:
        head = self._recorder.journal.head
        if head == self._looked or not (self._known.bells or first):
            return
        after, self._looked = max(self._looked, head - MOST_RECORDS), head
        with self._recorder.history() as history:
            for record in history.records(after, head):
                self._collect_from(record, history)
        while len(self._files) > MOST_FILES:
            self._files.popitem(last=False)

    def _collect_from(self, record: Record, history: History) -> None:
        event = record.event()
        if isinstance(event, LEASES):
            self._touched.add("")  # no file: the note is new
        for path in paths_of(event):
            version = history.file(path)
            if version is None or version.seq < record.seq:
                continue
            self._touched.add(path)
            known = self._files.pop(path, None)
            moved = version.evidence == CAPTURED or is_by_git(str(getattr(event, "hint", "")))
            if version.uncaptured or version.entry or (moved and known is None):
                continue
            who = history.writer_json(version.writer, version.type)
            names = (known.agent, known.session) if moved and known else (who["agent"], who["agent_session"])
            at_ns = known.at_ns if moved and known else version.at_ns
            self._files[path] = ChangedFile(path, _sha256(version), version.gone, at_ns, *names)

    def _note(self) -> Note:
        now_ns = self._clock.now_ns()
        with self._recorder.history() as history:
            held = [_held(one, history) for one in history.leases() if one.binds(now_ns)]
        branch = branch_of(self._place.root)
        return Note(self._family, "", branch, [*self._files.values()], held[-MOST_LEASES:])

    def _run(self, look_around: bool = False) -> None:
        comparer = self._comparer
        assert comparer is not None
        touched, rung = self._touched, self._rung
        self._touched, self._rung, self._runs = set(), set(), True
        if look_around and not self._has_left:
            self._collect(first=True)  # a first note has what stands in the journal
        note, bells, name = self._note(), self._known.bells, self._place.state.name

        def work() -> Callable[[], None]:
            said = encoded(msgspec.structs.replace(note, head=self._bases.head()))
            new = said != self._said and len(said) <= MOST_NOTE_BYTES
            if new:  # first: the others compare meanwhile
                _leave(note_file(self._place.state), said)
                ring(bells, name)
            found = comparer.run(touched, rung, look_around)
            ring([bell for bell in found.bells if new and bell not in bells], name)
            return partial(self._come, found, said)

        self._start_job(work, "family", self._failed)

    def _come(self, found: KnownElsewhere, said: bytes) -> None:
        self._known, self._said = found, said
        self._has_left = True
        self._start_job(self._rest, "family", self._failed)

    def _rest(self) -> Callable[[], None]:
        self._clock.sleep(self._pause_s)
        return self._rested

    def _rested(self) -> None:
        self._collect()
        self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S) if self._touched else PAUSE_S
        self._runs = False

    def _failed(self, error: Exception) -> None:
        self._runs = False
        self._log.fault("family", error)


def _paths(call: Call, body: Mapping[str, Any], root: str) -> Sequence[str]:
    files = body.get("files")
    said = [body.get("path"), *(file.get("path") for file in files if isinstance(file, Mapping))] if files else []
    named = [*call.tool.paths(call.params), body.get("path"), *said]
    paths = (path.removeprefix(f"{root}/") for path in named if isinstance(path, str))
    return list(dict.fromkeys(paths))


def _sha256(version: Version | None) -> str:
    return version.blob.hex() if version is not None and version.size and not version.gone else ""


def _covers(held: HeldLease, path: str) -> bool:
    lease = Lease(0, b"", 0, held.strength, held.path, held.form, 0, 0)
    try:
        return covers(lease, path)
    except ValueError:  # no glob
        return False


def _held(lease: Lease, history: History) -> HeldLease:
    who = history.writer_json(lease.writer)
    names = who["agent"], who["agent_session"], lease.reason
    return HeldLease(lease.number, lease.path, lease.form, lease.strength, lease.expires_ns, *names, lease.lines)


def _leave(file: Path, said: bytes) -> None:
    new = file.with_suffix(".new")
    fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb") as out:
        out.write(said)
    os.replace(new, file)
