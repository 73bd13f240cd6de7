"""Health of the daemon and its journal, for `status`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import islice
from typing import Any, Final, Protocol

import msgspec

from quire_daemon.clock import Clock
from quire_daemon.commit import FailurePolicy, Reserve
from quire_daemon.engine.perform import Performer
from quire_daemon.maintenance import ServiceHost
from quire_daemon.ops import Log
from quire_daemon.server import Server
from quire_daemon.watch.fanotify import Tracer
from quire_daemon.workers import Jobs
from quire_daemon.workspace import Protection, Workspace
from quire_journal import FORMAT, VERSION, WIRE
from quire_journal.history import rfc3339, to_the_second
from quire_journal.integrity import sentence
from quire_journal.maintenance import span
from quire_journal.model import JournalSalvaged, limits

CLOCK_STEP_NS: Final = 2 * 10**9  # smallest step of the clock that is reported
MOST_SET_BACK: Final = 5  # maximum number of reported places where record times go back
SALVAGE_IS_NEWS_NS: Final = 14 * 24 * 3600 * 10**9  # age up to which `status` reports a salvage
SALVAGE_IS_TOLD_NS: Final = 24 * 3600 * 10**9  # age up to which each caller is warned of a salvage, once by each daemon


class HealthSources(ServiceHost, Protocol):
    crawls: Jobs
    performer: Performer
    reserve: Reserve
    server: Server
    failures: FailurePolicy
    workspace: Workspace
    tracer: Tracer


class CoverageReport:
    """Whether the journal sees and records every change, why not, and since when."""

    def __init__(self, clock: Clock, log: Log) -> None:
        self._clock, self._log = clock, log
        self._since_ns = 0  # 0: full coverage
        self._reasons: Sequence[str] = ()  # as last written to the daemon log

    def told(self, reasons: Sequence[str]) -> dict[str, Any]:
        """Return the report on coverage for `status`: "full" without `reasons`, else "degraded" with reasons and time
        of the beginning. A change is logged.
        """
        if reasons != self._reasons:
            self._reasons = reasons
            (self._log.warning if reasons else self._log.info)("coverage", reasons=reasons)
        if not reasons:
            self._since_ns = 0
            return {"state": "full", "reasons": []}
        self._since_ns = self._since_ns or self._clock.now_ns()
        return {"state": "degraded", "reasons": [*reasons], "since": rfc3339(self._since_ns)}


def reasons(app: HealthSources) -> list[str]:
    """Return why the journal does not see every change or cannot record it; [] if it does."""
    found = app.outside.reasons()
    if app.in_force.wrong:
        found.append(f"the settings of before are in force: {app.in_force.wrong}")
    if app.failures.read_only:
        found.append(f"journal read-only: {app.failures.read_only}")
    if full := app.recorder.takes_nothing():
        found.append(full)
    if waiting := no_place(app):
        found.append(waiting)
    if app.crawls.waits:
        found.append(f"files are not looked at: {limits.wrong('threads')}")
    return found


def no_place(app: HealthSources) -> str:
    """Return a sentence if bytes that must not be journaled cannot be stored in `.quire/displaced` either; else ""."""
    what = "bytes of others that are not for the journal wait in .quire/tmp"
    why = app.performer.theirs.no_place
    return f"{what}, for there is no place for them in .quire/displaced: {why}" if why else ""


def health(app: HealthSources) -> dict[str, Any]:
    return {
        "pid": os.getpid(),
        "epoch": app.server.epoch,
        "workspace": os.fspath(app.root),
        "state_dir": os.fspath(app.state_dir),
        "versions": {"daemon": VERSION, "journal_format": FORMAT, "wire": WIRE},
        "coverage": app.coverage(),
        "capture": app.outside.scanner.progress(),
        "protection": _active(app.workspace.protection),
        "tracing": app.tracer.state,
        "journal_bytes": app.recorder.journal.store.size_bytes(),
        "journal_versions": app.recorder.versions(),
        "undeliverable": app.server.undeliverable,
        "read_only": app.failures.read_only,
        **({"settings_waiting": list(app.in_force.waiting)} if app.in_force.waiting else {}),
        **({"journal_full": full} if (full := app.recorder.takes_nothing()) else {}),
        **({"no_place_aside": waiting} if (waiting := no_place(app)) else {}),
        **({"checkout_read_only": app.workspace.read_only} if app.workspace.read_only else {}),
        **({"progress": dict(app.progress)} if app.progress else {}),
        "signed_heads": app.heads.told(),
        **({"shipping": shipping} if (shipping := app.outbox.told()) else {}),
        **({"salvaged": told} if (told := salvaged(app)) else {}),
        **({"clock": told} if (told := clock_told(app)) else {}),
        "retention": {
            **app.collector.taken(),
            "reserve": app.reserve.json(),
            **({"unfinished": unfinished} if (unfinished := app.collector.unfinished()) else {}),
        },
    }


def clock_told(app: HealthSources) -> str:
    """Return sentences about recent jumps of the clock and records dated in the future; "" if there are none."""
    now_ns, set_ns = app.clock.now_ns(), app.clock.set_ns()
    said: list[str] = []
    if abs(set_ns) > CLOCK_STEP_NS:
        way = "forward" if set_ns > 0 else "back"
        said.append(f"The clock was set {way} by {span(abs(set_ns))} since the daemon started.")
    with app.recorder.history() as history:
        for one in islice(history.set_back(), MOST_SET_BACK):
            if one.before_ns <= now_ns and now_ns - one.at_ns > SALVAGE_IS_NEWS_NS:
                continue
            which = f"record {one.ahead}" if one.ahead == one.seq - 1 else f"records {one.ahead} to {one.seq - 1}"
            dated = "is" if one.ahead == one.seq - 1 else "are"
            future = ", which is in the future" if one.before_ns > now_ns else ""
            said.append(
                f"The clock went back by {span(one.before_ns - one.at_ns)} before record {one.seq}, at "
                f"{to_the_second(one.at_ns)}: {which} {dated} dated later than that, up to "
                f"{to_the_second(one.before_ns)}{future}."
            )
        head = history.record(history.head())
        if head is not None and head.at_ns > now_ns + CLOCK_STEP_NS:
            said.append(f"The newest record is dated {to_the_second(head.at_ns)}, which is in the future.")
    return " ".join(said)


def salvaged(app: HealthSources, within_ns: int = SALVAGE_IS_NEWS_NS) -> str:
    """Return a sentence about what the newest salvage of the journal lost; "" if there was none within `within_ns`."""
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
    found: dict[str, bool] = msgspec.to_builtins(protection)
    del found["folds_case"], found["sync_many"]  # properties of the file system, not protections
    return found
