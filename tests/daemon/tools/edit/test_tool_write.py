"""`write_file`: its gates, its line ends, and new files."""

from __future__ import annotations

from typing import Any

import pytest

from memory_daemon import MemoryDaemon
from quire_journal.history.history import History
from quire_journal.model.events import EditRefused, FileWritten
from quire_journal.model.ids import blob_id

FIVE = "one 1\ntwo 2\nthree 3\nfour 4\nfive 5\n"


def write(daemon: MemoryDaemon, content: str, by: str = "ann", **args: Any) -> dict[str, Any]:
    """A write of f.txt."""
    return daemon.ask("write_file", {"path": "f.txt", "content": content, **args}, by=by)


def version(daemon: MemoryDaemon, by: str = "ann") -> str:
    """The version of f.txt, as a read shows it."""
    return str(daemon.ask("read_file", {"path": "f.txt"}, by=by)["version"])


def sha(daemon: MemoryDaemon) -> str:
    """The sha256 of what is on disk."""
    return blob_id(daemon.files["f.txt"]).hex()


def test_a_new_file_needs_no_gate_and_brings_its_folders() -> None:
    daemon = MemoryDaemon()
    reply = daemon.ask("write_file", {"path": "a/b/f.txt", "content": "x\n"})
    assert (reply["ok"], reply["created"], reply["baseline_continuity"]) == (True, True, "clean")
    assert (reply["writer_type"], reply["lines_before"], reply["lines_after"]) == ("write_file", 0, 1)
    assert daemon.read("a/b/f.txt") == "x\n"
    (event,) = daemon.events(FileWritten)
    assert isinstance(event, FileWritten)
    assert (event.base, event.by) == (0, "write_file")


def test_an_empty_file_can_be_made() -> None:
    daemon = MemoryDaemon()
    assert write(daemon, "")["ok"]
    assert daemon.files["f.txt"] == b""


def test_an_existing_file_is_not_overwritten_without_a_gate() -> None:
    daemon = MemoryDaemon({"f.txt": "old\n"})
    reply = write(daemon, "new\n")
    assert (reply["error"], reply["suggested_action"]) == ("write_conflict", "re-read_file")
    assert daemon.read("f.txt") == "old\n"


@pytest.mark.parametrize("gate", ["base", "expected_file_version"])
def test_a_version_opens_the_gate(gate: str) -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    reply = write(daemon, FIVE.replace("two 2", "TWO"), **{gate: version(daemon)})
    assert (reply["ok"], reply["changed"][0]["start"], reply["anchors_valid_through"]) == (True, 2, 1)


def test_a_version_that_is_not_the_files_keeps_it_shut() -> None:
    daemon = MemoryDaemon({"f.txt": "old\n"})
    reply = write(daemon, "new\n", expected_file_version="fv_00000000")
    assert (reply["error"], reply["suggested_action"]) == ("write_conflict", "re-read_file")


def test_a_change_by_another_writer_shuts_the_gate_and_is_told() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    base = version(daemon)
    daemon.save("f.txt", FIVE.replace("four 4", "theirs"))
    reply = write(daemon, "mine\n", base=base)
    assert reply["error"] == "write_conflict"
    assert reply["changes"][0]["lines"] == [[4, 4]]
    assert any(row.endswith("|theirs") for row in reply["lines"])


@pytest.mark.parametrize("gate", ["base", "expectedSha256"])
def test_write_file_refuses_a_base_before_the_callers_own_edit_and_a_rebase_keeps_the_edit(gate: str) -> None:
    """Two calls of one agent session at a time: each wrote the whole of what it knew, and the later one won."""
    daemon = MemoryDaemon({"f.txt": FIVE})
    known = {gate: version(daemon) if gate == "base" else sha(daemon)}
    edit = daemon.ask("edit_replace", {"path": "f.txt", "old_text": "two 2", "new_text": "TWO"})
    reply = write(daemon, FIVE.replace("five 5", "FIVE"), **known)
    assert (reply["ok"], reply["error"]) == (False, "write_conflict" if gate == "base" else "stale_file")
    assert [change["writer"]["agent"] for change in reply["changes"]] == ["ann"]
    rebased = write(daemon, FIVE.replace("five 5", "FIVE"), **known, on_stale="rebase")
    assert (rebased["ok"], rebased["rebased_over"]) == (True, [int(edit["version"][1:])])
    assert daemon.read("f.txt") == FIVE.replace("two 2", "TWO").replace("five 5", "FIVE")


