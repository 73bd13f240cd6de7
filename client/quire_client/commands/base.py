"""Interface of a command, and one invocation of it.

A command's module has a constant `COMMAND`, whose `run` prints data on stdout and messages on stderr, and returns the
exit status.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from quire_client.cli import render, silence
from quire_client.commands.exit_statuses import status_of
from quire_client.commands.options import MissingArgument, Option, Surplus, Usage, is_number, is_point, point_of

if TYPE_CHECKING:
    from quire_client.api import Client
    from quire_journal.workspaces import Place

TRIAL: Final = "QUIRE_TRIAL"
"""Environment variable that `quire doctor` sets when it tests hooks, so that the calls are attributed to no agent."""

CODEX_SESSION: Final = "CODEX_SESSION_ID"
CODEX_THREAD: Final = "CODEX_THREAD_ID"
"""Environment variable with Codex's thread id, which in a subagent differs from the session id."""

_QUICK_S: Final = 2.0


Names = Sequence[str] | Mapping[str, str]
"""Names of options, or a mapping from option to the tool's argument."""


class Command(NamedTuple):
    arguments: str  # as in the usage line: "[PATH]"
    about: str  # the explanation below the summary
    example: str  # a complete command line
    run: Callable[[Invocation], int]
    options: tuple[Option, ...] = ()
    words: tuple[str, ...] = ()  # possible first arguments, if they are few
    explain: Callable[[Invocation], int] | None = None  # help for given arguments
    passes_on: bool = False  # from the first argument on, the words are another command line


class ClientOptions(NamedTuple):
    place: Place
    agent: str
    session: str
    timeout_s: float
    start: bool
    told: Callable[[str], None] | None = None  # called with the progress of a starting daemon
    guessed: bool = False  # the session is guessed: see `Caller`
    parent: str = ""  # parent of this session


Opener = Callable[[ClientOptions], "Client"]


def open_client(wanted: ClientOptions) -> Client:
    """Return a connected client. Raises NoDaemon if no daemon can be reached, and WorkspaceRefused if the folder may
    have no journal.
    """
    from quire_client.api import Client
    from quire_client.transport import Door
    from quire_journal.model import Caller

    door = Door(wanted.place, wanted.start, wanted.told)
    caller = Caller(wanted.agent, wanted.session, parent=wanted.parent, guessed=wanted.guessed)
    return Client(door, caller, wanted.timeout_s).open()


_LINES: Final = r"(?a:\d{1,18}([-,]\d{1,18})?)"


