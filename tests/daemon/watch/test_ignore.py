"""The ignore rules against their oracle, `git check-ignore`, and what Quire adds to them."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

import live
from quire_daemon.watch.ignore import Ignore

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="the oracle is not installed")


def git(root: Path, *arguments: str, feed: bytes = b"") -> bytes:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": os.fspath(root),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "XDG_CONFIG_HOME": os.fspath(root / ".git"),
    }
    done = subprocess.run(["git", *arguments], cwd=root, input=feed, env=environment, capture_output=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def ignored_by_git(root: Path, paths: Sequence[tuple[str, bool]]) -> set[str]:
    """Those of `paths` that git ignores."""
    feed = b"".join(os.fsencode(path) + b"\0" for path, _ in paths)
    said = git(root, "check-ignore", "--no-index", "--stdin", "-z", feed=feed)
    return {os.fsdecode(path) for path in said.split(b"\0") if path}


def tree(root: Path) -> list[tuple[str, bool]]:
    """Every path below `root`, without git's own folder, and whether it is a folder."""
    found = []
    for at, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name != ".git"]
        inside = os.path.relpath(at, root)
        prefix = "" if inside == "." else inside + "/"
        found += [(prefix + name, True) for name in folders] + [(prefix + name, False) for name in files]
    return found


def write(root: Path, path: str, text: str | bytes = "") -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else os.fsencode(text))


def disagreements(root: Path, paths: Sequence[tuple[str, bool]] = ()) -> list[str]:
    """Of `paths`, by default all, those that git judges differently."""
    ignore, paths = Ignore(root), paths or tree(root)
    oracle = ignored_by_git(root, paths)
    return [path for path, folder in paths if ignore.ignored(path, folder) != (path in oracle)]


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository in which nothing happened yet, and nothing ever does: it is copied."""
    root = tmp_path_factory.mktemp("fresh")
    if shutil.which("git"):
        git(root, "init", "-q", "--template=")
    return root


@pytest.fixture
def repository(fresh: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(fresh, tmp_path / "checkout"))


# ── the oracle ───────────────────────────────────────────────────────────────

# fmt: off
NAMES = (
    "a", "b", "build", "x", "foo", "a.py", "b.pyc", "keep.log", "n.log", "sp ace", "[b]", "#h", "!n", "ü", "x-y",
    "1",
)
PATTERNS = (
    "a", "b/", "/x", "foo", "*.log", "!keep.log", "*.py[co]", "build/", "!build/", "*", "!*/", "!a", "!foo/", "/*",
    "!/a", "**", "**/", "/**", "/*/", "*/", "a/*", "a/**", "!a/b", "a/**/b", "**/x", "**/x/**", "!x/**", "foo/**/",
    "a/**/", "x/", "\\#h", "\\!n", "sp ace", "sp\\ ace", "a ", "a\\ ", "a\t", "[!a]", "[^a-f]*", "[]-]",
    "[[:alpha:]]", "x[-]y", "[[]b]", "\\[b\\]", "[\\[]b[]]", "?", "??", "a?", "ü", "*ü*", "# a", "", " ", "/", "!",
    "\\", "[", "a[", "[z-a]", "[[:bad:]]", "foo/*.py", "foo//a", "./a", "a/../b", "**.py", "a**b", "***",
    "foo/***", "!**/keep.log", "*/a", "*/*/a", "a/b/", "[a-]*", "/a/**", "!/a/**", "x-*", "[0-9]", "[[:digit:]x]",
    "*.p\\yc", "f\\oo", "build/*", "!build/keep.log", "/foo/*/x", "[!]a]",
)
# fmt: on


def grow(root: Path, rng: random.Random, inside: str = "", depth: int = 0) -> list[tuple[str, bool]]:
    """A random tree with rule files at random levels: its paths. The other files are not there: nobody looks at one."""
    paths = []
    for name in rng.sample(NAMES, rng.randint(3, 7)):
        if depth < 3 and rng.random() < 0.5:
            (root / inside / name).mkdir()
            paths += [(inside + name, True), *grow(root, rng, f"{inside}{name}/", depth + 1)]
        else:
            paths.append((inside + name, False))
    if depth == 0 or rng.random() < 0.4:
        end = rng.choice(["\n", "\r\n"])
        write(root / inside, ".gitignore", end.join(rng.choices(PATTERNS, k=rng.randint(1, 8))) + rng.choice(["", end]))
        paths.append((inside + ".gitignore", False))
    return paths


@needs_git
@pytest.mark.parametrize("seed", range(live.length(30, 600)))
def test_decides_as_git_does_on_generated_trees(repository: Path, seed: int) -> None:
    rng = random.Random(seed)
    paths = grow(repository, rng)
    write(repository, ".git/info/exclude", "\n".join(rng.choices(PATTERNS, k=3)) + "\n")
    assert disagreements(repository, paths) == []


@pytest.fixture(scope="module")
def grown(fresh: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with every name at the top, in a folder and as a folder; only its rules change from test to test."""
    root = Path(shutil.copytree(fresh, tmp_path_factory.mktemp("grown") / "checkout"))
    for name in NAMES:
        write(root, f"top/{name}")
        write(root, f"{name}/a/b/c")
        write(root, f"{name}/foo/x.py")
    return root


