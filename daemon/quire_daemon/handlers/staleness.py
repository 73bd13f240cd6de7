"""What a caller knows of a file, and what others did to it since.

The base of a caller is the version that it names, or else the one that it was last shown. When another writer
changed the file since, a tool that relies on lines or bytes of the base is refused, and the refusal says who did
what, when, where, and shows the lines as they are now; those count as shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import islice, pairwise
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from quire_daemon.arguments import Writing
from quire_daemon.handlers.base import Decision, FileNow, World
from quire_daemon.handlers.localised import lines_around, localised_diff
from quire_daemon.handlers.preconditions import captured
from quire_daemon.rebase import CONFLICTING, NONE, TOUCHING, ByCaller, ByOthers, Conflict, relation
from quire_journal.blobs import NotHeld
from quire_journal.diff import changed_ranges, diff
from quire_journal.events import EditRefused, Event, ReadServed
from quire_journal.history import History
from quire_journal.ids import parse_version_token, version_token
from quire_journal.line_hash import LineHashes, line_id
from quire_journal.points import rfc3339
from quire_journal.refusals import Refused
from quire_journal.splice import Splice, apply, carry_ranges
from quire_journal.text import Text, merge_ranges, shown
from quire_journal.views.files import Version

MOST_ENTRIES: Final = 5
"""Changes by others that a reply tells one by one."""

MOST_STEPS: Final = 64
"""Versions that a plan is carried over one by one; across more, only the difference of the two ends counts."""

MOST_NEWS: Final = 256
"""Versions since the caller's last read that are looked through for news on every call; older ones are not news."""

MOST_SEARCHED: Final = 1000
"""Versions that are looked through for given bytes."""

MOST_LINES: Final = 40
"""Lines that a refusal shows."""

MOST_LIKE: Final = 2
"""Lines with the ID of a reference whose line has another that a refusal shows."""

Ranges = tuple[tuple[int, int], ...]


class Basis(msgspec.Struct, frozen=True, dict=True):
    """What a caller is judged on.

    `version` is its base; None for a caller that was never shown the file and names no version. `others` are the
    versions by other writers since, oldest first; they are empty when the bytes are what they were.
    """

    version: Version | None
    text: Text
    shown: Ranges | None
    others: tuple[Version, ...]
    now: Text
    path: str
    history: History
    stated_sha256: str = ""  # what the caller names it by, when that is not what is on disk
    caller: bytes = b""  # its key
    since: int = 0  # what the caller knows of the file goes back to this version at most

    @property
    def behind(self) -> bool:
        """Is the file not what the caller saw? By the caller's own hand, when there are no `others`."""
        return self.text is not self.now

    @cached_property
    def steps(self) -> tuple[tuple[Splice, ...], ...]:
        """What was done to the base since, version by version where the journal can tell."""
        if not self.behind or self.version is None:
            return ()
        versions = list(self.history.versions(self.path, after=self.version.seq))
        if len(versions) > MOST_STEPS or any(v.gone or v.uncaptured for v in versions):
            return (diff(self.text, self.now),)
        try:
            texts = [self.text, *(self.history.text_of(v.blob) for v in versions)]
        except NotHeld:
            return (diff(self.text, self.now),)
        if texts[-1].blob != self.now.blob:
            return (diff(self.text, self.now),)
        return tuple(
            self._step(version, diff(a, b))
            for version, (a, b) in zip(versions, pairwise(texts), strict=True)
            if a.blob != b.blob
        )

    def _step(self, version: Version, splices: tuple[Splice, ...]) -> tuple[Splice, ...]:
        """What `version` did, with the mark of who did it."""
        return (ByCaller if self.history.caller_of(version.writer) == self.caller else ByOthers)(splices)

    @cached_property
    def still_shown(self) -> Ranges:
        """The lines of the file as it is now that this caller has seen, wherever they stood then."""
        return merge_ranges(self.carried(self.shown or ()))

    def carried(self, lines: Ranges) -> list[tuple[int, int]]:
        """Where these lines of the base are in the file as it is now; those that were changed are nowhere."""
        at = list(lines)
        for step in self.steps:
            at = carry_ranges(step, at)
        return at


