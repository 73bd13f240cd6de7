"""The process that looks for what is purged: `python -m quire_daemon.purger PARENT`.

An expression can keep `re` busy for longer than the universe lasts, and `re` holds the interpreter's lock meanwhile: in
the daemon it would stop every thread. So all of a purge that runs an expression runs here, and a timer of the kernel
ends this process when one run of it takes too long; the daemon's side is `ask`.

One task comes as msgpack on standard input, and one outcome goes out. The journal is only read; logs are written.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from quire_daemon.examiner import die_with
from quire_journal import purging
from quire_journal.events import BytesGone, Purged
from quire_journal.log import Damaged, StoreFailed
from quire_journal.purging import Change, Found, Texts, Wanted
from quire_journal.refusals import Refused
from quire_journal.stores.lmdb import LmdbStore

SHOWN_CHARS: Final = 200
MIB: Final = 1 << 20


class Compiled(msgspec.Struct, frozen=True):
    """`purging.Texts` as it goes from one process to another: sources. "" is none."""

    asked: str = ""
    lines: bytes = b""


class FindTask(msgspec.Struct, frozen=True, tag="find"):
    """Say what a purge has to do. One of `path`, `blob` and `matching`."""

    folder: str  # of the journal
    limit_ms: int  # of processor time, for one run of the expression over a text, and as much for each further MiB
    path: str = ""
    blob: bytes = b""
    matching: str = ""
    note: str = ""
    logs: tuple[str, ...] = ()  # only tried here, so that what takes too long for them is known before anything is done


class MaskTask(msgspec.Struct, frozen=True, tag="mask"):
    """Put stars over texts in logs, in place: somebody appends to them meanwhile."""

    texts: Compiled
    limit_ms: int
    logs: tuple[str, ...]


Task = FindTask | MaskTask


class Looked(msgspec.Struct, tag="looked"):
    """What a purge has to do, as long as `head` is the newest record."""

    head: int
    blobs: dict[bytes, int]
    versions: dict[bytes, list[tuple[str, int]]]
    records: list[int]
    texts: Compiled
    rows: list[tuple[str, bytes, bytes]]
    dropped: list[bytes]
    purged: Purged
    gone: list[BytesGone]
    views: tuple[str, ...]

    def found(self) -> Found:
        """Where it is; without what would find it again."""
        return Found(self.blobs, self.versions, Texts(), self.records)

    def change(self) -> Change:
        """What a transaction has to do."""
        return Change(self.rows, self.dropped, [self.purged, *self.gone], self.views)


class Masked(msgspec.Struct, tag="masked"):
    """The logs are as they should be."""


class Unfit(msgspec.Struct, tag="unfit"):
    """It is no expression that a purge can take."""

    why: str


class Failed(msgspec.Struct, tag="failed"):
    """The journal could not be read, or a log not be written."""

    why: str
    damaged: bool


Outcome = Looked | Masked | Unfit | Failed


# ── the daemon's side ──


def ask(task: Task, command: Sequence[str] = ()) -> Looked | Masked:
    """Have `task` done, and wait for its end. Raises `Refused`, `Damaged` or `StoreFailed`."""
    words = command or [sys.executable, "-P", "-W", "ignore", "-m", "quire_daemon.purger", str(os.getpid())]
    try:
        ended = subprocess.run(words, cwd="/", input=msgspec.msgpack.encode(task), capture_output=True)
    except OSError as error:
        raise StoreFailed(f"no process can be started for it ({error})") from error
    if ended.returncode == -signal.SIGVTALRM:
        raise Refused(
            "regex_timeout",
            f"The expression{_named(task)} was stopped in one text, after {task.limit_ms} ms for each mebibyte of it; "
            "repeats in repeats, such as (a+)+, cost most.",
            "simplify_pattern",
            argument="matching",
            limit_ms=task.limit_ms,
        )
    if ended.returncode:
        last = (ended.stderr.decode("utf-8", "replace").strip().splitlines() or [f"status {ended.returncode}"])[-1]
        raise StoreFailed(f"the process that looks for it ended ({last})")
    outcome: Outcome = msgspec.msgpack.decode(ended.stdout, type=Outcome)
    if isinstance(outcome, Unfit):
        raise Refused("invalid_regex", f"matching: {outcome.why}.", argument="matching")
    if isinstance(outcome, Failed):
        raise (Damaged if outcome.damaged else StoreFailed)(outcome.why)
    return outcome


def _named(task: Task) -> str:
    if isinstance(task, MaskTask):
        return ""
    return f" {task.matching[:SHOWN_CHARS]!r}{'…' if len(task.matching) > SHOWN_CHARS else ''}"


# ── the process ──


class Limited:
    """An expression of which no run takes longer than a limit: the kernel ends the process."""

    def __init__(self, source: str, limit_ms: int) -> None:
        """Raises as `re.compile`, which is limited, too."""
        self._limit_s = limit_ms / 1000
        with self._within(0):
            self._of = re.compile(source.encode("utf-8", "surrogateescape"), re.MULTILINE)

    @contextmanager
    def _within(self, size: int) -> Iterator[None]:
        # Of the processor's time: on a busy machine an expression is no slower. Nobody handles the signal.
        signal.setitimer(signal.ITIMER_VIRTUAL, self._limit_s * max(1.0, size / MIB))
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)

    def search(self, data: bytes) -> re.Match[bytes] | None:
        with self._within(len(data)):
            return self._of.search(data)

    def finditer(self, data: bytes) -> Iterable[re.Match[bytes]]:
        with self._within(len(data)):
            return list(self._of.finditer(data))

    def sub(self, to: bytes | Callable[[re.Match[bytes]], bytes], data: bytes) -> bytes:
        with self._within(len(data)):
            return self._of.sub(to, data)


def run(task: Task) -> Outcome:
    """Do it."""

    if isinstance(task, MaskTask):
        texts = Texts(
            Limited(task.texts.asked, task.limit_ms) if task.texts.asked else None,
            re.compile(task.texts.lines) if task.texts.lines else None,
        )
        for log in task.logs:
            _mask_file(Path(log), texts)
        return Masked()
    matching: Limited | None = None
    if task.matching:
        try:
            matching = Limited(task.matching, task.limit_ms)
        except (re.error, OverflowError, ValueError) as error:
            return Unfit(str(error))
        except RecursionError:
            return Unfit("it is nested too deeply")
        if matching.search(b""):
            return Unfit("it matches nothing at all, so everything would go")
    return _look(task, Wanted(task.path, task.blob, matching))


def _look(task: FindTask, wanted: Wanted) -> Looked:
    store = LmdbStore.open_to_read(Path(task.folder))
    try:
        with store.reading() as r:
            head = next((int.from_bytes(key, "big") for key, _ in r.scan("records", reverse=True)), 0)
            found = purging.find(r, wanted)
            change = purging.change(r, wanted, found, task.note)
    finally:
        store.close()
    if found.texts.asked is not None:  # what takes too long is told before anything is done
        for log in task.logs:
            purging.mask(_read(Path(log)), found.texts)
    first = change.events[0]
    assert isinstance(first, Purged)
    gone = [event for event in change.events if isinstance(event, BytesGone)]
    lines = found.texts.lines
    compiled = Compiled(task.matching, lines.pattern if isinstance(lines, re.Pattern) else b"")
    where = (found.blobs, found.versions, found.records, compiled)
    return Looked(head, *where, change.rows, change.dropped, first, gone, change.views)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _mask_file(path: Path, texts: Texts) -> None:
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return
    with os.fdopen(fd, "r+b") as file:
        was = file.read()
        now = purging.mask(was, texts)
        if now != was:
            file.seek(0)
            file.write(now)
            file.flush()
            os.fsync(file.fileno())


def main() -> int:
    """Do the task on standard input. Exit status 0 when the outcome was said."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # meant for the daemon, which waits for this process
    die_with(int(sys.argv[1]))
    outcome: Outcome
    try:
        outcome = run(msgspec.msgpack.decode(sys.stdin.buffer.read(), type=Task))
    except Damaged as error:
        outcome = Failed(str(error), True)
    except (StoreFailed, OSError) as error:
        outcome = Failed(str(error), False)
    sys.stdout.buffer.write(msgspec.msgpack.encode(outcome))
    return 0


if __name__ == "__main__":
    sys.exit(main())
