"""Make the journal of a workspace from an export on standard input: `python -m
quire_daemon.maintenance.import_worker`.

Under the daemon's lock, the journal is built in a temporary folder and renamed once every hash is verified. A workspace
whose journal has records is refused. Output: JSON objects, one per line: `{"done", "of"}` periodically, then the reply.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any, BinaryIO, Final

from quire_daemon.clock import SystemClock
from quire_daemon.integrity import set_aside
from quire_journal.export import ImportResult, NotAnExport, import_lines
from quire_journal.journal import Journal, OtherFormat
from quire_journal.model import JournalDamaged, Refusal
from quire_journal.storage import STORES, StoreFailure, UnfitFolder, sync_path
from quire_journal.workspaces import Place, WorkspaceRefused, checked, hold_lock, make_private_folder, place_of, settle

_BESIDE: Final = "journal.import"


def main(argv: list[str] | None = None) -> int:
    """Import the export on standard input, and print the reply. Return the exit status: 0 imported, 1 refused or
    failed.
    """
    parser = argparse.ArgumentParser(prog="quire_daemon.maintenance.import_worker", description=__doc__)
    parser.add_argument("--workspace", type=Path, required=True)
    parser.add_argument("--state-dir", type=Path, required=True)
    options = parser.parse_args(argv)
    os.umask(0o077)
    try:
        reply = import_into(checked(place_of(options.workspace, options.state_dir)), sys.stdin.buffer)
    except Refusal as refused:
        reply = refused.reply()
    except NotAnExport as wrong:
        reply = Refusal("schema_invalid", f"This export cannot be imported: {wrong}.", "export_jsonl").reply()
    except (StoreFailure, UnfitFolder, WorkspaceRefused, OSError) as error:
        full = isinstance(error, StoreFailure) and error.disk_full
        reply = Refusal(
            "disk_full" if full else "fault", f"The import failed: {error}", "free_space" if full else ""
        ).reply()
    _say(reply)
    return 0 if reply["ok"] else 1


def import_into(place: Place, lines: BinaryIO) -> dict[str, Any]:
    """Build the journal of `place` from the lines of an export; return the reply. Raises `Refusal` if a journal with
    records exists or a daemon runs, `NotAnExport` if the lines are malformed, `StoreFailure`, `UnfitFolder` or
    `OSError` if the disk fails or does not suit.
    """
    make_private_folder(place.state)
    with hold_lock(place.lock) as lock:
        if lock is None:
            message = f"A daemon serves {place.root}, so it has a journal; an export goes into a workspace without one."
            raise Refusal("already_exists", message, "choose_a_new_folder", path=os.fspath(place.root))
        _require_no_records(place)
        beside = place.state / _BESIDE
        shutil.rmtree(beside, ignore_errors=True)  # of a killed import
        try:
            came, head = _made(place, beside, lines)
            shutil.rmtree(place.journal, ignore_errors=True)  # this journal has no record
            os.rename(beside, place.journal)
            try:
                sync_path(place.state)
            except OSError:  # a power cut may undo the rename, and the import must not be reported as done
                shutil.rmtree(place.journal, ignore_errors=True)
                raise
        finally:
            shutil.rmtree(beside, ignore_errors=True)
    message = f"{came.events} records and {came.blobs} versions of files are in the journal of {place.root}."
    if came.missing:
        message += f" The export says of {came.missing} that their bytes are missing."
    counts = {"records": came.events, "blobs": came.blobs, "missing": came.missing, "seq": head}
    return {"ok": True, "message": message, "workspace": os.fspath(place.root), **counts}


def _made(place: Place, folder: Path, lines: BinaryIO) -> tuple[ImportResult, int]:
    store = STORES["lmdb"](folder, synced=False)  # synced once, before the rename
    try:
        now_ns = SystemClock().now_ns()
        Journal.open(store, now_ns)
        came = import_lines(lines, store, lambda done, of: _say({"done": done, "of": of}))
        identity = settle(place)  # only now: a refused import must not make the folder a workspace
        with store.writing() as w:
            w.put("meta", b"workspace", identity.id.encode("ascii"))
        head = Journal.open(store, now_ns).head
        store.sync()
    finally:
        store.close()
    return came, head


def _require_no_records(place: Place) -> None:
    others = sorted({*set_aside(place.journal), *place.journal.glob("salvage")})
    if others:
        message = (
            f"{others[0]} holds what is left of a journal of {place.root}, and an import would remove it; "
            f"move {place.journal} away first."
        )
        raise Refusal("already_exists", message, "choose_a_new_folder", path=os.fspath(place.root))
    if not (place.journal / "db").exists():
        return
    try:
        store = STORES["lmdb"](place.journal)
        try:
            with store.reading() as r:
                count = r.count("records") + len(store.logged())
        finally:
            store.close()
    except (JournalDamaged, OtherFormat) as error:
        raise Refusal("already_exists", f"{place.root} has a journal: {error}", path=os.fspath(place.root)) from error
    if count:
        message = f"The journal of {place.root} has {count} records; an export goes into a workspace without a journal."
        raise Refusal("already_exists", message, "choose_a_new_folder", path=os.fspath(place.root))


def _say(what: dict[str, Any]) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    sys.exit(main())
