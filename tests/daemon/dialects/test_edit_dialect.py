"""The `edit` dialect: what operations mean for one text, given what the caller was shown."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from quire_daemon.config.settings import Dialects, EditDialect, Settings
from quire_daemon.dialects.base import Plan, Sight
from quire_daemon.dialects.edit import EditParams, plan
from quire_journal.model.refusals import Refusal
from quire_journal.text.line_hash import LineHashes, hash8
from quire_journal.text.splice import apply
from quire_journal.text.text import Text

FIVE = "one 1\ntwo 2\nthree 3\nfour 4\nfive 5\n"


def h(line: str, digits: int = 6) -> str:
    """The hash of a line."""
    return hash8(line.encode())[:digits]


def planned(
    text: str, *operations: dict[str, Any], shown: tuple[tuple[int, int], ...] | None = None, **settings: str
) -> Plan:
    """The plan for these operations."""
    params = msgspec.convert({"path": "f", "operations": list(operations)}, EditParams)
    chosen = Settings(dialects=Dialects(edit=EditDialect(**settings)))
    return plan(params, Sight(Text.of(text.encode()), shown), chosen)


def result(text: str, *operations: dict[str, Any], **more: Any) -> str:
    """The text after these operations."""
    made = planned(text, *operations, **more)
    return apply(Text.of(text.encode()), made.splices, made.final_break).data.decode()


def refusal(text: str, *operations: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The reply that refuses these operations."""
    with pytest.raises(Refusal) as caught:
        planned(text, *operations, **more)
    return caught.value.reply()


# ── the six operations ──


def test_replace_line_replaces_one_line_and_no_other() -> None:
    op = {"op": "replace_line", "hash": h("three 3"), "content": "  return x + 1;"}
    assert result(FIVE, op) == "one 1\ntwo 2\n  return x + 1;\nfour 4\nfive 5\n"


def test_replace_range_replaces_both_ends_and_what_is_between() -> None:
    op = {"op": "replace_range", "start_hash": h("two 2"), "end_hash": h("four 4"), "content": "A\nB\nC\nD"}
    assert result(FIVE, op) == "one 1\nA\nB\nC\nD\nfive 5\n"


def test_insert_after_puts_lines_behind() -> None:
    op = {"op": "insert_after", "hash": h("four 4"), "content": "a\nb"}
    assert result(FIVE, op) == "one 1\ntwo 2\nthree 3\nfour 4\na\nb\nfive 5\n"


def test_insert_before_puts_a_new_first_line() -> None:
    op = {"op": "insert_before", "hash": h("one 1"), "content": "// Copyright 2024\n"}
    assert result(FIVE, op) == "// Copyright 2024\n" + FIVE


def test_delete_line_removes_one_line() -> None:
    assert result(FIVE, {"op": "delete_line", "hash": h("three 3")}) == "one 1\ntwo 2\nfour 4\nfive 5\n"


def test_delete_range_removes_both_ends_and_what_is_between() -> None:
    op = {"op": "delete_range", "start_hash": h("two 2"), "end_hash": h("four 4")}
    assert result(FIVE, op) == "one 1\nfive 5\n"


def test_empty_content_is_one_blank_line() -> None:
    assert result("a b\n", {"op": "replace_line", "hash": h("a b"), "content": ""}) == "\n"


# ── anchors ──


@pytest.mark.parametrize("digits", [4, 5, 6, 7, 8])
def test_an_anchor_has_four_to_eight_digits(digits: int) -> None:
    op = {"op": "delete_line", "hash": h("two 2", digits)}
    assert result(FIVE, op) == "one 1\nthree 3\nfour 4\nfive 5\n"


def test_capital_digits_are_the_same() -> None:
    assert result(FIVE, {"op": "delete_line", "hash": h("two 2").upper()}).startswith("one 1\nthree")


def test_a_whole_anchor_brings_its_line_number_as_a_hint() -> None:
    op = {"op": "replace_line", "hash": f"3#{h('same')}", "content": "X"}
    assert result("same\nb c\nsame\n", op) == "same\nb c\nX\n"


