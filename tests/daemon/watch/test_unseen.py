"""Lines that a caller was never shown are not edited unseen, once others have changed the file."""

from __future__ import annotations

from typing import Any

import pytest

from memory_daemon import MemoryDaemon

MINE = "the line that ann means"
BEFORE = [f"line {n}" for n in range(1, 10)] + [MINE] + [f"line {n}" for n in range(11, 31)]


def text(lines: list[str]) -> str:
    """A text of these lines."""
    return "".join(f"{line}\n" for line in lines)


@pytest.fixture
def daemon() -> MemoryDaemon:
    """Ann has read the whole file; ben puts ten lines on top, the tenth of which is the same as ann's."""
    daemon = MemoryDaemon({"f.txt": text(BEFORE)})
    daemon.ask("read_file", {"path": "f.txt", "hashes": True})
    daemon.ask("read_file", {"path": "f.txt"}, by="ben")
    added = [f"of ben {n}" for n in range(1, 10)] + [MINE]
    ben = {"path": "f.txt", "line_number": 0, "text": text(added)}
    assert daemon.ask("insert_lines", ben, by="ben")["ok"]
    return daemon


def elsewhere(daemon: MemoryDaemon) -> None:
    """Ann edits far away, by text: her base moves along, over what ben did."""
    assert daemon.ask("edit_replace", {"path": "f.txt", "old_text": "line 30", "new_text": "LINE 30"})["ok"]


def part(daemon: MemoryDaemon) -> None:
    """Ann reads some lines far away."""
    assert daemon.ask("read_file", {"path": "f.txt", "start_line": 35})["ok"]


@pytest.mark.parametrize("then", [elsewhere, part])
def test_lines_by_number_are_refused_and_shown_then_they_are_known(daemon: MemoryDaemon, then: Any) -> None:
    then(daemon)
    was = daemon.read("f.txt")
    call = {"path": "f.txt", "start_line": 10, "end_line": 10, "new_text": "ANN"}
    reply = daemon.ask("replace_lines", call)
    assert (reply["error"], reply["reason"], daemon.read("f.txt")) == ("stale_base", "unseen", was)
    assert any(row.startswith("10#") for row in reply["lines"])
    assert daemon.ask("replace_lines", call)["ok"], "ann has seen the line now, and still means it"


@pytest.mark.parametrize("then", [elsewhere, part])
def test_an_anchor_means_the_line_that_was_shown_and_not_an_equal_one_of_somebody_else(
    daemon: MemoryDaemon, then: Any
) -> None:
    shown = daemon.ask("read_file", {"path": "f.txt", "hashes": True}, by="carl")["lines"]
    digits = next(row for row in shown if row.endswith(MINE)).split("#")[1][:6]
    then(daemon)
    operation = {"op": "replace_line", "hash": f"10#{digits}", "content": "ANN"}
    assert daemon.ask("edit", {"path": "f.txt", "operations": [operation]})["ok"]
    assert (daemon.read("f.txt") or "").splitlines()[9:20:10] == [MINE, "ANN"]


@pytest.mark.parametrize("line", [0, -5])
def test_a_line_hint_before_the_first_line_is_no_line_that_was_not_shown(daemon: MemoryDaemon, line: int) -> None:
    """It tells which of the equal lines is nearest; the refusal named no line, and came each time."""
    rows = daemon.ask("read_file", {"path": "f.txt", "hashes": True})["lines"]
    digits = next(row for row in rows if row.endswith(MINE)).split("#")[1][:6]
    operation = {"op": "replace_line", "hash": digits, "line": line, "content": "ANN"}
    assert daemon.ask("edit", {"path": "f.txt", "operations": [operation]})["ok"]
    assert (daemon.read("f.txt") or "").splitlines()[9] == "ANN"


def test_a_reference_to_an_unseen_line_is_a_mismatch(daemon: MemoryDaemon) -> None:
    shown = daemon.ask("read_file", {"path": "f.txt", "format": "hashline"}, by="carl")["lines"]
    elsewhere(daemon)
    reference = shown[9].split("|")[0]
    reply = daemon.ask("hashline_edit", {"path": "f.txt", "edits": [{"target": reference, "new_content": ["ANN"]}]})
    assert (reply["error"], reply["mismatched_lines"], reply["reason"]) == ("hash_mismatch", [10], "unseen")
    assert ">>> 10#" in reply["message"]


