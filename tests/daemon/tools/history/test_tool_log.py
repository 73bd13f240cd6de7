"""`log` and `since`: which records are listed, page by page, and that no call looks at too many."""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import unquote_to_bytes

import msgspec
import pytest

from memory_daemon import MemoryDaemon, lines
from quire_daemon.tools.history.log import LOG_TOOL, SINCE_TOOL, LogParams
from quire_daemon.tools.history.pages import MOST_PATHS, MOST_UNDONE, RECORD_WORK, WORK
from quire_daemon.tools.undo.tool import REDO_TOOL, ROLLBACK_TOOL, UNDO_TOOL
from quire_journal.model.events import (
    CaptureFailed,
    CheckpointNamed,
    EditRefused,
    OutsideWritten,
    ReadServed,
    WorkspaceScanned,
    WritesAbandoned,
)
from quire_journal.model.ids import journal_path


def seqs(reply: dict[str, Any]) -> list[int]:
    """What was listed."""
    return [record["seq"] for record in reply["records"]]


def busy_daemon() -> tuple[MemoryDaemon, dict[str, int]]:
    """Two files, two writers and another program; the batches by name."""
    daemon = MemoryDaemon()
    made = {
        "first": daemon.outside("src/a.py", lines("a = 1")),
        "ann": daemon.write("src/a.py", lines("a = 2"), daemon.ann),
        "ben": daemon.write("docs/b.md", lines("words"), daemon.ben),
        "read": daemon.note(ReadServed("src/a.py", 4, ((0, 1),)), who=daemon.ann),
        "named": daemon.note(CheckpointNamed("here", 5), who=daemon.ann),
        "moved": daemon.move("docs/b.md", "src/c.md", daemon.ben),
    }
    return daemon, made


def test_log_shows_file_changes_and_checkpoints_newest_first() -> None:
    daemon, made = busy_daemon()
    reply = daemon.call(LOG_TOOL, daemon.ann)
    assert seqs(reply) == [made[name] for name in ("moved", "named", "ben", "ann", "first")]
    assert reply["next"] is None


def test_log_says_that_the_first_capture_is_not_over() -> None:
    daemon = MemoryDaemon()
    assert daemon.call(LOG_TOOL, daemon.ann, path="a.txt")["capturing"] is True
    daemon.note(WorkspaceScanned("start", 0, 0))
    assert "capturing" not in daemon.call(LOG_TOOL, daemon.ann, path="a.txt")


def test_a_record_is_shown_with_who_what_and_from_which_base() -> None:
    daemon, made = busy_daemon()
    (record,) = daemon.call(LOG_TOOL, daemon.ann, path="src/a.py", limit=1)["records"]
    assert record["version"] == f"v{made['ann']}"
    assert record["base"] == f"v{made['first']}"
    assert (record["kind"], record["path"], record["batch"]) == ("file_written", "src/a.py", made["ann"])
    assert (record["writer"]["agent"], record["writer"]["type"]) == ("ann", "edit")
    assert len(record["sha256"]) == 64
    assert record["at"].endswith("Z")


def test_a_change_that_takes_others_back_says_so() -> None:
    """An undo, its redo and a rollback; an edit says nothing of the kind. Many batches are counted, not listed."""
    daemon = MemoryDaemon()
    edits = [daemon.write("a.py", lines(f"a = {n}"), daemon.ann) for n in range(MOST_UNDONE + 5)]
    undone = daemon.call(UNDO_TOOL, daemon.ann)["batch"]
    redone = daemon.call(REDO_TOOL, daemon.ann)["batch"]
    rolled = daemon.call(ROLLBACK_TOOL, daemon.ann, to=f"v{edits[0]}", writer="ann")
    listed = {r["batch"]: r for r in daemon.call(LOG_TOOL, daemon.ann)["records"]}
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
    daemon, made = busy_daemon()
    assert seqs(daemon.call(LOG_TOOL, daemon.ann, kind="read_served")) == [made["read"]]
    assert seqs(daemon.call(LOG_TOOL, daemon.ann, kind=["file_moved", "checkpoint_named"])) == [
        made["moved"],
        made["named"],
    ]
    assert daemon.call(LOG_TOOL, daemon.ann, kind="file_painted")["error"] == "schema_invalid"


