"""The caller's base of a file: the version that the call names, or the last version that the caller was shown.

If another writer changed the file since, a call that relies on the base is refused (`stale_replies`) or rebased.
"""

from __future__ import annotations

from itertools import islice, pairwise
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from quire_daemon.core import FileNow, World, WriteArguments
from quire_daemon.tools import CONFLICTING, MOST_STEPS, NONE, TOUCHING, WHOLE, changes_told, image, relation, strongest
from quire_daemon.tools.edit.rebase import ByCaller, ByOthers
from quire_journal.history import History, missing
from quire_journal.model import Ranges, Refusal, cached_property, merge_ranges, parse_version_token, version_token
from quire_journal.storage.blobs import NotHeld
from quire_journal.text import Splice, Text, carry_ranges, diff, moved_ranges
from quire_journal.views import Version, standing

MOST_SEARCHED: Final = 1000
"""Maximum number of versions searched for given bytes."""


class Basis(msgspec.Struct, frozen=True, dict=True):
    """Base version of a call and the current text (`now`). `version` is None if the caller was never shown the file and
    names no version; `others` are later versions by other writers, oldest first.
    """

    version: Version | None
    text: Text
    shown: Ranges | None
    others: tuple[Version, ...]
    now: Text
    path: str
    history: History
    stated_sha256: str = ""  # sha256 that names the base, if it differs from the disk
    caller: bytes = b""  # key of the caller
    since: int = 0  # oldest version that the caller's knowledge goes back to
    moved: Ranges = ()  # lines of `shown` whose numbers other writers changed

    @property
    def behind(self) -> bool:
        """True if the current text differs from the base: other writers changed it, or, if `others` is empty, the
        caller itself.
        """
        return self.text is not self.now

    @cached_property
    def steps(self) -> tuple[tuple[Splice, ...], ...]:
        """The changes since the base, one per version; a single change if the journal lacks versions in between."""
        if len(self._walked) == 1 and self.behind:
            return (diff(self.text, self.now),)
        return tuple(
            self._step(version, diff(a, b)) for (_, a), (version, b) in pairwise(self._walked) if version is not None
        )

    @property
    def texts(self) -> tuple[Text, ...]:
        """The base text, and the text after each of `steps`."""
        if len(self._walked) == 1 and self.behind:
            return self.text, self.now
        return tuple(text for _, text in self._walked)

    @cached_property
    def _walked(self) -> tuple[tuple[Version | None, Text], ...]:
        base = (None, self.text)
        if not self.behind or self.version is None:
            return (base,)
        versions = list(self.history.versions(self.path, after=self.version.seq))
        if len(versions) > MOST_STEPS or any(v.gone or v.uncaptured for v in versions):
            return (base,)
        try:
            walked = (base, *((version, self.history.text_of(version.blob)) for version in versions))
        except NotHeld:
            return (base,)
        if walked[-1][1].blob != self.now.blob:
            return (base,)
        return (base, *(after for (_, was), after in pairwise(walked) if after[1].blob != was.blob))

    def _step(self, version: Version, splices: tuple[Splice, ...]) -> tuple[Splice, ...]:
        return (ByCaller if self.history.caller_of(version.writer) == self.caller else ByOthers)(splices)

    @cached_property
    def still_shown(self) -> Ranges:
        """Lines of the current file that this caller has read, at their current line numbers."""
        return merge_ranges(self.carried(self.shown or ()))

    @cached_property
    def still_moved(self) -> Ranges:
        """Lines of `still_shown` whose line numbers other writers have changed."""
        shown, moved = list(self.shown or ()), self.moved
        for step in self.steps:
            by_others = [] if isinstance(step, ByCaller) else moved_ranges(step, shown)
            moved = merge_ranges([*carry_ranges(step, moved), *by_others])
            shown = carry_ranges(step, shown)
        return moved

    def carried(self, lines: Ranges) -> list[tuple[int, int]]:
        """Return these lines of the base at their current line numbers, without lines that were changed."""
        at = list(lines)
        for step in self.steps:
            at = carry_ranges(step, at)
        return at

    def touched(self, lines: Ranges | None) -> str:
        """Return the relation of later changes to these lines of the base (None: to the whole file): `NONE`, `TOUCHING`
        or `CONFLICTING`. Changes by the caller itself directly next to the lines do not count.
        """
        if lines is None:
            return CONFLICTING if self.steps else NONE
        found: list[str] = []
        for step in self.steps:
            meaning = relation(step, lines)
            found.append(NONE if meaning == TOUCHING and isinstance(step, ByCaller) else meaning)
            lines = image(step, lines)
        return strongest(found)


def knowing_nothing(now: FileNow, text: Text, history: History) -> Basis:
    """Return the base of a caller that has not read the file: the current text, without a version."""
    return Basis(None, text, None, (), text, now.path, history)


def on_stale(params: WriteArguments, world: World) -> str:
    """Return `reject` or `rebase`: the treatment of a base that other writers changed, from the request or the
    settings.
    """
    return params.on_stale or world.settings.edit.on_stale


def find_basis(
    params: WriteArguments, now: FileNow, text: Text, world: World, stale: str, proven: bool = False
) -> Basis:
    """Return the caller's base for the file `now`. Raises `Refusal` with the code `stale` if the caller names a base
    that is no version of the path. `proven`: the call quotes the text that it changes, so the last version shown is no
    base if the journal lacks its bytes.
    """
    history, who = world.history, world.who
    if params.stated_sha256:
        return _basis_of_bytes(params, now, text, world, stale)
    seen = history.shown(who.key, now.path)
    version: Version | None
    if params.stated_base:
        version = _stated(params.stated_base, now, world, stale)
    else:
        version = None if seen is None else standing(history.version(now.path, seen.version))
        if version is None:
            return knowing_nothing(now, text, history)
        if proven and version.blob != text.blob and not history.holds(version.blob):
            return knowing_nothing(now, text, history)
    return basis_at(version, now, text, world, stale)


