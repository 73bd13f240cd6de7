"""Turns of a daemon: requests that come together, and what fails between them."""

from __future__ import annotations

import os
import random
import re
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from daemon_turns import LONGEST_S, Daemon, Said, incoming, read, write
from msgspec.structs import replace

import live
from quire_daemon.app import SALVAGE_S, SAVE_S
from quire_daemon.engine.barrier import CATCH_UP_S
from quire_daemon.engine.call_queue import MOST_CALLS, MOST_OF_ONE
from quire_daemon.engine.health_report import SALVAGE_IS_TOLD_NS
from quire_daemon.engine.perform import MANY
from quire_daemon.engine.stage import SMALL_BYTES
from quire_daemon.ops.daemon_log import Log
from quire_daemon.server.connections import LOOK_S
from quire_daemon.server.file_transport import Spool
from quire_daemon.watch.observe import RETRY_S
from quire_journal.integrity.checker import check
from quire_journal.maintenance.purge import PurgeSurvey, PurgeTarget
from quire_journal.model.events import EditRefused, GitRan, JournalSalvaged
from quire_journal.model.file_transport import SPOOL_FOLDER, request_file
from quire_journal.model.ids import WriterId
from quire_journal.model.records import encode_record, read_record
from quire_journal.storage.port import StoreFailure, u64
from quire_journal.views.writers import caller_key


@pytest.mark.parametrize("written", [b"no request", b""])
def test_a_file_that_is_no_request_is_answered_to_whoever_waits_for_its_number(daemon: Daemon, written: bytes) -> None:
    """Its name says which one it is; the answer went to number 0, and the caller waited until its time was over."""
    server = daemon.server
    server.spool = Spool(daemon.root, "epoch", daemon.clock.now_ns)
    (daemon.root.joinpath(*SPOOL_FOLDER) / request_file("0" * 16, 7)).write_bytes(written)
    server.spool.ring()
    daemon.app.turn(server.poll(0.0))
    assert server.answered == [7]
    assert [reply["error"] for reply in server.replies.values()] == ["schema_invalid"]


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


def test_an_operation_id_stands_for_a_call_of_its_caller_alone(daemon: Daemon) -> None:
    """Another caller's write was answered as applied, and was not made."""
    op = b"an operation id."
    daemon.app.turn([incoming("ann", *write("a"), op)])
    daemon.app.turn([incoming("ann", *write("a"), op), incoming("ben", *write("b"), op)])
    daemon.app.turn([])
    while len(daemon.server.answered) < 3:
        daemon.wait()
        daemon.app.turn([])
    ann, ben = (daemon.server.replies[name] for name in (b"ann", b"ben"))
    assert (ann["ok"], ann["repeated"]) == (True, True)
    assert (ben.get("error"), ben["outcome"], daemon.text("b")) == ("schema_invalid", "not_applied", None)


def test_an_operation_that_comes_again_is_told_what_it_made(daemon: Daemon) -> None:
    """So a caller that used one id twice can see that what it asks for now was not made."""
    op, patch = b"an operation id.", b"another one's id"
    both = "*** Begin Patch\n*** Add File: b\n+b\n*** Delete File: a\n*** End Patch\n"
    asked = (
        (op, *write("a")),
        (op, "write_file", {"path": "c", "content": "other\n"}),
        (patch, "apply_patch", {"patch": both}),
        (patch, "apply_patch", {"patch": both}),
    )
    told = []
    for mark, tool, args in asked:
        daemon.server.replies.clear()
        daemon.app.turn([incoming("ann", tool, args, mark)])
        while not daemon.server.replies:
            daemon.wait()
            daemon.app.turn([])
        told.append(daemon.server.replies[b"ann"])
    made, again, patched, patched_again = told
    told_of = ("path", "version", "sha256")
    assert (again["repeated"], [again[name] for name in told_of]) == (True, [made[name] for name in told_of])
    assert again["message"].endswith(" (a); it is not applied twice.")
    assert sorted((file["path"], file["sha256"]) for file in patched_again["files"]) == sorted(
        (file["path"], file["sha256"]) for file in patched["files"]
    )
    assert patched_again["message"].endswith(" and 1 more file); it is not applied twice.")


