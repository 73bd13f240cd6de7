"""Client methods that undo, redo, roll back and restore changes, name points, and group changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict, Unpack

from quire_client.calls.base import Answer, Calls, stated


class Choice(TypedDict, total=False):
    """Arguments of `undo` and `redo` that select records; `plan` only plans, and `token` executes a plan."""

    writer: str
    last: int
    batch: int | str | Sequence[int | str]
    turn: str
    agent_session: str
    burst: int | Sequence[int]
    path: str
    paths: Sequence[str]
    conflicts: str  # "skip", "markers" or "abort"
    probable: bool  # also changes that are only probably the selected writer's
    plan: bool
    token: str


class UndoCalls(Calls):
    """Client methods that undo changes, name points, or group changes."""

    def undo(
        self,
        *,
        start: str | None = None,
        end: str | None = None,
        lines: str | None = None,
        **choice: Unpack[Choice],
    ) -> Answer:
        """Undo the selected changes, or those between two points; by default the caller's own last call.

        Later changes of other writers are not undone. `lines` (`10-24`, of `path`) undoes only what was written in
        these lines. `plan` changes nothing; the `token` of that reply executes the plan, and is refused if the files
        have changed meanwhile.

        Reply: `batch` (of the undo), `batches` (that are undone), `files` of `{path, action, kept, conflicts, skipped,
        …}`.
        Refused: `not_found` (nothing to undo), `conflict` (with `conflicts="abort"`), `plan_stale`.
        Source: quire_daemon.tools.undo.tool, quire_daemon.tools.undo.plan
        """
        return self.call("undo", stated(**{"from": start, "to": end}, lines=lines, **choice))

    def redo(self, *, start: str | None = None, end: str | None = None, **choice: Unpack[Choice]) -> Answer:
        """Restore the selected undone changes; by default revert the caller's own last undo.

        Reply: `batch`, `batches` and `files`, as of `undo`.
        Refused: as `undo`.
        Source: quire_daemon.tools.undo.tool
        """
        return self.call("redo", stated(**{"from": start, "to": end}, **choice))

    def rollback(
        self,
        to: str | None = None,
        *,
        only: str | None = None,
        paths: Sequence[str] | None = None,
        conflicts: str | None = None,
        probable: bool | None = None,
        plan: bool | None = None,
        token: str | None = None,
    ) -> Answer:
        """Undo all changes since the point `to` by the caller, or by the writer `only` ("*" for everyone).

        Reply: `batch`, `batches` and `files`, as of `undo`.
        Refused: as `undo`.
        Source: quire_daemon.tools.undo.tool
        """
        given = stated(to=to, writer=only, paths=paths, conflicts=conflicts, probable=probable, plan=plan, token=token)
        return self.call("rollback", given)

    def restore(self, path: str, at: str, *, plan: bool | None = None, token: str | None = None) -> Answer:
        """Write `path` as it was at the point `at`, whoever changed it since, as a new record.

        Reply: as of `undo`; for each file `takes_back`, the versions that are replaced, and `unchanged` if there are
        none.
        Refused: `not_found`, `uncaptured` (the journal lacks the old bytes), `plan_stale`.
        Source: quire_daemon.tools.undo.tool
        """
        return self.call("restore", stated(path=path, at=at, plan=plan, token=token))

    def checkpoint(
        self,
        name: str | None = None,
        *,
        action: str | None = None,
        note: str | None = None,
        at: str | None = None,
        move: bool | None = None,
        to: str | None = None,
        path: str | None = None,
    ) -> Answer:
        """Name this moment, or the point `at`; or `action`: "list", "show", "diff" (with `to`, `path`) or "drop".

        `move` moves an existing name to another point.

        Reply: `{name, seq, at, named_at, note, writer, not_captured}`; for "list" `checkpoints`, a list of these; for
        "diff" the reply of `diff`.
        Refused: `not_found`, `already_exists`, `schema_invalid` (no name).
        Source: quire_daemon.tools.checkpoints
        """
        return self.call("checkpoint", stated(name=name, action=action, note=note, at=at, move=move, to=to, path=path))

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
        """Group the changes between "begin" and "end" as a burst; or "list" bursts, or "show" one.

        `kind` is "tool_call", "formatter", "git" or another word; `outside` includes other programs' writes. A burst
        ends after `ttl_s` seconds (default 600), and with `bind="connection"` also with this connection.

        Reply: `{burst, label, kind, state, outside, bind, owner, yours, began_at, expires_at, ended_at, why, first,
        last, batches, unclear}`; for "list" `bursts`, a list of these.
        Refused: `not_found`, `busy` (too many are open), `schema_invalid`.
        Source: quire_daemon.tools.bursts
        """
        given = stated(label=label, kind=kind, ttl_s=ttl_s, outside=outside, bind=bind, burst=burst)
        return self.call("burst", {"action": action, **given})
