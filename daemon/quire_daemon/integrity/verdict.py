"""Before a journal is served: is it known to be sound? If not, it is checked; if it is damaged, set aside and salvaged.

A daemon that stops in good order leaves a mark, with what the database's file looks like then; a start that finds the
mark, and a file that looks so, goes on at once. One that was killed leaves an image of the file as it was after its
last commit (`afterimage`), which shows that what stands there is what the daemon wrote: then only the end of the log is
checked. Any other start has all of the journal checked: after an end of the machine, when somebody wrote to the file,
and when the daemon died of a fatal signal, as it does of a damaged page, or within a minute after such a short check.
Another process does either, because opening a damaged journal can end a process (`check_worker`).

A disk can damage a file that bears the mark or has its image, too: a daemon that cannot open such a journal begins
again, without them, as another program in the same process. So a daemon that died of its journal is followed by one
that checks it, never by one that dies again.

    journal/clean          the mark; taken away before the database is opened
    journal/afterimage     the image; the same
    journal/crashed        what a fatal signal left of the stacks of the daemon's threads
    journal/repair         somebody asked for everything to be looked at; taken away when that is done
    journal/db             the database, and the write-ahead log of what it may not hold yet
    journal/salvage/db     a new one in the making; `salvage/done` says that it is whole
    journal/db.damaged-T   a damaged one, set aside at T; nothing of Quire looks at it again or removes it

What is damaged only in the views costs nothing: they are folded again. Of a journal of many records (`MOST_RECORDS`)
pages, chain and addresses are checked at a start; folding the log again takes too long: `quire verify` does.
"""

from __future__ import annotations

import faulthandler
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from quire_daemon.integrity.check_client import Begin, CheckAnswer, Told, examine, executed
from quire_daemon.integrity.check_worker import CheckTask, SalvageTask
from quire_journal import views
from quire_journal.journal import OtherFormat
from quire_journal.model import JournalDamaged
from quire_journal.storage import Looks, StoreFailure, afterimage, sync_path

MOST_RECORDS: Final = 20_000
"""Of a journal that is checked to the last byte before it is served, in a few seconds."""

_REPAIR: Final = "repair"
_CRASHED: Final = "crashed"


class JournalVerdict(NamedTuple):
    """How the journal was found."""

    trusted: bool = False  # it was not looked at, because of the mark of a good end
    checked: bool = False  # it was not known to be sound
    end_only: bool = False  # but known to be as the daemon left it: the end of the log was looked at
    whole: bool = True  # all of it was looked at
    views_differ: bool = False  # they have to be folded again
    found: tuple[str, ...] = ()  # the first few of what was wrong, each a sentence
    salvaged: str = ""  # the sentence that says what was lost
    machine_ran: bool = False  # it was not started anew since the last daemon ended: the disk is as that left it
    repair: bool = False  # somebody asked for a repair


def looks_of(journal: Path) -> Looks | None:
    """Of the database's file."""
    return afterimage.looks_of(journal / "db" / "data.mdb")


def leave_mark(journal: Path) -> None:
    """The daemon has closed the database in good order."""
    looks = looks_of(journal)
    if looks is None:
        return
    new = journal / "clean.new"
    with open(new, "w", encoding="ascii") as file:
        json.dump({"size": looks.size, "mtime_ns": looks.mtime_ns, "boot": afterimage.boot_id()}, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, journal / "clean")
    mistrust(journal)  # an image says less


def _mark(journal: Path) -> JournalVerdict | None:
    """What the mark says, where there is one for a database that looks as it does now."""
    try:
        fields = json.loads((journal / "clean").read_bytes())
        left = int(fields["size"]), int(fields["mtime_ns"])
        boot = str(fields.get("boot", ""))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    looks = looks_of(journal)
    if looks is None or left != (looks.size, looks.mtime_ns):
        return None
    return JournalVerdict(trusted=True, machine_ran=bool(boot) and boot == afterimage.boot_id())


def _is_as_left(journal: Path) -> bool:
    """Does the image show that the file is as a daemon left it that was killed?"""
    image, looks = afterimage.read(journal / afterimage.NAME), looks_of(journal)
    if image is None or looks is None or image.unproven or crash_of(journal):
        return False
    return afterimage.fits(image, afterimage.boot_id(), looks)


def crash_of(journal: Path) -> str:
    """What a fatal signal left of the stacks of the last daemon's threads; "" after any other end."""
    try:
        return (journal / _CRASHED).read_text("utf-8", "replace")
    except OSError:
        return ""


def _take_marks(journal: Path) -> None:
    """The database is opened next: what was said of it counts no more."""
    for name in ("clean", afterimage.NAME, _CRASHED):
        (journal / name).unlink(missing_ok=True)
    sync_path(journal)


def mistrust(journal: Path) -> None:
    """Let the next start check everything, whatever the file looks like."""
    (journal / afterimage.NAME).unlink(missing_ok=True)


def leave_as_found(journal: Path, found: JournalVerdict) -> None:
    """The journal was opened, and is for a newer version: nothing was changed, so what was said of it counts again."""
    if found.trusted:
        leave_mark(journal)
    else:
        mistrust(journal)


@contextmanager
def telling_of_crashes(journal: Path) -> Iterator[None]:
    """Within the block a fatal signal leaves its trace, and the next start checks everything."""
    journal.mkdir(mode=0o700, exist_ok=True)
    with (journal / _CRASHED).open("wb", buffering=0) as file:
        faulthandler.enable(file)
        try:
            yield
        finally:
            faulthandler.disable()
            (journal / _CRASHED).unlink(missing_ok=True)


