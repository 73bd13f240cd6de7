"""What an edit is judged on: what its caller read, and what others did since."""

from __future__ import annotations

import pytest
from line_edits import FIVE, TWENTY, h, read, replace

from memory_daemon import MemoryDaemon
from quire_daemon.config.settings import Edit, Settings


def test_a_change_by_another_program_is_refused_with_who_when_and_which_lines() -> None:
    daemon = MemoryDaemon({"f.txt": TWENTY})
    version = read(daemon)["version"]
    daemon.save("f.txt", TWENTY.replace("line 10", "theirs"))
    reply = daemon.ask("edit", replace("line 3", "mine"))
    assert (reply["error"], reply["suggested_action"], reply["reason"]) == ("anchor_stale", "re-read_file", "changed")
    assert version in reply["message"]
    assert "line 10" in reply["message"]
    assert reply["touches"] == "none"
    (change,) = reply["changes"]
    assert (change["writer"]["type"], change["evidence"], change["lines"]) == ("outside", "read", [[10, 10]])
    assert change["at"].endswith("Z")
    assert f"10#{h('theirs')} [high]|theirs" in reply["lines"]
    assert f"3#{h('line 3')} [high]|line 3" in reply["lines"]
    assert daemon.read("f.txt") == TWENTY.replace("line 10", "theirs")


@pytest.mark.parametrize(
    ("line", "touches"), [("line 10", "conflicting"), ("line 11", "touching"), ("line 15", "none")]
)
def test_a_stale_refusal_says_whether_the_change_touches_the_callers_lines(line: str, touches: str) -> None:
    daemon = MemoryDaemon({"f.txt": TWENTY})
    read(daemon)
    daemon.save("f.txt", TWENTY.replace("line 10\n", "theirs\n"))
    reply = daemon.ask("edit", replace(line, "mine"))
    assert (reply["error"], reply["touches"]) == ("anchor_stale", touches)


def test_the_lines_that_a_refusal_shows_count_as_shown() -> None:
    daemon = MemoryDaemon({"f.txt": TWENTY})
    read(daemon)
    daemon.save("f.txt", "zero\n" + TWENTY)
    assert daemon.ask("edit", replace("line 10", "mine"))["error"] == "anchor_stale"
    assert daemon.ask("edit", replace("line 10", "mine"))["ok"]
    assert (daemon.read("f.txt") or "").splitlines()[10] == "mine"


@pytest.mark.parametrize("lost", ["line 10", "never there"])
def test_a_stale_refusal_names_the_anchors_that_no_line_has_any_more(lost: str) -> None:
    daemon = MemoryDaemon({"f.txt": TWENTY})
    read(daemon)
    daemon.save("f.txt", TWENTY.replace("line 10\n", "theirs\n"))
    operations = [*replace("line 3", "x")["operations"], *replace(lost, "y")["operations"]]
    reply = daemon.ask("edit", {"path": "f.txt", "operations": operations})
    assert (reply["error"], reply["reason"], reply["missing"]) == ("anchor_stale", "changed", [h(lost)])
    assert f"No line has the hash '{h(lost)}' now." in reply["message"]


def test_another_agent_is_named() -> None:
    daemon = MemoryDaemon({"f.txt": TWENTY})
    read(daemon)
    read(daemon, by="ben")
    assert daemon.ask("edit", replace("line 10", "bens"), by="ben")["ok"]
    reply = daemon.ask("edit", replace("line 3", "anns"))
    assert reply["changes"][0]["writer"]["agent"] == "ben"
    assert "last by ben/s1 at" in reply["message"]


def test_the_base_of_a_caller_without_reads_is_the_current_file() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    read(daemon, by="ben")
    daemon.save("f.txt", "zero\n" + FIVE)
    assert daemon.ask("edit", replace("two 2", "TWO"))["ok"]


def test_ones_own_edits_move_the_base_along() -> None:
    daemon = MemoryDaemon({"f.txt": TWENTY})
    read(daemon)
    for n in (3, 9, 15):
        assert daemon.ask("edit", replace(f"line {n}", f"new {n}"))["ok"]


