"""`diff` of one writer alone: a commit with this writer's lines, and without what others have not committed."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest
from hypothesis import given, strategies as st

import live
from bench.patches import Shared, applied
from memory_daemon import MemoryDaemon, lines
from quire_journal.model.events import GitRan

HEAD = "1" * 40
START = lines("a", "b", "c", "d", "e", "f")


def daemon_at(files: dict[str, bytes], committed: dict[str, bytes] | None = None) -> MemoryDaemon:
    """A daemon that found these files, and a commit that has them, or others."""
    daemon = MemoryDaemon()
    for path, data in files.items():
        daemon.outside(path, data)
    there = files if committed is None else committed
    daemon.git_answers.trees[HEAD] = {path: ("100644", data) for path, data in there.items()}
    return daemon


def patch(daemon: MemoryDaemon, writer: str = "ann", **more: Any) -> dict[str, Any]:
    reply = daemon.ask("diff", {"from": f"commit:{HEAD}", "writer": writer, "alone": "apart", **more})
    assert reply["ok"], reply
    return reply


def rows(reply: dict[str, Any]) -> dict[str, list[str]]:
    """The lines that differ, by file."""
    found = {one["path"]: [row for hunk in one.get("hunks", ()) for row in hunk["lines"]] for one in reply["files"]}
    return {path: [row for row in some if row[:1] != " "] for path, some in found.items()}


def test_the_lines_of_one_writer_go_upon_a_commit_that_lacks_those_of_the_other() -> None:
    daemon = daemon_at({"f": START})
    daemon.write("f", START.replace(b"b\n", b"B\n"), daemon.ann)
    daemon.write("f", START.replace(b"b\n", b"B\n").replace(b"c\n", b"C\n"), daemon.ben)
    reply = patch(daemon)
    assert rows(reply) == {"f": ["-b", "+B"]}
    assert " c" in reply["files"][0]["hunks"][0]["lines"], "as it is in the commit"
    assert rows(patch(daemon, "ben")) == {"f": ["-c", "+C"]}


def test_a_replacement_that_another_reworded_is_left_out_as_a_whole_and_named() -> None:
    """The patch removed the line and lacked what stands there now: a function without its body went into the index."""
    daemon = daemon_at({"f": START})
    daemon.write("f", START.replace(b"b\n", b"B1\nB2\n").replace(b"e\n", b"E\n"), daemon.ann)
    daemon.outside("f", START.replace(b"b\n", b"B1\nB2 reworded\n").replace(b"e\n", b"E\n"))
    reply = patch(daemon)
    assert rows(reply) == {"f": ["-e", "+E"]}
    assert reply["files"][0]["resting"] == [{"start": 2, "end": 2}]
    assert rows(patch(daemon, alone="needed")) == {"f": ["-b", "+B1", "+B2 reworded", "-e", "+E"]}


@pytest.mark.parametrize("theirs", [b"", b"x\ny\n"])
def test_a_replacement_beside_lines_that_another_removed_or_replaced_goes_upon_the_commit(theirs: bytes) -> None:
    """The patch removed the line, and lacked what replaced it."""
    for gone, own in ((b"c\n", b"b\n"), (b"c\n", b"d\n")):
        daemon = daemon_at({"f": START})
        daemon.write("f", START.replace(gone, theirs), daemon.ben)
        daemon.write("f", daemon.files["f"].replace(own, own.upper()), daemon.ann)
        reply = patch(daemon)
        name = own.decode().strip()
        assert (rows(reply), "resting" in reply["files"][0]) == ({"f": [f"-{name}", f"+{name.upper()}"]}, False)


def test_a_replacement_between_lines_of_another_goes_where_the_replaced_line_was() -> None:
    daemon = daemon_at({"f": START})
    daemon.write("f", START.replace(b"b\n", b"B\n").replace(b"d\n", b"D\n"), daemon.ben)
    daemon.write("f", daemon.files["f"].replace(b"c\n", b"C\n"), daemon.ann)
    assert rows(patch(daemon)) == {"f": ["-c", "+C"]}


def test_of_a_replacement_that_rests_on_a_line_of_another_the_old_line_stays() -> None:
    """The patch removed the line, and lacked what replaced it."""
    daemon = daemon_at({"f": START})
    daemon.write("f", START.replace(b"c\n", b"x\nc\n"), daemon.ben)
    daemon.write("f", daemon.files["f"].replace(b"b\nx\n", b"B\n"), daemon.ann)
    reply = patch(daemon)
    assert (rows(reply), reply["files"][0]["resting"]) == ({"f": []}, [{"start": 2, "end": 2}])
    assert rows(patch(daemon, alone="needed")) == {"f": ["-b", "+B"]}


@pytest.mark.parametrize("theirs", [b"B\n", b"b\n"])
def test_lines_in_place_of_which_others_had_removed_some_are_left_out_and_named(theirs: bytes) -> None:
    """Those that were removed came back in front of the writer's, which nobody was told."""
    daemon = daemon_at({"f": START})
    daemon.write("f", START.replace(b"c\n", b""), daemon.ben)
    daemon.write("f", daemon.files["f"].replace(b"b\nd\n", b"new\n"), daemon.ann)
    daemon.write("f", daemon.files["f"].replace(b"a\n", theirs), daemon.ben)
    reply = patch(daemon)
    assert (rows(reply), reply["files"][0]["resting"]) == ({"f": []}, [{"start": 2, "end": 2}])
    assert rows(patch(daemon, alone="needed")) == {"f": ["-b", "-c", "-d", "+new"]}


