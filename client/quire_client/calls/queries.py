"""Queries: current and old files, and their history."""

from __future__ import annotations

from collections.abc import Sequence

from quire_client.calls.base import Answer, Calls, stated


class Queries(Calls):
    """Calls that change no file."""

    def read_file(
        self,
        path: str,
        *,
        hashes: bool | None = None,
        format: str | None = None,
        start_line: int | None = None,
        end_line: int | None = None,
        at: str | None = None,
        since: str | None = None,
    ) -> Answer:
        """The text of `path`, plain, or as lines with anchors.

        `hashes` shows the anchors of `edit`; `format` is "plain", "hashed", "hashline" (for `hashline_edit`) or
        "numbered". `start_line` to `end_line`, 1-based and inclusive, are clamped to the file; `at` is a point. The
        version shown becomes the caller's base of the file. `since`, a point, shows only the places changed since then.

        Reply: `path`, `version`, `sha256`, `sizeBytes`, `lineCount`, `startLine`, `endLine`, `newlineStyle`, `hasBom`,
        `last_writer`, and `content` (plain) or `lines` (`"12#ab12cd3 [high]|text"`); `truncated` with `next_line` if it
        exceeds one reply; with `since` instead `hunks` (`startLine`, `endLine`, `lines`, `removed`).
        Refused: `not_found`, `not_a_file`, `binary_file`, `file_too_large`, `uncaptured` (with `at`).
        Source: quire_daemon.tools.read
        """
        lines = stated(start_line=start_line, end_line=end_line)
        return self.call("read_file", stated(path=path, hashes=hashes, format=format, at=at, since=since) | lines)

    def status(self) -> Answer:
        """State of the daemon and its journal.

        Reply: `pid`, `epoch`, `seq` (the newest record), `workspace`, `state_dir`, `versions`, `writers`, `coverage`
        (`state` full or degraded, `reasons`), `capture` (`finished`, `done`, `total` files), `protection`, `journal`
        (`bytes`, `versions`, `records`). More may be added.
        Refused: nothing of its own.
        Source: quire_daemon.tools.admin.status, shape in quire_daemon.core.replies
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

        `path` is a file, folder or glob, `writer` an agent's name, `name/session`, `user`, `w3` or `outside`, `since`
        and `until` are points, `burst` the number of one. `text_changed` finds the changes after which a text occurs
        more or less often, `contains` the versions that hold it. `patch` and `stat` tell of each record how it differs
        from the version before.

        Reply: `records` of `{seq, at, kind, path, version, sha256, base, batch, writer, evidence}` and what the kind
        has besides; `next`, the `cursor` of the next page, None at the end. A page may hold fewer records than `limit`
        (50), or none, and still have a `next`: the work of one call is bounded.
        Refused: `not_found` (a point), `schema_invalid` (a cursor of other filters).
        Source: quire_daemon.tools.history.log, shape in quire_daemon.core.replies
        """
        kinds = kind if kind is None or isinstance(kind, str) else list(kind)
        whose = stated(writer=writer, agent=agent, agent_session=agent_session, turn=turn, burst=burst)
        what = stated(path=path, kind=kinds, contains=contains, text_changed=text_changed, patch=patch, stat=stat)
        bounds = stated(since=since, until=until, limit=limit, order=order, cursor=cursor)
        return self.call("log", {**what, **whose, **bounds})

    def stories(
        self,
        path: str | None = None,
        *,
        writer: str | None = None,
        agent_session: str | None = None,
        turn: str | None = None,
        agents: bool | None = None,
        since: str | None = None,
        until: str | None = None,
        all: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Answer:
        """What happened, newest first, as people look at it: one story for a turn, a git operation, saves, a burst.

        `path`, `writer`, `since` and `until` are as in `log`; `agents` leaves out what no agent did, `all` lists every
        call and more files.

        Reply: `stories` of `{form, seq, first, at, ended_at, writer, whole, files, files_count, writes}` and what the
        form has besides (`prompt` and `calls` of a turn, `commands` of git); `files` of `{path, status, version,
        before, added, removed, symbols}`; `next`, the `cursor` of the next page, None at the end. A page may hold fewer
        stories than `limit` (15) and still have a `next`: the work of one call is bounded.
        Refused: `not_found` (a point, a writer that nobody is called), `schema_invalid` (a cursor of another journal).
        Source: quire_daemon.tools.history.stories, shape in quire_daemon.core.replies
        """
        whose = stated(writer=writer, agent_session=agent_session, turn=turn, agents=agents)
        given = stated(path=path, since=since, until=until, all=all, limit=limit, cursor=cursor)
        return self.call("stories", {**given, **whose})

    def lanes(
        self,
        *,
        since: str | None = None,
        until: str | None = None,
        buckets: int | None = None,
        by: str | None = None,
        limit: int | None = None,
    ) -> Answer:
        """How much each writer did, and when: numbers of records for short stretches between two points.

        `buckets` is how many stretches (600), `by` what they share out evenly: "log" (records) or "time". `limit` is
        how many lanes there are (24), who came last first; where more wrote, an agent has one for all its sessions.

        Reply: `bounds` (seqs) and `times_ms` of the stretches, one more than there are; `lanes` of `{writer, writes,
        refused}`, each a list of (stretch, number) where there are any, at the end other programs; `others`, the writes
        of all whose lanes are not listed. What may be of several counts for one of them.
        Refused: `not_found` (a point), `schema_invalid`.
        Source: quire_daemon.tools.history.lanes
        """
        return self.call("lanes", stated(since=since, until=until, buckets=buckets, by=by, limit=limit))

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
        """The records after `cursor`, oldest first; without one, the current cursor, once all on disk was noticed.

        With `wait_ms` (milliseconds, at most 60,000) the call waits so long for something to tell; the client's own
        limit is longer by that.

        Reply: `records` as in `log`, `cursor` to ask with next, `more`, and `fresh`: the cursor was foreign or too old,
        and this is the listing from the beginning.
        Refused: `not_found` (a point).
        Source: quire_daemon.tools.history.log, shape in quire_daemon.core.replies
        """
        kinds = kind if kind is None or isinstance(kind, str) else list(kind)
        given = stated(cursor=cursor, path=path, writer=writer, kind=kinds, wait_ms=wait_ms, limit=limit)
        return self.call("since", given)

    def who(
        self,
        *,
        present: bool | None = None,
        minutes: float | None = None,
        hours: float | None = None,
        limit: int | None = None,
    ) -> Answer:
        """The callers, present ones first.

        Present is who called within the last `minutes`; of the others those are listed who were seen within `hours`.

        Reply: `writers` of a writer and `{you, present, connections, alive, last_seen, last_change, on: {files, leases,
        bursts, writing}}`; `collisions`, files that several write; `present` and `total` count them.
        Refused: nothing of its own.
        Source: quire_daemon.tools.admin.status
        """
        return self.call("who", stated(present=present, minutes=minutes, hours=hours, limit=limit))

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
        Source: quire_daemon.tools.history.show, shape in quire_daemon.core.replies
        """
        if (version is None) == (at is None):
            raise TypeError("show takes a version, or `path` and the point `at`")
        return self.call("show", stated(version=version or at, path=path, start_line=start_line))

    def diff(
        self,
        start: str,
        end: str | None = None,
        paths: Sequence[str] = (),
        *,
        context: int | None = None,
        ignore_space: bool | None = None,
        writer: str | None = None,
        agent_session: str | None = None,
        turn: str | None = None,
        burst: int | None = None,
        alone: str | None = None,
        cursor: str | None = None,
    ) -> Answer:
        """What changed between two points (`end`: now), in `paths`: files, folders, globs.

        `context` is how many unchanged lines stand around a change. `writer`, `agent_session`, `turn` and `burst`
        choose files that somebody changed in between; `others` of such a file says who else did. `alone`: "apart" is
        the state at `start` with these changes and without those of others, but for lines that rest on others'
        (`resting`); "needed" has these, too, and what they rest on.

        Reply: `from`, `to`, `files` of `{path, status, from, to, moved_from, hunks, patch}`, and `patch`, all of them
        as `git apply` takes them; `patch_base64` where a text is not UTF-8; `truncated` where not all fits, with
        `next`, the `cursor` of more files.
        Refused: `not_found` (a point).
        Source: quire_daemon.tools.history.show, shape in quire_daemon.core.replies
        """
        whose = stated(writer=writer, agent_session=agent_session, turn=turn)
        how = stated(context=context, ignore_space=ignore_space, burst=burst, alone=alone, cursor=cursor)
        points = stated(**{"from": start, "to": end, "paths": list(paths) or None})
        return self.call("diff", {**points, **whose, **how})

    def blame(
        self,
        path: str,
        at: str | None = None,
        *,
        start_line: int | None = None,
        end_line: int | None = None,
        writer: str | None = None,
    ) -> Answer:
        """The writer of each line of `path`, now or at a point, through renames. Lines are 1-based and inclusive.

        `writer`: only the lines of an agent, by its name or `name/session`, of `user`, `w3`, or `outside`.

        Reply: `version`, `lineCount`, `lines` of `{line, seq, version, writer, turn, at, evidence, how, text}` with
        `brought` (`{version, at, by, writer}`) of one that came back and `commit` (`{id, author, at}`) of one that the
        journal never saw written, or `commit_pending` until git has told; the same as `runs` of `{start, end, …}`,
        `names` that the file had, `gaps` beyond which nothing is known; `truncated`, `next_line`.
        Refused: `not_found`, `binary_file`, `uncaptured`.
        Source: quire_daemon.tools.history.blame
        """
        return self.call("blame", stated(path=path, at=at, start_line=start_line, end_line=end_line, writer=writer))

    def describe(self, tool: str | None = None, *, offered: bool | None = None) -> Answer:
        """Arguments and effects of each tool, or of one. `offered`: only tools that agents are offered.

        Reply: `tools` of `{name, title, description, writes, offered, annotations, schema, aliases}`; `schema` is a
        flat JSON Schema of the arguments; of one asked for alone `reply` is that of the reply.
        Refused: `not_found`.
        Source: quire_daemon.tools.admin.describe
        """
        return self.call("describe", stated(tool=tool, offered=offered))

    def why(self, path: str, line: int | None = None, at: str | None = None) -> Answer:
        """The origin of `path`, or of its `line` (1-based), now or at the point `at`.

        Reply: `record`, `operation` (the dialect or command), `diff` against the version before (of a line what is
        around it; None where the file was there when the journal began), `previous`, `next`, `batch_files` (what else
        the call changed), `undone_by`; of a line also `text`, `line_then`, `wrote`, `replaced`, and as in `blame`
        `brought`, `commit`, `commit_pending`.
        Refused: `not_found`, `line_out_of_range`, `binary_file`, `uncaptured`.
        Source: quire_daemon.tools.history.why
        """
        return self.call("why", stated(path=path, line=line, at=at))

    def tree(self, at: str | None = None, path: str | None = None, *, cursor: int | None = None) -> Answer:
        """The tree at a point, or now, in `path` (a file, folder or glob), page by page.

        The next page is asked for with `at` of the reply and its `next` as `cursor`: together they are one state.

        Reply: `at`, `time`, `entries` of `{path, kind, version, sha256, sizeBytes, mode, target?, uncaptured?}`, `next`
        (None at the end), `complete` (the whole tree had been looked at by then).
        Refused: `not_found` (a point), `schema_invalid` (a cursor).
        Source: quire_daemon.tools.history.tree
        """
        return self.call("tree", stated(at=at, path=path, cursor=cursor))

    def blobs(self, sha256: Sequence[str], *, offset: int | None = None) -> Answer:
        """The bytes with these addresses, as many as fit into one reply; `offset` in bytes, in the first of them.

        Reply: `blobs` of `{sha256, content_base64, sizeBytes, offset}`, or `{sha256, uncaptured}`.
        Refused: `schema_invalid` (no address).
        Source: quire_daemon.tools.history.tree
        """
        return self.call("blobs", stated(sha256=list(sha256), offset=offset))

    def manual(self, dialect: str | None = None) -> Answer:
        """The guidance of a dialect, for an agent's instructions; without a name, a list of them.

        Reply: `manual` (Markdown), `dialect`, `dialects` of `{name, about}`.
        Refused: `not_found`.
        Source: quire_daemon.tools.admin.manual
        """
        return self.call("manual", stated(dialect=dialect))