def on_stale(params: Writing, world: World) -> str:
    """What a change by another writer means for a call: `reject` or `rebase`."""
    return params.on_stale or world.settings.edit.on_stale


def find_basis(params: Writing, now: FileNow, text: Text, world: World, stale: str) -> Basis:
    """The caller's base for the file `now`, whose text is `text`.

    `stale` is the code of the refusal for a stated base that is no version of the path. Raises `Refused`.
    """
    history, who = world.history, world.who
    if params.stated_sha256:
        return _basis_of_bytes(params, now, text, world, stale)
    seen = history.shown(who.key, now.path)
    version: Version | None
    if params.stated_base:
        version = _stated(params.stated_base, now, world, stale)
    else:
        version = None if seen is None else history.version(now.path, seen.version)
        if version is None or version.gone:
            return Basis(None, text, None, (), text, now.path, history)
    return basis_at(version, now, text, world, stale)


def never_read(params: Writing, now: FileNow, world: World, told: str) -> list[dict[str, Any]]:
    """The warning that the caller changes what it was never shown, and names no version of; `told` says how.

    It is done all the same: a caller may know the file from elsewhere, and what was there is in the journal.
    """
    if params.stated_base or params.stated_sha256 or world.history.shown(world.who.key, now.path) is not None:
        return []
    return [{"type": "never_read", "message": f"You were never shown {now.path}; {told}. Read before you change."}]


def find_basis_of_whole(params: Writing, now: FileNow, text: Text, world: World, stale: str) -> Basis:
    """The base for a call that is about the whole file: the version that the caller last read.

    Its own edits moved its base along, past what others wrote in between, and of that it has seen next to nothing.
    """
    seen = world.history.shown(world.who.key, now.path)
    if seen is not None and seen.read and not params.stated_base and not params.stated_sha256:
        version = world.history.version(now.path, seen.read)
        if version is not None and not version.gone:
            return basis_at(version, now, text, world, stale)
    return find_basis(params, now, text, world, stale)


def basis_at(version: Version, now: FileNow, text: Text, world: World, stale: str) -> Basis:
    """The basis of a caller whose base is `version`.

    A base whose bytes are not in the journal proves nothing: after a change by others that is a refusal with the
    code `stale`, after the caller's own it is judged on the file as it is.
    """
    history, who = world.history, world.who
    seen = history.shown(who.key, now.path)
    lines = seen.lines if seen is not None and seen.version == version.seq else None
    since = version.seq if seen is None else seen.since
    if now.version is not None and (version.seq == now.version.seq or version.blob == text.blob):
        return Basis(version, text, lines, (), text, now.path, history, caller=who.key, since=since)
    others = tuple(history.changed_since(now.path, version.seq, who.key))
    try:
        base = history.text_of(version.blob)
        return Basis(version, base, lines, others, text, now.path, history, caller=who.key, since=since)
    except NotHeld:
        if not others:
            return Basis(None, text, None, (), text, now.path, history)
    gone = history.missing(version).told
    message = f"{now.path} was changed since {version_token(version.seq)}, whose bytes are not in the journal: {gone}."
    told = changes_told(history, now.path, others, None, None)
    fields = {"path": now.path, "reason": "changed", "changes": told, **current_version(now)}
    raise Refused(stale, message, "re-read_file", **fields)


