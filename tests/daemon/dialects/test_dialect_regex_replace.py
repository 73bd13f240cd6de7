"""`regex_replace`: what a regular expression matches, replaced. Searches run in this process here."""

from __future__ import annotations

from typing import Any

import pytest

from memory_daemon import MemoryDaemon, lines
from quire_daemon.config.settings import Limits, Settings, load
from quire_daemon.dialects.base import Sight
from quire_daemon.dialects.regex_replace import RegexParams, planning
from quire_daemon.tools.edit.regex_replace import REGEX_TOOL
from quire_daemon.workers.regex.job import Answer, NeedsSearch, Search, SearchFailure, TimedOut
from quire_journal.model.events import EditRefused
from quire_journal.text.text import Text


def sub(daemon: MemoryDaemon, pattern: str, replacement: str, **args: Any) -> dict[str, Any]:
    """A call on f.txt."""
    return daemon.ask("regex_replace", {"file": "f.txt", "pattern": pattern, "replacement": replacement, **args})


def refused(daemon: MemoryDaemon, reply: dict[str, Any], code: str) -> dict[str, Any]:
    """`reply` is a refusal with `code`."""
    assert (reply["ok"], reply["error"]) == (False, code)
    assert reply["message"]
    return reply


# ── the examples of seed 001 ──


def test_groups_are_used_in_the_replacement() -> None:
    daemon = MemoryDaemon({"f.txt": "def foo():\n    pass\ndef bar():\n    pass\n"})
    reply = sub(daemon, r"def (\w+)\(\):", r"def \1(self):")
    assert (reply["ok"], reply["replacements_made"], reply["operations_applied"]) == (True, 2, 1)
    assert reply["changed"]
    assert daemon.read("f.txt") == "def foo(self):\n    pass\ndef bar(self):\n    pass\n"


def test_the_end_of_a_line_is_an_end_and_count_ends_the_replacements() -> None:
    daemon = MemoryDaemon({"f.txt": "a TODO one\nb TODO two\nc\n"})
    assert sub(daemon, "TODO.*$", "DONE", count=1)["replacements_made"] == 1
    assert daemon.read("f.txt") == "a DONE\nb TODO two\nc\n"
    assert sub(daemon, "DONE$", "TODO", count=(1 << 64) - 1)["replacements_made"] == 1


def test_a_version_is_replaced_wherever_it_stands() -> None:
    daemon = MemoryDaemon({"f.txt": 'x = 1\nVERSION = "1.2.3"\n'})
    assert sub(daemon, 'VERSION = "[^"]+"', 'VERSION = "2.0.0"')["ok"]
    assert daemon.read("f.txt") == 'x = 1\nVERSION = "2.0.0"\n'


# ── what `re` can do ──


@pytest.mark.parametrize(
    ("before", "pattern", "replacement", "after", "made"),
    [
        ("a\nb\n", r"^(?=[ab])", "# ", "# a\n# b\n", 2),
        ("Foo foo\n", "(?i)foo", "bar", "bar bar\n", 2),
        ("a\nb\nc\n", r"(?s)a.*c", "x", "x\n", 1),
        ("a\nb\n", r"\Ab|b\Z", "x", "a\nb\n", 0),
        ("a b\n", r"(?P<one>\w) (?P<two>\w)", r"\g<two> \g<one>", "b a\n", 1),
        ("one\ntwo\nthree\n", "two\n", "", "one\nthree\n", 1),
        ("one two\n", " ", r"\n", "one\ntwo\n", 1),
        ("ab", "x*", "-", "-a-b-", 3),
        ("", "", "new", "new\n", 1),  # what is written into an empty file ends with a break
        ("", "^", r"a\nb", "a\nb\n", 1),
        ("a", "a", "b", "b", 1),
        ("ä€\N{GRINNING FACE}x\n", "x", "y", "ä€\N{GRINNING FACE}y\n", 1),
        ("a\x0cb\u2028c\n", r"^\w", "x", "x\x0cb\u2028c\n", 1),
    ],
)
def test_it_replaces_as_pythons_re_does(before: str, pattern: str, replacement: str, after: str, made: int) -> None:
    daemon = MemoryDaemon({"f.txt": before})
    reply = sub(daemon, pattern, replacement)
    assert daemon.read("f.txt") == after
    assert reply["replacements_made"] == made, reply


