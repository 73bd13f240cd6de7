"""Those incidents that a daemon in memory shows; `test_incidents.py` has the list of all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from scenes import write

from live import ok, refused
from memory_daemon import MemoryDaemon


@dataclass
class Somebody:
    """A caller of a daemon in memory, by name."""

    daemon: MemoryDaemon
    name: str

    def call(self, tool: str, args: dict[str, Any]) -> dict[str, Any]:
        """The reply of `tool`."""
        return self.daemon.ask(tool, args, by=self.name)


@pytest.fixture
def daemon() -> MemoryDaemon:
    """A folder in memory."""
    return MemoryDaemon({"f.txt": "one\ntwo\nthree\nfour\nfive\n", "g.txt": "g\n"})


def test_08_undo_in_one_session_leaves_all_others_alone(daemon: MemoryDaemon) -> None:
    """anomalyco/opencode #33940, #13558: undo reverted every session's work, in a fresh session too; redo was old."""
    ann, ben, new = (Somebody(daemon, name) for name in ("ann", "ben", "new"))
    write(ann, "f.txt", "one\nTWO\nthree\nfour\nfive\n")
    write(ben, "f.txt", "one\nTWO\nthree\nfour\nFIVE\n")
    write(ben, "bens.txt", "ben\n")
    daemon.save("f.txt", "ONE by hand\nTWO\nthree\nfour\nFIVE\n")  # the user, with days of work
    daemon.save("users.txt", "days of work\n")
    before = dict(daemon.files)
    for tool, args in (("undo", {}), ("undo", {"last": 100}), ("redo", {}), ("undo", {"path": "."})):
        refused(new.call(tool, args), "not_found")
        assert daemon.files == before
    ok(ann.call("undo", {}))
    assert daemon.files == {**before, "f.txt": b"ONE by hand\ntwo\nthree\nfour\nFIVE\n"}
    write(ben, "f.txt", "ONE by hand\ntwo\nthree\nFOUR\nFIVE\n")
    ok(ann.call("redo", {}))
    assert daemon.files == {**before, "f.txt": b"ONE by hand\nTWO\nthree\nFOUR\nFIVE\n"}


def test_10_nothing_on_disk_goes_back_without_an_undo_that_everybody_is_told_of(daemon: MemoryDaemon) -> None:
    """zed-industries/zed #37623: sending a message again silently put files on disk back."""
    ann, ben = Somebody(daemon, "ann"), Somebody(daemon, "ben")
    base = ok(ann.call("read_file", {"path": "f.txt"}))["version"]
    sent = {"path": "f.txt", "content": "one\nTWO\nthree\nfour\nfive\n", "base": base}
    ok(ann.call("write_file", sent))
    write(ben, "f.txt", "one\nTWO\nthree\nfour\nFIVE\n")
    before = dict(daemon.files)
    refused(ann.call("write_file", sent), "write_conflict")
    for tool, args in (("undo", {"plan": True}), ("undo", {"dry_run": True}), ("log", {}), ("since", {})):
        ok(ann.call(tool, args))
    assert daemon.files == before
    done = ok(ann.call("undo", {}))
    assert daemon.read("f.txt") == "one\ntwo\nthree\nfour\nFIVE\n"
    (record,) = ok(ben.call("log", {"path": "f.txt", "limit": 1}))["records"]
    assert (record["version"], record["writer"]["type"], record["writer"]["agent"]) == (done["version"], "undo", "ann")
    told = ben.call("write_file", {"path": "f.txt", "content": "x\n"})["changed_since_your_read"]
    assert [(entry["writer"]["agent"], entry["writer"]["type"]) for entry in told] == [("ann", "undo")]


def test_11_a_restore_is_taken_back_by_an_undo(daemon: MemoryDaemon) -> None:
    """zed-industries/zed #28676: going back to a checkpoint could not itself be undone."""
    ann, ben = Somebody(daemon, "ann"), Somebody(daemon, "ben")
    for path in ("f.txt", "g.txt"):
        ok(ann.call("read_file", {"path": path}))
    ok(ann.call("checkpoint", {"name": "start"}))
    start = dict(daemon.files)
    write(ann, "f.txt", "all new\n")
    ok(ann.call("delete_file", {"path": "g.txt"}))
    write(ben, "bens.txt", "ben\n")
    daemon.save("f.txt", "all new\nand a line by hand that nobody has looked at\n")
    later = dict(daemon.files)
    for _ in range(2):
        ok(ann.call("restore", {"at": "start", "path": "."}))
        assert daemon.files == {**start, "bens.txt": b"ben\n"}
        ok(ann.call("undo", {}))
        assert daemon.files == later


def test_12_undo_again_and_again_never_takes_the_operation_of_another_agent(daemon: MemoryDaemon) -> None:
    """jj-vcs/jj #7229, PR #10123: undo went by one head for all, so that one agent undid another's operation."""
    ann, ben = Somebody(daemon, "ann"), Somebody(daemon, "ben")
    for n in range(3):
        write(ann, f"ann{n}.txt", f"ann {n}\n")
        write(ben, f"ben{n}.txt", f"ben {n}\n")
    bens = {path: data for path, data in daemon.files.items() if path.startswith("ben")}
    for left in (2, 1, 0):
        ok(ann.call("undo", {}))
        assert sum(path.startswith("ann") for path in daemon.files) == left
    refused(ann.call("undo", {}), "not_found")
    refused(ben.call("redo", {}), "not_found")
    assert {path: daemon.files.get(path) for path in bens} == bens
    ok(ben.call("undo", {}))
    ok(ann.call("redo", {}))
    assert sorted(daemon.files) == ["ann0.txt", "ben0.txt", "ben1.txt", "f.txt", "g.txt"]