def test_a_line_that_was_added_where_others_had_removed_one_is_named_also_if_they_change_its_neighbour() -> None:
    """It went behind the line that was removed, which nobody was told."""
    daemon = daemon_at({"f": START})
    daemon.write("f", START.replace(b"c\n", b""), daemon.ben)
    daemon.write("f", daemon.files["f"].replace(b"b\n", b"b\nnew\n"), daemon.ann)
    daemon.write("f", daemon.files["f"].replace(b"d\n", b"D\n"), daemon.ben)
    daemon.write("f", daemon.files["f"].replace(b"new\n", b"new\nnewer\n"), daemon.ann)
    reply = patch(daemon)
    assert (rows(reply), reply["files"][0]["resting"]) == ({"f": []}, [{"start": 3, "end": 4}])


def left_out(reply: dict[str, Any]) -> list[tuple[int, int, str]]:
    """The lines of others that stand between those of the only file's patch."""
    (file,) = reply["files"]
    return [(one["start"], one["end"], one["writer"]["agent"]) for one in file.get("left_out", ())]


def test_lines_of_others_between_those_of_the_patch_are_named() -> None:
    """A function lacked a line of its body, which nobody was told."""
    daemon = daemon_at({"f": START})
    daemon.write("f", START.replace(b"b\n", b"b\nX\nY\nZ\n"), daemon.ann)
    daemon.write("f", daemon.files["f"].replace(b"Y\n", b"1\n2\nY\n3\n"), daemon.ben)
    daemon.write("f", daemon.files["f"].replace(b"a\n", b"a\nbefore\n").replace(b"Z\n", b"Z\nbehind\n"), daemon.ben)
    reply = patch(daemon)
    assert (rows(reply), left_out(reply)) == ({"f": ["+X", "+Y", "+Z"]}, [(5, 6, "ben"), (8, 8, "ben")])
    assert left_out(patch(daemon, "ben")) == []