@pytest.mark.parametrize(
    "anchor", ["", "abc", "xyz123", "123456789", "0#c812f1", f"{'1' * 12}#c812f1", "c812f1 [high]"]
)
def test_what_is_no_anchor_is_refused_as_one_that_names_nothing(anchor: str) -> None:
    reply = refusal(FIVE, {"op": "delete_line", "hash": anchor})
    assert reply["error"] == "anchor_stale"
    assert "4 to 8 hex digits" in reply["message"]


def test_an_unknown_hash_is_refused_and_named() -> None:
    reply = refusal(FIVE, {"op": "replace_line", "hash": "abcdef", "content": "x"})
    assert (reply["error"], reply["suggested_action"], reply["reason"]) == ("anchor_stale", "re-read_file", "missing")
    assert "abcdef" in reply["message"]
    assert reply["missing"] == ["abcdef"]


def test_a_context_anchor_names_one_of_equal_lines() -> None:
    text = "head\nsame\nmid\nsame\ntail\n"
    context = LineHashes.of(Text.of(text.encode())).context(3)
    assert result(text, {"op": "replace_line", "hash": context, "content": "X"}) == "head\nsame\nmid\nX\ntail\n"


def test_the_one_line_that_was_shown_is_meant() -> None:
    op = {"op": "replace_line", "hash": h("same"), "content": "X"}
    assert result("head\nsame\nmid\nsame\n", op, shown=((2, 4),)) == "head\nsame\nmid\nX\n"


def test_lines_that_collide_in_six_digits_are_told_apart_by_eight_or_by_what_was_shown() -> None:
    one, other = "x = 272", "x = 2457"
    text = f"{one}\nmid\n{other}\n"
    assert h(one) == h(other)
    assert h(one, 8) != h(other, 8)
    assert result(text, {"op": "delete_line", "hash": h(other, 8)}) == f"{one}\nmid\n"
    assert result(text, {"op": "delete_line", "hash": h(one)}, shown=((2, 3),)) == f"{one}\nmid\n"
    reply = refusal(text, {"op": "delete_line", "hash": h(one)})
    assert reply["error"] == "anchor_ambiguous"
    assert [c["anchor"] for c in reply["candidates"]] == [f"1#{h(one, 8)}", f"3#{h(other, 8)}"]


def test_several_lines_that_context_tells_apart_are_ambiguous() -> None:
    reply = refusal("foo\nbar\nfoo\n", {"op": "replace_line", "hash": h("foo"), "content": "X"})
    assert reply["error"] == "anchor_ambiguous"
    assert [c["line"] for c in reply["candidates"]] == [1, 3]
    assert [c["occurrence"] for c in reply["candidates"]] == [1, 2]
    assert reply["candidates"][0]["preview"] == "foo"


def test_every_candidate_comes_with_an_anchor_that_works() -> None:
    text = "foo\nbar\nfoo\n"
    reply = refusal(text, {"op": "delete_line", "hash": h("foo")})
    anchors = [c["anchor"] for c in reply["candidates"]]
    assert [result(text, {"op": "delete_line", "hash": a}) for a in anchors] == ["bar\nfoo\n", "foo\nbar\n"]
    bare = [a.split("#")[1] for a in anchors]
    assert [result(text, {"op": "delete_line", "hash": a}) for a in bare] == ["bar\nfoo\n", "foo\nbar\n"]


def test_lines_that_nothing_tells_apart_are_listed_with_previews() -> None:
    reply = refusal("x = 1\n" * 5, {"op": "delete_line", "hash": h("x = 1")})
    assert reply["error"] == "anchor_context_ambiguous"
    assert [c["preview"] for c in reply["candidates"]] == ["x = 1"] * 5


# ── occurrence and line ──


