"""The commands that tell who did what: log, blame and why. The texts are exact."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import WRITER, Quire


def test_log_is_a_table_that_says_how_to_go_on(quire: Quire) -> None:
    at = "2026-01-31T12:00:00.5Z"
    records = [
        {"seq": 812, "at": at, "kind": "file_written", "path": "a\nb.py", "version": "v812", "writer": WRITER},
        {
            "seq": 9,
            "at": at,
            "kind": "file_moved",
            "path": "x",
            "to": "y",
            "version": "v9",
            "writer": {"id": "outside"},
        },
        {
            "seq": 8,
            "at": at,
            "kind": "checkpoint_named",
            "path": None,
            "name": "before",
            "version": None,
            "writer": "w3",
        },
        {"seq": 7, "at": at, "kind": "file_deleted", "path": "z", "version": "v7", "writer": WRITER, "how": "rollback"}
        | {"undone": [5, 3], "undone_more": 1},
        {"seq": 6, "at": at, "kind": "outside_written", "path": "new", "version": "v6", "entry": "folder"}
        | {"writer": {"id": "outside"}},
    ]
    ran = quire(
        "log", "src", "--limit", "3", "--oldest", "--kind", "k", log={"ok": True, "records": records, "next": "c8"}
    )
    assert ran.asked == [("log", {"path": "src", "kind": "k", "limit": 3, "order": "oldest"})]
    assert ran.out == (
        "2026-01-31 12:00:00  v812   alice/s1  file written      a b.py\n"
        "2026-01-31 12:00:00  v9     outside   file moved        x -> y\n"
        "2026-01-31 12:00:00  seq:8  w3        checkpoint named  before\n"
        "2026-01-31 12:00:00  v7     alice/s1  file deleted      z  (rollback of 5 and 2 more)\n"
        "2026-01-31 12:00:00  v6     outside   outside written   new/\n"
    )
    assert ran.err == "There is more: the same with --cursor c8 goes on.\n"


def test_a_log_goes_on_through_short_pages_until_it_has_what_is_wanted(quire: Quire) -> None:
    record = {"at": AT, "kind": "file_written", "path": "a", "writer": WRITER}
    pages = iter(
        [
            {"ok": True, "records": [], "next": "c9"},
            {"ok": True, "records": [{**record, "version": "v7", "stat": {"added": 2, "removed": 1}}], "next": "c6"},
            {"ok": True, "records": [{**record, "version": "v5", "occurrences": [0, 3]}], "next": "c4"},
        ]
    )
    ran = quire("log", "-S", "x y", "--turn", "t1", "--limit", "2", "--stat", log=lambda args: next(pages))
    asked = {"turn": "t1", "text_changed": "x y", "stat": True}
    assert ran.asked == [
        ("log", {**asked, "limit": 2}),
        ("log", {**asked, "limit": 2, "cursor": "c9"}),
        ("log", {**asked, "limit": 1, "cursor": "c6"}),
    ]
    assert ran.out == (
        "2026-01-31 12:00:00  v7  alice/s1  file written  a  +2 -1\n"
        "2026-01-31 12:00:00  v5  alice/s1  file written  a  0 -> 3\n"
    )
    assert ran.err == "There is more: the same with --cursor c4 goes on.\n"


def test_what_the_first_capture_found_is_not_told_as_if_somebody_had_written_it_then(quire: Quire) -> None:
    found = {"at": AT, "kind": "outside_written", "version": "v2", "path": "a", "writer": {"id": "outside"}}
    records = [{**found, "evidence": "watched"}, {**found, "evidence": "captured"}]
    told = quire("log", "--records", log={"ok": True, "records": records, "next": None}).out.splitlines()
    assert [line.split("  ")[3].strip() for line in told] == ["outside written", "first seen"]


def test_many_files_to_which_nothing_is_done_are_told_in_two_lines(quire: Quire) -> None:
    idle = [{"path": f"{n}.txt", "action": "none", "skipped": "first_seen", "why": "It was there."} for n in range(9)]
    held = {"path": "held.txt", "action": "none", "skipped": "uncaptured", "why": "`allow_uncaptured` goes over it."}
    same = [{"path": f"{n}.py", "action": "none", "skipped": None} for n in range(5)]
    files = [*idle, *same, {"path": "done.txt", "action": "write"}, held, {**idle[0], "conflicts": [{"writer": {}}]}]
    out = quire("undo", undo={"ok": True, "message": "Undone in 1 file.", "files": files}).out
    assert out == (
        "Undone in 1 file.\n"
        "  write   done.txt\n"
        "  none    held.txt\n"
        "          left alone: --allow-uncaptured goes over it.\n"
        "  none    0.txt\n"
        "          left alone: It was there.\n"
        "          conflict: ? built on it\n"
        "  9 files left alone: It was there.\n"
        "          0.txt, 1.txt, 2.txt and 6 more; --json lists them\n"
        "  5 files left alone: nothing has to be changed\n"
        "          0.py, 1.py, 2.py and 2 more; --json lists them\n"
    )


def test_a_record_of_an_undo_says_what_was_undone(quire: Quire) -> None:
    record = {"seq": 9, "at": AT, "kind": "batch_undone", "path": None, "writer": WRITER, "how": "undo", "undone": [4]}
    out = quire("log", "--kind", "batch undone", log={"ok": True, "records": [record]}).out
    assert out.endswith("  seq:9  alice/s1  batch undone  (undo of 4)\n")


def test_a_file_that_is_not_captured_is_told_with_the_reason(quire: Quire) -> None:
    record = {"at": AT, "kind": "capture_failed", "version": "v2", "path": ".env", "writer": {"id": "outside"}}
    out = quire("log", "--records", log={"ok": True, "records": [{**record, "why": "too_large"}], "next": None}).out
    assert out.rstrip().endswith("v2  outside  not captured  .env  (too large)")


def test_a_log_of_an_unknown_path_is_refused_and_a_glob_without_matches_is_empty(quire: Quire, site: Path) -> None:
    def log(arguments: dict[str, Any]) -> dict[str, Any]:
        known = arguments == {"path": "src/gone.py", "limit": 1}
        return {"ok": True, "records": [{"path": "src/gone.py"}] if known else [], "stories": [], "next": None}

    empty = {"ok": True, "at": "seq:9", "time": AT, "complete": True, "entries": [], "next": None}
    (site / "src" / "new.py").touch()
    for command in (("log",), ("log", "--records"), ("log", "--writer", "bob"), ("ls",)):
        said = quire(*command, "src/nosuch.py", log=log, stories=log, tree=empty)
        assert (said.status, said.out) == (3, "")
        assert said.err.startswith("Neither the journal nor the disk has src/nosuch.py.\nNext: look at the")
        for known in ("src/new.py", "src/gone.py", "src/*.rs"):
            assert quire(*command, known, log=log, stories=log, tree=empty).status == 0
    (site / "src" / "application.py").touch()
    typo = quire("log", "src/aplication.py", log=log, stories=log)
    assert typo.err.startswith("Neither the journal nor the disk has src/aplication.py. Did you mean application.py?\n")
    (site / "src" / "README").touch()
    assert "Did you mean README?\n" in quire("log", "src/Redme", log=log, stories=log).err, (
        "in letters of whatever case"
    )
    assert quire("log", "no/where.py", log=log, stories=log).err.startswith(
        "Neither the journal nor the disk has no/where.py.\n"
    )
    assert quire("log", "src/new.py", log=log, stories=log).err.startswith("What is ignored (.gitignore, ")
    assert quire("log", "src/new.py", "--kind", "purged", log=log).err == ""
    assert json.loads(quire("log", "x", "--json", log=log, stories=log).out)["error"] == "not_found"


@pytest.mark.parametrize(
    ("words", "writers", "hints"),
    [
        (("--agent", "bob"), ["alice"], True),
        (("--agent", "bob"), [], True),
        (("--agent", "alice"), ["alice"], False),
        (("--agent", "bob", "--session", "s1"), ["alice"], False),
        (("--agent", "bob", "--writer", "alice"), ["alice"], False),
        ((), ["alice"], False),
    ],
)
def test_log_explains_that_agent_alone_is_no_filter(
    words: tuple[str, ...], writers: list[str], hints: bool, quire: Quire
) -> None:
    records = [{"at": AT, "kind": "file_written", "path": "a", "writer": {**WRITER, "agent": one}} for one in writers]
    ran = quire("log", "--records", *words, log={"ok": True, "records": records, "next": None})
    assert ran.err == ("--agent only says who calls; --writer bob lists what bob did.\n" if hints else "")


def test_a_pasted_time_without_quotes_is_named(quire: Quire) -> None:
    ran = quire("log", "--since", "2026-11-28", "18:38:46")
    assert (ran.status, ran.err) == (2, "quire: A time with a space in it wants quotes: --since 'DAY 18:38:46'.\n")


def test_a_log_with_patches_shows_each_below_its_record(quire: Quire) -> None:
    change = {"path": "a", "status": "changed", "patch": "--- a/a\n+++ b/a\n@@ -1,1 +1,1 @@\n-x\n+y\n"}
    record = {"at": AT, "kind": "file_written", "path": "a", "version": "v7", "writer": WRITER, "diff": change}
    ran = quire("log", "-p", log={"ok": True, "records": [record], "next": None})
    assert ran.asked == [("log", {"patch": True})]
    assert ran.out.splitlines()[1:] == ["--- a/a", "+++ b/a", "@@ -1,1 +1,1 @@", "-x", "+y"]


def test_why_names_a_line_and_tells_what_is_behind_it(quire: Quire, site: Path) -> None:
    before = {"version": "v3", "at": AT, "kind": "file_written", "writer": {"id": "outside"}}
    reply = {
        "ok": True,
        "message": "Line 2 of a was written by alice in v7.",
        "version": "v7",
        "line": 2,
        "text": "two",
        "operation": "edit",
        "record": {"batch": 7, "writer": {**WRITER, "turn": "t4"}, "base": "v3"},
        "replaced": {"lines": ["2"], "by": [before]},
        "previous": before,
        "next": None,
        "batch_files": [{"path": "b"}],
        "diff": {"path": "a", "status": "changed", "patch": "@@ -2,1 +2,1 @@\n-2\n+two\n"},
    }
    ran = quire("why", "src/a:2", why=reply)
    assert ran.asked == [("why", {"path": "src/a", "line": 2})]
    assert ran.out == (
        "Line 2 of a was written by alice in v7.\n"
        "     2| two\n"
        "\n"
        "  version    v7, batch 7\n"
        "  writer     alice/s1\n"
        "  turn       t4\n"
        "  operation  edit\n"
        "  made from  v3\n"
        "  replaced   v3 (outside, 2026-01-31 12:00:00)\n"
        "  before it  v3 (outside, 2026-01-31 12:00:00)\n"
        "  beside it  b\n"
        "\n"
        "@@ -2,1 +2,1 @@\n-2\n+two\n"
    )
    (site / "odd:2").touch()
    assert quire("why", "odd:2", why=reply).asked == [("why", {"path": "odd:2"})]
    undoing = {**reply["record"], "how": "undo", "undone": [4]}
    brought_back = {**reply, "path": "a b", "record": undoing, "diff": {**reply["diff"], "partial": True}}
    out = quire("why", "src/a:2", why=brought_back).out
    assert "  operation  undo of 4\n" in out
    assert out.endswith("\nOnly what is around the line; `quire log 'a b' --until v7 --limit 1 --patch` has all.\n")
    found = {**reply, "record": {**reply["record"], "evidence": "captured"}, "diff": None}
    out = quire("why", "src/a:2", why=found).out
    assert "  operation  first seen\n" in out
    assert out.endswith("\n\n`quire show v7` prints the file as it was found.\n")


@pytest.mark.parametrize("typed", ["file written", "file-written", "file_written"])
def test_a_kind_is_typed_as_it_is_printed(typed: str, quire: Quire) -> None:
    for words in (["log"], ["since", "seq:1"]):
        ((_, arguments),) = quire(*words, "--kind", typed).asked
        assert arguments["kind"] == "file_written"
    assert quire("log", "--kind", "not captured").asked[0][1]["kind"] == "capture_failed"


def test_possible_writes_of_the_writer_are_counted_and_probable_ones_marked(quire: Quire) -> None:
    nothing = {"ok": True, "records": [], "next": None}
    assert quire("log", "--records", "--writer", "claude-code", log=nothing).err == ""
    unsure = quire("log", "--records", "--writer", "claude-code", log={**nothing, "left_out": 2})
    assert unsure.err.startswith("2 writes more may be of claude-code or of others; `quire log --writer outside`")
    probable = {"seq": 7, "kind": "outside_written", "path": "f", "evidence": "during", "writer": {"agent": "ann"}}
    ran = quire("log", "--records", "--writer", "ann", log={**nothing, "records": [probable]})
    assert ("~ann" in ran.out, ran.err.startswith("~ is probable")) == (True, True)


@pytest.mark.parametrize(("evidence", "told"), [("exact", "written (exact)"), ("traced", "written (traced)")])
def test_a_write_that_is_known_to_be_somebodys_tells_its_evidence(evidence: str, told: str, quire: Quire) -> None:
    record = {"seq": 7, "kind": "outside_written", "path": "f", "evidence": evidence, "writer": {"agent": "ann"}}
    for whose, kind in ({"agent": "ann"}, told), ({"id": "outside"}, "outside written"):
        out = quire("log", "--records", log={"ok": True, "records": [record | {"writer": whose}], "next": None}).out
        assert out.split("  ")[3].strip() == kind


def test_a_log_of_nothing_says_so(quire: Quire) -> None:
    nothing = {"ok": True, "records": [], "stories": [], "next": None}
    for words in (("log",), ("log", "--records")):
        assert quire(*words, log=nothing, stories=nothing).out == "Nothing is recorded there.\n"
    ran = quire("log", "--records", log={"ok": True, "records": [], "next": None, "capturing": True})
    assert ran.err == "The first capture still goes on, so there may be more; `quire up` waits until it is over.\n"


AT = "2026-01-31T12:00:00Z"


def test_a_graph_of_the_log_has_a_lane_for_each_writer(quire: Quire) -> None:
    whose = [WRITER, {"id": "outside"}, WRITER, {"id": "w4", "uid": 1000}, {"id": "outside"}]
    records = [
        {"seq": 9 - n, "at": AT, "kind": "file_written", "path": "a", "version": f"v{9 - n}", "writer": who}
        for n, who in enumerate(whose)
    ]
    ran = quire("log", "--graph", log={"ok": True, "records": records, "next": None})
    assert ran.asked == [("log", {})]
    assert ran.out == (
        "alice/s1\n"
        "| outside\n"
        "| | user\n"
        "* | |  2026-01-31 12:00:00  v9  alice/s1  file written  a\n"
        "| * |  2026-01-31 12:00:00  v8  outside   file written  a\n"
        "* | |  2026-01-31 12:00:00  v7  alice/s1  file written  a\n"
        "  | *  2026-01-31 12:00:00  v6  user      file written  a\n"
        "  *    2026-01-31 12:00:00  v5  outside   file written  a\n"
    )
    assert quire("log", "--graph", log={"ok": True, "records": []}).out == "Nothing is recorded there.\n"


def blamed(line: int, version: int, who: dict[str, Any], text: str, **more: Any) -> dict[str, Any]:
    """A line of a `blame` reply."""
    return {"line": line, "seq": version, "version": f"v{version}", "writer": who, "at": AT, "text": text, **more}


def test_blame_shows_before_each_line_where_it_comes_from(quire: Quire) -> None:
    lines = [
        blamed(9, 812, WRITER, "def f():\x1b", turn="t7"),
        blamed(10, 3, {"id": "outside"}, "\treturn 1", turn=""),
        blamed(11, 9, {**WRITER, "type": "undo"}, "", turn="", how="restore"),
        blamed(12, 2, {"id": "outside"}, "pass", turn="", evidence="captured"),
    ]
    reply = {"ok": True, "path": "src/a.py", "lines": lines, "names": ["old.py", "src/a.py"], "gaps": []}
    ran = quire("blame", "src/a.py", "--at", "v900", "-L", "9,11", blame=reply)
    assert ran.asked == [("blame", {"path": "src/a.py", "at": "v900", "start_line": 9, "end_line": 11})]
    assert ran.out == (
        "v812  alice/s1            t7  2026-01-31 12:00:00   9| def f():\n"
        "v3    outside                 2026-01-31 12:00:00  10| \treturn 1\n"
        "v9    alice/s1 (restore)      2026-01-31 12:00:00  11|\n"
        "v2    first seen              2026-01-31 12:00:00  12| pass\n"
    )
    assert ran.err == "Earlier names: old.py.\n"


def test_blame_shows_the_lines_of_one_writer_and_says_where_there_are_none(quire: Quire) -> None:
    reply = {"ok": True, "path": "a", "lineCount": 3, "lines": [blamed(2, 6, WRITER, "x")], "names": ["a"]}
    ran = quire("blame", "a", "--writer", "alice", blame=reply)
    assert (ran.asked, len(ran.out.splitlines())) == ([("blame", {"path": "a", "writer": "alice"})], 1)
    ran = quire("blame", "a", "--writer", "bob", blame={**reply, "lines": []})
    assert (ran.status, ran.out, ran.err) == (0, "", "bob wrote none of these lines.\n")


def test_blame_says_where_nothing_is_known(quire: Quire) -> None:
    gap = {"version": "v5", "why": "too_large", "attributed_to": "v6"}
    reply = {"ok": True, "path": "a", "lines": [blamed(1, 6, WRITER, "x")], "names": ["a"], "gaps": [gap]}
    ran = quire("blame", "a", blame=reply)
    assert ran.out == "v6  alice/s1  2026-01-31 12:00:00  1| x\n"
    assert ran.err == "Of v5 and before nothing is known (too large): their lines stand under v6.\n"
    empty = quire("blame", "a", blame={"ok": True, "path": "a", "lines": [], "names": ["a"], "gaps": []})
    assert (empty.status, empty.out, empty.err) == (0, "", "")


def test_blame_asks_for_all_pages_of_one_version(quire: Quire) -> None:
    def blame(args: dict[str, Any]) -> dict[str, Any]:
        page = {"ok": True, "version": "v8", "endLine": args.get("start_line", 1)}
        line = blamed(args.get("start_line", 1), 8, WRITER, "x")
        more = {"truncated": True, "next_line": 2} if "start_line" not in args else {"truncated": False}
        return {**page, "lines": [line], "runs": [{"start": line["line"]}], **more}

    ran = quire("blame", "a", "--json", blame=blame)
    assert ran.asked == [("blame", {"path": "a"}), ("blame", {"path": "a", "at": "v8", "start_line": 2})]
    reply = json.loads(ran.out)
    assert [line["line"] for line in reply["lines"]] == [run["start"] for run in reply["runs"]] == [1, 2]
    assert (reply["truncated"], reply["next_line"], reply["endLine"]) == (False, None, 2)


def test_a_refused_blame_is_a_sentence_also_on_a_later_page(quire: Quire) -> None:
    refusal = {"ok": False, "error": "binary_file", "message": "b holds NUL bytes."}
    assert quire("blame", "b", blame=refusal).err == "b holds NUL bytes.\n"

    def blame(args: dict[str, Any]) -> dict[str, Any]:
        return (
            refusal if "at" in args else {"ok": True, "version": "v8", "lines": [], "truncated": True, "next_line": 2}
        )

    ran = quire("blame", "b", blame=blame)
    assert (ran.status, ran.out, ran.err) == (1, "", "b holds NUL bytes.\n")


# ── stories ──────────────────────────────────────────────────────────────────

CHANGED = {"path": "a.py", "status": "changed", "version": "v7", "added": 2, "removed": 1, "symbols": ["Clock.now"]}


def story(form: str = "turn", **told: Any) -> dict[str, Any]:
    """A story as the daemon tells it."""
    base = {"form": form, "seq": 9, "first": 3, "at": AT, "ended_at": AT, "writer": WRITER, "whole": True, "writes": 1}
    return {**base, "files": [CHANGED], "files_count": 1, **told}


def test_log_lists_stories_and_says_what_its_signs_mean(quire: Quire) -> None:
    listed = [story(prompt="make it fast\nplease"), story("git", writer={"id": "outside"}, commands=["commit -m x"])]
    listed[0]["probable"] = True
    ran = quire("log", stories={"ok": True, "stories": listed, "next": None})
    assert ran.asked == [("stories", {"limit": 15})]
    assert ran.out == (
        "2026-01-31 12:00  v7  ~alice/s1  “make it fast”  1 file  +2 -1\n"
        "    M a.py  +2 -1  Clock.now\n"
        "2026-01-31 12:00  v7  git        git commit -m x  M a.py  +2 -1  Clock.now\n"
    )
    assert ran.err == "~ is probable: it was written while a command of theirs ran that accounts for it.\n"


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (("-5",), {"limit": 5}),
        (("-n", "7", "src"), {"limit": 7, "path": "src"}),
        (("--path", "src"), {"limit": 15, "path": "src"}),
        (("--agents", "--all", "--oneline"), {"limit": 15, "agents": True, "all": True}),
        (("--session", "s1"), {"limit": 15, "agent_session": "s1"}),
        (("--agent", "ada", "--session", "s1"), {"limit": 15}),
        (("--agent-session", "s1", "--turn", "t", "--writer", "ada"), None),
        (("--since", "v7", "--until", "v9"), {"limit": 15, "since": "v7", "until": "v9"}),
    ],
)
def test_options_of_the_log_are_filters_of_stories(
    words: tuple[str, ...], asked: dict[str, Any] | None, quire: Quire
) -> None:
    ran = quire("log", *words, stories={"ok": True, "stories": [story()], "next": None})
    assert ran.asked == [
        ("stories", asked or {"limit": 15, "agent_session": "s1", "turn": "t", "writer": "ada"}),
    ]


@pytest.mark.parametrize("word", ["--records", "--oldest", "--graph", "--stat", "--patch", "--burst=3"])
def test_options_that_are_about_records_list_records(word: str, quire: Quire) -> None:
    assert quire("log", word, log={"ok": True, "records": [], "next": None}).asked[0][0] == "log"


def test_stories_go_on_through_short_pages_until_there_are_as_many_as_are_wanted(quire: Quire) -> None:
    pages = iter([([], "s9.1"), ([story()], "s8.1"), ([story()], "s7.1")])

    def answer(asked: dict[str, Any]) -> dict[str, Any]:
        found, following = next(pages)
        return {"ok": True, "stories": found, "next": following}

    ran = quire("log", "-2", "--oneline", stories=answer)
    assert [asked.get("cursor") for _, asked in ran.asked] == [None, "s9.1", "s8.1"]
    assert (len(ran.out.splitlines()), ran.err) == (2, "There is more: the same with --cursor s7.1 goes on.\n")


def test_a_writer_that_nobody_is_called_ends_with_status_3(quire: Quire) -> None:
    refused = {"ok": False, "error": "not_found", "message": "Nobody is called 'alcie'. Did you mean alice?"}
    assert quire("log", "--writer", "alcie", stories=refused).status == 3
    warned = {"ok": True, "records": [], "next": None, "warnings": [{"type": "unknown_writer", "message": "Nobody."}]}
    assert quire("log", "--records", "--writer", "alcie", log=warned).status == 3


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--agents", "--graph"), "--agents is about stories, and --graph about records."),
        (("--host", "all", "--agents"), "--host is told by --path and --limit alone, not by --agents."),
        (("--host", "all", "--runs"), "not by --runs."),
        (("--host", "all", "-S", "x"), "not by --changed-text."),
        (("--host", "all", "--commit", "HEAD"), "not by --commit."),
        (("--host", "all", "--stat"), "not by --stat."),
        (("src", "--path", "x"), "PATH is named twice: 'src' and --path 'x'."),
        (("-5x",), "`quire log` has no option -5."),
    ],
)
def test_a_log_that_contradicts_itself_is_refused(words: tuple[str, ...], says: str, quire: Quire) -> None:
    ran = quire("log", *words)
    assert (ran.status, says in ran.err) == (2, True)


def test_a_save_beside_an_open_call_is_not_told_as_one_while_none_was_open(
    quire: Quire, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel saw another process write while Bash ran; the line below said that nobody's call was open."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    record = {"at": AT, "kind": "outside_written", "path": "a", "version": "v7", "writer": {"id": "outside"}}
    record |= {"unclaimed": True, "hint": "Bash (ann/s1)"}
    ran = quire("log", "--records", log={"ok": True, "records": [record], "next": None})
    assert "[Bash (ann/s1)]" in ran.out
    assert ran.err == (
        "~you is you or another program: as far as Quire knows, no agent's call and no git command wrote it.\n"
    )
