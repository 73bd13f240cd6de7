"""inotify: watched folders, and watchdog's reader of their events. Only `watcher` uses this module.

Only watchdog's queue reader is used (`InotifyFD`): its other parts would watch ignored folders, and lose events
silently. While the loop swaps and answers, the reading thread sleeps (`Inotify.hush`), so that it does not compete for
the interpreter. If the queue then holds only our own events, two for each exchange, the loop removes them
(`Inotify.listen`).
"""

from __future__ import annotations

import errno
import fcntl
import os
import select
import stat
import sys
import termios
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from watchdog.observers.inotify_c import (
    DEFAULT_EVENT_BUFFER_SIZE,
    CallbackId,
    InotifyConstants,
    InotifyEvent,
    InotifyFD,
    Mask,
    Watch,
    WatchDescriptor,
)

from quire_daemon.watch.hints import UNREADABLE_FOLDER, WATCH_LIMIT
from quire_daemon.workspace import Beneath, Signature, syscalls
from quire_journal.storage import Thread

_MASK: Final = Mask(
    # Only changes: OPEN and CLOSE_NOWRITE would report every `grep -r`, and our own reads.
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
    # For a folder in which only new files matter.
    InotifyConstants.IN_CREATE
    | InotifyConstants.IN_MOVED_TO
    | InotifyConstants.IN_DONT_FOLLOW
    | InotifyConstants.IN_ONLYDIR
)

_PASSING: Final = Mask(_COMING | InotifyConstants.IN_DELETE | InotifyConstants.IN_CLOSE_WRITE)
"""For a folder in which files come, go and are written that say what a program does."""

Event = InotifyEvent
"""Event of a name in a watched folder, or without a name, of the folder."""


class Exchange(NamedTuple):
    watch: WatchDescriptor  # of the folder
    name: bytes
    path: bytes
    signature: Signature  # of the file now at the path


UNMOUNTED: Final = InotifyConstants.IN_UNMOUNT

_HEADER_BYTES: Final = 16

_MOST_RENAMES: Final = 256  # unpaired halves of renames; a half without its pair stays a plain event


def of_a_folder(event: Event) -> bool:
    return bool(event.mask & InotifyConstants.IN_ISDIR)


