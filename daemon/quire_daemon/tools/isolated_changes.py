"""`land`: writes the changes of an isolated run, which it made in a copy of the tree, to the checkout as one batch.

Each file is merged with changes of other writers since the run began. Where both changed the same lines, or the journal
lacks the bytes to overwrite, the file stays unchanged, and the command's version is written under another name. Ignored
files are only named in the reply: the caller copies them, and the journal has no record of them. Of a file that is too
large for a message the caller asks whether it is ignored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal

import msgspec

from quire_daemon.core import Decision, FileNow, ImpliedFiles, Make, Put, Remove, Tool, Who, World, Write, no_paths
from quire_daemon.core.replies import LandReply
from quire_daemon.tools.edit import withheld
from quire_daemon.tools.leases import covers, others
from quire_daemon.tools.preconditions import captured
from quire_journal.history import History
from quire_journal.model import (
    ISOLATED,
    LINK,
    Event,
    FileDeleted,
    FileWritten,
    Refusal,
    WriteAttributed,
    blob_id,
    counted,
)
from quire_journal.text import Text, merge
from quire_journal.views import EXCLUSIVE, RUN, Burst, Version, standing

MOST_FILES: Final = 5000
"""Maximum number of files that one `land` writes, as of one undo."""

IGNORED: Final = "ignored"
"""Code for a file that is not watched."""

BY: Final = "write_file"
"""Writer type of the written files."""

LINK_MODE: Final = 0o777

Outcome = Literal["written", "merged", "removed", "same", "beside", "stays"]


class LandedFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A path as the command left it in its copy of the tree."""

    path: str
    kind: Literal["file", "link", "gone"]
    mode: int = 0o644
    data: bytes = b""  # of a link its target


class LandParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    burst: int  # number returned by `run`
    files: list[LandedFile]
    asked: list[str] = []  # paths that are not landed: the reply names those that are ignored
    idempotency_key: str = ""


def decide(params: LandParams, world: World) -> Decision:
    """Write the files that can be written; the reply is a `LandReply`. Raises `Refusal` for a foreign burst or too many
    files.
    """
    burst = world.history.burst(params.burst)
    if burst is None or burst.form != RUN or burst.owner != world.who.key:
        raise Refusal("not_found", f"Burst {params.burst} is no run of yours.", "list_bursts", burst=params.burst)
    if (many := len(params.files) + len(params.asked)) > MOST_FILES:
        message = f"The command changed {many} files; at most {MOST_FILES} land at once."
        raise Refusal("busy", message, "run_without_isolation")
    landing = _Landing(burst, world)
    for file in params.files:
        landing.land(file)
    if landing.events:  # as other runs of the caller may be open
        of_run = WriteAttributed((world.next_seq,), world.who.writer, ISOLATED, burst.number)
        landing.events.append(of_run)
    done = [name for name, outcome in landing.outcomes.items() if outcome in ("written", "merged", "removed")]
    reply: dict[str, Any] = {
        "ok": True,
        "message": f"{counted(len(done), 'file')} landed.",
        "burst": burst.number,
        "files": [
            {"path": path, "outcome": outcome, **landing.told.get(path, {})}
            for path, outcome in landing.outcomes.items()
        ],
        "ignored": [
            path
            for path in (*(file.path for file in params.files), *params.asked)
            if world.kept_off.get(path) == IGNORED
        ],
    }
    return Decision(reply, landing.events, landing.writes, landing.blobs)


