"""Safety check: signs that an edit broke a file.

A result is suspicious if its brackets were balanced before and are not now, or if its first or last new line repeats
the unchanged line next to it. Prose, data files and already broken files are not checked. An installed tree-sitter
grammar (`syntax`) judges first.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from quire_journal.model import cached_property
from quire_journal.text import Splice, Text, is_poor, shown

JUDGED_BYTES: Final = 1024 * 1024
"""Maximum size in bytes of a file whose brackets are checked."""

Suspicion: TypeAlias = dict[str, Any]
"""A warning: `{type, message, line?}`, with the line (from 1) of the edited file."""


class Language(msgspec.Struct, frozen=True, dict=True):
    """Comments, strings and brackets of a programming language."""

    brackets: bytes
    line_comment: tuple[bytes, ...] = ()
    block_comment: tuple[bytes, bytes] | None = None
    long_strings: tuple[bytes, ...] = ()  # delimiters of multi-line strings
    quotes: bytes = b"\"'"  # delimiters of single-line strings
    templates: bool = False  # `…${…}…`
    regex: bool = False  # /…/ where an operand can stand
    short_quote: bool = False  # '…' holds one character; otherwise the quote means something else
    apostrophes: bool = False  # a single quote behind a letter is an apostrophe

    @cached_property
    def tokens(self) -> tuple[re.Pattern[bytes], dict[bytes, Callable[[_Reader, bytes], None]]]:
        """Return a regular expression for comments, strings and brackets, and mark → method that reads on from it."""
        acts: dict[bytes, Callable[[_Reader, bytes], None]] = dict.fromkeys(self.line_comment, _Reader.line_comment)
        if self.block_comment:
            acts[self.block_comment[0]] = _Reader.block_comment
        acts.update(dict.fromkeys(self.long_strings, _Reader.long_string))
        acts.update((bytes([quote]), _Reader.quote) for quote in self.quotes)
        if self.templates:
            acts[b"`"] = _Reader.template
        if self.regex:
            acts[b"/"] = _Reader.slash
        acts.update((bytes([bracket]), _Reader.bracket) for bracket in self.brackets)
        return re.compile(b"|".join([*map(re.escape, self.long_strings), *self._whole, *map(re.escape, acts)])), acts

    @property
    def _whole(self) -> list[bytes]:
        marks = (*self.line_comment, *(self.block_comment or ()), *self.over_lines, b"/" if self.regex else b"")
        special = re.escape(bytes({*self.brackets, *self.quotes, *b"\\", *(m[0] for m in marks if m)}))
        pairs = [pair for pair in (b"()", b"[]", b"{}") if pair in self.brackets]
        strings = [rb'"[^"\\\n]*"'] if b'"' in self.quotes else []
        return strings + [re.escape(o) + b"[^" + special + b"]*" + re.escape(c) for o, c in map(_each, pairs)]

    @property
    def over_lines(self) -> tuple[bytes, ...]:
        return (*self.long_strings, b"`") if self.templates else self.long_strings


_ALL: Final = b"()[]{}"
_C: Final = Language(_ALL, (b"//",), (b"/*", b"*/"), short_quote=True)
_PYTHON: Final = Language(_ALL, (b"#",), long_strings=(b'"""', b"'''"))
_JS: Final = Language(_ALL, (b"//",), (b"/*", b"*/"), templates=True, regex=True, apostrophes=True)
_GO: Final = Language(_ALL, (b"//",), (b"/*", b"*/"), long_strings=(b"`",), short_quote=True)
_TRIPLE: Final = Language(_ALL, (b"//",), (b"/*", b"*/"), long_strings=(b'"""',), short_quote=True)
_CSS: Final = Language(_ALL, (), (b"/*", b"*/"))
_SCSS: Final = Language(_ALL, (b"//",), (b"/*", b"*/"))
_JSON: Final = Language(_ALL, (b"//",), (b"/*", b"*/"), quotes=b'"')
_TOML: Final = Language(b"[]{}", (b"#",), long_strings=(b'"""', b"'''"))
_UNKNOWN: Final = Language(b"{}", apostrophes=True)

_BY_SUFFIX: Final[dict[str, Language | None]] = {
    **dict.fromkeys((".py", ".pyi", ".pyx", ".bzl", ".star"), _PYTHON),
    **dict.fromkeys((".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts"), _JS),
    **dict.fromkeys((".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx", ".m", ".mm", ".rs", ".proto"), _C),
    **dict.fromkeys((".java", ".kt", ".kts", ".scala", ".swift", ".cs", ".dart", ".groovy", ".gradle"), _TRIPLE),
    ".go": _GO,
    ".css": _CSS,
    **dict.fromkeys((".scss", ".less"), _SCSS),
    **dict.fromkeys((".json", ".jsonc", ".json5"), _JSON),
    ".toml": _TOML,
    **dict.fromkeys((".md", ".markdown", ".mdx", ".rst", ".adoc", ".org", ".csv", ".tsv", ".log"), None),
}


Faults: TypeAlias = Callable[[], Sequence[tuple[int, str]] | None]
"""Returns syntax errors of an edit as (line, message); () for a file that did not parse before, None if it was not
parsed, as without a grammar. May block; call it once.
"""

