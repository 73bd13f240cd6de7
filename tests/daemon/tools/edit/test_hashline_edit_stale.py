"""`hashline_edit` after somebody changed the file: what is a mismatch, what lands, and what `rebase` follows."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hashlines import FIVE, FOUR, LAST, ONE, TEN, THREE, TWO, after, before, edit, opened, put, read, ref, span

from memory_daemon import MemoryDaemon
from quire_journal.model.events import EditRefused, ReadServed


def marked(reply: dict[str, Any]) -> list[str]:
    """The references behind `>>>` in a message."""
    return re.findall(r"^>>> (\d+#\w+)\|", reply["message"], re.MULTILINE)


# ── mismatches ───────────────────────────────────────────────────────────────


def test_all_mismatches_are_told_at_once_with_fresh_references() -> None:
    daemon = opened()
    reply = edit(daemon, put("2#zz", "2"), put(ONE, "1"), span("4#zz", LAST, "x"))
    assert (reply["error"], reply["mismatched_lines"]) == ("hash_mismatch", [2, 4])
    assert marked(reply) == [TWO, FOUR]
    assert f"\n    {ONE}|one\n>>> {TWO}|two\n    {THREE}|three\n" in reply["message"]
    assert f"{TWO}|two" in reply["lines"]
    assert daemon.read("f.txt") == FIVE


def test_a_line_that_somebody_changed_is_a_mismatch_even_when_only_blanks_differ() -> None:
    daemon = opened("  foo()\nb\n")
    daemon.save("f.txt", "\tfoo()\nb\n")
    reply = edit(daemon, put(ref(1, "  foo()"), "  bar()"))
    assert (reply["error"], reply["mismatched_lines"]) == ("hash_mismatch", [1])
    assert marked(reply) == [ref(1, "\tfoo()")]
    (change,) = reply["changes"]
    assert (change["writer"]["type"], change["lines"], change["touches"]) == ("outside", [[1, 1]], "conflicting")


def test_a_line_that_was_moved_is_never_followed_silently() -> None:
    daemon = opened()
    daemon.save("f.txt", "NEW\n" + FIVE)
    reply = edit(daemon, put(THREE, "3"))
    assert (reply["error"], reply["mismatched_lines"]) == ("hash_mismatch", [3])
    assert marked(reply) == [ref(3, "two"), ref(4, "three")]
    assert daemon.read("f.txt") == "NEW\n" + FIVE


def test_a_line_that_was_moved_is_not_followed_to_its_twin() -> None:
    daemon = opened("}\n}\n}\n}\n")
    daemon.save("f.txt", "NEW\n}\n}\n}\n}\n")
    assert edit(daemon, put(ref(3, "}"), "x"))["error"] == "hash_mismatch"


def test_a_line_inside_a_range_counts_though_only_its_ends_are_named() -> None:
    daemon = opened()
    daemon.save("f.txt", FIVE.replace("three", "theirs"))
    reply = edit(daemon, span(TWO, FOUR, "x"))
    assert (reply["error"], reply["mismatched_lines"]) == ("hash_mismatch", [3])
    assert marked(reply) == [ref(3, "theirs")]


@pytest.mark.parametrize("theirs", ["one\ntwo\nNEW\nthree\nfour\nfive\n", "one\ntwo\nfour\nfive\n"])
def test_a_range_that_others_made_longer_or_shorter_is_a_mismatch(theirs: str) -> None:
    daemon = opened()
    daemon.save("f.txt", theirs)
    assert edit(daemon, span(TWO, FOUR, "x"))["error"] == "hash_mismatch"
    assert daemon.read("f.txt") == theirs


@pytest.mark.parametrize(
    "theirs", [FIVE.replace("five", "5\n6"), FIVE.replace("three", "3\n3b"), FIVE.replace("one", "1")]
)
def test_a_change_elsewhere_that_moves_nothing_lands(theirs: str) -> None:
    daemon = opened()
    daemon.save("f.txt", theirs)
    reply = edit(daemon, put(TWO, "mine"))
    assert reply["ok"], reply
    assert daemon.read("f.txt") == theirs.replace("two", "mine")
    assert reply["changed_since_your_read"]
    assert "cross_version" not in reply


def test_an_insert_goes_behind_its_line_whatever_came_behind_that() -> None:
    daemon = opened()
    daemon.save("f.txt", FIVE.replace("two\n", "two\ntheirs\n"))
    assert edit(daemon, after(TWO, "mine"))["ok"]
    assert daemon.read("f.txt") == FIVE.replace("two\n", "two\nmine\ntheirs\n")


def test_neighbours_that_somebody_parted_are_a_mismatch() -> None:
    daemon = opened()
    daemon.save("f.txt", FIVE.replace("two\n", "two\ntheirs\n"))
    reply = edit(daemon, {"after": TWO, "before": THREE, "inserted_lines": ["mine"]})
    assert (reply["error"], reply["mismatched_lines"]) == ("hash_mismatch", [3])


def test_an_append_needs_no_line_to_be_where_it_was() -> None:
    daemon = opened()
    daemon.save("f.txt", "NEW\n" + FIVE + "theirs\n")
    assert edit(daemon, {"inserted_lines": ["mine"]})["ok"]
    assert daemon.read("f.txt") == "NEW\n" + FIVE + "theirs\nmine\n"


def test_content_that_was_there_before_somebody_changed_it_is_a_mismatch_and_no_no_op() -> None:
    daemon = opened()
    daemon.save("f.txt", FIVE.replace("two", "theirs"))
    assert edit(daemon, put(TWO, "two"))["error"] == "hash_mismatch"


def test_the_fresh_references_count_as_shown_and_the_retry_with_them_lands() -> None:
    daemon = opened()
    daemon.save("f.txt", "NEW\n" + FIVE)
    reply = edit(daemon, put(THREE, "3"))
    served = daemon.events(ReadServed)[-1]
    assert isinstance(served, ReadServed)
    assert served.anchors
    assert any(start <= 3 < stop for start, stop in served.shown)
    assert edit(daemon, put(marked(reply)[-1], "3"))["ok"]
    assert daemon.read("f.txt") == "NEW\n" + FIVE.replace("three", "3")


def test_a_mismatch_is_journaled_as_a_refusal_but_not_a_dry_one() -> None:
    daemon = opened()
    reply = edit(daemon, put("2#zz", "2"), dry_run=True)
    assert (reply["error"], reply["dry_run"], reply["valid"]) == ("hash_mismatch", True, False)
    assert not daemon.events(EditRefused)
    edit(daemon, put("2#zz", "2"))
    (refused,) = daemon.events(EditRefused)
    assert isinstance(refused, EditRefused)
    assert (refused.tool, refused.path, refused.code) == ("hashline_edit", "f.txt", "hash_mismatch")


def test_a_reference_behind_a_truncated_file_is_a_mismatch_that_shows_the_last_lines() -> None:
    daemon = opened()
    daemon.save("f.txt", "one\ntwo\n")
    reply = edit(daemon, put(LAST, "5"))
    assert (reply["error"], reply["mismatched_lines"]) == ("hash_mismatch", [5])
    assert marked(reply) == [TWO]


def test_a_line_that_came_after_the_read_is_a_mismatch_not_out_of_range() -> None:
    daemon = opened()
    daemon.save("f.txt", FIVE + "six\n")
    reply = edit(daemon, put(ref(6, "six"), "6"))
    assert (reply["error"], reply["mismatched_lines"]) == ("hash_mismatch", [6])
    assert edit(daemon, put(marked(reply)[0], "6"))["ok"]


def test_a_file_that_somebody_emptied_is_a_mismatch() -> None:
    daemon = opened()
    daemon.save("f.txt", "")
    reply = edit(daemon, put(TWO, "2"))
    assert (reply["error"], reply["lines"]) == ("hash_mismatch", [])


def test_another_agent_is_named_with_what_it_did() -> None:
    daemon = opened()
    read(daemon, by="ben")
    assert edit(daemon, put(TWO, "bens"), by="ben")["ok"]
    reply = edit(daemon, put(TWO, "anns"))
    (change,) = reply["changes"]
    assert (change["writer"]["agent"], change["lines"], change["touches"]) == ("ben", [[2, 2]], "conflicting")


def test_whoever_never_read_the_file_is_judged_on_it_as_it_is() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    assert edit(daemon, put(TWO, "2"))["ok"]
    assert edit(daemon, put(TWO, "2"), by="ben")["error"] == "hash_mismatch"


# ── the caller's own edits ───────────────────────────────────────────────────


def test_after_an_own_edit_the_lines_above_keep_their_references() -> None:
    daemon = opened()
    assert edit(daemon, after(THREE, "x", "y"))["ok"]
    assert edit(daemon, put(TWO, "2"))["ok"]
    assert edit(daemon, put(THREE, "3"))["ok"]
    assert daemon.read("f.txt") == "one\n2\n3\nx\ny\nfour\nfive\n"


def test_after_an_own_edit_the_lines_below_have_new_numbers_and_the_message_says_which() -> None:
    """The caller's own edits move its base along: line 9 is now what was line 1, far from where it was."""
    daemon = opened()
    assert edit(daemon, before(ONE, *(f"new {n}" for n in range(8))))["ok"]
    reply = edit(daemon, put(FOUR, "4"))
    assert (reply["error"], reply["mismatched_lines"], reply["changes"]) == ("hash_mismatch", [4], [])
    assert marked(reply) == [ref(4, "new 3"), ref(12, "four")]
    assert edit(daemon, put(ref(12, "four"), "4"))["ok"]


