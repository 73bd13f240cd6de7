"""Stories: the log grouped for display, newest first.

A story is a turn of an agent session, a command that `quire run` ran outside of turns, a git operation, outside saves
within a short time, a crowd of files that a program wrote at once, an undo, a checkpoint, or the first capture. An
agent session without turns has a story for the work between two pauses, or two git commands of its own that moved HEAD,
at most an hour. A story stands at its newest record; that of a git command at the newest record when it ended, or at
its newest write if that was recorded later. A page reads a bounded number of records, then more for the stories that it
has cut. A story that is still cut is not `closed`, and continues on the next page as another story. Long stretches of
only outside writes are not read record by record.
"""

from __future__ import annotations

import zlib
from bisect import bisect_right, insort
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Final

from quire_journal.history import NAMELESS, UNDOING, History, command_name, command_of, is_by_git, keeps_tree
from quire_journal.history.stories.git_stories import LAG_NS, GitStories, ended_before, is_beside
from quire_journal.history.stories.story import (
    CAPTURE,
    CHECKPOINT,
    CROWD,
    GIT,
    PERSON,
    RUN,
    SAVES,
    SECOND,
    TURN,
    UNDO,
    FileRun,
    Key,
    Story,
    StoryCall,
    StoryQuery,
)
from quire_journal.model import (
    CAPTURED,
    DURING,
    FOLDER,
    IGNORED,
    OUTSIDE,
    REGULAR,
    SCANNED,
    SETUP,
    BatchUndone,
    BurstBegun,
    CaptureFailed,
    CheckpointNamed,
    CommandRan,
    EditRefused,
    Event,
    FileDeleted,
    FileMoved,
    GitRan,
    OutsideDeleted,
    OutsideMoved,
    Record,
    TurnBegan,
    WorkspaceScanned,
    WriteAttributed,
    WritesAbandoned,
    paths_of,
)
from quire_journal.views import OUTSIDE_WRITES, RUN as OF_RUN, TOOL_WRITES
from quire_journal.views.indexes import of_kind, term_index

PAUSE_NS: Final[Mapping[str, int]] = {TURN: 1800 * SECOND, GIT: 2 * SECOND, SAVES: 120 * SECOND, PERSON: 120 * SECOND}
"""Form → pause that ends a story, in ns, else `CROWD_PAUSE_NS`; runs, and turns with an id, end only at their first
record.
"""

LONGEST_NS: Final[Mapping[str, int]] = {TURN: 3600 * SECOND, SAVES: 600 * SECOND, PERSON: 600 * SECOND}
"""Form → maximum duration of a story, in ns: a morning of steady work is several. A turn with an id has none."""

VOLLEY_NS: Final = 2 * SECOND
"""Maximum pause in ns within a volley: outside writes that are sorted together into saves and crowds."""

CROWD_PATHS: Final = 12
"""Maximum number of files of a volley that counts as saves, not as a CROWD."""

CROWD_PAUSE_NS: Final = 30 * SECOND

DENSE: Final = 100

AHEAD: Final = 4096
"""Number of records after a write that are searched for attributions."""

LATE: Final = 4096
"""Number of records before that of a git command that are searched for the newest when it ended."""

GRACE: Final = 300
"""Maximum number of further records that a full page reads to complete its stories, and then for those still cut."""

MOST_NEAR: Final = 64
"""Maximum number of bursts before a write that are searched for an isolated run."""

_WRITES: Final = frozenset(event.kind for event in (*TOOL_WRITES, *OUTSIDE_WRITES))
_BY_OTHERS: Final = frozenset(event.kind for event in OUTSIDE_WRITES)
_BESIDE: Final = (
    *(TurnBegan, GitRan, BurstBegun, CommandRan, EditRefused, BatchUndone, CheckpointNamed),
    *(WriteAttributed, WritesAbandoned),
)
STORY_KINDS: Final = _WRITES | {event.kind for event in _BESIDE}