def test_line_ends_are_matched_as_lf_and_kept_as_they_are() -> None:
    daemon = MemoryDaemon({"f.txt": b"\xef\xbb\xbfone\r\ntwo\nthree\rfour"})
    assert sub(daemon, r"^(\w+)$", r"\1;")["replacements_made"] == 4
    assert daemon.files["f.txt"] == b"\xef\xbb\xbfone;\r\ntwo;\nthree;\rfour;"


def test_a_pattern_may_span_lines_of_any_style() -> None:
    daemon = MemoryDaemon({"f.txt": b"a\r\nb\r\nc\r\n"})
    assert sub(daemon, "a\\nb", "A\nB\nB2")["ok"]
    assert daemon.files["f.txt"] == b"A\r\nB\r\nB2\r\nc\r\n"
    assert sub(daemon, "B2\r\nc", "C")["ok"]
    assert daemon.files["f.txt"] == b"A\r\nB\r\nC\r\n"


def test_bytes_that_are_no_text_are_kept_in_a_group_too() -> None:
    daemon = MemoryDaemon({"f.txt": b"x = \xff\xfe;\n\xe9\n"})
    assert sub(daemon, "x = (.*);", r"y = [\1]")["ok"]
    assert daemon.files["f.txt"] == b"y = [\xff\xfe]\n\xe9\n"


def test_a_replacement_that_changes_nothing_is_a_success_that_says_so() -> None:
    daemon = MemoryDaemon({"f.txt": "a b a\n"})
    reply = sub(daemon, "a", "a")
    assert (reply["ok"], reply["replacements_made"], reply["unchanged"], reply["diff"]) == (True, 2, True, [])


def test_a_match_behind_the_final_break_makes_a_line_and_a_warning() -> None:
    daemon = MemoryDaemon({"f.txt": "a\nb\n"})
    reply = sub(daemon, "^", "# ")
    assert daemon.read("f.txt") == "# a\n# b\n# "
    assert [w["type"] for w in reply["warnings"]] == ["matched_behind_end"]


# ── refusals ──


@pytest.mark.parametrize(
    ("pattern", "replacement", "told"),
    [
        (r"foo(\d)", "bar$1", "$1"),
        (r"foo(?P<n>\d)", "${n}", "${n}"),
        (r"foo(\d)", "bar$!1", "$!1"),
        (r"foo\d", "<$&>", "$&"),
        (r"foo\d", "costs $1", ""),
        (r"foo(\d)", r"$\1", ""),
    ],
)
def test_a_group_in_the_words_of_another_language_is_text_and_told(pattern: str, replacement: str, told: str) -> None:
    daemon = MemoryDaemon({"f.txt": "foo1\n"})
    warned = [warning["message"] for warning in sub(daemon, pattern, replacement)["warnings"]]
    assert [message.split()[0] for message in warned] == ([told] if told else [])
    assert daemon.read("f.txt") == replacement.replace("\\1", "1") + "\n"


def test_a_nul_that_other_languages_take_for_the_match_is_told() -> None:
    daemon = MemoryDaemon({"f.txt": "foo1\n"})
    warned = [warning["type"] for warning in sub(daemon, "foo", r"<\0>")["warnings"]]
    assert (warned, daemon.read("f.txt")) == (["not_a_group", "binary"], "<\0>1\n")
    assert sub(MemoryDaemon({"f.txt": "foo1\n"}), "foo", r"\\0 \g<0>")["warnings"] == []


def test_a_class_in_the_words_of_posix_is_told_found_or_not() -> None:
    daemon = MemoryDaemon({"f.txt": "a1 d]\n"})
    assert "[:digit:] is no class" in sub(daemon, "x[[:digit:]]", "x")["message"]
    reply = sub(daemon, "[[:digit:]]", "x")
    assert ([warning["type"] for warning in reply["warnings"]], daemon.read("f.txt")) == (["not_a_class"], "a1 x\n")