BY_NUMBER: dict[str, tuple[str, dict[str, Any]]] = {
    "a number": ("replace_lines", {"start_line": 5, "end_line": 5, "new_text": "ANN"}),
    "a gap": ("insert_lines", {"line_number": 5, "text": "ANN"}),
    "a gap of text_editor": ("text_editor", {"command": "insert", "insert_line": 5, "insert_text": "ANN"}),
}


def refused(daemon: MemoryDaemon) -> None:
    """Ann is refused, and shown what she meant and what ben did, but not the line of the next call."""
    call = {"path": "f.txt", "start_line": 30, "end_line": 30, "new_text": "ANN"}
    assert daemon.ask("replace_lines", call)["reason"] == "changed"


def patched(daemon: MemoryDaemon) -> None:
    """Ann edits far away, by a patch."""
    patch = "*** Begin Patch\n*** Update File: f.txt\n@@\n-line 30\n+LINE 30\n*** End Patch"
    assert daemon.ask("apply_patch", {"patch": patch})["ok"]


def written(daemon: MemoryDaemon) -> None:
    """Ann writes the whole file, which is merged with what ben did."""
    content = text([f"line {n}" for n in range(1, 40)])
    base = daemon.ask("log", {"path": "f.txt", "order": "oldest"})["records"][0]["version"]
    call = {"path": "f.txt", "content": content, "base": base, "on_stale": "rebase"}
    assert daemon.ask("write_file", call)["cross_version"]


def twice(daemon: MemoryDaemon) -> None:
    """Ann reads a part, others change the end of the file, and she reads the part again."""
    part(daemon)
    daemon.save("f.txt", (daemon.read("f.txt") or "") + "end\n")
    part(daemon)


def refused_twice(daemon: MemoryDaemon) -> None:
    """Ann reads a part, others change the end of the file, and she is refused."""
    part(daemon)
    daemon.save("f.txt", (daemon.read("f.txt") or "") + "end\n")
    call = {"path": "f.txt", "start_line": 38, "end_line": 38, "new_text": "ANN"}
    assert daemon.ask("replace_lines", call)["reason"] == "changed"


def moved(daemon: MemoryDaemon) -> None:
    """Ann edits far away, and moves the file there and back."""
    elsewhere(daemon)
    for path, to in (("f.txt", "g.txt"), ("g.txt", "f.txt")):
        version = daemon.ask("read_file", {"path": path}, by="carl")["version"]
        assert daemon.ask("move_file", {"path": path, "to": to, "base": version})["ok"]


@pytest.mark.parametrize("then", [elsewhere, part, refused, patched, written, twice, refused_twice, moved])
@pytest.mark.parametrize(("tool", "args"), BY_NUMBER.values(), ids=[*BY_NUMBER])
def test_a_number_means_no_line_that_others_moved_there_unseen(then: Any, tool: str, args: dict[str, Any]) -> None:
    """Ann knew line 5; of the lines that ben put above it she was told, but no number since has been shown to her."""
    daemon = MemoryDaemon({"f.txt": text([f"line {n}" for n in range(1, 41)])})
    for by in ("ann", "ben"):
        daemon.ask("read_file", {"path": "f.txt"}, by=by)
    far = {"path": "f.txt", "line_number": 2, "text": "b\nc\n"}
    assert daemon.ask("insert_lines", far, by="ben")["ok"]
    then(daemon)
    at = 12 if then is refused else 5  # what ben did is shown with the lines around it
    args = {name: at if value == 5 else value for name, value in args.items()}
    was = daemon.read("f.txt")
    reply = daemon.ask(tool, {"path": "f.txt", **args})
    assert (reply["ok"], reply.get("reason"), daemon.read("f.txt")) == (False, "unseen", was)
    assert daemon.ask(tool, {"path": "f.txt", **args})["ok"], "ann has seen the number now, and still means it"


def test_numbers_that_a_reply_showed_and_those_that_nobody_moved_are_known() -> None:
    daemon = MemoryDaemon({"f.txt": text([f"line {n}" for n in range(1, 31)])})
    for by in ("ann", "ben"):
        daemon.ask("read_file", {"path": "f.txt"}, by=by)
    assert daemon.ask("insert_lines", {"path": "f.txt", "line_number": 10, "text": "b\nc\n"}, by="ben")["ok"]
    reply = daemon.ask("edit_replace", {"path": "f.txt", "old_text": "line 20\n", "new_text": "A\nB\n"})
    assert "+22#" in "".join(row[:4] for row in reply["diff"])
    for number in (24, 3):  # the last but one that the diff shows below, and one above all that ben did
        call = {"path": "f.txt", "start_line": number, "end_line": number, "new_text": f"ANN {number}"}
        assert daemon.ask("replace_lines", call)["ok"], number
    assert (daemon.read("f.txt") or "").splitlines()[2:24:21] == ["ANN 3", "ANN 24"]


