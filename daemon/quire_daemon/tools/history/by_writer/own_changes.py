"""One writer's changes to a file between two states, as the final file with and without these changes.

One pass over the versions keeps every line in order, also removed ones, and whether the writer added or removed it.
Changes by others apply to both sides. A version that is no author (undo, redo, git, a save without proof of its writer)
restores a line as it was: the writer's lines stay the writer's. Other lines that it adds have the author that blame
names.

A *change* is the difference of two successive versions at one place. Changes and lines are numbered from 1 in the order
of the pass; the lines of the first state come first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Final, NamedTuple

from quire_journal.history import (
    UNDOING,
    History,
    LineOrigin,
    LineTrails,
    backwards,
    blame,
    is_author,
    is_by_git,
    is_met,
)
from quire_journal.model import REGULAR, JournalDamaged, Record, pause
from quire_journal.storage.blobs import NotHeld
from quire_journal.text import BOM, Block, Splice, Text, blocks, changes, slid_down
from quire_journal.views import OUTSIDE_TYPE, Version

MOST_STEPS: Final = 2000
"""Maximum number of versions in a pass."""

MOST_BYTES: Final = 4 << 20
"""Largest version in a pass, in bytes."""

MOST_LINES: Final = 500_000
"""Maximum number of lines in a pass; beyond, removed lines are dropped, and count as new ones if they come back."""


class WovenLine(NamedTuple):
    """A line of the file, or a line that was removed from it."""

    content: bytes
    ending: bytes
    before: bool = True  # present without the writer's changes
    after: bool = True  # present with them
    number: int = 0  # its number; 0: none
    own: bool = False  # the writer added it
    cut: bool = False  # the writer removed it
    was_cut: bool | None = None  # of a line that came back: whether the writer had removed it
    between: tuple[int, int] = (0, 0)  # numbers of the lines above and below when it was added; 0: an end
    replaces: tuple[int, ...] = ()  # numbers of the lines that it replaced
    beside: tuple[
        int, ...
    ] = ()  # numbers of lines that nobody was seen to write, which git or an undo brought in one piece with it
    changes: tuple[int, ...] = ()  # changes that added it, removed it, and so on in turn; 0: it was there at the start


class OwnSide(NamedTuple):
    """The file without the writer's changes: its text (None: no file), path and permissions."""

    text: Text | None
    path: str
    mode: int
    lines: tuple[WovenLine, ...] = ()  # of the file with and without the changes, and removed ones if wanted, in order
    begun: bool = False  # the first state is a version that was found


IsStart = Callable[[str, Version], bool]
"""Test of a version and the path of the file then; True for the version that is the first state."""


def starts_at(path: str, old: Version | None) -> IsStart:
    """Return the predicate (path, version) that is True for a version at this path with the bytes of `old`; always
    False without `old`.
    """
    then = old.blob if old is not None else b""
    return lambda name, version: bool(then) and (name, version.blob) == (path, then)


def without_own(
    since: FileSteps | None, own: Callable[[Record], bool | None], history: History, *, removed: bool = False
) -> OwnSide | None:
    """Return the file after the last step of `since` (from `steps_since`) without the changes by the writer of records
    for which `own` is true.

    `removed`: its `lines` include lines that are in the file neither with nor without these changes.

    Return None for a file that is binary or too large, or has too many versions, and if the journal lacks bytes of it.
    """
    if since is None:
        return None
    start, steps = since
    if start is not None and _has_movers(steps, history):
        first, before = _since_the_first_alike(start, MOST_STEPS - len(steps), history)
        if before and (side := _side(first, [*before, *steps], start[1].seq, own, history, removed)) is not None:
            return side
    return _side(start, steps, 0, own, history, removed)


def _side(
    start: FileStep | None,
    steps: Sequence[FileStep],
    again: int,
    own: Callable[[Record], bool | None],
    history: History,
    removed: bool,
) -> OwnSide | None:
    try:
        return _Walk(own, history, removed).side(start, steps, again)
    except NotHeld:
        return None


FileStep = tuple[str, Version]
"""(path of the file then, version)."""

FileSteps = tuple[FileStep | None, list[FileStep]]
"""The first state, if a version is found, and the versions since, oldest first."""


