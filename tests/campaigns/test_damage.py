"""Random damage to a journal: what is served is right or refused, and what is lost is said.

Bits are flipped, pages zeroed or replaced by older copies of themselves, and the file is cut off, while no daemon runs
(as a crash of the machine, or a disk, leaves it) and under a running one. The oracle is a list of every version that
was ever written and the bytes of it.
"""

from __future__ import annotations

import faulthandler
import os
import random
import re
import resource
import shutil
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

import live
from live import Live, caught_up, eventually, ok, verified
from quire_daemon.integrity import verdict
from quire_journal.history.gaps import is_lost, version_then
from quire_journal.history.history import History
from quire_journal.integrity.checker import check
from quire_journal.journal import Journal, NewRecord
from quire_journal.model.events import FileWritten, WriterIntroduced
from quire_journal.model.ids import BatchId, WriterId, blob_id
from quire_journal.model.records import JournalDamaged
from quire_journal.storage import boot_mark
from quire_journal.storage.blobs import blobs
from quire_journal.storage.lmdb import LmdbStore
from quire_journal.storage.port import ReadTransaction

PAGE = 4096
PATHS = ("a.py", "src/b.py", "src/deep/c.txt", "big.bin")
SENTENCE = re.compile(r"^(Nothing was lost: all|Lost: |Everything was lost: ).*\.$")

Damage = Callable[[random.Random, bytearray, bytes], None]


def flip_bits(chance: random.Random, data: bytearray, old: bytes) -> None:
    """One to eight bits anywhere."""
    for _ in range(chance.randint(1, 8)):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def cut_off(chance: random.Random, data: bytearray, old: bytes) -> None:
    """The end of the file is missing."""
    del data[chance.randrange(len(data)) :]


def zero_pages(chance: random.Random, data: bytearray, old: bytes) -> None:
    """Pages that were never written."""
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(data) // PAGE) * PAGE
        data[at : at + PAGE] = bytes(PAGE)


def stale_pages(chance: random.Random, data: bytearray, old: bytes) -> None:
    """Pages as they were earlier: their last write did not reach the disk."""
    changed = [at for at in range(0, min(len(data), len(old)), PAGE) if data[at : at + PAGE] != old[at : at + PAGE]]
    for at in chance.sample(changed, min(len(changed), chance.randint(1, 3))):
        data[at : at + PAGE] = old[at : at + PAGE]


DAMAGES: tuple[Damage, ...] = (flip_bits, cut_off, zero_pages, stale_pages)


@dataclass
class Oracle:
    """What was written."""

    version: dict[tuple[str, int], bytes] = field(default_factory=dict)


def written(folder: Path, chance: random.Random, records: int, journal: Journal | None = None) -> tuple[Oracle, bytes]:
    """A journal in `folder`, what it holds, and its file as it was halfway."""
    oracle, old = Oracle(), b""
    journal = Journal.open(LmdbStore.open(folder), 1, workspace_id="0" * 32)
    journal.append([NewRecord(WriterIntroduced(1, uid=1000, agent="ann"), WriterId(0), 1, BatchId(1))])
    texts = {path: [f"line {n} of {path}\n".encode() for n in range(60)] for path in PATHS}
    while journal.head < records:
        path = chance.choice(PATHS)
        lines = texts[path]
        lines[chance.randrange(len(lines))] = f"{chance.random()} {'x' * chance.randrange(200)}\n".encode()
        data = b"".join(lines) if path != "big.bin" else chance.randbytes(chance.randrange(12_000))
        seq = journal.head + 1
        base = max((s for p, s in oracle.version if p == path), default=0)
        event = FileWritten(path, blob_id(data), len(data), 0o644, base)
        journal.append([NewRecord(event, WriterId(1), seq, BatchId(seq))], [(data, path)])
        oracle.version[path, seq] = data
        if seq == records // 2:
            old = (folder / "db" / "data.mdb").read_bytes()  # closes a descriptor; nobody else has it open
    journal.close()
    return oracle, old


