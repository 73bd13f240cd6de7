"""Edits that are rebased come out as a merge would: a short form of `scripts/bench merges`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

import live
from bench.merge_aligners import ALIGNERS, git
from bench.merge_cases import Case, generated, merges_of
from bench.merge_dialects import WAYS, Calls, Way, Wish
from bench.merges import REFUSED, RIGHT, WRONG, Oracle, Outcome, Player, main, row_of
from quire_journal.text.text import BOM

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is the judge")

BASE = b"".join(b"line %d\n" % n for n in range(30))


@pytest.fixture
def player(tmp_path: Path) -> Player:
    return Player(Oracle(tmp_path))


def verdicts(outcomes: Iterator[Outcome]) -> dict[str, str]:
    return {outcome.way: outcome.verdict for outcome in outcomes}


def with_lines(**lines: str) -> bytes:
    """The base with other lines: `line_3="x"`."""
    made = BASE.decode().split("\n")
    for name, line in lines.items():
        made[int(name.removeprefix("line_"))] = line
    return "\n".join(made).encode()


def few(root: Path, count: int) -> Sequence[Case]:
    return list(islice(generated(root, seed=3), count))


def source(functions: int) -> bytes:
    """A text like source code: what is repeated in it is what is repeated there."""
    lines = ['"""Some functions."""', "", "from __future__ import annotations", ""]
    for n in range(functions):
        lines += ["", f"def function_{n}(value: int) -> int:", f'    """The function number {n}."""']
        lines += ["    if value < 0:", "        return 0", f"    found = value + {n}", "    return found", ""]
    return ("\n".join(lines) + "\n").encode()


def test_every_dialect_makes_what_it_is_asked_for_where_nobody_else_did_anything(
    tmp_path: Path, player: Player
) -> None:
    (tmp_path / "f.py").write_bytes(source(8))
    for case in few(tmp_path, live.length(3, 10)):
        alone = Case(case.name, case.base, case.base, case.second)
        assert set(verdicts(player.play(alone)).values()) == {RIGHT}, case.name


def test_nothing_lands_wrong(tmp_path: Path, player: Player) -> None:
    (tmp_path / "f.py").write_bytes(source(8))
    outcomes = [outcome for case in few(tmp_path, live.length(9, 16)) for outcome in player.play(case)]
    rows = [row_of(way.name, [outcome for outcome in outcomes if outcome.way == way.name]) for way in WAYS]
    assert [row.dialect for row in rows if row.wrong] == []
    assert min(row.right for row in rows) > 2, "many of them can be merged, and are"


def test_changes_apart_are_right_and_changes_of_one_line_are_refused(player: Player) -> None:
    apart = Case("apart", BASE, with_lines(line_3="theirs"), with_lines(line_20="mine"))
    assert set(verdicts(player.play(apart)).values()) == {RIGHT}
    same = Case("same line", BASE, with_lines(line_9="theirs"), with_lines(line_9="mine"))
    assert set(verdicts(player.play(same)).values()) == {REFUSED}


def test_a_change_that_both_sides_made_is_no_obstacle_where_lines_are_named(player: Player) -> None:
    both = Case("both", BASE, with_lines(line_9="new"), with_lines(line_9="new", line_20="mine"))
    found = verdicts(player.play(both))
    named = ("edit", "hashline_edit", "apply_patch with sha256", "replace_lines, insert_lines", "write_file")
    assert {way: found[way] for way in named} == dict.fromkeys(named, RIGHT)


# ── lines that repeat: each side can be lined up in several ways ──


def functions(*names: str, ends: str = "\n") -> bytes:
    """Functions between blank lines: a new one begins and ends as its neighbours do."""
    told = (f"def {name}() {{{ends}    begin(){ends}    {name}(){ends}    end(){ends}}}{ends}" for name in names)
    return ends.join(told).encode()


def played(player: Player, case: Case) -> set[str]:
    """The verdicts on a case in all dialects, the agent's side lined up in one way after the other."""
    return {outcome.verdict for aligner in ALIGNERS for outcome in player.play(case, aligner=aligner)}


def test_a_block_that_both_sides_add_lands_once(player: Player) -> None:
    base = functions("one", "two", "three", "four", "five")
    first = functions("one", "two", "new", "three", "four", "five")
    second = functions("one", "two", "new", "three", "four", "five", "six")
    assert played(player, Case("", base, first, second)) == {RIGHT}


def test_another_block_at_the_same_place_is_refused_however_it_is_lined_up(player: Player) -> None:
    base = functions("one", "two", "three", "four")
    for first in (
        functions("one", "two", "his", "three", "four"),
        functions("one", "two", "new", "his", "three", "four"),
    ):
        case = Case("", base, first, functions("one", "two", "new", "three", "four"))
        assert played(player, case) == {REFUSED}