def test_a_reference_means_no_equal_line_that_others_moved_there_unseen() -> None:
    daemon = MemoryDaemon({"f.txt": text(["same", "one", "same", "two", *(f"line {n}" for n in range(20)), "line 30"])})
    references = daemon.ask("read_file", {"path": "f.txt", "format": "hashline"})["lines"]
    daemon.ask("read_file", {"path": "f.txt"}, by="ben")
    assert daemon.ask("insert_lines", {"path": "f.txt", "line_number": 0, "text": "b\nc\n"}, by="ben")["ok"]
    elsewhere(daemon)
    was = daemon.read("f.txt")
    edits = [{"target": references[2].split("|")[0], "new_content": ["ANN"]}]
    reply = daemon.ask("hashline_edit", {"path": "f.txt", "edits": edits})
    assert (reply.get("error"), reply.get("mismatched_lines"), daemon.read("f.txt")) == ("hash_mismatch", [3], was)


@pytest.mark.parametrize("ends", [{"hash": "{}"}, {"start_hash": "{}", "end_hash": "{}"}], ids=["a line", "a range"])
def test_a_number_beside_an_anchor_chooses_no_equal_line_that_others_moved_there_unseen(ends: dict[str, str]) -> None:
    equal = ["same", "one", "same", "two", "other", "same", "other"]
    daemon = MemoryDaemon({"f.txt": text([*equal, *(f"line {n}" for n in range(20)), "line 30"])})
    rows = daemon.ask("read_file", {"path": "f.txt", "hashes": True})["lines"]
    daemon.ask("read_file", {"path": "f.txt"}, by="ben")
    assert daemon.ask("insert_lines", {"path": "f.txt", "line_number": 0, "text": "b\nc\n"}, by="ben")["ok"]
    elsewhere(daemon)
    was = daemon.read("f.txt")
    named = {key: rows[at].split(" ")[0] for key, at in zip(ends, (2, 4), strict=False)}
    operation = {"op": "delete_line" if "hash" in ends else "delete_range", **named}
    reply = daemon.ask("edit", {"path": "f.txt", "operations": [operation]})
    assert (reply.get("error"), reply.get("reason"), daemon.read("f.txt")) == ("anchor_stale", "unseen", was)
    alone = {"op": "delete_line", "hash": rows[1].split(" ")[0]}
    assert daemon.ask("edit", {"path": "f.txt", "operations": [alone]})["ok"], "its text says which line it is"


def test_a_number_whose_line_is_of_others_chooses_no_equal_line_far_off() -> None:
    daemon = MemoryDaemon({"f.txt": text(["same", "one", "same", *(f"line {n}" for n in range(20)), "same"])})
    rows = daemon.ask("read_file", {"path": "f.txt", "hashes": True})["lines"]
    daemon.save("f.txt", text(["same", "one", "same", *(f"line {n}" for n in range(20)), "other"]))
    assert daemon.ask("edit_replace", {"path": "f.txt", "old_text": "one", "new_text": "ONE"})["ok"]
    operations = [{"op": "delete_line", "hash": rows[23].split(" ")[0]}]
    reply = daemon.ask("edit", {"path": "f.txt", "operations": operations})
    assert (reply.get("error"), reply.get("reason")) == ("anchor_stale", "unseen")
    assert "24#" in "".join(row[:3] for row in reply["lines"])


def test_lines_of_ones_own_do_not_make_up_for_those_that_others_put_above() -> None:
    """The line has the number that it had, and ann would have to know it by another."""
    daemon = MemoryDaemon({"f.txt": text([f"line {n}" for n in range(1, 61)])})
    for by in ("ann", "ben"):
        daemon.ask("read_file", {"path": "f.txt"}, by=by)
    assert daemon.ask("insert_lines", {"path": "f.txt", "line_number": 2, "text": "b"}, by="ben")["ok"]
    for n in range(20, 40):
        changed = {"path": "f.txt", "old_text": f"line {n}\n", "new_text": "" if n == 20 else f"LINE {n}\n"}
        assert daemon.ask("edit_replace", changed)["ok"]
    call = {"path": "f.txt", "start_line": 50, "end_line": 50, "new_text": "ANN"}
    assert daemon.ask("replace_lines", call).get("reason") == "unseen"
    assert daemon.ask("replace_lines", call)["ok"], "it has been shown now"


