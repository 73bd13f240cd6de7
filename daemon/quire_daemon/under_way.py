"""What is decided and not written yet: the files, and the calls, that have to wait until it is.

The log may tell of such a request already (that of a turn with the commit of any other of its calls), and the disk does
not hold all of it yet. A look at one of its files would take what is there for an outside change, so none is made
meanwhile (`gather.BeingWritten`); whoever needs one waits, and everybody else is served.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from quire_daemon.call import Going
from quire_daemon.handlers.base import names


class UnderWay(msgspec.Struct):
    """Of all requests that are written over several turns; the files of those that this turn has decided, and of those
    that were not made, or taken back, of which the log says nothing yet.
    """

    going: list[Going] = msgspec.field(default_factory=list)  # in the order in which they were decided
    paths: set[str] = msgspec.field(default_factory=set)  # as in the log
    decided: set[str] = msgspec.field(default_factory=set)  # of this turn, until it has performed what it decided
    untold: set[str] = msgspec.field(default_factory=set)  # the log has to be told before anybody looks at them

    def begin(self, one: Going) -> None:
        """The log has it, and its writes come."""
        self.going.append(one)
        self.paths.update(paths_of(one))

    def end(self, one: Going) -> None:
        """It is on disk, or has been taken back."""
        self.going.remove(one)
        self.paths.difference_update(paths_of(one))

    @property
    def batches(self) -> tuple[int, ...]:
        """What the log calls them."""
        return tuple(one.batch for one in self.going)

    @property
    def callers(self) -> set[bytes]:
        """Connections that wait for the answer: what else they ask comes after it."""
        return {one.call.incoming.identity for one in self.going}

    @property
    def operations(self) -> set[tuple[bytes, bytes]]:
        """The marks by which these calls would be known if they came a second time."""
        return {mark for one in self.going for mark in one.call.marks}


def paths_of(one: Going) -> Iterable[str]:
    """Where it writes."""
    return (path for write in one.decision.writes for path in names(write))
