"""What `status` tells of the daemon and its journal."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

import msgspec

from quire_journal import FORMAT, VERSION, WIRE
from quire_journal.events import JournalSalvaged
from quire_journal.points import to_the_second
from quire_journal.salvage import sentence

if TYPE_CHECKING:
    from quire_daemon.app import App
    from quire_daemon.workspace import Protection

SALVAGE_IS_NEWS_NS: Final = 14 * 24 * 3600 * 10**9  # so long `status` tells of one
SALVAGE_IS_TOLD_NS: Final = 24 * 3600 * 10**9  # and every caller, once of each daemon


def coverage(app: App) -> dict[str, Any]:
    """Does the journal see everything, and can it take it? With the reasons where not."""
    coverage = app.outside.coverage()
    if app.bad_settings:
        reasons = [*coverage["reasons"], f"the settings of before are in force: {app.bad_settings}"]
        coverage = {**coverage, "state": "degraded", "reasons": reasons}
    if app.answering.read_only:
        coverage = {
            **coverage,
            "state": "degraded",
            "reasons": [*coverage.get("reasons", ()), f"journal read-only: {app.answering.read_only}"],
        }
    if full := app.recorder.takes_nothing():
        coverage = {**coverage, "state": "degraded", "reasons": [*coverage.get("reasons", ()), full]}
    return coverage


def health(app: App) -> dict[str, Any]:
    """What `status` tells."""
    return {
        "pid": os.getpid(),
        "epoch": app.server.epoch,
        "workspace": os.fspath(app.root),
        "state_dir": os.fspath(app.state_dir),
        "versions": {"daemon": VERSION, "journal_format": FORMAT, "wire": WIRE},
        "coverage": coverage(app),
        "capture": app.outside.progress(),
        "protection": _active(app.workspace.protection),
        "journal_bytes": app.recorder.journal.store.size_bytes(),
        "journal_versions": app.recorder.versions(),
        "undeliverable": app.server.undeliverable,
        "read_only": app.answering.read_only,
        **({"settings_waiting": list(app.settings_waiting)} if app.settings_waiting else {}),
        **({"journal_full": full} if (full := app.recorder.takes_nothing()) else {}),
        **({"checkout_read_only": app.workspace.read_only} if app.workspace.read_only else {}),
        **({"progress": dict(app.progress)} if app.progress else {}),
        **({"salvaged": told} if (told := salvaged(app)) else {}),
        "retention": {
            **app.collecting.taken(),
            "reserve": app.reserve.json(),
            **({"unfinished": unfinished} if (unfinished := app.collecting.unfinished()) else {}),
        },
    }


def salvaged(app: App, within_ns: int = SALVAGE_IS_NEWS_NS) -> str:
    """What the newest salvage of the journal lost, while that is news; "" where there is none."""
    with app.recorder.history() as history:
        record = history.salvage()
    event = record.event() if record is not None else None
    if record is None or not isinstance(event, JournalSalvaged):
        return ""
    if app.clock.now_ns() - record.at_ns > within_ns:
        return ""
    said = f"The journal was damaged and has been salvaged at {to_the_second(record.at_ns)}. {sentence(event)}"
    return f"{said} The damaged one is kept as {app.state_dir / 'journal' / event.set_aside}."


def _active(protection: Protection) -> dict[str, bool]:
    """The protections as `status` and `doctor` tell them."""
    found: dict[str, bool] = msgspec.to_builtins(protection)
    del found["folds_case"], found["sync_many"]  # what the file system is like, not protections
    return found
