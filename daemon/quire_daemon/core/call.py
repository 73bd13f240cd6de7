"""A call on its way through the loop: a request, decoded, with what the loop must remember about it.

A call whose file changed between the look at it and the swap has lost a race. What it swapped in is taken back, and it
is decided again, on what is there now. For a few files that costs little, and is done often. For many files it costs
their records anew each time: a file that changes again and again is left out, is told as one that changes at this
moment, and the others are done without it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from quire_daemon.core.arguments import WriteArguments
from quire_daemon.core.decision import FileNow, ImpliedFiles, Tool, Who
from quire_daemon.workers import Fiber
from quire_daemon.workers.regex import Answer, Search
from quire_journal.model import Request

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


class Wait(msgspec.Struct, frozen=True):
    """The call cannot be decided yet. It is tried again at `until_s` (monotonic), or when what it waits for comes."""

    until_s: float


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
    commits_s: float = 0.0  # monotonic: until when it waits for what git tells of commits; 0: it has not asked
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
