"""Attribution of outside writes to git commands, and a record of each command.

A reported command (`trace2`) labels the writes during its run if no other ran; else a moved HEAD or git's lock gives a
label (`head`). A label is a hint: the writer stays `outside`, because another program may have written meanwhile.
"""

from __future__ import annotations

from pathlib import Path
from socket import socket
from typing import Final

import msgspec

from quire_daemon.clock import Clock
from quire_daemon.commit import Recorder
from quire_daemon.watch.git.head import CLOCKS_NS, GitHead, Head
from quire_daemon.watch.git.trace2 import Command, Commands, GitTrace, TracePoll
from quire_daemon.watch.git.trace_folder import TraceFolder, is_alive
from quire_journal.model import OUTSIDE, GitRan, WriterIntroduced, plain

NOTICED_NS: Final = 60_000_000
"""Largest delay in nanoseconds before a removed file is found."""

_MOST_LABEL: Final = 60


class GitWriter:
    def __init__(self, recorder: Recorder, clock: Clock, head: GitHead, commands: Commands) -> None:
        self._recorder, self._clock, self._head, self._commands = recorder, clock, head, commands
        self._traces: list[GitTrace | TraceFolder] = []
        self._moved = False

    def hear(self, listener: socket, poll: TracePoll) -> None:
        self._traces.append(GitTrace(listener, poll, self._commands))

    def read_folder(self, folder: Path) -> None:
        """Read the reports of this user's git processes in a folder, if it exists."""
        self._traces.append(TraceFolder(folder, self._commands, is_alive))

    def moved(self) -> None:
        """Let `tidy` record which command moved HEAD. For any thread."""
        self._moved = True

    def stirs(self) -> bool:
        return self._moved or any(trace.stirs() for trace in self._traces)

    def look(self) -> None:
        for trace in self._traces:
            trace.look(self._clock.now_ns)
        for command in self._commands.begun:
            self._head.forget()
            command.head_before = str(self._head.now)
        self._commands.begun.clear()
        while self._commands.ended:  # each once, even if it cannot be recorded
            self._note(self._commands.ended.pop(0))
        if self._moved:
            self._moved = False
            self._head.expect(self._clock.now_ns())

    def tidy(self) -> None:
        """Read new reports, and record the reported commands that have ended. While none runs, record the moves of HEAD
        that labelled writes or that `moved` announced.
        """
        if self.stirs():
            self.look()
        if self._commands.is_running:
            return
        for move in self._head.finished(self._clock.now_ns()):
            said, at_ns = move.after.action, move.after.at_ns
            ran = GitRan(said, evidence="head", ended_ns=at_ns, head_before=str(move.before))
            ran = msgspec.structs.replace(_with_head(ran, move.after), started_ns=move.began_ns)
            self._recorder.note(ran, OUTSIDE)

    def awaits_name(self) -> bool:
        """True if the command behind a label or a moved HEAD may soon become known by `tidy`."""
        return self._head.awaits_name(self._clock.now_ns())

    def hint(self, path: str, at_ns: int, exact: bool) -> str:
        """Return a label of what git did when `path` changed; "" if nothing. `exact`: the time is a timestamp of the
        file.
        """
        slack_ns = 0 if exact else NOTICED_NS
        running = self._commands.writing(path, at_ns, slack_ns)
        if not running or any(not command.ended_ns for command in running):
            self.look()  # reports of this moment, including ends
            running = self._commands.writing(path, at_ns, slack_ns)
        if not running:
            return self._head.hint(at_ns, slack_ns, self._clock.now_ns())
        return _label(running[0]) if len(running) == 1 else "git"

    def head(self) -> str:
        """Return branch and commit of HEAD; "" without a repository."""
        return self._head.current()

    def close(self) -> None:
        while self._traces:
            self._traces.pop().close()

    def _note(self, command: Command) -> None:
        writer = self._recorder.writer(
            WriterIntroduced(0, command.uid, command.pid, command.pid_start, command.agent, command.agent_session)
        )
        self._recorder.introduce(writer)
        self._head.forget()
        ran = GitRan(
            command.line,
            command.worktree,
            command.agent,
            command.agent_session,
            command.exit_code,
            command.started_ns,
            command.ended_ns,
            head_before=command.head_before,
            parents=command.parents,
            merged=self._head.merged_since(command.started_ns),
        )
        self._recorder.note(_with_head(ran, self._head.now), writer)


def _with_head(ran: GitRan, head: Head) -> GitRan:
    before, after = ran.head_before, str(head)
    if before == after and head.at_ns >= ran.started_ns - CLOCKS_NS > 0:
        before = head.previous[:12]  # HEAD moved before the first look
    if before == after:
        return msgspec.structs.replace(ran, head_before="", head_after="")
    return msgspec.structs.replace(ran, head_before=before, head_after=after, merged="")


def _label(command: Command) -> str:
    names = "/".join(plain(name, _MOST_LABEL) for name in (command.agent, command.agent_session) if name)
    who = [part for part in (names, f"pid {command.pid}" if command.pid else "") if part]
    return f"git {command.line} ({', '.join(who)})" if who else f"git {command.line}"
