"""Renames between two states of the tree: those that the journal saw, and those that equal or similar contents show, as
git does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

from quire_daemon.tools.history.difference import same
from quire_journal.history import History, backwards, is_by_git, is_lost
from quire_journal.history.renames import SIMILAR, alike, similarity
from quire_journal.model import FOLDER
from quire_journal.text import Text
from quire_journal.views import Version, standing

MOST_STEPS: Final = 1_000
"""Maximum number of versions that are searched for the earlier name of a file."""


class TreeChange(NamedTuple):
    """A file in two states of the tree; None for a state without the file."""

    path: str
    old_path: str  # its path in the earlier state
    old: Version | None
    new: Version | None
    anew: bool = False  # another file had this path in the earlier state, and has left it

    @property
    def differs(self) -> bool:
        """True if there is a difference to show."""
        return self.path != self.old_path or not same(self.old, self.new)


class EarlierState(NamedTuple):
    """The earlier of two states, and the texts of both."""

    seq: int | None  # the newest record of the state; None for a commit
    text_of: Callable[[Version], Text | None]  # None: not held
    history: History


def with_renames(changes: Sequence[TreeChange], start: EarlierState, *, guessed: bool) -> list[TreeChange]:
    """Return the changes, with the removed and the added file of a rename as a single change. `guessed`: also renames
    that only equal or similar contents show.
    """
    left = {one.path: one.old for one in changes if _is_file(one.old) and standing(one.new) is None}
    came = {one.path: one.new for one in changes if standing(one.old) is None and _is_file(one.new)}
    found = dict(_seen(left, came, _there(changes), start))
    if guessed:
        known = {*found.values()}
        olds = {path: old for path, old in left.items() if old is not None and path not in known}
        news = {path: new for path, new in came.items() if new is not None and path not in found}
        found |= alike(olds, news, start.text_of)
    gone = {*found.values()}
    return [
        one._replace(old_path=found[one.path], old=left[found[one.path]]) if one.path in found else one
        for one in changes
        if one.path not in gone
    ]


def followed(changes: Sequence[TreeChange], start: EarlierState) -> list[TreeChange]:
    """Return the changes, with renames onto used paths: if the journal saw a file leave a path that another file has
    now, the moved file is compared with its earlier path, and the other counts as new (`anew`). A file written anew at
    a path counts as another only if it is not similar either.
    """
    same_name = [one for one in changes if one.path == one.old_path and one.differs]
    news = {one.path: one.new for one in same_name if _is_file(one.new)}
    known = {path: one for path, one in _earlier_names(news, {}, _there(changes), start).items() if one.path != path}
    wanted = {one.path for one in known.values()}
    olds = {
        one.path: one.old
        for one in same_name
        if one.path in wanted and ((one.path in known and known[one.path].is_same) or _is_another(one, start))
    }
    found = dict(_pairs(known, olds, news, start))
    left = {*found.values()}
    return [
        one._replace(old_path=found[one.path], old=olds[found[one.path]])
        if one.path in found
        else one._replace(old=None, anew=True)
        if one.path in left
        else one
        for one in changes
        if one.path not in left or standing(one.new) is not None
    ]


def _is_another(change: TreeChange, start: EarlierState) -> bool:
    return standing(change.new) is None or similarity(change.old, change.new, start.text_of) < SIMILAR


def other_names(change: TreeChange, history: History) -> Iterator[str]:
    """Yield other paths under which a file may be in the earlier or the later state."""
    if standing(change.new) is not None:
        for name, _ in _past(change.path, change.new, history):
            if name != change.path:
                yield name
        return
    seen, path = {change.path}, change.path
    while (head := history.file(path)) is not None:
        left = islice(history.versions(path, reverse=True), MOST_STEPS) if head.gone else ()
        path = next((one.moved_to for one in left if one.moved_to), "")
        if not path or path in seen:
            return
        seen.add(path)
        yield path


def earlier_names(path: str, history: History) -> dict[str, int]:
    """Return earlier path of the file at `path` → the newest record at which it had this path."""
    past = islice(backwards(history, path, history.head()), MOST_STEPS)
    found: dict[str, int] = {}
    for name, version in past:
        if name != path:
            found.setdefault(name, version.seq)
    return found


def end_of(path: str, seq: int, history: History) -> tuple[str, Version | None]:
    """Return (path, version), after record `seq`, of the file that was last at this path, even if it was moved away
    since.
    """
    version = history.version_at(path, seq)
    if version is None or not version.gone:
        return path, version
    left = version
    if not left.moved_to and is_by_git(_hint(left, history)):  # it came back for a while
        earlier = islice(history.versions(path, upto=seq, reverse=True), MOST_STEPS)
        left = next((one for one in earlier if one.moved_to), left)
    name, last = path, left
    while last.gone and last.moved_to:
        name, gone = last.moved_to, last
        for one in history.versions(name, after=gone.seq - 1, upto=seq):
            if last.gone and last is not gone and not is_by_git(_hint(one, history)):
                break  # another file
            last = one
            if one.moved_to:
                break
        if last is gone:
            return path, version  # the version at the new name was abandoned
    return (name, last) if last.gone or left is version else (path, version)


def _hint(version: Version, history: History) -> str:
    return str(getattr(history.event(version.seq), "hint", ""))


def made_by(change: TreeChange, seq: int, history: History) -> tuple[str, Version | None]:
    """Return (path, version) that made the later state, as of record `seq`; for a removed file the removal."""
    path, version = end_of(change.path, seq, history)
    if version is None or standing(version) is None or standing(change.new) is not None:
        return path, version
    earlier = islice(history.versions(change.path, upto=seq, reverse=True), MOST_STEPS)  # another file left the name
    removal = next((one for one in earlier if one.gone and not one.moved_to), None)
    return (path, version) if removal is None else (change.path, removal)


def name_then(path: str, version: Version, seq: int, history: History) -> tuple[str, Version] | None:
    """Return (path, version), after record `seq`, of the file that later has this path and version; None if it did not
    exist yet.
    """
    return next((step for step in backwards(history, path, version.seq) if step[1].seq <= seq), None)


def file_at(path: str, seq: int, history: History) -> tuple[str, Version | None]:
    """Return (path, version), after record `seq`, of the file at `path`; if no file was there, of the file that is
    there now, at its earlier path.
    """
    version, head = history.version_at(path, seq), standing(history.file(path))
    found = None if standing(version) is not None or head is None else name_then(path, head, seq, history)
    return (path, version) if found is None or found[0] == path else found


_Files = Mapping[str, Version | None]


def _there(changes: Sequence[TreeChange]) -> _Files:
    """Return the files of the earlier state by path."""
    return {one.old_path: one.old for one in changes if _is_file(one.old)}


def _seen(left: _Files, came: _Files, there: _Files, start: EarlierState) -> Iterator[tuple[str, str]]:
    """Yield (new path, old path) of the files that the journal saw moved."""
    yield from _pairs(_earlier_names(came, left, there, start), left, came, start) if left else ()


def _pairs(known: Mapping[str, _Earlier], left: _Files, came: _Files, start: EarlierState) -> Iterator[tuple[str, str]]:
    """Yield (new path, old path) of renames, each old path once. Files that the journal saw with the bytes of the
    earlier state come first.
    """
    free = {*left}
    for path, found in sorted(known.items(), key=lambda one: not one[1].is_exact):
        if found.path not in free:
            continue
        if (found.is_same and found.is_exact) or similarity(left[found.path], came[path], start.text_of) >= SIMILAR:
            free.discard(found.path)
            yield path, found.path


def _earlier_names(files: _Files, left: _Files, there: _Files, start: EarlierState) -> dict[str, _Earlier]:
    found = ((path, _earlier_name(path, new, left, there, start)) for path, new in files.items())
    return {path: one for path, one in found if one is not None}


class _Earlier(NamedTuple):
    path: str
    is_same: bool  # the file was there all the time since
    is_exact: bool = True  # the journal saw it with the bytes of the earlier state


def _earlier_name(path: str, new: Version | None, left: _Files, there: _Files, start: EarlierState) -> _Earlier | None:
    """Return the path that the later file `new` had in the earlier state, or None. If that is a commit: the newest path
    with the commit's bytes, else the newest in `left`.
    """
    is_same, first = True, None
    for name, one in _past(path, new, start.history):
        is_same = is_same and not one.gone
        if start.seq is not None and one.seq <= start.seq:
            return _Earlier(name, is_same)
        if start.seq is None and (old := there.get(name)) is not None:
            if not one.gone and one.blob and one.blob == old.blob:
                return _Earlier(name, is_same)
            first = first or (_Earlier(name, is_same, is_exact=False) if name in left else None)
    return first


def _past(path: str, version: Version | None, history: History) -> Iterator[tuple[str, Version]]:
    return islice(backwards(history, path, version.seq if version is not None else 0), MOST_STEPS)


def _is_file(version: Version | None) -> bool:
    there = standing(version)
    return there is not None and there.entry != FOLDER and not is_lost(there)
