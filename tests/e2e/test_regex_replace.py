"""Patterns that never end are stopped, against a real daemon."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import live
import quire_client

pytestmark = pytest.mark.real

ENDLESS = {"file": "endless.txt", "pattern": r"(a|aa)+$", "replacement": "x"}
SOON_MS = 400


def texts(at: live.Live) -> None:
    """A text over which the pattern does not end, and a harmless one."""
    at.write("endless.txt", "a" * 60 + "!\n")
    at.write("other.txt", "count 0\n")


@pytest.fixture
def at(daemon: Any) -> live.Live:
    """A checkout with a daemon of its own, for tests that end it or that need settings of their own."""
    made: live.Live = daemon()
    texts(made)
    return made


@pytest.fixture(scope="module")
def hasty() -> Iterator[live.Live]:
    """A checkout whose limit is soon reached, for the tests of that."""
    made = live.Live()
    texts(made)
    made.write(".quire.toml", f"[limits]\nregex_ms = {SOON_MS}\n")
    yield made
    made.close()


@pytest.fixture(scope="module")
def patient(served: live.Live) -> live.Live:
    """The checkout that the other tests share. The limit is so high that no test waits for it."""
    limit(served, 60_000)
    return served


@pytest.fixture
def shared(patient: live.Live) -> live.Live:
    """The same texts again for each test."""
    texts(patient)
    return patient


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    """Where a call waits while others are made."""
    with ThreadPoolExecutor(1) as pool:
        yield pool


def limit(at: live.Live, ms: int) -> None:
    """The limit for a pattern, set by the user, who may also raise it."""
    settings = Path(os.environ["XDG_CONFIG_HOME"]) / "quire" / "config.toml"
    settings.parent.mkdir()
    settings.write_text(f"[limits]\nregex_ms = {ms}\n")


def works(client: quire_client.Client) -> dict[str, Any]:
    """A pattern that is soon done."""
    return live.ok(client.call("regex_replace", {"file": "other.txt", "pattern": r"\d+", "replacement": r"\g<0>0"}))


def searching(at: live.Live, client: quire_client.Client, pool: ThreadPoolExecutor) -> tuple[Future[Any], int]:
    """A call whose pattern does not end, and the process that is busy with it."""
    works(client)
    (pid,) = at.programs("workers.regex.worker")
    spent = _computed_ns(pid)
    call = pool.submit(client.call, "regex_replace", ENDLESS)
    live.eventually("the search runs", lambda: _computed_ns(pid) > spent + 20_000_000)
    return call, pid


def _computed_ns(pid: int) -> int:
    """How long the process has had the processor."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])


def test_a_pattern_that_does_not_end_is_stopped_at_its_limit(hasty: live.Live) -> None:
    with hasty.connect("ada") as ada, hasty.connect("ben", "s2") as ben:
        works(ada)
        (before,) = hasty.programs("workers.regex.worker")
        refused = live.refused(ada.call("regex_replace", ENDLESS), "regex_timeout")
        assert refused["limit_ms"] == SOON_MS
        assert hasty.read("endless.txt") == b"a" * 60 + b"!\n"
        assert works(ben)["replacements_made"] == 1
        (after,) = hasty.programs("workers.regex.worker")
        assert after != before


def test_a_daemon_that_is_told_to_stop_does_not_wait_for_a_search(at: live.Live, pool: ThreadPoolExecutor) -> None:
    limit(at, 60_000)
    with at.connect("ada") as ada, at.connect("ben", "s2") as ben:
        call, pid = searching(at, ada, pool)
        ben.shutdown_daemon()
        reply = live.refused(call.result(), "busy")
        assert reply["outcome"] == "not_applied"
        live.eventually("the daemon and its process have ended", lambda: at.died(pid) and not at.pids(), within_s=5)


def test_a_search_ends_when_its_caller_has_waited_long_enough(shared: live.Live, pool: ThreadPoolExecutor) -> None:
    with shared.connect("ben", "s2") as ben:
        for patience_s in (0.4, 2, 8):  # on a busy machine the time may be over before anything has begun
            works(ben)
            (pid,) = shared.programs("workers.regex.worker")
            with shared.connect("ada", timeout_s=patience_s) as ada:
                if given_up_by_its_caller(shared, pool.submit(ada.call, "regex_replace", ENDLESS), pid):
                    break
        else:
            pytest.fail("no search was seen to run before its caller had waited long enough")
        works(ben)
        assert shared.programs("workers.regex.worker") != [pid]


def given_up_by_its_caller(at: live.Live, call: Future[Any], pid: int) -> bool:
    """Did the caller of a search that runs have no answer in its time? The daemon, which could tell it, is stopped."""
    spent = _computed_ns(pid)
    while not call.done() and _computed_ns(pid) < spent + 3_000_000:
        time.sleep(0.002)
    os.kill(at.daemon_pid(), signal.SIGSTOP)
    try:
        reply = call.result()
    finally:
        os.kill(at.daemon_pid(), signal.SIGCONT)
    assert (reply["outcome"], reply["error"]) in (("unknown", "unknown"), ("not_applied", "expired")), reply
    return bool(reply["outcome"] == "unknown")
