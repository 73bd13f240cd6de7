"""Programs that a command line runs, with their arguments, folders and redirections. Pure.

The line is parsed once, as if every branch were taken and each loop ran once with all its values. Text that only the
shell can expand is `OPEN`.
"""

from __future__ import annotations

import itertools
import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from quire_daemon.tools.evidence.shell_lexer import OPEN, REDIRECTIONS, Operator, Word, lexed

LISTED: Final = "\x03"
"""Prefix of a word that means the paths in a listing of the path after it."""

OF_NAMES: Final = "\x04"
"""Separator before the glob of listed names in a word with `LISTED`."""

TOP: Final = "\x05"
"""Prefix that means the top of the checkout."""

MOST_VALUES: Final = 64
"""Maximum number of values of a word; with more it is `OPEN`."""

MOST_BRACES: Final = 8
"""Maximum number of brace expressions expanded in a word."""

MOST_DEEP: Final = 4
"""Maximum number of levels of nested command lines."""

MOST_BYTES: Final = 32_768
"""Maximum number of characters of a command line that are parsed."""

_SKIPPED: Final = frozenset(
    {"if", "then", "elif", "else", "fi", "do", "done", "while", "until", "!", "{", "}", "time", "coproc"}
)
_WRITING: Final = frozenset({">", ">>", ">|", "<>", "&>", "&>>", ">&"})
_ASSIGNED: Final = re.compile(r"([A-Za-z_]\w*)\+?=(.*)", re.DOTALL)
_PARAMETER: Final = re.compile(r"[A-Za-z_]\w*")
_BRACES: Final = re.compile(r"([^{}]*)\{([^{}]*,[^{}]*|-?\d+\.\.-?\d+)\}(.*)", re.DOTALL)
_DECLARING: Final = frozenset({"export", "local", "declare", "readonly", "typeset"})


class Invocation(NamedTuple):
    argv: tuple[str, ...]  # a word with several values is repeated; unknown text is `OPEN`
    folder: str  # working folder: relative to the command line's, absolute, or `OPEN`
    writes: tuple[str, ...] = ()  # files overwritten by its output
    appends: tuple[str, ...] = ()  # files that its output is appended to
    inputs: tuple[str, ...] = ()  # here-documents
    upstream: tuple[Invocation, ...] = ()  # earlier programs of its pipeline


Listing = Callable[[Invocation], Sequence[str]]
"""Program → the words for its output, if that is a list of paths (`LISTED`)."""


def invocations(text: str, listing: Listing, folder: str = "", depth: int = 0) -> list[Invocation]:
    if depth > MOST_DEEP:
        return []
    return _Reading(text[:MOST_BYTES], listing, folder, depth).all()


