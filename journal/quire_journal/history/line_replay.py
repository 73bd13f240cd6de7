"""Line replay: fold of a file's versions into the author of each line.

A version by an author (`authorship`) owns the lines that it adds. For any other version:
* If its bytes existed before, each added line gets the author that it had then.
* If its bytes are new, a line that it adds comes from the source version in the clues (HEAD before or after, the other
  side of a merge) that has most of the lines added with it, each at its place. Other known lines get the author of
  their newest removal; lines removed together are matched together.

A short line (a brace, `else:`) alone belongs to the version, unless it returns to its place or the version only
restores lines. Where conflict markers are removed, lines of neither side belong to whoever resolved the conflict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final, NamedTuple, cast

import msgspec

from quire_journal.history.authorship import LineOrigin
from quire_journal.model import cached_property, pause
from quire_journal.text import (
    BETWEEN,
    BOM,
    OURS,
    THEIRS,
    Block,
    blocks,
    breaks_between,
    common_bytes,
    common_lines,
    slid_down,
)
from quire_journal.views import Version

SUBSTANCE: Final = 8
"""Minimum number of letters and digits of lines that are recognized at any place."""

MOST_REMEMBERED: Final = 4
"""Maximum number of recent removals of a line searched when equal bytes are added."""

MOST_RUNS: Final = 256
"""Maximum number of removed runs (successive lines) compared with one added run."""

MOST_COMPARED: Final = 400_000
"""Maximum number of lines compared in one replay; then only unique lines are recognized."""

_MOST_SLID: Final = 4096
"""Maximum number of bytes below a change over which added lines slide down."""

_NOT_WORDS: Final = bytes(b for b in range(256) if not (b >= 0x80 or chr(b).isalnum()))


class Clues(msgspec.Struct, frozen=True):
    """Hints at the origin of the lines that a version adds."""

    author: bool = False  # the maker of the version typed its lines
    met: bool = False  # the version was only found, so its lines may be those of a git commit
    puts_back: bool = False  # the version only puts back old lines (git, an undo)
    made_from: tuple[int, ...] = ()  # seqs of the versions it was probably made from, the likeliest first
    not_from: Collection[int] = ()  # batches that the version undoes, whose lines are no source
    copied: tuple[str, Version] | None = None  # the newest version with the same bytes at another path


Elsewhere = Callable[[str, Version], Sequence[LineOrigin] | None]
"""Function that returns the origins of a version's lines at another path, or None if too expensive."""


class _Run:
    __slots__ = ("above", "age", "below", "keys", "origins", "whole")

    def __init__(
        self, age: int, keys: Sequence[bytes], origins: Sequence[LineOrigin], above: bytes, below: bytes
    ) -> None:
        self.age, self.keys, self.above, self.below = age, keys, above, below
        self.origins: list[LineOrigin | None] = list(origins)  # None: the line was added again
        self.whole = True  # no line was added again


class _Change(msgspec.Struct, frozen=True, dict=True):
    """Difference of two versions, from the first to the last differing line."""

    line: int  # the number of the first different line, on both sides
    gone: Sequence[bytes]
    come: Sequence[bytes]
    blocks: Sequence[Block]  # lines of `gone` that became lines of `come`
    above: bytes  # the line before the difference, on both sides; b"" for none
    below: bytes
    conflicts: bool  # the removed lines may have conflict markers
    body: bytes  # the whole text after the change

    @cached_property
    def counts(self) -> Counter[bytes]:
        return Counter(self.come)


class _Kept(msgspec.Struct, frozen=True):
    seq: int
    batch: int
    body: bytes
    origins: Sequence[LineOrigin]


class _Source(NamedTuple):
    """Version from which lines may have come, aligned with the lines that a change adds."""

    origins: Sequence[LineOrigin]
    keys: Sequence[bytes]
    places: Sequence[int]  # for each line added by the change its index here, -1 for none

    def covers(self, span: tuple[int, int]) -> int:
        """Return how many of the added lines start..stop of `span` the source has, too."""
        return sum(at >= 0 for at in self.places[slice(*span)])


def _fullest_first(sources: Sequence[_Source], span: tuple[int, int]) -> list[_Source]:
    return sorted(sources, key=lambda one: one.covers(span), reverse=True)


