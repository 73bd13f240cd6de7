"""Connections to the daemon for each agent session, and calls that survive a restart of the daemon.

If the daemon ended during a call, the next daemon reports whether the call was applied (`op_status`); if not, the call
is sent again. No call is applied twice.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from quire_client.calls import waits_s
from quire_client.mcp.identity import Who
from quire_client.transport import NoDaemon
from quire_journal.model import Refusal
from quire_journal.workspaces import WorkspaceRefused

Answer = dict[str, Any]

SETTLE_S: Final = 20.0
"""Maximum number of seconds to find out whether a call was applied, including the start of a daemon."""

MOST_TIMES: Final = 3
"""Maximum number of daemon runs to which one call is sent, as the call itself may crash them."""

PAUSE_S: Final = 0.05
MOST_SESSIONS: Final = 256
IDLE_S: Final = 3600.0
"""Seconds without a call after which an agent session's connections, and leases bound to them, end."""


class SessionClient(Protocol):
    epoch: str
    timeout_s: float

    def call(
        self,
        tool: str,
        args: Mapping[str, Any] | None = None,
        *,
        timeout_s: float | None = None,
        turn: str | None = None,
        tool_call: str | None = None,
        model: str | None = None,
    ) -> Answer: ...
    def close(self) -> None: ...


Connect = Callable[[Who], SessionClient]
"""Function that returns a client for a caller; the client connects at its first call. May raise NoDaemon or
WorkspaceRefused.
"""


class AgentSession:
    """Connections of one agent session: each concurrent call has its own. Thread-safe."""

    def __init__(self, connect: Callable[[], SessionClient]) -> None:
        self._connect = connect
        self._free: list[SessionClient] = []
        self._taken = 0
        self._lock = threading.Lock()
        self._closed = False

    def call(
        self, tool: str, args: Mapping[str, Any], *, turn: str = "", tool_call: str = "", model: str = ""
    ) -> Answer:
        """Call `tool` and return its reply. A failure is returned as a refusal, never raised."""
        try:
            client = self._take()
        except (NoDaemon, WorkspaceRefused) as reason:
            return _unreached(reason)
        try:
            return _performed(client, tool, args, {"turn": turn, "tool_call": tool_call, "model": model})
        except (NoDaemon, WorkspaceRefused) as reason:
            return _unreached(reason)
        except (TypeError, ValueError, OverflowError, RecursionError) as error:  # arguments that cannot be encoded
            return Refusal("schema_invalid", f"{tool}: {error}", "fix_arguments").reply()
        finally:
            self._give_back(client)

    def close(self) -> bool:
        """Close idle connections now, busy ones when their calls end. Returns False if some are busy."""
        with self._lock:
            self._closed = True
            free, self._free = self._free, []
            at_rest = self._taken == 0
        for client in free:
            client.close()
        return at_rest

    def _take(self) -> SessionClient:
        with self._lock:
            found = self._free.pop(0) if self._free else None  # the oldest connection, to which leases may be bound
        client = found or self._connect()
        with self._lock:
            self._taken += 1
        return client

    def _give_back(self, client: SessionClient) -> None:
        with self._lock:
            self._taken -= 1
            if not self._closed:
                self._free.insert(0, client)
                return
        client.close()


class AgentSessions:
    """All agent sessions that called this server, by (agent, session)."""

    def __init__(self, connect: Connect, most: int = MOST_SESSIONS) -> None:
        self._connect = connect
        self._most = most
        self._sessions: OrderedDict[tuple[str, str], AgentSession] = OrderedDict()  # latest caller last
        self._called_s: dict[tuple[str, str], float] = {}
        self._lock = threading.Lock()

    def of(self, who: Who) -> AgentSession:
        key = (who.agent, who.session)
        with self._lock:
            found = self._sessions.get(key)
            if found is None:
                found = self._sessions[key] = AgentSession(lambda: self._connect(who))
            self._sessions.move_to_end(key)
            self._called_s[key] = time.monotonic()
            dropped = self._dropped(len(self._sessions) - self._most)
        for one in dropped:
            one.close()
        return found

    def close_idle(self, now_s: float, idle_s: float = IDLE_S) -> None:
        """Close the connections of sessions without a call for `idle_s` seconds; `now_s` is monotonic."""
        with self._lock:
            dropped = self._dropped(sum(called <= now_s - idle_s for called in self._called_s.values()))
        for one in dropped:
            one.close()

    def _dropped(self, number: int) -> list[AgentSession]:
        out = []
        for _ in range(number):
            key, session = self._sessions.popitem(last=False)
            del self._called_s[key]
            out.append(session)
        return out

    def close(self) -> bool:
        with self._lock:
            sessions = list(self._sessions.values())
            self._sessions.clear()
            self._called_s.clear()
        rested = [session.close() for session in sessions]
        return all(rested)


def _performed(client: SessionClient, tool: str, args: Mapping[str, Any], caller: Mapping[str, str]) -> Answer:
    limit = client.timeout_s + waits_s(args)
    for _ in range(MOST_TIMES):
        reply = client.call(tool, args, timeout_s=limit, **caller)
        if reply.get("outcome") != "unknown" or "op" not in reply or reply.get("ok"):
            return reply
        sent_to = client.epoch
        outcome, batch = _outcome(client, str(reply["op"]))
        done = outcome in ("applied", "superseded")
        if client.epoch == sent_to or not (outcome == "not_applied" or (done and args.get("idempotency_key"))):
            break
    if outcome == "not_applied":
        lived = client.epoch == sent_to  # same daemon: the call's deadline is over, so it will not be performed later
        why = f"the daemon did not come to it in {limit:g} s" if lived else "each daemon ended that it was sent to"
        return Refusal("busy", f"{tool}: {why}; nothing was changed.", "retry", retry_after_ms=1000).reply()
    if done:
        return _applied(client, tool, args, outcome, batch)
    return reply


def _outcome(client: SessionClient, op: str) -> tuple[str, int]:
    until = time.monotonic() + SETTLE_S
    while True:
        try:
            told = client.call("op_status", {"op": op})
        except (NoDaemon, WorkspaceRefused):
            told = {}  # the daemon may be starting
        outcome = str(told.get("outcome") or "unknown")
        if outcome != "unknown" or time.monotonic() >= until:
            return outcome, int(told.get("batch") or 0)
        time.sleep(PAUSE_S)


def _applied(client: SessionClient, tool: str, args: Mapping[str, Any], outcome: str, batch: int) -> Answer:
    said = "It has been changed again since. " if outcome == "superseded" else ""
    reply: Answer = {
        "ok": True,
        "message": f"{tool} was applied as batch {batch}, but its reply was lost. {said}Read the file, then go on.",
        "outcome": outcome,
        "batch": batch,
        "reply_lost": True,
        "suggested_action": "re-read_file",
    }
    if args.get("path"):
        reply["path"] = args["path"]
    try:
        page = client.call("log", {"since": f"seq:{batch - 1}", "order": "oldest", "limit": 200})
    except (NoDaemon, WorkspaceRefused):
        return reply  # the call was applied, although its reply is lost
    reply["records"] = [record for record in page.get("records") or () if record.get("batch") == batch]
    return reply


def _unreached(reason: Exception) -> Answer:
    return {"ok": False, "error": "no_daemon", "message": str(reason), "suggested_action": "ask_user"}
