"""A call on its way through the loop: the decoded request and the loop's notes about it.

A file that changes between its look and its swap is a lost race: the swap is taken back, and the call is decided again.
For a few files a retry is cheap and frequent. For many files each retry costs all their records, so a file that keeps
changing is left out, reported as changing, and the other files go on without it.
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
"""Lost races of one file among several, before it is left out."""

TRIES_OF_LONG: Final = 3
"""The same for one file among many."""

MOST: Final = 50
"""Lost races of one call, before it is refused as `busy`."""

MOST_OF_LONG: Final = 8
"""The same for a call written in slices. From half of these on, a file that changes is left out at once."""


class LostRaces(msgspec.Struct):
    """The lost races of one call."""

    count: int = 0
    left_out: set[str] = msgspec.field(default_factory=set)  # paths, as in the log, that are not looked at any more
    _by_path: dict[str, int] = msgspec.field(default_factory=dict)

    def lose(self, paths: Sequence[str], several: bool, long: bool) -> bool:
        """Count a lost race at `paths`; True if another try is worthwhile.

        `several`: the call writes more than one file. `long`: it is written in slices.
        """
        self.count += 1
        tries = TRIES if not long else TRIES_OF_LONG if self.count <= MOST_OF_LONG // 2 else 1
        for path in paths:
            self._by_path[path] = self._by_path.get(path, 0) + 1
            if several and self._by_path[path] >= tries:
                self.left_out.add(path)
        return self.count <= (MOST_OF_LONG if long else MOST)


class Peer(msgspec.Struct, frozen=True):
    """The peer process, as the kernel reports it. pid 0 on platforms that do not."""

    uid: int
    pid: int


class IncomingRequest(msgspec.Struct, frozen=True):
    """A received request with its reply address."""

    identity: bytes
    peer: Peer
    request: Request | None  # None: the frame was not a request; `why` says how
    why: str = ""
    number: int = 0  # of what was not a request, where it is known all the same: its caller waits for that


class Wait(msgspec.Struct, frozen=True):
    """The call cannot be decided yet. It is retried at `until_s` (monotonic), or when its event comes."""

    until_s: float


class LongThought(msgspec.Struct):
    """The background decision of a call (`long_decisions`)."""

    about: object
    fiber: Fiber[Any]
    head: int  # the newest record that it knows of
    purges: int  # there had been when it began

    @property
    def ended(self) -> bool:
        """True if the answer is there."""
        return self.fiber.ended


class LookProgress(msgspec.Struct):
    """Progress of the looks at a call's files, which may take several turns."""

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
        """The canonical arguments, for the idempotency key."""
        plain = self.params.plainly() if isinstance(self.params, WriteArguments) else self.params
        said = msgspec.msgpack.encode(plain, order="sorted")
        return hashlib.sha256(self.tool.name.encode() + b"\0" + said).digest()

    @property
    def marks(self) -> set[tuple[bytes, bytes]]:
        """The keys that identify a repeated call: operation id and idempotency key, if any."""
        operation = {(b"op", self.op)} if self.op else set()
        return operation | {(self.who.key, self.key.encode())} if self.key else operation
