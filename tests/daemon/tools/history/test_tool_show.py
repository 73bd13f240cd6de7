"""`show` and `diff`: what versions hold and how they differ."""

from __future__ import annotations

import base64
import re
from typing import Any

import pytest
from hypothesis import given, strategies as st

from memory_daemon import MemoryDaemon, lines
from quire_daemon.dialects.patch.text import parse_patch
from quire_daemon.tools.history.diff import DIFF_TOOL, MAX_FILES
from quire_daemon.tools.history.difference import MANY, MOST_COMPARED, hunk_json, text_hunks
from quire_daemon.tools.history.log import LOG_TOOL
from quire_daemon.tools.history.show import SHOW_TOOL
from quire_journal.export.git_patch import USUAL, Content, file_patch
from quire_journal.model.events import FOLDER, CaptureFailed, CheckpointNamed, OutsideWritten
from quire_journal.model.ids import blob_id, journal_path
from quire_journal.text.text import Text

LONG = [f"line {n}" for n in range(1, 31)]


def test_show_gives_the_bytes_the_writer_and_the_difference_to_the_base() -> None:
    daemon = MemoryDaemon()
    daemon.outside("f.txt", lines("one", "two"))
    made = daemon.write("f.txt", lines("one", "TWO"), daemon.ann)
    daemon.write("f.txt", lines("later"), daemon.ben)
    reply = daemon.call(SHOW_TOOL, daemon.ben, version=f"v{made}")
    assert (reply["path"], reply["version"], reply["content"]) == ("f.txt", f"v{made}", "one\nTWO\n")
    assert (reply["writer"]["agent"], reply["record"]["seq"]) == ("ann", made)
    head, _, patch = reply["diff"]["patch"].partition("\n--- ")
    assert re.fullmatch(r"diff --git a/f.txt b/f.txt\nindex [0-9a-f]{10}\.\.[0-9a-f]{10} 100644", head)
    assert patch == "a/f.txt\n+++ b/f.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n"


def test_show_with_a_path_takes_any_point() -> None:
    daemon = MemoryDaemon()
    assert (daemon.ann.writer, daemon.ben.writer) == (1, 2)  # as records 1 and 2
    daemon.outside("f.txt", lines("one"))
    daemon.write("other", lines("x"), daemon.ann)
    daemon.note(CheckpointNamed("here", daemon.journal.head), who=daemon.ann)
    daemon.write("f.txt", lines("two"), daemon.ann)
    assert daemon.call(SHOW_TOOL, daemon.ann, version="here", path="f.txt")["content"] == "one\n"
    assert daemon.call(SHOW_TOOL, daemon.ann, version="seq:2", path="f.txt")["error"] == "not_found"
    assert daemon.call(SHOW_TOOL, daemon.ann, version="v999")["error"] == "not_found"


def test_show_of_a_move_or_a_deletion_says_what_became_of_the_file() -> None:
    daemon = MemoryDaemon()
    daemon.outside("f.txt", lines("one"))
    moved = daemon.move("f.txt", "g.txt", daemon.ann)
    gone = daemon.delete("g.txt", daemon.ann)
    reply = daemon.call(SHOW_TOOL, daemon.ann, version=f"v{moved}")
    assert (reply["path"], reply["moved_from"], reply["diff"]["status"]) == ("g.txt", "f.txt", "same")
    reply = daemon.call(SHOW_TOOL, daemon.ann, version=f"v{gone}")
    assert (reply["gone"], reply["diff"]["status"]) == (True, "removed")
    assert "content" not in reply


def test_show_of_a_binary_version_gives_base64_and_of_an_uncaptured_one_says_why() -> None:
    daemon = MemoryDaemon()
    binary = daemon.outside("b.bin", b"\0\1\2")
    failed = daemon.note(CaptureFailed("big", "too_large", 1 << 40))
    assert base64.b64decode(daemon.call(SHOW_TOOL, daemon.ann, version=f"v{binary}")["content_base64"]) == b"\0\1\2"
    assert daemon.call(SHOW_TOOL, daemon.ann, version=f"v{failed}")["uncaptured"] == "too_large"