class Inotify(InotifyFD):
    """watchdog's reader, corrected: `add_callback` on a watched folder returns its descriptor, EACCES raises, and
    nothing is read between `hush` and `listen`.
    """

    def __init__(self) -> None:
        super().__init__()
        self._thread: Thread | None = None
        self._reading = threading.Lock()  # over reading the queue: its holder reads what it measured
        self._read = b""
        self._ready = select.epoll()
        for fd in (self._inotify_fd, self._kill_r, self._kill_w):
            os.set_inheritable(fd, False)
        for fd in (self._inotify_fd, self._kill_r):
            self._ready.register(fd, select.EPOLLIN)

    def start(self) -> None:
        """Start the reading thread. Raises `RuntimeError` if no thread can be started."""
        self._thread = Thread(self.run, "quire-watcher")

    def is_alive(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def join(self, timeout: float | None = None) -> None:
        if self._thread is not None:
            self._thread.join(-1 if timeout is None else timeout)

    def hush(self) -> None:
        """Stop reading until `listen`, without waking the thread. The kernel queues events, up to a limit."""
        self._reading.acquire()
        if not self._closed:
            self._ready.modify(self._inotify_fd, 0)

    def listen(self, own: Sequence[Exchange]) -> None:
        """Resume reading after `hush`. `own`: the files that the caller has swapped since.

        If the queue is exactly as long as the events of `own`, these are removed; else the thread reads it. The kernel
        queues the events of a system call before the call returns.
        """
        try:
            if not self._closed:
                size = sum(2 * _event_bytes(one.name) for one in own)
                if own and self._waiting() == size:
                    self._take(own, size)
                self._ready.modify(self._inotify_fd, select.EPOLLIN)
        finally:
            self._reading.release()

    def _take(self, own: Sequence[Exchange], size: int) -> None:
        """Remove our exchanges' events of `size` bytes; unexpected ones are reported as an overflow.

        inotify merges equal events (inotify(7)): a file moved over ours hides behind our last event. So each file's
        whole signature is compared; an inode may be reused.
        """
        told = os.read(self._inotify_fd, size)
        moves = (InotifyConstants.IN_MOVED_FROM, InotifyConstants.IN_MOVED_TO)
        expected = [(one.watch, mask, one.name) for one in own for mask in moves]
        if [(wd, mask, name) for wd, mask, _, name in self._parse_event_buffer(told)] != expected:
            self.handle_event(InotifyEvent(WatchDescriptor(-1), Mask(InotifyConstants.IN_Q_OVERFLOW), 0, b""))
        for one in own:
            if not _is_there(one):
                self.handle_event(InotifyEvent(one.watch, Mask(InotifyConstants.IN_MOVED_TO), 0, one.name))

    def _waiting(self) -> int:
        return int.from_bytes(fcntl.ioctl(self._inotify_fd, termios.FIONREAD, bytes(4)), sys.byteorder)

    def _check_inotify_fd(self) -> bool:
        """Read events under the lock. Returns False, so that the base class reads nothing."""
        if any(fd == self._inotify_fd for fd, _ in self._ready.poll()):
            with self._reading:
                if self._waiting():  # else the loop removed it
                    self._read = os.read(self._inotify_fd, DEFAULT_EVENT_BUFFER_SIZE)
        return False

    def _read_event_buffer(self, event_buffer_size: int) -> bytes:
        super()._read_event_buffer(event_buffer_size)
        read, self._read = self._read, b""
        return read

    def _close_resources(self) -> None:
        super()._close_resources()
        self._ready.close()

    def _get_or_create_watch(self, path: bytes, mask: Mask) -> Watch:
        watch = super()._get_or_create_watch(path, mask)
        if watch.wd < 0:
            self._watch_for_wd.pop(watch.wd, None)
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fsdecode(path))
        watch.callbacks.clear()  # the only callback, which maps the descriptor to the latest path
        return watch


