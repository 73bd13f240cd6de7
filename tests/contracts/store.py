"""What every store promises. A suite of an adapter is this class with `fresh` filled in."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import live
from quire_journal.model.ids import blob_id
from quire_journal.model.records import JournalDamaged
from quire_journal.storage import blobs
from quire_journal.storage.blobs import codec
from quire_journal.storage.port import (
    Compaction,
    OutOfOrder,
    ReadTransaction,
    Store,
    StoreFailure,
    WriteTransaction,
    u64,
)

A, B, C = b"\x01", b"\x02", b"\x03"


class NotToday(Exception):
    """Raised in a block that is to be rolled back."""


class StoreContract:
    """The promises of `quire_journal.storage.port.Store`."""

    def fresh(self) -> AbstractContextManager[Store]:
        """An empty store, closed at the end."""
        raise NotImplementedError

    @pytest.fixture
    def store(self) -> Iterator[Store]:
        with self.fresh() as store:
            yield store

    def test_what_a_transaction_put_is_there_in_the_next(self, store: Store) -> None:
        with store.writing() as w:
            w.put("meta", A, b"one")
        with store.reading() as r:
            assert r.get("meta", A) == b"one"
            assert r.get("meta", B) is None
            assert r.get("paths", A) is None

    def test_a_put_replaces_what_was_there(self, store: Store) -> None:
        with store.writing() as w:
            w.put("meta", A, b"one")
            w.put("meta", A, b"two")
        with store.reading() as r:
            assert list(r.scan("meta")) == [(A, b"two")]

    @pytest.mark.parametrize("value", [b"", b"\0", b"x" * 5000, bytes(range(256)) * 4096])
    def test_a_value_comes_back_byte_for_byte(self, store: Store, value: bytes) -> None:
        with store.writing() as w:
            w.append("records", A, value)
        with store.reading() as r:
            assert r.get("records", A) == value
            assert [*r.scan("records")] == [(A, value)]
            assert type(r.get("records", A)) is bytes

    def test_a_transaction_sees_its_own_writes_and_a_reader_beside_it_does_not(self, store: Store) -> None:
        with store.writing() as w:
            w.put("meta", A, b"one")
        with store.writing() as w:
            w.put("meta", A, b"two")
            w.put("meta", B, b"new")
            w.clear("meta")
            w.put("meta", C, b"three")
            assert list(w.scan("meta")) == [(C, b"three")]
            assert (w.get("meta", A), w.count("meta")) == (None, 1)
            with store.reading() as r:
                assert list(r.scan("meta")) == [(A, b"one")]

    def test_many_pairs_are_put_at_once_in_any_order_and_replace_what_stood_there(self, store: Store) -> None:
        with store.writing() as w:
            w.put("meta", B, b"old")
            w.put_all("meta", [(C, b"three"), (A, b"one"), (B, b"two")])
            w.put_all("meta", [])
            assert list(w.scan("meta")) == [(A, b"one"), (B, b"two"), (C, b"three")]
        with store.reading() as r:
            assert list(r.scan("meta")) == [(A, b"one"), (B, b"two"), (C, b"three")]

    def test_many_pairs_are_appended_at_once_and_only_behind_the_last_one_in_their_order(self, store: Store) -> None:
        with store.writing() as w:
            w.append_all("records", [])
            w.append_all("records", [(A, b"1"), (B, b"2")])
        for wrong in ([(B, b"again")], [(C, b"3"), (A, b"behind")], [(C, b"3"), (C, b"twice")]):
            with pytest.raises(OutOfOrder), store.writing() as w:
                w.append_all("records", wrong)
        with store.reading() as r:
            assert list(r.scan("records")) == [(A, b"1"), (B, b"2")]

    def test_a_reader_sees_one_state_from_start_to_end(self, store: Store) -> None:
        with store.writing() as w:
            w.put("meta", A, b"one")
        with store.reading() as r:
            scan = r.scan("meta")
            with store.writing() as w:
                w.delete("meta", A)
                w.put("meta", B, b"two")
            assert list(scan) == [(A, b"one")]
            assert (r.get("meta", A), r.get("meta", B), r.count("meta")) == (b"one", None, 1)
        with store.reading() as r:
            assert list(r.scan("meta")) == [(B, b"two")]

    def test_what_is_folded_is_seen_by_this_thread_and_by_others_when_it_is_published(self, store: Store) -> None:
        seen: list[list[tuple[bytes, bytes]]] = []

        def look() -> None:
            with store.reading() as r:
                seen.append(list(r.scan("meta")))

        for act in (lambda: None, store.publish, store.publish):
            with store.folding() as w:
                w.put("meta", A, str(len(seen)).encode())
            act()
            thread = threading.Thread(target=look)
            thread.start()
            thread.join()
            look()
        assert [[value for _, value in rows] for rows in seen] == [[], [b"0"], [b"2"], [b"2"], [b"4"], [b"4"]]

    def test_a_reader_of_what_is_folded_sees_one_state_while_that_is_published(self, store: Store) -> None:
        keys = [bytes([n]) for n in range(1, 6)]
        with store.folding() as w:
            w.put_all("meta", [(key, b"old") for key in keys])
        with store.reading() as r:
            forth, back = r.scan("meta"), r.scan("meta", reverse=True)
            assert (next(forth)[0], next(back)[0]) == (keys[0], keys[-1])
            store.publish()
            assert next(forth)[0] == keys[1]
            with store.folding() as w:
                w.clear("meta")
            assert not store.is_read
            with store.reading() as later:
                assert later.empty("meta")
            store.publish()
            assert [key for key, _ in forth] == keys[2:]
            assert [key for key, _ in back] == keys[-2::-1]
            assert (r.count("meta"), r.get("meta", A)) == (5, b"old")

    def test_a_fold_that_raises_loses_what_was_folded_and_not_published(self, store: Store) -> None:
        def fail() -> None:
            with store.folding() as w:
                w.put("meta", C, b"lost")
                raise NotToday

        with store.folding() as w:
            w.put("meta", A, b"one")
        store.publish()
        with store.folding() as w:
            w.put("meta", B, b"two")
        with store.reading() as r:
            with pytest.raises(NotToday):
                fail()
            assert next(iter(r.scan("meta"))) == (A, b"one")
        with store.writing() as w:
            assert list(w.scan("meta")) == [(A, b"one")]

    def test_a_block_that_raises_leaves_no_trace(self, store: Store) -> None:
        with store.writing() as w:
            w.put("meta", A, b"one")
            w.append("records", A, b"first")

        def fail_half_way() -> None:
            with store.writing() as w:
                w.put("meta", A, b"two")
                w.append("records", B, b"second")
                w.clear("records")
                w.delete("meta", A)
                raise NotToday

        with pytest.raises(NotToday):
            fail_half_way()
        with store.reading() as r:
            assert (list(r.scan("meta")), list(r.scan("records"))) == ([(A, b"one")], [(A, b"first")])

    def test_a_scan_is_in_key_order_within_its_bounds(self, store: Store) -> None:
        keys = [b"a", b"ab", b"b", b"\xff", b"\xff\xff"]
        with store.writing() as w:
            for key in reversed(keys):
                w.put("meta", key, key)

        def found(
            r: ReadTransaction, start: bytes = b"", stop: bytes | None = None, reverse: bool = False
        ) -> list[bytes]:
            return [key for key, _ in r.scan("meta", start, stop, reverse)]

        with store.reading() as r:
            assert found(r) == keys
            assert found(r, reverse=True) == keys[::-1]
            assert found(r, b"ab", b"\xff") == [b"ab", b"b"]
            assert found(r, b"ab", b"\xff", reverse=True) == [b"b", b"ab"]
            assert found(r, b"aa", b"bb") == [b"ab", b"b"]
            assert found(r, b"aa", b"bb", reverse=True) == [b"b", b"ab"]
            assert found(r, b"\xff\xff\xff") == []
            assert found(r, b"b", b"a") == found(r, b"b", b"a", reverse=True) == []
            assert found(r, stop=b"a", reverse=True) == []
            assert list(r.scan("paths")) == list(r.scan("paths", reverse=True)) == []
            assert r.values("meta") == keys
            assert r.values("meta", b"aa") == r.values("meta", b"aa", 9) == keys[1:]
            assert r.values("meta", b"aa", 1) == keys[1:2]
            assert r.values("meta", b"\xff\xff\xff") == r.values("paths") == []

    @pytest.mark.parametrize("reverse", [False, True])
    def test_a_scan_goes_on_while_its_block_deletes_and_puts(self, store: Store, reverse: bool) -> None:
        keys = [bytes([n]) for n in range(10, 30)]
        with store.writing() as w:
            for key in keys:
                w.put("meta", key, b"")
            seen = []
            for key, _ in w.scan("meta", reverse=reverse):
                seen.append(key)
                w.delete("meta", key)
                w.put("paths", key, b"moved")
            assert seen == (keys[::-1] if reverse else keys)
            assert (w.count("meta"), w.count("paths")) == (0, len(keys))

    def test_an_append_goes_to_the_end_or_raises_and_stores_nothing(self, store: Store) -> None:
        with store.writing() as w:
            w.append("records", B, b"two")
            for key in (A, B):
                with pytest.raises(OutOfOrder):
                    w.append("records", key, b"other")
            w.append("records", C, b"three")
        with store.reading() as r:
            assert list(r.scan("records")) == [(B, b"two"), (C, b"three")]

    def test_a_delete_says_whether_the_key_was_there(self, store: Store) -> None:
        with store.writing() as w:
            w.put("meta", A, b"one")
            assert w.delete("meta", A)
            assert not w.delete("meta", A)
            assert not w.delete("meta", B)

    def test_a_clear_empties_one_table_only(self, store: Store) -> None:
        with store.writing() as w:
            w.put("meta", A, b"one")
            w.put("paths", A, b"one")
        with store.writing() as w:
            w.clear("meta")
            assert w.empty("meta")
        with store.reading() as r:
            assert (r.count("meta"), r.count("paths")) == (0, 1)
            assert r.empty("meta")
            assert not r.empty("paths")

    def test_a_key_has_between_1_and_511_bytes(self, store: Store) -> None:
        with store.writing() as w:
            w.put("meta", b"k" * 511, b"long")
            for key in (b"", b"k" * 512):
                with pytest.raises(ValueError):
                    w.put("meta", key, b"")
                with pytest.raises(ValueError):
                    w.get("meta", key)
                with pytest.raises(ValueError):
                    w.delete("meta", key)
        with store.reading() as r:
            assert r.get("meta", b"k" * 511) == b"long"

    def test_a_table_that_does_not_exist_is_a_mistake_of_the_caller(self, store: Store) -> None:
        with store.writing() as w, pytest.raises(KeyError):
            w.put("no such table", A, b"")
        with store.reading() as r, pytest.raises(KeyError):
            r.get("no such table", A)

    def test_nothing_can_be_asked_once_the_block_is_over(self, store: Store) -> None:
        with store.writing() as w:
            w.put("meta", A, b"one")
            w.put("meta", B, b"two")
        with store.reading() as r:
            scan = r.scan("meta")
            next(scan)
        with pytest.raises(RuntimeError):
            r.get("meta", A)
        with pytest.raises(RuntimeError):
            next(scan)
        with pytest.raises(RuntimeError):
            r.count("meta")
        with pytest.raises(RuntimeError):
            r.empty("meta")
        with pytest.raises(RuntimeError):
            w.put("meta", A, b"")

    def test_a_second_transaction_on_the_same_thread_raises_and_the_first_goes_on(self, store: Store) -> None:
        with store.writing() as w:
            w.put("meta", A, b"one")
            with pytest.raises(RuntimeError), store.writing():
                pass
        with store.reading() as r:
            assert r.get("meta", A) == b"one"

    def test_a_second_transaction_on_another_thread_waits_for_the_first(self, store: Store) -> None:
        asked, order = threading.Event(), []

        def other() -> None:
            asked.set()
            with store.writing() as w:
                order.append(w.get("meta", A))

        thread = threading.Thread(target=other)
        with store.writing() as w:
            thread.start()
            asked.wait()
            w.put("meta", A, b"first")
            order.append(b"still the first")
        thread.join()
        assert order == [b"still the first", b"first"]

    def test_readers_on_other_threads_see_what_is_committed(self, store: Store) -> None:
        with store.writing() as w:
            w.put("meta", A, b"one")
        found = []

        def other() -> None:
            with store.reading() as r:
                found.append(r.get("meta", A))

        threads = [threading.Thread(target=other) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [b"one"] * 4

    def test_a_closed_store_says_so(self, store: Store) -> None:
        store.close()
        store.close()
        for block in (store.reading, store.writing):
            with pytest.raises(StoreFailure, match="closed"), block():
                pass

    def test_a_compaction_takes_nothing_away_and_what_is_written_meanwhile_is_there(self, store: Store) -> None:
        with store.writing() as w:
            for n in range(600):
                w.append("records", u64(n), b"record %d" % n)
            w.put("meta", A, b"one")
            w.put("paths", A, b"to be cleared")
        compaction = store.compacting()

        def write_between_slices() -> None:
            with store.writing() as w:
                last = next(w.scan("records", reverse=True))[0]
                w.append("records", u64(int.from_bytes(last, "big") + 1), b"meanwhile")
                w.delete("records", u64(int.from_bytes(last, "big") - 300))
                w.put("meta", B, last)

        compaction.copy(write_between_slices)
        with store.writing() as w:
            w.put("meta", A, b"two")
            w.clear("paths")
            w.put("paths", B, b"after")

        def roll_back() -> None:
            with store.writing() as w:
                w.put("meta", C, b"rolled back")
                raise NotToday

        with pytest.raises(NotToday):
            roll_back()
        with store.reading() as r:
            before = {table: list(r.scan(table)) for table in ("records", "meta", "paths")}
        done = compaction.finish()
        compaction.release()
        assert done.after_bytes == store.size_bytes() >= store.used_bytes() > 0
        with store.reading() as r:
            assert {table: list(r.scan(table)) for table in before} == before
            assert before["paths"] == [(B, b"after")]
        with store.writing() as w:
            w.append("records", u64(10_000), b"and on")
            assert w.count("records") == len(before["records"]) + 1

    def test_a_reader_that_began_before_a_compaction_was_finished_sees_its_own_state_to_the_end(
        self, store: Store
    ) -> None:
        with store.writing() as w:
            w.put("meta", A, b"one")
        compaction = store.compacting()
        with store.reading() as r:
            compaction.copy()
            with store.writing() as w:
                w.put("meta", A, b"two")
            compaction.finish()
            compaction.release()
            with store.reading() as later:
                assert later.get("meta", A) == b"two"
            assert (r.get("meta", A), r.count("meta")) == (b"one", 1)
        with store.reading() as r:
            assert r.get("meta", A) == b"two"

    def test_a_compaction_leaves_every_blob_as_it_is_wherever_it_puts_its_frame(self, store: Store) -> None:
        contents = [random.Random(n).randbytes(5000 if n % 9 == 0 else 900) for n in range(300)]
        for half in contents[:150], contents[150:]:
            with store.writing() as w:
                blobs.put_prepared(w, [codec.compress(data) for data in half])
        with store.writing() as w:
            blobs.drop(w, blob_id(contents[0]))
        for _ in range(2):
            compaction = store.compacting()
            compaction.copy(erase=True)
            compaction.finish()
            compaction.release()
            with store.reading() as r:
                assert [blobs.get(r, blob_id(data)) for data in contents[1:]] == contents[1:]
                assert not blobs.holds(r, blob_id(contents[0]))

    def test_bytes_of_a_pack_that_is_not_there_are_damage(self, store: Store) -> None:
        with store.reading() as r, pytest.raises(JournalDamaged, match="no pack"):
            r.packed(b"none", 0, 1)

    def test_a_compaction_that_is_given_up_leaves_everything_as_it_is(self, store: Store) -> None:
        with store.writing() as w:
            w.put("meta", A, b"one")

        def not_today() -> None:
            raise NotToday

        compaction = store.compacting()
        with pytest.raises(NotToday):
            compaction.copy(not_today)
        compaction.cancel()
        compaction.cancel()
        again = store.compacting()
        again.copy()
        again.cancel()
        with store.writing() as w:
            w.put("meta", B, b"two")
        with store.reading() as r:
            assert list(r.scan("meta")) == [(A, b"one"), (B, b"two")]

    def test_there_is_one_compaction_at_a_time_and_it_is_finished_when_everything_is_copied(self, store: Store) -> None:
        compaction = store.compacting()
        with pytest.raises(RuntimeError, match="going on"):
            store.compacting()
        with pytest.raises(RuntimeError, match="copied"):
            compaction.finish()
        compaction.copy()
        compaction.finish()
        compaction.release()
        store.compacting().cancel()

    def test_a_store_does_what_a_dict_would_whatever_is_asked_of_it(self) -> None:
        fresh = self.fresh

        class Model(_AgainstDict):
            def open(self) -> AbstractContextManager[Store]:
                return fresh()

        examples = live.length(12, 200)
        run_state_machine_as_test(
            Model, settings=settings(settings.default, stateful_step_count=40, max_examples=examples)
        )


_KEYS = st.binary(min_size=1, max_size=3)
_TABLES = st.sampled_from(["meta", "records"])
State = dict[str, dict[bytes, bytes]]


class _AgainstDict(RuleBasedStateMachine):
    """A store beside a dict of dicts, with transactions that end either way and readers that are held meanwhile."""

    def open(self) -> AbstractContextManager[Store]:
        raise NotImplementedError

    @initialize()
    def begin_empty(self) -> None:
        self.stack = ExitStack()
        self.store = self.stack.enter_context(self.open())
        self.committed: State = {"meta": {}, "records": {}}
        self.current: State = self.committed
        self.block: AbstractContextManager[WriteTransaction] | None = None
        self.readers: list[tuple[ExitStack, ReadTransaction, State]] = []
        self.compaction: Compaction | None = None
        self.copied = False

    def writing(self) -> bool:
        return self.block is not None

    @precondition(lambda self: not self.writing())
    @rule()
    def begin(self) -> None:
        self.block = self.store.writing()
        self.w = self.block.__enter__()
        self.current = {table: dict(pairs) for table, pairs in self.committed.items()}

    @precondition(lambda self: self.writing())
    @rule()
    def commit(self) -> None:
        assert self.block is not None
        self.block.__exit__(None, None, None)
        self.block, self.committed = None, self.current

    @precondition(lambda self: self.writing())
    @rule()
    def roll_back(self) -> None:
        assert self.block is not None
        error = NotToday()
        assert not self.block.__exit__(NotToday, error, None)
        self.block, self.current = None, self.committed

    @precondition(lambda self: self.writing())
    @rule(table=_TABLES, key=_KEYS, value=st.binary(max_size=40))
    def put(self, table: str, key: bytes, value: bytes) -> None:
        self.w.put(table, key, value)
        self.current[table][key] = value

    @precondition(lambda self: self.writing())
    @rule(table=_TABLES, key=_KEYS)
    def append(self, table: str, key: bytes) -> None:
        if any(held >= key for held in self.current[table]):
            with pytest.raises(OutOfOrder):
                self.w.append(table, key, b"appended")
        else:
            self.w.append(table, key, b"appended")
            self.current[table][key] = b"appended"

    @precondition(lambda self: self.writing())
    @rule(table=_TABLES, pairs=st.dictionaries(_KEYS, st.binary(max_size=40)))
    def put_all(self, table: str, pairs: dict[bytes, bytes]) -> None:
        self.w.put_all(table, [*pairs.items()])
        self.current[table].update(pairs)

    @precondition(lambda self: self.writing())
    @rule(table=_TABLES, key=_KEYS)
    def delete(self, table: str, key: bytes) -> None:
        assert self.w.delete(table, key) is (self.current[table].pop(key, None) is not None)

    @precondition(lambda self: self.writing())
    @rule(table=_TABLES)
    def clear(self, table: str) -> None:
        self.w.clear(table)
        self.current[table].clear()

    @precondition(lambda self: self.writing())
    @rule(table=_TABLES, start=st.binary(max_size=2), stop=st.none() | _KEYS, reverse=st.booleans())
    def scan(self, table: str, start: bytes, stop: bytes | None, reverse: bool) -> None:
        pairs = sorted(self.current[table].items(), reverse=reverse)
        expected = [(k, v) for k, v in pairs if k >= start and (stop is None or k < stop)]
        assert list(self.w.scan(table, start, stop, reverse)) == expected
        assert self.w.values(table, start) == [v for k, v in sorted(pairs) if k >= start]

    @precondition(lambda self: self.compaction is None and not self.writing())
    @rule()
    def begin_a_compaction(self) -> None:
        self.compaction = self.store.compacting()
        self.copied = False

    @precondition(lambda self: self.compaction is not None and not self.copied and not self.writing())
    @rule()
    def copy(self) -> None:
        assert self.compaction is not None
        self.compaction.copy()
        self.copied = True

    @precondition(lambda self: self.copied and not self.writing())
    @rule()
    def finish_the_compaction(self) -> None:
        assert self.compaction is not None
        self.compaction.finish()
        self.compaction.release()
        self.compaction, self.copied = None, False

    @precondition(lambda self: len(self.readers) < 3)
    @rule()
    def hold_a_reader(self) -> None:
        stack = ExitStack()
        reader = stack.enter_context(self.store.reading())
        self.readers.append((stack, reader, {table: dict(pairs) for table, pairs in self.committed.items()}))

    @precondition(lambda self: self.readers)
    @rule()
    def let_a_reader_go(self) -> None:
        self.readers.pop(0)[0].close()

    @invariant()
    def every_reader_and_the_writer_see_their_own_state(self) -> None:
        if not hasattr(self, "readers"):
            return
        seen = [(reader, state) for _, reader, state in self.readers]
        if self.block is not None:
            seen.append((self.w, self.current))
        for reader, state in seen:
            for table, pairs in state.items():
                assert dict(reader.scan(table)) == pairs
                assert reader.count(table) == len(pairs)
                assert reader.empty(table) == (not pairs)

    def teardown(self) -> None:
        for stack, _, _ in getattr(self, "readers", []):
            stack.close()
        if getattr(self, "block", None) is not None:
            self.commit()
        if getattr(self, "compaction", None) is not None:
            self.compaction.cancel()
        if hasattr(self, "stack"):
            self.stack.close()
