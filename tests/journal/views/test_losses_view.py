"""The losses view: why bytes are not held any more, and which hashes records had that are not what they were."""

from __future__ import annotations

from scribe import ANN, Scribe

from quire_journal.integrity.checker import check
from quire_journal.model.events import BytesGone, FileWritten, JournalSalvaged, Purged
from quire_journal.model.ids import blob_id
from quire_journal.model.records import record_hash
from quire_journal.storage.port import u64
from quire_journal.views import lost_bytes
from quire_journal.views.replay import dump, rebuild

ONE, TWO = blob_id(b"one\n"), blob_id(b"two\n")
HASH = bytes(range(32))


def test_bytes_that_are_gone_say_why_and_since_when() -> None:
    scribe = Scribe().introduce()
    seq = scribe.note(BytesGone((ONE,), "dropped"))
    with scribe.store.reading() as r:
        assert lost_bytes.gone(r, ONE) == lost_bytes.Gone("dropped", seq)
        assert lost_bytes.gone(r, TWO) is None


def test_bytes_that_were_purged_stay_purged() -> None:
    scribe = Scribe().introduce()
    seq = scribe.note(BytesGone((ONE,), "purged"))
    scribe.note(BytesGone((ONE, TWO), "lost"))
    with scribe.store.reading() as r:
        assert lost_bytes.gone(r, ONE) == lost_bytes.Gone("purged", seq)
        assert lost_bytes.gone(r, TWO) == lost_bytes.Gone("lost", seq + 1)


def test_the_first_hash_of_a_record_that_was_replaced_twice_is_the_one_in_the_chain() -> None:
    scribe = Scribe().introduce()
    scribe.note(JournalSalvaged("damage", "db.damaged-1", 1, ((2, 2),), replaced=((2, HASH),)))
    scribe.note(Purged("path", ("a",), 1, ((2, HASH[::-1]),)))
    with scribe.store.reading() as r:
        assert lost_bytes.hash_of_replaced(r, 2) == HASH
        assert lost_bytes.hash_of_replaced(r, 1) is None


def test_the_view_is_the_same_when_it_is_built_again() -> None:
    scribe = Scribe().introduce()
    scribe.note(BytesGone((ONE, TWO), "lost"), Purged("path", ("a",), 1, ((2, HASH),)))
    with scribe.store.reading() as r:
        before = dump(r, lost_bytes.TABLES)
    rebuild(scribe.store)
    with scribe.store.reading() as r:
        assert dump(r, lost_bytes.TABLES) == before
    assert before["gone"]
    assert before["replaced"]


def test_the_check_accepts_a_version_whose_bytes_are_said_to_be_gone_and_no_other() -> None:
    scribe = Scribe().introduce()
    scribe.note(FileWritten("a", ONE, 4, 0o644), writer=ANN)
    assert [f.table for f in check(scribe.store)] == ["versions"]
    scribe.note(BytesGone((ONE,), "dropped"))
    assert list(check(scribe.store)) == []


def test_the_check_accepts_another_record_in_a_place_only_when_a_later_one_vouches_for_it() -> None:
    scribe = Scribe().introduce()
    with scribe.store.writing() as w:
        was = w.get("records", u64(2)) or b""
        assert b"ben" in was
        w.put("records", u64(2), was.replace(b"ben", b"bob"))
    scribe.note(BytesGone((), "purged"))
    assert any("hash of the record before it" in str(f) for f in check(scribe.store))
    scribe.note(Purged("matching", (), 0, ((2, record_hash(was)),)))
    rebuild(scribe.store)
    assert list(check(scribe.store)) == []
    with scribe.store.writing() as w:
        w.put("replaced", u64(3), HASH)
    assert list(check(scribe.store)) != []