@contextmanager
def opened(folder: Path) -> Iterator[ReadTransaction]:
    store = LmdbStore.open(folder)
    try:
        Journal.open(store, 1)
        with store.reading() as r:
            yield r
    finally:
        store.close()


def wrong_or_lost(folder: Path, oracle: Oracle) -> tuple[list[str], int]:
    """Where the journal says anything else than what was written; and how many versions it does not have."""
    wrong, lost = [], 0
    with opened(folder) as r:
        history = History(r)
        for (path, seq), data in oracle.version.items():
            version = history.version(path, seq)
            if version is None:
                lost += 1
                then = version_then(history, path, seq)
                if seq <= history.head() and not is_lost(then):
                    wrong.append(f"{path} at {seq} is answered with {then and then.seq}")
                continue
            try:
                if history.bytes_of(version.blob) != data:
                    wrong.append(f"{path} at {seq}")
            except blobs.NotHeld:
                lost += 1
                if history.gone(version.blob) is None:
                    wrong.append(f"{path} at {seq} is not held, and nothing says why")
        known = {(path, v.seq) for path in PATHS for v in history.versions(path)}
        wrong += [f"{path} at {seq} was never written" for path, seq in known - oracle.version.keys()]
    return wrong, lost


def damaged(journals: Path, times: int) -> Iterator[tuple[Path, str, bytes, Oracle]]:
    """The folder of a journal whose file is damaged, in which way, its bytes, and what is in it; each in turn."""
    chance = random.Random(live.SEED)
    source = journals / "sound"
    oracle, old = written(source, chance, records=live.length(150, 400))
    sound = (source / "db" / "data.mdb").read_bytes()
    for number in range(times):
        damage = DAMAGES[number % len(DAMAGES)]
        data = bytearray(sound)
        damage(chance, data, old)
        folder = journals / f"{number}"
        (folder / "db").mkdir(parents=True, mode=0o700)
        (folder / "db" / "data.mdb").write_bytes(data)
        yield folder, damage.__name__, bytes(data), oracle
        shutil.rmtree(folder)


@pytest.mark.timeout(live.length(60, 3600))
def test_a_damaged_journal_is_found_and_salvaged_or_refused_before_it_is_served(journals: Path) -> None:
    """Refused is a database that an old page has taken back to where the log, whose segments go, does not reach."""
    told = {}
    for folder, damage, data, oracle in damaged(journals, live.length(4, 200)):
        for segment in (journals / "sound" / "db").glob("log.*"):
            shutil.copy(segment, folder / "db")  # it has the last commit where the newest meta page is stale
        what = f"{damage}, number {folder.name}, seed {live.SEED}"
        prepared = verdict.prepare(folder, "0" * 32, 2_000_000_000, lambda doing: None)
        assert prepared.checked, what
        if prepared.views_differ:
            from quire_journal.views import replay

            store = LmdbStore.open(folder)
            replay.rebuild(store)
            store.close()
        refused = ""
        try:
            wrong, lost = wrong_or_lost(folder, oracle)
        except JournalDamaged as error:
            refused = str(error)
        if refused:
            assert damage == "stale_pages", (what, refused)
            assert "is older than its log" in refused, what
            assert (folder / "db" / "data.mdb").read_bytes() == data, what
            told.setdefault((damage, "refused"), []).append(0)
            continue
        assert not wrong, (what, wrong)
        assert bool(lost) <= bool(prepared.salvaged), (what, lost)
        if prepared.salvaged:
            assert SENTENCE.match(prepared.salvaged), (what, prepared.salvaged)
            assert bool(lost) <= (not prepared.salvaged.startswith("Nothing")), (what, lost, prepared.salvaged)
            aside = verdict.set_aside(folder)
            assert [(a / "data.mdb").read_bytes() for a in aside] == [data], what
        store = LmdbStore.open(folder)
        assert list(check(store)) == [], what
        store.close()
        key = (damage, "salvaged" if prepared.salvaged else "views" if prepared.views_differ else "harmless")
        told.setdefault(key, []).append(lost)
    print({key: (len(lost), sum(lost)) for key, lost in sorted(told.items())}, f"of {len(oracle.version)} versions")


