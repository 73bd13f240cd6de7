"""The `purge` service: removes contents and texts, such as a leaked secret, from everything that Quire controls. Agents
are not offered it.

1. find: a separate process (`purge_worker`) finds blobs and records with the text, and computes replacement records.
2. change: the main loop deletes the blobs and replaces the records in one transaction, and records `purged`.
3. compact: the database is copied key by key, so that the new file has no byte of the old one.
4. sweep: mask the text in logs, delete damaged databases, and wait until displaced files in `.quire/tmp` are removed.

A crash in between leaves an intact journal. Repeating the purge removes the rest.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec

from quire_daemon.core import Call
from quire_daemon.core.replies import PurgeReply
from quire_daemon.integrity import copied, set_aside
from quire_daemon.maintenance.purge_worker import CompiledTexts, FindTask, MaskTask, Purger, PurgeSurveyed
from quire_daemon.maintenance.service import Service, ServiceHost
from quire_daemon.tools.history import known_path
from quire_daemon.workers import Breather
from quire_daemon.workspace import TMP
from quire_journal.maintenance import Found, purge
from quire_journal.model import FOLDER, JournalDamaged, Refusal, counted, disk_path, version_token
from quire_journal.storage import Compaction, StoreFailure

MOST_LISTED: Final = 200
TMP_S: Final = 5.0
MOST_LOOKS: Final = 3
"""Maximum number of searches on a worker thread; each later one covers the records added during the one before. The
search after the last one blocks the main loop.
"""

REMAIN: Final = (
    "the files of the checkout themselves",
    "git, if it was ever committed or stashed",
    "backups, snapshots and free blocks of the file system",
    "editors (undo and swap files), and agents' own transcripts and contexts",
    "exports and copies of the journal that somebody made",
    "journals of other checkouts of the repository, which share contents: purge there, too",
)
"""Places that Quire does not control, where copies may remain."""


class PurgeParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Arguments of `purge`: exactly one of `path`, `blob` (sha256) and `matching`."""

    path: str = ""
    blob: str = ""
    matching: str = ""  # a regular expression on bytes; ^ and $ match at line ends
    plan: bool = False  # only report what would be removed
    note: str = ""


def run(call: Call, host: ServiceHost) -> None:
    """Reply with `blobs`, `versions` (path and version of each that has lost its content), `records`, `remain` (places
    outside Quire's control) and `on_disk` (files with the bytes).
    """
    task = _task(call.params, host)
    if "purge" in host.progress:
        raise Refusal("busy", "A purge is going on already; wait for its end.", "retry", retry_after_ms=1000)
    if host.collector.going_on and not call.params.plan:  # a collection relies on the journal's content
        raise Refusal("busy", "A collection is going on; purge when it has ended.", "retry", retry_after_ms=1000)
    if not call.params.plan:
        host.recorder.introduce(call.who.writer)  # now, because a later record would have to be searched, too
    host.commit_noted()
    _Purge(call, host, task).begin()


