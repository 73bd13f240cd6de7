"""One writer's changes alone, upon a state that may lack what others did, such as a commit. Pure.

`own_changes` has the lines of the file with and without the writer's changes, in order. What others did since the state
is the difference of the lines without these changes to the state; it is taken back. One splice of this difference is a
*place*, given by its index. The writer's lines *rest* on the places whose lines they replace, or between which they
were added, and on removals that leave open where the lines stand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from quire_daemon.tools.history.by_writer.explained import explained, upon
from quire_daemon.tools.history.by_writer.own_changes import OwnSide, WovenLine, joined
from quire_journal.text import Contradiction, Splice, Text, changes, merge


class FileState(NamedTuple):
    """A file in a state; without text, there is no such file."""

    text: Text | None
    path: str
    mode: int


class RestingLines(NamedTuple):
    """Lines of the file now, from 1 and inclusive; (5, 4) is a removal above line 5."""

    start: int
    end: int


class AloneState(NamedTuple):
    """A file with one writer's changes alone."""

    file: FileState
    resting: tuple[RestingLines, ...] = ()  # the writer's lines that rest on changes of others
    begun: bool = True  # the lines with the lowest numbers are those of the state
    lacking: tuple[int, ...] = ()  # lines of others that stand between the writer's in the file now, from 1
    replaced: tuple[int, ...] = ()  # lines of the file now, from 1, at which others replaced lines of the writer


def alone(
    without: OwnSide,
    now: FileState,
    there: FileState,
    *,
    begun: bool,
    needed: bool,
    committed: FileState | None = None,
) -> AloneState:
    """Return the file `there` with the changes that make `now` from `without`.

    `begun`: the lines of `without` with the lowest numbers are those of `there`. Else `there` may have some of the
    writer's lines already: the changes that make `there` decide, or a merge if none do. `needed`: changes of others on
    which the writer's lines rest are included; else these lines are left out. `committed`: the file in the commit, if
    `there` has more lines of the writer; those that others removed are left out.
    """
    if now.text is None:
        return AloneState(there if without.text is None else FileState(None, there.path or now.path, there.mode))
    path = now.path if there.text is None or without.path != now.path else there.path
    mode = now.mode if there.text is None or without.mode != now.mode else there.mode
    base, state = without.text or Text.of(b""), there.text or Text.of(b"")
    beyond = _added(committed.text or Text.of(b""), state) if committed is not None else set[int]()
    woven = without.lines
    ways = explained(woven, state) if not begun and there.text is not None else ()
    if ways:
        woven, begun = upon(woven, ways[0], state), True
    walk = _Walk(woven, base, state, beyond, begun=begun)
    text = joined([*walk.lines(needed)], *_ends(base, now.text, now.text if there.text is None else state))
    resting, lacking, replaced = walk.resting(), tuple(walk.lacking(needed)), tuple(walk.replaced())
    if len(ways) > 1:
        lines = (line for way in ways for line in _own_lines(upon(without.lines, way, state), frozenset()))
        text, resting, lacking, begun = (now.text if needed else state), _in_ranges(sorted({*lines})), (), False
    elif not begun and there.text is not None and text.data != state.data:
        merged = merge(base, now.text, state)  # equal lines of both come once, at the place that git gives them
        text, resting = merged.text, tuple(_places(merged.conflicts, base, now.text))
        if not resting and (doubted := _doubted(merged.text, without.lines, base, now.text, state)):
            text, resting = (now.text if needed else state), doubted
        elif needed and resting:
            text = merge(base, state, now.text).text
        lacking = () if resting else lacking
    was = there if committed is None else committed
    if was.text is None and not text.data and (now.text.data or without.text is not None):
        return AloneState(was, resting, begun, replaced=replaced)
    return AloneState(FileState(text, path, mode), resting, begun, lacking, replaced)


def _added(old: Text, new: Text) -> set[int]:
    """Return the indices of lines that only `new` has."""
    found, moved = set[int](), 0
    for splice in changes(old, new):
        found.update(range(splice.start + moved, splice.start + moved + len(splice.lines)))
        moved += splice.shift
    return found


