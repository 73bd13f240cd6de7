"""Limits of the process: what tells of one, and what a caller is told."""

from __future__ import annotations

import errno

import pytest

from quire_journal.model.limits import Limit, NoProcess, reached, refusal
from quire_journal.storage.port import StoreFailure

FULL = OSError(errno.EMFILE, "Too many open files")


@pytest.mark.parametrize(
    ("error", "limit"),
    [
        (FULL, "descriptors"),
        (OSError(errno.ENFILE, "Too many open files in system"), "descriptors"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "memory"),
        (MemoryError(), "memory"),
        (type("MemoryError", (Exception,), {})("of the database"), "memory"),
        (RuntimeError("can't start new thread"), "threads"),
        (NoProcess(errno.EAGAIN, "Resource temporarily unavailable"), "threads"),
        (NoProcess(errno.EMFILE, "Too many open files"), "descriptors"),
        (BlockingIOError(errno.EAGAIN, "of a socket that does not block"), ""),
        (RuntimeError("dictionary changed size during iteration"), ""),
        (OSError(errno.EIO, "Input/output error"), ""),
    ],
)
def test_an_error_tells_of_the_limit_that_it_met(error: Exception, limit: Limit) -> None:
    assert reached(error) == limit


def test_a_limit_is_known_by_an_error_that_was_made_of_it() -> None:
    failed = StoreFailure("no process can be started for it")
    failed.__cause__ = FULL
    assert reached(failed) == "descriptors"


def test_an_error_that_was_raised_from_itself_comes_to_an_end() -> None:
    error = OSError(errno.EIO, "Input/output error")
    error.__cause__ = error
    assert reached(error) == ""


@pytest.mark.parametrize("limit", ["threads", "descriptors", "memory"])
def test_a_refusal_names_the_limit_and_how_it_is_raised(limit: Limit) -> None:
    reply = refusal(limit, "verify").reply()
    assert (reply["error"], reply["limit"], reply["suggested_action"]) == ("busy", limit, "retry")
    assert reply["message"].startswith("verify: ")
    assert "raise the limit (`ulimit" in reply["message"]
