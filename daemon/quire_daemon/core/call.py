"""A call on its way through the loop: a request, decoded, with what the loop must remember about it.

Races that a call has lost to outside programs, and what comes of them.

What was swapped in is taken back then, and the call is decided again, on what is there now. Of few files that costs
little, and is done often. Of many it costs their records anew each time: so a file that changes again and again while
it is being undone is left out (it is told as one that changes at this moment), and the others are done without it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from quire_daemon.core.arguments import WriteArguments
from quire_daemon.core.decision import FileNow, ImpliedFiles, Tool, Who
from quire_daemon.core.decode import refusal, without_nulls
from quire_daemon.workers import Fiber
from quire_daemon.workers.regex import Answer, Search
from quire_journal.model import MAX_DEPTH, Refusal, Request

TRIES: Final = 10
"""So often one file of several may change between the look at it and the swap, before it is left out."""

TRIES_OF_LONG: Final = 3
"""And so often one of many."""

MOST: Final = 50
"""Races that one call loses, before it is told `busy`."""

MOST_OF_LONG: Final = 8
"""And one that is written in slices; whatever changes once more after half of these is left out at once."""


class LostRaces(msgspec.Struct):
    """Of one call."""

    count: int = 0
    left_out: set[str] = msgspec.field(default_factory=set)  # paths, as in the log, that are not looked at any more
    _by_path: dict[str, int] = msgspec.field(default_factory=dict)

    def lose(self, paths: Sequence[str], several: bool, long: bool) -> bool:
        """A race is lost because of what is at `paths`. Is it worth another try?

        `several`: it was to write more than one file. `long`: so many that it is written in slices.
        """
        self.count += 1
        tries = TRIES if not long else TRIES_OF_LONG if self.count <= MOST_OF_LONG // 2 else 1
        for path in paths:
            self._by_path[path] = self._by_path.get(path, 0) + 1
            if several and self._by_path[path] >= tries:
                self.left_out.add(path)
        return self.count <= (MOST_OF_LONG if long else MOST)


class Peer(msgspec.Struct, frozen=True):
    """Who the kernel says is at the other end. pid 0 where the platform does not tell."""

    uid: int
    pid: int


class IncomingRequest(msgspec.Struct, frozen=True):
    """A request as it came, and where its reply goes."""

    identity: bytes
    peer: Peer
    request: Request | None  # None: the frame was not a request; `why` says how
    why: str = ""
    number: int = 0  # of what was not a request, where it is known all the same: its caller waits for that


MOST_HEADERS = 50_000
"""Values of one request that are walked before it is decoded: the walk is in the loop, where others wait for it."""


class RetryLater(Exception):
    """The call cannot be decided now; come back at `at_s` (monotonic)."""

    def __init__(self, at_s: float) -> None:
        super().__init__()
        self.at_s = at_s


class LongThought(msgspec.Struct):
    """What is thought about for a call (`long_decisions`)."""

    about: object
    fiber: Fiber[Any]
    head: int  # the newest record that it knows of
    purges: int  # there had been when it began

    @property
    def ended(self) -> bool:
        """Is the answer there?"""
        return self.fiber.ended


class LookProgress(msgspec.Struct):
    """Files of a call, as far as they have been looked at; many take several turns."""

    implied: ImpliedFiles = ImpliedFiles()
    head: int = -1  # the newest record when that was found out
    asked: int = 0  # how often it was found out anew
    long: bool = False  # that took several turns
    files: dict[str, FileNow] = msgspec.field(default_factory=dict)  # by the names that the caller used
    kept_off: dict[str, str] = msgspec.field(default_factory=dict)  # implied ones that were not seen: path → code
    upto: int = 0  # the newest record whose changes of these files are taken into account
    known: int = 0  # so many of the implied ones at least, from the first on, are in one of the two


class Call(msgspec.Struct):
    """One request between its arrival and its reply."""

    incoming: IncomingRequest
    tool: Tool[Any]
    params: Any
    who: Who
    op: bytes
    key: str  # idempotency key
    give_up_s: float  # monotonic: when waiting for a held-open file ends
    deadline_ns: int
    retry_s: float = 0.0  # monotonic: not before
    lost: LostRaces = msgspec.field(default_factory=LostRaces)  # races, to outside programs
    news_until_s: float = 0.0  # monotonic: until when it waits for news
    news_head: int = -1  # the newest record when it looked last; -1: it does not wait for news
    cookie: str = ""  # the watcher must have reported it first
    catch_up_s: float = 0.0  # monotonic: when waiting for that ends
    caught_up: bool = False  # it has, and what it told of has been looked at; from then on the call may be answered
    behind: bool = False  # it is answered though they have not: that takes too long
    ticket: int = 0  # of the search that it waits for
    searching: Search | None = None  # that search
    asked: int = 0  # how often it has asked for what takes long to find out (`deferred`)
    found: dict[Search, Answer] = msgspec.field(default_factory=dict)  # what came of the last one
    thought: LongThought | None = None  # what is thought about over several turns
    thoughts: int = 0  # that came to nothing, because its files changed meanwhile
    looks: LookProgress | None = None  # what has been seen of its files when that takes more than a turn

    @property
    def arguments(self) -> bytes:
        """What the idempotency key stands for, in whatever order it was said."""
        plain = self.params.plainly() if isinstance(self.params, WriteArguments) else self.params
        said = msgspec.msgpack.encode(plain, order="sorted")
        return hashlib.sha256(self.tool.name.encode() + b"\0" + said).digest()

    @property
    def marks(self) -> set[tuple[bytes, bytes]]:
        """What it is known by when it comes a second time: operation id and idempotency key, if it has them."""
        operation = {(b"op", self.op)} if self.op else set()
        return operation | {(self.who.key, self.key.encode())} if self.key else operation


def decode(tool: Tool[Any], raw: bytes) -> Any:
    """The arguments of `tool`, strictly. Raises `Refusal("schema_invalid")`, naming the argument."""
    try:
        # Each level takes a byte that begins an array or a map: most calls have too few for a walk to be needed.
        depth = nesting(raw) if len(raw) - len(raw.translate(None, _OPENING)) > MAX_DEPTH else 0
        if depth > MAX_DEPTH:
            raise Refusal(
                "schema_invalid", f"{tool.name}: the arguments are nested {depth} deep; {MAX_DEPTH} is the limit."
            )
        try:
            return msgspec.msgpack.decode(raw, type=tool.params)
        except msgspec.ValidationError:
            plain = without_nulls(tool.params, msgspec.msgpack.decode(raw))
            if plain is None:
                raise
            return msgspec.msgpack.decode(msgspec.msgpack.encode(plain), type=tool.params)
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        raise refusal(tool.name, tool.params, error) from None


def nesting(raw: bytes) -> int:
    """How deep msgpack arrays and maps are nested in `raw`, without building anything.

    Walks headers only, at most `MOST_HEADERS` of them. msgspec's own limit is Python's recursion limit, which a hostile
    message should not get near, and which catches what lies behind those. Truncated input ends the walk: the decoder
    names that error.
    """
    at, deepest, left = 0, 0, MOST_HEADERS
    open_items: list[int] = []
    while at < len(raw) and left:
        left -= 1
        items, at = _header(raw, at)
        while open_items and open_items[-1] == 0:
            open_items.pop()
        if open_items:
            open_items[-1] -= 1
        if items:
            open_items.append(items)
            deepest = max(deepest, len(open_items))
            if deepest > MAX_DEPTH:
                return deepest
    return deepest


# Bytes behind the head byte of fixed-size values; width of the length and extra bytes of sized ones; width of the
# count and values per item of arrays and maps.
_FIXED = {0xC0: 0, 0xC2: 0, 0xC3: 0, 0xCA: 4, 0xCB: 8, 0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8}
_FIXED |= {0xD0: 1, 0xD1: 2, 0xD2: 4, 0xD3: 8, 0xD4: 2, 0xD5: 3, 0xD6: 5, 0xD7: 9, 0xD8: 17}
_SIZED = {
    0xC4: (1, 0),
    0xC5: (2, 0),
    0xC6: (4, 0),
    0xC7: (1, 1),
    0xC8: (2, 1),
    0xC9: (4, 1),
    0xD9: (1, 0),
    0xDA: (2, 0),
    0xDB: (4, 0),
}
_OPENING = bytes(range(0x80, 0xA0)) + bytes(range(0xDC, 0xE0))
_NESTED = {0xDC: (2, 1), 0xDD: (4, 1), 0xDE: (2, 2), 0xDF: (4, 2)}


def _header(raw: bytes, at: int) -> tuple[int, int]:
    """(items inside, where the next header stands) for the msgpack value at `at` (msgpack specification, formats)."""
    byte = raw[at]
    at += 1
    if byte < 0x80 or byte >= 0xE0:
        return 0, at
    if byte < 0x90:
        return (byte & 15) * 2, at
    if byte < 0xA0:
        return byte & 15, at
    if byte < 0xC0:
        return 0, at + (byte & 31)
    if byte in _FIXED:
        return 0, at + _FIXED[byte]
    if byte in _SIZED:
        width, extra = _SIZED[byte]
        return 0, at + width + extra + int.from_bytes(raw[at : at + width], "big")
    if byte in _NESTED:
        width, times = _NESTED[byte]
        return int.from_bytes(raw[at : at + width], "big") * times, at + width
    return 0, at
