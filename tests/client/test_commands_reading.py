"""The commands that read: files, versions, the log, blame, manuals. The texts are exact."""

from __future__ import annotations

import base64
import io
import json
import re
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from command_line import WRITER, Quire

import live
from cases import every
from quire_client.commands.read import LOSSY
from quire_client.shell_words import step


def test_call_prints_the_reply_as_one_json_object(quire: Quire, monkeypatch: pytest.MonkeyPatch) -> None:
    reply = {"ok": True, "message": "Done.", "path": "ü"}
    ran = quire("call", "edit", '{"path": "ü"}', edit=reply)
    assert json.loads(ran.out) == reply
    assert ran.asked == [("edit", {"path": "ü"})]
    monkeypatch.setattr(sys, "stdin", io.StringIO('{"path": "from stdin"}'))
    assert quire("call", "edit", "-").asked == [("edit", {"path": "from stdin"})]
    assert quire("call", "status").asked == [("status", {})]


def test_read_prints_the_file_as_it_is(quire: Quire) -> None:
    ran = quire("read", "a", read_file={"ok": True, "content": "a\n\tb\x1b without an end"})
    assert ran.out == "a\n\tb\x1b without an end"


def test_some_lines_of_a_file_end_as_they_do_in_it(quire: Quire) -> None:
    reply = {"ok": True, "content": "two\nthree", "startLine": 2, "endLine": 3, "lineCount": 4}
    assert quire("read", "a", "--lines", "2:3", read_file=reply).out == "two\nthree\n"
    last = {"ok": True, "content": "four", "startLine": 4, "endLine": 4, "lineCount": 4}
    assert quire("read", "a", "--lines", "4", read_file=last).out == "four", "the file has no last line break"


def test_lines_that_a_file_does_not_have_are_no_silence(quire: Quire) -> None:
    none = {"ok": True, "message": "No lines of a, which has 4.", "startLine": 5, "endLine": 4, "lineCount": 4}
    ran = quire("read", "a", "--lines", "9:12", read_file={**none, "content": ""})
    assert (ran.status, ran.out, ran.err) == (0, "", "No lines of a, which has 4.\n")
    assert quire("blame", "a", "--lines", "9", blame={**none, "lines": []}).err == "No lines of a, which has 4.\n"
    for command in ("read", "blame", "claim"):
        ran = quire(command, "a", "--lines", "5:2")
        assert (ran.status, ran.err, ran.asked) == (2, "quire: --lines 5:2 ends before it begins.\n", [])
    assert quire("read", "a", "--hashes", "--hashline").err == "quire: --hashes and --hashline exclude each other.\n"


def test_show_of_a_word_that_is_nothing_says_all_that_it_could_have_been(quire: Quire, site: Path) -> None:
    refused = {"ok": False, "error": "not_found", "suggested_action": "name_a_point"}
    typo = {**refused, "message": "There is no checkpoint 'scr/a.py'; a point is a version.", "point": "scr/a.py"}
    ran = quire("show", "scr/a.py", show=typo)
    assert ran.status == 3
    assert ran.err.startswith("scr/a.py is no version, no checkpoint, and no file that is there. [not_found]\n")
    (site / "src" / "main.py").touch()
    assert "that is there. Did you mean main.py? [" in quire("show", "src/mian.py", show=typo).err
    (site.parent / "else.txt").touch()
    outside = quire("show", "../esle.txt", show=typo).err
    assert "that is there. [" in outside, "what lies outside can be nobody's version"
    late = {**refused, "message": "'v99' is later than the newest record, seq:24.", "point": "v99"}
    assert quire("show", "v99", show=late).err.startswith(late["message"])


def test_a_tree_of_a_time_before_the_journal_is_no_empty_tree(quire: Quire, tmp_path: Path) -> None:
    nothing = {"ok": True, "message": "0 entries.", "at": "seq:0", "time": None, "entries": [], "complete": False}
    listed = quire("ls", "--at", "99d", tree=nothing)
    assert (listed.status, listed.out) == (0, "")
    assert listed.err.startswith("The journal begins later: it knows nothing of that time.\n")
    written = quire("export-tree", "99d", str(tmp_path / "then"), tree=nothing)
    assert (written.status, written.out, (tmp_path / "then").exists()) == (3, "", False)
    assert written.err.startswith("The journal begins later: it knows nothing of that time. [not_found]\n")


