"""`claim`, `release` and `claims`: announce work on files before doing it.

An intent informs other callers, a shared lease excludes exclusive ones, and an exclusive lease also refuses writes of
other callers (`rules`). A waiting claim is served before later claims for the same scope; as holders may renew, each
wait has a deadline.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import msgspec

from quire_daemon.config import globs
from quire_daemon.core import Decision, FileNow, Tool, World, no_paths, refused_reply
from quire_daemon.core.replies import ClaimReply, ClaimsReply, ReleaseReply
from quire_daemon.tools import captured, require_text
from quire_daemon.tools.history import as_glob, glob_matches, known_path
from quire_daemon.tools.leases.rules import (
    anothers_json,
    breaker,
    in_force,
    in_the_way,
    lease_held,
    lease_json,
    others,
    quoted,
    share_ground,
)
from quire_daemon.tools.leases.scope import FILE, FOLDER, GLOB, lines_at, meet
from quire_journal.history import rfc3339, to_the_second
from quire_journal.model import (
    Event,
    LeaseBroken,
    LeaseGranted,
    LeaseReleased,
    LeaseRenewed,
    LineRange,
    Refusal,
    capitalised,
    counted,
    plain,
)
from quire_journal.views import EXCLUSIVE, INTENT, Lease

TTL_S: Final = 600
"""Default duration of a lease in seconds."""

MOST_TTL_S: Final = 24 * 3600
"""Maximum duration of a lease without renewal, in seconds; the default if bound to a connection."""

MOST_WAIT_MS: Final = 600_000
"""Maximum wait of a claim in milliseconds."""

MOST_REASON: Final = 200
"""Maximum number of characters stored of a reason."""

MOST_LISTED: Final = 20

MOST_LEASES: Final = 1000
"""Maximum number of leases in force, of all callers."""

_SECOND: Final = 1_000_000_000


class ClaimParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `claim`: either `path` with its options, or `renew`."""

    path: str = ""  # a file, a folder (everything in it), or a glob
    kind: Literal["intent", "shared", "exclusive"] = "intent"
    start_line: int | None = None
    end_line: int | None = None
    ttl_s: float | None = None
    reason: str = ""
    wait_ms: int = 0  # longest wait for leases of other callers
    dry_run: bool = False  # only report whether the lease would be granted
    bind: Literal["session", "connection"] = "session"
    renew: int | None = None  # number of an own lease
    idempotency_key: str = ""

    def __post_init__(self) -> None:
        if bool(self.path) == (self.renew is not None):
            raise ValueError("give `path`, or the number of a lease to `renew`")
        if self.ttl_s is not None and not 1 <= self.ttl_s <= MOST_TTL_S:
            raise ValueError(f"`ttl_s` must be from 1 to {MOST_TTL_S}")
        if not 0 <= self.wait_ms <= MOST_WAIT_MS:
            raise ValueError(f"`wait_ms` must be from 0 to {MOST_WAIT_MS}")
        if self.start_line is not None and self.start_line < 1:
            raise ValueError("`start_line` must be at least 1")
        if self.end_line is not None and self.end_line < (self.start_line or 1):
            raise ValueError("`end_line` must not be before `start_line`")

    @property
    def names_lines(self) -> bool:
        """True if only a part of the file is claimed."""
        return self.start_line is not None or self.end_line is not None


class ReleaseParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `release`: one of `lease`, `path` and `all`."""

    lease: int | None = None
    path: str = ""  # leases claimed with this path or glob
    all: bool = False  # all of the caller's leases
    force: bool = False  # also break leases of other callers
    reason: str = ""  # reason for breaking, for the holders

    def __post_init__(self) -> None:
        if (self.lease is not None) + bool(self.path) + self.all != 1:
            raise ValueError("give one of `lease`, `path` and `all`")
        if self.all and self.force:
            raise ValueError("`force` needs a `lease` or a `path`")


class ClaimsParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    path: str = ""  # only leases on this file, folder or glob


# ── claim ────────────────────────────────────────────────────────────────────


def decide_claim(params: ClaimParams, world: World) -> Decision:
    """Grant or renew a lease (`ClaimReply`). Raises `Refusal`: with code `lease_held` if leases of others exclude the
    claim now.
    """
    if params.renew is not None:
        return _renew(_own(params.renew, world), params, world)
    wanted = wanted_lease(params, world)
    held = in_force(world)
    for mine in held:
        if _same(mine, wanted, world):
            return _renew(mine, params, world)
    holding = in_the_way(wanted, held, world) or in_the_way(wanted, world.queue, world)
    if holding:
        now = world.files[params.path]
        count = len(now.text) if wanted.form == FILE and now.text is not None else None
        how = f"claimed as {wanted.strength}"
        if not params.dry_run:
            raise lease_held(wanted.path, holding, world, count, how)
        return Decision(
            refused_reply(lease_held(wanted.path, holding, world, count, how), params)
        )  # a dry run does not wait
    if len(held) >= MOST_LEASES:
        raise Refusal("busy", f"There are {len(held)} leases in force; some must be released first.", "release")
    event = LeaseGranted(
        wanted.path,
        wanted.form,
        wanted.strength,
        wanted.expires_ns,
        wanted.reason,
        wanted.lines,
        wanted.version,
        wanted.bind,
    )
    granted = msgspec.structs.replace(wanted, number=world.next_seq)
    return _granted(granted, [event], "yours", params, world)


def wanted_lease(params: ClaimParams, world: World) -> Lease:
    """Return the requested lease, without a number. Raises `Refusal` for an impossible scope."""
    now = world.files[params.path]
    form = _form(params.path, now)
    lines = version = None
    if params.names_lines:
        lines, version = _lines(params, now, form, world), now.version
    return Lease(
        0,
        world.who.key,
        world.who.writer,
        params.kind,
        now.path,
        form,
        world.now_ns,
        _expires_ns(params, params.bind, world),
        plain(params.reason, MOST_REASON),
        lines,
        version.seq if version is not None else 0,
        params.bind,
    )


def _form(given: str, now: FileNow) -> str:
    """Return the form of a scope: file, folder or glob. A name with wildcards is a glob unless a file has that literal
    name.
    """
    if now.kind == "missing" and globs.is_glob(now.path):
        glob_matches(now.path)
        return GLOB
    return FOLDER if now.kind == "folder" or (now.kind == "missing" and given.endswith("/")) else FILE


def _lines(params: ClaimParams, now: FileNow, form: str, world: World) -> LineRange:
    if form == GLOB:
        raise Refusal("schema_invalid", "start_line: a glob has no lines.", "fix_arguments", argument="start_line")
    count = len(require_text(now, world))
    if captured(now) is None:
        message = f"The bytes of {now.path} are not in the journal: its lines cannot be followed. Claim the whole file."
        raise Refusal("uncaptured", message, "claim_whole_file", path=now.path)
    start = (params.start_line or 1) - 1
    if start >= count:
        message = f"There is no line {start + 1}; {now.path} has {count}."
        raise Refusal("line_out_of_range", message, "re-read_file", path=now.path, line_count=count)
    return start, min(count, params.end_line or count)


def _same(mine: Lease, wanted: Lease, world: World) -> bool:
    if (mine.holder, mine.strength, mine.bind) != (wanted.holder, wanted.strength, wanted.bind):
        return False
    if (mine.path, mine.form) != (wanted.path, wanted.form):
        return False
    if mine.lines is None or wanted.lines is None:
        return mine.lines is wanted.lines
    return lines_at(mine, world.history.file(mine.path), world.history) == wanted.lines


def _own(number: int, world: World) -> Lease:
    held = world.history.lease(number)
    if held is None or (not held.broken and not held.binds(world.now_ns)):
        raise _ended(number, held, "claim")
    if held.holder != world.who.key:
        whose = f"{world.history.named(held.writer)}'s{quoted(held.reason)}"
        message = f"Lease {number} is {whose}; only its holder can renew it."
        raise Refusal("lease_held", message, "claim", **anothers_json(held, world))
    if held.broken:
        message = f"Lease {number} was broken by {breaker(held, world)}; claim again."
        raise Refusal("not_found", message, "claim", lease=number)
    return held


def _ended(number: int, held: Lease | None, action: str) -> Refusal:
    when = f" It was over at {to_the_second(held.expires_ns)}." if held is not None else ""
    return Refusal("not_found", f"There is no lease {number} (any more).{when}", action, lease=number)


def _renew(mine: Lease, params: ClaimParams, world: World) -> Decision:
    expires_ns = _expires_ns(params, mine.bind, world)
    reason = plain(params.reason, MOST_REASON)
    renewed = msgspec.structs.replace(mine, expires_ns=expires_ns, reason=reason or mine.reason)
    event = LeaseRenewed(mine.number, mine.path, expires_ns, reason)
    return _granted(renewed, [event], "renewed", params, world, renewed=True)


def _expires_ns(params: ClaimParams, bind: str, world: World) -> int:
    default = TTL_S if bind == "session" else MOST_TTL_S
    return world.now_ns + int((default if params.ttl_s is None else params.ttl_s) * _SECOND)


def _granted(
    lease: Lease, events: Sequence[Event], done: str, params: ClaimParams, world: World, **more: Any
) -> Decision:
    beside = [one for one in others(world) if share_ground(one, lease, world)]
    queued = sum(1 for one in world.queue if one.holder != lease.holder and meet(one, lease))
    told = f" {counted(len(beside), 'lease')} of others there." if beside else ""
    if any(one.strength == EXCLUSIVE for one in beside):
        told += " While an exclusive one lasts, its ground cannot be written."
    shown = lease_json(lease, world)
    what = f"{_ground(shown, params.dry_run)} {done} ({lease.strength})"
    reply = {
        "ok": True,
        "message": f"{what} until {to_the_second(lease.expires_ns)}.{told}",
        **shown,
        "conflicts": [lease_json(one, world) for one in beside[:MOST_LISTED]],
        "conflicts_total": len(beside),
        "queued": queued,
        **more,
    }
    if params.dry_run:
        new = {} if more else {"lease": None, "fencing": None, "expires_at": rfc3339(lease.expires_ns)}
        return Decision({**reply, **new, "dry_run": True, "valid": True})
    return Decision(reply, events)


def _ground(shown: Mapping[str, Any], dry_run: bool) -> str:
    path, lines = shown["path"], shown["lines"]
    one, several = ("would be", "would be") if dry_run else ("is", "are")
    if lines is None:
        return f"{path} {one}"
    first, last = lines["start"], lines["end"]
    return f"Line {first} of {path} {one}" if first == last else f"Lines {first}-{last} of {path} {several}"


# ── release ──────────────────────────────────────────────────────────────────


def decide_release(params: ReleaseParams, world: World) -> Decision:
    """Release leases, or break those of other callers (`ReleaseReply`). Raises `Refusal` if all named leases belong to
    other callers and `force` is missing; a release by path that also names own leases skips those of others.
    """
    held = _meant(params, world)
    mine = [one for one in held if one.holder == world.who.key]
    foreign = [one for one in held if one.holder != world.who.key]
    if foreign and not params.force and not (mine and params.lease is None):
        first = foreign[0]
        message = (
            f"Lease {first.number} on {first.path} is {world.history.named(first.writer)}'s, until "
            f"{to_the_second(first.expires_ns)}{quoted(first.reason)}; `force: true` breaks it."
        )
        raise Refusal("lease_held", message, "force", **anothers_json(first, world))
    broken = foreign if params.force else []
    why = plain(params.reason, MOST_REASON)
    events: list[Event] = [LeaseReleased(one.number, one.path) for one in mine]
    events += [LeaseBroken(one.number, one.path, why) for one in broken]
    return Decision(
        {
            "ok": True,
            "message": _release_sentence(mine, broken, world),
            "released": [lease_json(one, world) for one in mine],
            "broken": [lease_json(one, world) for one in broken],
        },
        events,
    )


def _meant(params: ReleaseParams, world: World) -> list[Lease]:
    """Return the leases that a release names; with `all` there may be none. Raises `Refusal` if there is no such lease,
    or none on the path.
    """
    if params.lease is not None:
        found = world.history.lease(params.lease)
        if found is None or (found.broken and found.holder != world.who.key) or found.over_at(world.now_ns):
            raise _ended(params.lease, found, "claims")
        return [found]
    held = in_force(world)
    if params.all:
        return [one for one in held if one.holder == world.who.key]
    wanted = known_path(params.path, world.history)
    found_there = [one for one in held if one.path == wanted]
    if not found_there:
        raise Refusal("not_found", f"There is no lease on {params.path}.", "claims", path=params.path)
    return found_there


def _release_sentence(mine: Sequence[Lease], broken: Sequence[Lease], world: World) -> str:
    told = []
    if mine:
        told.append(f"{counted(len(mine), 'lease')} released")
    told += [f"lease {one.number} of {world.history.named(one.writer)} broken" for one in broken]
    sentence = ", ".join(told) or "there was nothing to release"
    return f"{capitalised(sentence)}."


# ── claims ───────────────────────────────────────────────────────────────────


def decide_claims(params: ClaimsParams, world: World) -> Decision:
    """Return the `leases` in force, oldest first, `waiting` claims in their order of service, and the caller's `broken`
    leases (`ClaimsReply`).
    """
    held = _about(params.path, in_force(world), world)
    queue = _about(params.path, world.queue, world)
    lost = [one for one in world.history.leases() if one.broken and one.holder == world.who.key]
    lost = _about(params.path, [one for one in lost if not one.over_at(world.now_ns)], world)
    waits = f", {len(queue)} waiting" if queue else ""
    return Decision(
        {
            "ok": True,
            "message": f"{counted(len(held), 'lease')}{waits}.",
            "leases": [lease_json(one, world) for one in held],
            "waiting": [lease_json(one, world) for one in queue],
            "broken": [{**lease_json(one, world), **_how_broken(one, world)} for one in lost],
        }
    )


def _about(path: str, held: Sequence[Lease], world: World) -> list[Lease]:
    if not path:
        return list(held)
    glob = as_glob(path, world.history)
    if glob is not None:
        glob_matches(glob)
        asked = [_asked(glob, GLOB)]
    else:
        asked = [_asked(known_path(path, world.history), form) for form in (FILE, FOLDER)]
    return [one for one in held if any(meet(one, ground) for ground in asked)]


def _asked(path: str, form: str) -> Lease:
    return Lease(0, b"", 0, INTENT, path, form, 0, 0)


def _how_broken(held: Lease, world: World) -> dict[str, Any]:
    record = world.history.record(held.broken)
    if record is None:
        return {}
    return {
        "broken_at": rfc3339(record.at_ns),
        "broken_by": world.history.writer_json(record.writer),
        "broken_why": getattr(record.event(), "why", ""),
    }


CLAIM_TOOL: Final[Tool[ClaimParams]] = Tool(
    "claim",
    ClaimParams,
    lambda params: (params.path,) if params.path else (),
    decide_claim,
    writes=True,
    reply=ClaimReply,
)
RELEASE_TOOL: Final[Tool[ReleaseParams]] = Tool(
    "release", ReleaseParams, no_paths, decide_release, writes=True, asks=("path",), reply=ReleaseReply
)
CLAIMS_TOOL: Final[Tool[ClaimsParams]] = Tool(
    "claims", ClaimsParams, no_paths, decide_claims, asks=("path",), reply=ClaimsReply
)
