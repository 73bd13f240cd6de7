"""Turns of a daemon: requests that come together, and what fails between them."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from daemon_turns import LONGEST_S, Daemon, Said, incoming, read, write
from msgspec.structs import replace

from quire_daemon.engine.gather import CATCH_UP_S
from quire_daemon.ops.daemon_log import Log
from quire_daemon.server.connections import LOOK_S
from quire_daemon.server.file_transport import Spool
from quire_daemon.watch.observe import RETRY_S
from quire_journal.maintenance.purge import PurgeSurvey, PurgeTarget
from quire_journal.model.events import EditRefused
from quire_journal.model.file_transport import SPOOL_FOLDER, request_file
from quire_journal.model.ids import WriterId
from quire_journal.storage.port import StoreFailure
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


def test_a_story_names_a_path_which_is_not_utf8_as_other_replies_do(daemon: Daemon) -> None:
    daemon.turn(ann=("write_file", {"path": "caf%E9/b.txt", "content": "new\n"}))
    (story,) = daemon.turn(ben=("stories", {"agents": True}))["ben"]["stories"]
    assert [(file["path"], file["path_encoding"]) for file in story["files"]] == [("caf%E9/b.txt", "percent")]
    assert story["calls"][0]["paths"] == ["caf%E9/b.txt"]


def test_a_refusal_that_names_a_path_which_is_not_utf8_is_told_and_journaled(daemon: Daemon) -> None:
    """It could not be encoded: that ended the daemon, and what others had noted went with it."""
    os.close(os.open(os.fsencode(daemon.root) + b"/caf\xe9 1", os.O_CREAT | os.O_WRONLY))
    reply = daemon.turn(ann=("write_file", {"path": "caf%E9 1/b.txt", "content": "new\n"}), ben=read("c"))["ann"]
    assert (reply["error"], reply["path"], reply["path_encoding"]) == ("not_a_file", "caf%E9%201/b.txt", "percent")
    assert reply["message"] == "caf%E9 1 is not a folder, so nothing can be made in it."
    daemon.app.commit_noted()
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
