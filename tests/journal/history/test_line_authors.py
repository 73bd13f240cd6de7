"""Authors of lines: blame equals a model that is as simple as can be, and a line that comes back keeps its author."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given, strategies as st
from scribe import Scribe

from quire_journal.history.authorship import LOCK_HELD
from quire_journal.history.git_moves import GitMoves
from quire_journal.history.line_blame import LineTrails, blame
from quire_journal.model.events import (
    BatchUndone,
    FileDeleted,
    FileMoved,
    FileWritten,
    GitRan,
    OutsideDeleted,
    OutsideMoved,
    OutsideWritten,
)

# ── the model ────────────────────────────────────────────────────────────────


@dataclass
class Told:
    """A line, as the model tells of it: who wrote it, and what brought it back."""

    line: str
    author: int
    brought: int = 0


@dataclass
class Made:
    """A version: its lines, or None where the file is gone; who made it is their author, or only moves them."""

    seq: int
    path: str
    lines: list[str] | None
    author: bool
    moved_from: str = ""
    puts_back: bool = False


@dataclass
class Model:
    """All versions, in order; no line ever stands twice in one file."""

    versions: list[Made] = field(default_factory=list)

    def past(self, path: str, seq: int) -> list[Made]:
        """The versions of a file up to `seq`, through its renames, oldest first."""
        found: list[Made] = []
        for made in reversed(self.versions):
            if made.path == path and made.seq <= seq:
                found.append(made)
                if made.moved_from:
                    path, seq = made.moved_from, made.seq - 1
        return found[::-1]

    def told(self, path: str, seq: int) -> list[Told]:
        """Who wrote each line of a file as it was after a record."""
        past, states = self.past(path, seq), list[list[Told]]()
        for n, made in enumerate(past):
            before = states[-1] if states else []
            states.append(self._after(made, before, past[:n], states))
        return states[-1]

    def _after(self, made: Made, before: list[Told], past: list[Made], states: list[list[Told]]) -> list[Told]:
        if made.lines is None:
            return []
        stood = {one.line: one for one in before}
        if made.lines == [one.line for one in before]:
            return before
        if made.author:
            return [stood.get(line) or Told(line, made.seq) for line in made.lines]
        same = next((then for old, then in self._newest(past, states) if old.lines == made.lines), None)
        stay = same is None or not made.puts_back  # else a line is that of the version that comes back
        if same is None:
            other = [old for old in self.versions if old.seq < made.seq and old.lines == made.lines and made.lines]
            other = [old for old in other if old not in past]
            same = self.told(other[-1].path, other[-1].seq) if other else None
        if same is not None:
            return [
                now if (now := stood.get(one.line)) and (stay or now.author == one.author) else _back(one, made)
                for one in same
            ]
        return [stood.get(line) or self._back_or_new(line, made, past, states) for line in made.lines]

    def _back_or_new(self, line: str, made: Made, past: list[Made], states: list[list[Told]]) -> Told:
        stood = (one for _, then in self._newest(past, states) for one in then if one.line == line)
        one = next(stood, None)
        return Told(line, made.seq) if one is None else _back(one, made)

    @staticmethod
    def _newest(past: list[Made], states: list[list[Told]]) -> list[tuple[Made, list[Told]]]:
        return list(zip(past, states, strict=True))[::-1]


def _back(one: Told, made: Made) -> Told:
    return Told(one.line, one.author, made.seq)


# ── histories ────────────────────────────────────────────────────────────────

PATHS = ("f", "g", "h")


class Play:
    """A journal and the model, to which the same happens."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw, self.scribe, self.model = draw, Scribe().introduce(), Model()
        self.fresh = 0

    def __repr__(self) -> str:
        """The versions, for who has to find out."""
        return "".join(f"\n    {made}" for made in self.model.versions)

    def now(self, path: str) -> list[str] | None:
        """The lines of a file."""
        made = next((one for one in reversed(self.model.versions) if one.path == path), None)
        return None if made is None else made.lines

    def pick(self, *of: object) -> object:
        return self.draw(st.sampled_from(of))

    def older(self, path: str) -> list[str] | None:
        """The lines of some version of it."""
        found = [one.lines for one in self.model.versions if one.path == path and one.lines is not None]
        return self.draw(st.sampled_from(found)) if found else None

    def write(self, path: str, lines: list[str], how: str) -> None:
        data = "".join(f"{line}\n" for line in lines).encode()
        match how:
            case "edit":
                seq = self.scribe.write(path, data, writer=self.draw(st.sampled_from([1, 2])))
            case "undo":
                seq = self.scribe.write(path, data, writer=1, by="undo")
            case _:
                hint = "git checkout main (pid 7)" if how == "git" else ""
                evidence = how if how in ("exact", "during") else "watched"
                written = OutsideWritten(path, self.scribe.hold(data), len(data), 0o644, evidence, hint=hint)
                seq = self.scribe.note(written, writer=2 if how in ("exact", "during") else 0)
        self.model.versions.append(Made(seq, path, lines, how in ("edit", "exact"), puts_back=how in ("undo", "git")))

    def changed(self, lines: list[str], path: str, moves: bool) -> list[str]:
        """The lines, some of them replaced by new ones, or by lines that stood there before."""
        size = len(lines)
        at = self.draw(st.integers(0, size))
        gone = self.draw(st.integers(0, min(3, size - at)))
        cut = lines[at : at + gone]
        rest = lines[:at] + lines[at + gone :]
        come = []
        for _ in range(self.draw(st.integers(0, 3))):
            known = [line for line in self.older(path) or () if line not in rest and line not in come]
            if known and self.draw(st.booleans()):
                come.append(self.draw(st.sampled_from(known)))
            else:
                self.fresh += 1
                come.append(f"this is line number {self.fresh}")
        if moves:  # a line that is cut is put somewhere else
            where = self.draw(st.integers(0, len(rest)))
            back = [line for line in cut if line not in come]
            return rest[:where] + back + come + rest[where:]
        if any(line in cut for line in come):  # in order, so that nobody can tell two differences apart
            come = [line for line in come if line not in cut]
        return rest[:at] + come + rest[at:]

    def step(self) -> None:
        path = str(self.pick(*PATHS))
        lines, older = self.now(path), self.older(path)
        what = str(self.pick("edit", "edit", "outside", "move", "back", "merge", "delete", "copy", "rename"))
        mover = str(self.pick("undo", "git", "outside", "during"))
        if what == "edit" or older is None:
            self.write(path, self.changed(lines or [], path, False), str(self.pick("edit", "exact")))
        elif what in ("outside", "move") and lines is not None:
            self.write(path, self.changed(lines, path, what == "move"), mover)
        elif what == "back":
            self.write(path, older, mover)
        elif what == "merge" and lines is not None:
            at = self.draw(st.integers(0, len(lines)))
            self.write(path, lines[:at] + [line for line in older if line not in lines] + lines[at:], mover)
        elif what == "copy":
            self.write(str(self.pick(*PATHS)), older, str(self.pick("git", "outside", "during")))
        elif what == "delete" and lines is not None:
            outside = self.draw(st.booleans())
            event = OutsideDeleted(path, "watched") if outside else FileDeleted(path, 0)
            seq = self.scribe.note(event, writer=0 if outside else 1)
            self.model.versions.append(Made(seq, path, None, False))
        elif what == "rename" and lines:
            self.rename(path, lines)

    def rename(self, path: str, lines: list[str]) -> None:
        to = str(self.pick(*(p for p in PATHS if p != path)))
        if self.now(to) is not None:
            return
        data = "".join(f"{line}\n" for line in lines).encode()
        blob = self.scribe.hold(data)
        if self.draw(st.booleans()):
            seq = self.scribe.note(OutsideMoved(path, to, blob, len(data), 0o644, "watched"))
        else:
            seq = self.scribe.note(FileMoved(path, to, blob, len(data), 0o644, 0), writer=1)
        self.model.versions.append(Made(seq, path, None, False))
        self.model.versions.append(Made(seq, to, lines, False, moved_from=path))