def test_the_sha256_of_the_file_opens_the_gate() -> None:
    daemon = MemoryDaemon({"f.txt": "old\n"})
    assert write(daemon, "new\n", expectedSha256=sha(daemon))["ok"]


def test_another_sha256_is_a_stale_file_with_both_hashes() -> None:
    daemon = MemoryDaemon({"f.txt": "old\n"})
    reply = write(daemon, "new\n", expectedSha256="0" * 64)
    assert (reply["error"], reply["actualSha256"], reply["expectedSha256"]) == ("stale_file", sha(daemon), "0" * 64)


def test_the_sha256_of_an_earlier_version_learns_what_happened_since() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    version(daemon)
    before = sha(daemon)
    daemon.save("f.txt", FIVE + "six 6\n")
    reply = write(daemon, "mine\n", expectedSha256=before)
    assert (reply["error"], reply["actualSha256"]) == ("stale_file", sha(daemon))
    assert reply["changes"][0]["writer"]["type"] == "outside"


@pytest.mark.parametrize(("digest", "error"), [("0" * 64, "not_found"), ("xyz", "schema_invalid")])
def test_a_sha256_needs_a_file_and_the_right_form(digest: str, error: str) -> None:
    daemon = MemoryDaemon()
    reply = write(daemon, "new\n", expectedSha256=digest)
    assert reply["error"] == error
    assert "f.txt" not in daemon.files


def test_a_version_gate_on_a_file_that_is_gone_is_a_conflict() -> None:
    daemon = MemoryDaemon({"f.txt": "old\n"})
    base = version(daemon)
    del daemon.files["f.txt"]
    assert write(daemon, "new\n", base=base)["error"] == "write_conflict"


@pytest.mark.parametrize(
    ("before", "content", "after"),
    [
        (b"a\r\nb\r\n", "x\ny\n", b"x\r\ny\r\n"),
        (b"a\rb\r", "x\ny", b"x\ry"),
        (b"a\r\nb\n", "x\ny\n", b"x\ny\n"),
        (b"a\r\n", "x\r\ny\n", b"x\r\ny\n"),
        (b"\xef\xbb\xbfa\n", "x\n", b"\xef\xbb\xbfx\n"),
        (b"\xef\xbb\xbfa\n", "\ufeffx\n", b"\xef\xbb\xbfx\n"),
        (b"a\n", "\ufeffx", b"\xef\xbb\xbfx"),
        (b"", "x\ny", b"x\ny"),
    ],
)
def test_lf_becomes_the_style_of_a_pure_file_and_all_else_is_byte_for_byte(
    before: bytes, content: str, after: bytes
) -> None:
    daemon = MemoryDaemon({"f.txt": before})
    assert write(daemon, content, expectedSha256=sha(daemon))["ok"]
    assert daemon.files["f.txt"] == after


def test_the_same_bytes_make_no_version() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    base = version(daemon)
    reply = write(daemon, FIVE, base=base)
    assert (reply["ok"], reply["unchanged"], reply["version"]) == (True, True, base)
    assert not daemon.events(FileWritten)


def test_suspicion_is_only_a_warning() -> None:
    daemon = MemoryDaemon({"f.txt": "a {\n}\n"})
    reply = write(daemon, "a {\n", base=version(daemon))
    assert (reply["ok"], reply["safety_status"]) == (True, "suspicious")
    strict = write(daemon, "b {\n}\n}\n", base=version(daemon), safety_check="strict")
    assert strict["ok"], "what was broken before is not held against the write"


def test_a_rebase_merges_what_does_not_contradict() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    base = version(daemon)
    daemon.save("f.txt", "zero 0\n" + FIVE)
    reply = write(daemon, FIVE.replace("four 4", "mine"), base=base, on_stale="rebase")
    assert (reply["ok"], reply["cross_version"]) == (True, True)
    assert daemon.read("f.txt") == "zero 0\n" + FIVE.replace("four 4", "mine")


def test_a_rebase_is_written_in_the_line_ends_of_its_base() -> None:
    """One of the others has put a line with another break into the file; that is no change of all lines."""
    crlf = FIVE.replace("\n", "\r\n").encode()
    daemon = MemoryDaemon({"f.txt": crlf})
    base = version(daemon)
    daemon.save("f.txt", b"zero 0\n" + crlf)
    reply = write(daemon, FIVE.replace("four 4", "mine"), base=base, on_stale="rebase")
    assert reply["ok"]
    assert daemon.files["f.txt"] == b"zero 0\n" + crlf.replace(b"four 4", b"mine")


