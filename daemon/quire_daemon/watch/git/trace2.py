"""Reports of running git processes: a socket for trace2 events, and the commands that they describe.

In a shell with `GIT_TRACE2_EVENT=af_unix:stream:PATH` (from `quire env`) each git process reports its events here line
by line (git's api-trace2). Without a listener git continues silently.

The kernel attests uid and pid of a connection; the rest are claims, cleaned and capped. Lines, connections and memory
are bounded.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import socket
import struct
from collections.abc import Callable, Iterator
from datetime import datetime
from shlex import quote
from typing import Final, Protocol

import msgspec

from quire_daemon.ops import pid_start
from quire_daemon.watch.git.head import CLOCKS_NS
from quire_journal.maintenance import secret_scan
from quire_journal.model import plain

CHANGING: Final = frozenset(
    {"am", "apply", "bisect", "checkout", "checkout-index", "cherry-pick", "clean", "commit", "filter-branch", "merge"}
    | {"mv", "pull", "read-tree", "rebase", "reset", "restore", "revert", "rm", "sparse-checkout", "stash", "submodule"}
    | {"switch", "worktree"}
)
"""Commands that may change a tree (`commit` by its hooks)."""

_KEEPING: Final = {
    "bisect": {"log", "terms", "view", "visualize"},
    "sparse-checkout": {"check-rules", "list"},
    "stash": {"clear", "create", "drop", "list", "show", "store"},
    "submodule": {"init", "status", "summary", "sync"},
    "worktree": {"list", "lock", "prune", "repair", "unlock"},
}
"""Subcommands of `CHANGING` that change no tree."""

_AT_HEAD: Final = frozenset({"-b", "-B", "-c", "-C", "--create"})
_QUIET: Final = frozenset({"-q", "--quiet"})
"""Options of a `checkout` or `switch` that only makes a branch at HEAD."""

MOST_CONNECTIONS: Final = 64
MOST_LINE: Final = 32 * 1024
MOST_KEPT: Final = 64

MOST_COMMAND: Final = 120

MOST_PARENTS: Final = 8
MOST_NAME: Final = 40

KEPT_NS: Final = 60_000_000_000
"""Nanoseconds for which an ended command is remembered: its writes may be found later."""

SILENT_NS: Final = 10_000_000_000
"""Nanoseconds within which a process must report its command."""

BELIEVED_NS: Final = 5_000_000_000
"""Largest difference between a claimed time and its arrival."""

REST_NS: Final = 1_000_000_000
"""Nanoseconds without accepting after descriptors or memory ran out."""

_SCARCE: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_READ_BYTES: Final = 64 * 1024
_CREDENTIALS: Final = struct.Struct("3i")
_KIND: Final = re.compile(rb'\{"event":"(start|cmd_ancestry|def_repo|cmd_name|def_param|exit)"')
_TO_QUOTE: Final = re.compile(r"^$|[\s'\"\\$`;&|<>()]")
_USER_IN_URL: Final = re.compile(r"//[^/@\s]*@")


class TracePoll(Protocol):
    def watch(self, fd: int) -> None: ...
    def unwatch(self, fd: int) -> None: ...
    def ready(self, fd: int) -> bool: ...


class _Said(msgspec.Struct):
    event: str
    sid: str = ""
    time: str = ""
    argv: list[str] = []
    worktree: str = ""
    name: str = ""
    param: str = ""
    value: str = ""
    code: int = 0
    ancestry: list[str] = []


_DECODE: Final = msgspec.json.Decoder(_Said).decode


class Command(msgspec.Struct):
    """A git process that reports by a connection or a file (`trace_folder`)."""

    uid: int
    pid: int  # attested by the kernel for a connection; for a file, a claim that names a living process, or 0
    pid_start: int = 0
    sid: str = ""
    argv: list[str] = msgspec.field(default_factory=list)
    name: str = ""
    worktree: str = ""
    scope: str | None = None  # folder of the workspace inside its worktree, with "/"; "" is all
    agent: str = ""
    agent_session: str = ""
    parents: tuple[str, ...] = ()  # names of its ancestor processes, the nearest first
    exit_code: int | None = None
    came_ns: int = 0
    started_ns: int = 0
    ended_ns: int = 0
    head_before: str = ""
    within: bool = False  # started by another known command

    @property
    def counts(self) -> bool:
        """True if the command itself may change files of the workspace."""
        return self._changes and self.scope is not None and not self.within

    @property
    def hopeless(self) -> bool:
        """True if it is certain that `counts` stays False, whatever else the command reports."""
        return bool(self.name and not self.name.startswith("_") and not self._changes) or (
            bool(self.worktree) and self.scope is None
        )

    @property
    def keeps_tree(self) -> bool:
        """True if the command changes no file except by hooks: `commit`, or a new branch at HEAD."""
        if self.name not in ("checkout", "switch") or self.name not in self.argv:
            return self.name == "commit"
        words = self._words
        options = {word for word in words if word.startswith("-")}
        return bool(options & _AT_HEAD) and options <= _AT_HEAD | _QUIET and len(words) - len(options) == 1

    @property
    def line(self) -> str:
        """Command line without git's own options, and without credentials in URLs."""
        words = (quote(word) if _TO_QUOTE.search(word) else word for word in self._words)
        return plain(_USER_IN_URL.sub("//", " ".join([self.name, *words])), MOST_COMMAND)

    @property
    def _words(self) -> list[str]:
        return self.argv[self.argv.index(self.name) + 1 :] if self.name in self.argv else []

    @property
    def _changes(self) -> bool:
        subcommand = next((word for word in self._words if not word.startswith("-")), "")
        return self.name in CHANGING and subcommand not in _KEEPING.get(self.name, ())

    def wrote(self, path: str, at_ns: int, slack_ns: int) -> bool:
        """True if the command may have written `path` at `at_ns`.

        Timestamps lag by a tick, so a write shortly before the command's end may have come after it, and one of the
        command may have a time before its start. Such writes count only for a command that writes files.
        """
        if not self.counts or not path.startswith(self.scope or ""):
            return False
        if self.keeps_tree and (at_ns < self.started_ns or (self.ended_ns and at_ns > self.ended_ns - CLOCKS_NS)):
            return False
        return self.started_ns - CLOCKS_NS <= at_ns and (not self.ended_ns or at_ns <= self.ended_ns + slack_ns)


