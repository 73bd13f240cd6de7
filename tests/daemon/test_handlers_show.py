"""`show` and `diff`: what versions hold and how they differ."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from desk import Desk, lines
from hypothesis import given
from hypothesis import strategies as st

from quire_daemon.dialects.patch_text import parse_patch
from quire_daemon.handlers.difference import hunks, patch_text
from quire_daemon.handlers.log import LOG_TOOL
from quire_daemon.handlers.show import DIFF_TOOL, MAX_FILES, SHOW_TOOL
from quire_journal.events import FOLDER, CaptureFailed, CheckpointNamed, OutsideWritten
from quire_journal.ids import journal_path
from quire_journal.text import Text

LONG = [f"line {n}" for n in range(1, 31)]


def test_show_gives_the_bytes_the_writer_and_the_difference_to_the_base() -> None:
    desk = Desk()
    desk.outside("f.txt", lines("one", "two"))
    made = desk.write("f.txt", lines("one", "TWO"), desk.ann)
    desk.write("f.txt", lines("later"), desk.ben)
    reply = desk.call(SHOW_TOOL, desk.ben, version=f"v{made}")
    assert (reply["path"], reply["version"], reply["content"]) == ("f.txt", f"v{made}", "one\nTWO\n")
    assert (reply["writer"]["agent"], reply["record"]["seq"]) == ("ann", made)
    assert reply["diff"]["patch"] == "--- a/f.txt\n+++ b/f.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n"


def test_show_with_a_path_takes_any_point() -> None:
    desk = Desk()
    desk.outside("f.txt", lines("one"))
    desk.write("other", lines("x"), desk.ann)
    desk.note(CheckpointNamed("here", desk.journal.head), who=desk.ann)
    desk.write("f.txt", lines("two"), desk.ann)
    assert desk.call(SHOW_TOOL, desk.ann, version="here", path="f.txt")["content"] == "one\n"
    assert desk.call(SHOW_TOOL, desk.ann, version="seq:2", path="f.txt")["error"] == "not_found"
    assert desk.call(SHOW_TOOL, desk.ann, version="v999")["error"] == "not_found"


def test_show_of_a_move_or_a_deletion_says_what_became_of_the_file() -> None:
    desk = Desk()
    desk.outside("f.txt", lines("one"))
    moved = desk.move("f.txt", "g.txt", desk.ann)
    gone = desk.delete("g.txt", desk.ann)
    reply = desk.call(SHOW_TOOL, desk.ann, version=f"v{moved}")
    assert (reply["path"], reply["moved_from"], reply["diff"]["status"]) == ("g.txt", "f.txt", "same")
    reply = desk.call(SHOW_TOOL, desk.ann, version=f"v{gone}")
    assert (reply["gone"], reply["diff"]["status"]) == (True, "removed")
    assert "content" not in reply


def test_show_of_a_binary_version_gives_base64_and_of_an_uncaptured_one_says_why() -> None:
    desk = Desk()
    binary = desk.outside("b.bin", b"\0\1\2")
    failed = desk.note(CaptureFailed("big", "too_large", 1 << 40))
    assert base64.b64decode(desk.call(SHOW_TOOL, desk.ann, version=f"v{binary}")["content_base64"]) == b"\0\1\2"
    assert desk.call(SHOW_TOOL, desk.ann, version=f"v{failed}")["uncaptured"] == "too_large"


def test_show_of_a_long_version_is_cut_at_a_line_and_goes_on() -> None:
    desk = Desk()
    text = lines(*(f"{n:05d} {'x' * 90}" for n in range(4000)))
    made = desk.outside("long", text)
    content, at = "", 1
    while at:
        reply = desk.call(SHOW_TOOL, desk.ann, version=f"v{made}", start_line=at)
        content += reply["content"]
        at = reply.get("next_line", 0)
    assert content.encode() == text


def test_show_of_a_record_without_a_version_shows_the_record() -> None:
    desk = Desk()
    named = desk.note(CheckpointNamed("here", 2), who=desk.ann)
    reply = desk.call(SHOW_TOOL, desk.ann, version=f"seq:{named}")
    assert (reply["record"]["kind"], reply["record"]["name"]) == ("checkpoint_named", "here")


# ── diff ─────────────────────────────────────────────────────────────────────


def three_files() -> tuple[Desk, str]:
    """A desk and a point after which one file changed, one came and one went."""
    desk = Desk()
    desk.outside("a", lines(*LONG))
    desk.outside("gone", lines("g"))
    desk.outside("same", lines("s"))
    point = f"seq:{desk.journal.head}"
    desk.write("a", lines(*LONG[:2], "new", *LONG[2:20], *LONG[21:]), desk.ann)
    desk.write("came", lines("c"), desk.ann)
    desk.delete("gone", desk.ben)
    desk.write("same", lines("t"), desk.ben)
    desk.write("same", lines("s"), desk.ben)
    return desk, point


def statuses(reply: dict[str, Any]) -> dict[str, str]:
    """path → status."""
    return {f["path"]: f["status"] for f in reply["files"]}


def test_diff_lists_what_differs_between_two_points() -> None:
    desk, point = three_files()
    reply = desk.call(DIFF_TOOL, desk.ann, **{"from": point})
    assert statuses(reply) == {"a": "changed", "came": "added", "gone": "removed"}
    assert [h["lines"] for h in reply["files"][0]["hunks"]] == [
        [" line 1", " line 2", "+new", " line 3", " line 4", " line 5"],
        [" line 18", " line 19", " line 20", "-line 21", " line 22", " line 23", " line 24"],
    ]
    assert "--- /dev/null\n+++ b/came\n@@ -0,0 +1,1 @@\n+c\n" in reply["patch"]
    assert "--- a/gone\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-g\n" in reply["patch"]


def test_a_diff_of_more_files_than_a_reply_lists_goes_on_at_a_cursor() -> None:
    desk = Desk()
    names = [f"{n:04}.txt" for n in range(MAX_FILES + 2)]
    desk.write_all(dict.fromkeys(names, b"one\n"), desk.ann)
    first = desk.call(DIFF_TOOL, desk.ann, **{"from": "seq:1"})
    assert (first["message"], first["truncated"]) == (f"{MAX_FILES} files differ; `next` leads on.", True)
    rest = desk.call(DIFF_TOOL, desk.ann, **{"from": first["from"], "to": first["to"], "cursor": first["next"]})
    assert [file["path"] for file in (*first["files"], *rest["files"])] == names
    assert "next" not in rest


def test_diff_goes_backwards_too() -> None:
    desk, point = three_files()
    reply = desk.call(DIFF_TOOL, desk.ann, **{"from": f"seq:{desk.journal.head}"}, to=point)
    assert statuses(reply) == {"a": "changed", "came": "removed", "gone": "added"}


def test_diff_of_two_versions_of_one_file_is_about_that_file() -> None:
    desk, _ = three_files()
    first, last = "v3", f"v{desk.head_of('a')}"
    assert statuses(desk.call(DIFF_TOOL, desk.ann, **{"from": first}, to=last)) == {"a": "changed"}


@pytest.mark.parametrize(("path", "found"), [("a", {"a"}), ("*e*", {"came", "gone"}), ("same", set())])
def test_paths_narrow_a_diff(path: str, found: set[str]) -> None:
    desk, point = three_files()
    assert set(statuses(desk.call(DIFF_TOOL, desk.ann, **{"from": point}, paths=[path]))) == found


def test_a_path_that_the_journal_does_not_know_is_not_found() -> None:
    desk, point = three_files()
    assert desk.call(DIFF_TOOL, desk.ann, **{"from": point}, path="nowhere")["error"] == "not_found"


def test_binary_files_and_modes_are_noted_without_hunks() -> None:
    desk = Desk()
    desk.outside("b.bin", b"\0a")
    desk.outside("run", lines("x"))
    point = f"seq:{desk.journal.head}"
    desk.outside("b.bin", b"\0b")
    desk.chmod("run", 0o755, desk.ann)
    reply = desk.call(DIFF_TOOL, desk.ann, **{"from": point})
    assert statuses(reply) == {"b.bin": "replaced", "run": "mode"}
    assert reply["files"][0]["binary"]
    assert reply["files"][1]["mode"] == ["0644", "0755"]


def test_a_missing_last_break_is_marked_on_the_side_that_misses_it() -> None:
    a, b = Text.of(b"a\nb"), Text.of(b"a\nb\n")
    patch = patch_text("f", "f", a, b, hunks(a, b))
    assert patch.endswith(" a\n-b\n\\ No newline at end of file\n+b\n")


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("ö x.txt", "b/ö x.txt"),
        ("d/\udcff.txt", '"b/d/\\377.txt"'),
        ("%/x", "b/%/x"),
        ('a"b\\c', '"b/a\\042b\\134c"'),
        ("two\nlines", '"b/two\\012lines"'),
        ("tab\tand blank ", '"b/tab\\011and blank "'),
    ],
)
def test_a_patch_names_its_files_so_that_they_are_found_again(name: str, head: str) -> None:
    desk = Desk()
    path = journal_path(name)
    desk.outside(path, lines("x"))
    patch = desk.call(DIFF_TOOL, desk.ann, **{"from": "seq:2"})["patch"]
    assert f"\n+++ {head}\n" in patch
    assert [file.path for file in parse_patch(patch)] == [path]


def test_an_empty_folder_is_told_and_has_no_part_in_the_patch() -> None:
    """Else who applies the patch makes a file of it."""
    desk = Desk()
    desk.note(OutsideWritten("d", b"", 0, 0o755, "watched", entry=FOLDER))
    reply = desk.call(DIFF_TOOL, desk.ann, **{"from": "seq:2"})
    (file,) = reply["files"]
    assert (file["path"], file["status"], file["entry"], reply["patch"]) == ("d", "added", "folder", "")
    (record,) = desk.call(LOG_TOOL, desk.ann, path="d")["records"]
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
    assert patched(a, hunks(a, b)) == [line.decode() for line in b.lines]
