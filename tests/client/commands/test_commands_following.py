"""The commands that follow the journal: watch and since. The texts are exact."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import Quire

from quire_client.transport.errors import NoReply

# -- watch -------------------------------------------------------------------------------------------------------


def feed(*replies: dict[str, Any] | Exception) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Answers to `since`, one after the other; then somebody types Ctrl-C."""
    left = list(replies)

    def answer(asked: dict[str, Any]) -> dict[str, Any]:
        if not left:
            raise KeyboardInterrupt
        reply = left.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply

    return answer


def page(cursor: str, *records: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"ok": True, "records": list(records), "cursor": cursor, "more": False, "fresh": False, **more}


RECORD = {
    "seq": 812,
    "at": "2026-01-31T12:00:00Z",
    "kind": "outside_written",
    "path": "a.py",
    "version": "v812",
    "writer": {"id": "outside", "type": "outside"},
    "hint": "git checkout main (ada/s1)",
}


def test_watch_prints_a_line_for_each_record_and_ends_with_0_when_it_is_interrupted(quire: Quire) -> None:
    ran = quire("watch", "src", "--writer", "outside", since=feed(page("c1"), page("c3", RECORD), page("c4")))
    assert ran.status == 0
    filters = {"writer": "outside", "path": "src"}
    assert [asked.get("cursor") for _, asked in ran.asked] == [None, "c1", "c3", "c4"]
    assert all({**asked, **filters} == asked for _, asked in ran.asked)
    assert all(asked["wait_ms"] > 0 for _, asked in ran.asked[1:])
    assert ran.out == "2026-01-31 12:00:00  v812  outside  outside written  a.py  [git checkout main (ada/s1)]\n"
    assert ran.err == "To go on from here: --cursor c4\n"


def test_watch_says_once_and_at_first_what_it_is_warned_of(quire: Quire) -> None:
    """With a name that nobody has, it would wait for ever and say nothing."""
    warned = page("c1", warnings=[{"type": "unknown_writer", "message": "Nobody in the journal is called 'ad'."}])
    ran = quire("watch", "--writer", "ad", since=feed(warned, warned, warned))
    assert (ran.out, ran.err) == ("", "Nobody in the journal is called 'ad'.\nTo go on from here: --cursor c1\n")


def test_watch_goes_on_from_a_cursor_and_prints_one_json_object_a_line(quire: Quire) -> None:
    ran = quire("watch", "--cursor", "c2", "--json", since=feed(page("c3", RECORD, RECORD, fresh=True)))
    assert [asked["cursor"] for _, asked in ran.asked] == ["c2", "c3"]
    assert [json.loads(line)["seq"] for line in ran.out.splitlines()] == [812, 812]
    assert (ran.status, ran.err) == (0, "")


