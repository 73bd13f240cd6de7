"""Signing the head of a journal: its tree goes on, whatever happens to the folder, and never in the name of another."""

from __future__ import annotations

import os
import random
import re
import shutil
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from tlog_scales import signing, tlog

from quire_daemon.heads.folder import HeadFolder, broken_folders, private_key
from quire_daemon.heads.signer import SignedHead, difference, sign_head
from quire_journal.journal import Journal, NewRecord
from quire_journal.maintenance.purge import PurgeSurvey, PurgeTarget
from quire_journal.model.events import EditRefused, Event
from quire_journal.model.ids import OUTSIDE, BatchId
from quire_journal.storage.memory import MemoryStore
from quire_journal.storage.port import RowChange
from quire_journal.transparency.audit import claim_of, findings, verdicts
from quire_journal.transparency.checkpoint import keys_of
from quire_journal.transparency.ed25519 import public_of, sign
from quire_journal.transparency.log_leaves import leaves
from quire_journal.transparency.merkle import consistency_proof, proves_consistency, root_of
from quire_journal.transparency.note import ED25519, NoteSignature, VerifierKey, read_note
from quire_journal.transparency.tiles import StoredTree

PRIVATE = bytes(range(32))
ID = "0" * 32


class Place:
    """A journal in memory and the folder of its heads."""

    def __init__(self, state: Path) -> None:
        self.state, self.folder = state, HeadFolder.of(state)
        self.journal = journal()
        self.at_s = 1_700_000_000

    def note(self, *events: Event) -> None:
        note(self.journal, *events)

    def grow(self, count: int = 1) -> None:
        for n in range(count):
            self.note(EditRefused("edit", "a.txt", "stale_base", f"{self.journal.head} {n}"))

    def sign(self) -> SignedHead:
        self.at_s += 1
        self.journal.publish()
        signed = sign_head(self.journal.store, self.folder, PRIVATE, ID, self.at_s)
        assert signed is not None
        return signed

    def difference(self) -> str:
        self.journal.publish()
        return difference(self.journal.store, self.folder)

    def root(self) -> bytes:
        with self.journal.store.reading() as r:
            return root_of([leaf for _, leaf, _ in leaves(r, 1)])


def journal() -> Journal:
    """A journal with two records."""
    made = Journal.open(MemoryStore(), 1, ID)
    note(made, EditRefused("edit", "a.txt", "stale_base", "first"))
    note(made, EditRefused("edit", "a.txt", "stale_base", "second"))
    return made


def note(to: Journal, *events: Event, instead: Sequence[RowChange] = ()) -> None:
    batch = BatchId(to.head + 1)
    to.append([NewRecord(event, OUTSIDE, batch * 1000, batch) for event in events], instead=instead)


def purge(journal: Journal) -> None:
    looking = PurgeSurvey(PurgeTarget(matching=re.compile(rb"hunter2secret")))
    with journal.store.reading() as r:
        looking.look(r)
        change = looking.change(r)
    looking.close()
    note(journal, *change.events, instead=change.rows)