def test_occurrence_counts_the_lines_that_match() -> None:
    text = "a 1\n\nb 2\nc 3\n\nd 4\n\n"
    third = result(text, {"op": "replace_line", "hash": "d41d", "occurrence": 3, "content": "X"})
    assert third == "a 1\n\nb 2\nc 3\n\nd 4\nX\n"
    assert result(text, {"op": "delete_line", "hash": "d41d", "occurrence": 1}) == "a 1\nb 2\nc 3\n\nd 4\n\n"


def test_occurrence_chooses_among_one_too() -> None:
    assert result("a 1\n}\n", {"op": "delete_line", "hash": h("}"), "occurrence": 1}) == "a 1\n"


@pytest.mark.parametrize("occurrence", [0, -1, 3])
def test_an_occurrence_that_is_not_there_is_ambiguous(occurrence: int) -> None:
    reply = refusal("a b\nc\na b\n", {"op": "delete_line", "hash": h("a b"), "occurrence": occurrence})
    assert reply["error"] == "anchor_ambiguous"
    assert len(reply["candidates"]) == 2


@pytest.mark.parametrize(("line", "wanted"), [(1, 0), (3, 2), (99, 4), (4, None), (2, None)])
def test_a_line_number_chooses_that_line_or_the_nearest(line: int, wanted: int | None) -> None:
    text = "same\nb 1\nsame\nc 2\nsame\n"
    op = {"op": "replace_line", "hash": h("same"), "line": line, "content": "X"}
    if wanted is None:
        assert refusal(text, op)["error"] == "anchor_context_ambiguous"
    else:
        lines = text.splitlines()
        lines[wanted] = "X"
        assert result(text, op) == "\n".join(lines) + "\n"


def test_a_line_number_between_two_matches_lists_all_matches_with_their_occurrences() -> None:
    text = "same\nb 1\nsame\nc 2\nsame\nd 3\nsame\n"
    op = {"op": "replace_line", "hash": h("same"), "content": "X"}
    reply = refusal(text, {**op, "line": 4}, shown=((2, 7),))
    assert [(c["line"], c["occurrence"]) for c in reply["candidates"]] == [(3, 2), (5, 3), (7, 4)]
    assert result(text, {**op, "occurrence": 3}, shown=((2, 7),)).splitlines()[4] == "X"


def test_a_line_number_that_contradicts_the_occurrence_is_refused() -> None:
    op = {"op": "delete_line", "hash": h("same"), "occurrence": 1, "line": 3}
    assert refusal("same\nb 1\nsame\n", op)["error"] == "anchor_context_ambiguous"


# ── poor anchors ──


@pytest.mark.parametrize("op", ["replace_line", "insert_after", "insert_before", "delete_line"])
def test_a_line_of_punctuation_is_no_anchor(op: str) -> None:
    content = {} if op == "delete_line" else {"content": "x"}
    reply = refusal("alpha = 1\n},\nbeta = 2\n", {"op": op, "hash": h("},"), **content})
    assert (reply["error"], reply["line"], reply["content"]) == ("anchor_low_entropy", 2, "},")
    assert reply["neighbor_anchors"] == [f"1#{h('alpha = 1')}", f"3#{h('beta = 2')}"]
    assert reply["suggested_action"] == "use_neighbor_anchor"


def test_neighbours_are_high_unique_and_within_three_lines() -> None:
    text = "far 0\na 1\ndup\ndup\n}\n(\nb 2\n\nc 9\n"
    reply = refusal(text, {"op": "delete_line", "hash": h("}")})
    assert reply["neighbor_anchors"] == [f"2#{h('a 1')}", f"7#{h('b 2')}"]


def test_a_setting_lets_a_poor_line_pass_that_is_unique() -> None:
    op = {"op": "delete_line", "hash": h("}")}
    assert result("a 1\n}\n", op, low_entropy="allow_unique") == "a 1\n"
    assert refusal("}\na 1\n}\n", op, low_entropy="allow_unique")["error"] == "anchor_low_entropy"


# ── ranges ──


