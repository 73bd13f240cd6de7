"""Client methods that read current and old files and their history."""

from __future__ import annotations

from collections.abc import Sequence

from quire_client.calls.base import Answer, Calls, stated


class Queries(Calls):
    """Client methods that change no file."""

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
        """Return the text of `path`, plain, or as lines with anchors.

        `hashes` shows the anchors of `edit`; `format` is "plain", "hashed", "hashline" (for `hashline_edit`) or
        "numbered". `start_line` to `end_line`, 1-based and inclusive, are clamped to the file; `at` is a point. The
        version shown becomes the caller's base of the file. With the point `since`, only lines changed since then are
        shown.

        Reply: `path`, `version`, `sha256`, `sizeBytes`, `lineCount`, `startLine`, `endLine`, `newlineStyle`, `hasBom`,
        `last_writer`, and `content` (plain) or `lines` (`"12#ab12cd3 [high]|text"`); `truncated` with `next_line` if
        it exceeds one reply; with `since` instead `hunks` (`startLine`, `endLine`, `lines`, `removed`).
        Refused: `not_found`, `not_a_file`, `binary_file`, `file_too_large`, `uncaptured` (with `at`).
        Source: quire_daemon.tools.read
        """
        lines = stated(start_line=start_line, end_line=end_line)
        return self.call("read_file", stated(path=path, hashes=hashes, format=format, at=at, since=since) | lines)

    def status(self) -> Answer:
        """Return the state of the daemon and its journal.

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
        """Return a page of the journal's records, newest first unless `order="oldest"`.

        `path` is a file, folder or glob; `writer` an agent's name, `name/session`, `user`, `w3` (a writer's id) or
        `outside`; `since` and `until` are points; `burst` is a burst's number. `text_changed` finds changes after
        which a text occurs more or less often, `contains` the versions that hold it. `patch` and `stat` add to each
        record how its version differs from the version before.

        Reply: `records` of `{seq, at, kind, path, version, sha256, base, batch, writer, evidence}` and more fields by
        kind; `next`, the `cursor` of the next page, None at the end. A page may hold fewer records than `limit` (50),
        or none, and still have a `next`: the work of one call is bounded.
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
        """Return a page of stories, newest first: records grouped by turn, git operation, series of saves or burst.

        `path`, `writer`, `since` and `until` are as in `log`; `agents` leaves out what no agent did, `all` lists every
        call and more files.

        Reply: `stories` of `{form, seq, first, at, ended_at, writer, whole, files, files_count, writes}` (`form`: its
        kind; `seq` and `first`: its newest and oldest record; `whole`: no later page adds to it) and more fields by
        form (`prompt` and `calls` of a turn, `commands` of git); `files` of `{path, status, version, before, added,
        removed, symbols}`; `next`, the `cursor` of the next page, None at the end. A page may hold fewer stories than
        `limit` (15) and still have a `next`: the work of one call is bounded.
        Refused: `not_found` (a point, an unknown writer), `schema_invalid` (a cursor of another journal).
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
        """Count the records of each writer in consecutive intervals between two points, as data for a chart.

        `buckets` is the number of intervals (600); `by` says whether they have equally many records ("log") or equal
        length ("time"). `limit` is the maximum number of lanes (24), latest writers first; if there are more writers,
        all sessions of an agent share one lane.

        Reply: `bounds` (seqs) and `times_ms` of the intervals, one more than intervals; `lanes` of `{writer, writes,
        refused}`, other programs last; `writes`, `refused` and `others`, the writes of all unlisted writers, are lists
        of (interval from 0, count) without zeros. A record that may be of several writers counts for one of them.
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
        """Return the records after `cursor`, oldest first; without `cursor`, no records and the newest cursor.

        Without `cursor` the call answers once all changes on disk are recorded. With `wait_ms` (at most 60,000) it
        waits so long for a new record, and the client's timeout is longer by that.

        Reply: `records` as in `log`, `cursor` for the next call, `more` (further records exist), and `fresh`: the
        cursor was foreign or too old, and the records begin at the first one.
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
        """List the callers, present ones first.

        A caller is present if it called within the last `minutes`; others are listed if they called within `hours`.

        Reply: `writers`, each with the fields of a writer and `{you, present, connections, alive, last_seen,
        last_change, on: {files, leases, bursts, writing}}`; `collisions`, files that several write; `present` and
        `total` count the writers.
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
        """Return one record, named by `version` or `seq:N`, or the version of `path` at the point `at`.

        Reply: `record`; if it made a version also `path`, `version`, `sha256`, `sizeBytes`, `mode` (octal digits),
        `content` from `start_line` on (`truncated`, `next_line`) or `content_base64`, and `diff` against the version
        before.
        Refused: `not_found`; if the journal lacks the bytes, the reply has `uncaptured` with the reason instead.
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
        probable: bool | None = None,
        cursor: str | None = None,
    ) -> Answer:
        """Return what changed between two points (`end`: now) in `paths`: files, folders, globs.

        `context` is the number of unchanged lines around a change. `writer`, `agent_session`, `turn` and `burst` select
        files that somebody changed in between; `others` of such a file names further writers. `alone="apart"` shows
        only these writers' changes, without lines that depend on lines of others (listed as `resting`);
        `alone="needed"` adds these lines, and the lines on which they depend. `probable` adds changes that are only
        probably by these writers; without it, `left_out` lists their files. `left_out` of a file names the lines of
        others that stand between lines of its patch.

        Reply: `from`, `to`, `files` of `{path, status, from, to, moved_from, hunks, patch}`, and `patch`, all of them
        as `git apply` takes them; `patch_base64` if a text is not UTF-8; `truncated` if not all fits, with `next`, the
        `cursor` of more files.
        Refused: `not_found` (a point).
        Source: quire_daemon.tools.history.show, shape in quire_daemon.core.replies
        """
        whose = stated(writer=writer, agent_session=agent_session, turn=turn)
        how = stated(
            context=context, ignore_space=ignore_space, burst=burst, alone=alone, probable=probable, cursor=cursor
        )
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
        """Return the writer of each line of `path`, now or at a point, through renames.

        Lines are 1-based and inclusive. `writer` selects the lines of an agent, by its name or `name/session`, of
        `user`, `w3` (a writer's id), or `outside`.

        Reply: `version`, `lineCount`, `lines` of `{line, seq, version, writer, turn, at, evidence, how, text}` with
        `brought` (`{version, at, by, writer}`) for a line that was restored and `commit` (`{id, author, at}`) for a
        line that is older than the journal, or `commit_pending` until git has answered; the same as `runs` of `{start,
        end, …}`, `names` that the file had, `gaps` beyond which nothing is known; `truncated`, `next_line`.
        Refused: `not_found`, `binary_file`, `uncaptured`.
        Source: quire_daemon.tools.history.blame
        """
        return self.call("blame", stated(path=path, at=at, start_line=start_line, end_line=end_line, writer=writer))

    def describe(self, tool: str | None = None, *, offered: bool | None = None) -> Answer:
        """Return arguments and effects of each tool, or of one. `offered` selects tools that agents are offered.

        Reply: `tools` of `{name, title, description, writes, offered, annotations, schema, aliases}`; `schema` is a
        flat JSON Schema of the arguments; for a single tool, `reply` is the schema of its reply.
        Refused: `not_found`.
        Source: quire_daemon.tools.admin.describe
        """
        return self.call("describe", stated(tool=tool, offered=offered))

    def why(self, path: str, line: int | None = None, at: str | None = None) -> Answer:
        """Return the record that wrote `path`, or its `line` (1-based), now or at the point `at`.

        Reply: `record`, `operation` (the dialect or command), `diff` against the version before (for a line, the part
        around it; None for a file older than the journal), `previous`, `next`, `batch_files` (other files that the
        call changed), `undone_by`; for a line also `text`, `line_then` (its number in the record's version), `wrote`
        and `replaced` (the lines that the record wrote and replaced), and as in `blame` `brought`, `commit`,
        `commit_pending`.
        Refused: `not_found`, `line_out_of_range`, `binary_file`, `uncaptured`.
        Source: quire_daemon.tools.history.why
        """
        return self.call("why", stated(path=path, line=line, at=at))

    def tree(self, at: str | None = None, path: str | None = None, *, cursor: int | None = None) -> Answer:
        """List the files at a point, or now, in `path` (a file, folder or glob), page by page.

        For the next page, pass the reply's `at` as `at` and its `next` as `cursor`; all pages show one state. A file
        that was renamed since a commit (`commit:1a2b3c4`) is listed with its name there.

        Reply: `at`, `time`, `entries` of `{path, renamed_to?, kind, version, sha256, sizeBytes, mode, target?,
        uncaptured?}`, `next` (None at the end), `complete` (the whole workspace had been scanned by then).
        Refused: `not_found` (a point), `schema_invalid` (a cursor).
        Source: quire_daemon.tools.history.tree
        """
        return self.call("tree", stated(at=at, path=path, cursor=cursor))

    def blobs(self, sha256: Sequence[str], *, offset: int | None = None) -> Answer:
        """Return the bytes of blobs, as many as fit into one reply; `offset` counts bytes in the first of them.

        Reply: `blobs` of `{sha256, content_base64, sizeBytes, offset}`, or `{sha256, uncaptured}`.
        Refused: `schema_invalid` (not a sha256).
        Source: quire_daemon.tools.history.tree
        """
        return self.call("blobs", stated(sha256=list(sha256), offset=offset))

    def manual(self, dialect: str | None = None) -> Answer:
        """Return the guide to a dialect, for an agent's instructions; without a name, the text of all guides.

        Reply: `manual` (Markdown), `dialect`, `dialects` of `{name, about}`.
        Refused: `not_found`.
        Source: quire_daemon.tools.admin.manual
        """
        return self.call("manual", stated(dialect=dialect))