def test_lines_of_others_between_two_places_of_the_patch_are_not_named() -> None:
    daemon = daemon_at({"f": START})
    daemon.write("f", START.replace(b"b\n", b"B\n").replace(b"d\n", b"D\n"), daemon.ann)
    daemon.write("f", daemon.files["f"].replace(b"c\n", b"C\nnew\n"), daemon.ben)
    assert left_out(patch(daemon)) == []
    daemon.write("f", daemon.files["f"].replace(b"e\n", b"ben's\ne\n"), daemon.ben)
    daemon.write("f", daemon.files["f"].replace(b"e\n", b"E\n"), daemon.ann)
    assert left_out(patch(daemon)) == [(6, 6, "ben")], "the lines around it are adjacent in the patch"


def test_what_comes_along_with_lines_that_rest_on_it_is_not_left_out() -> None:
    daemon = daemon_at({"f": START})
    daemon.write("f", START.replace(b"b\n", b"b\nx\ny\n"), daemon.ben)
    daemon.write("f", daemon.files["f"].replace(b"x\n", b"x\nann's\n"), daemon.ann)
    assert left_out(patch(daemon, alone="needed")) == []


@pytest.mark.parametrize("drafts", [[], [b"draft\n"], [b"draft\n", b"another\n"]])
def test_of_one_line_that_another_reworded_the_old_line_stays(drafts: list[bytes]) -> None:
    daemon = daemon_at({"f": START})
    for draft in [*drafts, b"B\n"]:
        daemon.write("f", START.replace(b"b\n", draft), daemon.ann)
    daemon.outside("f", START.replace(b"b\n", b"B reworded\n"))
    reply = patch(daemon)
    assert rows(reply) == {"f": []}
    assert reply["files"][0]["resting"] == [{"start": 2, "end": 1}]


def test_lines_that_git_brings_in_one_piece_with_unknown_ones_are_left_out_and_named_or_come_with_them() -> None:
    """The patch had a function without some lines of its body, and did not say so."""
    daemon = daemon_at({"f": START})
    block = lines("first line of ann", "second line of ann", "third line of ann")
    daemon.write("f", START.replace(b"d\n", b"d\n" + block), daemon.ann)
    daemon.by_git("git checkout main", f=START)
    amended = block.replace(b"third", b"unknown line\nthird")
    daemon.by_git("git merge --squash feat", f=START.replace(b"d\n", b"d\n" + amended).replace(b"a\n", b"A\n"))
    (file,) = patch(daemon)["files"]
    assert (rows(patch(daemon)), file["resting"]) == ({"f": []}, [{"start": 5, "end": 6}, {"start": 8, "end": 8}])
    added = [f"+{line}" for line in amended.decode().splitlines()]
    assert rows(patch(daemon, alone="needed")) == {"f": added}
    daemon.write("f", daemon.files["f"].replace(b"unknown line\n", b""), daemon.ben)
    assert rows(patch(daemon)) == {"f": [row for row in added if row != "+unknown line"]}


def test_a_block_that_git_brings_beside_equal_lines_is_whole() -> None:
    """Blank lines at its end, which stand above it, too, were missing."""
    functions = "".join(f"def f{n}():\n    return {n}\n\n\n" for n in range(4)).encode()
    added = b"def new(a):\n    return 3\n\n\n"
    daemon = daemon_at({"f": functions})
    whole = functions.replace(b"def f3", added + b"def f3")
    daemon.write("f", whole, daemon.ann)
    daemon.by_git("git checkout main", f=functions)
    daemon.by_git("git merge --squash feat", f=whole.replace(b"return 0", b"return 100"))
    (file,) = patch(daemon)["files"]
    assert ("resting" in file, rows(patch(daemon))["f"]) == (
        False,
        [f"+{line}" for line in added.decode().splitlines()],
    )


def test_after_the_commit_of_one_writers_lines_the_others_are_left() -> None:
    daemon = daemon_at({"f": START}, {"f": START.replace(b"b\n", b"B\n")})
    daemon.write("f", START.replace(b"b\n", b"B\n"), daemon.ann)
    daemon.write("f", START.replace(b"b\n", b"B\n").replace(b"c\n", b"C\n"), daemon.ben)
    assert rows(patch(daemon)) == {}
    assert rows(patch(daemon, "ben")) == {"f": ["-c", "+C"]}