class Commands:
    def __init__(self, root: str) -> None:
        self._root = root.rstrip("/")
        self._running: dict[int, Command] = {}  # by connection
        self._over: list[Command] = []
        self.begun: list[Command] = []  # since the last look
        self.ended: list[Command] = []  # commands that ended since the last look

    def connected(self, connection: int, command: Command) -> None:
        self._running[connection] = command

    def of(self, connection: int) -> Command | None:
        """Return the command of a connection; None if it is closed."""
        return self._running.get(connection)

    def said(self, connection: int, line: bytes, now_ns: int) -> bool:
        """Handle a line of a command's report; return False if further lines do not matter."""
        command = self._running[connection]
        if _KIND.match(line) is None:
            return True
        try:
            said = _DECODE(line)
        except (msgspec.MsgspecError, RecursionError, UnicodeError):
            return True
        counted = command.counts
        match said.event:
            case "start":
                command.sid, command.argv = said.sid[:1000], said.argv[:100]
                command.started_ns = _claimed(said.time, now_ns - BELIEVED_NS, now_ns)
            case "cmd_ancestry":
                command.parents = tuple(
                    secret_scan.masked_name(name)[:MOST_NAME] for name in said.ancestry[:MOST_PARENTS]
                )
            case "def_repo" if not command.worktree:
                command.worktree = plain(said.worktree, 4096)
                command.scope = self._scope(said.worktree)
            case "cmd_name":
                command.name = said.name[:60]
            case "def_param" if said.param == "QUIRE_AGENT":
                command.agent = secret_scan.masked_name(said.value)
            case "def_param" if said.param == "QUIRE_SESSION":
                command.agent_session = secret_scan.masked_name(said.value)
            case "exit":
                command.exit_code = max(-1, min(said.code, 255))
                command.ended_ns = _claimed(said.time, command.started_ns, now_ns)
            case _:
                pass
        if command.counts and not counted:
            command.within = any(_below(command.sid, other.sid) for other in self._all() if other.counts)
            command.started_ns = command.started_ns or now_ns
            if command.counts:
                self.begun.append(command)
        return not (command.hopeless or command.within or command.ended_ns)

    def gone(self, connection: int, now_ns: int) -> None:
        command = self._running.pop(connection)
        if command.counts:
            command.ended_ns = command.ended_ns or now_ns
            self._over.append(command)
            self.ended.append(command)
        self._over = [c for c in self._over[-MOST_KEPT:] if now_ns - c.ended_ns < KEPT_NS]

    def silent(self, now_ns: int) -> list[int]:
        return [
            c for c, command in self._running.items() if not command.counts and now_ns - command.came_ns > SILENT_NS
        ]

    @property
    def is_running(self) -> bool:
        """True if a command that counts has not ended."""
        return any(command.counts and not command.ended_ns for command in self._running.values())

    def writing(self, path: str, at_ns: int, slack_ns: int = 0) -> list[Command]:
        return [command for command in self._all() if command.wrote(path, at_ns, slack_ns)]

    def _all(self) -> Iterator[Command]:
        yield from self._running.values()
        yield from self._over

    def _scope(self, worktree: str) -> str | None:
        tree = worktree.rstrip("/")
        if not worktree.startswith("/"):
            return None
        if f"{self._root}/".startswith(f"{tree}/"):
            return ""
        return f"{tree[len(self._root) + 1 :]}/" if tree.startswith(f"{self._root}/") else None


