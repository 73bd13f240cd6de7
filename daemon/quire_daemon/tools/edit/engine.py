"""Engine of every edit dialect: finds the base, calls the dialect's `plan`, and handles staleness, rebase, safety and
records.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, Final, TypeVar

import msgspec

from quire_daemon.core import Decision, FileNow, ImpliedFiles, Tool, Who, World, WriteArguments
from quire_daemon.dialects import EDIT, HASH_MISMATCH, Dialect, EditParams, Plan, Sight, planned_here
from quire_daemon.tools import (
    CONFLICTING,
    MOST_STEPS,
    CallerLines,
    done_by,
    lines_of,
    news,
    relations,
    require_captured,
    require_fits,
    require_free,
    require_own_name,
    require_text,
)
from quire_daemon.tools.edit.basis import Basis, current_version, find_basis, never_read, on_stale
from quire_daemon.tools.edit.rebase import ByCaller, ByOthers, RebaseConflict, carried, touched, without_others
from quire_daemon.tools.edit.result import Result, conclude
from quire_daemon.tools.edit.stale_replies import Stale, refuse_mismatch, refuse_stale, refuse_unseen
from quire_journal.history import History, rfc3339
from quire_journal.model import Ranges, Refusal, merge_ranges, ranges_of, version_token
from quire_journal.text import Splice, Text, apply, changed_ranges, diff, shift_lines, trim
from quire_journal.views import Version

P = TypeVar("P", bound=WriteArguments)

WRITER_TYPE: Final = "edit"

DEPRECATION: Final = timedelta(weeks=4)
"""Time after the journal's first event during which `file_path` is accepted."""

SEVERAL: Final = "multiple_matches"
"""Refusal code for a text found at several places. The call is then not retried on another version: a single match
there would prove nothing.
"""

MOST_NAMED: Final = 10

MOST_TRACES: Final = 5

Warnings = Sequence[dict[str, Any]]


def edit_tool(dialect: Dialect[P], tools: Mapping[str, Tool[Any]] = MappingProxyType({})) -> Tool[P]:
    """Return the tool of `dialect`. A request that another tool executes, such as a view, goes to the tool of that name
    in `tools`.
    """

    def handed_over(params: P) -> tuple[Tool[Any], Any] | None:
        meant = dialect.in_other_words(params)
        if meant is None:
            return None
        tool = tools[meant.tool]
        return tool, msgspec.convert(dict(meant.arguments), tool.params)

    def paths(params: P) -> Sequence[str]:
        other = handed_over(params)
        return (params.path,) if other is None else other[0].paths(other[1])

    def implies(params: P, history: History, who: Who) -> ImpliedFiles:
        other = handed_over(params)
        return ImpliedFiles() if other is None or other[0].implies is None else other[0].implies(other[1], history, who)

    def decide_here_or_there(params: P, world: World) -> Decision:
        other = handed_over(params)
        return decide(dialect, params, world) if other is None else other[0].decide(other[1], world)

    def reads(params: P) -> bool:
        other = handed_over(params)
        return other is not None and not other[0].writes

    # Undo looks its paths up in the journal, which has no absolute ones.
    asks = () if dialect.in_other_words is planned_here else ("path",)
    return Tool(
        dialect.name,
        dialect.params,
        paths,
        decide_here_or_there,
        writes=True,
        shows_folders=dialect.in_other_words is not planned_here,
        implies=implies,
        asks=asks,
        reads=reads if tools else None,
        reply=dialect.reply,
    )


def decide(dialect: Dialect[P], params: P, world: World, warnings: Warnings = ()) -> Decision:
    return answering(params, world, lambda now: decide_on(dialect, params, now, world, warnings))


def answering(params: WriteArguments, world: World, work: Callable[[FileNow], Decision]) -> Decision:
    """Return what `work` decides on the caller's file. A `Refusal` that is raised also tells other writers' changes of
    that file.
    """
    now = world.files[params.path]
    try:
        return work(now)
    except Refusal as refused:
        refused.details = {**news(world, now.path), **refused.details}
        raise