def test_show_of_a_long_version_is_cut_at_a_line_and_goes_on() -> None:
    daemon = MemoryDaemon()
    text = lines(*(f"{n:05d} {'x' * 90}" for n in range(4000)))
    made = daemon.outside("long", text)
    content, at = "", 1
    while at:
        reply = daemon.call(SHOW_TOOL, daemon.ann, version=f"v{made}", start_line=at)
        content += reply["content"]
        at = reply.get("next_line", 0)
    assert content.encode() == text


def test_show_of_a_record_without_a_version_shows_the_record() -> None:
    daemon = MemoryDaemon()
    named = daemon.note(CheckpointNamed("here", 2), who=daemon.ann)
    reply = daemon.call(SHOW_TOOL, daemon.ann, version=f"seq:{named}")
    assert (reply["record"]["kind"], reply["record"]["name"]) == ("checkpoint_named", "here")


# ── diff ─────────────────────────────────────────────────────────────────────


def three_files() -> tuple[MemoryDaemon, str]:
    """A daemon and a point after which one file changed, one came and one went."""
    daemon = MemoryDaemon()
    daemon.outside("a", lines(*LONG))
    daemon.outside("gone", lines("g"))
    daemon.outside("same", lines("s"))
    point = f"seq:{daemon.journal.head}"
    daemon.write("a", lines(*LONG[:2], "new", *LONG[2:20], *LONG[21:]), daemon.ann)
    daemon.write("came", lines("c"), daemon.ann)
    daemon.delete("gone", daemon.ben)
    daemon.write("same", lines("t"), daemon.ben)
    daemon.write("same", lines("s"), daemon.ben)
    return daemon, point


def statuses(reply: dict[str, Any]) -> dict[str, str]:
    """path → status."""
    return {f["path"]: f["status"] for f in reply["files"]}


def test_diff_lists_what_differs_between_two_points() -> None:
    daemon, point = three_files()
    reply = daemon.call(DIFF_TOOL, daemon.ann, **{"from": point})
    assert statuses(reply) == {"a": "changed", "came": "added", "gone": "removed"}
    assert [h["lines"] for h in reply["files"][0]["hunks"]] == [
        [" line 1", " line 2", "+new", " line 3", " line 4", " line 5"],
        [" line 18", " line 19", " line 20", "-line 21", " line 22", " line 23", " line 24"],
    ]
    assert "--- /dev/null\n+++ b/came\n@@ -0,0 +1,1 @@\n+c\n" in reply["patch"]
    assert "--- a/gone\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-g\n" in reply["patch"]


@pytest.mark.parametrize("asked", [{}, {"writer": "ann"}, {"writer": "ann", "alone": "apart"}], ids=str)
def test_a_diff_of_more_files_than_a_reply_lists_goes_on_at_a_cursor(asked: dict[str, str]) -> None:
    daemon = MemoryDaemon()
    names = [f"{n:04}.txt" for n in range(MAX_FILES + 2)]
    daemon.write_all(dict.fromkeys(names, b"one\n"), daemon.ann)
    first = daemon.call(DIFF_TOOL, daemon.ann, **asked, **{"from": "seq:1"})
    assert (first["message"], first["truncated"]) == (f"{MAX_FILES} files differ; `next` leads on.", True)
    span = {"from": first["from"], "to": first["to"], "cursor": first["next"]}
    rest = daemon.call(DIFF_TOOL, daemon.ann, **asked, **span)
    assert [file["path"] for file in (*first["files"], *rest["files"])] == names
    assert "next" not in rest


def test_diff_goes_backwards_too() -> None:
    daemon, point = three_files()
    reply = daemon.call(DIFF_TOOL, daemon.ann, **{"from": f"seq:{daemon.journal.head}"}, to=point)
    assert statuses(reply) == {"a": "changed", "came": "removed", "gone": "added"}


def test_diff_of_two_versions_of_one_file_is_about_that_file() -> None:
    daemon, _ = three_files()
    first, last = "v3", f"v{daemon.head_of('a')}"
    assert statuses(daemon.call(DIFF_TOOL, daemon.ann, **{"from": first}, to=last)) == {"a": "changed"}


