"""The authorship of a commit in others' formats."""

from __future__ import annotations

import json
from typing import Any

from quire_client.export.commit_notes import CommitAuthor, git_ai_note, in_toto_statement

COMMIT = CommitAuthor("1a" * 20, "Ann", "ann@example.org")


def run(
    start: int, end: int, agent: str = "codex", session: str = "s2", turn: str = "", id: str = "w2"
) -> dict[str, Any]:
    writer = {"id": id, "agent": agent, "agent_session": session, "turn": turn, "model": ""}
    return {"start": start, "end": end, "writer": writer, "version": "v7", "evidence": None}


def note(*files: dict[str, Any]) -> tuple[list[str], dict[str, Any]]:
    lines, _, told = git_ai_note(COMMIT, files).partition("---\n")
    return lines.splitlines(), json.loads(told)


def test_a_note_has_the_lines_of_each_session_and_turn() -> None:
    runs = [run(5, 5), run(1, 2, turn="t1"), run(6, 9), run(3, 3, turn="t1")]
    lines, told = note({"path": "a b.py", "held": True, "runs": runs})
    session = "s_0b3466fa453b12"
    assert lines[0] == '"a b.py"'
    assert [line.partition("::")[0] for line in lines[1:]] == [f"  {session}"] * 2
    assert [line.rpartition(" ")[2] for line in lines[1:]] == ["5-9", "1-3"]
    assert told["sessions"][session]["agent_id"] == {"tool": "codex", "id": "s2", "model": "unknown"}
    assert (told["schema_version"], told["base_commit_sha"]) == ("authorship/3.0.0", COMMIT.commit)


def test_a_person_who_is_known_has_lines_in_a_note_and_an_unknown_program_has_none() -> None:
    person, unknown = run(1, 1, agent="", session="max"), run(2, 2, agent="", session="", id="outside")
    lines, told = note({"path": "f", "held": True, "runs": [person, unknown]}, {"path": "g", "held": False})
    ((name, human),) = told["humans"].items()
    assert lines == ["f", f"  {name} 1"]
    assert human == {"author": "Ann <ann@example.org>"}


def test_what_quire_setup_wrote_is_its_callers_in_a_note() -> None:
    _, told = note({"path": "f", "held": True, "runs": [run(1, 1, agent="quire", session="")]})
    assert (told["sessions"], len(told["humans"])) == ({}, 1)


def test_who_removed_a_file_or_made_an_empty_one_is_named() -> None:
    writer = run(1, 1, turn="t1")["writer"]
    removed = {"path": "f", "status": "removed", "held": True, "runs": []}
    removed["writers"] = [{"writer": writer, "lines": 3, "version": "v7", "evidence": "traced"}]
    lines, told = note(removed)
    assert (lines, [one["agent_id"]["id"] for one in told["sessions"].values()]) == ([], ["s2"])
    (file,) = json.loads(in_toto_statement(COMMIT, [removed], {}))["predicate"]["files"]
    assert (file["status"], file["lines"]) == ("removed", [])
    assert file["writers"] == [
        {"agent": "codex", "session": "s2", "turn": "t1", "model": "", "version": "v7", "evidence": "traced"}
    ]


def test_a_statement_says_what_it_does_not_prove() -> None:
    files = [
        {"path": "f", "status": "changed", "held": True, "runs": [run(1, 2)]},
        {"path": "old", "status": "unknown", "held": False},
    ]
    told = json.loads(in_toto_statement(COMMIT, files, {"epoch": "e", "seq": 9}))
    assert told["subject"] == [{"name": f"git+commit:{COMMIT.commit}", "digest": {"gitCommit": COMMIT.commit}}]
    assert [(file["path"], file["known"], len(file["lines"])) for file in told["predicate"]["files"]] == [
        ("f", True, 1),
        ("old", False, 0),
    ]
    assert any("says of itself" in sentence for sentence in told["predicate"]["not_proven"])