def steps_since(path: str, end: Version, is_start: IsStart, history: History) -> FileSteps | None:
    """Return (the first state, the versions after it up to `end`), each with its path; None if there are more than
    `MOST_STEPS`.
    """
    found: list[FileStep] = []
    for step in backwards(history, path, end.seq):
        if is_start(*step):
            return step, found[::-1]
        if len(found) == MOST_STEPS:
            return None
        found.append(step)
    return None, found[::-1]


def steps_since_alike(
    path: str, end: Version, is_start: IsStart, history: History
) -> tuple[list[FileStep], int] | None:
    """Return (the steps up to `end`, the number of steps before the start); None if there are too many.

    If undos, git or saves without proof came since the start, the steps begin after the oldest version with the bytes
    of the start: they may bring back what was changed between two such versions.
    """
    found = steps_since(path, end, is_start, history)
    if found is None:
        return None
    start, steps = found
    if start is None or not _has_movers(steps, history):
        return steps, 0
    before = _since_the_first_alike(start, MOST_STEPS - len(steps), history)[1]
    return [*before, *steps], len(before)


def writing_since(path: str, end: Version, is_start: IsStart, history: History) -> list[Version] | None:
    """Return the versions that may have written what the file has at `end` and not at the start; None if there are too
    many.

    If undos, git or saves without proof came since the start, the list has older versions, too.
    """
    found = steps_since(path, end, is_start, history)
    if found is None:
        return None
    start, steps = found
    versions = {version.seq: version for _, version in steps}
    if not _has_movers(steps, history):
        return [*versions.values()]
    if start is not None:
        before = _since_the_first_alike(start, MOST_STEPS - len(steps), history)[1]
        versions |= {version.seq: version for _, version in before}
    try:
        origins = () if end.gone else blame(history, path, end).origins
    except (NotHeld, JournalDamaged):
        origins = ()
    versions |= {origin.version.seq: origin.version for origin in origins if not is_found(origin, history)}
    return [versions[seq] for seq in sorted(versions)]


def is_found(origin: LineOrigin, history: History) -> bool:
    """True for a line that nobody was seen to write."""
    return is_met(origin.version, _hint(origin.version, history))


def _has_movers(steps: Sequence[FileStep], history: History) -> bool:
    return any(is_mover(version, history) for _, version in steps)


def is_mover(version: Version, history: History) -> bool:
    """True if the version may only have moved lines: an undo, git, or a save without proof of its writer."""
    return not is_author(version, _hint(version, history))


def _since_the_first_alike(start: FileStep, most: int, history: History) -> tuple[FileStep, list[FileStep]]:
    """Return (the oldest version with the bytes of `start`, the versions after it up to `start`), within `most`
    versions.

    An undo or git may bring back what was changed between two times with the same bytes.
    """
    first, found, many = start, list[FileStep](), 0
    for step in islice(backwards(history, start[0], start[1].seq), most + 1):
        pause()
        if found and step[1].blob == start[1].blob and not step[1].gone:
            first, many = step, len(found)
        found.append(step)
    return first, found[:many][::-1]


def _hint(version: Version, history: History) -> str:
    return str(getattr(history.event(version.seq), "hint", "")) if version.type == OUTSIDE_TYPE else ""


class _About(NamedTuple):
    """Path, permissions, byte order mark and final break of the file without the writer's changes."""

    path: str  # "" for no file
    mode: int
    bom: bool
    final: bool

    def with_changes(self, was: _About, now: _About) -> _About:
        """Return these properties, changed as another version changed them from `was` to `now`."""
        if not (self.path and was.path and now.path):
            return now
        return _About(
            now.path,
            self.mode if was.mode == now.mode else now.mode,
            self.bom if was.bom == now.bom else now.bom,
            self.final if was.final == now.final else now.final,
        )


