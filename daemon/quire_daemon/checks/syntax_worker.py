"""The parser process: `python -m quire_daemon.checks.syntax_worker FD`.

Tree-sitter has its own process, because its C code fails on some files: nested YAML crashes a scanner, and error
recovery can take seconds for 20 kB. Grammars are imported when needed.

A request is two messages: `{language, before, after}` (hashes of both texts), and the bytes after the edit. The reply
is an `Answer`. After the reply `send`, the daemon sends the bytes before the edit and reads another reply.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from collections import OrderedDict
from collections.abc import Callable
from importlib import import_module
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, TypedDict

from quire_journal.text import same_end, same_start

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Tree

KEPT_BYTES: Final = 2 * 1024 * 1024
"""Maximum bytes of the texts whose syntax trees are cached; a tree takes 20 times as much."""

LONGEST_S: Final = 2.0
IDLE_S: Final = 300.0
"""Seconds without a request after which the process ends."""

MOST_MEMORY: Final = 2 * 1024**3

Said: TypeAlias = Literal["sound", "broken", "broken_before", "no_grammar", "send"]


class Answer(TypedDict, total=False):
    """The parser's verdict (`say`) on an edit. The other fields describe the error, and exist only if `say` is
    "broken".
    """

    say: Said
    at: int  # byte offset in the text after the edit
    missing: str  # missing token; empty for an unexpected one


class Grammar:
    def __init__(self, parser: Parser) -> None:
        self._parser = parser

    def parse(self, data: bytes, old: Tree | None = None) -> Tree:
        """Parse `data`; faster with `old`, the tree of a similar text with adjusted positions."""
        return self._parser.parse(data) if old is None else self._parser.parse(data, old)


def load(language: str) -> Grammar | None:
    """Return a grammar (`python`, `typescript.tsx`); None if missing or incompatible."""
    package, _, part = language.partition(".")
    try:
        from tree_sitter import Language, Parser

        module = import_module(f"tree_sitter_{package}")
        found = getattr(module, f"language_{part}" if part else "language")
        return Grammar(Parser(Language(found())))
    except Exception:  # noqa: BLE001 — whatever is wrong with a wheel, the answer is that there is none
        return None


class Trees:
    def __init__(self, loading: Callable[[str], Grammar | None] = load, limit_bytes: int = KEPT_BYTES) -> None:
        self._loading = loading
        self._limit = limit_bytes
        self._grammars: dict[str, Grammar | None] = {}
        self._trees: OrderedDict[tuple[str, str], tuple[bytes, Tree]] = OrderedDict()
        self.held = 0

    def judge(self, language: str, names: tuple[str, str], after: bytes, read_before: Callable[[], bytes]) -> Answer:
        """Return whether an edit breaks the syntax. `names`: hashes of both texts; `read_before` fetches the text
        before, if needed.
        """
        if language not in self._grammars:
            self._grammars[language] = self._loading(language)
        grammar = self._grammars[language]
        if grammar is None:
            return {"say": "no_grammar"}
        was, now = (language, names[0]), (language, names[1])
        known = self._find(was)
        tree = grammar.parse(after) if known is None else grammar.parse(after, _told(known[1], known[0], after))
        self._keep(now, after, tree)
        if not tree.root_node.has_error:
            return {"say": "sound"}
        if known is not None and known[1].root_node.has_error:
            return {"say": "broken_before"}
        # An incremental tree can have errors that a full parse has not (inherited scanner state).
        # Both texts are therefore parsed in full before a refusal.
        if known is not None:
            tree = grammar.parse(after)
            self._keep(now, after, tree)
            if not tree.root_node.has_error:
                return {"say": "sound"}
        before = known[0] if known is not None else read_before()
        old = grammar.parse(before)
        self._keep(was, before, old)
        if old.root_node.has_error:
            return {"say": "broken_before"}
        return _fault(tree.root_node, before, after)

    def _find(self, name: tuple[str, str]) -> tuple[bytes, Tree] | None:
        if name in self._trees:
            self._trees.move_to_end(name)
        return self._trees.get(name)

    def _keep(self, name: tuple[str, str], data: bytes, tree: Tree) -> None:
        if name not in self._trees:
            self.held += len(data)
        self._trees[name] = data, tree
        self._trees.move_to_end(name)
        while self.held > self._limit and len(self._trees) > 1:
            _, (gone, _) = self._trees.popitem(last=False)
            self.held -= len(gone)


def _told(tree: Tree, before: bytes, after: bytes) -> Tree:
    start, tail = common_ends(before, after)
    ends = len(before) - tail, len(after) - tail
    told = tree.copy()
    points = _point(before, start), _point(before, ends[0]), _point(after, ends[1])
    told.edit(start, ends[0], ends[1], *points)
    return told


def _point(data: bytes, at: int) -> tuple[int, int]:
    return data.count(b"\n", 0, at), at - (data.rfind(b"\n", 0, at) + 1)


def common_ends(a: bytes, b: bytes) -> tuple[int, int]:
    """Return the lengths of the common prefix and suffix."""
    head = same_start(a, b)
    return head, same_end(a, b, head)


def _fault(root: Node, before: bytes, after: bytes) -> Answer:
    start, tail = common_ends(before, after)
    stop = len(after) - tail
    faults = _faults(root)
    touching = [n for n in faults if n.start_byte <= stop and start <= n.end_byte]
    node = next((n for n in touching if start < n.end_byte), (touching or faults or [root])[0])
    if node.is_missing:
        return {"say": "broken", "at": _behind_text(after, node.start_byte), "missing": node.type}
    # A parse error often begins far before the mistake, so the fault nearest to the change is reported.
    return {"say": "broken", "at": max(node.start_byte, start), "missing": ""}


def _behind_text(data: bytes, at: int) -> int:
    return max(len(data[:at].rstrip()) - 1, 0)


MOST_FAULTS: Final = 1000


def _faults(root: Node) -> list[Node]:
    found: list[Node] = []
    cursor = root.walk()
    while len(found) < MOST_FAULTS:
        node = cursor.node
        if node is not None and node.has_error and cursor.goto_first_child():
            continue
        if node is not None and (node.is_missing or node.is_error):
            found.append(node)
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return found
            node = cursor.node
            if node is not None and node.is_error:
                found.append(node)
    return found


def serve(wire: Connection, idle_s: float = IDLE_S) -> None:
    trees = Trees()
    wire.send_bytes(b"ready")
    while wire.poll(idle_s):
        asked = json.loads(wire.recv_bytes())
        after = wire.recv_bytes()

        def read_before() -> bytes:
            wire.send_bytes(json.dumps({"say": "send"}).encode())
            return wire.recv_bytes()

        signal.setitimer(signal.ITIMER_REAL, LONGEST_S)
        answer = trees.judge(asked["language"], (asked["before"], asked["after"]), after, read_before)
        wire.send_bytes(json.dumps(answer).encode())
        signal.setitimer(signal.ITIMER_REAL, 0)


def main() -> None:
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C is for the daemon, which ends this process by closing the wire
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    with Connection(int(sys.argv[1])) as wire:
        try:
            serve(wire)
        except (EOFError, ConnectionError):
            os._exit(0)  # the daemon has ended


if __name__ == "__main__":
    main()