def test_an_end_of_a_range_may_be_poor() -> None:
    op = {"op": "delete_range", "start_hash": h("a 1"), "end_hash": h("}")}
    assert result("a 1\nb 2\n}\nc 3\n", op) == "c 3\n"


@pytest.mark.parametrize(("start", "end", "name"), [("same", "end 9", "start_hash"), ("begin 9", "same", "end_hash")])
def test_an_end_that_is_ambiguous_is_named(start: str, end: str, name: str) -> None:
    text = "begin 9\nsame\nmid\nsame\nend 9\n"
    op = {"op": "replace_range", "start_hash": h(start), "end_hash": h(end), "content": "x"}
    reply = refusal(text, op)
    assert (reply["error"], reply["anchor"]) == ("anchor_context_ambiguous", name)
    assert [c["line"] for c in reply["candidates"]] == [2, 4]


def test_an_end_whose_line_number_is_between_two_that_match_lists_all_that_do() -> None:
    op = {"op": "delete_range", "start_hash": h("same"), "start_line": 4, "end_hash": h("end 9")}
    reply = refusal("same\nb 1\nsame\nc 2\nsame\nend 9\n", op)
    assert reply["anchor"] == "start_hash"
    assert [(c["line"], c["occurrence"]) for c in reply["candidates"]] == [(1, 1), (3, 2), (5, 3)]


def test_line_numbers_choose_the_ends_of_a_range() -> None:
    text = "begin 9\nsame\nmid\nsame\nend 9\n"
    op = {"op": "delete_range", "start_hash": h("same"), "start_line": 4, "end_hash": h("end 9")}
    assert result(text, op) == "begin 9\nsame\nmid\n"


def test_a_setting_lets_one_end_draw_the_other_to_its_nearest() -> None:
    text = "begin 9\nsame\nmid 1\nsame\nend 9\n"
    op = {"op": "delete_range", "start_hash": h("begin 9"), "end_hash": h("same")}
    assert result(text, op, range_ends="nearest") == "mid 1\nsame\nend 9\n"
    op = {"op": "delete_range", "start_hash": h("same"), "end_hash": h("end 9")}
    assert result(text, op, range_ends="nearest") == "begin 9\nsame\nmid 1\n"


def test_a_reversed_range_is_swapped_and_that_is_said() -> None:
    text = "".join(f"line {n}\n" for n in range(1, 801))
    op = {"op": "delete_range", "start_hash": h("line 791"), "end_hash": h("line 17")}
    made = planned(text, op)
    assert (made.splices[0].start, made.splices[0].stop) == (16, 791)
    detail = "start_line (791) was after end_line (17). Swapped automatically."
    assert made.fields["auto_corrections"] == [{"type": "range_order_swapped", "detail": detail}]


def test_a_setting_refuses_a_reversed_range() -> None:
    op = {"op": "delete_range", "start_hash": h("four 4"), "end_hash": h("two 2")}
    reply = refusal(FIVE, op, range_order="strict")
    assert (reply["error"], reply["start_line"], reply["end_line"]) == ("invalid_range_order", 4, 2)


def test_a_range_of_one_line_is_a_no_op_range() -> None:
    op = {"op": "replace_range", "start_hash": h("two 2"), "end_hash": h("two 2"), "content": "x"}
    reply = refusal(FIVE, op)
    assert reply["error"] == "invalid_range_order"
    assert "start equals end" in reply["message"]


# ── batches ──


def test_operations_do_not_see_each_other() -> None:
    ops = (
        {"op": "delete_line", "hash": h("two 2")},
        {"op": "insert_after", "hash": h("four 4"), "content": "new"},
        {"op": "replace_line", "hash": h("one 1"), "content": "two 2"},
    )
    assert result(FIVE, *ops) == "two 2\nthree 3\nfour 4\nnew\nfive 5\n"


def test_insertions_at_one_gap_keep_the_order_of_the_call() -> None:
    ops = (
        {"op": "insert_before", "hash": h("two 2"), "content": "a"},
        {"op": "insert_after", "hash": h("one 1"), "content": "b"},
        {"op": "replace_line", "hash": h("two 2"), "content": "X"},
        {"op": "insert_after", "hash": h("two 2"), "content": "c"},
    )
    assert result(FIVE, *ops) == "one 1\na\nb\nX\nc\nthree 3\nfour 4\nfive 5\n"


