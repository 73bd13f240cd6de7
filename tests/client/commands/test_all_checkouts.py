"""Checkouts of one repository: the list puts them together, and `--all-checkouts` asks the daemons of all of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import Quire

from quire_journal.workspaces.family import branch_of, family_in, family_of, members, note_file
from quire_journal.workspaces.identity import settle
from quire_journal.workspaces.layout import Place, place_of

WHO = {"ok": True, "writers": [{"id": "w1", "agent": "ada", "agent_session": "s1", "present": True}], "total": 1}


@pytest.fixture
def fix_2(site: Path) -> Place:
    """A worktree of the repository at `site`, as git makes them."""
    folder = site / ".git" / "worktrees" / "fix-2"
    folder.mkdir(parents=True)
    (site / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / "HEAD").write_text("ref: refs/heads/fix\n")
    (folder / "commondir").write_text("../..\n")
    root = site.with_name("fix-2")
    root.mkdir()
    (root / ".git").write_text(f"gitdir: {folder}\n")
    settle(place_of(root))
    return place_of(root)


def test_worktrees_of_one_repository_are_a_family(site: Path, fix_2: Place) -> None:
    family = family_of(site)
    assert family == family_of(fix_2.root) != ""
    assert [one.name for one in members(family)] == ["fix-2", "site"]
    assert (branch_of(site), branch_of(fix_2.root)) == ("main", "fix")


def test_a_name_from_the_settings_makes_a_family_of_clones(site: Path, tmp_path: Path) -> None:
    clone = place_of(tmp_path / "clone")
    clone.root.mkdir()
    settle(clone)
    for place in (place_of(site), clone):
        note_file(place.state).write_text(json.dumps({"family": family_of(place.root, "web")}))
    assert [one.name for one in members("name:web")] == ["clone", "site"]


@pytest.mark.parametrize("note", [b"", b"[]", b"{", b"\xff" * 9, b'{"family": 1}', b"[" * 100_000, b" " * 2_000_000])
def test_a_note_that_is_none_is_no_note(note: bytes, site: Path, fix_2: Place) -> None:
    note_file(fix_2.state).write_bytes(note)
    assert family_in(fix_2.state, fix_2.root) == family_of(site)


def test_the_list_puts_checkouts_of_a_repository_together(quire: Quire, fix_2: Place) -> None:
    rows = quire("list").out.splitlines()[1:-1]
    assert [row.rpartition("  (")[2] for row in rows] == ["fix, one of 2 checkouts)", "main, one of 2 checkouts)"]


def test_who_asks_every_checkout_that_runs_and_starts_none(quire: Quire, fix_2: Place) -> None:
    ran = quire("who", "--all-checkouts", who=WHO)
    assert ran.asked == [("who", {"hours": 12})] * 2
    assert [wanted.start for wanted in ran.opener.wanted] == [False, False]
    here, row, there, other = ran.out.splitlines()
    assert (here.partition("  ")[0], here.rpartition("/")[2]) == ("site (main)", "site, this one")
    assert (there.partition("  ")[0], there.rpartition("/")[2]) == ("fix-2 (fix)", "fix-2")
    assert row == other


def test_a_checkout_without_a_daemon_is_named(quire: Quire, fix_2: Place) -> None:
    ran = quire("claims", "--all-checkouts", runs=False)
    assert [line.rpartition(": ")[2] for line in ran.out.splitlines()] == ["no daemon answers"] * 2


def test_blame_of_all_checkouts_wants_no_team(quire: Quire, site: Path, fix_2: Place) -> None:
    lines = [{"line": 1, "text": "one", "version": "v2", "writer": {"agent": "ada"}}]
    reply = {"ok": True, "message": "all", "path": "src/a.py", "lineCount": 1, "lines": lines}
    ran = quire("blame", "src/a.py", "--all-checkouts", blame=reply)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith("v2  ada")


def test_blame_of_some_lines_in_all_checkouts_compares_the_whole_file(quire: Quire, site: Path, fix_2: Place) -> None:
    """A line among a few was found at another place of the commit's file, and its writer was not named."""
    lines = [{"line": n, "text": f"{n}", "version": "v2", "writer": {"agent": "ada"}} for n in (1, 2, 3)]

    def blame(asked: dict[str, Any]) -> dict[str, Any]:
        some = lines[1:2] if asked.get("start_line") else lines
        return {"ok": True, "message": "all", "path": "src/a.py", "lineCount": 3, "lines": some}

    ran = quire("blame", "src/a.py", "-L", "2,2", "--all-checkouts", blame=blame)
    assert [args.get("start_line", 0) for tool, args in ran.asked if tool == "blame"] == [2, 0]
    assert len(ran.out.splitlines()) == 1


def test_the_log_of_all_checkouts_is_one_and_says_where(quire: Quire, fix_2: Place) -> None:
    file = {"path": "a.py", "status": "changed", "version": "v9", "added": 1, "removed": 0}
    at = "2026-01-31T12:00:00Z"
    story = {"form": "turn", "seq": 9, "first": 3, "at": at, "ended_at": at, "writer": {"agent": "ada"}, "whole": True}
    story |= {"writes": 1, "files": [file], "files_count": 1}
    ran = quire("log", "--all-checkouts", stories={"ok": True, "stories": [story], "next": None})
    assert [line.split("  ")[1] for line in ran.out.splitlines()] == ["site v9", "fix-2 v9"]


def test_the_log_of_all_checkouts_keeps_the_order_of_each_within_a_second(quire: Quire, fix_2: Place) -> None:
    def story(version: str, fraction: str) -> dict[str, object]:
        at = f"2026-01-31T12:00:00{fraction}Z"
        told = {"form": "saves", "seq": 9, "first": 3, "at": at, "ended_at": at, "writer": {}, "whole": True}
        file = {"path": "a.py", "status": "added", "version": version}
        return {**told, "writes": 1, "files": [file], "files_count": 1}

    stories = [story("v9", ".123456"), story("v8", ".123"), story("v7", ""), story("v6", ".5")]
    ran = quire("log", "--all-checkouts", stories={"ok": True, "stories": stories, "next": None})
    told = [line.split("  ")[1].split() for line in ran.out.splitlines()]
    assert [version for name, version in told if name == "site"] == ["v9", "v8", "v7", "v6"]
    assert [version for _, version in told][:4] == ["v9", "v9", "v8", "v8"]


def test_a_checkout_that_refuses_the_log_is_told_with_its_reason(quire: Quire, fix_2: Place) -> None:
    refused = {"ok": False, "error": "not_found", "message": "Nobody is called 'ada'."}
    ran = quire("log", "--all-checkouts", "--writer", "ada", stories=refused)
    assert "no daemon answers" not in ran.err
    assert ran.err.count(": Nobody is called 'ada'.") == 2


def test_who_has_no_family_is_told_what_it_takes(quire: Quire) -> None:
    ran = quire("who", "--all-checkouts")
    assert ran.status == 2
    assert "[family]" in ran.err