class Invocation:
    """One invocation of a command: arguments, options, environment, and output."""

    def __init__(
        self,
        arguments: Sequence[str],
        options: Mapping[str, str],
        environ: Mapping[str, str],
        opener: Opener = open_client,
        name: str = "",
    ) -> None:
        self.name = name  # of the command
        self.arguments = list(arguments)
        self.options = options
        self.environ = environ
        self.json = "json" in options
        self.opener = opener
        # Flags of the current streams, which may differ from those at import.
        self.colours = render.Palette(sys.stdout.isatty(), environ)
        self.person_watches = sys.stderr.isatty() and not self.json
        self._client: Client | None = None  # the client of this command
        self._parted = ("", "")  # last PATH@POINT, and its point
        self._told_of_points: set[str] = set()
        self._asks_for_session = False  # True if `--session` selects a writer instead of naming the caller

    @property
    def folder(self) -> Path:
        """Folder to which relative paths refer: that of `-C PATH`. Raises NoFolder if the current folder does not
        exist.
        """
        return self.named.parent if os.path.isfile(self.named) else self.named

    @property
    def named(self) -> Path:
        """Path of `-C PATH`, else the current folder. Raises NoFolder if the current folder does not exist."""
        given = self.options.get("workspace") or os.curdir
        return self._below_current(given, "name the workspace by its whole path with -C")

    @property
    def state_dir(self) -> Path | None:
        """Absolute path of `--state-dir`, or None. Raises NoFolder if the current folder does not exist, Usage if the
        value is empty.
        """
        given = self.options.get("state-dir")
        if given == "":
            raise Usage("--state-dir wants DIR; a variable that is not set would mean the current folder.")
        return None if given is None else self._below_current(given, "name the state folder by its whole path")

    def _below_current(self, given: str, instead: str) -> Path:
        if not os.path.isabs(given):
            try:
                os.getcwd()
            except FileNotFoundError:
                from quire_journal.workspaces import NoFolder

                raise NoFolder(f"The current folder is gone; go to another one, or {instead}.") from None
        return Path(given)

    @cached_property
    def place(self) -> Place:
        """Workspace that the command acts on. Raises WorkspaceRefused if the folder cannot be in one."""
        from quire_journal.workspaces import find_workspace

        # For a file, its folder is not taken as the workspace itself.
        given = "workspace" in self.options and self.folder == self.named
        return find_workspace(self.folder, self.state_dir, given=given)

    def connect(self, *, start: bool = True, told: Callable[[str], None] | None = None) -> Client:
        """Return a client of the workspace; with `start`, a missing daemon is started. Raises NoDaemon or
        WorkspaceRefused if none can be reached. `told` gets its progress messages and removes the time limit.
        """
        from quire_client.cli import Progress

        agent, session, parent = self._named
        opens = ClientOptions(self.place, agent, session, self.timeout_s(30.0), start, told, parent=parent)
        with Progress("Waiting for the daemon", self.person_watches):
            self._client = self.opener(opens)
        self._client.again = self._by_git
        return self._client

    def _by_git(
        self, client: Client, tool: str, arguments: Mapping[str, Any], refused: dict[str, Any]
    ) -> dict[str, Any]:
        from quire_client.commands.git_points import asked_again  # imported late, as it is seldom needed

        return asked_again(client, tool, arguments, refused, self._tell_of_point)

    def _tell_of_point(self, sentence: str) -> None:
        if sentence not in self._told_of_points:
            self._told_of_points.add(sentence)
            self.say(sentence)

    def ask(self, tool: str, arguments: Mapping[str, Any], *, start: bool = True) -> Mapping[str, Any]:
        """Call a tool that changes nothing and return its reply. Raises NoDaemon or WorkspaceRefused if no daemon can
        be reached.

        A running daemon is called without importing ZeroMQ and msgspec, which takes half of the command's time.
        """
        reply = self._quickly(tool, arguments) if self.opener is open_client else None
        if reply is not None and reply.get("suggested_action") != "name_a_point":
            return reply
        with self.connect(start=start) as client:
            return client.call(tool, arguments)

    def _quickly(self, tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any] | None:
        from quire_client.transport import NoAccess, NoDaemon, Quick, Unreachable
        from quire_journal import VERSION
        from quire_journal.model import SPOOL_FOLDER

        until = time.monotonic() + min(self.timeout_s(30.0) / 2, _QUICK_S)
        try:
            caller = dict(zip(("agent", "agent_session", "parent"), self._named, strict=True))
            with Quick(self.place, caller, until) as quick:
                reply = quick.call(tool, arguments)
                return reply if quick.version == VERSION else None
        except NoAccess as reason:
            if os.path.lexists(self.place.root.joinpath(*SPOOL_FOLDER)):
                return None
            raise NoDaemon(str(reason)) from reason
        except Unreachable:
            return None

    @property
    def caller(self) -> tuple[str, str]:
        return self._named[:2]

    def name_caller(self, writer: Mapping[str, Any]) -> None:
        """Give the caller of later calls the name of this writer, unless it has one: the daemon knows an agent by its
        process only as long as both live.
        """
        if self.caller == ("", ""):
            self.options = {**self.options, "agent": writer["agent"], "session": writer["agent_session"]}

    @property
    def _named(self) -> tuple[str, str, str]:
        agent = self.options.get("agent", self.environ.get("QUIRE_AGENT", ""))
        session = "" if self._asks_for_session else self.options.get("session", self.environ.get("QUIRE_SESSION", ""))
        root = self.environ.get(CODEX_SESSION, "")
        if agent or session or not root:
            return agent, session, ""
        thread = self.environ.get(CODEX_THREAD, root)
        return ("codex", root, "") if thread == root else ("codex", f"{root}.{thread}", root)

    def session_meant(self) -> dict[str, Any]:
        """Return the tool argument for `--session` without `--agent`, which selects that session's changes; else {}."""
        named = {"agent", "agent-session"} & self.options.keys() or self.environ.get("QUIRE_AGENT")
        self._asks_for_session = "session" in self.options and not named
        return {"agent_session": self.options["session"]} if self._asks_for_session else {}

    def timeout_s(self, default: float) -> float:
        """Return the seconds of `--timeout`, else `default`. Raises Usage if the value is not a positive number."""
        text = self.options.get("timeout", "")
        try:
            seconds = float(text or default)
        except ValueError:
            seconds = -1.0
        if not 0 < seconds < 1e6:
            raise Usage(f"--timeout wants a number of seconds, not {text!r}.")
        return seconds

    def number(self, name: str) -> int | None:
        """Return the value of an option as a number, or None if the option is not given. Raises Usage if it is not a
        whole number of at most 18 digits.
        """
        text = self.options.get(name)
        if text is None:
            return None
        if not is_number(text) or len(text) > 18:  # beyond the integers of a message
            raise Usage(f"--{name} wants a whole number of at most 18 digits, not {text[:40]!r}.")
        return int(text)

    def stated(self, texts: Names = (), numbers: Names = (), flags: Names = ()) -> dict[str, Any]:
        """Return those of the named options that are given, as a tool's arguments: text, a number, or True for a flag.
        Raises Usage for an invalid number.
        """
        found: dict[str, Any] = {}
        for names, read in ((texts, self.options.get), (numbers, self.number), (flags, lambda name: True)):
            called = names if isinstance(names, Mapping) else {name: name.replace("-", "_") for name in names}
            found |= {called[name]: read(name) for name in called if name in self.options}
        return found

    def one_argument(self, name: str) -> str:
        """Return the only argument. Raises MissingArgument if there is none, Surplus if there are several."""
        self.at_most(1)
        if not self.arguments:
            raise MissingArgument(name)
        return self.arguments[0]

    def at_most(self, number: int) -> None:
        if len(self.arguments) > number:
            raise Surplus(self.arguments[number])

    def path_then(self, given: str) -> tuple[str, str]:
        """Return (path, point) of an argument `PATH@POINT`, or `PATH` with the option --at; the point may be ""."""
        return (given, self.options["at"]) if "at" in self.options else self.path_at(given)

    def path_at(self, text: str) -> tuple[str, str]:
        """Split `PATH@POINT`, or git's `POINT:PATH`, into (path, point); the point is "" if there is none, or if a file
        has the whole name. Raises Usage if the point is an invalid time.
        """
        path, sign, point = text.rpartition("@")
        if os.path.lexists(self.folder / text):
            return text, ""
        if point.startswith("{"):  # stash@{0}, HEAD@{1}: of git
            path, sign, name = path.rpartition("@")
            point = f"{name}@{point}"
            if ":" in point or not sign:
                return self._as_git_writes_it(text)
        if not sign:
            return self._as_git_writes_it(text)
        self._parted = (text, point)
        return path, point_of(point)

    def _as_git_writes_it(self, text: str) -> tuple[str, str]:
        point, _, path = text.partition(":")
        if not point or not path or point == "seq" or re.fullmatch(_LINES, path):
            return text, ""
        self._parted = (text, point)
        within = path if path.startswith(("./", "../")) else os.fspath(self.place.root / path)
        return within, point_of(point)

    def path_lines(self, text: str) -> tuple[str, str]:
        """Split `PATH:LINES` (`app.py:10-24`) into (path, lines as `10:24`). Lines are "" if there are none, or if a
        file has the whole name.
        """
        path, colon, lines = text.rpartition(":")
        _, sign, point = text.rpartition("@")
        is_of_point = bool(sign) and is_point(point)  # seq:8, 14:30
        if not colon or not path or is_of_point or not re.fullmatch(_LINES, lines):
            return text, ""
        if os.path.lexists(self.folder / text):
            return text, ""
        return path, lines.replace("-", ":")

    def require_no_lines(self, word: str) -> None:
        """Raise Usage if `word` is PATH:LINES of an existing file, for a command that takes no lines."""
        path, lines = self.path_lines(word)
        if lines and os.path.isfile(self.folder / path):
            said = render.one_line(word)
            raise Usage(
                f"`quire {self.name}` takes no lines: `quire read {said}` prints them, `quire blame {said}` tells who "
                f"wrote them, `quire undo {said}` takes back what was written there."
            )

    def in_workspace(self, path: str) -> str:
        """Return a path of the command line in the daemon's form: relative to the workspace (absolute if outside),
        escaped as in the journal. Raises Usage for an empty path, which would select all files, and for PATH:LINES.
        """
        if not path:
            raise Usage("A path is empty; `.` names the whole folder.")
        self.require_no_lines(path)
        from quire_journal.model import journal_path
        from quire_journal.workspaces import at_home

        above = os.path.realpath(self.folder)
        absolute = os.fspath(at_home(os.path.normpath(os.path.join(above, path))))
        inside = os.path.relpath(absolute, self.place.root)
        outside = inside == os.pardir or inside.startswith(os.pardir + os.sep)
        return journal_path(absolute if outside else inside)

    @property
    def can_ask(self) -> bool:
        return not self.json and sys.stdin is not None and sys.stdin.isatty()

    def agreed(self, question: str) -> bool:
        print(f"{render.clean(question)} [y/N] ", end="", file=sys.stderr, flush=True)
        return sys.stdin.readline().strip().lower() in ("y", "yes")

    def declined(self, what: str) -> int:
        """Print `what`, a sentence about what remains unchanged, after the user declined a question; return the exit
        status.
        """
        return self.answer({"ok": False, "error": "not_confirmed", "message": what}, lambda reply: "")

    def answer(
        self,
        reply: Mapping[str, Any],
        show: Callable[[Mapping[str, Any]], str],
        *,
        exact: bool = False,
        patch: bool = False,
        below: Callable[[Mapping[str, Any]], Sequence[str]] | None = None,
    ) -> int:
        """Print a reply, as JSON or as the text of `show`, and return its exit status. A refusal goes to stderr.

        `exact` adds no line break. `below` returns lines to print after a refusal. `patch` uses git's pager.
        """
        if self.json:
            self.put(render.as_json(reply) + "\n")
        elif reply.get("ok"):
            text = show(reply)
            self.put(text if exact or patch or text.endswith("\n") else text + "\n", patch)
        else:
            self.complain(reply, () if below is None else below(reply))
        self.warn(reply)
        self._tell_what_went_stale(reply)
        self._tell_of_another_version()
        return status_of(reply)

    def put(self, text: str, patch: bool = False) -> None:
        """Write `text` to stdout, through a pager (git's for a `patch`) if it is longer than the terminal. Raises
        OutputFailure if that fails.
        """
        if sys.stdout.isatty() and not self.json and "no-pager" not in self.options:
            from quire_client.cli import git_pager, page

            page(text, self.environ, git_pager(self.environ) if patch else "")
            return
        try:
            if patch and not sys.stdout.isatty():
                sys.stdout.flush()
                sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
            else:
                sys.stdout.write(text)
        except BrokenPipeError:
            silence()

    def _tell_of_another_version(self) -> None:
        from quire_journal import VERSION

        version = self._client.daemon_version if self._client is not None else ""
        if version not in ("", VERSION):
            self.say(
                f"The daemon is version {render.one_line(version)}, this client {VERSION}: `quire down` ends it, and "
                "the next call starts the new one."
            )

    def _tell_what_went_stale(self, reply: Mapping[str, Any]) -> None:
        if not (self.options.get("agent") or self.environ.get("QUIRE_AGENT")):
            return
        told: dict[str, list[Mapping[str, Any]]] = {}
        for entry in reply.get("changed_since_your_read") or ():
            told.setdefault(render.one_line(entry.get("path") or reply.get("path", "")), []).append(entry)
        if told:
            from shlex import quote
        for path, entries in told.items():
            newest = entries[-1]
            who = " and ".join(dict.fromkeys(render.writer(entry.get("writer")) for entry in entries))
            hint = f" ({render.hint(newest['hint'])})" if newest.get("hint") else ""
            brief = newest.get("lines", ()) is None  # the reply describes only the newest change
            when = f"{', last' if len(entries) > 1 else ''} at {render.moment(newest.get('at', ''))}{hint}"
            look = f"; see `quire diff {render.one_line(newest['since'])}.. {quote(path)}`" if "since" in newest else ""
            self.say(f"{path} was changed since you read it, {'last ' if brief else ''}by {who}{when}{look}.")

    def complain(self, reply: Mapping[str, Any], below: Sequence[str] = ()) -> None:
        """Print a refusal on stderr: its message and next step, worded for the command line."""
        from quire_client.cli import wording

        code = render.one_line(reply.get("error", ""))
        message = wording.sentence(render.said(reply.get("message", ""))) or "The call was refused."
        self.say(message)
        for line in below:
            self.say(line)
        if reply.get("op") and reply.get("outcome") == "unknown":
            self.say(f"Operation: {render.one_line(reply['op'])}")
        if reply.get("suggested_action"):
            action, op = render.one_line(reply["suggested_action"]), render.one_line(reply.get("op", ""))
            self.say(f"Next: {wording.step(action, op, self.name, code)}.")
        waits = str(reply.get("suggested_action")).startswith("wait")
        if waits and reply.get("error") == "lease_held" and not self._named[0]:  # not for agents
            self.say("You can take it away as well: `quire release PATH --force`.")
        if reply.get("suggested_action") == "name_a_point":
            self._tell_of_points(str(reply.get("point")))

    def _tell_of_points(self, refused: str) -> None:
        from quire_client.cli import HERE

        text, point = self._parted
        if point == refused and ("." in point or "/" in point):  # the text after `@` may belong to a file name
            self.say(f"If {text} is a path, it wants a point of its own: {text}@v12.")
        else:
            self.say(HERE)

    def warn(self, reply: Mapping[str, Any]) -> None:
        for warning in reply.get("warnings") or ():
            self.say(render.one_line(render.said(warning.get("message", "")), 400))

    def say(self, sentence: str) -> None:
        if not self.json:
            print(sentence, file=sys.stderr)


def is_of_nobody(reply: Mapping[str, Any]) -> bool:
    """Return True if the reply warns that no writer has the given name."""
    return any(warning.get("type") == "unknown_writer" for warning in reply.get("warnings") or ())
