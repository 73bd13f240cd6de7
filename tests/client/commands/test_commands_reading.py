"""The commands that read: files, versions, differences, manuals. The texts are exact."""

from __future__ import annotations

import base64
import io
import json
import os
import re
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from command_line import WRITER, Quire

from quire_client.cli.pager import git_pager
from quire_client.cli.wording import step
from quire_client.commands.everyday.read import LOSSY


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


def test_lines_beyond_the_end_of_a_file_are_reported(quire: Quire) -> None:
    none = {"ok": True, "message": "No lines of a, which has 4.", "startLine": 5, "endLine": 4, "lineCount": 4}
    ran = quire("read", "a", "--lines", "9:12", read_file={**none, "content": ""})
    assert (ran.status, ran.out, ran.err) == (0, "", "No lines of a, which has 4.\n")
    for words in (("a", "--lines", "9"), ("a:9",)):
        ran = quire("blame", *words, blame={**none, "lines": []})
        assert (ran.status, ran.out, ran.err) == (3, "", "No lines of a, which has 4.\n")
    for command in ("read", "blame", "claim"):
        ran = quire(command, "a", "--lines", "5:2")
        assert (ran.status, ran.err, ran.asked) == (2, "quire: --lines 5:2 ends before it begins.\n", [])
    assert quire("read", "a", "--hashes", "--hashline").err == "quire: --hashes and --hashline exclude each other.\n"


def test_show_explains_every_meaning_of_an_unknown_word(quire: Quire, site: Path) -> None:
    refused = {"ok": False, "error": "not_found", "suggested_action": "name_a_point"}
    typo = {**refused, "message": "There is no checkpoint 'scr/a.py'; a point is a version.", "point": "scr/a.py"}
    ran = quire("show", "scr/a.py", show=typo)
    assert ran.status == 3
    assert ran.err.startswith("scr/a.py is not a version, a checkpoint, or a file that is there.\n")
    (site / "src" / "main.py").touch()
    assert "that is there. Did you mean main.py?\n" in quire("show", "src/mian.py", show=typo).err
    (site.parent / "else.txt").touch()
    outside = quire("show", "../esle.txt", show=typo).err
    assert "that is there.\n" in outside, "what lies outside can be nobody's version"
    late = {**refused, "message": "'v99' is later than the newest record, seq:24.", "point": "v99"}
    assert quire("show", "v99", show=late).err.startswith(late["message"])


def test_a_tree_of_a_time_before_the_journal_is_no_empty_tree(quire: Quire, tmp_path: Path) -> None:
    nothing = {"ok": True, "message": "0 entries.", "at": "seq:0", "time": None, "entries": [], "complete": False}
    listed = quire("ls", "--at", "99d", tree=nothing)
    assert (listed.status, listed.out) == (0, "")
    assert listed.err.startswith("The journal begins later: it knows nothing of that time.\n")
    written = quire("export-tree", "99d", str(tmp_path / "then"), tree=nothing)
    assert (written.status, written.out, (tmp_path / "then").exists()) == (3, "", False)
    assert written.err.startswith("The journal begins later: it knows nothing of that time.\n")


def test_a_tree_at_a_point_where_records_are_lost_names_them_and_what_is_left_out(quire: Quire, tmp_path: Path) -> None:
    lost = {"path": "a.py", "kind": "file", "version": None, "sha256": None, "sizeBytes": 0, "mode": "0644"}
    warned = {"type": "record_lost", "message": "Records 5 to 6 lost to damage of the journal: some files are missing."}
    tree = {"ok": True, "at": "seq:6", "time": "2026-01-01T00:00:00Z", "next": None, "complete": False}
    tree |= {"entries": [{**lost, "uncaptured": "record_lost"}], "warnings": [warned]}
    tree |= {"gaps": [{"first": 5, "last": 6}], "message": "1 entry."}
    listed = quire("ls", "--at", "seq:6", tree=tree)
    assert "a.py  [not captured: record lost]" in listed.out
    assert "Records 5 to 6 lost" in listed.err
    assert "had not been looked at" not in listed.err
    written = quire("export-tree", "seq:6", str(tmp_path / "then"), tree=tree)
    assert "Records 5 to 6 lost" in written.err
    assert "a.py: record lost" in written.err
    assert list((tmp_path / "then").iterdir()) == []


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


