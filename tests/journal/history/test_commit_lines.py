"""Lines that the journal only met: they are those of commits, as git tells, and of nobody where it tells nothing."""

from __future__ import annotations

from collections.abc import Sequence

from scribe import SECOND, Scribe

from quire_journal.history.authorship import CommitFile, CommitFileLines, CommitLine
from quire_journal.history.line_blame import Blame, blame
from quire_journal.model.events import GitRan, OutsideWritten, WorkspaceScanned

MAX, MIA, MO = (CommitLine(name * 20, name, "1969-03-01T10:00:00+01:00") for name in ("ma", "mi", "mo"))
RITA = CommitLine("12" * 20, "rita", "2025-03-01T10:00:00+01:00")
"""A commit younger than all records."""


class Git:
    """What git answers, by commit; "" is the one of the time that is asked about."""

    def __init__(self, **files: Sequence[tuple[str, CommitLine]]) -> None:
        self.files, self.asked = files, list[CommitFile]()

    def __call__(self, file: CommitFile) -> CommitFileLines | None:
        self.asked.append(file)
        lines = self.files.get(f"c{file.commit}")
        if lines is None:
            return None
        commits = tuple(dict.fromkeys(commit for _, commit in lines))
        body = "".join(f"{line}\n" for line, _ in lines).encode()
        return CommitFileLines(body, commits, [commits.index(commit) for _, commit in lines])


def blamed(scribe: Scribe, git: Git) -> Blame:
    with scribe.history() as history:
        version = history.file("f")
        assert version is not None
        return blame(history, "f", version, answers=git)


def told(scribe: Scribe, git: Git) -> list[str]:
    """Of each line its commit's author, or the record that wrote it, or "?" while that is not known."""
    origins = blamed(scribe, git).origins
    return ["?" if o.pending else o.commit.author if o.commit is not None else f"v{o.version.seq}" for o in origins]


def by_git(scribe: Scribe, data: bytes, commit: str) -> int:
    """Git goes to a commit."""
    hint = "git checkout there (pid 7)"
    seq = scribe.note(OutsideWritten("f", scribe.hold(data), len(data), 0o644, "watched", hint=hint))
    scribe.note(GitRan("checkout there", ended_ns=scribe.seq * SECOND, head_before="main 9", head_after=f"x {commit}"))
    return seq


def test_lines_of_the_first_capture_are_the_commits_at_which_head_was_then() -> None:
    scribe = Scribe().introduce()
    first = scribe.outside("f", b"one\nmine\ntwo\n", "captured")
    scribe.note(WorkspaceScanned("start", 1, 1, head="main 111111111111"))
    git = Git(c111111111111=[("one", MAX), ("two", MIA), ("three", MO)])
    assert told(scribe, git) == ["ma", f"v{first}", "mi"]
    assert git.asked == [CommitFile("f", "111111111111")]
    ann = scribe.write("f", b"one\nmine\nann's\ntwo\n", writer=1)
    assert told(scribe, git) == ["ma", f"v{first}", f"v{ann}", "mi"]


def test_where_head_was_nobody_knows_git_is_asked_by_the_time() -> None:
    scribe = Scribe().introduce()
    first = scribe.outside("f", b"one\n", "captured")
    git = Git(c=[("one", MAX)])
    assert told(scribe, git) == ["ma"]
    assert git.asked == [CommitFile("f", "", "", first * SECOND)]


def test_until_git_answers_its_lines_are_pending_and_those_of_agents_are_not() -> None:
    scribe = Scribe().introduce()
    scribe.outside("f", b"one\n", "captured")
    ann = scribe.write("f", b"one\ntwo\n", writer=1)
    git = Git()
    assert told(scribe, git) == ["?", f"v{ann}"]
    assert [*blamed(scribe, git).unanswered] == git.asked[:1]


def test_nobody_is_asked_about_lines_that_somebody_was_seen_to_save() -> None:
    scribe = Scribe().introduce()
    saved = scribe.outside("f", b"one\n", "watched")
    git = Git()
    assert told(scribe, git) == [f"v{saved}"]
    assert not git.asked


def test_what_a_scan_finds_after_a_pause_may_be_a_commits() -> None:
    scribe = Scribe().introduce()
    ann = scribe.write("f", b"one\n", writer=1)
    found = scribe.outside("f", b"one\npulled\nmine\n", "scanned")
    scribe.note(WorkspaceScanned("start", 1, 1, head="main 222222222222"))
    assert told(scribe, Git(c222222222222=[("one", MAX), ("pulled", MIA)])) == [f"v{ann}", "mi", f"v{found}"]


