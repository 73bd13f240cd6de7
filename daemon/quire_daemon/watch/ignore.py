"""Ignore rules: the paths of the workspace that the journal leaves out.

The rules are git's, walked from the top: an ignored folder is never entered, so no `!` pattern can include a path
below. pathspec translates patterns; this module decides each path as `git check-ignore` does. Precedence, strongest
first, and within one source the last matching pattern:

1. `.git` and `.quire`, at any depth
2. `capture.ignore` of the settings
3. `.quireignore`, of the deepest folder first (may include what `.gitignore` ignores)
4. `.gitignore`, of the deepest folder first
5. `.git/info/exclude`, also if `.git` is the file of a linked worktree

The user's global excludes file and git's index are not read: a tracked file that matches a pattern is ignored. Edits
through the daemon are journaled anyway.
"""

from __future__ import annotations

import fnmatch
import os
import re
import stat
import threading
from collections.abc import Callable, Container, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import msgspec
from pathspec.patterns.gitignore import GitIgnorePatternError
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from quire_daemon.config import linear
from quire_daemon.watch.crawl import GIT_RULES, OUR_LIMITS
from quire_daemon.workspace import Beneath, can_openat2
from quire_journal.workspaces import git_folder

ALWAYS: Final = frozenset({".git", ".quire"})
"""Names that are always ignored, as folders or files (a worktree's `.git`)."""

OWN_RULES: Final = ".quireignore"

_MOST_RULE_BYTES: Final = 1024 * 1024  # a longer file is cut off
_SEPARATOR: Final = "/"


class _Pattern(msgspec.Struct, frozen=True):
    """One rule: `regex` must match the whole name, or the whole path below the rule file."""

    regex: re.Pattern[str]
    ignores: bool  # False: a `!` pattern
    by_name: bool


class _Rules(msgspec.Struct, frozen=True):
    """Patterns of one file, last first, and two combined patterns that reject most paths at once."""

    patterns: tuple[_Pattern, ...]
    any_name: re.Pattern[str] | None
    any_path: re.Pattern[str] | None

    def decide(self, name: str, path: str) -> bool | None:
        """Return True if the last matching pattern ignores the path, False if it includes the path; None without a
        match. Both texts have one character for each byte on disk; names of folders end with "/".
        """
        by_name = self.any_name is not None and self.any_name.fullmatch(name) is not None
        by_path = self.any_path is not None and self.any_path.fullmatch(path) is not None
        if by_name or by_path:
            for pattern in self.patterns:
                if pattern.regex.fullmatch(name if pattern.by_name else path):
                    return pattern.ignores
        return None


class _Level(msgspec.Struct, frozen=True):
    """Rules inside a folder, each with the bytes of its folder's path and slash."""

    ignored: bool
    git: tuple[tuple[int, _Rules], ...] = ()  # the deepest first
    own: tuple[tuple[int, _Rules], ...] = ()
    all: tuple[tuple[int, _Rules], ...] = ()  # in order of precedence


_Signature = tuple[int, int, int, int]  # of a rule file: dev, inode, size, ctime_ns; all 0 if it is missing