def decide_on(dialect: Dialect[P], params: P, now: FileNow, world: World, warnings: Warnings = ()) -> Decision:
    """Return the decision of an edit of the file `now`. Raises `Refusal`."""
    text = require_text(now, world)
    lost = require_captured(now, params.allow_uncaptured)
    proof = dialect.proof(params)
    proven = proof == "text" and on_stale(params, world) == "reject"
    basis = find_basis(params, now, text, world, dialect.stale, proven)
    call = _Call(dialect, params, now, text, basis, world)
    if proof == "text" and call.on_stale == "rebase" and (known := call.plan_on_known()) is not None:
        return call.finish_rebased(*known, [*warnings, *lost])
    made_for_base = call.plan_made_for_base() if proof == "text" and call.on_stale == "rebase" else None
    if proof == "text" and made_for_base is None:
        plan = call.plan_on_now()
        return call.finish_on_now(plan, [*warnings, *lost, *call.built_on(plan)])
    if proof == "base" and basis.others and call.on_stale == "reject":
        return call.refuse(call.needed_lines())
    try:
        plan = made_for_base or call.plan_on(basis.text, basis.shown)
    except Refusal as refused:
        if refused.code != HASH_MISMATCH:
            raise
        return refuse_mismatch(refused, basis, now, world, params.dry_run)
    if unseen := call.unseen(plan):
        return call.refuse_unseen(unseen, plan)
    by_lines = dialect.in_place and (plan.anchors or proof == "lines")
    if basis.behind and by_lines and (call.on_stale == "reject" or not plan.anchors):
        if elsewhere := call.elsewhere(plan.anchors):
            return call.refuse_mismatch(elsewhere, plan)
        return call.finish_on_now(call.plan_on_now(), [*warnings, *lost])
    splices: tuple[Splice, ...] | RebaseConflict = plan.splices
    if basis.behind:
        splices = carried(plan.splices, basis.steps, basis.texts, plan.final_break, alone=not basis.others)
    if isinstance(splices, RebaseConflict):
        if proof == "lines":
            return call.refuse_mismatch(call.torn(plan, splices), plan, splices)
        return call.refuse(lines_of(plan.splices, plan.anchors), splices)
    if gone := call.gone_by_own_hand(plan.anchors):
        return call.refuse_gone(gone, plan)
    lines = CallerLines(lines_of(plan.splices, plan.anchors), basis.version or now.version)
    return call.finish(plan, splices, lines, call.across, [*warnings, *lost])