@pytest.mark.timeout(live.length(60, 3600))
def test_a_damaged_journal_that_looks_as_its_daemon_left_it_gives_right_bytes_or_none(journals: Path) -> None:
    """A start after a kill checks nothing, and so reads are what finds it."""
    told: Counter[str] = Counter()
    for folder, damage, _, oracle in damaged(journals, live.length(8, 200)):
        boot_mark.leave(folder)
        what = f"{damage}, number {folder.name}, seed {live.SEED}"
        prepared = verdict.prepare(folder, "0" * 32, 2_000_000_000, lambda doing: None)
        assert prepared.trusted, what
        status = in_a_process(partial(right_or_none, folder, oracle))
        assert status != WRONG, what
        told["harmless" if status == 0 else "refused" if status == REFUSED else "died"] += 1
        if status not in (0, REFUSED):  # the daemon leaves a trace of that: the next start looks at everything
            (folder / "crashed").write_bytes(b"Fatal Python error")
            again = verdict.prepare(folder, "0" * 32, 2_000_000_000, lambda doing: None)
            assert again.salvaged or again.views_differ, what
            assert not wrong_or_lost(folder, oracle)[0], what
    print(dict(told))


REFUSED, WRONG = 3, 4


def right_or_none(folder: Path, oracle: Oracle) -> int:
    """Read every version: 0, `REFUSED` when some could not be, `WRONG` when one had other bytes."""
    status = 0
    try:
        with opened(folder) as r:
            history = History(r)
            for (path, seq), data in oracle.version.items():
                try:
                    version = history.version(path, seq)
                    if version is None or history.bytes_of(version.blob) != data:
                        status = WRONG if version is not None else REFUSED
                except (JournalDamaged, blobs.NotHeld):
                    status = REFUSED
                if status == WRONG:
                    return WRONG
    except JournalDamaged:
        return REFUSED
    return status


def in_a_process(act: Callable[[], int]) -> int:
    """What `act` returns in a process of its own; a number below 0 when it died."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            faulthandler.disable()
            signal.alarm(20)
            status = act()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.real
@pytest.mark.timeout(60)
def test_a_daemon_whose_journal_is_damaged_comes_back_with_what_can_be_read_and_says_what_was_lost() -> None:
    at = Live()
    try:
        at.write("a.txt", "one\n")
        client = at.connect()
        caught_up(client)
        for n in range(20):
            base = ok(client.call("read_file", {"path": "a.txt"}))["version"]
            ok(client.call("write_file", {"path": "a.txt", "content": f"{n}\n" * 200, "base": base}))
        data = at.state_dir / "journal" / "db" / "data.mdb"
        size = data.stat().st_size

        # The file loses its end under a daemon that serves: what reads there dies of SIGBUS, and the next call has a
        # daemon that looked at the journal first.
        with data.open("r+b") as file:
            file.truncate(3 * PAGE)
        for n in range(5):
            client.call("write_file", {"path": f"b{n}.txt", "content": "two\n"})
        status = eventually("a salvage", lambda: (reply := client.call("status", {})).get("salvaged") and reply)
        assert "could be kept" in status["salvaged"] or "not one record" in status["salvaged"], status["salvaged"]
        assert [p.name for p in verdict.set_aside(at.state_dir / "journal")] != []
        verified(client)
        assert ok(client.call("read_file", {"path": "a.txt"}))["content"] == "19\n" * 200
        assert size > 3 * PAGE

        # After a clean stop and a start without damage nothing is checked.
        ok(client.call("shutdown", {}))
        eventually("the daemon stopped", lambda: not at.pids())
        assert (at.state_dir / "journal" / "clean").exists()
        log = at.state_dir / "daemon.log"
        before = log.read_text().count("journal_checked")
        ok(client.call("status", {}))
        assert log.read_text().count("journal_checked") == before
        assert not (at.state_dir / "journal" / "clean").exists()
    finally:
        at.close()