@st.composite
def plays(draw: st.DrawFn) -> Play:
    play = Play(draw)
    for _ in range(draw(st.integers(1, 25))):
        play.step()
    return play


@given(plays())
def test_blame_agrees_with_a_plain_model_of_edits_moves_and_copies(play: Play) -> None:
    with play.scribe.history() as history:
        for path in PATHS:
            version = history.file(path)
            if version is None or version.gone:
                continue
            found = blame(history, path, version)
            told = [
                Told(line.decode(), origin.version.seq, 0 if origin.brought is None else origin.brought.seq)
                for line, origin in zip(found.text.lines, found.origins, strict=True)
            ]
            assert told == play.model.told(path, version.seq)


@given(plays())
def test_line_trails_agree_with_the_blame_of_each_version(play: Play) -> None:
    trails = LineTrails()
    with play.scribe.history() as history:
        for made in play.model.versions:
            version = history.version(made.path, made.seq)
            if version is None or version.gone:
                continue
            found = trails.origins(history, made.path, version, history.bytes_of)
            assert found is not None
            told = [(origin.path, origin.version.seq, origin.brought) for origin in found]
            expected = blame(history, made.path, version).origins
            assert told == [(origin.path, origin.version.seq, origin.brought) for origin in expected]


# ── single histories ─────────────────────────────────────────────────────────


