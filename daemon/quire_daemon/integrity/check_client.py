"""Client of the process that reads possibly damaged journals (`check_worker`): a damaged journal can crash its
reader.
"""

from __future__ import annotations

import json
import os
import select
import signal
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from quire_daemon.integrity.check_worker import PAGES, CopyTask, Task
from quire_daemon.workers import PipedProcess, last_words, program
from quire_journal.model import JournalDamaged
from quire_journal.storage import CopyOrder, StoreFailure

Told = Callable[[str, int, int], None]

MOST_FINDINGS: Final = 1000
LOOK_MS: Final = 200
READ_BYTES: Final = 64 * 1024


class CheckAnswer(msgspec.Struct):
    findings: list[tuple[str, str]] = msgspec.field(default_factory=list)  # sentence, table
    count: int = 0
    end: dict[str, Any] = msgspec.field(default_factory=dict)
    fate: str = ""  # how the process ended, if its task was not finished

    @property
    def sentences(self) -> list[str]:
        return [sentence for sentence, _ in self.findings]

    def find(self, sentence: str, table: str) -> None:
        self.count += 1
        if len(self.findings) < MOST_FINDINGS:
            self.findings.append((sentence, table))


Begin = Callable[[Task], PipedProcess]
"""Function that starts the checking process for a task. Raises `OSError` if that fails."""


def examine(
    task: Task, told: Told | None = None, begin: Begin | None = None, look: Callable[[], None] = lambda: None
) -> CheckAnswer:
    """Run `task` in a checking process and return its findings. A death of the process is a finding, too.

    `told` gets progress, and `look` is called while the process is silent; an exception in either kills the process.
    Raises `OSError` if no process can be started.
    """
    examined = CheckAnswer()
    with (begin or _begun)(task) as child:
        try:
            for line in _lines(child.stdout.fileno(), look):
                _take(examined, line, told)
        except BaseException:
            child.kill()  # `told` cancelled it
            raise
        words = child.stderr.read()
    if child.returncode:
        examined.fate = _fate(child.returncode, words)
        examined.find(f"The process that read the journal {examined.fate}.", PAGES)
    return examined


def copied(order: CopyOrder, pause: Callable[[], None]) -> None:
    """Copy the database for a compaction in a separate process, calling `pause` meanwhile. Raises `StoreFailure`, or
    `JournalDamaged` if the source is damaged.
    """
    try:
        examined = examine(CopyTask(order), look=pause)
    except OSError as error:
        raise StoreFailure(f"could not start the process that copies the journal: {error.strerror}") from error
    if examined.fate:
        raise StoreFailure(f"the process that copies the journal {examined.fate}")
    if examined.findings:
        raise JournalDamaged(examined.sentences[0], everywhere=True)
    if failed := examined.end.get("failed"):
        raise StoreFailure(failed, disk_full=examined.end["disk_full"])


def _begun(task: Task) -> PipedProcess:
    child = PipedProcess(program("integrity.check_worker", str(os.getpid())))
    child.stdin.write(msgspec.json.encode(task))
    child.stdin.close()
    return child


def _lines(fd: int, look: Callable[[], None]) -> Iterator[bytes]:
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