@pytest.fixture(scope="module")
def all_of_it(grown: Path) -> list[tuple[str, bool]]:
    """Every path of that repository."""
    write(grown, ".gitignore", "")
    return tree(grown)


BEFORE = ("*\n", "foo/*\n")
"""What a pattern can take back from. One that takes nothing back only adds to it, as it does alone."""


@needs_git
@pytest.mark.parametrize(
    ("before", "pattern"),
    [("", pattern) for pattern in PATTERNS]
    + [(before, pattern) for before in BEFORE for pattern in PATTERNS if "!" in pattern or live.LONG],
)
def test_decides_each_pattern_as_git_does(
    grown: Path, all_of_it: list[tuple[str, bool]], pattern: str, before: str
) -> None:
    write(grown, ".gitignore", before + pattern + "\n")
    assert disagreements(grown, all_of_it) == []


@needs_git
@pytest.mark.parametrize(
    "rules",
    [
        b"\xef\xbb\xbfa\n",  # a byte order mark
        b"a\r\nb\r\n",
        b"a\rb\n",
        b"caf\xe9*\n",  # latin-1
        b"\xc3\xbc\n",
        b"a",
        b"\0\na\n",
    ],
)
def test_reads_bytes_as_git_does(repository: Path, rules: bytes) -> None:
    for name in (b"a", b"b", b"caf\xe9", b"caf\xe9s", "ü".encode(), b"c"):
        (repository / os.fsdecode(name)).write_bytes(b"")
    write(repository, ".gitignore", rules)
    assert disagreements(repository) == []


@needs_git
def test_a_linked_worktree_uses_the_excludes_of_its_repository(repository: Path) -> None:
    write(repository, "first", "1")
    git(repository, "add", "first")
    git(repository, "-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "first")
    write(repository, ".git/info/exclude", "private/\n")
    hard_links = repository.parent / "linked"
    git(repository, "worktree", "add", "-q", os.fspath(hard_links), "HEAD")
    assert (hard_links / ".git").is_file()
    write(hard_links, "private/note")
    assert Ignore(hard_links).ignored("private", True)
    assert Ignore(hard_links).ignored("private/note", False)
    assert not Ignore(hard_links).ignored("public", True)


# ── what Quire adds ──────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "path", [".git", ".quire", "sub/.git", "deep/er/.quire", ".git/HEAD", ".quire/tmp/x", "sub/.git/config"]
)
@pytest.mark.parametrize("folder", [True, False])
def test_git_and_quire_are_always_ignored(tmp_path: Path, path: str, folder: bool) -> None:
    write(tmp_path, ".quireignore", "!.git\n!.quire\n!*\n")
    assert Ignore(tmp_path, ["!.git", "!.quire"]).ignored(path, folder)


def test_names_like_those_of_git_and_quire_are_not_ignored(tmp_path: Path) -> None:
    ignore = Ignore(tmp_path)
    assert not any(ignore.ignored(path, False) for path in (".gitignore", ".quireignore", ".github", "a.git", ""))


def test_own_rules_add_and_take_back(tmp_path: Path) -> None:
    write(tmp_path, ".gitignore", "dist/\n*.log\n")
    write(tmp_path, ".quireignore", "!dist/\nlocal/\n")
    ignore = Ignore(tmp_path)
    assert not ignore.ignored("dist/app.js", False)
    assert ignore.ignored("dist/app.log", False)
    assert ignore.ignored("local/x", False)


def test_own_rules_of_the_root_are_stronger_than_git_rules_below(tmp_path: Path) -> None:
    write(tmp_path, ".quireignore", "*.log\n")
    write(tmp_path, "sub/.gitignore", "!keep.log\n")
    assert Ignore(tmp_path).ignored("sub/keep.log", False)


def test_settings_are_strongest(tmp_path: Path) -> None:
    write(tmp_path, ".quireignore", "!data/\n")
    ignore = Ignore(tmp_path, ["data/", "!data/", "big/"])
    assert not ignore.ignored("data/x", False)
    assert ignore.ignored("big/x", False)


def test_without_a_repository_the_rule_files_hold(tmp_path: Path) -> None:
    write(tmp_path, ".gitignore", "*.o\n")
    assert Ignore(tmp_path).ignored("deep/a.o", False)


def test_rule_files_that_are_no_files_count_as_empty(tmp_path: Path) -> None:
    write(tmp_path, "elsewhere", "*\n")
    (tmp_path / ".gitignore").symlink_to("elsewhere")
    os.mkfifo(tmp_path / ".quireignore")
    (tmp_path / "sub" / ".gitignore").mkdir(parents=True)
    ignore = Ignore(tmp_path)
    assert not ignore.ignored("a", False)
    assert not ignore.ignored("sub/a", False)


