"""Process that reads possibly damaged journals: `python -m quire_daemon.integrity.check_worker PARENT`.

LMDB trusts its file, so a damaged one can crash the process. The pages are therefore first checked as plain bytes.
Copies for a compaction (`compaction`) are made here, too.

One task arrives as JSON on standard input. The output is lines of JSON: `["progress", what, done, total]`, `["finding",
sentence, table]`, and finally `["end", {...}]`. Without the last line, the journal crashed the process.
"""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final, TextIO

import msgspec

from quire_daemon.clock import Clock, SystemClock
from quire_daemon.workers import Breather, die_with
from quire_journal.integrity import Finding, Pages, check, salvage, sentence
from quire_journal.journal import OtherFormat, require_format
from quire_journal.model import JournalDamaged
from quire_journal.storage import CopyOrder, Store, StoreFailure, copy_pairs
from quire_journal.storage.lmdb import Copy, LmdbStore, walk

TOLD_EVERY_S: Final = 0.2

MOST_ATTEMPTS: Final = 3
MOST_FINDINGS: Final = 10_000

PAGES: Final = "pages"


class CheckTask(msgspec.Struct, frozen=True, tag="check"):
    folder: str
    in_use: bool = False  # by a daemon that writes
    read_data: bool = True
    part: tuple[int, int] = (1, 1)  # n-th of t parts of the blobs
    most_records: int = 0  # with more records, bytes are not unpacked and views not compared; 0: no limit


class SalvageTask(msgspec.Struct, frozen=True, tag="salvage"):
    """Task: make a journal in `into` from all parts of `folder` that hashes prove intact. `by`: who asked, "" for the
    daemon's start, "repair" for that command.
    """

    folder: str
    into: str
    workspace_id: str
    now_ns: int
    why: str
    set_aside: str
    by: str = ""


class CopyTask(msgspec.Struct, frozen=True, tag="copy"):
    """Task: copy a database, perhaps in use, into an empty one."""

    order: CopyOrder


class AuditTask(msgspec.Struct, frozen=True, tag="audit"):
    """Task: compare a journal, perhaps in use, with its signed heads and those in `against`."""

    state: str
    against: str = ""  # notes (`quire_journal.transparency`)
    keys: tuple[str, ...] = ()  # keys that must have signed them; empty: the keys of the journal
    source: str = ""  # where `against` was found, as a phrase


Task = CheckTask | SalvageTask | CopyTask | AuditTask

HEADS: Final = "heads"
"""Name for findings about signed heads, in place of a table's name."""


class _Alone:
    clock: Clock = SystemClock()
    stopping = False


class Teller:
    """Writes lines of output for the parent process; a line about progress at most every `TOLD_EVERY_S` seconds."""

    def __init__(self, out: TextIO, clock: Clock) -> None:
        self._out, self._clock = out, clock
        self._next = float("-inf")

    def say(self, *line: Any) -> None:
        self._out.write(json.dumps(line) + "\n")
        self._out.flush()

    def progress(self, what: str, done: int, total: int) -> None:
        now_s = self._clock.mono_s()
        if now_s >= self._next:
            self._next = now_s + TOLD_EVERY_S
            self.say("progress", what, done, total)


def run(task: Task, teller: Teller) -> dict[str, Any]:
    """Run `task`, and return what the last line of output (`end`) says."""
    if isinstance(task, SalvageTask):
        return _salvage(task, teller)
    if isinstance(task, CopyTask):
        return _copy(task)
    if isinstance(task, AuditTask):
        return _audit(task, teller)
    data = Path(task.folder) / "db" / "data.mdb"
    for attempt in range(1, MOST_ATTEMPTS + 1):
        looked_at = data.stat().st_ino
        found = list(islice(_check(task, teller.progress), MOST_FINDINGS))
        # A compaction replaced the file: findings may mix both files.
        if data.stat().st_ino == looked_at or attempt == MOST_ATTEMPTS:
            break
    findings = [finding for finding in found if isinstance(finding, Finding)]
    for finding in findings:
        teller.say("finding", str(finding), finding.table)
    return {"findings": len(findings), "whole": len(findings) == len(found)}


def _check(task: CheckTask, tell: Callable[[str, int, int], None]) -> Iterator[Finding | bool]:
    folder = Path(task.folder)
    tell("pages", 0, 0)
    if not task.in_use and (found := walk(folder / "db" / "data.mdb")):
        yield from (Finding(f"The pages of the database: {one}.", PAGES) for one in found[:20])
        return
    store = LmdbStore.open_to_read(folder)
    try:
        if task.in_use:
            with store.reading():  # keeps LMDB from reusing the pages of this state
                found = walk(folder / "db" / "data.mdb")
            yield from (Finding(f"The pages of the database: {one}.", PAGES) for one in found[:20])
            if found:
                return
        records = _records(store)
        small = not task.most_records or records <= task.most_records
        if not small:
            yield False
        try:
            yield from check(store, task.read_data and small, tell, task.part, small)
        except JournalDamaged as error:
            yield Finding(f"The journal cannot be read any further: {error}.", PAGES)
    finally:
        store.close()


def _records(store: Store) -> int:
    with store.reading() as r:
        require_format(r.get("meta", b"format") or b"")
        return r.count("records")


def _salvage(task: SalvageTask, teller: Teller) -> dict[str, Any]:
    into = Path(task.into)
    into.mkdir(mode=0o700)
    with Pages(Path(task.folder) / "db" / "data.mdb") as source:
        store = LmdbStore.open(into)
        try:
            event = salvage(
                source, store, task.workspace_id, task.now_ns, task.why, task.set_aside, task.by, teller.progress
            )
        finally:
            store.close()
    return {"sentence": sentence(event)}


def _copy(task: CopyTask) -> dict[str, Any]:
    source = LmdbStore.open_to_read(Path(task.order.source).parent)
    target = Copy.at(Path(task.order.target))
    try:
        copy_pairs(source, target, task.order, Breather(_Alone()).paced)
    finally:
        target.close()
        source.close()
    return {}


def _audit(task: AuditTask, teller: Teller) -> dict[str, Any]:
    from quire_daemon.integrity.head_audit import audit_heads  # starts need none of it

    state = Path(task.state)
    store = LmdbStore.open_to_read(state / "journal")
    try:
        _records(store)
        progress = partial(teller.progress, "records")
        findings, heads = audit_heads(store, state, task.against, task.keys, task.source, progress)
    finally:
        store.close()
    for finding in findings:
        teller.say("finding", finding, HEADS)
    return {"heads": heads}


def main() -> int:
    _belong_to(int(sys.argv[1]))
    do(msgspec.json.decode(sys.stdin.buffer.read(), type=Task), sys.stdout)
    return 0


def do(task: Task, out: TextIO) -> None:
    teller = Teller(out, SystemClock())
    try:
        end = run(task, teller)
    except OtherFormat as error:
        end = {"newer": str(error)}
    except JournalDamaged as error:
        teller.say("finding", f"The journal cannot be opened: {error}.", PAGES)
        end = {}
    except (StoreFailure, OSError) as error:
        full = isinstance(error, StoreFailure) and error.disk_full
        end = {"failed": str(error), "disk_full": full}  # says nothing about the journal
    teller.say("end", end)


def _belong_to(parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # meant for the daemon, which ends this process
    die_with(parent)


if __name__ == "__main__":
    sys.exit(main())