def told(scribe: Scribe, path: str = "f") -> list[tuple[int, int]]:
    """(who wrote it, what brought it back) of each line, by records."""
    with scribe.history() as history:
        version = history.file(path)
        assert version is not None
        origins = blame(history, path, version).origins
    return [(origin.version.seq, 0 if origin.brought is None else origin.brought.seq) for origin in origins]


def authors(scribe: Scribe, path: str = "f") -> list[int]:
    """The records that wrote the lines."""
    return [author for author, _ in told(scribe, path)]


def by_git(scribe: Scribe, data: bytes, hint: str = "git checkout main (pid 7)", path: str = "f") -> int:
    """Git writes."""
    blob = scribe.hold(data)
    return scribe.note(OutsideWritten(path, blob, len(data), 0o644, "watched", hint=hint))


def test_a_checkout_there_and_back_leaves_every_line_its_author() -> None:
    scribe = Scribe().introduce()
    ada = scribe.write("f", b"one\ntwo\n", writer=1)
    ben = scribe.write("f", b"one\nTWO\nthree\n", writer=2)
    by_git(scribe, b"one\ntwo\n")
    back = by_git(scribe, b"one\nTWO\nthree\n")
    assert told(scribe) == [(ada, 0), (ben, back), (ben, back)]


def test_git_removes_the_file_before_it_writes_it() -> None:
    scribe = Scribe().introduce()
    ada = scribe.write("f", b"one\ntwo\n", writer=1)
    scribe.write("f", b"one\n", writer=2)
    scribe.note(OutsideDeleted("f", "watched", hint="git checkout main (pid 7)"))
    back = by_git(scribe, b"one\ntwo\n")
    assert told(scribe) == [(ada, back), (ada, back)]


def test_a_merge_takes_the_lines_of_both_sides_from_those_who_wrote_them() -> None:
    scribe = Scribe().introduce()
    base = scribe.write("f", b"top\nmiddle\nbottom\n", writer=1)
    side = scribe.write("f", b"top\nmiddle\nbottom\nfrom the side\n", writer=2)
    by_git(scribe, b"top\nmiddle\nbottom\n")
    main = scribe.write("f", b"from main\ntop\nmiddle\nbottom\n", writer=1)
    by_git(scribe, b"from main\ntop\nmiddle\nbottom\nfrom the side\n", "git merge side (pid 7)")
    assert authors(scribe) == [main, base, base, base, side]


def test_a_merge_takes_lines_from_the_branch_that_it_names_and_not_from_a_later_one() -> None:
    scribe = Scribe().introduce()

    def moves(command: str, before: str, after: str, data: bytes) -> None:
        by_git(scribe, data, f"git {command} (pid 7)")
        scribe.note(GitRan(command, ended_ns=scribe.seq * 10**9, head_before=before, head_after=after))

    base = scribe.write("f", b"the first line\nthe last line\n", writer=1)
    scribe.note(GitRan("checkout -b side", head_before="", head_after="side 111111111111"))
    side = scribe.write("f", b"the first line\nthe same line\nthe last line\n", writer=1)
    moves("checkout main", "side 222222222222", "main 111111111111", b"the first line\nthe last line\n")
    scribe.write("f", b"the first line\nthe same line\nthe last line\nmore\n", writer=2)
    moves("checkout other", "main 111111111111", "other 333333333333", b"the first line\nthe last line\n")
    mine = scribe.write("f", b"the first line\nmine\nthe last line\n", writer=2)
    moves(
        "merge side",
        "other 333333333333",
        "other 444444444444",
        b"the first line\nthe same line\nmine\nthe last line\n",
    )
    assert authors(scribe) == [base, side, mine, base]