class LineReplay:
    """Lines of a file with their origins, updated version by version. `kept`: seqs of the versions that later versions
    restore or are made from.
    """

    def __init__(self, kept: Collection[int] = ()) -> None:
        self.origins: list[LineOrigin] = []
        self.met_in: tuple[str, Version] | None = None  # the newest version that was only found, with its path
        self.met_as: list[int] = []  # the number of each line in `met_in`; -1: added later
        self._before = b""
        self._at = self._line = 0  # a line start in `_before` and its number, from which lines are counted
        self._kept = kept
        self._by_blob: dict[bytes, list[_Kept]] = {}
        self._by_seq: dict[int, _Kept] = {}
        self._gone: dict[bytes, list[tuple[_Run, int]]] = {}  # removals of a line as (run, index), the newest last
        self._age = 0
        self._compared = 0  # lines compared so far
        self._brought: dict[tuple[str, int, int, int], LineOrigin] = {}

    def take(self, path: str, version: Version, data: bytes, clues: Clues, elsewhere: Elsewhere) -> None:
        """Update the origins for the next version, whose bytes are `data` (b"" without a file)."""
        pause()
        body = data[len(BOM) :] if data.startswith(BOM) else data
        old, new = ended(self._before, body), ended(body, self._before)
        head, tail = common_bytes(old, new)
        if self._at > len(self._before):  # the place was after a break that `ended` added
            self._at = self._line = 0
        at, line = self._at, self._line
        line += breaks_between(old, at, head) if at <= head else -breaks_between(old, head, at)
        self._at, self._line = head, line
        gone = old[head : len(old) - tail].splitlines(keepends=True)
        come = new[head : len(new) - tail].splitlines(keepends=True)
        found = blocks(gone, come) if gone or come else []
        if found and not clues.author:
            below = new[len(new) - tail :][:_MOST_SLID].splitlines(keepends=True)[:-1]
            found, down = slid_down(found, come + below, len(gone) + len(below))
            tail -= sum(map(len, below[:down]))
            gone, come = gone + below[:down], come + below[:down]
        if gone or come:
            around = _last_line(old, head), _first_line(old, tail)
            conflicts = old.find(OURS, head, len(old) - tail) >= 0
            change = _Change(line, gone, come, found, *around, conflicts, new)
            if clues.author:
                self._remember(change)
                self._put(change, [LineOrigin(path, version)] * len(come))
            else:
                self._restore(path, version, change, clues, elsewhere if body else None)
        self._before = body
        if clues.met:
            self.met_in, self.met_as = (path, version), [*range(len(self.origins))]
        if body and version.seq in self._kept:
            kept = _Kept(version.seq, version.batch, body, tuple(self.origins))
            self._by_seq[version.seq] = kept
            self._by_blob.setdefault(version.blob, []).append(kept)

    # ── lines added again ──

    def _restore(self, path: str, version: Version, change: _Change, clues: Clues, elsewhere: Elsewhere | None) -> None:
        age = self._age
        self._remember(change)
        own = self._restored(version, clues) if elsewhere is not None else None
        was = own
        if own is None and elsewhere is not None and clues.copied is not None:
            was = elsewhere(*clues.copied)
        if was is None:
            self._put(change, self._come(path, version, change, clues, age))
            return
        puts_back = own is not None and clues.puts_back
        come: list[LineOrigin | None] = [None] * len(change.come)
        going = {key for i, j, _, _ in change.blocks for key in change.gone[i:j]}
        for _, _, k, m in change.blocks:
            if going and k < m and not puts_back:  # equal bytes typed a second time take no line from its author
                self._find(change, (k, m), come, (age, self._age), False)
            for n in range(k, m):
                key, then = change.come[n], was[change.line + n]
                if come[n] is None and key in going:
                    come[n] = self._moved(key, then, age)
                come[n] = come[n] or self._back(then, version)
                self._claim_newest(key)
        self._put(change, [origin or was[change.line + n] for n, origin in enumerate(come)])
        if puts_back:
            self._put_back(was, version)

    def _put_back(self, was: Sequence[LineOrigin], version: Version) -> None:
        pairs = zip(self.origins, was, strict=True)
        for n in [n for n, (origin, then) in enumerate(pairs) if origin is not then]:
            now, then = self.origins[n], was[n]
            if not _same_author(now, then):
                self.origins[n] = self._back(then, version)
            elif now.number != then.number:  # the origin of another of several equal lines
                self.origins[n] = msgspec.structs.replace(then, brought=now.brought)

    def _restored(self, version: Version, clues: Clues) -> Sequence[LineOrigin] | None:
        kept = self._by_blob.get(version.blob)
        if not kept:
            return None
        for seq in clues.made_from:
            if (named := next((one for one in kept if one.seq == seq), None)) is not None:
                return named.origins
        in_force = (one for one in reversed(kept) if one.batch not in clues.not_from)
        return next(in_force, kept[-1]).origins

    def _moved(self, key: bytes, origin: LineOrigin, age: int) -> LineOrigin | None:
        for run, at in reversed(self._gone.get(key, ())):
            was = run.origins[at] if run.age > age else None
            if was is not None and _same_author(was, origin):
                return was
        return None

    def _come(self, path: str, version: Version, change: _Change, clues: Clues, age: int) -> list[LineOrigin]:
        found: list[LineOrigin | None] = [None] * len(change.come)
        marked = _marked(change.gone) if change.conflicts and not clues.puts_back else ()
        spans = [(k, m, any(i < stop and start < j for start, stop in marked)) for i, j, k, m in change.blocks if k < m]
        for k, m, _ in spans:
            self._find(change, (k, m), found, (age, self._age), clues.puts_back)
        others = [n for n, origin in enumerate(found) if origin is None]
        kept = [self._by_seq[seq] for seq in clues.made_from if seq in self._by_seq] if others else []
        sources = [source for one in kept if (source := self._beside(one, change)) is not None]
        for k, m, resolves in spans:
            if not resolves:
                for source in _fullest_first(sources, (k, m)):
                    self._find_in(source, (k, m), found)
                self._find(change, (k, m), found, (0, age), clues.puts_back)
        for n in others:
            came = found[n]
            found[n] = LineOrigin(path, version, number=change.line + n) if came is None else self._back(came, version)
        return cast("list[LineOrigin]", found)

    def _find(
        self,
        change: _Change,
        span: tuple[int, int],
        found: list[LineOrigin | None],
        ages: tuple[int, int],
        puts_back: bool,
    ) -> None:
        wanted: dict[bytes, list[int]] = {}
        runs: dict[int, _Run] = {}
        for n in range(*span):
            key = change.come[n]
            places = self._gone.get(key) if found[n] is None else None
            if not places:
                continue
            if key not in wanted:
                places[:] = [place for place in places if place[0].origins[place[1]] is not None]
                between = [place for place in places if ages[0] < place[0].age <= ages[1]]
                if len(between) == 1 and change.counts[key] == 1 and _words(key) >= SUBSTANCE:
                    _find_around(n, *between[0], change.come, span, found)
                    places.remove(between[0])
                    continue
                runs.update((run.age, run) for run, _ in between[-MOST_REMEMBERED:])
            wanted.setdefault(key, []).append(n)
        if not runs:
            return
        newest_first = [runs[age] for age in sorted(runs, reverse=True)[:MOST_RUNS]]
        for any_line in (False, True) if puts_back else (False,):
            for run in newest_first:
                pause()
                self._compared += len(run.keys) + span[1] - span[0]
                if self._compared > MOST_COMPARED:
                    return
                for group in _groups(run, wanted, change.come, found):
                    if any_line or _is_known(group, run, change):
                        for n, at in group:
                            found[n], run.origins[at] = run.origins[at], None
                            run.whole = False

    def _beside(self, kept: _Kept, change: _Change) -> _Source | None:
        """Return the version `kept` as a source, its lines aligned by a diff with the whole text after the change, as
        equal lines may stand at several places. None if that is too expensive.
        """
        keys, new = (ended(body, b"").splitlines(keepends=True) for body in (kept.body, change.body))
        head, tail = common_lines(keys, new)
        old, made = keys[head : len(keys) - tail], new[head : len(new) - tail]
        self._compared += len(old) + len(made)
        if self._compared > MOST_COMPARED:
            return None
        found, _ = slid_down(blocks(old, made), new[head:], len(keys) - head)
        places, at_old = [*range(head)], head
        for i, j, k, m in found:
            places += range(at_old, head + i)
            places += [-1] * (m - k)
            at_old = head + j
        places += range(at_old, len(keys))
        return _Source(kept.origins, keys, places[change.line : change.line + len(change.come)])

    def _find_in(self, source: _Source, span: tuple[int, int], found: list[LineOrigin | None]) -> None:
        for n in range(*span):
            at = source.places[n]
            if found[n] is None and at >= 0:
                found[n] = source.origins[at]
                self._claim_newest(source.keys[at])

    def _claim_newest(self, key: bytes) -> None:
        places = self._gone.get(key)
        while places:
            run, at = places.pop()
            if run.origins[at] is not None:
                run.origins[at], run.whole = None, False
                return

    def _back(self, origin: LineOrigin, version: Version) -> LineOrigin:
        key = origin.path, origin.version.seq, origin.number, version.seq
        found = self._brought.get(key)
        if found is None:
            found = self._brought[key] = msgspec.structs.replace(origin, brought=version)
        return found

    # ── removed and present lines ──

    def _remember(self, change: _Change) -> None:
        for i, j, _, _ in change.blocks:
            if i == j:
                continue
            keys = change.gone[i:j]
            above = change.gone[i - 1] if i else change.above
            below = change.gone[j] if j < len(change.gone) else change.below
            self._age += 1
            run = _Run(self._age, keys, self.origins[change.line + i : change.line + j], above, below)
            for at, key in enumerate(keys):
                places = self._gone.setdefault(key, [])
                places.append((run, at))
                if len(places) > 2 * MOST_REMEMBERED:
                    del places[:-MOST_REMEMBERED]

    def _put(self, change: _Change, come: Sequence[LineOrigin]) -> None:
        for i, j, k, m in reversed(change.blocks):
            self.origins[change.line + i : change.line + j] = come[k:m]
            self.met_as[change.line + i : change.line + j] = [-1] * (m - k)


