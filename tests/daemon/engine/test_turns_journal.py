"""Turns of a daemon: a journal that is damaged, full, or fails in between."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest
from daemon_turns import Daemon, incoming, read, write

import live
from quire_daemon.app import SALVAGE_S, SAVE_S
from quire_daemon.engine.health_report import SALVAGE_IS_TOLD_NS
from quire_daemon.engine.perform import PUBLISH_S, RETRY_S
from quire_daemon.server.connections import LOOK_S
from quire_journal.history.history import History
from quire_journal.integrity.checker import check
from quire_journal.journal import Journal
from quire_journal.model.events import EditRefused, GitRan, JournalSalvaged
from quire_journal.model.records import encode_record, read_record
from quire_journal.storage.port import StoreFailure, u64


def test_an_edit_whose_records_went_with_anothers_commit_is_not_made(daemon: Daemon) -> None:
    """A full disk took nothing of what was noted in the turn; the next commit had nothing to refuse."""
    left = 1

    def full() -> None:
        nonlocal left
        if left:
            left -= 1
            raise StoreFailure("the disk is full", disk_full=True)

    (daemon.root / "b").write_text("outside\n")
    assert daemon.turn(ann=write("first"))["ann"]["ok"]
    daemon.store.fault = full
    replies = daemon.turn(ann=write("a"), ben=read("b"), eve=write("c"))
    assert {name: reply.get("error") for name, reply in replies.items()} == {
        "ann": "disk_full",
        "ben": "disk_full",
        "eve": None,
    }
    assert replies["ann"]["outcome"] == "not_applied"
    assert sorted(path.name for path in daemon.root.iterdir() if path.is_file()) == ["b", "c", "first"]
    with daemon.app.recorder.history() as history:
        assert history.file("a") is None
        assert history.file("c") is not None


def test_a_file_can_be_viewed_in_the_text_editor_on_a_full_disk_and_what_is_not_there_is_no_refused_edit(
    daemon: Daemon,
) -> None:
    (daemon.root / "a").write_text("old\n")
    assert daemon.turn(ann=read("a"))["ann"]["ok"]
    daemon.app.reserve.given_back = True
    viewed = daemon.turn(ann=("text_editor", {"command": "view", "path": "a"}))["ann"]
    assert viewed["ok"], viewed
    assert daemon.turn(ann=("text_editor", {"command": "view", "path": "b"}))["ann"]["error"] == "not_found"
    refused = daemon.turn(ann=("text_editor", {"command": "create", "path": "b", "file_text": "x"}))["ann"]
    assert refused["error"] == "disk_full"
    with daemon.app.recorder.history() as history:
        kinds = [record.kind for record in history.records()]
    waiting = [event for event in daemon.app.recorder.noted if isinstance(event, EditRefused)]
    assert kinds.count("edit_refused") + len(waiting) == 1, "that of the edit"


@pytest.mark.parametrize("disk_full", [True, False])
def test_what_the_loop_does_now_and_then_is_done_where_the_journal_takes_nothing(
    daemon: Daemon, disk_full: bool
) -> None:
    """The cache of the disk, which cannot be saved there, kept the loop from all that came after it."""

    def broken() -> None:
        raise StoreFailure("the disk", disk_full=disk_full)

    for path in ("a", "b"):
        assert daemon.turn(ann=write(path))["ann"]["ok"]
    daemon.store.fault = broken
    assert not daemon.turn(ann=write("c"))["ann"]["ok"]
    (daemon.state / "lock").unlink()
    daemon.clock.passed_s = 2 * SAVE_S
    for _ in range(3):
        daemon.app.turn([])
    assert daemon.app.stopping


def test_each_caller_is_told_once_of_a_salvage_and_nobody_after_a_day(daemon: Daemon) -> None:
    """Of this daemon, however long it runs."""
    daemon.app.recorder.note(JournalSalvaged("a page", "db-damaged", 1, ()))
    daemon.app.commit_noted()
    daemon.app.turn([])

    def is_told(who: str) -> bool:
        warnings = daemon.turn(**{who: ("who", {})})[who].get("warnings", ())
        return "journal_salvaged" in [warning["type"] for warning in warnings]

    assert [is_told(who) for who in ("ann", "ben", "ann")] == [True, True, False]
    daemon.clock.passed_s = SALVAGE_IS_TOLD_NS / 1e9 + SALVAGE_S
    daemon.app.turn([])
    assert not is_told("eve")


def test_a_lease_whose_connection_ends_while_the_disk_is_full_is_released_when_there_is_room(daemon: Daemon) -> None:
    """And nobody is refused a read for it meanwhile."""

    def full() -> None:
        raise StoreFailure("the disk is full", disk_full=True)

    (daemon.root / "b").write_text("text\n")
    assert daemon.turn(eve=read("b"))["eve"]["ok"]
    claim = {"path": "a", "kind": "exclusive", "bind": "connection"}
    assert daemon.turn(ann=("claim", claim))["ann"]["ok"]
    daemon.server.gone.add(b"ann")
    daemon.store.fault = full
    for _ in range(2):
        daemon.clock.passed_s += LOOK_S
        assert daemon.turn(eve=read("b"))["eve"]["ok"]
    daemon.store.fault = None
    daemon.clock.passed_s += LOOK_S
    assert daemon.turn(eve=write("a"))["eve"]["ok"]


def test_a_damaged_record_is_followed_up_also_where_a_call_that_is_not_understood_meets_it(daemon: Daemon) -> None:
    """It was told as something unexpected, and the next start did not check the journal."""
    assert daemon.turn(eve=write("a"))["eve"]["ok"]
    assert daemon.turn(ann=read("a"))["ann"]["ok"]
    (daemon.root / "a").write_text("other\n")
    written = daemon.turn(eve=read("a"))["eve"]
    assert written["ok"]
    daemon.app.commit_noted()
    with daemon.store.writing() as w:
        w.put("records", u64(int(written["version"].removeprefix("v"))), b"no record")
    daemon.server.replies.clear()
    daemon.app.turn([incoming("ann", "no_such_tool", {})])
    assert daemon.server.replies[b"ann"]["error"] == "journal_damaged"
    assert not daemon.app.sound


def test_a_journal_that_cannot_be_used_for_a_moment_takes_edits_when_it_can_be_again(daemon: Daemon) -> None:
    """For want of memory, say. It was read-only from then on, until its daemon ended."""

    def wanting() -> None:
        daemon.store.fault = None
        raise StoreFailure("could not begin to write: Cannot allocate memory")

    daemon.store.fault = wanting
    refused = daemon.turn(ann=write("a"))["ann"]
    assert (refused["error"], refused["outcome"]) == ("busy", "not_applied")
    assert daemon.turn(ann=write("a"))["ann"]["ok"]
    assert daemon.turn(ann=("status", {}))["ann"]["read_only"] == ""


def test_of_a_write_whose_commit_could_not_be_synced_nobody_knows_before_the_next_start(daemon: Daemon) -> None:
    """It was told as not made. What could not be synced may be there all the same, and is made then."""

    def unsynced() -> None:
        raise StoreFailure("could not sync", for_good=True)

    daemon.store.fault = unsynced
    refused = daemon.turn(ann=write("a"))["ann"]
    assert (refused["error"], refused["outcome"]) == ("journal_damaged", "unknown")
    assert daemon.text("a") is None
    refused = daemon.turn(ann=write("a"))["ann"]
    assert (refused["error"], refused["outcome"]) == ("journal_damaged", "not_applied")


def test_a_fold_that_fails_after_an_answer_makes_the_journal_read_only_and_a_start_makes_up_for_it(
    daemon: Daemon,
) -> None:
    def broken() -> None:
        raise StoreFailure("a page could not be written", for_good=True)

    assert daemon.turn(ann=write("a"))["ann"]["ok"]
    daemon.store.fold_fault = broken
    assert daemon.turn(ann=write("b"))["ann"]["ok"], "the log has it"
    told = daemon.turn(ann=("status", {}))["ann"]
    assert "are in the write-ahead log only" in "; ".join(told["coverage"]["reasons"])
    refused = daemon.turn(ann=write("c"))["ann"]
    assert (refused["error"], refused["outcome"]) == ("journal_damaged", "not_applied")
    assert daemon.turn(ann=read("a"))["ann"]["ok"], "the past can be read"
    assert daemon.text("b") is not None
    daemon.store.fold_fault = None
    again = Journal.open(daemon.store, daemon.clock.now_ns())
    with again.store.reading() as r:
        assert [version.type for version in History(r).versions("b")] == ["write_file"]
    assert list(check(daemon.store)) == []


def test_what_follows_within_a_moment_is_published_with_others_and_what_follows_a_rest_at_once(daemon: Daemon) -> None:
    journal, clock = daemon.app.recorder.journal, daemon.clock
    clock.stands_s = clock.mono_s() + 2 * PUBLISH_S
    for name, rests, told in (("a", 0, True), ("b", 0, False), ("c", 0.5, False), ("d", 1, True)):
        clock.stands_s += rests * PUBLISH_S
        assert daemon.turn(ann=write(name))["ann"]["ok"]
        assert journal.unpublished is not told, name
        assert clock.stands_s < daemon.app.performer.publish_at_s()
    assert daemon.app.performer.publish_at_s() == float("inf")
    assert daemon.turn(ann=write("e"))["ann"]["ok"]
    clock.stands_s = daemon.app.performer.publish_at_s()
    daemon.app.turn([])
    assert not journal.unpublished


def test_a_fold_that_nobody_waits_for_is_tried_again_a_while_after_it_failed(daemon: Daemon) -> None:
    def full() -> None:
        raise StoreFailure("the disk is full", disk_full=True)

    daemon.store.fold_fault, clock = full, daemon.clock
    clock.stands_s = clock.mono_s() + 2 * PUBLISH_S
    assert daemon.turn(ann=write("a"))["ann"]["ok"]
    assert daemon.app.performer.publish_at_s() == clock.stands_s + RETRY_S


def test_what_cannot_be_folded_for_want_of_room_is_folded_when_there_is_some(daemon: Daemon) -> None:
    def full() -> None:
        raise StoreFailure("the disk is full", disk_full=True)

    daemon.store.fold_fault = full
    assert daemon.turn(ann=write("a"))["ann"]["ok"]
    assert daemon.turn(ben=read("a"))["ben"]["error"] == "disk_full", "nobody sees it without what was answered"
    daemon.store.fold_fault = None
    assert daemon.turn(ben=read("a"))["ben"]["ok"]
    assert not daemon.app.failures.read_only


def test_what_is_noted_for_a_journal_that_takes_no_more_does_not_pile_up(daemon: Daemon) -> None:
    """As the commands of git, which go on telling of themselves."""

    def broken() -> None:
        raise StoreFailure("it could not be synced", for_good=True)

    daemon.store.fault = broken
    assert daemon.turn(ann=write("a"))["ann"]["error"] == "journal_damaged"
    for _ in range(3):
        daemon.app.recorder.note(GitRan("git switch side", evidence="head"))
        daemon.app.turn([])
    assert daemon.app.recorder.noted == []


@pytest.mark.parametrize(("tool", "arguments"), [("log", {}), ("show", {"version": "seq:1"}), ("why", {"path": "a"})])
def test_a_record_whose_body_is_damaged_is_told_as_damage_and_the_next_start_checks_the_journal(
    tool: str, arguments: dict[str, Any], daemon: Daemon
) -> None:
    """It was told as something unexpected, and the daemon went on trusting the journal."""
    assert daemon.turn(ann=write("a"))["ann"]["ok"]
    daemon.app.commit_noted()
    with daemon.store.writing() as w:
        for at in range(1, daemon.app.recorder.journal.head + 1):
            record = read_record(at, w.get("records", u64(at)) or b"")
            spoilt = msgspec.structs.replace(record, body=msgspec.Raw(b"\x91\xc0"))
            w.put("records", u64(at), encode_record(spoilt))
    reply = daemon.turn(ann=(tool, arguments))["ann"]
    assert (reply["error"], reply["suggested_action"]) == ("journal_damaged", "run_verify"), reply
    assert not daemon.app.failures.sound


@pytest.mark.parametrize("seed", range(live.length(3, 200)))
def test_whatever_commits_fail_the_log_tells_of_what_was_applied_and_of_nothing_else(daemon: Daemon, seed: int) -> None:
    """Edits, reads and saves of other programs, several in a turn, over a disk that is full now and then."""
    chance = random.Random(f"{live.SEED}-{seed}")

    def sometimes_full() -> None:
        if chance.random() < 0.3:
            raise StoreFailure("the disk is full", disk_full=True)

    names, applied, versions = ["a", "b", "c"], [], dict[str, str]()
    daemon.store.fault = sometimes_full
    for number in range(25):
        if chance.random() < 0.3:
            (daemon.root / chance.choice(names)).write_text(f"outside {number}\n")
        calls: dict[str, tuple[str, dict[str, Any]]] = {}
        for who in ("ann", "ben", "eve"):
            path, text = chance.choice(names), f"{who} {number}\n"
            base = {"base": versions[path]} if path in versions else {}
            edit = ("write_file", {"path": path, "content": text, **base})
            claim = ("claim", {"path": f"for {who}"})  # has everything committed that is noted
            calls[who] = chance.choice([edit, edit, edit, edit, read(path), read(path), claim])
        before = {name: daemon.text(name) for name in names}
        replies = daemon.turn(**calls)
        for who, (tool, args) in calls.items():
            reply, path = replies.get(who, {}), args["path"]
            if reply.get("ok") and tool != "claim":
                versions[path] = reply["version"]
                if tool == "write_file":
                    applied.append((path, args["content"]))
        written = {args["path"] for who, (tool, args) in calls.items() if tool == "write_file" and replies[who]["ok"]}
        assert {name: daemon.text(name) for name in names if name not in written} == {
            name: text for name, text in before.items() if name not in written
        }
    daemon.store.fault = None
    for _ in range(3):
        daemon.turn(**{name: read(name) for name in names})
    daemon.app.commit_noted()
    with daemon.app.recorder.history() as history:
        assert history.unsettled() == []
        for name in names:
            head = history.file(name)
            told = history.text_of(head.blob).data.decode() if head is not None and not head.gone else None
            assert told == daemon.text(name)
        past = [(name, version) for name in names for version in history.versions(name) if not version.gone]
        kept = {(name, history.text_of(version.blob).data.decode()): version.type for name, version in past}
    assert {*applied} <= {*kept}
    assert all(text.startswith("outside") for (_, text), kind in kept.items() if kind == "outside")
    assert [str(finding) for finding in check(daemon.store)] == []
