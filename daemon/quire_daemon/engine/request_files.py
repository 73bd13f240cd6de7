"""Files named by callers, read from disk after outside changes to them are journaled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from quire_daemon.config import is_glob
from quire_daemon.core import MOST_INSIDE, FileNow
from quire_daemon.watch import MOST_LISTED, Observer, Sighting, all_in, names_in
from quire_daemon.workspace import FileBusy, FileVanished, NotRegular, Place, TooLarge, refusal
from quire_journal.model import (
    LINK,
    READ,
    SECRET,
    BlobId,
    Event,
    OutsideDeleted,
    OutsideWritten,
    Refusal,
    blob_id,
    disk_path,
    is_escaped,
    journal_path,
    mapped,
    unescaped,
)
from quire_journal.text import Text
from quire_journal.views import standing

MOST_FIRST: Final = 4
"""Maximum number of searches for the other end of a rename, per file."""


class RequestFiles:
    def __init__(self, observer: Observer, look_first: Callable[[], bool] = lambda: False) -> None:
        self.observer = self._observer = observer
        self._workspace, self._recorder, self._ignore = observer.workspace, observer.recorder, observer.ignore
        self._look_first = look_first

    def asked(self, given: str) -> str:
        """Return a file, folder or glob of a query, relative to the workspace. Raises `Refusal` for an absolute path
        elsewhere; an absolute glob begins at the top, as in `.gitignore`.
        """
        if not given.startswith("/"):
            return given
        given = mapped(given, self._observer.settings.paths.folders)
        try:
            return self._workspace.below(given, self._observer.settings.policy)
        except Refusal as refused:
            if refused.code == "outside_workspace" and is_glob(given):
                return given
            raise

    def file(
        self, given: str, writing: bool, unfinished_ok: bool = False, inside: bool = False, followed: bool = True
    ) -> FileNow:
        """Return the current state of the file that a caller names, after journaling an outside change of it. Raises
        `Refusal` for paths that tools may not touch, `FileBusy` while another program writes the file, `FileInFlight`
        while this daemon does.
        """
        place = self._place(given, writing, followed)
        name = journal_path(place.path)
        now_ns = self._recorder.clock.now_ns()
        observation = self._observer.observe(place.path, READ, unfinished_ok, now_ns, place.look)
        for _ in range(MOST_FIRST):
            if not _came_or_went(observation.event) or not self._look_first():
                break
            observation = self._observer.observe(place.path, READ, unfinished_ok, now_ns)
        self._observer.note(observation, observation.event)
        sighting, head = observation.sighting, observation.head
        if observation.event is not None:
            self._recorder.commit()
            head = self._observer.head(name)
        signature = sighting.signature
        if sighting.disk.kind != "file" or signature is None:
            secret = sighting.disk.kind == "missing" and self._ignore.secret(place.path)
            shows = inside and sighting.disk.kind == "folder"
            names, cut = self._inside(place.path) if shows else ((), False)
            return FileNow(
                name,
                sighting.disk.kind,
                version=head,
                inode=signature.ino if signature is not None else 0,
                uncaptured=SECRET if secret else "",
                resolved_from=journal_path(place.resolved_from),
                as_folder=given.endswith(("/", "/.")),
                inside=names,
                inside_cut=cut,
            )
        text = self._text(place.path, sighting)
        if text is not None and head is not None and not head.uncaptured:
            self._recorder.texts.keep(text.blob, text)
        return FileNow(
            name,
            "file",
            text=text,
            version=head,
            mode=signature.mode & 0o7777,
            inode=signature.ino,
            size=signature.size,
            uncaptured=head.uncaptured if head is not None else "",
            resolved_from=journal_path(place.resolved_from),
            proof=msgspec.structs.astuple(signature) if text is not None and sighting.settled else (),
        )

    def require_journaled(self, given: str) -> None:
        """Raise `Refusal` for an ignored file that the journal does not know, because looking at it would add it."""
        place = self._place(given, writing=False, followed=True)
        name = journal_path(place.path)
        if self._observer.head(name) or not self._ignore.ignored(place.path, folder=False):
            return
        if (place.look or self._workspace.look(place.path)).kind != "file":
            return
        message = f"{name} is ignored, so it is not recorded; what is read or edited through Quire's tools is."
        raise Refusal("not_found", message, path=name)

    def is_ignored(self, name: str) -> bool:
        """Return True if the ignore rules match `name` (as in the log) and the journal does not know it."""
        return not self._observer.head(name) and self._ignore.ignored(disk_path(name), folder=False)

    def _inside(self, path: str) -> tuple[tuple[str, ...], bool]:
        try:
            found, cut = names_in(self._workspace.root, self._ignore, "" if path == "." else path, MOST_INSIDE)
        except OSError as error:
            raise refusal(error, path) from error
        return tuple(journal_path(name) for name in found), cut

    def implied(self, name: str, writing: bool, unfinished_ok: bool = False) -> FileNow:
        """Return a file that the journal names, not the caller. A journaled link is not followed, and a folder comes
        with its content. Raises as `file`.
        """
        head = standing(self._observer.head(name))
        now = self.file(name, writing, unfinished_ok, followed=head is None or head.entry != LINK)
        if now.kind != "folder":
            return now
        try:
            found, cut = all_in(self._workspace.root, disk_path(now.path), MOST_LISTED)
        except OSError as error:
            raise refusal(error, now.path) from error
        return msgspec.structs.replace(now, inside=tuple(journal_path(name) for name in found), inside_cut=cut)

    def _text(self, path: str, sighting: Sighting) -> Text | None:
        """Return the text read, or the journal's newest version if the file's signature proves that the file equals it;
        else None.
        """
        if sighting.image is not None:
            blob = sighting.disk.blob
            known = self._recorder.texts.find(blob) if blob else None
            return known or Text.of(sighting.image.data, BlobId(blob) if blob else None)
        if not sighting.proved:
            return None
        text = self._recorder.texts.find(sighting.disk.blob)
        return self._read_known(path, sighting.disk.blob) if text is None else text

    def _read_known(self, path: str, blob: bytes) -> Text:
        """Return the text of `blob`: from the file at `path` if it has these bytes, which is faster, else from the
        journal.
        """
        try:
            data = self._workspace.read(path, self._observer.settings.capture.max_bytes).data
        except (FileBusy, FileVanished, NotRegular, TooLarge, PermissionError, Refusal):
            data = b""
        found = blob_id(data)
        if found == blob:
            return Text.of(data, found)
        with self._recorder.history() as history:
            return history.text_of(blob)

    def _place(self, given: str, writing: bool, followed: bool) -> Place:
        """Resolve a caller's name to a place in the workspace; a percent-escaped name is decoded unless a file has that
        name.
        """
        settings = self._observer.settings
        given = mapped(given, settings.paths.folders)
        place = self._workspace.place(disk_path(given), writing=writing, policy=settings.policy, followed=followed)
        # a name in the journal's own escaped form is unambiguous
        other = None if is_escaped(given) else unescaped(given)
        if other is None or self._workspace.look(place.path).kind != "missing":
            return place
        if self._observer.head(journal_path(place.path)):
            return place
        return self._workspace.place(other, writing=writing, policy=settings.policy)


def _came_or_went(event: Event | None) -> bool:
    return isinstance(event, OutsideDeleted) or (isinstance(event, OutsideWritten) and not event.base)
