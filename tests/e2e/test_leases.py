"""Leases against the real daemon: what holds between processes, through waits, lost connections and restarts."""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

import pytest

import live

pytestmark = pytest.mark.real

TEXT = "one\ntwo\nthree\n"

PATIENCE_MS = 20_000
"""For what comes at once, unless the machine is busy with something else."""


def words(at: live.Live, *more: str, agent: str = "ben") -> list[str]:
    """A command line on the checkout."""
    return ["-C", str(at.root), "--state-dir", str(at.state_dir), "--agent", agent, "--session", "s1", *more]


def ran(at: live.Live, *more: str, agent: str = "ben") -> tuple[int, str, str]:
    """Its exit status, what it printed, and what it complained of."""
    done = live.quire(*words(at, *more, agent=agent))
    return done.returncode, done.stdout.decode(), done.stderr.decode()


class Waiting:
    """A claim that waits on a thread of its own."""

    def __init__(self, at: live.Live, agent: str, **claim: Any) -> None:
        self.reply: dict[str, Any] = {}
        self.client = at.connect(agent)
        self._thread = threading.Thread(target=self._claim, args=(claim,))
        self._thread.start()

    def _claim(self, claim: dict[str, Any]) -> None:
        self.reply = self.client.claim("f.txt", "exclusive", wait_ms=20_000, **claim)

    def done(self) -> dict[str, Any]:
        self._thread.join(25)
        return self.reply


def queue(at: live.Live, number: int) -> None:
    """Wait until so many claims wait."""
    with at.connect("looker") as looker:
        live.eventually(f"{number} claims wait", lambda: len(looker.claims()["waiting"]) == number)


def test_an_exclusive_lease_refuses_anothers_edit_with_exit_status_6_and_who_waits_gets_it_when_it_is_released(
    served: live.Live,
) -> None:
    at = served
    at.write("f.txt", TEXT)
    with at.connect("ann") as ann:
        number = live.ok(ann.claim("f.txt", "exclusive", reason="rewriting", start_line=2, end_line=3))["lease"]
        edit = {"path": "f.txt", "old_text": "two", "new_text": "TWO"}
        status, printed, _ = ran(at, "call", "edit_replace", json.dumps(edit))
        assert status == 6
        told = json.loads(printed)
        assert (told["error"], told["lease"], told["holder"]["agent"]) == ("lease_held", number, "ann")
        assert told["free"]["lines"] == [{"start": 1, "end": 1}]
        assert at.read("f.txt").decode() == TEXT
        status, _, complained = ran(at, "claim", str(at.root / "f.txt"), "--kind", "exclusive")
        assert (status, '"rewriting"' in complained) == (6, True)
        status, printed, _ = ran(at, "call", "edit_replace", json.dumps({**edit, "old_text": "one", "new_text": "ONE"}))
        assert status == 0, printed

        first = Waiting(at, "ben")
        queue(at, 1)
        second = Waiting(at, "cleo", ttl_s=60)
        queue(at, 2)
        overtaking = live.refused(at.connect("dan").claim("f.txt", "exclusive"), "lease_held")
        assert overtaking["holder"]["agent"] == "ann"
        live.ok(ann.release(lease=number))
        granted = live.ok(first.done())
        assert granted["fencing"] > number
        assert not second.reply
        live.refused(ann.call("edit_replace", {**edit, "old_text": "two"}), "lease_held")
        live.ok(first.client.call("edit_replace", edit))
        live.ok(first.client.release("f.txt"))
        assert live.ok(second.done())["fencing"] > granted["fencing"]
        status, printed, _ = ran(at, "claims", agent="ann")
        assert (status, "cleo/s1" in printed) == (0, True)
        live.ok(second.client.release(all=True))
        live.verified(ann)


@pytest.mark.wide
def test_who_was_killed_while_it_waited_is_granted_nothing(served: live.Live) -> None:
    at = served
    at.write("f.txt", TEXT)
    with at.connect("ann") as ann, at.connect("cleo") as cleo:
        live.ok(ann.claim("f.txt", "exclusive"))
        claim = words(at, "claim", str(at.root / "f.txt"), "--kind", "exclusive", "--wait", "20")
        with live.running(sys.executable, "-m", "quire_client", *claim) as waiting:
            queue(at, 1)
            waiting.kill()
            waiting.wait()
            live.ok(ann.release(all=True))
            live.ok(cleo.claim("f.txt", "exclusive", wait_ms=PATIENCE_MS))
        assert [one["holder"]["agent"] for one in cleo.claims()["leases"]] == ["cleo"]
        live.ok(cleo.release(all=True))
