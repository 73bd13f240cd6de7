"""A git history through the journal and back, with real git: the trees are the same, commit by commit.

By default a made-up history with everything that git can hold. With QUIRE_REPO=PATH a real one, along first parents:
its newest 60 commits, and all of them with QUIRE_LONG=1.
"""

from __future__ import annotations

import io
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import live
from git_history import Commit, Teller, commits, git, tree_of
from live import LONG, SEED, length
from quire_journal.export.formats import FORMATS
from quire_journal.export.importer import import_lines
from quire_journal.export.source import Source, Stretch
from quire_journal.history.history import History
from quire_journal.journal import Journal
from quire_journal.model.ids import disk_path
from quire_journal.storage.lmdb import LmdbStore
from quire_journal.views.files import Version

REAL = os.environ.get("QUIRE_REPO", "")

Told = tuple[Journal, Teller]


def made_up(folder: Path, count: int) -> None:
    """A repository with a history in which everything happens to files that git can hold."""
    chance = random.Random(SEED)
    names = [
        b"a",
        b"b.py",
        b"dir/c.py",
        b"dir/sub/d",
        "dir/\u00fcber.txt".encode(),
        b"caf\xe9",
        b'q"uote \\ tab\t',
        b"e/f",
    ]
    held: dict[bytes, bytes] = {}
    stream = bytearray()
    for number in range(1, count + 1):
        stream += b"commit refs/heads/main\nmark :%d\ncommitter t%d <t> %d +0000\ndata 1\nm\n" % (
            number,
            number % 3,
            1_700_000_000 + number * 60,
        )
        stream += b"from :%d\n" % (number - 1) if number > 1 else b""
        for _ in range(chance.randint(1, 3)):
            name = chance.choice(names)
            if name in held and chance.random() < 0.2:
                stream += b"D %s\n" % _quoted(name)
                held.pop(name)
                continue
            if held and chance.random() < 0.15:
                old, name = chance.choice(sorted(held)), b"moved/%d" % number
                stream += b"R %s %s\n" % (_quoted(old), _quoted(name))
                held[name] = held.pop(old)
                continue
            data = _content(chance, held.get(name, b""))
            mode = chance.choice([b"100644", b"100644", b"100755", b"120000"])
            data = b"some/where" if mode == b"120000" else data
            if name == b"e/f" and chance.random() < 0.3:
                stream += b"D e/f\nM %s inline e\ndata %d\n%s\nD e\n" % (mode, len(data), data)
                held.pop(b"e/f", None)
                continue
            stream += b"M %s inline %s\ndata %d\n%s\n" % (mode, _quoted(name), len(data), data)
            held[name] = data
    git(folder, "init", "-q", "--bare")
    git(folder, "fast-import", "--quiet", stdin=bytes(stream))
    git(folder, "symbolic-ref", "HEAD", "refs/heads/main")


def _quoted(name: bytes) -> bytes:
    return b'"' + b"".join(b"\\%03o" % byte for byte in name) + b'"'


def _content(chance: random.Random, before: bytes) -> bytes:
    kind = chance.random()
    if kind < 0.1:
        return bytes(chance.randrange(256) for _ in range(100))
    if kind < 0.2:
        return b"crlf\r\nand lf\nand cr\rand none" + str(chance.random()).encode()
    if kind < 0.25:
        return b""
    lines = before.splitlines(keepends=True) or [b"line %d\n" % n for n in range(40)]
    lines[chance.randrange(len(lines))] = b"changed %d" % chance.randrange(10**6) + chance.choice([b"\n", b"\n", b""])
    return b"".join(lines)


@pytest.fixture
def tmp_path(journals: Path) -> Path:
    """A scratch folder, in memory where that can be."""
    return journals


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """One for all, there too."""
    with live.folder_for_journals() as made:
        yield made


@pytest.fixture(scope="module")
def repo(folder: Path) -> Path:
    """The repository whose history is told."""
    if REAL:
        return Path(REAL)
    (folder / "made-up").mkdir()
    made_up(folder / "made-up", length(60, 1500))
    return folder / "made-up"


@pytest.fixture(scope="module")
def told(repo: Path, folder: Path) -> Iterator[Told]:
    """Its history in a journal of files."""
    journal = Journal.open(LmdbStore.open(folder / "journal", synced=False), 1)
    teller = Teller(journal)
    for commit in commits(repo, 60 if REAL and not LONG else 0):
        teller.tell(commit, keep=True)
    yield journal, teller
    journal.close()


def exported(journal: Journal, format: str, by: str = "batch") -> bytes:
    """The whole history in a format."""
    out = io.BytesIO()
    for chunk in FORMATS[format].export(Source(journal.store, Stretch(0, journal.head)), by):
        out.write(chunk)
    return out.getvalue()


def changing(teller: Teller) -> list[Commit]:
    """The commits that changed a file: the others leave no batch."""
    return [commit for _, commit in teller.last_of if commit.changes]


