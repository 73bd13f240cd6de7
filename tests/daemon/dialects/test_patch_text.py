"""Patches as text: what is read, and at which line reading stops."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from quire_daemon.dialects.patch.model import FilePatch, PatchHunk
from quire_daemon.dialects.patch.text import parse_patch
from quire_journal.model.refusals import Refusal


def envelope(*lines: str) -> str:
    """These lines between `*** Begin Patch` and `*** End Patch`."""
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"]) + "\n"


def only(patch: str) -> FilePatch:
    """The one file of a patch."""
    (file,) = parse_patch(patch)
    return file


def marked(hunk: PatchHunk) -> list[str]:
    """The lines of a hunk as they are written."""
    return [line.mark + line.text.decode() for line in hunk.lines]


def refused(patch: str) -> Refusal:
    """Why the patch cannot be read."""
    with pytest.raises(Refusal) as caught:
        parse_patch(patch)
    assert caught.value.code == "patch_parse_error"
    return caught.value


# ── the envelope ─────────────────────────────────────────────────────────────


def test_every_section_is_read_in_the_order_of_the_patch() -> None:
    files = parse_patch(
        envelope(
            "*** Add File: new.txt",
            "+one",
            "+",
            "*** Delete File: old.txt",
            "*** Update File: src/a.py",
            "*** Move to: src/b.py",
            "@@ class A:",
            "@@     def f(self):",
            " x",
            "-y",
            "+z",
            "*** Move File: c.txt -> d e.txt",
            "*** Update File: end.txt",
            "@@",
            "+last",
            "*** End of File",
        )
    )
    assert [(f.kind, f.path, f.to, f.number) for f in files] == [
        ("add", "new.txt", "", 2),
        ("delete", "old.txt", "", 5),
        ("move", "src/a.py", "src/b.py", 6),
        ("move", "c.txt", "d e.txt", 13),
        ("update", "end.txt", "", 14),
    ]
    assert files[0].content == b"one\n\n"
    (hunk,) = files[2].hunks
    assert (hunk.headers, marked(hunk), hunk.number) == (("class A:", "def f(self):"), [" x", "-y", "+z"], 8)
    assert not files[3].hunks
    assert files[4].hunks[0].at_end


def test_a_hunk_needs_no_header_and_each_header_begins_one() -> None:
    file = only(envelope("*** Update File: f", "-a", "+b", "@@", "-c", "@@ -7,2 +7,2 @@ def f", "-d"))
    assert [marked(hunk) for hunk in file.hunks] == [["-a", "+b"], ["-c"], ["-d"]]
    assert [(hunk.headers, hunk.start) for hunk in file.hunks] == [((), None), ((), None), ((), 6)]


def test_an_empty_line_inside_a_hunk_is_a_blank_line_of_the_file_and_behind_it_is_none() -> None:
    file, _ = parse_patch(
        envelope("*** Update File: f", "@@", " a", "", "-b", "", "@@", "-c", "", "*** Delete File: g")
    )
    assert [marked(hunk) for hunk in file.hunks] == [[" a", " ", "-b"], ["-c"]]


def test_nothing_is_stripped_from_the_lines_themselves() -> None:
    file = only(envelope("*** Update File: f", "@@", "-\t- a  ", "+*** End Patch", "+@@", "++", "  "))
    assert marked(file.hunks[0]) == ["-\t- a  ", "+*** End Patch", "+@@", "++", "  "]


def test_a_patch_in_crlf_is_read_like_one_in_lf() -> None:
    patch = envelope("*** Add File: n", "+one", "*** Update File: f", "@@ x", "-a", "+b")
    assert parse_patch(patch.replace("\n", "\r\n")) == parse_patch(patch)


def test_only_cr_that_is_not_of_the_patch_is_of_the_file() -> None:
    (new, changed) = parse_patch(envelope("*** Add File: n", "+one\r", "+two\rtail", "*** Update File: f", "-a\rb\r"))
    assert new.content == b"one\r\ntwo\rtail\n"
    assert [(line.text, line.ends) for line in changed.hunks[0].lines] == [(b"a", b"\r"), (b"b", b"\r\n")]


def test_a_new_file_may_be_empty_or_have_no_final_newline() -> None:
    files = parse_patch(envelope("*** Add File: e", "*** Add File: n", "+x", "\\ No newline at end of file"))
    assert [file.content for file in files] == [b"", b"x"]


def test_blanks_may_stand_around_the_lines_of_the_envelope_itself() -> None:
    sections = "  *** Delete File: a\n *** Add File: n\n+x\n\t*** Update File: f \n@@\n-a\n+b\n"
    patch = f" *** Begin Patch \n{sections} *** End Patch\t\n"
    assert [(f.kind, f.path) for f in parse_patch(patch)] == [("delete", "a"), ("add", "n"), ("update", "f")]


def test_a_line_behind_a_blank_is_one_of_the_file_below_an_update() -> None:
    file = only(envelope("*** Update File: f", "@@", " *** Add File: x", " *** End Patch", "-a", "+b"))
    assert marked(file.hunks[0]) == [" *** Add File: x", " *** End Patch", "-a", "+b"]


@pytest.mark.parametrize("opening", ["<<EOF", "<<'EOF'", '<<"EOF"'])
def test_a_here_document_around_a_patch_is_left_out(opening: str) -> None:
    patch = envelope("*** Update File: f", "@@", "-a", "+b")
    assert parse_patch(f"{opening}\n{patch}\nEOF\n") == tuple(
        replace(file, number=3, hunks=tuple(replace(hunk, number=4) for hunk in file.hunks))
        for file in parse_patch(patch)
    )
    assert refused(f"{opening}\n{envelope('hello')}\nEOF\n").details["line"] == 3


@pytest.mark.parametrize(
    ("patch", "line"),
    [
        ("", 1),
        ("<<EOF\n", 1),
        ("<<EOF\n\nEOF\n", 1),
        ("<<END\n*** Begin Patch\n*** Delete File: f\n*** End Patch\nEND\n", 1),
        ("<<'EOF\n*** Begin Patch\n*** Delete File: f\n*** End Patch\nEOF\n", 1),
        ("*** Begin Patch\n*** Update File: f\n@@\n-a\n *** End Patch\n x", 6),
        ("\n \n", 1),
        ("no envelope", 1),
        ("*** Update File: f\n-a\n+b\n*** End Patch", 1),
        ("```\n*** Begin Patch\n*** Delete File: f\n*** End Patch\n```", 1),
        ("*** Begin Patch\n*** End Patch", 1),
        ("*** Begin Patch\n*** Delete File: f", 2),
        ("*** Begin Patch\n*** Delete File: f\n*** End Patch\nthanks", 4),
        (envelope("*** Rename File: f"), 2),
        (envelope("hello"), 2),
        (envelope("*** Update File: "), 2),
        (envelope("*** Update File: f"), 2),
        (envelope("*** Update File: f", "@@ x"), 3),
        (envelope("*** Update File: f", "@@", " only context"), 3),
        (envelope("*** Update File: f", "@@", "-a", "unmarked"), 5),
        (envelope("*** Update File: f", "@@", "\\ No newline at end of file", "-a"), 4),
        (envelope("*** Update File: f", "@@", "+a", "\\ No newline at end of file", "+b"), 3),
        (envelope("*** Update File: f", "*** Move to:", "@@", "-a"), 3),
        (envelope("*** Move File: a b"), 2),
        (envelope("*** Move File: a -> "), 2),
        (envelope("*** Add File: f", "+a", "b"), 4),
        (envelope("*** Add File: f", "+a", "", "+b"), 5),
        (envelope("*** Add File: f", "@@", "+a"), 3),
        (envelope("*** Delete File: f", "-a"), 3),
        (envelope("*** Begin Patch", "*** Delete File: f"), 2),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_line(patch: str, line: int) -> None:
    error = refused(patch)
    assert (error.details["line"], error.action) == (line, "fix_patch")


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        ("```\n{}\n```", "which is line 2 of this; leave out what stands before it and behind `*** End Patch`"),
        ("Here it is:\n\napply_patch <<'EOF'\n{}\nEOF\n", "which is line 4 of this"),
    ],
)
def test_what_stands_around_a_patch_is_told_from_it(patch: str, said: str) -> None:
    dashes = envelope("*** Update File: f.sql", "@@", "--- a", "+++ b")  # these lines could begin a diff, too
    assert said in refused(patch.format(dashes)).message


def test_a_patch_that_was_escaped_once_too_often_is_told_so() -> None:
    escaped = envelope("*** Delete File: f").replace("\n", "\\n")
    assert "written out as `\\n`" in refused(escaped).message


def test_a_blank_line_of_a_new_file_without_its_mark_is_named() -> None:
    error = refused(envelope("*** Add File: f", "+a", "", "+b"))
    assert "a `+` alone, which line 4 has not" in error.message
    assert "alone" not in refused(envelope("*** Add File: f", "+a", "*** End of File", "+b")).message


# ── unified diffs ────────────────────────────────────────────────────────────

GIT = """\
From 1234 Mon Sep 17 00:00:00 2001
Subject: a mail

