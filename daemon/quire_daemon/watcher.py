"""The watcher: inotify, through watchdog, as hints. Every event means "look at this path", nothing more.

What is on disk is found by looking (`crawl`, `reconcile`); what the watcher may have missed is said loudly
(`Batch.overflowed`, `Coverage`).

Of watchdog, the reader of the kernel's queue is used (`InotifyFD`: binding, thread, book-keeping of watch
descriptors) with a `WatchCallback` of our own in place of its `InotifyWatchGroup`, emitter and dispatcher. Those
would watch ignored folders in full, hold every event back behind an unpaired rename, drop their queue on an
overflow without telling anyone, take a full watch table for success, and pass each event through three threads
and an unbounded queue. Here an event becomes a name in a set, in the thread that read it.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import stat
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from watchdog.observers.inotify_c import (
    CallbackId,
    InotifyConstants,
    InotifyEvent,
    InotifyFD,
    Mask,
    Watch,
    WatchDescriptor,
)

from quire_daemon.cookies import COOKIES, Cookies, new_token
from quire_daemon.noticed import Batch, Coverage, outermost

_LOG: Final = logging.getLogger(__name__)

_MASK: Final = Mask(
    # Only what changes something: OPEN and CLOSE_NOWRITE would report every `grep -r`, and our own reads.
    InotifyConstants.IN_CREATE
    | InotifyConstants.IN_MODIFY
    | InotifyConstants.IN_ATTRIB
    | InotifyConstants.IN_CLOSE_WRITE  # the only event of a write through a mapping
    | InotifyConstants.IN_MOVED_FROM
    | InotifyConstants.IN_MOVED_TO
    | InotifyConstants.IN_DELETE
    | InotifyConstants.IN_DELETE_SELF
    | InotifyConstants.IN_MOVE_SELF
    | InotifyConstants.IN_DONT_FOLLOW
    | InotifyConstants.IN_ONLYDIR
)

_COMING: Final = Mask(
    # Of a folder in which nothing counts but that a file comes into it.
    InotifyConstants.IN_CREATE
    | InotifyConstants.IN_MOVED_TO
    | InotifyConstants.IN_DONT_FOLLOW
    | InotifyConstants.IN_ONLYDIR
)

_MOST_PATHS: Final = 100_000  # in one batch; beyond it a scan is cheaper than looking at each
_MOST_RENAMES: Final = 256  # halves of renames that wait for the other half; a half without one stays a plain event


class Watcher:
    """Watches every folder below `root` that is not ignored.

    `ignored(path, folder)` is asked from the watcher's thread. `wake` is called, mostly from that thread, whenever
    there is something new for `drain` or `seen`; it must not block. Every method may be called from any thread.
    """

    def __init__(self, root: Path, ignored: Callable[[str, bool], bool], wake: Callable[[], None]) -> None:
        self._root = os.fspath(root)
        self._ignored = ignored
        self._wake = wake
        self._lock = threading.Lock()  # over what `drain` and `health` read; never held across a system call
        self._batch = Batch()
        self._cookies = Cookies(self._root)
        self._faults: set[str] = set()
        self._overflows = 0
        self._root_gone = False
        self._bells: dict[str, tuple[str, Callable[[], None]]] = {}  # folder → how names end that are told, to whom
        self._inotify: _Inotify | None = None
        self._tree: _Tree | None = None
        self._root_fd = -1

    # ── life ──

    def start(self) -> None:
        """Watch the tree; events from now on are in `drain`.

        A limit of the system is not an error here: `health` tells, and the first scan finds what there is.
        Raises `OSError` when the root cannot be opened.
        """
        self._root_fd = os.open(self._root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            inotify = _Inotify()
        except OSError as error:
            self._fault(f"no inotify instance: {error.strerror or error}")
            return
        self._inotify = inotify
        self._tree = _Tree(self._root, inotify, self._ignored, self._on_event, self._on_overflow)
        inotify.start()
        self._prepare_cookies()  # first: near the watch limit it is worth more than any other folder
        self._tree.add("")

    def stop(self) -> None:
        """End the thread and give the watches back. Idempotent."""
        inotify, self._inotify = self._inotify, None
        if inotify is not None:
            inotify.stop()
            if inotify is not threading.current_thread():
                inotify.join()
        self._cookies.close()
        if self._root_fd >= 0:
            os.close(self._root_fd)
            self._root_fd = -1

    def tell(self, folder: str, ending: str, ring: Callable[[], None]) -> None:
        """Call `ring` (in the watcher's thread) when a file whose name ends so comes into `folder`, an ignored one."""
        self._bells[folder] = (ending, ring)
        if self._tree is not None:
            self._tree.add_single(folder)

    # ── what happened ──

    def drain(self) -> Batch:
        """What has been noticed since the last call. Never blocks."""
        with self._lock:
            batch, self._batch = self._batch, Batch()
        batch.folders = outermost(batch.folders)
        return batch

    def has_news(self) -> bool:
        """Is there something to drain? Asked after `seen`: what came before the cookie may not be drained yet."""
        with self._lock:
            return bool(self._batch)

    def health(self) -> Coverage:
        """How much is seen now. Cheap: two stats."""
        tree, inotify = self._tree, self._inotify
        watched, unwatched = tree.coverage() if tree is not None else (0, {})
        blind_cookies = unwatched.pop(COOKIES, "")
        alive = inotify is not None and inotify.is_alive()
        with self._lock:
            reasons = set(self._faults)
        replaced = self._root_replaced()
        if replaced:
            reasons.add("root_replaced")
        if not alive:
            reasons.add("stopped")
        if blind_cookies:
            reasons.add(f"cookie folder not watched: {blind_cookies}")
        reasons.update(unwatched.values())
        return Coverage(
            watched=watched,
            expected=watched + len(unwatched),
            alive=alive,
            root_replaced=replaced,
            reasons=tuple(sorted(reasons)),
            unwatched=tuple(sorted(unwatched)),
            overflows=self._overflows,
        )

    def rewatch(self, folder: str = "") -> None:
        """The rules for `folder` changed: watch what is no longer ignored below it, and let go of the rest.

        The folder is in the next batch. It takes as long as listing the folders below it.
        """
        if self._tree is not None:
            self._tree.renew(folder)
            self._note(folders=(folder,), unseen=True)

    def cover(self, folders: Iterable[str]) -> int:
        """Watch those of `folders`, all that a crawl found, that are not watched; how many were not.

        Those that are watched from now on are in the next batch: changes since the crawl saw them may have gone
        unseen. Those that still cannot be watched are not, they are in `health`.
        """
        tree = self._tree
        if tree is None:
            return 0
        missed = tree.unwatched_among(folders)
        for folder in missed:
            tree.add(folder)
        if missed:
            still = set(tree.unwatched_among(missed))
            self._note(folders=[folder for folder in missed if folder not in still], unseen=True)
        return len(missed)

    # ── the order of events ──

    def cookie(self) -> str:
        """Write a file whose event proves that everything before it has been noticed; the token to ask `seen` about.

        Never blocks. When the file cannot be written, or nobody would notice it, the token is never seen.
        """
        token = new_token()
        if self._inotify is None or not self._inotify.is_alive():
            return token
        self._cookies.expect(token)
        for _ in range(2):
            try:
                self._cookies.write(token)
                break
            except FileNotFoundError:
                self._prepare_cookies()  # someone removed the folder
            except OSError as error:
                _LOG.warning("cookie not written: %s", error)
                break
        return token

    def seen(self, token: str) -> bool:
        """Whether the event of a `cookie` came. Never blocks."""
        return self._cookies.came(token)

    # ── in the watcher's thread ──

    def _on_event(self, folder: str, event: InotifyEvent) -> None:
        """One event of a watched folder. Must not raise: an exception would end the thread."""
        try:
            self._take(folder, event)
        except Exception as error:  # noqa: BLE001 - whatever it is, the watcher lives on and says what it missed
            _LOG.exception("event not understood")
            self._fault(f"event not understood: {error}")
            self._note(overflowed=True)

    def _take(self, folder: str, event: InotifyEvent) -> None:
        if folder == COOKIES:
            if self._cookies.take(os.fsdecode(event.name)):
                self._wake()
        elif folder in self._bells:
            ending, ring = self._bells[folder]
            if event.name.endswith(os.fsencode(ending)) and (event.is_moved_to or event.is_create):
                ring()
                self._wake()
        elif not event.name:
            self._take_self(folder, event)
        else:
            name = os.fsdecode(event.name)
            path = f"{folder}/{name}" if folder else name
            if event.mask & InotifyConstants.IN_ISDIR:
                self._take_folder(path, event)
            else:
                self._take_file(path, event)

    def _take_file(self, path: str, event: InotifyEvent) -> None:
        if self._ignored(path, False):
            return
        hint = self._tree.pair(event, path) if self._tree is not None else None
        self._note(dirty=(path,), touched=not (event.is_moved_from or event.is_moved_to), moved=hint)

    def _take_folder(self, path: str, event: InotifyEvent) -> None:
        tree = self._tree
        if tree is None or self._ignored(path, True):
            return
        hint = tree.pair(event, path)
        if event.is_moved_from:
            tree.remove(path)
        elif event.is_create or event.is_moved_to or tree.failed(path):
            tree.add(path)
        elif not event.is_delete:
            self._note(dirty=(path,))  # its mode
            return
        # Noted after the watches stand: whoever crawls it now misses nothing that comes later.
        self._note(folders=(path,), unseen=not _came_or_went(event), moved=hint)

    def _take_self(self, folder: str, event: InotifyEvent) -> None:
        """An event of a watched folder itself. Its parent tells of all but the root and the end of a mount."""
        if event.mask & InotifyConstants.IN_UNMOUNT:
            self._note(folders=(folder,), unseen=True)
        if not folder and (event.is_delete_self or event.is_move_self):
            with self._lock:
                self._root_gone = True
            self._note(overflowed=True)

    def _on_overflow(self) -> None:
        """The kernel dropped events. The tree has been watched anew; the batch tells that a scan is due."""
        with self._lock:
            self._overflows += 1
        waiting = self._cookies.expected()
        self._note(overflowed=True)
        for token in waiting:  # their events may be among those dropped
            with contextlib.suppress(OSError):
                self._cookies.write(token)

    def _note(
        self,
        dirty: Iterable[str] = (),
        touched: bool = True,
        folders: Iterable[str] = (),
        unseen: bool = False,
        overflowed: bool = False,
        moved: tuple[str, str] | None = None,
    ) -> None:
        """Put it into the batch, and wake the reader when it has nothing yet to be woken for."""
        with self._lock:
            batch = self._batch
            idle = not batch
            batch.dirty.update(dirty)
            if touched:
                batch.touched.update(dirty)
            batch.folders.update(folders)
            if unseen:
                batch.unseen.update(folders)
            batch.overflowed |= overflowed
            if moved is not None and len(batch.moved) < _MOST_PATHS:
                batch.moved.append(moved)
            if len(batch.dirty) + len(batch.folders) > _MOST_PATHS:
                batch.dirty.clear()
                batch.touched.clear()
                batch.folders.clear()
                batch.unseen.clear()
                batch.moved.clear()
                batch.overflowed = True
            news = idle and bool(batch)
        if news:
            self._wake()

    def _fault(self, reason: str) -> None:
        with self._lock:
            self._faults.add(reason)

    # ── the root and the cookie folder ──

    def _root_replaced(self) -> bool:
        with self._lock:
            if self._root_gone:
                return True
        if self._root_fd < 0:
            return False
        try:
            now, held = os.stat(self._root), os.fstat(self._root_fd)
        except OSError:
            return True
        return (now.st_dev, now.st_ino) != (held.st_dev, held.st_ino)

    def _prepare_cookies(self) -> None:
        """Make and watch their folder."""
        try:
            self._cookies.prepare()
        except OSError as error:
            self._fault(f"no cookie folder: {error.strerror or error}")
            return
        if self._tree is not None:
            self._tree.add_single(COOKIES)


def _came_or_went(event: InotifyEvent) -> bool:
    """Did the folder come into being under this name, or end? Else it was there, and can be watched at last."""
    return event.is_create or event.is_moved_to or event.is_moved_from or event.is_delete


# ── the watches ──────────────────────────────────────────────────────────────


class _Inotify(InotifyFD):
    """watchdog's reader, with two things put right.

    A descriptor for a folder that is watched already is handed out again without the warning that prints the
    whole table; and a folder that may not be watched (EACCES) is an error, not a watch with the number -1.
    """

    def __init__(self) -> None:
        super().__init__()
        self.name = "quire-watcher"
        for fd in (self._inotify_fd, self._kill_r, self._kill_w):
            os.set_inheritable(fd, False)

    def _get_or_create_watch(self, path: bytes, mask: Mask) -> Watch:
        watch = super()._get_or_create_watch(path, mask)
        if watch.wd < 0:
            self._watch_for_wd.pop(watch.wd, None)
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fsdecode(path))
        watch.callbacks.clear()  # there is one callback, and it knows the path by the last call
        return watch