def test_lines_between_those_of_another_are_told_and_left_out_or_come_with_them() -> None:
    daemon = daemon_at({"f": START})
    theirs = START.replace(b"d\n", b"d\nx\ny\n")
    daemon.write("f", theirs, daemon.ben)
    daemon.write("f", theirs.replace(b"x\n", b"x\nann's\n").replace(b"a\n", b"A\n"), daemon.ann)
    reply = patch(daemon)
    assert rows(reply) == {"f": ["-a", "+A"]}
    assert (reply["files"][0]["resting"], reply["files"][0]["others"]) == ([{"start": 6, "end": 6}], ["outside", "ben"])
    assert rows(patch(daemon, alone="needed")) == {"f": ["-a", "+A", "+x", "+ann's", "+y"]}


def test_a_line_that_replaces_anothers_rests_on_it() -> None:
    daemon = daemon_at({"f": START})
    daemon.write("f", START.replace(b"b\n", b"ben's\n"), daemon.ben)
    daemon.write("f", START.replace(b"b\n", b"ann's\n"), daemon.ann)
    (file,) = patch(daemon)["files"]
    assert (file["status"], file["resting"]) == ("same", [{"start": 2, "end": 2}])
    assert rows(patch(daemon, alone="needed")) == {"f": ["-b", "+ann's"]}


def test_lines_where_another_removed_some_before_have_no_sure_place() -> None:
    daemon = daemon_at({"f": START})
    daemon.write("f", START.replace(b"c\n", b""), daemon.ben)
    daemon.write("f", START.replace(b"c\n", b"ann's\n"), daemon.ann)
    (file,) = patch(daemon)["files"]
    assert (file["status"], file["resting"]) == ("same", [{"start": 3, "end": 3}])


def test_what_was_committed_of_ones_work_is_not_in_the_patch_again() -> None:
    """The commit has ann's line, and not ben's: it is no version of the journal."""
    one, two = START.replace(b"e\n", b"E1\n"), START.replace(b"b\n", b"ben's\n").replace(b"e\n", b"E1\n")
    daemon = daemon_at({"f": START}, {"f": one})
    daemon.write("f", START.replace(b"b\n", b"ben's\n"), daemon.ben)
    daemon.write("f", two, daemon.ann)
    assert patch(daemon)["files"] == []
    assert rows(patch(daemon, "ben")) == {"f": ["-b", "+ben's"]}
    daemon.note(GitRan("commit -m one", head_before="main 0", head_after=f"main {HEAD}"))
    daemon.write("f", two.replace(b"E1", b"E2") + b"end\n", daemon.ann)
    assert rows(patch(daemon)) == {"f": ["-E1", "+E2", "+end"]}
    assert "resting" not in patch(daemon)["files"][0]


def test_lines_that_a_commit_left_out_and_another_removed_are_gone() -> None:
    daemon = daemon_at({"f": START})
    daemon.write("g", START, daemon.ann)
    daemon.write("f", START + b"ann's\n", daemon.ann)
    daemon.note(GitRan("commit -m none", head_before="main 0", head_after=f"main {HEAD}"))
    daemon.delete("g", daemon.ben)
    daemon.write("f", START, daemon.ben)
    assert rows(patch(daemon)) == {}
    daemon.write("g", START, daemon.ben)
    assert (rows(patch(daemon)), [*rows(patch(daemon, "ben"))]) == ({}, ["g"])