def test_an_operation_id_that_is_too_long_is_refused(daemon: Daemon) -> None:
    """It was cut, so that the second of two that begin alike was answered as applied and never made."""
    begins = b"an operation id."
    daemon.app.turn([incoming("ann", *write("a"), begins), incoming("ben", *write("b"), begins + b" or more")])
    while len(daemon.server.answered) < 2:
        daemon.wait()
        daemon.app.turn([])
    ann, ben = (daemon.server.replies[name] for name in (b"ann", b"ben"))
    assert (ann["ok"], ben["error"], ben["argument"]) == (True, "schema_invalid", "op")
    assert ben["message"] == "op: an operation id has at most 16 bytes, not 24."
    assert daemon.text("b") is None


def test_a_repeated_call_is_the_same_under_other_names_of_its_arguments(daemon: Daemon) -> None:
    (daemon.root / "a").write_text("one\n")
    seen = daemon.turn(ann=("read_file", {"path": "a", "hashes": True}))["ann"]
    shown = msgspec.msgpack.decode(seen["lines"])
    operation = {"op": "replace_line", "hash": shown[0].split()[0], "content": "1"}
    said = {"operations": [operation], "idempotency_key": "k1"}
    first = daemon.turn(ann=("edit", {**said, "path": "a", "base": seen["version"]}))["ann"]
    again = daemon.turn(ann=("edit", {**said, "file_path": "a", "expected_file_version": seen["version"]}))["ann"]
    assert first["ok"], first
    assert (again.get("error"), again["version"]) == (None, first["version"])
    written = {"path": "a", "content": "two\n", "idempotency_key": "k2"}
    first = daemon.turn(ann=("write_file", {**written, "base": first["version"]}))["ann"]
    again = daemon.turn(ann=("write_file", {**written, "expected_file_version": seen["version"]}))["ann"]
    assert (first["ok"], again["error"]) == (True, "schema_invalid"), "another base is another call"


def test_a_call_that_waits_while_the_name_of_its_caller_is_purged_is_made_by_that_caller(daemon: Daemon) -> None:
    """The writer by whom it came has another name since: the reply was kept for that one, and a repeated call was made
    again."""
    who, recorder = "token=x1y2z3", daemon.app.recorder
    held = daemon.turn(ann=("claim", {"path": "a", "kind": "exclusive"}))["ann"]
    assert daemon.turn(**{who: write("b")})[who]["ok"]
    wanted = "claim", {"path": "a", "kind": "exclusive", "wait_ms": 60_000, "idempotency_key": "k"}
    daemon.app.turn([incoming(who, *wanted)])

    def purge() -> None:
        gatherer = PurgeSurvey(PurgeTarget(matching=re.compile(rb"token=\w+")))
        with daemon.store.reading() as r:
            gatherer.look(r)
            recorder.purge(gatherer.change(r), WriterId(1))

    until = daemon.clock.mono_s() + LONGEST_S
    daemon.app.jobs.start(lambda: purge, "purge")
    while not recorder.purges and daemon.clock.mono_s() < until:
        daemon.app.turn([])
    assert daemon.turn(ann=("release", {"lease": held["lease"]}))["ann"]["ok"]
    while who.encode() not in daemon.server.replies and daemon.clock.mono_s() < until:
        daemon.app.turn([])
    granted = daemon.server.replies[who.encode()]
    with recorder.history() as history:
        assert [history.caller_of(lease.writer) for lease in history.leases()] == [caller_key(os.getuid(), who, "")]
    assert (granted["ok"], daemon.turn(**{who: wanted})[who]["lease"]) == (True, granted["lease"])