---
 f.txt | 2 +-

diff --git a/f.txt b/f.txt
index 1234567..89abcde 100644
--- a/f.txt
+++ b/f.txt
@@ -1,3 +1,3 @@ heading
 one
--- two
+++ TWO
 three
@@ -10,0 +11 @@
+eleven
diff --git a/new.sh b/new.sh
new file mode 100755
index 0000000..89abcde
--- /dev/null
+++ b/new.sh
@@ -0,0 +1,2 @@
+a
+b
\\ No newline at end of file
diff --git a/gone.txt b/gone.txt
deleted file mode 100644
index 89abcde..0000000
--- a/gone.txt
+++ /dev/null
@@ -1 +0,0 @@
-a
diff --git "a/caf\\303\\251 x" "b/caf\\303\\251 y"
similarity index 100%
rename from "caf\\303\\251 x"
rename to "caf\\303\\251 y"
diff --git a/empty b/empty
new file mode 100644
index 0000000..e69de29
-- 
2.39.5
"""


def test_what_git_writes_is_read() -> None:
    files = parse_patch(GIT)
    assert [(f.kind, f.path, f.to) for f in files] == [
        ("update", "f.txt", ""),
        ("add", "new.sh", ""),
        ("delete", "gone.txt", ""),
        ("move", "café x", "café y"),
        ("add", "empty", ""),
    ]
    first, second = files[0].hunks
    assert (first.start, marked(first)) == (0, [" one", "--- two", "+++ TWO", " three"])
    assert (second.start, marked(second)) == (10, ["+eleven"])
    assert (files[1].content, files[1].executable) == (b"a\nb", True)
    assert (files[4].content, files[4].executable) == (b"", False)


def test_a_name_that_is_not_utf8_is_given_as_the_journal_writes_it() -> None:
    names = '--- "a/caf\\351"\n+++ "b/caf\\351"\n'
    patch = 'diff --git "a/caf\\351" "b/caf\\351"\nindex 1..2 100644\n' + names + "@@ -1 +1 @@\n-a\n+b\n"
    assert only(patch).path == "%/caf%E9"


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ("a/x y.txt", "b/x y.txt", "x y.txt"),
        ("x.txt\t2026-01-01 10:00:00", "x.txt\t2026-01-02 10:00:00", "x.txt"),
        ("a/x.txt", "a/x.txt", "a/x.txt"),
    ],
)
def test_plain_diffs_name_their_file(old: str, new: str, path: str) -> None:
    file = only(f"--- {old}\n+++ {new}\n@@ -1 +1 @@\n-a\n+b\n")
    assert (file.kind, file.path) == ("update", path)


def test_plain_diffs_add_and_remove() -> None:
    files = parse_patch("--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+a\n--- a/o\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n")
    assert [(f.kind, f.path) for f in files] == [("add", "n"), ("delete", "o")]


def test_prefixes_of_git_are_those_that_differ() -> None:
    head = "index 1..2 100644\n"
    hunk = "@@ -1 +1 @@\n-a\n+b\n"
    assert only(f"diff --git i/x w/x\n{head}--- i/x\n+++ w/x\n{hunk}").path == "x"
    assert only(f"diff --git a/x a/x\n{head}--- a/x\n+++ a/x\n{hunk}").path == "a/x"


HEAD = "--- a/f\n+++ b/f\n"


@pytest.mark.parametrize(
    ("patch", "line"),
    [
        ("@@ -1 +1 @@\n-a\n+b\n", 1),
        (HEAD, 1),
        (HEAD + "@@\n-a\n+b\n", 3),
        (HEAD + "@@ -1,2 +1 @@\n-a\n+b\n", 3),
        (HEAD + "@@ -1 +1 @@\n-a\n+b\n+c\n", 6),
        (HEAD + "@@ -1 +1,2 @@\n-a\n-b\n+c\n", 5),
        (HEAD + "@@ -1,2 +1,2 @@\n-a\nhello\n", 5),
        (HEAD + "@@ -1 +1 @@\n-a\n+b\nhello\n", 6),
        (HEAD + "@@ -1 +1 @@\n-a\n+b\n-- \n2.39\n" + HEAD + "@@ -1 +1 @@\n-a\n+b\n", 8),
        ("--- f.orig\n+++ f\n@@ -1 +1 @@\n-a\n+b\n", 1),
        ("--- /dev/null\n+++ b/n\n@@ -1 +1 @@\n-a\n+b\n", 1),
        ("--- a/n\n+++ /dev/null\n@@ -1,2 +1 @@\n a\n-b\n", 1),
        ("--- \n+++ \n@@ -1 +1 @@\n-a\n+b\n", 1),
        ("diff --git a/x b/x\nold mode 100644\nnew mode 100755\n", 3),
        ("diff --git a/x b/y\ncopy from x\ncopy to y\n", 3),
        ("diff --git a/x b/x\nnew file mode 120000\nindex 0..1\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+y\n", 3),
        ("diff --git a/x b/x\nindex 1..2 100644\nGIT binary patch\nliteral 1\n", 3),
        ("diff --git a/x b/x\nindex 1..2 100644\nBinary files a/x and b/x differ\n", 3),
    ],
)
def test_a_diff_that_cannot_be_meant_is_refused_with_its_line(patch: str, line: int) -> None:
    assert refused(patch).details["line"] == line


@pytest.mark.parametrize(
    "hunk",
    ["@@ -1,9 +1 @@\n-a\n+b\n", "@@ -1 +1 @@\n-a\n+b\n+c\n", "@@ -1 +1,2 @@\n-a\n-b\n", "@@ def f(): @@\n-a\n+b\n"],
)
def test_wrong_numbers_are_refused_with_the_way_to_do_without_them(hunk: str) -> None:
    assert "in the envelope of `*** Begin Patch` hunks need no numbers" in refused(HEAD + hunk).message