def test_a_replacement_that_another_replaced_as_a_whole_comes_with_what_stands_there_now() -> None:
    """With what is needed the patch took the line out, and put nothing in its place."""
    daemon = daemon_at({"f": START})
    daemon.write("f", START.replace(b"b\n", b"B\n").replace(b"e\n", b"E\n"), daemon.ann)
    daemon.write("f", daemon.files["f"].replace(b"B\n", b"ben's\nand more\n"), daemon.ben)
    assert rows(patch(daemon)) == {"f": ["-e", "+E"]}
    assert rows(patch(daemon, alone="needed")) == {"f": ["-b", "+ben's", "+and more", "-e", "+E"]}


def test_lines_are_compared_with_what_a_commit_has_of_their_writer() -> None:
    """The line that replaced a committed one was left out: beside ben's, it had no sure place."""
    one, two = START.replace(b"c\n", b"C1\n"), START.replace(b"b\n", b"ben's\n").replace(b"c\n", b"C1\n")
    daemon = daemon_at({"f": START}, {"f": one})
    daemon.write("f", START.replace(b"b\n", b"ben's\n"), daemon.ben)
    daemon.write("f", two, daemon.ann)
    assert patch(daemon)["files"] == []
    daemon.write("f", two.replace(b"C1", b"C2"), daemon.ann)
    (file,) = patch(daemon)["files"]
    assert (rows({"files": [file]}), "resting" in file) == ({"f": ["-C1", "+C2"]}, False)
    assert rows(patch(daemon, alone="needed")) == {"f": ["-C1", "+C2"]}


@pytest.mark.parametrize(
    ("theirs", "own"), [(b"", b"B\n"), (b"", b""), (b"ben's\n", b"B\n"), (b"ben's\n", b""), (b"ben's\n", b"b\nnew\n")]
)
@pytest.mark.parametrize("told", [True, False])
def test_nothing_is_left_of_a_committed_change_beside_one_of_another(own: bytes, theirs: bytes, told: bool) -> None:
    """The committed line was named as one that rests on lines of others."""
    for gone in (b"a\n", b"c\n"):
        daemon = daemon_at({"f": START})
        daemon.write("f", START.replace(gone, theirs), daemon.ben)
        daemon.write("f", daemon.files["f"].replace(b"b\n", own), daemon.ann)
        commit(daemon, START.replace(b"b\n", own), told)
        assert patch(daemon)["files"] == []


def commit(daemon: MemoryDaemon, data: bytes, told: bool) -> None:
    """Let `HEAD` have these bytes; `told`: the daemon saw git run."""
    daemon.git_answers.trees[HEAD] = {"f": ("100644", data)}
    if told:
        daemon.note(GitRan("commit -m one", head_before="main 0", head_after=f"main {HEAD}"))


def test_a_line_is_named_where_a_commit_has_one_of_two_equal_ones() -> None:
    """The other one went into the patch, which is wrong if the commit has this writer's."""
    one = START.replace(b"b\n", b"b\nnew\n")
    daemon = daemon_at({"f": START}, {"f": one.replace(b"e\n", b"E\n")})
    daemon.write("f", one, daemon.ben)
    daemon.write("f", one.replace(b"new\n", b"new\nnew\n"), daemon.ann)
    daemon.write("f", daemon.files["f"].replace(b"e\n", b"E\n"), daemon.ann)
    (file,) = patch(daemon)["files"]
    assert (file["status"], file["resting"]) == ("same", [{"start": 4, "end": 4}])


@pytest.mark.parametrize("drafts", [[], [b"draft\n"]])
def test_of_lines_that_were_added_the_one_that_another_reworded_is_named(drafts: list[bytes]) -> None:
    daemon = daemon_at({"f": START})
    for draft in [*drafts, b"Y\n"]:
        daemon.write("f", START.replace(b"b\n", b"b\nX\n" + draft + b"Z\n"), daemon.ann)
    daemon.outside("f", START.replace(b"b\n", b"b\nX\nY reworded\nZ\n"))
    (file,) = patch(daemon)["files"]
    assert rows({"files": [file]}) == {"f": ["+X", "+Z"]}
    assert "resting" not in file, "nothing that is the writer's now is missing"
    assert [(one["start"], one["end"], one["writer"]["id"]) for one in file["replaced"]] == [(4, 4, "outside")]