@pytest.mark.parametrize("between", [read("b"), ("claim", {"path": "b"})])
def test_what_a_turn_has_decided_is_not_taken_for_an_outside_change_before_it_is_written(
    daemon: Daemon, between: tuple[str, dict[str, Any]]
) -> None:
    """Another call of the turn has everything committed that is noted: the log is ahead of the disk for a moment."""
    (daemon.root / "a").write_text("old\n")
    (daemon.root / "b").write_text("outside\n")
    base = daemon.turn(ann=read("a"))["ann"]["version"]
    edit = ("write_file", {"path": "a", "content": "new\n", "base": base})
    replies = daemon.turn(ann=edit, ben=between, eve=read("a"))
    assert (replies["eve"]["content"], replies["eve"]["last_writer"]["agent"]) == ("new\n", "ann")
    assert replies["eve"]["version"] == replies["ann"]["version"]
    with daemon.app.recorder.history() as history:
        assert [version.type for version in history.versions("a")] == ["outside", "write_file"]


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


def test_the_tree_is_compared_while_checks_and_collections_go_on_for_minutes(daemon: Daemon) -> None:
    """Two of them had all threads: what came with a new folder was not seen until one ended."""
    (daemon.root / "a").write_text("outside\n")
    ended = threading.Event()

    def work() -> Callable[[], None]:
        ended.wait(LONGEST_S)
        return lambda: None

    try:
        for _ in range(2):
            daemon.app.start_job(work, "verify")
        daemon.app.outside.scanner.scan("rules")
        until = time.monotonic() + LONGEST_S / 2
        while not daemon.app.outside.scanner.progress()["finished"] and time.monotonic() < until:
            daemon.server.poll(0.01)
            daemon.app.turn([])
        assert daemon.app.outside.scanner.progress()["finished"]
    finally:
        ended.set()
    with daemon.app.recorder.history() as history:
        assert history.file("a") is not None


def test_each_caller_is_told_once_of_a_salvage_and_nobody_after_a_day(daemon: Daemon) -> None:
    """Of this daemon, however long it runs."""
    daemon.app.recorder.note(JournalSalvaged("a page", "db-damaged", 1, ()))
    daemon.app.settle()
    daemon.app.turn([])

    def is_told(who: str) -> bool:
        warnings = daemon.turn(**{who: ("who", {})})[who].get("warnings", ())
        return "journal_salvaged" in [warning["type"] for warning in warnings]

    assert [is_told(who) for who in ("ann", "ben", "ann")] == [True, True, False]
    daemon.clock.passed_s = SALVAGE_IS_TOLD_NS / 1e9 + SALVAGE_S
    daemon.app.turn([])
    assert not is_told("eve")


