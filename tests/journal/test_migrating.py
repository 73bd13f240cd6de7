"""Journals of older formats become journals of this one, whole or not at all; those of newer ones are left alone.

`tests/vectors/journal_format_1.json` holds the tables of a journal as format 1 had them: an introduction and four
versions of a file; `journal_format_2.json` those of the same journal as format 2 had them, views included. Each format
that ever was gets such a file when the next one comes; none is ever changed.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from quire_journal import FORMAT
from quire_journal.check import check
from quire_journal.history import History
from quire_journal.journal import Journal
from quire_journal.log import Damaged, Store, Writing
from quire_journal.migrating import HEAD_KEY, MIGRATIONS, head_row, migrate
from quire_journal.stores.lmdb import LmdbStore
from quire_journal.stores.memory import MemoryStore

VECTORS = Path(__file__).parents[1] / "vectors"


def old_journal(store: Store, format: int) -> Store:
    with store.writing() as w:
        for table, rows in json.loads((VECTORS / f"journal_format_{format}.json").read_text()).items():
            for key, value in rows.items():
                w.put(table, bytes.fromhex(key), bytes.fromhex(value))
    return store


def test_there_is_a_step_and_an_example_for_every_older_format() -> None:
    assert {*MIGRATIONS} == {*range(1, FORMAT)}
    assert all((VECTORS / f"journal_format_{format}.json").exists() for format in MIGRATIONS)


@pytest.mark.parametrize("format", range(1, FORMAT))
def test_a_journal_of_an_older_format_is_opened_with_all_that_it_had(format: int, tmp_path: Path) -> None:
    store = old_journal(LmdbStore.open(tmp_path), format)
    with store.reading() as r:
        records = list(r.scan("records"))
    journal = Journal.open(store, 1)
    with store.reading() as r:
        assert r.get("meta", b"format") == str(FORMAT).encode()
        assert list(r.scan("records")) == records
        assert r.get("meta", HEAD_KEY) == head_row(5, journal.last_hash)
        history = History(r)
        versions = list(history.versions("src/naïve file.py"))
        assert [history.bytes_of(version.blob).count(b"changed") for version in versions] == [1, 1, 1, 1]
    assert list(check(store)) == []
    assert Journal.open(store, 1).head == 5
    store.close()


def test_a_journal_of_an_older_format_is_not_taken_for_a_damaged_one() -> None:
    assert list(check(old_journal(MemoryStore(), 1), views=False)) == []
    assert list(check(old_journal(MemoryStore(), 2))) == []


def test_the_views_of_format_2_are_taken_over_and_only_those_with_another_fold_are_folded_again() -> None:
    store = old_journal(MemoryStore(), 2)
    with store.writing() as w:
        w.put("checkpoints", b"a mark", b"that no fold makes")
        w.put("versions", b"a mark", b"of a view whose fold is another now")
    Journal.open(store, 1)
    with store.reading() as r:
        assert r.get("checkpoints", b"a mark")
        assert not r.get("versions", b"a mark")
        assert not r.count("continuity")
        assert not list(r.scan("meta", b"view:", b"view;"))


def test_a_step_that_fails_leaves_the_journal_as_it_was() -> None:
    def half(w: Writing) -> None:
        w.clear("records")
        raise Damaged("in the middle")

    store = old_journal(MemoryStore(), 1)
    with store.reading() as r:
        before = {table: list(r.scan(table)) for table in ("meta", "records", "blobs")}
    with pytest.raises(Damaged, match="in the middle"):
        migrate(store, 1, 3, {1: MIGRATIONS[1], 2: half})
    with store.reading() as r:
        assert {table: list(r.scan(table)) for table in before} == before


def test_a_format_that_never_was_is_damage() -> None:
    with pytest.raises(Damaged, match="format 0"):
        migrate(old_journal(MemoryStore(), 1), 0, FORMAT)
