"""Observation: compares a path on disk with the journal, and records the difference.

After each look the journal's newest version has exactly the bytes on disk, or the reason why not. No call waits: a file
open for writing raises `FileBusy`, and the loop tries again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Final

import msgspec

from quire_daemon.commit import InFlight, Recorder
from quire_daemon.config import LiveSettings, Settings
from quire_daemon.core import OnDisk, SeenStat, WritePart, difference
from quire_daemon.watch.capture_policy import CapturePolicy
from quire_daemon.watch.crawl import is_bare
from quire_daemon.watch.git import is_under_lock
from quire_daemon.watch.ignore import Ignore
from quire_daemon.watch.ignored_files import IgnoredFiles
from quire_daemon.watch.prefetch import ReadAhead
from quire_daemon.workspace import FileVanished, Image, Look, NotRegular, Signature, TooLarge, Workspace
from quire_journal.history import LOCK_HELD, LOCK_TAKEN
from quire_journal.model import (
    CAPTURED,
    FOLDER,
    IGNORED,
    LINK,
    REGULAR,
    TOO_LARGE,
    UNREADABLE,
    BlobId,
    Event,
    OutsideDeleted,
    OutsideModeChanged,
    OutsideMoved,
    OutsideWritten,
    Refusal,
    WriteAttributed,
    blob_id,
    disk_path,
    journal_path,
)
from quire_journal.storage import blobs
from quire_journal.views import Version, standing

RETRY_S: Final = 0.002


class FileInFlight(Exception):
    """Raised while a request in flight writes the file; look again afterwards."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


class Sighting(msgspec.Struct, frozen=True, gc=False):
    disk: OnDisk
    image: Image | None = None
    proved: bool = False  # without `image`: the disk has the bytes of the journal's newest version
    signature: Signature | None = None

    @property
    def settled(self) -> bool:
        """True if any later change of the file will alter its signature."""
        return self.proved if self.image is None else self.image.settled


class Observation(msgspec.Struct, frozen=True, gc=False):
    path: str
    head: Version | None
    event: Event | None
    sighting: Sighting
    named_ns: int = 0  # time of the event that named the path; 0: unknown
    looked_s: float = 0.0  # monotonic time before the look
    locked: bool | None = None  # every event of the change came while git's index was locked, or was not; None: unknown


Hint = Callable[[str, int, bool], str]
"""Function (path, time, whether the time is the file's): activity at a change, or ""."""


Attribute = Callable[[Event, Version | None, bytes | None, Signature | None], Sequence[WritePart]]
"""Function (event, version before, bytes found, their file): parts of an outside change by writer; empty if unknown."""


def nobody(event: Event, head: Version | None, data: bytes | None, signature: Signature | None) -> Sequence[WritePart]:
    del event, head, data, signature
    return ()


def no_hint(path: str, at_ns: int, exact: bool) -> str:
    del path, at_ns, exact
    return ""


def _left_out(look: Look) -> Sighting | None:
    if look.signature is None or look.kind not in ("file", "link"):
        return None
    mode = 0o777 if look.kind == "link" else look.signature.mode & 0o7777
    return Sighting(OnDisk(look.kind, size=look.signature.size, mode=mode, why=IGNORED))


MOST_ALIKE: Final = 64


Looked = Callable[[str, float], None]
"""Function (path as on disk, monotonic seconds), called after a recorded look."""


Expect = Callable[[Sequence[str]], None]
"""Function called with paths (as on disk) before changes of them are recorded."""


def no_expectation(paths: Sequence[str]) -> None:
    del paths


def no_look(path: str, at_s: float) -> None:
    del path, at_s


