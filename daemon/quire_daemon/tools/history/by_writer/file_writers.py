"""Writers of the files that changed between two points."""

from __future__ import annotations

from typing import Final, NamedTuple

from quire_daemon.tools.history import ME, VERSION_KINDS, Filter, Ownership, writer_type
from quire_daemon.tools.history.by_writer.parts import MadeDifference, has_part
from quire_journal.history import UNDOING, History, is_by_git
from quire_journal.model import CAPTURED, DURING, MARK, FileDeleted, OutsideDeleted, Record, paced, paths_of

_REMOVALS: Final = frozenset({FileDeleted.kind, OutsideDeleted.kind})


class FileWriters(NamedTuple):
    """Writers of changed files, by path: the writer that a tool was asked about, and others."""

    proved: set[str]  # paths that the writer changed
    probable: dict[str, dict[str, None]]  # path → name of the writer of changes that are only probably its own
    brought: set[str]  # paths in which undo or git may have restored its older changes
    others: dict[str, dict[str, bool]]  # path → name of another writer → whether that is proved
    movers: dict[str, dict[bytes, str]]  # path → caller of an undo, or who removed it for a time → its name

    def names(self, made: MadeDifference, least: Ownership, history: History) -> list[str]:
        """Return the names of the other writers of a file, with `~` before a name that is only probable. Whoever only
        took back or restored wrote nothing. `least`: the weakest claim that counts as the writer's own.
        """
        found, movers = dict[str, bool](), dict[bytes, str]()
        for path in made.names:
            if least == Ownership.PROVED:
                found = dict.fromkeys(self.probable.get(path, ()), False) | found
            for name, proved in self.others.get(path, {}).items():
                found[name] = proved or found.get(name, False)
            movers |= self.movers.get(path, {})
        for key, name in movers.items():
            if name not in found and has_part(made, key, history):
                found[name] = True
        return [name if proved else f"{MARK}{name}" for name, proved in found.items()]


def writers_between(writer: str, whose: Filter, start: int, end: int, history: History) -> FileWriters:
    """Return the writers of all files that changed between the cursors `start` and `end`, in either order. `writer` is
    the name that was asked about, `whose` tells its records.
    """
    claiming = whose.claiming()
    writers = FileWriters(set(), {}, set(), {}, {})
    low, high = sorted((start, end))
    for record in paced(history.records(after=low, upto=high)):
        paths = versioned_paths(record)
        if not paths:
            continue
        claim = claiming(record)
        if claim >= Ownership.PROBABLE:
            for path in paths:
                if claim == Ownership.PROVED:
                    writers.proved.add(path)
                else:
                    name = writer if writer == ME else _name_of(record, history)
                    writers.probable.setdefault(path, {})[name] = None
            continue
        event = record.event()
        by_git, by_undo = is_by_git(getattr(event, "hint", "")), writer_type(record) == UNDOING
        if by_git or by_undo:
            writers.brought.update(paths)
        if by_git or getattr(event, "evidence", "") == CAPTURED:
            continue  # neither git nor the first capture is an author
        name, attribution = _name_of(record, history), history.attribution(record)
        proved = attribution is None or attribution.evidence != DURING
        for path in paths:
            if by_undo or record.kind in _REMOVALS:
                writers.movers.setdefault(path, {})[history.caller_of(history.author(record))] = name
            else:
                named = writers.others.setdefault(path, {})
                named[name] = proved or named.get(name, False)
    return writers


def _name_of(record: Record, history: History) -> str:
    who = history.writer(history.author(record))
    return who.agent or "user" if who is not None else "outside"


def versioned_paths(record: Record | None) -> set[str]:
    """Return the paths of which the record is a version; none for None or a record of another kind."""
    if record is None or record.kind not in VERSION_KINDS:
        return set()
    return {*paths_of(record.event())}