@pytest.mark.parametrize(
    ("pattern", "said"), [(r"a\r\nb", "Every line end is matched as LF"), (r"foo(?<n>\d)", "named as in (?P<name>...)")]
)
def test_a_pattern_in_the_words_of_another_tool_is_told_how_it_is_said_here(pattern: str, said: str) -> None:
    assert said in sub(MemoryDaemon({"f.txt": b"a\r\nb\r\n"}), pattern, "x")["message"]


def test_a_pattern_that_matches_nothing_is_refused() -> None:
    daemon = MemoryDaemon({"f.txt": "abc\n"})
    assert refused(daemon, sub(daemon, r"ZZ\d+", "x"), "pattern_not_found")["replacements_made"] == 0
    refused(daemon, sub(daemon, "(a+)+$b", "x"), "pattern_not_found")
    assert daemon.read("f.txt") == "abc\n"


def test_a_bad_pattern_is_refused_with_the_place_of_the_fault() -> None:
    daemon = MemoryDaemon({"f.txt": "abc\n"})
    reply = refused(daemon, sub(daemon, "a(b", "x"), "invalid_regex")
    assert (reply["position"], reply["argument"], reply["path"]) == (1, "pattern", "f.txt")
    assert reply["replacements_made"] == 0
    assert "position 1" in reply["message"]


@pytest.mark.parametrize("replacement", [r"\3", r"\g<name>", "\\"])
def test_a_replacement_that_does_not_fit_is_refused(replacement: str) -> None:
    daemon = MemoryDaemon({"f.txt": "a\n"})
    assert refused(daemon, sub(daemon, "a", replacement), "invalid_replacement")["argument"] == "replacement"
    assert daemon.read("f.txt") == "a\n"


def test_what_a_lossy_read_shows_never_matches() -> None:
    daemon = MemoryDaemon({"f.txt": b"caf\xe9\n"})
    assert "U+FFFD" in refused(daemon, sub(daemon, "caf\ufffd", "tea"), "pattern_not_found")["message"]


@pytest.mark.parametrize(
    ("answer", "code", "fields"),
    [
        (TimedOut(2000), "regex_timeout", {"limit_ms": 2000, "suggested_action": "simplify_pattern"}),
        (SearchFailure("out of luck"), "regex_failed", {"suggested_action": "simplify_pattern"}),
    ],
)
def test_a_search_that_came_to_no_end_is_refused_and_journaled(
    answer: Answer, code: str, fields: dict[str, Any]
) -> None:
    daemon = MemoryDaemon({"f.txt": "a\n"})
    daemon.searches.run = lambda search: answer
    reply = refused(daemon, sub(daemon, "(a+)+$", "x"), code)
    assert {key: reply[key] for key in fields} == fields
    assert [event.code for event in daemon.events(EditRefused)] == [code]  # type: ignore[attr-defined]


def test_a_result_over_the_limit_of_editing_is_refused() -> None:
    daemon = MemoryDaemon({"f.txt": "aaaa\n"}, Settings(limits=Limits(edit_bytes=40)))
    reply = refused(daemon, sub(daemon, "a", "b" * 10), "file_too_large")
    assert (reply["sizeBytes"], reply["limit"]) == (41, 40)


@pytest.mark.parametrize(
    "args",
    [
        {"count": -1},
        {"count": "all"},
        {"count": True},
        {"count": 1.5},
        {"pattern": None},
        {"replacement": 5},
        {"flags": "i"},
        {"path": "g.txt"},
    ],
)
def test_bad_arguments_are_refused_and_named(args: dict[str, Any]) -> None:
    daemon = MemoryDaemon({"f.txt": "a\n", "g.txt": "a\n"})
    sent = {"file": "f.txt", "pattern": "a", "replacement": "b", **args}
    reply = refused(daemon, daemon.ask("regex_replace", sent), "schema_invalid")
    assert next(iter(args)) in reply["message"]
    assert (daemon.read("f.txt"), daemon.read("g.txt")) == ("a\n", "a\n")