def made(tmp_path: Path, act: Callable[[Path], object], head: str) -> list[str]:
    """The trees of all commits that `act` makes in a new repository, oldest first."""
    git(tmp_path, "init", "-q")
    act(tmp_path)
    return git(tmp_path, "log", "--reverse", "--format=%T", head).decode().split()


def same_files(ours: Path, trees: list[str], repo: Path, wanted: list[str]) -> bool:
    """Are these the same trees, one by one? Submodules are left out: no file holds them."""

    def files(at: Path, tree: str) -> list[bytes]:
        return [row for row in git(at, "ls-tree", "-r", "-z", tree).split(b"\0") if not row.startswith(b"160000")]

    pairs = list(zip(trees, wanted, strict=True))
    return all(mine == theirs or files(ours, mine) == files(repo, theirs) for mine, theirs in pairs)


@pytest.mark.timeout(3000 if LONG else 60)
def test_every_commit_of_the_stream_has_the_tree_that_the_history_had(repo: Path, told: Told, tmp_path: Path) -> None:
    journal, teller = told
    stream = exported(journal, "git")
    trees = made(tmp_path, lambda at: git(at, "fast-import", "--quiet", stdin=stream), "quire")
    # A commit that leaves the tree of the one before (what it changed was changed back) is still one.
    assert same_files(tmp_path, trees, repo, [commit.tree for commit in changing(teller)])
    authors = git(tmp_path, "log", "--reverse", "--format=%an %at", "quire").decode().splitlines()
    with (
        journal.store.reading() as r
    ):  # a record is never dated before the one in front of it, so a commit may be later
        records = [History(r).record(seq) for seq, _ in _with_changes(teller)]
    wanted = [record.at_ns // 10**9 for record in records if record is not None]
    assert all(at_s >= commit.at_s for at_s, commit in zip(wanted, changing(teller), strict=True))
    assert [int(line.rpartition(" ")[2]) for line in authors] == wanted


@pytest.mark.timeout(3000 if LONG else 60)
def test_the_trees_of_the_stream_are_those_of_the_journal_file_by_file(told: Told, tmp_path: Path) -> None:
    journal, teller = told
    stream = exported(journal, "git")
    made(tmp_path, lambda at: git(at, "fast-import", "--quiet", stdin=stream), "quire")
    names = git(tmp_path, "log", "--reverse", "--format=%H", "quire").decode().split()
    points = [(seq, name) for (seq, commit), name in zip(_with_changes(teller), names, strict=True)]
    for seq, name in points[:: max(1, len(points) // 12)]:
        with journal.store.reading() as r:
            history = History(r)
            held = {path: history.version_at(path, seq) for path, _ in history.paths()}
            ours = {
                os.fsencode(disk_path(path)): (_mode(version), history.bytes_of(version.blob))
                for path, version in held.items()
                if version is not None and not version.gone
            }
        assert tree_of(tmp_path, name) == ours


@pytest.mark.timeout(3000 if LONG else 60)
def test_git_am_makes_the_same_trees_of_the_patches(repo: Path, told: Told, tmp_path: Path) -> None:
    journal, teller = told
    (tmp_path / "series").write_bytes(exported(journal, "patches"))
    (tmp_path / "at").mkdir()
    trees = made(tmp_path / "at", lambda at: git(at, "am", "--quiet", str(tmp_path / "series")), "HEAD")
    wanted = [commit.tree for commit in changing(teller)]
    differing = [tree for at, tree in enumerate(wanted) if at == 0 or tree != wanted[at - 1]]
    assert same_files(tmp_path / "at", trees, repo, differing)


@pytest.mark.timeout(3000 if LONG else 60)
def test_an_import_of_the_export_gives_git_the_same_stream(told: Told, tmp_path: Path) -> None:
    journal, _ = told
    again = Journal.open(LmdbStore.open(tmp_path, synced=False), 1)
    counts = import_lines(io.BytesIO(exported(journal, "jsonl")), again.store)
    assert (counts.events, counts.missing) == (journal.head, 0)
    again.close()
    again = Journal.open(LmdbStore.open(tmp_path, synced=False), 1)
    assert (again.head, again.last_hash) == (journal.head, journal.last_hash)
    assert exported(again, "git") == exported(journal, "git")
    again.close()


@pytest.mark.skipif(bool(REAL), reason="the benchmark itself is for real histories")
def test_the_storage_benchmark_weighs_a_history_beside_git(repo: Path) -> None:
    script = Path(__file__).parent / "bench" / "storage.py"
    words = [sys.executable, str(script), "--repo", str(repo), "--commits", "20", "--json"]
    figures = json.loads(subprocess.run(words, capture_output=True, check=True).stdout)
    assert figures["commits"] == 20
    assert 0 < figures["bytes"]["content"] < figures["bytes"]["all"]
    assert figures["bytes"]["packed"] < figures["bytes"]["loose, on disk"]


def _with_changes(teller: Teller) -> list[tuple[int, Commit]]:
    return [(seq, commit) for seq, commit in teller.last_of if commit.changes]


def _mode(version: Version) -> str:
    return "120000" if version.entry else "100755" if version.mode & 0o100 else "100644"