def test_read_with_anchors_prints_the_lines_as_shown(quire: Quire) -> None:
    reply = {"ok": True, "lines": ["3#abc123 [high]|x", "4#def456 [low]|}"], "truncated": True, "next_line": 5}
    ran = quire("read", "a", "--hashes", "--lines", "3:", read_file=reply)
    assert ran.asked == [("read_file", {"path": "a", "hashes": True, "start_line": 3})]
    assert ran.out == "3#abc123 [high]|x\n4#def456 [low]|}\n"
    assert ran.err == "The reply was cut; `--lines 5:` shows the rest.\n"


@pytest.mark.parametrize(
    ("lines", "bounds"),
    [("2:4", {"start_line": 2, "end_line": 4}), (":4", {"end_line": 4}), ("7", {"start_line": 7, "end_line": 7})],
)
def test_read_takes_some_lines(lines: str, bounds: dict[str, int], quire: Quire) -> None:
    assert quire("read", "a", "--hashline", "--at", "v3", "--lines", lines).asked == [
        ("read_file", {"path": "a", "format": "hashline", "at": "v3", **bounds})
    ]


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
        "2026-01-31 12:00:00Z  v812   alice/s1  file written      a b.py\n"
        "2026-01-31 12:00:00Z  v9     outside   file moved        x -> y\n"
        "2026-01-31 12:00:00Z  seq:8  w3        checkpoint named  before\n"
        "2026-01-31 12:00:00Z  v7     alice/s1  file deleted      z  (rollback of 5 and 2 more)\n"
        "2026-01-31 12:00:00Z  v6     outside   outside written   new/\n"
    )
    assert ran.err == "There is more: --cursor c8\n"


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
        "2026-01-31 12:00:00Z  v7  alice/s1  file written  a  +2 -1\n"
        "2026-01-31 12:00:00Z  v5  alice/s1  file written  a  0 -> 3\n"
    )
    assert ran.err == "There is more: --cursor c4\n"


def test_what_the_first_capture_found_is_not_told_as_if_somebody_had_written_it_then(quire: Quire) -> None:
    found = {"at": AT, "kind": "outside_written", "version": "v2", "path": "a", "writer": {"id": "outside"}}
    records = [{**found, "evidence": "watched"}, {**found, "evidence": "captured"}]
    told = quire("log", log={"ok": True, "records": records, "next": None}).out.splitlines()
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
        "  5 files left alone: nothing is to be changed\n"
        "          0.py, 1.py, 2.py and 2 more; --json lists them\n"
    )


def test_a_file_that_is_not_captured_is_told_with_the_reason(quire: Quire) -> None:
    record = {"at": AT, "kind": "capture_failed", "version": "v2", "path": ".env", "writer": {"id": "outside"}}
    out = quire("log", log={"ok": True, "records": [{**record, "why": "too_large"}], "next": None}).out
    assert out.rstrip().endswith("v2  outside  not captured  .env  (too large)")


def test_an_operation_is_named_where_it_is_not_known_what_became_of_it(quire: Quire) -> None:
    refusal = {"ok": False, "error": "not_found", "message": "Nothing.", "op": "ab12", "outcome": "not_applied"}
    assert quire("redo", redo=refusal).err == "Nothing. [not_found]\n"
    lost = {**refusal, "error": "unknown", "outcome": "unknown", "suggested_action": "op_status"}
    said = quire("undo", undo=lost).err.splitlines()
    assert said[1:] == ["Operation: ab12", f"Next: {step('op_status', 'ab12')}."]


def test_a_log_or_listing_of_a_path_that_nobody_knows_is_refused_and_one_that_only_fits_nothing_is_empty(
    quire: Quire, site: Path
) -> None:
    def log(arguments: dict[str, Any]) -> dict[str, Any]:
        known = arguments == {"path": "src/gone.py", "limit": 1}
        return {"ok": True, "records": [{"path": "src/gone.py"}] if known else [], "next": None}

    empty = {"ok": True, "at": "seq:9", "time": AT, "complete": True, "entries": [], "next": None}
    (site / "src" / "new.py").touch()
    for command in (("log",), ("log", "--writer", "bob"), ("ls",)):
        said = quire(*command, "src/nosuch.py", log=log, tree=empty)
        assert (said.status, said.out) == (3, "")
        assert said.err.startswith("Neither the journal nor the disk has src/nosuch.py. [not_found]\nNext: look at the")
        for known in ("src/new.py", "src/gone.py", "src/*.rs"):
            assert quire(*command, known, log=log, tree=empty).status == 0
    (site / "src" / "application.py").touch()
    typo = quire("log", "src/aplication.py", log=log)
    assert typo.err.startswith("Neither the journal nor the disk has src/aplication.py. Did you mean application.py? [")
    (site / "src" / "README").touch()
    assert "Did you mean README? [" in quire("log", "src/Redme", log=log).err, "in letters of whatever case"
    assert quire("log", "no/where.py", log=log).err.startswith("Neither the journal nor the disk has no/where.py. [")
    assert quire("log", "src/new.py", log=log).err.startswith("What is ignored (.gitignore, ")
    assert quire("log", "src/new.py", "--kind", "purged", log=log).err == ""
    assert json.loads(quire("log", "x", "--json", log=log).out)["error"] == "not_found"