class _Purge:
    def __init__(self, call: Call, host: ServiceHost, task: FindTask) -> None:
        self._call, self._host, self._task = call, host, task
        self._found = Found()
        self._texts = CompiledTexts()
        self._purger = Purger(host.state_dir / "journal", lambda: host.stopping)
        self._looks = 0
        self._unmasked = ""  # reason why logs may still contain the text
        self._compaction: Compaction | None = None

    def begin(self) -> None:
        self._host.progress["purge"] = {"what": "looking", "done": 0, "total": 0}
        self._work(self._find)

    def _work(self, step: Callable[[], Callable[[], None]]) -> None:
        self._host.start_job(step, "purge", self._fail)

    def _fail(self, error: Exception) -> None:
        if isinstance(error, StoreFailure) and not error.for_good:
            code = "disk_full" if error.disk_full else "busy"
            self._answer(Refusal(code, f"The purge is incomplete; repeat it: {error}.", "retry").reply())
        elif isinstance(error, JournalDamaged):
            damaged = JournalDamaged(f"the purge is incomplete: {error}", error.everywhere)
            self._answer(self._host.told("purge", damaged.with_traceback(error.__traceback__)))
        else:
            self._answer(self._host.told("purge", error))

    def _answer(self, body: dict[str, Any]) -> None:
        self._host.progress.pop("purge", None)  # first: an error of cleaning up must not block other purges
        if self._compaction is not None:
            self._compaction.cancel()
        try:
            self._purger.close()
        except OSError as error:
            self._host.told("purge", error)  # logged; the next start removes it
        self._host.answer(self._call, body)

    # ── the steps ──

    def _find(self) -> Callable[[], None]:
        looked = self._look()
        if self._call.params.plan:
            self._purger.close()  # here, where nobody waits for its end
        return lambda: self._change(looked)

    def _look(self) -> PurgeSurveyed:
        looked = self._purger.ask(self._task)
        assert isinstance(looked, PurgeSurveyed)
        self._looks += 1
        self._found, self._texts = looked.found(), looked.texts
        return looked

    def _change(self, looked: PurgeSurveyed) -> None:
        recorder = self._host.recorder
        if self._call.params.plan:
            self._answer(self._body())
            return
        self._host.commit_noted()
        if not self._stands(looked):  # new records may contain the text, too
            if self._looks < MOST_LOOKS:
                self._work(self._find)
                return
            looked = self._look()  # records come faster than the search: now the loop waits
        # Refused if another compaction is running, before anything is done.
        self._compaction = recorder.journal.store.compacting()
        if self._found.blobs or self._found.records:
            recorder.purge(looked.change(), self._call.who.writer)
            recorder.seen.tell({disk_path(path): None for path in self._found.paths})
            recorder.seen.save()
        self._host.progress["purge"] = {"what": "compacting", "done": 0, "total": 0}
        self._work(self._copy)

    def _stands(self, looked: PurgeSurveyed) -> bool:
        with self._host.recorder.journal.store.reading() as r:
            return purge.stand(r) == looked.stood

    def _copy(self) -> Callable[[], None]:
        assert self._compaction is not None
        self._purger.close()  # which frees space
        self._compaction.copy(Breather(self._host), copied, erase=True)
        return self._swap

    def _swap(self) -> None:
        assert self._compaction is not None
        self._host.commit_noted()
        compaction = self._compaction
        compaction.finish()
        self._compaction = None

        def release() -> Callable[[], None]:
            compaction.release()
            self._unmasked = _sweep(self._host, self._purger, self._texts, self._task.limit_ms)
            return lambda: self._answer(self._body())

        self._host.look_at([disk_path(path) for path in self._found.paths])
        self._work(release)

    # ── the answer ──

    def _body(self) -> dict[str, Any]:
        found, plan = self._found, self._call.params.plan
        versions = sorted(named for several in found.versions.values() for named in several)
        with self._host.recorder.history() as history:
            heads = {path: history.file(path) for path in found.paths}
        on_disk = [p for p, head in heads.items() if head is not None and not head.gone and head.blob in found.blobs]
        many = counted(len(versions), "version")
        lost = f"the bytes of {many} in {counted(len(found.paths), 'file')}"
        told = [f"{lost.capitalize()} {'would go' if plan else 'are gone'} from the journal; that they existed stays."]
        if not versions and not found.records:
            told = ["The journal holds no such bytes: there is nothing to purge."]
        if found.records:
            records = counted(len(found.records), "record that tells", "records that tell")
            told.append(f"Masked {'would be' if plan else 'now'}: {records} of them.")
        if on_disk:
            told.append(
                f"On the disk there still is {', '.join(on_disk[:5])}: take the secret out there, and replace it."
            )
        if found.short:
            told.append(f"The log may give away by a hash what is very short: {', '.join(found.short[:5])}.")
        if self._unmasked:
            told.append(f"Logs in {self._host.state_dir} may still hold it ({self._unmasked}); remove daemon.log*.")
        told.append(f"Copies may remain in {'; '.join(REMAIN)}.")
        return {
            "ok": True,
            "message": " ".join(told),
            "plan": plan,
            "blobs": len(found.blobs),
            "versions": [{"path": path, "version": version_token(seq)} for path, seq in versions[:MOST_LISTED]],
            "versions_total": len(versions),
            "records": len(found.records),
            "on_disk": on_disk,
            "set_aside": [path.name for path in set_aside(self._host.state_dir / "journal")],
            "remain": list(REMAIN),
        }


def _task(params: PurgeParams, host: ServiceHost) -> FindTask:
    if sum(map(bool, (params.path, params.blob, params.matching))) != 1:
        raise Refusal("schema_invalid", "Say one of path, blob and matching.", argument="path")
    if params.blob and not re.fullmatch("[0-9a-f]{64}", params.blob):
        raise Refusal("schema_invalid", "blob: must be a sha256 of 64 hexadecimal digits.", argument="blob")
    return FindTask(
        os.fspath(host.state_dir / "journal"),
        max(host.in_force.now.limits.regex_ms, 1),
        _known_file(params.path, host) if params.path else "",
        bytes.fromhex(params.blob),
        params.matching,
        params.note[:200],
        params.plan,
        _logs(host),
    )


def _known_file(path: str, host: ServiceHost) -> str:
    """Return `path` as the journal spells it. Raises `Refusal` if the journal knows no such file, or only a folder."""
    with host.recorder.history() as history:
        known = known_path(path, history)
        if history.path_id(known) is None:
            message = f"The journal knows no file {path}, and nothing was purged; name one file, as `log` shows it."
            raise Refusal("not_found", message, "log", path=path)
        if {version.entry for version in history.versions(known) if not version.gone} == {FOLDER}:
            message = f"{path} is a folder, and nothing was purged; name one file in it, as `log` shows it."
            raise Refusal("not_a_file", message, "log", path=path)
    return known


# ── files beside the journal ──


def _sweep(host: ServiceHost, purger: Purger, texts: CompiledTexts, limit_ms: int) -> str:
    """Mask logs, delete damaged databases, and wait until old files in `.quire/tmp` are removed. Returns the reason why
    logs could not be masked; "" if they were.
    """
    for path in set_aside(host.state_dir / "journal"):
        shutil.rmtree(path, ignore_errors=True)
    why = ""
    if texts.asked or texts.lines:
        try:
            purger.ask(MaskTask(texts, limit_ms, _logs(host)))
        except (Refusal, StoreFailure) as error:
            why = str(error)
    until, left = host.clock.mono_s() + TMP_S, _files(host.root / TMP)
    while left and host.clock.mono_s() < until and not host.stopping:  # files displaced later go in time
        host.clock.sleep(0.1)
        left &= _files(host.root / TMP)
    return why


def _logs(host: ServiceHost) -> tuple[str, ...]:
    return tuple(map(os.fspath, (*host.state_dir.glob("daemon.log*"), host.state_dir / "start.err")))


def _files(folder: Path) -> set[str]:
    try:
        return {entry.name for entry in os.scandir(folder) if entry.is_file(follow_symlinks=False)}
    except OSError:
        return set()


PURGE: Final = Service("purge", PurgeParams, run, asks=("path",), reply=PurgeReply)