def test_a_file_that_another_added_lines_to_comes_as_its_writer_made_it() -> None:
    daemon = daemon_at({"g": START})
    daemon.write("f", START, daemon.ann)
    daemon.write("f", START.replace(b"a\n", b"a\nx\n").replace(b"d\n", b"y\n"), daemon.ben)
    assert rows(patch(daemon)) == {"f": ["+a", "+b", "+c", "+e", "+f"]}
    (file,) = patch(daemon)["files"]
    assert ("resting" in file, [(one["start"], one["end"]) for one in file["replaced"]]) == (False, [(5, 5)])
    (file,) = patch(daemon, "ben")["files"]
    assert (file["status"], file["resting"]) == ("same", [{"start": 2, "end": 2}, {"start": 5, "end": 5}])


def test_a_removed_file_is_removed_from_the_commit() -> None:
    daemon = daemon_at({"f": START, "g": START})
    daemon.delete("f", daemon.ann)
    (file,) = patch(daemon)["files"]
    assert (file["path"], file["status"]) == ("f", "removed")


def test_a_rename_is_its_renamers() -> None:
    daemon = daemon_at({"old": START})
    daemon.move("old", "new", daemon.ann)
    daemon.write("new", START.replace(b"f", b"F"), daemon.ben)
    (file,) = patch(daemon)["files"]
    assert (file["moved_from"], file["path"], rows(patch(daemon))) == ("old", "new", {"new": []})
    assert rows(patch(daemon, "ben")) == {"old": ["-f", "+F"]}


@pytest.mark.parametrize("whose", ["ann", "ben"])
@pytest.mark.parametrize("alone", ["apart", "needed", ""])
def test_a_page_has_the_files_behind_its_cursor(alone: str, whose: str) -> None:
    daemon = daemon_at({name: START.replace(b"a", name.encode()) for name in ("b", "d", "f", "h", "j")})
    daemon.move("d", "c", daemon.ann)
    daemon.move("b", "d", daemon.ann)
    daemon.move("h", "a", daemon.ben)
    for name, writer in (("c", daemon.ben), ("d", daemon.ben), ("f", daemon.ann), ("a", daemon.ann)):
        daemon.write(name, daemon.files[name].replace(b"e\n", b"E\n"), writer)
    for name in ("b", "h", "j"):
        daemon.write(name, b"anew\n", daemon.ann if name != "h" else daemon.ben)
    files = patch(daemon, whose, alone=alone)["files"]
    assert len(files) > 3
    for cursor in "abcdefghij":
        page = patch(daemon, whose, alone=alone, cursor=cursor)["files"]
        assert page == [file for file in files if file["path"] > cursor]


def test_a_file_that_one_wrote_anew_and_another_removed_are_two() -> None:
    daemon = daemon_at({"old": START})
    daemon.write("new", START, daemon.ann)
    daemon.delete("old", daemon.ben)
    assert [(file["path"], file["status"]) for file in patch(daemon)["files"]] == [("new", "added")]
    assert [(file["path"], file["status"]) for file in patch(daemon, "ben")["files"]] == [("old", "removed")]


def test_the_end_of_the_last_line_is_of_who_changed_it() -> None:
    daemon = daemon_at({"f": b"one\ntwo\nthree\n"})
    daemon.write("f", b"one\ntwo\nthree", daemon.ann)
    daemon.write("f", b"ONE\ntwo\nthree", daemon.ben)
    assert "\\ No newline at end of file" in patch(daemon)["files"][0]["patch"]
    assert "\\ No newline" not in patch(daemon, "ben")["files"][0]["patch"]