@every(
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
def test_an_agent_that_looks_like_a_filter_of_the_log_is_said_to_be_none(
    words: tuple[str, ...], writers: list[str], hints: bool, quire: Quire
) -> None:
    records = [{"at": AT, "kind": "file_written", "path": "a", "writer": {**WRITER, "agent": one}} for one in writers]
    ran = quire("log", *words, log={"ok": True, "records": records, "next": None})
    assert ran.err == ("--agent only says who calls; --writer bob lists what bob did.\n" if hints else "")


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
        "  replaced   v3 (outside, 2026-01-31 12:00:00Z)\n"
        "  before it  v3 (outside, 2026-01-31 12:00:00Z)\n"
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


@every("typed", ["file written", "file-written", "file_written"])
def test_a_kind_is_typed_as_it_is_printed(typed: str, quire: Quire) -> None:
    for words in (["log"], ["since", "seq:1"]):
        ((_, arguments),) = quire(*words, "--kind", typed).asked
        assert arguments["kind"] == "file_written"
    assert quire("log", "--kind", "not captured").asked[0][1]["kind"] == "capture_failed"


def test_where_an_agent_did_nothing_through_quire_its_own_tools_are_named(quire: Quire) -> None:
    nothing = {"ok": True, "records": [], "next": None}
    assert quire("log", "--writer", "claude-code", log=nothing).err.startswith("--writer finds what claude-code did ")
    assert "`quire burst list`" in quire("log", "--writer", "claude-code", log=nothing).err
    assert quire("log", "--writer", "outside", log=nothing).err == ""


def test_what_a_reply_warns_of_is_said_by_every_command(quire: Quire) -> None:
    warned = {
        "ok": True,
        "records": [],
        "next": None,
        "warnings": [{"type": "disk_full", "message": "Nothing is taken."}],
    }
    assert quire("log", log=warned).err == "Nothing is taken.\n"
    assert quire("log", "--json", log=warned).err == ""


def test_a_log_of_nothing_says_so(quire: Quire) -> None:
    assert quire("log", log={"ok": True, "records": [], "next": None}).out == "Nothing is recorded there.\n"
    ran = quire("log", log={"ok": True, "records": [], "next": None, "capturing": True})
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
        "* | |  2026-01-31 12:00:00Z  v9  alice/s1  file written  a\n"
        "| * |  2026-01-31 12:00:00Z  v8  outside   file written  a\n"
        "* | |  2026-01-31 12:00:00Z  v7  alice/s1  file written  a\n"
        "  | *  2026-01-31 12:00:00Z  v6  user      file written  a\n"
        "  *    2026-01-31 12:00:00Z  v5  outside   file written  a\n"
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
        "v812  alice/s1            t7  2026-01-31 12:00:00Z   9| def f():\n"
        "v3    outside                 2026-01-31 12:00:00Z  10| \treturn 1\n"
        "v9    alice/s1 (restore)      2026-01-31 12:00:00Z  11|\n"
        "v2    first seen              2026-01-31 12:00:00Z  12| pass\n"
    )
    assert ran.err == "Earlier names: old.py.\n"


def test_blame_says_where_nothing_is_known(quire: Quire) -> None:
    gap = {"version": "v5", "why": "too_large", "attributed_to": "v6"}
    reply = {"ok": True, "path": "a", "lines": [blamed(1, 6, WRITER, "x")], "names": ["a"], "gaps": [gap]}
    ran = quire("blame", "a", blame=reply)
    assert ran.out == "v6  alice/s1  2026-01-31 12:00:00Z  1| x\n"
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
    assert quire("blame", "b", blame=refusal).err == "b holds NUL bytes. [binary_file]\n"

    def blame(args: dict[str, Any]) -> dict[str, Any]:
        return (
            refusal if "at" in args else {"ok": True, "version": "v8", "lines": [], "truncated": True, "next_line": 2}
        )

    ran = quire("blame", "b", blame=blame)
    assert (ran.status, ran.out, ran.err) == (1, "", "b holds NUL bytes. [binary_file]\n")