class _Walk:
    """One pass over the versions of a file, which notes who added and removed each line."""

    def __init__(self, own: Callable[[Record], bool | None], history: History, removed: bool) -> None:
        self._own, self._history, self._wanted = own, history, removed
        self._removed = True  # removed lines are kept
        self._trails = LineTrails()
        self._lines: list[WovenLine] = []
        self._begun: list[WovenLine] = []  # the lines of the start
        self._count = 0  # lines that have a number
        self._changes = 0  # changes that have a number: differences of two versions at one place
        self._seen: dict[bytes, tuple[list[WovenLine], _About]] = {}
        self._named: dict[tuple[str, bytes], _About] = {}  # the same by name and bytes
        self._names: dict[str, str] = {}  # name → the name without the writer's renames, when the file had it last

    def side(self, start: FileStep | None, steps: Sequence[FileStep], again: int) -> OwnSide | None:
        """Return the file without the writer's changes. Every version up to record `again` that has the bytes of the
        start counts as the start.
        """
        last = Text.of(b"")
        about = _About("", 0, last.bom, last.final_break)
        if start is not None and not start[1].gone:
            last = self._text(start[1])
            about = _About(start[0], start[1].mode, last.bom, last.final_break)
            self._lines = self._begun = self._numbered(last.lines, last.breaks)
            self._seen[start[1].blob] = [*self._lines], about
        name, was = about.path, about
        previous = name  # in the version before
        called = name  # the name of the file without the writer's renames, also where this file is gone
        self._names[name] = called
        removal: bool | None = None  # the writer removed the file that is gone, or that git or an undo brought back
        for name, version in steps:
            pause()
            text = self._text(version)
            if text.binary or last.binary:
                return None
            own, hint = self._is_own(version), _hint(version, self._history)
            author = is_author(version, hint)
            begins = version.seq <= again and start is not None and version.blob == start[1].blob and not version.gone
            renamed = bool(version.moved_from) or (not version.gone and bool(previous) and name != previous)
            previous = name
            back = self._names.get(name, "") if renamed and not author else ""  # a rename that comes back
            if renamed:
                called = back or (called if own else name)
            if version.seq == again:
                called = name
            self._names[name] = called
            known = None if author or version.gone else self._seen.get(version.blob)
            if begins:
                self._begin_again(forget=author)
                about = _About(name, version.mode, text.bom, text.final_break)
            elif known is not None and self._keeps_the_rest(last, text, known[0]):
                self._restore(known[0])
                about = known[1] if own else about
            elif author:
                self._take(last, text, own)
            else:
                self._move(last, text, own, name, version, version.type == UNDOING or is_by_git(hint))
            if back and about.path and own and not begins:
                about = about._replace(path=back)
            now = _About("" if version.gone else name, version.mode, text.bom, text.final_break)
            if not own and not begins:
                path = about.path or name
                path = "" if version.gone else called if renamed else path
                then = None if author or about.path else self._named.get((name, version.blob))
                about = then or about.with_changes(was, now._replace(path=path))
            was = now
            if not version.gone:
                removal = None if author else removal
            elif author or removal is None:
                removal = own
            if version.gone and not removal:  # what the writer had removed goes, too
                self._lines = [line._replace(before=False) for line in self._lines]
            if not version.gone:
                self._seen[version.blob] = [*self._lines], about
                self._named[name, version.blob] = about
            if len(self._lines) > MOST_LINES:
                self._lines = [line for line in self._lines if line.before or line.after]
            last = text
        before = [line for line in self._lines if line.before]
        lines = tuple(line for line in self._lines if self._wanted or line.before or line.after)
        if not about.path and not before:
            return OwnSide(None, "", 0, lines, start is not None)
        made = joined(before, about.bom, about.final)
        return OwnSide(made, about.path or name, about.mode or 0o644, lines, start is not None)

    def _is_own(self, version: Version) -> bool:
        record = self._history.record(version.seq)
        return record is not None and bool(self._own(record))

    def _text(self, version: Version) -> Text:
        if version.gone:
            return Text.of(b"")
        if version.entry != REGULAR or version.uncaptured or version.size > MOST_BYTES:
            raise NotHeld(version.blob)
        return self._history.text_of(version.blob)

    # ── what comes back ──

    def _begin_again(self, *, forget: bool) -> None:
        self._restore(self._begun)
        if forget:
            self._lines = [line._replace(was_cut=None) for line in self._lines]

    def _keeps_the_rest(self, a: Text, b: Text, lines: Sequence[WovenLine]) -> bool:
        """True if the lines that `a` and `b` share are still those of an earlier version with the bytes of `b`, whose
        lines are `lines`; False if they were typed again since.
        """
        now = [line.number for line in self._lines if line.after]
        then = [line.number for line in lines if line.after]
        at = moved = 0
        for splice in (*changes(a, b), Splice(len(now), len(now), ())):
            if now[at : splice.start] != then[at + moved : splice.start + moved]:
                return False
            at, moved = splice.stop, moved + splice.shift
        return True

    def _restore(self, lines: Sequence[WovenLine]) -> None:
        """Set the lines to the state that they have in `lines`; later lines are removed, and the order stays."""
        then = {line.number: line for line in lines}
        if not then.keys() <= {line.number for line in self._lines}:  # some were dropped
            self._lines = [*lines]
            return
        change = self._next_change()
        self._lines = [
            _there(line._replace(before=False, cut=False), False, change)
            if (was := then.get(line.number)) is None
            else was._replace(was_cut=_was_cut(line), changes=_there(line, was.after, change).changes)
            for line in self._lines
        ]

    def _move(self, a: Text, b: Text, own: bool, name: str, version: Version, puts_back: bool) -> None:
        """Apply the step from `a` to `b` by an undo, git or an unproved save. `puts_back`: the version only puts back
        old lines.
        """
        there = [at for at, line in enumerate(self._lines) if line.after]
        origins = self._trails.origins(self._history, name, version, lambda blob: self._history.text_of(blob).data)
        lines, taken, moved = list[WovenLine](), 0, 0
        for splice in _slid_down(a, b):
            change = self._next_change()
            first = there[splice.start - 1] + 1 if splice.start else 0
            end = there[splice.stop] if splice.stop < len(there) else len(self._lines)
            stop = there[splice.stop - 1] + 1 if splice.stop > splice.start else self._above_replaced(end)
            stop -= first
            rows = self._lines[first:end]
            at = splice.start + moved
            moved += splice.shift
            come = [None if origins is None else origins[n] for n in range(at, at + len(splice.lines))]
            authors = [self._is_by_writer(origin, version, own) for origin in come]
            back = {n: i for n, i in _returning(rows, splice.lines) if not rows[i].own or authors[n]}
            going = own and not (puts_back and back)
            if len(back) < len(splice.lines):
                going = any(is_theirs for n, is_theirs in enumerate(authors) if n not in back)
            left = [self._left(row, going, puts_back, change) for row in rows]
            added = self._numbered(splice.lines, splice.breaks or (b"\n",) * len(splice.lines), change)
            unseen = [
                line.number for n, line in enumerate(added) if n not in back and self._is_unseen(come[n], version)
            ]
            beside = tuple(unseen) if puts_back and not own else ()
            lines += self._lines[taken:first]
            begun = 0
            for n, line in enumerate(added):
                later = next((i for m, i in sorted(back.items()) if m >= n), len(rows))
                upto = back.get(n, max(begun, min(stop, later)))
                lines += left[begun:upto]
                begun = upto
                if n in back:
                    row = rows[begun]
                    there_again = row._replace(before=not row.own, cut=False, was_cut=_was_cut(row), beside=beside)
                    lines.append(_there(there_again, True, change))
                    begun += 1
                else:
                    (placed,) = self._placed([line], there, splice, authors[n])
                    lines.append(placed._replace(beside=beside))
            lines += left[begun:]
            taken = end
        self._lines = lines + self._lines[taken:]

    def _is_by_writer(self, origin: LineOrigin | None, version: Version, own: bool) -> bool:
        """True if the writer is the author of a line that came with a version. A line that nobody was seen to write
        counts as written by whoever made the version.
        """
        if origin is None or self._is_unseen(origin, version):
            return own
        return self._is_own(origin.version)

    def _is_unseen(self, origin: LineOrigin | None, version: Version) -> bool:
        """True for a line of a version that nobody was seen to write."""
        return origin is None or origin.version.seq == version.seq or is_found(origin, self._history)

    def _left(self, line: WovenLine, going: bool, puts_back: bool, change: int) -> WovenLine:
        """Return the line as removed by a version that is no author; a line removed before stays as it is."""
        if not line.after:
            return line
        going = going and (line.number <= len(self._begun) or not puts_back)
        cut = not line.own and (going if line.was_cut is None else line.was_cut)
        return _there(line._replace(before=line.before and cut, cut=cut), False, change)

    # ── what is typed ──

    def _take(self, a: Text, b: Text, own: bool) -> None:
        there = [at for at, line in enumerate(self._lines) if line.after]
        lines, taken = list[WovenLine](), 0
        for splice in changes(a, b):
            change = self._next_change()
            start = there[splice.start] if splice.start < len(there) else len(self._lines)
            stop = there[splice.stop - 1] + 1 if splice.stop > splice.start else start
            if stop == start:  # lines in front of those that replaced others are in front of the replaced ones, too
                start = stop = self._above_replaced(start)
            lines += self._lines[taken:start]
            for line in self._lines[start:stop]:
                left = line
                if line.after:
                    left = _there(line._replace(before=line.before and own, cut=own), False, change)
                if left.before or self._removed:
                    lines.append(left)
            endings = splice.breaks or (b"\n",) * len(splice.lines)
            added = self._numbered(splice.lines, endings, change)
            lines += self._placed(added, there, splice, own)
            taken = stop
        self._lines = lines + self._lines[taken:]

    def _above_replaced(self, at: int) -> int:
        replaced = self._lines[at].replaces if at < len(self._lines) else ()
        while at and not self._lines[at - 1].after and self._lines[at - 1].number in replaced:
            at -= 1
        return at

    def _placed(self, added: Sequence[WovenLine], there: Sequence[int], splice: Splice, own: bool) -> list[WovenLine]:
        """Return the new lines with the numbers of the lines that they replace and stand between."""
        replaces = tuple(self._lines[at].number for at in there[splice.start : splice.stop])
        above, below = (
            self._lines[there[at]].number if 0 <= at < len(there) else 0 for at in (splice.start - 1, splice.stop)
        )
        return [line._replace(before=not own, own=own, between=(above, below), replaces=replaces) for line in added]

    def _next_change(self) -> int:
        self._changes += 1
        return self._changes

    def _numbered(self, lines: Sequence[bytes], endings: Sequence[bytes], change: int = 0) -> list[WovenLine]:
        first = self._count + 1
        self._count += len(lines)
        each = enumerate(zip(lines, endings, strict=True), first)
        return [WovenLine(line, end, number=number, changes=(change,)) for number, (line, end) in each]


