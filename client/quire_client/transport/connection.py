"""One socket to one run of the daemon: a frame out, the frame with the same id back, all within a deadline.

The only module of the client that knows ZeroMQ. A DEALER without an identity (two clients with one identity
would get each other's replies). Nothing is sent unless the daemon has shaken hands and holds its lock: what is queued
for a daemon that is not there is performed by its successor. ZeroMQ's own way to that (`IMMEDIATE`) throws away what
has been received when a connection ends: of the replies that a daemon sent just before its end, every third.
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
"""How often a waiting call looks whether the daemon still lives. Mostly the end of its socket tells first."""

FIRST_S: Final = 0.02
"""How long hands are waited for before it is looked whether this process may connect at all. Mostly they take one
millisecond."""

SOON_S: Final = 0.005
"""And how soon it looks again at first when its socket has ended, and the daemon has not yet."""

LAST_WAIT_S: Final = 2.0
"""How long the end of its socket is waited for once a daemon holds its lock no more, which it lets go of first. All
that it has sent comes before that, on a busy machine much later than the news of the lock."""

_POLLIN: Final = int(zmq.POLLIN)  # as a number: zmq's enums take longer than what is asked with them


class Connection:
    """A connection to the run of the daemon that `found` describes. One thread at a time."""

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
        """Whether a request may be sent here: same process, and the lock looks as it did at the start. One `stat`.

        A socket of before a fork belongs to the parent. A lock that was taken anew means another run, to which
        ZeroMQ would reconnect without a word.
        """
        return self._pid == os.getpid() and (_stamp(self._lock_path) == self._lock_stamp or self.alive())

    def alive(self) -> bool:
        """Whether the run of the daemon that this connection was made for still holds its lock."""
        found = running(self._place)
        return found is not None and found.epoch == self.epoch

    def wait_ready(self, until: float) -> None:
        """Return when the daemon has shaken hands. `until` is of the monotonic clock.

        Raises NotSent; NoDaemon where this process may not connect, of which ZeroMQ says nothing.
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
        """Send `frame` and return the reply to `request_id`. Raises NotSent or NoReply.

        Replies to other ids belong to calls that were given up; they are dropped.
        """
        self.wait_ready(until)
        # On a busy machine the socket learns late that the other side is gone, and takes one more message: then
        # nobody could say whether the call was performed. The lock tells it at once.
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
        """Give the socket back. What is still unsent is dropped. Nothing happens after a fork: it is the parent's."""
        if self._pid != os.getpid():
            return
        self._context.destroy(linger=0)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _receive(self, until: float) -> Reply:
        """The next reply, whichever call it belongs to. Raises NoReply."""
        ended, slice_s = False, SLICE_S
        while True:
            left = until - time.monotonic()
            news = [one for one, _ in self._news.poll(_milliseconds(min(max(left, 0.0), slice_s)))]
            if self._told in news and self._look():
                ended, slice_s = True, SOON_S
            # In this order: a reply comes before the end that was told of.
            if self._socket in news or self._socket.poll(0):
                frame = self._socket.recv(zmq.NOBLOCK)
                break
            if left <= 0:
                raise NoReply("The daemon did not answer in time.")
            # The last wait is for a reply that was sent just before the end, or for the end of the socket.
            if not self.alive() and (ended or not self._news.poll(_milliseconds(LAST_WAIT_S))):
                raise NoReply("The daemon ended during the call.")
            slice_s = min(2 * slice_s, SLICE_S)
        try:
            return decode_reply(frame)
        except msgspec.MsgspecError as error:
            raise NoReply(f"The daemon's reply cannot be read ({error}).") from error

    def _look(self) -> bool:
        """Take what ZeroMQ tells of the connection. Has one ended?"""
        ended = False
        while int(self._told.get(zmq.EVENTS)) & _POLLIN:
            event = int.from_bytes(self._told.recv_multipart(zmq.NOBLOCK)[0][:2], sys.byteorder)
            self._shaken = event == zmq.EVENT_HANDSHAKE_SUCCEEDED
            ended |= not self._shaken
        return ended

    def _unreachable(self) -> str:
        """Why a daemon that holds its lock could not be reached."""
        found = running(self._place)
        who = f"The daemon (pid {found.pid})" if found is not None else "The daemon"
        if not os.path.exists(self._path):
            return f"{who} runs, but its socket {self._path} is missing; it may still be starting."
        next_ = "" if found is None else f", or end it: `kill -9 {found.pid}` loses nothing that was answered"
        return f"{who} runs, but does not take connections on {self._path}: it is busy, or was stopped. Wait{next_}."


def _stamp(path: str) -> tuple[int, int]:
    """Which state of the lock file this is: a daemon that takes the lock rewrites the file."""
    try:
        found = os.stat(path)
    except OSError:
        return (0, 0)
    return (found.st_ino, found.st_mtime_ns)


def _milliseconds(seconds: float) -> int:
    """Rounded up: a poll of 0 ms would spin through the last millisecond."""
    return int(seconds * 1000 + 0.999)
