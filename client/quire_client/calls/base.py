"""Sends one caller's requests to a daemon and returns the replies, also across a restart of the daemon.

A failure after a request was sent is a reply with `outcome: "unknown"`, not an exception, because a blind retry could
write twice.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final, Protocol, Self

import msgspec

from quire_client.transport import NoDaemon, NoReply, NotSent
from quire_journal import VERSION, WIRE
from quire_journal.model import MAX_MESSAGE, MOST_OP_BYTES, Caller, Refusal, Reply, Request, encode
from quire_journal.workspaces import Place, WorkspaceRefused, running

TIMEOUT_S = 30.0
"""Default timeout of a call in seconds, from the search for a daemon to its reply."""

READING = frozenset(
    {
        *(
            "read_file",
            "show",
            "diff",
            "log",
            "lanes",
            "blame",
            "why",
            "tree",
            "blobs",
            "contributions",
            "review",
            "guard",
            "syntax",
        ),
        *("status", "who", "claims", "op_status", "manual", "describe"),
    }
)
"""Tools that change nothing and answer at once; they are called again if the daemon ends during the call."""

_AS_IT_WAS: Final = "It changes nothing; call again.", "retry"
UNRECORDED: Final[dict[str, tuple[str, str]]] = {
    "verify": _AS_IT_WAS,
    "prove": _AS_IT_WAS,
    "hub": _AS_IT_WAS,
    "outbox": ("What arrived at the far side may be noted already; call again.", "retry"),
    "doctor": _AS_IT_WAS,
    "export": ("The journal is unchanged; the export is incomplete.", "begin_again"),
    "gc": ("Bytes dropped so far are gone, the rest stays; the next collection continues.", "retry"),
    "purge": ("The bytes may still be there, wholly or in part; repeat the purge until it is answered.", "retry"),
    "repair": ("A plan changes nothing; with `execute` the repair runs when the daemon starts.", "run_verify"),
}
"""Tools whose requests have no operation id: message and suggested action for a lost reply."""

MOST_WAIT_MS: Final = 3_600_000
"""Maximum number of milliseconds by which the argument `wait_ms` prolongs a call's timeout."""

Answer = dict[str, Any]
"""A reply: JSON values by field name; the field `ok` is always present."""


class Line(Protocol):
    """A connection to a daemon, by socket or by files."""

    epoch: str

    def usable(self) -> bool: ...
    def alive(self) -> bool: ...
    def exchange(self, request_id: int, frame: bytes, until: float) -> Reply: ...
    def close(self) -> None: ...


class Opens(Protocol):
    """Interface that opens connections to the daemon of the workspace `place`."""

    place: Place

    def open(self, until: float, starting: bool = True) -> Line: ...


Again = Callable[[Any, str, Mapping[str, Any], Answer], Answer]
"""Function that repeats a refused call: (client, tool, arguments, refusal) → reply."""