def _splices_of(woven: Sequence[WovenLine], known: int) -> Iterator[Splice]:
    """Yield the splices that make the state from the lines without the writer's changes. `known`: the state's number of
    lines.
    """
    start = at = 0
    lines: list[WovenLine] = []
    for line in woven:
        there = line.number <= known
        if there and line.before:
            if lines or at > start:
                yield _splice(start, at, lines)
            lines = []
            start = at = at + 1
        elif line.before:
            at += 1
        elif there:
            lines.append(line)
    if lines or at > start:
        yield _splice(start, at, lines)


def _splice(start: int, stop: int, lines: Sequence[WovenLine]) -> Splice:
    return Splice(start, stop, tuple(line.content for line in lines), tuple(line.ending for line in lines))


def _doubted(made: Text, woven: Sequence[WovenLine], base: Text, now: Text, state: Text) -> tuple[RestingLines, ...]:
    """Return the writer's lines that may belong elsewhere in the merged text `made`, because equal lines leave their
    place open.

    No line is in doubt if a merge from the end makes the same text, and the differences to `now` are what others added
    and removed.
    """
    upwards = _turned(merge(_turned(base), _turned(now), _turned(state)).text)
    doubted = {
        line for splice in changes(made, upwards) for line in (*made.lines[splice.start : splice.stop], *splice.lines)
    }
    more, left = Counter(made.lines), Counter(now.lines)
    removed = Counter(line.content for line in woven if not line.after and not line.cut)
    own = Counter(line.content for line in woven if line.after and line.own)
    doubted |= (more - left - removed).keys() | (own - more).keys()
    return _in_ranges(_own_lines(woven, doubted)) if doubted else ()


def _turned(text: Text) -> Text:
    return Text.of(b"".join(line + b"\n" for line in reversed(text.lines)))


def _own_lines(woven: Sequence[WovenLine], contents: Set[bytes]) -> Iterator[RestingLines]:
    """Yield where the writer's lines and removals with these contents are in the file now; all of the writer's if none
    has these contents.
    """
    number = 0
    places: list[tuple[bytes, RestingLines]] = []
    for line in woven:
        number += line.after
        if line.after and line.own:
            places.append((line.content, RestingLines(number, number)))
        elif line.cut and line.before:
            places.append((line.content, RestingLines(number + 1, number)))
    named = [place for content, place in places if content in contents]
    yield from named or (place for _, place in places)


def _in_ranges(places: Iterable[RestingLines]) -> tuple[RestingLines, ...]:
    """Return the places in order, with adjacent lines joined to a range."""
    found: list[RestingLines] = []
    for place in places:
        if found and found[-1].end == place.start - 1 <= place.end - 1:
            found[-1] = found[-1]._replace(end=place.end)
        elif not found or found[-1] != place:
            found.append(place)
    return tuple(found)


def _places(conflicts: Sequence[Contradiction], base: Text, now: Text) -> Iterator[RestingLines]:
    """Yield where the lines of the conflicts are in `now`."""
    made = changes(base, now)
    for one in conflicts:
        guess = one.start + sum(splice.shift for splice in made if splice.stop <= one.start)
        at = _nearest(one.mine, now.lines, guess)
        yield RestingLines(at + 1, at + len(one.mine))


def _nearest(lines: Sequence[bytes], among: Sequence[bytes], guess: int) -> int:
    """Return the index at which `lines` are in `among`, as near as possible to `guess`; if nowhere, `guess` or the
    end.
    """
    wanted, most = [*lines], len(among) - len(lines)
    starts = sorted(range(most + 1), key=lambda start: abs(start - guess))
    return next((start for start in starts if [*among[start : start + len(wanted)]] == wanted), min(guess, len(among)))