@pytest.mark.parametrize("missing", ["file", "pattern", "replacement"])
def test_arguments_that_are_needed_are_named(missing: str) -> None:
    sent = {"file": "f.txt", "pattern": "a", "replacement": "b"}
    del sent[missing]
    daemon = MemoryDaemon({"f.txt": "a\n"})
    reply = refused(daemon, daemon.ask("regex_replace", sent), "schema_invalid")
    assert ("path" if missing == "file" else missing) in reply["message"]


@pytest.mark.parametrize(("path", "code"), [("d", "not_a_file"), ("gone.txt", "not_found"), ("b.bin", "binary_file")])
def test_what_is_no_text_file_is_not_searched(path: str, code: str) -> None:
    daemon = MemoryDaemon({"d/f.txt": "a\n", "b.bin": b"a\0"})
    daemon.searches.run = _never
    refused(daemon, daemon.ask("regex_replace", {"path": path, "pattern": "a", "replacement": "b"}), code)


def _never(search: Search) -> Answer:
    raise AssertionError("nothing is to be searched")


# ── what the caller knew ──


def test_a_change_by_others_is_only_told() -> None:
    daemon = MemoryDaemon({"f.txt": "one\ntwo\n"})
    daemon.ask("read_file", {"path": "f.txt"})
    daemon.save("f.txt", "one\n2\n")
    reply = sub(daemon, "one", "1")
    assert reply["ok"]
    assert reply["changed_since_your_read"]
    assert daemon.read("f.txt") == "1\n2\n"


def test_a_dry_run_searches_and_writes_nothing() -> None:
    daemon = MemoryDaemon({"f.txt": "a\n"})
    reply = sub(daemon, "a", "b", dry_run=True)
    assert (reply["ok"], reply["valid"], reply["replacements_made"]) == (True, True, 1)
    reply = sub(daemon, "(", "b", dry_run=True)
    assert (reply["valid"], reply["error"]) == (False, "invalid_regex")
    assert daemon.read("f.txt") == "a\n"


# ── a decision that needs a search ──


def test_a_decision_asks_for_the_search_that_it_needs_and_for_another_when_the_file_has_changed() -> None:
    daemon = MemoryDaemon()
    daemon.write("f.txt", lines("one"), daemon.ann)
    asked: list[Search] = []

    def search(one: Search) -> Answer:
        asked.append(one)
        return TimedOut(1)

    daemon.searches.run = search
    call = {"path": "f.txt", "pattern": "o", "replacement": "0"}
    daemon.call(REGEX_TOOL, daemon.ann, **call)
    daemon.call(REGEX_TOOL, daemon.ann, **call)
    daemon.outside("f.txt", lines("two"))
    daemon.call(REGEX_TOOL, daemon.ann, **call)
    assert asked[0] == asked[1] != asked[2]
    assert hash(asked[0]) == hash(asked[1])


def test_an_answer_to_another_search_is_no_answer() -> None:
    params = RegexParams(path="f.txt", pattern="o", replacement="0")
    settings = Settings()
    other = Search("o", "0", 0, b"another\n", settings.limits.edit_bytes)
    with pytest.raises(NeedsSearch) as needs:
        planning({other: TimedOut(1)})(params, Sight(Text.of(b"one\r\n")), settings)
    assert needs.value.search == Search("o", "0", 0, b"one\n", settings.limits.edit_bytes)


def test_a_workspace_can_shorten_the_limit_and_not_lengthen_it() -> None:
    assert load("[limits]\nregex_ms = 100\n", None).limits.regex_ms == 100
    assert load("[limits]\nregex_ms = 100000\n", None).limits == Limits()


def test_under_rebase_a_pattern_may_name_what_came_after_the_callers_base() -> None:
    daemon = MemoryDaemon({"f.txt": "count 0\n"})
    daemon.ask("read_file", {"path": "f.txt"})
    added = {"file": "f.txt", "line_number": -1, "text": "news 1"}
    assert daemon.ask("insert_lines", added, by="ben")["ok"]
    args = {"file": "f.txt", "pattern": r"news \d", "replacement": "old", "on_stale": "rebase"}
    assert daemon.ask("regex_replace", args)["ok"]
    assert daemon.read("f.txt") == "count 0\nold\n"
