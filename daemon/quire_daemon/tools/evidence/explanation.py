"""Finds the announced calls that made the bytes found on disk, and their order. Pure.

The calls are applied to the old bytes in every order. The smallest set of calls that gives exactly the bytes found is
proved (`exact`) if no other set does, or all are of one agent session; sets of different sessions are rivals. If more
was changed, calls whose lines are in the bytes found are steps; the further change is attributed to a formatter of the
call if only layout differs, else to an unknown writer (`exact+`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from quire_daemon.core import AnnouncedCall
from quire_daemon.dialects.patch import FilePatch
from quire_daemon.tools.evidence.accounts import CallAccounts, same
from quire_daemon.tools.evidence.changes import plain_layout
from quire_daemon.tools.evidence.effort import Effort, EffortSpentError
from quire_daemon.tools.evidence.patches import moved
from quire_daemon.tools.evidence.results import BytesAt, results
from quire_journal.text import BINARY_PROBE, common_bytes

MOST_CALLS: Final = 12

MOST_TOGETHER: Final = 4
"""Maximum number of calls applied together, as the number of orders grows exponentially."""

MOST_TRIES: Final = 200

MOST_BESIDE: Final = 512 * 1024
"""Maximum number of differing bytes in which the lines of calls are searched."""


class ExplainedStep(NamedTuple):
    """Bytes after one part of a change, and the call that made it; None for an unknown writer."""

    data: bytes | None  # None: the file was removed
    call: AnnouncedCall | None


class Explanation(NamedTuple):
    """Steps of a file's change, with the announced calls that made them."""

    steps: tuple[ExplainedStep, ...] = ()  # from the old to the found bytes; empty: unexplained
    proved: bool = False  # only these steps give the found bytes
    rivals: tuple[int, ...] = ()  # calls of several agents that each give the found bytes


def no_bytes(path: str) -> Iterator[bytes]:
    """Return an empty iterator, for callers that do not have the bytes of other files."""
    del path
    return iter(())


def explain(
    path: str,
    before: bytes | None,
    found: bytes | None,
    calls: Sequence[CallAccounts],
    bytes_at: BytesAt = no_bytes,
    effort: Effort | None = None,
) -> Explanation:
    """Return the steps by which these calls, oldest first, turned `before` into `found` (None: no file); no steps if
    the calls do not explain it.
    """
    offering = [one for one in calls if one.about(path)][-MOST_CALLS:]
    effort = effort or Effort()
    for explained in (_Tries.whole, _Tries.in_part):
        with suppress(EffortSpentError):
            found_out = explained(_Tries(path, found, bytes_at, effort.half()), before, offering)
            if found_out is not None:
                return found_out
    return Explanation()


class _Chain(NamedTuple):
    """Calls applied in one order, and the resulting bytes."""

    data: bytes | None
    steps: tuple[ExplainedStep, ...] = ()

    @property
    def calls(self) -> frozenset[int]:
        return frozenset(step.call.burst for step in self.steps if step.call is not None)

    @property
    def owners(self) -> set[bytes]:
        return {step.call.owner for step in self.steps if step.call is not None}


