"""The ZeroMQ socket (ROUTER) for requests and replies, for one thread; others may only call `wake`.

The listening socket is made here or by systemd and passed to libzmq (`USE_FD`). libzmq itself would unlink any file at
the path (even a live daemon's socket) and create it with the umask's mode. The kernel names the sender of a frame
(SO_PEERCRED).
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

from quire_daemon.core import IncomingRequest, Peer
from quire_daemon.server.file_transport import PREFIX, Spool
from quire_journal import VERSION, WIRE
from quire_journal.model import MAX_MESSAGE, Reply, decode_request, encode

LINGER_MS = 1000
"""Milliseconds that `close` waits for clients to read replies."""

DRAIN_LIMIT = 256

DRAIN_BYTES = 8 << 20
"""Bytes of requests after which a turn receives no more."""

MOST_QUEUED = 4
"""Maximum number of messages that ZeroMQ queues per connection and direction."""

MOST_UNREAD = 64
"""Maximum number of replies buffered per connection while ZeroMQ's queue is full; the client's requests wait."""

RESENT = 16
SOON_S = 0.001
LATE_S = 0.25
HANDSHAKE_MS = 10_000
"""Milliseconds after which an unfinished ZeroMQ handshake is dropped."""

QUEUED = 128
# As numbers: zmq's enums take longer than the calls.
_POLLIN: Final = int(zmq.POLLIN)
_NOBLOCK: Final = int(zmq.NOBLOCK)
_NOBLOCK_MORE: Final = int(zmq.NOBLOCK | zmq.SNDMORE)


def listen(path: Path) -> socket.socket:
    """Create a listening Unix socket with mode 0600. An old file at `path` is removed, because the caller holds the
    workspace's lock.
    """
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)  # at bind, so that the file never has a wider mode
    try:
        listener.bind(os.fspath(path))
    finally:
        os.umask(before)
    listener.listen(QUEUED)
    listener.setblocking(False)
    return listener


def raise_file_limit() -> None:
    """Raise the limit of open descriptors to the hard limit: libzmq aborts the process if it cannot accept a connection
    (https://github.com/zeromq/libzmq/issues/1306).
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class Server:
    def __init__(
        self,
        listener: socket.socket,
        path: Path,
        epoch: str,
        ours: bool = True,
    ) -> None:
        """`ours`: True if this process created the socket file, False if systemd did."""
        self.path = path
        self._ours = ours
        self.epoch = epoch
        self._listener = listener
        self.spool: Spool | None = None  # the file transport
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._context.linger = 0
        self._router = self._context.socket(zmq.ROUTER)
        self._router.setsockopt(zmq.MAXMSGSIZE, MAX_MESSAGE)
        self._router.setsockopt(zmq.ROUTER_MANDATORY, 1)
        self._router.setsockopt(zmq.SNDHWM, MOST_QUEUED)
        self._router.setsockopt(zmq.RCVHWM, MOST_QUEUED)
        self._router.setsockopt(zmq.HANDSHAKE_IVL, HANDSHAKE_MS)
        self._router.setsockopt(zmq.USE_FD, listener.fileno())
        self._router.bind(f"ipc://{path}")
        self._bell = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC) if hasattr(os, "eventfd") else -1
        self._bell_write = self._bell
        if self._bell < 0:  # macOS: a pipe instead
            self._bell, self._bell_write = os.pipe()
            os.set_blocking(self._bell, False)
            os.set_blocking(self._bell_write, False)
        self._poller = zmq.Poller()
        self._poller.register(self._router, zmq.POLLIN)
        self._poller.register(self._bell, zmq.POLLIN)
        self._ready: dict[Any, int] = {}  # result of the last poll
        self._unread: dict[bytes, deque[bytes]] = {}  # buffered replies
        self._again_s = SOON_S  # delay until they are retried
        self.undeliverable = 0

    @property
    def unread(self) -> Set[bytes]:
        return self._unread.keys()

    def wake(self) -> None:
        """End the current `poll`. For any thread or signal handler."""
        bell = self._bell_write
        if bell >= 0:
            with contextlib.suppress(BlockingIOError):  # already ringing
                os.write(bell, (1).to_bytes(8, "little"))

    def watch(self, fd: int, writable: bool = False) -> None:
        self._poller.register(fd, zmq.POLLIN | (zmq.POLLOUT if writable else 0))

    def unwatch(self, fd: int) -> None:
        self._poller.unregister(fd)

    def ready(self, fd: int) -> bool:
        """True if the descriptor `fd` became ready in the last `poll`."""
        return fd in self._ready

    def poll(self, timeout_s: float) -> list[IncomingRequest]:
        """Wait for a request, `wake`, a watched descriptor, or the timeout; return the received requests in order."""
        if self._unread and self._send_unread():
            timeout_s = 0.0  # further requests of these callers may run now
        elif self._unread:
            timeout_s = min(timeout_s, self._again_s)
            self._again_s = min(2 * self._again_s, LATE_S)
        self._ready = ready = dict(self._poller.poll(max(0, int(timeout_s * 1000 + 0.999))))
        if self._bell in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(self._bell, 4096)
        incoming = self._drained() if self._router in ready else []
        return incoming if self.spool is None else [*incoming, *self._spooled(self.spool)]

    def _spooled(self, spool: Spool) -> Iterable[IncomingRequest]:
        peer = Peer(os.getuid(), 0)
        for identity, number, frame in spool.take():
            if isinstance(frame, str):
                yield IncomingRequest(identity, peer, None, frame, number)
            else:
                yield _incoming(identity, peer, frame, number)

    def _drained(self) -> list[IncomingRequest]:
        incoming: list[IncomingRequest] = []
        size = 0
        for taken in range(DRAIN_LIMIT):
            if size > DRAIN_BYTES:
                break
            if taken and not int(self._router.getsockopt(zmq.EVENTS)) & _POLLIN:  # cheaper than to try and fail
                break
            try:
                frames = [self._router.recv(_NOBLOCK, copy=False)]
                while frames[-1].more:
                    frames.append(self._router.recv(_NOBLOCK, copy=False))
            except zmq.Again:
                break
            identity, body = frames[0].bytes, frames[-1]
            peer, size = _peer(body), size + sum(map(len, frames))
            if identity.startswith(PREFIX):  # a self-chosen identity: its replies would be written as files
                self.undeliverable += 1
                continue
            if len(frames) != 2:
                why = f"a request is one frame; {len(frames) - 1} came"
                incoming.append(IncomingRequest(identity, peer, None, why))
                continue
            incoming.append(_incoming(identity, peer, body.buffer))
        return incoming

    def reply(self, identity: bytes, request_id: int, body: dict[str, object]) -> None:
        """Send a reply, or buffer it until the client reads. A reply to a disconnected client, or beyond `MOST_UNREAD`,
        is dropped and counted.
        """
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
        try:
            self._send(identity, frame)
        except zmq.Again:
            return False
        except zmq.ZMQError:
            self.undeliverable += 1
        return True

    def _send_unread(self) -> bool:
        """Try again to send buffered replies; return True if a connection has none left."""
        before = len(self._unread)
        for identity in list(islice(self._unread, RESENT)):
            frames = self._unread.pop(identity)
            while frames and self._is_settled(identity, frames[0]):
                frames.popleft()
                self._again_s = SOON_S
            if frames:
                self._unread[identity] = frames  # after the others
        return len(self._unread) < before

    def _send(self, identity: bytes, frame: bytes) -> None:
        self._router.send(identity, _NOBLOCK_MORE)
        self._router.send(frame, _NOBLOCK)

    def reaches(self, identity: bytes) -> bool:
        """True if the client is still connected. Sends a reply with request id 0, which clients ignore."""
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
        """Send remaining replies, close the socket, and remove its file if ours."""
        if self.spool is not None:
            self.spool.close()
            self.spool = None
        for _ in range(LINGER_MS // 10):
            self._send_unread()
            if not self._unread:
                break
            time.sleep(0.01)
        self._context.destroy(linger=0 if self._unread else LINGER_MS)
        self._listener.detach()  # libzmq owned and closed the descriptor
        if self._ours:
            self.path.unlink(missing_ok=True)
        bell = {self._bell, self._bell_write}
        self._bell = self._bell_write = -1  # first: the numbers are reused soon
        for fd in bell:
            os.close(fd)


def _incoming(identity: bytes, peer: Peer, frame: bytes | memoryview, number: int = 0) -> IncomingRequest:
    try:
        return IncomingRequest(identity, peer, decode_request(frame))
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        return IncomingRequest(identity, peer, None, f"the message is not a request: {error}", number)


def _peer(frame: zmq.Frame) -> Peer:
    try:
        parts = str(frame.get("Peer-Address")).rsplit(":", 3)
        return Peer(int(parts[1]), int(parts[3] or 0))
    except (zmq.ZMQError, ValueError, IndexError):
        return Peer(os.getuid(), 0)