class _Call(msgspec.Struct, frozen=True):
    dialect: Dialect[Any]
    params: WriteArguments
    now: FileNow
    text: Text
    basis: Basis
    world: World

    @property
    def on_stale(self) -> str:
        return on_stale(self.params, self.world)

    def plan_on(self, text: Text, shown: Ranges | None) -> Plan:
        """Return the dialect's plan on `text`. A `Refusal` for an anchor without a line says which version had the
        line, and who changed it.
        """
        try:
            return self.dialect.plan(self.params, Sight(text, shown), self.world.settings)
        except Refusal as refused:
            missing = refused.details.get("missing")
            if missing:
                _say_where_they_went(refused, missing, self.now.path, self.world)
            refused.details = {"path": self.now.path, **refused.details, **current_version(self.now)}
            raise

    def plan_made_for_base(self) -> Plan | None:
        """Return the plan on the base; None if the base is the current text, or the dialect refuses the base. Raises
        `Refusal` for several matches.
        """
        if not self.basis.behind:
            return None
        try:
            return self.dialect.plan(self.params, Sight(self.basis.text, self.basis.shown), self.world.settings)
        except Refusal as refused:
            if refused.code == SEVERAL:
                raise
            return None

    def plan_on_known(self) -> tuple[Plan, Text] | None:
        """Return (plan, text): the plan on the base with only the caller's own later changes, and that text. None if
        the caller or the other writers made no change, these changes conflict, or the dialect refuses that text; raises
        `Refusal` for several matches.
        """
        if not self.basis.others or not any(isinstance(step, ByCaller) for step in self.basis.steps):
            return None
        known = without_others(self.basis.steps, self.basis.texts)
        if known is None:
            return None
        try:
            return self.dialect.plan(self.params, Sight(known, None), self.world.settings), known
        except Refusal as refused:
            if refused.code == SEVERAL:
                raise
            return None

    def finish_rebased(self, plan: Plan, known: Text, warnings: Warnings) -> Decision:
        """Return the decision for a plan on `known` (the base with only the caller's own changes): the plan is rebased
        over the changes of other writers, or refused.
        """
        steps = self.basis.steps
        step = ByOthers() if all(isinstance(step, ByOthers | ByCaller) for step in steps) else ()
        splices = carried(plan.splices, [step], [known, self.text], plan.final_break)
        if isinstance(splices, RebaseConflict):
            return self.refuse(None, splices)
        return self.finish(plan, splices, CallerLines(lines_of(splices), self.now.version), self.across, warnings)

    @property
    def across(self) -> dict[str, Any]:
        """Reply fields of a rebased call; empty if no other writer changed the file."""
        others = self.basis.others
        return {"cross_version": True, "rebased_over": [v.seq for v in others]} if others else {}

    def plan_on_now(self) -> Plan:
        return self.plan_on(self.text, self.basis.still_shown if self.basis.version else None)

    def built_on(self, plan: Plan) -> Warnings:
        """Return the warning that the plan changes a line which another writer changed after the caller read it; else
        ().
        """
        if not self.basis.others:
            return ()
        changed = [(r["start"] - 1, r["end"]) for r in changed_ranges(diff(self.basis.text, self.basis.now))]
        mine = [(s.start, s.stop) for s in plan.splices]
        line = next((max(a, c) for a, b in mine for c, d in changed if a < d and c < b), None)
        if line is None:
            return ()
        last = self._last_at(line)
        name = self.world.history.named(last.writer)
        message = (
            f"Line {line + 1} was changed after you read it, last by {name} ({version_token(last.seq)}); "
            'your text still matched there. `on_stale: "rebase"` refuses that.'
        )
        return [{"type": "changed_since_your_read", "message": message, "line": line + 1}]

    def _last_at(self, line: int) -> Version:
        """Return the newest version by other writers that changed this line of the current file; if none did, their
        newest version.
        """
        others = self.basis.others[-MOST_STEPS:]
        done = {version.seq: done_by(self.world.history, self.now.path, version) for version in others}
        lines = CallerLines(((line, line + 1),), self.now.version)
        meaning = relations(self.world.history, self.now.path, done, lines)
        changed_it = (version for version in reversed(others) if meaning[version.seq] == CONFLICTING)
        return next(changed_it, others[-1])

    def images(self, lines: Sequence[int]) -> list[tuple[int, int | None]]:
        """Return (line of the base, its current number, or None if it was changed) for sorted lines."""
        at: list[int | None] = list(lines)
        for step in self.basis.steps:
            at = shift_lines(step, at)
        return list(zip(lines, at, strict=True))

    def gone_by_own_hand(self, lines: Sequence[int]) -> list[int]:
        """Return the lines among `lines` (sorted, of the base) that the caller itself has changed or removed since."""
        at: list[int | None] = list(lines)
        gone: set[int] = set()
        for step in self.basis.steps:
            moved = shift_lines(step, at)
            if isinstance(step, ByCaller):
                gone |= {
                    line for line, was, now in zip(lines, at, moved, strict=True) if was is not None and now is None
                }
            at = moved
        return sorted(gone)

    def elsewhere(self, lines: Sequence[int]) -> list[int]:
        """Return the lines among `lines` (sorted, of the base) that were moved or changed since."""
        ranges = ranges_of(lines)
        if merge_ranges(self.basis.carried(ranges)) == ranges:
            return []
        return [line for line, image in self.images(lines) if image != line]

    def torn(self, plan: Plan, conflict: RebaseConflict) -> Sequence[int]:
        """Return the lines of the base that the call names and that were changed since; if there are none, the lines
        where the plan and the change conflict.
        """
        mine = touched(plan.splices[conflict.index : conflict.index + 1], len(self.basis.text))
        near = {line for start, stop in mine for line in range(start, stop)}
        changed = [line for line, image in self.images(plan.anchors) if image is None]
        return changed or sorted(near.intersection(plan.anchors) or near)

    def unseen(self, plan: Plan) -> Sequence[int]:
        """Return the base lines that the plan names and the caller was not shown, or was shown under another number
        while the plan names them by number.

        Lines that were never shown count only if another writer may have written them: between the oldest version that
        the caller knows and the base.
        """
        shown, since = self.basis.shown, self.basis.since
        if shown is None or self.basis.version is None or not plan.anchors:
            return ()
        sight = Sight(self.basis.text, shown)
        hidden = {line for line in (*plan.anchors, *plan.by_hint) if not sight.was_shown(line)}
        if hidden:
            changes = self.world.history.changed_since(self.now.path, since, self.world.who.key)
            first = next(iter(changes), None)
            if first is None or first.seq > self.basis.version.seq:
                hidden.clear()
        numbered = plan.anchors if plan.by_number or self.dialect.in_place else plan.by_hint
        moved = Sight(self.basis.text, self.basis.moved)
        return sorted(hidden.union(line for line in numbered if moved.was_shown(line)))

    def refuse_mismatch(self, lines: Sequence[int], plan: Plan, conflict: RebaseConflict | None = None) -> Decision:
        torn, about = mismatch(lines, self.now.path), lines_of(plan.splices, plan.anchors)
        return refuse_mismatch(torn, self.basis, self.now, self.world, self.params.dry_run, conflict, about)

    def refuse_unseen(self, lines: Sequence[int], plan: Plan) -> Decision:
        about = lines_of(plan.splices, plan.anchors)
        if self.dialect.in_place:
            refused = mismatch(lines, self.now.path)
            refused.details["reason"] = "unseen"
            return refuse_mismatch(refused, self.basis, self.now, self.world, self.params.dry_run, None, about)
        known = self.dialect.name, self.dialect.stale, self.basis, self.now
        return refuse_unseen(*known, lines, about, self.world, self.params.dry_run)

    def refuse_gone(self, lines: Sequence[int], plan: Plan) -> Decision:
        if self.dialect.in_place:
            return self.refuse_mismatch(lines, plan)
        return self.refuse(ranges_of(lines))

    def needed_lines(self) -> Ranges | None:
        """Return the lines of the base that the call replaces or names. If the dialect refuses the base, return all
        lines that the caller was shown (None: unknown).
        """
        try:
            plan = self.dialect.plan(self.params, Sight(self.basis.text, self.basis.shown), self.world.settings)
        except Refusal:
            return self.basis.shown
        return lines_of(plan.splices, plan.anchors)

    def refuse(self, needs: Ranges | None, conflict: RebaseConflict | None = None) -> Decision:
        """Return the refusal because of changes since the caller's base. `needs`: lines of the base that the call
        concerns; None: all.
        """
        missing = self.missing_now()
        stale = Stale(self.dialect.name, self.dialect.stale, self.basis, self.now, needs, conflict, missing=missing)
        return refuse_stale(stale, self.world, self.params.dry_run)

    def missing_now(self) -> Sequence[str]:
        """Return the call's anchors that match no line of the current file."""
        if self.dialect.stale != "anchor_stale":
            return ()
        try:
            self.dialect.plan(self.params, Sight(self.text, None), self.world.settings)
        except Refusal as refused:
            return tuple(refused.details.get("missing", ()))
        return ()

    def finish_on_now(self, plan: Plan, warnings: Warnings) -> Decision:
        lines = CallerLines(lines_of(plan.splices, plan.anchors), self.now.version)
        return self.finish(plan, plan.splices, lines, {}, warnings)

    def finish(
        self, plan: Plan, splices: tuple[Splice, ...], lines: CallerLines, across: dict[str, Any], warnings: Warnings
    ) -> Decision:
        """Return the decision that writes the current file with `splices` applied, or refuses the result."""
        if plan.by_number:
            told = "the numbers were taken as the file is now"
            warnings = [*warnings, *never_read(self.params, self.now, self.world, told)]
        named, splices = splices, trim(self.text, splices)
        after = apply(self.text, splices, plan.final_break)
        require_fits(self.now.path, after, self.world)
        result = Result(
            tool=self.dialect.name,
            type=WRITER_TYPE,
            now=self.now,
            before=self.text,
            after=after,
            splices=splices,
            base=self.basis.text,
            shown=self.basis.still_shown,
            moved=self.basis.still_moved,
            operations=plan.operations,
            dry_run=self.params.dry_run,
            safety=self.params.safety_check or self.dialect.safety,
            dialect=self.dialect.name,
            warnings=(*warnings, *plan.warnings),
            fields={**plan.fields, **across},
            to=self.destination(plan.rename) if plan.rename else None,
            named=named,
            lines=lines,
        )
        return conclude(result, self.world)

    def destination(self, rename: str) -> FileNow:
        """Return the file at the new name. Raises `Refusal` if it is taken, or the old name is a link."""
        require_own_name(self.now)
        return require_free(self.world.files[rename], self.now.path)