class Tree:
    """Watched folders: watchdog's `WatchCallback`, and the map between descriptors and paths.

    A folder is watched before it is listed, so that entries created meanwhile cause an event. A moved folder is watched
    again under its new name, and crawled.
    """

    def __init__(
        self,
        root: str,
        beneath: Beneath,
        inotify: Inotify,
        ignored: Callable[[str, bool], bool],
        on_event: Callable[[str, Event], None],
        on_overflow: Callable[[], None],
    ) -> None:
        self._root, self._beneath = root, beneath
        self._inotify = inotify
        self._ignored = ignored
        self._event = on_event
        self._overflow = on_overflow
        self._lock = threading.RLock()  # over the maps; taken before the lock inside `_inotify`
        self._paths: dict[WatchDescriptor, str] = {}
        self._wds: dict[str, WatchDescriptor] = {}
        self._single: dict[str, Mask] = {}  # folder that is watched without its subfolders → events
        self._failed: dict[str, str] = {}  # folder → why it is not watched
        self._renames: dict[int, str] = {}  # the kernel's cookie → the old name

    # ── watchdog's side ──

    def on_event(self, event: Event) -> None:
        with self._lock:
            folder = self._paths.get(event.wd)
        if folder is not None:  # else released before the event was read
            self._event(folder, event)

    def on_watch_deleted(self, wd: WatchDescriptor) -> None:
        """Drop a watch that the kernel removed with its folder or mount."""
        with self._lock:
            path = self._paths.pop(wd, None)
            if path is not None and self._wds.get(path) == wd:
                del self._wds[path]

    def on_queue_overflow(self) -> None:
        """Watch the tree again: the dropped events may be of new folders."""
        with self._lock:
            self._renames.clear()
        self.renew()
        self._overflow()

    # ── our side ──

    def add(self, folder: str) -> None:
        """Watch `folder` and everything below that is not ignored."""
        pending = [folder]
        while pending and self._inotify.should_keep_running():
            folder = pending.pop()
            if not self._is_elsewhere(folder) and self._watch(folder):
                pending.extend(self._folders_in(folder))

    def add_single(self, folder: str, gone: bool = False) -> None:
        """Watch for files that come into `folder`, even if ignored, but not below it; with `gone` also for files that
        go or are written.
        """
        self._single[folder] = _PASSING if gone else _COMING
        self._watch(folder)

    def remove(self, folder: str) -> None:
        """Release the watches of the removed `folder` and below."""
        self._drop(lambda path: path == folder or path.startswith(folder + "/"))

    def renew(self) -> None:
        """Watch the folders that exist now, and release ignored or missing ones."""
        with self._lock:
            known = {*self._wds, *self._failed}
        self._drop(set(filter(self._out_of_place, known)).__contains__)
        self.add("")
        for single in list(self._single):
            self._watch(single)

    def failed(self, folder: str) -> bool:
        with self._lock:
            return folder in self._failed

    def watch_of(self, folder: str) -> WatchDescriptor | None:
        """Return the watch of a folder; None if there is none. Does not take the lock, which a listing may hold."""
        return self._wds.get(folder)

    def coverage(self) -> tuple[int, dict[str, str]]:
        """Return the number of watched folders, and the unwatched ones with reasons."""
        with self._lock:
            return len(self._wds) - len(self._single.keys() & self._wds.keys()), dict(self._failed)

    def unwatched_among(self, folders: Iterable[str]) -> list[str]:
        with self._lock:
            return [folder for folder in folders if folder not in self._wds]

    def pair(self, event: Event, path: str) -> tuple[str, str] | None:
        """Return (from, to) of the rename that `event` completes. The first half of a rename is remembered, and returns
        None.
        """
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
        with self._lock:
            try:
                mask = self._single.get(folder, _MASK)
                wd = self._inotify.add_callback(self._absolute(folder), mask, self, CallbackId(id(self)))
            except OSError as error:
                self._failed.pop(folder, None)
                if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EBADF):
                    self._failed[folder] = _reason(error)
                return False
            self._failed.pop(folder, None)
            before, replaced = self._paths.get(wd), self._wds.get(folder, wd)
            if before is not None and before != folder and self._wds.get(before) == wd:
                del self._wds[before]  # the same folder under a new name
            if replaced != wd:
                self._paths.pop(replaced, None)  # another folder under the old name
                self._inotify.remove_callbacks([(replaced, CallbackId(id(self)))])
            self._paths[wd] = folder
            self._wds[folder] = wd
            return True

    def _folders_in(self, folder: str) -> list[str]:
        prefix = f"{folder}/" if folder else ""
        inside: list[str] = []
        try:
            with os.scandir(self._absolute(folder)) as entries:
                for entry in entries:  # most are files: this check is cheap
                    if not entry.is_dir(follow_symlinks=False):
                        continue
                    path = prefix + os.fsdecode(entry.name)
                    if not self._ignored(path, True):
                        inside.append(path)
        except (FileNotFoundError, NotADirectoryError):
            pass  # removed; its event follows
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

    def _out_of_place(self, path: str) -> bool:
        if path in self._single or not path:
            return False
        if self._ignored(path, True) or self._is_elsewhere(path):
            return True
        try:
            return not stat.S_ISDIR(os.lstat(self._absolute(path)).st_mode)
        except OSError:
            return True

    def _is_elsewhere(self, folder: str) -> bool:
        try:
            os.close(self._beneath.open(folder or ".", syscalls.O_PATH | os.O_DIRECTORY))
        except OSError as error:
            return error.errno in (errno.EXDEV, errno.ELOOP)
        return False

    def _absolute(self, folder: str) -> bytes:
        return os.fsencode(f"{self._root}/{folder}" if folder else self._root)


def _is_there(one: Exchange) -> bool:
    try:
        return Signature.of(os.lstat(one.path)) == one.signature
    except OSError:
        return False


def _event_bytes(name: bytes) -> int:
    return _HEADER_BYTES * (2 + len(name) // _HEADER_BYTES)


def _reason(error: OSError) -> str:
    if error.errno == errno.ENOSPC:
        return WATCH_LIMIT  # fs.inotify.max_user_watches
    return UNREADABLE_FOLDER if error.errno == errno.EACCES else f"not watchable: {error.strerror or error}"
