"""Gathering: what a look at a path may leave out because of what is known of it."""

from __future__ import annotations

import os
from pathlib import Path

from quire_daemon.clock import SystemClock
from quire_daemon.config import Settings
from quire_daemon.gather import Gather
from quire_daemon.ignore import Ignore
from quire_daemon.reconcile import Seen
from quire_daemon.recorder import Recorder
from quire_daemon.workspace import Workspace
from quire_journal.journal import Journal
from quire_journal.stores.memory import MemoryStore


def test_a_file_stands_as_long_as_its_signature_is_the_one_that_was_seen_last(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    gather = Gather(workspace, Recorder(Journal.open(MemoryStore(), 1), SystemClock()), Ignore(tmp_path), Settings())
    file = tmp_path / "f"
    file.write_bytes(b"ours")
    assert not gather.stands("f")  # nobody has seen it
    s = workspace.look("f").signature
    assert s is not None
    gather.recorder.mark_seen({"f": Seen(s.dev, s.ino, s.size, s.mtime_ns, s.ctime_ns, s.mode, b"blob", 1)})
    assert gather.stands("f")
    other = tmp_path / "other"
    other.write_bytes(b"ours")
    os.utime(other, ns=(s.mtime_ns, s.mtime_ns))
    file.rename(tmp_path / "kept")
    assert not gather.stands("f")  # nothing is there
    other.rename(file)
    assert not gather.stands("f")  # another file is
    workspace.close()
