"""Leases: what they refuse, and where they only warn."""

from __future__ import annotations

from typing import Any

import pytest
from leased import TEN, claim, replace

from memory_daemon import MemoryDaemon
from quire_daemon.tools.leases.scope import MOST_STEPS
from quire_journal.model.events import EditRefused


def every_write(daemon: MemoryDaemon) -> dict[str, dict[str, Any]]:
    """A call of each kind of writing tool that changes line 5 of f.txt, or all of it."""
    read = daemon.ask("read_file", {"path": "f.txt", "hashes": True}, by="ben")
    anchor, sha256 = read["lines"][4].split()[0], read["sha256"]
    version = daemon.ask("read_file", {"path": "f.txt"}, by="ben")["version"]
    hashline = daemon.ask("read_file", {"path": "f.txt", "format": "hashline"}, by="ben")["lines"][4].split("|")[0]
    patch = "*** Begin Patch\n*** Update File: f.txt\n@@\n-line 5\n+LINE 5\n*** End Patch\n"
    return {
        "edit": {"path": "f.txt", "operations": [{"op": "replace_line", "hash": anchor, "content": "LINE 5"}]},
        "hashline_edit": {"path": "f.txt", "edits": [{"target": hashline, "new_content": ["x"]}]},
        "edit_file": {"path": "f.txt", "expectedSha256": sha256, "edits": [{"oldText": "line 5", "newText": "LINE 5"}]},
        "edit_replace": {"path": "f.txt", "old_text": "line 5", "new_text": "LINE 5"},
        "insert_lines": {"path": "f.txt", "line_number": 5, "text": "more"},
        "replace_lines": {"path": "f.txt", "start_line": 5, "end_line": 5, "new_text": "LINE 5"},
        "multi_edit": {"path": "f.txt", "edits": [{"old_text": "line 5", "new_text": "LINE 5"}]},
        "regex_replace": {"path": "f.txt", "pattern": "line 5", "replacement": "LINE 5"},
        "apply_patch": {"patch": patch},
        "text_editor": {"command": "str_replace", "path": "f.txt", "old_str": "line 5", "new_str": "LINE 5"},
        "write_file": {"path": "f.txt", "content": TEN.replace("line 5", "LINE 5"), "base": version},
        "delete_file": {"path": "f.txt"},
        "move_file": {"path": "f.txt", "to": "g.txt"},
    }


WRITES = [
    "edit_file",
    "hashline_edit",
    "edit",
    "edit_replace",
    "insert_lines",
    "replace_lines",
    "multi_edit",
    "regex_replace",
    "apply_patch",
    "text_editor",
    "write_file",
    "delete_file",
    "move_file",
]


@pytest.mark.parametrize("lines", [{}, {"start_line": 4, "end_line": 6}], ids=["file", "lines"])
@pytest.mark.parametrize("tool", WRITES)
def test_every_writing_tool_is_refused_under_an_exclusive_lease_and_says_so_when_dry(
    tool: str, lines: dict[str, int]
) -> None:
    daemon = MemoryDaemon({"f.txt": TEN})
    number = claim(daemon, "ann", **lines)["lease"]
    arguments = every_write(daemon)[tool]
    dry = daemon.ask(tool, {**arguments, "dry_run": True}, by="ben")
    assert (dry["ok"], dry["dry_run"], dry["valid"], dry["error"]) == (False, True, False, "lease_held")
    assert daemon.events(EditRefused) == []
    refused = daemon.ask(tool, arguments, by="ben")
    assert (refused["ok"], refused["error"], refused["lease"], refused["path"]) == (
        False,
        "lease_held",
        number,
        "f.txt",
    )
    assert refused["holder"]["agent"] == "ann"
    assert daemon.read("f.txt") == TEN
    assert [(e.tool, e.code) for e in daemon.events(EditRefused) if isinstance(e, EditRefused)] == [
        (tool, "lease_held")
    ]
    assert daemon.ask("release", {"all": True}, by="ann")["ok"]
    assert daemon.ask(tool, arguments, by="ben")["ok"]