def test_after_a_checkout_all_lines_that_were_met_are_told_by_the_commit_of_the_file() -> None:
    """Of equal lines nobody can tell which came from where; git can."""
    scribe = Scribe().introduce()
    scribe.outside("f", b"a\n\nb\n\nc\n", "captured")
    scribe.note(WorkspaceScanned("start", 1, 1, head="main 111111111111"))
    by_git(scribe, b"a\n\nc\n\nd\n", "222222222222")
    first = [("a", MAX), ("", MAX), ("b", MAX), ("", MIA), ("c", MAX)]
    second = [("a", MAX), ("", MO), ("c", MIA), ("", MIA), ("d", MO)]
    git = Git(c111111111111=first, c222222222222=second)
    assert told(scribe, git) == ["ma", "mo", "mi", "mi", "mo"]
    assert {file.commit for file in git.asked} == {"222222222222"}
    by_git(scribe, b"a\n\nb\n\nc\n", "111111111111")
    assert told(scribe, git) == ["ma", "ma", "ma", "mi", "ma"]


def test_a_line_that_the_newer_commit_does_not_have_is_told_by_the_older_one() -> None:
    scribe = Scribe().introduce()
    scribe.outside("f", b"one\ntwo\n", "captured")
    scribe.note(WorkspaceScanned("start", 1, 1, head="main 111111111111"))
    by_git(scribe, b"one\ntwo\nthree\n", "222222222222")
    git = Git(c111111111111=[("one", MAX), ("two", MIA)], c222222222222=[("one", MAX), ("three", MO)])
    assert told(scribe, git) == ["ma", "mi", "mo"]


def test_a_line_that_a_revert_restores_is_the_commits_that_had_it_when_the_journal_found_it() -> None:
    scribe = Scribe().introduce()
    scribe.outside("f", b"one\ntwo\n", "captured")
    scribe.note(WorkspaceScanned("start", 1, 1, head="main 111111111111"))
    scribe.outside("f", b"one\nTWO\n", "watched")
    reverted = by_git(scribe, b"one\ntwo\n", "222222222222")
    git = Git(c111111111111=[("one", MAX), ("two", MIA)], c222222222222=[("one", MAX), ("two", RITA)])
    assert told(scribe, git) == ["ma", "mi"]
    brought = blamed(scribe, git).origins[1].brought
    assert brought is not None
    assert brought.seq == reverted


def test_a_line_that_was_not_committed_when_it_was_found_is_the_commits_that_took_it_later() -> None:
    scribe = Scribe().introduce()
    scribe.outside("f", b"one\ntwo\n", "captured")
    scribe.note(WorkspaceScanned("start", 1, 1, head="main 111111111111"))
    by_git(scribe, b"one\ntwo\nthree\n", "222222222222")
    git = Git(c111111111111=[("one", MAX)], c222222222222=[("one", MAX), ("two", RITA), ("three", RITA)])
    assert told(scribe, git) == ["ma", "rita", "rita"]


def test_a_line_that_an_undo_brings_back_is_the_commits_it_was() -> None:
    scribe = Scribe().introduce()
    scribe.outside("f", b"one\ntwo\n", "captured")
    scribe.write("f", b"one\n", writer=1)
    undone = scribe.write("f", b"one\ntwo\n", writer=1, by="undo")
    git = Git(c=[("one", MAX), ("two", MIA)])
    assert told(scribe, git) == ["ma", "mi"]
    brought = blamed(scribe, git).origins[1].brought
    assert brought is not None
    assert brought.seq == undone


def test_breaks_and_a_mark_at_the_beginning_do_not_hide_a_commits_lines() -> None:
    scribe = Scribe().introduce()
    scribe.outside("f", b"\xef\xbb\xbfone\r\ntwo\r\nlast", "captured")
    assert told(scribe, Git(c=[("one", MAX), ("two", MIA), ("last", MO)])) == ["ma", "mi", "mo"]


def test_an_answer_that_makes_no_sense_is_none() -> None:
    scribe = Scribe().introduce()
    first = scribe.outside("f", b"one\ntwo\n", "captured")

    def nonsense(file: CommitFile) -> CommitFileLines:
        return CommitFileLines(b"one\ntwo\n", (MAX,), (0,))

    with scribe.history() as history:
        version = history.file("f")
        assert version is not None
        found = blame(history, "f", version, answers=nonsense)
    assert [(origin.commit, origin.version.seq) for origin in found.origins] == [(None, first)] * 2