def _basis_of_bytes(params: Writing, now: FileNow, text: Text, world: World, stale: str) -> Basis:
    """The basis of a caller that names the bytes it read. Other bytes are stale, even by its own hand."""
    sha256, path = params.stated_sha256, now.path
    if params.stated_base and _stated(params.stated_base, now, world, stale).blob.hex() != sha256:
        message = f"`base` ({params.stated_base}) has other bytes than the sha256 says; give one of them."
        raise Refused("schema_invalid", message, "fix_arguments", argument="base")
    if sha256 == text.blob.hex():
        if now.version is None:
            return Basis(None, text, None, (), text, path, world.history)
        return basis_at(now.version, now, text, world, stale)
    hashes = both_hashes(sha256, text.blob.hex())
    version = version_with(world.history, path, sha256)
    if version is not None:
        try:
            basis = basis_at(version, now, text, world, stale)
        except Refused as refused:
            refused.details |= hashes
            raise
        if basis.version is not None:
            others = tuple(world.history.changed_since(path, version.seq, b""))
            return replace(basis, others=others, stated_sha256=sha256)
    message = f"{path} does not hold the bytes that are to be edited, and the journal does not know them."
    raise Refused(stale, message, "re-read_file", path=path, reason="unknown_base", **hashes, **current_version(now))


def version_with(history: History, path: str, sha256: str) -> Version | None:
    """The newest version of `path` with these bytes; None when none of the last ones has them."""
    blob = bytes.fromhex(sha256)
    for version in islice(history.versions(path, reverse=True), MOST_SEARCHED):
        if version.blob == blob and not version.gone:
            return version
    return None


def _stated(token: str, now: FileNow, world: World, stale: str) -> Version:
    """The version that the caller names. Raises `Refused` when it is none of this path."""
    seq = parse_version_token(token)
    version = None if seq is None else world.history.version(now.path, seq)
    if version is None or version.gone:
        current = f" It is at {version_token(now.version.seq)} now." if now.version is not None else ""
        raise Refused(
            stale,
            f"{token[:80]!r} is no version of {now.path}.{current}",
            "re-read_file",
            path=now.path,
            reason="unknown_base",
            base=token[:80],
            **current_version(now),
        )
    return version


def current_version(now: FileNow) -> dict[str, str]:
    """`current_version`, for replies about a file that the journal knows."""
    return {"current_version": version_token(now.version.seq)} if now.version is not None else {}


# ── telling what others did ──────────────────────────────────────────────────


def changes_told(
    history: History, path: str, others: Sequence[Version], lines: Ranges | None, at: Version | None
) -> list[dict[str, Any]]:
    """The newest of `others` as replies tell them: who, by which evidence, when, which lines, and what it means.

    `lines` are the caller's, in version `at`; None when the whole file is.
    """
    told: list[dict[str, Any]] = []
    for version in others[-MOST_ENTRIES:]:
        splices = _done_by(history, path, version)
        entry: dict[str, Any] = {
            "writer": history.writer_json(version.writer, version.type),
            "evidence": version.evidence,
            "at": rfc3339(version.at_ns),
            "version": version_token(version.seq),
            "lines": [[r["start"], r["end"]] for r in changed_ranges(splices)] if splices else [],
            "touches": CONFLICTING if splices is None else _meaning(history, path, version, splices, lines, at),
        }
        if version.gone:
            entry["gone"] = True
        told.append(entry | hint_of(history, version))
    return told


def hint_of(history: History, version: Version) -> dict[str, str]:
    """`hint`, where the record says what was going on when an outside version came to be."""
    record = history.record(version.seq) if version.evidence else None
    hint = getattr(record.event(), "hint", "") if record is not None else ""
    return {"hint": hint} if hint else {}


def _done_by(history: History, path: str, version: Version) -> tuple[Splice, ...] | None:
    """What this version did to the one before it; None where the journal cannot tell, or the file came or went."""
    before = history.version_at(path, version.seq - 1)
    if before is None or before.gone or version.gone:
        return None
    try:
        return diff(history.text_of(before.blob), history.text_of(version.blob))
    except NotHeld:
        return None