Grammars: TypeAlias = Callable[[str, Text, Text], Faults]
"""Function (path, text before, text after) → `Faults`; parsing starts in another process."""


def no_faults() -> None:
    """Return None, which means that no parser has judged the edit."""


def no_grammars(path: str, before: Text, after: Text) -> Faults:
    return no_faults


def check(
    path: str, before: Text, after: Text, splices: Sequence[Splice], faults_of: Faults = no_faults
) -> list[Suspicion]:
    """Return warnings about an edit that replaces the lines `splices` of `before`. `faults_of` returns the parser's
    errors; None without a parser.

    Brackets are counted unless the parser finds no error. Both kinds of error are reported, as the message about
    brackets is plainer.
    """
    language = _BY_SUFFIX.get(posixpath.splitext(path)[1].lower(), _UNKNOWN)
    if language is None:
        return []
    faults = faults_of()
    unbalanced = [] if faults is not None and not faults else _unbalanced(language, before, after, splices)
    broken = [{"type": "syntax", "message": message, "line": line} for line, message in faults or ()]
    return [*unbalanced, *broken, *_duplicates(before, after, splices)]


# ── brackets ─────────────────────────────────────────────────────────────────


def _unbalanced(language: Language, before: Text, after: Text, splices: Sequence[Splice]) -> list[Suspicion]:
    if max(len(before.data), len(after.data)) > JUDGED_BYTES or _keeps_balance(language, before, splices):
        return []
    if imbalance(language, before) is not None:
        return []
    found = imbalance(language, after)
    if found is None:
        return []
    line, message = found
    return [{"type": "unbalanced", "message": message, "line": line}]


def imbalance(language: Language, text: Text) -> tuple[int, str] | None:
    """Return (line from 1, message) of the first bracket without a partner; None if all have one."""
    slot = text.__dict__.setdefault("imbalance", {})  # cached with the text, which the next edit checks again
    if language not in slot:
        data = text.slice(0, len(text))
        slot[language] = _Reader(language, data).read().fault
    found: tuple[int, str] | None = slot[language]
    return found


def _keeps_balance(language: Language, before: Text, splices: Sequence[Splice]) -> bool:
    """True if every splice replaces balanced lines by balanced lines, without multi-line comments or strings."""
    if sum(s.stop - s.start for s in splices) >= len(before.lines):
        return False
    return all(
        _self_contained(language, b"\n".join(before.lines[s.start : s.stop]))
        and _self_contained(language, b"\n".join(s.lines))
        for s in splices
    )


def _self_contained(language: Language, piece: bytes) -> bool:
    marks = (*language.over_lines, *(language.block_comment or ()))
    if any(mark in piece for mark in marks) or piece.endswith(b"\\"):
        return False
    read = _Reader(language, piece).read()
    return read.fault is None and not read.odd


_CLOSES: Final = {b")": b"(", b"]": b"[", b"}": b"{"}
_OPENS: Final = frozenset(_CLOSES.values())
_STRING: Final = {
    b'"': re.compile(rb'"[^"\\\n]*(?:\\.[^"\\\n]*)*"', re.DOTALL),
    b"'": re.compile(rb"'[^'\\\n]*(?:\\.[^'\\\n]*)*'", re.DOTALL),
}
_CHARACTER: Final = re.compile(rb"'(?:\\'|\\[^\n']{1,12}|[^'\\\n\x80-\xff]|[\xc0-\xff][\x80-\xbf]{1,3})'")
_REGEX: Final = re.compile(rb"/(?![*/>])(?:[^/\\\[\n]|\\[^\n]|\[(?:[^\]\\\n]|\\[^\n])*\])+/")
_BEFORE_REGEX: Final = re.compile(rb"(?:^|[(,=:\[!&|?{};+\-*%>~^\n]|\b(?:return|typeof|case|in|of|do|else|void))\s*$")
_TEMPLATE_STOP: Final = re.compile(rb"(?<!\\)(?:\\\\)*(`|\$\{)")
_WORD: Final = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_LOOK_BACK: Final = 32