def test_watch_waits_for_the_next_daemon_and_asks_it_with_the_cursor_of_the_last(
    quire: Quire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quire_client.commands.history.watch.AGAIN_S", 0.0)
    answers = feed(page("c1"), page("c3", RECORD), NoReply("The daemon ended during the call."), page("c5", RECORD))
    ran = quire("watch", since=answers)
    assert [asked.get("cursor") for _, asked in ran.asked] == [None, "c1", "c3", "c3", "c5"]
    assert [wanted.start for wanted in ran.opener.wanted] == [True, False]
    assert len(ran.out.splitlines()) == 2
    assert "The daemon ended; waiting for the next one.\n" in ran.err


def test_a_refusal_ends_a_watch(quire: Quire) -> None:
    refusal = {"ok": False, "error": "schema_invalid", "message": "There is no such kind."}
    ran = quire("watch", "--kind", "x", since=refusal)
    assert (ran.status, ran.err) == (1, "There is no such kind.\n")
    assert quire("watch", "--kind", "x", "--json", since=refusal).status == 1
    assert "To go on" not in quire("watch", "--cursor", "c1", since=refusal).err  # it is what was refused
    assert "--cursor c2\n" in quire("watch", "--cursor", "c1", since=feed(page("c2", RECORD), refusal)).err


# -- since -------------------------------------------------------------------------------------------------------


def test_since_without_a_cursor_prints_the_one_of_now(quire: Quire) -> None:
    ran = quire("since", since={"ok": True, "records": [], "cursor": "c4.ab", "more": False})
    assert (ran.status, ran.out, ran.err) == (0, "c4.ab\n", "")
    assert ran.asked == [("since", {})]


def test_since_without_a_cursor_tells_a_person_what_it_is_for(quire: Quire, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever wants to know what came lately had a word that means nothing, and no more."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    now = {"ok": True, "records": [], "cursor": "c4.ab", "more": False}
    assert "`quire since c4.ab` tells what comes after it, `quire since 2h` what came" in quire("since", since=now).err
    assert quire("since", "--json", since=now).err == ""


def test_since_a_cursor_prints_all_that_came_after_it_and_the_next_cursor(quire: Quire) -> None:
    pages = {None: page("c3", RECORD, more=True), "c3": page("c4", RECORD, more=False)}
    first = {"cursor": "c2", "path": "src", "writer": "outside", "kind": "file_written", "wait_ms": 1500}

    def answer(asked: dict[str, Any]) -> dict[str, Any]:
        return pages[None if asked["cursor"] == "c2" else asked["cursor"]]

    words = ("since", "c2", "src", "--writer", "outside", "--kind", "file_written", "--wait", "1.5")
    ran = quire(*words, since=answer)
    assert ran.asked == [("since", first), ("since", {**first, "cursor": "c3", "wait_ms": 0})]
    row = "2026-01-31 12:00:00  v812  outside  outside written  a.py  [git checkout main (ada/s1)]\n"
    assert (ran.status, ran.out, ran.err) == (0, row * 2, "The next cursor is c4\n")
    told = json.loads(quire(*words, "--json", since=answer).out)
    assert (len(told["records"]), told["cursor"]) == (2, "c4")


def test_since_a_path_leads_to_what_tells_of_that_path(quire: Quire, site: Path) -> None:
    """Who asks what became of a file since it was read has no cursor."""
    (site / "a.py").touch()
    message = "There is no checkpoint 'a.py'; a point is a version."
    refused = {"ok": False, "error": "not_found", "suggested_action": "name_a_point", "message": message}
    ran = quire("since", "a.py", since=refused)
    says = "a.py is a path: `quire log a.py` tells what became of it, `quire since CURSOR a.py` what came after CURSOR."
    assert (ran.status, ran.err.splitlines()[-1]) == (3, says)


def test_more_than_a_page_is_asked_for_page_by_page(quire: Quire) -> None:
    """What the daemon answers at once is not all that somebody can want."""
    full = {"ok": True, "records": [RECORD] * 1000, "more": True, "next": "c9"}
    rest = {"ok": True, "records": [RECORD] * 500, "more": True, "next": "c9"}

    def answer(asked: dict[str, Any]) -> dict[str, Any]:
        return {**(full if asked["limit"] == 1000 else rest), "cursor": "c3"}

    for words in (("since", "c2", "--limit", "1500"), ("log", "--records", "--limit", "1500")):
        ran = quire(*words, **{words[0]: answer})
        assert [asked["limit"] for _, asked in ran.asked] == [1000, 500]
        assert len(ran.out.splitlines()) == 1500


def test_since_tells_no_more_than_is_wanted_and_says_that_there_is_more(quire: Quire) -> None:
    ran = quire("since", "c2", "--limit", "1", since=page("c3", RECORD, more=True, fresh=True))
    assert ran.asked == [("since", {"cursor": "c2", "limit": 1})]
    assert ran.err == (
        "Unknown cursor; showing all records from the beginning.\nThere is more.\nThe next cursor is c3\n"
    )


def test_since_says_that_nothing_came_and_how_long_it_can_wait(quire: Quire) -> None:
    ran = quire("since", "c2", since=page("c2"))
    assert (ran.out, ran.err) == ("Nothing was recorded since.\n", "The next cursor is c2\n")
    typo = quire("since", "c2", "scr/a.py", since=page("c2"), log={"ok": True, "records": []})
    assert (typo.status, typo.err) == (0, "Neither the journal nor the disk has scr/a.py.\nThe next cursor is c2\n")
    for wrong in ("soon", "61", "-1", "nan"):
        ran = quire("since", "c2", "--wait", wrong)
        assert (ran.status, ran.asked) == (2, [])
        assert "at most 60" in ran.err
