"""A journal beside itself: views in memory, over the log of a store, or one that is otherwise in places."""

from __future__ import annotations

from quire_journal.storage.memory import MemoryStore
from quire_journal.views.shadow import ViewsElsewhere


def test_a_record_that_stands_instead_of_another_is_met_on_every_way() -> None:
    store = MemoryStore()
    with store.writing() as w:
        for key, row in ((b"1", b"one"), (b"2", b"two"), (b"3", b"three")):
            w.put("records", key, row)
    with store.reading() as r, MemoryStore().writing() as views:
        beside = ViewsElsewhere(r, views, (), {b"2": b"TWO"})
        assert beside.get("records", b"2") == b"TWO"
        assert [row for _, row in beside.scan("records")] == [b"one", b"TWO", b"three"]
        assert beside.values("records", b"2") == [b"TWO", b"three"]
        assert beside.values("records", most=2) == [b"one", b"TWO"]