class _Tries:
    """Trial application of announced calls to the bytes of a file."""

    def __init__(self, path: str, found: bytes | None, bytes_at: BytesAt, effort: Effort) -> None:
        self._path, self._found, self._bytes_at, self._effort = path, found, bytes_at, effort
        self._left = MOST_TRIES

    def whole(self, before: bytes | None, calls: Sequence[CallAccounts]) -> Explanation | None:
        """Return the smallest set of calls that gives exactly the bytes found; None if none does within the limits."""
        level = [_Chain(before)]
        for _ in calls[:MOST_TOGETHER]:
            level = self._longer(level, calls)
            fitting = [chain for chain in level if chain.data == self._found]
            if self._left < 0:
                return None
            if fitting:
                return _chosen(fitting)
        return None

    def _longer(self, level: Sequence[_Chain], calls: Sequence[CallAccounts]) -> list[_Chain]:
        """Return the chains with one more call, one chain per set of calls and result."""
        longer: dict[frozenset[int], list[_Chain]] = defaultdict(list)
        for chain in level:
            for call in calls:
                if call.call.burst in chain.calls:
                    continue
                for data in self._made(call, chain.data):
                    made = _Chain(data, (*chain.steps, ExplainedStep(data, call.call)))
                    equal = longer[made.calls]
                    if not any(data == one.data for one in equal):  # to compare is cheaper than to hash
                        equal.append(made)
        return [chain for equal in longer.values() for chain in equal]

    def _made(self, call: CallAccounts, before: bytes | None) -> Iterator[bytes | None]:
        for account in call.about(self._path):
            for data in results(account, self._path, before, self._found, self._bytes_at, self._effort):
                self._left -= 1
                if self._left < 0:
                    return
                if data != before:
                    yield data
                if data == self._found:
                    return

    def in_part(self, before: bytes | None, calls: Sequence[CallAccounts]) -> Explanation | None:
        """Return the calls whose lines are in the bytes found as steps, and a last step for further changes; None
        without such a call.
        """
        beside = None if self._found is None else _Beside.of(before or b"", self._found, self._effort)
        if beside is None:
            return None
        at, steps, left = before, list[ExplainedStep](), list(calls)
        while (one := self._standing(at, left, beside)) is not None:
            call, at = one
            left.remove(call)
            steps.append(ExplainedStep(at, call.call))
        if not steps:
            return None
        return Explanation(tuple(steps) if at == self._found else (*steps, ExplainedStep(self._found, None)))

    def _standing(
        self, at: bytes | None, calls: Sequence[CallAccounts], beside: _Beside
    ) -> tuple[CallAccounts, bytes] | None:
        for call in calls:
            for data in self._made(call, at):
                if data is not None and beside.holds(at or b"", data, self._effort):
                    return call, data
        return None


def _chosen(fitting: Sequence[_Chain]) -> Explanation:
    first = fitting[0]
    if len({chain.calls for chain in fitting}) > 1:
        owners = set[bytes]().union(*(chain.owners for chain in fitting))
        if len(owners) > 1:
            return Explanation(rivals=tuple(sorted(frozenset[int]().union(*(chain.calls for chain in fitting)))))
    return Explanation(first.steps, proved=True)


class _Beside(NamedTuple):
    """Differences between old and found bytes, in which the lines of calls are searched."""

    came: frozenset[bytes]  # added lines without layout
    text: bytes  # found text without layout, as a formatter may have rewrapped it
    went: Counter[bytes]

    @classmethod
    def of(cls, before: bytes, found: bytes, effort: Effort) -> _Beside | None:
        """Return the differences; None for binary files, or too many differing bytes."""
        if b"\0" in found[:BINARY_PROBE] or b"\0" in before[:BINARY_PROBE]:
            return None
        was, now = _differing(before, found, effort)
        if len(was) + len(now) > MOST_BESIDE:
            return None
        old, new = _lines(was, effort), _lines(now, effort)
        return cls(frozenset(map(plain_layout, new)), plain_layout(now), old - new)

    def holds(self, before: bytes, made: bytes, effort: Effort) -> bool:
        """True if the lines that the step from `before` to `made` added are in the bytes found, and the lines that it
        removed are not.
        """
        was, now = _differing(before, made, effort)
        old, new = _lines(was, effort), _lines(now, effort)
        came = [plain for line in (new - old) if (plain := plain_layout(line))]
        went = [line for line in (old - new) if plain_layout(line)]
        effort.spend(sum(len(self.text) for line in came if line not in self.came))
        return (
            bool(came or went)
            and all(self.went[line] and plain_layout(line) not in self.came for line in went)
            and all(line in self.came or line in self.text for line in came)
        )


def _differing(before: bytes, after: bytes, effort: Effort) -> tuple[bytes, bytes]:
    effort.spend(2 * (len(before) + len(after)))
    head, tail = common_bytes(before, after)
    return before[head : len(before) - tail], after[head : len(after) - tail]


def _lines(text: bytes, effort: Effort) -> Counter[bytes]:
    effort.spend(len(text), 2 * text.count(b"\n"))
    return Counter(text.split(b"\n"))


def explain_move(
    path: str, to: str, before: bytes, found: bytes, calls: Sequence[CallAccounts], effort: Effort | None = None
) -> AnnouncedCall | None:
    """Return the call whose patch moves the file and gives these bytes; None if no call does, or calls of several
    agents.
    """
    effort = effort or Effort()
    fitting: list[AnnouncedCall] = []
    try:
        for call in calls:
            moves = [one for one in call.about(to) if isinstance(one, FilePatch) and same(one.to, to)]
            if any(found in moved(one, before, effort) for one in moves if same(one.path, path)):
                fitting.append(call.call)
    except EffortSpentError:
        return None
    return fitting[0] if len({call.owner for call in fitting}) == 1 else None
