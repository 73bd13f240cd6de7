"""Queries of git about commits (their files, and the commits of lines), without touching the repository.

Git runs in a scratch repository without configuration, branches, hooks or index, which borrows the objects
(`GIT_OBJECT_DIRECTORY`). So git ignores all configuration (textconv, fsmonitor, aliases, diff drivers, pager,
`blame.ignoreRevsFile`), takes no locks, and knows no replaced objects or remotes.
"""

from __future__ import annotations

import os
import re
import select
import subprocess
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from quire_daemon.workers import StartJob
from quire_journal.history import (
    CommitBlobs,
    CommitBytes,
    CommitEntries,
    CommitEntry,
    CommitFile,
    CommitFileLines,
    CommitLine,
    CommitTree,
)
from quire_journal.model import disk_path, journal_path, plain
from quire_journal.workspaces import git_folder, regular_bytes

MODES: Final = {b"100644": "100644", b"100664": "100644", b"100755": "100755", b"120000": "120000"}


def tree_words(commit: str, prefix: bytes) -> list[str | bytes]:
    where: list[str | bytes] = ["--", prefix] if prefix else []
    return ["ls-tree", "-r", "-z", "-l", "--full-tree", commit, *where]


def entries(said: bytes, prefix: bytes) -> CommitEntries:
    """Parse the output of `tree_words`: `MODE blob NAME SIZE<tab>PATH<nul>`, with paths from the repository's top."""
    found: dict[str, CommitEntry] = {}
    for row in said.split(b"\0"):
        about, _, path = row.partition(b"\t")
        parts = about.split()
        if len(parts) != 4 or parts[0] not in MODES or not path.startswith(prefix):
            continue
        entry = CommitEntry(MODES[parts[0]], parts[2].decode(), int(parts[3]))
        found[journal_path(path[len(prefix) :].decode("utf-8", "surrogateescape"))] = entry
    return CommitEntries(found)


BLOB_WORDS: Final[Sequence[str]] = ("cat-file", "--batch")


def contents(said: bytes) -> CommitBytes:
    """Parse the output of `BLOB_WORDS`: `NAME blob SIZE<lf>BYTES<lf>`, or `NAME missing<lf>`."""
    held: dict[str, bytes] = {}
    at = 0
    while (end := said.find(b"\n", at)) >= 0:
        parts = said[at:end].split(b" ")
        at = end + 1
        if len(parts) == 3 and parts[1] == b"blob":
            size = int(parts[2])
            held[parts[0].decode()] = said[at : at + size]
            at += size + 1
    return CommitBytes(held)


PATIENCE_S: Final = 60.0
"""Longest run of git in seconds."""

MOST_BYTES: Final = 256 << 20

MOST_AUTHOR: Final = 80

MOST_LAST: Final = 8

_MOST_LOG: Final = 16 << 20

_MOST_FILE: Final = 16 << 20
_ANY_FILE: Final = "x"
_NICENESS: Final = 10
_READ_BYTES: Final = 1 << 20
_LOOK_MS: Final = 200
_BOM: Final = b"\xef\xbb\xbf"

_COMMIT: Final = re.compile(r"[0-9a-f]{7,64}")
_LOG_LINE: Final = re.compile(rb"^([0-9a-f]{40,64}) ([0-9a-f]{40,64}) [^\n\t]*?> (\d{1,12}) [-+]\d{4}\b", re.MULTILINE)
_HEADER: Final = re.compile(rb"([0-9a-f]{40,64}) \d+ \d+(?: \d+)?")
_SHA256: Final = re.compile(rb"^\s*objectformat\s*=\s*\"?sha256", re.IGNORECASE | re.MULTILINE)

Question = CommitFile | CommitTree | CommitBlobs
Told = Callable[[CommitFileLines | CommitEntries | CommitBytes], None]


class Repository(NamedTuple):
    folder: str  # of this worktree, with HEAD and its log
    common: str  # of all worktrees, with objects and branches
    path: bytes  # of the file, from the top of the tree

    @property
    def sha256(self) -> bool:
        """True if objects are named by sha256."""
        return bool(_SHA256.search(regular_bytes(os.path.join(self.common, "config"), _MOST_FILE)))


