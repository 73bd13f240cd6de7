"""Turns of a daemon: calls that come again, by their operation or their key."""

from __future__ import annotations

import msgspec
import pytest
from daemon_turns import Daemon, incoming, read, write

from quire_journal.storage.port import StoreFailure


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
    daemon.app.commit_noted()
    with daemon.app.recorder.history() as history:
        assert [version.type for version in history.versions("a")] == ["outside"]
        assert history.unsettled() == []


@pytest.mark.parametrize("folds", [True, False])
@pytest.mark.parametrize("disk_full", [True, False])
@pytest.mark.parametrize("known_by", ["its key", "its operation id"])
def test_a_write_that_is_in_the_log_and_was_not_made_is_made_when_it_is_asked_for_again(
    daemon: Daemon, known_by: str, disk_full: bool, folds: bool
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
    daemon.store.fold_fault = None if folds else all_but_the_first
    daemon.app.turn([call, incoming("ben", "claim", {"path": "b"})])
    code = "disk_full" if disk_full else "busy"
    for _ in range(2):
        reply = daemon.server.replies.pop(b"ann")
        assert (reply["error"], reply["outcome"]) == (code, "unknown"), "a start would make it now"
        assert "outcome unknown" in reply["message"]
        daemon.app.turn([call])
    daemon.store.fault = daemon.store.fold_fault = None
    daemon.app.turn([call])
    assert daemon.server.replies[b"ann"]["ok"]
    assert daemon.text("a") == "new\n"
    with daemon.app.recorder.history() as history:
        assert [version.type for version in history.versions("a")] == ["outside", "write_file"]