_PARTING_TERMS: Final = [of_kind(GitRan.kind), of_kind(BatchUndone.kind)]
_ALL_TERMS: Final = [of_kind(kind) for kind in sorted(STORY_KINDS)]
_JOINT_TERMS: Final = [
    of_kind(kind) for kind in sorted({*_BY_OTHERS, *(e.kind for e in (GitRan, BatchUndone, *_BESIDE[-2:]))})
]
_BY_OTHERS_TERMS: Final = [of_kind(kind) for kind in sorted(_BY_OTHERS)]
_OTHER_TERMS: Final = [of_kind(kind) for kind in sorted(STORY_KINDS - _BY_OTHERS)]


def key_hash(key: Key) -> int:
    return zlib.crc32("\0".join(key).encode("utf-8", "surrogatepass"))


class StoryFold:
    def __init__(self, query: StoryQuery, history: History) -> None:
        self.query, self.history = query, history
        self.stories: list[Story] = []  # newest first; a volley is inserted later than records between its writes
        self._open: dict[Key, Story] = {}
        self._expected: dict[tuple[int, int], FileRun] = {}  # (newest record of a story, base of a run) → the run
        self._attributed: dict[int, WriteAttributed] = {}
        self._abandoned: set[int] = set()
        self._keys: dict[int, Key | None] = {}  # writer → the key of its stories
        self._runs: dict[int, Key | None] = {}  # burst → the key of its story; None: no run outside of turns
        self._volley: list[tuple[Record, Event]] = []
        self._ran: list[tuple[Record, GitRan]] = []  # commands recorded later than records older than their end
        self._git = GitStories(self._ends)
        self._left = query.work
        self._narrow = bool(query.wanted) or query.numbers is not None or query.admits is not None
        self._captured = history.first_scan() or 0
        self._told_before = {one.key: one for one in query.straddlers}
        if query.upto < history.head() and not self._narrow:
            self._look_ahead(query.upto, query.upto)

    def run(self) -> int | None:
        """Fold until the page is full, and close its stories that are whole. Return the record reached; None if no
        older record is left.
        """
        reached = self._run()
        told = self.stories[: self.query.limit]
        for story in told:
            story.closed = story.closed or reached is None or self.is_over(story)
        if reached is None:
            return None
        cut = sorted((story for story in told if not story.closed), key=lambda story: story.form == TURN)
        left, self._narrow = GRACE, True
        for number, story in enumerate(cut):
            share = self._left = left // (len(cut) - number)
            story.closed = self._read_rest(story, reached)
            left -= share - self._left
        return reached

    def _run(self) -> int | None:
        query, reached = self.query, None
        floor = max(query.after, self._captured)
        for step, block in self._steps(floor):
            is_dense = len(block) >= DENSE and query.fits is None and not query.joint
            for seqs in self._without_pauses(block) if is_dense else (block,):
                if is_dense and len(seqs) >= DENSE and self._as_a_whole(seqs):
                    reached = seqs[-1]
                    continue
                for seq in seqs:
                    if self._left <= 0:
                        self._flush_all()
                        return reached if reached is not None else seq + 1
                    self._left -= 1
                    self._look_at(seq)
                    reached = seq
                    if self._is_full():
                        self._flush_all()
                        return reached
            reached = step
        self._flush_all()
        if not self._captured or query.after >= self._captured:
            return None
        return self._first_capture()

    def run_to(self, wanted: int) -> None:
        """Fold until the stories of git, and crowds, that have or may have record `wanted` are complete."""
        for seq in (seq for _, block in self._steps(self._captured) for seq in block):
            if self._left <= 0:
                break
            self._left -= 1
            self._look_at(seq)
            if seq >= wanted or (self._volley and self._volley[0][0].seq >= wanted):
                continue
            if all(self.is_over(story) for story in self.stories if story.form != SAVES and story.newest >= wanted):
                break
        self._flush_all()

    def _steps(self, floor: int) -> Iterator[tuple[int, Sequence[int]]]:
        query = self.query
        if query.upto <= floor:
            return
        if query.numbers is not None:
            for seq in self.history.touching(query.numbers, floor, query.upto, True):
                yield seq, (seq,)
            return
        wanted = [*query.wanted, _JOINT_TERMS if query.joint else _ALL_TERMS]
        yield from self.history.with_terms(wanted, floor, query.upto, True)

    def _is_full(self) -> bool:
        limit = self.query.limit
        if len(self.stories) <= limit:
            return False
        self._left = min(self._left, GRACE)
        return not (self._volley or self._ran) and all(
            story.closed or story.form == TURN or self.is_over(story) for story in self.stories[:limit]
        )

    def is_over(self, story: Story) -> bool:
        return self._ends(story, self._now_ns)

    _now_ns: int = 1 << 63

    # ── the rest of stories that the page has cut ──

    def _read_rest(self, story: Story, reached: int) -> bool:
        """Return True if all records of `story` are in it, False if some before seq `reached` may be missing. The
        records of an agent's or a person's story are first read and added.
        """
        if story.form in (RUN, UNDO):
            number = int(story.key[1])
            batches = [number] if story.form == UNDO else self.history.burst_batches(number)
            return all(batch >= reached for batch in batches)
        floor, longest_ns = self.query.after, 0 if _has_turn(story.key) else LONGEST_NS.get(story.form, 0)
        if longest_ns:
            floor = max(floor, self._newest_at(story.ended_ns - longest_ns - 1, reached - 1, reached))
        theirs = self.history.with_terms([*_terms_of(story.key), *self.query.wanted], floor, reached - 1, True)
        for seq in (seq for _, seqs in theirs for seq in seqs):
            if self._left <= 0:
                return False
            self._left -= 1
            record = self.history.record(seq)
            if record is None or (self.query.numbers is not None and not self._names_a_path(record)):
                continue
            if story.form not in (TURN, PERSON):
                return self._ends(story, record.at_ns) or self._is_parted(story, record)
            self._only = story
            self._look_at(seq)
            self._only = None
            if story.closed or self._ends(story, record.at_ns):
                return True
        return True

    _only: Story | None = None
    """The only story that takes records now; None: all do."""

    # ── blocks that are not read ──

    def _look_ahead(self, after: int, newest: int) -> None:
        upto = min(newest + AHEAD, self.history.head())
        for _, seqs in self.history.with_terms([[of_kind(WriteAttributed.kind)]], after, upto, True):
            for seq in seqs:
                event = self.history.event(seq)
                if isinstance(event, WriteAttributed):
                    self._attribute(event)

    def _without_pauses(self, seqs: Sequence[int]) -> Iterator[Sequence[int]]:
        known: dict[int, int] = {}

        def at_ns(place: int) -> int:
            if place not in known:
                self._left -= 1
                record = self.history.record(seqs[place])
                known[place] = 0 if record is None else record.at_ns
            return known[place]

        def cuts(first: int, last: int) -> Iterator[int]:
            if at_ns(first) - at_ns(last) <= VOLLEY_NS:
                return
            if last - first == 1:
                yield last
                return
            middle = (first + last) // 2
            yield from cuts(first, middle)
            yield from cuts(middle, last)

        begin = 0
        for cut in cuts(0, len(seqs) - 1):
            yield seqs[begin:cut]
            begin = cut
        yield seqs[begin:]

    def _as_a_whole(self, seqs: Sequence[int]) -> bool:
        newest, oldest = seqs[0], seqs[-1]
        if self._narrow:
            self._look_ahead(oldest, newest)
        others = self.history.with_terms([*self.query.wanted, _OTHER_TERMS], oldest - 1, newest, True)
        if any(found for _, found in others) or any(seq in self._attributed for seq in seqs):
            return False
        ends = [self.history.record(seqs[at]) for at in (0, len(seqs) // 2, -1)]
        found = [(record, record.event()) for record in ends if record is not None]
        hints = {getattr(event, "hint", "") for _, event in found}
        self._left -= 3
        if self.query.admits is not None and not all(self.query.admits(record) for record, _ in found):
            return False
        if len(found) < 3 or len(hints) != 1 or found[0][0].at_ns - found[2][0].at_ns > CROWD_PAUSE_NS:
            return False
        hint, newest_ns = hints.pop(), found[0][0].at_ns
        self._tell_commands(newest_ns, hint)
        self._flush_before(newest_ns)
        self._flush(None if is_by_git(hint) else hint)
        self._now_ns = found[2][0].at_ns
        if is_by_git(hint):
            key = self._git.of_write(hint, newest_ns) or self._new_git(command_of(hint))
        else:
            key = (None if hint else self._git.stash_before(newest_ns, True)) or (CROWD, hint)
        story = self._story(key, found[0][0])
        if story is None:
            return True
        self._grow(story, found[2][0])
        story.writes += len(seqs)
        story.unread += len(seqs)
        story.seqs += seqs
        story.hint = story.hint or hint
        for _, event in found:
            story.sample |= dict.fromkeys(paths_of(event))
        return True

    def _first_capture(self) -> int | None:
        query = self.query
        record = self.history.record(self._captured) if query.upto >= self._captured else None
        if record is not None and not self._narrow:
            story = self._story((CAPTURE,), record)
            event = record.event()
            if story is not None and isinstance(event, WorkspaceScanned):
                story.files, story.closed = event.files, True
        wanted = [*query.wanted, _OTHER_TERMS]
        upto = min(query.upto, self._captured)
        for _, seqs in self.history.with_terms(wanted, query.after, upto, True):
            for seq in seqs:
                if self._left <= 0:
                    return seq + 1
                self._left -= 1
                self._look_at(seq)
        self._flush_all()
        return None

    # ── single records ──

    def _look_at(self, seq: int) -> None:
        record = self.history.record(seq)
        if record is None or seq in self._abandoned:
            return
        event = record.event()
        if isinstance(event, WriteAttributed):
            self._attribute(event)
        elif isinstance(event, WritesAbandoned):
            self._abandoned.update(event.seqs)
        elif event is not None and record.kind in STORY_KINDS:
            if self.query.admits is not None and not self.query.admits(record):
                return
            if getattr(event, "entry", REGULAR) == FOLDER and getattr(event, "by", "") != UNDOING:
                return  # its files have stories; an empty folder has one only if an undo made it
            if isinstance(event, CaptureFailed) and event.why == IGNORED:
                return  # a rule names the file now: nobody wrote it
            if isinstance(event, GitRan):
                self._ran.append((record, event))
                self._ran.sort(key=lambda one: -_ended_ns(*one))
                return
            self._tell_commands(record.at_ns, getattr(event, "hint", ""))
            self._flush_before(record.at_ns)
            if self._is_plain(record, event):
                self._volley.append((record, event))
            else:
                self._tell(record, event)
            self._now_ns = min(self._now_ns, record.at_ns)

    def _attribute(self, event: WriteAttributed) -> None:
        for seq in event.seqs:
            if seq not in self._attributed:
                self._attributed[seq] = event
                if seq <= self._captured and event.writer:  # otherwise never read
                    self._look_at(seq)

    def _attribution(self, record: Record) -> WriteAttributed | None:
        return self.history.attribution(record) if self._narrow else self._attributed.get(record.seq)

    def _is_plain(self, record: Record, event: Event) -> bool:
        if record.writer != OUTSIDE or record.kind not in _BY_OTHERS or is_by_git(getattr(event, "hint", "")):
            return False
        found = self._attribution(record)
        return found is None or found.writer == OUTSIDE

    def _flush_before(self, at_ns: int) -> None:
        if self._volley and self._volley[-1][0].at_ns - at_ns > VOLLEY_NS:
            self._flush()

    def _flush_all(self) -> None:
        self._tell_commands(0)
        self._flush()

    def _flush(self, crowd: str | None = None) -> None:
        """Put the outside writes collected so far (the volley) into stories: many with one hint, or any with the hint
        `crowd`, into a crowd, others into saves or a story of git.
        """
        volley, self._volley = self._volley, []
        if not volley:
            return
        crowds = {hint for hint in {getattr(event, "hint", "") for _, event in volley} if self._is_crowd(volley, hint)}
        crowds |= {crowd} if crowd is not None else set()
        stash = self._git.stash_before(volley[0][0].at_ns, "" in crowds)
        for record, event in volley:
            found = self._attribution(record)
            hint = getattr(event, "hint", "")
            how = "scanned" if getattr(event, "evidence", "") in (SCANNED, CAPTURED) else ""
            doubt = map(str, found.candidates) if found is not None else ()
            key: Key = (CROWD, hint) if hint in crowds else (SAVES, hint, how, *doubt)
            if not hint:
                key = stash or self._git.at(record, event) or key
            story = self._write(key, record, event)
            if story is not None:
                story.hint = story.hint or hint
                if found is not None and found.candidates:
                    story.candidates = story.candidates or found.candidates

    def _is_crowd(self, volley: Sequence[tuple[Record, Event]], hint: str) -> bool:
        meant = [(record, event) for record, event in volley if getattr(event, "hint", "") == hint]
        begun = self._open.get((CROWD, hint))
        if begun is not None and begun.began_ns - meant[0][0].at_ns <= VOLLEY_NS:
            return True
        if len(meant) >= DENSE and meant[0][0].at_ns - meant[-1][0].at_ns <= CROWD_PAUSE_NS:
            return True
        return len({path for _, event in meant for path in paths_of(event)}) > CROWD_PATHS

    def _tell(self, record: Record, event: Event) -> None:
        if record.kind in _WRITES:
            self._tell_write(record, event)
        elif isinstance(event, BatchUndone):
            self._part_saves(record.at_ns)
            story = self._story((UNDO, str(record.batch)), record)
            if story is not None:
                story.undoing, story.writer = event, record.writer
        elif isinstance(event, CheckpointNamed):
            story = self._story((CHECKPOINT, str(record.seq)), record)
            if story is not None:
                story.name, story.note, story.writer, story.closed = event.name, event.note, record.writer, True
        else:
            self._tell_of_agent(record, event)

    def _tell_write(self, record: Record, event: Event) -> None:
        found = self._attribution(record)
        run = self._key_of_run(found.burst) if found is not None and found.writer else None
        hint = getattr(event, "hint", "")
        # `git mv` and `git rm` in a call are the call's work, as `mv` and `rm` are
        is_moved = isinstance(event, OutsideMoved | OutsideDeleted) and hint in NAMELESS
        is_of_call = run is not None or (found is not None and found.writer and is_moved)
        if (not is_of_call or RUN not in self.query.forms) and record.writer == OUTSIDE and is_by_git(hint):
            self._tell_write_of_git(record, event, 0 if found is None else found.writer)
            return
        writer = record.writer if found is None else found.writer
        landed = self._landed_by(record, event) if found is None else None
        if found is None:
            run = self._run_of(record) or (self._key_of_run(landed) if landed is not None else None)
        undoing = getattr(event, "by", "") == UNDOING
        own = (UNDO, str(record.batch)) if undoing else run or self._key_of(writer)
        if own is not None and own[0] == PERSON and found is not None and not found.burst:
            own = (SAVES, *own)  # as the person's editor reported the save
        label = self._part_bursts(own, found) if own is not None and own[0] == PERSON else ""
        story = None if own is None else self._write(own, record, event)
        if story is None:
            return
        story.writer = story.writer or writer
        story.closed = story.closed or (undoing and record.seq == record.batch)
        story.probable += found is not None and found.evidence == DURING
        story.hint = label if story.form == PERSON else story.hint
        if story.form == TURN:
            number = landed or (found.burst if found is not None and found.burst else record.batch)
            call = story.calls.setdefault(number, StoryCall(number, record.at_ns))
            call.native = call.native or found is not None or landed is not None
            if not call.label and found is None and landed is None:
                call.label = getattr(event, "dialect", "") or getattr(event, "by", "")
            call.writes += 1
            call.paths |= dict.fromkeys(paths_of(event)[-1:])

    def _part_bursts(self, key: Key, found: WriteAttributed | None) -> str:
        """Close the open story of a person if its writes are of another burst, such as the next `quire setup`; return
        the label of the burst that an older write is of, "" for none.
        """
        burst = None if found is None else self.history.burst(found.burst)
        label = "" if burst is None else burst.label
        if key in self._open and self._open[key].hint != label:
            self._open.pop(key).closed = True
        return label

    def _part_saves(self, at_ns: int) -> None:
        """Close the open saves after a git command or undo at `at_ns`: older saves are another story."""
        for key in [key for key, one in self._open.items() if key[0] in (SAVES, CROWD) and one.began_ns >= at_ns]:
            self._open.pop(key).closed = True

    # ── git ──

    def _tell_write_of_git(self, record: Record, event: Event, writer: int) -> None:
        hint = getattr(event, "hint", "")
        ended = partial(ended_before, record, self.history)
        key = self._git.of_write(hint, record.at_ns, paths_of(event), ended) or self._new_git(command_of(hint))
        named, beside = {*paths_of(event)}, list[tuple[Record, Event]]()
        while self._volley and is_beside(*self._volley[-1], record.at_ns, named):
            beside.append(self._volley.pop())
        for late in (*reversed(beside), (record, event)):
            story = self._write(key, *late)
        if story is not None:
            story.hint = hint if command_of(hint) else story.hint or hint
            story.writer = story.writer or writer
            story.wrote_ns = record.at_ns

    def _tell_commands(self, at_ns: int, hint: str = "") -> None:
        """Put into stories the git commands that ended after a write at `at_ns`, and those up to the command that the
        write's `hint` names.
        """
        while self._ran and _ended_ns(*self._ran[0]) + LAG_NS >= at_ns:
            self._tell_git(*self._ran.pop(0))
        named = command_of(hint) if self._ran else ""
        if not named or self._git.has(named, at_ns):
            return
        at = next((at for at, (_, ran) in enumerate(self._ran) if command_name(ran.command) == named), -1)
        for record, ran in self._ran[: at + 1]:
            self._tell_git(record, ran)
        del self._ran[: at + 1]

    def _part_work(self, record: Record, event: GitRan, at_ns: int) -> None:
        """Close the open story of an agent without turns after a git command of its own that moved HEAD."""
        whose = self._key_of(record.writer) if _moved_head(event) else None
        story = self._open.get(whose) if whose is not None and _is_turnless(whose) else None
        if whose is not None and story is not None and story.began_ns >= at_ns:
            self._open.pop(whose).closed = True

    def _tell_git(self, record: Record, event: GitRan) -> None:
        at_ns = _ended_ns(record, event)
        self._flush()
        self._part_saves(at_ns)
        self._part_work(record, event, at_ns)
        key = self._git.of_command(event, at_ns) or self._new_git(command_name(event.command))
        story = self._story(key, record, at_ns)
        if story is None:
            return
        if event.command not in story.commands:
            story.commands.append(event.command)
        story.keeps_tree = keeps_tree(event)
        story.failed = story.failed or (len(story.commands) == 1 and bool(event.exit_code))
        story.heads = (event.head_before or story.heads[0], story.heads[1] or event.head_after)
        story.writer = story.writer or record.writer
        if event.started_ns:
            story.started_ns = min(story.started_ns or event.started_ns, event.started_ns)
        self._grow(story, record, event.started_ns or at_ns)

    def _new_git(self, command: str) -> Key:
        key = (GIT, command)
        if key in self._open:
            self._open.pop(key).closed = True
        return key

    def _tell_of_agent(self, record: Record, event: Event) -> None:
        number = record.seq if isinstance(event, BurstBegun) else event.burst if isinstance(event, CommandRan) else 0
        if number and (run := self._key_of_run(number)) is not None:
            story = self._story(run, record)
            if isinstance(event, BurstBegun):
                self._open.pop(run, None)  # no older record belongs to the run
                if story is not None:
                    story.closed = True
            return
        key = self._key_of(record.writer)
        if key is None or (key[0] != TURN and not isinstance(event, EditRefused)):
            return
        if isinstance(event, EditRefused) and not event.path:
            return  # such as an undo of an unknown batch: no file was involved
        if isinstance(event, BurstBegun | CommandRan) and not key[3] and key not in self._open:
            return  # a call outside of turns that wrote nothing
        story = self._story(key, record)
        if story is None:
            return
        story.writer = story.writer or record.writer
        if isinstance(event, TurnBegan):
            story.prompt, story.transcript, story.closed = event.prompt, event.transcript, True
        elif isinstance(event, BurstBegun):
            call = story.calls.setdefault(record.seq, StoryCall(record.seq, record.at_ns, native=True))
            call.label, call.command, call.at_ns = event.label, event.command, record.at_ns
        elif isinstance(event, CommandRan):
            call = story.calls.setdefault(event.burst, StoryCall(event.burst, record.at_ns, native=True))
            call.status = event.status
        elif isinstance(event, EditRefused):
            story.refused.append((event.path, event.code))

    def _key_of(self, writer: int) -> Key | None:
        if writer not in self._keys:
            who = self.history.writer(writer)
            if who is None:
                self._keys[writer] = (SAVES, "", "")
            elif who.agent not in ("", SETUP):
                self._keys[writer] = (TURN, who.agent, who.parent or who.agent_session, who.turn)
            else:
                self._keys[writer] = (PERSON, str(who.uid), who.agent_session)
        return self._keys[writer]

    def _key_of_run(self, number: int) -> Key | None:
        if number not in self._runs:
            burst = self.history.burst(number) if number else None
            whose = self._key_of(burst.writer) if burst is not None and burst.form == OF_RUN else None
            in_turn = whose is None or (whose[0] == TURN and bool(whose[3]))
            self._runs[number] = None if in_turn else (RUN, str(number))
        return self._runs[number]

    def _run_of(self, record: Record) -> Key | None:
        runs = (key for key in self._open if key[0] == RUN)
        return next((key for key in runs if self.history.in_burst(int(key[1]), record.batch)), None)

    def _landed_by(self, record: Record, event: Event) -> int | None:
        """Return the burst of the `quire run` on a copy of the tree whose command made a write;
        None for another write.
        """
        if not (getattr(event, "dialect", "") == OF_RUN or isinstance(event, FileDeleted)):
            return None
        near = (burst for burst in islice(self.history.bursts(record.seq), MOST_NEAR) if burst.form == OF_RUN)
        found = (one.number for one in near if self.history.in_burst(one.number, record.batch))
        return next(found, None)

    # ── stories ──

    def _story(self, key: Key, record: Record, ended_ns: int = 0) -> Story | None:
        """Return the story with `key`, new if none is open, extended by `record`; None if the page does not show it.
        `ended_ns`: end of the git command that `record` is of.
        """
        if key[0] not in self.query.forms:
            return None
        at_ns = ended_ns or record.at_ns
        if self._only is not None and key != self._only.key:
            return None
        told = self._told_before.get(key_hash(key)) if self._told_before else None
        if told is not None and record.seq >= told.reached and at_ns >= told.began_ns:
            return None
        story = self._open.get(key)
        if story is not None and (self._ends(story, at_ns) or self._is_parted(story, record)):
            story.closed = True
            story = None
        if story is None and self._only is not None:
            return None
        if story is None and self.query.fits is not None and not self._names_a_path(record):
            return None  # not about the wanted paths
        if story is None:
            place = self._newest_at(at_ns, record.seq) if ended_ns else record.seq
            story = Story(key, record.seq, record.seq, at_ns, at_ns, place)
            self._open[key] = story
            if story.form == GIT:
                self._git.add(story)
            insort(self.stories, story, key=lambda one: -one.place)
        self._grow(story, record, at_ns)
        return story

    def _place_after(self, story: Story, seq: int) -> None:
        """Move a story of git to the place of its write `seq` on the page, if that was recorded
        after the story's end.
        """
        if seq > story.place:
            del self.stories[next(at for at, one in enumerate(self.stories) if one is story)]
            story.place = seq
            insort(self.stories, story, key=lambda one: -one.place)

    def _newest_at(self, at_ns: int, seq: int, most: int = LATE) -> int:
        """Return the newest record not dated after `at_ns`, of the `most` up to `seq`."""

        def noted_ns(one: int) -> int:
            record = self.history.record(one)
            return 0 if record is None else record.at_ns

        first = max(seq - most, 0)
        return first + bisect_right(range(first + 1, seq + 1), at_ns, key=noted_ns)

    def _names_a_path(self, record: Record) -> bool:
        return any(map(self.query.fits, paths_of(record.event()))) if self.query.fits is not None else False

    def _ends(self, story: Story, at_ns: int) -> bool:
        if story.form == RUN or _has_turn(story.key):
            return False
        if story.ended_ns - at_ns > LONGEST_NS.get(story.form, 1 << 63):
            return True
        return story.began_ns - at_ns > PAUSE_NS.get(story.form, CROWD_PAUSE_NS)

    def _is_parted(self, story: Story, record: Record) -> bool:
        """True if an event between a story and an older record ended the story. For saves, that is a change of the same
        file by others, and on a filtered page, which does not read commands, git or an undo. For an agent without turns
        it is its own git.
        """
        if story.form == SAVES and self._was_changed_between(story, record):
            return True
        is_of_saves = story.form in (SAVES, CROWD)
        if not self._narrow or not (is_of_saves or _is_turnless(story.key)) or story.oldest - record.seq < 2:
            return False
        between = self.history.with_terms([_PARTING_TERMS], record.seq, story.oldest - 1, True)
        parting = (self.history.record(seq) for _, seqs in between for seq in seqs)
        events = ((one, one.event()) for one in parting if one is not None)
        if is_of_saves:
            return any(isinstance(event, GitRan | BatchUndone) for _, event in events)
        moved = (one for one, event in events if isinstance(event, GitRan) and _moved_head(event))
        return any(self._key_of(one.writer) == story.key for one in moved)

    def _was_changed_between(self, story: Story, record: Record) -> bool:
        """True if another story has the next version of a path of the older `record`, before the end of `story`, which
        would tell a change that did not last so long.
        """
        after = record.seq
        nexts = (next(self.history.versions(path, after=after), None) for path in paths_of(record.event()))
        return any(one is not None and one.seq <= story.newest and one.seq not in story.seqs for one in nexts)

    def _grow(self, story: Story, record: Record, at_ns: int = 0) -> None:
        at_ns = at_ns or record.at_ns
        story.oldest = min(story.oldest, record.seq)
        story.began_ns, story.ended_ns = min(story.began_ns, at_ns), max(story.ended_ns, at_ns)

    def _write(self, key: Key, record: Record, event: Event) -> Story | None:
        fits = self.query.fits
        named = paths_of(event)
        if not named or (fits is not None and not any(map(fits, named))):
            return None
        story = self._story(key, record)
        if story is None:
            return None
        story.writes += 1
        story.seqs.append(record.seq)
        if story.form == GIT:
            story.paths.update(named)
            self._place_after(story, record.seq)
        base = int(getattr(event, "base", 0))
        moved = isinstance(event, FileMoved | OutsideMoved)
        run = self._expected.pop((story.newest, record.seq), None)
        if run is None:
            run = FileRun(named[-1], record.seq, record.seq, base, named[0], record.kind)
            story.runs.append(run)
        else:
            run.first, run.base = record.seq, base
            run.base_path = named[0] if moved else named[-1]
        if base:
            self._expected[story.newest, base] = run
        return story


def _terms_of(key: Key) -> list[term_index.Alternatives]:
    """Return the index terms of the records that may be of a story with `key`, the rarest first."""
    form, whose, *more = key
    if form not in (TURN, PERSON):
        return [[term_index.OUTSIDE_TERM], _BY_OTHERS_TERMS]
    agents = [whose] if form == TURN else ["", SETUP]
    turn: list[term_index.Alternatives] = [[term_index.of_turn(word)] for word in more[1:] if word]
    session = [[term_index.of_session(word)] for word in more[:1] if word]
    return [*turn, *session, [*map(term_index.of_agent, agents)], _ALL_TERMS]


def _is_turnless(key: Key) -> bool:
    return key[0] == TURN and not key[3]


def _has_turn(key: Key) -> bool:
    return key[0] == TURN and bool(key[3])


def _moved_head(event: GitRan) -> bool:
    return event.head_before != event.head_after


def _ended_ns(record: Record, event: GitRan) -> int:
    return event.ended_ns or record.at_ns