def test_a_question_that_could_not_wait_for_the_watcher_says_so(daemon: Daemon) -> None:
    """It was answered with what was known, as if that were all; a checkpoint said that it held the tree of now."""

    def ask(tool: str, args: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
        daemon.app.turn([incoming("ann", tool, args)])
        while b"ann" not in daemon.server.replies:
            daemon.clock.passed_s += CATCH_UP_S  # nobody watches the tree
            daemon.app.turn([])
        reply = daemon.server.replies.pop(b"ann")
        assert reply["ok"]
        return reply, [warning["type"] for warning in reply.get("warnings", ())]

    for tool, args in (("since", {}), ("log", {}), ("tree", {}), ("diff", {"from": "seq:0"})):
        assert ask(tool, args)[1] == ["not_caught_up", "coverage"]
    assert ask("status", {})[1] == []
    named, warned = ask("checkpoint", {"name": "here"})
    assert warned == ["not_caught_up", "coverage"]
    assert "other programs wrote lately" in named["not_captured"]["blind"]


@pytest.mark.parametrize(
    ("begin", "args", "ask", "open_ones"),
    [("claim", {"path": "a"}, "claims", "leases"), ("burst", {"action": "begin"}, "burst", "bursts")],
)
def test_the_end_of_a_connection_ends_nothing_that_bears_the_number_of_what_was_never_granted(
    daemon: Daemon, begin: str, args: dict[str, Any], ask: str, open_ones: str
) -> None:
    """What a full disk took nothing of leaves its number to the next one."""

    def full() -> None:
        raise StoreFailure("the disk is full", disk_full=True)

    def call(who: str, tool: str, args: dict[str, Any]) -> dict[str, Any]:
        daemon.app.turn([incoming(who, tool, args)])
        while who.encode() not in daemon.server.replies:
            daemon.clock.passed_s += CATCH_UP_S  # nobody watches the tree
            daemon.app.turn([])
        return daemon.server.replies.pop(who.encode())

    daemon.app.turn([])
    daemon.store.fault = full
    assert call("ann", begin, {**args, "bind": "connection"})["error"] == "disk_full"
    daemon.store.fault = None
    assert call("eve", begin, args)["ok"]
    daemon.server.gone.add(b"ann")
    daemon.clock.passed_s += LOOK_S
    call("eve", *read("a"))
    (still,) = call("eve", ask, {})[open_ones]
    assert still.get("state", "open") == "open"


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
    daemon.app.settle()
    with daemon.store.writing() as w:
        w.put("records", u64(int(written["version"].removeprefix("v"))), b"no record")
    daemon.server.replies.clear()
    daemon.app.turn([incoming("ann", "no_such_tool", {})])
    assert daemon.server.replies[b"ann"]["error"] == "journal_damaged"
    assert not daemon.app.sound


def test_a_question_waits_for_a_file_that_is_held_open_no_longer_than_the_settings_say(daemon: Daemon) -> None:
    """It waited as long as one may wait for the watcher, where it had asked that first."""
    (daemon.root / "a").write_text("one\n")
    assert daemon.turn(ann=read("a"))["ann"]["ok"]
    settings = daemon.app.in_force.now
    daemon.app.in_force.now = replace(settings, edit=replace(settings.edit, busy_wait_ms=0))
    daemon.app.watcher.start()
    daemon.clock.stands_s = began_s = daemon.clock.mono_s()
    daemon.server.replies.clear()
    with (daemon.root / "a").open("a"):
        daemon.app.turn([incoming("ann", "blame", {"path": "a"})])
        while not daemon.server.replies and daemon.clock.mono_s() < began_s + CATCH_UP_S / 2:
            daemon.clock.stands_s += RETRY_S
            daemon.app.turn(daemon.server.poll(0.02))
    daemon.app.watcher.stop()
    assert daemon.server.replies[b"ann"]["ok"]


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
    daemon.app.settle()
    with daemon.store.writing() as w:
        for at in range(1, daemon.app.recorder.journal.head + 1):
            record = read_record(at, w.get("records", u64(at)) or b"")
            spoilt = msgspec.structs.replace(record, body=msgspec.Raw(b"\x91\xc0"))
            w.put("records", u64(at), encode_record(spoilt))
    reply = daemon.turn(ann=(tool, arguments))["ann"]
    assert (reply["error"], reply["suggested_action"]) == ("journal_damaged", "run_verify"), reply
    assert not daemon.app.failures.sound


def test_the_coverage_says_since_when_it_is_degraded_though_nobody_had_asked(daemon: Daemon) -> None:
    daemon.app.turn([])
    began_ns = daemon.clock.now_ns()
    daemon.clock.passed_s = 3600.0
    told = daemon.turn(ann=("status", {}))["ann"]["coverage"]
    assert (told["state"], "stopped" in told["reasons"]) == ("degraded", True)  # nobody watches the tree
    since_ns = datetime.fromisoformat(told["since"]).timestamp() * 1e9
    assert abs(since_ns - began_ns) < 1e9 * 60


def test_the_daemons_own_log_tells_once_of_what_degrades_the_coverage_and_once_when_it_is_over(
    tmp_path: Path,
) -> None:
    """A secret that found no place was logged each second, with a stack trace."""
    said = Said()
    daemon = Daemon(tmp_path, Log(said))
    for why in ("no room", "no room", ""):
        daemon.app.performer.theirs.no_place = why
        checks = daemon.turn(eve=("doctor", {}))["eve"]["checks"]
        assert ("displaced bytes" in [check["name"] for check in checks]) is bool(why)
        daemon.clock.passed_s += 2
        daemon.app.turn([])
    told = [str(fields["reasons"]) for event, fields in said.lines if event == "coverage"]
    assert ["no room" in reasons for reasons in told] == [True, False]
    daemon.app.close()


def test_who_waits_to_write_when_the_daemon_stops_is_told_that_nothing_was_done(tmp_path: Path) -> None:
    """It is unknown otherwise: the connection ends. Who only asks, asks the next daemon."""
    daemon = Daemon(tmp_path)
    assert daemon.turn(ann=("claim", {"path": "a", "kind": "exclusive"}))["ann"]["ok"]
    daemon.server.replies.clear()
    waiting = {
        "ben": ("claim", {"path": "a", "kind": "exclusive", "wait_ms": 60_000}),
        "eve": ("since", {"cursor": "seq:999", "wait_ms": 60_000}),
    }
    daemon.app.turn([incoming(who, tool, args) for who, (tool, args) in waiting.items()])
    assert daemon.server.replies == {}
    daemon.app.close()
    told = daemon.server.replies
    assert {*told} == {b"ben"}
    assert (told[b"ben"]["error"], told[b"ben"]["outcome"]) == ("busy", "not_applied")


def test_a_refusal_that_names_a_path_which_is_not_utf8_is_told_and_journaled(daemon: Daemon) -> None:
    """It could not be encoded: that ended the daemon, and what others had noted went with it."""
    os.close(os.open(os.fsencode(daemon.root) + b"/caf\xe9 1", os.O_CREAT | os.O_WRONLY))
    reply = daemon.turn(ann=("write_file", {"path": "caf%E9 1/b.txt", "content": "new\n"}), ben=read("c"))["ann"]
    assert (reply["error"], reply["path"], reply["path_encoding"]) == ("not_a_file", "caf%E9%201/b.txt", "percent")
    assert reply["message"] == "caf%E9 1 is not a folder, so nothing can be made in it."
    daemon.app.settle()
    with daemon.app.recorder.history() as history:
        refusals = [event for record in history.records() if isinstance(event := record.event(), EditRefused)]
    assert refusals == [EditRefused("write_file", "caf%E9 1/b.txt", "not_a_file", reply["message"])]


def test_a_warning_spells_a_path_that_is_not_utf8_as_the_rest_of_the_reply_does(daemon: Daemon) -> None:
    name = "caf%E9.py"
    file = daemon.root / os.fsdecode(b"caf\xe9.py")
    file.write_text("one = 1\ntwo = 2\n")
    assert daemon.turn(ann=read(name))["ann"]["ok"]
    edits = f"*** Update File: {name}\n@@\n one = 1\n+two = 2\n two = 2\n*** Add File: b\n+b\n"
    reply = daemon.turn(ann=("apply_patch", {"patch": f"*** Begin Patch\n{edits}*** End Patch\n"}))["ann"]
    assert [one["path"] for one in reply["files"]] == [name, "b"]
    assert [(one["type"], one["path"]) for one in reply["warnings"]] == [("duplicate_line", name)]


def test_a_reply_that_cannot_be_said_is_a_fault_that_is_told(daemon: Daemon) -> None:
    call = daemon.app.admission.accept(incoming("ann", *write("a"), b"an operation id."))
    assert call is not None
    daemon.app.responder.answer(call, {"ok": True, "message": "caf\udce9"})
    reply = daemon.server.replies[b"ann"]
    assert (reply["error"], reply["outcome"], reply["op"]) == ("fault", "applied", b"an operation id.".hex())


WAITS = ("since", {"cursor": "seq:99", "wait_ms": 60_000})


def test_callers_without_end_are_refused_and_the_daemon_can_be_ended(daemon: Daemon) -> None:
    (daemon.root / "a").write_text("text\n")
    daemon.app.turn([incoming(f"ann {n}", *WAITS) for n in range(MOST_CALLS)])
    assert daemon.server.replies == {}
    assert daemon.turn(ben=read("a"))["ben"]["error"] == "busy"
    assert daemon.turn(ben=("shutdown", {}))["ben"]["ok"]
    assert daemon.app.stopping


def test_a_caller_that_sends_without_end_is_refused_and_others_are_served(daemon: Daemon) -> None:
    """One call of a connection is decided in a turn; what waits behind it took the room of everybody."""
    (daemon.root / "a").write_text("text\n")
    daemon.app.turn([incoming("ann", *WAITS) for _ in range(MOST_OF_ONE)])
    assert daemon.server.replies == {}
    replies = daemon.turn(ann=read("a"), ben=read("a"))
    assert [replies[name].get("error") for name in ("ann", "ben")] == ["busy", None]


def test_nothing_is_decided_for_a_caller_that_has_replies_to_read_before(daemon: Daemon) -> None:
    (daemon.root / "a").write_text("text\n")
    daemon.server.full.add(b"ann")
    daemon.app.turn([incoming("ann", *read("a")), incoming("ben", *read("a"))])
    assert [*daemon.server.replies] == [b"ben"]
    daemon.server.full.clear()
    daemon.app.turn([])
    assert daemon.server.replies[b"ann"]["ok"]


def test_large_calls_that_wait_are_bounded_in_bytes_and_small_ones_are_taken_beside_them(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few thousand that may wait, of the size that one may have, are more than any memory."""
    monkeypatch.setattr("quire_daemon.engine.call_queue.MOST_BYTES", 250_000)
    (daemon.root / "a").write_text("text\n")
    large = {name: ("write_file", {"path": name, "content": "x" * 100_000}) for name in ("ann", "ben", "eve")}
    replies = daemon.turn(**large, joe=read("a"))
    assert {name: reply.get("error") for name, reply in replies.items()} == {
        "ann": None,
        "ben": None,
        "eve": "busy",
        "joe": None,
    }
    assert daemon.turn(eve=large["eve"])["eve"]["ok"]


def test_a_write_that_is_in_the_log_and_was_not_made_is_not_answered_by_an_outside_version(daemon: Daemon) -> None:
    """Another call had it committed, then the disk was full: first the log has to say that it stands nowhere."""
    commits = 0

    def all_but_the_first() -> None:
        nonlocal commits
        commits += 1
        if commits > 1:
            raise StoreFailure("the disk is full", disk_full=True)

    (daemon.root / "a").write_text("old\n")
    base = daemon.turn(ann=read("a"))["ann"]["version"]
    daemon.clock.stands_s = daemon.clock.mono_s()  # after a time the log is told by itself that Joe's write is on disk
    assert daemon.turn(joe=write("c"))["joe"]["ok"]
    daemon.store.fault = all_but_the_first
    edit = ("write_file", {"path": "a", "content": "new\n", "base": base})
    reply = daemon.turn(ann=edit, ben=("claim", {"path": "b"}))["ann"]
    assert (reply["error"], reply["outcome"]) == ("disk_full", "unknown"), "a start would make it now"
    assert daemon.turn(eve=read("a"))["eve"]["error"] == "disk_full"
    daemon.store.fault = None
    reply = daemon.turn(eve=read("a"))["eve"]
    assert (reply["content"], reply["version"]) == ("old\n", base)
    daemon.app.settle()
    with daemon.app.recorder.history() as history:
        assert [version.type for version in history.versions("a")] == ["outside"]
        assert history.unsettled() == []


@pytest.mark.parametrize("disk_full", [True, False])
@pytest.mark.parametrize("known_by", ["its key", "its operation id"])
def test_a_write_that_is_in_the_log_and_was_not_made_is_made_when_it_is_asked_for_again(
    daemon: Daemon, known_by: str, disk_full: bool
) -> None:
    """It was answered as made, as the log did not say yet that it was not. Nobody knows before that can be said."""
    commits = 0

    def all_but_the_first() -> None:
        nonlocal commits
        commits += 1
        if commits > 1:
            raise StoreFailure("for want of room", disk_full)

    (daemon.root / "a").write_text("old\n")
    base = daemon.turn(ann=read("a"))["ann"]["version"]
    daemon.clock.stands_s = daemon.clock.mono_s()
    assert daemon.turn(joe=write("c"))["joe"]["ok"]
    edit = {"path": "a", "content": "new\n", "base": base}
    op = b"an operation id." if known_by == "its operation id" else b""
    call = incoming("ann", "write_file", edit if op else {**edit, "idempotency_key": "key"}, op)
    daemon.store.fault = all_but_the_first
    daemon.app.turn([call, incoming("ben", "claim", {"path": "b"})])
    code = "disk_full" if disk_full else "busy"
    for _ in range(2):
        reply = daemon.server.replies.pop(b"ann")
        assert (reply["error"], reply["outcome"]) == (code, "unknown"), "a start would make it now"
        assert "was not made, or was taken back" in reply["message"]
        daemon.app.turn([call])
    daemon.store.fault = None
    daemon.app.turn([call])
    assert daemon.server.replies[b"ann"]["ok"]
    assert daemon.text("a") == "new\n"
    with daemon.app.recorder.history() as history:
        assert [version.type for version in history.versions("a")] == ["outside", "write_file"]


@pytest.fixture
def no_more_threads() -> Iterator[None]:
    """None can begin until `threading.stack_size(0)`: there is no room for their stacks."""
    before = threading.stack_size(1 << 46)
    yield
    threading.stack_size(before)


@pytest.mark.usefixtures("no_more_threads")
def test_an_edit_for_which_no_thread_can_begin_is_made_without_one(daemon: Daemon) -> None:
    large = ("write_file", {"path": "b", "content": "new\n" * (SMALL_BYTES // 4 + 1)})
    replies = daemon.turn(ann=write("a"), ben=large)
    assert [replies[name]["outcome"] for name in ("ann", "ben")] == ["applied"] * 2
    assert [daemon.text("a"), daemon.text("b")] == ["new\n", large[1]["content"]]


@pytest.mark.usefixtures("no_more_threads")
def test_a_request_of_many_files_for_which_no_thread_can_begin_is_made_without_one(daemon: Daemon) -> None:
    patch = "".join(f"*** Add File: f{n}\n+new\n" for n in range(MANY))
    reply = daemon.turn(ann=("apply_patch", {"patch": f"*** Begin Patch\n{patch}*** End Patch\n"}))["ann"]
    assert reply["ok"]
    assert daemon.text(f"f{MANY - 1}") == "new\n"


@pytest.mark.parametrize(("caller", "op"), [("ann", b""), ("ben", b"an operation id."), ("ben", b"")])
def test_who_waits_for_a_long_request_does_not_have_the_loop_go_round(daemon: Daemon, caller: str, op: bytes) -> None:
    """Its caller, who asks for something else; the same request on another connection; who needs one of its files."""
    patch = "".join(f"*** Add File: f{n}\n+new\n" for n in range(MANY))
    asked = incoming("ann", "apply_patch", {"patch": f"*** Begin Patch\n{patch}*** End Patch\n"}, b"an operation id.")
    second = asked if op else incoming(caller, *read("f0"))
    daemon.app.turn([asked])
    assert daemon.app.observer.in_flight.batches
    before, came = 0.0, [msgspec.structs.replace(second, identity=caller.encode())]
    while daemon.app.observer.in_flight.batches:
        daemon.wait()
        began = daemon.clock.mono_s()
        daemon.app.turn(came)
        after, came = daemon.app.waiting.next_look_s(began), []
        assert after == before or after >= began + RETRY_S or not daemon.app.observer.in_flight.batches
        before = after
    while len(daemon.server.replies) < len({"ann", caller}):
        daemon.app.turn([])
    daemon.app.turn([])
    assert daemon.server.replies[caller.encode()]["ok"]


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
    daemon.app.settle()
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