def test_alone_wants_a_writer() -> None:
    reply = daemon_at({"f": START}).ask("diff", {"from": f"commit:{HEAD}", "alone": "apart"})
    assert (reply["error"], reply["argument"]) == ("schema_invalid", "alone")


def test_a_line_among_equal_ones_keeps_its_place() -> None:
    head = lines("b", "d", "d", "d")
    daemon = daemon_at({"f": head})
    daemon.write("f", lines("b", "d", "d", "a", "d"), daemon.ann)
    daemon.write("f", lines("b", "d", "d", "a"), daemon.ben)
    assert patch(daemon)["files"][0]["hunks"][0]["lines"] == [" b", " d", " d", "+a", " d"]


def test_lines_in_front_of_a_replaced_line_come_in_front_of_it() -> None:
    daemon = daemon_at({"f": START})
    daemon.write("f", START.replace(b"c\n", b"C\n"), daemon.ben)
    daemon.write("f", START.replace(b"c\n", b"ann's\nC\n"), daemon.ann)
    assert patch(daemon)["files"][0]["hunks"][0]["lines"] == [" a", " b", "+ann's", " c", " d", " e"]


def test_a_committed_removal_is_not_made_again_at_an_equal_line() -> None:
    daemon = daemon_at({"f": lines(*"daeaea")}, {"f": lines(*"daea")})
    daemon.write("f", lines(*"deaea"), daemon.ben)
    daemon.write("f", lines(*"dea"), daemon.ann)
    assert patch(daemon)["files"] == []
    daemon = daemon_at({"f": lines(*"daeaea")}, {"f": lines(*"daaea")})
    for text, writer in (("daea", daemon.ben), ("debaea", daemon.ben), ("debaa", daemon.ann)):
        daemon.write("f", lines(*text), writer)
    assert patch(daemon)["files"] == []


class Change(NamedTuple):
    """A change of a line of a file whose lines are told apart, or lines in front of it."""

    number: int
    line: int
    added: bool
    made: tuple[str, ...]
    by_ann: bool


def with_changes(many: int, some: Sequence[Change]) -> bytes:
    """A file of `many` lines with these changes."""
    out = list[str]()
    for at in range(many + 1):
        out += [made for one in some if one.added and one.line == at for made in one.made]
        changed = [one for one in some if one.line == at and not one.added]
        out += changed[0].made if changed else [f"line {at}"] if at < many else []
    return lines(*out)


@pytest.mark.parametrize("first", range(0, live.length(200, 4000), 100))
def test_each_change_is_in_the_patch_as_a_whole_or_named(first: int) -> None:
    for seed in range(first, first + 100):
        rng, many, some = random.Random(seed), 4, list[Change]()
        for at, added in itertools.product(range(many + 1), (True, False)):
            made = tuple(f"{len(some)}.{n}" for n in range(rng.randint(added, 2)))
            if rng.random() < (0.25 if added else 0.55) and at < many + added:
                some.append(Change(len(some), at, added, made, rng.random() < 0.5))
        old, own, done = with_changes(many, ()), [one for one in some if one.by_ann], list[Change]()
        if not own:
            continue
        daemon = daemon_at({"f": old})
        for one in rng.sample(some, len(some)):
            done = sorted([*done, one])
            daemon.write("f", with_changes(many, done), daemon.ann if one.by_ann else daemon.ben)
        files = patch(daemon, context=100)["files"]
        made = next((applied(file["patch"]) for file in files if file.get("patch")), old)
        named = any("resting" in file for file in files)
        parts = [with_changes(many, part) for n in range(len(own)) for part in itertools.combinations(own, n)]
        assert made in parts if named else made == with_changes(many, own), (seed, some)


