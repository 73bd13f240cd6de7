"""Collection of the files that a call must see before its decision.

Named files are read in one turn. Implied files (of an undo, a restore) may be thousands: they are read in slices over
several turns, until all are known as of the same record. The swap detects later changes on disk.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from quire_daemon.clock import Clock
from quire_daemon.core import Call, FileNow, LookProgress, Wait
from quire_daemon.engine.long_decisions import LongDecisions
from quire_daemon.engine.request_files import RequestFiles
from quire_daemon.watch import RETRY_S, FileInFlight, Outside, Watcher
from quire_daemon.watch.fanotify import Tracer
from quire_daemon.workspace import FileBusy, NoPath
from quire_journal.history import History
from quire_journal.model import JournalSalvaged, Refusal, WritesAbandoned, paths_of

SLICE_S: Final = 0.008
"""Seconds of one turn for finding and reading the files of one call."""

MANY: Final = 64
"""Number of files read in one turn, after which the decision may wait for the next."""


MOST_RECORDS: Final = 100
"""Maximum number of new records that one turn examines for a call with implied files."""

PATIENCE: Final = 1
"""Number of a call's outdated long decisions, after which only records about its own files make it start over."""

CATCH_UP_S: Final = 2.0
"""Seconds that a query waits for the watcher's cookie; then its reply carries a warning."""

_IMPLIES: Final = "implies"


class WatcherBarrier:
    """Barrier that delays a call until all earlier changes of files are journaled, as a cookie (`watch.cookies`)
    proves.
    """

    def __init__(self, outside: Outside, watcher: Watcher, tracer: Tracer, clock: Clock) -> None:
        self._outside, self._watcher, self._tracer, self._clock = outside, watcher, tracer, clock

    def wait(self, call: Call) -> Wait | None:
        """Return a `Wait` while the watcher is behind, else None. After `CATCH_UP_S` seconds returns None in any case;
        `call.behind` says whether the watcher is still behind.
        """
        now = self._clock.mono_s()
        if not call.cookie:
            if call.tool.settle_s and self._tracer.starts():
                return Wait(now + RETRY_S)  # what a command writes before has no known writer
            self._outside.scanner.hurry()
            self._outside.look_at_unwatched()
            call.cookie = self._watcher.cookie()
            call.catch_up_s = now + CATCH_UP_S
        told = self._watcher.seen(call.cookie)
        patience_s = call.tool.settle_s if told else 0.0
        call.behind = not (told and self._outside.idle())
        if call.behind and now < call.catch_up_s + patience_s:
            return Wait(now + RETRY_S)
        call.caught_up = True
        return None


