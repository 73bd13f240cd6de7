"""Compare-and-swap on a path: what is overwritten is exactly what was planned on, or everything is put back.

The path and the temporary file trade places in one step of the kernel, so that nothing is ever overwritten;
whatever was at the path is in our hands then, and is looked at. If it is the base (the inode that was planned
on, under a lease that nobody broke since its bytes were compared), the swap stands. If not, a program was faster:
what came out is put back, and what comes out then must be what we last put there; a third writer makes it another
round. Rejected: compare and then rename, which lost up to half of the saves of a busy program.

    exchange(path, tmp), never (tmp, path): with the other order inotify's last word about the path is MOVED_FROM,
    and watchers believe it was deleted.

No step here waits: a file that is held open raises HeldOpen, and the staged write can be performed again later.
Readers never see a torn, empty or missing file; when a race is lost they may see our version for some 10 us.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import ExitStack
from typing import Final

from quire_daemon.handlers.base import FileNow, Make, Move, Put
from quire_daemon.workspace import kernel
from quire_daemon.workspace.confine import Beneath, refusal
from quire_daemon.workspace.lingering import Displaced, Lingering, unlink
from quire_daemon.workspace.making import make, unmake
from quire_daemon.workspace.reading import Held, Reading, read_all
from quire_daemon.workspace.staging import IN_PLACE, Staged, copy_identity, write_all
from quire_daemon.workspace.values import (
    HeldOpen,
    Kept,
    Lost,
    NotRegular,
    Protection,
    Signature,
    Swapped,
    Vanished,
)
from quire_journal.refusals import Refused

STEPS: Final = (
    "stage.written",  # content, owner and mode are in the unnamed file
    "stage.synced",  # and on the platter
    "stage.named",  # it has its name in .quire/tmp
    "perform.base_held",  # the base is leased and its bytes are compared
    "perform.folders_made",
    "perform.created",  # the new file has its path
    "perform.exchanged",  # path and temporary file have traded places, nothing is checked yet
    "perform.verified",  # what came out is the base
    "perform.conflict",  # what came out is not; about to be put back
    "perform.put_back",  # the path is as the others left it
    "perform.removed",  # the path is empty, what was there has a name in .quire/tmp
    "perform.moved",  # the file has its new path, nothing is checked yet
    "in_place.marked",  # the temporary file carries the mark
    "in_place.half",  # the file holds a mixture
    "in_place.written",
    "in_place.synced",
    "revert.base_held",  # our own file at the path is leased and compared; what follows are the steps of a perform
    "discard.unlinked",
)
"""The fault points, in the order in which a write passes them; a crash test kills the process at each."""

_HOPS: Final = 100
"""So many writers in a row between two of our system calls mean that something else is wrong."""


class Swapping:
    """Performs staged writes. For the loop's thread only."""

    def __init__(
        self,
        beneath: Beneath,
        reading: Reading,
        tmp: int,
        protection: Protection,
        lingering: Lingering,
        step: Callable[[str], None],
    ) -> None:
        """`tmp`: the folder `.quire/tmp`."""
        self._beneath = beneath
        self._reading = reading
        self._tmp = tmp
        self._protection = protection
        self._lingering = lingering
        self._step = step

    # --- the four writes -------------------------------------------------------------------------------------------

    def perform(self, staged: Staged, pinned: bool) -> Swapped | Lost:
        """Do it. Raises HeldOpen (do it again later, or `abandon`), Refused (nothing changed), OSError (unknown)."""
        ways = {
            "create": self._create,
            "swap": self._swap,
            "in_place": self._write_in_place,
            "remove": self._remove,
            "move": self._move,
            "make": self._make,
        }
        result = self._guarded(staged, ways[staged.how], pinned)
        staged.performed = isinstance(result, Swapped)
        if isinstance(result, Lost):
            if result.kept:  # the name in `.quire/tmp` stands for bytes of others now
                self._remove_folders(staged)
            else:
                self.abandon(staged)
        return result

    def _guarded(self, staged: Staged, way: Callable[[Staged, bool], Swapped | Lost], pinned: bool) -> Swapped | Lost:
        try:
            return way(staged, pinned)
        except Vanished:
            return Lost("missing")
        except NotRegular:
            return Lost("not_a_file")
        except Refused:
            self.abandon(staged)
            raise
        except OSError as error:
            self.abandon(staged)
            raise refusal(error, staged.write.path) from error

    def abandon(self, staged: Staged) -> None:
        """Forget a write that was not performed. Only what we wrote ourselves is removed."""
        if staged.performed:
            return
        seen = self._in_tmp(staged.name)
        if seen is not None and seen.st_ino and (seen.st_dev, seen.st_ino) == staged.inode:
            item = self._lingering.find(staged.name)
            if item is None:  # else it was at the path for an instant, and is watched
                unlink(self._tmp, staged.name)
        self._remove_folders(staged)

    def _swap(self, staged: Staged, pinned: bool) -> Swapped | Lost:
        write = staged.write
        assert isinstance(write, Put)
        base = self._hold_base(write.path, write.over, staged)
        if isinstance(base, Lost):
            return base
        new: Held | None = None
        try:
            new = self.hold_temporary(staged.name)
            if base.signature != staged.base:  # somebody ran chmod, or touch, since the metadata was copied
                copy_identity(base.fd, base.signature, new.fd, write)
            self._step("perform.base_held")
            before = write.over.text.data if write.over.text is not None else None
            return self._exchange(write.path, staged.name, (base, before), (new, write.data), pinned)
        finally:
            base.drop()
            if new is not None:
                new.drop()

    def _create(self, staged: Staged, pinned: bool) -> Swapped | Lost:
        del pinned  # what is new displaces nothing
        path = staged.write.path
        self._make_folders(path, staged)
        new = self.hold_temporary(staged.name)
        try:
            with self._beneath.parent(path) as (folder, name):
                try:
                    kernel.rename_new(self._tmp, staged.name, folder, name)
                except FileExistsError:
                    return Lost("exists")
            self._step("perform.created")
            return self._done(new)
        finally:
            new.drop()

    def _remove(self, staged: Staged, pinned: bool) -> Swapped | Lost:
        write = staged.write
        base = self._hold_base(write.path, write.over, staged)
        if isinstance(base, Lost):
            return base
        self._step("perform.base_held")
        before = write.over.text.data if write.over.text is not None else None
        try:
            return self._take_out(write.path, staged.name, base, before, pinned)
        finally:
            base.drop()

    def _move(self, staged: Staged, pinned: bool) -> Swapped | Lost:
        del pinned
        write = staged.write
        assert isinstance(write, Move)
        base = self._hold_base(write.path, write.over, staged)
        if isinstance(base, Lost):
            return base
        self._step("perform.base_held")
        before = write.over.text.data if write.over.text is not None else None
        try:
            self._make_folders(write.to, staged)
            return self._rename(write.path, write.to, staged.name, base, before)
        finally:
            base.drop()

    # --- undoing them, for batches ---------------------------------------------------------------------------------

    def revert(self, staged: Staged) -> Swapped | Lost:
        """Undo a performed and pinned write, if the path still is as it left it. Raises as `perform`."""
        ways = {
            "create": self._uncreate,
            "swap": self._unswap,
            "in_place": self._unwrite,
            "remove": self._unremove,
            "move": self._unmove,
            "make": self._unmake,
        }
        try:
            result = ways[staged.how](staged)
        except Vanished:
            return Lost("missing")
        except NotRegular:
            return Lost("not_a_file")
        except OSError as error:
            raise refusal(error, staged.write.path) from error
        if isinstance(result, Swapped):
            staged.performed = False
            self._remove_folders(staged)
        return result

    def _ours(self, staged: Staged, path: str) -> Held | Lost:
        """What we put at `path`, if it is there and unchanged."""
        write = staged.write
        held = self._reading.hold(path)
        if isinstance(write, Put):
            inode = staged.inode
            data: bytes | None = write.data
        else:
            inode = (held.signature.dev, write.over.inode or held.signature.ino)
            data = write.over.text.data if write.over.text is not None else None
        same = (held.signature.dev, held.signature.ino) == inode
        if same and (data is None or read_all(held.fd, held.signature.size) == data) and held.stands():
            self._step("revert.base_held")
            return held
        held.drop()
        return Lost("changed")

    def _unswap(self, staged: Staged) -> Swapped | Lost:
        write = staged.write
        assert isinstance(write, Put)
        item = self._lingering.find(staged.name)
        if item is None:
            return Lost("changed")  # it was not pinned, and its time is over
        ours = self._ours(staged, write.path)
        if isinstance(ours, Lost):
            return ours
        try:
            result = self._exchange(write.path, staged.name, (ours, write.data), (item.held, item.expected), False)
        finally:
            ours.drop()
        if isinstance(result, Swapped):
            self._lingering.release(item)
        return result

    def _uncreate(self, staged: Staged) -> Swapped | Lost:
        write = staged.write
        assert isinstance(write, Put)
        ours = self._ours(staged, write.path)
        if isinstance(ours, Lost):
            return ours
        try:
            return self._take_out(write.path, staged.name, ours, write.data, False)
        finally:
            ours.drop()

    def _unremove(self, staged: Staged) -> Swapped | Lost:
        item = self._lingering.find(staged.name)
        if item is None:
            return Lost("changed")
        with self._beneath.parent(staged.write.path) as (folder, name):
            try:
                kernel.rename_new(self._tmp, staged.name, folder, name)
            except FileExistsError:
                return Lost("exists")
        signature = item.held.refresh()
        self._lingering.release(item)
        return Swapped(signature)

    def _unmove(self, staged: Staged) -> Swapped | Lost:
        write = staged.write
        assert isinstance(write, Move)
        ours = self._ours(staged, write.to)
        if isinstance(ours, Lost):
            return ours
        data = write.over.text.data if write.over.text is not None else None
        try:
            return self._rename(write.to, write.path, staged.name, ours, data)
        finally:
            ours.drop()

    def _make(self, staged: Staged, pinned: bool) -> Swapped | Lost:
        del pinned  # what is new displaces nothing
        write = staged.write
        assert isinstance(write, Make)
        self._make_folders(write.path, staged)
        return make(self._beneath, write)

    def _unmake(self, staged: Staged) -> Swapped | Lost:
        write = staged.write
        assert isinstance(write, Make)
        return unmake(self._beneath, write)

    # --- the base --------------------------------------------------------------------------------------------------

    def _hold_base(self, path: str, over: FileNow, staged: Staged) -> Held | Lost:
        """What is at `path`, leased, if it is what the decision saw.

        Bytes that were not captured (`over.text` is None) are told by inode and size alone.
        """
        if over.kind == "link":
            return self._hold_link(path, over)
        held = self._reading.hold(path)
        try:
            if self._is_base(held, over, staged):
                return held
        except BaseException:
            held.drop()
            raise
        held.drop()
        return Lost("changed")

    def _hold_link(self, path: str, over: FileNow) -> Held | Lost:
        try:
            fd = self._beneath.open(path, kernel.O_PATH)
        except FileNotFoundError:
            return Lost("missing")
        held = Held(fd, Signature.of(os.fstat(fd)), leased=False)
        if held.signature.kind == "link" and over.inode in (0, held.signature.ino):
            return held
        held.drop()
        return Lost("changed")

    def _is_base(self, held: Held, over: FileNow, staged: Staged) -> bool:
        if over.inode not in (0, held.signature.ino):
            return False
        if over.text is None:
            return held.signature.size == over.size
        if staged.proven and held.signature == staged.base:
            return True
        if held.signature.size != len(over.text.data):
            return False
        return read_all(held.fd, held.signature.size) == over.text.data

    def _still(self, held: Held, before: bytes | None) -> bool:
        """Whether the displaced `held` is untouched. Without a lease its bytes are compared once more."""
        if not held.stands():
            return False
        if held.leased or before is None or held.signature.kind != "file":
            return True
        return read_all(held.fd, held.signature.size) == before

    def hold_temporary(self, name: str) -> Held:
        """Our own temporary file, leased: who opens it at the path before all is verified has to wait."""
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self._tmp)
        leased = kernel.take_lease(fd) if self._protection.lease else None
        return Held(fd, Signature.of(os.fstat(fd)), leased is True)

    def _in_tmp(self, name: str) -> os.stat_result | None:
        try:
            return os.stat(name, dir_fd=self._tmp, follow_symlinks=False)
        except FileNotFoundError:
            return None

    # --- exchange --------------------------------------------------------------------------------------------------

    def _exchange(
        self,
        path: str,
        tmp_name: str,
        base: tuple[Held, bytes | None],
        new: tuple[Held, bytes | None],
        pinned: bool,
    ) -> Swapped | Lost:
        """Trade the file `base` at `path` for `new`, which is called `tmp_name`; each with its bytes."""
        planned, before = base
        with self._beneath.parent(path) as (folder, name):
            try:
                if not self._trade(folder, name, tmp_name, planned):
                    return Lost("changed")
            except FileNotFoundError:
                return Lost("missing")
            self._step("perform.exchanged")
            out = os.stat(tmp_name, dir_fd=self._tmp, follow_symlinks=False)
            came = Signature.of(out)
            if not came.same_inode(planned.signature) or not self._still(planned, before):
                return self._put_back((folder, name, path), tmp_name, came, planned, new)
        self._step("perform.verified")
        others = came.nlink > 1
        self._follow_chmod(planned.signature, came, new[0])
        self._lingering.add(Displaced(path, tmp_name, planned.hand_over(), before, pinned=pinned))
        done = self._done(new[0])
        return Swapped(done.signature, done.settled, hard_link_broken=others)

    def _trade(self, folder: int, name: str, tmp_name: str, planned: Held | None) -> bool:
        """Exchange path and temporary file. False (only without EXCHANGE): the path is not `planned`, nothing changed.

        Without EXCHANGE: a backup link, the check, a rename over the path. What is saved between check and rename
        is lost: 32 of 12,521 saves of a hot writer.
        """
        if self._protection.exchange:
            kernel.rename_flags(folder, name, self._tmp, tmp_name, kernel.EXCHANGE)
            return True
        backup = tmp_name + ".backup"
        os.link(name, backup, src_dir_fd=folder, dst_dir_fd=self._tmp, follow_symlinks=False)
        os.fsync(self._tmp)  # or a crash after the rename has neither name
        seen = Signature.of(os.stat(backup, dir_fd=self._tmp, follow_symlinks=False))
        if planned is not None and not (seen.same_inode(planned.signature) and planned.stands()):
            unlink(self._tmp, backup)
            return False
        os.rename(tmp_name, name, src_dir_fd=self._tmp, dst_dir_fd=folder)
        os.rename(backup, tmp_name, src_dir_fd=self._tmp, dst_dir_fd=self._tmp)
        return True

    def _put_back(
        self,
        where: tuple[int, str, str],
        tmp_name: str,
        came: Signature,
        planned: Held,
        new: tuple[Held, bytes | None],
    ) -> Lost:
        """Somebody was faster: undo, until what comes out is what we last put there."""
        placed = new[0].signature
        with ExitStack() as held:
            for _ in range(_HOPS):
                self._step("perform.conflict")
                # While we know an inode by its number it must not be freed: the next save would get that number.
                held.callback(os.close, self._open_in_tmp(tmp_name))
                try:
                    self._trade(where[0], where[1], tmp_name, None)
                except FileNotFoundError:
                    # Deleted by somebody who came after what we hold: the deletion stands, the bytes are kept.
                    return Lost("missing", self._keep(tmp_name, where[2]))
                planned.drop()  # a writer that waits for the base goes on, and writes into the file that it meant
                now = Signature.of(os.stat(tmp_name, dir_fd=self._tmp, follow_symlinks=False))
                if now.same_inode(placed):
                    break
                came, placed = now, came
            self._step("perform.put_back")
            return Lost("changed", self._after_putting_back(where[2], tmp_name, placed, new))

    def _open_in_tmp(self, name: str) -> int:
        return os.open(name, kernel.O_PATH | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self._tmp)

    def _after_putting_back(
        self, path: str, tmp_name: str, last: Signature, new: tuple[Held, bytes | None]
    ) -> tuple[Kept, ...]:
        """What to make of the file that we hold in the end: `new`, or one whose place a third program took."""
        if not last.same_inode(new[0].signature):
            return self._keep(tmp_name, path)
        if self._lingering.find(tmp_name) is None:  # a revert's file is watched already
            self._lingering.add(Displaced(path, tmp_name, new[0].hand_over(), new[1]))
        return ()

    def _follow_chmod(self, planned: Signature, came: Signature, new: Held) -> None:
        """A chmod between the copy of the mode and the exchange hit the displaced inode; it is done again here."""
        if stat.S_IMODE(came.mode) != stat.S_IMODE(planned.mode):
            os.fchmod(new.fd, stat.S_IMODE(came.mode))

    def _done(self, new: Held) -> Swapped:
        signature = new.refresh()
        settled = new.leased and self._reading.settles(signature) and new.stands()
        return Swapped(signature, settled)

    def _keep(self, tmp_name: str, path: str) -> tuple[Kept, ...]:
        """Bytes of others that ended up in our hands. What is still being written is told by a later sweep."""
        seen = os.stat(tmp_name, dir_fd=self._tmp, follow_symlinks=False)
        if not stat.S_ISREG(seen.st_mode):
            return (Kept(tmp_name, path, b""),)
        held = self.hold_temporary(tmp_name)
        data = read_all(held.fd, held.signature.size)
        if self._protection.lease and not (held.leased and held.stands()):
            self._lingering.add(Displaced(path, tmp_name, held, None, owned=False, broken=True))
            return ()
        self._lingering.add(Displaced(path, tmp_name, held, data, owned=False))
        return (Kept(tmp_name, path, data),)

    # --- removing and moving ---------------------------------------------------------------------------------------

    def _take_out(self, path: str, tmp_name: str, base: Held, before: bytes | None, pinned: bool) -> Swapped | Lost:
        """Rename what is at `path` to `tmp_name`; put it back if it is not `base`."""
        with self._beneath.parent(path) as (folder, name):
            try:
                kernel.rename_new(folder, name, self._tmp, tmp_name)
            except FileNotFoundError:
                return Lost("missing")
            self._step("perform.removed")
            came = Signature.of(os.stat(tmp_name, dir_fd=self._tmp, follow_symlinks=False))
            if came.same_inode(base.signature) and self._still(base, before):
                self._lingering.add(Displaced(path, tmp_name, base.hand_over(), before, pinned=pinned))
                return Swapped(None)
            self._step("perform.conflict")
            return self._give_back(folder, name, tmp_name, path)

    def _give_back(self, folder: int, name: str, tmp_name: str, path: str) -> Lost:
        try:
            kernel.rename_new(self._tmp, tmp_name, folder, name)
        except (FileExistsError, FileNotFoundError):  # a newer file is there, or the folder is gone
            return Lost("changed", self._keep(tmp_name, path))
        self._step("perform.put_back")
        return Lost("changed")

    def _rename(self, path: str, to: str, tmp_name: str, base: Held, before: bytes | None) -> Swapped | Lost:
        """Rename `path` to `to`; move it back if it is not `base`."""
        with self._beneath.parent(path) as (folder, name), self._beneath.parent(to) as (to_folder, to_name):
            try:
                kernel.rename_new(folder, name, to_folder, to_name)
            except FileExistsError:
                return Lost("exists")
            except FileNotFoundError:
                return Lost("missing")
            self._step("perform.moved")
            moved = self._stat_at(to_folder, to_name)
            if moved is not None and moved.same_inode(base.signature) and self._still(base, before):
                return self._done(base)
            self._step("perform.conflict")
            try:
                kernel.rename_new(to_folder, to_name, self._tmp, tmp_name)
            except FileNotFoundError:  # somebody has taken it away again
                return Lost("changed")
            came = Signature.of(os.stat(tmp_name, dir_fd=self._tmp, follow_symlinks=False))
            if moved is None or not came.same_inode(moved):  # not what we moved: it belongs where it was
                return self._give_back(to_folder, to_name, tmp_name, to)
            return self._give_back(folder, name, tmp_name, path)

    def _stat_at(self, folder: int, name: str) -> Signature | None:
        try:
            return Signature.of(os.stat(name, dir_fd=folder, follow_symlinks=False))
        except FileNotFoundError:
            return None

    # --- in place --------------------------------------------------------------------------------------------------

    def _write_in_place(self, staged: Staged, pinned: bool) -> Swapped | Lost:
        """Hard links: the bytes change, the inode stays, all its names show them.

        Under a write lease, so that even readers wait: no torn read of 47,784 (5,262 of 63,627 without). Where there
        are no leases the file is swapped instead, and its links are broken. A crash in the middle leaves a
        mixture; the temporary file carries a mark until the bytes are synced, and recovery writes them again.
        """
        write = staged.write
        assert isinstance(write, Put)
        held = self._hold_alone(write.path)
        if held is None:
            return self._swap(staged, pinned)
        try:
            if not self._is_base(held, write.over, staged):
                return Lost("changed")
            return self._overwrite(held, staged, write.data)
        finally:
            held.drop()

    def _hold_alone(self, path: str) -> Held | None:
        """The file open for writing under a write lease; None where there are no leases. Raises HeldOpen."""
        fd = self._beneath.open_file(path, os.O_RDWR)
        leased = kernel.take_lease(fd, write=True) if self._protection.lease else None
        if leased:
            return Held(fd, Signature.of(os.fstat(fd)), leased=True)
        os.close(fd)
        if leased is False:
            raise HeldOpen(path)
        return None

    def _overwrite(self, held: Held, staged: Staged, data: bytes) -> Swapped:
        self._mark(staged)
        before = read_all(held.fd, held.signature.size)
        try:
            if len(data) > len(before):
                os.posix_fallocate(held.fd, 0, len(data))  # a full disk shows before a byte has changed
            half = len(data) // 2
            write_all(held.fd, data[:half])
            self._step("in_place.half")
            write_all(held.fd, data[half:], half)
            os.ftruncate(held.fd, len(data))
            self._step("in_place.written")
        except OSError:
            write_all(held.fd, before)
            os.ftruncate(held.fd, len(before))
            raise
        os.fsync(held.fd)
        self._step("in_place.synced")
        unlink(self._tmp, staged.name)
        seen = Signature.of(os.fstat(held.fd))
        staged.inode = (seen.dev, seen.ino)
        return Swapped(seen, self._reading.settles(seen), in_place=True)

    def _mark(self, staged: Staged) -> None:
        marked = staged.name.rpartition(".")[0] + "." + IN_PLACE
        os.rename(staged.name, marked, src_dir_fd=self._tmp, dst_dir_fd=self._tmp)
        staged.name = marked
        os.fsync(self._tmp)
        self._step("in_place.marked")

    def _unwrite(self, staged: Staged) -> Swapped | Lost:
        write = staged.write
        assert isinstance(write, Put)
        held = self._hold_alone(write.path)
        if held is None or write.over.text is None:
            return Lost("changed")
        try:
            same = (held.signature.dev, held.signature.ino) == staged.inode
            if not same or read_all(held.fd, held.signature.size) != write.data:
                return Lost("changed")
            write_all(held.fd, write.over.text.data)
            os.ftruncate(held.fd, len(write.over.text.data))
            os.fsync(held.fd)
            return Swapped(Signature.of(os.fstat(held.fd)), in_place=True)
        finally:
            held.drop()

    # --- folders ---------------------------------------------------------------------------------------------------

    def _make_folders(self, path: str, staged: Staged) -> None:
        """The missing folders above `path`, with the mode of the folder they are in. Raises Refused, OSError."""
        names = path.split("/")[:-1]
        for count in range(1, len(names) + 1):
            folder = "/".join(names[:count])
            kind = self._beneath.look(folder).kind
            if kind == "folder":
                continue
            if kind != "missing":
                message = f"{folder} is not a folder, so nothing can be made in it."
                raise Refused("not_a_file", message, path=path)
            self._make_folder(folder, staged)
        if staged.folders:
            self._step("perform.folders_made")

    def _make_folder(self, path: str, staged: Staged) -> None:
        with self._beneath.parent(path) as (above, name):
            mode = stat.S_IMODE(os.fstat(above).st_mode)
            try:
                os.mkdir(name, mode, dir_fd=above)
            except FileExistsError:
                return
        staged.folders.append(path)
        fd = self._beneath.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fchmod(fd, mode)  # the daemon's umask is for its own files
        finally:
            os.close(fd)

    def _remove_folders(self, staged: Staged) -> None:
        while staged.folders:
            path = staged.folders.pop()
            try:
                with self._beneath.parent(path) as (above, name):
                    os.rmdir(name, dir_fd=above)
            except (OSError, Vanished):
                return  # somebody uses it by now