def test_show_prints_the_text_and_tells_beside_it_who_wrote_it(quire: Quire) -> None:
    record = {"seq": 812, "at": "2026-01-31T12:00:00Z", "kind": "file_written", "path": "a.py", "version": "v812"}
    ran = quire("show", "v812", show={"ok": True, "record": {**record, "writer": WRITER}, "content": "x\ny"})
    assert ran.asked == [("show", {"version": "v812"})]
    assert (ran.out, ran.err) == ("x\ny", "2026-01-31 12:00:00Z  v812  alice/s1  file written  a.py\n")


@every(
    ("given", "sent"),
    [("14", "seq:14"), ("v14", "v14"), ("v3", "v3"), ("before-lunch", "before-lunch")],
)
def test_show_takes_a_records_number_and_a_version_before_a_file_of_that_name(
    given: str, sent: str, quire: Quire, site: Path
) -> None:
    (site / "v3").touch()
    (site / "14").touch()
    assert quire("show", given, show={"ok": True, "content": ""}).asked == [("show", {"version": sent})]


def test_show_takes_a_path_at_a_point_and_all_pages(quire: Quire) -> None:
    def show(args: dict[str, Any]) -> dict[str, Any]:
        if "start_line" in args:
            return {"ok": True, "content": "3\n"}
        return {"ok": True, "content": "1\n2\n", "truncated": True, "next_line": 3}

    ran = quire("show", "src/a.py@seq:9", show=show)
    assert ran.asked[0] == ("show", {"path": "src/a.py", "version": "seq:9"})
    assert ran.out == "1\n2\n3\n"


def test_a_folder_has_no_text_to_show_and_is_listed(quire: Quire, site: Path) -> None:
    (site / "lib").mkdir()
    ran = quire("show", "lib", show={"ok": False, "error": "not_found", "message": "'lib' had no version at …."})
    step = "Next: `quire ls PATH` lists it, with --at POINT as it was then."
    assert (ran.status, ran.err) == (1, f"lib is a folder, which has no text. [not_a_file]\n{step}\n")


@pytest.mark.parametrize(
    ("fields", "out", "sentence", "status"),
    [
        ({"binary": True, "content_base64": "AAE="}, "\x00\x01", "", 0),
        ({"binary": True, "truncated": True, "sha256": sha256(b"vast").hexdigest()}, "vast", "", 0),
        ({"uncaptured": "too_large"}, "", "Its bytes are not in the journal (too_large).\n", 1),
        ({"gone": True}, "", "", 0),
        ({"content": "caf\ufffd\n", "lossy": True}, "caf\ufffd\n", f"{LOSSY}\n", 0),
    ],
)
def test_show_of_what_is_no_text(fields: dict[str, Any], out: str, sentence: str, status: int, quire: Quire) -> None:
    """What goes into a file is all of it, or the status says that it is not."""
    blob = {"sha256": fields.get("sha256"), "content_base64": base64.b64encode(b"vast").decode()}
    told = {"ok": True, "record": {"seq": 9, "writer": "w1"}, **fields}
    ran = quire("show", "v9", show=told, blobs={"ok": True, "blobs": [blob]})
    assert (ran.status, ran.out) == (status, out)
    assert ran.err == f"seq:9  w1\n{sentence}"


def test_diff_keeps_the_cr_of_line_ends_and_shows_it_to_a_person(quire: Quire, monkeypatch: pytest.MonkeyPatch) -> None:
    """`git apply` needs it; and where it is all that differs, a person would see two equal lines."""
    patch = "--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@\n-one\r\n+o\x07n\re\n"
    told = {"ok": True, "files": [{"path": "x", "status": "changed", "patch": patch}]}
    assert quire("diff", "v1..", diff=told).out == "--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@\n-one\r\n+one\n"

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdout", Terminal())
    quire("diff", "v1..", "--no-pager", diff=told)
    seen = re.sub("\x1b\\[[0-9]*m", "", sys.stdout.getvalue())  # type: ignore[attr-defined]
    assert seen == "--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@\n-one^M\n+one\n"


