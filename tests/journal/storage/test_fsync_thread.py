"""The one thread that syncs in the place of the loop."""

from __future__ import annotations

import threading

import pytest

from quire_journal.storage.fsync_thread import Syncer, done
from quire_journal.storage.threads import alive


def test_work_is_done_on_another_thread_before_its_result_is_there() -> None:
    syncer, threads = Syncer(), list[int]()
    for _ in range(3):
        sync = syncer.begin(lambda: threads.append(threading.get_ident()))
        assert sync is not None
        sync.result()
        sync.result()  # it can be asked for again
    syncer.close()
    assert len(threads) == 3
    assert threading.get_ident() not in threads


def test_what_the_work_raises_is_raised_where_its_result_is_asked_for() -> None:
    syncer = Syncer()

    def full() -> None:
        raise OSError(28, "no space")

    sync = syncer.begin(full)
    assert sync is not None
    for _ in range(2):
        with pytest.raises(OSError, match="no space"):
            sync.result()
    after = syncer.begin(lambda: None)
    assert after is not None
    after.result()
    syncer.close()


def test_work_done_by_the_caller_itself_raises_from_its_result() -> None:
    at_work: list[threading.Thread] = []
    done(lambda: at_work.append(threading.current_thread())).result()
    assert at_work == [threading.current_thread()]

    def full() -> None:
        raise OSError(28, "no space")

    sync = done(full)
    assert sync.done()
    with pytest.raises(OSError, match="no space"):
        sync.result()


def test_a_busy_syncer_refuses_work_and_closing_waits_for_it() -> None:
    syncer, gate, ended = Syncer(), threading.Event(), list[str]()

    def slow() -> None:
        gate.wait()
        ended.append("slow")

    assert syncer.begin(slow) is not None
    assert syncer.begin(lambda: ended.append("other")) is None
    gate.set()
    syncer.close()
    syncer.close()
    assert ended == ["slow"]


def test_a_syncer_that_was_never_needed_has_no_thread() -> None:
    before = alive()
    syncer = Syncer()
    syncer.close()
    assert alive() == before