def test_a_number_is_known_when_its_line_was_read_again() -> None:
    daemon = MemoryDaemon({"f.txt": text(BEFORE)})
    for by in ("ann", "ben"):
        daemon.ask("read_file", {"path": "f.txt"}, by=by)
    assert daemon.ask("insert_lines", {"path": "f.txt", "line_number": 2, "text": "b"}, by="ben")["ok"]
    part(daemon)
    daemon.ask("read_file", {"path": "f.txt", "start_line": 20, "end_line": 21})
    call = {"path": "f.txt", "start_line": 20, "end_line": 20, "new_text": "ANN"}
    assert daemon.ask("replace_lines", call)["ok"]


def test_ones_own_undo_between_makes_no_number_unknown() -> None:
    daemon = MemoryDaemon({"f.txt": text(BEFORE)})
    for by in ("ann", "ben"):
        daemon.ask("read_file", {"path": "f.txt"}, by=by)
    assert daemon.ask("edit_replace", {"path": "f.txt", "old_text": "line 2\n", "new_text": "x\n"}, by="ben")["ok"]
    daemon.ask("read_file", {"path": "f.txt"})
    assert daemon.ask("insert_lines", {"path": "f.txt", "line_number": 4, "text": "ann\n"})["ok"]
    assert daemon.ask("undo", {})["ok"]
    call = {"path": "f.txt", "start_line": 20, "end_line": 20, "new_text": "ANN"}
    assert daemon.ask("replace_lines", call)["ok"]


@pytest.mark.parametrize(("tool", "args"), [("delete_file", {}), ("move_file", {"to": "g.txt"})])
def test_a_whole_file_is_not_removed_with_what_others_did_unread(
    daemon: MemoryDaemon, tool: str, args: dict[str, str]
) -> None:
    elsewhere(daemon)
    reply = daemon.ask(tool, {"path": "f.txt", **args})
    assert (reply["error"], daemon.read("f.txt") is None) == ("stale_base", False)
    daemon.ask("read_file", {"path": "f.txt"})
    assert daemon.ask(tool, {"path": "f.txt", **args})["ok"]


def test_of_a_file_that_only_the_caller_changes_it_may_know_more_than_it_was_shown() -> None:
    daemon = MemoryDaemon({"f.txt": text(BEFORE)})
    daemon.ask("read_file", {"path": "f.txt", "end_line": 5})
    reply = daemon.ask("replace_lines", {"path": "f.txt", "start_line": 20, "end_line": 20, "new_text": "ANN"})
    assert reply["ok"], reply


@pytest.mark.parametrize("op", ["insert_after", "insert_before", "replace_line"])
def test_an_anchor_that_the_caller_itself_removed_is_stale(op: str) -> None:
    daemon = MemoryDaemon({"f.txt": "one\ntwo\nthree\n"})
    read = daemon.ask("read_file", {"path": "f.txt", "hashes": True})
    two = read["lines"][1].split(" ")[0]
    gone = {"path": "f.txt", "start_line": 2, "end_line": 2, "new_text": "x\ny\n"}
    assert daemon.ask("replace_lines", gone)["ok"]
    operations = [{"op": op, "hash": two, "content": "new"}]
    reply = daemon.ask("edit", {"path": "f.txt", "operations": operations, "base": read["version"]})
    assert (reply["error"], daemon.read("f.txt")) == ("anchor_stale", "one\nx\ny\nthree\n")


def test_a_conflict_is_told_in_the_coordinates_of_the_version_that_made_it() -> None:
    daemon = MemoryDaemon({"f.txt": text(BEFORE)})
    base = daemon.ask("read_file", {"path": "f.txt"})["version"]
    ben = {"path": "f.txt", "line_number": 0, "text": "top 1\ntop 2\n"}
    assert daemon.ask("insert_lines", ben, by="ben")["ok"]
    assert daemon.ask("edit_replace", {"path": "f.txt", "old_text": MINE, "new_text": "ben's"}, by="ben")["ok"]
    call = {"path": "f.txt", "start_line": 10, "end_line": 10, "new_text": "ANN", "base": base, "on_stale": "rebase"}
    reply = daemon.ask("replace_lines", call)
    assert reply["conflict"] == {"base": [MINE], "theirs": ["ben's"], "yours": ["ANN"]}