@pytest.mark.parametrize(
    "second",
    [
        {"op": "delete_line", "hash": h("three 3")},
        {"op": "insert_after", "hash": h("two 2"), "content": "x"},
        {"op": "delete_range", "start_hash": h("four 4"), "end_hash": h("five 5")},
    ],
)
def test_operations_that_touch_one_line_overlap(second: dict[str, Any]) -> None:
    first = {"op": "replace_range", "start_hash": h("two 2"), "end_hash": h("four 4"), "content": "x"}
    reply = refusal(FIVE, first, second)
    assert (reply["error"], reply["operation_indices"]) == ("overlapping_operations", [0, 1])


def test_insertions_at_the_edges_of_a_range_do_not_overlap_it() -> None:
    ops = (
        {"op": "delete_range", "start_hash": h("two 2"), "end_hash": h("four 4")},
        {"op": "insert_before", "hash": h("two 2"), "content": "a"},
        {"op": "insert_after", "hash": h("four 4"), "content": "b"},
    )
    assert result(FIVE, *ops) == "one 1\na\nb\nfive 5\n"


def test_no_operation_is_refused() -> None:
    reply = refusal(FIVE)
    assert (reply["error"], reply["suggested_action"]) == ("empty_operations", "provide_at_least_one_operation")


def test_all_failures_are_listed_and_the_stale_ones_lead() -> None:
    reply = refusal(
        "a b\n}\na b\n",
        {"op": "delete_line", "hash": h("}")},
        {"op": "delete_line", "hash": h("a b")},
        {"op": "delete_line", "hash": "abcdef"},
    )
    assert (reply["error"], reply["missing"]) == ("anchor_stale", ["abcdef"])
    assert "abcdef" in reply["message"]
    assert [(f["operation_index"], f["error"]) for f in reply["failures"]] == [
        (0, "anchor_low_entropy"),
        (1, "anchor_ambiguous"),
        (2, "anchor_stale"),
    ]
    without_stale = refusal(
        "a b\n}\na b\n", {"op": "delete_line", "hash": h("}")}, {"op": "delete_line", "hash": h("a b")}
    )
    assert without_stale["error"] == "anchor_ambiguous"


def test_an_empty_file_has_no_anchors() -> None:
    reply = refusal("", {"op": "insert_after", "hash": "d41d8c", "content": "x"})
    assert (reply["error"], reply["suggested_action"]) == ("anchor_stale", "write_file")


# ── arguments ──


@pytest.mark.parametrize(
    ("args", "named"),
    [
        ({"operations": []}, "path"),
        ({"path": "f"}, "operations"),
        ({"path": "f", "operations": [], "extra": 1}, "extra"),
        ({"path": 3, "operations": []}, "path"),
        ({"path": "f", "operations": [{"op": "replace_line", "start_hash": "abcd", "content": "x"}]}, "start_hash"),
        ({"path": "f", "operations": [{"op": "delete_range", "hash": "abcd"}]}, "hash"),
        ({"path": "f", "operations": [{"op": "replace_line", "hash": "abcd"}]}, "content"),
        ({"path": "f", "operations": [{"op": "swap", "hash": "abcd"}]}, "op"),
        ({"path": "f", "operations": [{"hash": "abcd"}]}, "op"),
        ({"path": "f", "operations": [{"op": "delete_line", "hash": "abcd", "occurrence": "2"}]}, "occurrence"),
        (
            {"path": "f", "operations": [{"op": "delete_range", "start_hash": "a", "end_hash": "b", "occurrence": 1}]},
            "occurrence",
        ),
    ],
)
def test_arguments_of_the_wrong_shape_are_named(args: dict[str, Any], named: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=named):
        msgspec.convert(args, EditParams)
