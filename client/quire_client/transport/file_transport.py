"""A connection by files in `.quire/spool`, for sandboxed callers that cannot reach the daemon's socket.

The daemon holds a lock in that folder while it accepts requests. A client deletes a request file that the daemon has
not taken in time; the request then counts as not sent.
"""

from __future__ import annotations

import _socket  # `socket` itself brings enum and selectors
import contextlib
import fcntl
import json
import os
import stat
import time
from pathlib import Path
from typing import Final

import msgspec

from quire_client.transport.errors import NoDaemon, NoReply, NotSent
from quire_client.transport.sandbox import no_spool
from quire_journal.model import (
    LOCK,
    MAX_BYTES,
    SPOOL_FOLDER,
    Refusal,
    Reply,
    caller_file,
    decode_reply,
    reply_file,
    request_file,
    unfinished_file,
)
from quire_journal.workspaces import Place, running

FIRST_PAUSE_S: Final = 0.001
LONGEST_PAUSE_S: Final = 0.02
_LOOK_S: Final = 0.2  # interval at which a waiting call checks that the daemon still runs
_INTO: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def way_in(place: Place) -> SpoolLine | None:
    """Return a connection by files, or None if the daemon accepts none or its socket is reachable. Raises NoDaemon if
    this process cannot create files in the spool folder.
    """
    folder = _folder(place.root)
    if folder < 0:
        return None
    epoch = _epoch(folder)
    found = running(place) if epoch else None
    if not epoch or (found is not None and found.socket and _reachable(found.socket)):
        os.close(folder)
        return None
    try:
        return SpoolLine(folder, epoch)
    except OSError as error:
        os.close(folder)
        raise NoDaemon(no_spool(error.strerror or str(error))) from error


class SpoolLine:
    """A connection by files to the daemon run that holds the lock of `.quire/spool`. Not thread-safe."""

    def __init__(self, folder: int, epoch: str) -> None:
        """Take ownership of `folder`, a descriptor of the spool folder. `epoch` is the id of the daemon run.

        Raises OSError if the folder is not writable; the descriptor stays open.
        """
        self.epoch = epoch
        self._folder = folder
        self._pid = os.getpid()
        self._client = os.urandom(8).hex()
        self._caller = self._create(caller_file(self._client))
        with contextlib.suppress(OSError):  # the lock only shows that this client is alive
            fcntl.flock(self._caller, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def usable(self) -> bool:
        return self._pid == os.getpid() and self.alive()

    def alive(self) -> bool:
        return self._folder >= 0 and _epoch(self._folder) == self.epoch

    def exchange(self, request_id: int, frame: bytes, until: float) -> Reply:
        """Write `frame` as a request file and return the reply to `request_id`.

        Raises NotSent if the daemon did not take the file, NoReply if it did and has not answered by the monotonic
        time `until`, and NoDaemon if no file can be written.
        """
        if len(frame) > MAX_BYTES:
            message = f"The call has {len(frame)} bytes; as a file it may have {MAX_BYTES}. Nothing was sent."
            refused = Refusal("file_too_large", message, "split_the_call", sizeBytes=len(frame), limit=MAX_BYTES)
            return Reply(request_id, refused.reply(), self.epoch)
        name = request_file(self._client, request_id)
        self._leave(name, frame)
        pause_s, look_at = FIRST_PAUSE_S, time.monotonic() + _LOOK_S
        while (reply := self._fetch(request_id)) is None:
            now = time.monotonic()
            if now >= until:
                self._take_back(name, "The daemon did not answer in time.")
            if now >= look_at:
                look_at = now + _LOOK_S
                if not self.alive() and (reply := self._fetch(request_id)) is None:
                    self._take_back(name, "The daemon ended during the call.")
                if reply is not None:
                    break
            time.sleep(pause_s)
            pause_s = min(pause_s * 1.3, LONGEST_PAUSE_S)
        return reply

    def close(self) -> None:
        if self._pid != os.getpid() or self._folder < 0:
            return
        with contextlib.suppress(OSError):
            os.unlink(caller_file(self._client), dir_fd=self._folder)
        os.close(self._caller)
        os.close(self._folder)
        self._folder = -1

    def _create(self, name: str) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(name, flags, 0o600, dir_fd=self._folder)

    def _leave(self, name: str, frame: bytes) -> None:
        part = unfinished_file(name)
        try:
            with os.fdopen(self._create(part), "wb") as file:
                file.write(frame)
            if not self.alive():
                raise NotSent("The daemon ended.")
            os.rename(part, name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        except OSError as error:
            if not self.alive():
                raise NotSent("The daemon ended.") from error
            raise NoDaemon(
                f"The call cannot be left in {'/'.join(SPOOL_FOLDER)}: {error.strerror or error}."
            ) from error
        finally:
            with contextlib.suppress(OSError):
                os.unlink(part, dir_fd=self._folder)

    def _fetch(self, request_id: int) -> Reply | None:
        name = reply_file(self._client, request_id)
        try:
            fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self._folder)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise NoReply(f"The daemon's reply cannot be read ({error.strerror or error}).") from error
        with os.fdopen(fd, "rb") as file:
            found = os.fstat(fd)
            if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid():
                raise NoReply("Another user's file stands in place of the daemon's reply.")
            frame = file.read()
        with contextlib.suppress(OSError):
            os.unlink(name, dir_fd=self._folder)
        try:
            return decode_reply(frame)
        except msgspec.MsgspecError as error:
            raise NoReply(f"The daemon's reply cannot be read ({error}).") from error

    def _take_back(self, name: str, reason: str) -> None:
        try:
            os.unlink(name, dir_fd=self._folder)
        except OSError:
            raise NoReply(reason) from None
        raise NotSent(reason)


def _folder(root: Path) -> int:
    try:
        fd = os.open(root, _INTO & ~os.O_NOFOLLOW)
        for name in SPOOL_FOLDER:
            try:
                below = os.open(name, _INTO, dir_fd=fd)
            finally:
                os.close(fd)
            fd = below
    except OSError:
        return -1
    found = os.fstat(fd)
    if found.st_uid != os.getuid() or found.st_mode & 0o022:  # another user could read requests
        os.close(fd)
        return -1
    return fd


def _epoch(folder: int) -> str:
    try:
        fd = os.open(LOCK, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return ""
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            return str(json.loads(os.pread(fd, 4096, 0))["epoch"])
    except OSError:
        return ""
    finally:
        os.close(fd)
    return ""


def _reachable(path: str) -> bool:
    try:
        line = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    except OSError:
        return False
    try:
        line.settimeout(1.0)
        line.connect(path)
    except OSError:
        return False
    finally:
        line.close()
    return True
