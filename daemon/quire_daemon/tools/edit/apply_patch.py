"""The tool `apply_patch`: a patch of several files as one batch, all or none.

The text that a patch quotes proves what its caller has read: the patch is applied to the current files, and changes of
other writers are only reported. If the caller names a version (`expectedSha256ByPath`, `base`), it must be the current
one, or the patch is rebased from it; a removal without text requires that the caller was shown the current bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from quire_daemon.core import Decision, FileNow, Tool, World, WriteArguments, checked_sha256
from quire_daemon.core.replies import PatchReply
from quire_daemon.dialects import Plan
from quire_daemon.dialects.patch import NAME, FilePatch, parse_patch, plan_file
from quire_daemon.tools import (
    CallerLines,
    captured,
    lines_of,
    news,
    require_captured,
    require_file,
    require_fits,
    require_free,
    require_name,
    require_own_name,
    require_text,
)
from quire_daemon.tools.edit.basis import (
    Basis,
    basis_at,
    both_hashes,
    current_version,
    find_basis,
    knowing_nothing,
    on_stale,
    version_with,
)
from quire_daemon.tools.edit.delete_move import deletion, movement
from quire_daemon.tools.edit.engine import SEVERAL, WRITER_TYPE
from quire_daemon.tools.edit.rebase import RebaseConflict, carried
from quire_daemon.tools.edit.result import SUSPICIOUS, Result, conclude
from quire_daemon.tools.edit.stale_replies import Stale, refuse_stale
from quire_journal.model import Ranges, Refusal, counted, version_token
from quire_journal.text import Splice, Text, apply, trim

STALE: Final = "stale_file"

EXECUTABLE: Final = 0o755


class PatchParams(WriteArguments, frozen=True, kw_only=True):
    patch: str
    expectedSha256ByPath: dict[str, str] | None = None  # "": the path must not exist

    def __post_init__(self) -> None:
        # `path` is not required: the patch names its files.
        for path, digits in (self.expectedSha256ByPath or {}).items():
            checked_sha256(digits, f"expectedSha256ByPath[{path!r}]")

    @property
    def expected(self) -> dict[str, str]:
        """Expected sha256 by path; "" means that the path must not exist."""
        return self.expectedSha256ByPath or {}


def paths_of(params: PatchParams) -> Sequence[str]:
    """Return every path in the call; () for a malformed patch, which `decide` refuses."""
    try:
        files = parse_patch(params.patch)
    except Refusal:
        return ()
    return list(dict.fromkeys([*(path for file in files for path in file.paths), *params.expected]))


def decide(params: PatchParams, world: World) -> Decision:
    """Apply the patch to all its files or to none. Raises `Refusal`."""
    files = _together(parse_patch(params.patch), world)
    _require_meant(params, files)
    _require_apart(files, world)
    call = _Call(params, world)
    call.require_expected(files)
    decisions: list[Decision] = []
    for file in files:
        done = call.decide(file, sum(len(decision.events) for decision in decisions))
        if not done.reply["ok"]:
            return done
        decisions.append(done)
    return Decision(
        _reply([decision.reply for decision in decisions], params.dry_run),
        [event for decision in decisions for event in decision.events],
        [write for decision in decisions for write in decision.writes],
        [blob for decision in decisions for blob in decision.blobs],
    )


# ── the patch as a whole ─────────────────────────────────────────────────────


def _together(files: Sequence[FilePatch], world: World) -> Sequence[FilePatch]:
    """Return the patch with its parts for one file merged, as all their hunks refer to the file before the call; parts
    of a unified diff are not merged.
    """
    found: dict[tuple[str, int], FilePatch] = {}
    for index, file in enumerate(files):
        plain = file.kind == "update" and not file.unified
        key = (world.files[file.path].path, -1 if plain else index)
        first = found.get(key)
        found[key] = file if first is None else replace(first, hunks=(*first.hunks, *file.hunks))
    return tuple(found.values())


def _require_meant(params: PatchParams, files: Sequence[FilePatch]) -> None:
    """Raise `Refusal` for a `path` that the patch does not name, and for a `base` with several files."""
    if params.path and all(params.path not in file.paths for file in files):
        message = f"`path` is {params.path!r}, which the patch does not name; leave it out."
        raise Refusal("schema_invalid", message, "fix_arguments", argument="path")
    if params.base and len(files) > 1:
        message = "`base` is a version of one file, and the patch is of several; use `expectedSha256ByPath`."
        raise Refusal("schema_invalid", message, "fix_arguments", argument="base")


def _require_apart(files: Sequence[FilePatch], world: World) -> None:
    """Raise `Refusal` if the patch names a path twice, or needs a name both as a file and as a folder."""
    named: dict[str, FilePatch] = {}
    for file in files:
        for given in file.paths:
            now = world.files[given]
            path = now.path
            if path in named:
                _refuse(file, "duplicate_path", f"{path} {_twice(named[path], file)}", path)
            named[path] = file
    for path, file in named.items():
        folder = path
        while "/" in folder:
            folder = folder.rpartition("/")[0]
            if folder in named:
                message = f"{folder} is a file in the patch, and a folder of {path}."
                _refuse(file, "path_conflict", message, path)


def _twice(first: FilePatch, second: FilePatch) -> str:
    if first is second:
        return "is to be moved to where it is; leave the new name out."
    if (first.kind, second.kind) == ("delete", "add"):
        return "is removed and added again: update it instead, or replace all of it with `write_file`."
    return "is named twice in the patch: put all that happens to it in one place."


def _refuse(file: FilePatch, reason: str, message: str, path: str) -> None:
    raise Refusal("patch_apply_error", message, "fix_patch", reason=reason, path=path, line=file.number)


def _reply(files: list[dict[str, Any]], dry_run: bool) -> dict[str, Any]:
    count = sum(file["operations_applied"] for file in files)
    statuses = {file["safety_status"] for file in files}
    applied = "would be applied" if dry_run else "applied"
    unchanged = all(file.get("unchanged") for file in files)
    to = "" if len(files) == 1 else f" to {len(files)} files"
    reply: dict[str, Any] = {
        "ok": True,
        "message": f"{counted(count, 'operation')} {applied}{to}{': nothing changed' * unchanged}.",
        "operations_applied": count,
        "writer_type": WRITER_TYPE,
        "safety_status": SUSPICIOUS if SUSPICIOUS in statuses else min(statuses),
        "warnings": [{**warning, "path": file["path"]} for file in files for warning in file["warnings"]],
    }
    if dry_run:
        reply |= {"dry_run": True, "valid": True}
    elif not unchanged:
        reply["checkpoint"] = "committed"
    if unchanged:
        reply["unchanged"] = True
    return {**(files[0] if len(files) == 1 else reply), "files": files}


# ── file by file ─────────────────────────────────────────────────────────────


class _Knowledge(msgspec.Struct, frozen=True):
    """The base of one file in a patch: the version that the caller has read or stated."""

    basis: Basis
    stated: bool = False  # the caller stated the bytes
    stale: bool = False  # the file no longer has the stated bytes
    hashes: dict[str, str] | None = None  # expected and actual sha256


class _Call:
    def __init__(self, params: PatchParams, world: World) -> None:
        self.params = params
        self.world = world
        self.expected = {world.files[given].path: digits for given, digits in params.expected.items()}

    def require_expected(self, files: Sequence[FilePatch]) -> None:
        """Raise `Refusal` if the disk differs from `expectedSha256ByPath` at a path that the patch creates or does not
        change.
        """
        changed = {self.world.files[file.path].path for file in files if file.kind != "add"}
        made = {self.world.files[path].path for file in files for path in file.paths} - changed
        for given, digits in self.params.expected.items():
            now = self.world.files[given]
            if self.expected[now.path] != digits:
                message = f"`expectedSha256ByPath` expects two things of {now.path}."
                raise Refusal("schema_invalid", message, "fix_arguments", argument="expectedSha256ByPath")
            if now.path in changed:
                continue  # checked with the change itself
            if now.kind == "missing":
                if digits and now.path not in made:
                    require_file(now, self.world)
                if digits:
                    raise self._not_as_expected(now, digits)
            elif now.path not in made and digits != _sha256(now):
                raise self._not_as_expected(now, digits)

    def decide(self, file: FilePatch, before: int) -> Decision:
        """Return the decision for one file, after `before` events for other files of the patch. Raises `Refusal`."""
        now = self.world.files[file.path]
        world = replace(self.world, next_seq=self.world.next_seq + before)
        try:
            done = self._decide(replace(file, path=now.path), now, world)
        except Refusal as refused:
            refused.details = {"path": now.path, **news(world, now.path), **refused.details}
            raise
        if done.reply["ok"]:
            done.reply["operation"] = file.kind
        return done

    def _decide(self, file: FilePatch, now: FileNow, world: World) -> Decision:
        if file.kind == "add":
            return self._add(file, now, world)
        require_file(now, world)
        there = world.files[file.to] if file.to else None
        if there is not None or file.kind == "delete":
            require_own_name(now)
        if there is not None:
            require_free(there, now.path)
        if not file.hunks and file.kind == "delete" and not file.unified:
            return self._refuse_unknown(now, world, proof="shown") or self._remove(now, world, self._stated(now))
        if not file.hunks and there is not None:
            return self._refuse_unknown(now, world, proof="stated") or movement(self._as_it_is(now), now, there, world)
        return self._change(file, now, there, world)

    def _add(self, file: FilePatch, now: FileNow, world: World) -> Decision:
        if now.kind != "missing":
            message = f"{now.path} exists; the patch would add it, and nothing is overwritten."
            if now.kind == "file":
                message += " Update it instead, or replace all of it with `write_file`."
            raise Refusal("already_exists", message, "choose_another_path", line=file.number)
        require_name(now)
        nothing, after = Text.of(b""), Text.of(file.content)
        require_fits(now.path, after, world)
        made = Splice(0, 0, tuple(after.lines), tuple(after.breaks))
        basis = Basis(None, nothing, (), (), nothing, now.path, world.history)
        now = replace(now, mode=EXECUTABLE) if file.executable else now
        plan = Plan((made,) if after.lines else (), 1, fields={"created": True})
        return conclude(self._result(now, None, nothing, after, plan, basis, None), world)

    def _change(self, file: FilePatch, now: FileNow, there: FileNow | None, world: World) -> Decision:
        text = require_text(now, world)
        lost = require_captured(now, self.params.allow_uncaptured)
        rebase = on_stale(self.params, world) == "rebase"
        known = self._knowledge(now, text, world, proven=not rebase)
        basis = known.basis
        if known.stale and not rebase:
            return self._refuse_stale(known, now, world, self._needs(file, basis))
        known, plan = self._plan(file, known, text, rebase)
        fields = dict(plan.fields)
        splices: tuple[Splice, ...] | RebaseConflict = plan.splices
        if known.stated and basis.behind:
            splices = carried(plan.splices, basis.steps, basis.texts, plan.final_break, alone=not basis.others)
            fields |= {"cross_version": True, "rebased_over": [v.seq for v in basis.others]} if basis.others else {}
        if isinstance(splices, RebaseConflict):
            return self._refuse_stale(known, now, world, lines_of(plan.splices), splices)
        made_on = basis.version if known.stated else None
        lines = CallerLines(lines_of(plan.splices), made_on or now.version)
        splices = trim(text, splices)
        after = apply(text, splices, plan.final_break)
        if file.kind == "delete":
            return self._refuse_stale(known, now, world, None) if len(after) else self._remove(now, world)
        require_fits(now.path, after, world)
        plan = replace(plan, splices=splices, fields=fields, warnings=(*lost, *plan.warnings))
        return conclude(self._result(now, there, text, after, plan, basis, lines), world)

    def _plan(self, file: FilePatch, known: _Knowledge, text: Text, rebase: bool) -> tuple[_Knowledge, Plan]:
        """Return (knowledge, plan): the plan on the base if the caller stated it or, with `rebase`, if the patch fits
        it; else on the current file.
        """
        basis = known.basis
        if known.stated:
            return known, plan_file(file, basis.text, known=True)
        if rebase and basis.behind:
            try:
                return replace(known, stated=True), plan_file(file, basis.text, known=True)
            except Refusal as refused:
                if refused.code == SEVERAL:
                    raise
        return known, plan_file(file, text, known=basis.version is not None and not basis.behind)

    def _result(
        self,
        now: FileNow,
        there: FileNow | None,
        before: Text,
        after: Text,
        plan: Plan,
        basis: Basis,
        lines: CallerLines | None,
    ) -> Result:
        return Result(
            tool=NAME,
            type=WRITER_TYPE,
            now=now,
            before=before,
            after=after,
            splices=plan.splices,
            base=basis.text,
            shown=basis.still_shown,
            moved=basis.still_moved,
            operations=plan.operations,
            dry_run=self.params.dry_run,
            safety=self.params.safety_check or "warn",
            dialect=NAME,
            warnings=plan.warnings,
            fields=plan.fields,
            to=there,
            lines=lines,
        )

    def _remove(self, now: FileNow, world: World, meant: WriteArguments | None = None) -> Decision:
        return deletion(self._as_it_is(now), now, world, meant)

    def _stated(self, now: FileNow) -> WriteArguments:
        base = self.params.base or (now.version and self.expected.get(now.path) and version_token(now.version.seq))
        return WriteArguments(path=now.path, base=base or None)

    def _as_it_is(self, now: FileNow) -> WriteArguments:
        base = version_token(now.version.seq) if now.version is not None else None
        params = self.params
        return WriteArguments(
            path=now.path, base=base, dry_run=params.dry_run, allow_uncaptured=params.allow_uncaptured
        )

    # ── what the caller knows ──

    def _knowledge(self, now: FileNow, text: Text, world: World, proven: bool) -> _Knowledge:
        """Return the version that the caller has read or stated. Raises `Refusal` if the caller expects no file, or
        stated bytes that the journal lacks. `proven`: as of `find_basis`.
        """
        digits, actual = self.expected.get(now.path), text.blob.hex()
        if digits is None or (digits == actual and self.params.base):
            basis = find_basis(self.params, now, text, world, STALE, proven)
            stated = bool(self.params.base)
            return _Knowledge(basis, stated, stated and bool(basis.others))
        version = now.version if digits == actual else version_with(world.history, now.path, digits) if digits else None
        if version is None and digits != actual:
            raise self._not_as_expected(now, digits)
        if version is None:
            return _Knowledge(knowing_nothing(now, text, world.history), stated=True)
        basis = basis_at(version, now, text, world, STALE)
        hashes = both_hashes(digits, actual)
        return _Knowledge(basis, stated=True, stale=digits != actual, hashes=hashes)

    def _refuse_unknown(self, now: FileNow, world: World, proof: str) -> Decision | None:
        """Return the refusal of a removal or move that quotes no text, if the caller's base is not the current file;
        else None. `proof` is "shown" if a base that was only read counts too (removal), "stated" if not (move).
        """
        text = now.text
        if text is None:
            if digits := self.expected.get(now.path):
                raise self._not_as_expected(now, digits)
            return None
        known = self._knowledge(now, text, world, proven=proof == "stated")
        if known.stale or (proof == "shown" and known.basis.behind and known.basis.others):
            return self._refuse_stale(known, now, world, None)
        return None

    def _needs(self, file: FilePatch, basis: Basis) -> Ranges | None:
        try:
            plan = plan_file(file, basis.text, known=True)
        except Refusal:
            return basis.shown
        return lines_of(plan.splices)

    def _refuse_stale(
        self,
        known: _Knowledge,
        now: FileNow,
        world: World,
        needs: Ranges | None,
        conflict: RebaseConflict | None = None,
    ) -> Decision:
        stale = Stale(NAME, STALE, known.basis, now, needs, conflict, more=known.hashes)
        return refuse_stale(stale, world, self.params.dry_run)

    def _not_as_expected(self, now: FileNow, digits: str) -> Refusal:
        what = "does not hold the bytes that the patch is for" if digits else "exists, which is not expected"
        return Refusal(
            STALE,
            f"{now.path} {what}." if now.kind != "missing" else f"{now.path} does not exist.",
            "re-read_file",
            path=now.path,
            **both_hashes(digits, _sha256(now)),
            **current_version(now),
        )


def _sha256(now: FileNow) -> str:
    head = captured(now)
    if now.text is not None:
        return now.text.blob.hex()
    return head.blob.hex() if head is not None and now.kind == "file" else ""


PATCH_TOOL: Final[Tool[PatchParams]] = Tool(
    name=NAME, params=PatchParams, paths=paths_of, decide=decide, writes=True, reply=PatchReply
)