class Calls:
    """One caller's connection to the daemon of one workspace.

    Threads may share it; their calls run one at a time. After a restart of the daemon, the next call connects to the
    new one.
    """

    def __init__(self, door: Opens, caller: Caller, timeout_s: float = TIMEOUT_S) -> None:
        self.place = door.place
        self.caller = caller
        self.timeout_s = timeout_s
        self.epoch = ""  # of the last daemon that answered
        self.daemon_version = ""  # version of the daemon; "" before its first reply and after its end
        self.again: Again | None = None  # repeats a call with an unknown point, which git may resolve
        self._door = door
        self._connection: Line | None = None
        self._last_id = 0
        self._turn = threading.Lock()

    def open(self) -> Self:
        """Connect now instead of at the first call. Raises NoDaemon if no daemon can be reached or started."""
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
        model: str | None = None,
    ) -> Answer:
        """Call `tool` and return its reply. Raises NoDaemon or WorkspaceRefused if nothing could be sent.

        Without a reply to a sent request, the result is `{ok: False, error: "unknown", outcome: "unknown", op}`;
        `op_status(op)` tells whether the call was performed. Calls of the tools in `UNRECORDED`, such as `verify` and
        `export`, have no `op`. A tool that only reads is called again if the daemon ended. `turn`, `tool_call` and
        `model` replace the client's own for this call. The argument `wait_ms` prolongs the client's timeout.
        """
        limit = self.timeout_s + waits_s(args or {}) if timeout_s is None else timeout_s
        body = msgspec.Raw(encode(dict(args or {})))
        caller = msgspec.structs.replace(self.caller, **stated(turn=turn, tool_call=tool_call, model=model))
        with self._turn:
            until = time.monotonic() + limit
            reply = self._perform(tool, body, caller, until)
            if self._connection is None and tool in READING:  # the daemon ended during the call
                with suppress(NoDaemon, WorkspaceRefused):
                    reply = self._perform(tool, body, caller, until)
        if self.again is not None and reply.get("suggested_action") == "name_a_point":
            return self.again(self, tool, args or {}, reply)
        return reply

    def close(self) -> None:
        """Close the connection. A later call opens a new one."""
        with self._turn:
            self._drop()

    def shutdown_daemon(self, timeout_s: float | None = None) -> Answer:
        """End the daemon if one runs, and return once its lock is free. The result is `{ok: True, message}` also if
        none runs, the daemon's refusal, or `error: "unknown"` if it has not ended after `timeout_s` seconds (default:
        the client's timeout).
        """
        until = time.monotonic() + (self.timeout_s if timeout_s is None else timeout_s)
        if running(self.place) is None:
            return {"ok": True, "message": "No daemon runs."}
        body = msgspec.Raw(encode({}))
        try:
            with self._turn:
                reply = self._perform("shutdown", body, self.caller, until, starting=False)
        except NoDaemon:
            reply = {"ok": False, "error": "unknown", "message": "The daemon could not be asked to end."}
        if not reply.get("ok") and reply.get("error") != "unknown":
            return reply
        while running(self.place) is not None:
            if time.monotonic() >= until:
                return {"ok": False, "error": "unknown", "message": "The daemon did not end in time."}
            time.sleep(0.01)
        self.close()
        self.daemon_version = ""
        return {"ok": True, "message": "The daemon ended."} if not reply.get("ok") else reply

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _perform(self, tool: str, body: msgspec.Raw, caller: Caller, until: float, starting: bool = True) -> Answer:
        op = os.urandom(MOST_OP_BYTES)
        deadline_ns = time.time_ns() + int((until - time.monotonic()) * 1e9)
        while True:
            connection = self._connected(until, starting)
            self._last_id += 1
            request = Request(self._last_id, tool, body, caller, op, deadline_ns, WIRE, VERSION, self.epoch)
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
                return _unknown(tool, op, str(reason))
            else:
                self.epoch = reply.epoch or self.epoch
                self.daemon_version = reply.daemon or self.daemon_version
                return _with_own_version(reply.body) if tool == "status" else reply.body

    def _connected(self, until: float, starting: bool = True) -> Line:
        if self._connection is not None and not self._connection.usable():
            self._drop()
        if self._connection is None:
            self._connection = self._door.open(until, starting)
            # The daemon may have been restarted: this call is sent to the new run (epoch).
            self.epoch = self._connection.epoch
        return self._connection

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def waits_s(args: Mapping[str, Any]) -> float:
    """Return the seconds that the daemon may wait because of the argument `wait_ms`, at most one hour."""
    wait_ms = args.get("wait_ms")
    return min(max(wait_ms, 0), MOST_WAIT_MS) / 1000 if isinstance(wait_ms, int) else 0.0


def _with_own_version(status: Answer) -> Answer:
    versions = status.get("versions")
    return {**status, "versions": {**versions, "client": VERSION}} if isinstance(versions, dict) else status


def _unknown(tool: str, op: bytes, reason: str) -> Answer:
    answer: Answer = {"ok": False, "error": "unknown", "outcome": "unknown"}
    if tool in UNRECORDED:
        told, action = UNRECORDED[tool]
        return {**answer, "message": f"{reason} {told}", "suggested_action": action}
    told, action = "Whether the call was performed is unknown; `op_status` settles it.", "op_status"
    if tool in READING or tool == "since":
        told, action = _AS_IT_WAS
    return {**answer, "message": f"{reason} {told}", "op": op.hex(), "suggested_action": action}


def _too_large(size: int) -> Answer:
    message = f"The call is {size} bytes long; {MAX_MESSAGE} are allowed. Nothing was sent."
    return Refusal("file_too_large", message, "split_the_call", sizeBytes=size, limit=MAX_MESSAGE).reply()


def stated(**args: Any) -> dict[str, Any]:
    """Return the arguments that are not None; the daemon has defaults for the others."""
    return {name: value for name, value in args.items() if value is not None}