def _ends(base: Text, now: Text, state: Text) -> tuple[bool, bool]:
    """Return (whether there is a byte order mark, whether a final break) in the result: as the writer changed it, else
    as in the state.
    """
    final = now.final_break if base.final_break != now.final_break else state.final_break
    return (now.bom if base.bom != now.bom else state.bom), final


class _Walk:
    """Decides which lines the result has, in one pass over the lines, beside those of the state."""

    def __init__(
        self, woven: Sequence[WovenLine], base: Text, state: Text, beyond: Set[int] = frozenset(), *, begun: bool
    ) -> None:
        """`beyond`: indices of the state's lines that are dropped where others removed them."""
        self._woven = woven
        self._line, self._known = {line.number: line for line in woven}, len(state)
        before = [line for line in woven if line.before]
        known = [line.content for line in woven if line.number <= len(state)]
        self._ordered = begun and known == [*state.lines]  # the lines of the state are among these, at their places
        # what others did since the state, and what is taken back: a place is an index of it
        self._splices = [*_splices_of(woven, len(state))] if self._ordered else changes(base, state)
        self._place = {
            before[at].number: place for place, one in enumerate(self._splices) for at in range(one.start, one.stop)
        }
        self._begins = {one.start: place for place, one in enumerate(self._splices)}
        self._left: list[dict[int, bytes]] = []  # lines of the state that have no line here
        moved = 0
        for one in self._splices:
            first = one.start + moved
            self._left.append({n: line for n, line in enumerate(one.lines) if first + n not in beyond})
            moved += one.shift
        self._removed = {}  # line of the state that others removed → its place
        if self._ordered:
            places = (place for place, one in enumerate(self._splices) for _ in one.lines)
            gone = (line.number for line in woven if line.number <= len(state) and not line.before)
            self._removed = dict(zip(gone, places, strict=True))
        self._dropped = {number for number in self._removed if number - 1 in beyond}
        self._lacking = {*self._place, *(line.number for line in woven if not line.before)}
        if not begun:
            self._find()
        self._unsure = self._beside_removed()
        self._overwritten, self._kept, self._reworded, overwriting = self._find_overwritten()
        self._rests: dict[int, frozenset[int]] = {}  # own line → places of others that it rests on
        rest = [line for line in woven if self._is_new(line) and self._rests_on(line)]
        self._kept |= {root for line in rest for root in self._roots(line)}  # half of a replacement is nobody's change
        self._divided = {place for one in before if one.after and (place := self._place.get(one.number)) is not None}
        self._rested = {place for line in rest for place in self._rests_on(line)}
        self._rested |= {place for line in woven if (place := self._removal(line)) is not None} | overwriting

    def _find(self) -> None:
        """Match the writer's lines, removed ones too, with equal lines of the state at the same place. A matched line
        is not lacking.
        """
        ends = {one.stop: place for place, one in enumerate(self._splices)}
        reached = [0] * len(self._splices)
        at = 0
        for line in self._woven:
            if line.before:
                at += 1
                continue
            place = self._begins.get(at, ends.get(at))
            if place is None:
                place = next((p for p, one in enumerate(self._splices) if one.start < at < one.stop), None)
            if place is None:
                continue
            lines = self._splices[place].lines
            found = next((n for n in range(reached[place], len(lines)) if lines[n] == line.content), None)
            if found is not None:
                reached[place] = found + 1
                self._lacking.discard(line.number)
                if line.after or line.cut:
                    del self._left[place][found]

    def _beside_removed(self) -> dict[int, frozenset[int]]:
        """Return line of the writer → places where others removed lines that may belong above or below it."""
        if self._ordered:
            rows = {line.number: row for row, line in enumerate(self._woven)}
            gaps = self._gaps()
            places = {gap: self._removed_within(*gap, rows) for gap in {*gaps.values()}}
            return {number: places[gap] for number, gap in gaps.items()}
        found: dict[int, frozenset[int]] = {}
        at = 0
        for line in self._woven:
            at += line.before
            place = self._begins.get(at)
            if line.own and place is not None and self._left[place] and self._splices[place].stop == at:
                found[line.number] = frozenset((place,))
        return found

    def _gaps(self) -> dict[int, tuple[int, int]]:
        """Return line of the writer → its bounds: the first and last line that it replaced, else the lines above and
        below the lines that were added with it (0: an end of the file).
        """
        gaps: dict[int, tuple[int, int]] = {}
        added = {line.number: line.between for line in self._woven if line.number > self._known and not line.replaces}
        for number in sorted(added):
            above, below = added[number]
            added[number] = added.get(above, (above, 0))[0], added.get(below, (0, below))[1]
        for line in self._woven:
            if line.own:
                gaps[line.number] = (line.replaces[0], line.replaces[-1]) if line.replaces else added[line.number]
        return gaps

    def _removed_within(self, above: int, below: int, rows: Mapping[int, int]) -> frozenset[int]:
        """Return the places of the lines that others removed between the lines `above` and `below`. Lines that `below`
        replaced come after it, and do not count.
        """
        between = self._woven[rows.get(above, -1) + 1 : rows.get(below, len(self._woven))]
        gone = {line.number for line in between} & self._removed.keys() - self._dropped
        replaced = self._line[below].replaces if below in self._line else ()
        return frozenset(self._removed[number] for number in gone.difference(replaced))

    def _find_overwritten(self) -> tuple[dict[int, frozenset[int]], set[int], set[int], set[int]]:
        """Return (line of the writer that is left → places of others, lines of the state that stay, lines of the writer
        that others reworded, places of others where the writer had replaced lines of the state).

        If others replaced one line of a replacement by the writer, its other lines rest on theirs, and the lines that
        the writer replaced stay: a part of a replacement is nobody's change. If the writer only added the lines, those
        left are in the result.
        """
        by_others: dict[int, set[int]] = {}  # own line that is gone → places of the lines that replaced it
        for line in self._woven:
            for number in line.replaces if not line.own else ():
                of = self._line.get(number)
                if of is not None and of.own and not of.after:
                    by_others.setdefault(number, set()).add(self._place.get(line.number, -1))
        places: dict[tuple[tuple[int, int], tuple[int, ...]], set[int]] = {}
        for number, found in by_others.items():
            of = self._line[number]
            places.setdefault((of.between, of.replaces), set()).update(found)
        own = [line for line in self._woven if line.own and line.replaces and (line.between, line.replaces) in places]
        overwritten = {
            line.number: frozenset(places[line.between, line.replaces]) for line in own if self._is_new(line)
        }
        kept = {root for line in own for root in self._roots(line)}
        named = {line.number for line in own if self._roots(line)}
        overwriting = {place for number in named for place in by_others.get(number, ())}
        return overwritten, kept, by_others.keys() - named, overwriting

    def _roots(self, line: WovenLine) -> set[int]:
        """Return the lines of others that a line of the writer replaced, directly or through earlier lines of the
        writer.
        """
        found, left = set[int](), [*line.replaces]
        while left:
            number = left.pop()
            of = self._line.get(number)
            if of is not None and of.own:
                left += of.replaces
            else:
                found.add(number)
        return found

    def _is_new(self, line: WovenLine) -> bool:
        """True for a line of the writer that the state lacks."""
        return line.own and line.after and line.number in self._lacking

    def _rests_on(self, line: WovenLine) -> frozenset[int]:
        """Return the places on which a line of the writer rests; -1 stands for a line that is gone."""
        if line.number not in self._rests:
            self._rests[line.number] = frozenset()  # no line rests on itself
            found = {place for number in line.replaces for place in self._at(number)}
            found |= self._overwritten.get(line.number, frozenset())
            found |= {place for number in line.beside if self._is_there(number) for place in self._at(number)}
            is_added = all(map(self._at, line.replaces))  # else it stands where a line of the state stood
            around = [self._at(number) for number in line.between]
            if is_added and all(around):
                found |= {place for places in around for place in places}
            if self._ordered or (is_added and not any(around)):
                found |= self._unsure.get(line.number, frozenset())
            self._rests[line.number] = frozenset(found)
        return self._rests[line.number]

    def _is_there(self, number: int) -> bool:
        return number in self._line and self._line[number].after

    def _at(self, number: int) -> frozenset[int]:
        """Return the places without which the result cannot have line `number`; empty if the state has the line."""
        line = self._line.get(number)
        if line is None or number not in self._lacking:
            return frozenset()
        return self._rests_on(line) if line.own else frozenset((self._place.get(number, -1),))

    def _removal(self, line: WovenLine) -> int | None:
        """Return the place at which others changed the state to lines that the writer removed, all of them, with `line`
        among them; else None.
        """
        place = self._place.get(line.number) if line.before and line.cut else None
        return place if place is not None and self._left[place] and place not in self._divided else None

    def lines(self, needed: bool) -> Iterator[WovenLine]:
        """Yield the lines that the file of `alone` has; `needed` as there."""
        return (line for line, is_kept in self._kept_lines(needed) if is_kept)

    def lacking(self, needed: bool) -> Iterator[int]:
        """Yield the lines of the file now, from 1, that others put between new lines of the writer, and that the result
        lacks.
        """
        number, is_within, found = 0, False, list[int]()
        for line, is_kept in self._kept_lines(needed):
            number += line.after and line.number > 0
            if is_kept:
                is_new = self._is_new(line)
                yield from found if is_new else ()
                is_within, found = is_new, []
            elif is_within and line.after and not line.own and not any(map(self._is_own, line.replaces)):
                found.append(number)

    def _is_own(self, number: int) -> bool:
        return number in self._line and self._line[number].own

    def _kept_lines(self, needed: bool) -> Iterator[tuple[WovenLine, bool]]:
        """Yield (line, whether the result has it) in order, also for lines that only the state has."""
        taken = self._rested if needed else set[int]()
        at = 0
        for line in self._woven:
            if line.number in self._removed:
                yield line, self._removed[line.number] not in taken and line.number not in self._dropped
            elif line.before:
                yield from ((made, True) for made in self._made(at, taken))
                place = self._place.get(line.number)
                stays = line.after or (line.number in self._kept and not needed)
                yield line, stays and (place is None or place in taken)
                at += 1
            else:
                yield line, line.after and (needed or not (self._is_new(line) and self._rests_on(line)))
        yield from ((made, True) for made in self._made(at, taken))

    def _made(self, at: int, taken: Set[int]) -> Iterator[WovenLine]:
        """Yield the state's lines of the place that begins at line `at` (from 0) of the file without the writer's
        changes; none if the place is in `taken`.
        """
        place = self._begins.get(at)
        if place is None or place in taken or self._ordered:
            return
        endings = self._splices[place].breaks or (b"\n",) * len(self._splices[place].lines)
        yield from (WovenLine(line, endings[n]) for n, line in self._left[place].items())

    def resting(self) -> tuple[RestingLines, ...]:
        """Return the writer's lines that rest on changes of others, as lines of the file now."""
        resting = [line for line in self._woven if self._is_new(line) and self._rests_on(line)]
        told, replaced = {line.number for line in resting}, {number for line in resting for number in line.replaces}
        return _in_ranges(self._resting(told, replaced))

    def _resting(self, told: Set[int], replaced: Set[int]) -> Iterator[RestingLines]:
        number = 0
        for line in self._woven:
            number += line.after
            if line.number in told:
                yield RestingLines(number, number)
            elif self._is_removal_named(line) and line.number not in replaced:
                yield RestingLines(number + 1, number)

    def replaced(self) -> Iterator[int]:
        """Yield the lines of the file now, from 1, with which others replaced a line of the writer."""
        number = 0
        for line in self._woven:
            number += line.after
            if line.after and any(one in self._reworded for one in line.replaces):
                yield number

    def _is_removal_named(self, line: WovenLine) -> bool:
        """True if the patch lacks the removal of this line by the writer."""
        return (line.before and line.number in self._kept) or self._removal(line) is not None
