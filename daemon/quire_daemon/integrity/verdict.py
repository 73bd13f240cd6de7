"""Verdict whether the journal can be trusted before it is opened; if not, it is checked, and salvaged if damaged.

A daemon that stops cleanly leaves a mark with size and modification time of the database. If these still match, or the
machine has not rebooted since a daemon was killed (`boot_mark`), the next start skips the check. Every other start
checks the whole journal in a separate process (`check_worker`): after a power cut, and after a fatal signal, which a
damaged page can cause. A daemon that cannot open an unchecked journal restarts itself without marks.

Files in `journal/`:

- `clean`: the mark; removed before the database is opened
- `boot`: the mark of the boot in which the journal was last used
- `crashed`: stack traces after a fatal signal
- `repair`: a full check was requested; removed when done
- `db`: the database and the write-ahead log
- `salvage/db`: a new database in the making; `salvage/done` says that it is complete
- `db.damaged-T`: a damaged database, set aside at time T; Quire never reads or removes it

Damaged views are rebuilt without loss. Above `MOST_RECORDS` records, a start checks only pages, hash chain and blob
hashes; `quire verify` checks the rest.
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

from quire_daemon.integrity.check_client import CheckAnswer, Told, examine
from quire_daemon.integrity.check_worker import CheckTask, SalvageTask
from quire_journal import views
from quire_journal.journal import OtherFormat
from quire_journal.model import JournalDamaged
from quire_journal.storage import StoreFailure, boot_mark, sync_path

MOST_RECORDS: Final = 20_000
"""Maximum number of records for which a start checks everything, in a few seconds."""

_REPAIR: Final = "repair"
_CRASHED: Final = "crashed"


class JournalVerdict(NamedTuple):
    trusted: bool = False  # not checked, because of a mark
    checked: bool = False  # was not known to be undamaged
    whole: bool = True  # everything was checked
    views_differ: bool = False  # views must be refolded
    found: tuple[str, ...] = ()  # the first findings, each a sentence
    salvaged: str = ""  # sentence about the losses
    machine_ran: bool = False  # the machine has not restarted since the last daemon ended, so nothing unsynced was lost
    repair: bool = False  # a repair was requested


def _looks_of(journal: Path) -> dict[str, int]:
    try:
        found = os.stat(journal / "db" / "data.mdb")
    except OSError:
        return {}
    return {"size": found.st_size, "mtime_ns": found.st_mtime_ns}


def leave_mark(journal: Path) -> None:
    """Write the mark of a clean stop, so that the next start skips the check. Called after the database is closed."""
    looks = _looks_of(journal)
    if not looks:
        return
    mistrust(journal)  # else the mark of the boot would be trusted where this mark does not match
    new = journal / "clean.new"
    with open(new, "w", encoding="ascii") as file:
        json.dump({**looks, "boot": boot_mark.boot_id()}, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, journal / "clean")


def _mark(journal: Path) -> JournalVerdict | None:
    try:
        fields = json.loads((journal / "clean").read_bytes())
        boot = fields.pop("boot", "")
    except (OSError, ValueError, AttributeError, TypeError):
        fields, boot = {}, ""
    if fields and fields == _looks_of(journal):
        return JournalVerdict(trusted=True, machine_ran=bool(boot) and boot == boot_mark.boot_id())
    if boot_mark.holds(journal) and not crash_of(journal):
        return JournalVerdict(trusted=True, machine_ran=True)
    return None


def crash_of(journal: Path) -> str:
    """Return the stack traces that a fatal signal left, or why they cannot be read; "" if there are none."""
    traces = journal / _CRASHED
    try:
        return traces.read_text("utf-8", "replace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"{traces} cannot be read: {error.strerror or error}"


def _take_marks(journal: Path) -> None:
    for name in ("clean", _CRASHED):
        (journal / name).unlink(missing_ok=True)
    sync_path(journal)


def mistrust(journal: Path) -> None:
    """Make the next start check the whole journal."""
    (journal / boot_mark.NAME).unlink(missing_ok=True)


def leave_as_found(journal: Path, found: JournalVerdict) -> None:
    """Write the mark of a clean stop again for a journal that was trusted but not opened, as a newer version wrote
    it.
    """
    if found.trusted and not boot_mark.holds(journal):
        leave_mark(journal)


@contextmanager
def telling_of_crashes(journal: Path) -> Iterator[None]:
    """Context manager: if a fatal signal ends the process, stack traces stay, and the next start checks the journal."""
    journal.mkdir(mode=0o700, exist_ok=True)
    with (journal / _CRASHED).open("wb", buffering=0) as file:
        faulthandler.enable(file)
        try:
            yield
        finally:
            faulthandler.disable()
            (journal / _CRASHED).unlink(missing_ok=True)


def prepare(journal: Path, workspace_id: str, now_ns: int, say: Callable[[str], None]) -> JournalVerdict:
    """Examine the journal before it is opened, and salvage it if damaged. `say` gets progress as sentences.

    Raises `OtherFormat` for another version, `StoreFailure` without memory or space, `OSError` if the disk cannot be
    read, and `JournalDamaged` if the database's file is missing or nothing can be salvaged. After an error no record is
    lost, and the next start examines anew.
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
    say("checking the journal, because it was not closed in good order")
    task = CheckTask(str(journal), most_records=0 if asked else MOST_RECORDS)
    examined = examine(task, _in_words(say, "checking the journal"))
    _require_known(examined)
    mistrust(journal)  # until the journal is repaired
    _take_marks(journal)
    found = _put_right(journal, examined, workspace_id, now_ns, say, "repair" if asked else "")
    (journal / _REPAIR).unlink(missing_ok=True)
    return found._replace(repair=asked)


def ask_for_repair(journal: Path) -> None:
    (journal / _REPAIR).touch()
    sync_path(journal)


def only_views(examined: CheckAnswer) -> bool:
    return all(table in views.TABLES for _, table in examined.findings)


def _put_right(
    journal: Path,
    examined: CheckAnswer,
    workspace_id: str,
    now_ns: int,
    say: Callable[[str], None],
    by: str,
) -> JournalVerdict:
    if not examined.count:
        return JournalVerdict(checked=True, whole=bool(examined.end.get("whole", True)))
    few = tuple(examined.sentences[:5])
    if only_views(examined):
        return JournalVerdict(checked=True, views_differ=True, found=few)
    lost = salvage(journal, workspace_id, now_ns, few[0], say, by)
    return JournalVerdict(checked=True, found=few, salvaged=lost)


def salvage(journal: Path, workspace_id: str, now_ns: int, why: str, say: Callable[[str], None], by: str) -> str:
    """Set the damaged database aside, put a salvaged one in its place, and return a sentence about the losses. `by`:
    "repair" for that command, "" for a start. Raises `JournalDamaged` if nothing can be salvaged, `OtherFormat` for
    another format, `StoreFailure` and `OSError` if the disk or the process fails.
    """
    at = datetime.fromtimestamp(now_ns / 1e9, UTC)
    name = f"db.damaged-{at:%Y%m%dT%H%M%S}.{now_ns // 1_000_000 % 1000:03}Z"
    say("salvaging the journal, which is damaged")
    into = journal / "salvage"
    task = SalvageTask(str(journal), str(into), workspace_id, now_ns, why, name, by)
    examined = examine(task, _in_words(say, "salvaging the journal, which is damaged"))
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
    os.rename(into / "done.new", into / "done")  # atomic: it says where the damaged database goes
    sync_path(into)
    _finish_salvage(journal)
    return str(sentence)


def _finish_salvage(journal: Path) -> None:
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
