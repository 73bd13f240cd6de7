"""When a head is signed: ten minutes with new records, a checkpoint, the end, a call."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from daemon_turns import Hasty

from quire_daemon.commit.recorder import Recorder
from quire_daemon.config.live import LiveSettings
from quire_daemon.config.settings import Settings, SigningSettings
from quire_daemon.maintenance.head_signer import EVERY_S, RETRY_S, HeadSigner
from quire_daemon.ops.daemon_log import Log
from quire_daemon.workers.pool import Failed, Job, brought, ended
from quire_journal.journal import Journal
from quire_journal.model.events import CheckpointNamed, EditRefused, Event, HeadSigned
from quire_journal.storage.memory import MemoryStore


class Host:
    """The part of a daemon that signing needs; jobs run at once, or when a test lets them."""

    stopping = False

    def __init__(self, store: MemoryStore) -> None:
        self.clock = Hasty()
        self.clock.stands_s = 1000.0
        self.recorder = Recorder(Journal.open(store, 1, "0" * 32), self.clock)
        self.in_force = LiveSettings(Settings())
        self.log = Log()
        self.held: list[Callable[[], None]] | None = None

    def start_job(self, work: Job, what: str, failed: Failed | None = None) -> None:
        then = brought(work)
        assert then is not None
        if self.held is None:
            ended(then, failed)
        else:
            self.held.append(lambda: ended(then, failed))


class Daemon:
    """A signer that is looked at once a second, over a journal in memory."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self.host = Host(MemoryStore())
        self.signer = HeadSigner(self.host, state)
        self.signer.open()

    def note(self, event: Event) -> None:
        self.host.recorder.note(event)
        self.host.recorder.commit()

    def edit(self) -> None:
        self.note(EditRefused("edit", "a.txt", "stale_base", "one"))

    def pass_s(self, seconds: float) -> None:
        """Looks in that time, the last at its end."""
        for _ in range(3):
            self.host.clock.stands_s += seconds / 3
            self.signer.tidy()
            if self.host.recorder.waiting:
                self.host.recorder.commit()

    def heads(self) -> list[HeadSigned]:
        if self.host.recorder.waiting:
            self.host.recorder.commit()
        with self.host.recorder.history() as history:
            return [event for record in history.records() if isinstance(event := record.event(), HeadSigned)]

    def sizes(self) -> list[int]:
        return [event.size for event in self.heads()]


@pytest.fixture
def daemon(tmp_path: Path) -> Daemon:
    return Daemon(tmp_path)


def test_new_records_are_signed_after_ten_minutes(daemon: Daemon) -> None:
    daemon.edit()
    daemon.signer.tidy()
    daemon.pass_s(EVERY_S - 1)
    daemon.edit()
    assert daemon.heads() == []
    daemon.pass_s(3)
    assert daemon.sizes() == [2]


def test_the_record_of_a_signature_is_no_reason_for_another(daemon: Daemon) -> None:
    daemon.edit()
    for _ in range(5):
        daemon.pass_s(EVERY_S)
    assert daemon.sizes() == [1]
    daemon.edit()
    for _ in range(5):
        daemon.pass_s(EVERY_S)
    assert daemon.sizes() == [1, 3]


def test_a_checkpoint_is_signed_at_once(daemon: Daemon) -> None:
    daemon.edit()
    daemon.note(CheckpointNamed("before-lunch", 1))
    daemon.pass_s(1)
    assert daemon.sizes() == [2]
    daemon.edit()
    daemon.pass_s(100)
    assert daemon.sizes() == [2]


def test_the_end_is_signed(daemon: Daemon) -> None:
    daemon.edit()
    daemon.signer.at_end()
    assert daemon.sizes() == [1]
    daemon.signer.at_end()
    assert daemon.sizes() == [1]


def test_who_does_not_want_heads_gets_none(daemon: Daemon) -> None:
    daemon.host.in_force.now = Settings(signing=SigningSettings(heads=False))
    daemon.edit()
    daemon.pass_s(3 * EVERY_S)
    daemon.signer.at_end()
    assert daemon.heads() == []
    assert not (daemon.state / "signing.key").exists()


def test_a_call_gets_a_head_that_covers_its_record(daemon: Daemon) -> None:
    told: list[int] = []
    daemon.edit()
    daemon.edit()
    for seq in (1, 0, 2):
        daemon.signer.cover(seq, lambda signed: told.append(signed.head.size if signed else 0), _raise)
    assert told == [2, 0, 0], "the first one signs for the others"
    assert daemon.sizes() == [2]


def test_calls_wait_for_each_other(daemon: Daemon) -> None:
    told: list[int] = []
    daemon.edit()
    daemon.host.held = []
    for _ in range(2):
        daemon.signer.cover(0, lambda signed: told.append(signed.head.size if signed else 0), _raise)
    daemon.pass_s(3 * EVERY_S)
    while daemon.host.held:
        daemon.host.held.pop(0)()
    assert told == [1, 0], "the first one signed for both"
    assert daemon.sizes() == [1]


def test_without_the_agent_of_the_user_a_head_is_signed_and_the_lack_is_told(daemon: Daemon) -> None:
    daemon.host.in_force.now = Settings(signing=SigningSettings(ssh_key="SHA256:AAAA"))
    daemon.edit()
    daemon.signer.at_end()
    assert daemon.sizes() == [1]
    assert "lacks the signature of signing.ssh_key: the daemon knows no ssh-agent" in daemon.signer.told()["failed"]


def test_a_failed_attempt_is_told_and_repeated_after_a_minute(daemon: Daemon) -> None:
    key = daemon.state / "signing.key"
    key.write_text("no key")
    daemon.edit()
    daemon.signer.tidy()
    daemon.pass_s(EVERY_S + 1)
    assert daemon.heads() == []
    assert "failed" in daemon.signer.told()
    key.unlink()
    daemon.pass_s(RETRY_S - 1)
    assert daemon.heads() == []
    daemon.pass_s(2)
    assert daemon.sizes() == [1]
    assert daemon.signer.told() == {"records": 1}


def test_a_journal_put_back_from_a_copy_is_told_and_recorded_at_the_start(daemon: Daemon) -> None:
    for _ in range(3):
        daemon.edit()
    daemon.signer.at_end()
    again = Host(MemoryStore())
    again.recorder.note(EditRefused("edit", "a.txt", "stale_base", "one"))
    again.recorder.commit()
    daemon.host = again
    signer = daemon.signer = HeadSigner(again, daemon.state)
    signer.open()
    (event,) = daemon.heads()
    assert event.size == 1
    assert event.broken == "The journal ends with record 1, and its head of 3 records was signed."
    (told,) = signer.told()["broken"]
    assert told.startswith(event.broken)
    HeadSigner(again, daemon.state).open()
    assert len(daemon.heads()) == 1


def _raise(error: Exception) -> None:
    raise error