@pytest.mark.parametrize("glob", ["[z-a]*", "*\\"])
def test_a_glob_that_is_none_is_refused_with_the_reason(glob: str) -> None:
    daemon, _ = busy_daemon()
    refused = daemon.call(LOG_TOOL, daemon.ann, path=glob)
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
        ("src/c.md", ["moved", "ben"]),  # and what was done under its earlier name
        ("nowhere", []),
    ],
)
def test_a_path_is_a_file_a_folder_or_a_glob(path: str, expected: list[str]) -> None:
    daemon, made = busy_daemon()
    assert seqs(daemon.call(LOG_TOOL, daemon.ann, path=path)) == [made[name] for name in expected]


@pytest.mark.parametrize(
    "path", ["/anywhere/src/a.py", "..", "../src/a.py", "src/../../src/a.py", "../*.py", "src/../../*.py"]
)
def test_what_is_elsewhere_is_refused_even_when_it_is_called_like_a_file_of_ours(path: str) -> None:
    daemon, _ = busy_daemon()
    assert daemon.call(LOG_TOOL, daemon.ann, path=path)["error"] == "outside_workspace"
    assert daemon.call(SINCE_TOOL, daemon.ann, cursor="seq:1", path=path)["error"] == "outside_workspace"


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
    daemon = MemoryDaemon()
    for name in ("p/[id].tsx", "p/i.tsx", "[slug]/x", "s/x", "a*b", "axb"):
        daemon.outside(name, lines("x"))
    listed = daemon.call(LOG_TOOL, daemon.ann, path=path, order="oldest")["records"]
    assert [record["path"] for record in listed] == expected


def on_disk(record: dict[str, Any]) -> str:
    """The name of the file that a record is about, as the disk spells it."""
    path = str(record["path"])
    return os.fsdecode(unquote_to_bytes(path)) if record.get("path_encoding") == "percent" else path


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
    daemon = MemoryDaemon()
    for name in ("d/\udcff.txt", "d/plain", "ö x/\udcfe.txt", "ö x/%41"):
        daemon.outside(journal_path(name), lines("x"))
    listed = daemon.call(LOG_TOOL, daemon.ann, path=path, order="oldest")["records"]
    assert [on_disk(record) for record in listed] == expected


def test_news_are_waited_for_not_backwards() -> None:
    daemon, _ = busy_daemon()
    refused = daemon.call(SINCE_TOOL, daemon.ann, wait_ms=-1)
    assert refused["error"] == "schema_invalid"
    assert "`wait_ms` must not be negative" in refused["message"]


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
    daemon, made = busy_daemon()
    made["user"] = daemon.write("d.md", lines("mine"), daemon.introduce("", ""))
    assert seqs(daemon.call(LOG_TOOL, daemon.ann, writer=writer)) == [made[name] for name in expected]


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
    daemon, _ = busy_daemon()
    eve = daemon.introduce("eve", "s3")
    daemon.note(EditRefused("edit", "a", "not_found", ""), who=eve)
    for tool, asked in ((LOG_TOOL, {}), (SINCE_TOOL, {}), (SINCE_TOOL, {"cursor": "seq:0"})):
        reply = daemon.call(tool, daemon.ann, writer=writer, path="z", **asked)
        warned = [{"type": "unknown_writer", "message": said}] if said else []
        assert (reply["ok"], reply["records"], reply.get("warnings", [])) == (True, [], warned)
    refused = [daemon.call(tool, daemon.ann, writer=writer, path="z") for tool in (UNDO_TOOL, REDO_TOOL)]
    refused.append(daemon.call(ROLLBACK_TOOL, daemon.ann, writer=writer, path="z", to="seq:1"))
    assert {(reply["error"], reply["message"].startswith(said or "No")) for reply in refused} == {("not_found", True)}


def test_points_cut_the_log() -> None:
    daemon, made = busy_daemon()
    reply = daemon.call(LOG_TOOL, daemon.ann, since=f"v{made['first']}", until="here", order="oldest")
    assert seqs(reply) == [made["ann"], made["ben"]]


def test_contains_looks_into_the_bytes_of_versions() -> None:
    daemon, made = busy_daemon()
    assert seqs(daemon.call(LOG_TOOL, daemon.ann, contains="a = ")) == [made["ann"], made["first"]]
    assert seqs(daemon.call(LOG_TOOL, daemon.ann, contains="words", path="docs/b.md")) == [made["moved"], made["ben"]]