def test_an_operation_is_named_where_it_is_not_known_what_became_of_it(quire: Quire) -> None:
    refusal = {"ok": False, "error": "not_found", "message": "Nothing.", "op": "ab12", "outcome": "not_applied"}
    assert quire("redo", redo=refusal).err == "Nothing.\n"
    lost = {**refusal, "error": "unknown", "outcome": "unknown", "suggested_action": "op_status"}
    said = quire("undo", undo=lost).err.splitlines()
    assert said[1:] == ["Operation: ab12", f"Next: {step('op_status', 'ab12')}."]


def test_what_a_reply_warns_of_is_said_by_every_command(quire: Quire) -> None:
    warned = {
        "ok": True,
        "records": [],
        "next": None,
        "warnings": [{"type": "disk_full", "message": "Nothing is taken."}],
    }
    assert quire("log", "--records", log=warned).err == "Nothing is taken.\n"
    assert quire("log", "--records", "--json", log=warned).err == ""


def test_show_prints_the_text_and_tells_beside_it_who_wrote_it(quire: Quire) -> None:
    record = {"seq": 812, "at": "2026-01-31T12:00:00Z", "kind": "file_written", "path": "a.py", "version": "v812"}
    ran = quire("show", "v812", show={"ok": True, "record": {**record, "writer": WRITER}, "content": "x\ny"})
    assert ran.asked == [("show", {"version": "v812"})]
    assert (ran.out, ran.err) == ("x\ny", "2026-01-31 12:00:00  v812  alice/s1  file written  a.py\n")


@pytest.mark.parametrize(
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
    assert (ran.status, ran.err) == (1, f"lib is a folder, which has no text.\n{step}\n")


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
    """`git apply` needs all bytes as they are; a person would see two equal lines where a CR is all that differs."""
    patch = "--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@\n-one\r\n+o\x07n\re\n"
    told = {"ok": True, "files": [{"path": "x", "status": "changed", "patch": patch}]}
    assert quire("diff", "v1..", diff=told).out == patch

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
        "--- a/a.py\n+++ b/a.py\n@@ -1,1 +1,1 @@\n-old\x1b\n+new\n"
        "# b.png: replaced, binary\n"
        "# run.sh: mode 0644 -> 0755\n"
        "# long.txt: added; too long to be shown, `quire show` and `quire cat` print the whole of it\n"
        "# new: folder added\n"
        "# .env: added; its bytes are not in the journal\n"
    )
    assert quire("diff", "v1").asked == quire("diff", "v1..").asked == [("diff", {"from": "v1"})]
    ran = quire("diff", "v1", diff={"ok": True, "files": []})
    assert (ran.status, ran.out, ran.err) == (0, "", "Nothing differs.\n")


def test_diff_counts_the_lines_that_came_and_went(quire: Quire) -> None:
    patch = "--- a/src/a.py\n+++ b/src/a.py\n@@ -1,2 +1,3 @@\n-old\n+new\n+---\n kept\n"
    files = [
        {"path": "src/a.py", "status": "changed", "patch": patch},
        {"path": "b", "status": "added", "binary": True},
    ]
    ran = quire("diff", "v1..", "--stat", diff={"ok": True, "from": "seq:1", "to": "seq:2", "files": files})
    assert ran.out == "+2 -1          src/a.py\nadded, binary  b\n2 files, +2 -1\n"


def test_diff_counts_no_lines_of_a_file_of_which_only_the_mode_changed(quire: Quire) -> None:
    patch = "diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n"
    files = [{"path": "run.sh", "status": "mode", "mode": ["0644", "0755"], "patch": patch}]
    ran = quire("diff", "v1..", "--stat", diff={"ok": True, "from": "seq:1", "to": "seq:2", "files": files})
    assert ran.out == "mode change 100644 => 100755  run.sh\n"


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
    assert ran.out.splitlines()[3].startswith("# vast: added; too long to be shown")
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