def mismatch(lines: Sequence[int], path: str) -> Refusal:
    """Return the refusal for lines (from 0) that differ from those that the caller was shown."""
    numbers = sorted({line + 1 for line in lines})
    said = ", ".join(map(str, numbers[:MOST_NAMED])) + (", …" if len(numbers) > MOST_NAMED else "")
    what = f"Line {said} is not the line that was" if len(numbers) == 1 else f"Lines {said} are not the lines that were"
    message = f"{what} read there in {path}."
    return Refusal(HASH_MISMATCH, message, "use_fresh_anchors", path=path, mismatched_lines=numbers)


def _say_where_they_went(refused: Refusal, missing: Sequence[str], path: str, world: World) -> None:
    traces: list[dict[str, Any]] = []
    for anchor in list(dict.fromkeys(missing))[:MOST_TRACES]:
        trace = world.history.anchor(path, anchor.rsplit("#", 1)[-1].lower())
        removed = None if trace is None else world.history.version(path, trace.removed_by)
        if trace is None or removed is None:
            continue
        writer = world.history.writer_json(removed.writer, removed.type)
        at = rfc3339(removed.at_ns)
        traces.append(
            {
                "hash": anchor,
                "line": trace.line + 1,
                "version": version_token(trace.version),
                "removed_in": version_token(removed.seq),
                "removed_by": writer,
                "at": at,
            }
        )
        was = f"line {trace.line + 1} of {version_token(trace.version)}"
        refused.message += f" {anchor} was {was}; {writer['id']} changed it in {version_token(removed.seq)} at {at}."
    if traces:
        refused.details["was"] = traces