class CommitBlame:
    """Answers questions about commits, one at a time, each by a new git process."""

    def __init__(self, root: Path, start_job: StartJob) -> None:
        self._root, self._start_job = os.fspath(root), start_job
        self._last: OrderedDict[tuple[Repository, str], CommitFileLines] = OrderedDict()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False

    def ask(self, question: Question, told: Told) -> None:
        """Answer a question on a worker thread; `told` gets the answer, empty if git fails."""

        def failed(error: Exception) -> None:
            why = plain(str(error), 200) or type(error).__name__
            told(CommitFileLines(why=why) if isinstance(question, CommitFile) else _none(question, why))

        answer = partial(self.answer, question) if isinstance(question, CommitFile) else partial(self.told, question)
        self._start_job(lambda: partial(told, answer()), "git", failed)

    def told(self, question: CommitTree | CommitBlobs) -> CommitEntries | CommitBytes:
        """Return a commit's files, or bytes of some, on the calling thread."""
        repository = find_repository(self._root, _ANY_FILE)
        if repository is None:
            return _none(question, "no_repository")
        prefix = repository.path.removesuffix(os.fsencode(_ANY_FILE))
        words = tree_words(question.commit, prefix) if isinstance(question, CommitTree) else BLOB_WORDS
        names = "\n".join(question.names).encode() + b"\n" if isinstance(question, CommitBlobs) else b""
        try:
            said = self.run(repository, words, names)
        except OSError as error:
            return _none(question, "no_git" if isinstance(error, FileNotFoundError) else "no_process")
        except TimeoutError:
            return _none(question, "timed_out")
        if said is None:
            return _none(question, "no_commit")
        return entries(said, prefix) if isinstance(question, CommitTree) else contents(said)

    def answer(self, file: CommitFile) -> CommitFileLines:
        """Return the commits of a file's lines, by git on the calling thread."""
        repository = find_repository(self._root, disk_path(file.path))
        if repository is None:
            return CommitFileLines(why="no_repository")
        own = repository.folder == git_folder(self._root)  # the journal does not know the HEAD of other repositories
        commit = (file.commit if own else "") or head_at(repository, file.at_ns) or (file.near if own else "")
        commit = commit or head_now(repository)
        if not _COMMIT.fullmatch(commit):
            return CommitFileLines(why="no_commit")
        known = self._last.get((repository, commit))  # HEAD may have had the same commit at other times
        if known is not None:
            return known
        try:
            said = self.run(repository, _blame_words(repository, commit))
        except OSError as error:
            return CommitFileLines(why="no_git" if isinstance(error, FileNotFoundError) else "no_process")
        except TimeoutError:
            return CommitFileLines(why="timed_out")
        if said is None:
            return CommitFileLines(why="no_commit")
        found = self._last[repository, commit] = parse(said)
        if len(self._last) > MOST_LAST:
            self._last.popitem(last=False)
        return found

    def close(self) -> None:
        with self._lock:
            self._closed = True
            if self._process is not None:
                self._process.kill()

    # ── the process ──

    def run(
        self,
        repository: Repository,
        words: Sequence[str | bytes],
        heard: bytes = b"",
        patience_s: float = PATIENCE_S,
    ) -> bytes | None:
        """Return git's output for the input `heard`; None if git fails, as for an unknown commit or file. Raises
        `OSError`, `TimeoutError`.
        """
        with tempfile.TemporaryDirectory(prefix="quire-git-") as scratch:
            make_scratch(scratch, repository.sha256)
            read = Path(scratch, "heard")
            read.write_bytes(heard)
            with self._lock:
                if self._closed:
                    return None
                with read.open("rb") as stdin:
                    self._process = subprocess.Popen(
                        [*_SAFE, *words],
                        cwd="/",
                        env=environment(scratch, repository, os.environ),
                        stdin=stdin,
                        stdout=subprocess.PIPE,
                        stderr=subprocess.DEVNULL,
                    )
            process = self._process
            try:
                os.setpriority(os.PRIO_PROCESS, process.pid, _NICENESS)
                said = _all_that_comes(process, time.monotonic() + patience_s)
                return said if process.wait() == 0 else None
            finally:
                with self._lock:
                    self._process = None
                process.kill()
                process.wait()