def _slid_down(a: Text, b: Text) -> list[Splice]:
    """Return the splices from `a` to `b`, with added lines as far down as equal lines allow, as in blame."""
    splices, found, moved = changes(a, b), list[Block](), 0
    for one in splices:
        found.append((one.start, one.stop, one.start + moved, one.start + moved + len(one.lines)))
        moved += one.shift
    slid, _ = slid_down(found, [*zip(b.lines, b.breaks, strict=True)] if found else (), len(a))
    return [
        one if i == one.start else Splice(i, j, tuple(b.lines[k:m]), tuple(b.breaks[k:m]))
        for one, (i, j, k, m) in zip(splices, slid, strict=True)
    ]


def _there(line: WovenLine, after: bool, change: int) -> WovenLine:
    """Return the line as in the file (`after`) or removed; `change` is noted in the line if that is new."""
    return line if line.after == after else line._replace(after=after, changes=(*line.changes, change))


def _was_cut(line: WovenLine) -> bool | None:
    """Return the `was_cut` that a line gets when it comes back, or stays."""
    return line.was_cut if line.after or line.own else line.cut


def _returning(rows: Sequence[WovenLine], come: Sequence[bytes]) -> list[tuple[int, int]]:
    """Return pairs of lines with the same bytes, in order: (index in `come`, index in `rows` of a removed line)."""
    gone = [i for i, row in enumerate(rows) if not row.after]
    contents = [rows[i].content for i in gone]
    found: list[tuple[int, int]] = []
    i = n = 0
    for start, stop, first, upto in (*blocks(contents, come), (len(gone), len(gone), len(come), len(come))):
        found += zip(range(n, first), gone[i:start], strict=True)
        i, n = stop, upto
    return found


def joined(lines: Sequence[WovenLine], bom: bool, final: bool) -> Text:
    """Return the text of these lines. Without `final`, the last line has no break."""
    usual = next((line.ending for line in lines if line.ending), b"\n")
    endings = [line.ending or usual for line in lines]
    if endings and not final:
        endings[-1] = b""
    body = b"".join(part for line, ending in zip(lines, endings, strict=True) for part in (line.content, ending))
    return Text.of((BOM if bom else b"") + body)
