"""Calls to a running daemon with the standard library alone, for short-lived processes such as hooks.

ZeroMQ and msgspec take 60 to 90 ms to import. This module speaks the needed part of ZMTP 3 and never retries, because
a sent request may have been performed.
"""

from __future__ import annotations

import _socket  # `socket` itself brings enum and selectors: 10 ms
import os
import struct
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from quire_client.transport.message_codec import pack, unpack
from quire_journal import VERSION, WIRE
from quire_journal.workspaces import Place, running

_GREETING: Final = b"\xff" + bytes(8) + b"\x7f" + b"\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)
_READY: Final = b"\x05READY\x0bSocket-Type\0\0\0\x06DEALER\x08Identity\0\0\0\0"
_COMMAND: Final = 4
_LONG: Final = 2
_MORE: Final = 1
_MAX_REPLY: Final = 80 * 1024 * 1024


class Unreachable(Exception):
    """The daemon was not called, or did not answer. The text is a sentence with the reason."""


class DaemonAbsent(Unreachable):
    """No daemon runs for the workspace."""


class NoAccess(Unreachable):
    """A daemon runs, but a sandbox forbids this process to connect to it."""


class Quick:
    """A connection to a running daemon for a few calls of one caller. Raises DaemonAbsent if no daemon runs, NoAccess
    in a sandbox, Unreachable for other failures.
    """

    def __init__(self, place: Place, caller: Mapping[str, str], until: float) -> None:
        found = running(place)
        if found is None or not found.socket:
            raise DaemonAbsent(f"No daemon runs for {place.root}.")
        _check_owner(Path(found.socket))
        self._set_caller(caller, until)
        try:
            self._socket = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        except PermissionError as error:
            raise _no_access() from error
        except OSError as error:
            raise Unreachable(f"Unix sockets are not available here: {error}.") from error
        self._buffer = b""
        self._last_id = 0
        self.version = ""  # of the daemon, as its last reply says
        try:
            self._limit()
            self._socket.connect(found.socket)
            self._shake_hands()
        except PermissionError as error:
            self.close()
            raise _no_access() from error
        except (OSError, Unreachable) as error:
            self.close()
            raise Unreachable(f"The daemon (pid {found.pid}) does not answer: {error}.") from error

    def call(self, tool: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """Call `tool` and return its reply, which may be a refusal. Raises Unreachable if no valid reply comes in
        time.
        """
        self._last_id += 1
        left_ns = int(max(0.0, self._until - time.monotonic()) * 1e9)
        request = {
            "id": self._last_id,
            "tool": tool,
            "args": args,
            "caller": self._caller,
            "deadline_ns": time.time_ns() + left_ns,
            "wire": WIRE,
            "client": VERSION,
        }
        try:
            self._limit()
            self._socket.sendall(_frame(0, pack(request)))
            while True:
                reply = unpack(self._message())
                if isinstance(reply, dict) and reply.get("id") == self._last_id and isinstance(reply.get("body"), dict):
                    self.version = str(reply.get("daemon", ""))
                    return dict(reply["body"])
        except (OSError, ValueError) as error:
            raise Unreachable(f"The daemon did not answer {tool}: {error}.") from error

    def _set_caller(self, caller: Mapping[str, str], until: float) -> None:
        self._caller = {name: value for name, value in caller.items() if value}
        self._until = until

    def renew(self, caller: Mapping[str, str], until: float) -> bool:
        """Set caller and deadline (monotonic seconds) of the next calls; return False if the connection cannot be used
        again.
        """
        self._set_caller(caller, until)
        try:
            self._socket.settimeout(0)
            self._socket.recv(1, _socket.MSG_PEEK)
        except BlockingIOError:
            return not self._buffer
        except OSError:
            pass
        return False

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Quick:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _shake_hands(self) -> None:
        self._socket.sendall(_GREETING + _frame(_COMMAND, _READY))
        theirs = self._bytes(64)
        if theirs[0] != 0xFF or theirs[9] != 0x7F or theirs[10] < 3 or theirs[12:16] != b"NULL":
            raise Unreachable("it does not speak ZMTP 3")
        flags, body = self._one_frame()
        if not flags & _COMMAND or not body.startswith(b"\x05READY"):
            raise Unreachable("it did not become ready")

    def _message(self) -> bytes:
        while True:
            flags, body = self._one_frame()
            if not flags & _COMMAND:
                if flags & _MORE:
                    raise Unreachable("it sent a message in parts")
                return body

    def _one_frame(self) -> tuple[int, bytes]:
        flags = self._bytes(1)[0]
        size = struct.unpack(">Q", self._bytes(8))[0] if flags & _LONG else self._bytes(1)[0]
        if size > _MAX_REPLY:
            raise Unreachable(f"it announced {size} bytes")
        return flags, self._bytes(size)

    def _bytes(self, size: int) -> bytes:
        while len(self._buffer) < size:
            self._limit()
            got = self._socket.recv(max(65536, size - len(self._buffer)))
            if not got:
                raise Unreachable("it closed the connection")
            self._buffer += got
        part, self._buffer = self._buffer[:size], self._buffer[size:]
        return part

    def _limit(self) -> None:
        left = self._until - time.monotonic()
        if left <= 0:
            raise Unreachable("its time is over")
        self._socket.settimeout(left)


def _no_access() -> NoAccess:
    from quire_client.transport.sandbox import NO_CONNECTION

    return NoAccess(NO_CONNECTION)


def _frame(flags: int, body: bytes) -> bytes:
    if len(body) < 256:
        return bytes([flags, len(body)]) + body
    return struct.pack(">BQ", flags | _LONG, len(body)) + body


def _check_owner(path: Path) -> None:
    try:
        owner = os.lstat(path).st_uid
    except OSError as error:
        raise Unreachable(f"The socket {path} is missing ({error.strerror}).") from error
    if owner != os.getuid():
        raise Unreachable(f"The socket {path} belongs to another user (uid {owner}).")
