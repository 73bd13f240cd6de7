"""A journal of an older format is refused with nothing changed, and an export by the version that wrote it brings it
over.

`tests/vectors/journal_format_6.json` holds the tables of a journal that commit 58696ef wrote, `journal_format_6.jsonl`
what `quire export jsonl` of that commit made of it.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from quire_journal import FORMAT
from quire_journal.export.importer import import_lines
from quire_journal.history.history import History
from quire_journal.integrity.checker import check
from quire_journal.journal import Journal, OtherFormat
from quire_journal.model.records import JournalDamaged
from quire_journal.storage.memory import MemoryStore
from quire_journal.storage.port import Store

VECTORS = Path(__file__).parents[2] / "vectors"
TABLES = json.loads((VECTORS / "journal_format_6.json").read_text())


def journal_of_format_6() -> Store:
    store = MemoryStore()
    with store.writing() as w:
        for table, rows in TABLES.items():
            for key, value in rows.items():
                w.put(table, bytes.fromhex(key), bytes.fromhex(value))
    return store


def test_a_journal_of_an_older_format_is_refused_and_not_touched() -> None:
    store = journal_of_format_6()
    with pytest.raises(OtherFormat, match=r"format 6.*nothing was changed.*`quire export jsonl.*`quire import"):
        Journal.open(store, 1)
    with store.reading() as r:
        assert {t: {k.hex(): v.hex() for k, v in r.scan(t)} for t in TABLES} == TABLES


def test_what_its_own_version_exported_becomes_a_journal_of_this_format() -> None:
    store = MemoryStore()
    journal = Journal.open(store, 1)
    with (VECTORS / "journal_format_6.jsonl").open("rb") as lines:
        assert import_lines(lines, store) == (5, 4, 0)
    assert list(check(store)) == []
    with store.reading() as r:
        assert r.get("meta", b"format") == str(FORMAT).encode()
        assert {key.hex(): stored.hex() for key, stored in r.scan("records")} == TABLES["records"]
        versions = list(History(r).versions("src/naïve file.py"))
        assert [len(History(r).bytes_of(version.blob)) for version in versions] == [480, 480, 854, 480]
    journal.close()


@pytest.mark.parametrize("format", [b"", b"six", b"-1"])
def test_a_format_that_is_no_number_is_damage(format: bytes) -> None:
    store = journal_of_format_6()
    with store.writing() as w:
        w.put("meta", b"format", format)
    with pytest.raises(JournalDamaged, match="not a number"):
        Journal.open(store, 1)