@pytest.mark.parametrize("order", ["newest", "oldest"])
@pytest.mark.parametrize("path", ["", "f.txt"])
def test_pages_join_to_the_whole_in_both_orders(order: str, path: str) -> None:
    daemon = MemoryDaemon()
    made = [daemon.write("f.txt", lines(str(n)), daemon.ann) for n in range(7)]
    found: list[int] = []
    cursor = None
    while True:
        reply = daemon.call(LOG_TOOL, daemon.ann, limit=3, order=order, path=path, cursor=cursor)
        found += seqs(reply)
        cursor = reply["next"]
        if cursor is None:
            break
    assert found == (made[::-1] if order == "newest" else made)


def test_one_call_looks_at_a_bounded_number_of_records_and_the_next_goes_on() -> None:
    daemon = MemoryDaemon()
    wanted = daemon.note(EditRefused("edit", "rare.txt", "stale_base"), who=daemon.ann)
    daemon.note(*[EditRefused("edit", "f.txt", "stale_base")] * int(WORK / RECORD_WORK), who=daemon.ann)
    first = daemon.call(LOG_TOOL, daemon.ann, path="rare.txt", kind="edit_refused")
    assert seqs(first) == []
    assert seqs(daemon.call(LOG_TOOL, daemon.ann, path="rare.txt", kind="edit_refused", cursor=first["next"])) == [
        wanted
    ]


def test_a_write_that_did_not_happen_says_so() -> None:
    daemon = MemoryDaemon()
    daemon.note(WritesAbandoned((daemon.write("f.txt", lines("x"), daemon.ann),), "swap"), who=daemon.ann)
    (record,) = daemon.call(LOG_TOOL, daemon.ann)["records"]
    assert record["abandoned"]
    assert seqs(daemon.call(LOG_TOOL, daemon.ann, path="f.txt")) in ([], [record["seq"]])


@pytest.mark.parametrize("wrong", [{"limit": 0}, {"limit": 1001}, {"cursor": "x"}])
def test_arguments_out_of_range_are_refused_by_name(wrong: dict[str, Any]) -> None:
    daemon = MemoryDaemon()
    refused = daemon.call(LOG_TOOL, daemon.ann, **wrong)
    assert refused["error"] == "schema_invalid"
    assert refused["argument"] in wrong


def test_a_log_cursor_of_another_journal_is_refused() -> None:
    daemon, _ = busy_daemon()
    assert daemon.call(LOG_TOOL, daemon.ann, cursor="c1.abc")["error"] == "schema_invalid"


@pytest.mark.parametrize("tool", ["log", "stories"])
def test_a_stretch_whose_ends_are_swapped_is_refused(tool: str) -> None:
    daemon, made = busy_daemon()
    reply = daemon.ask(tool, {"since": f"seq:{made['ben']}", "until": f"seq:{made['ann']}"})
    assert (reply.get("error"), reply.get("argument")) == ("schema_invalid", "since")
    assert "swap them" in reply["message"]
    assert daemon.ask(tool, {"since": f"seq:{made['ben']}", "until": f"seq:{made['ben']}"})["ok"]


# ── since ────────────────────────────────────────────────────────────────────


def test_since_without_a_cursor_answers_the_cursor_of_now() -> None:
    daemon, _ = busy_daemon()
    now = daemon.call(SINCE_TOOL, daemon.ann)
    assert (now["records"], now["more"], now["fresh"]) == ([], False, False)
    later = daemon.write("src/a.py", lines("a = 3"), daemon.ben)
    daemon.note(WorkspaceScanned("periodic", 2, 0))
    reply = daemon.call(SINCE_TOOL, daemon.ann, cursor=now["cursor"])
    assert seqs(reply) == [later]
    assert daemon.call(SINCE_TOOL, daemon.ann, cursor=reply["cursor"])["records"] == []


def test_since_goes_on_where_a_page_ended() -> None:
    daemon, made = busy_daemon()
    start = daemon.call(SINCE_TOOL, daemon.ann, cursor="seq:0", limit=2)
    assert (seqs(start), start["more"]) == ([made["first"], made["ann"]], True)
    rest = daemon.call(SINCE_TOOL, daemon.ann, cursor=start["cursor"])
    assert (seqs(rest), rest["more"]) == ([made["ben"], made["named"], made["moved"]], False)


