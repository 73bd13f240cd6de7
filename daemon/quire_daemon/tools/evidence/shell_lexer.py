"""Lexer of command lines: words and operators, as POSIX shells and bash split them. Pure.

Unlike `shlex`, it marks parameters (`$x`) and command output (`$(…)`) as holes in a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

OPEN: Final = "\x00"
"""Placeholder for unknown text in a word."""

_BEGIN, _END = "\x01", "\x02"
_HOLE: Final = re.compile(f"{_BEGIN}([^{_END}]*){_END}")

_MARKS: Final = re.compile(r"[\x00-\x08]")  # characters with a special meaning here

_PLAIN: Final = re.compile(r"[^\s\\'\"$`|&;()<>#]+")
_IN_QUOTES: Final = re.compile(r"[^\\\"$`]+")
_OPERATORS: Final = re.compile(r"&>>|<<<|<<-|;;&|&&|\|\||;;|;&|\|&|&>|<<|>>|>&|<&|<>|>\||[|&;()<>]")
_NAME: Final = re.compile(r"[A-Za-z_]\w*|[0-9@*#?$!-]")
_BRACED: Final = re.compile(r"\{[!#]?([A-Za-z_]\w*|[0-9@*#?$!-])(\[[^\]]*\])?")
_DIGITS: Final = re.compile(r"\d+(?=[<>])")
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "0": "\0"}

REDIRECTIONS: Final = frozenset({">", ">>", ">|", "<", "<>", "<<", "<<-", "<<<", ">&", "<&", "&>", "&>>"})


class Word(NamedTuple):
    """A word without its quotes."""

    text: str  # with holes, see `filled`
    commands: tuple[str, ...] = ()  # commands whose output is in the word
    quoted: bool = False  # partly quoted: neither a reserved word nor an array assignment
    body: str | None = None  # of a here-document's delimiter: the document

    def holes(self) -> list[str]:
        """Return the holes in order: names of parameters, and `(0)`, `(1)` for commands."""
        return _HOLE.findall(self.text)

    def filled(self, *values: str) -> str:
        """Return the text with `values` in its first holes, and `OPEN` (unknown text) in further ones."""
        left = iter(values)
        return _HOLE.sub(lambda _: next(left, OPEN), self.text)

    @property
    def plain(self) -> str:
        """Text with `OPEN` (unknown text) in its holes."""
        return self.filled() if _BEGIN in self.text else self.text


class Operator(NamedTuple):
    """An operator, or a line break ("\n")."""

    text: str


def lexed(text: str) -> list[Word | Operator]:
    """Return the words and operators, without comments. An unclosed quote ends where the text ends."""
    return [*_Lexer(text).tokens()]


class _Lexer:
    def __init__(self, text: str) -> None:
        self._text, self._at = _MARKS.sub(" ", text).replace("\\\n", ""), 0
        self._waiting: list[tuple[int, str, bool]] = []  # here-documents: (place of the word, delimiter, tabs go)
        self._found: list[Word | Operator] = []

    def tokens(self) -> Iterator[Word | Operator]:
        text, end = self._text, len(self._text)
        while self._at < end:
            char = text[self._at]
            if char == "\n":
                self._at += 1
                self._found.append(Operator("\n"))
                self._read_documents()
            elif char.isspace():
                self._at += 1
            elif char == "#":
                stop = text.find("\n", self._at)
                self._at = end if stop < 0 else stop
            elif digits := _DIGITS.match(text, self._at):
                self._at = digits.end()  # skip a redirection's descriptor
            elif text.startswith(("<(", ">("), self._at):
                self._take_word()
            elif operator := _OPERATORS.match(text, self._at):
                self._at = operator.end()
                self._found.append(Operator(operator[0]))
                if operator[0] in ("<<", "<<-"):
                    self._expect_document(operator[0] == "<<-")
            else:
                self._take_word()
        return iter(self._found)

    def _expect_document(self, tabs: bool) -> None:
        while self._at < len(self._text) and self._text[self._at] in " \t":
            self._at += 1
        place = len(self._found)
        self._take_word()
        if len(self._found) > place:
            word = self._found[place]
            assert isinstance(word, Word)
            self._waiting.append((place, word.text, tabs))
            self._found[place] = word._replace(body="")

    def _read_documents(self) -> None:
        for place, delimiter, tabs in self._waiting:
            lines: list[str] = []
            while self._at < len(self._text):
                stop = self._text.find("\n", self._at)
                line = self._text[self._at : stop] if stop >= 0 else self._text[self._at :]
                self._at = stop + 1 if stop >= 0 else len(self._text)
                if (line.lstrip("\t") if tabs else line) == delimiter:
                    break
                lines.append(line)
            word = self._found[place]
            assert isinstance(word, Word)
            self._found[place] = word._replace(body="\n".join(lines))
        self._waiting.clear()

    def _take_word(self) -> None:
        text, parts, commands, quoted = self._text, list[str](), list[str](), False
        begun = self._at
        while self._at < len(text):
            char = text[self._at]
            if plain := _PLAIN.match(text, self._at):
                parts.append(plain[0])
                self._at = plain.end()
            elif char == "\\":
                parts.append(text[self._at + 1 : self._at + 2])
                self._at += 2
                quoted = True
            elif char == "'":
                parts.append(self._until("'"))
                quoted = True
            elif char == '"':
                parts.append(self._in_double_quotes(commands))
                quoted = True
            elif text.startswith("$'", self._at):
                self._at += 1
                parts.append(self._ansi())
                quoted = True
            elif char == "$" and text.startswith('$"', self._at):
                self._at += 1
            elif char in "$`" or text.startswith(("<(", ">("), self._at):
                parts.append(self._expansion(commands))
            elif char == "#" and self._at > begun:
                parts.append(char)
                self._at += 1
            else:
                break
        if self._at > begun:
            self._found.append(Word("".join(parts), tuple(commands), quoted))

    def _until(self, mark: str) -> str:
        stop = self._text.find(mark, self._at + 1)
        found = self._text[self._at + 1 : stop if stop >= 0 else None]
        self._at = stop + 1 if stop >= 0 else len(self._text)
        return found

    def _ansi(self) -> str:
        found = re.compile(r"'((?:[^'\\]|\\.)*)'?", re.DOTALL).match(self._text, self._at)
        assert found is not None
        self._at = found.end()
        return re.sub(r"\\(.)", lambda one: _ESCAPES.get(one[1], one[0]), found[1], flags=re.DOTALL)

    def _in_double_quotes(self, commands: list[str]) -> str:
        text, parts = self._text, list[str]()
        self._at += 1
        while self._at < len(text):
            char = text[self._at]
            if plain := _IN_QUOTES.match(text, self._at):
                parts.append(plain[0])
                self._at = plain.end()
            elif char == '"':
                self._at += 1
                break
            elif char == "\\":
                after = text[self._at + 1 : self._at + 2]
                parts.append(after if after in '$`"\\' else f"\\{after}")
                self._at += 2
            else:
                parts.append(self._expansion(commands))
        return "".join(parts)

    def _expansion(self, commands: list[str]) -> str:
        """Consume a parameter, command, arithmetic or process substitution, and return its hole."""
        text = self._text
        if text[self._at] == "`":
            return _command(commands, self._until("`"))
        if text.startswith("$((", self._at):
            self._at += 1
            self._inside("(", ")")
            return _hole("")
        if text.startswith(("$(", "<(", ">("), self._at):
            self._at += 1
            return _command(commands, self._inside("(", ")"))
        self._at += 1
        if braced := _BRACED.match(text, self._at):
            inside = self._inside("{", "}")
            whole = inside == braced[1]
            return _hole(braced[1] if whole else f"{braced[1]}{inside[len(braced[0]) - 1 :]}")
        if name := _NAME.match(text, self._at):
            self._at = name.end()
            return _hole(name[0])
        return "$"

    def _inside(self, opens: str, closes: str) -> str:
        text, begun, depth = self._text, self._at + 1, 0
        while self._at < len(text):
            char = text[self._at]
            if char == "\\":
                self._at += 2
                continue
            if char == "'" or (char == '"' and text.find('"', self._at + 1) >= 0):
                self._until(char)
                continue
            depth += (char == opens) - (char == closes)
            self._at += 1
            if not depth:
                return text[begun : self._at - 1]
        return text[begun:]


def _hole(name: str) -> str:
    return f"{_BEGIN}{name}{_END}"


def _command(commands: list[str], text: str) -> str:
    commands.append(text)
    return _hole(f"({len(commands) - 1})")
