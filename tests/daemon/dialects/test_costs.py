"""What one call may cost: the others wait while it is decided, so its work grows with the file and is bounded."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from memory_daemon import MemoryDaemon, lines
from quire_daemon.config.settings import Limits, Settings, load
from quire_daemon.dialects.text.find import MOST_EDITS, MOST_REPLACEMENTS
from quire_daemon.dialects.text.replace import MOST_SPLICES
from quire_daemon.tools.table import TOOLS
from quire_journal.text.line_hash import hash8

SLOW = 15  # seconds; far more than it takes, and less than it took when each operation went through the whole file


def call(before: bytes, tool: str, **args: Any) -> tuple[dict[str, Any], bytes | None]:
    """The reply to one call on f.txt, and what is in the file then."""
    daemon = MemoryDaemon()
    daemon.outside("f.txt", before)
    if tool == "edit_file":
        args["expectedSha256"] = hashlib.sha256(before).hexdigest()
    return daemon.call(TOOLS[tool], daemon.ann, path="f.txt", **args), daemon.text("f.txt")


# ── many replacements ──


@pytest.mark.timeout(SLOW)
def test_all_of_many_places_are_replaced_and_counted() -> None:
    before = b"".join(b"line %d of it\r\n" % i for i in range(20_000))
    reply, after = call(before, "edit_replace", old_text="line ", new_text="row ", count=0)
    assert (reply["replacements_made"], after) == (20_000, before.replace(b"line ", b"row "))
    assert [(c["start"], c["end"]) for c in reply["changed"]] == [(1, 20_000)]
    reply, after = call(before, "edit_replace", old_text="it\nline", new_text="it\n\nline", count=0)
    assert (reply["replacements_made"], after) == (19_999, before.replace(b"it\r\nline", b"it\r\n\r\nline"))
    assert reply["net_lines"] == 19_999


@pytest.mark.timeout(SLOW)
def test_one_long_line_is_no_harder_than_many_short_ones() -> None:
    reply, after = call(b"a" * 100_000, "edit_replace", old_text="a", new_text="bc", count=0)
    assert (reply["replacements_made"], after) == (100_000, b"bc" * 100_000)


def test_changes_in_many_places_are_told_as_fewer_larger_ones() -> None:
    before = b"x\ny\n" * (2 * MOST_SPLICES)
    reply, after = call(before, "edit_replace", old_text="x", new_text="z", count=0)
    assert after == before.replace(b"x", b"z")
    assert MOST_SPLICES // 2 < len(reply["changed"]) <= MOST_SPLICES + 1
    assert (reply["changed"][0]["start"], reply["changed"][-1]["end"]) == (1, 4 * MOST_SPLICES - 1)


def test_lines_between_changes_that_are_told_together_keep_their_breaks() -> None:
    before = b"x\r\ny\nx\ny\r\n" * MOST_SPLICES
    for new in ("z\n", "z"):
        _, after = call(before, "edit_replace", old_text="x", new_text=new, count=0)
        assert after is not None
        assert after.count(b"y\n") == after.count(b"y\r\n") == MOST_SPLICES
    assert after == before.replace(b"x", b"z")


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("edit_replace", {"old_text": "a", "new_text": "b", "count": 0}),
        ("edit_replace", {"old_text": "a", "new_text": "b", "count": MOST_REPLACEMENTS + 1}),
        ("edit_file", {"edits": [{"oldText": "a", "newText": "b", "replaceAll": True}]}),
    ],
)
def test_more_replacements_than_one_call_may_make_are_refused(tool: str, args: dict[str, Any]) -> None:
    before = b"a" * (MOST_REPLACEMENTS + 1)
    reply, after = call(before, tool, **args)
    assert (reply["error"], reply["matchCount"], reply["limit"]) == (
        "too_many_edits",
        MOST_REPLACEMENTS + 1,
        MOST_REPLACEMENTS,
    )
    assert str(MOST_REPLACEMENTS) in reply["message"]
    assert after == before


def test_some_of_very_many_places_can_be_replaced() -> None:
    before = b"a" * (MOST_REPLACEMENTS + 1)
    reply, after = call(before, "edit_replace", old_text="a", new_text="b", count=2)
    assert (reply["replacements_made"], after) == (2, b"bb" + before[2:])
    assert str(MOST_REPLACEMENTS + 1) in reply["warnings"][0]["message"]


def test_a_text_that_is_there_very_often_is_counted_and_listed_in_part() -> None:
    before = b"a" * 1_000_000
    edits = [{"oldText": "a", "newText": "b"}]
    reply, _ = call(before, "edit_file", edits=edits)
    assert (reply["error"], reply["matchCount"], len(reply["matchRanges"])) == ("multiple_matches", 1_000_000, 100)
    reply, _ = call(before, "text_editor", command="str_replace", old_str="a", new_str="b")
    assert (reply["error"], reply["matchCount"], len(reply["match_lines"])) == ("multiple_matches", 1_000_000, 20)
    reply, _ = call(before, "multi_edit", edits=[{"old_text": "a", "new_text": "b"}])
    assert "1000000 times" in reply["warnings"][0]["message"]


# ── many edits ──


@pytest.mark.timeout(SLOW)
@pytest.mark.parametrize("step", [1, -1])
def test_many_edits_of_one_call_see_each_other(step: int) -> None:
    before = b"".join(b"line %d.\n" % i for i in range(1_000))
    edits = [{"old_text": f"line {i}.", "new_text": f"L{i}."} for i in range(1_000)][::step]
    edits += [{"old_text": f"L{i}.", "new_text": f"l{i}."} for i in range(0, 1_000, 2)]
    reply, after = call(before, "multi_edit", edits=edits)
    assert reply["applied"] == 1_500
    assert after == b"".join(b"%s%d.\n" % (b"L" if i % 2 else b"l", i) for i in range(1_000))


@pytest.mark.parametrize(("size", "limit"), [(10, MOST_EDITS), (2**20, 256)])
def test_more_edits_than_can_be_looked_for_at_once_are_refused(size: int, limit: int) -> None:
    before = b"a" * size
    reply, _ = call(before, "multi_edit", edits=[{"old_text": "b", "new_text": "c"}] * (limit + 1))
    assert (reply["error"], reply["editCount"], reply["limit"]) == ("too_many_edits", limit + 1, limit)
    reply, _ = call(before, "edit_file", edits=[{"oldText": "b", "newText": "c"}] * (limit + 1))
    assert (reply["error"], reply["limit"]) == ("too_many_edits", limit)


@pytest.mark.timeout(SLOW)
def test_many_anchors_that_name_many_lines_are_judged_once() -> None:
    operations = [{"op": "delete_line", "hash": hash8(b"x")}] * 300
    reply, _ = call(b"x\n" * 20_000, "edit", operations=operations)
    failures = reply["failures"]
    assert (reply["error"], len(failures)) == ("anchor_context_ambiguous", 300)
    assert (len(failures[0]["candidates"]), failures[0]["more_candidates"]) == (100, 19_900)
    assert failures[0]["candidates"][7] == {
        "line": 8,
        "preview": "x",
        "anchor": failures[0]["candidates"][7]["anchor"],
        "occurrence": 8,
    }
    assert set(failures[-1]) == {"operation_index", "error", "message", "suggested_action"}


@pytest.mark.timeout(SLOW)
def test_a_blank_line_among_many_is_answered_at_once() -> None:
    reply, _ = call(b"\n" * 20_000, "edit", operations=[{"op": "delete_line", "hash": hash8(b"")}])
    assert (reply["error"], len(reply["candidates"])) == ("anchor_low_entropy", 100)


@pytest.mark.timeout(SLOW)
@pytest.mark.parametrize("digits", ["04x", "06x", "08x"])
def test_many_unknown_anchors_are_looked_for_together(digits: str) -> None:
    before = b"".join(b"line %d\n" % i for i in range(5_000))
    length = len(format(0, digits))
    known = {hash8(b"line %d" % i)[:length] for i in range(5_000)}
    wanted = [name for i in range(2_000) if (name := format(i, digits)) not in known]
    reply, _ = call(before, "edit", operations=[{"op": "delete_line", "hash": name} for name in wanted])
    assert (reply["error"], reply["missing"]) == ("anchor_stale", wanted)


@pytest.mark.parametrize("many", [1, 200])
def test_anchors_mean_the_same_however_many_are_looked_for(many: int) -> None:
    before = b"".join(b"line %d\n" % i for i in range(300))
    named = range(7, 7 + many)
    for length in (6, 8):
        operations = [{"op": "replace_line", "hash": hash8(b"line %d" % i)[:length], "content": f"L{i}"} for i in named]
        reply, after = call(before, "edit", operations=operations)
        assert reply["ok"]
        assert after == b"".join(b"%s%d\n" % (b"L" if i in named else b"line ", i) for i in range(300))


# ── long lines and long files ──


def test_a_very_long_line_is_repeated_only_in_part() -> None:
    before = b"first\n" + b"a" * 5_000 + b"\nlast\n"
    reply, after = call(before, "edit_replace", old_text="a", new_text="b")
    assert after == b"first\nb" + b"a" * 4_999 + b"\nlast\n"
    removed, added = reply["diff"][1:3]
    assert removed == f"-2#{hash8(b'a' * 5_000)[:6]} [high]|{'a' * 1_000}… (4000 more characters)"
    assert added == f"+2#{hash8(b'b' + b'a' * 4_999)[:6]} [high]|b{'a' * 999}… (4000 more characters)"


def test_a_read_shows_long_lines_in_full() -> None:
    reply, _ = call(b"a" * 5_000 + b"\n", "read_file", hashes=True)
    assert reply["lines"][0].endswith("|" + "a" * 5_000)


def test_a_few_lines_of_a_long_file_are_shown_as_in_the_whole() -> None:
    before = b"".join(b"%d\n" % (i % 6_000) for i in range(8_000)) + b"}\n" + b"often\n" * 4
    part, _ = call(before, "read_file", hashes=True, start_line=7_990, end_line=9_000)
    few, _ = call(before, "read_file", hashes=True, start_line=7_999, end_line=8_003)
    assert few["lines"] == part["lines"][9:14]
    assert [row.split(" ")[1].split("|")[0] for row in few["lines"]] == ["[high]", "[high]", "[low]", "[med]", "[med]"]


def small(lines: int) -> MemoryDaemon:
    """Ann's files, where five lines are the limit."""
    return MemoryDaemon({"f.txt": "x\n" * lines}, Settings(limits=Limits(edit_lines=5)))


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("insert_lines", {"path": "f.txt", "line_number": 0, "text": "a"}),
        ("edit_replace", {"path": "f.txt", "old_text": "x", "new_text": "x\ny"}),
        ("write_file", {"path": "g.txt", "content": "x\n" * 6}),
        ("apply_patch", {"patch": "*** Begin Patch\n*** Add File: g.txt\n" + "+x\n" * 6 + "*** End Patch\n"}),
        ("regex_replace", {"path": "f.txt", "pattern": "\\Z", "replacement": "\\n"}),
    ],
)
def test_a_file_of_too_many_lines_is_neither_edited_nor_made(tool: str, args: dict[str, Any]) -> None:
    for before in (5, 6):
        daemon = small(before)
        reply = daemon.ask(tool, args)
        assert (reply["ok"], reply["error"], reply["lineCount"], reply["limit"]) == (False, "file_too_large", 6, 5)
        assert "edit_lines" in reply["message"]
        assert (daemon.read("f.txt"), daemon.read("g.txt")) == ("x\n" * before, None)