def test_diff_continues_over_several_replies_and_past_files_larger_than_a_reply(quire: Quire) -> None:
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
    monkeypatch.setattr(sys, "executable", sys.executable)
    ran = quire("manual", "edit")
    assert (ran.status, ran.err, ran.asked) == (0, "", [])
    assert ran.out.startswith("# `edit`: ")
    assert not any(elsewhere.iterdir())
    assert quire("manual", "-C", str(elsewhere / "none"), "edit").status == 3


def test_manual_of_what_has_none_ends_with_3(quire: Quire) -> None:
    ran = quire("manual", "sed", manual={"ok": False, "error": "not_found", "message": "There is no manual of 'sed'."})
    assert (ran.status, ran.out) == (3, "")
    assert "There is no manual of 'sed'." in ran.err


# -- diff as git's users type it ---------------------------------------------------------------------------------

CHANGE = {
    "path": "src/a.py",
    "status": "changed",
    "patch": "--- a/src/a.py\n+++ b/src/a.py\n@@ -1,1 +1,1 @@ def f():\n-old b\n+new b\n",
    "hunks": [
        {
            "old_start": 1,
            "old_lines": 1,
            "new_start": 1,
            "new_lines": 1,
            "heading": "def f():",
            "lines": ["-old b", "+new b"],
        }
    ],
}


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (["270", "273"], {"from": "270", "to": "273"}),
        (["v1", "v2", "src"], {"from": "v1", "to": "v2", "paths": ["src"]}),
        (["here", "src"], {"from": "here", "paths": ["src"]}),
        (["-U0", "-w", "v1"], {"from": "v1", "context": 0, "ignore_space": True}),
        (["v1", "--writer", "ann", "--agent-session", "s1"], {"from": "v1", "writer": "ann", "agent_session": "s1"}),
    ],
)
def test_diff_takes_points_and_options_as_git_does(words: list[str], asked: dict[str, Any], quire: Quire) -> None:
    assert quire("diff", *words, diff={"ok": True, "files": []}).asked == [("diff", asked)]


def test_diff_without_a_point_begins_at_the_last_checkpoint(quire: Quire) -> None:
    named = {"ok": True, "checkpoints": [{"name": "new", "seq": 9}, {"name": "old", "seq": 3}]}
    ran = quire("diff", "src", checkpoint=named, diff={"ok": True, "files": [CHANGE]})
    assert ran.asked[1] == ("diff", {"from": "new", "paths": ["src"]})
    assert ran.err == "Since the checkpoint new:\n"
    ran = quire("diff", checkpoint={"ok": True, "checkpoints": []})
    assert (ran.status, "name a point" in ran.err) == (2, True)


def test_diff_shows_names_counts_and_words_in_place_of_the_patch(quire: Quire) -> None:
    moved = {"path": "b", "status": "same", "moved_from": "a", "hunks": [], "patch": "diff --git a/a b/b\n"}
    told = {"ok": True, "files": [CHANGE, moved, {"path": "c", "status": "added", "patch": "+x\n"}]}
    assert quire("diff", "v1", "--name-only", diff=told).out == "src/a.py\nb\nc\n"
    assert quire("diff", "v1", "--name-status", diff=told).out == "M\tsrc/a.py\nR\ta\tb\nA\tc\n"
    odd = {"ok": True, "files": [{"path": "a\nb\x1b", "status": "added"}, {"path": "ü b", "status": "changed"}]}
    assert quire("diff", "v1", "--name-only", diff=odd).out == '"a\\nb\\033"\nü b\n', "as git quotes it"
    shown = quire("diff", "v1", "--word-diff", diff={"ok": True, "files": [CHANGE]}).out
    assert shown == "src/a.py\n@@ -1,1 +1,1 @@ def f():\n[-old-]{+new+} b\n"


def test_a_patch_goes_through_the_pager_that_git_is_set_to(tmp_path: Path) -> None:
    (tmp_path / ".gitconfig").write_text("[core]\n\tpager = delta --dark\n[pager]\n\tdiff = true\n")
    environ = {"TERM": "xterm", "HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    assert git_pager(environ) == "delta --dark"
    assert git_pager({**environ, "GIT_PAGER": "bat"}) == "bat"
    assert git_pager({**environ, "QUIRE_PAGER": "less"}) == git_pager({**environ, "TERM": "dumb"}) == ""
