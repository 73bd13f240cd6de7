"""`stories`: history for people: turns, git operations, saves and bursts instead of records.

The journal's `stories` groups the records. This module adds the files of each story, with line counts and definitions,
within the work limit of one page.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from quire_daemon.core import Decision, Tool, World, no_paths, require_in_bounds
from quire_daemon.core.replies import StoriesReply
from quire_daemon.tools.evidence import claims, program_kind, tree_commands
from quire_daemon.tools.history.filters import (
    Filter,
    is_about,
    path_filter,
    single_path,
    stretch_between,
)
from quire_daemon.tools.history.pages import MOST_UNDONE, NEAR_BYTES, few_numbers, numbers_of
from quire_daemon.tools.history.renames import earlier_names
from quire_daemon.tools.history.short_names import spelled_out
from quire_daemon.tools.history.writers import is_unclaimed, nobody
from quire_journal.history import History, command_name, first_word, is_by_git, rfc3339
from quire_journal.history.renames import FoundRenames
from quire_journal.history.stories import (
    CAPTURE,
    CHECKPOINT,
    CROWD,
    FORMS,
    GIT,
    PERSON,
    RUN,
    SAVES,
    STORY_KINDS,
    TURN,
    UNDO,
    FileRun,
    Story,
    StoryCall,
    StoryQuery,
    Straddler,
    first_of,
    folders_of,
    net_of,
    story_page,
)
from quire_journal.model import (
    DURING,
    OUTSIDE,
    REGULAR,
    SCANNED,
    TRACED,
    BurstBegun,
    OutsideDeleted,
    OutsideWritten,
    Record,
    Refusal,
    counted,
    path_after,
    paths_of,
    version_token,
)
from quire_journal.storage.blobs import BlobCache, NotHeld
from quire_journal.text import Splice, Text, definitions_at, diff, spliced
from quire_journal.views import UNREPORTED, Burst, Version, standing
from quire_journal.views.indexes import of_kind

_Run = tuple[Version | None, Version, FileRun]
"""(version before a run, its newest version, the run)."""

MOST_STORIES: Final = 200
"""Maximum number of stories in one reply."""

MOST_VERSIONS: Final = 2000
"""Maximum number of versions that a call may name."""

MOST_FILES: Final = 12
"""Maximum number of files listed per story; with `all`, `MOST_FILES_OF_ALL`."""

MOST_FILES_OF_ALL: Final = 60

MOST_CALLS: Final = 40
MOST_REFUSED: Final = 5

MOST_BURSTS: Final = 20

MOST_BY_GIT: Final = 1000
"""Maximum number of writes during a run that are searched for those by git."""

MOST_SYMBOLS: Final = 4

MOST_DIFFERENCES: Final = 30

MOST_BYTES: Final = 256 * 1024
"""Maximum size in bytes of a text whose lines are counted."""

_CURSOR: Final = re.compile(
    r"s(\d{1,19})\.([0-9a-f]{1,16})((?:\.[0-9a-f]{1,8}-\d{1,19}-[0-9a-f]{1,16}){0,40})", re.ASCII
)


class StoriesParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `stories`."""

    path: str = ""  # a file, also under its earlier names; a folder, or a glob
    writer: str = ""  # an agent's name, `name/session`, `user`, `me`, `w3`, or `outside`
    agent_session: str = ""
    turn: str = ""
    agents: bool = False  # only stories of agents
    since: str = ""  # a point: stories after it
    until: str = ""  # a point: stories up to it
    all: bool = False  # every call, and more files
    versions: list[int] = []  # only with these versions
    limit: int = 15
    cursor: str | None = None

    def __post_init__(self) -> None:
        if len(self.versions) > MOST_VERSIONS:
            raise ValueError(f"`versions`: at most {MOST_VERSIONS}")


def tell(params: StoriesParams, world: World) -> Decision:
    """Return `stories`, and `next`, the cursor of the next page or None."""
    require_in_bounds("limit", params.limit, MOST_STORIES)
    history = world.history
    params = spelled_out(params, history)
    if params.writer and (said := nobody(params.writer, history)):
        raise Refusal("not_found", said, "who", argument="writer")
    after, upto = stretch_between(params.since, params.until, history)
    straddlers: Sequence[Straddler] = ()
    if params.cursor is not None:
        at, straddlers = _parse_cursor(params.cursor, world)
        upto = min(upto, at)
    found = story_page(_query(params, after, upto, straddlers, history), history)
    teller = _Teller(params.all, bool(params.path), history)
    stories = [teller.story(story) for story in found.stories]
    following = None
    if found.following is not None:
        following = _cursor_at(found.following, found.straddlers, world)
    many = counted(len(stories), "story", "stories")
    return Decision(
        {
            "ok": True,
            "message": f"{many}; `next` leads on." if following else f"{many}.",
            "stories": stories,
            "next": following,
            **({"capturing": True} if history.first_scan() is None else {}),
        }
    )