def test_undo_rollback_and_restore_are_refused_too() -> None:
    daemon = MemoryDaemon({"f.txt": TEN})
    daemon.ask("read_file", {"path": "f.txt"})
    before = daemon.journal.head
    assert replace(daemon, "ben", "line 5", "LINE 5")["ok"]
    assert claim(daemon, "ann", kind="exclusive")["ok"]
    calls: list[tuple[str, dict[str, Any]]] = [
        ("undo", {}),
        ("rollback", {"to": f"seq:{before}"}),
        ("restore", {"path": "f.txt", "at": f"seq:{before}"}),
    ]
    for tool, arguments in calls:
        assert daemon.ask(tool, arguments, by="ben")["error"] == "lease_held", tool
        planned = daemon.ask(tool, {**arguments, "plan": True}, by="ben")
        assert (planned["ok"], planned["valid"], planned["error"]) == (False, False, "lease_held"), tool
        assert [file["path"] for file in planned["files"]] == ["f.txt"]
    assert daemon.read("f.txt") == TEN.replace("line 5", "LINE 5")


def test_an_undo_of_several_files_leaves_the_leased_one_alone_and_lists_it() -> None:
    daemon = MemoryDaemon({"f.txt": TEN, "g.txt": TEN})
    for path in ("f.txt", "g.txt"):
        daemon.ask("edit_replace", {"path": path, "old_text": "line 5", "new_text": "LINE 5"}, by="ben")
    claim(daemon, "ann", "g.txt", kind="exclusive")
    for asked in ({"plan": True}, {}):
        reply = daemon.ask("undo", {"last": 2, **asked}, by="ben")
        told = {file["path"]: (file["action"], file["why"] if file.get("skipped") else "") for file in reply["files"]}
        assert reply["ok"]
        assert told["f.txt"] == ("write", "")
        assert told["g.txt"] == ("none", "ann/s1 has an exclusive lease on g.txt")
    assert (daemon.read("f.txt"), daemon.read("g.txt")) == (TEN, TEN.replace("line 5", "LINE 5"))


def test_of_several_files_one_lease_refuses_all() -> None:
    daemon = MemoryDaemon({"f.txt": TEN, "g.txt": TEN})
    claim(daemon, "ann", "g.txt")
    patch = "*** Begin Patch\n" + "".join(
        f"*** Update File: {name}\n@@\n-line 5\n+LINE 5\n" for name in ("f.txt", "g.txt")
    )
    refused = daemon.ask("apply_patch", {"patch": patch + "*** End Patch\n"}, by="ben")
    assert (refused["error"], refused["path"]) == ("lease_held", "g.txt")
    assert (daemon.read("f.txt"), daemon.read("g.txt")) == (TEN, TEN)


def test_a_move_onto_leased_ground_is_refused() -> None:
    daemon = MemoryDaemon({"f.txt": TEN})
    claim(daemon, "ann", "src/**")
    refused = daemon.ask("move_file", {"path": "f.txt", "to": "src/f.txt"}, by="ben")
    assert (refused["error"], refused["path"], refused["lease_path"]) == ("lease_held", "src/f.txt", "src/**")


@pytest.mark.parametrize("kind", ["intent", "shared"])
def test_a_write_where_another_announced_or_shares_is_done_with_a_warning(kind: str) -> None:
    daemon = MemoryDaemon({"f.txt": TEN})
    number = claim(daemon, "ann", kind=kind, reason="renaming", start_line=4, end_line=6)["lease"]
    beside = replace(daemon, "ben", "line 8", "LINE 8")
    assert [w for w in beside["warnings"] if w["type"] == "lease"] == []
    dry = replace(daemon, "ben", "line 5", "LINE 5", dry_run=True)
    done = replace(daemon, "ben", "line 5", "LINE 5")
    for reply in (dry, done):
        (warning,) = [w for w in reply["warnings"] if w["type"] == "lease"]
        assert (reply["ok"], warning["lease"]) == (True, number)
        assert '"renaming"' in warning["message"]
    assert [w for w in replace(daemon, "ann", "line 6", "LINE 6")["warnings"] if w["type"] == "lease"] == []


def test_outside_programs_are_not_refused_and_the_lines_move_with_what_they_write() -> None:
    daemon = MemoryDaemon({"f.txt": TEN})
    claim(daemon, "ann", start_line=4, end_line=6)
    daemon.ask("read_file", {"path": "f.txt"}, by="ann")
    daemon.save("f.txt", "outside\n" + TEN)
    assert replace(daemon, "ben", "line 3", "LINE 3")["ok"]
    refused = replace(daemon, "ben", "line 4", "LINE 4")
    assert (refused["error"], refused["lines"]) == ("lease_held", {"start": 5, "end": 7})
    told = replace(daemon, "ann", "line 5", "LINE 5")["changed_since_your_read"]
    assert [one["writer"]["id"] for one in told] == ["outside", "w2"]


