"""`run`: a command that `quire run` starts, so that its writes have a writer and its exit status is recorded.

* `begin`: a burst begins, and the command is announced with the process id of `quire run`. The reply names the caller,
  who may be known by that process only. Writes of its descendant
  processes are traced; without tracing, the files are derived from the command line, as for an agent's shell call.
* `end`: writes since `begin` are attributed, and the exit status is recorded. The reply names the files that the
  command changed, those that git wrote because the command ran it, those that other writers changed, and those whose
  writer is unknown.

The burst also ends with the process of `quire run`, which may be killed.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final, Literal, NamedTuple

import msgspec

from quire_daemon.core import AnnouncedCall, Decision, Tool, World, no_paths
from quire_daemon.core.replies import RunReply
from quire_daemon.tools.agent_hooks import kept_command
from quire_daemon.tools.bursts import MAX_TTL_S, MOST_OPEN, SETTLE_S, burst_json, open_beside
from quire_daemon.tools.evidence import CallEnd, by_its_command, tree_commands, verdicts
from quire_daemon.tools.history import VERSION_KINDS
from quire_journal.history import command_of, is_by_git, parse_point, rfc3339
from quire_journal.model import (
    DURING,
    FOLDER,
    OUTSIDE,
    REGULAR,
    BurstBegun,
    BurstEnded,
    CommandRan,
    Record,
    Refusal,
    WriteAttributed,
    counted,
    paths_of,
    plain,
)
from quire_journal.views import PROCESS, RUN, TOOL_WRITES, Burst
from quire_journal.views.indexes import of_kind

MOST_WORDS: Final = 10_000
"""Maximum number of words of a command line."""

MOST_CHARACTERS: Final = 16_384
"""Maximum number of characters of a command line that are parsed for the files that it may write."""

MOST_LABEL: Final = 160

MOST_WRITES: Final = 4000
"""Maximum number of records since `begin` that are searched for writes."""

RETRY_MS: Final = 100

MOST_TOLD: Final = 20
"""Maximum number of files of each kind in a reply."""

_SECOND: Final = 1_000_000_000


class RunParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    action: Literal["begin", "end"]
    command: list[str] = []  # of `begin`: the command and its arguments
    captured: bool = False  # of `begin`: only if the first capture is over
    isolated: bool = False  # of `begin`: it runs in a copy of the tree; `land` writes its changes
    at: str = ""  # of `begin`: a point, if it runs in an exported tree of that time
    burst: int = 0  # of `end`: burst number returned by `begin`
    status: int = 0  # of `end`: the exit status, 128 + N after signal N
    upto: int = 0  # of `end`: seq of `at` returned by `begin`
    brought: list[str] = []  # of `end`: paths that the caller itself wrote or removed, from the copy of an isolated run


def decide(params: RunParams, world: World) -> Decision:
    """Begin or end a run (`RunReply`). Raises `Refusal`."""
    return _begin(params, world) if params.action == "begin" else _end(params, world)


def _begin(params: RunParams, world: World) -> Decision:
    if not params.command or not params.command[0] or len(params.command) > MOST_WORDS:
        raise Refusal("schema_invalid", f"command: must be 1 to {MOST_WORDS} words.", argument="command")
    if len(open_beside(RUN, world)) >= MOST_OPEN:
        message = f"{MOST_OPEN} bursts of yours are open; end one before you run another command."
        raise Refusal("busy", message, "end_burst")
    # `land` compares each file with that of the begin; what a command writes into an unrecorded file seems found there
    if (params.isolated or params.captured) and world.history.first_scan() is None:
        message = "The files are being recorded for the first time; the command begins when all of them are."
        raise Refusal("busy", message, "retry", retry_after_ms=RETRY_MS, capturing=True)
    upto = int(parse_point(params.at, world.history, "at")) if params.at else 0
    command = shlex.join(params.command)[:MOST_CHARACTERS]
    kept = kept_command(command)
    label, number = plain(kept or params.command[0], MOST_LABEL), world.next_seq
    takes = not (upto or params.isolated)  # runs elsewhere: writes in the checkout are not its own
    begun = BurstBegun(
        label, RUN, world.now_ns + MAX_TTL_S * _SECOND, takes, PROCESS, command=kept, apart=world.who.apart
    )
    announced = AnnouncedCall(
        *(number, world.who.writer, (), (), command, world.who.process),
        owner=world.who.key,
    )
    message, owner = f"{label}: burst {number} has begun.", world.writer_json(world.who.writer)
    reply = {"ok": True, "message": message, "burst": number, "upto": upto, "owner": owner}
    return Decision(reply, [begun], announced=announced if takes else None)


def _end(params: RunParams, world: World) -> Decision:
    burst = world.history.burst(params.burst)
    if burst is None or burst.form != RUN:
        raise Refusal("not_found", f"Burst {params.burst} is no run.", "list_bursts", burst=params.burst)
    if burst.owner != world.who.key:
        message = f"Burst {burst.number} was begun by {world.history.named(burst.writer)}, who alone ends it."
        raise Refusal("permission_denied", message, "wait", burst=burst.number)
    found = list[WriteAttributed]()
    if burst.outside and not burst.ended:
        call = AnnouncedCall(burst.number, burst.writer, (), (), burst.command)
        found = verdicts(CallEnd(burst, call, world.now_ns, announced=world.announced), world.history, by_its_command)
    files = _Files(burst, found, not params.upto, frozenset(params.brought), world)
    ended = BurstEnded(burst.number, "owner" if params.status == 0 else "failed")
    ran = CommandRan(burst.number, params.status, len(files.by_others) + len(files.doubtful), params.upto)
    if _is_told(burst, world):
        events: list[WriteAttributed | BurstEnded | CommandRan] = []
    else:
        events = [*found, *(() if burst.ended else (ended,)), ran]
    took_s = round(max(0, world.now_ns - burst.began_ns) / _SECOND, 3)
    message = f"{burst.label} ended with {params.status} after {took_s:.1f} s: {files.said()}."
    shown = msgspec.structs.replace(
        burst, ended=burst.ended or world.next_seq + len(found), ended_ns=world.now_ns, why=burst.why or ended.why
    )
    reply = {"ok": True, "message": message, **burst_json(shown, world), "status": params.status, "took_s": took_s}
    first = world.history.first_scan()
    if burst.outside and (first is None or first > burst.number):
        reply["early"] = True
    return Decision({**reply, **files.json(world)}, events)


def _is_told(burst: Burst, world: World) -> bool:
    """True if the end of this run is already recorded, and only the reply to it was lost."""
    for _, seqs in world.history.with_terms([[of_kind(CommandRan.kind)]], burst.number, world.history.head(), True):
        for seq in seqs:
            event = world.history.event(seq)
            if isinstance(event, CommandRan) and event.burst == burst.number:
                return True
    return False


class _Change(NamedTuple):
    writer: int
    at_ns: int
    hint: str
    probable: bool


class _Files:
    """The files changed since a run began, grouped by writer: the run, git for the run, other writers, unknown."""

    def __init__(
        self, burst: Burst, found: list[WriteAttributed], here: bool, brought: frozenset[str], world: World
    ) -> None:
        self._burst, self._history, self._brought = burst, world.history, brought
        self._found = {seq: one for one in found for seq in one.seqs}
        self._git_commands = tree_commands(burst.command)
        self.own: dict[str, _Change] = {}
        self.by_git: dict[str, _Change] = {}
        self.by_others: dict[str, _Change] = {}
        self.doubtful: dict[str, _Change] = {}
        written = self._written(burst.number)
        for record in islice(written, MOST_WRITES) if here else ():
            self._add(record)
        self.cut = here and next(written, None) is not None

    def _written(self, after: int) -> Iterator[Record]:
        terms = [[of_kind(kind) for kind in sorted(VERSION_KINDS)]]
        for _, seqs in self._history.with_terms(terms, after, self._burst.ended or self._history.head(), False):
            for seq in seqs:
                record = self._history.record(seq)
                if record is not None:
                    yield record

    def _add(self, record: Record) -> None:
        told = self._found.get(record.seq) or self._history.attribution(record)
        writer = told.writer if told is not None else record.writer
        event = record.event()
        if getattr(event, "entry", REGULAR) == FOLDER:
            return  # its files are reported instead
        if writer == OUTSIDE and not self._brought.isdisjoint(paths_of(event)):
            return
        probable = told is not None and told.evidence == DURING
        change = _Change(writer, record.at_ns, str(getattr(event, "hint", "")), probable)
        by_git = is_by_git(change.hint)
        if writer == OUTSIDE and (told is None or told.candidates):
            asked = self.by_git if by_git and self._git_commands else self.doubtful
            kind = asked if self._burst.outside else self.by_others
        elif self._history.caller_of(writer) == self._burst.owner and not self._is_anothers(record, told):
            kind = self.by_git if by_git and not probable else self.own
        else:
            kind = self.by_others
        for path in paths_of(event):
            kind[path] = change

    def _is_anothers(self, record: Record, told: WriteAttributed | None) -> bool:
        """True if the caller wrote the record apart from this run, or in another run that is not within this one."""
        if told is None or isinstance(record.event(), TOOL_WRITES):
            return not self._history.in_burst(self._burst.number, record.batch)
        other = self._history.burst(told.burst)
        if other is None or other.number == self._burst.number:
            return False
        return self._burst.number in other.apart or other.number < self._burst.number or not other.ended

    def said(self) -> str:
        """Return a summary such as `3 files changed by it, 1 by others meanwhile`, where `it` is the command."""
        said = f"{counted(len(self.own), 'file')} changed by it"
        if self.by_git:
            said += f", {len(self.by_git)} by {self.git}"
        if self.by_others:
            said += f", {len(self.by_others)} by others meanwhile"
        return f"{said}, {len(self.doubtful)} by it or by others" if self.doubtful else said

    @property
    def git(self) -> str:
        """Name of the git command that the run ran, as in its command line, or else in the hint of a write; `git` if
        there were several.
        """
        if self._git_commands:
            return self._git_commands[0] if len(self._git_commands) == 1 else "git"
        named = {command_of(one.hint) for one in self.by_git.values()} - {""}
        return f"git {named.pop()}" if len(named) == 1 else "git"

    def json(self, world: World) -> dict[str, Any]:
        """Return the reply's `changed` (by the command), `by_git`, `by_others` and `doubtful`, each with at most
        `MOST_TOLD` files, and the number of all its files as `changed_count` and so on.
        """
        told: dict[str, Any] = {"cut": True} if self.cut else {}
        told |= {"git": self.git} if self.by_git else {}
        kinds = {"changed": self.own, "by_git": self.by_git, "by_others": self.by_others, "doubtful": self.doubtful}
        for name, files in kinds.items():
            shown = list(islice(files.items(), MOST_TOLD))
            told |= {
                name: [
                    {
                        "path": path,
                        "at": rfc3339(one.at_ns),
                        "writer": world.writer_json(one.writer),
                        "hint": one.hint,
                        **({"probable": True} if one.probable else {}),
                    }
                    for path, one in shown
                ],
                f"{name}_count": len(files),
            }
        return told


RUN_TOOL: Final[Tool[RunParams]] = Tool(
    "run", RunParams, no_paths, decide, writes=True, catch_up=True, settle_s=SETTLE_S, reply=RunReply
)