def _query(
    params: StoriesParams, after: int, upto: int, straddlers: Sequence[Straddler], history: History
) -> StoryQuery:
    forms = frozenset({TURN}) if params.agents else frozenset(FORMS)
    query = StoryQuery(after, upto, params.limit, forms=forms, straddlers=straddlers)
    if params.path:
        fits, single = path_filter(params.path, history), single_path(params.path, history)
        earlier = {} if single is None else earlier_names(single, history)
        numbers = few_numbers(params.path, fits, history) if single is None else numbers_of([single, *earlier], history)
        query = replace(query, fits=lambda path: fits(path) or path in earlier, numbers=numbers)
        query = _also(query, partial(is_about, path=fits, earlier=earlier)) if earlier else query
    if params.versions:
        named = frozenset(params.versions)
        oldest, newest = max(after, min(named) - 1), min(upto, max(named))
        query = replace(query, after=oldest, upto=newest)
        return _also(query, lambda record: record.seq in named)
    if params.writer or params.agent_session or params.turn:
        keep = Filter(history, STORY_KINDS, params.writer, "", params.agent_session, params.turn)
        query = _also(replace(query, wanted=keep.sought()[:-1]), keep.admitting())
    return query


def _also(query: StoryQuery, admits: Callable[[Record], bool | None]) -> StoryQuery:
    """Return the query with one more condition on records."""
    other = query.admits
    both = admits if other is None else lambda record: other(record) and admits(record)
    return replace(query, admits=both)


# ── cursors ──────────────────────────────────────────────────────────────────


def _cursor_at(seq: int, straddlers: Sequence[Straddler], world: World) -> str:
    told = "".join(f".{one.key:x}-{one.reached}-{one.began_ns:x}" for one in straddlers[:40])
    return f"s{seq}.{world.first_event_ns:x}{told}"


def _parse_cursor(cursor: str, world: World) -> tuple[int, list[Straddler]]:
    found = _CURSOR.fullmatch(cursor)
    if found is None:
        raise Refusal("schema_invalid", f"cursor: {cursor!r} is not a cursor of an earlier reply.", argument="cursor")
    if int(found[2], 16) != world.first_event_ns or int(found[1]) > world.history.head():
        raise Refusal("schema_invalid", "cursor: it belongs to another journal; begin anew.", argument="cursor")
    pairs = (one.split("-") for one in found[3].split(".")[1:])
    return int(found[1]), [Straddler(int(key, 16), int(reached), int(began, 16)) for key, reached, began in pairs]


# ── a story as replies show it ───────────────────────────────────────────────


