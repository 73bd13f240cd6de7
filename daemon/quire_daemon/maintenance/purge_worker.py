"""Process that searches the journal for a purge: `python -m quire_daemon.maintenance.purge_worker PARENT`.

A regular expression can run practically forever while `re` holds the interpreter lock, so it runs here, under a kernel
timer that kills the process. Tasks arrive as msgpack on standard input. A repeated task reads only records added since
(`purge.PurgeSurvey`).
"""

from __future__ import annotations

import os
import re
import select
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

from quire_daemon.workers import Cancellation, PipedProcess, die_with, framed, last_words, program, received
from quire_journal.maintenance import AnyOf, Found, PurgeSurvey, PurgeTarget, PurgeTransaction, Texts, purge
from quire_journal.model import BytesGone, JournalDamaged, Purged, Refusal
from quire_journal.storage import RowChange, StoreFailure
from quire_journal.storage.lmdb import LmdbStore

SHOWN_CHARS: Final = 200
MIB: Final = 1 << 20

STOP_LOOK_MS: Final = 200


class CompiledTexts(msgspec.Struct, frozen=True):
    """Texts to purge, in a form for another process: a regular expression ("" for none) and literal lines."""

    asked: str = ""
    lines: list[bytes] = []


class FindTask(msgspec.Struct, frozen=True, tag="find"):
    """Task: find everything that a purge must change. Exactly one of `path`, `blob` and `matching` is set."""

    folder: str  # of the journal
    limit_ms: int  # CPU time of one run of the expression, per MiB of text (at least one)
    path: str = ""
    blob: bytes = b""
    matching: str = ""
    note: str = ""
    plan: bool = False  # only search
    # searched only, so that an expression too slow for them is known before anything changes
    logs: tuple[str, ...] = ()


class MaskTask(msgspec.Struct, frozen=True, tag="mask"):
    """Task: overwrite texts in logs with stars, in place, as other processes append to the files."""

    texts: CompiledTexts
    limit_ms: int
    logs: tuple[str, ...]


Task = FindTask | MaskTask


class PurgeSurveyed(msgspec.Struct, tag="looked"):
    """Result: everything that a purge must change. It is valid only while the journal's state equals `stood`."""

    stood: tuple[int, int]
    blobs: dict[bytes, int]
    versions: dict[bytes, list[tuple[str, int]]]
    records: list[int]
    texts: CompiledTexts
    rows: list[RowChange]
    dropped: list[bytes]
    purged: Purged | None  # None: only a plan
    gone: list[BytesGone]

    def found(self) -> Found:
        return Found(self.blobs, self.versions, Texts(), self.records)

    def change(self) -> PurgeTransaction:
        assert self.purged is not None
        return PurgeTransaction(self.rows, self.dropped, [self.purged, *self.gone])


class LogsMasked(msgspec.Struct, tag="masked"):
    """Result: the log files were masked."""


class Unfit(msgspec.Struct, tag="unfit"):
    """Result: the regular expression cannot be used, for the reason `why`."""

    why: str


class PurgeFailure(msgspec.Struct, tag="failed"):
    """Result: the journal could not be read, or a log could not be written."""

    why: str
    damaged: bool
    everywhere: bool  # as in `JournalDamaged`
    disk_full: bool


Outcome = PurgeSurveyed | LogsMasked | Unfit | PurgeFailure


# ── the daemon's side ──