def prepare(
    journal: Path, workspace_id: str, now_ns: int, say: Callable[[str], None], begin: Begin = executed
) -> JournalVerdict:
    """Make sure that the journal in `journal` can be opened; nothing is there yet, or it is sound, or it becomes so.

    `say` gets what is being done, in words; `begin` starts the process that looks. Raises `OtherFormat` or
    `StoreFailure` (no memory, no space), OSError where the disk does not let it be seen, and `JournalDamaged` where
    there is nothing to open, or nothing could be salvaged; nothing was changed then.
    """
    if not journal.exists():
        return JournalVerdict()
    _finish_salvage(journal)
    asked = (journal / _REPAIR).exists()
    if not (journal / "db").exists():
        return JournalVerdict()
    try:
        os.stat(journal / "db" / "data.mdb")
    except FileNotFoundError:
        message = f"the journal's file db/data.mdb is not in {journal}; put it back, or move db away to begin anew"
        raise JournalDamaged(message) from None
    mark = _mark(journal)
    if mark is not None and not asked:
        _take_marks(journal)
        return mark
    if _is_as_left(journal) and not asked:
        say("checking the end of the journal, because the daemon was killed")
        examined = examine(CheckTask(str(journal), end_only=True), begin=begin)
        _require_known(examined)
        if not examined.count:
            _take_marks(journal)
            return JournalVerdict(checked=True, whole=False, end_only=True, machine_ran=True)
    say("checking the journal, because it was not closed in good order")
    task = CheckTask(str(journal), most_records=0 if asked else MOST_RECORDS)
    examined = examine(task, _in_words(say, "checking the journal"), begin)
    _require_known(examined)
    _take_marks(journal)
    found = _put_right(journal, examined, workspace_id, now_ns, say, "repair" if asked else "", begin)
    (journal / _REPAIR).unlink(missing_ok=True)
    return found._replace(repair=asked)


def ask_for_repair(journal: Path) -> None:
    """Let the next start look at everything, and put right what it finds."""
    (journal / _REPAIR).touch()
    sync_path(journal)


def only_views(examined: CheckAnswer) -> bool:
    """Is nothing wrong but what can be folded again?"""
    return all(table in views.TABLES for _, table in examined.findings)


def _put_right(
    journal: Path,
    examined: CheckAnswer,
    workspace_id: str,
    now_ns: int,
    say: Callable[[str], None],
    by: str,
    begin: Begin,
) -> JournalVerdict:
    if not examined.count:
        return JournalVerdict(checked=True, whole=bool(examined.end.get("whole", True)))
    few = tuple(examined.sentences[:5])
    if only_views(examined):
        return JournalVerdict(checked=True, views_differ=True, found=few)
    lost = salvage(journal, workspace_id, now_ns, few[0], say, by, begin)
    return JournalVerdict(checked=True, found=few, salvaged=lost)


def salvage(
    journal: Path, workspace_id: str, now_ns: int, why: str, say: Callable[[str], None], by: str, begin: Begin
) -> str:
    """Set the database aside and put what can be read of it in its place; the sentence that says what was lost."""
    at = datetime.fromtimestamp(now_ns / 1e9, UTC)
    name = f"db.damaged-{at:%Y%m%dT%H%M%S}.{now_ns // 1_000_000 % 1000:03}Z"
    say("salvaging the journal, which is damaged")
    into = journal / "salvage"
    task = SalvageTask(str(journal), str(into), workspace_id, now_ns, why, name, by)
    examined = examine(task, _in_words(say, "salvaging the journal, which is damaged"), begin)
    _require_known(examined)
    sentence = examined.end.get("sentence")
    if sentence is None:
        reason = (examined.sentences or ["no reason is known"])[-1]
        raise JournalDamaged(
            f"the journal in {journal} is damaged ({why}), and could not be salvaged ({reason}); "
            "nothing of it was changed; keep a copy of its folder before anything else"
        )
    (into / "done.new").write_text(name)
    sync_path(into / "done.new")
    os.rename(into / "done.new", into / "done")  # whole or not at all: it says where the damaged one goes
    sync_path(into)
    _finish_salvage(journal)
    return str(sentence)


def _finish_salvage(journal: Path) -> None:
    """Put a salvaged database in its place, also one that an earlier start did not get so far with."""
    into = journal / "salvage"
    if not into.exists():
        return
    done = into / "done"
    if done.exists() and (into / "db").exists():
        aside = journal / done.read_text()
        if (journal / "db").exists():
            os.rename(journal / "db", aside)
            sync_path(journal)
        os.rename(into / "db", journal / "db")
        sync_path(journal)
    shutil.rmtree(into)


def set_aside(journal: Path) -> list[Path]:
    """The damaged databases that are kept."""
    return sorted(journal.glob("db.damaged-*"))


def _require_known(examined: CheckAnswer) -> None:
    if failed := examined.end.get("failed"):
        raise StoreFailure(failed)
    if newer := examined.end.get("newer"):
        raise OtherFormat(newer)


def _in_words(say: Callable[[str], None], doing: str) -> Told:
    def told(what: str, done: int, total: int) -> None:
        say(f"{doing} ({what}: {done * 100 // total} %)" if total else f"{doing} ({what})")

    return told