class _Teller:
    def __init__(self, everything: bool, of_paths: bool, history: History) -> None:
        self._all, self._of_paths, self._history = everything, of_paths, history
        self._left = MOST_DIFFERENCES
        self._near = BlobCache(NEAR_BYTES)

    def story(self, story: Story) -> dict[str, Any]:
        """Return one story as `{form, seq, first, at, ended_at, writer, files, writes, …}`."""
        history = self._history
        told: dict[str, Any] = {
            "form": story.form,
            "seq": story.newest,
            "first": story.oldest,
            "at": rfc3339(story.began_ns),
            "ended_at": rfc3339(story.ended_ns),
            "writer": history.writer_json(story.writer),
            "whole": story.closed,
            "writes": story.writes,
            **self._files(story),
        }
        if story.probable and story.probable == story.writes:
            told["probable"] = True
        told |= _TELL[story.form](self, story)
        if story.refused:
            told["refused"] = [{"path": path, "code": code} for path, code in story.refused[:MOST_REFUSED]]
            told["refused_count"] = len(story.refused)
        return told

    def turn(self, story: Story) -> dict[str, Any]:
        every = sorted(story.calls.values(), key=lambda call: call.at_ns)
        calls = every if self._all else [call for call in every if call.writes]
        shown = [
            {
                "at": rfc3339(call.at_ns),
                "label": call.label,
                **({"command": call.command} if call.command else {}),
                **({"burst": call.number} if call.native else {"batch": call.number}),
                **({"status": call.status} if call.status is not None else {}),
                **self._end_of(call),
                "writes": call.writes,
                "paths": [*call.paths][:3],
            }
            for call in calls[:MOST_CALLS]
        ]
        prompt = {"prompt": story.prompt} if story.prompt else {}
        return {**prompt, "calls": shown, "calls_count": len(every)}

    def _end_of(self, call: StoryCall) -> dict[str, str]:
        burst = self._history.burst(call.number) if call.native else None
        if burst is None or burst.why not in ("", UNREPORTED):
            return {}
        return {"end": burst.why or "open"}

    def run(self, story: Story) -> dict[str, Any]:
        told: dict[str, Any] = {"commands": story.commands, "burst": int(story.key[1])}
        told |= {"by_git": count} if (count := self._written_by_git(story)) else {}
        if story.status is None:
            return told
        return {**told, "status": story.status, **({"by_others": story.by_others} if story.by_others else {})}

    def _written_by_git(self, story: Story) -> int:
        """Return the number of files that git wrote during a run whose command runs git, without proof that this git
        did.
        """
        if not any(map(tree_commands, story.commands)):
            return 0
        history = self._history
        batches = islice(history.burst_evidence(int(story.key[1])), MOST_BY_GIT)
        records = [record for seq, _ in batches if (record := history.record(seq)) is not None]
        events = (record.event() for record in records if history.author(record) == OUTSIDE)
        return len({path for event in events if is_by_git(getattr(event, "hint", "")) for path in paths_of(event)})

    def git(self, story: Story) -> dict[str, Any]:
        before, after = story.heads
        heads = {"head_before": before, "head_after": after} if before != after else {}
        failed = {"failed": True} if story.failed else {}
        return {"commands": _commands(story.commands), **heads, **failed, **_hint(story)}

    def person(self, story: Story) -> dict[str, Any]:
        """Return the additional fields of a user's writes: `hint`, the label of a burst, if there is one."""
        return _hint(story)

    def saves(self, story: Story) -> dict[str, Any]:
        """Return the additional fields of saves: what is known about their writer."""
        history, told = self._history, dict[str, Any]()
        record = history.record(story.newest)
        if story.form == SAVES and record is not None and is_unclaimed(record, history):
            told["unclaimed"] = True
        bursts = (history.burst(number) for number in story.candidates)
        found = [
            {"burst": burst.number, "label": burst.label, "writer": history.named(burst.writer)}
            for burst in bursts
            if burst is not None
        ]
        gone = sum(run.last_kind == OutsideDeleted.kind for run in story.runs) if story.form == CROWD else 0
        told |= {"gone_count": gone} if gone else {}
        program = self._program(story)
        told |= {"program": {"kind": program[0], "called": program[1]}} if program else {}
        return {**told, **({"candidates": found} if found else {}), **_hint(story)}

    def _program(self, story: Story) -> tuple[str, str] | None:
        """Return (kind, name) of the program that wrote, by the command line of the call that was open; None if
        unknown, or if the kernel saw that no call wrote.
        """
        history = self._history
        record = history.record(story.newest)
        known = None if record is None else history.attribution(record)
        if known is not None and known.writer == OUTSIDE and known.evidence == TRACED:
            return None
        event = None if record is None else record.event()
        is_scanned = isinstance(event, OutsideWritten | OutsideDeleted) and event.evidence == SCANNED
        found_path = path_after(event) if event is not None and is_scanned else ""
        bursts = [history.burst(number) for number in story.candidates] or [self._burst_of_hint(story)]
        for burst in bursts:
            if burst is not None and found_path and not claims(burst.command, found_path):
                continue  # saved at any time while no daemon ran
            if burst is not None and (found := program_kind(burst.command)) is not None:
                return found
            if burst is not None and burst.form == "formatter":
                return "formatter", burst.label
        return None

    def _burst_of_hint(self, story: Story) -> Burst | None:
        """Return the newest burst before the story with the label that the hint `label (who)` has, or None."""
        label, sign, _ = story.hint.rpartition(" (")
        if not sign or is_by_git(story.hint):
            return None
        wanted = [[of_kind(BurstBegun.kind)]]
        looked = 0
        for _, seqs in self._history.with_terms(wanted, 0, story.oldest, True):
            for seq in seqs:
                burst = self._history.burst(seq)
                if burst is not None and label in (burst.label, burst.form):
                    return burst
                looked += 1
                if looked == MOST_BURSTS:
                    return None
        return None

    def undo(self, story: Story) -> dict[str, Any]:
        undoing = story.undoing
        return {} if undoing is None else {"how": undoing.how, "undone": [*undoing.undone[:MOST_UNDONE]]}

    def checkpoint(self, story: Story) -> dict[str, Any]:
        return {"name": story.name, **({"note": story.note} if story.note else {})}

    def nothing(self, story: Story) -> dict[str, Any]:
        return {}

    # ── files ──

    def _files(self, story: Story) -> dict[str, Any]:
        """Return `files`, `files_count`, `files_more` and `folders`, without files that are in the end as they were."""
        if story.form == CAPTURE:
            return {"files": [], "files_count": story.files}
        listed = story.form not in (GIT, CROWD) or self._all or self._of_paths
        most = MOST_FILES_OF_ALL if self._all else MOST_FILES
        paths = [*dict.fromkeys(run.path for run in story.runs)]
        looked_at = paths[: 2 * most] if listed else []
        by_path: dict[str, list[_Run]] = {path: [] for path in looked_at}
        for run in first_of(story.runs, len(looked_at)) if looked_at else ():
            found = net_of(run, self._history)
            if found is not None:
                by_path[run.path].append((*found, run))
        by_path = self._with_found_renames({path: runs for path, runs in by_path.items() if runs})
        stay = [path for path, runs in by_path.items() if not _came_back(runs)]
        known = len(stay) + len(paths) - len(looked_at)
        count = known if not story.unread else story.writes
        files = [self._file(path, by_path[path]) for path in stay[:most]]
        if story.probable < story.writes:  # else the whole story is marked
            files = [file | self._doubt(by_path[path]) for path, file in zip(stay, files, strict=False)]
        told: dict[str, Any] = {"files": files, "files_count": count}
        if story.unread:
            told["unread"] = story.unread
        if count > len(files):
            told["files_more"] = count - len(files)
            told["folders"] = folders_of([*paths, *story.sample])
        return told

    @staticmethod
    def _doubt(runs: Sequence[_Run]) -> dict[str, Any]:
        return {"probable": True} if any(new.evidence == DURING for _, new, _ in runs) else {}

    def _with_found_renames(self, files: Mapping[str, list[_Run]]) -> dict[str, list[_Run]]:
        """Return the files, with a removed and an added file as one where their contents show a rename."""
        found = {**files}
        came = {runs[0][2].first: path for path, runs in files.items() if len(runs) == 1 and runs[0][0] is None}
        left = [(path, *runs[0]) for path, runs in files.items() if len(runs) == 1 and runs[0][1].gone]
        for path, old, removal, _ in left if came else ():
            one = self._history.once(FoundRenames).of(path, removal)
            if one is not None and old is not None and came.get(one.came) == one.new:
                _, new, run = files[one.new][0]
                found[one.new] = [(old, new, replace(run, base=old.seq, base_path=path))]
                del found[path]
        return found

    def _file(self, path: str, runs: Sequence[_Run]) -> dict[str, Any]:
        new, (old, _, first) = runs[0][1], runs[-1]
        status = "removed" if new.gone else "added" if old is None else "changed"
        told: dict[str, Any] = {"path": path, "status": status, "version": version_token(new.seq)}
        if old is not None and new.gone:
            told["path"] = first.base_path or path  # the later name was nobody's before
        if old is not None:
            told["before"] = version_token(old.seq)
            if not new.gone and first.base_path != path:
                told |= {"status": "moved", "moved_from": first.base_path}
            elif not new.gone and old.blob == new.blob and old.mode != new.mode:
                told["status"] = "mode"
        if not new.gone and new.uncaptured:
            told["uncaptured"] = new.uncaptured
        changes = _joined(runs)
        counts = [self._lines(before, after, path) for before, after in changes]
        if any(count is not None and count.get("binary") for count in counts):
            told["binary"] = True
        elif all(count is not None and "added" in count for count in counts):
            told["added"], told["removed"] = self._net(changes, [count for count in counts if count is not None])
            symbols = dict.fromkeys(name for count in counts if count is not None for name in count["symbols"])
            if symbols and status == "changed":
                told["symbols"] = [*symbols][:MOST_SYMBOLS]
        return told

    def _net(
        self, changes: Sequence[tuple[Version | None, Version]], counts: Sequence[Mapping[str, Any]]
    ) -> tuple[int, int]:
        """Return (lines added, lines removed) by several changes, newest first. A line that a change added and a later
        one removed does not count, unless too many texts would be compared.
        """
        added, removed = (sum(count[name] for count in counts) for name in ("added", "removed"))
        if len(changes) == 1 or self._left < len(changes) - 1:
            return added, removed
        self._left -= len(changes) - 1
        own, again, last = list[bool](), 0, None
        for (before, after), count in zip(reversed(changes), reversed(counts), strict=True):
            text = self._text(before)
            if text is None:
                return added, removed
            own = _marked(own, diff(last, text), False) if last is not None else [False] * len(text.lines)
            again += sum(sum(own[splice.start : splice.stop]) for splice in count["splices"])
            own, last = _marked(own, count["splices"], True), self._text(standing(after))
        return added - again, removed - again

    def _lines(self, old: Version | None, new: Version, path: str) -> dict[str, Any] | None:
        """Return `{added, removed, splices, symbols}` or `{binary}`; None if the texts are not compared."""
        both = [version for version in (old, standing(new)) if version is not None]
        if self._left <= 0 or any(one.size > MOST_BYTES or one.entry != REGULAR for one in both):
            return None
        self._left -= 1
        a, b = self._text(old), self._text(standing(new))
        if a is None or b is None:
            return None
        if a.binary or b.binary:
            return {"binary": True}
        splices = diff(a, b)
        places, moved = list[int](), 0
        for splice in splices:
            start = splice.start + moved
            places += [*range(start, start + len(splice.lines))[:50]] or [max(start - 1, 0)]
            moved += splice.shift
        return {
            "added": sum(len(s.lines) for s in splices),
            "removed": sum(s.stop - s.start for s in splices),
            "splices": splices,
            "symbols": definitions_at(path, b.lines, places[:200]) if old is not None else [],
        }

    def _text(self, version: Version | None) -> Text | None:
        if version is None:
            return Text.of(b"")
        try:
            return Text.of(self._history.bytes_near(version.blob, self._near))
        except NotHeld:
            return None


