"""What a purge that fails leaves behind: nothing that keeps others off, and what follows from its error is done."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from memory_daemon import MemoryDaemon
from quire_daemon.config.live import LiveSettings
from quire_daemon.config.settings import Settings
from quire_daemon.core.call import Call
from quire_daemon.maintenance.purge import PURGE, PurgeParams
from quire_daemon.workers.pool import Failed, Job, brought, ended
from quire_journal.model.events import FOLDER, OutsideWritten
from quire_journal.model.refusals import Refusal
from quire_journal.storage.port import StoreFailure

CALL = cast("Call", SimpleNamespace(params=PurgeParams(matching="secret", plan=True)))


class Daemon:
    """One whose jobs are done at once."""

    in_force, stopping = LiveSettings(Settings()), False
    collector = SimpleNamespace(going_on=False)

    def __init__(self, state_dir: Path, daemon: MemoryDaemon | None = None) -> None:
        self.state_dir = self.root = state_dir
        self.recorder = daemon  # of which only the history is asked for
        self.fails: Exception | None = None  # all work
        self.progress: dict[str, Any] = {}
        self.answers: list[dict[str, Any]] = []
        self.faults: list[Exception] = []

    def commit_noted(self) -> None:
        """Nothing is noted."""

    def start_job(self, work: Job, what: str, failed: Failed) -> None:
        if self.fails is not None:
            failed(self.fails)
            return
        ended(brought(work) or (lambda: None), failed)

    def told(self, what: str, error: Exception) -> dict[str, Any]:
        self.faults.append(error)
        return Refusal("fault", what, "report").reply()

    def answer(self, call: Call, body: dict[str, Any]) -> None:
        self.answers.append(body)


def test_a_purge_whose_folder_cannot_be_removed_is_answered_and_keeps_no_other_from_it(tmp_path: Path) -> None:
    """All later ones, and collections, were `busy` until the daemon ended."""
    (tmp_path / "journal").mkdir()
    (tmp_path / "journal" / "db.beside").write_bytes(b"a file")  # no folder, which `rmtree` does not remove
    daemon = Daemon(tmp_path)
    PURGE.run(CALL, cast("Any", daemon))
    assert daemon.progress == {}
    assert [type(error) for error in daemon.faults] == [NotADirectoryError]
    assert [body["error"] for body in daemon.answers] == ["busy"], "there is no journal that it could look at"
    assert "could not open" in daemon.answers[0]["message"]


@pytest.mark.parametrize(("for_good", "faults", "code"), [(True, 1, "fault"), (False, 0, "busy")])
def test_a_commit_of_a_purge_that_fails_for_good_is_followed_up_like_any_other(
    tmp_path: Path, for_good: bool, faults: int, code: str
) -> None:
    """The journal was read-only, and mistrusted, only from the next commit on."""
    daemon = Daemon(tmp_path)
    daemon.fails = StoreFailure("could not sync", for_good=for_good)
    PURGE.run(CALL, cast("Any", daemon))
    assert len(daemon.faults) == faults
    assert [body["error"] for body in daemon.answers] == [code]


def test_a_folder_that_was_once_seen_empty_is_not_told_as_a_file_without_bytes(tmp_path: Path) -> None:
    """Whoever named it may have believed that what was in it had gone."""
    daemon = MemoryDaemon()
    daemon.note(OutsideWritten("folder", b"", 0, 0o755, "captured", entry=FOLDER))
    daemon.write("folder/secret", b"secret\n", daemon.ann)
    call = SimpleNamespace(params=PurgeParams(path="folder"))
    with pytest.raises(Refusal, match="folder is a folder, and nothing was purged; name one file in it") as refused:
        PURGE.run(cast("Call", call), cast("Any", Daemon(tmp_path, daemon)))
    assert refused.value.code == "not_a_file"