class Purger:
    """Client of the process that searches the journal for a purge."""

    def __init__(self, journal: Path, stopping: Callable[[], bool]) -> None:
        """`journal` is the journal's folder. If `stopping` returns true, a running task is cancelled."""
        self._journal, self._stopping = journal, stopping
        self._process: PipedProcess | None = None

    def ask(self, task: Task) -> PurgeSurveyed | LogsMasked:
        """Run `task` and wait for its result. Raises `Refusal` for an invalid or slow expression, `JournalDamaged` or
        `StoreFailure` if journal or process fail, `Cancellation` if the daemon stops.
        """
        try:
            if self._process is None:
                self._process = PipedProcess(program("maintenance.purge_worker", str(os.getpid())))
            said = self._said(self._process, msgspec.msgpack.encode(task))
        except OSError as error:
            raise StoreFailure(f"no process can be started for it ({error})") from error
        if said is None:
            raise self._fate(self._process, task)
        outcome: Outcome = msgspec.msgpack.decode(said, type=Outcome)
        if isinstance(outcome, Unfit):
            raise Refusal("invalid_regex", f"matching: {outcome.why}.", argument="matching")
        if isinstance(outcome, PurgeFailure):
            raise (
                JournalDamaged(outcome.why, outcome.everywhere)
                if outcome.damaged
                else StoreFailure(outcome.why, outcome.disk_full)
            )
        return outcome

    def _said(self, process: PipedProcess, asked: bytes) -> bytes | None:
        try:
            process.stdin.write(framed(asked))
            process.stdin.flush()
        except BrokenPipeError:
            return None
        answer = select.poll()  # `select.select` takes no descriptor above 1023
        answer.register(process.stdout, select.POLLIN)
        while not answer.poll(STOP_LOOK_MS):
            if self._stopping():
                raise Cancellation
        try:
            return received(process.stdout)
        except EOFError:
            return None

    def _fate(self, process: PipedProcess, task: Task) -> Refusal | StoreFailure:
        words, status = process.communicate()[1], process.returncode
        if status == -signal.SIGVTALRM:
            return Refusal(
                "regex_timeout",
                f"The expression{_named(task)} was stopped in one text, after {task.limit_ms} ms for each mebibyte of "
                "it; repeats in repeats, such as (a+)+, cost most.",
                "simplify_pattern",
                argument="matching",
                limit_ms=task.limit_ms,
            )
        return StoreFailure(f"the process that looks for it ended ({last_words(words, status)})")

    def close(self) -> None:
        """Kill the process and delete its temporary views. Raises `OSError` if they cannot be deleted."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()
            LmdbStore.remove_beside(self._journal)


def _named(task: Task) -> str:
    if isinstance(task, MaskTask):
        return ""
    return f" {task.matching[:SHOWN_CHARS]!r}{'…' if len(task.matching) > SHOWN_CHARS else ''}"


# ── the process ──


class TimedRegex:
    """A regular expression with a time limit: if a run exceeds the limit, the kernel kills the process."""

    def __init__(self, source: str, limit_ms: int) -> None:
        """Compile `source`. Raises `re.error` if it is no regular expression."""
        self._limit_s = limit_ms / 1000
        with self._within(0):
            self._of = re.compile(source.encode("utf-8", "surrogateescape"), re.MULTILINE)

    @contextmanager
    def _within(self, size: int) -> Iterator[None]:
        # CPU time, so that a busy machine does not matter. The signal is not handled.
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

    def sub(self, to: Callable[[re.Match[bytes]], bytes], data: bytes) -> bytes:
        with self._within(len(data)):
            return self._of.sub(to, data)


class Worker:
    def __init__(self) -> None:
        self._task: FindTask | None = None  # the task of `_gatherer`
        self._gatherer = PurgeSurvey(PurgeTarget())
        self._store: LmdbStore | None = None  # the journal's, during a search

    def run(self, task: Task) -> Outcome:
        try:
            if isinstance(task, MaskTask):
                return _mask_all(task)
            if task != self._task:
                self._begin(task)
            return self._look(task)
        except _Unfit as unfit:
            return Unfit(str(unfit))
        except (JournalDamaged, StoreFailure, OSError) as error:
            self.close()
            damaged, full = isinstance(error, JournalDamaged), isinstance(error, StoreFailure) and error.disk_full
            return PurgeFailure(str(error), damaged, isinstance(error, JournalDamaged) and error.everywhere, full)

    def close(self) -> None:
        self._gatherer.close()
        self._task = None

    def _begin(self, task: FindTask) -> None:
        self.close()
        wanted = PurgeTarget(task.path, task.blob, _expression(task) if task.matching else None)
        self._gatherer, self._task = PurgeSurvey(wanted, task.note, self._beside), task

    def _beside(self) -> LmdbStore:
        assert self._store is not None
        assert self._task is not None
        self._store.require_room(self._store.used_bytes())
        return LmdbStore.beside(Path(self._task.folder))

    def _look(self, task: FindTask) -> PurgeSurveyed:
        store = self._store = LmdbStore.open_to_read(Path(task.folder))
        try:
            with store.reading() as r:
                stood = purge.stand(r)
                found = self._gatherer.look(r)
                change = PurgeTransaction() if task.plan else self._gatherer.change(r)
        finally:
            store.close()
        if found.texts.asked is not None:  # report slow expressions before anything changes
            for log in task.logs:
                purge.mask(_read(Path(log)), found.texts)
        lines = found.texts.lines
        compiled = CompiledTexts(task.matching, [] if lines is None else [*lines.texts])
        purged = next((event for event in change.events if isinstance(event, Purged)), None)
        gone = [event for event in change.events if isinstance(event, BytesGone)]
        where = (found.blobs, found.versions, found.records, compiled)
        return PurgeSurveyed(stood, *where, change.rows, change.dropped, purged, gone)


class _Unfit(Exception):
    """Raised if the regular expression cannot be used."""


def _expression(task: FindTask) -> TimedRegex:
    try:
        matching = TimedRegex(task.matching, task.limit_ms)
    except (re.error, OverflowError, ValueError) as error:
        raise _Unfit(str(error)) from error
    except RecursionError as error:
        raise _Unfit("it is nested too deeply") from error
    if matching.search(b""):
        raise _Unfit("it matches nothing at all, so everything would go")
    return matching


def _mask_all(task: MaskTask) -> LogsMasked:
    texts = Texts(
        TimedRegex(task.texts.asked, task.limit_ms) if task.texts.asked else None,
        AnyOf(task.texts.lines) if task.texts.lines else None,
    )
    for log in task.logs:
        _mask_file(Path(log), texts)
    return LogsMasked()


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
        now = purge.mask(was, texts)
        if now != was:
            file.seek(0)
            file.write(now)
            file.flush()
            os.fsync(file.fileno())


def main() -> int:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # meant for the daemon, which waits for this process
    die_with(int(sys.argv[1]))
    decode = msgspec.msgpack.Decoder(Task).decode
    worker, out = Worker(), sys.stdout.buffer
    with suppress(EOFError):
        while True:
            out.write(framed(msgspec.msgpack.encode(worker.run(decode(received(sys.stdin.buffer))))))
            out.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