@pytest.fixture
def at(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_head_covers_every_record_and_is_verified_by_others(at: Place) -> None:
    at.grow(300)
    signed = at.sign()
    assert signed.head.size == at.journal.head
    assert signed.head.root == at.root()
    theirs = tlog.Checkpoint.from_text(at.folder.checkpoint())
    assert theirs.origin == f"journal.quire.invalid/{ID}/1700000001"
    for vkey in at.folder.keys().splitlines():
        theirs.verify(signing.Vkey.from_string(vkey))
    times = read_note(at.folder.checkpoint()).signed_by(keys_of(theirs.origin, public_of(PRIVATE)))
    assert 1_700_000_001 in times.values()


def test_a_head_goes_on_from_the_one_before(at: Place) -> None:
    heads = []
    for count in (1, 250, 5, 600):
        at.grow(count)
        heads.append(at.sign().head)
        tree = StoredTree(heads[-1].size, at.folder.read)
        for before in heads:
            proof = consistency_proof(before.size, heads[-1].size, tree.subtree)
            assert before.origin == heads[-1].origin
            assert proves_consistency(before.size, heads[-1].size, proof, before.root, heads[-1].root)
    assert not list((at.folder.path / "tile" / "0").glob("00[0-2].p")), "full tiles replace partial ones"


def test_without_a_new_record_nothing_is_signed(at: Place) -> None:
    first = at.sign()
    before = at.folder.checkpoint()
    assert first.new
    assert not at.sign().new
    assert at.folder.checkpoint() == before


def test_a_key_of_the_user_signs_as_well(at: Place) -> None:
    key = VerifierKey("ssh.quire.invalid/ada", ED25519, public_of(bytes(32)))

    def cosigned(text: str) -> list[tuple[VerifierKey, NoteSignature]]:
        return [(key, NoteSignature(key.name, key.id, sign(bytes(32), text.encode())))]

    at.journal.publish()
    sign_head(at.journal.store, at.folder, PRIVATE, ID, 5, cosign=cosigned)
    note = read_note(at.folder.checkpoint())
    assert at.folder.keys().splitlines()[2] == key.vkey
    assert len(note.signatures) == 3
    assert note.signed_by([key]) == {key: 0}
    tlog.Checkpoint.from_text(at.folder.checkpoint()).verify(signing.Vkey.from_string(key.vkey))


def test_an_empty_journal_has_no_head(tmp_path: Path) -> None:
    assert sign_head(Journal.open(MemoryStore(), 1, ID).store, HeadFolder.of(tmp_path), PRIVATE, ID, 1) is None
    assert not HeadFolder.of(tmp_path).path.exists()


class Killed(HeadFolder):
    """A folder of a daemon that is killed before the head is replaced."""

    def publish(self, checkpoint: str, keys: Sequence[VerifierKey]) -> None:
        raise KeyboardInterrupt


def test_a_kill_between_the_tiles_and_the_head_breaks_nothing(at: Place) -> None:
    at.grow(100)
    first = at.sign().head
    at.grow(400)
    at.journal.publish()
    with pytest.raises(KeyboardInterrupt):
        sign_head(at.journal.store, Killed(at.folder.path), PRIVATE, ID, 2)
    assert at.folder.head() == first
    at.grow(3)
    second = at.sign()
    assert (second.head.origin, second.broken) == (first.origin, "")
    assert second.head.root == at.root()


@pytest.mark.parametrize("lost", ["tile", "tile/0/000", "tile/0/001.p/44", "half"])
def test_lost_tiles_are_made_again_from_the_records(at: Place, lost: str) -> None:
    at.grow(298)
    first = at.sign().head
    if lost == "half":
        data = at.folder.path / "tile/0/001.p/44"
        data.write_bytes(data.read_bytes()[:70])
    elif lost == "tile":
        shutil.rmtree(at.folder.path / lost)
    else:
        (at.folder.path / lost).unlink()
    at.grow(3)
    second = at.sign()
    assert not second.broken
    assert second.head.origin == first.origin
    assert second.head.root == at.root()


def test_a_purge_breaks_no_tree(at: Place) -> None:
    at.note(EditRefused("edit", "a.txt", "stale_base", "it said hunter2secret"))
    first = at.sign().head
    purge(at.journal)
    assert at.difference() == ""
    second = at.sign()
    assert (second.head.origin, second.broken) == (first.origin, "")
    shutil.rmtree(at.folder.path / "tile")
    at.grow()
    assert at.sign().head.root == at.root()


ACTS = st.one_of(
    st.integers(1, 300).map(lambda count: ("grow", count)),
    st.sampled_from([("sign", 0), ("lose", 0), ("cut", 0), ("kill", 0), ("purge", 0)]),
)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(ACTS, min_size=3, max_size=12), st.randoms(use_true_random=False))
def test_whatever_an_honest_journal_goes_through_all_its_heads_are_held(
    tmp_path_factory: pytest.TempPathFactory, acts: list[tuple[str, int]], chance: random.Random
) -> None:
    at = Place(tmp_path_factory.mktemp("state"))
    saved = []
    for act, count in [*acts, ("sign", 0)]:
        match act:
            case "grow":
                at.grow(count)
            case "sign":
                signed = at.sign()
                assert not signed.broken
                saved.append(claim_of(read_note(at.folder.checkpoint()), "the file", keys_of(*signed_by(signed))))
            case "lose":
                shutil.rmtree(at.folder.path / "tile", ignore_errors=True)
            case "cut":
                for path in at.folder.path.rglob("tile/*/*"):
                    if path.is_file() and chance.random() < 0.5:
                        path.write_bytes(path.read_bytes()[: chance.randrange(9000)])
            case "kill":
                at.journal.publish()
                with suppress(KeyboardInterrupt):
                    sign_head(at.journal.store, Killed(at.folder.path), PRIVATE, ID, 2)
            case "purge":
                at.note(EditRefused("edit", "a.txt", "stale_base", "it said hunter2secret"))
                purge(at.journal)
    found = verdicts(at.journal.store, saved)
    assert all(one.claim.vouched for one in found)
    assert [findings(one) for one in found] == [[]] * len(saved)
    assert len({one.claim.head.origin for one in found}) == 1