def test_a_blank_last_line_has_its_break() -> None:
    daemon = MemoryDaemon({"f.txt": "alpha", "g.txt": "one\n\nlast", "h.txt": "\r\nx", "other.txt": "alpha\n"})
    reply = daemon.ask("insert_lines", {"path": "f.txt", "line_number": 2, "text": ""})
    assert (reply["lines_after"], daemon.read("f.txt")) == (2, "alpha\n\n")
    assert daemon.ask("replace_lines", {"path": "g.txt", "start_line": 3, "end_line": 3, "new_text": ""})["ok"]
    assert daemon.ask("replace_lines", {"path": "h.txt", "start_line": 2, "end_line": 2, "new_text": ""})["ok"]
    assert (daemon.read("g.txt"), daemon.read("h.txt")) == ("one\n\n", "\r\n")
    assert daemon.ask("read_file", {"path": "other.txt"})["lineCount"] == 1


def test_a_text_that_still_matches_in_a_line_that_somebody_changed_is_edited_with_a_warning() -> None:
    daemon = MemoryDaemon({"f.txt": "a = 1\nb = 2\n"})
    daemon.ask("read_file", {"path": "f.txt"})
    assert daemon.ask("edit_replace", {"path": "f.txt", "old_text": "a = 1", "new_text": "a = 100"}, by="ben")["ok"]
    reply = daemon.ask("edit_replace", {"path": "f.txt", "old_text": "a = 1", "new_text": "a = 5"})
    (warning,) = reply["warnings"]
    assert (warning["type"], warning["line"]) == ("changed_since_your_read", 1)
    assert "ben" in warning["message"]
    assert daemon.ask("edit_replace", {"path": "f.txt", "old_text": "b = 2", "new_text": "b = 3"})["warnings"] == []


def test_a_refusal_says_once_whether_a_change_touches_the_lines_of_the_call() -> None:
    daemon = MemoryDaemon({"f.txt": text(BEFORE)})
    daemon.ask("read_file", {"path": "f.txt"})
    assert daemon.ask("edit_replace", {"path": "f.txt", "old_text": "line 2\n", "new_text": "x\n"}, by="ben")["ok"]
    reply = daemon.ask("replace_lines", {"path": "f.txt", "start_line": 20, "end_line": 20, "new_text": "ANN"})
    assert (reply["error"], reply["touches"]) == ("stale_base", "none")
    assert [entry["touches"] for entry in reply["changed_since_your_read"]] == ["none"]


def test_lines_of_a_version_with_the_same_bytes_were_shown() -> None:
    """Others changed the file and put it back; who named its bytes, and knew them all, was not believed."""
    daemon = MemoryDaemon({"f.txt": text(BEFORE)})
    shown = daemon.ask("read_file", {"path": "f.txt", "hashes": True})
    for content in (text(BEFORE[1:]), text(BEFORE)):
        daemon.save("f.txt", content)
        daemon.ask("read_file", {"path": "f.txt"}, by="ben")
    edits = [{"oldText": "line 2\n", "newText": "LINE 2\n"}]
    assert daemon.ask("edit_file", {"path": "f.txt", "expectedSha256": shown["sha256"], "edits": edits})["ok"]
    anchor = shown["lines"][28].partition(" ")[0].partition("#")[2]
    operation = {"op": "replace_line", "hash": anchor, "content": "LINE 29"}
    assert daemon.ask("edit", {"path": "f.txt", "operations": [operation]})["ok"]


def test_to_remove_a_line_with_its_break_does_not_touch_the_next_one() -> None:
    """Somebody changed the line after the next, and a rebase was refused because of it."""
    daemon = MemoryDaemon({"f.txt": text(BEFORE)})
    for by in ("ann", "ben"):
        assert daemon.ask("read_file", {"path": "f.txt"}, by=by)["ok"]
    assert daemon.ask("edit_replace", {"path": "f.txt", "old_text": "line 5", "new_text": "LINE 5"}, by="ben")["ok"]
    removal = {"path": "f.txt", "old_text": "line 3\n", "new_text": "", "on_stale": "rebase"}
    assert daemon.ask("edit_replace", removal)["ok"]
    lines = [line.replace("line 5", "LINE 5") for line in BEFORE if line != "line 3"]
    assert daemon.read("f.txt") == text(lines)