def test_a_named_base_may_be_older_than_ones_own_edits() -> None:
    daemon = MemoryDaemon({"f.txt": "same\nb 1\nsame\nc 2\n"})
    version = read(daemon)["version"]
    operation = {"op": "insert_before", "hash": h("b 1"), "content": "x\ny"}
    assert daemon.ask("edit", {"path": "f.txt", "operations": [operation]})["ok"]
    args = {"path": "f.txt", "operations": [{"op": "replace_line", "hash": h("same"), "line": 3, "content": "S"}]}
    assert daemon.ask("edit", {**args, "expected_file_version": version})["ok"]
    assert daemon.read("f.txt") == "same\nx\ny\nb 1\nS\nc 2\n"


def test_the_callers_own_edit_of_the_same_line_conflicts_with_an_older_base() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    version = read(daemon)["version"]
    assert daemon.ask("edit", replace("two 2", "TWO"))["ok"]
    reply = daemon.ask("edit", replace("two 2", "again", base=version))
    assert reply["error"] == "anchor_stale"
    assert reply["conflict"] == {"base": ["two 2"], "theirs": ["TWO"], "yours": ["again"]}


def test_bytes_that_came_back_are_not_stale() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    read(daemon)
    daemon.save("f.txt", "other\n")
    read(daemon, by="ben")
    daemon.save("f.txt", FIVE)
    reply = daemon.ask("edit", replace("two 2", "TWO"))
    assert reply["ok"]
    assert len(reply["changed_since_your_read"]) == 2


@pytest.mark.parametrize("base", ["fv_00000000", "v999", "nonsense", "x" * 99])
def test_a_base_that_is_no_version_of_the_file_is_refused(base: str) -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    current = read(daemon)["version"]
    reply = daemon.ask("edit", replace("two 2", "x", base=base))
    assert (reply["error"], reply["reason"], reply["path"]) == ("anchor_stale", "unknown_base", "f.txt")
    assert (reply["base"], reply["current_version"]) == (base[:80], current)
    assert f"{base[:80]!r} is no version of f.txt. It is at {current} now." in reply["message"]


def test_lines_are_followed_from_the_version_that_was_read_and_through_each_later_one() -> None:
    """Older changes of the same lines are none since, and what came in between and went again has moved nothing."""
    daemon = MemoryDaemon({"f.txt": FIVE})
    read(daemon, by="ben")
    daemon.save("f.txt", zwei := FIVE.replace("two 2", "zwei"))
    shown = read(daemon)["version"]
    for text in ("zero\n" + zwei, zwei, zwei.replace("five 5", "fünf")):
        daemon.save("f.txt", text)
        read(daemon, by="ben")
    reply = daemon.ask("edit", replace("zwei", "deux", on_stale="rebase", base=shown))
    assert reply["ok"], reply
    assert daemon.read("f.txt") == zwei.replace("zwei", "deux").replace("five 5", "fünf")


def test_of_bytes_that_went_the_callers_own_change_since_is_judged_on_the_file_as_it_is() -> None:
    """A change by others is refused: nothing tells what it was."""
    for by, ok in (("ann", True), ("ben", False)):
        daemon = MemoryDaemon({"f.txt": FIVE})
        base = read(daemon)["version"]
        read(daemon, by="ben")
        assert daemon.ask("edit", replace("two 2", "TWO"), by=by)["ok"]
        daemon.lose(FIVE.encode())
        reply = daemon.ask("edit", replace("four 4", "FOUR", base=base, on_stale="rebase"))
        assert (reply["ok"], reply.get("error")) == (ok, None if ok else "anchor_stale"), reply


def test_two_different_bases_in_one_call_are_a_mistake() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    reply = daemon.ask("edit", replace("two 2", "x", base="v1", expected_file_version="v2"))
    assert reply["error"] == "schema_invalid"


def test_a_missing_anchor_learns_where_its_line_was_and_who_removed_it() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    read(daemon, by="ben")
    assert daemon.ask("edit", replace("two 2", "TWO"), by="ben")["ok"]
    reply = daemon.ask("edit", replace("two 2", "x"))
    assert (reply["error"], reply["reason"]) == ("anchor_stale", "missing")
    (was,) = reply["was"]
    assert (was["line"], was["removed_by"]["agent"]) == (2, "ben")


