"""Admission of requests: each becomes a call with its tool and caller, or is refused at once."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

from msgspec.structs import replace

from quire_daemon.commit import FailurePolicy, Recorder
from quire_daemon.config import LiveSettings
from quire_daemon.core import Call, IncomingRequest, Peer, Who, decode_arguments
from quire_daemon.engine.agent_processes import AgentProcesses, AgentSession, HookTold
from quire_daemon.engine.presence import Presence
from quire_daemon.maintenance import SERVICES, SHUTDOWN
from quire_daemon.ops import NEEDED, Log, Process, ProcessId, ProcessTree, memory_left, pid_start
from quire_daemon.server import Server
from quire_daemon.tools import NATIVE_TOOL, RUN_TOOL, TOOLS, beside
from quire_daemon.tools.admin import describe_tool
from quire_journal import VERSION, WIRE
from quire_journal.maintenance import secret_scan
from quire_journal.model import MOST_OP_BYTES, Caller, Refusal, TurnBegan, WriterIntroduced, did_you_mean, limits
from quire_journal.views import caller_key
from quire_journal.views.indexes import of_kind, term_index

MOST_REMEMBERED: Final = 1024
"""Maximum number of entries in each cache of `Admission`; the oldest is dropped first."""
# a caller's identity is cached if its own texts (agent, session, turn …) have at most so many characters
MOST_CLAIMED: Final = 1000

TURN_DIGITS: Final = 12
"""Length of the name of a turn that the agent does not name."""

FRUGAL: Final = frozenset({"status", "op_status", SHUTDOWN.name})
"""Tools that are answered even when memory is short."""

_name: Final = secret_scan.masked_name

K = TypeVar("K")
V = TypeVar("V")

_TOOLS: Final = TOOLS | {name: service.tool() for name, service in SERVICES.items()}

_TOOLS["describe"] = describe_tool(_TOOLS)


class Admission:
    def __init__(
        self,
        server: Server,
        recorder: Recorder,
        in_force: LiveSettings,
        presence: Presence,
        failures: FailurePolicy,
        log: Log,
        tree: ProcessTree,
        open_runs: Callable[[bytes], Mapping[int, ProcessId]],
    ) -> None:
        """`open_runs` returns, for a caller's key, burst → process of each open `quire run`."""
        self._server, self._recorder, self._clock, self._in_force = server, recorder, recorder.clock, in_force
        self._presence, self._failures, self._log, self._tree = presence, failures, log, tree
        self._open_runs = open_runs
        self._agents = AgentProcesses()
        self._turns: dict[AgentSession, str] = {}  # turn that the session's hooks told last
        self._writers: dict[WriterIntroduced, Who] = {}
        self._purges = 0  # purges of the journal when `_writers` was last cleared
        self._purges_known = 0  # purges of the journal at the last `know_again`
        self._identities: dict[tuple[bytes, Peer, tuple[str, ...]], WriterIntroduced] = {}
        self._pid_starts: dict[bytes, int] = {}  # by connection
        self._chains: dict[bytes, tuple[Process, ...]] = {}  # by connection
        self._outsiders: dict[tuple[AgentSession, int], None] = {}  # sessions and pids reported in the daemon log
        self.asked_s = -1e9  # monotonic time of the last request about a file

    def accept(self, incoming: IncomingRequest) -> Call | None:
        """Return the call of a request; None if it was refused, or ignored because another user sent it."""
        request = incoming.request
        if incoming.peer.uid != os.getuid():
            self._log.warning("foreign_uid", uid=incoming.peer.uid)
            return None  # a process of another user gets no reply; the mode of the socket should keep it out
        if request is None:
            refused = Refusal("schema_invalid", incoming.why)
            self._server.reply(incoming.identity, incoming.number, refused.reply())
            return None
        try:
            try:
                return self._call(incoming)
            except Refusal as refused:
                reply = self._with_news(refused.reply(), incoming)
        except Exception as error:  # noqa: BLE001  whatever the frame held, the daemon goes on
            reply = self._failures.told(request.tool, error)
        tool = _TOOLS.get(request.tool)
        if tool is not None and tool.writes:
            reply.setdefault("outcome", "not_applied")
        self._server.reply(incoming.identity, request.id, reply)
        return None

    def _with_news(self, reply: dict[str, Any], incoming: IncomingRequest) -> dict[str, Any]:
        caller = self._caller(incoming)
        key = caller_key(incoming.peer.uid, _name(caller.agent), _name(caller.agent_session))
        with self._recorder.history() as history:
            return beside(reply, key, history)

    def _call(self, incoming: IncomingRequest) -> Call:
        request = incoming.request
        assert request is not None
        # the refusal below tells people to run `quire down`, which sends SHUTDOWN
        if request.wire != WIRE and request.tool != SHUTDOWN.name:
            raise Refusal(
                "schema_invalid",
                f"The client speaks wire version {request.wire}, this daemon ({VERSION}) version {WIRE}; "
                "run `quire down` and try again, so that both are of one installation.",
                "restart_daemon",
            )
        if len(request.op) > MOST_OP_BYTES:  # if ids were cut, two with the same beginning would be equal
            message = f"op: an operation id has at most {MOST_OP_BYTES} bytes, not {len(request.op)}."
            raise Refusal("schema_invalid", message, argument="op")
        tool = _TOOLS.get(request.tool)
        if tool is None:
            known = sorted(_TOOLS)
            nearest = did_you_mean(request.tool, known)
            message = f"There is no tool {request.tool[:80]!r}; there are {', '.join(known)}.{nearest}"
            raise Refusal("unknown_tool", message)
        if tool.name not in FRUGAL and memory_left() < NEEDED:
            raise limits.refusal("memory", tool.name)
        if tool.writes or tool.journals:
            self.asked_s = self._clock.mono_s()
        params = decode_arguments(tool, bytes(request.args))
        tool = tool.called_with(params)
        who = self._hook(incoming, params.moment) if tool is NATIVE_TOOL else self._who(incoming)
        if tool is RUN_TOOL:
            who = self._running(who, incoming)
        if tool.writes:
            who = self._beside_runs(who, incoming)
        return Call(
            incoming,
            tool,
            params,
            who,
            request.op,
            str(getattr(params, "idempotency_key", "") or ""),
            self._clock.mono_s() + self._in_force.now.edit.busy_wait_ms / 1000,
            request.deadline_ns,
        )

    def know_again(self, calls: Iterable[Call]) -> None:
        """Identify the callers of waiting calls again after a purge, which may have changed writers' names; else a
        repeat of a call would be performed, too.
        """
        if self._purges_known == self._recorder.purges:
            return
        self._purges_known = self._recorder.purges
        for call in calls:
            who = self._who(call.incoming, by_hook=call.tool is NATIVE_TOOL, outsider=call.who.outsider)
            who = self._running(who, call.incoming) if call.tool is RUN_TOOL else who
            call.who = replace(who, apart=call.who.apart)

    def _running(self, who: Who, incoming: IncomingRequest) -> Who:
        chain = self._chain(incoming)
        return replace(who, process=(chain[0].pid, chain[0].start) if chain else None)

    def _beside_runs(self, who: Who, incoming: IncomingRequest) -> Who:
        runs = self._open_runs(who.key)
        started_by = {(one.pid, one.start) for one in self._chain(incoming)} if runs else set()
        if not started_by:
            return who
        return replace(who, apart=tuple(number for number, run in runs.items() if run not in started_by))

    def _hook(self, incoming: IncomingRequest, moment: str) -> Who:
        """Return the caller of an agent's hook. If the hook names a session that runs in another living process tree,
        the caller is an `outsider`, whose reports prove nothing.
        """
        assert incoming.request is not None
        caller = incoming.request.caller
        session = _session_of(caller)
        if not session.session:
            return self._who(incoming, by_hook=True)
        chain = self._chain(incoming)
        if not self._agents.belongs(session, chain, self._tree.has_ended):
            self._tell_of_outsider(session, incoming.peer.pid)
            return self._who(incoming, by_hook=True, outsider=True)
        turn = self._turn(session, incoming, moment)
        hook = HookTold(session, chain, moment, turn, _name(caller.model))
        self._agents = self._agents.told(hook, self._tree.has_ended)
        who = self._who(incoming, by_hook=True)
        self._presence.at_moment(who, moment)
        if moment == "session_end" or (moment == "end" and caller.parent):  # a subagent ends with its turn
            self._presence.ended(who)
        return who

    def _turn(self, session: AgentSession, incoming: IncomingRequest, moment: str) -> str:
        """Return the name of a hook's turn, and remember it for the session. If the hook names none, a prompt (`moment`
        "turn") begins a turn, and any other event belongs to the turn of the last prompt.
        """
        assert incoming.request is not None
        turn = _name(incoming.request.caller.turn)
        if not turn and moment == "turn":  # a hash, because people tell turns apart by their first characters
            turn = hashlib.sha256(f"{session} {self._clock.now_ns()}".encode()).hexdigest()[:TURN_DIGITS]
        elif not turn:
            turn = self._turns[session] if session in self._turns else self._recorded_turn(session)
        self._turns.pop(session, None)
        _remember(self._turns, session, turn)
        return turn

    def _recorded_turn(self, session: AgentSession) -> str:
        """Return the newest turn of an agent session in the log, for a daemon that was started within the session."""
        wanted = [[term_index.of_session(session.session)], [of_kind(TurnBegan.kind)]]
        with self._recorder.history() as history:
            for seq in (seq for _, seqs in history.with_terms(wanted, 0, history.head(), True) for seq in seqs):
                record = history.record(seq)
                who = None if record is None else history.writer(record.writer)
                if who is not None and session == (who.agent, who.parent or who.agent_session):
                    return who.turn
        return ""

    def _tell_of_outsider(self, session: AgentSession, pid: int) -> None:
        if (session, pid) not in self._outsiders:
            _remember(self._outsiders, (session, pid), None)
            self._log.warning(
                "hook_from_outside",
                agent=session.agent,
                agent_session=session.session,
                pid=pid,
                at_work_in=self._agents.homes[session].process[0],
            )

    def _caller(self, incoming: IncomingRequest) -> Caller:
        """Return the caller that the request names; if it names none or a guessed one, the agent session of the calling
        process.
        """
        assert incoming.request is not None
        caller = incoming.request.caller
        if not self._agents.homes or not (caller.guessed or not (caller.agent or caller.agent_session)):
            return caller
        found = self._agents.session_of(self._chain(incoming), _name(caller.agent))
        if found is None:
            return caller
        home = self._agents.homes[found]
        turn, model = home.turn or caller.turn, caller.model or home.model
        return replace(caller, agent=found.agent, agent_session=found.session, turn=turn, model=model)

    def _who(self, incoming: IncomingRequest, by_hook: bool = False, outsider: bool = False) -> Who:
        """Return the caller with its writer number, and record the call in `Presence`."""
        assert incoming.request is not None
        connection, peer = incoming.identity, incoming.peer
        caller = incoming.request.caller if by_hook else self._caller(incoming)
        if outsider:
            caller = replace(caller, agent_session="", parent="")
        if not caller.turn and (turn := self._turns.get(_session_of(caller))):
            caller = replace(caller, turn=turn)
        said = (caller.agent, caller.agent_session, caller.turn, caller.tool_call, caller.model, caller.parent)
        identity = self._identities.get((connection, peer, said))
        if identity is None:
            identity = self._identity(connection, peer, said)
        if self._purges != self._recorder.purges:
            self._purges = self._recorder.purges
            self._writers.clear()
        who = self._writers.get(identity)
        if who is None:
            writer = self._recorder.writer(identity)
            key = caller_key(peer.uid, identity.agent, identity.agent_session)
            stranger = self._recorder.stranger(writer)
            who = Who(writer, key, identity.agent, identity.agent_session, stranger)
            _remember(self._writers, identity, who)
        home = self._agents.homes.get(AgentSession(who.agent, identity.parent or who.agent_session))
        process = home.process if home is not None else None
        self._presence.called(who, connection, identity, by_hook and bool(who.agent), process)
        return replace(who, outsider=outsider, process=process) if by_hook else who

    def _identity(self, connection: bytes, peer: Peer, said: tuple[str, ...]) -> WriterIntroduced:
        """Return the caller's identity: user and process, attested by the kernel, and the names that the caller claims,
        with secrets masked.
        """
        claimed = [_name(text) for text in said]
        identity = WriterIntroduced(0, peer.uid, peer.pid, self._pid_start(connection, peer.pid), *claimed)
        if sum(map(len, said)) <= MOST_CLAIMED:
            _remember(self._identities, (connection, peer, said), identity)
        return identity

    def _chain(self, incoming: IncomingRequest) -> tuple[Process, ...]:
        connection, pid = incoming.identity, incoming.peer.pid
        if connection not in self._chains:
            _remember(self._chains, connection, self._tree.ancestors(pid) if pid else ())
        return self._chains[connection]

    def _pid_start(self, connection: bytes, pid: int) -> int:
        if connection not in self._pid_starts:
            _remember(self._pid_starts, connection, pid_start(pid))
        return self._pid_starts[connection]


def _session_of(caller: Caller) -> AgentSession:
    return AgentSession(_name(caller.agent), _name(caller.parent or caller.agent_session))


def _remember(known: dict[K, V], key: K, value: V) -> None:
    if len(known) >= MOST_REMEMBERED:
        del known[next(iter(known))]
    known[key] = value