def test_a_file_of_too_many_lines_can_be_read_without_anchors() -> None:
    assert small(6).ask("read_file", {"path": "f.txt"})["lineCount"] == 6
    assert small(6).ask("read_file", {"path": "f.txt", "format": "numbered"})["ok"]
    assert small(6).ask("read_file", {"path": "f.txt", "hashes": True})["error"] == "file_too_large"
    assert small(5).ask("read_file", {"path": "f.txt", "hashes": True})["ok"]


def test_the_limit_of_lines_can_only_be_lowered_by_the_workspace() -> None:
    assert load("[limits]\nedit_lines = 1000\n", None).limits.edit_lines == 1000
    assert load("[limits]\nedit_lines = 999999999\n", None).limits == Settings().limits


# ── the end of a file ──


@pytest.mark.parametrize(
    ("before", "old", "new", "done"), [(b"a\nb\n", "b\n", "b", "removed"), (b"a\nb", "b", "b\n", "added")]
)
def test_a_change_of_only_the_last_break_is_told(before: bytes, old: str, new: str, done: str) -> None:
    reply, after = call(before, "edit_replace", old_text=old, new_text=new)
    assert after == before.replace(old.encode(), new.encode())
    assert (reply["changed"], reply["diff"]) == ([], [])
    assert reply["warnings"] == [
        {"type": "final_line_break", "message": f"Only the line break at the end of the file was {done}."}
    ]


def test_nothing_is_told_of_the_last_break_where_lines_differ_too() -> None:
    assert call(lines("a", "b"), "edit_replace", old_text="b\n", new_text="c")[0]["warnings"] == []
