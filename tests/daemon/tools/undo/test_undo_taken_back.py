"""Undo beside other undos: what somebody did and took back again is not in the way, whatever came between."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st
from undoings import START, daemon_with

import ancestry
from ancestry import Ancestry, Page, Version
from memory_daemon import MemoryDaemon
from quire_daemon.core.decision import Who
from quire_daemon.tools.undo.tool import REDO_TOOL, ROLLBACK_TOOL, UNDO_TOOL


def put(daemon: MemoryDaemon, who: Who, old: str, new: str) -> int:
    """Replace a line, or a part of one; the batch."""
    text = daemon.text("f.txt")
    assert text is not None
    assert text.count(old.encode()) == 1
    return daemon.write("f.txt", text.replace(old.encode(), new.encode()), who)


def conflicts(reply: dict[str, Any]) -> list[int]:
    """The records that the conflicts of a reply name."""
    return [conflict["seq"] for file in reply["files"] for conflict in file["conflicts"]]


def test_what_another_writer_took_back_is_not_in_the_way_of_work_in_between() -> None:
    daemon = daemon_with()
    put(daemon, daemon.ann, "two", "TWO")
    put(daemon, daemon.ben, "TWO", "TWO by ben")
    put(daemon, daemon.ann, "five", "FIVE")
    assert daemon.call(UNDO_TOOL, daemon.ben)["ok"]
    reply = daemon.call(UNDO_TOOL, daemon.ann, writer="ann")
    assert daemon.text("f.txt") == START
    assert conflicts(reply) == []
    assert daemon.call(REDO_TOOL, daemon.ann)["ok"]
    assert daemon.text("f.txt") == START.replace(b"two", b"TWO").replace(b"five", b"FIVE")


def test_what_stands_in_the_way_is_told_though_something_else_was_taken_back_there() -> None:
    daemon = daemon_with()
    put(daemon, daemon.ann, "two", "TWO")
    put(daemon, daemon.ben, "TWO", "TWO by ben")
    put(daemon, daemon.ann, "five", "FIVE")
    daemon.call(UNDO_TOOL, daemon.ben)
    standing = put(daemon, daemon.ben, "TWO", "TWO again")
    reply = daemon.call(UNDO_TOOL, daemon.ann, writer="ann")
    assert daemon.text("f.txt") == START.replace(b"two", b"TWO again")
    assert conflicts(reply) == [standing]


def test_a_conflict_names_the_record_that_stands_not_one_that_was_taken_back_before_it() -> None:
    daemon = daemon_with()
    put(daemon, daemon.ann, "two", "TWO")
    put(daemon, daemon.ann, "six", "SIX")
    put(daemon, daemon.ben, "TWO", "TWO by ben")
    daemon.call(UNDO_TOOL, daemon.ben)
    standing = put(daemon, daemon.ben, "TWO", "TWO again")
    reply = daemon.call(UNDO_TOOL, daemon.ann, writer="ann")
    assert conflicts(reply) == [standing]


def test_what_was_taken_back_together_with_older_work_is_not_in_the_way_either() -> None:
    daemon = daemon_with()
    put(daemon, daemon.ben, "one", "ONE")
    put(daemon, daemon.ann, "two", "TWO")
    put(daemon, daemon.ben, "TWO", "TWO by ben")
    put(daemon, daemon.ann, "five", "FIVE")
    daemon.call(UNDO_TOOL, daemon.ben, last=2)
    reply = daemon.call(UNDO_TOOL, daemon.ann, writer="ann")
    assert daemon.text("f.txt") == START
    assert conflicts(reply) == []
    assert [kept["batch"] for kept in reply["files"][0]["kept"]] == []


def test_what_was_taken_back_and_redone_is_in_the_way() -> None:
    daemon = daemon_with()
    put(daemon, daemon.ann, "two", "TWO")
    bens = put(daemon, daemon.ben, "TWO", "TWO by ben")
    put(daemon, daemon.ann, "five", "FIVE")
    daemon.call(UNDO_TOOL, daemon.ben)
    daemon.call(REDO_TOOL, daemon.ben)
    reply = daemon.call(UNDO_TOOL, daemon.ann, writer="ann")
    assert daemon.text("f.txt") == START.replace(b"two", b"TWO by ben")
    assert conflicts(reply) == [bens]


def test_a_conflict_names_the_writer_of_the_text_that_stands_not_who_redid_it() -> None:
    daemon = daemon_with()
    put(daemon, daemon.ann, "two", "TWO")
    bens = put(daemon, daemon.ben, "TWO", "TWO by ben")
    put(daemon, daemon.ben, "six", "SIX")
    daemon.call(UNDO_TOOL, daemon.introduce("boss", "s9"), writer="ben")
    daemon.call(REDO_TOOL, daemon.introduce("boss", "s9"))
    refused = daemon.call(UNDO_TOOL, daemon.ann, writer="ann")
    assert refused["error"] == "conflict"
    assert conflicts(refused) == [bens]


# ── what could not come out stays in force ───────────────────────────────────


def test_a_batch_that_was_wholly_in_the_way_of_others_can_be_undone_when_they_are_gone() -> None:
    daemon = daemon_with()
    six = put(daemon, daemon.ann, "two", "TWO")
    seven = put(daemon, daemon.ann, "five", "FIVE")
    put(daemon, daemon.ben, "FIVE", "FIVE by ben")
    plan = daemon.call(UNDO_TOOL, daemon.ann, writer="ann", last=2, plan=True)
    assert (plan["batches"], plan["stayed"]) == ([six], [seven])
    reply = daemon.call(UNDO_TOOL, daemon.ann, writer="ann", last=2)
    assert (reply["batches"], reply["stayed"]) == ([six], [seven])
    assert len(conflicts(reply)) == 1
    daemon.call(UNDO_TOOL, daemon.ben)
    assert daemon.text("f.txt") == START.replace(b"five", b"FIVE")
    again = daemon.call(UNDO_TOOL, daemon.ann, writer="ann")
    assert again["batches"] == [seven]
    assert daemon.text("f.txt") == START
    assert daemon.call(UNDO_TOOL, daemon.ann, writer="ann")["error"] == "not_found"


def test_batches_on_top_of_each_other_stay_together() -> None:
    daemon = daemon_with()
    put(daemon, daemon.ann, "two", "TWO")
    low = put(daemon, daemon.ann, "five", "FIVE")
    high = put(daemon, daemon.ann, "FIVE", "FIVE!")
    put(daemon, daemon.ben, "FIVE!", "FIVE by ben")
    assert daemon.call(UNDO_TOOL, daemon.ann, writer="ann")["stayed"] == [high, low]
    daemon.call(UNDO_TOOL, daemon.ben)
    assert daemon.call(UNDO_TOOL, daemon.ann, writer="ann")["batches"] == [high, low]
    assert daemon.text("f.txt") == START


def test_a_batch_of_which_a_part_came_out_is_undone() -> None:
    daemon = daemon_with()
    both = daemon.write("f.txt", START.replace(b"two", b"TWO").replace(b"five", b"FIVE"), daemon.ann)
    put(daemon, daemon.ben, "FIVE", "FIVE by ben")
    reply = daemon.call(UNDO_TOOL, daemon.ann, writer="ann")
    assert reply["batches"] == [both]
    assert "stayed" not in reply


def test_a_rollback_leaves_in_force_what_stays_too() -> None:
    daemon = daemon_with()
    start = put(daemon, daemon.ben, "one", "ONE")
    put(daemon, daemon.ann, "two", "TWO")
    stays = put(daemon, daemon.ann, "five", "FIVE")
    put(daemon, daemon.ben, "FIVE", "FIVE by ben")
    assert daemon.call(ROLLBACK_TOOL, daemon.ann, to=f"seq:{start}")["stayed"] == [stays]
    daemon.call(UNDO_TOOL, daemon.ben)
    assert daemon.call(ROLLBACK_TOOL, daemon.ann, to=f"seq:{start}")["ok"]
    assert daemon.text("f.txt") == START.replace(b"one", b"ONE")


def test_what_was_redone_and_then_stays_is_in_force_as_well() -> None:
    daemon = daemon_with()
    put(daemon, daemon.ann, "two", "TWO")
    stays = put(daemon, daemon.ann, "five", "FIVE")
    daemon.call(UNDO_TOOL, daemon.ann, last=2)
    daemon.call(REDO_TOOL, daemon.ann)
    put(daemon, daemon.ben, "FIVE", "FIVE by ben")
    assert daemon.call(UNDO_TOOL, daemon.ann, writer="ann")["stayed"] == [stays]
    daemon.call(UNDO_TOOL, daemon.ben)
    assert daemon.call(UNDO_TOOL, daemon.ann, writer="ann")["batches"] == [stays]
    assert daemon.text("f.txt") == START


def test_with_conflict_markers_nothing_stays_unsaid_so_all_is_undone() -> None:
    daemon = daemon_with()
    put(daemon, daemon.ann, "two", "TWO")
    put(daemon, daemon.ann, "five", "FIVE")
    put(daemon, daemon.ben, "FIVE", "FIVE by ben")
    reply = daemon.call(UNDO_TOOL, daemon.ann, writer="ann", conflicts="markers")
    assert len(reply["batches"]) == 2


@pytest.mark.parametrize("also", [False, True])
def test_markers_stand_there_again_when_what_took_them_away_is_taken_back(also: bool) -> None:
    """They are in no version that undone steps leave, so nothing but the text of then has them."""
    daemon = daemon_with()
    put(daemon, daemon.ann, "two", "TWO")
    put(daemon, daemon.ben, "TWO", "TWO by ben")
    if also:
        put(daemon, daemon.ann, "five", "FIVE")
    daemon.call(UNDO_TOOL, daemon.ann, writer="ann", conflicts="markers")
    marked = daemon.text("f.txt")
    assert marked is not None
    assert b"<<<<<<<" in marked
    redone = daemon.call(REDO_TOOL, daemon.ann)
    assert redone["ok"]
    assert b"<<<<<<<" not in (daemon.text("f.txt") or b"")
    assert daemon.call(UNDO_TOOL, daemon.ann, batch=redone["batch"])["ok"]
    assert daemon.text("f.txt") == marked


def test_what_was_undone_since_is_undone_once_though_it_was_the_last_in_its_file() -> None:
    """Ben's rollback takes back an undo and its undo, which together were nothing: nothing is left to take back."""
    daemon = daemon_with()
    daemon.delete("f.txt", daemon.ann)
    undone = daemon.call(UNDO_TOOL, daemon.ann)["batch"]
    again = daemon.call(UNDO_TOOL, daemon.ann, batch=undone)["batch"]
    daemon.write("g.txt", START, daemon.ann)
    assert daemon.call(ROLLBACK_TOOL, daemon.ben, to=f"seq:{undone - 1}", writer="ann")["batches"][-2:] == [
        again,
        undone,
    ]
    assert daemon.call(REDO_TOOL, daemon.ann, batch=again)["error"] == "not_found"
    assert daemon.text("f.txt") is None