def _meaning(
    history: History, path: str, version: Version, splices: tuple[Splice, ...], lines: Ranges | None, at: Version | None
) -> str:
    """Does what `version` did touch the caller's lines, which stand in `at`?"""
    if not splices:
        return NONE
    if lines is None or at is None:
        return CONFLICTING
    try:
        if at.seq < version.seq:
            before = history.version_at(path, version.seq - 1)
            assert before is not None  # `_done_by` has compared with it
            step = diff(history.text_of(at.blob), history.text_of(before.blob))
            kept = carry_ranges(step, lines)
            lost = sum(b - a for a, b in lines) > sum(b - a for a, b in kept)
            return relation(splices, kept) if kept or not lost else TOUCHING
        done = [(r["start"] - 1, r["end"]) for r in changed_ranges(splices)]
        later = carry_ranges(diff(history.text_of(version.blob), history.text_of(at.blob)), done)
    except NotHeld:
        return CONFLICTING
    return relation([Splice(a, b) for a, b in later], lines)


def news(world: World, path: str, needs: Ranges | None = None, needs_at: Version | None = None) -> dict[str, Any]:
    """`changed_since_your_read`, for a caller that has read the file before others changed it; else nothing.

    `touches` is about the lines `needs` of version `needs_at`, those of a call; without them, about all that the caller
    has been shown. `since` is the version that the caller read: a `diff` from there shows all of it.
    """
    seen = world.history.shown(world.who.key, path)
    if seen is None:
        return {}
    history = world.history
    since = islice(history.versions(path, after=seen.news_after, reverse=True), MOST_NEWS)
    others = [v for v in since if history.caller_of(v.writer) != world.who.key][::-1]
    if not others:
        return {}
    lines, at = seen.lines, history.version(path, seen.version)
    if needs is not None and needs_at is not None:
        lines, at = needs, needs_at
    about = {"path": path, "since": version_token(seen.news_after)}
    told = [{**about, **entry} for entry in changes_told(history, path, others, lines, at)]
    return {"changed_since_your_read": told, **_rest("changed_since_your_read_more", others)}


def _rest(name: str, others: Sequence[Version]) -> dict[str, int]:
    more = len(others) - MOST_ENTRIES
    return {name: more} if more > 0 else {}


# ── refusing ─────────────────────────────────────────────────────────────────


class Stale(msgspec.Struct, frozen=True):
    """A refusal because of what others wrote, before it is put into words."""

    tool: str
    code: str
    basis: Basis
    now: FileNow
    needs: Ranges | None  # lines of the base that the call depends on; None: all of them
    conflict: Conflict | None = None
    more: dict[str, Any] | None = None  # fields of the tool's own


def refuse_stale(stale: Stale, world: World, dry_run: bool) -> Decision:
    """The refusal, and the records that it leaves: that it happened, and which lines the caller was shown."""
    basis, now = stale.basis, stale.now
    others = basis.others or tuple(world.history.versions(now.path, after=basis.version.seq if basis.version else 0))
    told = changes_told(world.history, now.path, others, stale.needs, basis.version)
    overall = diff(basis.text, basis.now)
    touches = NONE if not overall else CONFLICTING if stale.needs is None else relation(overall, stale.needs)
    rows, ranges = _lines_now(basis, overall, stale.needs)
    preview, _, cut = localised_diff(basis.text, basis.now, overall, MOST_LINES)
    details: dict[str, Any] = {
        "path": now.path,
        "reason": "changed",
        **({"base": version_token(basis.version.seq)} if basis.version else {}),
        **current_version(now),
        "sha256": basis.now.blob.hex(),
        **(both_hashes(basis.stated_sha256, basis.now.blob.hex()) if basis.stated_sha256 else {}),
        "changes": told,
        **_rest("more_changes", others),
        "touches": touches,
        "changed": changed_ranges(overall),
        "lines": rows,
        "diff": preview,
        **({"diff_truncated": True} if cut else {}),
        **(stale.more or {}),
        **news(world, now.path, stale.needs, basis.version),
    }
    if stale.conflict is not None:
        details["conflict"] = _three_ways(basis, stale.conflict)
    refused = Refused(stale.code, _sentence(basis, now, others, overall, touches), "re-read_file", **details)
    reply = refused.reply()
    if dry_run:
        reply |= {"dry_run": True, "valid": False}
    events: list[Event] = [] if dry_run else [EditRefused(stale.tool, now.path, stale.code, touches)]
    head = captured(now)
    if head is not None:
        seen = merge_ranges([*basis.still_shown, *ranges])
        events.append(ReadServed(now.path, head.seq, seen, anchors=True))
    return Decision(reply, events)


