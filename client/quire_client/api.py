"""Typed calls of every tool. `Client.call` (`quire_client.calling`) is the generic door to all of them.

A reply is a dict of JSON values, for refusals too. Every reply has `ok` and `message`, a sentence for people; what else
stands in it is said at each method. What all of them share:

    a refusal       `ok: False`, `error` (a stable code, `quire_journal.refusals.CODES`), `suggested_action`, and fields
                    that help to repair the call. Nothing has changed. Any call may be refused with `schema_invalid`,
                    `outside_workspace`, `permission_denied`, `busy` (`retry_after_ms`), `expired`, `disk_full`,
                    `journal_damaged` or `fault`; at each method stand those that are its own.
    an edit         `path`, `version`, `sha256`, `sizeBytes`, `changed` (ranges of lines), `net_lines`, `diff` (lines
                    with fresh anchors), `warnings`, `safety_status`, `outcome`, `op`. Every writing tool may be refused
                    with `stale_base`, `lease_held` or `safety_check_failed`.
    a writer        `{id, type, agent, agent_session, turn, tool_call, model, uid, pid}`; what the caller says, and
                    what the kernel says of it
    a point         a version (`v812`), `seq:N`, a checkpoint's name, or a time (RFC 3339)
    units           lines are 1-based and inclusive, times RFC 3339 in UTC, sizes in bytes, `…_s` seconds, `…_ms`
                    milliseconds
    others' work    `changed_since_your_read`: what somebody else changed since this caller read it

Exceptions are left for what goes wrong before anything was sent: no daemon (`NoDaemon`), a folder that cannot be a
workspace (`WorkspaceRefused`), arguments that no message can carry (`TypeError`, `ValueError`). A call that was sent
and not answered is a reply with `outcome: "unknown"`. "Source" names the module that answers.
"""

from __future__ import annotations

import os
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict, Unpack

from quire_client.calling import TIMEOUT_S, Answer, Calls, Line, Opens
from quire_client.start import Door
from quire_journal.messages import Caller
from quire_journal.places import place_of

__all__ = ["TIMEOUT_S", "Answer", "Choice", "Client", "Line", "Opens", "Writing", "connect"]


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


