"""`native`: hooks of an agent report each call of its own tools, before and after; the daemon allows or refuses it.

The hooks (`quire hook`) report the writer, the call, and the lines of the file that the session has read, which the
watcher cannot know.

* `before`: refused if another writer changed the call's lines since this session read them, or holds an exclusive lease
  (by the settings). Otherwise a burst begins, and the call is announced with its effects on its files.
* `after`: the burst ends, and writes found in between are attributed as far as the evidence proves (`evidence`).
  `news` reports changes of other writers since the last report.
* `turn`, `end`: end the bursts of calls without an `after`; `turn` also reports all unreported changes.
* `start`, `session_end`: the agent session begins or ends.

Time alone proves nothing: a write that neither bytes nor processes prove stays `outside`, and undo does not touch it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import islice
from typing import Any, Final, Literal

import msgspec
from msgspec.structs import replace

from quire_daemon.core import (
    MOST_PAYLOADS,
    AnnouncedCall,
    Decision,
    FileNow,
    ImpliedFiles,
    Patch,
    Payload,
    Tool,
    Who,
    World,
    no_paths,
)
from quire_daemon.core.replies import NativeReply
from quire_daemon.tools.bursts import MOST_OPEN, NATIVE, SETTLE_S, burst_json, open_beside, own_open
from quire_daemon.tools.edit import Basis, Stale, basis_at, refuse_stale
from quire_daemon.tools.evidence import FAILED, CallEnd, by_its_command, told_afterwards, verdicts
from quire_daemon.tools.leases import covers, lease_held, others
from quire_daemon.tools.overlap import (
    CONFLICTING,
    MOST_STEPS,
    NONE,
    WHOLE,
    CallerLines,
    done_by,
    image,
    inverse,
    lines_of,
    relation,
    relations,
    strongest,
)
from quire_daemon.tools.preconditions import shown_as
from quire_daemon.tools.read import seen_with
from quire_daemon.tools.recent_changes import MOST_NEWS, changes_told, is_as_seen
from quire_journal.history import History
from quire_journal.maintenance import secret_scan
from quire_journal.model import (
    NAMING,
    OVERLAP,
    SETUP,
    TRACED,
    BurstBegun,
    BurstEnded,
    EditRefused,
    Event,
    Ranges,
    ReadServed,
    Record,
    Refusal,
    TurnBegan,
    WriteAttributed,
    counted,
    merge_ranges,
    paths_of,
    plain,
    version_token,
)
from quire_journal.text import Text, changed_ranges, diff
from quire_journal.views import (
    BELONGING,
    EXCLUSIVE,
    NAMED,
    ONLY_OUTSIDE,
    OUTSIDE_TYPE,
    UNREPORTED,
    Burst,
    Shown,
    Version,
    standing,
)
from quire_journal.views.indexes import of_kind, term_index

TTL_S: Final = 900
"""Seconds after which the burst of a call without an `after` ends."""

MOST_TOLD: Final = 5
"""Maximum number of files with news in one reply."""

MOST_WRITERS: Final = 3
"""Maximum number of writers of one file with news."""

MOST_CHANGES: Final = 5
"""Maximum number of changes of one file in one reply."""

MOST_LOOKED_AT: Final = 40
MOST_BURSTS: Final = 500

MOST_PLACES: Final = 2000

MOST_BASES: Final = 50
"""Maximum number of versions searched for the one that an agent read through its shell."""

MOST_PROMPT: Final = 500

MOST_COMMAND: Final = 1000

MOST_TRANSCRIPT: Final = 400

_SECOND: Final = 1_000_000_000


class NativeParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    moment: Literal["start", "before", "after", "turn", "end", "session_end"]
    tool: str = ""  # the agent's name for it: "Edit"
    call: str = ""  # the agent's id of the call; links `after` to `before`
    paths: list[str] = []  # files of the write; empty if unknown (a shell command)
    whole: bool = False  # the write replaces whole files
    replaces: list[str] = []  # texts to be replaced, if known
    ok: bool = True  # of `after`: the call succeeded
    rereads: bool = True  # the agent's reads are reported, so a refused agent can read again
    payloads: list[Payload] = []  # the call's effects on its files, from its arguments
    payload_dropped: bool = False  # payloads were too large to send
    command: str = ""  # the command line of a shell call
    prompt: str = ""  # of a turn: the user's prompt
    transcript: str = ""  # of a turn: path of the agent's conversation file

    def __post_init__(self) -> None:
        if len(self.paths) > 200:
            raise ValueError("`paths`: at most 200")
        if len(self.payloads) > MOST_PAYLOADS:
            raise ValueError(f"`payloads`: at most {MOST_PAYLOADS}")


def decide(params: NativeParams, world: World) -> Decision:
    """Begin or end the burst of a call, or report news (`NativeReply`). Raises `Refusal` if the call must not write."""
    match params.moment:
        case "before":
            return _before(params, world)
        case "after":
            return _after(params, world)
        case _:
            return _between(params, world)


# ── before ───────────────────────────────────────────────────────────────────


def _before(params: NativeParams, world: World) -> Decision:
    files = [now for now in world.files.values() if now.kind in ("file", "missing")]
    for now in files if world.who.agent != SETUP else ():  # `quire setup` has just read them, and asks nobody
        _require_no_lease(now, params, world)
        refusal = _stale(now, params, world)
        if refusal is not None:
            return refusal
    label = _label(params)
    if params.paths and not files:
        return Decision({"ok": True, "message": f"{label}: none of this is watched.", "burst": None})
    begun_before = _begun_by(params, world) if params.call else None
    if begun_before is not None:  # two configurations of one agent report the same call
        return Decision({"ok": True, "message": f"{label} may go on, as said before.", "burst": begun_before.number})
    if len(open_beside(NATIVE, world)) >= MOST_OPEN:
        message = f"{label} may go on; too many calls of this agent session are open to tell what it writes."
        return Decision({"ok": True, "message": message, "burst": None})
    expires_ns = world.now_ns + TTL_S * _SECOND
    paths = tuple(sorted({now.path for now in files}))
    begun = BurstBegun(label, NATIVE, expires_ns, True, "session", paths, kept_command(params.command))
    reply = {"ok": True, "message": f"{label} may go on; burst {world.next_seq} has begun.", "burst": world.next_seq}
    announced = AnnouncedCall(
        *(world.next_seq, world.who.writer, paths, _payloads(params, world), params.command, world.who.process),
        owner=world.who.key,
    )
    return Decision(reply, [begun], announced=None if world.who.outsider else announced)


def _require_no_lease(now: FileNow, params: NativeParams, world: World) -> None:
    """Raise `Refusal` for a write to a file under another caller's exclusive lease. A lease on lines refuses only
    whole-file writes, as the lines of an edit are unknown.
    """
    if world.settings.hooks.leases != "deny":
        return
    holding = [
        one
        for one in others(world)
        if one.strength == EXCLUSIVE and not one.broken and covers(one, now.path) and (params.whole or not one.lines)
    ]
    if holding:
        raise lease_held(now.path, holding, world, None if now.text is None else len(now.text), "written")


def _stale(now: FileNow, params: NativeParams, world: World) -> Decision | None:
    strict = world.settings.hooks.stale
    base = _base(now, params.whole, world) or _base_of_its_texts(now, params, world)
    if strict == "tell" or base is None or now.version is None or now.kind != "file" or base.blob == now.version.blob:
        return None
    by_others = _by_others(now.path, base.seq, world)
    if not by_others:
        return None
    if now.text is None:
        message = f"{now.path} was changed since you read it; read it again."
        changes = changes_told(world.history, now.path, by_others, WHOLE)
        raise Refusal("stale_file", message, "read_again", path=now.path, changes=changes)
    basis = replace(basis_at(base, now, now.text, world, "stale_file"), others=tuple(by_others))
    needs, touches = _about(params, basis, now, world)
    stale = Stale("native", "stale_file", basis, now, needs, touches=touches)
    refusal = refuse_stale(stale, world, dry_run=False)
    if strict == "conflicts" and refusal.reply["touches"] == NONE:
        return None
    refusal.reply["suggested_action"] = "read_again"
    if not params.rereads:
        return refusal  # shown lines count as read: nothing else would report the agent's next read
    return replace(refusal, events=[event for event in refusal.events if isinstance(event, EditRefused)])


def _base(now: FileNow, whole: bool, world: World) -> Version | None:
    seen = world.history.shown(world.who.key, now.path)
    if seen is None:
        return None
    return standing(world.history.version(now.path, seen.read or seen.version if whole else seen.version))


def _base_of_its_texts(now: FileNow, params: NativeParams, world: World) -> Version | None:
    """Return the newest version with the texts to be replaced, as the base of an agent whose reads are not reported.
    None if the current file contains these texts, or no version does.
    """
    wanted = [text.encode("utf-8", "replace").replace(b"\r\n", b"\n") for text in params.replaces]
    if params.rereads or not wanted or now.text is None or _holds(now.text, wanted):
        return None
    for version in islice(world.history.versions(now.path, reverse=True), MOST_BASES):
        text = None if version.gone or version.uncaptured else world.history.text_held(version.blob)
        if text is not None and _holds(text, wanted):
            return version
    return None


def _holds(text: Text, wanted: Sequence[bytes]) -> bool:
    return all(one.rstrip(b"\n") in text.normalised for one in wanted)


def _about(params: NativeParams, basis: Basis, now: FileNow, world: World) -> tuple[Ranges | None, str]:
    """Return (the lines of the base that the call concerns, how changes of other writers affect these lines: `none`,
    `touching` or `conflicting`). The lines are None for a whole file or a text not found. Text that the session wrote
    after the base is searched in the current file.
    """
    everything = None, CONFLICTING
    elsewhere = [other.text for other in world.files.values() if other is not now and other.text is not None]
    of_base, of_now = list[tuple[int, int]](), list[tuple[int, int]]()
    for text in () if params.whole else params.replaces:
        wanted = text.encode("utf-8", "replace").replace(b"\r\n", b"\n")
        if not wanted.strip(b"\n"):
            return everything
        before, after = _lines_with(wanted, basis.text), _lines_with(wanted, basis.now)
        if not (before or after or any(wanted in other.normalised for other in elsewhere)):
            return everything
        of_base += before
        of_now += after
    if not (of_base or of_now):
        return everything
    overall = diff(basis.text, basis.now)
    needs = merge_ranges([*of_base, *image(inverse(overall, basis.text), merge_ranges(of_now))])
    if len(basis.others) > MOST_STEPS:
        return needs, relation(overall, needs)
    done = {version.seq: done_by(world.history, now.path, version) for version in basis.others}
    found = [
        relations(world.history, now.path, done, CallerLines(merge_ranges(lines), at))
        for lines, at in ((of_base, basis.version), (of_now, now.version))
        if lines
    ]
    return needs, strongest(meaning for each in found for meaning in each.values())


def _lines_with(wanted: bytes, text: Text) -> list[tuple[int, int]]:
    flat = text.normalised
    found: list[tuple[int, int]] = []
    at, first, more = 0, 0, wanted.rstrip(b"\n").count(b"\n") + 1
    while (place := flat.find(wanted, at)) >= 0 and len(found) < MOST_PLACES:
        first += flat.count(b"\n", at, place)
        found.append((first, first + more))
        at = place + max(len(wanted), 1)
        first += flat.count(b"\n", place, at)
    return found


def _label(params: NativeParams) -> str:
    more = f" and {len(params.paths) - 1} more" if len(params.paths) > 1 else ""
    said = " ".join([params.tool[:MOST_COMMAND] or "a tool", *params.paths[:1]])
    return plain(secret_scan.redacted(said), 160) + more


# ── after ────────────────────────────────────────────────────────────────────


def _after(params: NativeParams, world: World) -> Decision:
    burst = _begun_by(params, world)
    told_upto = _told_upto(world)
    attributed = [] if world.who.outsider else [*_found_at_the_end(params, burst, world)]
    own = {seq for one in attributed if world.history.caller_of(one.writer) == world.who.key for seq in one.seqs}
    news, more = _news(world, told_upto, burst, own)
    over_own = [] if burst is None or burst.paths else _over_own_reads(burst, own, world)
    why = "owner" if params.ok else FAILED
    events: list[Event] = [*attributed] if burst is None else [*attributed, BurstEnded(burst.number, why)]
    if params.ok:
        read = (_has_written(now, params, own, world) for now in world.files.values())
        events += [event for event in read if event is not None]
    reply: dict[str, Any] = {"ok": True, "message": f"{_label(params)}: noted.", "burst": None}
    if burst is not None:
        ended = _ended(burst, attributed, why, world)
        batches = counted(ended.batches, "write", "writes")
        reply |= {"message": f"{burst.label} has ended: {batches}.", **burst_json(ended, world)}
    over_own = list(dict.fromkeys([*over_own, *_left_over_reads(told_upto, world)]))[:MOST_TOLD]
    if over_own:
        reply["changed_by_command"] = over_own
    return Decision({**reply, "news": news, "news_more": more}, events)


def _told_upto(world: World) -> int:
    """Return the record up to which the session knows the news: its turn began then, or its last call ended."""
    ended = max((b.ended for b in islice(_own(world, world.next_seq), MOST_BURSTS)), default=0)
    turn = _turn_of(world)
    wanted = [[term_index.of_turn(turn)], [of_kind(TurnBegan.kind)]]
    spans = world.history.with_terms(wanted, ended, world.history.head(), True) if turn else ()
    return next((seq for _, seqs in spans for seq in seqs), ended)


def _found_at_the_end(params: NativeParams, burst: Burst | None, world: World) -> Iterator[WriteAttributed]:
    """Yield attributions of the writes during the call's burst, or of recent writes if the call was not announced
    before.
    """
    if burst is not None:
        end = CallEnd(burst, _announced(params, burst, world), world.now_ns, params.ok, world.announced)
        yield from verdicts(end, world.history, by_its_command)
    elif params.payloads and params.ok:
        paths = tuple(now.path for now in world.files.values())
        call = AnnouncedCall(0, world.who.writer, paths, _payloads(params, world))
        yield from told_afterwards(call, world.history, world.now_ns)


def _over_own_reads(burst: Burst, own: Set[int], world: World) -> list[str]:
    history = world.history
    seqs = sorted({*own, *(seq for seq, word in history.burst_evidence(burst.number) if word in NAMING)})
    paths = dict.fromkeys(path for seq in seqs for path in paths_of(history.event(seq)))
    return [path for path in paths if history.shown(world.who.key, path) is not None][:MOST_TOLD]


def _announced(params: NativeParams, burst: Burst, world: World) -> AnnouncedCall:
    command = params.command or burst.command
    return AnnouncedCall(burst.number, burst.writer, burst.paths, _payloads(params, world), command)


def _payloads(params: NativeParams, world: World) -> tuple[Payload, ...]:
    return tuple(_under_own_name(payload, world.files) for payload in params.payloads)


def _under_own_name(payload: Payload, files: Mapping[str, FileNow]) -> Payload:
    now = None if isinstance(payload, Patch) else files.get(payload.path)
    return payload if now is None else replace(payload, path=now.path)


def _ended(burst: Burst, attributed: list[WriteAttributed], why: str, world: World) -> Burst:
    proved = sum(len(one.seqs) for one in attributed if one.evidence in BELONGING)
    proved -= sum(len(one.seqs) for one in attributed if one.evidence == OVERLAP and one.burst)  # withdrawn
    return msgspec.structs.replace(
        burst,
        ended=world.next_seq + len(attributed),
        ended_ns=world.now_ns,
        why=why,
        batches=burst.batches + proved,
        unclear=burst.unclear - proved,
    )


def _begun_by(params: NativeParams, world: World) -> Burst | None:
    mine = open_beside(NATIVE, world)
    if params.call:
        calls = {burst.number: world.history.writer_json(burst.writer)["tool_call"] for burst in mine}
        call = secret_scan.masked_name(params.call)  # as writers are introduced
        mine = [burst for burst in mine if calls[burst.number] == call]
    else:
        command = kept_command(params.command)
        mine = [burst for burst in mine if (burst.label, burst.command) == (_label(params), command)]
    return mine[-1] if mine else None


def kept_command(command: str) -> str:
    """Return a command line as the journal stores it: cut to `MOST_COMMAND`, with secrets redacted."""
    return _cut(secret_scan.redacted(command), MOST_COMMAND)


def _has_written(now: FileNow, params: NativeParams, own: Set[int], world: World) -> ReadServed | None:
    """Return the record that the session has read the current file, because the session wrote the file itself. None if
    other callers wrote in between, whose changes the session has not read.
    """
    head = shown_as(now)
    if now.kind != "file" or head is None:
        return None
    base = _base(now, False, world)
    if base is not None and base.blob != head.blob and _by_others(now.path, base.seq, world, own):
        return None
    text = now.text
    if text is None:
        return ReadServed(now.path, head.seq, (), False)
    if params.whole:
        return ReadServed(now.path, head.seq, ((0, len(text)),), False)
    return seen_with(_changed(now.path, head, text, world), False, now.path, head.seq, text, world)


def _changed(path: str, head: Version, text: Text, world: World) -> Ranges:
    before = standing(world.history.version_at(path, head.seq - 1))
    if before is None:
        return ((0, len(text)),)
    was = world.history.text_held(before.blob)
    changed = () if was is None else changed_ranges(diff(was, text))
    return tuple((r["start"] - 1, r["end"]) for r in changed if r["end"] >= r["start"])


# ── between calls ────────────────────────────────────────────────────────────


def _between(params: NativeParams, world: World) -> Decision:
    left = open_beside(NATIVE, world)
    events: list[Event] = []
    for burst in left:
        call = AnnouncedCall(burst.number, burst.writer, burst.paths, (), burst.command)
        end = CallEnd(burst, call, world.now_ns, announced=world.announced, is_reported=False)
        events += [*verdicts(end, world.history, by_its_command), BurstEnded(burst.number, UNREPORTED)]
    if params.moment == "turn" and (params.prompt or params.transcript):
        events.append(_turn(params, world))
    news, more = _news(world, 0, None) if params.moment in ("start", "turn") else ([], 0)
    message = f"{counted(len(left), 'open call')} ended."
    return Decision({"ok": True, "message": message, "news": news, "news_more": more}, events)


def _turn(params: NativeParams, world: World) -> TurnBegan:
    """Return the record of a turn's begin, with the text of the user's prompt, only its sha256, or neither, by the
    setting `hooks.prompts`.
    """
    kept = world.settings.hooks.prompts
    transcript = secret_scan.redacted(params.transcript[: 4 * MOST_TRANSCRIPT])[:MOST_TRANSCRIPT]
    if kept == "off":
        return TurnBegan(transcript=transcript)
    if kept == "text":  # no hash, because a short prompt can be guessed from it
        return TurnBegan(_cut(secret_scan.redacted(params.prompt), MOST_PROMPT), transcript=transcript)
    return TurnBegan("", hashlib.sha256(params.prompt.encode("utf-8", "replace")).digest(), transcript)


def _cut(text: str, most: int) -> str:
    """Return at most the first `most` characters of a text, cut at whitespace: the scan for secrets does not recognise
    half a secret.
    """
    if len(text) <= most:
        return text
    return text[:most].rsplit(maxsplit=1)[0] if len(text[:most].split(maxsplit=1)) > 1 else ""


# ── what others did ──────────────────────────────────────────────────────────


def _news(
    world: World, after: int, burst: Burst | None, own: Set[int] = frozenset()
) -> tuple[list[dict[str, Any]], int]:
    """Return (changes of other writers after record `after` to files that this session has read, number of files left
    out). Of each file the list has the newest change of each writer and other new ones; the file changed last is first.
    Their `touches` relates to the lines that `burst` wrote, or else to the lines that the session read.
    """
    found: list[tuple[str, Shown, Version | None, list[Version]]] = []
    for path in islice(world.history.stale_reads(world.who.key), MOST_LOOKED_AT):
        seen, head = world.history.shown(world.who.key, path), world.history.file(path)
        if seen is None or head is None or head.seq <= max(after, seen.news_after):
            continue
        base = world.history.version(path, seen.version)
        if base is not None and not (base.gone or head.gone) and base.blob == head.blob:
            continue  # the write was rolled back
        if is_as_seen(world.history, path, seen.news_after):
            continue
        by_others = [v for v in _by_others(path, seen.news_after, world, own) if v.seq > after]
        if by_others:
            found.append((path, seen, base, by_others))
    found.sort(key=lambda one: one[3][-1].seq, reverse=True)
    told: list[dict[str, Any]] = []
    for path, seen, base, by_others in found[:MOST_TOLD]:
        lines = _written_in(burst, path, seen.news_after, world) or CallerLines(seen.lines, base, shown=True)
        about = {"path": path, "since": version_token(seen.news_after)}
        newest = {world.history.caller_of(version.writer): version for version in by_others}
        some = sorted(newest.values(), key=lambda version: version.seq)[-MOST_WRITERS:]
        some += [version for version in reversed(by_others) if version not in some][: MOST_CHANGES - len(some)]
        each = sorted(some, key=lambda version: version.seq)
        told += [{**about, **e} for e in changes_told(world.history, path, each, lines)]
    return told, max(len(found) - MOST_TOLD, 0)


def _written_in(burst: Burst | None, path: str, after: int, world: World) -> CallerLines | None:
    if burst is None:
        return None
    for version in islice(world.history.versions(path, after=after, reverse=True), MOST_NEWS):
        if world.history.burst_word(burst.number, version.batch):
            before = standing(world.history.version_at(path, version.seq - 1))
            was = None if before is None else world.history.text_held(before.blob)
            done = done_by(world.history, path, version)
            return None if was is None or done is None else CallerLines(lines_of(inverse(done, was)), version)
    return None


def _by_others(path: str, after: int, world: World, own: Set[int] = frozenset()) -> list[Version]:
    """Return the versions of a file after record `after` that are not, and cannot be, the caller's. `own`: versions
    that this call attributes to the caller.
    """
    versions = world.history.changed_since(path, after, world.who.key)
    return [version for version in versions if version.seq not in own and not _may_be_own(version, world)]


def _may_be_own(version: Version, world: World) -> bool:
    """True if the version has no proved writer, and only the caller may have written it."""
    if version.type != OUTSIDE_TYPE or version.writer or version.evidence == TRACED:
        return False
    if version.evidence == OVERLAP:
        return world.history.only_candidate(version.seq) == world.who.key
    own = (burst for burst in own_open(world) if burst.number < version.seq)
    if any(_may_be_of(burst, version, world) for burst in own):
        return True
    return _is_left_running(version, world)


def _may_be_of(burst: Burst, version: Version, world: World) -> bool:
    """True if no other open call may have made the version, and the call names the file, or its command line accounts
    for it. A call that a person declines has no reported end, and is open until the turn ends.
    """
    word = world.history.burst_word(burst.number, version.batch)
    record = world.history.record(version.seq) if word == ONLY_OUTSIDE else None
    return word == NAMED or (record is not None and _accounts_for(burst, record))


_LEAVES_RUNNING: Final = re.compile(r"(?<![&><|\\])&(?![&>])|\b(?:nohup|setsid|disown)\b")
"""Command lines that leave a process running. A false match is harmless, as the command must also name the file."""


def _is_left_running(version: Version, world: World) -> bool:
    if version.type != OUTSIDE_TYPE or version.writer or version.evidence in (TRACED, OVERLAP):
        return False
    record = world.history.record(version.seq)
    if record is None:
        return False
    for burst in _own(world, version.seq):
        if world.history.writer_json(burst.writer)["turn"] != _turn_of(world):
            break
        if _LEAVES_RUNNING.search(burst.command) and _accounts_for(burst, record):
            return True
    return False


def _accounts_for(burst: Burst, record: Record) -> bool:
    """True if the command line of a call claims the record's file."""
    return bool(by_its_command(AnnouncedCall(burst.number, burst.writer, burst.paths, (), burst.command), record))


def _turn_of(world: World) -> str:
    introduced = world.who.introduction
    return introduced.turn if introduced is not None else str(world.history.writer_json(world.who.writer)["turn"])


def _left_over_reads(after: int, world: World) -> Iterator[str]:
    for path in islice(world.history.stale_reads(world.who.key), MOST_LOOKED_AT):
        seen = world.history.shown(world.who.key, path)
        since = after if seen is None else max(after, seen.news_after)
        if any(_is_left_running(v, world) for v in world.history.changed_since(path, since, world.who.key)):
            yield path


def _own(world: World, before: int) -> Iterator[Burst]:
    return (b for b in islice(world.history.bursts(before), MOST_BURSTS) if b.owner == world.who.key)


def _implied(params: NativeParams, history: History, who: Who) -> ImpliedFiles:
    """Return the call's files as implied files, so that an unreadable file does not refuse the call."""
    return ImpliedFiles(params.paths)


NATIVE_TOOL: Final[Tool[NativeParams]] = Tool(
    "native",
    NativeParams,
    no_paths,
    decide,
    writes=True,
    catch_up=True,
    settle_s=SETTLE_S,
    implies=_implied,
    reply=NativeReply,
)