def _same_author(one: LineOrigin, other: LineOrigin) -> bool:
    return (one.version.seq, one.path) == (other.version.seq, other.path)


# ── lines ────────────────────────────────────────────────────────────────────


def _groups(
    run: _Run, wanted: dict[bytes, list[int]], come: Sequence[bytes], found: Sequence[LineOrigin | None]
) -> Iterator[list[tuple[int, int]]]:
    free = sorted(n for key in {*run.keys} for n in wanted.get(key, ()) if found[n] is None)
    there = [at for at, origin in enumerate(run.origins) if origin is not None and run.keys[at] in wanted]
    if not free or not there:
        return
    pairs = [(free[n], there[i]) for i, n in _equal([run.keys[at] for at in there], [come[n] for n in free])]
    in_order = [n for n, _ in pairs]
    group: list[tuple[int, int]] = []
    for n, at in pairs:
        if group and (n, at) != (group[-1][0] + 1, group[-1][1] + 1):
            yield group
            group = []
        group.append((n, at))
    if group:
        yield group
    left: dict[bytes, list[int]] = {}
    for at in sorted({*there} - {at for _, at in pairs}, reverse=True):
        left.setdefault(run.keys[at], []).append(at)
    for n in sorted({*free} - {*in_order}):
        if places := left.get(come[n]):
            yield [(n, places.pop())]