# ── the tool `edit` ──────────────────────────────────────────────────────────


def decide_edit(params: EditParams, world: World) -> Decision:
    """Return the decision of `edit`, which also accepts `file_path` for `path`."""
    return decide(EDIT, params, world, _old_name_of_path(params, world))


def _old_name_of_path(params: EditParams, world: World) -> Warnings:
    if params.file_path is None:
        return ()
    until_ns = _accepted_until_ns(world)
    if world.now_ns >= until_ns:
        message = "`file_path` is not accepted any more; the argument is `path`."
        raise Refusal("schema_invalid", message, "use_path", argument="path")
    ends = rfc3339(until_ns - 1)[:10]  # last day of acceptance
    return [{"type": "deprecated", "message": f"`file_path` is deprecated, use `path`; accepted until {ends}."}]


def _accepted_until_ns(world: World) -> int:
    stated = world.settings.dialects.edit.file_path_until
    if not stated:
        return world.first_event_ns + DEPRECATION // timedelta(microseconds=1) * 1000
    try:
        day = datetime.strptime(stated, "%Y-%m-%d").replace(tzinfo=UTC) + timedelta(days=1)
        return int(day.timestamp()) * 1_000_000_000
    except ValueError:
        message = f"The setting dialects.edit.file_path_until is {stated!r}; it must be a date, such as 2026-01-31."
        raise Refusal("schema_invalid", message, "fix_settings", argument="file_path") from None


EDIT_TOOL: Final[Tool[EditParams]] = Tool(
    name=EDIT.name,
    params=EditParams,
    paths=lambda params: (params.path,),
    decide=decide_edit,
    writes=True,
    reply=EDIT.reply,
)