class Ignore:
    """Ignore rules of one workspace, each file read when first needed. Thread-safe.

    Unreadable rule files, and links in their place, count as empty, as in git.
    """

    def __init__(self, root: Path, patterns: Sequence[str] = (), secret_globs: Sequence[str] = ()) -> None:
        self._root = root
        self._exclude = ""  # path of git's exclude file
        self._levels: dict[str, _Level] = {}
        self._signatures: dict[str, _Signature] = {}  # by path as the system opens it
        self._governed: dict[str, str] = {}  # the same paths → the folder that they govern
        self._lock = threading.Lock()
        self.tune(patterns, secret_globs)

    @property
    def at_hand(self) -> int:
        return len(self._levels)

    def tune(self, patterns: Sequence[str], secret_globs: Sequence[str]) -> None:
        self._settings = _compile(_as_bytes(pattern) for pattern in patterns)
        self._secret = _any_glob(secret_globs)
        self.forget()

    def ignored(self, path: str, folder: bool) -> bool:
        """True if the journal leaves out `path` (workspace-relative). "" is never ignored."""
        if not path:
            return False
        parent, _, name = path.rpartition(_SEPARATOR)
        level = self._levels.get(parent) or self._load(parent)
        return level.ignored or _decide(level, name, path, folder)

    def secret(self, path: str) -> bool:
        """True if `path`, or its name, matches `capture.secret_globs`, so that only its hash may be recorded.

        Case-insensitive: `.ENV` is as safe as `.env`.
        """
        if self._secret is None:
            return False
        name = path.rpartition(_SEPARATOR)[2]
        return self._secret.match(name) is not None or self._secret.match(path) is not None

    def governs(self, path: str) -> str | None:
        """Return the folder that a rule file governs; None for other files."""
        parent, _, name = path.rpartition(_SEPARATOR)
        return parent if name in (GIT_RULES, OWN_RULES) else None

    def forget(self, folder: str = "") -> None:
        """Unload rules of `folder` and below, after one changed or a folder moved."""
        with self._lock:
            for known in [f for f in self._levels if _within(f, folder)]:
                del self._levels[known]
            for file in [f for f, governed in self._governed.items() if _within(governed, folder)]:
                del self._governed[file], self._signatures[file]

    def keep(self, folders: Container[str]) -> None:
        with self._lock:
            for gone in [f for f in self._levels if f and f not in folders]:
                del self._levels[gone]
            for file in [f for f, governed in self._governed.items() if governed and governed not in folders]:
                del self._governed[file], self._signatures[file]

    def recheck(self) -> list[str]:
        """Unload and return the folders whose rule files changed since they were read. Events do not suffice: they may
        be lost, and nothing watches `.git/info/exclude`.
        """
        with self._lock:
            files = list(self._governed.items())
        changed = {folder for file, folder in files if _signature(file) != self._signatures.get(file)}
        for folder in changed:
            self.forget(folder)
        return sorted(changed)

    def exclude_changed(self) -> bool:
        """True if `.git/info/exclude`, which no watch covers, has changed since it was read."""
        known = self._signatures.get(self._exclude)
        return known is not None and _signature(self._exclude) != known

    def _load(self, folder: str) -> _Level:
        with self._lock:
            return self._level(folder)

    def _level(self, folder: str) -> _Level:
        missing: list[str] = []
        while (level := self._levels.get(folder)) is None:
            missing.append(folder)
            if not folder:
                break
            folder = folder.rpartition(_SEPARATOR)[0]
        for name in reversed(missing):
            level = self._below(level, name) if level is not None else self._top()
            self._levels[name] = level
        assert level is not None  # the loop ends with a level, or with the root in `missing`
        return level

    def _top(self) -> _Level:
        git = self._rules_in("", GIT_RULES) + self._read_exclude()
        return self._complete(git, self._rules_in("", OWN_RULES))

    def _below(self, above: _Level, folder: str) -> _Level:
        name = folder.rpartition(_SEPARATOR)[2]
        if above.ignored or _decide(above, name, folder, folder=True):
            return _Level(ignored=True)
        git, own = self._rules_in(folder, GIT_RULES), self._rules_in(folder, OWN_RULES)
        if not git and not own:
            return above
        return self._complete(git + above.git, own + above.own)

    def _complete(self, git: tuple[tuple[int, _Rules], ...], own: tuple[tuple[int, _Rules], ...]) -> _Level:
        settings = ((0, self._settings),) if self._settings.patterns else ()
        return _Level(ignored=False, git=git, own=own, all=settings + own + git)

    def _read_exclude(self) -> tuple[tuple[int, _Rules], ...]:
        self._exclude = file = _exclude_file(os.fspath(self._root))
        return self._read(file, "", 0, partial(_bytes_of, file))

    def _rules_in(self, folder: str, name: str) -> tuple[tuple[int, _Rules], ...]:
        file = os.path.join(os.fspath(self._root), folder, name)
        depth = len(os.fsencode(folder)) + 1 if folder else 0
        bytes_of = partial(_bytes_within, os.fspath(self._root), os.path.join(folder, name))
        return self._read(file, folder, depth, bytes_of)

    def _read(
        self, file: str, folder: str, depth: int, bytes_of: Callable[[], bytes]
    ) -> tuple[tuple[int, _Rules], ...]:
        # The signature precedes the bytes, so that the next recheck sees a change between them.
        self._governed[file] = folder
        signature = self._signatures[file] = _signature(file)
        rules = _compile(_lines(bytes_of() if signature != _NO_FILE else b""))
        return ((depth, rules),) if rules.patterns else ()


