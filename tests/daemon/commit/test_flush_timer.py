"""What nobody waits for goes into the log after a while, and a log that takes nothing is not asked without a pause."""

from __future__ import annotations

import math

import pytest

from quire_daemon.commit.flush_timer import AGAIN_S, FLUSH_S, FlushTimer


def test_what_is_noted_is_flushed_after_a_while_and_once() -> None:
    flush_timer = FlushTimer()
    assert not flush_timer.due(True, 10.0)
    assert flush_timer.next_look_s(True, 10.0) == pytest.approx(10.0 + FLUSH_S)
    assert not flush_timer.due(True, 10.0 + FLUSH_S / 2)
    assert flush_timer.due(True, 10.0 + FLUSH_S)
    flush_timer.done()
    assert not flush_timer.due(True, 10.0 + FLUSH_S)  # more has been noted since
    assert flush_timer.due(True, 10.0 + 2 * FLUSH_S)


def test_the_loop_sleeps_while_the_store_takes_nothing() -> None:
    """It span, and wrote a trace into the daemon's log with each turn, on the very disk that was full."""
    flush_timer, now_s, tries = FlushTimer(), 10.0, 0
    while now_s < 70.0:
        tries += flush_timer.due(True, now_s)
        later = flush_timer.next_look_s(True, now_s)
        assert later > now_s
        now_s = later
    assert tries <= 60 / AGAIN_S + 1


def test_nothing_is_waited_for_where_there_is_nothing_or_no_log_to_take_it() -> None:
    flush_timer = FlushTimer()
    assert not flush_timer.due(True, 10.0)
    assert not flush_timer.due(False, 11.0)
    assert flush_timer.next_look_s(False, 11.0) == math.inf
    assert not flush_timer.due(True, 12.0)  # it begins anew