FUNCTIONS = b"import os\n\n\n" + b"".join(b"def f%d():\n    return %d\n\n\n" % (n, n) for n in range(6))
ADDED = b"def new(a):\n    if a:\n        return 1\n    else:\n        pass\n    return 3\n\n\n"


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("ran", ["merge aaaaaaa", "merge --squash aaaaaaa", "stash apply", ""])
@pytest.mark.parametrize("hint", ["git: {} (HEAD main b -> main b)", LOCK_HELD, "git", ""])
@pytest.mark.parametrize("added", [ADDED, b"\n\n" + ADDED[:-2]], ids=["above", "below"])
@pytest.mark.parametrize("changed", [(b"return 0",), (b"return 5",), (b"return 0", b"return 5")])
def test_a_block_of_the_other_side_stays_its_authors_as_a_whole(
    ran: str, hint: str, added: bytes, changed: Sequence[bytes], late: bool
) -> None:
    """Its lines that equal others in the file were those of the first version. `late`: a command is recorded after an
    edit that follows it.
    """
    scribe = Scribe().introduce()
    base = by_git(scribe, FUNCTIONS)
    place = b"def f3(" if added == ADDED else b"\n\n\ndef f3("
    side = scribe.write("f", FUNCTIONS.replace(place, added + place), writer=1)
    by_git(scribe, FUNCTIONS, "git: checkout: moving from feat to main (HEAD feat a -> main b)")
    moved = "checkout: moving from feat to main"
    heads = {"head_before": f"feat {'a' * 12}", "head_after": f"main {'b' * 12}"}
    switched = GitRan(moved, evidence="head", ended_ns=scribe.seq * 10**9, **heads)
    if not late:
        scribe.note(switched)
    mine = FUNCTIONS
    for line in changed:
        mine = mine.replace(line, line + b"00")
    main = scribe.write("f", mine, writer=2)
    if late:
        scribe.note(switched)
    by_git(scribe, mine.replace(place, added + place), hint.format(ran))
    if ran:
        scribe.note(GitRan(ran, evidence="head", ended_ns=scribe.seq * 10**9))
    assert {*authors(scribe)} == {base, side, main}
    assert authors(scribe).count(side) == 8


@pytest.mark.parametrize("unlocked", [False, True])
def test_a_write_just_before_head_moved_is_gits_unless_the_index_was_not_locked(unlocked: bool) -> None:
    """`git stash pop && echo x >>f && git commit`: the commit was named as the author of the line."""
    scribe = Scribe()
    scribe.write("f", b"a\n")
    added = scribe.hold(b"a\nx\n")
    seq = scribe.note(OutsideWritten("f", added, 4, 0o644, "watched", scribe.seq, unlocked=unlocked))
    with scribe.history() as history:
        version = history.file("f")
    assert version is not None
    assert version.seq == seq
    scribe.note(GitRan("stash pop", evidence="head", ended_ns=version.at_ns))
    with scribe.history() as history:
        assert GitMoves(history).hint(version) == ("" if unlocked else "git: stash pop")


def test_a_checkout_restores_the_version_of_its_commit_not_a_later_one_with_equal_bytes() -> None:
    scribe = Scribe().introduce()
    ada = scribe.write("f", b"one\n", writer=1)
    scribe.note(GitRan("commit -m one", head_before="", head_after="main 111111111111"))
    scribe.note(GitRan("checkout -b side", head_before="main 111111111111", head_after="side 111111111111"))
    scribe.write("f", b"two\n", writer=1)
    scribe.write("f", b"one\n", writer=2)  # typed again, by another
    scribe.write("f", b"three\n", writer=2)
    scribe.note(GitRan("commit -m three", head_before="side 111111111111", head_after="side 333333333333"))
    by_git(scribe, b"one\n", "git checkout main (pid 7)")
    scribe.note(GitRan("checkout main", head_before="side 333333333333", head_after="main 111111111111"))
    assert authors(scribe) == [ada]