@pytest.mark.parametrize(("path", "found"), [("a", {"a"}), ("*e*", {"came", "gone"}), ("same", set())])
def test_paths_narrow_a_diff(path: str, found: set[str]) -> None:
    daemon, point = three_files()
    assert set(statuses(daemon.call(DIFF_TOOL, daemon.ann, **{"from": point}, paths=[path]))) == found


def test_a_path_that_the_journal_does_not_know_is_not_found() -> None:
    daemon, point = three_files()
    assert daemon.call(DIFF_TOOL, daemon.ann, **{"from": point}, path="nowhere")["error"] == "not_found"


def test_binary_files_and_modes_are_noted_without_hunks() -> None:
    daemon = MemoryDaemon()
    daemon.outside("b.bin", b"\0a")
    daemon.outside("run", lines("x"))
    point = f"seq:{daemon.journal.head}"
    daemon.outside("b.bin", b"\0b")
    daemon.chmod("run", 0o755, daemon.ann)
    reply = daemon.call(DIFF_TOOL, daemon.ann, **{"from": point})
    assert statuses(reply) == {"b.bin": "replaced", "run": "mode"}
    assert reply["files"][0]["binary"]
    assert reply["files"][1]["mode"] == ["0644", "0755"]


def test_a_missing_last_break_is_marked_on_the_side_that_misses_it() -> None:
    patch = file_patch("f", Content("100644", b"a\nb"), Content("100644", b"a\nb\n")).decode()
    assert patch.endswith(" a\n-b\n\\ No newline at end of file\n+b\n")


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("ö x.txt", "b/ö x.txt\t"),
        ("d/\udcff.txt", '"b/d/\\377.txt"'),
        ("%/x", "b/%/x"),
        ('a"b\\c', '"b/a\\"b\\\\c"'),
        ("two\nlines", '"b/two\\nlines"'),
        ("tab\tand blank ", '"b/tab\\tand blank "\t'),
    ],
)
def test_a_patch_names_its_files_so_that_they_are_found_again(name: str, head: str) -> None:
    daemon = MemoryDaemon()
    assert (daemon.ann.writer, daemon.ben.writer) == (1, 2)  # as records 1 and 2
    path = journal_path(name)
    daemon.outside(path, lines("x"))
    patch = daemon.call(DIFF_TOOL, daemon.ann, **{"from": "seq:2"})["patch"]
    assert f"\n+++ {head}\n" in patch
    assert [file.path for file in parse_patch(patch)] == [path]


def test_a_folder_that_holds_files_is_no_difference_of_its_own() -> None:
    daemon = MemoryDaemon()
    start = daemon.write("a", lines("1"), daemon.ann)
    empty = daemon.note(OutsideWritten("d", b"", 0, 0o755, "watched", entry=FOLDER))
    daemon.write("d/f", lines("1"), daemon.ann)

    def paths(upto: int) -> list[str]:
        reply = daemon.call(DIFF_TOOL, daemon.ann, **{"from": f"seq:{start}", "to": f"seq:{upto}"})
        return [file["path"] for file in reply["files"]]

    assert paths(empty) == ["d"]
    assert paths(daemon.journal.head) == ["d/f"]


def test_an_empty_folder_is_told_and_has_no_part_in_the_patch() -> None:
    """Else who applies the patch makes a file of it."""
    daemon = MemoryDaemon()
    assert (daemon.ann.writer, daemon.ben.writer) == (1, 2)  # as records 1 and 2
    daemon.note(OutsideWritten("d", b"", 0, 0o755, "watched", entry=FOLDER))
    reply = daemon.call(DIFF_TOOL, daemon.ann, **{"from": "seq:2"})
    (file,) = reply["files"]
    assert (file["path"], file["status"], file["entry"], reply["patch"]) == ("d", "added", "folder", "")
    (record,) = daemon.call(LOG_TOOL, daemon.ann, path="d")["records"]
    assert record["entry"] == "folder", "in the log it looked like a file"


