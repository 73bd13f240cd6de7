"""The client: a typed method for each tool, and `Client.call` for any tool by name.

A reply is a dict of JSON values, for refusals too. Every reply has `ok` and `message`, a sentence for people. Each
method's docstring lists the other fields. All methods share:

    a refusal       `ok: False`, `error` (a stable code, `quire_journal.model.refusals.CODES`), `suggested_action`, and
                    fields that help to repair the call. Nothing has changed. Any call may be refused with
                    `schema_invalid`, `outside_workspace`, `permission_denied`, `busy` (`retry_after_ms`), `expired`,
                    `disk_full`, `journal_damaged` or `fault`; each method lists its further codes.
    an edit         `path`, `version`, `sha256`, `sizeBytes`, `changed` (ranges of lines), `net_lines`, `diff` (lines
                    with fresh anchors), `warnings`, `safety_status`, `outcome`, `op`. Every writing tool may be refused
                    with `stale_base`, `lease_held` or `safety_check_failed`.
    a writer        `{id, type, agent, agent_session, turn, tool_call, model, uid, pid}`; `uid` and `pid` come from the
                    kernel, the rest from the caller
    a point         a version (`v812`), `seq:N`, a checkpoint's name, or a time (RFC 3339)
    units           lines are 1-based and inclusive, times RFC 3339 in UTC, sizes in bytes, `…_s` seconds, `…_ms`
                    milliseconds
    others' work    `changed_since_your_read`: what other writers changed since this caller read the file; `touches`
                    says how that affects the lines of the call, or else those read: `conflicting` (a line was
                    changed, or separated from its neighbour), `touching` (an adjacent line was changed), `none`

An exception means that nothing was sent: no daemon (`NoDaemon`), a folder that cannot be a workspace
(`WorkspaceRefused`), arguments that no message can carry (`TypeError`, `ValueError`, `OverflowError` for a number of
more than 64 bits). A call that was sent and not answered is a reply with `outcome: "unknown"`. "Source" names the
module that answers.
"""

from __future__ import annotations

import os

from quire_client.calls import (
    TIMEOUT_S,
    Answer,
    Choice,
    Edits,
    Leases,
    Line,
    Maintenance,
    Opens,
    Queries,
    UndoCalls,
    WriteArguments,
)
from quire_client.transport import Door
from quire_journal.model import Caller
from quire_journal.workspaces import place_of

__all__ = ["TIMEOUT_S", "Answer", "Choice", "Client", "Line", "Opens", "WriteArguments", "connect"]


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
    """Connect to the daemon of the folder `workspace`, and start the daemon if none runs.

    `agent` and `session` name the caller; without them the caller is the user. `timeout_s` limits each call.
    `start=False` starts no daemon. Raises NoDaemon if no daemon can be reached, and WorkspaceRefused if the folder
    cannot be a workspace.
    """
    place = place_of(os.fspath(workspace), None if state_dir is None else os.fspath(state_dir))
    caller = Caller(agent, session, turn, tool_call, model)
    return Client(Door(place, start), caller, timeout_s).open()


class Client(Queries, Edits, UndoCalls, Leases, Maintenance):
    """One caller's connection to the daemon of one workspace, with a method for each tool. Threads may share it; their
    calls run one at a time. After a restart of the daemon, the next call connects to the new one.
    """