class _Tree:
    """The watched folders: watchdog's `WatchCallback`, and the map between descriptors and paths.

    A folder is watched before it is listed, so that what appears in between has an event. A folder that moves
    is let go and watched anew under its new name; what happened to it meanwhile is found by the crawl that its
    event asks for.
    """

    def __init__(
        self,
        root: str,
        inotify: _Inotify,
        ignored: Callable[[str, bool], bool],
        on_event: Callable[[str, InotifyEvent], None],
        on_overflow: Callable[[], None],
    ) -> None:
        self._root = root
        self._inotify = inotify
        self._ignored = ignored
        self._event = on_event
        self._overflow = on_overflow
        self._lock = threading.RLock()  # over the maps; taken before the lock inside `_inotify`
        self._paths: dict[WatchDescriptor, str] = {}
        self._wds: dict[str, WatchDescriptor] = {}
        self._single: set[str] = set()  # watched for itself, not with what is below it
        self._failed: dict[str, str] = {}  # folder → why it is not watched
        self._renames: dict[int, str] = {}  # the kernel's cookie → the old name

    # ── watchdog's side ──

    def on_event(self, event: InotifyEvent) -> None:
        """An event of one of our descriptors."""
        with self._lock:
            folder = self._paths.get(event.wd)
        if folder is not None:  # else: read late, after the folder was let go
            self._event(folder, event)

    def on_watch_deleted(self, wd: WatchDescriptor) -> None:
        """The kernel ended a watch: its folder was removed or unmounted."""
        with self._lock:
            path = self._paths.pop(wd, None)
            if path is not None and self._wds.get(path) == wd:
                del self._wds[path]

    def on_queue_overflow(self) -> None:
        """Events were dropped, among them perhaps those of new folders: watch what there is now."""
        with self._lock:
            self._renames.clear()
        self.renew("")
        self._overflow()

    # ── our side ──

    def add(self, folder: str) -> None:
        """Watch `folder` and what is below it and not ignored."""
        pending = [folder]
        while pending and self._inotify.should_keep_running():
            folder = pending.pop()
            if self._watch(folder):
                pending.extend(self._folders_in(folder))

    def add_single(self, folder: str) -> None:
        """Watch what comes into `folder`, though it is ignored, and nothing below it."""
        self._single.add(folder)
        self._watch(folder)

    def remove(self, folder: str) -> None:
        """Let go of `folder` and all below it: it is not there any more."""
        self._drop(lambda path: path == folder or path.startswith(folder + "/"))

    def renew(self, folder: str) -> None:
        """Watch what is there now below `folder`, and let go of what is ignored or gone."""
        self._drop(lambda path: self._out_of_place(path, folder))
        self.add(folder)
        for single in list(self._single):
            self._watch(single)

    def failed(self, folder: str) -> bool:
        """Whether `folder` could not be watched."""
        with self._lock:
            return folder in self._failed

    def coverage(self) -> tuple[int, dict[str, str]]:
        """How many folders are watched, and those that could not be, with the reason."""
        with self._lock:
            return len(self._wds) - len(self._single & self._wds.keys()), dict(self._failed)

    def unwatched_among(self, folders: Iterable[str]) -> list[str]:
        """Those of `folders` that are not watched."""
        with self._lock:
            return [folder for folder in folders if folder not in self._wds]

    def pair(self, event: InotifyEvent, path: str) -> tuple[str, str] | None:
        """The (from, to) of a rename whose second half is `event`."""
        if event.is_moved_from:
            with self._lock:
                while len(self._renames) >= _MOST_RENAMES:
                    del self._renames[next(iter(self._renames))]
                self._renames[event.cookie] = path
        elif event.is_moved_to:
            with self._lock:
                source = self._renames.pop(event.cookie, None)
            if source is not None and source != path:
                return source, path
        return None

    def _watch(self, folder: str) -> bool:
        """Watch one folder; False when it is not watched (it vanished, or `_failed` says why)."""
        with self._lock:
            try:
                mask = _COMING if folder in self._single else _MASK
                wd = self._inotify.add_callback(self._absolute(folder), mask, self, CallbackId(id(self)))
            except OSError as error:
                self._failed.pop(folder, None)
                if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EBADF):
                    self._failed[folder] = _reason(error)
                return False
            self._failed.pop(folder, None)
            before, replaced = self._paths.get(wd), self._wds.get(folder, wd)
            if before is not None and before != folder and self._wds.get(before) == wd:
                del self._wds[before]  # the same folder under its new name
            if replaced != wd:
                self._paths.pop(replaced, None)  # another folder under the same name
                self._inotify.remove_callbacks([(replaced, CallbackId(id(self)))])
            self._paths[wd] = folder
            self._wds[folder] = wd
            return True

    def _folders_in(self, folder: str) -> list[str]:
        prefix = f"{folder}/" if folder else ""
        inside: list[str] = []
        try:
            with os.scandir(self._absolute(folder)) as entries:
                for entry in entries:
                    path = prefix + os.fsdecode(entry.name)
                    if entry.is_dir(follow_symlinks=False) and not self._ignored(path, True):
                        inside.append(path)
        except (FileNotFoundError, NotADirectoryError):
            pass  # it went away; its event follows
        except OSError as error:
            with self._lock:
                self._failed[folder] = _reason(error)
        return inside

    def _drop(self, unwanted: Callable[[str], bool]) -> None:
        with self._lock:
            gone = [(path, wd) for path, wd in self._wds.items() if unwanted(path)]
            for path, wd in gone:
                del self._wds[path]
                self._paths.pop(wd, None)
            for path in [path for path in self._failed if unwanted(path)]:
                del self._failed[path]
            self._inotify.remove_callbacks([(wd, CallbackId(id(self))) for _, wd in gone])

    def _out_of_place(self, path: str, folder: str) -> bool:
        """Whether a folder below `folder` should not be watched any more."""
        if path in self._single or not path or not (not folder or path.startswith(folder + "/") or path == folder):
            return False
        if self._ignored(path, True):
            return True
        try:
            return not stat.S_ISDIR(os.lstat(self._absolute(path)).st_mode)
        except OSError:
            return True

    def _absolute(self, folder: str) -> bytes:
        return os.fsencode(f"{self._root}/{folder}" if folder else self._root)


def _reason(error: OSError) -> str:
    """Why a folder is not watched, in the words of `Coverage.reasons`."""
    if error.errno == errno.ENOSPC:
        return "watch_limit"  # fs.inotify.max_user_watches
    return "unreadable_folder" if error.errno == errno.EACCES else f"not watchable: {error.strerror or error}"