def _marked(marks: Sequence[bool], splices: Sequence[Splice], mark: bool) -> list[bool]:
    """Return the marks of the lines of a text after `splices`; lines that these bring get `mark`."""
    return spliced(marks, splices, [[mark] * len(s.lines) for s in splices])


def _joined(
    runs: Sequence[_Run],
) -> list[tuple[Version | None, Version]]:
    """Return the changes of a file as (before, after), newest first. A change that begins with the bytes at which the
    previous change ended is joined with that. A change that only comes back to these bytes (a stash, a branch) is left
    out.
    """
    found: list[tuple[Version | None, Version]] = []
    for old, new, _ in reversed(runs):
        if found and (_same_bytes(found[-1][1], old) or (found[-1][1].gone and old is None)):
            found[-1] = (found[-1][0], new)
        elif not (found and _same_bytes(found[-1][1], new)):
            found.append((old, new))
    return [(old, new) for old, new in reversed(found) if not _same_bytes(old, new)] or found[-1:]


def _came_back(runs: Sequence[_Run]) -> bool:
    """True if the file's last version equals the version before the first, as after a `git checkout` that writes equal
    bytes again.
    """
    (old, new), *others = _joined(runs)
    is_moved = runs[-1][2].base_path != runs[0][2].path
    return not others and not is_moved and _same_bytes(old, new) and old is not None and old.mode == new.mode