class Observer:
    """Looks at paths for requests, the watcher and scans."""

    def __init__(
        self,
        workspace: Workspace,
        recorder: Recorder,
        ignore: Ignore,
        settings: LiveSettings,
        hint: Hint = no_hint,
        attribute: Attribute = nobody,
        looked: Looked = no_look,
        expect: Expect = no_expectation,
    ) -> None:
        self.workspace = workspace
        self.recorder = recorder
        self.ignore = ignore
        self.capture_policy = CapturePolicy(recorder, ignore, settings)
        self._settings = settings
        self.in_flight = InFlight(recorder)
        self.hint = hint
        self.attribute = attribute
        self.looked, self.expect = looked, expect
        self.unwatched = IgnoredFiles(ignore.ignored)

    @property
    def settings(self) -> Settings:
        return self._settings.now

    def observe(
        self,
        path: str,
        evidence: str,
        unfinished_ok: bool = False,
        named_ns: int = 0,
        look: Look | None = None,
        ignored: bool = False,
    ) -> Observation:
        """Look at `path` (as on disk) and return what was found, with the event that the journal lacks. Nothing is
        recorded.

        `look`: stat result of this moment. `ignored`: do not read, and mark the file as unwatched. `unfinished_ok`:
        also read a file open for writing. Raises `FileBusy` (open for writing), `FileInFlight`, or `StoreFailure`.
        """
        name = journal_path(path)
        if self.in_flight.writes(name):
            raise FileInFlight(name)
        self.in_flight.tell_before_look(name)
        head, looked_s = self.head(name), self.recorder.clock.mono_s()
        look = look or self.workspace.look(path)
        left_out = _left_out(look) if ignored else None
        sighting = left_out or self._look(path, look, head, unfinished_ok)
        return Observation(path, head, difference(name, head, sighting.disk, evidence), sighting, named_ns, looked_s)

    def note(self, observation: Observation, event: Event | None) -> None:
        """Add `event`, of the observation or of a move, to the next commit, with the file's bytes and signature."""
        sighting, path = observation.sighting, observation.path
        if event is None and sighting.image is not None and self._came_back(observation):
            self.recorder.note_blob(sighting.image.data, journal_path(path))
            self.recorder.commit()
        if event is not None:
            captured = sighting.image is not None and not sighting.disk.why
            self._note_parts(self._hinted(event, observation), observation, captured)
            if sighting.image is not None and captured:
                known = blobs.HashedBytes(sighting.image.data, BlobId(sighting.disk.blob))
                self.recorder.note_blob(known, journal_path(path))
            keep_in_mind = self.unwatched.forget if sighting.disk.why == IGNORED else self.unwatched.met
            keep_in_mind(path)
        self.looked(path, observation.looked_s)
        self._note_seen(path, sighting, observation.event is not None)

    def _note_parts(self, event: Event, observation: Observation, captured: bool) -> None:
        """Add an outside write and its writers to the next commit. A write that several tool calls made becomes as many
        versions. `captured`: the journal may have the bytes.
        """
        image, path = observation.sighting.image, journal_path(observation.path)
        data = image.data if image is not None and captured else None
        parts = self.attribute(event, observation.head, data, observation.sighting.signature)
        found: list[WriteAttributed] = []
        for part in parts or (WritePart(),):
            made = event
            if part.data is not None and isinstance(event, OutsideWritten | OutsideDeleted):
                blob = blob_id(part.data)
                mode = event.mode if isinstance(event, OutsideWritten) else 0o644
                made = OutsideWritten(path, blob, len(part.data), mode, event.evidence, event.base, coalesced=True)
                self.recorder.note_blob(blobs.HashedBytes(part.data, blob), path)
            seq = self.recorder.note(made)
            if part.evidence:
                found.append(WriteAttributed((seq,), part.writer, part.evidence, part.burst, part.candidates))
            if made is not event and isinstance(event, OutsideWritten | OutsideDeleted):
                event = msgspec.structs.replace(event, base=seq)
        for attributed in found:
            self.recorder.note(attributed)

    def _came_back(self, observation: Observation) -> bool:
        head, disk = standing(observation.head), observation.sighting.disk
        if observation.event is not None or head is None or head.uncaptured or head.blob != disk.blob:
            return False
        with self.recorder.history() as history:
            return not disk.why and not history.holds(head.blob)

    def note_ahead(self, found: Iterable[ReadAhead], evidence: str) -> list[str]:
        """Add files read ahead to the next commit. Returns the paths that the journal already knows or that were
        purged, so that the caller looks at them.
        """
        left: list[str] = []
        with self.recorder.history() as history:
            purges = history.has_gone()
            for one in found:
                name, frame, s = journal_path(one.path), one.frame, one.signature
                event = difference(name, None, OnDisk("file", frame.blob, frame.size, s.mode & 0o7777), evidence)
                if event is None or history.path_id(name) is not None or (purges and history.purged(frame.blob)):
                    left.append(one.path)
                    continue
                self.recorder.note(event)
                self.recorder.note_blob(frame, name)
                if one.settled:
                    self.recorder.note_seen(one.path, SeenStat.of(s, frame.blob, one.taken_ns))
        return left

    def _hinted(self, event: Event, observation: Observation) -> Event:
        if not isinstance(event, OutsideWritten | OutsideDeleted | OutsideMoved | OutsideModeChanged):
            return event
        signature = observation.sighting.signature
        at_ns = signature.ctime_ns if signature is not None else self._gone_ns(observation)
        if not at_ns or event.evidence == CAPTURED:
            return event
        if isinstance(event, OutsideMoved):
            at_ns = max(at_ns, self._folder_moved_ns(event))
        hint = self.hint(observation.path, at_ns, signature is not None)
        if observation.locked and hint in ("", LOCK_TAKEN):
            hint = LOCK_HELD  # known by the order of events, which is finer than the times
        elif observation.locked is False:
            gone, new = isinstance(event, OutsideDeleted), standing(observation.head) is None
            hint = "" if is_under_lock(hint, gone, new) else hint
        if hint == LOCK_TAKEN and not self._was_there(event):
            # a save just before `git add` or `git commit`: while HEAD stays, git only restores earlier bytes
            return event
        if not hint and observation.locked is False and isinstance(event, OutsideWritten):
            return msgspec.structs.replace(event, unlocked=True)
        return msgspec.structs.replace(event, hint=hint) if hint else event

    def is_early(self, observation: Observation) -> bool:
        """True if git locked its index at the moment of this write, so that HEAD may soon show that git wrote the
        file.
        """
        event, signature = observation.event, observation.sighting.signature
        if not isinstance(event, OutsideWritten) or signature is None or observation.locked is False:
            return False
        return self.hint(observation.path, signature.ctime_ns, True) == LOCK_TAKEN and not self._was_there(event)

    def is_nameless(self, observation: Observation) -> bool:
        """True if only git's lock tells that git made this write."""
        event, signature = observation.event, observation.sighting.signature
        if not isinstance(event, OutsideWritten) or signature is None or not observation.locked:
            return False
        return self.hint(observation.path, signature.ctime_ns, True) in ("", LOCK_HELD, LOCK_TAKEN)

    def _was_there(self, event: Event) -> bool:
        if not isinstance(event, OutsideWritten):
            return True
        with self.recorder.history() as history:
            had = islice(history.with_bytes({event.blob}, history.head() + 1), MOST_ALIKE)
            return any(path == event.path for path, _ in had)

    def _folder_moved_ns(self, event: OutsideMoved) -> int:
        """Return the last change of the folder with which a file may have moved, which leaves the file's own time as it
        was; 0 if the file got another name.
        """
        olds, news = event.path.split("/"), event.to.split("/")
        if olds[-1] != news[-1]:
            return 0
        while len(news) > 1 and olds and olds[-1] == news[-1]:
            del olds[-1], news[-1]
        folder = self.workspace.look(disk_path("/".join(news)))
        return folder.signature.ctime_ns if folder.signature is not None else 0

    def _gone_ns(self, observation: Observation) -> int:
        """Return the latest possible time of a removal: that of the event's reading, or the folder's timestamp if
        earlier.
        """
        folder = self.workspace.look(os.path.dirname(observation.path) or ".")
        changed_ns = folder.signature.ctime_ns if folder.signature is not None else observation.named_ns
        return min(observation.named_ns, changed_ns)

    def head(self, path: str) -> Version | None:
        with self.recorder.history() as history:
            return history.file(path)

    def _note_seen(self, path: str, sighting: Sighting, changed: bool) -> None:
        image, s = sighting.image, sighting.signature
        if s is None or (image is not None and not image.settled):
            if self.recorder.seen.get(path) is not None:
                self.recorder.note_seen(path, None)
            return
        if image is None:
            return  # proved by the cached signature
        seen = SeenStat.of(s, sighting.disk.blob, self.recorder.clock.now_ns())
        if changed:
            self.recorder.note_seen(path, seen)
        else:
            self.recorder.seen.tell({path: seen})

    def _look(self, path: str, look: Look, head: Version | None, unfinished_ok: bool) -> Sighting:
        """Return the state of `path`. The file is read only if no cached signature proves its content."""
        if look.kind == "link":
            return self._link(path, look.signature)
        if look.kind == "special":
            return Sighting(OnDisk("special"))
        if look.kind == "folder":
            return Sighting(self._folder(path, look.signature, head))
        if look.kind != "file" or look.signature is None:
            return Sighting(OnDisk(look.kind))
        return self._known(path, look, head) or self._read(path, look.signature, head, unfinished_ok)

    def stands(self, path: str) -> bool:
        """True if the file at `path` has the signature in the stat cache, even while it is open for writing."""
        seen = self.recorder.seen.get(path)
        if seen is None:
            return False
        try:
            signature = self.workspace.look(path).signature
        except Refusal:
            return False
        return signature is not None and seen.matches(signature)

    def _known(self, path: str, look: Look, head: Version | None) -> Sighting | None:
        seen, s = self.recorder.seen.get(path), look.signature
        if seen is None or s is None or head is None or head.gone or head.uncaptured or seen.blob != head.blob:
            return None
        if not seen.matches(s) or not self.workspace.verify_unchanged(path, s):
            return None
        return Sighting(OnDisk("file", head.blob, head.size, s.mode & 0o7777), proved=True, signature=s)

    def _read(self, path: str, signature: Signature, head: Version | None, unfinished_ok: bool) -> Sighting:
        mode = signature.mode & 0o7777
        try:
            image = self.workspace.read(path, self.settings.capture.max_bytes, unfinished_ok=unfinished_ok)
        except FileVanished:
            return Sighting(OnDisk("missing"))
        except NotRegular:
            return Sighting(OnDisk("special"))
        except TooLarge as large:
            return Sighting(OnDisk("file", size=large.size, mode=mode, why=TOO_LARGE), signature=signature)
        except PermissionError:
            return Sighting(OnDisk("file", size=signature.size, mode=mode, why=UNREADABLE), signature=signature)
        blob = self._address(image.data, head)
        disk = OnDisk(
            "file",
            blob,
            len(image.data),
            image.signature.mode & 0o7777,
            why=self.capture_policy.of_version(path, image.data, blob, head),
            unfinished=not image.finished,
        )
        return Sighting(disk, image=image, signature=image.signature)

    def _address(self, data: bytes, head: Version | None) -> BlobId:
        """Return the address of `data`. If it equals the cached text of `head`, nothing is hashed: comparing is a
        hundred times faster.
        """
        known = self.recorder.texts.find(head.blob) if head is not None else None
        return known.blob if known is not None and known.data == data else blob_id(data)

    def _folder(self, path: str, signature: Signature | None, head: Version | None) -> OnDisk:
        """Return a folder's state. Only an empty folder is recorded as a folder; it stays so when files appear in
        it.
        """
        if signature is None:
            return OnDisk("folder")
        known = standing(head)
        told = known is not None and known.entry == FOLDER
        if not told:
            told = is_bare(self.workspace.root, self.ignore, path)
        return OnDisk("folder", mode=signature.mode & 0o7777, entry=FOLDER if told else REGULAR)

    def _link(self, path: str, signature: Signature | None) -> Sighting:
        try:
            target = self.workspace.read_link(path)
        except (FileVanished, NotRegular):
            return Sighting(OnDisk("missing"))
        if signature is None:
            return Sighting(OnDisk("missing"))
        image = Image(target, signature, settled=True, finished=True)
        return Sighting(OnDisk("link", blob_id(target), len(target), 0o777, LINK), image=image, signature=signature)