def test_an_undo_restores_the_authors_of_the_lines_before_the_undone_batches() -> None:
    scribe = Scribe().introduce()
    ada = scribe.write("f", b"one\n", writer=1)
    ben = scribe.write("f", b"two\n", writer=2)
    again = scribe.write("f", b"one\n", writer=2)
    scribe.write("f", b"three\n", writer=1)
    blob = scribe.hold(b"one\n")
    scribe.note(FileWritten("f", blob, 4, 0o644, scribe.seq, "undo"), BatchUndone((ben, again, again + 1)), writer=1)
    assert authors(scribe) == [ada]


def test_who_types_a_line_again_is_its_author_and_who_only_saves_it_again_is_not() -> None:
    scribe = Scribe().introduce()
    scribe.write("f", b"one\nan old line\n", writer=1)
    scribe.write("f", b"one\n", writer=1)
    for evidence, writer, is_author in (("exact", 2, True), ("traced", 2, True), ("isolated", 2, True)):
        blob = scribe.hold(b"one\nan old line\n")
        seq = scribe.note(OutsideWritten("f", blob, 16, 0o644, evidence), writer=writer)
        assert (authors(scribe)[1] == seq) is is_author
        scribe.write("f", b"one\n", writer=1)


def test_a_command_that_ran_is_the_author_of_new_lines_and_of_no_others() -> None:
    scribe = Scribe().introduce()
    ada = scribe.write("f", b"one\nan old line\n", writer=1)
    scribe.write("f", b"one\n", writer=1)
    blob = scribe.hold(b"one\nan old line\na new line\n")
    during = scribe.note(OutsideWritten("f", blob, 27, 0o644, "during"), writer=2)
    assert told(scribe) == [(ada, 0), (ada, during), (during, 0)]


def test_git_that_an_agent_ran_is_no_author_even_where_the_kernel_saw_it_write() -> None:
    scribe = Scribe().introduce()
    ada = scribe.write("f", b"one\n", writer=1)
    scribe.write("f", b"two\n", writer=2)
    hint = "git checkout f (ben/s2, pid 7)"
    blob = scribe.hold(b"one\n")
    back = scribe.note(OutsideWritten("f", blob, 4, 0o644, "traced", hint=hint), writer=2)
    assert told(scribe) == [(ada, back)]


@pytest.mark.parametrize("evidence", ["watched", "during", "traced"])
def test_a_copy_has_the_authors_of_the_file_that_it_was_made_of(evidence: str) -> None:
    scribe = Scribe().introduce()
    ada = scribe.write("f", b"one\n", writer=1)
    ben = scribe.write("f", b"one\ntwo\n", writer=2)
    writer = 0 if evidence == "watched" else 2
    copied = scribe.note(OutsideWritten("g", scribe.hold(b"one\ntwo\n"), 8, 0o644, evidence), writer=writer)
    changed = scribe.write("g", b"one\ntwo\nthree\n", writer=1)
    assert told(scribe, "g") == [(ada, copied), (ben, copied), (changed, 0)]


def test_who_writes_a_new_file_with_the_bytes_of_another_typed_them() -> None:
    scribe = Scribe().introduce()
    scribe.write("f", b"one\n", writer=1)
    typed = scribe.write("g", b"one\n", writer=2)
    exact = scribe.note(OutsideWritten("h", scribe.hold(b"one\n"), 4, 0o644, "exact"), writer=2)
    assert (authors(scribe, "g"), authors(scribe, "h")) == ([typed], [exact])


def test_files_that_were_alike_from_the_start_are_no_copies() -> None:
    scribe = Scribe().introduce()
    scribe.outside("f", b"one\n", "captured")
    second = scribe.outside("g", b"one\n", "captured")
    assert authors(scribe, "g") == [second]


def test_a_line_that_another_program_moves_within_the_file_stays_its_authors() -> None:
    scribe = Scribe().introduce()
    ada = scribe.write("f", b"the first line\nthe second line\nthe third line\n", writer=1)
    scribe.outside("f", b"the second line\nthe third line\nthe first line\n")
    assert told(scribe) == [(ada, 0)] * 3


