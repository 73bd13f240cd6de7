"""Client of the process that reads fanotify (`worker`). A missing or late answer proves nothing."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Literal

from quire_daemon.clock import Clock
from quire_daemon.core import Ancestor, TracedWriter
from quire_daemon.ops import Log
from quire_daemon.workers import LENGTH, framed, program, wired
from quire_journal.model import above

ANSWER_S: Final = 0.1
"""Seconds to wait for an answer; usual is a millisecond."""

EACH_S: Final = 0.0002  # additional wait for each path

START_S: Final = 2.0
"""Seconds after which a process that has not reported no longer counts as starting."""

MOST_LOOKS: Final = 100_000
"""Maximum number of remembered looks; beyond it, all are dropped."""

NOT_YET: Final = "it begins with the first call that an agent announces"
READ_BYTES: Final = 1 << 16

Writers = tuple[TracedWriter, ...] | None
"""Writers of a file, possibly none; None: unknown."""


class Tracer:
    """Finds the processes that wrote a file. For the loop's thread."""

    def __init__(
        self,
        root: Path,
        ignored: Callable[[str, bool], bool],
        clock: Clock,
        log: Log | None = None,
        trace: Literal["auto", "off"] = "auto",
    ) -> None:
        self._root, self._ignored, self._clock, self._log = root, ignored, clock, log or Log()
        self._wire: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._incoming = bytearray()
        self.reads = False  # the process has reported that it reads events
        self._why_not = (
            "[watch] trace is off" if trace == "off" else NOT_YET if _is_privileged() else "needs CAP_SYS_ADMIN"
        )
        self._started_s = self._begun_s = 0.0
        self._tickets = 0
        self._answered = 0  # number of the last answer
        self._looks: dict[str, float] = {}  # path → time of the last look
        self._asked: dict[str, Writers] = {}  # answers not used yet

    # ── life ──

    def begin(self) -> None:
        """Start the process. Idempotent; never waits."""
        if self._why_not != NOT_YET or self._process is not None:
            return
        try:
            self._wire, self._process = wired(self._words)
            self._started_s = self._clock.mono_s()
        except OSError as error:
            self._end(str(error))

    def look(self) -> None:
        """Read pending messages. Never waits."""
        if self._wire is not None:
            self._receive(0.0)

    def starts(self) -> bool:
        """True while the started process has not reported yet, for at most `START_S` seconds. Never waits."""
        if not self.reads:
            self.look()
        is_silent = self._process is not None and not self.reads and self._why_not == NOT_YET
        return is_silent and self._clock.mono_s() < self._started_s + START_S

    def close(self) -> None:
        self._end("the daemon ends")

    @property
    def state(self) -> str:
        """Text for `status` and `doctor`: `fanotify`, or `off` with the reason."""
        return "fanotify" if self.reads else f"off ({self._why_not})"

    # ── what happened ──

    def looked(self, path: str, at_s: float) -> None:
        """Record that the journal had the file at `path` (as on disk) as of `at_s`, so that earlier writes do not
        matter.
        """
        if self._process is None:  # it may read events already, before its first report
            return
        self._asked.pop(path, None)
        if len(self._looks) >= MOST_LOOKS:
            self._looks.clear()
        self._looks[path] = at_s

    def writers_of(self, path: str) -> Writers:
        """Return the processes that wrote `path` since the last `looked` for it; None if unknown."""
        if path not in self._asked:
            self.ask([path])
        return self._asked.pop(path, None)

    def ask(self, paths: Sequence[str]) -> None:
        """Ask about many files at once, for `writers_of`."""
        self._asked.clear()
        if not self.reads:
            self.look()
        if self._answered < self._tickets:
            self.look()
        if self._wire is None or not self.reads or not paths or self._answered < self._tickets:
            return  # the last question is still open: do not wait again
        self._tickets += 1
        spans = [(path, max(self._looks.get(path, 0.0), self._begun_s)) for path in paths]
        try:
            self._wire.sendall(framed(json.dumps({"ask": self._tickets, "paths": spans}).encode()))
        except OSError as error:
            self._end(f"the process that reads fanotify ended: {error}")
            return
        answers = self._receive(ANSWER_S + len(spans) * EACH_S, self._tickets) or ()
        self._asked.update((path, self._writers(path, told)) for path, told in zip(paths, answers, strict=False))

    # ── the process ──

    def _words(self, fd: int) -> Sequence[str]:
        return program("watch.fanotify.worker", str(fd), str(os.getpid()), os.fspath(self._root))

    def _receive(self, patience_s: float, ticket: int = 0) -> list[Any] | None:
        until_s = self._clock.mono_s() + patience_s
        while self._wire is not None:
            message = self._message()
            if message is None:
                left_s = until_s - self._clock.mono_s() if ticket else 0.0
                if not self._pull(max(0.0, left_s)) and left_s <= 0:
                    return None
            elif "answer" in message:
                self._answered = message["answer"]
                if self._answered == ticket:
                    return list(message["writes"])
            else:
                self._hear(message)
        return None

    def _pull(self, patience_s: float) -> bool:
        assert self._wire is not None
        self._wire.settimeout(patience_s)
        try:
            data = self._wire.recv(READ_BYTES)
        except (BlockingIOError, TimeoutError):
            return False
        except OSError as error:
            self._end(f"the process that reads fanotify ended: {error}")
            return False
        finally:
            if self._wire is not None:
                self._wire.settimeout(ANSWER_S)
        if not data:
            self._end(self._why_not if self._why_not != NOT_YET else "the process that reads fanotify ended")
        self._incoming += data
        return bool(data)

    def _message(self) -> dict[str, Any] | None:
        head = LENGTH.size
        if len(self._incoming) < head:
            return None
        size = LENGTH.unpack_from(self._incoming)[0]
        if len(self._incoming) < head + size:
            return None
        message: dict[str, Any] = json.loads(self._incoming[head : head + size])
        del self._incoming[: head + size]
        return message

    def _writers(self, path: str, told: list[Any] | None) -> Writers:
        """Return the processes in a worker's answer about `path`; None if one is unknown. Writes are left out if the
        journal has looked at their path since, but not renames of a folder above `path`: a look at the folder shows no
        file in it.
        """
        if told is None:
            return None
        found: dict[Any, tuple[float, float, float]] = {}
        for name, line, began_s, first_s, last_s in told:
            is_above = path.startswith(f"{name}/")
            if last_s < (self._begun_s if is_above else self._looks.get(name, self._begun_s)):
                continue
            if line is None:
                return None
            key = tuple(Ancestor(*one) for one in line)
            _, first, last = found.get(key, (began_s, first_s, last_s))
            found[key] = began_s, min(first, first_s), max(last, last_s)
        return tuple(TracedWriter(line, *times) for line, times in found.items())

    def _hear(self, message: dict[str, Any]) -> None:
        if "off" in message:
            if message["off"]:
                self._why_not = message["off"]
            else:
                self.reads, self._begun_s = True, message["since"]
            self._log.info("tracing", state=self.state)
        elif "folders" in message and self._wire is not None:
            with suppress(OSError):
                found = sorted({self._outermost(path) for path in message["folders"]} - {""})
                self._wire.sendall(framed(json.dumps({"ignored": found}).encode()))

    def _outermost(self, folder: str) -> str:
        return next((path for path in (*above(folder), folder) if self._ignored(path, True)), "")

    def _end(self, why: str) -> None:
        self.reads, self._why_not = False, why
        wire, self._wire = self._wire, None
        process, self._process = self._process, None
        if wire is not None:
            wire.close()
        if process is not None:
            process.kill()
            process.wait()
        self._incoming.clear()
        self._looks.clear()
        self._asked.clear()


def _is_privileged() -> bool:
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as file:
            told = next(line for line in file if line.startswith("CapEff:"))
    except (OSError, StopIteration):
        return False
    return bool(int(told.split()[1], 16) >> 21 & 1)