class Gatherer:
    def __init__(self, files: RequestFiles, long_decisions: LongDecisions) -> None:
        self._long_decisions = long_decisions
        self._files, self._in_flight, self._recorder = files, files.observer.in_flight, files.observer.recorder
        self._clock = self._recorder.clock

    def name_inside(self, call: Call) -> None:
        """Make absolute paths in the call's query arguments relative to the workspace. Raises `Refusal`."""
        for name in call.tool.asks:
            given = getattr(call.params, name)
            try:
                asked = self._files.asked(given) if isinstance(given, str) else [self._files.asked(g) for g in given]
            except NoPath as no:
                raise NoPath(no.problem, name) from None
            if asked != given:
                call.params = msgspec.structs.replace(call.params, **{name: asked})

    def looks(self, call: Call) -> LookProgress | Wait:
        """Return all files of `call` by the caller's names, or a `Wait`, with the progress in `call.looks`. Raises
        `Refusal` for a named file. An implied file that cannot be read or must not be written is left out; `kept_off`
        has the reason's code.
        """
        looks, began_s, in_flight = call.looks, self._clock.mono_s(), self._in_flight
        if looks is None:
            looks = call.looks = LookProgress()
        if looks.head < 0 and (wait := self._imply(call, looks)) is not None:
            return wait
        named = list(dict.fromkeys(call.tool.paths(call.params)))
        for name in named:
            # named files are few, and are read again so that a reply shows their current bytes
            looks.files.pop(name, None)
        try:
            wait = self._look_at_all(call, named, looks, began_s)
        except FileInFlight as being:
            return Wait(self._clock.mono_s() + (0.0 if in_flight.writes_now(being.path) else RETRY_S))
        if wait is not None:
            return wait
        # an earlier turn read the file, and this turn writes it
        if any(in_flight.writes_now(file.path) for file in looks.files.values()):
            return Wait(self._clock.mono_s())
        call.looks = None
        return looks

    def _look_at_all(self, call: Call, named: Sequence[str], looks: LookProgress, began_s: float) -> Wait | None:
        """Read all files as of one record, and return None; or return a `Wait` if the time slice is used up. Raises
        `Refusal` and `FileInFlight`.
        """
        until, looked = began_s + SLICE_S, 0
        while True:
            for name in named:
                if name in looks.files:
                    continue
                seen = self._named(call, name)
                if isinstance(seen, Wait):
                    return seen
                looks.files[name] = seen
            for at in range(looks.known, len(looks.implied.paths)):
                looks.known, name = at, looks.implied.paths[at]
                if name not in looks.files and name not in looks.kept_off:
                    if looked and self._clock.mono_s() > until:
                        return Wait(self._clock.mono_s())
                    if (wait := self._look_at_implied(call, name, looks)) is not None:
                        return wait
                    looked += 1
            if looks.head == self._recorder.journal.head:
                if looked >= MANY and self._clock.mono_s() > until - SLICE_S / 2:
                    return Wait(self._clock.mono_s())
                return None
            if (wait := self._imply(call, looks)) is not None:
                return wait

    def _imply(self, call: Call, looks: LookProgress) -> Wait | None:
        if call.tool.long and call.tool.implies is not None:
            return self._imply_much(call, looks)
        looks.head, looks.known = self._recorder.journal.head, 0
        with self._recorder.history() as history:
            if call.tool.implies is not None:
                looks.implied = call.tool.implies(call.params, history, call.who)
            looks.files = {n: file for n, file in looks.files.items() if file.version == history.file(file.path)}
        return None

    def _imply_much(self, call: Call, looks: LookProgress) -> Wait | None:
        """Find implied files for tools that take long, or return a `Wait`. Later turns only check new records, at most
        `MOST_RECORDS` a turn.
        """
        implies, head = call.tool.implies, self._recorder.journal.head
        assert implies is not None
        if looks.head < 0:
            looks.long = call.thought is not None
            thought = self._long_decisions.think(
                call, _IMPLIES, lambda history, _: implies(call.params, history, call.who)
            )
            if isinstance(thought, Wait):
                return thought
            looks.implied, looks.head = thought
            looks.asked, looks.known = looks.asked + 1, 0
            self._forget_changed(looks, looks.head)
        if looks.head < head:
            self._catch_up(call, looks, min(head, looks.head + MOST_RECORDS))
        return Wait(self._clock.mono_s()) if looks.head < head else None

    def _catch_up(self, call: Call, looks: LookProgress, upto: int) -> None:
        self._forget_changed(looks, upto)
        with self._recorder.history() as history:
            implied = looks.implied
            still = implied if implied.still is None else implied.still(history, upto, call.thoughts >= PATIENCE)
        if still is None:
            looks.head = -1
            if looks.long:
                self._long_decisions.thought_in_vain(call)
        else:
            looks.implied, looks.head = still, upto

    def _forget_changed(self, looks: LookProgress, upto: int) -> None:
        after, looks.upto = looks.upto, max(looks.upto, upto)
        if not looks.files or after >= upto:
            return
        if upto - after > MOST_RECORDS:
            looks.files, looks.known = {}, 0
            return
        with self._recorder.history() as history:
            touched = _touched(history, after, upto)
            for name, file in [*looks.files.items()]:
                if (touched is None or file.path in touched) and file.version != history.file(file.path):
                    del looks.files[name]
                    looks.known = 0

    def _named(self, call: Call, name: str) -> FileNow | Wait:
        """Return a file that the caller names, or a `Wait` while another program writes it. After too long a wait, a
        read shows the unfinished file, and a write raises `Refusal`.
        """
        patient = self._is_patient(call)
        try:
            unfinished_ok = not patient and not call.tool.writes
            if call.tool.of_past:
                self._files.require_journaled(name)
            return self._files.file(name, call.tool.writes, unfinished_ok, inside=call.tool.shows_folders)
        except FileBusy:
            if patient:
                return Wait(self._clock.mono_s() + RETRY_S)
            raise Refusal(
                "busy",
                f"{name} is held open for writing by another program; try again.",
                "retry",
                retry_after_ms=100,
                path=name,
            ) from None
        except NoPath as no:
            raise NoPath(no.problem, _argument(call.params, name)) from None

    def _look_at_implied(self, call: Call, name: str, looks: LookProgress) -> Wait | None:
        """Read an implied file, or return a `Wait` while another program writes it; after too long a wait, leave it
        out.
        """
        patient = self._is_patient(call)
        try:
            if name in call.lost.left_out:
                self._keep_off(name, looks)
                return None
            if call.tool.watched_only and self._files.is_ignored(name):
                looks.kept_off[name] = "ignored"
                return None
            unfinished_ok = not patient and not call.tool.writes
            looks.files[name] = self._files.implied(name, call.tool.writes, unfinished_ok)
        except FileBusy:
            if patient:
                return Wait(self._clock.mono_s() + RETRY_S)
            self._keep_off(name, looks)
        except Refusal as refused:
            if refused.code == "busy" and "limit" in refused.details:
                raise  # a limit of this process, not a property of the file
            looks.kept_off[name] = refused.code
        return None

    def _keep_off(self, name: str, looks: LookProgress) -> None:
        """Leave out, with the code "busy", a file that another program is writing; its bytes so far are journaled.
        Raises `Refusal`.
        """
        self._files.file(name, False, unfinished_ok=True)
        looks.kept_off[name] = "busy"

    def _is_patient(self, call: Call) -> bool:
        return self._clock.mono_s() < call.give_up_s


def _touched(history: History, after: int, upto: int) -> set[str] | None:
    found: set[str] = set()
    for record in history.records(after, upto):
        event = record.event()
        if event is None or isinstance(event, WritesAbandoned | JournalSalvaged):
            return None
        found.update(paths_of(event))
    return found


def _argument(params: object, name: str) -> str:
    said = msgspec.structs.asdict(params) if isinstance(params, msgspec.Struct) else {}
    texts = {argument: text for argument, text in said.items() if isinstance(text, str)}
    whole = next((argument for argument, text in texts.items() if text == name), "")
    return whole or next((argument for argument, text in texts.items() if name in text), "path")