class _Reader:
    def __init__(self, language: Language, data: bytes) -> None:
        self.language, self.data, self.at = language, data, 0
        self.fault: tuple[int, str] | None = None
        self.odd = False  # a quote or slash was ambiguous
        self._open: list[tuple[bytes, int]] = []  # brackets; b"${" for a template that waits for its `}`
        self._alone: dict[bytes, int] = {}  # quote → offset up to which it has no partner

    def read(self) -> _Reader:
        token, acts = self.language.tokens
        search, data, opened = token.search, self.data, self._open
        while self.fault is None and (found := search(data, self.at)) is not None:
            mark, self.at = found.group(), found.start()
            if mark not in acts:
                self.at = found.end()
            elif mark in _OPENS:  # the frequent case of `bracket`, without the call
                opened.append((mark, self.at))
                self.at += 1
            elif opened and opened[-1][0] == _CLOSES.get(mark):
                opened.pop()
                self.at += 1
            else:
                acts[mark](self, mark)
        if self.fault is None and self._open:
            mark, at = self._open[-1]
            self._fail(at, f"`{mark.decode()}` is never closed")
        return self

    def bracket(self, mark: bytes) -> None:
        """Read a closing bracket that does not match: `}` of `${…}` continues a template string; else record an
        error.
        """
        start, self.at = self.at, self.at + 1
        if not self._open:
            self._fail(start, f"`{mark.decode()}` closes nothing")
        elif mark == b"}" and self._open[-1][0] == b"${":
            self._open.pop()
            self._inside_template(start)
        else:
            was, at = self._open[-1]
            what = f"`{mark.decode()}` stands where the `{was.decode()}` of line {self._line(at)} should be closed"
            self._fail(start, what)

    def line_comment(self, mark: bytes) -> None:
        self.at = self._end_of_line(self.at)

    def block_comment(self, mark: bytes) -> None:
        assert self.language.block_comment
        end = self.language.block_comment[1]
        self._pass_over(mark, self.data.find(end, self.at + len(mark)), end)

    def long_string(self, mark: bytes) -> None:
        found = self.data.find(mark, self.at + len(mark))
        while found > 0 and mark != b"`" and _is_escaped(self.data, found):
            found = self.data.find(mark, found + 1)
        self._pass_over(mark, found, mark)

    def quote(self, mark: bytes) -> None:
        start = self.at
        self.at += 1
        apostrophe = mark == b"'" and self.language.apostrophes and start > 0 and self.data[start - 1] in _WORD
        short = mark == b"'" and self.language.short_quote
        found = None
        if not apostrophe and start >= self._alone.get(mark, 0):
            found = (_CHARACTER if short else _STRING[mark]).match(self.data, start)
        if found is not None:
            self.at = found.end()
        else:
            self.odd = True
            if not apostrophe and not short:
                self._alone[mark] = self._end_of_line(start)

    def template(self, mark: bytes) -> None:
        self._inside_template(self.at)

    def slash(self, mark: bytes) -> None:
        start = self.at
        self.at += 1
        operand = _BEFORE_REGEX.search(self.data[max(start - _LOOK_BACK, 0) : start])
        if operand and start >= self._alone.get(mark, 0):
            found = _REGEX.match(self.data, start)
            if found is not None:
                self.at = found.end()
            else:
                self._alone[mark] = self._end_of_line(start)

    def _inside_template(self, start: int) -> None:
        found = _TEMPLATE_STOP.search(self.data, start + 1)
        if found is None:
            self._fail(start, "The template here is never closed")
            return
        self.at = found.end()
        if found.group(1) == b"${":
            self._open.append((b"${", found.start(1)))

    def _pass_over(self, mark: bytes, end: int, closing: bytes) -> None:
        if end < 0:
            self._fail(self.at, f"What `{mark.decode()}` begins is never closed")
        else:
            self.at = end + len(closing)

    def _fail(self, at: int, what: str) -> None:
        self.fault = self._line(at), f"{what} (line {self._line(at)})."

    def _line(self, at: int) -> int:
        return self.data.count(b"\n", 0, at) + 1

    def _end_of_line(self, at: int) -> int:
        end = self.data.find(b"\n", at)
        return len(self.data) if end < 0 else end


def _each(pair: bytes) -> tuple[bytes, bytes]:
    return pair[:1], pair[1:]


def _is_escaped(data: bytes, at: int) -> bool:
    first = at
    while first > 0 and data[first - 1] == 0x5C:
        first -= 1
    return (at - first) % 2 == 1


# ── repeated lines ───────────────────────────────────────────────────────────


def _duplicates(before: Text, after: Text, splices: Sequence[Splice]) -> list[Suspicion]:
    """Warn about a first or last new line equal to the unchanged line next to it, unless the old line was, too."""
    warnings: list[Suspicion] = []
    moved = 0
    for start, stop, lines in _apart(splices):
        first, last = start + moved, start + moved + len(lines) - 1
        moved += len(lines) - (stop - start)
        if not lines:
            continue
        head = before.lines[start] if start < stop else None  # the old line next to the neighbour
        tail = before.lines[stop - 1] if start < stop else None
        if start > 0 and before.lines[start - 1] == lines[0] != head:
            warnings += _repeated(after, first, "before")
        elif stop < len(before) and before.lines[stop] == lines[-1] != tail:
            warnings += _repeated(after, last, "after")
    return warnings


def _repeated(after: Text, at: int, where: str) -> list[Suspicion]:
    line = after.lines[at]
    if is_poor(line):
        return []
    message = f"Line {at + 1} repeats the line {where} it: {shown(line).strip()[:80]!r}"
    return [{"type": "duplicate_line", "message": message, "line": at + 1}]


def _apart(splices: Sequence[Splice]) -> Iterator[tuple[int, int, list[bytes]]]:
    start, stop, lines = 0, -1, list[bytes]()
    for s in splices:
        if s.start > stop:
            if stop >= 0:
                yield start, stop, lines
            start, lines = s.start, []
        stop = s.stop
        lines += s.lines
    if stop >= 0:
        yield start, stop, lines