def patched(text: Text, parts: list[dict[str, Any]]) -> list[str]:
    """The lines of `text` with hunks applied, checking that each stands where it says."""
    old = [line.decode() for line in text.lines]
    new: list[str] = []
    at = 0
    for part in parts:
        start = part["old_start"] - (1 if part["old_lines"] else 0)
        new += old[at:start]
        assert len(new) == part["new_start"] - (1 if part["new_lines"] else 0)
        before = [line[1:] for line in part["lines"] if line[0] != "+"]
        after = [line[1:] for line in part["lines"] if line[0] != "-"]
        assert (len(before), len(after)) == (part["old_lines"], part["new_lines"])
        assert old[start : start + len(before)] == before
        new += after
        at = start + len(before)
    return new + old[at:]


some_lines = st.lists(st.sampled_from(["a", "b", "c", "d", ""]), max_size=40).map(lambda said: Text.of(lines(*said)))


@given(some_lines, some_lines)
def test_hunks_make_the_one_text_of_the_other(a: Text, b: Text) -> None:
    parts = [hunk_json(hunk) for hunk in text_hunks(a, b, USUAL)]
    assert patched(a, parts) == [line.decode() for line in b.lines]


def test_a_file_that_moved_between_two_points_is_a_rename() -> None:
    daemon = MemoryDaemon()
    daemon.write("a.py", lines("one", "two", "three"), daemon.ann)
    daemon.write("gone", lines("same bytes"), daemon.ann)
    point = f"seq:{daemon.journal.head}"
    daemon.move("a.py", "b.py", daemon.ann)
    daemon.move("b.py", "c.py", daemon.ben)
    daemon.write("c.py", lines("one", "TWO", "three"), daemon.ann)
    daemon.outside("came", lines("same bytes"))
    daemon.outside_deletes("gone")
    reply = daemon.call(DIFF_TOOL, daemon.ann, **{"from": point})
    assert [(f["path"], f["moved_from"], f["status"]) for f in reply["files"]] == [
        ("c.py", "a.py", "changed"),
        ("came", "gone", "same"),
    ]
    assert "rename from a.py\nrename to c.py\n" in reply["patch"]
    assert "similarity index 100%\nrename from gone\nrename to came\n" in reply["patch"]


def test_a_difference_of_a_writer_has_the_files_that_it_changed_and_says_who_else_did() -> None:
    daemon = MemoryDaemon()
    daemon.outside("a", lines("x"))
    point = f"seq:{daemon.journal.head}"
    for path, who in (("a", daemon.ann), ("a", daemon.ben), ("b", daemon.ann), ("c", daemon.ben)):
        daemon.write(path, lines(who.agent), who)
    reply = daemon.call(DIFF_TOOL, daemon.ann, **{"from": point}, writer="ann")
    assert [(f["path"], f.get("others")) for f in reply["files"]] == [("a", ["ben"]), ("b", None)]
    reply = daemon.call(DIFF_TOOL, daemon.ann, **{"from": point}, agent_session="s2")
    assert [f["path"] for f in reply["files"]] == ["a", "c"]


def test_neither_git_nor_the_first_capture_is_another_who_changed_a_file() -> None:
    daemon = MemoryDaemon()
    for found, hint in (("captured", ""), ("watched", "git: checkout"), ("watched", "")):
        data = lines(found, hint)
        daemon.note(OutsideWritten("a", blob_id(data), len(data), 0o644, found, hint=hint), blobs=(data,))
    daemon.write("a", lines("watched", "", "ann"), daemon.ann)
    (file,) = daemon.call(DIFF_TOOL, daemon.ann, **{"from": "seq:0"}, writer="me")["files"]
    assert file["others"] == ["ann"]
    (file,) = daemon.call(DIFF_TOOL, daemon.ann, **{"from": "seq:0"}, writer="ann")["files"]
    assert file["others"] == ["outside"]