# ── any order, against a model that knows nothing of the journal ─────────────

AGENTS = ("ann", "ben", "cat")
SLOTS = ["s0", "s1", "s2"]
agents = st.sampled_from(AGENTS)
edits = st.tuples(st.just("edit"), agents, st.sampled_from(SLOTS), st.integers(1, 2))
undos = st.tuples(st.just("undo"), agents, agents, st.integers(1, 2))


class Played:
    """Three agents' edits and undos of one page, told to the model as they happen."""

    def __init__(self) -> None:
        self.daemon = daemon_with(ancestry.page(SLOTS, 0))
        self.who = {"ann": self.daemon.ann, "ben": self.daemon.ben, "cat": self.daemon.introduce("cat", "s3")}
        self.model = Ancestry(frozenset())
        self.undos: list[tuple[int, set[int]]] = []
        self.tokens = 0
        self.tell(self.daemon.head_of("f.txt"), "", undoing=False)

    @property
    def data(self) -> bytes:
        """The page as it is."""
        return self.daemon.text("f.txt") or b""

    def tell(self, batch: int, agent: str, undoing: bool) -> None:
        """The model is told of the version that is there now."""
        version = Version(self.daemon.head_of("f.txt"), batch, "file_written", agent, undoing, self.data)
        self.model.tell("f.txt", version)

    def edit(self, agent: str, slot: str, length: int) -> None:
        """Fill a slot anew."""
        self.tokens += 1
        new = ancestry.block(slot, f"{agent}-{self.tokens}", length)
        old, now = ("".join(f"{row}\n" for row in block) for block in (Page.of(self.data).slots[slot], new))
        self.tell(
            self.daemon.write("f.txt", self.data.replace(old.encode(), now.encode()), self.who[agent]), agent, False
        )

    def undo(self, agent: str, writer: str, last: int) -> None:
        """Take back the last work of one of them."""
        before = self.data
        reply = self.daemon.call(UNDO_TOOL, self.who[agent], writer=writer, last=last)
        if reply["ok"]:
            self.undos.append((reply["batch"], {*reply["batches"]}))
        if self.data != before:
            self.tell(reply["batch"], agent, undoing=True)

    def undone(self) -> set[int]:
        """The batches that are not in force."""
        found: set[int] = set()
        for batch, named in reversed(self.undos):
            found |= named if batch not in found else set()
        return found


