"""Asking the process that reads journals which may be damaged (`check_worker`): it can die of one, the daemon cannot.

There are two ways to it. A daemon that serves has threads and an open database, and a process that has must not fork;
it executes the program (`executed`). One that starts has neither yet, and what it has imported need not be imported
again in a fork (`ForkedWorker`): most of what the check of a small journal takes.
"""

from __future__ import annotations

import json
import os
import select
import signal
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import IO, Any, Final, Protocol

import msgspec

from quire_daemon.integrity.check_worker import PAGES, CopyTask, Task, be_forked
from quire_daemon.workers import PipedProcess, last_words, program
from quire_journal.model import JournalDamaged
from quire_journal.storage import StoreFailure

Told = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, of how much."""

MOST_FINDINGS: Final = 1000
"""That are kept; further ones are counted."""

LOOK_MS: Final = 200
READ_BYTES: Final = 64 * 1024


class CheckAnswer(msgspec.Struct):
    """What the process said."""

    findings: list[tuple[str, str]] = msgspec.field(default_factory=list)  # sentence, table
    count: int = 0
    end: dict[str, Any] = msgspec.field(default_factory=dict)
    fate: str = ""  # how it ended, where it did not come to the end of its task

    @property
    def sentences(self) -> list[str]:
        """The findings, without their tables."""
        return [sentence for sentence, _ in self.findings]

    def find(self, sentence: str, table: str) -> None:
        """One more."""
        self.count += 1
        if len(self.findings) < MOST_FINDINGS:
            self.findings.append((sentence, table))


class Child(Protocol):
    """The process, as who waits for it needs it. Leaving it closes both ends and waits; then `returncode` is known."""

    stdout: IO[bytes]
    stderr: IO[bytes]
    returncode: int

    def kill(self) -> None: ...
    def __enter__(self) -> Child: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None: ...


Begin = Callable[[Task], Child]
"""Starts the process. Raises `OSError` when it cannot."""


def examine(
    task: Task, told: Told | None = None, begin: Begin | None = None, look: Callable[[], None] = lambda: None
) -> CheckAnswer:
    """Have `task` done, and wait for the end of it. A process that dies of it is a finding, not an error.

    `look` is called now and then while it says nothing. Raises `OSError` when no process can be started, and what
    `told` and `look` raise, which ends the process.
    """
    examined = CheckAnswer()
    with (begin or executed)(task) as child:
        try:
            for line in _lines(child.stdout.fileno(), look):
                _take(examined, line, told)
        except BaseException:
            child.kill()  # `told` wants no more of it
            raise
        words = child.stderr.read()
    if child.returncode:
        examined.fate = _fate(child.returncode, words)
        examined.find(f"The process that read the journal {examined.fate}.", PAGES)
    return examined


def copied(source: str, target: str, pause: Callable[[], None]) -> None:
    """`quire_journal.storage.port.Elsewhere`: for a compaction."""
    try:
        examined = examine(CopyTask(source, target), look=pause)
    except OSError as error:
        raise StoreFailure(f"could not start the process that copies the journal: {error.strerror}") from error
    if examined.fate:
        raise StoreFailure(f"the process that copies the journal {examined.fate}")
    if examined.findings:
        raise JournalDamaged(examined.sentences[0], everywhere=True)
    if failed := examined.end.get("failed"):
        raise StoreFailure(failed, disk_full=examined.end["disk_full"])


def executed(task: Task) -> Child:
    """The program, in a process of its own from the beginning."""
    child = PipedProcess(program("integrity.check_worker", str(os.getpid())))
    child.stdin.write(msgspec.json.encode(task))
    child.stdin.close()
    return child


class ForkedWorker:
    """A fork of this process, which must have no other thread and no database open."""

    def __init__(self, task: Task) -> None:
        out, errors, parent = os.pipe(), os.pipe(), os.getpid()
        self._pid = os.fork()
        if not self._pid:
            be_forked(task, parent, out[1], errors[1])
        os.close(out[1])
        os.close(errors[1])
        self.stdout: IO[bytes] = os.fdopen(out[0], "rb")
        self.stderr: IO[bytes] = os.fdopen(errors[0], "rb")
        self.returncode = 0

    def kill(self) -> None:
        os.kill(self._pid, signal.SIGKILL)

    def __enter__(self) -> Child:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stdout.close()
        self.stderr.close()
        self.returncode = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])


def _lines(fd: int, look: Callable[[], None]) -> Iterator[bytes]:
    """What comes, to its end: the file object above it would wait for it, however long that takes."""
    coming, rest = select.poll(), b""
    coming.register(fd, select.POLLIN)
    while True:
        while not coming.poll(LOOK_MS):
            look()
        came = os.read(fd, READ_BYTES)
        if not came:
            return
        *lines, rest = (rest + came).split(b"\n")
        yield from lines


def _take(examined: CheckAnswer, line: bytes, told: Told | None) -> None:
    kind, *rest = json.loads(line)
    if kind == "finding":
        examined.find(*rest)
    elif kind == "end":
        examined.end = rest[0]
    elif told is not None:
        told(*rest)


def _fate(status: int, words: bytes) -> str:
    if status < 0:
        return f"was ended by {signal.Signals(-status).name}"
    return f"failed ({last_words(words, status)})"
