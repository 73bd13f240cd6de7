"""The watcher: inotify events, through watchdog. An event only means "look at this path".

`Batch.overflowed` and `WatchCoverage` say what the watcher may have missed.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from quire_daemon.ops import Log
from quire_daemon.watch.cookies import Cookies, new_token
from quire_daemon.watch.crawl import OUR_LIMITS
from quire_daemon.watch.hints import Batch, WatchCoverage, outermost
from quire_daemon.watch.inotify import UNMOUNTED, Event, Exchange, Inotify, Tree, of_a_folder
from quire_daemon.workspace import COOKIES, Beneath, Signature, can_openat2

_MOST_PATHS: Final = 100_000  # in one batch; beyond, a scan is cheaper


class Watcher:
    """Watches every folder below `root` that is not ignored. For any thread.

    `ignored(path, folder)` is called from the watcher's thread. `wake` is called when `drain` or `seen` has news, and
    must not block.
    """

    def __init__(
        self,
        root: Path,
        ignored: Callable[[str, bool], bool],
        wake: Callable[[], None],
        log: Log | None = None,
        cookies: bool = True,
    ) -> None:
        """`cookies`: False if no cookie files can be written; callers then wait only for events that were read."""
        self._root = os.fspath(root)
        self._ignored = ignored
        self._wake = wake
        self._log = log or Log()
        self._lock = threading.Lock()  # over what `drain` and `health` read; never held across a system call
        self._batch = Batch()
        self._cookies = Cookies(self._root)
        self._has_cookies = cookies
        self._no_cookies = ""  # why no cookie can be written
        self._faults: set[str] = set()
        self._overflows = 0
        self._root_gone = False
        self._bells: dict[str, tuple[str, Callable[[], None]]] = {}  # folder → ending of names, callback
        self._git = ""  # git's folder; "" if none is watched
        self._moved = wake
        self._is_locked = False  # git's index, as far as events were read
        self._own: list[tuple[str, Signature]] | None = None  # exchanges recorded in this `quiet`; None outside
        self._inotify: Inotify | None = None
        self._tree: Tree | None = None
        self._root_fd = -1

    # ── life ──

    def start(self) -> None:
        """Start watching, for `drain`.

        A system limit is no error: `health` reports it, and the first scan finds the tree. Raises `OSError` if the root
        cannot be opened.
        """
        self._root_fd = os.open(self._root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            inotify = Inotify()
        except OSError as error:
            self._fault(f"no inotify instance: {error.strerror or error}")
            return
        self._inotify = inotify
        beneath = Beneath(self._root_fd, can_openat2(self._root_fd))
        self._tree = Tree(self._root, beneath, inotify, self._ignored, self._on_event, self._on_overflow)
        inotify.start()
        if self._has_cookies:
            self._prepare_cookies()  # first: near the watch limit this folder matters most
        self._tree.add("")

    def stop(self) -> None:
        """Stop watching. Idempotent."""
        inotify, self._inotify = self._inotify, None
        if inotify is not None:
            inotify.stop()
            inotify.join()
        self._cookies.close()
        if self._root_fd >= 0:
            os.close(self._root_fd)
            self._root_fd = -1

    def tell(self, folder: str, ending: str, ring: Callable[[], None]) -> None:
        """Call `ring` (on the watcher's thread) when a file whose name ends with `ending` comes into the ignored
        `folder`.
        """
        self._bells[folder] = (ending, ring)
        if self._tree is not None:
            self._tree.add_single(folder)

    def watch_git(self, folder: str, moved: Callable[[], None]) -> None:
        """Report in each batch which files changed while git's index was locked. `folder`: git's, relative to the root.
        `moved` is called on the watcher's thread when git writes HEAD.
        """
        self._git, self._moved = folder, moved
        if self._tree is not None:
            self._tree.add_single(folder, gone=True)

    # ── what the loop does itself ──

    @contextlib.contextmanager
    def quiet(self) -> Iterator[None]:
        """Context manager: no events are read; the kernel queues them, up to a limit.

        The reading thread would compete with the loop for the interpreter. For the thread that starts and stops the
        watcher.
        """
        inotify = self._inotify
        if inotify is None:
            yield
            return
        inotify.hush()
        own: list[tuple[str, Signature]] = []
        self._own = own
        try:
            yield
        finally:
            self._own = None
            inotify.listen(self._watches_of(own))

    def exchanged(self, path: str, signature: Signature) -> None:
        """Record that the caller exchanged the file at `path`, so that its events need no look. Only within `quiet`.

        `signature`: of the new file; any later change alters it.
        """
        if self._own is not None:
            self._own.append((path, signature))

    def _watches_of(self, own: Sequence[tuple[str, Signature]]) -> list[Exchange]:
        found: list[Exchange] = []
        for path, signature in own:
            folder, _, name = path.rpartition("/")
            watch = None if self._tree is None else self._tree.watch_of(folder)
            if watch is None:
                return []
            found.append(Exchange(watch, os.fsencode(name), os.fsencode(f"{self._root}/{path}"), signature))
        return found

    # ── what happened ──

    def drain(self) -> Batch:
        """Return the paths that had events since the last call. Never blocks."""
        with self._lock:
            batch, self._batch = self._batch, Batch()
        batch.folders = outermost(batch.folders)
        return batch

    def has_news(self) -> bool:
        """True if `drain` would return paths. Ask after `seen`: events before the cookie may not be drained yet."""
        with self._lock:
            return bool(self._batch)

    def health(self) -> WatchCoverage:
        """Return the coverage, after a check that the root is still at its path. A cookie that failed is written
        again.
        """
        if self._no_cookies:
            self.cookie()
        tree, inotify = self._tree, self._inotify
        watched, unwatched = tree.coverage() if tree is not None else (0, {})
        blind_cookies = unwatched.pop(COOKIES, "")
        unwatched.pop(self._git, "")  # no file of the tree is in it
        alive = inotify is not None and inotify.is_alive()
        with self._lock:
            reasons = set(self._faults)
        replaced = self._root_replaced()
        if replaced:
            reasons.add("root_replaced")
        if not alive:
            reasons.add("stopped")
        if self._no_cookies:
            reasons.add(self._no_cookies)
        if blind_cookies:
            reasons.add(f"cookie folder not watched: {blind_cookies}")
        everywhere = tuple(sorted(reasons))
        reasons.update(unwatched.values())
        return WatchCoverage(
            watched=watched,
            expected=watched + len(unwatched),
            alive=alive,
            root_replaced=replaced,
            reasons=tuple(sorted(reasons)),
            unwatched=unwatched,
            everywhere=everywhere,
            overflows=self._overflows,
        )

    def rewatch(self) -> None:
        """Watch every folder that is not ignored now, and release the other watches. Lists all folders, so it is slow;
        the caller runs a scan afterwards, which finds files in newly watched folders.
        """
        if self._tree is not None:
            self._tree.renew()

    def cover(self, folders: Iterable[str]) -> int:
        """Watch those of `folders`, found by a crawl, that are not watched; return their number. The next batch names
        them, because changes since the crawl may be unseen.
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

    # ── order of events ──

    def cookie(self) -> str:
        """Write a file whose event proves that every earlier event was read; return the token for `seen`.

        Never blocks. If the file cannot be written or noticed, the token is never seen.
        """
        token = new_token()
        if self._inotify is None or not self._inotify.is_alive() or not self._has_cookies:
            return token
        self._cookies.expect(token)
        for _ in range(2):
            try:
                self._cookies.write(token)
                self._no_cookies = ""
                break
            except FileNotFoundError:
                self._prepare_cookies()  # the folder was removed
            except OSError as error:
                self._no_cookies = f"no cookie can be written: {error.strerror or error}"
                break
        return token

    def seen(self, token: str) -> bool:
        """True if the event of the cookie `token` was read, or cookies cannot be written. Never blocks."""
        return not self._has_cookies or self._cookies.came(token)

    # ── in the watcher's thread ──

    def _on_event(self, folder: str, event: Event) -> None:
        """Handle an event. An exception would end the thread, so none is raised."""
        try:
            self._take(folder, event)
        except Exception as error:  # noqa: BLE001 - whatever it is, the watcher lives on and says what it missed
            if not isinstance(error, OSError) or error.errno not in OUR_LIMITS:  # which is temporary
                self._log.fault("event_not_understood", error, folder=folder)
                self._fault(f"event not understood: {error}")
            self._note(overflowed=True)

    def _take(self, folder: str, event: Event) -> None:
        if folder == COOKIES:
            if self._cookies.take(os.fsdecode(event.name)):
                self._wake()
        elif folder == self._git != "":
            self._take_git(event)
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
            if of_a_folder(event):
                self._take_folder(path, event)
            else:
                self._take_file(path, event)

    def _take_git(self, event: Event) -> None:
        """Follow git's lock, which becomes the index or is removed, and report a new HEAD. A locked `git commit -a`
        writes its message, waits for an editor, and writes no more files.
        """
        if event.name == b"index.lock":
            self._is_locked = event.is_create or (self._is_locked and not event.is_delete)
        elif event.name in (b"index", b"COMMIT_EDITMSG"):
            self._is_locked = False
        elif event.name == b"HEAD" and event.is_moved_to:
            self._moved()
            self._wake()

    def _take_file(self, path: str, event: Event) -> None:
        if self._ignored(path, False):
            return
        hint = self._tree.pair(event, path) if self._tree is not None else None
        self._note(dirty=hint or (path,), touched=not (event.is_moved_from or event.is_moved_to), moved=hint)

    def _take_folder(self, path: str, event: Event) -> None:
        tree = self._tree
        if tree is not None and path == self._git and (event.is_create or event.is_moved_to):
            tree.add_single(path, gone=True)
        if tree is None or self._ignored(path, True):
            return
        hint = tree.pair(event, path)
        if hint is not None:  # before the long work of watching, because only early hints become moves
            self._note(folders=hint[:1], moved=hint)
        if event.is_moved_from or (event.is_delete and tree.failed(path)):
            tree.remove(path)
        elif event.is_create or event.is_moved_to or tree.failed(path):
            tree.add(path)
        elif not event.is_delete:
            self._note(dirty=(path,))  # its mode
            return
        # Noted after the watches exist, so that a crawl then misses nothing later.
        self._note(folders=(path,), unseen=not _came_or_went(event))

    def _take_self(self, folder: str, event: Event) -> None:
        if event.mask & UNMOUNTED:
            self._note(folders=(folder,), unseen=True)
        if not folder and (event.is_delete_self or event.is_move_self):
            with self._lock:
                self._root_gone = True
            self._note(overflowed=True)

    def _on_overflow(self) -> None:
        with self._lock:
            self._overflows += 1
            self._is_locked = False
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
        with self._lock:
            batch = self._batch
            idle = not batch
            here, other = (batch.locked, batch.unlocked) if self._is_locked else (batch.unlocked, batch.locked)
            other.difference_update(dirty)
            if self._git:
                here.update(path for path in dirty if path not in batch.dirty)
            batch.dirty.update(dirty)
            if touched:
                batch.touched.update(dirty)
            if self._is_locked:
                batch.locked_folders.update(folder for folder in folders if folder not in batch.folders)
            else:
                batch.locked_folders.difference_update(folders)
            batch.folders.update(folders)
            if unseen:
                batch.unseen.update(folders)
            batch.overflowed |= overflowed
            if moved is not None and len(batch.moved) < _MOST_PATHS:
                batch.moved.append(moved)
            if len(batch.dirty) + len(batch.folders) > _MOST_PATHS:
                batch.dirty.clear()
                batch.touched.clear()
                batch.locked.clear()
                batch.unlocked.clear()
                batch.folders.clear()
                batch.locked_folders.clear()
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
        try:
            self._cookies.prepare()
        except OSError as error:
            self._no_cookies = f"no cookie folder: {error.strerror or error}"
            return
        self._no_cookies = ""
        if self._tree is not None:
            self._tree.add_single(COOKIES)


def _came_or_went(event: Event) -> bool:
    return event.is_create or event.is_moved_to or event.is_moved_from or event.is_delete