def test_diff_prints_the_patch_of_each_file_and_a_line_where_there_is_none(quire: Quire) -> None:
    files = [
        {"path": "a.py", "status": "changed", "patch": "--- a/a.py\n+++ b/a.py\n@@ -1,1 +1,1 @@\n-old\x1b\n+new\n"},
        {"path": "b.png", "status": "replaced", "binary": True},
        {"path": "run.sh", "status": "mode", "mode": ["0644", "0755"], "hunks": []},
        {"path": "long.txt", "status": "added", "truncated": True},
        {"path": "new", "status": "added", "entry": "folder", "hunks": []},
        {"path": ".env", "status": "added", "binary": False},
    ]
    reply = {"ok": True, "from": "seq:1", "to": "seq:2", "files": files}
    ran = quire("diff", "v1..v2", "a.py", "src", diff=reply)
    assert ran.asked[0] == ("diff", {"from": "v1", "to": "v2", "paths": ["a.py", "src"]})
    assert ran.out == (
        "--- a/a.py\n+++ b/a.py\n@@ -1,1 +1,1 @@\n-old\n+new\n"
        "b.png: replaced, binary\n"
        "run.sh: mode 0644 -> 0755\n"
        "long.txt: added; too long to be shown, `quire show` and `quire cat` print the whole of it\n"
        "new: folder added\n"
        ".env: added; its bytes are not in the journal\n"
    )
    assert quire("diff", "v1").asked == quire("diff", "v1..").asked == [("diff", {"from": "v1"})]
    assert quire("diff", "v1", diff={"ok": True, "files": []}).out == "Nothing differs.\n"


def test_diff_counts_the_lines_that_came_and_went(quire: Quire) -> None:
    patch = "--- a/src/a.py\n+++ b/src/a.py\n@@ -1,2 +1,3 @@\n-old\n+new\n+---\n kept\n"
    files = [
        {"path": "src/a.py", "status": "changed", "patch": patch},
        {"path": "b", "status": "added", "binary": True},
    ]
    ran = quire("diff", "v1..", "--stat", diff={"ok": True, "from": "seq:1", "to": "seq:2", "files": files})
    assert ran.out == "+2 -1          src/a.py\nadded, binary  b\n"
    assert quire("diff", "v1..", "--stat", diff={"ok": True, "files": []}).out == "Nothing differs.\n"


def test_diff_asks_for_the_patches_that_had_no_room_in_the_reply(quire: Quire) -> None:
    """What is redirected into a file is to be the whole patch."""

    def diff(args: dict[str, Any]) -> dict[str, Any]:
        paths = args.get("paths", ["a", "b", "c", "vast"])
        room = next(path for path in paths if path != "vast" or paths == ["vast"])
        files = [{"path": path, "status": "added", "patch": f"+{path}\n"} for path in paths]
        left = [{"path": path, "status": "added", "truncated": True} for path in paths]
        told = [file if file["path"] == room != "vast" else gap for file, gap in zip(files, left, strict=True)]
        return {"ok": True, "from": "seq:1", "to": "seq:9", "files": told}

    ran = quire("diff", "v1..", diff=diff)
    assert ran.out.splitlines()[:3] == ["+a", "+b", "+c"]
    assert ran.out.splitlines()[3].startswith("vast: added; too long to be shown")
    assert ran.asked[1] == ("diff", {"from": "seq:1", "to": "seq:9", "paths": ["b", "c", "vast"]})
    assert [len(args.get("paths", ())) for _, args in ran.asked] == [0, 3, 2, 1]


def test_diff_shows_two_files_that_are_called_alike_where_one_name_is_escaped(quire: Quire) -> None:
    """Names that are not UTF-8 are percent-escaped in replies, and a file may really be called so."""
    names: list[dict[str, Any]] = [{"path": "a%FF"}, {"path": "a%FF", "path_encoding": "percent"}]
    patches = {"a%FF": "+plain\n", "%/a%FF": "+escaped\n"}

    def diff(args: dict[str, Any]) -> dict[str, Any]:
        asked = args.get("paths", ())
        files = [
            {**name, "status": "added", **({"patch": patches[path]} if path in asked else {"truncated": True})}
            for name, path in zip(names, patches, strict=True)
            if path in asked or not asked
        ]
        return {"ok": True, "from": "seq:1", "to": "seq:9", "files": files}

    assert quire("diff", "v1..", diff=diff).out.splitlines() == ["+plain", "+escaped"]