def test_news_ride_on_every_reply_until_the_caller_reads_again() -> None:
    daemon = MemoryDaemon({"f.txt": TWENTY})
    read(daemon)
    for n in range(7):
        daemon.save("f.txt", TWENTY.replace("line 10\n", f"theirs {n}\n"))
        read(daemon, by="ben")
    reply = daemon.ask("edit", replace("nowhere", "x", on_stale="rebase"))
    assert len(reply["changed_since_your_read"]) == 5
    assert reply["changed_since_your_read_more"] == 2
    assert reply["changed_since_your_read"][-1]["touches"] in ("touching", "conflicting")
    assert "changed_since_your_read" in read(daemon)
    assert "changed_since_your_read" not in read(daemon)


def test_a_rebase_carries_each_splice_by_its_own_offset() -> None:
    daemon = MemoryDaemon({"f.txt": TWENTY})
    read(daemon)
    daemon.save("f.txt", "zero\n" + TWENTY.replace("line 10\n", "a\nb\nc\n"))
    args = {
        "path": "f.txt",
        "on_stale": "rebase",
        "operations": [
            {"op": "replace_line", "hash": h("line 3"), "content": "THREE"},
            {"op": "replace_line", "hash": h("line 15"), "content": "FIFTEEN"},
        ],
    }
    reply = daemon.ask("edit", args)
    assert (reply["ok"], reply["cross_version"], len(reply["rebased_over"])) == (True, True, 1)
    lines = (daemon.read("f.txt") or "").splitlines()
    assert (lines[3], lines[17]) == ("THREE", "FIFTEEN")
    assert reply["anchors_valid_through"] == 0


@pytest.mark.parametrize("line", ["line 9", "line 10", "line 11"])
def test_a_rebase_needs_the_line_and_its_neighbours_unchanged(line: str) -> None:
    daemon = MemoryDaemon({"f.txt": TWENTY})
    read(daemon)
    daemon.save("f.txt", TWENTY.replace("line 10\n", "theirs\n"))
    reply = daemon.ask("edit", replace(line, "mine", on_stale="rebase"))
    assert reply["error"] == "anchor_stale"
    assert set(reply["conflict"]) == {"base", "theirs", "yours"}
    assert "theirs" in reply["conflict"]["theirs"]
    assert "mine" in reply["conflict"]["yours"]


def test_a_rebase_does_not_land_in_a_block_that_looks_alike() -> None:
    daemon = MemoryDaemon({"f.txt": "a 1\nsame\nb 2\n"})
    read(daemon)
    daemon.save("f.txt", "c 3\nsame\nd 4\na 1\nchanged\nb 2\n")
    assert daemon.ask("edit", replace("same", "X", on_stale="rebase"))["error"] == "anchor_stale"


def test_the_settings_can_make_rebase_the_rule() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE}, Settings(edit=Edit(on_stale="rebase")))
    read(daemon)
    daemon.save("f.txt", "zero\n" + FIVE)
    assert daemon.ask("edit", replace("five 5", "FIVE"))["ok"]
    daemon.save("f.txt", "again\n" + (daemon.read("f.txt") or ""))
    assert daemon.ask("edit", replace("two 2", "TWO", on_stale="reject"))["error"] == "anchor_stale"


def test_a_warning_about_a_line_names_who_changed_that_line() -> None:
    daemon = MemoryDaemon({"f.txt": "one\ntwo\nthree\n"})
    read(daemon)
    version = daemon.write("f.txt", b"zero\none\ntwo by ben\nthree\n", daemon.ben)
    daemon.outside("f.txt", b"zero\none\ntwo by ben\nthree\nend\n")
    reply = daemon.ask("edit_replace", {"path": "f.txt", "old_text": "two", "new_text": "2"})
    (warning,) = reply["warnings"]
    assert f"Line 3 was changed after you read it, last by ben/s2 (v{version})" in warning["message"]