def test_a_moved_block_keeps_the_author_of_each_line_even_of_frequent_ones() -> None:
    scribe, blocks = (
        Scribe().introduce(),
        [f"def function{n}(x):\n    try:\n        x\n    else:\n        {n}\n" for n in range(9)],
    )
    by = [scribe.write("f", "".join(blocks[: n + 1]).encode(), writer=1 + n % 2) for n in range(9)]
    for order in ([8, 0, 1, 2, 3, 4, 5, 6, 7], [1, 2, 3, 0, 4, 5, 6, 7, 8]):
        scribe.outside("f", "".join(blocks[n] for n in order).encode())
        assert told(scribe) == [(by[n], 0) for n in order for _ in range(5)]


def test_a_brace_that_another_program_types_is_not_one_that_went_elsewhere() -> None:
    scribe = Scribe().introduce()
    ada = scribe.write("f", b"def one() {\n    return 1\n}\nlast\n", writer=1)
    scribe.write("f", b"last\n", writer=1)
    saved = scribe.outside("f", b"last\nfor x in y {\n}\n")
    assert authors(scribe) == [ada, saved, saved]


def test_a_short_line_comes_back_to_its_place_and_with_the_lines_around_it() -> None:
    scribe = Scribe().introduce()
    ada = scribe.write("f", b"first\nx\nlast\n", writer=1)
    scribe.write("f", b"first\nlast\n", writer=2)
    scribe.outside("f", b"first\nx\nlast\nmore\n")
    assert authors(scribe)[:3] == [ada] * 3
    whole = scribe.write("f", b"top\n{\nthe body of it\n}\n", writer=1)
    scribe.write("f", b"top\n", writer=1)
    saved = scribe.outside("f", b"top\nelse\n{\nthe body of it\n}\n")
    assert authors(scribe) == [whole, saved, whole, whole, whole]


def test_lines_of_a_conflict_keep_their_authors_and_new_lines_belong_to_whoever_resolved_it() -> None:
    scribe = Scribe().introduce()
    old = scribe.write("f", b"top of it\nan old idea of it\n", writer=1)
    ada = scribe.write("f", b"top of it\nwhat ada thinks\n", writer=1)
    by_git(scribe, b"top of it\nan old idea of it\n")
    ben = scribe.write("f", b"top of it\nwhat ben thinks\n", writer=2)
    marked = b"top of it\n<<<<<<< HEAD\nwhat ben thinks\n=======\nwhat ada thinks\n>>>>>>> side\n"
    by_git(scribe, marked, "git merge side (pid 7)")
    resolved = scribe.outside("f", b"top of it\nwhat ben thinks\nwhat ada thinks\nan old idea of it\n")
    assert authors(scribe) == [old, ben, ada, resolved]


@pytest.mark.parametrize("mover", ["watched", "during", "git", "undo"])
def test_a_line_that_stays_keeps_its_author_where_the_file_comes_to_equal_another(mover: str) -> None:
    scribe = Scribe().introduce()
    ada = scribe.write("f", b"the first line\nthe second line\n", writer=1)
    ben = scribe.write("g", b"the second line\nthe first line\nthe third line\n", writer=2)
    data = scribe.hold(b"the second line\nthe first line\nthe third line\n")
    if mover == "undo":
        same = scribe.note(FileWritten("f", data, 47, 0o644, ada, "undo"), writer=1)
    else:
        hint, evidence = ("git merge side (pid 7)", "watched") if mover == "git" else ("", mover)
        same = scribe.note(OutsideWritten("f", data, 47, 0o644, evidence, hint=hint), writer=2 * (evidence == "during"))
    assert told(scribe) == [(ada, 0), (ada, 0), (ben, same)]


def test_a_line_typed_again_keeps_its_author_when_a_program_saves_the_old_bytes() -> None:
    scribe = Scribe().introduce()
    ada = scribe.write("f", b"one\ntwo\n", writer=1)
    scribe.write("f", b"", writer=2)
    ben = scribe.write("f", b"one\n", writer=2)
    saved = scribe.outside("f", b"one\ntwo\n")
    assert told(scribe) == [(ben, 0), (ada, saved)]


def test_a_copy_of_a_copy_leads_to_the_first() -> None:
    scribe = Scribe().introduce()
    ada = scribe.write("a", b"one\n", writer=1)
    for path in ("b", "c", "d"):
        scribe.outside(path, b"one\n")
    assert authors(scribe, "d") == [ada]
