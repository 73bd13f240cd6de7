"""`apply_patch`: whole lines, each hunk once, all files or none."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st
from patches import envelope, update

from memory_daemon import MemoryDaemon
from quire_daemon.config.settings import Settings
from quire_daemon.tools.edit.apply_patch import PATCH_TOOL
from quire_daemon.tools.undo.tool import UNDO_TOOL
from quire_journal.model.events import EditRefused, FileWritten
from quire_journal.model.ids import blob_id


def sha256(daemon: MemoryDaemon, path: str = "f.txt") -> str:
    """Of the file as it is."""
    return blob_id(daemon.files[path]).hex()


# ── the tool ─────────────────────────────────────────────────────────────────


FOUR = envelope(
    "*** Add File: dir/new.txt",
    "+one",
    "+two",
    "*** Update File: f.txt",
    "@@",
    "-a",
    "+A",
    "@@",
    " c",
    "+d",
    "*** Delete File: gone.txt",
    "*** Update File: old.py",
    "*** Move to: new.py",
    "@@",
    "-x = 1",
    "+x = 2",
    "*** Move File: p.txt -> q.txt",
)


def four(settings: Settings | None = None) -> MemoryDaemon:
    """A checkout on which the patch `FOUR` fits."""
    files = {"f.txt": "a\nb\nc\n", "gone.txt": "g\n", "old.py": "x = 1\n", "p.txt": "p\n"}
    return MemoryDaemon(files, settings)


def test_all_files_change_as_one_batch() -> None:
    daemon = four()
    reply = daemon.ask("apply_patch", {"patch": FOUR})
    assert reply["ok"], reply
    assert {path: data.decode() for path, data in daemon.files.items()} == {
        "dir/new.txt": "one\ntwo\n",
        "f.txt": "A\nb\nc\nd\n",
        "new.py": "x = 2\n",
        "q.txt": "p\n",
    }
    assert (reply["operations_applied"], reply["message"]) == (6, "6 operations applied to 5 files.")
    seqs = [int(file["version"][1:]) for file in reply["files"]]
    records = [daemon.record(seq) for seq in seqs]
    assert [record.kind for record in records if record] == [
        "file_written",
        "file_written",
        "file_deleted",
        "file_moved",
        "file_moved",
    ]
    assert len({record.batch for record in records if record}) == 1


FIELDS = {
    *("path", "version", "sha256", "sizeBytes", "writer_type", "baseline_continuity", "operations_applied"),
    *("lines_before", "lines_after", "net_lines", "changed", "anchors_valid_through", "must_refresh_from_line"),
    *("diff", "safety_status", "warnings", "operation"),
}


def test_each_file_is_told_like_the_file_of_any_writing_tool() -> None:
    daemon = four()
    files = daemon.ask("apply_patch", {"patch": FOUR})["files"]
    assert all(set(file) >= FIELDS for file in files)
    assert [(f["path"], f["operation"], f["net_lines"]) for f in files] == [
        ("dir/new.txt", "add", 2),
        ("f.txt", "update", 1),
        ("gone.txt", "delete", -1),
        ("new.py", "move", 0),
        ("q.txt", "move", 0),
    ]
    assert [f.get("moved_from") for f in files] == [None, None, None, "old.py", "p.txt"]
    assert [f["sha256"] for f in files] == [
        None if f["operation"] == "delete" else sha256(daemon, f["path"]) for f in files
    ]


def test_what_the_diff_shows_can_be_edited_at_once() -> None:
    daemon = four()
    files = {f["path"]: f for f in daemon.ask("apply_patch", {"patch": FOUR})["files"]}
    for path in ("dir/new.txt", "f.txt", "new.py"):
        row = next(row for row in files[path]["diff"] if row.startswith("+"))
        operation = {"op": "replace_line", "hash": row[1:].split(" ")[0], "content": "edited"}
        reply = daemon.ask("edit", {"path": path, "operations": [operation]})
        assert reply["ok"], reply


def test_a_patch_of_one_file_is_told_at_the_top_too() -> None:
    daemon = MemoryDaemon({"f.txt": "a\nb\n"})
    reply = daemon.ask("apply_patch", {"patch": update("-a", "+A")})
    assert set(reply) >= FIELDS
    assert reply["message"] == "1 operation applied to f.txt: 2 → 2 lines, net +0."
    assert [(f["path"], f["version"]) for f in reply["files"]] == [("f.txt", reply["version"])]


def test_a_whole_patch_is_undone_as_one() -> None:
    daemon = MemoryDaemon()
    before = {"f.txt": b"a\nb\nc\n", "gone.txt": b"g\n", "old.py": b"x = 1\n", "p.txt": b"p\n"}
    daemon.write_all(before, daemon.ben)
    reply = daemon.call(PATCH_TOOL, daemon.ann, patch=FOUR)
    assert reply["ok"], reply
    assert sorted(daemon.files) == ["dir/new.txt", "f.txt", "new.py", "q.txt"]
    undone = daemon.call(UNDO_TOOL, daemon.ann)
    assert undone["ok"], undone
    assert dict(daemon.files) == before


BAD = {
    "context_not_found": "*** Update File: f.txt\n@@\n-nope\n+x",
    "not_found": "*** Update File: nope.txt\n@@\n-a\n+x",
    "no_delete": "*** Delete File: nope.txt",
    "no_move": "*** Move File: nope.txt -> x.txt",
    "already_exists": "*** Add File: p.txt\n+x",
    "moved_onto": "*** Move File: f.txt -> p.txt",
    "a_folder": "*** Delete File: dir",
    "parse": "*** Update File: f.txt\n@@\n-a\nb",
}


@pytest.mark.parametrize(
    ("section", "code"),
    [
        ("context_not_found", "patch_apply_error"),
        ("not_found", "not_found"),
        ("no_delete", "not_found"),
        ("no_move", "not_found"),
        ("already_exists", "already_exists"),
        ("moved_onto", "already_exists"),
        ("a_folder", "not_a_file"),
        ("parse", "patch_parse_error"),
    ],
)
@pytest.mark.parametrize("dry_run", [False, True])
def test_one_file_that_cannot_be_changed_keeps_all_from_it(section: str, code: str, dry_run: bool) -> None:
    daemon = MemoryDaemon({"f.txt": "a\n", "p.txt": "p\n", "dir/x": "x\n", "first.txt": "1\n"})
    before = dict(daemon.files)
    patch = envelope("*** Update File: first.txt", "@@", "-1", "+2", "*** Add File: z", "+z", BAD[section])
    reply = daemon.ask("apply_patch", {"patch": patch, "dry_run": dry_run})
    assert (reply["ok"], reply["error"], reply.get("valid")) == (False, code, False if dry_run else None)
    assert daemon.files == before
    assert not daemon.events(FileWritten)
    assert len(daemon.events(EditRefused)) == (0 if dry_run else 1)


@pytest.mark.parametrize(
    ("sections", "reason"),
    [
        (["*** Update File: f.txt", "-a", "+A", "*** Delete File: f.txt"], "duplicate_path"),
        (["*** Add File: n", "+x", "*** Delete File: n"], "duplicate_path"),
        (["*** Move File: f.txt -> p.txt", "*** Delete File: p.txt"], "duplicate_path"),
        (["*** Move File: f.txt -> f.txt"], "duplicate_path"),
        (["*** Delete File: f.txt", "*** Delete File: link.txt"], "duplicate_path"),
        (["*** Delete File: f.txt", "*** Add File: f.txt/deep/x", "+x"], "path_conflict"),
    ],
)
def test_a_path_has_one_place_in_a_patch(sections: list[str], reason: str) -> None:
    daemon = MemoryDaemon({"f.txt": "a\n", "p.txt": "p\n"})
    daemon.files.link("link.txt", "f.txt")
    reply = daemon.ask("apply_patch", {"patch": envelope(*sections)})
    assert (reply["error"], reply["reason"]) == ("patch_apply_error", reason)
    assert daemon.files == {"f.txt": b"a\n", "link.txt": b"a\n", "p.txt": b"p\n"}


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        (["*** Delete File: f.txt", "*** Add File: f.txt", "+new"], "removed and added again: update it instead"),
        (["*** Add File: f.txt", "+new"], "Update it instead, or replace all of it with `write_file`"),
        (["*** Update File: f.txt", "*** Move to: f.txt", "-a", "+b"], "leave the new name out"),
        (["*** Update File: f.txt", "-a", "+b", "*** Delete File: f.txt"], "in one place"),
    ],
)
def test_a_file_that_is_there_already_is_refused_with_what_to_do_instead(sections: list[str], said: str) -> None:
    assert said in MemoryDaemon({"f.txt": "a\nb\n"}).ask("apply_patch", {"patch": envelope(*sections)})["message"]


def test_sections_that_update_one_file_are_one() -> None:
    daemon = MemoryDaemon({"f.txt": "a\nb\nc\n", "g.txt": "a\n"})
    sections = ["*** Update File: f.txt", "-c", "+C", "*** Update File: g.txt", "-a", "+A", "*** Update File: ./f.txt"]
    reply = daemon.ask("apply_patch", {"patch": envelope(*sections, "@@", "-a", "+A", "@@", " b", "+x")})
    assert (reply["ok"], reply["operations_applied"], len(reply["files"])) == (True, 4, 2)
    assert daemon.files == {"f.txt": b"A\nb\nx\nC\n", "g.txt": b"A\n"}


def test_sections_of_one_file_do_not_see_each_other() -> None:
    daemon = MemoryDaemon({"f.txt": "a\nb\n"})
    patch = envelope("*** Update File: f.txt", "-a", "+x", "*** Update File: f.txt", "-x", "+y")
    assert daemon.ask("apply_patch", {"patch": patch})["missing_line"] == "x"
    twice = "--- f.txt\n+++ f.txt\n@@ -1 +1 @@\n-a\n+x\n" + "--- f.txt\n+++ f.txt\n@@ -2 +2 @@\n-b\n+y\n"
    assert daemon.ask("apply_patch", {"patch": twice})["reason"] == "duplicate_path"
    assert daemon.files == {"f.txt": b"a\nb\n"}


def test_a_dry_run_tells_everything_and_changes_nothing() -> None:
    daemon = four()
    before = dict(daemon.files)
    reply = daemon.ask("apply_patch", {"patch": FOUR, "dry_run": True})
    assert (reply["ok"], reply["dry_run"], reply["valid"]) == (True, True, True)
    assert reply["message"] == "6 operations would be applied to 5 files."
    assert all(file["dry_run"] for file in reply["files"])
    assert daemon.files == before


def test_a_patch_that_changes_nothing_makes_no_version() -> None:
    daemon = MemoryDaemon({"f.txt": "a\n"})
    reply = daemon.ask("apply_patch", {"patch": update("-a", "+a")})
    assert (reply["ok"], reply["unchanged"], reply["files"][0]["unchanged"]) == (True, True, True)
    assert not daemon.events(FileWritten)


def test_a_diff_that_removes_a_file_must_name_all_of_its_lines() -> None:
    patch = "--- a/f.txt\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n"
    daemon = MemoryDaemon({"f.txt": "a\nb\nc\n"})
    reply = daemon.ask("apply_patch", {"patch": patch})
    assert (reply["error"], reply["reason"]) == ("patch_apply_error", "lines_remain")
    daemon.save("f.txt", "a\nb\n")
    assert daemon.ask("apply_patch", {"patch": patch})["deleted"]
    assert daemon.files == {}


def test_an_executable_file_is_added_as_one() -> None:
    daemon = MemoryDaemon()
    patch = "diff --git a/x.sh b/x.sh\nnew file mode 100755\n--- /dev/null\n+++ b/x.sh\n@@ -0,0 +1 @@\n+a\n"
    assert daemon.ask("apply_patch", {"patch": patch})["created"]
    (event,) = daemon.events(FileWritten)
    assert isinstance(event, FileWritten)
    assert event.mode == 0o755


def test_bytes_that_are_not_in_the_journal_are_not_removed_unasked() -> None:
    daemon = MemoryDaemon({".env": "secret\n"})
    daemon.keep_secret(".env")
    patch = envelope("*** Delete File: .env")
    assert daemon.ask("apply_patch", {"patch": patch})["error"] == "uncaptured"
    reply = daemon.ask("apply_patch", {"patch": patch, "allow_uncaptured": True})
    assert (reply["ok"], reply["warnings"][0]["type"]) == (True, "uncaptured")


BROKEN = envelope("*** Update File: p.txt", "-p", "+P", "*** Update File: f.c", " void f() {", "+  {", "-}")


def test_a_suspicious_result_is_told_and_if_asked_refused_for_all() -> None:
    files = {"f.c": "void f() {\n}\n", "p.txt": "p\n"}
    daemon = MemoryDaemon(files)
    strict = daemon.ask("apply_patch", {"patch": BROKEN, "safety_check": "strict"})
    assert (strict["error"], strict["path"]) == ("safety_check_failed", "f.c")
    assert daemon.read("p.txt") == "p\n"
    reply = daemon.ask("apply_patch", {"patch": BROKEN})
    assert (reply["ok"], reply["safety_status"]) == (True, "suspicious")
    assert [file["safety_status"] for file in reply["files"]] == ["clean", "suspicious"]
    assert [(w["type"], w["path"]) for w in reply["warnings"]] == [("unbalanced", "f.c")]


# ── arguments ────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ({"expectedSha256ByPath": {"f.txt": "xyz"}}, "f.txt"),
        ({"path": "other.txt"}, "path"),
        ({"unheard_of": 1}, "unheard_of"),
    ],
)
def test_arguments_that_cannot_be_meant_are_refused_by_name(more: dict[str, Any], named: str) -> None:
    daemon = MemoryDaemon({"f.txt": "a\n"})
    reply = daemon.ask("apply_patch", {"patch": update("-a", "+b"), **more})
    assert reply["error"] == "schema_invalid"
    assert named in reply["message"]


def test_a_base_is_of_one_file() -> None:
    reply = four().ask("apply_patch", {"patch": FOUR, "base": "v3"})
    assert (reply["error"], reply["argument"]) == ("schema_invalid", "base")


def test_a_patch_is_needed() -> None:
    assert MemoryDaemon().ask("apply_patch", {})["error"] == "schema_invalid"


# ── what the caller knows ────────────────────────────────────────────────────


def test_a_patch_without_sha_takes_its_text_as_proof_and_reports() -> None:
    daemon = MemoryDaemon({"f.txt": "a\nb\nc\n"})
    daemon.ask("read_file", {"path": "f.txt"})
    daemon.save("f.txt", "new\na\nb\nc\n")
    reply = daemon.ask("apply_patch", {"patch": update(" a", "-b", "+B")})
    assert (reply["ok"], daemon.read("f.txt")) == (True, "new\na\nB\nc\n")
    assert reply["files"][0]["changed_since_your_read"]


def test_a_sha_that_is_right_is_enough() -> None:
    daemon = four()
    expected = {path: sha256(daemon, path) for path in ("f.txt", "gone.txt", "old.py", "p.txt")} | {"dir/new.txt": ""}
    assert daemon.ask("apply_patch", {"patch": FOUR, "expectedSha256ByPath": expected})["ok"]


@pytest.mark.parametrize("path", ["f.txt", "gone.txt", "old.py", "p.txt", "dir/new.txt"])
def test_a_sha_that_is_wrong_refuses_all(path: str) -> None:
    daemon = four()
    before = dict(daemon.files)
    reply = daemon.ask("apply_patch", {"patch": FOUR, "expectedSha256ByPath": {path: "0" * 64}})
    assert (reply["error"], reply["path"], reply["expectedSha256"]) == ("stale_file", path, "0" * 64)
    assert reply["actualSha256"] == (sha256(daemon, path) if path in before else "")
    assert daemon.files == before


@pytest.mark.parametrize("path", ["f.txt", "gone.txt", "old.py", "p.txt"])
def test_the_sha_of_an_earlier_version_tells_who_changed_it(path: str) -> None:
    daemon = four()
    daemon.ask("read_file", {"path": path})
    expected = {path: sha256(daemon, path)}
    daemon.save(path, daemon.files[path] + b"more\n")
    reply = daemon.ask("apply_patch", {"patch": FOUR, "expectedSha256ByPath": expected})
    assert (reply["error"], reply["reason"], reply["suggested_action"]) == ("stale_file", "changed", "re-read_file")
    assert reply["changes"][0]["writer"]["type"] == "outside"
    assert (reply["expectedSha256"], reply["actualSha256"]) == (expected[path], sha256(daemon, path))
    assert daemon.read("f.txt") == "a\nb\nc\n" + "more\n" * (path == "f.txt")


def test_a_file_that_must_not_exist_must_not() -> None:
    daemon = MemoryDaemon({"f.txt": "a\n", "g.txt": "g\n"})
    add = envelope("*** Add File: f.txt", "+x")
    assert daemon.ask("apply_patch", {"patch": add, "expectedSha256ByPath": {"f.txt": ""}})["error"] == "already_exists"
    for path in ("f.txt", "g.txt"):
        reply = daemon.ask("apply_patch", {"patch": update("-a", "+b"), "expectedSha256ByPath": {path: ""}})
        assert (reply["error"], reply["path"]) == ("stale_file", path)
    assert daemon.read("f.txt") == "a\n"


def test_what_is_expected_of_other_files_must_be_so_too() -> None:
    daemon = MemoryDaemon({"f.txt": "a\n", "g.txt": "g\n"})
    patch = update("-a", "+b")
    for expected, code in (({"g.txt": "0" * 64}, "stale_file"), ({"h.txt": "0" * 64}, "not_found")):
        assert daemon.ask("apply_patch", {"patch": patch, "expectedSha256ByPath": expected})["error"] == code
    expected = {"g.txt": sha256(daemon, "g.txt"), "h.txt": ""}
    assert daemon.ask("apply_patch", {"patch": patch, "expectedSha256ByPath": expected})["ok"]


TEN = "".join(f"line {n}\n" for n in range(10))


def test_a_stale_patch_is_carried_over_what_others_did_when_asked() -> None:
    daemon = MemoryDaemon({"f.txt": TEN})
    daemon.ask("read_file", {"path": "f.txt"})
    expected = {"f.txt": sha256(daemon)}
    daemon.save("f.txt", "top\n" + TEN)
    args = {"patch": update(" line 5", "-line 6", "+LINE 6"), "expectedSha256ByPath": expected}
    assert daemon.ask("apply_patch", args)["error"] == "stale_file"
    reply = daemon.ask("apply_patch", {**args, "on_stale": "rebase"})
    assert (reply["ok"], reply["cross_version"], len(reply["rebased_over"])) == (True, True, 1)
    assert daemon.read("f.txt") == "top\n" + TEN.replace("line 6", "LINE 6")


@pytest.mark.parametrize("proof", ["sha256", "read"])
@pytest.mark.parametrize("named", ["as context", "as changed"])
def test_the_break_that_others_gave_the_last_line_stays(proof: str, named: str) -> None:
    """A patch that says of this line, in passing, that it had none."""
    daemon = MemoryDaemon({"f.txt": "a\nb\nc\nd"})
    daemon.ask("read_file", {"path": "f.txt"})
    stated = {"expectedSha256ByPath": {"f.txt": sha256(daemon)}} if proof == "sha256" else {}
    daemon.save("f.txt", "a\nb\nc\nd\ntheirs\n")
    last = " d\n\\ No newline" if named == "as context" else "-d\n\\ No newline\n+D\n\\ No newline"
    patch = f"--- a/f.txt\n+++ b/f.txt\n@@ -1,4 +1,4 @@\n-a\n+A\n b\n c\n{last} at end of file\n"
    reply = daemon.ask("apply_patch", {"patch": patch, "on_stale": "rebase", **stated})
    if named == "as context":
        assert (reply["ok"], daemon.read("f.txt")) == (True, "A\nb\nc\nd\ntheirs\n")
    else:
        assert (reply["ok"], daemon.read("f.txt")) == (False, "a\nb\nc\nd\ntheirs\n")


def test_a_conflict_with_what_others_did_is_shown_three_ways() -> None:
    daemon = MemoryDaemon({"f.txt": TEN})
    base = daemon.ask("read_file", {"path": "f.txt"})["version"]
    daemon.save("f.txt", TEN.replace("line 6", "theirs"))
    args = {"patch": update("-line 6", "+mine"), "base": base, "on_stale": "rebase"}
    reply = daemon.ask("apply_patch", args)
    assert reply["error"] == "stale_file"
    assert reply["conflict"] == {"base": ["line 6"], "theirs": ["theirs"], "yours": ["mine"]}


def test_a_base_that_is_not_the_newest_is_stale() -> None:
    daemon = MemoryDaemon({"f.txt": TEN})
    base = daemon.ask("read_file", {"path": "f.txt"})["version"]
    patch = update("-line 6", "+mine")
    daemon.save("f.txt", "top\n" + TEN)
    assert daemon.ask("apply_patch", {"patch": patch, "base": base})["error"] == "stale_file"
    fresh = daemon.ask("read_file", {"path": "f.txt"})["version"]
    assert daemon.ask("apply_patch", {"patch": patch, "base": fresh})["ok"]


def test_a_removal_without_text_is_of_what_the_caller_was_shown() -> None:
    daemon = MemoryDaemon({"f.txt": "a\n"})
    patch = envelope("*** Delete File: f.txt")
    daemon.ask("read_file", {"path": "f.txt"})
    daemon.save("f.txt", "a\nwork of others\n")
    reply = daemon.ask("apply_patch", {"patch": patch})
    assert (reply["error"], daemon.read("f.txt")) == ("stale_file", "a\nwork of others\n")
    daemon.ask("read_file", {"path": "f.txt"})
    assert daemon.ask("apply_patch", {"patch": patch})["ok"]


def test_the_setting_for_stale_calls_counts() -> None:
    settings = msgspec.convert({"edit": {"on_stale": "rebase"}}, Settings)
    daemon = MemoryDaemon({"f.txt": TEN}, settings)
    daemon.ask("read_file", {"path": "f.txt"})
    expected = {"f.txt": sha256(daemon)}
    daemon.save("f.txt", "top\n" + TEN)
    assert daemon.ask("apply_patch", {"patch": update("-line 6", "+x"), "expectedSha256ByPath": expected})["ok"]


# ── anything at all ──────────────────────────────────────────────────────────


FRAGMENTS = st.sampled_from(
    [
        *("*** Begin Patch", "*** End Patch", "*** Update File: f.txt", "*** Add File: n", "*** Delete File: f.txt"),
        *(
            "*** Move to: m",
            "*** Move File: f.txt -> m",
            "*** End of File",
            "@@",
            "@@ a",
            "@@ -1,2 +1,2 @@",
            "@@ -1 +1 @@",
        ),
        *(" a", "-a", "+a", "+b", "", " ", "-b", " b", "\\ No newline at end of file", "--- a/f.txt", "+++ b/f.txt"),
        *(
            "diff --git a/f.txt b/f.txt",
            "deleted file mode 100644",
            "new file mode 100644",
            "--- /dev/null",
            "x",
            "-- ",
        ),
    ]
)


@given(st.booleans(), st.lists(FRAGMENTS, max_size=14))
def test_no_patch_is_a_fault_and_a_refused_one_changes_nothing(wrapped: bool, lines: list[str]) -> None:
    daemon = MemoryDaemon({"f.txt": "a\nb\na"})
    patch = envelope("*** Update File: f.txt", *lines) if wrapped else "\n".join(lines)
    reply = daemon.ask("apply_patch", {"patch": patch})
    if not reply["ok"]:
        assert daemon.files == {"f.txt": b"a\nb\na"}
        assert reply["error"] in {
            *("patch_parse_error", "patch_apply_error", "multiple_matches", "not_found", "already_exists"),
        }