def test_with_a_stated_base_a_line_that_the_caller_moved_itself_is_a_mismatch_too() -> None:
    daemon = opened()
    version = daemon.ask("read_file", {"path": "f.txt"})["version"]
    assert edit(daemon, after(TWO, "x"))["ok"]
    reply = edit(daemon, put(FOUR, "4"), base=version)
    assert (reply["error"], marked(reply)) == ("hash_mismatch", [ref(4, "three"), ref(5, "four")])
    assert edit(daemon, put(TWO, "2"), base=version)["ok"]
    assert edit(daemon, put(FOUR, "4"), base=version, on_stale="rebase")["ok"]
    assert daemon.read("f.txt") == "one\n2\nx\nthree\n4\nfive\n"


def test_a_rename_with_a_stated_base_does_not_follow_a_line_silently_either() -> None:
    daemon = opened()
    version = daemon.ask("read_file", {"path": "f.txt"})["version"]
    assert edit(daemon, after(TWO, "x"))["ok"]
    assert edit(daemon, put(FOUR, "4"), base=version, rename="g.txt")["error"] == "hash_mismatch"
    assert edit(daemon, put(ONE, "1"), base=version, rename="g.txt")["ok"]
    assert daemon.read("g.txt") == "1\ntwo\nx\nthree\nfour\nfive\n"


