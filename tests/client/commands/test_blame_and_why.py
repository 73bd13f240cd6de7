"""`quire blame PATH:NAME` and `quire why`: the lines of one definition, and of a commit. The texts are exact."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import WRITER, Quire

from quire_client.commands.commit_work import GitCommit, versions_in
from quire_client.commands.history.why import _told_of_commit

CODE = """import os


class Task:
    def run(
        self,
    ) -> int:

# a note at no depth
        return 1


class Other:
    def run(self): pass
"""


def blamed(quire: Quire, name: str) -> tuple[list[int], Any]:
    lines = [{"line": n, "text": text, "writer": WRITER} for n, text in enumerate(CODE.splitlines(), 1)]
    reply = {"ok": True, "message": "all", "path": "src/a.py", "lineCount": len(lines), "lines": lines}
    ran = quire("blame", f"src/a.py:{name}", "--json", blame=reply)
    told = json.loads(ran.out)
    return [line["line"] for line in told["lines"]], told


def test_blame_of_a_definition_has_all_of_its_lines_and_no_blank_ones_before_it(quire: Quire, site: Path) -> None:
    (site / "src" / "a.py").write_text(CODE)
    assert blamed(quire, "Task")[0] == [4, 5, 6, 7, 8, 9, 10]
    assert blamed(quire, "Task.run")[0] == [5, 6, 7, 8, 9, 10]
    lines, reply = blamed(quire, "Other")
    assert lines == [13, 14]
    assert (reply["message"], reply["startLine"], reply["endLine"]) == ("Lines 13-14 of 14: Other.", 13, 14)


def test_blame_of_a_name_that_two_classes_have_shows_both_and_nothing_between(quire: Quire, site: Path) -> None:
    (site / "src" / "a.py").write_text(CODE)
    assert blamed(quire, "run")[0] == [5, 6, 7, 8, 9, 10, 14]


def run_of(start: int, end: int, agent: str, turn: str = "") -> dict[str, Any]:
    writer = {"agent": agent, "agent_session": "s", "turn": turn}
    return {"start": start, "end": end, "writer": writer, "version": f"v{start}"}


def test_each_line_of_a_commit_counts_for_who_wrote_it_and_not_for_what_brought_it_back() -> None:
    outside = {"writer": {"id": "outside", "type": "outside"}, "you": False, "lines": 4, "version": "v9"}
    moved = {
        "path": "a.py",
        "status": "changed",
        "writers": [outside],
        "runs": [run_of(1, 3, "ada", "t1"), run_of(7, 7, "ada", "t2")],
    }
    removed = {"path": "b.py", "status": "removed", "writers": [outside], "runs": []}
    commit = GitCommit("1a2b3c4d5e6f7", "", "Max", "m@x", "2026-01-31T12:00:00Z", "a change", ("a.py", "b.py"))
    told = [*_told_of_commit({"files": [moved, removed]}, commit)]
    assert told[3:5] == ["  a.py  ada/s 4 lines", "  b.py  deleted by outside 4 lines"]
    assert told[6:8] == ["  ada/s  turn t1  3 lines", "  ada/s  turn t2  1 line"]


def test_of_a_commit_a_rename_has_both_names_and_only_the_lines_that_changed() -> None:
    ben = {"writer": {"id": "w2", "agent": "ben", "agent_session": "s"}, "you": False, "lines": 0, "version": "v9"}
    plain = {"path": "n.py", "status": "changed", "moved_from": "o.py", "writers": [], "runs": []}
    edited = {"path": "q.py", "status": "changed", "moved_from": "p.py", "writers": [], "runs": [run_of(3, 3, "ada")]}
    by_ben = {"path": "z.py", "status": "changed", "moved_from": "y.py", "writers": [ben], "runs": []}
    moved = {"n.py": "o.py", "q.py": "p.py", "z.py": "y.py"}
    commit = GitCommit("1a2b3c4d5e6f7", "", "Max", "m@x", "2026-01-31T12:00:00Z", "a change", tuple(moved), moved)
    rows = [*_told_of_commit({"files": [plain, edited, by_ben]}, commit)][3:6]
    assert [" ".join(row.split()) for row in rows] == [
        "o.py → n.py only renamed",
        "p.py → q.py ada/s 1 line",
        "y.py → z.py renamed by ben/s",
    ]


def test_of_a_commit_a_file_without_lines_has_who_made_or_deleted_it_and_the_log_has_its_version() -> None:
    writer = {"id": "w2", "agent": "ada", "agent_session": "s1"}
    share = {"writer": writer, "you": False, "lines": None, "version": "v7"}
    probable = {"lines": 2, "version": "v8", "evidence": "during"}
    made = {"path": "a.py", "status": "added", "writers": [share], "runs": []}
    gone = {"path": "b.py", "status": "removed", "writers": [{**share, **probable}], "runs": []}
    work = {"files": [made, gone]}
    commit = GitCommit("1a2b3c4d5e6f7", "", "Max", "m@x", "2026-01-31T12:00:00Z", "a change", ("a.py", "b.py"))
    assert [*_told_of_commit(work, commit)][3:] == [
        "  a.py  ada/s1",
        "  b.py  deleted by ~ada/s1 2 lines",
        "`quire log --commit 1a2b3c4d5e6f` tells what was asked for and done.",
    ]
    assert versions_in(work) == {7, 8}


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("v3357", "`quire why` takes a file, a line or a commit of git; `quire show v3357` tells of a version."),
        (
            "src/a.py:run",
            "`quire why` is about one line, as src/a.py:12; `quire blame src/a.py:run` has all of run.",
        ),
    ],
)
def test_why_names_the_command_for_what_it_does_not_take(word: str, said: str, quire: Quire, site: Path) -> None:
    (site / "src" / "a.py").write_text(CODE)
    ran = quire("why", word)
    assert (ran.status, ran.err, ran.asked) == (2, f"quire: {said}\n", [])


def test_blame_takes_one_file(quire: Quire, site: Path) -> None:
    for name in ("a.py", "b.py"):
        (site / name).write_text(CODE)
    ran = quire("blame", "a.py", "b.py")
    said = "blame is about one file, not a.py and b.py; a point stands behind it: FILE@v12."
    assert (ran.status, ran.err, ran.asked) == (2, f"quire: {said}\n", [])
