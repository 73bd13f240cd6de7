"""The loop's state of a call, from its request to its reply.

If another program changes a file between the call's reading and writing of the file, the call has lost a race: its
writes are undone, and the call is decided again. For many files each retry costs all their records, so a file that
keeps changing is left out.
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
"""Number of lost races after which one of several files is left out."""

TRIES_OF_LONG: Final = 3
"""Number of lost races after which one of many files is left out."""

MOST: Final = 50

MOST_OF_LONG: Final = 8
"""Number of lost races after which a call written in slices is refused; from half of that on, one lost race leaves a
file out.
"""


class LostRaces(msgspec.Struct):
    count: int = 0
    left_out: set[str] = msgspec.field(default_factory=set)  # paths, as in the log, that the call no longer writes
    _by_path: dict[str, int] = msgspec.field(default_factory=dict)

    def lose(self, paths: Sequence[str], several: bool, long: bool) -> bool:
        """Count a race lost at `paths`; return True if the call is to be decided again.

        `several`: the call writes more than one file, so a path that loses too often is left out. `long`: the call is
        written in slices.
        """
        self.count += 1
        tries = TRIES if not long else TRIES_OF_LONG if self.count <= MOST_OF_LONG // 2 else 1
        for path in paths:
            self._by_path[path] = self._by_path.get(path, 0) + 1
            if several and self._by_path[path] >= tries:
                self.left_out.add(path)
        return self.count <= (MOST_OF_LONG if long else MOST)


class Peer(msgspec.Struct, frozen=True):
    """Process that sent a request, as the kernel names it; pid 0 if unknown."""

    uid: int
    pid: int


class IncomingRequest(msgspec.Struct, frozen=True):
    identity: bytes
    peer: Peer
    request: Request | None  # None: invalid request; `why` has the reason
    why: str = ""
    number: int = 0  # request number, if readable: an invalid request is answered, too


class Wait(msgspec.Struct, frozen=True):
    """Sign that a call is tried again at `until_s` (monotonic), or when the event that it waits for comes."""

    until_s: float


class LongThought(msgspec.Struct):
    """Decision of a call that is computed in time slices (a fiber)."""

    about: object
    fiber: Fiber[Any]
    head: int  # the newest record known to the decision
    purges: int  # number of purges when it began

    @property
    def ended(self) -> bool:
        return self.fiber.ended


class LookProgress(msgspec.Struct):
    implied: ImpliedFiles = ImpliedFiles()
    head: int = -1  # the newest record at the time of `implied`
    asked: int = 0  # how often `implied` was computed
    long: bool = False  # the look took several turns
    files: dict[str, FileNow] = msgspec.field(default_factory=dict)  # by the caller's names
    kept_off: dict[str, str] = msgspec.field(
        default_factory=dict
    )  # implied files that could not be observed: path → code
    upto: int = 0  # the newest record considered for these files
    known: int = 0  # number of leading implied files that are in `files` or `kept_off`


class Call(msgspec.Struct):
    incoming: IncomingRequest
    tool: Tool[Any]
    params: Any
    who: Who
    op: bytes
    key: str  # idempotency key
    give_up_s: float  # monotonic: when waiting for a held-open file ends
    deadline_ns: int
    retry_s: float = 0.0  # monotonic: earliest retry
    lost: LostRaces = msgspec.field(default_factory=LostRaces)  # races lost to outside programs
    news_until_s: float = 0.0  # monotonic: deadline of the wait for news
    news_head: int = -1  # the newest record at the last look; -1: not waiting for news
    cookie: str = ""  # watcher cookie that must arrive first
    catch_up_s: float = 0.0  # monotonic: deadline of the wait for the cookie
    commits_s: float = 0.0  # monotonic: deadline of git's answer about commits; 0: not asked
    caught_up: bool = False  # the wait for the watcher is over
    behind: bool = False  # the watcher did not catch up in time
    ticket: int = 0  # ticket of the pending search
    searching: Search | None = None  # the pending search
    asked: int = 0  # number of requested searches
    found: dict[Search, Answer] = msgspec.field(default_factory=dict)  # results of the call's searches
    thought: LongThought | None = None  # decision in the background
    thoughts: int = 0  # number of outdated background decisions
    looks: LookProgress | None = None  # progress of looks over several turns

    @property
    def arguments(self) -> bytes:
        """Hash of tool and canonical arguments, to compare calls with the same idempotency key."""
        plain = self.params.plainly() if isinstance(self.params, WriteArguments) else self.params
        said = msgspec.msgpack.encode(plain, order="sorted")
        return hashlib.sha256(self.tool.name.encode() + b"\0" + said).digest()

    @property
    def marks(self) -> set[tuple[bytes, bytes]]:
        """Keys that identify a repeated call: operation id and idempotency key."""
        operation = {(b"op", self.op)} if self.op else set()
        return operation | {(self.who.key, self.key.encode())} if self.key else operation