class GitTrace:
    """The socket and its connections, for one thread; no call blocks."""

    def __init__(self, listener: socket.socket, poll: TracePoll, commands: Commands) -> None:
        self._listener, self._poll, self.commands = listener, poll, commands
        self._connections: dict[int, socket.socket] = {}
        self._rest: dict[int, bytes] = {}  # an unfinished line
        self._skipping: set[int] = set()  # too long, skipped to its end
        self._rests_until_ns = 0  # listener out of the poll until then; 0: in it
        poll.watch(listener.fileno())

    def stirs(self) -> bool:
        """True if a git process is connected, or waits to be."""
        if self._connections or self._rests_until_ns:
            return True
        return self._poll.ready(self._listener.fileno())

    def look(self, now: Callable[[], int]) -> None:
        """Accept connections and read lines. `now` is called after each connection, because a process may finish while
        this thread waits.
        """
        self._take_all(now)
        for fd in list(self._connections):
            self._hear(fd, now)
        now_ns = now()
        for fd in self.commands.silent(now_ns):
            self._end(fd, now_ns)

    def _take_all(self, now: Callable[[], int]) -> None:
        if self._rests_until_ns:
            if now() < self._rests_until_ns:
                return
            self._rests_until_ns = 0
            self._poll.watch(self._listener.fileno())
        for _ in range(MOST_CONNECTIONS):
            try:
                connection, _address = self._listener.accept()
            except OSError as error:
                if error.errno in _SCARCE:  # the connections wait; no report is lost
                    self._rests_until_ns = now() + REST_NS
                    self._poll.unwatch(self._listener.fileno())
                return
            self._take(connection, now())

    @property
    def open(self) -> int:
        return len(self._connections)

    def close(self) -> None:
        for fd in list(self._connections):
            self._end(fd, 0)
        if not self._rests_until_ns:
            self._poll.unwatch(self._listener.fileno())
        path = self._listener.getsockname()
        self._listener.close()
        with contextlib.suppress(OSError):
            os.unlink(path)

    def _take(self, connection: socket.socket, now_ns: int) -> None:
        uid, pid = _peer(connection)
        if uid != os.getuid() or len(self._connections) >= MOST_CONNECTIONS:
            connection.close()
            return
        connection.setblocking(False)
        fd = connection.fileno()
        self._connections[fd], self._rest[fd] = connection, b""
        self._poll.watch(fd)
        self.commands.connected(fd, Command(uid, pid, pid_start(pid), came_ns=now_ns))

    def _hear(self, fd: int, now: Callable[[], int]) -> None:
        try:
            came = self._connections[fd].recv(_READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            came = b""
        now_ns = now()
        if not came:
            self._end(fd, now_ns)
            return
        *lines, last = (self._rest[fd] + came).split(b"\n")
        if lines and fd in self._skipping:
            self._skipping.discard(fd)
            lines = lines[1:]  # the end of a skipped line
        for line in lines:
            if len(line) <= MOST_LINE and not self.commands.said(fd, line, now_ns):
                self._end(fd, now_ns)
                return
        if len(last) > MOST_LINE:
            self._skipping.add(fd)
            last = b""
        self._rest[fd] = last

    def _end(self, fd: int, now_ns: int) -> None:
        self._poll.unwatch(fd)
        self.commands.gone(fd, now_ns)
        self._connections.pop(fd).close()
        del self._rest[fd]
        self._skipping.discard(fd)


def _peer(connection: socket.socket) -> tuple[int, int]:
    """Return the peer's (uid, pid) from the kernel, (-1, 0) on an error. If the kernel does not say: our uid and pid 0,
    as only the socket's mode protects us.
    """
    if not hasattr(socket, "SO_PEERCRED"):
        return os.getuid(), 0
    try:
        told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    except OSError:
        return -1, 0
    pid, uid, _gid = _CREDENTIALS.unpack(told)
    return uid, pid


def _below(sid: str, above: str) -> bool:
    return bool(above) and sid.startswith(f"{above}/")


def _claimed(time: str, first_ns: int, last_ns: int) -> int:
    """Return a claimed time (RFC 3339) in ns; `last_ns` if invalid or not between `first_ns` and `last_ns`."""
    try:
        moment = datetime.fromisoformat(time)
    except ValueError:
        return last_ns
    if moment.tzinfo is None:
        return last_ns
    at_ns = int(moment.timestamp() * 1_000_000) * 1000
    return at_ns if first_ns <= at_ns <= last_ns else last_ns
