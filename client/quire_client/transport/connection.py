"""A ZeroMQ socket to one run of the daemon: sends a request frame and returns the reply frame with the same id.

The socket is a DEALER without an identity, as two clients with one identity would receive each other's replies. A
request is sent only while the daemon holds its lock, because a later daemon would perform queued requests. ZeroMQ's
`IMMEDIATE` is not used: it drops received messages when a connection ends.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Final

import msgspec
import zmq

from quire_client.transport.errors import NoDaemon, NoReply, NotSent
from quire_client.transport.sandbox import NO_CONNECTION, blocked
from quire_journal.model import MAX_MESSAGE, Reply, decode_reply
from quire_journal.workspaces import LockHolder, Place, is_held, look_into, running

SLICE_S: Final = 0.2
FIRST_S: Final = 0.02
SOON_S: Final = 0.005
LAST_WAIT_S: Final = 2.0
_POLLIN: Final = int(zmq.POLLIN)  # as a number: zmq's enums are slower than the poll itself


class Connection:
    """A ZeroMQ connection to one run of the daemon: the holder of the workspace's lock, `found`. Not thread-safe."""

    def __init__(self, place: Place, found: LockHolder) -> None:
        self.epoch = found.epoch
        self._place = place
        self._pid = os.getpid()
        self._lock_path = os.fspath(place.lock)
        self._lock_stamp = _stamp(self._lock_path)
        self._lock = look_into(place)
        self._path = found.socket
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._context.linger = 0
        self._socket = self._context.socket(zmq.DEALER)
        self._socket.setsockopt(zmq.MAXMSGSIZE, MAX_MESSAGE)
        self._socket.setsockopt(zmq.RECONNECT_IVL, 20)  # ms; a daemon that starts has its lock before its socket
        self._socket.setsockopt(zmq.RECONNECT_IVL_MAX, 200)
        self._shaken = False  # hands, and the connection has not ended since
        self._told = self._socket.get_monitor_socket(zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED)
        self._news = zmq.Poller()
        self._news.register(self._socket, zmq.POLLIN)
        self._news.register(self._told, zmq.POLLIN)
        self._socket.connect(f"ipc://{found.socket}")

    def usable(self) -> bool:
        """Return False after a fork (the socket is the parent's) or if another daemon run holds the lock. Costs one
        `stat`.
        """
        return self._pid == os.getpid() and (_stamp(self._lock_path) == self._lock_stamp or self.alive())

    def alive(self) -> bool:
        found = running(self._place)
        return found is not None and found.epoch == self.epoch

    def wait_ready(self, until: float) -> None:
        """Return after the ZeroMQ handshake. `until` is a monotonic time in seconds.

        Raises NotSent if the daemon ends or the time is up, and NoDaemon if a sandbox forbids connections.
        """
        self._look()
        slice_s = FIRST_S
        while not self._shaken:
            if not self.alive():
                raise NotSent("The daemon ended.")
            left = until - time.monotonic()
            if left <= 0:
                raise NotSent(self._unreachable())
            self._told.poll(_milliseconds(min(left, slice_s)))
            self._look()
            if slice_s == FIRST_S and not self._shaken and blocked(self._path):
                raise NoDaemon(NO_CONNECTION)
            slice_s = SLICE_S

    def exchange(self, request_id: int, frame: bytes, until: float) -> Reply:
        """Send `frame` and return the reply to `request_id`. Replies to abandoned requests are dropped.

        Raises NotSent if the frame was not sent, and NoReply without a reply by the monotonic time `until`.
        """
        self.wait_ready(until)
        # On a busy machine the socket may accept one more message after the daemon's end, so that the effect of
        # the call would be unknown. The lock is released at once.
        if not (_stamp(self._lock_path) == self._lock_stamp and is_held(self._lock)) and not self.alive():
            raise NotSent("The daemon ended.")
        try:
            self._socket.send(frame, zmq.NOBLOCK)
        except zmq.ZMQError as error:
            raise NotSent(f"The daemon went away just before the call was sent ({error}).") from error
        while True:
            reply = self._receive(until)
            if reply.id == request_id:
                return reply

    def close(self) -> None:
        if self._pid != os.getpid():
            return
        self._context.destroy(linger=0)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _receive(self, until: float) -> Reply:
        ended, slice_s = False, SLICE_S
        while True:
            left = until - time.monotonic()
            news = [one for one, _ in self._news.poll(_milliseconds(min(max(left, 0.0), slice_s)))]
            if self._told in news and self._look():
                ended, slice_s = True, SOON_S
            # In this order: a reply precedes the notice that the connection ended.
            if self._socket in news or self._socket.poll(0):
                frame = self._socket.recv(zmq.NOBLOCK)
                break
            if left <= 0:
                raise NoReply("The daemon did not answer in time.")
            # Wait once more: for a reply sent just before the daemon's end, or for the end of the connection.
            if not self.alive() and (ended or not self._news.poll(_milliseconds(LAST_WAIT_S))):
                raise NoReply("The daemon ended during the call.")
            slice_s = min(2 * slice_s, SLICE_S)
        try:
            return decode_reply(frame)
        except msgspec.MsgspecError as error:
            raise NoReply(f"The daemon's reply cannot be read ({error}).") from error

    def _look(self) -> bool:
        ended = False
        while int(self._told.get(zmq.EVENTS)) & _POLLIN:
            event = int.from_bytes(self._told.recv_multipart(zmq.NOBLOCK)[0][:2], sys.byteorder)
            self._shaken = event == zmq.EVENT_HANDSHAKE_SUCCEEDED
            ended |= not self._shaken
        return ended

    def _unreachable(self) -> str:
        found = running(self._place)
        who = f"The daemon (pid {found.pid})" if found is not None else "The daemon"
        if not os.path.exists(self._path):
            return f"{who} runs, but its socket {self._path} is missing; it may still be starting."
        next_ = "" if found is None else f", or end it: `kill -9 {found.pid}` loses nothing that was answered"
        return f"{who} runs, but does not take connections on {self._path}: it is busy, or was stopped. Wait{next_}."


def _stamp(path: str) -> tuple[int, int]:
    try:
        found = os.stat(path)
    except OSError:
        return (0, 0)
    return (found.st_ino, found.st_mtime_ns)


def _milliseconds(seconds: float) -> int:
    return int(seconds * 1000 + 0.999)