def signed_by(signed: SignedHead) -> tuple[str, bytes]:
    return signed.head.origin, signed.public


def another(count: int) -> Journal:
    """A journal with the same first records, and others after them."""
    made = journal()
    for n in range(count):
        note(made, EditRefused("edit", "b.txt", "stale_base", f"rewritten {n}"))
    return made


@pytest.mark.parametrize("count", [3, 10, 30])
def test_a_journal_that_does_not_go_on_begins_another_tree_and_keeps_the_old_one(at: Place, count: int) -> None:
    at.grow(10)
    first, text = at.sign().head, at.folder.checkpoint()
    at.journal = another(count)
    assert at.difference()
    second = at.sign()
    assert second.broken == (
        "The journal ends with record 5, and its head of 12 records was signed."
        if count == 3
        else "Record 12 is not the one with which the last signed head ends."
    )
    assert second.head.origin != first.origin
    assert second.head.root == at.root()
    (kept, why) = broken_folders(at.state)[0]
    assert (kept.checkpoint(), why) == (text, second.broken)
    assert at.difference() == ""


def test_a_rewritten_journal_without_its_tiles_is_noticed(at: Place) -> None:
    at.grow(10)
    at.sign()
    shutil.rmtree(at.folder.path / "tile")
    at.journal = another(30)
    assert at.sign().broken == "The first 12 records are not those of the last signed head."


def test_a_head_that_cannot_be_read_is_kept_and_told(at: Place) -> None:
    at.sign()
    (at.folder.path / "checkpoint").write_text("nonsense\n")
    at.grow()
    assert at.sign().broken.startswith("The last signed head cannot be read: ")
    assert broken_folders(at.state)[0][0].path.joinpath("checkpoint").read_text() == "nonsense\n"


def test_the_private_key_is_made_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        made = private_key(tmp_path, PRIVATE)
    finally:
        os.umask(old)
    assert made == PRIVATE == private_key(tmp_path, bytes(32))
    assert stat.S_IMODE((tmp_path / "signing.key").stat().st_mode) == 0o600
    assert not any(PRIVATE in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


@pytest.mark.parametrize("text", ["", "x", "AAAA"])
def test_a_damaged_key_is_not_replaced(tmp_path: Path, text: str) -> None:
    (tmp_path / "signing.key").write_text(text)
    with pytest.raises(ValueError, match="is not a private key"):
        private_key(tmp_path, PRIVATE)
    assert (tmp_path / "signing.key").read_text() == text