def _find_around(
    n: int,
    run: _Run,
    at: int,
    come: Sequence[bytes],
    span: tuple[int, int],
    found: list[LineOrigin | None],
) -> None:
    first, last = n, n + 1
    most = min(span[1] - n, len(run.keys) - at)
    if run.whole and run.keys[at : at + most] == come[n : n + most] and not any(found[n : n + most]):
        last = n + most
    else:
        while last < span[1] and _goes_with(last, run, at - n, come, found):
            last += 1
    while first > span[0] and _goes_with(first - 1, run, at - n, come, found):
        first -= 1
    there = slice(first + at - n, last + at - n)
    found[first:last] = run.origins[there]
    run.origins[there] = [None] * (last - first)
    run.whole = False


def _goes_with(n: int, run: _Run, behind: int, come: Sequence[bytes], found: Sequence[LineOrigin | None]) -> bool:
    at = n + behind
    if not 0 <= at < len(run.keys) or found[n] is not None:
        return False
    return run.keys[at] == come[n] and run.origins[at] is not None


def _is_known(group: Sequence[tuple[int, int]], run: _Run, change: _Change) -> bool:
    if sum(map(_words, (run.keys[at] for _, at in group))) >= SUBSTANCE:
        return True
    (first, start), (last, end) = group[0], group[-1]
    above = change.come[first - 1] if first else change.above
    below = change.come[last + 1] if last + 1 < len(change.come) else change.below
    same_above = above == (run.keys[start - 1] if start else run.above)
    same_below = below == (run.keys[end + 1] if end + 1 < len(run.keys) else run.below)
    return (same_above and same_below) or (same_above and _words(above) > 2) or (same_below and _words(below) > 2)


def _words(line: bytes) -> int:
    return len(line.translate(None, _NOT_WORDS))


def _equal(a: Sequence[bytes], b: Sequence[bytes]) -> Iterator[tuple[int, int]]:
    i = k = 0
    for start, stop, from_, upto in (*blocks(a, b), (len(a), len(a), len(b), len(b))):
        yield from zip(range(i, start), range(k, from_), strict=True)
        i, k = stop, upto


def _marked(lines: Sequence[bytes]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    start = between = -1
    for n, line in enumerate(lines):
        if line.startswith(OURS):
            start, between = n, -1
        elif start >= 0 and line.startswith(BETWEEN):
            between = n
        elif between >= 0 and line.startswith(THEIRS):
            found.append((start, n + 1))
            start = between = -1
    return found


def ended(body: bytes, other: bytes) -> bytes:
    """Return `body` with its last line ended by its last break, else by that of `other`, else by LF."""
    if not body or body.endswith((b"\n", b"\r")):
        return body
    return body + (_last_break(body) or _last_break(other) or b"\n")


def _last_break(data: bytes) -> bytes:
    at = max(data.rfind(b"\n"), data.rfind(b"\r"))
    return b"\r\n" if data[at - 1 : at + 1] == b"\r\n" else data[at : at + 1]


def _last_line(data: bytes, stop: int) -> bytes:
    return data[data.rfind(b"\n", 0, max(stop - 1, 0)) + 1 : stop]


def _first_line(data: bytes, left: int) -> bytes:
    start = len(data) - left
    return data[start : data.find(b"\n", start) + 1] if left else b""