class _Reading:
    def __init__(self, text: str, listing: Listing, folder: str, depth: int) -> None:
        self._tokens: list[Word | Operator] = lexed(text)
        self._listing, self._folder, self._depth = listing, folder, depth
        self._at = 0
        self._values: dict[str, list[str]] = {"PWD": ["."], "HOME": ["~"]}
        self._words: list[Word] = []
        self._writes: list[str] = []
        self._appends: list[str] = []
        self._inputs: list[str] = []
        self._pipe: list[Invocation] = []
        self._above: list[str] = []  # folders of the enclosing subshells
        self._cases = 0
        self._in_pattern = False  # in a pattern of a `case`
        self._found: list[Invocation] = []

    def all(self) -> list[Invocation]:
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            self._at += 1
            if isinstance(token, Operator):
                self._take_operator(token.text)
            elif not self._in_pattern:
                self._take_word(token)
            elif token.text == "esac":
                self._end_case()
        self._finish()
        return self._found

    # ── tokens ──

    def _take_operator(self, text: str) -> None:
        if self._in_pattern:
            self._in_pattern = text != ")"
        elif text in REDIRECTIONS:
            self._redirect(text)
        elif text == "(":
            self._open()
        elif text == ")":
            self._finish()
            if self._above:
                self._folder = self._above.pop()
        elif text in ("|", "|&"):
            self._finish(piped=True)
        elif text != "\n" or self._words or self._writes or self._appends:  # a pipe may continue on the next line
            self._finish()
            self._in_pattern = self._cases > 0 and text in (";;", ";&", ";;&")

    def _redirect(self, operator: str) -> None:
        word = self._next_word()
        if word is None:
            return
        if word.body is not None:
            self._inputs.append(word.body)
        elif operator == "<<<":
            self._inputs += self._expanded(word)
        elif operator in _WRITING and not (operator == ">&" and (word.text.isdigit() or word.text == "-")):
            into = self._appends if operator in (">>", "&>>") else self._writes
            into += self._expanded(word)

    def _open(self) -> None:
        if not self._words:
            self._above.append(self._folder)
            return
        array = _ASSIGNED.fullmatch(self._words[-1].text)
        if array and not array[2] and not self._words[-1].quoted:
            self._words.pop()
            self._values[array[1]] = self._words_until(")")
        elif self._at < len(self._tokens) and self._tokens[self._at] == Operator(")"):
            self._at += 1
            self._words.clear()

    def _take_word(self, word: Word) -> None:
        if self._words or word.quoted or word.holes():
            self._words.append(word)
        elif word.text in ("for", "select"):
            self._loop()
        elif word.text == "case":
            self._words_until("in")
            self._cases += 1
            self._in_pattern = True
        elif word.text == "esac":
            self._end_case()
        elif word.text == "function":
            self._next_word()
        elif word.text == "[[":
            self._words_until("]]")
        elif word.text not in _SKIPPED:
            self._words.append(word)

    def _end_case(self) -> None:
        self._cases = max(0, self._cases - 1)
        self._in_pattern = False

    def _loop(self) -> None:
        """Parse `for NAME in VALUES;`: the variable gets all values at once."""
        name = self._next_word()
        if name is None:
            return
        following = self._tokens[self._at] if self._at < len(self._tokens) else None
        if isinstance(following, Word) and following.text == "in":
            self._at += 1
            self._values[name.text] = self._words_until(";", "\n")

    def _next_word(self) -> Word | None:
        token = self._tokens[self._at] if self._at < len(self._tokens) else None
        if not isinstance(token, Word):
            return None
        self._at += 1
        return token

    def _words_until(self, *ends: str) -> list[str]:
        values: list[str] = []
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            self._at += 1
            if token.text in ends:
                break
            if isinstance(token, Word):
                values += self._expanded(token)
        return values[:MOST_VALUES]

    # ── commands ──

    def _finish(self, piped: bool = False) -> None:
        words, writes, appends = self._words, tuple(self._writes), tuple(self._appends)
        inputs = tuple(self._inputs)
        self._words, self._writes, self._appends, self._inputs = [], [], [], []
        upstream = tuple(self._pipe)
        given = list(itertools.takewhile(lambda word: _ASSIGNED.match(word.text), words))
        argv = tuple(value for word in words[len(given) :] for value in self._expanded(word))
        if argv or writes or appends:
            one = Invocation(argv, self._folder, writes, appends, inputs, upstream)
            self._found.append(one)
            self._pipe.append(one)
            self._act(one)
        else:
            self._assign(given)
        if not piped:
            self._pipe = []

    def _assign(self, words: Sequence[Word]) -> None:
        for word in words:
            found = _ASSIGNED.fullmatch(word.text)
            if found:
                self._values[found[1]] = self._expanded(word._replace(text=found[2]))

    def _act(self, one: Invocation) -> None:
        name, words = (one.argv[0], one.argv[1:]) if one.argv else ("", ())
        if name in ("cd", "pushd"):
            named = [word for word in words if not word.startswith("-") or word == "-"]
            self._folder = joined(self._folder, named[0] if named and named[0] != "-" else OPEN)
        elif name == "popd":
            self._folder = OPEN
        elif name in _DECLARING:
            self._assign([Word(word) for word in words])
        elif name in ("read", "mapfile", "readarray"):
            names = [word for word in words if _PARAMETER.fullmatch(word)]
            listed = [word for before in one.upstream[:1] for word in self._listing(before)]
            self._values.update((name, listed or [OPEN]) for name in names)
        elif name == "eval":
            self._found += invocations(" ".join(words), self._listing, self._folder, self._depth + 1)

    # ── words ──

    def _expanded(self, word: Word) -> list[str]:
        holes = word.holes()
        if not holes:
            values = [word.text]
        else:
            known = [self._of_hole(hole, word) for hole in holes]
            many = 1
            for one in known:
                many *= len(one)
            values = [word.plain] if many > MOST_VALUES else [word.filled(*one) for one in itertools.product(*known)]
        if word.quoted or not 0 < word.text.count("{") <= MOST_BRACES:
            return values
        return [one for value in values for one in itertools.islice(_braced(value), MOST_VALUES)]

    def _of_hole(self, hole: str, word: Word) -> list[str]:
        if not hole.startswith("("):
            return self._values.get(hole, [OPEN]) or [OPEN]
        inside = word.commands[int(hole[1:-1])]
        found = invocations(inside, self._listing, self._folder, self._depth + 1)
        if not found:
            return [OPEN]
        if found[-1].argv == ("pwd",):
            return ["."]
        if found[-1].argv == ("git", "rev-parse", "--show-toplevel"):
            return [TOP]
        first = found[-1].upstream[0] if found[-1].upstream else found[-1]
        self._found += found
        return list(self._listing(first))[:MOST_VALUES] or [OPEN]


MOST_DIGITS: Final = 9
"""Maximum number of digits of a number in braces."""


def _braced(text: str) -> Iterator[str]:
    """Yield the brace expansions of a word: `a{b,c}d` gives `abd` and `acd`, `{1..3}` counts."""
    found = _BRACES.fullmatch(text)
    if not found:
        yield text
        return
    low, dots, high = found[2].partition("..")
    if dots and "," not in found[2] and max(len(low), len(high)) <= MOST_DIGITS:
        begin, end = sorted((int(low), int(high)))
        inner = [str(number) for number in range(begin, min(end, begin + MOST_VALUES) + 1)]
    else:
        inner = found[2].split(",")
    for one in inner:
        for rest in _braced(found[3]):
            yield from _braced(found[1] + one + rest) if "{" in found[1] else (found[1] + one + rest,)


def joined(folder: str, path: str) -> str:
    """Return a path joined to a folder, normalised; `OPEN` if the path contains unknown text."""
    if path.startswith((TOP, "/", "~")) or not folder:
        return posixpath.normpath(path) if path else path
    return OPEN if OPEN in path else posixpath.normpath(posixpath.join(folder, path))
