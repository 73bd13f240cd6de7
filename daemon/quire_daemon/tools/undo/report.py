"""Reply values of an undo: the result of each file, its conflicts, and missing bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from quire_daemon.tools.history import writer_type
from quire_daemon.tools.undo.batches import Batches
from quire_daemon.tools.undo.choice import Choice
from quire_daemon.tools.undo.plan import AS_THEN, LEASED, UNSEEN, Action
from quire_journal.history import RECORD_LOST, Conflict, History, MissingBytes, is_by_git, missing_blob, rfc3339
from quire_journal.model import counted, pause, version_token
from quire_journal.text import changed_ranges, diff
from quire_journal.views import RUN

MOST_KEPT: Final = 20

MOST_NAMED: Final = 5
"""Maximum number of files named in a sentence."""

SKIPPED: Final = {
    "uncaptured": "bytes that are needed, or that would be lost, are not in the journal",
    "not_a_file": "it is not a regular file",
    "protected": "it is protected, or forbidden by the settings; tools leave it alone",
    "occupied": "something else stands there now",
    "changed_meanwhile": "it is being changed at this moment",
    UNSEEN: "it was there when it was first looked at; nothing shows that it was made then",
    "not_there_then": "it was not there at that point",
    RECORD_LOST: "records are lost to damage of the journal, and with them what it was, or what was built on",
    LEASED: "somebody else has an exclusive lease on it",
    AS_THEN: "it already is as it was at that point",
}


def file_json(action: Action, choice: Choice, history: History) -> dict[str, Any]:
    """Return one entry of `files` (`UnwoundFile`), with `kept` or `takes_back` cut at `MOST_KEPT`."""
    pause()
    u = action.unwound
    name, later = "kept", u.kept
    if choice.how == "restore":
        name, later = "takes_back", tuple(v.seq for v in history.versions(u.path, after=choice.at))
    entry: dict[str, Any] = {
        "path": action.path,
        "action": action.do,
        name: [_kept(seq, history) for seq in _of_each(later, history)],
        "conflicts": [_conflict_json(conflict, history) for conflict in action.built_on],
        "skipped": action.skipped or None,
    }
    if action.first_seen:
        entry["first_seen"] = {**_brief(action.first_seen, history), "why": SKIPPED[UNSEEN]}
    if choice.conflicts == "markers":
        entry["marked"] = places_marked(action)
    if len(later) > MOST_KEPT:
        entry[f"{name}_more"] = len(later) - MOST_KEPT
    if action.do == "move":
        entry["to"] = u.path
    if u.was and u.was not in (action.path, entry.get("to")):
        entry["was"] = u.was
    if action.skipped:
        entry["why"] = SKIPPED.get(action.skipped, action.skipped)
        if action.lease is not None:
            entry["why"] = f"{history.named(action.lease.writer)} has an exclusive lease on {action.lease.path}"
        lacking = lacking_bytes(action, history)
        if lacking is not None and lacking.why != "not_held":
            entry["why"] += f": they were {lacking.told}"
    if action.do in ("write", "create", "delete", "move"):
        entry.update(_lines_json(action))
    return entry


def _of_each(seqs: Sequence[int], history: History) -> list[int]:
    """Return at most `MOST_KEPT` of these records (by seq): the newest of each writer first, then the newest."""
    if len(seqs) <= MOST_KEPT:
        return [*seqs]
    newest: dict[bytes, int] = {}
    for seq in reversed(seqs):
        record = history.record(seq)
        newest.setdefault(b"" if record is None else history.caller_of(history.author(record)), seq)
    found = [*dict.fromkeys((*newest.values(), *reversed(seqs)))]
    return sorted(found[:MOST_KEPT])


def lacking_bytes(action: Action, history: History) -> MissingBytes | None:
    """Return why the journal lacks bytes that the undo needs; None if it lacks none."""
    u = action.unwound
    if action.skipped != "uncaptured" or not u.missing:
        return None
    if u.needed is None:
        return missing_blob(history, u.blob)
    if u.needed.uncaptured:
        return MissingBytes(u.needed.uncaptured, f"never kept ({u.needed.uncaptured.replace('_', ' ')})")
    return missing_blob(history, u.needed.blob)


def lacking_sentence(actions: Sequence[Action], history: History) -> str:
    """Return a sentence about the files skipped for missing bytes."""
    told: list[str] = []
    gone = lost = ""
    for action in actions:
        lacking = lacking_bytes(action, history)
        if lacking is not None:
            gone = gone or action.path
            told.append(f"{action.path} (its bytes were {lacking.told})")
        elif action.skipped == "uncaptured":
            lost = lost or action.path
            told.append(f"{action.path} (what is there now would be lost)")
    said = ", ".join(told[:MOST_NAMED]) + (f" and {len(told) - MOST_NAMED} more" if len(told) > MOST_NAMED else "")
    if gone:
        said += f". `quire log {gone}` tells its other versions; a backup, or git, may have this one"
    if lost:
        said += f". `allow_uncaptured` goes over what is in {lost} now"
    return said


def batches_json(choice: Choice, stayed: Sequence[int]) -> dict[str, Any]:
    """Return `batches`, undone from now on, and `stayed`, chosen batches that stay in force; or `of`, batches of which
    only some lines are undone.
    """
    if choice.partial:
        return {"batches": [], "of": list(choice.batches)}
    undone = [batch for batch in choice.batches if batch not in stayed]
    return {"batches": undone, "stayed": list(stayed)} if stayed else {"batches": undone}


def writers_json(choice: Choice, known: Batches) -> list[dict[str, Any]]:
    """Return `writers` of the undone work, each with a batch count; at most `MOST_KEPT`."""
    callers: dict[bytes, list[int]] = {}
    for batch in choice.batches:
        writer = known.writer(batch)
        callers.setdefault(known.history.caller_of(writer) or b"%d" % writer, []).append(writer)
    return [
        {"writer": known.history.writer_json(found[0]), "batches": len(found)}
        for found in list(callers.values())[:MOST_KEPT]
    ]


def left_out_json(choice: Choice, known: Batches) -> dict[str, Any]:
    """Return `left_out`, writes that are only probably the named writer's ("probable") or those of `quire setup`
    ("setup"), and `left_out_by_git`, the number of git's writes that `outside` does not mean.
    """
    of_git = {"left_out_by_git": choice.by_git} if choice.by_git else {}
    if not choice.left_out:
        return of_git
    shown = choice.left_out[:MOST_KEPT]
    places = {seq: (path, batch) for batch in shown for path, seq in known.starts(batch)}  # of a move, the new name
    entries = [
        {"path": path, **_brief(seq, known.history), "why": "setup" if known.is_setup(batch) else "probable"}
        for seq, (path, batch) in places.items()
    ]
    more = len(choice.left_out) - len(shown)
    return {"left_out": entries, **({"left_out_more": more} if more else {}), **of_git}


def as_found_sentence(actions: Sequence[Action]) -> str:
    """Return a phrase with the number of files that go back only to their first known version; "" for none."""
    count = sum(bool(action.first_seen) for action in actions)
    return f"{counted(count, 'file stays', 'files stay')} as first looked at" if count else ""


def places_marked(action: Action) -> int:
    """Return the number of places that conflict markers would mark."""
    if action.do == "none" or not action.unwound.present:
        return 0
    return sum(conflict.place is not None for conflict in action.conflicts)


def _kept(seq: int, history: History) -> dict[str, Any]:
    by_git = is_by_git(getattr(history.event(seq), "hint", ""))
    return {**_brief(seq, history), **({"by_git": True} if by_git else {})}


def _brief(seq: int, history: History) -> dict[str, Any]:
    record = history.record(seq)
    if record is None:
        return {"version": version_token(seq)}
    return {
        "version": version_token(seq),
        "at": rfc3339(record.at_ns),
        "batch": record.batch,
        "writer": history.writer_json(history.author(record), writer_type(record)),
        **({"evidence": attribution.evidence} if (attribution := history.attribution(record)) is not None else {}),
    }


def _conflict_json(conflict: Conflict, history: History) -> dict[str, Any]:
    lines = [{"start": start + 1, "end": stop} for start, stop in conflict.lines]
    told = {**_kept(conflict.seq, history), "seq": conflict.seq, "why": conflict.why, "lines": lines}
    return {**told, "run": burst} if (burst := _run_of(conflict.seq, history)) else told


def _run_of(seq: int, history: History) -> int:
    """Return the burst of `quire run` whose command made a record; 0 if none did."""
    record = history.record(seq)
    attribution = None if record is None else history.attribution(record)
    burst = None if attribution is None else history.burst(attribution.burst)
    return burst.number if burst is not None and burst.form == RUN else 0


def _lines_json(action: Action) -> dict[str, Any]:
    before, after = action.before, action.after
    if before.binary or after.binary:
        return {"binary": True}
    return {
        "lines_before": len(before),
        "lines_after": len(after),
        "net_lines": len(after) - len(before),
        "changed": changed_ranges(diff(before, after)),
    }
