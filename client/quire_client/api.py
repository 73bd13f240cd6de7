"""Typed calls of every tool, and `Client.call`, the generic door to all of them.

A reply is a dict, for refusals too (`ok: false` with `error` and `message`). Exceptions are left for what goes
wrong before anything was sent: no daemon (`NoDaemon`), a folder that cannot be a workspace (`WorkspaceRefused`),
arguments that no message can carry (`TypeError`, `ValueError`).
"""

from __future__ import annotations

import os
import threading
import time
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol, TypedDict, Unpack

import msgspec

from quire_client.connection import NoReply, NotSent
from quire_client.start import Door, NoDaemon
from quire_journal import VERSION
from quire_journal.messages import MAX_MESSAGE, Caller, Reply, Request, encode
from quire_journal.places import Place, place_of, running
from quire_journal.refusals import Refused

TIMEOUT_S: Final = 30.0
"""How long a call may take, from the search for a daemon to its reply."""

Answer = dict[str, Any]


class Writing(TypedDict, total=False):
    """Arguments of every writing tool."""

    base: str
    on_stale: str  # "reject" or "rebase"
    dry_run: bool
    safety_check: str  # "strict", "warn" or "off"
    idempotency_key: str
    allow_uncaptured: bool


class Choice(TypedDict, total=False):
    """Which records `undo` and `redo` mean, and whether only to plan it; `token` executes a plan."""

    writer: str
    last: int
    batch: int | str
    turn: str
    agent_session: str
    burst: int
    path: str
    paths: Sequence[str]
    conflicts: str  # "skip", "markers" or "abort"
    plan: bool
    token: str


class Line(Protocol):
    """What the client asks of a connection; `connection.Connection` has the meaning of each."""

    epoch: str

    def usable(self) -> bool: ...
    def alive(self) -> bool: ...
    def exchange(self, request_id: int, frame: bytes, until: float) -> Reply: ...
    def close(self) -> None: ...


class Opens(Protocol):
    """What gives the client its connections: `start.Door`."""

    place: Place
    may_start: bool

    def open(self, until: float) -> Line: ...


def connect(
    workspace: str | os.PathLike[str],
    agent: str = "",
    session: str = "",
    state_dir: str | os.PathLike[str] | None = None,
    timeout_s: float = TIMEOUT_S,
    start: bool = True,
    *,
    turn: str = "",
    tool_call: str = "",
    model: str = "",
) -> Client:
    """A client for exactly the folder `workspace`, which becomes a workspace if it is none yet.

    `agent` and `session` say who calls; without them it is the user. `timeout_s` is the limit of each call. With
    `start=False` no daemon is started. Raises NoDaemon or WorkspaceRefused with the reason.
    """
    place = place_of(os.fspath(workspace), None if state_dir is None else os.fspath(state_dir))
    caller = Caller(agent, session, turn, tool_call, model)
    return Client(Door(place, start), caller, timeout_s).open()