def both_hashes(expected: str, actual: str) -> dict[str, str]:
    """The sha256 of the bytes that a caller expects, and of those that are there."""
    return {"expectedSha256": expected, "actualSha256": actual}


def refuse_mismatch(
    refused: Refused, basis: Basis, now: FileNow, world: World, dry_run: bool, conflict: Conflict | None = None
) -> Decision:
    """The refusal because lines that the call names (`mismatched_lines`) are not those that its caller was shown.

    Its message has the lines that stand there now, those that the named ones have become, and those that have their
    IDs, behind `>>>` with fresh references; the caller is thereby shown them. Raises `Refused` when there never were
    such lines.
    """
    named = [line - 1 for line in refused.details["mismatched_lines"]]
    if beyond := [line + 1 for line in named if line >= max(len(basis.text), len(basis.now))]:
        message = f"There is no line {beyond[0]}; {now.path} has {len(basis.now)}."
        details = {"path": now.path, "lines_beyond": beyond, "line_count": len(basis.now), **current_version(now)}
        raise Refused("line_out_of_range", message, "re-read_file", **details)
    needs = merge_ranges((line, line + 1) for line in named if line < len(basis.text))
    hashes = LineHashes.of(basis.now)
    marked = {min(line, len(basis.now) - 1) for line in named} if len(basis.now) else set()
    marked |= {line for a, b in basis.carried(needs) for line in range(a, b)}
    marked |= _like(basis.now, refused.details.get("mismatched", ()))
    lines, ranges = lines_around(basis.now, [(line, line + 1) for line in sorted(marked)], MOST_LINES)
    refused.message += " The lines as they are now:\n" + "\n".join(
        f"{'>>>' if line in marked else '   '} {hashes.reference(line)}" for line in lines
    )
    told = changes_told(world.history, now.path, basis.others, needs, basis.version)
    refused.details |= {
        "lines": [hashes.reference(line) for line in lines],
        **({"base": version_token(basis.version.seq)} if basis.version else {}),
        **current_version(now),
        "sha256": basis.now.blob.hex(),
        "changes": told,
        **_rest("more_changes", basis.others),
        **({} if conflict is None else {"conflict": _three_ways(basis, conflict)}),
        **news(world, now.path),
    }
    reply = refused.reply()
    if dry_run:
        reply |= {"dry_run": True, "valid": False}
    events: list[Event] = [] if dry_run else [EditRefused("hashline_edit", now.path, refused.code, "")]
    head = captured(now)
    if head is not None:
        events.append(ReadServed(now.path, head.seq, merge_ranges([*basis.still_shown, *ranges]), anchors=True))
    return Decision(reply, events)


def _like(text: Text, references: Sequence[str]) -> set[int]:
    """The lines that have the IDs of these references, the nearest ones to each number: for the caller to look at."""
    wanted = [(int(number), name) for number, _, name in (r.partition("#") for r in references[:MOST_LINES])]
    found: dict[str, list[int]] = {name: [] for _, name in wanted}
    for line, content in enumerate(text.lines if found else ()):
        if (name := line_id(content)) in found:
            found[name].append(line)
    near = (sorted(found[name], key=lambda line: abs(line + 1 - number))[:MOST_LIKE] for number, name in wanted)
    return {line for lines in near for line in lines}