def test_line_ends_and_a_byte_order_mark_make_no_difference(player: Player) -> None:
    base = BOM + functions("one", "two", "three", "four", ends="\r\n")
    first = BOM + functions("one", "new", "two", "three", "four", ends="\r\n")
    second = BOM + functions("one", "new", "two", "three", "four", "five", ends="\r\n")
    assert played(player, Case("", base, first, second)) == {RIGHT}
    assert played(player, Case("", base, first.replace(b"\r\n", b"\n"), second)) == {REFUSED}


def test_a_text_that_the_caller_wrote_itself_is_found_where_it_wrote_it(player: Player) -> None:
    """Calls from the bottom up: the text of the second one is told from others by what the first one wrote."""
    lines = ["a", "x", "b", "x", "c", "d", "e", "f", "g", "h"]
    first = [*lines[:8], "his", *lines[8:]]
    second = ["a", "x", "b", "X", "C", *lines[5:]]
    texts = ("\n".join([*told, ""]).encode() for told in (lines, first, second))
    assert played(player, Case("", *texts)) == {RIGHT}
    beside = [*lines[:2], "his", *lines[2:]]
    texts = ("\n".join([*told, ""]).encode() for told in (lines, beside, second))
    assert played(player, Case("", *texts)) <= {RIGHT, REFUSED}


def test_a_text_beside_one_that_changed_is_refused_as_git_sees_a_conflict(player: Player) -> None:
    beside = Case("beside", BASE, with_lines(line_9="theirs"), with_lines(line_10="mine"))
    found = verdicts(player.play(beside))
    assert (found["edit"], found["edit_replace"]) == (REFUSED, REFUSED)


def test_the_judge_knows_what_is_wrong(player: Player) -> None:
    """A dialect that says something else than what is wanted is caught."""
    case = Case("apart", BASE, with_lines(line_3="theirs"), with_lines(line_20="mine"))
    write = next(way for way in WAYS if way.name == "write_file")

    def otherwise(wish: Wish) -> Calls:
        (call,) = write.say(wish) or ()
        return [replace(call, args={**call.args, "content": BASE.decode()})]

    liar = Way("liar", "plain", otherwise)
    assert verdicts(player.play(case, [liar])) == {"liar": WRONG}


def test_merge_commits_of_a_repository_are_cases(tmp_path: Path, player: Player) -> None:
    repository = merged_repository(tmp_path / "repository")
    (case,) = merges_of(repository, seed=1)
    assert case.name.endswith(":f.txt")
    assert (case.base, {case.first, case.second}) == (
        BASE,
        {with_lines(line_3="theirs"), with_lines(line_20="mine")},
    )
    assert set(verdicts(player.play(case)).values()) == {RIGHT}


def merged_repository(root: Path) -> Path:
    """A repository in which two branches changed one file and were merged."""
    root.mkdir()
    who = ["-c", "user.name=ann", "-c", "user.email=ann@example.org"]

    def commit(branch: str, content: bytes) -> None:
        git("checkout", "-q", "-B", branch, *(["base"] if branch != "base" else []), cwd=root)
        (root / "f.txt").write_bytes(content)
        git("add", "f.txt", cwd=root)
        git(*who, "commit", "-q", "-m", branch, cwd=root)

    git("init", "-q", cwd=root)
    commit("base", BASE)
    commit("one", with_lines(line_3="theirs"))
    commit("other", with_lines(line_20="mine"))
    git(*who, "merge", "-q", "-m", "merge", "one", cwd=root)
    return root


def test_a_folder_without_a_history_gives_cases_too(tmp_path: Path) -> None:
    (tmp_path / "f.txt").write_bytes(BASE)
    cases = few(tmp_path, 5)
    assert {case.base for case in cases} == {BASE}
    assert cases == few(tmp_path, 5), "the same seed, the same cases"


def test_the_command_prints_a_table_and_says_by_its_status_whether_all_is_well(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    repository = merged_repository(tmp_path / "repository")
    told = tmp_path / "told.json"
    assert main(["--repo", str(repository), "--cases", "3", "--only", "edit", "--json", str(told)]) == 0
    out = capsys.readouterr().out
    assert "1 files that two sides changed (repository)" in out
    assert out.splitlines()[2].split()[:3] == ["dialect", "cases", "git"]
    assert out.splitlines()[3].split() == ["edit", "1", "1", "1", "0", "0", "0", "100.0"]
    assert json.loads(told.read_text())["outcomes"][0]["verdict"] == RIGHT
