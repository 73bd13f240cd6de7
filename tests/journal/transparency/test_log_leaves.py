"""The leaves of the tree over a log: they stay what they were, whatever is purged or lost."""

from __future__ import annotations

import re

from scribe import ANN, Scribe, to_purge

from quire_journal.maintenance.purge import PurgeTarget
from quire_journal.model.events import EditRefused, JournalSalvaged, RecordLost
from quire_journal.model.records import record_hash
from quire_journal.storage.port import apply_changes, u64
from quire_journal.transparency.log_leaves import leaves
from quire_journal.transparency.merkle import leaf_hash


def of(scribe: Scribe, first: int = 1) -> list[tuple[int, bytes, bool]]:
    with scribe.store.reading() as r:
        return list(leaves(r, first))


def test_the_entry_of_a_record_is_its_sha256() -> None:
    scribe = Scribe().introduce()
    scribe.write("a.txt", b"one\n")
    with scribe.store.reading() as r:
        stored = [value for _, value in r.scan("records")]
    assert of(scribe) == [(seq, leaf_hash(record_hash(one)), True) for seq, one in enumerate(stored, 1)]
    assert of(scribe, 3) == of(scribe)[2:]


def test_a_purge_changes_no_leaf() -> None:
    scribe = Scribe().introduce()
    refused = scribe.note(EditRefused("edit", "a.txt", "stale_base", "it said hunter2secret"), writer=ANN)
    before = of(scribe)
    with scribe.store.reading() as r:
        change = to_purge(r, PurgeTarget(matching=re.compile(rb"hunter2secret")))
        was = r.get("records", u64(refused))
    with scribe.store.writing() as w:
        apply_changes(w, change.rows)
    scribe.note(*change.events)
    with scribe.store.reading() as r:
        assert r.get("records", u64(refused)) != was
    assert of(scribe)[: len(before)] == before


def test_a_record_of_which_half_the_hash_is_left_is_not_known() -> None:
    scribe = Scribe().introduce()
    scribe.note(RecordLost())
    scribe.write("a.txt", b"one\n")
    scribe.note(JournalSalvaged("a bad page", "db.damaged", 3, ((3, 4),), replaced=((4, bytes(16)),)))
    assert [known for _, _, known in of(scribe)] == [True, True, False, False, True]
