"""The limits without which a daemon is not started."""

from __future__ import annotations

import threading

import pytest

from quire_daemon.workers import process
from quire_journal.model.limits import reached


def test_a_start_without_threads_or_files_to_be_had_is_told() -> None:
    before = threading.stack_size(1 << 46)  # no process has room for that
    try:
        with pytest.raises(RuntimeError) as no_thread:
            process.require_threads()
    finally:
        threading.stack_size(before)
    with pytest.raises(OSError, match="needs 4611686018427387904 open files") as no_file:
        process.require_files(1 << 62)
    assert [reached(no_thread.value), reached(no_file.value)] == ["threads", "descriptors"]
    process.require_threads()
    process.require_files()
