"""Turns a file's new text into the records, the write and the reply common to all writing tools.

The checkpoint that seeds 000 and 002 require of an edit is its base version: the record `FileWritten` commits it. Only
a rejected edit has records of its own for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from quire_daemon.checks import Grammars, safety
from quire_daemon.config import Safety
from quire_daemon.core import Decision, FileNow, Move, Put, Remove, World, Write
from quire_daemon.tools import CallerLines, captured, news, require_lines
from quire_daemon.tools.edit.diff_preview import localised_diff
from quire_journal.maintenance import secret_scan
from quire_journal.model import (
    HOLDS_SECRET,
    PURGED,
    SECRET,
    CheckpointRolledBack,
    CheckpointSaved,
    EditRefused,
    Event,
    FileMoved,
    FileWritten,
    Ranges,
    ReadServed,
    Refusal,
    counted,
    merge_ranges,
    version_token,
    without,
)
from quire_journal.text import LineHashes, Splice, Text, carry_ranges, changed_ranges, first_difference

CLEAN, SUSPICIOUS, OFF = "clean", "suspicious", "off"

_ACTIONS: Final = {"strict": "reject", "warn": "warn", "off": "off"}
_KINDS: Final = ("unbalanced", "syntax", "duplicate_line")


LOOKED_AT: Final = 1_000

_AS_SHOWN: Final = re.compile(rb"[ +-]*(?:>>> )?\d+#[0-9a-f]{4,8}(?: \[(?:low|med|high)\])?\|| (?=[ \d]{5}\t) *\d+\t")


class Verdict(msgspec.Struct, frozen=True):
    status: str
    warnings: tuple[dict[str, Any], ...] = ()
    rejected: bool = False


def judge(
    asked: str, settings: Safety, path: str, before: Text, after: Text, splices: Sequence[Splice], grammars: Grammars
) -> Callable[[], Verdict]:
    """Start the safety check of a result; `asked` is `strict`, `warn` or `off`. Returns a function that waits for the
    check by grammar workers, and returns its verdict.
    """
    actions = {kind: getattr(settings, kind) or _ACTIONS[asked] for kind in _KINDS}
    if not {*actions.values()} - {"off"}:
        return lambda: Verdict(OFF)
    faults = safety.no_faults if actions["syntax"] == "off" else grammars(path, before, after)

    def verdict() -> Verdict:
        found = [w for w in safety.check(path, before, after, splices, faults) if actions[w["type"]] != "off"]
        rejected = any(actions[w["type"]] == "reject" for w in found)
        return Verdict(SUSPICIOUS if found else CLEAN, tuple(found), rejected)

    return verdict


class Result(msgspec.Struct, frozen=True):
    """New text of a file with everything that the check, the write and the reply need."""

    tool: str
    type: str  # writer type
    now: FileNow
    before: Text  # text on disk
    after: Text
    splices: tuple[Splice, ...]  # from `before` to `after`, trimmed
    base: Text  # text that the caller knew
    shown: Ranges  # lines of `before` that the caller has seen
    moved: Ranges  # lines of `shown` whose current numbers it was not shown
    operations: int
    dry_run: bool
    safety: str  # `strict`, `warn` or `off`
    dialect: str = ""
    warnings: tuple[dict[str, Any], ...] = ()
    fields: Mapping[str, Any] = msgspec.field(default_factory=dict)
    to: FileNow | None = None  # the free new name of the file
    lines: CallerLines | None = None  # lines that the call depends on; None: no existing ones
    named: tuple[Splice, ...] | None = None  # `splices` before trimming, as the call states them

    @property
    def same(self) -> bool:
        """True if the call changes neither bytes nor path."""
        return self.after.data == self.before.data and self.now.kind != "missing" and self.to is None

    @property
    def path(self) -> str:
        return self.now.path if self.to is None else self.to.path


def conclude(result: Result, world: World) -> Decision:
    """Return the decision that writes the new text, or that reports an unchanged file, a dry run or a rejection by the
    safety check.
    """
    now = result.now
    head = now.version.seq if now.version else 0
    if result.same:
        return Decision(_accepted_reply(result, world, head)[0])
    require_lines(result.path, len(result.after), world)
    verdict_of: Callable[[], Verdict] = lambda: Verdict(CLEAN)  # noqa: E731
    if now.kind != "missing":
        texts = result.before, result.after
        named = result.splices if result.named is None else result.named
        verdict_of = judge(result.safety, world.settings.safety, now.path, *texts, named, world.grammars)
    reply, fresh = _accepted_reply(result, world, head if result.dry_run else world.next_seq)
    verdict = verdict_of()
    if verdict.rejected:
        return _rolled_back(result, verdict, reply["diff"], world)
    reply["safety_status"] = verdict.status
    reply["warnings"] += verdict.warnings
    if verdict.warnings:
        reply["safety_warnings"] = list(verdict.warnings)
    return Decision(reply) if result.dry_run else _written(result, reply, fresh, world)


def _written(result: Result, reply: dict[str, Any], fresh: Ranges, world: World) -> Decision:
    now, after = result.now, result.after
    seq = world.next_seq
    base = now.version.seq if now.version is not None and now.kind == "file" else 0
    shown = merge_ranges([*carry_ranges(result.splices, result.shown), *fresh])
    moved = without(carry_ranges(result.splices, result.moved), fresh)
    size, mode, by = len(after.data), now.mode, result.type
    # Neither the old nor the new bytes of a file that is withheld from the journal may be stored there.
    lost, warnings = _uncaptured(result, world)
    reply["warnings"] += warnings
    event: Event
    if result.to is not None:
        if warnings:
            message = f"{warnings[0]['message']} Rename it in a call of its own."
            raise Refusal("uncaptured", message, "split_call", path=result.path, why=lost)
        event = FileMoved(now.path, result.to.path, after.blob, size, mode, base, by, now.inode)
    else:
        event = FileWritten(
            now.path, after.blob, size, mode, base, by, now.inode, dialect=result.dialect, uncaptured=lost
        )
    blobs = [] if lost else [after.data]
    return Decision(reply, [event, ReadServed(result.path, seq, shown, True, moved)], _writes(result, seq, lost), blobs)


def _no_undo(result: Result) -> list[dict[str, str]]:
    if result.now.kind != "missing" or not result.now.uncaptured:
        return []
    message = f"The journal keeps only the hash of {result.now.path} ({result.now.uncaptured}): there is no undo of it."
    return [{"type": "uncaptured", "message": message}]


def _uncaptured(result: Result, world: World) -> tuple[str, list[dict[str, str]]]:
    """Return (the reason why the journal must not hold the new bytes, or ""; a warning if the reason is new). A secret
    file name excludes the file permanently; otherwise the content decides.
    """
    now = result.now
    why = now.uncaptured
    if now.kind != "missing" and not why and captured(now) is None:
        why = (now.version.uncaptured if now.version is not None else "") or SECRET
    if why and why not in (HOLDS_SECRET, PURGED):
        return why, []
    return withheld(result.path, result.after, world, None if why or now.kind == "missing" else result.splices)


def withheld(
    path: str, after: Text, world: World, splices: Sequence[Splice] | None = None
) -> tuple[str, list[dict[str, str]]]:
    """Return (the reason why the journal must not hold a text, or ""; a warning about it), without regard to the file
    name. `splices`: changes since a text that the journal holds; only their lines are scanned.
    """
    if world.history.purged(after.blob):
        message = f"These bytes were purged from the journal; it keeps only the hash of {path}: there is no undo of it."
        return PURGED, [{"type": "uncaptured", "message": message}]
    if not world.settings.capture.scan_secrets:
        return "", []
    texts = [after.data] if splices is None else [b"\n".join(splice.lines) for splice in splices]
    found = next((secret for text in texts if (secret := secret_scan.find(text)) is not None), None)
    if found is None:
        return "", []
    message = (
        f"{path} holds {found.kind}, so the journal keeps only its hash: this version cannot be brought back, and who "
        "overwrites it has to say `allow_uncaptured`. Take the secret out, and replace it where it was issued."
    )
    return HOLDS_SECRET, [{"type": "uncaptured", "message": message}]


def _writes(result: Result, seq: int, lost: str) -> list[Write]:
    """Return the file writes of a result. For a rename with changes the new name is written before the old one is
    removed.
    """
    now, after, to = result.now, result.after, result.to
    if to is None:
        return [Put(seq, now.path, after.data, now.mode, now, after, bool(lost))]
    if after.data == result.before.data:
        return [Move(seq, now.path, to.path, now)]
    return [Put(seq, to.path, after.data, now.mode, to, after), Remove(seq, now.path, now)]


def _suspicious(result: Result, verdict: Verdict, rows: Sequence[str], world: World) -> Refusal:
    now = result.now
    found = list(verdict.warnings)
    first = found[0]["message"].rstrip(".") + "."
    more = f" And {len(found) - 1} more: see `safety_warnings`." if len(found) > 1 else ""
    checks = world.settings.safety
    if not any(
        getattr(checks, warning["type"]) == "reject" for warning in found
    ):  # a configured `reject` cannot be overridden by the call
        more += ' If it is right as it is, repeat the call with `safety_check: "warn"`.'
    return Refusal(
        "safety_check_failed",
        f"The result would break what was sound; {now.path} stays as it was. {first}{more}",
        "fix_content",
        path=now.path,
        safety_status=SUSPICIOUS,
        safety_warnings=found,
        checkpoint="rolled_back",
        diff=rows,
        **news(world, now.path, result.lines),
    )


def _rolled_back(result: Result, verdict: Verdict, rows: Sequence[str], world: World) -> Decision:
    if result.dry_run:
        raise _suspicious(result, verdict, rows, world)
    now, refused = result.now, _suspicious(result, verdict, rows, world)
    version = now.version.seq if now.version is not None else 0
    why = ", ".join(dict.fromkeys(w["type"] for w in verdict.warnings))
    events: list[Event] = [
        CheckpointSaved(now.path, version),
        CheckpointRolledBack(now.path, version, why),
        EditRefused(result.tool, now.path, "safety_check_failed", why),
    ]
    return Decision(refused.reply(), events)


def _accepted_reply(result: Result, world: World, seq: int) -> tuple[dict[str, Any], Ranges]:
    now, before, after = result.now, result.before, result.after
    unchanged = result.same
    if not unchanged:
        LineHashes.of(before).carry(result.splices, after)
    rows, fresh, cut = localised_diff(before, after, result.splices)
    through = _valid_through(result)
    reply: dict[str, Any] = {
        "ok": True,
        "message": _sentence(result, unchanged),
        "path": result.path,
        **({} if result.to is None else {"moved_from": now.path}),
        "version": version_token(seq) if seq else None,
        "sha256": after.blob.hex(),
        "sizeBytes": len(after.data),
        "writer_type": result.type,
        "baseline_continuity": world.history.continuity(now.path, result.type),
        "operations_applied": result.operations,
        "lines_before": len(before),
        "lines_after": len(after),
        "net_lines": len(after) - len(before),
        "changed": changed_ranges(result.splices),
        "anchors_valid_through": through,
        "must_refresh_from_line": through + 1,
        "diff": rows,
        "safety_status": CLEAN,
        "warnings": [*result.warnings, *_no_undo(result)],
        **result.fields,
        **news(world, now.path, result.lines),
    }
    if cut:
        reply["diff_truncated"] = True
    if not result.splices and before.final_break != after.final_break and len(before):
        reply["warnings"].append(_final_break(after))
    if after.binary:
        reply["warnings"].append(_binary(result.path))
    reply["warnings"] += _echoed(result)
    if unchanged:
        reply["unchanged"] = True
    if result.dry_run:
        reply |= {"dry_run": True, "valid": True}
    elif not unchanged:
        reply["checkpoint"] = "committed"
    return reply, fresh


def _final_break(after: Text) -> dict[str, str]:
    done = "added" if after.final_break else "removed"
    return {"type": "final_line_break", "message": f"Only the line break at the end of the file was {done}."}


def _binary(path: str) -> dict[str, str]:
    message = (
        f"{path} holds NUL bytes with this: text tools leave it alone from here on, and only an undo takes it back."
    )
    return {"type": "binary", "message": message}


def _echoed(result: Result) -> list[dict[str, Any]]:
    """Return a warning if a new line begins with the prefix of a line in a read, probably copied along; [] if a
    replaced line had such a prefix too.
    """
    moved = looked_at = 0
    for splice in result.splices:
        for n, line in enumerate(splice.lines[: LOOKED_AT - looked_at]):
            shown = _AS_SHOWN.match(line)
            if shown is not None:
                if any(_AS_SHOWN.match(old) for old in result.before.lines[splice.start : splice.stop]):
                    return []
                number = splice.start + moved + n + 1
                prefix = shown[0].decode()
                message = (
                    f"Line {number} begins with {prefix!r}, as reads show a line; take it out if it was copied along."
                )
                return [{"type": "echoed_prefix", "message": message, "line": number}]
        moved += len(splice.lines) - (splice.stop - splice.start)
        looked_at += len(splice.lines)
        if looked_at >= LOOKED_AT:
            break
    return []


def _valid_through(result: Result) -> int:
    if result.base is not result.before or not result.splices:
        return first_difference(result.base, result.after)
    at = result.splices[0].start
    most = min(len(result.base), len(result.after))
    while at < most and result.base.lines[at] == result.after.lines[at]:
        at += 1
    return at


def _sentence(result: Result, unchanged: bool) -> str:
    done = f"{counted(result.operations, 'operation')} {'would be applied' if result.dry_run else 'applied'}"
    lines = counted(len(result.after), "line")
    net = f"{len(result.before)} → {lines}, net {len(result.after) - len(result.before):+d}"
    if unchanged:
        return f"{done} to {result.now.path}: nothing changed."
    if result.now.kind == "missing":
        return f"{done}: {result.now.path} {'would be' if result.dry_run else 'is'} new, {lines}."
    if result.to is not None:
        return f"{done}: {result.now.path} {'would be' if result.dry_run else 'is'} {result.path}, {net}."
    return f"{done} to {result.now.path}: {net}."