def _same_bytes(one: Version | None, other: Version | None) -> bool:
    one, other = standing(one), standing(other)
    return one is not None and other is not None and bool(one.blob) and one.blob == other.blob


def _commands(commands: Sequence[str]) -> list[str]:
    """Return commands of git; several steps of one command (`am: one`, `am: two`) become its name."""
    words = Counter(map(first_word, commands))
    return [*dict.fromkeys(command_name(one) if words[first_word(one)] > 1 else one for one in commands)]


def _hint(story: Story) -> dict[str, Any]:
    return {"hint": story.hint} if story.hint else {}


_TELL: Final = {
    TURN: _Teller.turn,
    GIT: _Teller.git,
    SAVES: _Teller.saves,
    CROWD: _Teller.saves,
    PERSON: _Teller.person,
    RUN: _Teller.run,
    UNDO: _Teller.undo,
    CHECKPOINT: _Teller.checkpoint,
    CAPTURE: _Teller.nothing,
}
"""Method that returns the additional reply fields, by the story's form."""


STORIES_TOOL: Final[Tool[StoriesParams]] = Tool(
    "stories",
    StoriesParams,
    no_paths,
    tell,
    catch_up=True,
    of_tree=True,
    long=True,
    all_noted=True,
    asks=("path",),
    reply=StoriesReply,
)