def test_since_passes_over_what_the_filters_leave_out() -> None:
    daemon, made = busy_daemon()
    reply = daemon.call(SINCE_TOOL, daemon.ann, cursor="seq:0", path="docs", writer="ben")
    assert seqs(reply) == [made["ben"], made["moved"]]
    assert reply["cursor"].startswith(f"c{daemon.journal.head}.")


@pytest.mark.parametrize("cursor", ["c3.abc", "c9999.17979cfe362a0000"])
def test_a_cursor_that_is_of_no_use_begins_anew_and_says_so(cursor: str) -> None:
    daemon, made = busy_daemon()
    reply = daemon.call(SINCE_TOOL, daemon.ann, cursor=cursor, limit=1)
    assert (seqs(reply), reply["fresh"]) == ([made["first"]], True)


def test_what_is_neither_a_cursor_nor_a_point_is_refused() -> None:
    daemon = MemoryDaemon()
    assert not daemon.call(SINCE_TOOL, daemon.ann, cursor="yesterday")["ok"]


# ── search ───────────────────────────────────────────────────────────────────


def two_turns() -> tuple[MemoryDaemon, dict[str, int]]:
    """Ann in two turns, another agent session of hers, and Ben."""
    daemon = MemoryDaemon()
    first, second = daemon.introduce("ann", "s1", "t1"), daemon.introduce("ann", "s1", "t2")
    other = daemon.introduce("ann", "s9", "t1")
    return daemon, {
        "one": daemon.write("a.py", lines("x"), first),
        "two": daemon.write("a.py", lines("x", "x"), second),
        "other": daemon.write("b.py", lines("y"), other),
        "ben": daemon.write("a.py", lines("z"), daemon.ben),
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
    daemon, made = two_turns()
    assert seqs(daemon.call(LOG_TOOL, daemon.ben, **asked)) == [made[name] for name in expected]


def test_a_search_for_a_text_finds_where_it_came_and_went_and_not_where_it_only_stands() -> None:
    daemon = MemoryDaemon()
    came = daemon.write("a.py", lines("needle", "b"), daemon.ann)
    daemon.write("a.py", lines("needle", "c"), daemon.ben)
    twice = daemon.write("a.py", lines("needle", "needle"), daemon.ann)
    daemon.move("a.py", "m.py", daemon.ben)
    went = daemon.delete("m.py", daemon.ann)
    daemon.write("other.py", lines("hay"), daemon.ann)
    reply = daemon.call(LOG_TOOL, daemon.ann, text_changed="needle")
    assert [(r["seq"], r["occurrences"]) for r in reply["records"]] == [(went, [2, 0]), (twice, [1, 2]), (came, [0, 1])]
    assert seqs(daemon.call(LOG_TOOL, daemon.ann, text_changed="needle", writer="ann", path="a.py")) == [twice, came]


def test_a_text_in_bytes_that_are_not_held_is_neither_added_nor_removed() -> None:
    daemon = MemoryDaemon()
    daemon.note(CaptureFailed("a", "too_large", 10**9))
    daemon.outside("a", lines("needle"))
    assert seqs(daemon.call(LOG_TOOL, daemon.ann, text_changed="needle")) == []


def test_a_record_tells_how_it_differs_from_the_version_before() -> None:
    daemon = MemoryDaemon()
    daemon.write("a.py", lines("one", "two"), daemon.ann)
    daemon.write("a.py", lines("one", "2", "3"), daemon.ben)
    newest, oldest = daemon.call(LOG_TOOL, daemon.ann, patch=True, stat=True)["records"]
    assert newest["stat"] == {"added": 2, "removed": 1}
    assert "-two\n+2\n+3\n" in newest["diff"]["patch"]
    assert (oldest["stat"], oldest["diff"]["status"]) == ({"added": 2, "removed": 0}, "added")
    assert "diff" not in daemon.call(LOG_TOOL, daemon.ann)["records"][0]


def test_a_page_ends_where_its_patches_leave_no_room_and_a_patch_too_long_for_any_page_is_left_out() -> None:
    daemon = MemoryDaemon()
    daemon.write("huge", lines(*(f"line {n}" * 20 for n in range(3000))), daemon.ann)
    daemon.write("b", lines(*(f"line {n}" * 20 for n in range(1200))), daemon.ann)
    daemon.write("c", lines(*(f"line {n}" * 20 for n in range(1200))), daemon.ann)
    shown, cursor = [], None
    while True:
        page = daemon.call(LOG_TOOL, daemon.ann, patch=True, cursor=cursor)
        shown.append([(r["path"], bool(r["diff"].get("truncated"))) for r in page["records"]])
        cursor = page["next"]
        if cursor is None:
            break
    assert [entry for page in shown for entry in page] == [("c", False), ("b", False), ("huge", True)]
    assert len(shown) > 2


def test_a_folder_of_more_paths_than_are_merged_lists_the_same_as_a_smaller_one() -> None:
    daemon = MemoryDaemon()
    made = []
    for n in range(MOST_PATHS + 20):
        seq = daemon.note(OutsideWritten(f"many/f{n}", bytes([1]) * 32, 1, 0o644, "watched"))
        made.append(seq)
    few = [daemon.write(f"few/f{n}", lines("x"), daemon.ann) for n in range(3)]
    assert seqs(daemon.call(LOG_TOOL, daemon.ann, path="many", limit=1000)) == made[::-1]
    assert seqs(daemon.call(LOG_TOOL, daemon.ann, path="few")) == few[::-1]
    assert seqs(daemon.call(LOG_TOOL, daemon.ann, path="f?w/*")) == few[::-1]


def test_the_schema_of_the_log_names_its_two_orders() -> None:
    assert LOG_TOOL.params is LogParams
    properties = msgspec.json.schema(LogParams)["$defs"]["LogParams"]["properties"]
    assert sorted(properties["order"]["enum"]) == ["newest", "oldest"]


def renamed_twice() -> tuple[MemoryDaemon, dict[str, int]]:
    """A file that was `a`, `b` and `c`; another `a` since, and another `b`."""
    daemon = MemoryDaemon({"other": lines("x")})
    made = {"a": daemon.write("a", lines("one", "two", "three", "four"), daemon.ann)}
    made["moved"] = daemon.move("a", "b", daemon.ben)
    made["b"] = daemon.write("b", lines("one", "two", "three", "FOUR"), daemon.ann)
    made["moved by another program"] = daemon.outside_moves("b", "c")
    daemon.write("a", lines("another"), daemon.ben)
    daemon.write("b", lines("another"), daemon.ben)
    made["c"] = daemon.write("c", lines("ONE", "two", "three", "FOUR"), daemon.ann)
    return daemon, made


@pytest.mark.parametrize("more", [{}, {"stat": True}, {"limit": 2}, {"order": "oldest"}])
def test_the_log_of_a_file_has_what_was_done_under_its_earlier_names(more: dict[str, Any]) -> None:
    daemon, made = renamed_twice()
    reply = daemon.call(LOG_TOOL, daemon.ann, path="c", **more)
    found = seqs(reply)
    while reply["next"]:
        reply = daemon.call(LOG_TOOL, daemon.ann, path="c", **more, cursor=reply["next"])
        found += seqs(reply)
    assert sorted(found) == sorted(made.values())
    assert seqs(daemon.call(LOG_TOOL, daemon.ann, path="c", until=f"v{made['b']}")) == [
        made[name] for name in ("b", "moved", "a")
    ]


def test_the_stories_of_a_file_have_what_was_done_under_its_earlier_names() -> None:
    daemon, made = renamed_twice()
    stories = daemon.ask("stories", {"path": "c"})["stories"]
    assert sum(story["writes"] for story in stories) == len(made)
    assert "another" not in str([file["path"] for story in stories for file in story["files"]])
    names = {file["path"] for story in stories for file in story["files"]}
    assert names <= {"a", "b", "c"}
    alone = daemon.ask("stories", {"path": "c", "writer": "ben"})["stories"]
    assert [story["writes"] for story in alone] == [1]


def test_the_log_of_a_file_follows_a_rename_by_git_that_only_contents_show() -> None:
    daemon = MemoryDaemon({"m": lines(*"abcdefgh")})
    daemon.watch("captured")
    daemon.after(60)
    wrote = daemon.write("m", lines(*"abcdefgH"), daemon.ann)
    daemon.after(60)
    daemon.by_git("git: merge side (HEAD main 1 -> main 2)", r=lines(*"Abcdefg"), m=None)
    assert wrote in seqs(daemon.call(LOG_TOOL, daemon.ann, path="r"))