def never_read(params: WriteArguments, now: FileNow, world: World, told: str) -> list[dict[str, Any]]:
    """Return the warning that the caller was never shown the file that it changes, else []. `told` says what was done
    nevertheless: the caller may have read the file by other means, and the journal holds the old bytes.
    """
    if params.stated_base or params.stated_sha256 or world.history.shown(world.who.key, now.path) is not None:
        return []
    return [{"type": "never_read", "message": f"You were never shown {now.path}; {told}. Read before you change."}]


def find_basis_of_whole(params: WriteArguments, now: FileNow, text: Text, world: World, stale: str) -> Basis:
    """Return the base for a call about the whole file: the version that the caller last read, not the version after its
    own last edit, as other writers may have changed the file in between.
    """
    seen = world.history.shown(world.who.key, now.path)
    if seen is not None and seen.read and not params.stated_base and not params.stated_sha256:
        version = standing(world.history.version(now.path, seen.read))
        if version is not None:
            return basis_at(version, now, text, world, stale)
    return find_basis(params, now, text, world, stale)


def basis_at(version: Version, now: FileNow, text: Text, world: World, stale: str) -> Basis:
    """Return the base of a call made against `version`: its text, and later versions by other writers.

    If the journal lacks that text: raise `Refusal` with the code `stale` if another writer has changed the file since,
    and else return the current text as a base without a version.
    """
    history, who = world.history, world.who
    seen = history.shown(who.key, now.path)
    lines = seen.lines if seen is not None and _same_bytes(seen.version, version, now.path, history) else None
    since = version.seq if seen is None else seen.since
    moved = () if seen is None or lines is None else seen.moved
    if now.version is not None and (version.seq == now.version.seq or version.blob == text.blob):
        return Basis(version, text, lines, (), text, now.path, history, caller=who.key, since=since, moved=moved)
    others = tuple(history.changed_since(now.path, version.seq, who.key))
    try:
        base = history.text_of(version.blob)
        return Basis(version, base, lines, others, text, now.path, history, caller=who.key, since=since, moved=moved)
    except NotHeld:
        if not others:
            return knowing_nothing(now, text, history)
    gone = missing(history, version).told
    message = f"{now.path} was changed since {version_token(version.seq)}, whose bytes are not in the journal: {gone}."
    told = changes_told(history, now.path, others, WHOLE)
    fields = {"path": now.path, "reason": "changed", "changes": told, **current_version(now)}
    raise Refusal(stale, message, "re-read_file", **fields)


def _same_bytes(seq: int, version: Version, path: str, history: History) -> bool:
    if seq == version.seq:
        return True
    other = standing(history.version(path, seq))
    return other is not None and bool(other.blob) and other.blob == version.blob


def _basis_of_bytes(params: WriteArguments, now: FileNow, text: Text, world: World, stale: str) -> Basis:
    sha256, path = params.stated_sha256, now.path
    if params.stated_base and _stated(params.stated_base, now, world, stale).blob.hex() != sha256:
        message = f"`base` ({params.stated_base}) has other bytes than the sha256 says; give one of them."
        raise Refusal("schema_invalid", message, "fix_arguments", argument="base")
    if sha256 == text.blob.hex():
        if now.version is None:
            return knowing_nothing(now, text, world.history)
        return basis_at(now.version, now, text, world, stale)
    hashes = both_hashes(sha256, text.blob.hex())
    version = version_with(world.history, path, sha256)
    if version is not None:
        try:
            basis = basis_at(version, now, text, world, stale)
        except Refusal as refused:
            refused.details |= hashes
            raise
        if basis.version is not None:
            others = tuple(world.history.changed_since(path, version.seq, b""))
            return replace(basis, others=others, stated_sha256=sha256)
    message = f"{path} does not hold the bytes that are to be edited, and the journal does not know them."
    raise Refusal(stale, message, "re-read_file", path=path, reason="unknown_base", **hashes, **current_version(now))


def version_with(history: History, path: str, sha256: str) -> Version | None:
    """Return the newest version of `path` with these bytes among the last `MOST_SEARCHED`; None if there is none."""
    blob = bytes.fromhex(sha256)
    for version in islice(history.versions(path, reverse=True), MOST_SEARCHED):
        if version.blob == blob:
            return version
    return None


def _stated(token: str, now: FileNow, world: World, stale: str) -> Version:
    """Return the version that the caller names. Raises `Refusal` with code `stale` if the path has no such version."""
    seq = parse_version_token(token)
    version = None if seq is None else standing(world.history.version(now.path, seq))
    if version is None:
        current = f" It is at {version_token(now.version.seq)} now." if now.version is not None else ""
        raise Refusal(
            stale,
            f"{token[:80]!r} is no version of {now.path}.{current}",
            "re-read_file",
            path=now.path,
            reason="unknown_base",
            base=token[:80],
            **current_version(now),
        )
    return version


def current_version(now: FileNow) -> dict[str, str]:
    """Return the reply field `current_version`; empty if the journal has no version of the file."""
    return {"current_version": version_token(now.version.seq)} if now.version is not None else {}


def both_hashes(expected: str, actual: str) -> dict[str, str]:
    return {"expectedSha256": expected, "actualSha256": actual}