# ── keeping up ───────────────────────────────────────────────────────────────


def test_a_changed_rule_file_counts_once_it_is_forgotten(tmp_path: Path) -> None:
    write(tmp_path, "sub/.gitignore", "a\n")
    ignore = Ignore(tmp_path)
    assert ignore.ignored("sub/deep/a", False)
    write(tmp_path, "sub/.gitignore", "b\n")
    assert ignore.ignored("sub/deep/a", False)
    assert ignore.governs("sub/.gitignore") == "sub"
    ignore.forget("sub")
    assert not ignore.ignored("sub/deep/a", False)
    assert ignore.ignored("sub/deep/b", False)


def test_forgetting_leaves_siblings_with_a_longer_name_alone(tmp_path: Path) -> None:
    write(tmp_path, "subway/.gitignore", "a\n")
    ignore = Ignore(tmp_path)
    assert ignore.ignored("subway/a", False)
    (tmp_path / "subway" / ".gitignore").unlink()
    ignore.forget("sub")
    assert ignore.ignored("subway/a", False)


def test_what_was_read_for_folders_that_are_gone_is_forgotten(tmp_path: Path) -> None:
    write(tmp_path, ".gitignore", "*.log")
    write(tmp_path, "kept/.gitignore", "*.tmp")
    ignore = Ignore(tmp_path)
    for folder in ("kept", *(f"gone{number}" for number in range(100))):
        assert ignore.ignored(f"{folder}/a.log", False)
    assert ignore.at_hand == 102
    write(tmp_path, "kept/.gitignore", "")
    write(tmp_path, "gone7/.gitignore", "!*.log")
    ignore.keep({"kept"})
    assert ignore.at_hand == 2
    assert ignore.recheck() == ["kept"]
    assert not ignore.ignored("gone7/a.log", False)
    assert ignore.ignored("kept/a.log", False)


def test_only_rule_files_govern(tmp_path: Path) -> None:
    ignore = Ignore(tmp_path)
    assert ignore.governs(".quireignore") == ""
    assert ignore.governs("a/b/.gitignore") == "a/b"
    assert ignore.governs("a/gitignore") is None


def test_recheck_finds_rule_files_that_changed_unnoticed(repository: Path) -> None:
    write(repository, "sub/x")
    write(repository, ".git/info/exclude", "")
    ignore = Ignore(repository)
    assert not ignore.ignored("sub/x", False)
    assert ignore.recheck() == []
    write(repository, "sub/.gitignore", "x\n")
    assert ignore.recheck() == ["sub"]
    assert ignore.ignored("sub/x", False)
    write(repository, ".git/info/exclude", "y\n")
    assert ignore.recheck() == [""]
    assert ignore.ignored("sub/y", False)


def test_a_change_of_the_excludes_is_seen_by_one_look(repository: Path) -> None:
    write(repository, ".git/info/exclude", "")
    ignore = Ignore(repository)
    assert not ignore.ignored("x.log", False)
    assert not ignore.exclude_changed()
    write(repository, ".git/info/exclude", "*.log\n")
    assert ignore.exclude_changed()
    ignore.forget()
    assert ignore.ignored("x.log", False)
    assert not ignore.exclude_changed()


@needs_git
def test_the_excludes_of_a_repository_that_is_made_later_count(tmp_path: Path) -> None:
    """Nothing said that there was such a file by now, and what it names went into the journal."""
    write(tmp_path, "private/note")
    ignore = Ignore(tmp_path)
    assert not ignore.ignored("private/note", False)
    git(tmp_path, "init", "-q")
    write(tmp_path, ".git/info/exclude", "private/\n")
    assert ignore.recheck() == [""]
    assert ignore.ignored("private/note", False)


# ── secrets ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("path", "is_secret"),
    [
        (".env", True),
        ("app/.env", True),
        ("app/.ENV", True),
        (".env.local", True),
        ("certs/server.key", True),
        (".environment", False),
        ("key", False),
        ("vault/any", True),
        ("other/vault/any", False),
    ],
)
def test_secrets_are_known_by_name_or_path(tmp_path: Path, path: str, is_secret: bool) -> None:
    assert Ignore(tmp_path, (), (".env", ".env.*", "*.key", "vault/*")).secret(path) is is_secret


def test_without_globs_nothing_is_secret(tmp_path: Path) -> None:
    assert not Ignore(tmp_path).secret(".env")


def test_no_rules_are_read_behind_a_link_in_place_of_a_folder(tmp_path: Path) -> None:
    """A program may have put it there since the folder was met."""
    root = tmp_path / "root"
    root.mkdir()
    write(tmp_path, "outside/.gitignore", "x\n")
    (root / "sub").symlink_to("../outside")
    assert not Ignore(root).ignored("sub/x", False)
    (root / "sub").unlink()
    write(root, "sub/.gitignore", "x\n")
    assert Ignore(root).ignored("sub/x", False)
