"""`quire away`: what happened since the last look, by writer, and when a look counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command_line import Quire

from quire_journal.workspaces.layout import place_of

AT = "2026-01-31T12:00:00.5Z"


def story(seq: int, agent: str, paths: tuple[str, ...] = ("a.py",), form: str = "turn", **told: Any) -> dict[str, Any]:
    """A story by an agent, or by another program."""
    writer = {"id": "w3" if agent else "outside", "agent": agent, "agent_session": "s1" if agent else ""}
    files = [{"path": path, "status": "changed", "version": f"v{seq}", "added": 2, "removed": 1} for path in paths]
    base = {"form": form, "seq": seq, "first": seq, "at": AT, "ended_at": AT, "writer": writer, "whole": True}
    return {**base, "writes": len(paths), "files": files, "files_count": len(files), **told}


DAY = [
    story(30, "ada", prompt="make it fast"),
    story(20, "", form="git", paths=(), commands=["commit -m x"]),
    story(10, "bob", ("a.py", "b.py"), prompt="make it slow", refused=[], refused_count=1),
    story(5, "ada", ("c.py",), prompt="and small"),
]


def page(*stories: dict[str, Any]) -> dict[str, Any]:
    return {"ok": True, "stories": [*stories], "next": None}


def test_what_happened_is_told_by_writer_with_the_files_that_several_changed(quire: Quire) -> None:
    assert quire("away", stories=page(*DAY)).out == (
        "ada/s1  2 turns, 2 files\n"
        "    2026-01-31 12:00  v30  “make it fast”  1 file  +2 -1\n"
        "    2026-01-31 12:00  v5   “and small”  1 file  +2 -1\n"
        "git\n"
        "    2026-01-31 12:00  seq:20  git commit -m x\n"
        "bob/s1  1 turn, 2 files, 1 refused\n"
        "    2026-01-31 12:00  v10  “make it slow”  2 files  1 refused  +4 -2\n"
        "changed by several\n"
        "    a.py: ada/s1, bob/s1\n"
    )


def test_work_of_an_agent_that_tells_of_no_turns_is_not_counted_as_turns(quire: Quire) -> None:
    assert quire("away", stories=page(story(9, "ada"), story(5, "ada"))).out.splitlines()[0] == "ada/s1  1 file"


def test_the_next_look_begins_where_this_one_ended(quire: Quire) -> None:
    first = quire("away", stories=page(*DAY)).asked[0][1]
    assert first["since"].endswith("Z"), "twelve hours for who never looked"
    assert quire("away", stories=page()).asked == [("stories", {"since": "seq:30", "limit": 200})]
    said = quire("away", stories=page())
    assert (said.asked[0][1]["since"], said.out) == ("seq:30", "Nothing happened since you looked last.\n")


@pytest.mark.parametrize("words", [("--keep",), ("--since", "v1"), ("--agent", "ada"), ("--json",)])
def test_a_look_that_is_not_the_persons_leaves_the_mark(words: tuple[str, ...], quire: Quire, site: Path) -> None:
    quire("away", *words, stories=page(*DAY))
    assert not (place_of(site).state / "looked").exists()


def test_a_mark_of_another_journal_does_not_stop_the_answer(quire: Quire, site: Path) -> None:
    (place_of(site).state / "looked").write_text("seq:99999\n")

    def answer(asked: dict[str, Any]) -> dict[str, Any]:
        refused = {"ok": False, "error": "not_found", "message": "There is no record 99999."}
        return refused if asked["since"] == "seq:99999" else page(*DAY)

    assert quire("away", stories=answer).status == 0
    (place_of(site).state / "looked").write_text("nonsense\n")
    assert quire("away", stories=page()).asked[0][1]["since"].endswith("Z")


def test_files_that_several_stories_are_about_are_not_counted_for_each(quire: Quire) -> None:
    many = [story(n, "ada", prompt="go", files_count=325, files_more=313) for n in (30, 40, 50)]
    assert "ada/s1  3 turns, about 325 files" in quire("away", stories=page(*many)).out.splitlines()


def test_all_pages_are_told_and_the_files_beyond_those_that_are_listed_are_counted(quire: Quire) -> None:
    """Of four sessions two were missing, and a story of thirty files counted as twelve."""
    many = story(30, "ada", prompt="make it fast", files_count=30, files_more=29)

    def answer(asked: dict[str, Any]) -> dict[str, Any]:
        return page(DAY[2]) if asked.get("cursor") == "s29" else {**page(many), "next": "s29"}

    ran = quire("away", stories=answer)
    assert [asked.get("limit") for _, asked in ran.asked] == [200, 199]
    assert [line for line in ran.out.splitlines() if not line.startswith(" ")] == [
        "ada/s1  1 turn, 30 files",
        "bob/s1  1 turn, 2 files, 1 refused",
        "changed by several",
    ]


def test_who_only_took_back_changed_nothing_and_a_person_is_one_with_what_nobody_claims(quire: Quire) -> None:
    person = {"id": "w4", "type": "", "agent": "", "agent_session": "", "uid": 1000}
    taken = story(40, "", form="undo", how="undo", undone=[30]) | {"writer": person}
    run = story(50, "", form="run", paths=("b.py",), commands=["make"]) | {"writer": person}
    saves = story(60, "", form="saves", paths=("b.py",), unclaimed=True) | {"writer": {"id": "outside"}}
    out = quire("away", stories=page(saves, run, taken, story(30, "ada"))).out
    assert "changed by several" not in out
    out = quire("away", stories=page(saves, run, story(30, "ada", ("b.py",)))).out
    assert "    b.py: user, ada/s1\n" in out


def test_what_nobody_claims_has_one_name_in_its_group_and_among_several(quire: Quire) -> None:
    saves = story(60, "", form="saves", unclaimed=True) | {"writer": {"id": "outside"}}
    out = quire("away", stories=page(saves, story(30, "ada"))).out
    assert (out.splitlines()[0], out.splitlines()[-1]) == ("outside  1 file", "    a.py: outside, ada/s1")


def test_what_is_only_probably_of_a_writer_stands_marked_with_the_rest_of_its_work(quire: Quire) -> None:
    """It was an entry of its own, as if of another writer."""
    sure, probable = story(30, "ada", prompt="make it fast"), story(20, "ada", ("a.py", "b.py"), probable=True)
    ran = quire("away", stories=page(sure, probable, story(10, "bob", ("b.py",), prompt="slow")))
    assert ran.out == (
        "ada/s1  1 turn, 2 files\n"
        "    2026-01-31 12:00  v30     “make it fast”  1 file  +2 -1\n"
        "    2026-01-31 12:00  v20  ~  2 files  +4 -2\n"
        "bob/s1  1 turn, 1 file\n"
        "    2026-01-31 12:00  v10  “slow”  1 file  +2 -1\n"
        "changed by several\n"
        "    b.py: ~ada/s1, bob/s1\n"
    )
    assert ran.err == "~ is probable: it was written while a command of theirs ran that accounts for it.\n"
    both = quire("away", stories=page(sure, probable, story(10, "bob", prompt="slow"))).out
    assert both.endswith("    a.py: ada/s1, bob/s1\n")


def test_writers_that_have_one_name_are_not_several(quire: Quire) -> None:
    outside = {"writer": {"id": "outside"}}
    saves = [story(60, "", form="saves", unclaimed=True) | outside, story(50, "", form="saves") | outside]
    assert "changed by several" not in quire("away", stories=page(*saves)).out