def _any_glob(globs: Sequence[str]) -> re.Pattern[str] | None:
    parts = [f"(?:{fnmatch.translate(glob)})" for glob in globs]
    return re.compile("|".join(parts), re.IGNORECASE) if parts else None


def _decide(level: _Level, name: str, path: str, folder: bool) -> bool:
    if name in ALWAYS:
        return True
    if not level.all:
        return False
    if not path.isascii():
        name, path = _as_bytes(name), _as_bytes(path)
    if folder:
        name, path = name + _SEPARATOR, path + _SEPARATOR
    for depth, rules in level.all:
        decision = rules.decide(name, path[depth:] if depth else path)
        if decision is not None:
            return decision
    return False


def _as_bytes(text: str) -> str:
    """Return `text` with one character for each byte on disk, because git's `?` and sets match bytes."""
    return os.fsencode(text).decode("latin-1")


def _within(path: str, folder: str) -> bool:
    return not folder or path == folder or path.startswith(folder + _SEPARATOR)


# ── reading rule files ───────────────────────────────────────────────────────


def _exclude_file(root: str) -> str:
    git = git_folder(root) or os.path.join(root, ".git")
    common = _bytes_of(os.path.join(git, "commondir")).strip()  # a linked worktree uses its repository's
    return os.path.join(git, os.fsdecode(common), "info", "exclude")


_NO_FILE: Final = (0, 0, 0, 0)


def _bytes_within(root: str, path: str) -> bytes:
    try:
        top = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in OUR_LIMITS:
            raise
        return b""
    try:
        return _bytes_of(path, Beneath(top, can_openat2(top)))
    finally:
        os.close(top)


def _signature(file: str) -> _Signature:
    try:
        found = os.stat(file, follow_symlinks=False)
    except OSError:
        return _NO_FILE
    return (found.st_dev, found.st_ino, found.st_size, found.st_ctime_ns)


def _bytes_of(file: str, beneath: Beneath | None = None) -> bytes:
    """Return at most `_MOST_RULE_BYTES` of a regular file; b"" for anything else.

    Raises OSError if descriptors run out: without rules, ignored files would be journaled.
    """
    try:
        # Never waits (FIFO), and like git never follows a link, whose target may be anywhere.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        fd = os.open(file, flags) if beneath is None else beneath.open(file, flags)
    except OSError as error:
        if error.errno in OUR_LIMITS:
            raise
        return b""
    try:
        return os.read(fd, _MOST_RULE_BYTES) if stat.S_ISREG(os.fstat(fd).st_mode) else b""
    except OSError:
        return b""
    finally:
        os.close(fd)


def _lines(text: bytes) -> list[str]:
    """Split a rule file as git: at LF, one CR before it dropped, a UTF-8 byte order mark skipped."""
    lines = text.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    return [line.removesuffix(b"\r").decode("latin-1") for line in lines]


# ── patterns ─────────────────────────────────────────────────────────────────


_FLAGS: Final = re.DOTALL | re.ASCII


def _compile(lines: Iterable[str]) -> _Rules:
    patterns = [pattern for line in lines if (pattern := _pattern(line)) is not None]
    patterns.reverse()
    return _Rules(
        tuple(patterns),
        _alternation(p.regex.pattern for p in patterns if p.by_name),
        _alternation(p.regex.pattern for p in patterns if not p.by_name),
    )


def _alternation(sources: Iterable[str]) -> re.Pattern[str] | None:
    joined = "|".join(f"(?:{source})" for source in dict.fromkeys(sources))
    return re.compile(joined, _FLAGS) if joined else None


def _pattern(line: str) -> _Pattern | None:
    line = _trimmed(line)
    if not line or line.startswith("#"):
        return None
    held: list[str] = []
    prepared = _open_ended(_hold_back(line, held))
    if prepared is None:
        return None
    try:
        source, ignores = GitIgnoreSpecPattern.pattern_to_regex(prepared)
    except GitIgnorePatternError:
        return None
    if source is None or ignores is None:
        return None
    source, by_name = _whole(linear(source))
    for number, part in enumerate(held):
        source = source.replace(_placeholder(number), part)
    try:
        return _Pattern(re.compile(source, _FLAGS), ignores, by_name)
    except re.error:
        return None  # a reversed range such as [z-a], which matches nothing in git


