"""Queue of regular-expression searches, run one by one in a process that is killed at a search's time limit. No call
blocks.
"""

from __future__ import annotations

import os
import subprocess
from collections import deque
from collections.abc import Sequence
from typing import Final, Protocol

import msgspec

from quire_daemon.workers import LENGTH, Command, framed, program, wired
from quire_daemon.workers.regex.job import Answer, Search, SearchFailure, TimedOut
from quire_journal.model import limits

START_S: Final = 10.0  # longest start of the process, on a busy machine; usually 0.1 s
READ_BYTES: Final = 1024 * 1024
MOST_ANSWER: Final = 512 * 1024 * 1024
REAP_S: Final = 0.02  # seconds between checks of a killed process

Ticket = int
"""Number that identifies a search, from 1."""


class SocketPoll(Protocol):
    def watch(self, fd: int, writable: bool = False) -> None:
        """Wake the main loop when `fd` is readable or, with `writable`, writable."""

    def unwatch(self, fd: int) -> None:
        """Stop polling `fd`."""


def _searcher(fd: int) -> Sequence[str]:
    return program("workers.regex.worker", str(fd), str(os.getpid()))


class _Job(msgspec.Struct, frozen=True):
    ticket: Ticket
    search: Search
    limit_ms: int


class SearchClient:
    def __init__(self, poll: SocketPoll, command: Command = _searcher, start_s: float = START_S) -> None:
        self._poll, self._command, self._start_s = poll, command, start_s
        self._last_ticket = 0
        self._waiting: deque[_Job] = deque()
        self._running: _Job | None = None
        self._until_s = 0.0  # monotonic: deadline of the running search or the start
        self._process: _Process | None = None
        self._killed: list[subprocess.Popen[bytes]] = []  # not reaped yet

    def ask(self, search: Search, limit_ms: int) -> Ticket:
        """Queue `search` and return its ticket. The time limit `limit_ms` counts from the search's start."""
        self._last_ticket += 1
        self._waiting.append(_Job(self._last_ticket, search, limit_ms))
        return self._last_ticket

    def cancel(self, ticket: Ticket) -> None:
        self._waiting = deque(job for job in self._waiting if job.ticket != ticket)
        if self._running is not None and self._running.ticket == ticket:
            self._running = None
            self._end()

    def look(self, now_s: float) -> list[tuple[Ticket, Answer]]:
        """Return (ticket, answer) of ended searches, and start the next. `now_s`: monotonic."""
        if self._process is None and not self._waiting and not self._killed:
            return []
        self._killed = [process for process in self._killed if process.poll() is None]
        ended: list[tuple[Ticket, Answer]] = []
        while True:
            answer = self._answer(now_s)
            if answer is not None and self._running is not None:
                ended.append((self._running.ticket, answer))
                self._running = None
            if not self._begin(now_s, ended):
                return ended

    def next_look_s(self, now_s: float) -> float:
        """Return the monotonic time by which `look` must run again."""
        until = self._until_s if self._running is not None or self._waiting else float("inf")
        return min(until, now_s + REAP_S) if self._killed else until

    def close(self) -> None:
        self._waiting.clear()
        self._running = None
        self._end()
        for process in self._killed:
            process.wait()

    def _answer(self, now_s: float) -> Answer | None:
        process = self._process
        if process is None:
            return None
        try:
            message = process.message()
            if message is not None:
                return _ANSWER.decode(message)
        except (OSError, msgspec.MsgspecError) as error:
            return self._gave_up(process, f"the process that searches ended in the middle of it ({error})")
        if now_s < self._until_s:
            return None
        if self._running is not None:
            self._end()
            return TimedOut(self._running.limit_ms)
        return None if process.ready else self._gave_up(process, "the process that searches does not start")

    def _gave_up(self, process: _Process, why: str) -> Answer:
        self._end()
        if self._running is None and self._waiting and not process.ready:
            self._running = self._waiting.popleft()
        return SearchFailure(why)

    def _begin(self, now_s: float, ended: list[tuple[Ticket, Answer]]) -> bool:
        if self._running is not None or not self._waiting:
            return False
        if self._process is None:
            try:
                self._process = _Process(self._command, self._poll)
            except OSError as error:
                failed = SearchFailure(f"no process for it can be started ({error})", limits.reached(error))
                ended.append((self._waiting.popleft().ticket, failed))
                return True
            self._until_s = now_s + self._start_s
        if not self._process.ready:
            return False
        self._running = self._waiting.popleft()
        self._until_s = now_s + self._running.limit_ms / 1000
        self._process.send(msgspec.msgpack.encode((self._running.search, self._running.limit_ms / 1000)))
        return True

    def _end(self) -> None:
        if self._process is not None:
            self._killed.append(self._process.kill())
            self._process = None


_ANSWER: Final[msgspec.msgpack.Decoder[Answer]] = msgspec.msgpack.Decoder(Answer)


class _Process:
    def __init__(self, command: Command, poll: SocketPoll) -> None:
        self.ready = False  # the process has reported ready
        self._poll = poll
        self._incoming, self._outgoing = bytearray(), memoryview(b"")
        self._wire, self._process = wired(command)
        self._wire.setblocking(False)
        poll.watch(self._wire.fileno())

    def send(self, message: bytes) -> None:
        self._outgoing = memoryview(framed(message))
        self._poll.watch(self._wire.fileno(), writable=True)

    def message(self) -> bytes | None:
        """Return the next complete answer or None. Raises `OSError` if the process has ended."""
        self._push()
        self._pull()
        head = LENGTH.size
        while len(self._incoming) >= head:
            size = LENGTH.unpack_from(self._incoming)[0]
            if size > MOST_ANSWER:
                raise OSError(f"an answer of {size} bytes")
            if len(self._incoming) < head + size:
                return None
            message = bytes(self._incoming[head : head + size])
            del self._incoming[: head + size]
            if self.ready:
                return message
            self.ready = True  # the first message means ready
        return None

    def kill(self) -> subprocess.Popen[bytes]:
        self._poll.unwatch(self._wire.fileno())
        self._wire.close()
        self._process.kill()
        return self._process

    def _push(self) -> None:
        if not self._outgoing:
            return
        try:
            while self._outgoing:
                self._outgoing = self._outgoing[self._wire.send(self._outgoing) :]
        except BlockingIOError:
            return
        self._poll.watch(self._wire.fileno())

    def _pull(self) -> None:
        try:
            while data := self._wire.recv(READ_BYTES):
                self._incoming += data
        except BlockingIOError:
            return
        raise OSError("it has closed its end")