def test_the_lines_of_a_lease_take_in_what_its_holder_writes_between_them_only() -> None:
    daemon = MemoryDaemon({"f.txt": TEN})
    claim(daemon, "ann", start_line=4, end_line=6)
    assert replace(daemon, "ann", "line 5\n", "line 5\na\nb\n")["ok"]
    assert replace(daemon, "ann", "line 9", "LINE 9")["ok"]
    (held,) = daemon.ask("claims", {"path": "f.txt"})["leases"]
    assert held["lines"] == {"start": 4, "end": 8}
    assert replace(daemon, "ben", "b\n", "B\n")["error"] == "lease_held"
    assert replace(daemon, "ben", "LINE 9", "line 9")["ok"]
    assert replace(daemon, "ben", "line 4\n", "new\nline 4\n")["ok"]
    assert replace(daemon, "ben", "line 6\n", "line 6\nnew\n")["ok"]
    (held,) = daemon.ask("claims", {"path": "f.txt"})["leases"]
    assert held["lines"] == {"start": 5, "end": 9}


def test_where_lines_cannot_be_followed_the_whole_file_is_meant() -> None:
    daemon = MemoryDaemon({"f.txt": TEN})
    claim(daemon, "ann", start_line=4, end_line=6)
    assert daemon.ask("delete_file", {"path": "f.txt"}, by="ann")["ok"]
    refused = daemon.ask("write_file", {"path": "f.txt", "content": "x\n"}, by="ben")
    assert (refused["error"], refused["lines"], refused["free"]["lines"]) == ("lease_held", None, [])


def test_over_many_versions_lines_are_carried_in_one_step() -> None:
    daemon = MemoryDaemon({"f.txt": TEN})
    claim(daemon, "ann", start_line=4, end_line=6)
    for n in range(MOST_STEPS + 1):
        assert replace(daemon, "ann", "line 2\n", f"new {n}\nline 2\n")["ok"]
    moved = MOST_STEPS + 1
    refused = replace(daemon, "ben", "line 5", "LINE 5")
    assert (refused["error"], refused["lines"]) == ("lease_held", {"start": 4 + moved, "end": 6 + moved})
    assert replace(daemon, "ben", "line 7", "LINE 7")["ok"]


def test_what_was_refused_first_is_told_first() -> None:
    daemon = MemoryDaemon({"f.txt": TEN})
    claim(daemon, "ann")
    assert replace(daemon, "ben", "no such line", "x")["error"] == "old_text_not_found"


def test_reading_is_never_refused() -> None:
    daemon = MemoryDaemon({"f.txt": TEN})
    claim(daemon, "ann")
    assert daemon.ask("read_file", {"path": "f.txt"}, by="ben")["ok"]


def test_a_leased_file_is_a_line_of_the_plan_and_the_others_go_back() -> None:
    daemon = MemoryDaemon({"a.txt": b"a\n", "b.txt": b"b\n"})
    patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-a\n+A\n*** Update File: b.txt\n@@\n-b\n+B\n*** End Patch\n"
    assert daemon.ask("apply_patch", {"patch": patch}, by="ben")["ok"]
    assert claim(daemon, "ann", path="a.txt", kind="exclusive")["ok"]
    plan = daemon.ask("undo", {"plan": True}, by="ben")
    assert (plan["ok"], plan["valid"]) == (True, True)
    assert {file["path"]: file["skipped"] for file in plan["files"]} == {"a.txt": "leased", "b.txt": None}
    assert "ann/s1 has an exclusive lease" in next(file["why"] for file in plan["files"] if file["skipped"])
    assert daemon.ask("undo", {"token": plan["token"]}, by="ben")["ok"]
    assert (daemon.text("a.txt"), daemon.text("b.txt")) == (b"A\n", b"b\n")


def test_who_wants_all_or_nothing_is_refused_by_the_lease() -> None:
    daemon = MemoryDaemon({"a.txt": b"a\n", "b.txt": b"b\n"})
    patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-a\n+A\n*** Update File: b.txt\n@@\n-b\n+B\n*** End Patch\n"
    daemon.ask("apply_patch", {"patch": patch}, by="ben")
    claim(daemon, "ann", path="a.txt", kind="exclusive")
    assert not daemon.ask("undo", {"conflicts": "abort"}, by="ben")["ok"]
    assert daemon.text("b.txt") == b"B\n"