def test_a_hunk_says_in_which_function_it_is_and_has_as_much_around_it_as_is_asked_for() -> None:
    daemon = MemoryDaemon()
    body = ["class C:", "    def f():", *(f"        {n}" for n in range(9))]
    daemon.outside("a.py", lines(*body))
    point = f"seq:{daemon.journal.head}"
    daemon.outside("a.py", lines(*body[:-1], "        new"))
    (file,) = daemon.call(DIFF_TOOL, daemon.ann, **{"from": point}, context=1)["files"]
    assert file["hunks"][0]["heading"] == "def f():"
    assert "\n@@ -10,2 +10,2 @@ def f():\n         7\n-        8\n+        new\n" in file["patch"]
    assert daemon.call(DIFF_TOOL, daemon.ann, **{"from": point}, context=-1)["error"] == "schema_invalid"


def test_lines_that_differ_in_white_space_only_can_count_as_equal() -> None:
    daemon = MemoryDaemon()
    daemon.outside("a", lines("one", "two"))
    point = f"seq:{daemon.journal.head}"
    daemon.outside("a", lines("  one", "TWO"))
    (file,) = daemon.call(DIFF_TOOL, daemon.ann, **{"from": point}, ignore_space=True)["files"]
    assert file["hunks"][0]["lines"] == [" one", "-two", "+TWO"]


def test_the_patch_of_a_text_that_is_not_utf8_is_its_bytes() -> None:
    daemon = MemoryDaemon()
    daemon.outside("a", b"caf\xe9\n")
    point = f"seq:{daemon.journal.head}"
    daemon.outside("a", b"caf\xe9s\n")
    reply = daemon.call(DIFF_TOOL, daemon.ann, **{"from": point})
    assert base64.b64decode(reply["patch_base64"]).endswith(b"\n-caf\xe9\n+caf\xe9s\n")


def test_a_large_file_is_told_without_taking_it_apart() -> None:
    """A binary of 60 MB had everybody wait for five seconds."""
    daemon = MemoryDaemon()
    daemon.outside("b.bin", b"\0" + b"\r\n" * MANY)
    daemon.outside("t.txt", b"line\n" * (MOST_COMPARED // 5 + 1))
    seq = daemon.journal.head
    daemon.outside("b.bin", b"\0" + b"\n" * MANY)
    end = daemon.outside("t.txt", b"one\n")
    assert daemon.call(SHOW_TOOL, daemon.ben, version=f"seq:{end}", path="b.bin")["binary"] is True
    shown = daemon.call(SHOW_TOOL, daemon.ben, version=f"seq:{seq}", path="t.txt")
    assert (shown["truncated"], shown["content"][:10]) == (True, "line\nline\n")
    binary, text = daemon.call(DIFF_TOOL, daemon.ben, **{"from": f"seq:{seq}", "to": f"seq:{end}"})["files"]
    assert (binary["status"], binary["binary"]) == ("replaced", True)
    assert (text["truncated"], [side["mode"] for side in text["sides"]]) == (True, ["100644", "100644"])
    assert all(len(side["sha256"]) == 64 for side in text["sides"])


def test_a_difference_says_why_bytes_are_missing() -> None:
    """A secret, and a file that is too large, differed in no line."""
    daemon = MemoryDaemon()
    begin = daemon.outside("f.txt", b"one\n")
    daemon.note(OutsideWritten(".env", blob_id(b"key"), 3, 0o600, "watched"), CaptureFailed(".env", "secret"))
    end = daemon.journal.head
    (secret,) = daemon.call(DIFF_TOOL, daemon.ben, **{"from": f"seq:{begin}", "to": f"seq:{end}"})["files"]
    assert (secret["status"], secret["uncaptured"], secret["uncaptured_told"]) == ("added", "secret", "secret")


def test_the_new_file_of_a_writer_that_others_brought_back_is_new_in_its_difference() -> None:
    """Its patch was a change of an empty file, which `git apply` refused."""
    daemon = MemoryDaemon()
    start = daemon.outside("other.txt", b"o\n")
    daemon.write("n.txt", lines("x"), daemon.ann)
    daemon.outside_deletes("n.txt")
    end = daemon.outside("n.txt", lines("x"))
    asked = {"from": f"seq:{start}", "to": f"seq:{end}", "writer": "ann"}
    (file,) = daemon.call(DIFF_TOOL, daemon.ben, **asked)["files"]
    assert (file["status"], "new file mode 100644" in file["patch"]) == ("added", True)
