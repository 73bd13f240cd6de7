"""A state of a file, such as a commit, as the result of some of the changes that `own_changes` finds. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import reduce
from itertools import takewhile
from typing import Final, NamedTuple

from quire_daemon.tools.history.by_writer.own_changes import WovenLine
from quire_journal.model import pause
from quire_journal.text import Text

MOST_WAYS: Final = 200
"""Maximum number of ways that are followed at one line; beyond, a state is not explained."""


def explained(woven: Sequence[WovenLine], state: Text) -> tuple[frozenset[int], ...]:
    """Return the sets of changes (by number), at most two, that make exactly the lines of `state`, with each change as
    a whole. Two sets are returned if the writer's other changes make different files of the state.

    Return () if there is no such set, if there are too many ways to try, or if a line came back that the state lacks.
    """
    if Counter(state.lines) - Counter(line.content for line in woven):
        return ()
    ways = (frozenset(change for change, has in _chain(way.decided) if has) for way in _ways(woven, [*state.lines]))
    found = tuple(ways)
    return () if any(_came_back(line, some) for some in found for line in woven) else found


def _came_back(line: WovenLine, changes: Set[int]) -> bool:
    """True if these changes made and removed a line that is in the file now."""
    return line.after and _count(line, changes) > 0 and not _is_in(line, changes)


def upon(woven: Sequence[WovenLine], changes: Set[int], state: Text) -> tuple[WovenLine, ...]:
    """Return the lines, numbered anew, so that they start from `state` (the file after exactly these changes). The
    lines of `state` have no author; a line that these changes add and remove is dropped.
    """
    there = [line for line in woven if _is_in(line, changes)]
    later = sorted((line for line in woven if not _count(line, changes)), key=lambda line: line.number)
    numbers = {line.number: n for n, line in enumerate((*there, *later), 1)}
    bounds = _Bounds(woven, numbers)
    endings = iter(zip(state.lines, state.breaks, strict=True))
    made = list[WovenLine]()
    for line in woven:
        if line.number not in numbers:
            continue
        number = numbers[line.number]
        if number <= len(there):
            content, ending = next(endings)
            before = line.before or (line.own and (line.after or line.cut))
            made.append(WovenLine(content, ending, before, line.after, number, cut=line.cut and not line.after))
        else:
            replaces, beside = (
                tuple(numbers[n] for n in some if n in numbers) for some in (line.replaces, line.beside)
            )
            made.append(line._replace(number=number, between=bounds.of(line.between), replaces=replaces, beside=beside))
    return tuple(made)


class _Bounds:
    """New numbers of the lines above and below an added line; in place of a dropped line, the next that is left."""

    def __init__(self, woven: Sequence[WovenLine], numbers: Mapping[int, int]) -> None:
        self._above, self._below = _nearest(woven, numbers), _nearest(woven[::-1], numbers)

    def of(self, between: tuple[int, int]) -> tuple[int, int]:
        return self._above.get(between[0], 0), self._below.get(between[1], 0)


def _nearest(woven: Sequence[WovenLine], numbers: Mapping[int, int]) -> dict[int, int]:
    """Return line number → new number of the line, or of the nearest line before it that has one; 0 if none has."""
    found, last = dict[int, int](), 0
    for line in woven:
        last = found[line.number] = numbers.get(line.number, last)
    return found


def _is_in(line: WovenLine, changes: Set[int]) -> bool:
    """True if the line is in the file after these changes."""
    return _count(line, changes) % 2 == 1


def _count(line: WovenLine, changes: Set[int]) -> int:
    """Return how often these changes add and remove the line."""
    return sum(1 for _ in takewhile(lambda change: not change or change in changes, _changes(line)))


def _changes(line: WovenLine) -> tuple[int, ...]:
    """Return the numbers of the changes that added and removed a line, in turn. If others removed a line of the writer,
    this is a change of its own (negative number): a patch of the writer alone lacks the line, and what the others did
    beside it.
    """
    of_its_own = line.own and not line.after and not line.cut
    return (*line.changes[:-1], -line.number) if of_its_own else line.changes


_Chain = tuple["_Chain", int, bool] | None
"""The decisions, the last one first: (those before, a change, whether the state has it)."""


def _chain(decided: _Chain) -> Iterator[tuple[int, bool]]:
    while decided is not None:
        decided, change, has = decided
        yield change, has


def _decided(before: _Chain, change: tuple[int, bool]) -> _Chain:
    return before, *change


class _Way(NamedTuple):
    """Decisions, for each change, whether the state has it, which explain the lines so far."""

    decided: _Chain
    made: int  # number for the lines that the writer's other changes make of the state; equal for equal lines


_Decisions = frozenset[tuple[int, bool]]
"""(change, whether the state has it)."""


def _ways(woven: Sequence[WovenLine], wanted: Sequence[bytes]) -> list[_Way]:
    """Return up to two ways to make the `wanted` lines, which differ in what the writer's other changes make of these;
    [] if there are too many to follow.
    """
    last = {change: at for at, line in enumerate(woven) for change in _changes(line)}
    names: dict[tuple[int, bytes], int] = {}
    ways: dict[tuple[int, _Decisions], list[_Way]] = {(0, frozenset()): [_Way(None, 0)]}
    # By the number of lines made, and what is decided of changes that later lines have, too.
    for at, line in enumerate(woven):
        pause()
        found: dict[tuple[int, _Decisions], list[_Way]] = {}
        for (many, still), some in ways.items():
            for is_there, chosen in _choices(line, dict(still)):
                now = many + is_there
                if (is_there and wanted[many:now] != [line.content]) or len(woven) - at - 1 < len(wanted) - now:
                    continue
                stays = line.own or is_there if line.after else is_there and not line.cut
                known = found.setdefault((now, frozenset(one for one in still | chosen if last[one[0]] > at)), [])
                for way in some:
                    made = names.setdefault((way.made, line.content), len(names) + 1) if stays else way.made
                    if len(known) < 2 and all(made != other.made for other in known):
                        known.append(_Way(reduce(_decided, chosen - still, way.decided), made))
        if len(found) > MOST_WAYS:
            return []
        ways = found
    return [way for some in ways.values() for way in some]


def _choices(line: WovenLine, decided: Mapping[int, bool]) -> Iterator[tuple[bool, _Decisions]]:
    """Yield (whether a state has the line, decisions about the changes of the line): a state has these up to one of
    them, or only the writer's removal of a line of others. First comes the choice that leaves least of the writer's
    changes, and has least of others.
    """
    changes = _changes(line)
    ways = [(count % 2 == 1, [n < count for n in range(len(changes))]) for count in range(len(changes) + 1)]
    if line.cut and not line.own:
        ways.append((False, [change == changes[-1] for change in changes]))
    for is_there, has in reversed(ways) if line.own or line.cut else ways:
        chosen = frozenset(zip(changes, has, strict=True))
        if all(decided.get(change, is_in or not change) == is_in for change, is_in in chosen):
            yield is_there, chosen