def refuse_unseen(
    tool: str, code: str, basis: Basis, now: FileNow, lines: Sequence[int], world: World, dry_run: bool
) -> Decision:
    """The refusal because lines (0-based, of the base) that the call names may be the work of others, unseen so far.

    It shows them, as they are now: a caller that still means them can say so again.
    """
    needs = merge_ranges((line, line + 1) for line in lines)
    rows, ranges = _lines_now(basis, diff(basis.text, basis.now) if basis.behind else (), needs)
    first = version_token(basis.since)
    message = (
        f"{_named(needs)} of {now.path} {'was' if len(lines) == 1 else 'were'} never shown to you, and others changed "
        f"the file after {first}, which you know. See `lines`, and call again if these are the ones that you mean."
    )
    details: dict[str, Any] = {
        "path": now.path,
        "reason": "unseen",
        **({"base": version_token(basis.version.seq)} if basis.version else {}),
        **current_version(now),
        "sha256": basis.now.blob.hex(),
        "lines": rows,
        **news(world, now.path),
    }
    reply = Refused(code, message, "check_lines", **details).reply()
    if dry_run:
        reply |= {"dry_run": True, "valid": False}
    events: list[Event] = [] if dry_run else [EditRefused(tool, now.path, code, "unseen")]
    head = captured(now)
    if head is not None:
        events.append(ReadServed(now.path, head.seq, merge_ranges([*basis.still_shown, *ranges]), anchors=True))
    return Decision(reply, events)


def _named(ranges: Ranges) -> str:
    """Lines as a sentence begins with them."""
    said = ", ".join(_span({"start": start + 1, "end": stop}) for start, stop in ranges[:MOST_ENTRIES])
    said += ", …" if len(ranges) > MOST_ENTRIES else ""
    return said[:1].upper() + said[1:]


def _lines_now(basis: Basis, overall: Sequence[Splice], needs: Ranges | None) -> tuple[list[str], Ranges]:
    """The lines that the call was about, as they are now, and those that were changed, as far as there is room."""
    needed, _ = lines_around(basis.now, carry_ranges(overall, needs or ()), MOST_LINES)
    changed = [(r["start"] - 1, max(r["end"], r["start"])) for r in changed_ranges(overall)]
    wanted = [line for line in lines_around(basis.now, changed, MOST_LINES)[0] if line not in {*needed}]
    shown_now = sorted([*needed, *wanted[: MOST_LINES - len(needed)]])
    hashes = LineHashes.of(basis.now)
    return [hashes.row(line) for line in shown_now], merge_ranges((line, line + 1) for line in shown_now)


def _sentence(basis: Basis, now: FileNow, others: Sequence[Version], overall: Sequence[Splice], touches: str) -> str:
    base = f"since {version_token(basis.version.seq)}" if basis.version else "since you read it"
    last = others[-1] if others else None
    by = "" if last is None else f", last by {basis.history.named(last.writer)} at {rfc3339(last.at_ns)}"
    where = ", ".join(_span(r) for r in changed_ranges(overall)[:MOST_ENTRIES])
    meaning = {
        NONE: "away from the lines of this call",
        TOUCHING: "right beside the lines of this call",
        CONFLICTING: "and with them lines of this call",
    }[touches]
    lines = f" ({where or 'no lines'}, {meaning})" if overall else ""
    return f"{now.path} was changed {base}{by}{lines}."


def _span(changed: dict[str, int]) -> str:
    start, end = changed["start"], changed["end"]
    if end < start:
        return f"lines removed before line {start}"
    return f"line {start}" if start == end else f"lines {start}-{end}"


def _three_ways(basis: Basis, conflict: Conflict) -> dict[str, list[str]]:
    """The first conflict: the lines as they were, as they are now, and as the caller would have them."""
    mine, theirs = conflict.mine, conflict.theirs
    before = basis.text
    for step in basis.steps[: conflict.step]:
        before = apply(before, step)
    start, stop = min(mine.start, theirs.start), max(mine.stop, theirs.stop)
    region = Text(False, before.lines[start:stop], before.breaks[start:stop])
    return {
        "base": _as_shown(region.lines),
        "theirs": _as_shown(apply(region, [_moved(theirs, start)]).lines),
        "yours": _as_shown(apply(region, [_moved(mine, start)]).lines),
    }


def _moved(s: Splice, by: int) -> Splice:
    return Splice(s.start - by, s.stop - by, s.lines)


def _as_shown(lines: Iterable[bytes]) -> list[str]:
    return [shown(line) for line in lines]
