"""Packs: a compaction moves first versions into files that journals of one family share, and nothing is lost by it."""

from __future__ import annotations

import errno
import os
import random
import shutil
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Final

import pytest

from quire_journal.integrity.checker import check
from quire_journal.integrity.lmdb_pages import Pages
from quire_journal.integrity.salvager import salvage, sentence
from quire_journal.journal import Journal, NewRecord
from quire_journal.maintenance.purge import PurgeSurvey, PurgeTarget
from quire_journal.model.events import BytesGone, OutsideWritten
from quire_journal.model.ids import OUTSIDE, BatchId, blob_id
from quire_journal.model.records import JournalDamaged
from quire_journal.storage import blobs, packs
from quire_journal.storage.blobs import codec
from quire_journal.storage.lmdb import LmdbStore
from quire_journal.storage.memory import MemoryStore
from quire_journal.storage.port import StoreFailure, u64

SECRET: Final = b"-----BEGIN SECRET KEY-----"


def content(n: int) -> bytes:
    """Text of file `n`, which packs badly; some take more than a row of the table."""
    return random.Random(n).randbytes(20_000 if n % 50 == 0 else 1500).hex().encode()


FILES: Final = {f"f{n}": content(n) for n in range(300)}


def captured(folder: Path, files: dict[str, bytes]) -> Journal:
    """A journal in `folder` that made a first capture of these files."""
    journal = Journal.open(LmdbStore.open(folder), 1)
    record(journal, files)
    return journal


def record(journal: Journal, files: dict[str, bytes]) -> None:
    frames = {path: codec.compress(data) for path, data in files.items()}
    journal.append(
        [
            NewRecord(OutsideWritten(path, one.blob, one.size, 0o644, "captured"), OUTSIDE, 1, BatchId(seq))
            for seq, (path, one) in enumerate(frames.items(), journal.head + 1)
        ],
        [(one, path) for path, one in frames.items()],
    )


def compact(journal: Journal, *shared: Path, erase: bool = False) -> None:
    store = journal.store
    compaction = store.compacting()
    compaction.copy(shared=[str(one / "db") for one in shared], erase=erase)
    compaction.finish()
    compaction.release()


def packs_in(folder: Path) -> dict[str, int]:
    """Name → number of links."""
    return {path.name: path.stat().st_nlink for path in sorted((folder / "db").glob("pack.*"))}


def require_whole(journal: Journal, files: dict[str, bytes]) -> None:
    with journal.store.reading() as r:
        assert {path for path, data in files.items() if blobs.get(r, blob_id(data)) != data} == set()
    assert list(check(journal.store)) == []


