"""Segments: what leaves, what a reader at the far side notices, and whether a segment there is ours."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import assume, given, strategies as st
from scribe import ANN, BLOB, SECOND, Scribe, to_purge

from quire_journal.maintenance.purge import PurgeTarget
from quire_journal.model.events import (
    BatchUndone,
    BurstBegun,
    BytesGone,
    CaptureFailed,
    EditRefused,
    Event,
    FileMoved,
    FileWritten,
    GitRan,
    LeaseGranted,
    OutsideWritten,
    ReplyKept,
    TurnBegan,
)
from quire_journal.model.ids import blob_id
from quire_journal.model.uncaptured import SECRET
from quire_journal.shipment.cipher import decrypt, encrypt
from quire_journal.shipment.disclosure import leaves_machine
from quire_journal.shipment.outbox import QUIET_NS, SEGMENT_RECORDS, Rules, SealedSegment, adopted, seal
from quire_journal.shipment.segment import BadSegment, Position, encode_segment, follow, read_segment
from quire_journal.storage.blobs import BlobCache
from quire_journal.storage.port import apply_changes
from quire_journal.transparency.checkpoint import TreeHead, keys_of, signed
from quire_journal.transparency.ed25519 import public_of
from quire_journal.transparency.frontier import Frontier
from quire_journal.transparency.merkle import leaf_hash, root_of

PRIVATE, FORGER = b"\x01" * 32, b"\x02" * 32
ORIGIN = "journal.quire.invalid/test"
KEYS = keys_of(ORIGIN, public_of(PRIVATE))
START = Position("j")


def head(tree: Frontier, private: bytes = PRIVATE) -> str:
    return signed(TreeHead(ORIGIN, tree.size, tree.root()), private, 7).encoded()


def key_of(blob: bytes) -> bytes:
    return blob  # a key for each, as good as any here


def sealed(
    scribe: Scribe, at: Position = START, rules: Rules | None = None, quiet: bool = True
) -> SealedSegment | None:
    now_ns = scribe.seq * SECOND + (QUIET_NS if quiet else 0)
    with scribe.store.reading() as r:
        return seal(r, at, rules or Rules(), key_of, head, now_ns)


def shipped(scribe: Scribe, at: Position = START, rules: Rules | None = None) -> list[SealedSegment]:
    """All segments after `at`."""
    found: list[SealedSegment] = []
    while (one := sealed(scribe, at, rules)) is not None:
        found.append(one)
        at = one.after
    return found


def edited(count: int) -> Scribe:
    scribe = Scribe(folding=False).introduce()
    while scribe.seq < count:
        scribe.write(f"{scribe.seq % 7}.txt", b"%d\n" % scribe.seq)
    return scribe


def fits(data: Sequence[bytes]) -> bool:
    at = START
    for one in data:
        try:
            _, at = follow(at, one, KEYS)
        except BadSegment:
            return False
    return True


def test_kept_bases_change_nothing_of_a_segment() -> None:
    scribe, bases = edited(250), BlobCache(1 << 20)
    with scribe.store.reading() as r:
        args = r, START, Rules(), key_of, head, scribe.seq * SECOND
        first, without = seal(*args, bases=bases), seal(*args)
        assert first == without == seal(*args, bases=bases)


def test_a_record_stays_whose_bytes_hold_a_secret_and_its_path_is_told_to_the_scan() -> None:
    scribe, asked = Scribe(folding=False), []
    scribe.write("a.txt", b"hello\n")
    scribe.write("b.txt", b"token\n")

    def secret(path: str, data: bytes) -> bool:
        asked.append((path, data))
        return data == b"token\n"

    one = sealed(scribe, rules=Rules(secret=secret))
    assert one is not None
    segment = read_segment(one.data)
    assert asked == [("a.txt", b"hello\n"), ("b.txt", b"token\n")]
    assert (segment.records[-1], len(segment.leaves), len(segment.blobs)) == (b"", 1, 1)


@given(st.integers(0, 300))
def test_a_frontier_has_the_root_of_the_tree(size: int) -> None:
    hashes = [leaf_hash(b"%d" % n) for n in range(size)]
    tree = Frontier()
    for one in hashes:
        tree = tree.append(one)
    assert (tree.size, tree.root()) == (size, root_of(hashes))


def test_every_record_is_shipped_once_in_order_as_on_disk() -> None:
    scribe = edited(250)
    with scribe.store.reading() as r:
        stored = [value for _, value in r.scan("records")]
    segments = [read_segment(one.data) for one in shipped(scribe)]
    assert [record for one in segments for record in one.records] == stored
    assert [one.first for one in segments] == [1, 101, 201]
    assert max(len(one.records) for one in segments) == SEGMENT_RECORDS


def test_a_segment_waits_until_it_is_full_or_nothing_came_for_a_second() -> None:
    assert sealed(edited(99), quiet=False) is None
    assert sealed(edited(99)) is not None
    assert sealed(edited(100), quiet=False) is not None
    assert sealed(Scribe()) is None


def test_contents_are_at_the_far_side_under_the_hash_of_their_encrypted_bytes() -> None:
    scribe = Scribe(folding=False)
    scribe.write("a.txt", b"hello\n")
    one = sealed(scribe)
    assert one is not None
    ((blob, name),) = read_segment(one.data).blobs
    encrypted = one.contents[name.hex()]
    assert b"hello" not in encrypted + one.data
    assert decrypt(key_of(blob), blob, encrypted) == b"hello\n"
    assert decrypt(BLOB, blob, encrypted) is None
    assert encrypt(key_of(blob), blob, b"hello\n") == encrypted


def test_contents_are_compressed_at_the_far_side() -> None:
    data = b"the same line again\n" * 500
    blob = blob_id(data)
    encrypted = encrypt(key_of(blob), blob, data)
    assert len(encrypted) < len(data) / 20
    assert decrypt(key_of(blob), blob, encrypted) == data


@given(data=st.binary(), other=st.binary())
def test_different_bytes_under_one_key_have_different_nonces_and_are_not_taken_for_the_content(
    data: bytes, other: bytes
) -> None:
    assume(data != other)
    blob = blob_id(data)
    right, wrong = encrypt(key_of(blob), blob, data), encrypt(key_of(blob), blob, other)
    assert right[:12] != wrong[:12]
    assert decrypt(key_of(blob), blob, right) == data
    assert decrypt(key_of(blob), blob, wrong) is None
    assert decrypt(key_of(blob), blob, right[:-1]) is None


def test_without_contents_the_records_alone_leave() -> None:
    one = sealed(edited(20), rules=Rules(contents=False))
    assert one is not None
    assert not one.contents
    assert all(read_segment(one.data).records)


@pytest.mark.parametrize(
    ("event", "leaves"),
    [
        (FileWritten("a.txt", BLOB, 1, 0o644), True),
        (FileWritten("a.txt", BLOB, 1, 0o644, uncaptured=SECRET), False),
        (FileWritten("hidden/a.txt", BLOB, 1, 0o644), False),
        (FileMoved("a.txt", "hidden/a.txt", BLOB, 1, 0o644, 1), False),
        (FileMoved("hidden/a.txt", "a.txt", BLOB, 1, 0o644, 1), False),
        (OutsideWritten("a.txt", BLOB, 1, 0o644, "watched", hint="git"), True),
        (OutsideWritten("a.txt", BLOB, 1, 0o644, "watched", hint="git commit -m hunter2"), False),
        (CaptureFailed(".env", SECRET, 9, BLOB), False),
        (LeaseGranted("a.txt", "file", "intent", 1), True),
        (LeaseGranted("a.txt", "file", "intent", 1, reason="because hunter2"), False),
        (LeaseGranted("*", "glob", "intent", 1), False),
        (BatchUndone((1,), paths=("a.txt", "folder")), True),
        (BatchUndone((1,), paths=("a.txt", "hidden/a.txt")), False),
        (BatchUndone((1,), paths=("a.txt", "h*/a.txt")), False),
        (BatchUndone((1,), paths=("hidde?/a.txt",)), False),
        (BatchUndone((1,), paths=("[h]idden/a.txt",)), False),
        (EditRefused("edit", "a.txt", "stale_base", "line hunter2"), False),
        (ReplyKept("k", b"", b"hunter2"), False),
        (TurnBegan("hunter2"), False),
        (BurstBegun("hunter2", "tool_call", 1), False),
        (GitRan("commit -m hunter2"), False),
        (BytesGone((BLOB,), "dropped", ("a.txt",)), True),
        (BytesGone((BLOB,), "dropped", ("a.txt", "hidden/b")), False),
        (BytesGone((BLOB,), "lost"), False),
        (None, False),
    ],
)
def test_a_record_with_a_text_a_secret_or_a_hidden_path_does_not_leave(event: Event | None, leaves: bool) -> None:
    assert leaves_machine(event, lambda path: path.startswith("hidden/")) == leaves


def test_of_what_is_withheld_no_byte_leaves_and_the_head_is_checked_all_the_same() -> None:
    scribe = Scribe(folding=False).introduce()
    planted = [b"hunter2-path", b"hunter2-bytes", b"hunter2-prompt", b"hunter2-reply"]
    scribe.write("src/a.txt", b"plain\n")
    scribe.write("private/hunter2-path.txt", b"hunter2-bytes")
    scribe.note(TurnBegan("hunter2-prompt"), writer=ANN)
    scribe.note(ReplyKept("k", BLOB, b"hunter2-reply"), writer=ANN)
    scribe.note_unknown()
    segments = shipped(scribe, rules=Rules(lambda path: path.startswith("private/")))
    sent = b"".join([*(one.data for one in segments), *(held for one in segments for held in one.contents.values())])
    assert not [secret for secret in planted if secret in sent]
    assert b"src/a.txt" in sent
    assert fits([one.data for one in segments])
    (only,) = (read_segment(one.data) for one in segments)
    assert [bool(record) for record in only.records] == [True, True, True, False, False, False, False]


def test_a_record_that_was_purged_is_withheld_and_the_tree_stays() -> None:
    scribe = Scribe().introduce()
    scribe.note(LeaseGranted("a.txt", "file", "intent", 1), writer=ANN)
    scribe.note(EditRefused("edit", "a.txt", "stale_base", "hunter2-token"), writer=ANN)
    before = sealed(scribe)
    with scribe.store.writing() as w:
        change = to_purge(w, PurgeTarget(matching=re.compile(b"hunter2-token")))
        apply_changes(w, change.rows)
    scribe.note(*change.events, writer=ANN)
    assert before is not None
    with scribe.store.reading() as r:
        assert adopted(r, START, before.data, KEYS) == before.after
    after = sealed(scribe)
    assert after is not None
    assert read_segment(after.data).records[3] == b""
    assert fits([after.data])


def test_a_record_stays_whose_bytes_are_damaged_and_the_next_ones_leave() -> None:
    """Nobody can look whether they hold a secret."""
    scribe = edited(6)
    with scribe.store.writing() as w:
        (number, stored), *_ = w.scan("blobs")
        w.put("blobs", number, stored[:-3] + bytes(3))
    (one,) = shipped(scribe)
    records = read_segment(one.data).records
    assert (records.count(b""), len(records), len(one.contents)) == (1, 6, 3)
    assert fits([one.data])


# ── what a reader notices ────────────────────────────────────────────────────


DATA = [one.data for one in shipped(edited(430))]
OTHER = [one.data for one in shipped(edited(430), rules=Rules(contents=False))]


def changed(data: bytes, **fields: object) -> bytes:
    return encode_segment(msgspec.structs.replace(read_segment(data), **fields))


def test_an_honest_far_side_is_accepted() -> None:
    assert fits(DATA)


@given(st.data())
def test_any_changed_byte_is_found(data: st.DataObject) -> None:
    which = data.draw(st.integers(0, len(DATA) - 1))
    at = data.draw(st.integers(0, len(DATA[which]) - 1))
    bad = bytearray(DATA[which])
    bad[at] ^= data.draw(st.integers(1, 255))
    assert not fits([*DATA[:which], bytes(bad), *DATA[which + 1 :]]) or which == len(DATA) - 1
    if which == len(DATA) - 1 and fits([*DATA[:-1], bytes(bad)]):  # of the last one, what nothing follows
        was, now = read_segment(DATA[-1]), read_segment(bytes(bad))
        assert (was.records, was.first, was.number) == (now.records, now.first, now.number)


@pytest.mark.parametrize(
    "forged",
    [
        DATA[1:],
        [DATA[0], *DATA[2:]],
        [DATA[0], DATA[2], DATA[1], *DATA[3:]],
        [DATA[0], DATA[0], *DATA[1:]],
        [DATA[0], OTHER[1], *DATA[2:]],
        [changed(DATA[0], records=read_segment(DATA[0]).records[:-1]), *DATA[1:]],
        [changed(DATA[0], records=read_segment(DATA[0]).records[::-1]), *DATA[1:]],
        [changed(DATA[0], leaves=(BLOB,)), *DATA[1:]],
        [changed(DATA[0], head="none"), *DATA[1:]],
        [b"no segment"],
    ],
    ids=[
        "first dropped", "dropped", "reordered", "inserted", "of another seal", "record dropped", "records reordered",
        "leaf inserted", "no head", "no segment",
    ],
)  # fmt: skip
def test_what_is_dropped_inserted_or_reordered_is_found(forged: list[bytes]) -> None:
    assert not fits(forged)


def test_a_rewritten_journal_that_another_key_signed_is_found() -> None:
    scribe = edited(50)
    with scribe.store.reading() as r:
        forged = seal(r, START, Rules(), key_of, lambda tree: head(tree, FORGER), scribe.seq * SECOND + QUIET_NS)
    assert forged is not None
    with pytest.raises(BadSegment, match="not signed"):
        follow(START, forged.data, KEYS)


# ── whose it is ──────────────────────────────────────────────────────────────


def test_a_segment_of_ours_is_known_again_though_it_was_cut_and_signed_otherwise() -> None:
    scribe = edited(30)
    there = sealed(scribe)
    scribe.write("later.txt", b"later\n")
    assert there is not None
    with scribe.store.reading() as r:
        assert adopted(r, START, there.data, KEYS) == there.after


def test_a_segment_of_a_clone_or_of_a_past_that_was_put_back_is_not_ours() -> None:
    here, there = edited(30), edited(30)
    here.write("here.txt", b"here\n")
    there.write("there.txt", b"there\n")
    one = sealed(there)
    assert one is not None
    with here.store.reading() as r:
        assert adopted(r, START, one.data) is None
    with edited(30).store.reading() as r:  # shorter than what is there
        assert adopted(r, START, one.data) is None


def test_a_journal_of_its_own_goes_on_from_its_parent() -> None:
    scribe = edited(100)
    (shared,) = shipped(scribe)
    scribe.write("mine.txt", b"mine\n")
    own = msgspec.structs.replace(shared.after, journal="j.f00d", parent="j")
    (more,) = shipped(scribe, own)
    assert fits([shared.data, more.data])
    assert read_segment(more.data).parent == "j"