def test_diff_goes_on_behind_the_files_of_a_reply_and_past_those_that_are_larger_than_one(quire: Quire) -> None:
    vast = [f"vast{n:03}" for n in range(100)]
    paged = {"": [*vast, "z"], "z": ["zz"]}

    def diff(args: dict[str, Any]) -> dict[str, Any]:
        if paths := args.get("paths"):
            fits = [path for path in paths if path not in vast] if paths[0] not in vast else []
        else:
            paths, fits = paged[args.get("cursor", "")], ["zz"]
        files = [
            {"path": path, "status": "added", **({"patch": f"+{path}\n"} if path in fits else {"truncated": True})}
            for path in paths
        ]
        page = {"ok": True, "from": "seq:1", "to": "seq:9", "files": files}
        return page if "paths" in args or args.get("cursor") else {**page, "next": "z"}

    lines = quire("diff", "v1..", diff=diff).out.splitlines()
    assert (len(lines), lines[-2:]) == (102, ["+z", "+zz"])
    assert all("too long to be shown" in line for line in lines[:100])
    asked = quire("diff", "v1..v9", "--cursor", "z", "--json", diff=diff).asked
    assert asked == [("diff", {"from": "v1", "to": "v9", "cursor": "z"})]  # JSON is a page, and this is the next one


def test_cat_writes_the_bytes_of_all_pages_of_one_version(quire: Quire) -> None:
    def read(args: dict[str, Any]) -> dict[str, Any]:
        if args.get("start_line", 1) == 1:
            page = {"content_base64": "MQ0KMgo=", "truncated": True, "next_line": 3}
        else:
            page = {"content_base64": "M8Op"}
        return {"ok": True, "version": "v5", "hasBom": True, **page}

    ran = quire("cat", "a", read_file=read)
    assert ran.out.encode() == b"\xef\xbb\xbf1\r\n2\n3\xc3\xa9"
    pinned = {"path": "a", "content_base64": True, "at": "v5", "start_line": 3}
    assert ran.asked == [("read_file", {"path": "a", "content_base64": True}), ("read_file", pinned)]


def test_cat_keeps_a_second_byte_order_mark_which_is_text(quire: Quire) -> None:
    mark = b"\xef\xbb\xbf"
    reply = {"ok": True, "hasBom": True, "content_base64": base64.b64encode(mark + b"a\n").decode()}
    assert quire("cat", "a", read_file=reply).out.encode() == mark + mark + b"a\n"


def test_cat_as_json_is_one_reply_with_the_whole_text(quire: Quire) -> None:
    def read(args: dict[str, Any]) -> dict[str, Any]:
        first = args.get("start_line", 1) == 1
        page = {"content": "1\n2", "truncated": True, "next_line": 3} if first else {"content": "3\n"}
        return {"ok": True, "version": "v5", **page}

    ran = quire("cat", "a@v5", "--json", read_file=read)
    assert json.loads(ran.out)["content"] == "1\n2\n3\n"
    no = {"ok": False, "error": "binary_file", "message": "No."}
    assert quire("cat", "a", read_file=no, tree={**no, "error": "not_found"}).status == 1


def test_manual_prints_the_text_as_it_is(quire: Quire) -> None:
    text = "# `edit`: change lines\n\nThe hash is the identity.\n\t`</div>`\n"
    ran = quire("manual", "edit", manual={"ok": True, "message": "The manual of edit.", "manual": text})
    assert (ran.status, ran.out, ran.err) == (0, text, "")
    assert ran.asked == [("manual", {"dialect": "edit"})]


def test_manual_without_a_name_asks_for_all_of_them(quire: Quire) -> None:
    reply = {"ok": True, "message": "The manuals of 14 tools.", "manual": "# Tools\n", "dialects": []}
    assert quire("manual", manual=reply).asked == [("manual", {})]
    assert json.loads(quire("manual", "--json", manual=reply).out) == reply
    assert quire("manual", "edit", "read_file", manual=reply).status == 2


def test_manual_needs_no_workspace_and_makes_none(
    quire: Quire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    monkeypatch.setattr(sys, "executable", str(live.python()))
    ran = quire("manual", "edit")
    assert (ran.status, ran.err, ran.asked) == (0, "", [])
    assert ran.out.startswith("# `edit`: ")
    assert not any(elsewhere.iterdir())
    assert quire("manual", "-C", str(elsewhere / "none"), "edit").status == 3


def test_manual_of_what_has_none_ends_with_3(quire: Quire) -> None:
    ran = quire("manual", "sed", manual={"ok": False, "error": "not_found", "message": "There is no manual of 'sed'."})
    assert (ran.status, ran.out) == (3, "")
    assert "There is no manual of 'sed'. [not_found]" in ran.err
