"""Git asked about commits: it answers what `git blame` does, runs nothing that is configured, and touches nothing."""

from __future__ import annotations

import os
import random
import stat
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import live
from quire_daemon.watch.git.commit_blame import CommitBlame, find_repository, head_at, head_now, parse
from quire_journal.history.authorship import CommitFile, CommitFileLines
from quire_journal.history.commit_tree import CommitBlobs, CommitBytes, CommitEntries, CommitTree

SECOND = 1_000_000_000
BEGAN_S = 1_700_000_000


class Repo:
    """A repository, with several authors, whose commits are a minute apart."""

    def __init__(self, root: Path, *words: str) -> None:
        self.root, self.commits = root, 0
        root.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main", *words)

    def git(self, *words: str, author: str = "Ada", **environ: str) -> str:
        """What a git command prints; nobody's configuration counts."""
        when = f"{BEGAN_S + 60 * self.commits} +0100"
        plain = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        who = {
            f"GIT_{role}_{what}": value
            for role in ("AUTHOR", "COMMITTER")
            for what, value in (("NAME", author), ("EMAIL", f"{author}@example.org"), ("DATE", when))
        }
        nobody = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        ran = subprocess.run(
            ["git", *words], cwd=self.root, env={**plain, **nobody, **who, **environ}, capture_output=True, timeout=30
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout.decode("utf-8", "surrogateescape")

    def commit(self, author: str, files: dict[str, str]) -> str:
        """Somebody commits these files; the commit."""
        for path, text in files.items():
            at = self.root / path
            at.parent.mkdir(parents=True, exist_ok=True)
            at.write_bytes(text.encode())
        self.commits += 1
        self.git("add", "-A")
        self.git("commit", "-q", "-m", f"by {author}", author=author)
        return self.git("rev-parse", "HEAD").strip()

    def ask(self, path: str, commit: str = "", near: str = "", at_ns: int = 0) -> CommitFileLines:
        """The answer about a file."""
        return CommitBlame(self.root, not_beside).answer(CommitFile(path, commit, near, at_ns))

    def told(self, path: str, **asked: object) -> list[tuple[str, str, bytes]]:
        """(commit, author, content) of each line."""
        answer = self.ask(path, **asked)  # type: ignore[arg-type]
        assert not answer.why
        commits = [answer.commits[number] for number in answer.numbers]
        return [(c.commit, c.author, line) for c, line in zip(commits, answer.body.splitlines(), strict=True)]

    def blamed(self, path: str, *words: str) -> list[tuple[str, str, bytes]]:
        """The same by `git blame` in the checkout."""
        found, commit, author = [], "", ""
        for row in self.git("blame", "--line-porcelain", *words, "--", path).split("\n"):
            if row.startswith("\t"):
                found.append((commit, author, row[1:].encode("utf-8", "surrogateescape")))
            elif row.startswith("author "):
                author = row[7:]
            elif len(row.split()) >= 3 and len(row.split()[0]) in (40, 64):
                commit = row.split()[0]
        return found


def not_beside(*_: object) -> None:
    raise AssertionError("the question is answered on this thread")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A file by three authors, of which one renamed it."""
    repo = Repo(tmp_path / "repo")
    repo.commit("Ada", {"a.py": "one\ntwo\nthree\n"})
    repo.commit("Ben", {"a.py": "one\nTWO\nthree\nfour\n"})
    repo.git("mv", "a.py", "b.py")
    repo.commit("Max Müller", {"b.py": "zero\none\nTWO\nthree\nfour\n"})
    return repo


def test_the_answer_is_that_of_git_blame(repo: Repo) -> None:
    assert repo.told("b.py") == repo.blamed("b.py", "HEAD")
    assert [author for _, author, _ in repo.told("b.py")] == ["Max Müller", "Ada", "Ben", "Ada", "Ben"]
    answer = repo.ask("b.py")
    assert {line.author: line.at for line in answer.commits}["Ada"] == "2023-11-14T23:14:20+01:00"


def test_random_histories_of_several_authors_and_branches_are_told_as_git_tells_them(tmp_path: Path) -> None:
    chance = random.Random(live.SEED)
    repo = Repo(tmp_path / "repo")
    text = [f"line {n}" for n in range(30)]
    repo.commit("Ada", {"f": "\n".join(text)})
    for n in range(12):
        branch = chance.random() < 0.3
        if branch:
            repo.git("checkout", "-q", "-b", f"side{n}")
        for _ in range(chance.randint(1, 3)):
            at = chance.randrange(len(text))
            text[at : at + chance.randint(0, 2)] = [f"line {n}.{chance.getrandbits(30)}"] * chance.randint(0, 2)
        ending = chance.choice(("", "\n"))
        repo.commit(chance.choice(("Ada", "Ben", "Max")), {"f": "\n".join(text) + ending, "other": str(n)})
        if branch:
            repo.git("checkout", "-q", "main")
            repo.git("merge", "-q", "--no-ff", "-m", "merged", f"side{n}")
    for commit in repo.git("rev-list", "HEAD").split():
        assert repo.told("f", commit=commit) == repo.blamed("f", commit)
        assert repo.told("f", commit=commit[:12]) == repo.told("f", commit=commit)


def test_breaks_marks_and_encodings_do_not_matter(repo: Repo) -> None:
    repo.commit("Ada", {"w.txt": "\ufeffone\r\ntwo\r\nolder\rmac\n\nlast"})
    (repo.root / "latin").write_bytes(b"caf\xe9\n")
    repo.commit("Ben", {})
    assert repo.ask("w.txt").body == b"one\ntwo\nolder\nmac\n\nlast\n"
    assert repo.ask("latin").body == b"caf\xe9\n"


@pytest.mark.parametrize("name", [":(top)b.py", "-b.py", "a b\tc.py", "naïve.py", "*.py"])
def test_a_file_may_be_called_anything(repo: Repo, name: str) -> None:
    commit = repo.commit("Ada", {name: "one\n"})
    assert repo.told(name) == [(commit, "Ada", b"one")]


def test_a_mailmap_of_the_commit_names_people_as_git_blame_does(repo: Repo) -> None:
    repo.commit("Ada", {".mailmap": "Benjamin <Ben@example.org>\n"})
    assert repo.told("b.py") == repo.blamed("b.py", "HEAD")
    assert "Benjamin" in {author for _, author, _ in repo.told("b.py")}


def test_repositories_with_sha256_shallow_clones_and_linked_worktrees_are_read(tmp_path: Path, repo: Repo) -> None:
    modern = Repo(tmp_path / "modern", "--object-format=sha256")
    modern.commit("Ada", {"f": "one\n"})
    modern.commit("Ben", {"f": "one\ntwo\n"})
    assert modern.told("f") == modern.blamed("f", "HEAD")
    repo.git("clone", "-q", "--depth", "1", f"file://{repo.root}", str(tmp_path / "shallow"))
    shallow = Repo(tmp_path / "shallow")
    assert shallow.told("b.py") == shallow.blamed("b.py", "HEAD")
    repo.git("worktree", "add", "-q", str(tmp_path / "linked"), "HEAD~1")
    answer = CommitBlame(tmp_path / "linked", not_beside).answer(CommitFile("a.py", ""))
    assert [line.author for line in answer.commits] == ["Ada", "Ben"]


def test_a_workspace_may_be_a_part_of_a_repository_or_have_one_in_it(tmp_path: Path, repo: Repo) -> None:
    inner = Repo(repo.root / "vendor" / "inner")
    theirs = inner.commit("Mia", {"x.py": "theirs\n"})
    assert [line.author for line in repo.ask("vendor/inner/x.py").commits] == ["Mia"]
    # Where HEAD of the outer one was says nothing of the inner one.
    head = repo.git("rev-parse", "HEAD").strip()
    assert [line.commit for line in repo.ask("vendor/inner/x.py", commit=head).commits] == [theirs]
    repo.commit("Ada", {"part/y.py": "ours\n"})
    part = CommitBlame(repo.root / "part", not_beside).answer(CommitFile("y.py", ""))
    assert [line.author for line in part.commits] == ["Ada"]


def test_what_git_cannot_tell_is_said(tmp_path: Path, repo: Repo) -> None:
    (tmp_path / "plain").mkdir()
    around = any((folder / ".git").exists() for folder in tmp_path.parents)  # of somebody's own, in this machine's /tmp
    plain = CommitBlame(tmp_path / "plain", not_beside).answer(CommitFile("f", ""))
    assert plain.why == ("no_commit" if around else "no_repository")
    assert repo.ask("never.py").why == "no_commit"
    assert repo.ask("b.py", commit="1234567890ab").why == "no_commit"
    assert Repo(tmp_path / "empty").ask("f").why == "no_commit"


def test_the_head_of_a_time_is_told_by_its_log(repo: Repo) -> None:
    commits = repo.git("rev-list", "--reverse", "HEAD").split()
    found = find_repository(str(repo.root), "b.py")
    assert found is not None
    for n, commit in enumerate(commits, 1):
        for second in (0, 59):
            assert head_at(found, (BEGAN_S + 60 * n + second) * SECOND) == commit
    assert head_at(found, BEGAN_S * SECOND) == ""
    assert head_now(found) == commits[-1]
    repo.git("pack-refs", "--all")
    assert head_now(found) == commits[-1]
    repo.git("checkout", "-q", commits[0])
    assert head_now(found) == commits[0]
    (repo.root / ".git/logs/HEAD").unlink()
    assert head_at(found, (BEGAN_S + 60) * SECOND) == ""


def test_lines_are_those_of_the_time_at_which_they_were_met(repo: Repo) -> None:
    at_ns = (BEGAN_S + 60 * 2 + 30) * SECOND
    assert repo.told("a.py", at_ns=at_ns) == repo.blamed("a.py", "HEAD~1")
    (repo.root / ".git/logs/HEAD").unlink()
    near = repo.git("rev-parse", "HEAD~1").strip()
    assert repo.told("a.py", near=near, at_ns=at_ns) == repo.blamed("a.py", "HEAD~1")


# ── what it must not do ──────────────────────────────────────────────────────


def hostile(repo: Repo, marks: Path) -> None:
    """A repository that is configured to run a program for whatever it can."""
    program = marks / "program"
    program.write_text(f'#!/bin/sh\necho "$0 $*" >> {marks}/ran\ncat "$@" 2>/dev/null\nexit 0\n')
    program.chmod(0o755)
    for setting in (
        *("core.fsmonitor", "core.pager", "pager.blame", "core.editor", "core.sshCommand", "core.gitProxy"),
        *("diff.external", "diff.evil.textconv", "diff.evil.command", "filter.evil.smudge", "filter.evil.clean"),
        *("filter.evil.process", "credential.helper", "gpg.program", "core.askPass", "merge.evil.driver"),
        *("core.alternateRefsCommand", "uploadpack.packObjectsHook", "trace2.eventTarget"),
    ):
        repo.git("config", setting, str(program))
    repo.git("config", "alias.blame", f"!{program}")
    repo.git("config", "submodule.evil.update", f"!{program}")
    (repo.root / ".gitmodules").write_text(f'[submodule "evil"]\n\tpath = vendor\n\turl = ext::{program}\n')
    repo.git("config", "alias.b", f"!{program}")
    repo.git("config", "blame.ignoreRevsFile", ".ignored-revs")
    repo.git("config", "core.hooksPath", str(marks / "hooks"))
    repo.git("config", "remote.origin.url", f"ext::{program}")
    repo.git("config", "remote.origin.promisor", "true")
    repo.git("config", "extensions.partialClone", "origin")
    repo.git("config", "core.repositoryFormatVersion", "1")
    (marks / "hooks").mkdir()
    for hook in ("post-index-change", "fsmonitor-watchman", "reference-transaction", "post-checkout"):
        (marks / "hooks" / hook).symlink_to(program)
    (repo.root / ".gitattributes").write_text("* diff=evil filter=evil merge=evil\n")
    (repo.root / ".git/info").mkdir(exist_ok=True)
    (repo.root / ".git/info/attributes").write_text("* diff=evil filter=evil\n")


def everything_in(folder: Path) -> dict[str, tuple[int, int, int, bytes]]:
    """Every file below: inode, mode, time of modification and bytes."""
    found = {}
    for file in sorted(folder.rglob("*")):
        at = file.lstat()
        data = file.read_bytes() if stat.S_ISREG(at.st_mode) else b""
        found[str(file)] = (at.st_ino, at.st_mode, at.st_mtime_ns, data)
    return found


def test_nothing_that_a_repository_configures_runs_and_nothing_of_it_changes(tmp_path: Path, repo: Repo) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    expected = repo.blamed("b.py", "HEAD")
    first = repo.git("rev-parse", "HEAD~2").strip()
    (repo.root / ".ignored-revs").write_text(f"{first}\n")
    hostile(repo, marks)
    os.utime(repo.root / "b.py", (1, 1))  # a refresh of the index would look at it
    before = everything_in(repo.root)
    assert repo.told("b.py") == expected
    assert not (marks / "ran").exists()
    assert everything_in(repo.root) == before
    subprocess.run(["git", "blame", "b.py"], cwd=repo.root, capture_output=True, timeout=30)
    assert (marks / "ran").exists(), "git itself runs what is configured"


def test_a_fifo_and_a_missing_file_in_the_configuration_hold_nobody_up(repo: Repo) -> None:
    os.mkfifo(repo.root / "fifo")
    for named in ("fifo", "nowhere"):
        repo.git("config", "blame.ignoreRevsFile", named)
        assert len(repo.told("b.py")) == 5


def test_replaced_objects_and_grafts_are_not_believed(repo: Repo) -> None:
    expected = repo.blamed("b.py", "HEAD")
    head, before = repo.git("rev-parse", "HEAD").strip(), repo.git("rev-parse", "HEAD~1").strip()
    tree = repo.git("rev-parse", "HEAD^{tree}").strip()
    forged = repo.git("commit-tree", tree, "-p", before, "-m", "forged", author="Eve").strip()
    repo.git("replace", head, forged)
    assert "Eve" in {author for _, author, _ in repo.blamed("b.py", "HEAD")}
    assert repo.told("b.py") == expected


def test_a_missing_object_of_a_partial_clone_is_not_fetched(tmp_path: Path, repo: Repo) -> None:
    repo.git("config", "uploadpack.allowFilter", "true")
    clone = tmp_path / "clone"
    words = ("clone", "-q", "--filter=blob:none", "--no-checkout", f"file://{repo.root}", str(clone))
    repo.git(*words)
    before = everything_in(clone)
    assert CommitBlame(clone, not_beside).answer(CommitFile("b.py", "")).why == "no_commit"
    assert everything_in(clone) == before


def test_the_variables_of_whoever_started_the_daemon_do_not_count(
    tmp_path: Path, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = repo.blamed("b.py", "HEAD")
    other = Repo(tmp_path / "other")
    other.commit("Eve", {"b.py": "else\n"})
    ran = tmp_path / "ran"
    for name, value in {
        "GIT_DIR": str(other.root / ".git"),
        "GIT_WORK_TREE": str(other.root),
        "GIT_OBJECT_DIRECTORY": str(other.root / ".git/objects"),
        "GIT_EXTERNAL_DIFF": f"touch {ran}",
        "GIT_PAGER": f"touch {ran}",
        "GIT_TRACE": str(ran),
        "GIT_TRACE2_EVENT": str(ran),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "alias.blame",
        "GIT_CONFIG_VALUE_0": f"!touch {ran}",
    }.items():
        monkeypatch.setenv(name, value)
    assert repo.told("b.py") == expected
    assert not ran.exists()


def test_an_end_of_the_daemon_ends_the_question(repo: Repo) -> None:
    asked = CommitBlame(repo.root, not_beside)
    asked.close()
    assert asked.answer(CommitFile("b.py", "")).why == "no_commit"


def test_the_answer_comes_by_a_job(repo: Repo) -> None:
    heard: list[CommitFileLines] = []

    def start(work: Callable[[], Callable[[], None]], what: str, failed: object) -> None:
        work()()

    CommitBlame(repo.root, start).ask(CommitFile("b.py", ""), partial(heard.append))  # type: ignore[arg-type]
    assert [len(answer.numbers) for answer in heard] == [5]


def test_invalid_output_of_git_blame_is_skipped() -> None:
    assert parse(b"").numbers == ()
    assert parse(b"nonsense\nauthor Eve\n").commits == ()
    odd = b"a" * 40 + b" 1 1 1\nauthor \x1b[31mEve\nauthor-time 99999999999999999999\nauthor-tz +9999\n\tx\n"
    (line,) = parse(odd).commits
    assert (line.author, line.at) == ("[31mEve", "")


# -- the files of a commit ---------------------------------------------------------------------------------------


def test_the_files_of_a_commit_and_their_bytes_are_told(tmp_path: Path) -> None:
    repo = Repo(tmp_path)
    (tmp_path / "link").symlink_to("a.py")
    commit = repo.commit("Ada", {"a.py": "one\n", "sub/é b\n.txt": "two", "sub/run": "#!\n"})
    (tmp_path / "sub/run").chmod(0o755)
    later = repo.commit("Ben", {"a.py": "changed\n"})
    git = CommitBlame(tmp_path, not_beside)
    found = git.told(CommitTree(commit))
    assert isinstance(found, CommitEntries)
    told = {path: (entry.mode, entry.size) for path, entry in found.entries.items()}
    assert told == {
        "a.py": ("100644", 4),
        "link": ("120000", 4),
        "sub/é b\n.txt": ("100644", 3),
        "sub/run": ("100644", 3),
    }
    names = tuple(entry.name for entry in found.entries.values())
    held = git.told(CommitBlobs((*names, "0" * 40)))
    assert isinstance(held, CommitBytes)
    assert [held.held[name] for name in names] == [b"one\n", b"a.py", b"#!\n", b"two"]
    below = CommitBlame(tmp_path / "sub", not_beside).told(CommitTree(later))
    assert isinstance(below, CommitEntries)
    assert {path: entry.mode for path, entry in below.entries.items()} == {"é b\n.txt": "100644", "run": "100755"}


def test_a_commit_that_there_is_not_and_a_folder_in_no_repository_have_no_files(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.commit("Ada", {"a": "x"})
    assert CommitBlame(repo.root, not_beside).told(CommitTree("1" * 40)).why == "no_commit"
    assert CommitBlame(tmp_path, not_beside).told(CommitTree("1" * 40)).why == "no_repository"