class Client(Calls):
    """One caller's connection to the daemon of one workspace, with a method for each tool.

    Threads may share it: their calls take turns. When the daemon was restarted, the next call goes to the new one.
    """

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
        """The text of `path`, plain, or as lines with anchors.

        `hashes` shows the anchors of `edit`, `format` is "plain", "hashed", "hashline" (for `hashline_edit`) or
        "numbered". `start_line` to `end_line`, 1-based and inclusive, are clamped to the file; `at` is a point. From
        now on the caller's base of the file is what it was shown here.

        Reply: `path`, `version`, `sha256`, `sizeBytes`, `lineCount`, `startLine`, `endLine`, `newlineStyle`, `hasBom`,
        `last_writer`, and `content` (plain) or `lines` (`"12#ab12cd3 [high]|text"`); `truncated` with `next_line` where
        it does not fit into one reply.
        Refused: `not_found`, `not_a_file`, `binary_file`, `file_too_large`, `uncaptured` (with `at`).
        Source: quire_daemon.handlers.read
        """
        given = _given(path=path, hashes=hashes, format=format, start_line=start_line, end_line=end_line, at=at)
        return self.call("read_file", given)

    def status(self) -> Answer:
        """How the daemon and its journal are.

        Reply: `pid`, `epoch`, `seq` (the newest record), `workspace`, `state_dir`, `versions`, `writers`, `coverage`
        (`state` full or degraded, `reasons`), `capture` (`finished`, `done`, `total` files), `protection`, `journal`
        (`bytes`, `versions`, `records`). More may be added.
        Refused: nothing of its own.
        Source: quire_daemon.handlers.status, shape in quire_daemon.replies
        """
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
        burst: int | None = None,
        patch: bool | None = None,
        stat: bool | None = None,
        limit: int | None = None,
        order: str | None = None,
        cursor: str | None = None,
    ) -> Answer:
        """Records of the journal, newest first unless `order="oldest"`; a page of them.

        `path` is a file, folder or glob, `writer` an agent's name, `w3` or `outside`, `since` and `until` are points,
        `burst` the number of one. `text_changed` finds the changes after which a text occurs more or less often,
        `contains` the versions that hold it. `patch` and `stat` tell of each record how it differs from the version
        before.

        Reply: `records` of `{seq, at, kind, path, version, sha256, base, batch, writer, evidence}` and what the kind
        has besides; `next`, the `cursor` of the next page, None at the end. A page may hold fewer records than `limit`
        (50), or none, and still have a `next`: the work of one call is bounded.
        Refused: `not_found` (a point), `schema_invalid` (a cursor of other filters).
        Source: quire_daemon.handlers.log, shape in quire_daemon.replies
        """
        kinds = kind if kind is None or isinstance(kind, str) else list(kind)
        whose = _given(writer=writer, agent=agent, agent_session=agent_session, turn=turn, burst=burst)
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
        """What was recorded after `cursor`, oldest first; without one, the cursor of now, when all on disk was noticed.

        With `wait_ms` (milliseconds, at most 60,000) the call waits so long for something to tell; the client's own
        limit is longer by that.

        Reply: `records` as in `log`, `cursor` to ask with next, `more`, and `fresh`: the cursor was foreign or too old,
        and this is the listing from the beginning.
        Refused: `not_found` (a point).
        Source: quire_daemon.handlers.log, shape in quire_daemon.replies
        """
        allowance = self.timeout_s + (wait_ms or 0) / 1000
        kinds = kind if kind is None or isinstance(kind, str) else list(kind)
        given = _given(cursor=cursor, path=path, writer=writer, kind=kinds, wait_ms=wait_ms, limit=limit)
        return self.call("since", given, timeout_s=allowance)

    def who(self, *, present: bool | None = None, minutes: float | None = None, limit: int | None = None) -> Answer:
        """Who has called, who is present first. `minutes`: only callers of so long ago.

        Reply: `writers` of a writer and `{you, present, connections, alive, last_seen, last_change, on: {files, leases,
        bursts}}`; `present` and `total` count them.
        Refused: nothing of its own.
        Source: quire_daemon.handlers.status
        """
        return self.call("who", _given(present=present, minutes=minutes, limit=limit))

    def show(
        self,
        version: str | None = None,
        *,
        path: str | None = None,
        at: str | None = None,
        start_line: int | None = None,
    ) -> Answer:
        """A record by its version or `seq:N`; or of `path` the version at the point `at` (`version` may name it, too).

        Reply: `record`; where it made a version also `path`, `version`, `sha256`, `sizeBytes`, `mode` (octal digits),
        `content` from `start_line` on (`truncated`, `next_line`) or `content_base64`, and `diff` against the one
        before.
        Refused: `not_found`; where the bytes are not held, the reply has `uncaptured` with the reason instead.
        Source: quire_daemon.handlers.show, shape in quire_daemon.replies
        """
        if (version is None) == (at is None):
            raise TypeError("show takes a version, or `path` and the point `at`")
        return self.call("show", _given(version=version or at, path=path, start_line=start_line))

    def diff(self, start: str, end: str | None = None, paths: Sequence[str] = ()) -> Answer:
        """What changed between two points (`end`: now), in `paths`: files, folders, globs.

        Reply: `from`, `to`, `files` of `{path, status, from, to, hunks, patch}`, and `patch`, all of them as a unified
        diff; `truncated` where not all fits.
        Refused: `not_found` (a point).
        Source: quire_daemon.handlers.show, shape in quire_daemon.replies
        """
        return self.call("diff", _given(**{"from": start, "to": end, "paths": list(paths) or None}))

    def blame(
        self, path: str, at: str | None = None, *, start_line: int | None = None, end_line: int | None = None
    ) -> Answer:
        """Who wrote each line of `path`, as it is or at a point, through renames. Lines are 1-based and inclusive.

        Reply: `version`, `lineCount`, `lines` of `{line, seq, version, writer, turn, at, evidence, text}`, the same as
        `runs` of `{start, end, …}`, `names` that the file had, `gaps` beyond which nothing is known; `truncated`,
        `next_line`.
        Refused: `not_found`, `binary_file`, `uncaptured`.
        Source: quire_daemon.handlers.blame
        """
        return self.call("blame", _given(path=path, at=at, start_line=start_line, end_line=end_line))

    def describe(self, tool: str | None = None, *, offered: bool | None = None) -> Answer:
        """What each tool, or one of them, takes and may do. `offered`: only those that agents are offered.

        Reply: `tools` of `{name, title, description, writes, offered, annotations, schema, aliases}`; `schema` is a
        flat JSON Schema of the arguments, of one asked for alone `reply` is that of the reply, where it is stated.
        Refused: `not_found`.
        Source: quire_daemon.handlers.describe
        """
        return self.call("describe", _given(tool=tool, offered=offered))

    def why(self, path: str, line: int | None = None, at: str | None = None) -> Answer:
        """Who made `path`, or its `line` (1-based), what it is, as of now or of the point `at`.

        Reply: `record`, `operation` (the dialect or command), `diff` against the version before, `previous`, `next`,
        `batch_files` (what else the call changed), `undone_by`; of a line also `text`, `line_then`, `wrote`,
        `replaced`.
        Refused: `not_found`, `line_out_of_range`, `binary_file`, `uncaptured`.
        Source: quire_daemon.handlers.why
        """
        return self.call("why", _given(path=path, line=line, at=at))

    def tree(self, at: str | None = None, path: str | None = None, *, cursor: int | None = None) -> Answer:
        """What there was at a point, or is, in `path` (a file, folder or glob), page by page.

        The next page is asked for with `at` of the reply and its `next` as `cursor`: together they are one state.

        Reply: `at`, `time`, `entries` of `{path, kind, version, sha256, sizeBytes, mode, target?, uncaptured?}`, `next`
        (None at the end), `complete` (the whole tree had been looked at by then).
        Refused: `not_found` (a point), `schema_invalid` (a cursor).
        Source: quire_daemon.handlers.tree
        """
        return self.call("tree", _given(at=at, path=path, cursor=cursor))

    def blobs(self, sha256: Sequence[str], *, offset: int | None = None) -> Answer:
        """The bytes with these addresses, as many as fit into one reply; `offset` in bytes, in the first of them.

        Reply: `blobs` of `{sha256, content_base64, sizeBytes, offset}`, or `{sha256, uncaptured}`.
        Refused: `schema_invalid` (no address).
        Source: quire_daemon.handlers.tree
        """
        return self.call("blobs", _given(sha256=list(sha256), offset=offset))

    def manual(self, dialect: str | None = None) -> Answer:
        """The guidance of a dialect, for an agent's instructions; without a name, a list of them.

        Reply: `manual` (Markdown), `dialect`, `dialects` of `{name, about}`.
        Refused: `not_found`.
        Source: quire_daemon.handlers.manual
        """
        return self.call("manual", _given(dialect=dialect))

    # -- writing -----------------------------------------------------------------------------------------------

    def write_file(
        self, path: str, content: str, *, expected_sha256: str | None = None, **common: Unpack[Writing]
    ) -> Answer:
        """Write the whole file. One that exists needs a gate: `base`, or `expected_sha256` of the bytes to be replaced.

        Reply: as of every edit (above), with `created` for a new file.
        Refused: `write_conflict` (no gate; `current_version`), `stale_file` (other bytes), `stale_base`.
        Source: quire_daemon.handlers.write
        """
        return self.call("write_file", _given(path=path, content=content, expectedSha256=expected_sha256, **common))

    def edit(self, path: str, operations: Sequence[Mapping[str, Any]], **common: Unpack[Writing]) -> Answer:
        """Edit lines that anchors name (`read_file(hashes=True)`); all operations or none.

        An operation is `{op, hash, content?, …}`: `replace_line`, `replace_range`, `insert_after`, `insert_before`,
        `delete_line` and more; `manual("edit")` has them all.

        Reply: as of every edit (above).
        Refused: `anchor_stale`, `anchor_ambiguous`, `anchor_low_entropy`, `overlapping_operations`,
        `safety_check_failed`.
        Source: quire_daemon.handlers.edit, quire_daemon.dialects.edit
        """
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
        """Edit by `LINE#ID`, as `read_file(format="hashline")` shows them; may `delete` or `rename` the file.

        Reply: as of every edit (above).
        Refused: `hash_mismatch`, `invalid_ref`, `line_out_of_range`, `overlapping_edits`, `no_op`.
        Source: quire_daemon.handlers.hashline_edit, quire_daemon.dialects.hashline_edit
        """
        return self.call("hashline_edit", _given(path=path, edits=list(edits), delete=delete, rename=rename, **common))

    def edit_file(
        self, path: str, expected_sha256: str, edits: Sequence[Mapping[str, Any]], **common: Unpack[Writing]
    ) -> Answer:
        """Replace exact texts of the bytes whose sha256 is given; `edits` of `{oldText, newText, …}`.

        Reply: as of every edit (above).
        Refused: `stale_file`, `old_text_not_found`, `multiple_matches`, `overlapping_edits`, `schema_invalid` (no
        edit).
        Source: quire_daemon.handlers.edit_file, quire_daemon.dialects.edit_file
        """
        return self.call("edit_file", _given(path=path, expectedSha256=expected_sha256, edits=list(edits), **common))

    def apply_patch(
        self, patch: str, expected_sha256_by_path: Mapping[str, str] | None = None, **common: Unpack[Writing]
    ) -> Answer:
        """Apply a patch (the `*** Begin Patch` envelope, or a unified diff) to several files; all or none.

        Reply: `files`, each as of an edit (above).
        Refused: `patch_parse_error` (`line`), `patch_apply_error` (`reason`), `stale_base`, `stale_file`.
        Source: quire_daemon.handlers.apply_patch, quire_daemon.dialects.apply_patch
        """
        return self.call("apply_patch", _given(patch=patch, expectedSha256ByPath=expected_sha256_by_path, **common))

    def delete_file(self, path: str, **common: Unpack[Writing]) -> Answer:
        """Delete a file; the journal keeps its bytes.

        Reply: as of every edit (above), with `deleted`.
        Refused: `not_found`, `stale_base`.
        Source: quire_daemon.handlers.files
        """
        return self.call("delete_file", _given(path=path, **common))

    def move_file(self, path: str, to: str, **common: Unpack[Writing]) -> Answer:
        """Move a file, never over another; its history goes along.

        Reply: as of every edit (above), with `moved_from`.
        Refused: `not_found`, `already_exists` (something is at `to`), `stale_base`.
        Source: quire_daemon.handlers.files
        """
        return self.call("move_file", _given(path=path, to=to, **common))

    # -- going back --------------------------------------------------------------------------------------------

    def undo(self, *, start: str | None = None, end: str | None = None, **choice: Unpack[Choice]) -> Answer:
        """Undo what `choice` names, or what lies between two points, else the caller's own last batch.

        What others did stays. With `plan` nothing is done: `token` of that reply executes the plan, or is refused when
        something moved meanwhile.

        Reply: `batch` (of the undo), `batches` (that are undone), `files` of `{path, action, kept, conflicts, skipped,
        …}`.
        Refused: `not_found` (nothing to undo), `conflict` (with `conflicts="abort"`), `plan_stale`.
        Source: quire_daemon.handlers.undo, quire_daemon.handlers.undoing
        """
        return self.call("undo", _given(**{"from": start, "to": end}, **choice))

    def redo(self, *, start: str | None = None, end: str | None = None, **choice: Unpack[Choice]) -> Answer:
        """Bring back, of what was undone, what `choice` names; else take the caller's own last undo back.

        Reply: as of `undo`.
        Refused: as `undo`.
        Source: quire_daemon.handlers.undo
        """
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
        """Take back what the caller (or `only`, a writer, "*" for everyone) did since the point `to`, as new records.

        Reply: as of `undo`.
        Refused: as `undo`.
        Source: quire_daemon.handlers.undo
        """
        given = _given(to=to, writer=only, paths=paths, conflicts=conflicts, plan=plan, token=token)
        return self.call("rollback", given)

    def restore(self, path: str, at: str, *, plan: bool | None = None, token: str | None = None) -> Answer:
        """Bring `path` back to the point `at`, whoever changed it since, as a new record.

        Reply: as of `undo`; of each file `takes_back`, the versions that are given up, and `unchanged` where none is.
        Refused: `not_found`, `uncaptured` (the bytes of then are not held), `plan_stale`.
        Source: quire_daemon.handlers.undo
        """
        return self.call("restore", _given(path=path, at=at, plan=plan, token=token))

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

        `move` gives a name that exists to another point.

        Reply: `{name, seq, at, named_at, note, writer, not_captured}`; of "list" `checkpoints` of these, of "diff" as
        `diff`.
        Refused: `not_found`, `already_exists`, `schema_invalid` (no name).
        Source: quire_daemon.handlers.checkpoints
        """
        return self.call("checkpoint", _given(name=name, action=action, note=note, at=at, move=move, to=to, path=path))

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
        """Either "begin" or "end" changes that belong together; "list" bursts or "show" one.

        `kind` is "tool_call", "formatter", "git" or another word; `outside`: other programs' writes belong to it. It
        ends by itself after `ttl_s` seconds (600), with `bind="connection"` also with this client's connection.

        Reply: `{burst, label, kind, state, outside, bind, owner, yours, began_at, expires_at, ended_at, why, first,
        last, batches, unclear}`; of "list" `bursts` of these.
        Refused: `not_found`, `busy` (too many are open), `schema_invalid`.
        Source: quire_daemon.handlers.bursts
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
        """Announce work on a file, folder or glob (`kind="intent"`), or get a `shared` or `exclusive` lease on it.

        Lines are 1-based and inclusive. It ends by itself after `ttl_s` seconds (600); `renew` is the number of a lease
        to keep for longer. `wait_ms`: wait so long (milliseconds) for others. `bind="connection"`: it ends with this
        client's.

        Reply: `{lease, fencing, kind, path, form, lines, reason, holder, yours, granted_at, expires_at, expires_in_s,
        bind}`, `conflicts` (leases of others there, `conflicts_total`), `queued`.
        Refused: `lease_held` (`holder`, `expires_in_s`, `free`), `not_found` (of `renew`), `expired` (after a wait).
        Source: quire_daemon.handlers.leases
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
        """Give up the leases on `path`, one by its number, or all; `force` breaks those of others, for a `reason`.

        Reply: `released` (the caller's) and `broken` (others'), each as in `claim`.
        Refused: `not_found`, `lease_held` (it is another's).
        Source: quire_daemon.handlers.leases
        """
        return self.call("release", _given(path=path, lease=lease, all=all, force=force, reason=reason))

    def claims(self, path: str | None = None) -> Answer:
        """The leases in force, and the claims that wait; about `path` only those that touch it.

        Reply: `leases` and `waiting` as in `claim`, oldest first; `broken`, own leases that somebody broke.
        Refused: nothing of its own.
        Source: quire_daemon.handlers.leases
        """
        return self.call("claims", _given(path=path))

    # -- the journal itself ------------------------------------------------------------------------------------

    def verify(self, read_data: str = "all", timeout_s: float | None = None) -> Answer:
        """Check the journal: its pages, its chain, every blob, every view.

        `read_data` says which stored bytes are unpacked: "all", "none", or the n-th of t equal parts, "n/t".

        Reply: `findings` (none) and `read_data`.
        Refused: `journal_damaged` (with `findings`, each a sentence).
        Source: quire_daemon.services.verify
        """
        return self.call("verify", {"read_data": read_data}, timeout_s=timeout_s)

    def repair(self, execute: bool = False, timeout_s: float | None = None) -> Answer:
        """What would be done about a damaged journal; `execute` does it: the daemon ends, and the next one does.

        Reply: `findings` and `plan`, each a list of sentences, and `executed`.
        Refused: `busy`.
        Source: quire_daemon.services.repair
        """
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

        `plan` only says what would go. What is purged does not come back.

        Reply: `versions` and `blobs` that go, `records` that told of them, `on_disk` where the bytes still stand in the
        checkout, `remain`: where copies may be that Quire does not control.
        Refused: `invalid_regex`, `regex_timeout`, `schema_invalid` (nothing named), `busy`.
        Source: quire_daemon.services.purge
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

        Everything that is on disk by now is in it. `told` gets how many records of how many are told. After a refusal
        what was written so far is of no use.

        Reply: of the last piece: `export`, `page`, `done`, `records`, `of`.
        Refused: `schema_invalid` (no such format), `not_found` (a point).
        Source: quire_daemon.services.export, formats in quire_journal.export
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
        """Drop bytes that no rule of the settings keeps: `dry_run`, `compact`, `limit`, `skip`, `only`.

        Reply: `policy`, `kept` and `droppable` of `{blobs, bytes}`, `reasons`; with `dry_run` also `blobs`, a page, and
        `next`.
        Refused: `busy` (one runs already), `schema_invalid`.
        Source: quire_daemon.services.gc
        """
        return self.call("gc", arguments, timeout_s=timeout_s)

    def op_status(self, op: str) -> Answer:
        """What became of a call whose outcome was unknown; `op` is in its reply.

        Reply: `outcome`, "applied", "not_applied" or "superseded" (applied, and changed since).
        Refused: `schema_invalid` (no operation's id).
        Source: quire_daemon.handlers.status
        """
        return self.call("op_status", {"op": op})

    def doctor(self) -> Answer:
        """The daemon's own checks.

        Reply: `healthy`, `checks` of `{name, ok, detail}`.
        Refused: nothing of its own.
        Source: quire_daemon.services.doctor
        """
        return self.call("doctor")


def _given(**args: Any) -> dict[str, Any]:
    """The arguments that were given: None stands for "not said", and the daemon knows the default."""
    return {name: value for name, value in args.items() if value is not None}