@given(st.lists(st.one_of(edits, edits, undos), min_size=4, max_size=14), agents)
def test_undoing_one_writer_after_any_edits_and_undos_comes_to_what_the_model_says(
    script: list[tuple[Any, ...]], writer: str
) -> None:
    played = Played()
    for what, *how in script:
        getattr(played, what)(*how)
    played.model.undone = played.undone()
    wanted, was = played.model.without(writer), Page.of(played.data)
    reply = played.daemon.call(UNDO_TOOL, played.daemon.introduce("boss", "s9"), writer=writer)
    named = [c for file in reply.get("files", []) for c in file["conflicts"]]
    for slot, text in Page.of(played.data).slots.items():
        place, without = ("f.txt", slot), wanted["f.txt", slot]
        told = [c for c in named if c["seq"] in played.model.changed_by[place]]
        # Each edit is one slot: an undo takes it out, or leaves it in force. There is nothing in between.
        assert without.texts == (text,), (slot, text, without, was.slots[slot])
        assert told or not without.must_conflict, (slot, without)
        assert without.may_conflict or not any(played.model.only_changed(place, c["seq"]) for c in told), (slot, told)


def test_what_has_been_undone_since_leaves_nothing_to_roll_back() -> None:
    daemon = daemon_with()
    start = daemon.journal.head
    put(daemon, daemon.ann, "two", "TWO")
    undone = daemon.call(UNDO_TOOL, daemon.ann)["batch"]
    refused = daemon.call(ROLLBACK_TOOL, daemon.ann, to=f"seq:{start}")
    assert (refused["error"], refused["message"]) == (
        "not_found",
        f"There is nothing to roll back: batch {undone} has undone it already.",
    )
