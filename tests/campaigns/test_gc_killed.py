"""kill -9 at each numbered step of a collection and a compaction: what the policy keeps is there, and a next one ends.

One journal through all of these deaths; between two of them files are edited, so that each collection has work to do.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import live
from live import Live, eventually, ok, verified
from quire_daemon.maintenance.gc import collector
from quire_journal.storage import compaction

pytestmark = [pytest.mark.real, pytest.mark.timeout(live.length(60, 1800))]

FILES = ("a.py", "b.py")
SETTINGS = '[retention]\nkeep_last = 3\nkeep_within = ""\ndaily = 0\nthin_outside = ""\ngrace = "0"\n'
ALL_STEPS = (*collector.STEPS, *compaction.STEPS)
STEPS = live.length(("gc_dropped", "compact_moved"), ALL_STEPS)
"""Each daemon takes half a second to start and to be killed: a short run dies in the middle of either."""


class History:
    """What was written, and what the policy keeps of it."""

    def __init__(self) -> None:
        self.contents: dict[tuple[str, str], str] = {}  # (path, version) → content
        self.newest: dict[str, list[str]] = {path: [] for path in FILES}

    def write(self, client: Any, times: int) -> None:
        """More versions of each file."""
        for _ in range(times):
            for path, versions in self.newest.items():
                content = "".join(f"{len(versions) * n * n} of {path}\n" for n in range(60))
                base = {"base": versions[-1]} if versions else {}
                version = ok(client.call("write_file", {"path": path, "content": content, **base}))["version"]
                versions.append(version)
                self.contents[path, version] = content

    def check(self, client: Any, last: bool = True) -> int:
        """The last three of each file are whole, the rest whole or said to be dropped; how many were dropped.

        Short, the journal is checked after the last: damage stays.
        """
        if last or live.LONG:
            verified(client)
        dropped = 0
        for (path, version), content in self.contents.items():
            reply = client.call("read_file", {"path": path, "at": version})
            if reply["ok"]:
                assert reply["content"] == content
                continue
            assert reply["why"] == "dropped", reply
            assert version not in self.newest[path][-3:], (path, version)
            dropped += 1
        return dropped


def test_a_kill_at_each_step_loses_nothing_that_the_policy_keeps(daemon: Any) -> None:
    at: Live = daemon()
    folder = Path(os.environ["XDG_CONFIG_HOME"]) / "quire"
    folder.mkdir()
    (folder / "config.toml").write_text(SETTINGS)
    history, before = History(), 0
    for number, (step, passing) in enumerate((step, n) for step in STEPS for n in range(1, live.length(2, 4))):
        with at.fault(step, passing):
            client = at.connect("writer", f"s{number}", timeout_s=30.0)
        history.write(client, 6)
        client.close()
        doomed = at.daemon_pid()
        with at.connect("boss", "boss") as boss:  # what `writer` was shown is kept for it, what boss reads is not
            boss.call("gc", {"compact": True})
        if passing == 1:
            eventually(f"the daemon has died at {step}", lambda pid=doomed: at.died(pid))
        if at.daemon_pid() == doomed:  # else the call has started its successor
            at.kill()
            assert not list(at.state_dir.rglob("db.compact")) or step in compaction.STEPS
        with at.connect("reader", f"r{number}") as reader:
            dropped = history.check(reader, last=False)
            assert dropped >= before
            before = dropped
            assert not list(at.state_dir.rglob("db.compact"))
            ok(reader.shutdown_daemon())
        eventually("it has ended", lambda: not at.pids())
    with at.connect("boss", "boss") as boss:
        assert ok(boss.call("gc", {"compact": True}))["compacted"]["after_bytes"] > 0
        assert history.check(boss) > 0
        again = ok(boss.call("gc", {}))
        assert again["dropped"]["blobs"] == 0
