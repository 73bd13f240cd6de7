"""`edit_file`: exact texts, replaced in the bytes that a sha256 names."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from memory_daemon import MemoryDaemon
from quire_daemon.core.json_schema import flat
from quire_daemon.dialects.edit_file import FileParams
from quire_journal.model.ids import blob_id
from quire_journal.text.text import Text

ONE_TO_THREE = "one\ntwo\nthree\n"


def sha(daemon: MemoryDaemon, path: str = "f.txt") -> str:
    """The sha256 of what is on disk."""
    return blob_id(daemon.files[path]).hex()


def edit(daemon: MemoryDaemon, *edits: dict[str, Any], by: str = "ann", **args: Any) -> dict[str, Any]:
    """A call on f.txt."""
    call = {"path": "f.txt", "edits": list(edits), **args}
    call.setdefault("expectedSha256", sha(daemon))
    return daemon.ask("edit_file", call, by=by)


def change(old: str, new: str, **more: Any) -> dict[str, Any]:
    """One of the edits."""
    return {"oldText": old, "newText": new, **more}


# ── matching ──


def test_a_success_tells_both_hashes_and_what_was_replaced_where() -> None:
    daemon = MemoryDaemon({"f.txt": ONE_TO_THREE})
    before = sha(daemon)
    reply = edit(daemon, change("three", "3"), change("one", "1"))
    assert reply["ok"]
    assert (reply["beforeSha256"], reply["sha256"], reply["operations_applied"]) == (before, sha(daemon), 2)
    assert reply["appliedEdits"] == [
        {"editIndex": 0, "occurrences": 1, "matchRanges": [_range(3, 3, 8, 13)]},
        {"editIndex": 1, "occurrences": 1, "matchRanges": [_range(1, 1, 0, 3)]},
    ]
    assert daemon.read("f.txt") == "1\ntwo\n3\n"


def _range(start: int, end: int, first: int, beyond: int) -> dict[str, int]:
    return {"startLine": start, "endLine": end, "startOffset": first, "endOffset": beyond}


@pytest.mark.parametrize(
    ("before", "old", "expected"),
    [
        (b"\xef\xbb\xbfa\r\nb\r\n", "b", _range(2, 2, 6, 7)),
        (b"\xef\xbb\xbfa\r\nb\r\n", "a\nb", _range(1, 2, 3, 7)),
        (b"a\r\nb\r\n", "a\n", _range(1, 1, 0, 3)),  # with its break, and no line more
        (b"a\nb\rc\r\nd", "\nd", _range(3, 4, 5, 8)),
        ("é\nü\n".encode(), "ü", _range(2, 2, 3, 5)),
        (b"\xff\xffa\n", "a", _range(1, 1, 2, 3)),
    ],
)
def test_ranges_are_bytes_of_the_file_as_it_lay_on_the_disk(before: bytes, old: str, expected: dict[str, int]) -> None:
    daemon = MemoryDaemon({"f.txt": before})
    reply = edit(daemon, change(old, "!"))
    assert reply["appliedEdits"][0]["matchRanges"] == [expected]
    start, stop = expected["startOffset"], expected["endOffset"]
    assert Text.of(before[start:stop]).normalised == old.encode()


def test_edits_do_not_see_what_others_of_the_call_make() -> None:
    daemon = MemoryDaemon({"f.txt": "ALPHA gamma\n"})
    reply = edit(daemon, change("ALPHA", "BETA"), change("BETA", "X"))
    assert (reply["error"], reply["editIndex"]) == ("old_text_not_found", 1)
    assert daemon.read("f.txt") == "ALPHA gamma\n"


def test_a_text_that_matches_several_times_is_refused_with_all_places() -> None:
    daemon = MemoryDaemon({"f.txt": "foo\nfoo\nfoo\n"})
    reply = edit(daemon, change("foo", "bar"))
    assert (reply["error"], reply["matchCount"], reply["expectedOccurrences"]) == ("multiple_matches", 3, 1)
    assert [found["startLine"] for found in reply["matchRanges"]] == [1, 2, 3]
    assert daemon.read("f.txt") == "foo\nfoo\nfoo\n"


def test_replace_all_replaces_all() -> None:
    daemon = MemoryDaemon({"f.txt": "f f\nf\n"})
    reply = edit(daemon, change("f", "g", replaceAll=True))
    assert (reply["appliedEdits"][0]["occurrences"], len(reply["appliedEdits"][0]["matchRanges"])) == (3, 3)
    assert daemon.read("f.txt") == "g g\ng\n"


@pytest.mark.parametrize(("expected", "ok"), [(1, False), (2, False), (3, True), (4, False)])
def test_a_text_may_say_how_often_it_matches(expected: int, ok: bool) -> None:
    daemon = MemoryDaemon({"f.txt": "f f f\n"})
    reply = edit(daemon, change("f", "g", expectedOccurrences=expected))
    assert reply["ok"] is ok
    if not ok:
        assert (reply["error"], reply["matchCount"], reply["expectedOccurrences"]) == ("multiple_matches", 3, expected)
    assert daemon.read("f.txt") == ("g g g\n" if ok else "f f f\n")


def test_replace_all_of_a_text_that_is_nowhere_is_refused() -> None:
    assert edit(MemoryDaemon({"f.txt": "a\n"}), change("b", "c", replaceAll=True))["error"] == "old_text_not_found"


def test_a_text_that_overlaps_itself_is_there_twice() -> None:
    daemon = MemoryDaemon({"f.txt": "-----\n"})
    reply = edit(daemon, change("----", "x"))
    assert (reply["error"], reply["matchCount"]) == ("multiple_matches", 2)
    assert edit(daemon, change("--", "x", expectedOccurrences=2))["ok"]
    assert daemon.read("f.txt") == "xx-\n"


def test_edits_that_overlap_are_refused_and_name_each_other() -> None:
    daemon = MemoryDaemon({"f.txt": "abcdef\n"})
    for edits in (
        (change("abcd", "X"), change("cdef", "Y")),
        (change("cdef", "Y"), change("abcd", "X")),
        (change("abc", "1"), change("abc", "2")),
        (change("abcdef", "1"), change("c", "2")),
    ):
        reply = edit(daemon, *edits)
        assert (reply["error"], reply["conflictingEditIndices"]) == ("overlapping_edits", [0, 1])
    assert daemon.read("f.txt") == "abcdef\n"


def test_edits_that_touch_are_fine() -> None:
    daemon = MemoryDaemon({"f.txt": "abcdef\n"})
    assert edit(daemon, change("def", "2"), change("abc", "1"))["ok"]
    assert daemon.read("f.txt") == "12\n"


def test_near_misses_are_told_and_never_acted_on() -> None:
    daemon = MemoryDaemon({"f.txt": "if x:\n    foo()\n    bar()\n"})
    reply = edit(daemon, change("foo()\nbar()", "foo()\nbaz()"))
    assert (reply["error"], reply["editIndex"], reply["near_miss"]["line"]) == ("old_text_not_found", 0, 2)
    assert daemon.read("f.txt") == "if x:\n    foo()\n    bar()\n"


@pytest.mark.parametrize("old", ["a\nb", "a\r\nb"])
def test_a_crlf_in_the_text_or_none_both_match(old: str) -> None:
    daemon = MemoryDaemon({"f.txt": b"a\r\nb\r\n"})
    assert edit(daemon, change(old, "A\nB"))["ok"]
    assert daemon.files["f.txt"] == b"A\r\nB\r\n"


def test_what_changes_nothing_is_no_version() -> None:
    daemon = MemoryDaemon({"f.txt": "a\n"})
    reply = edit(daemon, change("a", "a"))
    assert (reply["ok"], reply["unchanged"], reply["beforeSha256"]) == (True, True, reply["sha256"])


# ── arguments ──


@pytest.mark.parametrize(
    ("args", "named"),
    [
        ({"edits": []}, "edits"),
        ({"edits": [change("", "x")]}, "oldText"),
        ({"edits": [{"oldText": "a"}]}, "newText"),
        ({"edits": [change("a", "b", all=True)]}, "all"),
        ({"edits": [change("a", "b", expectedOccurrences=0)]}, "expectedOccurrences"),
        ({"edits": [change("a", "b", replaceAll=True, expectedOccurrences=1)]}, "replaceAll"),
        ({"expectedSha256": None}, "expectedSha256"),
        ({"expectedSha256": ""}, "expectedSha256"),
        ({"expectedSha256": "AB" * 32}, "expectedSha256"),
        ({"expectedSha256": "ab" * 31}, "expectedSha256"),
        ({"file": "f.txt"}, "file"),
    ],
)
def test_bad_arguments_are_refused_by_name(args: dict[str, Any], named: str) -> None:
    daemon = MemoryDaemon({"f.txt": "a\n"})
    call = {"path": "f.txt", "edits": [change("a", "b")], "expectedSha256": sha(daemon), **args}
    reply = daemon.ask("edit_file", call)
    assert (reply["ok"], reply["error"]) == (False, "schema_invalid")
    assert named in reply["message"]
    assert daemon.read("f.txt") == "a\n"


@pytest.mark.parametrize(
    ("args", "argument", "dry"),
    [
        ({}, "expectedSha256", False),
        ({"expectedSha256": ""}, "expectedSha256", False),
        ({"dryRun": False}, "expectedSha256", False),
        ({"dryRun": True}, "expectedSha256", True),
        ({"dry_run": True}, "expectedSha256", True),
        ({"dryRun": True, "expectedSha256": blob_id(b"a a\nb\n").hex()}, "dryRun", True),
    ],
)
def test_a_call_without_its_sha256_learns_the_call_that_would_do(
    args: dict[str, Any], argument: str, dry: bool
) -> None:
    daemon = MemoryDaemon({"f.txt": "a a\nb\n"})
    edits = [change("a", "A", replaceAll=True), change("b", "B")]
    reply = daemon.ask("edit_file", {"path": "f.txt", "edits": edits, "safety_check": "off", **args})
    assert (reply["error"], reply["argument"], reply["sha256"]) == ("schema_invalid", argument, sha(daemon))
    assert f"`{argument}`" in reply["message"]
    assert daemon.read("f.txt") == "a a\nb\n"
    call = reply["call"]
    assert call["args"] == {
        "path": "f.txt",
        "edits": edits,
        "expectedSha256": sha(daemon),
        "safety_check": "off",
        **({"dry_run": True} if dry else {}),
    }
    done = daemon.ask(call["tool"], call["args"])
    assert (done["ok"], done.get("dry_run", False)) == (True, dry)
    assert daemon.read("f.txt") == ("a a\nb\n" if dry else "A A\nB\n")


@pytest.mark.parametrize(
    ("path", "old", "why"),
    [
        ("f.txt", "z", "is not in the file"),
        ("f.txt", "a", "matches 2 times"),
        ("gone.txt", "a", "gone.txt"),
        ("binary", "a", "binary"),
    ],
)
def test_where_no_call_would_do_the_refusal_says_why(path: str, old: str, why: str) -> None:
    daemon = MemoryDaemon({"f.txt": "a\na\n", "binary": b"a\0"})
    reply = daemon.ask("edit_file", {"path": path, "edits": [change(old, "x")]})
    assert (reply["error"], reply["argument"], "call" in reply) == ("schema_invalid", "expectedSha256", False)
    assert why in reply["message"]


def test_a_call_without_its_sha256_learns_what_others_have_done_since_its_caller_read() -> None:
    daemon = MemoryDaemon({"f.txt": "a\nb\nc\n"})
    daemon.ask("read_file", {"path": "f.txt"})
    daemon.save("f.txt", "a\nb\nC\n")
    reply = daemon.ask("edit_file", {"path": "f.txt", "edits": [change("a", "A")]})
    assert [entry["lines"] for entry in reply["changed_since_your_read"]] == [[[3, 3]]]
    assert daemon.ask("edit_file", reply["call"]["args"])["ok"]


def test_the_schema_asks_for_the_sha256_and_does_not_know_the_arguments_of_others() -> None:
    schema = flat(FileParams)
    assert schema["required"] == ["edits", "expectedSha256"]
    assert "dryRun" not in schema["properties"]
    reply = MemoryDaemon({"f.txt": "a\n"}).ask("edit_file", {"path": "f.txt", "edits": [change("a", "b")], "dry": True})
    assert "dryRun" not in reply["message"]


@pytest.mark.parametrize("path", ["gone.txt", "d"])
def test_what_is_missing_or_a_folder_is_not_found(path: str) -> None:
    daemon = MemoryDaemon({"f.txt": "a\n", "d/g.txt": "a\n"})
    assert edit(daemon, change("a", "b"), path=path)["error"] == "not_found"


def test_a_binary_file_is_left_alone() -> None:
    daemon = MemoryDaemon({"f.txt": b"hi\0!"})
    assert edit(daemon, change("hi", "yo"))["error"] == "binary_file"


# ── the sha256 as base ──


def test_of_three_calls_with_one_sha256_one_lands_and_two_are_told_who_won() -> None:
    daemon = MemoryDaemon({"f.txt": ONE_TO_THREE})
    base = sha(daemon)
    replies = [
        edit(daemon, change(word, word.upper()), by=by, expectedSha256=base)
        for word, by in (("one", "ann"), ("two", "ben"), ("three", "cem"))
    ]
    assert [reply["ok"] for reply in replies] == [True, False, False]
    for reply in replies[1:]:
        assert (reply["error"], reply["suggested_action"]) == ("stale_file", "re-read_file")
        assert (reply["expectedSha256"], reply["actualSha256"]) == (base, sha(daemon))
        assert reply["changes"][0]["writer"]["agent"] == "ann"
        assert reply["changes"][0]["lines"] == [[1, 1]]
        assert "ann" in reply["message"]
    assert daemon.read("f.txt") == "ONE\ntwo\nthree\n"


def test_disjoint_edits_of_one_sha256_all_land_when_rebased() -> None:
    before = "".join(f"line {n}\n" for n in range(9))
    daemon = MemoryDaemon({"f.txt": before})
    base = sha(daemon)
    for word, by in (("line 0", "ann"), ("line 4", "ben"), ("line 8", "cem")):
        assert edit(daemon, change(word, f"{word}\n{by}"), by=by, expectedSha256=base, on_stale="rebase")["ok"]
    expected = before.replace("0\n", "0\nann\n").replace("4\n", "4\nben\n").replace("8\n", "8\ncem\n")
    assert daemon.read("f.txt") == expected


def test_a_rebased_edit_tells_where_its_text_stood_in_the_file_that_it_named() -> None:
    daemon = MemoryDaemon({"f.txt": "a\r\nb\r\nc\r\nd\r\n"})
    base = sha(daemon)
    edit(daemon, change("a", "new\nalpha"), by="ben")
    reply = edit(daemon, change("d", "D"), expectedSha256=base, on_stale="rebase")
    assert (reply["cross_version"], reply["beforeSha256"]) == (True, base)
    assert reply["appliedEdits"][0]["matchRanges"] == [_range(4, 4, 9, 10)]
    assert reply["changed"][0]["start"] == 5
    assert daemon.read("f.txt") == "new\r\nalpha\r\nb\r\nc\r\nD\r\n"


def test_a_rebase_over_a_change_in_the_matched_text_lands_where_other_lines_change() -> None:
    daemon = MemoryDaemon({"f.txt": "1\n2\n3\n4\n5\n6\n"})
    base = sha(daemon)
    edit(daemon, change("5", "five"), by="ben")
    reply = edit(daemon, change("1\n2\n3\n4\n5", "one\n2\n3\n4\n5"), expectedSha256=base, on_stale="rebase")
    assert reply["ok"], reply
    assert daemon.read("f.txt") == "one\n2\n3\n4\nfive\n6\n"


def test_a_rebase_over_a_change_beside_the_changed_lines_is_refused() -> None:
    daemon = MemoryDaemon({"f.txt": "1\n2\n3\n4\n5\n6\n"})
    base = sha(daemon)
    edit(daemon, change("2", "two"), by="ben")
    reply = edit(daemon, change("1\n2\n3", "one\n2\n3"), expectedSha256=base, on_stale="rebase")
    assert (reply["error"], reply["expectedSha256"], reply["actualSha256"]) == ("stale_file", base, sha(daemon))
    assert reply["conflict"]["theirs"] == ["1", "two"]
    assert daemon.read("f.txt") == "1\ntwo\n3\n4\n5\n6\n"


def test_a_rebase_never_goes_to_a_similar_text_elsewhere() -> None:
    daemon = MemoryDaemon({"f.txt": "x\nsame\ny\n"})
    base = sha(daemon)
    edit(daemon, change("x\nsame\n", "x\nother\nz\nsame\n"), by="ben")
    reply = edit(daemon, change("same", "mine"), expectedSha256=base, on_stale="rebase")
    assert reply["error"] == "stale_file"


def test_bytes_that_the_journal_does_not_know_are_stale() -> None:
    daemon = MemoryDaemon({"f.txt": "a\n"})
    for on_stale in ("reject", "rebase"):
        reply = edit(daemon, change("a", "b"), expectedSha256="ab" * 32, on_stale=on_stale)
        assert (reply["error"], reply["suggested_action"]) == ("stale_file", "re-read_file")
        assert (reply["expectedSha256"], reply["actualSha256"]) == ("ab" * 32, sha(daemon))
        assert (reply["path"], reply["reason"]) == ("f.txt", "unknown_base")
    assert daemon.read("f.txt") == "a\n"


def test_of_versions_with_the_same_bytes_the_newest_is_meant() -> None:
    daemon = MemoryDaemon({"f.txt": ONE_TO_THREE})
    base = sha(daemon)
    for old, new in (("one", "1"), ("1", "one"), ("two", "2")):
        last = edit(daemon, change(old, new), by="ben")["version"]
    reply = edit(daemon, change("three", "3"), expectedSha256=base)
    assert [told["version"] for told in reply["changes"]] == [last]


def test_both_hashes_are_told_also_where_the_bytes_of_the_one_have_gone() -> None:
    daemon = MemoryDaemon({"f.txt": "a\n"})
    base = sha(daemon)
    edit(daemon, change("a", "b"), by="ben")
    daemon.lose(b"a\n")
    reply = edit(daemon, change("b", "c"), expectedSha256=base, on_stale="rebase")
    assert (reply["error"], reply["expectedSha256"], reply["actualSha256"]) == ("stale_file", base, sha(daemon))


def test_a_sha256_is_stale_after_ones_own_edit_too() -> None:
    daemon = MemoryDaemon({"f.txt": ONE_TO_THREE})
    base = sha(daemon)
    assert edit(daemon, change("one", "1"))["ok"]
    reply = edit(daemon, change("three", "3"), expectedSha256=base)
    assert (reply["error"], reply["expectedSha256"]) == ("stale_file", base)
    assert edit(daemon, change("three", "3"), expectedSha256=base, on_stale="rebase")["ok"]
    assert daemon.read("f.txt") == "1\ntwo\n3\n"


def test_bytes_that_have_come_back_are_fresh() -> None:
    daemon = MemoryDaemon({"f.txt": "a\n"})
    base = sha(daemon)
    edit(daemon, change("a", "b"), by="ben")
    edit(daemon, change("b", "a"), by="ben")
    assert edit(daemon, change("a", "c"), expectedSha256=base)["ok"]


def test_the_sha256_proves_the_bytes_whatever_the_caller_was_shown_before() -> None:
    daemon = MemoryDaemon({"f.txt": "a\n"})
    daemon.ask("read_file", {"path": "f.txt"})
    daemon.save("f.txt", "a\nb\n")
    reply = edit(daemon, change("b", "B"))
    assert reply["ok"]
    assert reply["changed_since_your_read"]


def test_a_version_beside_the_sha256_must_mean_the_same() -> None:
    daemon = MemoryDaemon({"f.txt": "a\n"})
    old = daemon.ask("read_file", {"path": "f.txt"})["version"]
    daemon.save("f.txt", "a\nb\n")
    new = daemon.ask("read_file", {"path": "f.txt"})["version"]
    reply = edit(daemon, change("b", "B"), base=old)
    assert (reply["error"], reply["argument"]) == ("schema_invalid", "base")
    assert edit(daemon, change("b", "B"), base=new)["ok"]


def test_a_dry_run_is_told_that_it_would_be_stale() -> None:
    daemon = MemoryDaemon({"f.txt": "a\n"})
    reply = edit(daemon, change("a", "b"), expectedSha256="ab" * 32, dry_run=True)
    assert (reply["ok"], reply["valid"], reply["error"]) == (False, False, "stale_file")
    assert edit(daemon, change("a", "b"), dry_run=True)["valid"] is True
    assert daemon.read("f.txt") == "a\n"


# ── in general ──


@given(
    st.lists(st.sampled_from([b"a", b"b", b"ab", b"", b"\xff", b"c c"]), max_size=6),
    st.sampled_from([b"\n", b"\r\n", b"\r"]),
    st.lists(st.tuples(st.sampled_from(["a", "b", "a\nb", "c", "\n"]), st.sampled_from(["", "x", "y\nz"])), max_size=3),
    st.booleans(),
)
def test_a_call_replaces_what_it_says_or_changes_nothing(
    lines: list[bytes], end: bytes, pairs: list[tuple[str, str]], everywhere: bool
) -> None:
    before = end.join(lines)
    daemon = MemoryDaemon({"f.txt": before})
    reply = edit(daemon, *(change(old, new, replaceAll=everywhere) for old, new in pairs))
    if not reply["ok"]:
        assert daemon.files["f.txt"] == before
        return
    ranges = [
        (found["startOffset"], found["endOffset"], pairs[row["editIndex"]][1].encode())
        for row in reply["appliedEdits"]
        for found in row["matchRanges"]
    ]
    after, style = before, end if end in before else b"\n"
    for start, stop, new in sorted(ranges, reverse=True):
        after = after[:start] + new.replace(b"\n", style) + after[stop:]
    assert daemon.files["f.txt"] == after