class Client:
    """One caller's connection to the daemon of one workspace.

    Threads may share it: their calls take turns. When the daemon was restarted, the next call goes to the new one.
    """

    def __init__(self, door: Opens, caller: Caller, timeout_s: float = TIMEOUT_S) -> None:
        self.place = door.place
        self.caller = caller
        self.timeout_s = timeout_s
        self.epoch = ""  # of the daemon that answered last
        self.daemon_version = ""  # its version; "" when none has answered, or the one that did has ended
        self._door = door
        self._connection: Line | None = None
        self._last_id = 0
        self._turn = threading.Lock()

    def open(self) -> Client:
        """Connect now instead of at the first call. Raises NoDaemon."""
        with self._turn:
            self._connected(time.monotonic() + self.timeout_s)
        return self

    def call(
        self,
        tool: str,
        args: Mapping[str, Any] | None = None,
        *,
        timeout_s: float | None = None,
        turn: str | None = None,
        tool_call: str | None = None,
    ) -> Answer:
        """Call `tool` and return its reply. Raises NoDaemon or WorkspaceRefused when nothing could be sent.

        When the request was sent and no reply came, the reply is `{ok: False, error: "unknown", outcome: "unknown",
        op}`: `op_status(op)` tells what became of it. The options stand in for the client's own for this call.
        """
        limit = self.timeout_s if timeout_s is None else timeout_s
        body = msgspec.Raw(encode(dict(args or {})))
        caller = self.caller
        if turn is not None:
            caller = msgspec.structs.replace(caller, turn=turn)
        if tool_call is not None:
            caller = msgspec.structs.replace(caller, tool_call=tool_call)
        with self._turn:
            return self._perform(tool, body, caller, limit)

    def close(self) -> None:
        """Give the connection back. A later call would open a new one."""
        with self._turn:
            self._drop()

    def shutdown_daemon(self, timeout_s: float | None = None) -> Answer:
        """End the daemon and wait until its lock is free. No daemon is no failure, and none is started for it."""
        until = time.monotonic() + (self.timeout_s if timeout_s is None else timeout_s)
        if running(self.place) is None:
            return {"ok": True, "message": "No daemon runs."}
        starts, self._door.may_start = self._door.may_start, False
        try:
            reply = self.call("shutdown", timeout_s=timeout_s)
        except NoDaemon:
            reply = {"ok": False, "error": "unknown", "message": "The daemon could not be asked to end."}
        finally:
            self._door.may_start = starts
        if not reply.get("ok") and reply.get("error") != "unknown":
            return reply
        while running(self.place) is not None:
            if time.monotonic() >= until:
                return {"ok": False, "error": "unknown", "message": "The daemon did not end in time."}
            time.sleep(0.01)
        self.close()
        self.daemon_version = ""
        return {"ok": True, "message": "The daemon ended."} if not reply.get("ok") else reply

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- reading -----------------------------------------------------------------------------------------------

    def read_file(
        self,
        path: str,
        *,
        hashes: bool | None = None,
        format: str | None = None,
        start_line: int | None = None,
        end_line: int | None = None,
        at: str | None = None,
    ) -> Answer:
        """The text of `path`, plain or as lines with anchors (`hashes`, or `format="hashline"`); `at` a point."""
        given = _given(path=path, hashes=hashes, format=format, start_line=start_line, end_line=end_line, at=at)
        return self.call("read_file", given)

    def status(self) -> Answer:
        """How the daemon is: versions, writers, coverage, capture, protection."""
        return self.call("status")

    def log(
        self,
        path: str | None = None,
        *,
        writer: str | None = None,
        agent: str | None = None,
        agent_session: str | None = None,
        turn: str | None = None,
        kind: str | Sequence[str] | None = None,
        since: str | None = None,
        until: str | None = None,
        contains: str | None = None,
        text_changed: str | None = None,
        patch: bool | None = None,
        stat: bool | None = None,
        limit: int | None = None,
        order: str | None = None,
        cursor: str | None = None,
    ) -> Answer:
        """Records of the journal, a page of them; `next` is the cursor of the next page, None at the end.

        A page may hold fewer records than `limit`, or none, and still have a `next`: the work of one call is bounded.
        `text_changed` finds the changes after which a text occurs more or less often; `patch` and `stat` tell of each
        record how it differs from the version before.
        """
        kinds = kind if kind is None or isinstance(kind, str) else list(kind)
        whose = _given(writer=writer, agent=agent, agent_session=agent_session, turn=turn)
        what = _given(path=path, kind=kinds, contains=contains, text_changed=text_changed, patch=patch, stat=stat)
        bounds = _given(since=since, until=until, limit=limit, order=order, cursor=cursor)
        return self.call("log", {**what, **whose, **bounds})

    def since(
        self,
        cursor: str | None = None,
        *,
        path: str | None = None,
        writer: str | None = None,
        kind: str | Sequence[str] | None = None,
        wait_ms: int | None = None,
        limit: int | None = None,
    ) -> Answer:
        """What was recorded after `cursor`; without one, the cursor of now. `wait_ms`: wait so long for something."""
        allowance = self.timeout_s + (wait_ms or 0) / 1000
        kinds = kind if kind is None or isinstance(kind, str) else list(kind)
        given = _given(cursor=cursor, path=path, writer=writer, kind=kinds, wait_ms=wait_ms, limit=limit)
        return self.call("since", given, timeout_s=allowance)

    def who(self, *, present: bool | None = None, minutes: float | None = None, limit: int | None = None) -> Answer:
        """Who has called, who is present first; on which files, leases and bursts."""
        return self.call("who", _given(present=present, minutes=minutes, limit=limit))

    def show(self, version: str | None = None, *, path: str | None = None, at: str | None = None) -> Answer:
        """The text of a version, or of `path` at a point."""
        return self.call("show", _given(version=version, path=path, at=at))

    def diff(self, start: str, end: str | None = None, paths: Sequence[str] = ()) -> Answer:
        """What changed between two points; without `end`, until now."""
        return self.call("diff", _given(**{"from": start, "to": end, "paths": list(paths) or None}))

    def blame(
        self, path: str, at: str | None = None, *, start_line: int | None = None, end_line: int | None = None
    ) -> Answer:
        """Who wrote each line of `path`, as it is or at a point: record, writer, turn and time."""
        return self.call("blame", _given(path=path, at=at, start_line=start_line, end_line=end_line))

    def describe(self, tool: str | None = None, *, offered: bool | None = None) -> Answer:
        """What each tool takes (a flat JSON Schema) and may do; `offered`: only those that agents are offered."""
        return self.call("describe", _given(tool=tool, offered=offered))

    def why(self, path: str, line: int | None = None, at: str | None = None) -> Answer:
        """Who made `path`, or one line of it, what it is: record, operation, what it replaced, what came with it."""
        return self.call("why", _given(path=path, line=line, at=at))

    def tree(self, at: str | None = None, path: str | None = None, *, cursor: int | None = None) -> Answer:
        """What there was at a point, or is: `entries`, a page of them; go on with `at` of the reply and `next`."""
        return self.call("tree", _given(at=at, path=path, cursor=cursor))

    def blobs(self, sha256: Sequence[str], *, offset: int | None = None) -> Answer:
        """The bytes with these addresses, as many as fit into one reply."""
        return self.call("blobs", _given(sha256=list(sha256), offset=offset))

    def manual(self, dialect: str | None = None) -> Answer:
        """The guidance of a dialect, for an agent's instructions."""
        return self.call("manual", _given(dialect=dialect))

    # -- writing -----------------------------------------------------------------------------------------------

    def write_file(
        self, path: str, content: str, *, expected_sha256: str | None = None, **common: Unpack[Writing]
    ) -> Answer:
        """Write the whole file; an existing one needs a gate (`base` or `expected_sha256`)."""
        return self.call("write_file", _given(path=path, content=content, expectedSha256=expected_sha256, **common))

    def edit(self, path: str, operations: Sequence[Mapping[str, Any]], **common: Unpack[Writing]) -> Answer:
        """Edit by hash anchors; all operations or none."""
        return self.call("edit", _given(path=path, operations=list(operations), **common))

    def hashline_edit(
        self,
        path: str,
        edits: Sequence[Mapping[str, Any]] = (),
        *,
        delete: bool | None = None,
        rename: str | None = None,
        **common: Unpack[Writing],
    ) -> Answer:
        """Edit by `LINE#ID`."""
        return self.call("hashline_edit", _given(path=path, edits=list(edits), delete=delete, rename=rename, **common))

    def edit_file(
        self, path: str, expected_sha256: str, edits: Sequence[Mapping[str, Any]], **common: Unpack[Writing]
    ) -> Answer:
        """Edit by exact texts of the file whose sha256 is given."""
        return self.call("edit_file", _given(path=path, expectedSha256=expected_sha256, edits=list(edits), **common))

    def apply_patch(
        self, patch: str, expected_sha256_by_path: Mapping[str, str] | None = None, **common: Unpack[Writing]
    ) -> Answer:
        """Apply a patch to several files; all or none."""
        return self.call("apply_patch", _given(patch=patch, expectedSha256ByPath=expected_sha256_by_path, **common))

    def delete_file(self, path: str, **common: Unpack[Writing]) -> Answer:
        """Delete a file; the journal keeps it."""
        return self.call("delete_file", _given(path=path, **common))

    def move_file(self, path: str, to: str, **common: Unpack[Writing]) -> Answer:
        """Move a file; never over another."""
        return self.call("move_file", _given(path=path, to=to, **common))

    # -- going back --------------------------------------------------------------------------------------------

    def undo(self, *, start: str | None = None, end: str | None = None, **choice: Unpack[Choice]) -> Answer:
        """Undo what `choice` names, or what lies between two points, else the caller's own last batch.

        What others did stays.
        """
        return self.call("undo", _given(**{"from": start, "to": end}, **choice))

    def redo(self, *, start: str | None = None, end: str | None = None, **choice: Unpack[Choice]) -> Answer:
        """Bring back, of what was undone, what `choice` names; else take the caller's own last undo back."""
        return self.call("redo", _given(**{"from": start, "to": end}, **choice))

    def rollback(
        self,
        to: str | None = None,
        *,
        only: str | None = None,
        paths: Sequence[str] | None = None,
        conflicts: str | None = None,
        plan: bool | None = None,
        token: str | None = None,
    ) -> Answer:
        """Take back what the caller (or `only`, a writer, "*" for everyone) did since the point `to`."""
        given = _given(to=to, writer=only, paths=paths, conflicts=conflicts, plan=plan, token=token)
        return self.call("rollback", given)

    def restore(self, path: str, at: str, *, plan: bool | None = None, token: str | None = None) -> Answer:
        """Bring `path` back to a point, as a new record."""
        return self.call("restore", _given(path=path, at=at, plan=plan, token=token))

    def checkpoint(
        self, name: str | None = None, *, action: str | None = None, note: str | None = None, at: str | None = None
    ) -> Answer:
        """Name this moment, or the point `at`; or `list`, `show`, `diff` or `drop` checkpoints."""
        return self.call("checkpoint", _given(name=name, action=action, note=note, at=at))

    def burst(
        self,
        action: str,
        *,
        label: str | None = None,
        kind: str | None = None,
        ttl_s: float | None = None,
        outside: bool | None = None,
        bind: str | None = None,
        burst: int | None = None,
    ) -> Answer:
        """`begin` or `end` changes that belong together; `list` bursts or `show` one. `bind="connection"`: it ends with
        this client's connection.
        """
        given = _given(label=label, kind=kind, ttl_s=ttl_s, outside=outside, bind=bind, burst=burst)
        return self.call("burst", {"action": action, **given})

    # -- leases ------------------------------------------------------------------------------------------------

    def claim(
        self,
        path: str | None = None,
        kind: str | None = None,
        *,
        start_line: int | None = None,
        end_line: int | None = None,
        ttl_s: float | None = None,
        reason: str | None = None,
        wait_ms: int | None = None,
        dry_run: bool | None = None,
        bind: str | None = None,
        renew: int | None = None,
    ) -> Answer:
        """Announce work on a file, folder or glob (`intent`), or get a `shared` or `exclusive` lease on it.

        `renew` is the number of a lease to keep for longer. `bind="connection"`: it ends with this client.
        """
        bounds = _given(start_line=start_line, end_line=end_line, ttl_s=ttl_s, renew=renew, bind=bind)
        given = _given(path=path, kind=kind, reason=reason, wait_ms=wait_ms, dry_run=dry_run, **bounds)
        return self.call("claim", given, timeout_s=self.timeout_s + (wait_ms or 0) / 1000)

    def release(
        self,
        path: str | None = None,
        *,
        lease: int | None = None,
        all: bool | None = None,
        force: bool | None = None,
        reason: str | None = None,
    ) -> Answer:
        """Give up the leases on `path`, one by its number, or all; `force` breaks those of others, for a reason."""
        return self.call("release", _given(path=path, lease=lease, all=all, force=force, reason=reason))

    def claims(self, path: str | None = None) -> Answer:
        """The leases in force, and the claims that wait."""
        return self.call("claims", _given(path=path))

    # -- the journal itself ------------------------------------------------------------------------------------

    def verify(self, read_data: str = "all", timeout_s: float | None = None) -> Answer:
        """Check the journal: its pages, its chain, every blob, every view.

        `read_data` says which stored bytes are unpacked: "all", "none", or the n-th of t equal parts, "n/t".
        """
        return self.call("verify", {"read_data": read_data}, timeout_s=timeout_s)

    def repair(self, execute: bool = False, timeout_s: float | None = None) -> Answer:
        """What would be done about a damaged journal; `execute` does it: the daemon ends, and the next one does."""
        return self.call("repair", {"execute": execute}, timeout_s=timeout_s)

    def purge(
        self,
        *,
        path: str = "",
        blob: str = "",
        matching: str = "",
        plan: bool = False,
        note: str = "",
        timeout_s: float | None = None,
    ) -> Answer:
        """Remove bytes from everywhere that Quire controls: those of a path, of a blob (sha256), or what matches.

        `plan` only says what would go. The reply says where copies may remain.
        """
        wanted = {"path": path, "blob": blob, "matching": matching, "note": note}
        arguments = {name: value for name, value in wanted.items() if value}
        return self.call("purge", {**arguments, "plan": plan}, timeout_s=timeout_s)

    def export(
        self,
        format: str,
        write: Callable[[bytes], object],
        *,
        start: str | None = None,
        end: str | None = None,
        by: str | None = None,
        told: Callable[[int, int], None] = lambda done, total: None,
    ) -> Answer:
        """Hand the history, or what came after `start` up to `end`, to `write` in a format, piece by piece.

        Everything that is on disk by now is in it. `told` gets how many records of how many are told. The reply is
        that of the last piece; after a refusal what was written so far is of no use.
        """
        if end is None:
            self.since()  # answered when the watcher has told of everything
        reply = self.call("export", _given(**{"format": format, "from": start, "to": end, "by": by}))
        while reply.get("ok"):
            write(b64decode(reply["content_base64"]))
            told(reply["records"], reply["of"])
            if reply["done"]:
                break
            following = {"export": reply["export"], "page": reply["page"] + 1}
            reply = self.call("export", following)
            if reply.get("error") == "unknown":  # its reply was lost: the daemon still has it
                reply = self.call("export", following)
        return reply

    def gc(self, timeout_s: float | None = None, **arguments: Any) -> Answer:
        """Drop bytes that no rule of the settings keeps: `dry_run`, `compact`, `limit`, `skip`, `only`."""
        return self.call("gc", arguments, timeout_s=timeout_s)

    def op_status(self, op: str) -> Answer:
        """What became of a call whose outcome was unknown: `applied`, `not_applied` or `superseded`."""
        return self.call("op_status", {"op": op})

    def doctor(self) -> Answer:
        """The daemon's own checks: `checks` of `{name, ok, detail}`."""
        return self.call("doctor")

    # -- inside ------------------------------------------------------------------------------------------------

    def _perform(self, tool: str, body: msgspec.Raw, caller: Caller, limit: float) -> Answer:
        until = time.monotonic() + limit
        op = os.urandom(16)
        deadline_ns = time.time_ns() + int(limit * 1e9)
        while True:
            connection = self._connected(until)
            self._last_id += 1
            request = Request(self._last_id, tool, body, caller, op, deadline_ns, client=VERSION, epoch=self.epoch)
            frame = encode(request)
            if len(frame) > MAX_MESSAGE:
                return _too_large(len(frame))
            try:
                reply = connection.exchange(request.id, frame, until)
            except NotSent as reason:
                self._drop()
                if time.monotonic() >= until:
                    raise NoDaemon(str(reason)) from reason
            except NoReply as reason:
                if not connection.alive():
                    self._drop()
                return _unknown(op, str(reason))
            else:
                self.epoch = reply.epoch or self.epoch
                self.daemon_version = reply.daemon or self.daemon_version
                return reply.body

    def _connected(self, until: float) -> Line:
        if self._connection is not None and not self._connection.usable():
            self._drop()
        if self._connection is None:
            self._connection = self._door.open(until)
            # Another run than the one that answered last: its epoch is what this call is meant for.
            self.epoch = self._connection.epoch
        return self._connection

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _given(**args: Any) -> dict[str, Any]:
    """The arguments that were given: None stands for "not said", and the daemon knows the default."""
    return {name: value for name, value in args.items() if value is not None}


def _unknown(op: bytes, reason: str) -> Answer:
    message = f"{reason} Whether the call was performed is unknown; `op_status` settles it."
    settle = {"op": op.hex(), "suggested_action": "op_status"}
    return {"ok": False, "error": "unknown", "outcome": "unknown", "message": message, **settle}


def _too_large(size: int) -> Answer:
    message = f"The call is {size} bytes long; {MAX_MESSAGE} are allowed. Nothing was sent."
    return Refused("file_too_large", message, "split_the_call", sizeBytes=size, limit=MAX_MESSAGE).reply()