_SAFE: Final = ("git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "protocol.allow=never")


def _blame_words(repository: Repository, commit: str) -> list[str | bytes]:
    said = ["blame", "--no-textconv", "--no-progress", "--porcelain", commit, "--"]
    return ["-c", f"mailmap.blob={commit}:.mailmap", *said, repository.path]


def _none(question: CommitTree | CommitBlobs, why: str) -> CommitEntries | CommitBytes:
    return CommitEntries(why=why) if isinstance(question, CommitTree) else CommitBytes(why=why)


def _all_that_comes(process: subprocess.Popen[bytes], until_s: float) -> bytes:
    """Return all output of git. Raises `TimeoutError` if the output comes too slowly or is too large."""
    assert process.stdout is not None
    coming, found = select.poll(), bytearray()
    with process.stdout as out:
        coming.register(out.fileno(), select.POLLIN)
        while True:
            if time.monotonic() > until_s or len(found) > MOST_BYTES:
                raise TimeoutError
            if not coming.poll(_LOOK_MS):
                continue
            came = os.read(out.fileno(), _READ_BYTES)
            if not came:
                return bytes(found)
            found += came


def make_scratch(folder: str, sha256: bool) -> None:
    os.makedirs(os.path.join(folder, "refs"))
    os.makedirs(os.path.join(folder, "objects"))
    Path(folder, "HEAD").write_text("ref: refs/heads/none\n")
    said = "[core]\n\tbare = true\n\trepositoryformatversion = "
    Path(folder, "config").write_text(f"{said}1\n[extensions]\n\tobjectFormat = sha256\n" if sha256 else f"{said}0\n")


def environment(scratch: str, repository: Repository, ours: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of git, without the daemon's git variables."""
    found = {
        "PATH": ours.get("PATH", os.defpath),
        "LC_ALL": "C",
        "GIT_DIR": scratch,
        "GIT_OBJECT_DIRECTORY": os.path.join(repository.common, "objects"),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_PAGER": "cat",
    }
    shallow = os.path.join(repository.common, "shallow")
    return {**found, "GIT_SHALLOW_FILE": shallow} if os.path.isfile(shallow) else found


# ── the repository ───────────────────────────────────────────────────────────


def find_repository(root: str, path: str) -> Repository | None:
    """Return the innermost repository of a file in `root`, which may lie above `root`; None if there is none."""
    inside = os.path.join(root, path)
    for top in _folders_above(inside):
        folder = git_folder(top)
        if folder:
            common = regular_bytes(os.path.join(folder, "commondir"), _MOST_FILE).strip()
            common_folder = os.path.normpath(os.path.join(folder, os.fsdecode(common))) if common else folder
            return Repository(folder, common_folder, os.fsencode(os.path.relpath(inside, top)))
    return None


def _folders_above(path: str) -> Iterator[str]:
    while (above := os.path.dirname(path)) != path:
        yield above
        path = above


def head_at(repository: Repository, at_ns: int) -> str:
    """Return the commit that HEAD had at `at_ns`, from the log of HEAD; "" if the log is missing or too short."""
    if not at_ns:
        return ""
    log = regular_bytes(os.path.join(repository.folder, "logs", "HEAD"), _MOST_LOG)
    first, last = "", ""
    for before, after, seconds in _LOG_LINE.findall(log):
        first = first or before.decode()
        if int(seconds) * 1_000_000_000 > at_ns:
            break
        last = after.decode()
    found = last or first
    return found if found.strip("0") else ""


def head_now(repository: Repository) -> str:
    """Return HEAD's commit; "" if unreadable or none."""
    said = regular_bytes(os.path.join(repository.folder, "HEAD"), _MOST_FILE).strip()
    if not said.startswith(b"ref: "):
        return said.decode("ascii", "replace")
    name = os.fsdecode(said[5:].strip())
    if not name.startswith("refs/") or ".." in name.split("/"):
        return ""
    for folder in (repository.folder, repository.common):
        loose = regular_bytes(os.path.join(folder, name), _MOST_FILE).strip()
        if loose:
            return loose.decode("ascii", "replace")
    packed = regular_bytes(os.path.join(repository.common, "packed-refs"), _MOST_FILE)
    found = re.search(rb"^([0-9a-f]{40,64}) " + re.escape(os.fsencode(name)) + rb"$", packed, re.MULTILINE)
    return found[1].decode() if found else ""


# ── what it says ─────────────────────────────────────────────────────────────


def parse(said: bytes) -> CommitFileLines:
    """Parse git's porcelain format of blame (git-blame(1))."""
    commits: dict[bytes, dict[bytes, bytes]] = {}
    order: dict[bytes, int] = {}
    lines: list[bytes] = []
    numbers: list[int] = []
    now = b""
    for row in said.split(b"\n"):
        if row.startswith(b"\t"):
            content = row[1:].removeprefix(_BOM) if not lines else row[1:]
            parts = content.splitlines() or [b""]  # git splits lines at LF alone
            lines += parts
            numbers += [order.setdefault(now, len(order))] * len(parts)
        elif header := _HEADER.fullmatch(row):
            now = header[1]
            commits.setdefault(now, {})
        elif now:
            name, _, value = row.partition(b" ")
            commits[now].setdefault(name, value)
    body = b"".join(line + b"\n" for line in lines)
    return CommitFileLines(body, tuple(_commit(name, commits[name]) for name in order), tuple(numbers))


def _commit(name: bytes, told: Mapping[bytes, bytes]) -> CommitLine:
    author = told.get(b"author", b"").decode("utf-8", "replace")
    return CommitLine(name.decode(), plain(author, MOST_AUTHOR), _moment(told))


def _moment(told: Mapping[bytes, bytes]) -> str:
    """Return the author's time and zone (ISO 8601); "" if invalid."""
    zone = re.fullmatch(rb"([-+])(\d\d)(\d\d)", told.get(b"author-tz", b""))
    ahead = timedelta(hours=int(zone[2]), minutes=int(zone[3])) if zone else timedelta()
    try:
        away = timezone(-ahead if zone and zone[1] == b"-" else ahead) if ahead else UTC
        return datetime.fromtimestamp(int(told.get(b"author-time", b"")), away).isoformat()
    except (ValueError, OverflowError, OSError):
        return ""