def every_byte(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def in_packs(journal: Journal) -> int:
    with journal.store.reading() as r:
        return sum(bool(blobs.read_row(int.from_bytes(key, "big"), row).pack) for key, row in r.scan("blobs"))


@pytest.fixture
def main(tmp_path: Path) -> Journal:
    """A compacted journal in `tmp_path/main`."""
    journal = captured(tmp_path / "main", FILES)
    compact(journal)
    return journal


def test_a_compaction_moves_first_versions_into_a_pack_and_they_are_read_as_before(
    tmp_path: Path, main: Journal
) -> None:
    assert list(packs_in(tmp_path / "main").values()) == [1]
    assert in_packs(main) == len(FILES)
    with main.store.reading() as r:
        assert r.empty("pieces")
    require_whole(main, FILES)
    main.close()
    again = Journal.open(LmdbStore.open(tmp_path / "main"), 2)
    require_whole(again, FILES)
    again.close()


def test_later_versions_are_made_of_packed_ones_and_stay_in_the_table(tmp_path: Path, main: Journal) -> None:
    later = FILES["f1"] + b"\nmore\n"
    event = OutsideWritten("f1", blob_id(later), len(later), 0o644, "watched", 2)
    main.append([NewRecord(event, OUTSIDE, 2, BatchId(main.head + 1))], [(later, "f1")])
    before = packs_in(tmp_path / "main")
    compact(main)
    assert packs_in(tmp_path / "main") == before
    assert in_packs(main) == len(FILES)
    require_whole(main, {**FILES, "later": later})
    main.close()


def test_few_new_bytes_are_no_pack(tmp_path: Path) -> None:
    journal = captured(tmp_path, {"a": content(1)})
    compact(journal)
    assert packs_in(tmp_path) == {}
    require_whole(journal, {"a": content(1)})
    journal.close()


def test_a_second_journal_links_the_pack_of_the_first_and_keeps_only_what_differs(
    tmp_path: Path, main: Journal
) -> None:
    other = FILES | {"f1": content(1001), "new": content(1002)}
    second = captured(tmp_path / "second", other)
    compact(second, tmp_path / "main")
    assert packs_in(tmp_path / "second") == packs_in(tmp_path / "main")
    assert list(packs_in(tmp_path / "second").values()) == [2]
    assert in_packs(second) == len(FILES) - 1
    require_whole(second, other)
    require_whole(main, FILES)
    for journal in (main, second):
        journal.close()


def remove(folder: Path, journal: Journal) -> None:
    journal.close()
    shutil.rmtree(folder)


def drop_all(folder: Path, journal: Journal) -> None:
    """As a collection with a compaction does."""
    gone = tuple(blob_id(data) for data in FILES.values())
    journal.append([NewRecord(BytesGone(gone, "dropped"), OUTSIDE, 3, BatchId(journal.head + 1))], dropped=gone)
    compact(journal)
    assert packs_in(folder) == {}
    journal.close()


def erase(folder: Path, journal: Journal) -> None:
    """As a purge of one file does."""
    survey = PurgeSurvey(PurgeTarget(path="f1"))
    with journal.store.reading() as r:
        survey.look(r)
        change = survey.change(r)
    batch = BatchId(journal.head + 1)
    entries = [NewRecord(event, OUTSIDE, 3, batch) for event in change.events]
    journal.append(entries, dropped=change.dropped, instead=change.rows)
    compact(journal, erase=True)
    survey.close()
    journal.close()


@pytest.mark.parametrize("act", [remove, drop_all, erase])
def test_nothing_that_the_first_journal_does_takes_bytes_from_the_second(
    tmp_path: Path, main: Journal, act: Callable[[Path, Journal], None]
) -> None:
    second = captured(tmp_path / "second", FILES)
    compact(second, tmp_path / "main")
    assert list(packs_in(tmp_path / "second").values()) == [2]
    act(tmp_path / "main", main)
    assert list(packs_in(tmp_path / "second").values()) == [1]
    require_whole(second, FILES)
    second.close()


def test_a_purge_leaves_no_byte_of_what_it_took_in_any_file_and_the_rest_whole(tmp_path: Path) -> None:
    secret = SECRET + random.Random(7).randbytes(40)  # kept unpacked, so that it can be looked for
    journal = captured(tmp_path, FILES | {"f1": secret})
    compact(journal)
    assert SECRET in b"".join(path.read_bytes() for path in (tmp_path / "db").glob("pack.*"))
    rest = {path: data for path, data in FILES.items() if path != "f1"}
    erase(tmp_path, journal)
    assert SECRET not in every_byte(tmp_path)
    again = Journal.open(LmdbStore.open(tmp_path), 2)
    require_whole(again, rest)
    assert in_packs(again) == len(rest)
    again.close()


def test_a_purge_takes_what_only_the_other_journal_held_out_of_a_shared_pack(tmp_path: Path) -> None:
    secret = SECRET + random.Random(7).randbytes(40)
    first = captured(tmp_path / "first", FILES | {"secret": secret})
    compact(first)
    second = captured(tmp_path / "second", FILES)
    compact(second, tmp_path / "first")
    erase(tmp_path / "second", second)
    assert SECRET not in every_byte(tmp_path / "second")
    require_whole(first, FILES | {"secret": secret})
    first.close()


def test_bytes_that_went_do_not_come_back_from_another_journal(tmp_path: Path, main: Journal) -> None:
    second = captured(tmp_path / "second", FILES)
    gone = (blob_id(FILES["f1"]),)
    second.append([NewRecord(BytesGone(gone, "purged"), OUTSIDE, 3, BatchId(second.head + 1))], dropped=gone)
    compact(second, tmp_path / "main")
    assert list(packs_in(tmp_path / "second").values()) == [1]
    second.close()
    main.close()


def test_a_pack_of_which_less_than_half_is_held_is_neither_linked_nor_kept(tmp_path: Path, main: Journal) -> None:
    few = {path: FILES[path] for path in sorted(FILES)[:140]}
    second = captured(tmp_path / "second", few)
    compact(second, tmp_path / "main")
    assert set(packs_in(tmp_path / "second").values()) <= {1}
    assert not packs_in(tmp_path / "second").keys() & packs_in(tmp_path / "main")
    require_whole(second, few)
    second.close()

    before = packs_in(tmp_path / "main")
    gone = tuple(blob_id(FILES[path]) for path in sorted(FILES)[140:])
    main.append([NewRecord(BytesGone(gone, "dropped"), OUTSIDE, 3, BatchId(main.head + 1))], dropped=gone)
    compact(main)
    assert not packs_in(tmp_path / "main").keys() & before
    require_whole(main, few)
    main.close()


def test_a_pack_that_is_damaged_or_on_another_disk_is_not_linked(
    tmp_path: Path, main: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    second = captured(tmp_path / "second", FILES)
    with monkeypatch.context() as other_disk:
        other_disk.setattr(packs, "link", lambda source, folder, name: False)
        compact(second, tmp_path / "main")
    (own,) = packs_in(tmp_path / "second").items()
    assert own not in packs_in(tmp_path / "main").items()
    require_whole(second, FILES)
    second.close()

    (pack,) = (tmp_path / "main" / "db").glob("pack.*")
    pack.chmod(0o600)
    data = pack.read_bytes()
    pack.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    third = captured(tmp_path / "third", FILES)
    compact(third, tmp_path / "main")
    assert list(packs_in(tmp_path / "third").values()) == [1]
    require_whole(third, FILES)
    third.close()
    assert list(check(main.store)) != []
    main.close()


def test_a_reader_from_before_a_compaction_reads_the_packs_of_its_state_to_the_end(
    tmp_path: Path, main: Journal
) -> None:
    (before,) = packs_in(tmp_path / "main")
    gone = tuple(blob_id(FILES[path]) for path in sorted(FILES)[100:])
    with main.store.reading() as r:
        main.append([NewRecord(BytesGone(gone, "dropped"), OUTSIDE, 3, BatchId(main.head + 1))], dropped=gone)
        compact(main)
        assert blobs.get(r, gone[0])
        assert before in packs_in(tmp_path / "main")
    assert before not in packs_in(tmp_path / "main")
    main.close()


def test_a_reader_from_before_two_compactions_keeps_its_packs_though_one_between_has_ended(
    tmp_path: Path, main: Journal
) -> None:
    """The second compaction gives up the pack, and its replaced file has no reader."""
    (before,) = packs_in(tmp_path / "main")
    gone = tuple(blob_id(FILES[path]) for path in sorted(FILES)[100:])
    with main.store.reading() as r:
        compact(main)
        main.append([NewRecord(BytesGone(gone, "dropped"), OUTSIDE, 3, BatchId(main.head + 1))], dropped=gone)
        compact(main)
        assert blobs.get(r, gone[0])
    assert before not in packs_in(tmp_path / "main")
    main.close()


def test_a_reading_that_may_open_no_more_files_is_no_damage(main: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(path: Path) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(packs, "_opened", refused)
    with main.store.reading() as r, pytest.raises(StoreFailure, match="Too many open files") as raised:
        blobs.get(r, blob_id(FILES["f1"]))
    assert not raised.value.for_good
    main.close()


def test_a_start_removes_packs_that_nothing_names(tmp_path: Path, main: Journal) -> None:
    main.close()
    named = packs_in(tmp_path / "main")
    left = tmp_path / "main" / "db" / f"pack.{'0' * 64}"
    left.write_bytes(b"left by a crash")
    LmdbStore.open_to_read(tmp_path / "main").close()
    assert left.exists()
    LmdbStore.open(tmp_path / "main").close()
    assert packs_in(tmp_path / "main") == named


@pytest.mark.parametrize("missing", [True, False])
def test_a_missing_or_cut_off_pack_is_a_fault_that_the_check_finds(
    tmp_path: Path, main: Journal, missing: bool
) -> None:
    (pack,) = (tmp_path / "main" / "db").glob("pack.*")
    if missing:
        pack.unlink()
    else:
        os.truncate(pack, 100)
    with main.store.reading() as r, pytest.raises(JournalDamaged, match=r"pack\."):
        blobs.get(r, blob_id(FILES["f299"]))
    found = list(check(main.store))
    assert ("packs" in {one.table for one in found}) is missing
    assert "blobs" in {one.table for one in found}
    gone = (blob_id(FILES["f1"]),)
    main.append([NewRecord(BytesGone(gone, "dropped"), OUTSIDE, 3, BatchId(main.head + 1))], dropped=gone)
    compaction = main.store.compacting()
    with nullcontext() if missing else pytest.raises(JournalDamaged, match="cut off"):
        compaction.copy(erase=True)  # gives up no pack that it cannot read
    compaction.cancel()
    main.close()


def salvaged(folder: Path) -> tuple[MemoryStore, str]:
    store = MemoryStore()
    with Pages(folder / "db" / "data.mdb") as source:
        event = salvage(source, store, "w", 100, "a test", "db.damaged-1")
    assert list(check(store)) == []
    return store, sentence(event)


@pytest.mark.parametrize("lost", [(), ("packs",), ("packs", "blobs", "addresses")])
def test_a_salvage_finds_the_bytes_in_the_packs_also_without_the_rows_that_name_them(
    tmp_path: Path, main: Journal, lost: Sequence[str]
) -> None:
    with main.store.writing() as w:
        for table in lost:
            w.clear(table)
    main.store.close()
    store, told = salvaged(tmp_path / "main")
    assert told.startswith("Nothing was lost")
    with store.reading() as r:
        assert all(blobs.get(r, blob_id(data)) == data for data in FILES.values())


def test_a_salvage_keeps_what_is_made_of_packed_bytes(tmp_path: Path, main: Journal) -> None:
    later = FILES["f1"] + b"\nmore\n"
    event = OutsideWritten("f1", blob_id(later), len(later), 0o644, "watched", 2)
    main.append([NewRecord(event, OUTSIDE, 2, BatchId(main.head + 1))], [(later, "f1")])
    compact(main)
    main.close()
    for segment in (tmp_path / "main" / "db").glob("log.*"):
        segment.unlink()
    store, _ = salvaged(tmp_path / "main")
    with store.reading() as r:
        assert blobs.get(r, blob_id(later)) == later


def test_a_journal_of_the_format_before_is_raised(tmp_path: Path) -> None:
    journal = captured(tmp_path, {"a": b"a\n"})
    with journal.store.writing() as w:
        w.put("meta", b"format", b"7")
    journal.close()
    journal = Journal.open(LmdbStore.open(tmp_path), 2)
    with journal.store.reading() as r:
        assert r.get("meta", b"format") == b"8"
    require_whole(journal, {"a": b"a\n"})
    journal.close()


def test_rows_that_name_a_pack_are_short(main: Journal) -> None:
    with main.store.reading() as r:
        assert max(len(row) for _, row in r.scan("blobs")) <= 14
        assert r.get("blobs", u64(1)) is not None
    main.close()