@pytest.mark.parametrize("first", range(0, live.length(200, 4000), 100))
def test_equal_lines_never_make_a_wrong_patch_in_silence(first: int) -> None:
    for seed in range(first, first + 100):
        rng = random.Random(seed)
        old = [rng.choice("abcde") for _ in range(rng.randint(6, 12))]
        new = [rng.choice("abcdeXY") if rng.random() < 0.2 else line for line in old if rng.random() > 0.2]
        new = [part for line in new for part in ((line, rng.choice("abXY")) if rng.random() < 0.15 else (line,))]
        file = Shared(lines(*old), lines(*new), rng)
        made, left_out = file.patched()
        assert left_out or made == file.text(file.by_ann), (seed, old, new)


@pytest.mark.parametrize("first", range(0, live.length(50, 2000), 50))
def test_after_the_commit_of_a_patch_nothing_more_comes_nor_is_named(first: int) -> None:
    for seed in range(first, first + 50):
        rng, fresh = random.Random(seed), itertools.count()
        now = [str(next(fresh)) for _ in range(rng.randint(3, 8))]
        daemon = daemon_at({"f": lines(*now)})
        for _ in range(rng.randint(2, 7)):
            at = rng.randrange(len(now) + 1)
            now[at : at + rng.randint(0, 2)] = [str(next(fresh)) for _ in range(rng.randint(0, 3))]
            daemon.write("f", lines(*now), rng.choice([daemon.ann, daemon.ben]))
        before = patch(daemon, context=100)["files"]
        for file in before:
            if file.get("patch"):
                daemon.git_answers.trees["2" * 40] = {"f": ("100644", applied(file["patch"]))}
                after = patch(daemon, **{"from": f"commit:{'2' * 40}"})["files"]
                assert not any(rows({"files": after}).values()), seed
                assert not after or not {"resting", "replaced"}.isdisjoint(file), seed


class Step(NamedTuple):
    """One change by a writer at a line that is the writer's own, of a file whose lines have a number."""

    line: int
    by_ann: bool
    how: str

    def done(self, text: bytes) -> bytes:
        at = b"%d\n" % self.line
        made = {"replace": b"%d changed\n", "delete": b"", "insert": at + b"after %d\n"}[self.how]
        return text.replace(b"\n" + at, b"\n" + (made % self.line if b"%" in made else made))


STEPS = st.permutations(range(1, 9)).flatmap(
    lambda order: st.tuples(
        *(
            st.builds(Step, st.just(line), st.booleans(), st.sampled_from(["replace", "delete", "insert"]))
            for line in order
        )
    )
)


@given(STEPS)
def test_a_patch_has_all_of_one_writer_and_nothing_of_the_other(steps: tuple[Step, ...]) -> None:
    head = lines("0", *map(str, range(1, 9)), "9")
    daemon = daemon_at({"f": head})
    both = truth = head
    for step in steps:
        if step.done(both) != both:
            both = step.done(both)
            daemon.write("f", both, daemon.ann if step.by_ann else daemon.ben)
        truth = step.done(truth) if step.by_ann else truth
    files = patch(daemon, context=100)["files"]
    rows = [row for file in files for hunk in file.get("hunks", ()) for row in hunk["lines"]]
    made = lines(*(row[1:] for row in rows if row[:1] != "-")) if rows else head
    resting = any("resting" in file for file in files)
    assert made == truth or (resting and {*made.split(b"\n")} <= {*truth.split(b"\n"), *head.split(b"\n")})


def test_one_burst_alone_is_a_patch_too() -> None:
    daemon = daemon_at({"f": START})
    burst = daemon.ask("burst", {"action": "begin"}, "ann")["burst"]
    daemon.write("f", START.replace(b"b\n", b"B\n"), daemon.ann)
    daemon.ask("burst", {"action": "end"}, "ann")
    daemon.write("f", START.replace(b"b\n", b"B\n").replace(b"e\n", b"E\n"), daemon.ann)
    assert rows(patch(daemon, "", burst=burst)) == {"f": ["-b", "+B"]}
    assert rows(patch(daemon)) == {"f": ["-b", "+B", "-e", "+E"]}