class _Landing:
    """Collects the events and writes of one `land`. Event number n gets seq `next_seq + n`."""

    def __init__(self, burst: Burst, world: World) -> None:
        self._burst, self._world = burst, world
        self._leased = [lease for lease in others(world) if lease.strength == EXCLUSIVE]
        self.events: list[Event] = []
        self.writes: list[Write] = []
        self.blobs: list[bytes] = []
        self.outcomes: dict[str, Outcome] = {}
        self.told: dict[str, dict[str, Any]] = {}  # why a file stays, and where the command's version is

    def land(self, file: LandedFile) -> None:
        """Add the outcome for one file: written, merged, removed, or left unchanged with a reason."""
        now = self._world.files.get(file.path)
        if now is None:
            why = self._world.kept_off.get(file.path, "unreadable")
            if why != IGNORED:
                self._stays(file, why)
            return
        leased = next((lease for lease in self._leased if covers(lease, now.path)), None)
        if leased is not None:
            self._beside(file, f"{self._world.history.named(leased.writer)} has an exclusive lease on it")
        elif file.kind == "gone":
            self._remove(file, now)
        elif file.kind == "link":
            self._link(file, now)
        else:
            self._file(file, now)

    def _base(self, path: str) -> Version | None:
        """Return the version of `path` when the command began; None if the path did not exist then or was unknown."""
        return standing(self._world.history.version_at(path, self._burst.number))

    def _remove(self, file: LandedFile, now: FileNow) -> None:
        if now.kind == "missing":
            self.outcomes[file.path] = "same"
        elif why := self._why_kept(now):
            self._stays(file, f"{why}, and the command removed it")
        else:
            self._take_away(now)
            self.outcomes[file.path] = "removed"

    def _why_kept(self, now: FileNow) -> str:
        """Return the reason why a file or link must not be removed; "" if it is unchanged since the command began, and
        the journal holds it.
        """
        head, base = standing(now.version), self._base(now.path)
        is_link = now.kind == "link" and head is not None and head.entry == LINK
        if now.kind == "folder":
            return "a folder is there"
        if head is None or not (is_link or (now.kind == "file" and captured(now) is not None)):
            return "the journal does not hold it"
        as_then = base is not None and (base.blob, base.entry) == (head.blob, head.entry)
        return "" if as_then else "others changed it meanwhile"

    def _take_away(self, now: FileNow) -> None:
        head = standing(now.version)
        seq = self._note(FileDeleted(now.path, 0 if head is None else head.seq, BY, now.inode))
        self.writes.append(Remove(seq, now.path, now))

    def _link(self, file: LandedFile, now: FileNow) -> None:
        head = standing(now.version)
        if head is not None and head.entry == LINK and head.blob == blob_id(file.data):
            self.outcomes[file.path] = "same"
            return
        there = now
        if now.kind != "missing":
            if why := self._why_kept(now):
                self._stays(file, f"{why}, and the command made a link of that name")
                return
            self._take_away(now)
            there = FileNow(now.path, "missing")
        seq = self._note(
            FileWritten(now.path, blob_id(file.data), len(file.data), LINK_MODE, 0, BY, entry=LINK, dialect=RUN)
        )
        self.writes.append(Make(seq, now.path, LINK, file.data, LINK_MODE, there))
        self.blobs.append(file.data)
        self.outcomes[file.path] = "written"

    def _file(self, file: LandedFile, now: FileNow) -> None:
        base = self._base(now.path)
        if now.kind == "missing":
            if base is not None and base.blob != blob_id(file.data):
                self._beside(file, "others removed it meanwhile, and the command changed it")
            elif base is None:
                self._put(file, now, Text.of(file.data), file.mode)
                self.outcomes[file.path] = "written"
            else:
                self.outcomes[file.path] = "same"
        elif now.kind == "link" and not self._why_kept(now):
            self._take_away(now)
            self._put(file, FileNow(now.path, "missing"), Text.of(file.data), file.mode)
            self.outcomes[file.path] = "written"
        elif now.kind == "folder":
            self._beside(file, "a folder is there")
        elif now.kind != "file" or now.text is None or now.version is None or captured(now) is None:
            self._beside(file, "the journal does not hold what is there")
        elif now.text.data == file.data:
            self._mode(file, now, base)
        elif base is not None and base.blob == now.version.blob:
            self._put(file, now, Text.of(file.data), file.mode)
            self.outcomes[file.path] = "written"
        else:
            self._merge(file, now, base)

    def _mode(self, file: LandedFile, now: FileNow, base: Version | None) -> None:
        if file.mode == now.mode or now.text is None or (base is not None and base.mode != now.mode):
            self.outcomes[file.path] = "same"
            return
        self._put(file, now, now.text, file.mode)
        self.outcomes[file.path] = "written"

    def _merge(self, file: LandedFile, now: FileNow, base: Version | None) -> None:
        was = None if base is None or base.uncaptured else self._world.history.text_held(base.blob)
        mine = Text.of(file.data)
        if was is None or now.text is None or was.binary or mine.binary or now.text.binary:
            self._beside(file, "others changed it, too")
            return
        merged = merge(was, mine, now.text)
        if merged.conflicts:
            self._beside(file, "others changed the same lines meanwhile")
        elif merged.text.data == now.text.data:
            self.outcomes[file.path] = "same"
        else:
            self._put(file, now, merged.text, now.mode)
            self.outcomes[file.path] = "merged"

    def _put(self, file: LandedFile, over: FileNow, text: Text, mode: int) -> None:
        lost = withheld(over.path, text, self._world)[0]
        base = over.version.seq if over.kind == "file" and over.version is not None else 0
        event = FileWritten(
            over.path, text.blob, len(text.data), mode, base, BY, over.inode, dialect=RUN, uncaptured=lost
        )
        seq = self._note(event)
        self.writes.append(Put(seq, over.path, text.data, mode, over, text, bool(lost)))
        if not lost:
            self.blobs.append(text.data)

    def _beside(self, file: LandedFile, why: str) -> None:
        """Leave the file unchanged, and write the command's version as `PATH.run-BURST`; only report the reason if that
        name is taken.
        """
        there = self._world.files.get(_name_beside(file.path, self._burst.number))
        if file.kind != "file" or there is None or there.kind != "missing":
            self._stays(file, why)
            return
        self._put(file, there, Text.of(file.data), file.mode)
        self.outcomes[file.path] = "beside"
        self.told[file.path] = {"why": why, "beside": there.path}

    def _stays(self, file: LandedFile, why: str) -> None:
        self.outcomes[file.path] = "stays"
        self.told[file.path] = {"why": why}

    def _note(self, event: Event) -> int:
        self.events.append(event)
        return self._world.next_seq + len(self.events) - 1


def _name_beside(path: str, burst: int) -> str:
    return f"{path}.run-{burst}"


def _implied(params: LandParams, history: History, who: Who) -> ImpliedFiles:
    """Return the files, and a second name for each that other writers have changed since the run began."""
    del who
    return ImpliedFiles([*_paths(params.files, params.burst, history), *params.asked])


def _paths(files: Sequence[LandedFile], burst: int, history: History) -> Iterator[str]:
    leased = history.leases()
    for file in files:
        yield file.path
        head, base = standing(history.file(file.path)), standing(history.version_at(file.path, burst))
        as_then = head is not None and base is not None and head.seq == base.seq and not head.uncaptured
        if file.kind == "file" and (not as_then or any(covers(lease, file.path) for lease in leased)):
            yield _name_beside(file.path, burst)


LAND_TOOL: Final[Tool[LandParams]] = Tool(
    "land", LandParams, no_paths, decide, writes=True, implies=_implied, watched_only=True, reply=LandReply
)