def test_14_an_editor_that_saves_over_a_restore_costs_neither_its_text_nor_the_checkpoint(daemon: MemoryDaemon) -> None:
    """RooCodeInc/Roo-Code #3097: a restore beside an editor with unsaved text did nothing, and used the point up."""
    ann = Somebody(daemon, "ann")
    start = ok(ann.call("read_file", {"path": "f.txt"}))["content"]
    ok(ann.call("checkpoint", {"name": "start"}))
    write(ann, "f.txt", start.replace("two", "TWO"))
    in_the_editor = start.replace("two", "TWO") + "typed and not saved\n"
    plan = ok(ann.call("restore", {"at": "start", "path": "f.txt", "plan": True}))
    daemon.save("f.txt", in_the_editor)  # saved between the plan and its execution
    refused(ann.call("restore", {"token": plan["token"]}), "plan_stale")
    assert daemon.read("f.txt") == in_the_editor
    ok(ann.call("restore", {"at": "start", "path": "f.txt"}))
    daemon.save("f.txt", in_the_editor)  # and saved again, right after
    assert [c["name"] for c in ok(ann.call("checkpoint", {"action": "list"}))["checkpoints"]] == ["start"]
    ok(ann.call("restore", {"at": "start", "path": "f.txt"}))
    assert daemon.read("f.txt") == start
    ok(ann.call("undo", {}))
    assert daemon.read("f.txt") == in_the_editor


def test_21_a_checkpoint_of_a_large_tree_is_one_record() -> None:
    """Roo-Code #5412, opencode #1646 and others: a checkpoint of a large tree took minutes, or was not made."""
    daemon = MemoryDaemon({f"d{n % 20}/f{n}.txt": f"{n}\n" for n in range(200)})
    ann = Somebody(daemon, "ann")
    for path in daemon.files:
        ok(ann.call("read_file", {"path": path}))
    head = daemon.journal.head
    ok(ann.call("checkpoint", {"name": "large"}))
    assert daemon.journal.head == head + 1


@pytest.mark.parametrize("everyones", [False, True])
def test_undo_deletes_only_what_it_can_prove_that_the_undone_events_made(daemon: MemoryDaemon, everyones: bool) -> None:
    """What all of these come down to: a file goes when an undone record made it, and its bytes are those it made."""
    ann = Somebody(daemon, "ann")
    daemon.save("there.txt", "older than the journal\n")
    ok(ann.call("checkpoint", {"name": "start"}))
    before = dict(daemon.files)
    write(ann, "made.txt", "made\n")
    write(ann, "built_on.txt", "made\n")
    ok(ann.call("read_file", {"path": "there.txt"}))  # the journal never saw it come
    daemon.save("built_on.txt", "made\nand a line by hand\n")  # nobody has looked at it since
    daemon.save("beside.txt", "nor ever at this\n")
    later = dict(daemon.files)
    kept = {"beside.txt": later["beside.txt"]}
    told = {"made.txt": ("delete", None)}
    if everyones:
        ok(ann.call("read_file", {"path": "built_on.txt"}))  # the line by hand is known, and undone too
        told |= {"built_on.txt": ("delete", None), "there.txt": ("none", "creation_not_seen")}
    else:
        told |= {"built_on.txt": ("none", None)}
        kept |= {"built_on.txt": later["built_on.txt"]}
    reply = ok(ann.call("rollback", {"to": "start", "writer": "*" if everyones else ""}))
    assert {f["path"]: (f["action"], f["skipped"]) for f in reply["files"]} == told
    assert [bool(f["conflicts"]) for f in reply["files"] if f["path"] == "built_on.txt"] == [not everyones]
    assert daemon.files == before | kept
    ok(ann.call("undo", {}))
    assert daemon.files == later


def test_05_everyones_changes_of_a_file_first_seen_after_the_point_come_out_and_the_file_stays(
    daemon: MemoryDaemon,
) -> None:
    """RooCodeInc/Roo-Code #6209: what the point does not know of. As it was first seen is as far as one can go."""
    ann = Somebody(daemon, "ann")
    ok(ann.call("checkpoint", {"name": "start"}))
    start = dict(daemon.files)
    write(ann, "f.txt", "ann\n")  # which reads it first: that is when the journal learns of it
    ok(ann.call("rollback", {"to": "start", "writer": "*"}))
    assert daemon.files == start


def test_10_a_rollback_that_is_asked_for_again_brings_nothing_back(daemon: MemoryDaemon) -> None:
    """zed-industries/zed #37623, opencode #13558: what is sent twice must not put files back to an outdated state."""
    ann = Somebody(daemon, "ann")
    ok(ann.call("checkpoint", {"name": "start"}))
    start = dict(daemon.files)
    write(ann, "f.txt", "ann\n")
    ok(ann.call("rollback", {"to": "start"}))
    assert daemon.files == start
    refused(ann.call("rollback", {"to": "start"}), "not_found")
    assert daemon.files == start


def test_10_a_rollback_takes_back_an_undo_made_after_the_point(daemon: MemoryDaemon) -> None:
    """zed-industries/zed #37623: what goes back is what was asked for, which is the state at the point."""
    ann = Somebody(daemon, "ann")
    write(ann, "f.txt", "ann, before\n")
    ok(ann.call("checkpoint", {"name": "start"}))
    start = dict(daemon.files)
    write(ann, "f.txt", "ann, later\n")
    ok(ann.call("undo", {"last": 2}))
    assert daemon.read("f.txt") == "one\ntwo\nthree\nfour\nfive\n"
    ok(ann.call("rollback", {"to": "start"}))
    assert daemon.files == start
