"""The door: one ROUTER socket on a file of ours, requests in, replies out.

The listener is made here, not by libzmq, which would unlink whatever stands at the path (a live daemon's
socket too) and create the file with the umask's mode. It is handed over by `USE_FD`, which is also how a
listener from systemd comes in. Frames are copied out and their sender is taken from the kernel
(`Peer-Address` of the ipc transport is made from SO_PEERCRED by our side of the connection).

One thread owns the socket. Whoever else has something for the loop calls `wake`.
"""

from __future__ import annotations

import contextlib
import os
import resource
import socket
import time
from collections import deque
from collections.abc import Iterable, Set
from itertools import islice
from pathlib import Path
from typing import Any, Final

import msgspec
import zmq

from quire_daemon.spool import PREFIX, Spool
from quire_journal import VERSION, WIRE
from quire_journal.messages import MAX_MESSAGE, Reply, Request, decode_request, encode

LINGER_MS = 1000
"""How long the end waits for answers that are on their way: without it the last one of a busy daemon was lost, and with
a quarter of it now and then. Only a caller that does not read makes it last so long."""

DRAIN_LIMIT = 256
"""Requests taken from the socket in one turn: a flood must not keep the turn from ending."""

DRAIN_BYTES = 8 << 20
"""After so many bytes of requests the others are left for the next turn, in which every connection has its share again:
sixty that came at once, of as many megabytes each, had everybody wait for seconds."""

MOST_QUEUED = 4
"""Messages of one connection that ZeroMQ keeps for us, and replies that it keeps for one who does not read. Whoever
asks and waits for the answer has one at most; one can have many megabytes, and ZeroMQ's own measure is a thousand."""

MOST_UNREAD = 64
"""Replies that are kept beside for one who does not read. Its calls wait meanwhile (`waiting`), so that these are what
is answered without a turn."""

RESENT = 16
"""Connections of those whose replies are tried again before one poll; the others have their turn before the next."""

SOON_S = 0.001
LATE_S = 0.25
"""How long a poll takes at most while replies wait to be read: soon again at first, then later and later."""

# As numbers: zmq's enums take longer than what is asked with them.
_POLLIN: Final = int(zmq.POLLIN)
_NOBLOCK: Final = int(zmq.NOBLOCK)
_NOBLOCK_MORE: Final = int(zmq.NOBLOCK | zmq.SNDMORE)


class Peer(msgspec.Struct, frozen=True):
    """Who the kernel says is at the other end. pid 0 where the platform does not tell."""

    uid: int
    pid: int


class Incoming(msgspec.Struct, frozen=True):
    """A request as it came, and where its reply goes."""

    identity: bytes
    peer: Peer
    request: Request | None  # None: the frame was not a request; `why` says how
    why: str = ""
    number: int = 0  # of what was not a request, where it is known all the same: its caller waits for that


def listen(path: Path) -> socket.socket:
    """A listening unix socket at `path`, mode 0600. The caller holds the workspace's lock, so any other is stale."""
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)  # at bind, so that the file never exists with wider rights
    try:
        listener.bind(os.fspath(path))
    finally:
        os.umask(before)
    listener.listen(128)
    listener.setblocking(False)
    return listener