def _trimmed(line: str) -> str:
    kept = line.rstrip(" ")
    backslashes = len(kept) - len(kept.rstrip("\\"))
    return kept + " " if backslashes % 2 and kept != line else kept


def _placeholder(number: int) -> str:
    """Return a character that no pattern contains, as the characters of patterns stand for bytes."""
    return chr(0xD800 + number)


def _hold_back(line: str, held: list[str]) -> str | None:
    """Replace parts that pathspec reads differently (brackets, white space) by placeholders, and append their regexes
    to `held`. Returns None if git discards the pattern: an unclosed bracket, a backslash at the end.
    """
    kept: list[str] = []

    def hold(regex: str) -> None:
        kept.append(_placeholder(len(held)))
        held.append(regex)

    at = 0
    while at < len(line):
        char = line[at]
        if char == "\\":
            if at + 1 == len(line):
                return None
            at += 1
            if line[at].isspace():
                hold(re.escape(line[at]))
            else:
                kept.append("\\" + line[at])
        elif char == "[":
            end, regex = _bracket(line, at + 1)
            if not end:
                return None
            hold(regex)
            at = end - 1
        elif char.isspace():
            hold(re.escape(char))
        else:
            kept.append(char)
        at += 1
    return "".join(kept) if len(held) < 1024 else None


_CLASSES: Final = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": r" \t",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\s",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}


def _bracket(line: str, at: int) -> tuple[int, str]:
    """Return (index after the bracket expression whose inside begins at `at`, its regex); (0, ""): it is not closed.

    As in git's wildmatch.c, `!` or `^` negates, a first `]` is itself, a backslash escapes, and no set matches "/".
    """
    negated = line[at : at + 1] in ("!", "^")
    at += negated
    first, members = at, ""
    while at < len(line) and (line[at] != "]" or at == first):
        name = re.match(r"\[:([a-z]*):\]", line[at:])
        if name:
            if name[1] not in _CLASSES:
                return 0, ""
            members, at = members + _CLASSES[name[1]], at + name.end()
            continue
        low, at = _member(line, at)
        if line[at : at + 1] == "-" and line[at + 1 : at + 2] not in ("]", ""):
            high, at = _member(line, at + 1)
            members += f"{re.escape(low)}-{re.escape(high)}" if low <= high else ""
        else:
            members += re.escape(low)
    if at >= len(line):
        return 0, ""
    inside = f"[^{members}]" if negated and members else f"[{members}]" if members else "." if negated else "(?!)"
    return at + 1, f"(?!/){inside}"


def _member(line: str, at: int) -> tuple[str, int]:
    if line[at] == "\\" and at + 1 < len(line):
        at += 1
    return line[at], at + 1


def _open_ended(line: str | None) -> str | None:
    """Return `line` with stars in pathspec's syntax; None for None.

    A name of several stars becomes `**`. A final `**` gets a last name, as pathspec would match the folder before.
    """
    if line is None:
        return None
    sign, body = ("!", line[1:]) if line.startswith("!") else ("", line)
    names = ["**" if len(name) > 2 and not name.strip("*") else name for name in body.split("/")]
    end = "/" if names[-1] == "" and len(names) > 1 else ""
    if end:
        names.pop()
    if names == ["**"]:
        names = ["*"]
    elif names[-1] == "**":
        names.append("*")
    return sign + "/".join(names) + end


_ANY_FOLDERS: Final = "(?:.+/)?"


def _whole(source: str) -> tuple[str, bool]:
    """Return pathspec's regex `source`, made for a prefix, as one for a whole name or path, and True if it is for a
    name alone.
    """
    if source == ".":  # pathspec's short form of "*"
        return ".+", True
    source = source.removeprefix("^").replace("(?:(?P<ps_d>/)|$)", "/?").replace("(?P<ps_d>/)", "/")
    if source == "/":  # pathspec's short form of "*/"
        return ".+/", True
    name = source.removeprefix(_ANY_FOLDERS)
    plain = name.removesuffix("/?").removesuffix("/")
    by_name = name != source and "/" not in plain.replace("[^/]", "")
    return (name, True) if by_name else (source, False)
