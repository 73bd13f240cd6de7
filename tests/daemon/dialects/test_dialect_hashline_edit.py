"""`hashline_edit`: lines are named as LINE#ID, the caller's base is the proof, and nothing is looked for elsewhere."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hashlines import FIVE, FOUR, LAST, ONE, TEN, THREE, TWO, after, before, edit, opened, put, read, ref, span
from hypothesis import given, strategies as st

from memory_daemon import MemoryDaemon
from quire_daemon.config.settings import Dialects, HashlineDialect, Settings
from quire_journal.model.events import FileDeleted, FileMoved, FileWritten
from quire_journal.text.line_hash import hash8, line_id

REPLACING = Settings(dialects=Dialects(hashline_edit=HashlineDialect(allow_replace_text=True)))


# ── the variants ─────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("wanted", "result"),
    [
        (put(TWO, "2"), "one\n2\nthree\nfour\nfive\n"),
        (put(TWO, "2a", "2b"), "one\n2a\n2b\nthree\nfour\nfive\n"),
        (put(TWO), "one\nthree\nfour\nfive\n"),
        (put(TWO, ""), "one\n\nthree\nfour\nfive\n"),
        (span(TWO, FOUR, "x"), "one\nx\nfive\n"),
        (span(TWO, FOUR), "one\nfive\n"),
        (span(TWO, TWO, "x"), "one\nx\nthree\nfour\nfive\n"),
        (span(ONE, LAST), ""),
        (after(TWO, "x", "y"), "one\ntwo\nx\ny\nthree\nfour\nfive\n"),
        (before(TWO, "x"), "one\nx\ntwo\nthree\nfour\nfive\n"),
        ({"after": TWO, "before": THREE, "inserted_lines": ["x"]}, "one\ntwo\nx\nthree\nfour\nfive\n"),
        (after(LAST, "x"), FIVE + "x\n"),
        (before(ONE, "x"), "x\n" + FIVE),
        (after(TWO, ""), "one\ntwo\n\nthree\nfour\nfive\n"),
        ({"inserted_lines": ["x", "y"]}, FIVE + "x\ny\n"),
    ],
)
def test_each_variant_does_what_it_says(wanted: dict[str, Any], result: str) -> None:
    daemon = opened()
    reply = edit(daemon, wanted)
    assert reply["ok"], reply
    assert daemon.read("f.txt") == result
    assert reply["operations_applied"] == 1
    assert reply["message"].startswith("1 operation applied")


def test_a_reply_carries_what_every_writing_tool_tells_and_the_first_changed_line() -> None:
    daemon = opened(TEN)
    reply = edit(daemon, put(ref(4, "line 4"), "four"), after(ref(8, "line 8"), "new"))
    assert reply["first_changed_line"] == 4
    assert (reply["operations_applied"], reply["net_lines"], reply["anchors_valid_through"]) == (2, 1, 3)
    assert (reply["writer_type"], reply["baseline_continuity"]) == ("edit", "clean")
    assert [(c["start"], c["end"]) for c in reply["changed"]] == [(4, 4), (9, 9)]
    assert f"+4#{hash8(b'four')[:6]} [high]|four" in reply["diff"]
    (write,) = daemon.events(FileWritten)
    assert isinstance(write, FileWritten)
    assert write.dialect == "hashline_edit"


def test_the_first_changed_line_is_the_first_that_differs() -> None:
    daemon = opened()
    assert edit(daemon, span(ONE, THREE, "one", "two", "3"))["first_changed_line"] == 3
    assert edit(daemon, span(ref(4, "four"), ref(5, "five")))["first_changed_line"] == 4


def test_all_edits_are_judged_on_one_snapshot_whatever_their_order() -> None:
    for order in (1, -1):
        daemon = opened()
        edits = [put(ONE, "1", "1b"), put(THREE), after(FOUR, "4b"), before(LAST, "5a"), put(LAST, "5")][::order]
        assert edit(daemon, *edits)["ok"]
        between = ["4b", "5a"][::order]
        assert daemon.read("f.txt") == "".join(f"{s}\n" for s in ["1", "1b", "two", "four", *between, "5"])


def test_inserts_at_one_gap_keep_the_order_of_the_call() -> None:
    daemon = opened("a\nb\n")
    edits = [after(ref(1, "a"), "x"), before(ref(2, "b"), "y"), after(ref(1, "a"), "z")]
    assert edit(daemon, *edits)["operations_applied"] == 3
    assert daemon.read("f.txt") == "a\nx\ny\nz\nb\n"


def test_an_insert_may_stand_at_the_edge_of_a_range_that_is_replaced() -> None:
    daemon = opened()
    assert edit(daemon, span(TWO, FOUR, "x"), before(TWO, "a"), after(FOUR, "b"), before(LAST, "c"))["ok"]
    assert daemon.read("f.txt") == "one\na\nx\nb\nc\nfive\n"


def test_low_quality_lines_are_as_good_as_any() -> None:
    daemon = opened("f() {\n}\n\ng() {\n}\n")
    assert edit(daemon, after(ref(2, "}"), "h()"), after(ref(3, ""), "// g"), put(ref(5, "}"), "};"))["ok"]
    assert daemon.read("f.txt") == "f() {\n}\nh()\n\n// g\ng() {\n};\n"


def test_of_equal_lines_the_one_with_the_number_is_meant() -> None:
    daemon = opened("}\n}\n}\n")
    assert edit(daemon, put(ref(2, "}"), "here"))["ok"]
    assert daemon.read("f.txt") == "}\nhere\n}\n"


@pytest.mark.parametrize("variant", [put(TWO, "x"), after(TWO, "x"), span(TWO, THREE, "x")])
def test_a_field_that_is_null_is_left_out(variant: dict[str, Any]) -> None:
    fields = ("target", "first", "last", "before", "after", "new_content", "inserted_lines", "old_text", "new_text")
    daemon, other = opened(), opened()
    assert edit(daemon, {**dict.fromkeys(fields), **variant})["ok"]
    assert edit(other, variant)["ok"]
    assert daemon.read("f.txt") == other.read("f.txt")
    assert edit(opened(), {"target": TWO, "new_content": None, "first": None})["error"] == "invalid_variant"
    assert edit(opened(), {**put(TWO, "x"), "note": None})["error"] == "invalid_variant"


@pytest.mark.parametrize(
    "said", ["+1 for this", "- item", "# Note: keep me", "3#abcd|three", ">>> 2#ab|x", "  deep", "\t"]
)
def test_content_is_taken_as_it_is(said: str) -> None:
    daemon = opened()
    assert edit(daemon, put(TWO, said))["ok"]
    assert daemon.read("f.txt") == FIVE.replace("two", said)


@pytest.mark.parametrize(
    ("element", "becomes"), [("a\nb", "a\nb\n"), ("a\n", "a\n"), ("\n", "\n"), ("a\r\nb", "a\nb\n")]
)
def test_an_element_with_line_breaks_is_lines(element: str, becomes: str) -> None:
    daemon = opened()
    assert edit(daemon, put(TWO, element))["ok"]
    assert daemon.read("f.txt") == FIVE.replace("two\n", becomes)


# ── references ───────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "reference", [f"{TWO}|two", f"{TWO}|", f">>> {TWO}|two", f">>>{TWO}", f"{TWO}|a | b", TWO.upper(), f"{TWO}|a\nb"]
)
def test_what_is_copied_along_with_a_reference_is_tolerated(reference: str) -> None:
    daemon = opened()
    assert edit(daemon, put(reference, "2"))["ok"]


@pytest.mark.parametrize(
    "reference",
    [
        *("", "two", "2", "#ab", "2#", f"0#{line_id(b'two')}", "-2#ab", "2 #ab", "2# ab", f" {TWO}", f"{TWO} ", "2:ab"),
        *(f"+{TWO}", "2#a-b", "L2#ab", f"{TWO}, {THREE}", "2#ab [high]|two", "02#abcd", "2##ab", f"{TWO}#x"),
    ],
)
@pytest.mark.parametrize("name", ["target", "after"])
def test_anything_else_is_no_reference(name: str, reference: str) -> None:
    daemon = opened()
    reply = edit(daemon, after(ONE, "x"), put(reference, "2") if name == "target" else after(reference, "x"))
    assert (reply["error"], reply["edit_index"]) == ("invalid_ref", 1)
    assert daemon.read("f.txt") == FIVE


@pytest.mark.parametrize("digits", [6, 8])
def test_the_hash_that_diffs_show_names_a_line_too(digits: int) -> None:
    daemon = opened()
    assert edit(daemon, put(TWO, "2"))["ok"]
    assert edit(daemon, put(f"2#{hash8(b'2')[:digits]}", "second"))["ok"]
    assert edit(daemon, put(f"2#{hash8(b'2')[:digits]}", "third"))["error"] == "hash_mismatch"


@pytest.mark.parametrize("name", ["z", "zz", "0" * 40, "abc", hash8(b"two")[:5], "two"])
def test_the_length_of_an_id_does_not_matter_but_what_it_says_does(name: str) -> None:
    reply = edit(opened(), put(f"2#{name}", "2"))
    assert (reply["error"], reply["mismatched_lines"]) == ("hash_mismatch", [2])


@pytest.mark.parametrize("line", [6, 99, 999_999_999_999_999_999])
def test_a_line_beyond_the_file_is_out_of_range(line: int) -> None:
    daemon = opened()
    for wanted in (
        put(f"{line}#ab", "x"),
        span(TWO, f"{line}#ab", "x"),
        span(f"{line}#ab", TWO),
        before(f"{line}#ab", "x"),
    ):
        reply = edit(daemon, wanted)
        assert (reply["error"], reply["line_count"], reply["lines_beyond"]) == ("line_out_of_range", 5, [line])
    assert daemon.read("f.txt") == FIVE


def test_an_empty_file_has_no_line_to_name() -> None:
    assert edit(opened(""), put("1#ab", "x"))["error"] == "line_out_of_range"


# ── what is refused ──────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("edits", "code"),
    [
        ([span(FOUR, TWO, "x")], "invalid_range"),
        ([{"after": ONE, "before": THREE, "inserted_lines": ["x"]}], "anchors_not_adjacent"),
        ([{"after": TWO, "before": ONE, "inserted_lines": ["x"]}], "anchors_not_adjacent"),
        ([{"after": TWO, "before": TWO, "inserted_lines": ["x"]}], "anchors_not_adjacent"),
        ([after(TWO)], "empty_insert"),
        ([before(TWO)], "empty_insert"),
        ([{"inserted_lines": []}], "empty_insert"),
        ([put(ONE, "1"), after(TWO)], "empty_insert"),
        ([{}], "invalid_variant"),
        ([{"foo": 1}], "invalid_variant"),
        ([{"target": TWO}], "invalid_variant"),
        ([{"new_content": ["x"]}], "invalid_variant"),
        ([{"first": TWO, "new_content": ["x"]}], "invalid_variant"),
        ([{"last": TWO, "new_content": ["x"]}], "invalid_variant"),
        ([{**put(TWO, "x"), "inserted_lines": ["y"]}], "invalid_variant"),
        ([{**put(TWO, "x"), "first": ONE, "last": TWO}], "invalid_variant"),
        ([{**after(TWO, "x"), "target": TWO}], "invalid_variant"),
        ([{**put(TWO, "x"), "note": "why"}], "invalid_variant"),
        ([{"after": TWO, "new_content": ["x"]}], "invalid_variant"),
        ([{"target": TWO, "inserted_lines": ["x"]}], "invalid_variant"),
        ([{"after": TWO}], "invalid_variant"),
        ([{"old_text": "two", "new_text": "2"}], "invalid_variant"),
        ([put(ONE, "1"), {"old_text": "two", "new_text": "2", "all": True}], "invalid_variant"),
        ([put(TWO, "2"), put(TWO, "zwei")], "overlapping_edits"),
        ([span(ONE, THREE, "x"), put(TWO, "2")], "overlapping_edits"),
        ([span(ONE, THREE, "x"), after(ONE, "y")], "overlapping_edits"),
        ([span(ONE, THREE), span(THREE, LAST)], "overlapping_edits"),
        ([put(TWO, "two")], "no_op"),
        ([span(ONE, TWO, "one", "two"), put(LAST, "five")], "no_op"),
        ([], "no_op"),
        ([{"target": 2, "new_content": ["x"]}], "schema_invalid"),
        ([{"target": TWO, "new_content": "x"}], "schema_invalid"),
        ([{"target": TWO, "new_content": None}], "schema_invalid"),
        ([{"target": TWO, "new_content": [1]}], "schema_invalid"),
        (["x"], "schema_invalid"),
    ],
)
def test_a_call_that_makes_no_sense_is_refused_and_changes_nothing(edits: list[Any], code: str) -> None:
    daemon = opened()
    for more in ({}, {"dry_run": True}):
        reply = edit(daemon, *edits, **more)
        assert (reply["ok"], reply["error"]) == (False, code), reply
    assert daemon.read("f.txt") == FIVE
    assert not daemon.events(FileWritten)


def test_edits_and_file_operations_that_are_missing_altogether_are_no_op() -> None:
    assert opened().ask("hashline_edit", {"path": "f.txt"})["error"] == "no_op"


def test_a_line_that_stays_as_it_is_beside_one_that_changes_is_no_reason_to_refuse() -> None:
    daemon = opened()
    assert edit(daemon, put(TWO, "two"), put(THREE, "3"))["ok"]
    assert daemon.read("f.txt") == FIVE.replace("three", "3")


@pytest.mark.parametrize(
    "twice",
    [put(TWO, "2"), after(TWO, "x"), span(TWO, THREE), {"inserted_lines": ["x"]}],
    ids=["set", "in", "cut", "end"],
)
def test_identical_edits_count_once(twice: dict[str, Any]) -> None:
    once, daemon = opened(), opened()
    edit(once, twice)
    reply = edit(daemon, twice, dict(twice))
    assert reply["operations_applied"] == 1
    assert daemon.files == once.files


def test_a_missing_file_is_not_found() -> None:
    assert MemoryDaemon().ask("hashline_edit", {"path": "f.txt", "edits": [put(TWO, "2")]})["error"] == "not_found"


def test_a_dry_run_does_everything_but_the_write() -> None:
    daemon = opened()
    reply = edit(daemon, put(TWO, "2"), dry_run=True)
    assert (reply["ok"], reply["dry_run"], reply["valid"], reply["first_changed_line"]) == (True, True, True, 2)
    assert edit(daemon, put(TWO, "2"), rename="new/g.txt", dry_run=True)["valid"]
    assert edit(daemon, delete=True, dry_run=True)["valid"]
    assert daemon.files == {"f.txt": FIVE.encode()}
    assert not daemon.events(FileWritten, FileMoved, FileDeleted)


# ── texts in place of references ─────────────────────────────────────────────


def replace(old: str, new: str, **more: Any) -> dict[str, Any]:
    """Replace a text."""
    return {"old_text": old, "new_text": new, **more}


def test_where_the_settings_allow_it_a_text_may_be_replaced() -> None:
    daemon = opened("x = 42\ny = 42\n", REPLACING)
    assert edit(daemon, replace("x = 42", "x = 99"))["ok"]
    assert edit(daemon, replace("9\ny", "8\nz"))["ok"]
    assert daemon.read("f.txt") == "x = 98\nz = 42\n"


def test_a_text_must_be_there_and_once_unless_all_are_meant() -> None:
    daemon = opened("a b\na c\n", REPLACING)
    assert edit(daemon, replace("x", "y"))["error"] == "old_text_not_found"
    assert edit(daemon, replace("a  c", "y"))["near_miss"]["line"] == 2
    reply = edit(daemon, replace("a", "A"))
    assert (reply["error"], reply["match_count"]) == ("multiple_matches", 2)
    assert edit(daemon, replace("", "y"))["error"] == "schema_invalid"
    assert edit(daemon, replace("a", "a"), replace("c", "c"))["error"] in ("no_op", "multiple_matches")
    assert edit(daemon, replace("a", "a", all=True))["error"] == "no_op"
    assert edit(daemon, replace("a", "A", all=True))["operations_applied"] == 1
    assert daemon.read("f.txt") == "A b\nA c\n"


def test_a_text_and_references_are_judged_on_one_snapshot() -> None:
    daemon = opened(FIVE, REPLACING)
    assert edit(daemon, replace("two", "four"), put(FOUR, "4"))["ok"]
    assert daemon.read("f.txt") == "one\nfour\nthree\n4\nfive\n"
    assert edit(daemon, replace("four", "2"), put(ref(2, "four"), "x"))["error"] == "overlapping_edits"
    assert edit(daemon, replace("four", "2"), replace("four", "2"))["operations_applied"] == 1


def test_a_text_is_its_own_proof() -> None:
    daemon = opened(FIVE, REPLACING)
    daemon.save("f.txt", "NEW\n" + FIVE.replace("three", "3 three"))
    reply = edit(daemon, replace("3 three", "drei"))
    assert reply["ok"]
    assert reply["changed_since_your_read"]


# ── bytes ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "line", "said", "result"),
    [
        (b"a\r\nb\nc\rd", 3, b"c", b"a\r\nb\nX\rd"),
        (b"a\r\nb\nc\rd", 4, b"d", b"a\r\nb\nc\rX"),
        (b"a\r\nb\nc\rd", 1, b"a", b"X\r\nb\nc\rd"),
        (b"\xef\xbb\xbfa\nb\n", 1, b"a", b"\xef\xbb\xbfX\nb\n"),
        (b"\xef\xbb\xbfa\nb\n", 2, b"b", b"\xef\xbb\xbfa\nX\n"),
        (b"a\x0cb\nc\xe2\x80\xa8d\ne\n", 3, b"e", b"a\x0cb\nc\xe2\x80\xa8d\nX\n"),
        (b"caf\xe9\nb\n\xff\xfe\n", 2, b"b", b"caf\xe9\nX\n\xff\xfe\n"),
        (b"caf\xe9\nb\n", 1, b"caf\xe9", b"X\nb\n"),
        (b" a \t\n\n", 2, b"", b" a \t\nX\n"),
    ],
)
def test_lines_that_no_edit_names_keep_their_bytes(text: bytes, line: int, said: bytes, result: bytes) -> None:
    daemon = opened(text)
    assert read(daemon)[line - 1] == ref(line, said)
    assert edit(daemon, put(ref(line, said), "X"))["ok"]
    assert daemon.files["f.txt"] == result


def test_lines_that_differ_only_in_bytes_that_are_not_utf8_have_ids_of_their_own() -> None:
    daemon = opened(b"caf\xe9\n")
    daemon.save("f.txt", b"caf\xe8\n")
    assert edit(daemon, put(ref(1, b"caf\xe9"), "x"))["error"] == "hash_mismatch"


@pytest.mark.parametrize(
    ("text", "result"), [("", "x\n"), ("a", "a\nx"), ("a\n", "a\nx\n"), ("a\r\n", "a\r\nx\r\n"), ("\r", "\rx\r")]
)
def test_without_references_lines_go_to_the_end_and_the_final_break_stays(text: str, result: str) -> None:
    daemon = opened(text)
    assert edit(daemon, {"inserted_lines": ["x"]})["ok"]
    assert daemon.read("f.txt") == result


def test_without_a_final_break_the_last_line_can_be_replaced_removed_or_followed() -> None:
    for wanted, result in (
        (put(ref(2, "b"), "B"), "a\nB"),
        (put(ref(2, "b")), "a"),
        (after(ref(2, "b"), "c"), "a\nb\nc"),
    ):
        daemon = opened("a\nb")
        assert edit(daemon, wanted)["ok"]
        assert daemon.read("f.txt") == result


# ── random files, random edits ───────────────────────────────────────────────


CONTENT = st.sampled_from([b"", b"}", b"a", b"caf\xe9", b"\x0c", b"  x", b"\xe2\x80\xa8"])


FILES = st.lists(st.tuples(CONTENT, st.sampled_from([b"\n", b"\r\n"])), min_size=1, max_size=8)


NEW = st.lists(st.sampled_from(["", "new", "  two", "+x", "}"]), max_size=3)


@st.composite
def valid_calls(draw: st.DrawFn) -> tuple[list[tuple[bytes, bytes]], bool, list[dict[str, Any]], dict[int, Any]]:
    """A file, whether it ends with a break, edits that do not overlap, and per line what becomes of it."""
    rows = draw(FILES)
    refs = [ref(n, said) for n, (said, _) in enumerate(rows, 1)]
    edits: list[dict[str, Any]] = []
    ranges: dict[int, Any] = {}  # first line → (last line, content)
    gaps: dict[int, list[str]] = {}
    line = 0
    while line < len(rows):
        stop = draw(st.integers(line, min(line + 2, len(rows) - 1)))
        kind = draw(st.sampled_from(["keep", "set", "after", "before", "between"]))
        content = draw(NEW)
        if kind == "set":
            edits.append(put(refs[line], *content) if stop == line else span(refs[line], refs[stop], *content))
            ranges[line] = (stop, content)
        elif kind != "keep" and content and line not in gaps:
            if kind == "after" or (kind == "between" and line == len(rows) - 1):
                edits.append(after(refs[line], *content))
            elif kind == "before":
                edits.append(before(refs[line], *content))
            else:
                edits.append({"after": refs[line], "before": refs[line + 1], "inserted_lines": content})
            gaps.setdefault(line if kind == "before" else line + 1, []).extend(content)
        line = stop + 1
    return rows, draw(st.booleans()), edits, {"ranges": ranges, "gaps": gaps}


@given(valid_calls())
def test_a_call_does_what_a_naive_reading_of_it_says(call: Any) -> None:
    rows, final, edits, said = call
    data = b"".join(line + end for line, end in rows)
    if not final and rows[-1][0]:
        data = data[: -len(rows[-1][1])]
    expected: list[bytes] = []
    kept: list[tuple[int, int]] = []  # line before, line afterwards
    line = 0
    while line <= len(rows):
        expected += [new.encode() for new in said["gaps"].get(line, ())]
        if line in said["ranges"]:
            stop, content = said["ranges"][line]
            expected += [new.encode() for new in content]
            line = stop + 1
            continue
        if line < len(rows):
            kept.append((line, len(expected)))
            expected.append(rows[line][0])
        line += 1
    daemon = opened(data)
    reply = edit(daemon, *edits)
    result = daemon.files["f.txt"]
    if not reply["ok"]:
        assert reply["error"] == "no_op"
        assert result == data
        return
    vanishes = bool(expected) and not expected[-1] and not data.endswith(b"\n")  # a blank last line without a break
    if vanishes:
        expected.pop()
        kept = [(was, at) for was, at in kept if at < len(expected)]
    found = re.split(rb"\r\n|\n", result)
    ends = re.findall(rb"\r\n|\n", result)
    if found[-1] == b"" and len(ends) == len(found) - 1:
        found.pop()
    assert found == expected
    assert {rows[a][1] for a, _ in kept[:-1]} <= {*ends}
    for was, at in kept:
        if was < len(rows) - 1 and at < len(expected) - 1:
            assert ends[at] == rows[was][1], (was, at)
    assert vanishes or not result or result.endswith(b"\n") == data.endswith(b"\n")


@given(
    st.integers(1, 8), st.data(), st.integers(0, 3), st.sampled_from(["reject", "rebase"]), st.sampled_from(["a", "}"])
)
def test_a_line_is_changed_only_where_it_is_the_one_that_was_shown(
    length: int, data: st.DataObject, made: int, on_stale: str, twin: str
) -> None:
    """Another program replaces a region; a call then names one line. It lands on that line or nowhere."""
    base = [twin if twin == "}" else f"line {n}" for n in range(length)]
    start = data.draw(st.integers(0, length))
    stop = data.draw(st.integers(start, length))
    line = data.draw(st.integers(0, length - 1))
    theirs = [*base[:start], *(f"theirs {n}" for n in range(made)), *base[stop:]]
    daemon = opened("".join(f"{said}\n" for said in base))
    daemon.save("f.txt", "".join(f"{said}\n" for said in theirs))
    reply = edit(daemon, put(ref(line + 1, base[line]), "mine"), on_stale=on_stale)
    shift = made - (stop - start)
    if reply["ok"]:
        landed = reply["first_changed_line"] - 1
        assert daemon.read("f.txt") == "".join(f"{s}\n" for s in [*theirs[:landed], "mine", *theirs[landed + 1 :]])
        assert landed == line or on_stale == "rebase"
        if twin != "}":
            assert theirs[landed] == base[line]
    else:
        assert reply["error"] == "hash_mismatch"
        assert daemon.read("f.txt") == "".join(f"{said}\n" for said in theirs)
    if twin != "}":  # then it is plain what became of which line
        still = line < start or (line >= stop and not shift)
        followed = line + 1 < start or line > stop or (start == stop and not made)
        assert reply["ok"] == (still if on_stale == "reject" else followed)
