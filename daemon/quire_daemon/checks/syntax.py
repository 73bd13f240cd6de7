"""Client of the parser process, which finds edits after which a file no longer parses.

The loop waits at most `patience_s`. A parser that takes longer or crashes is killed, and its file is not parsed again
for a while; then brackets are counted instead (`safety`).
"""

from __future__ import annotations

import posixpath
import re
import select
import subprocess
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

import msgspec
import xxhash

from quire_daemon.checks.safety import no_faults
from quire_daemon.workers import Command, program, wired
from quire_journal.text import Text, shown

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

LANGUAGES: Final[dict[str, str]] = {
    **dict.fromkeys((".py", ".pyi"), "python"),
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx"), "javascript"),
    **dict.fromkeys((".ts", ".mts", ".cts"), "typescript.typescript"),
    ".tsx": "typescript.tsx",
    ".go": "go",
    ".rs": "rust",
    ".json": "json",
    **dict.fromkeys((".yaml", ".yml"), "yaml"),
    **dict.fromkeys((".sh", ".bash"), "bash"),
    ".toml": "toml",
    ".css": "css",
    **dict.fromkeys((".html", ".htm"), "html"),
}

JUDGED_BYTES: Final = 512 * 1024
"""Maximum bytes of a file that is parsed; parsing a broken one takes 0.25 s."""

PATIENCE_S: Final = 0.5
"""Maximum seconds to wait for the parser; usual are 1 to 10 ms."""

START_S: Final = 2.0

LEFT_ALONE_S: Final = 600.0
"""Seconds for which a file is not parsed after a failure; no file if the parser cannot be started."""

MOST_LEFT_ALONE: Final = 1000

_TEMPLATE: Final = re.compile(rb"(?<!\$)\{\{|\{%")
_TEMPLATED: Final = frozenset({"html", "yaml"})
"""Languages whose files may be templates (`{{…}}`), which their grammars reject."""

Fault = tuple[int, str]


def _parser(fd: int) -> Sequence[str]:
    return program("checks.syntax_worker", str(fd))


class _NotStarted(Exception):
    """Raised if the parser process cannot be started."""


class SyntaxChecker:
    def __init__(
        self,
        mono_s: Callable[[], float] = time.monotonic,
        patience_s: float = PATIENCE_S,
        start_s: float = START_S,
        command: Command = _parser,
    ) -> None:
        self._mono_s, self._patience_s, self._start_s, self._command = mono_s, patience_s, start_s, command
        self._process: subprocess.Popen[bytes] | None = None
        self._wire: Connection | None = None
        self._unheard = False  # an answer is pending
        self._there: dict[str, bool] = {}  # language → True if its grammar is installed
        self._left_alone: dict[str, float] = {}  # path → end of its pause; "" is every path

    def __call__(self, path: str, before: Text, after: Text) -> Callable[[], tuple[Fault, ...] | None]:
        """Start parsing an edited file. The returned function waits for new syntax errors: (line from 1, message); ()
        if there are none, or the file did not parse before; None if it cannot be parsed: no grammar, too large, or the
        parser failed.

        Never raises. A result not fetched before the next call is lost.
        """
        language = LANGUAGES.get(posixpath.splitext(path)[1].lower())
        if language is None or max(len(before.data), len(after.data)) > JUDGED_BYTES:
            return no_faults
        if language in _TEMPLATED and _TEMPLATE.search(after.data):
            return no_faults
        if not self._installed(language) or (self._left_alone and self._is_left_alone(path)):
            return no_faults
        try:
            until = self._ask(language, before, after)
        except (OSError, EOFError, ValueError, msgspec.MsgspecError, _NotStarted) as error:
            self._give_up(path, error)
            return no_faults
        return lambda: self._answer(path, language, before, after, until)

    def _answer(self, path: str, language: str, before: Text, after: Text, until: float) -> tuple[Fault, ...] | None:
        try:
            answer = self._hear(before, until)
        except (OSError, EOFError, ValueError, msgspec.MsgspecError) as error:
            self._give_up(path, error)
            return None
        if answer["say"] == "no_grammar":
            self._there[language] = False
            return None
        return (_fault(after, answer["at"], answer["missing"]),) if answer["say"] == "broken" else ()

    def _give_up(self, path: str, error: Exception) -> None:
        self.close()
        self._leave_alone("" if isinstance(error, _NotStarted) else path)

    def close(self) -> None:
        if self._wire is not None:
            self._wire.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._wire = self._process = None
        self._unheard = False

    def _ask(self, language: str, before: Text, after: Text) -> float:
        if self._unheard:
            self.close()  # the last answer was never read and would be taken for this one
        wire = self._ready()
        # Not their addresses: that of `after` is not known yet, and takes as long to compute as the parser needs for an
        # edit of 2,000 lines. It is computed while the parser works.
        name = xxhash.xxh3_128_hexdigest
        names = {"language": language, "before": name(before.data), "after": name(after.data)}
        wire.send_bytes(msgspec.json.encode(names))
        self._unheard = True
        wire.send_bytes(after.data)
        return self._mono_s() + self._patience_s

    def _hear(self, before: Text, until: float) -> dict[str, Any]:
        assert self._wire is not None  # `_ask`
        answer = self._receive(self._wire, until)
        if answer["say"] == "send":
            self._wire.send_bytes(before.data)
            answer = self._receive(self._wire, until)
        self._unheard = False
        return answer

    def _receive(self, wire: Connection, until: float) -> dict[str, Any]:
        _await(wire, until - self._mono_s())
        answer: dict[str, Any] = msgspec.json.decode(wire.recv_bytes())
        return answer

    def _ready(self) -> Connection:
        if self._process is not None and self._process.poll() is not None:
            self.close()
        if self._wire is None:
            from multiprocessing.connection import Connection  # imported only with a grammar

            try:
                ours, self._process = wired(self._command)
                self._wire = Connection(ours.detach())
                _await(self._wire, self._start_s)
                self._wire.recv_bytes()
            except (OSError, EOFError) as error:
                raise _NotStarted from error
        return self._wire

    def _installed(self, language: str) -> bool:
        if language not in self._there:
            packages = "tree_sitter", f"tree_sitter_{language.partition('.')[0]}"
            self._there[language] = all(find_spec(name) is not None for name in packages)
        return self._there[language]

    def _is_left_alone(self, path: str) -> bool:
        return max(self._left_alone.get(path, 0.0), self._left_alone.get("", 0.0)) > self._mono_s()

    def _leave_alone(self, path: str) -> None:
        if len(self._left_alone) >= MOST_LEFT_ALONE:
            self._left_alone.clear()
        self._left_alone[path] = self._mono_s() + LEFT_ALONE_S


def _await(wire: Connection, seconds: float) -> None:
    waiting = select.poll()
    waiting.register(wire.fileno(), select.POLLIN)
    if not waiting.poll(max(seconds, 0.0) * 1000):
        raise TimeoutError


def _fault(after: Text, at: int, missing: str) -> Fault:
    line = max(len(Text.of(after.data[: at + 1])), 1)
    content = shown(after.lines[line - 1]).strip()[:80] if line <= len(after) else ""
    what = f"`{missing}` is missing" if missing else "The file does not parse any more"
    return line, f"{what} at line {line}: {content!r}"