def raise_file_limit() -> None:
    """libzmq aborts the process when accept meets EMFILE, so take all descriptors that we may have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class Server:
    """The poll loop's socket and its bell."""

    def __init__(self, listener: socket.socket, path: Path, epoch: str, ours: bool = True) -> None:
        """`ours`: the socket's file was made by us. Otherwise its maker (systemd) goes on listening after us."""
        self.path = path
        self._ours = ours
        self.epoch = epoch
        self._listener = listener
        self.spool: Spool | None = None  # the second door
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._context.linger = 0
        self._router = self._context.socket(zmq.ROUTER)
        self._router.setsockopt(zmq.MAXMSGSIZE, MAX_MESSAGE)
        self._router.setsockopt(zmq.ROUTER_MANDATORY, 1)
        self._router.setsockopt(zmq.SNDHWM, MOST_QUEUED)
        self._router.setsockopt(zmq.RCVHWM, MOST_QUEUED)
        self._router.setsockopt(zmq.USE_FD, listener.fileno())
        self._router.bind(f"ipc://{path}")
        self._bell = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC) if hasattr(os, "eventfd") else -1
        self._bell_write = self._bell
        if self._bell < 0:  # macOS: a pipe does the same
            self._bell, self._bell_write = os.pipe()
            os.set_blocking(self._bell, False)
            os.set_blocking(self._bell_write, False)
        self._poller = zmq.Poller()
        self._poller.register(self._router, zmq.POLLIN)
        self._poller.register(self._bell, zmq.POLLIN)
        self._ready: dict[Any, int] = {}  # what the last poll told
        self._unread: dict[bytes, deque[bytes]] = {}  # what did not fit in
        self._again_s = SOON_S  # until they are tried again
        self.undeliverable = 0

    @property
    def unread(self) -> Set[bytes]:
        """Connections whose callers have replies to read before there is room for another."""
        return self._unread.keys()

    def wake(self) -> None:
        """End the current `poll`; from any thread, and from the handler of a signal, after the end as well."""
        bell = self._bell_write
        if bell >= 0:
            with contextlib.suppress(BlockingIOError):  # it is ringing already
                os.write(bell, (1).to_bytes(8, "little"))

    def watch(self, fd: int, writable: bool = False) -> None:
        """`poll` also ends when `fd` can be read from, or (if asked) written to, until `unwatch`."""
        self._poller.register(fd, zmq.POLLIN | (zmq.POLLOUT if writable else 0))

    def unwatch(self, fd: int) -> None:
        """Forget about `fd`, before it is closed."""
        self._poller.unregister(fd)

    def ready(self, fd: int) -> bool:
        """Was there something to be read from `fd` at the end of the last `poll`?"""
        return fd in self._ready

    def poll(self, timeout_s: float) -> list[Incoming]:
        """Wait for requests, a bell, a watched descriptor, somebody's reading of the replies that were kept for him, or
        `timeout_s`; the requests that came, in order.
        """
        if self._send_unread():
            timeout_s = 0.0  # what else they have asked for may have its turn now
        elif self._unread:
            timeout_s = min(timeout_s, self._again_s)
            self._again_s = min(2 * self._again_s, LATE_S)
        self._ready = ready = dict(self._poller.poll(max(0, int(timeout_s * 1000 + 0.999))))
        if self._bell in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(self._bell, 4096)
        incoming = list(self._drain()) if self._router in ready else []
        return [*incoming, *self._spooled()]

    def _spooled(self) -> Iterable[Incoming]:
        """Requests that came as files. Whose they are is told by their owner, and that is us."""
        peer = Peer(os.getuid(), 0)
        for identity, number, frame in self.spool.take() if self.spool is not None else ():
            if isinstance(frame, str):
                yield Incoming(identity, peer, None, frame, number)
            else:
                yield _incoming(identity, peer, frame, number)

    def _drain(self) -> Iterable[Incoming]:
        size = 0
        for taken in range(DRAIN_LIMIT):
            if size > DRAIN_BYTES:
                return
            if taken and not int(self._router.getsockopt(zmq.EVENTS)) & _POLLIN:  # cheaper than to try and fail
                return
            try:
                frames = [self._router.recv(_NOBLOCK, copy=False)]
                while frames[-1].more:
                    frames.append(self._router.recv(_NOBLOCK, copy=False))
            except zmq.Again:
                return
            identity, body = frames[0].bytes, frames[-1]
            peer, size = _peer(body), size + sum(map(len, frames))
            if identity.startswith(PREFIX):  # as it calls itself: its replies would be written as files
                self.undeliverable += 1
                continue
            if len(frames) != 2:
                yield Incoming(identity, peer, None, f"a request is one frame; {len(frames) - 1} came")
                continue
            yield _incoming(identity, peer, body.buffer)

    def reply(self, identity: bytes, request_id: int, body: dict[str, object]) -> None:
        """Send `body`, or keep it until there is room for it. Where the caller has gone it is counted and forgotten."""
        frame = encode(Reply(request_id, body, self.epoch, WIRE, VERSION))
        if identity.startswith(PREFIX):
            if self.spool is None or not self.spool.reply(identity, request_id, frame):
                self.undeliverable += 1
            return
        unread = self._unread.get(identity)
        if unread is None:
            if not self._is_settled(identity, frame):
                self._unread[identity], self._again_s = deque([frame]), SOON_S
        elif len(unread) < MOST_UNREAD:
            unread.append(frame)
        else:
            self.undeliverable += 1

    def _is_settled(self, identity: bytes, frame: bytes) -> bool:
        """Send it, or count it where its caller has gone. False: nothing more fits in before the caller has read."""
        try:
            self._send(identity, frame)
        except zmq.Again:
            return False
        except zmq.ZMQError:
            self.undeliverable += 1
        return True

    def _send_unread(self) -> bool:
        """Try again what did not fit in. Nothing tells when there is room, so this is done now and then.

        Is there a connection for which none is kept any more?
        """
        before = len(self._unread)
        for identity in list(islice(self._unread, RESENT)):
            frames = self._unread.pop(identity)
            while frames and self._is_settled(identity, frames[0]):
                frames.popleft()
                self._again_s = SOON_S
            if frames:
                self._unread[identity] = frames  # behind the others
        return len(self._unread) < before

    def _send(self, identity: bytes, frame: bytes) -> None:
        self._router.send(identity, _NOBLOCK_MORE)
        self._router.send(frame, _NOBLOCK)

    def reaches(self, identity: bytes) -> bool:
        """Is the other end of this connection still there?

        It is sent a reply to no request, which clients drop: what cannot be sent tells that it is gone. Where nothing
        more fits in, somebody is there who does not read.
        """
        if identity.startswith(PREFIX):
            return self.spool is not None and self.spool.reaches(identity)
        try:
            self._send(identity, encode(Reply(0, {}, self.epoch, WIRE, VERSION)))
        except zmq.Again:
            return True
        except zmq.ZMQError:
            return False
        return True

    def close(self) -> None:
        """Give the socket and the bell back; the socket file goes, too, if it was ours."""
        if self.spool is not None:
            self.spool.close()
            self.spool = None
        for _ in range(LINGER_MS // 10):
            self._send_unread()
            if not self._unread:
                break
            time.sleep(0.01)
        self._context.destroy(linger=0 if self._unread else LINGER_MS)
        self._listener.detach()  # libzmq owned the descriptor, and has closed it
        if self._ours:
            self.path.unlink(missing_ok=True)
        bell = {self._bell, self._bell_write}
        self._bell = self._bell_write = -1  # first: their numbers are those of other files soon
        for fd in bell:
            os.close(fd)


def _incoming(identity: bytes, peer: Peer, frame: bytes | memoryview, number: int = 0) -> Incoming:
    try:
        return Incoming(identity, peer, decode_request(frame))
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        return Incoming(identity, peer, None, f"the message is not a request: {error}", number)


def _peer(frame: zmq.Frame) -> Peer:
    """The sender. libzmq 4.3 writes `host:uid:gid:pid` for ipc; without it only the file's mode protects us."""
    try:
        parts = str(frame.get("Peer-Address")).rsplit(":", 3)
        return Peer(int(parts[1]), int(parts[3] or 0))
    except (zmq.ZMQError, ValueError, IndexError):
        return Peer(os.getuid(), 0)