def test_a_rebase_that_contradicts_is_refused_with_three_sides() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    base = version(daemon)
    daemon.save("f.txt", FIVE.replace("two 2", "theirs"))
    reply = write(daemon, FIVE.replace("two 2", "mine"), base=base, on_stale="rebase")
    assert reply["error"] == "write_conflict"
    assert reply["conflict"] == {"base": ["two 2"], "theirs": ["theirs"], "yours": ["mine"]}


def test_after_its_own_write_the_caller_knows_the_file() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    first = write(daemon, "a 1\nb 2\n", base=version(daemon))
    assert write(daemon, "a 1\nb 3\n", base=first["version"])["ok"]


@pytest.mark.parametrize(("files", "error"), [({"f.txt/a": "x"}, "not_a_file"), ({"f.txt": b"a\0"}, "binary_file")])
def test_what_is_no_text_is_not_overwritten(files: dict[str, bytes | str], error: str) -> None:
    assert write(MemoryDaemon(files), "x", base="v1")["error"] == error


def test_too_much_content_is_refused() -> None:
    assert write(MemoryDaemon(), "x" * (8 * 1024 * 1024 + 1))["error"] == "file_too_large"


def test_a_dry_run_makes_no_file() -> None:
    daemon = MemoryDaemon()
    reply = write(daemon, "x\n", dry_run=True)
    assert (reply["ok"], reply["dry_run"], reply["valid"], reply["version"]) == (True, True, True, None)
    assert not daemon.files
    assert not daemon.events(FileWritten, EditRefused)


def test_of_a_new_secret_the_journal_keeps_the_hash_and_says_so() -> None:
    daemon = MemoryDaemon()
    daemon.keep_secret(".env")
    reply = daemon.ask("write_file", {"path": ".env", "content": "KEY=1\n"})
    assert (reply["ok"], [w["type"] for w in reply["warnings"]]) == (True, ["uncaptured"])
    (written,) = daemon.events(FileWritten)
    assert isinstance(written, FileWritten)
    assert written.uncaptured == "secret"
    with daemon.journal.store.reading() as reading:
        assert not History(reading).holds(written.blob)
    again = {"path": ".env", "content": "KEY=2\n", "expectedSha256": reply["sha256"]}
    assert daemon.ask("write_file", again)["error"] == "uncaptured"
    assert daemon.ask("write_file", {**again, "allow_uncaptured": True})["ok"]


def test_whoever_writes_nul_bytes_is_told_that_the_file_is_no_text_any_more() -> None:
    daemon = MemoryDaemon({"f.txt": "a\nb\n"})
    reply = daemon.ask("edit_replace", {"path": "f.txt", "old_text": "a", "new_text": "\0"}, by="ann")
    assert [warning["type"] for warning in reply["warnings"]] == ["binary"]
    assert (
        daemon.ask("edit_replace", {"path": "f.txt", "old_text": "b", "new_text": "c"}, by="ann")["error"]
        == "binary_file"
    )
    made = daemon.ask("write_file", {"path": "n.txt", "content": "\0"}, by="ann")
    assert [warning["type"] for warning in made["warnings"]] == ["binary"]


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("write_file", {"path": "new/", "content": "x"}),
        ("text_editor", {"command": "create", "path": "new/", "file_text": "x"}),
        ("move_file", {"path": "f.txt", "to": "new/"}),
        ("hashline_edit", {"path": "f.txt", "edits": [], "rename": "new/"}),
        ("apply_patch", {"patch": "*** Begin Patch\n*** Add File: new/\n+x\n*** End Patch"}),
        ("apply_patch", {"patch": "*** Begin Patch\n*** Move File: f.txt -> new/\n*** End Patch"}),
        (
            "apply_patch",
            {"patch": "*** Begin Patch\n*** Update File: f.txt\n*** Move to: new/\n@@\n-a\n+b\n*** End Patch"},
        ),
    ],
)
def test_nothing_is_made_under_a_name_that_says_that_it_is_a_folder(tool: str, args: dict[str, Any]) -> None:
    """`mv f new/` makes no file `new`, and whoever says so may mean to move something into a folder."""
    daemon = MemoryDaemon({"f.txt": "a\n"})
    reply = daemon.ask(tool, args, by="ann")
    assert (reply["error"], set(daemon.files)) == ("not_a_file", {"f.txt"}), reply
    assert reply["message"].startswith("new/ names a folder")


def test_a_folder_that_is_yet_to_be_made_can_be_claimed() -> None:
    assert MemoryDaemon({}).ask("claim", {"path": "new/"}, by="ann")["form"] == "folder"