# ── rebase ───────────────────────────────────────────────────────────────────


def test_with_rebase_a_moved_line_is_followed_and_that_is_said() -> None:
    daemon = opened(TEN)
    daemon.save("f.txt", "NEW\n" + TEN.replace("line 9\n", ""))
    reply = edit(daemon, put(ref(3, "line 3"), "mine"), after(ref(6, "line 6"), "more"), on_stale="rebase")
    assert reply["ok"], reply
    assert (reply["cross_version"], len(reply["rebased_over"])) == (True, 1)
    assert reply["first_changed_line"] == 4
    expected = TEN.replace("line 3\n", "mine\n").replace("line 6\n", "line 6\nmore\n").replace("line 9\n", "")
    assert daemon.read("f.txt") == "NEW\n" + expected


@pytest.mark.parametrize("theirs", ["theirs", "", "three\nline 5b"])
def test_with_rebase_a_changed_line_or_neighbour_is_refused_with_three_ways(theirs: str) -> None:
    daemon = opened(TEN)
    base = daemon.ask("read_file", {"path": "f.txt"})["version"]
    daemon.save("f.txt", "NEW\n" + TEN.replace("line 5", theirs))
    now = daemon.read("f.txt")
    for line in (5, 6):
        reply = edit(daemon, put(ref(line, f"line {line}"), "mine"), on_stale="rebase", base=base)
        assert (reply["error"], reply["mismatched_lines"]) == ("hash_mismatch", [line])
        assert set(reply["conflict"]) == {"base", "theirs", "yours"}
        assert "mine" in reply["conflict"]["yours"]
        assert marked(reply)
    assert daemon.read("f.txt") == now


def test_a_wrong_id_is_a_mismatch_with_rebase_too() -> None:
    daemon = opened()
    daemon.save("f.txt", "NEW\n" + FIVE)
    assert edit(daemon, put("2#zz", "x"), on_stale="rebase")["error"] == "hash_mismatch"


def test_with_rebase_two_appends_follow_each_other() -> None:
    daemon = opened()
    daemon.save("f.txt", FIVE + "theirs\n")
    assert edit(daemon, {"inserted_lines": ["mine"]}, on_stale="rebase")["ok"]
    assert daemon.read("f.txt") == FIVE + "theirs\nmine\n"
