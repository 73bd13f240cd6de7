"""`log` and `since`: which records are listed, page by page, and that no call looks at too many."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from desk import Desk, lines

from quire_daemon.handlers.log import LOG_TOOL, MOST_UNDONE, SINCE_TOOL, LogParams
from quire_daemon.handlers.log_pages import MOST_PATHS, RECORD_WORK, WORK
from quire_daemon.handlers.undo import REDO_TOOL, ROLLBACK_TOOL, UNDO_TOOL
from quire_journal.events import (
    CaptureFailed,
    CheckpointNamed,
    EditRefused,
    OutsideWritten,
    ReadServed,
    WorkspaceScanned,
    WritesAbandoned,
)
from quire_journal.ids import disk_path, journal_path


def seqs(reply: dict[str, Any]) -> list[int]:
    """What was listed."""
    return [record["seq"] for record in reply["records"]]


def busy_desk() -> tuple[Desk, dict[str, int]]:
    """Two files, two writers and another program; the batches by name."""
    desk = Desk()
    made = {
        "first": desk.outside("src/a.py", lines("a = 1")),
        "ann": desk.write("src/a.py", lines("a = 2"), desk.ann),
        "ben": desk.write("docs/b.md", lines("words"), desk.ben),
        "read": desk.note(ReadServed("src/a.py", 4, ((0, 1),)), who=desk.ann),
        "named": desk.note(CheckpointNamed("here", 5), who=desk.ann),
        "moved": desk.move("docs/b.md", "src/c.md", desk.ben),
    }
    return desk, made


def test_log_shows_file_changes_and_checkpoints_newest_first() -> None:
    desk, made = busy_desk()
    reply = desk.call(LOG_TOOL, desk.ann)
    assert seqs(reply) == [made[name] for name in ("moved", "named", "ben", "ann", "first")]
    assert reply["next"] is None


def test_log_says_that_the_first_capture_is_not_over() -> None:
    desk = Desk()
    assert desk.call(LOG_TOOL, desk.ann, path="a.txt")["capturing"] is True
    desk.note(WorkspaceScanned("start", 0, 0))
    assert "capturing" not in desk.call(LOG_TOOL, desk.ann, path="a.txt")


def test_a_record_is_shown_with_who_what_and_from_which_base() -> None:
    desk, made = busy_desk()
    (record,) = desk.call(LOG_TOOL, desk.ann, path="src/a.py", limit=1)["records"]
    assert record["version"] == f"v{made['ann']}"
    assert record["base"] == f"v{made['first']}"
    assert (record["kind"], record["path"], record["batch"]) == ("file_written", "src/a.py", made["ann"])
    assert (record["writer"]["agent"], record["writer"]["type"]) == ("ann", "edit")
    assert len(record["sha256"]) == 64
    assert record["at"].endswith("Z")


def test_a_change_that_takes_others_back_says_so() -> None:
    """An undo, its redo and a rollback; an edit says nothing of the kind. Many batches are counted, not listed."""
    desk = Desk()
    edits = [desk.write("a.py", lines(f"a = {n}"), desk.ann) for n in range(MOST_UNDONE + 5)]
    undone = desk.call(UNDO_TOOL, desk.ann)["batch"]
    redone = desk.call(REDO_TOOL, desk.ann)["batch"]
    rolled = desk.call(ROLLBACK_TOOL, desk.ann, to=f"v{edits[0]}", writer="ann")
    listed = {r["batch"]: r for r in desk.call(LOG_TOOL, desk.ann)["records"]}
    assert (listed[undone]["kind"], listed[undone]["how"], [*listed[undone]["undone"]]) == (
        "file_written",
        "undo",
        [edits[-1]],
    )
    assert (listed[redone]["how"], [*listed[redone]["undone"]]) == ("redo", [undone])
    last = listed[rolled["batch"]]
    assert (last["how"], len(last["undone"]), last["undone_more"]) == (
        "rollback",
        MOST_UNDONE,
        len(rolled["batches"]) - MOST_UNDONE,
    )
    assert "how" not in listed[edits[3]]


def test_a_kind_that_is_named_is_shown_and_an_unknown_one_refused() -> None:
    desk, made = busy_desk()
    assert seqs(desk.call(LOG_TOOL, desk.ann, kind="read_served")) == [made["read"]]
    assert seqs(desk.call(LOG_TOOL, desk.ann, kind=["file_moved", "checkpoint_named"])) == [
        made["moved"],
        made["named"],
    ]
    assert desk.call(LOG_TOOL, desk.ann, kind="file_painted")["error"] == "schema_invalid"


@pytest.mark.parametrize("glob", ["[z-a]*", "*\\"])
def test_a_glob_that_is_none_is_refused_with_the_reason(glob: str) -> None:
    desk, _ = busy_desk()
    refused = desk.call(LOG_TOOL, desk.ann, path=glob)
    assert refused["error"] == "schema_invalid"
    assert repr(glob) in refused["message"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("src/a.py", ["ann", "first"]),
        ("./src/a.py", ["ann", "first"]),
        ("src", ["moved", "ann", "first"]),
        ("*.md", ["moved", "ben"]),
        ("./*.md", ["moved", "ben"]),
        ("src/../*.md", ["moved", "ben"]),
        ("src/**/*.py", ["ann", "first"]),
        ("./src//*.py", ["ann", "first"]),
        ("docs/../src/*.py", ["ann", "first"]),
        ("*/../src", ["moved", "ann", "first"]),
        ("docs/b.md", ["moved", "ben"]),
        ("src/c.md", ["moved"]),
        ("nowhere", []),
    ],
)
def test_a_path_is_a_file_a_folder_or_a_glob(path: str, expected: list[str]) -> None:
    desk, made = busy_desk()
    assert seqs(desk.call(LOG_TOOL, desk.ann, path=path)) == [made[name] for name in expected]


@pytest.mark.parametrize(
    "path", ["/anywhere/src/a.py", "..", "../src/a.py", "src/../../src/a.py", "../*.py", "src/../../*.py"]
)
def test_what_is_elsewhere_is_refused_even_when_it_is_called_like_a_file_of_ours(path: str) -> None:
    desk, _ = busy_desk()
    assert desk.call(LOG_TOOL, desk.ann, path=path)["error"] == "outside_workspace"
    assert desk.call(SINCE_TOOL, desk.ann, cursor="seq:1", path=path)["error"] == "outside_workspace"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("p/[id].tsx", ["p/[id].tsx"]),
        ("./p/[id].tsx", ["p/[id].tsx"]),
        ("p/[i]d.tsx", []),
        ("p/[i].tsx", ["p/i.tsx"]),
        ("[slug]", ["[slug]/x"]),
        ("[slug]/", ["[slug]/x"]),
        ("[slug]/*", ["s/x"]),
        ("a*b", ["a*b"]),
        ("a*", ["a*b", "axb"]),
    ],
)
def test_a_name_with_the_signs_of_a_glob_that_the_journal_knows_is_that_file_or_folder(
    path: str, expected: list[str]
) -> None:
    desk = Desk()
    for name in ("p/[id].tsx", "p/i.tsx", "[slug]/x", "s/x", "a*b", "axb"):
        desk.outside(name, lines("x"))
    listed = desk.call(LOG_TOOL, desk.ann, path=path, order="oldest")["records"]
    assert [record["path"] for record in listed] == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("d/%FF.txt", ["d/\udcff.txt"]),
        ("./d/%FF.txt", ["d/\udcff.txt"]),
        ("d", ["d/\udcff.txt", "d/plain"]),
        ("d/*.txt", ["d/\udcff.txt"]),
        ("*.txt", ["d/\udcff.txt", "ö x/\udcfe.txt"]),
        ("ö x", ["ö x/\udcfe.txt", "ö x/%41"]),
        ("ö x/%41", ["ö x/%41"]),
        ("ö x/A", []),
        ("d/%FE.txt", []),
    ],
)
def test_a_name_that_is_not_utf_8_is_found_as_replies_show_it(path: str, expected: list[str]) -> None:
    desk = Desk()
    for name in ("d/\udcff.txt", "d/plain", "ö x/\udcfe.txt", "ö x/%41"):
        desk.outside(journal_path(name), lines("x"))
    listed = desk.call(LOG_TOOL, desk.ann, path=path, order="oldest")["records"]
    assert [disk_path(record["path"]) for record in listed] == expected


def test_news_are_waited_for_not_backwards() -> None:
    desk, _ = busy_desk()
    with pytest.raises(msgspec.ValidationError, match="`wait_ms` must not be negative"):
        desk.call(SINCE_TOOL, desk.ann, wait_ms=-1)


@pytest.mark.parametrize(
    ("writer", "expected"),
    [
        ("ann", ["named", "ann"]),
        ("ann/s1", ["named", "ann"]),
        ("ann/s2", []),
        ("w2", ["moved", "ben"]),
        ("outside", ["first"]),
        ("user", ["user"]),
        ("nobody", []),
        ("w99", []),
    ],
)
def test_a_writer_is_called_as_it_is_shown_or_by_its_id(writer: str, expected: list[str]) -> None:
    desk, made = busy_desk()
    made["user"] = desk.write("d.md", lines("mine"), desk.introduce("", ""))
    assert seqs(desk.call(LOG_TOOL, desk.ann, writer=writer)) == [made[name] for name in expected]


@pytest.mark.parametrize(
    ("writer", "said"),
    [
        ("an", "Nobody in the journal is called 'an'. Did you mean ann?"),
        ("Ben/s2", "Nobody in the journal is called 'Ben/s2'. Did you mean ben/s2?"),
        ("nobody", "Nobody in the journal is called 'nobody'."),
        ("w99", "There is no writer w99 in the journal."),
        ("outsid", "Nobody in the journal is called 'outsid'. Did you mean outside?"),
        ("w1", ""),
        ("eve", ""),
        ("user", ""),
        ("outside", ""),
    ],
)
def test_a_name_that_nobody_has_is_told_from_somebody_who_did_nothing(writer: str, said: str) -> None:
    desk, _ = busy_desk()
    eve = desk.introduce("eve", "s3")
    desk.note(EditRefused("edit", "a", "not_found", ""), who=eve)
    for tool, asked in ((LOG_TOOL, {}), (SINCE_TOOL, {}), (SINCE_TOOL, {"cursor": "seq:0"})):
        reply = desk.call(tool, desk.ann, writer=writer, path="z", **asked)
        warned = [{"type": "unknown_writer", "message": said}] if said else []
        assert (reply["ok"], reply["records"], reply.get("warnings", [])) == (True, [], warned)
    refused = [desk.call(tool, desk.ann, writer=writer, path="z") for tool in (UNDO_TOOL, REDO_TOOL)]
    refused.append(desk.call(ROLLBACK_TOOL, desk.ann, writer=writer, path="z", to="seq:1"))
    assert {(reply["error"], reply["message"].startswith(said or "No")) for reply in refused} == {("not_found", True)}


def test_points_cut_the_log() -> None:
    desk, made = busy_desk()
    reply = desk.call(LOG_TOOL, desk.ann, since=f"v{made['first']}", until="here", order="oldest")
    assert seqs(reply) == [made["ann"], made["ben"]]


def test_contains_looks_into_the_bytes_of_versions() -> None:
    desk, made = busy_desk()
    assert seqs(desk.call(LOG_TOOL, desk.ann, contains="a = ")) == [made["ann"], made["first"]]
    assert seqs(desk.call(LOG_TOOL, desk.ann, contains="words", path="docs/b.md")) == [made["moved"], made["ben"]]


@pytest.mark.parametrize("order", ["newest", "oldest"])
@pytest.mark.parametrize("path", ["", "f.txt"])
def test_pages_join_to_the_whole_in_both_orders(order: str, path: str) -> None:
    desk = Desk()
    made = [desk.write("f.txt", lines(str(n)), desk.ann) for n in range(7)]
    found: list[int] = []
    cursor = None
    while True:
        reply = desk.call(LOG_TOOL, desk.ann, limit=3, order=order, path=path, cursor=cursor)
        found += seqs(reply)
        cursor = reply["next"]
        if cursor is None:
            break
    assert found == (made[::-1] if order == "newest" else made)


def test_one_call_looks_at_a_bounded_number_of_records_and_the_next_goes_on() -> None:
    desk = Desk()
    wanted = desk.note(EditRefused("edit", "rare.txt", "stale_base"), who=desk.ann)
    desk.note(*[EditRefused("edit", "f.txt", "stale_base")] * int(WORK / RECORD_WORK), who=desk.ann)
    first = desk.call(LOG_TOOL, desk.ann, path="rare.txt", kind="edit_refused")
    assert seqs(first) == []
    assert seqs(desk.call(LOG_TOOL, desk.ann, path="rare.txt", kind="edit_refused", cursor=first["next"])) == [wanted]


def test_a_write_that_did_not_happen_says_so() -> None:
    desk = Desk()
    desk.note(WritesAbandoned((desk.write("f.txt", lines("x"), desk.ann),), "swap"), who=desk.ann)
    (record,) = desk.call(LOG_TOOL, desk.ann)["records"]
    assert record["abandoned"]
    assert seqs(desk.call(LOG_TOOL, desk.ann, path="f.txt")) in ([], [record["seq"]])


@pytest.mark.parametrize("wrong", [{"limit": 0}, {"limit": 1001}, {"cursor": "x"}])
def test_arguments_out_of_range_are_refused_by_name(wrong: dict[str, Any]) -> None:
    desk = Desk()
    refused = desk.call(LOG_TOOL, desk.ann, **wrong)
    assert refused["error"] == "schema_invalid"
    assert refused["argument"] in wrong


def test_a_log_cursor_of_another_journal_is_refused() -> None:
    desk, _ = busy_desk()
    assert desk.call(LOG_TOOL, desk.ann, cursor="c1.abc")["error"] == "schema_invalid"


# ── since ────────────────────────────────────────────────────────────────────


def test_since_without_a_cursor_answers_the_cursor_of_now() -> None:
    desk, _ = busy_desk()
    now = desk.call(SINCE_TOOL, desk.ann)
    assert (now["records"], now["more"], now["fresh"]) == ([], False, False)
    later = desk.write("src/a.py", lines("a = 3"), desk.ben)
    desk.note(WorkspaceScanned("periodic", 2, 0))
    reply = desk.call(SINCE_TOOL, desk.ann, cursor=now["cursor"])
    assert seqs(reply) == [later]
    assert desk.call(SINCE_TOOL, desk.ann, cursor=reply["cursor"])["records"] == []


def test_since_goes_on_where_a_page_ended() -> None:
    desk, made = busy_desk()
    start = desk.call(SINCE_TOOL, desk.ann, cursor="seq:0", limit=2)
    assert (seqs(start), start["more"]) == ([made["first"], made["ann"]], True)
    rest = desk.call(SINCE_TOOL, desk.ann, cursor=start["cursor"])
    assert (seqs(rest), rest["more"]) == ([made["ben"], made["named"], made["moved"]], False)


def test_since_passes_over_what_the_filters_leave_out() -> None:
    desk, made = busy_desk()
    reply = desk.call(SINCE_TOOL, desk.ann, cursor="seq:0", path="docs", writer="ben")
    assert seqs(reply) == [made["ben"], made["moved"]]
    assert reply["cursor"].startswith(f"c{desk.journal.head}.")


@pytest.mark.parametrize("cursor", ["c3.abc", "c9999.17979cfe362a0000"])
def test_a_cursor_that_is_of_no_use_begins_anew_and_says_so(cursor: str) -> None:
    desk, made = busy_desk()
    reply = desk.call(SINCE_TOOL, desk.ann, cursor=cursor, limit=1)
    assert (seqs(reply), reply["fresh"]) == ([made["first"]], True)


def test_what_is_neither_a_cursor_nor_a_point_is_refused() -> None:
    desk = Desk()
    assert not desk.call(SINCE_TOOL, desk.ann, cursor="yesterday")["ok"]


# ── search ───────────────────────────────────────────────────────────────────


def two_turns() -> tuple[Desk, dict[str, int]]:
    """Ann in two turns, another agent session of hers, and Ben."""
    desk = Desk()
    first, second = desk.introduce("ann", "s1", "t1"), desk.introduce("ann", "s1", "t2")
    other = desk.introduce("ann", "s9", "t1")
    return desk, {
        "one": desk.write("a.py", lines("x"), first),
        "two": desk.write("a.py", lines("x", "x"), second),
        "other": desk.write("b.py", lines("y"), other),
        "ben": desk.write("a.py", lines("z"), desk.ben),
    }


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"agent": "ann"}, ["other", "two", "one"]),
        ({"agent_session": "s1"}, ["two", "one"]),
        ({"turn": "t1"}, ["other", "one"]),
        ({"turn": "t1", "agent_session": "s1"}, ["one"]),
        ({"turn": "t1", "path": "b.py"}, ["other"]),
        ({"turn": "t2", "writer": "ben"}, []),
        ({"turn": "t2", "kind": "checkpoint_named"}, []),
        ({"agent": "ann", "path": "*.py", "order": "oldest"}, ["one", "two", "other"]),
    ],
)
def test_records_are_found_by_agent_session_and_turn(asked: dict[str, str], expected: list[str]) -> None:
    desk, made = two_turns()
    assert seqs(desk.call(LOG_TOOL, desk.ben, **asked)) == [made[name] for name in expected]


def test_a_search_for_a_text_finds_where_it_came_and_went_and_not_where_it_only_stands() -> None:
    desk = Desk()
    came = desk.write("a.py", lines("needle", "b"), desk.ann)
    desk.write("a.py", lines("needle", "c"), desk.ben)
    twice = desk.write("a.py", lines("needle", "needle"), desk.ann)
    desk.move("a.py", "m.py", desk.ben)
    went = desk.delete("m.py", desk.ann)
    desk.write("other.py", lines("hay"), desk.ann)
    reply = desk.call(LOG_TOOL, desk.ann, text_changed="needle")
    assert [(r["seq"], r["occurrences"]) for r in reply["records"]] == [(went, [2, 0]), (twice, [1, 2]), (came, [0, 1])]
    assert seqs(desk.call(LOG_TOOL, desk.ann, text_changed="needle", writer="ann", path="a.py")) == [twice, came]


def test_a_text_in_bytes_that_are_not_held_is_neither_added_nor_removed() -> None:
    desk = Desk()
    desk.note(CaptureFailed("a", "too_large", 10**9))
    desk.outside("a", lines("needle"))
    assert seqs(desk.call(LOG_TOOL, desk.ann, text_changed="needle")) == []


def test_a_record_tells_how_it_differs_from_the_version_before() -> None:
    desk = Desk()
    desk.write("a.py", lines("one", "two"), desk.ann)
    desk.write("a.py", lines("one", "2", "3"), desk.ben)
    newest, oldest = desk.call(LOG_TOOL, desk.ann, patch=True, stat=True)["records"]
    assert newest["stat"] == {"added": 2, "removed": 1}
    assert "-two\n+2\n+3\n" in newest["diff"]["patch"]
    assert (oldest["stat"], oldest["diff"]["status"]) == ({"added": 2, "removed": 0}, "added")
    assert "diff" not in desk.call(LOG_TOOL, desk.ann)["records"][0]


def test_a_page_ends_where_its_patches_leave_no_room_and_a_patch_too_long_for_any_page_is_left_out() -> None:
    desk = Desk()
    desk.write("huge", lines(*(f"line {n}" * 20 for n in range(3000))), desk.ann)
    desk.write("b", lines(*(f"line {n}" * 20 for n in range(1200))), desk.ann)
    desk.write("c", lines(*(f"line {n}" * 20 for n in range(1200))), desk.ann)
    shown, cursor = [], None
    while True:
        page = desk.call(LOG_TOOL, desk.ann, patch=True, cursor=cursor)
        shown.append([(r["path"], bool(r["diff"].get("truncated"))) for r in page["records"]])
        cursor = page["next"]
        if cursor is None:
            break
    assert [entry for page in shown for entry in page] == [("c", False), ("b", False), ("huge", True)]
    assert len(shown) > 2


def test_a_folder_of_more_paths_than_are_merged_lists_the_same_as_a_smaller_one() -> None:
    desk = Desk()
    made = []
    for n in range(MOST_PATHS + 20):
        seq = desk.note(OutsideWritten(f"many/f{n}", bytes([1]) * 32, 1, 0o644, "watched"))
        made.append(seq)
    few = [desk.write(f"few/f{n}", lines("x"), desk.ann) for n in range(3)]
    assert seqs(desk.call(LOG_TOOL, desk.ann, path="many", limit=1000)) == made[::-1]
    assert seqs(desk.call(LOG_TOOL, desk.ann, path="few")) == few[::-1]
    assert seqs(desk.call(LOG_TOOL, desk.ann, path="f?w/*")) == few[::-1]


def test_the_schema_of_the_log_names_its_two_orders() -> None:
    assert LOG_TOOL.params is LogParams
    properties = msgspec.json.schema(LogParams)["$defs"]["LogParams"]["properties"]
    assert sorted(properties["order"]["enum"]) == ["newest", "oldest"]
