"""System calls fail one at a time, wherever Quire makes one: no reply and no `op_status` says what is not so.

After each fault the reply is compared with the disk, and `op_status` is asked; then the daemon is killed, started
again and asked once more. Short: some of each kind. Full length: a thousand.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import live
from live import Live, caught_up, ok, verified

sys.path.insert(0, str(Path(__file__).parent))
from failing_calls import ALL, attached, calls, connected, count, drawn, faults_met, met, strace

pytestmark = [pytest.mark.real, pytest.mark.timeout(live.length(120, 7200))]

Files = dict[str, bytes]
MANY = 70
"""Files of one undo, so many that it is written in slices."""


def disk(at: Live) -> Files:
    """Every file of the checkout."""
    files = (path for path in at.root.rglob("*") if path.is_file() and ".quire" not in path.parts)
    return {str(path.relative_to(at.root)): path.read_bytes() for path in files}


Begun = tuple[Callable[[], dict[str, Any]], Files]
"""A call that is ready to be made, and what the checkout holds after it."""


def edit(at: Live, client: Any, n: int) -> Begun:
    name = f"{n}.txt"
    ok(client.call("write_file", {"path": name, "content": f"{n}\nlast\n"}))
    args = {"path": name, "old_text": f"{n}\n", "new_text": f"new {n}\n"}
    return lambda: client.call("edit_replace", args), {**disk(at), name: f"new {n}\nlast\n".encode()}


def make(at: Live, client: Any, n: int) -> Begun:
    name = f"folder{n}/deep/{n}.txt"
    args = {"path": name, "content": f"{n}\n"}
    return lambda: client.call("write_file", args), {**disk(at), name: f"{n}\n".encode()}


def delete(at: Live, client: Any, n: int) -> Begun:
    name = f"{n}.txt"
    ok(client.call("write_file", {"path": name, "content": f"{n}\n"}))
    after = disk(at)
    del after[name]
    return lambda: client.call("delete_file", {"path": name}), after


def move(at: Live, client: Any, n: int) -> Begun:
    name, to = f"{n}.txt", f"moved{n}/{n}.txt"
    ok(client.call("write_file", {"path": name, "content": f"{n}\n"}))
    after = disk(at)
    after[to] = after.pop(name)
    return lambda: client.call("move_file", {"path": name, "to": to}), after


def several(at: Live, client: Any, n: int) -> Begun:
    for part in "abc":
        ok(client.call("write_file", {"path": f"{n}{part}.txt", "content": f"{n}{part}\nlast\n"}))
    rows = ["*** Begin Patch", f"*** Update File: {n}a.txt", f"-{n}a", f"+new {n}a", f"*** Delete File: {n}b.txt"]
    rows += [f"*** Add File: made{n}/d.txt", f"+{n}d", f"*** Update File: {n}c.txt", f"-{n}c", f"+new {n}c"]
    after = disk(at)
    del after[f"{n}b.txt"]
    after |= {f"{n}{part}.txt": f"new {n}{part}\nlast\n".encode() for part in "ac"}
    after[f"made{n}/d.txt"] = f"{n}d\n".encode()
    return lambda: client.call("apply_patch", {"patch": "\n".join([*rows, "*** End Patch"])}), after


def undo_many(at: Live, client: Any, n: int) -> Begun:
    before = disk(at)
    rows = [row for k in range(MANY) for row in (f"*** Add File: many/{n}/{k}.txt", f"+{n} {k}")]
    ok(client.call("apply_patch", {"patch": "\n".join(["*** Begin Patch", *rows, "*** End Patch"])}))
    return lambda: client.undo(last=1), before


EDITS = {"edit": edit, "make": make, "delete": delete, "move": move, "several": several, "undo_many": undo_many}


class Campaign:
    """One checkout through all of its faults."""

    def __init__(self, at: Live, name: str, seed: int) -> None:
        self.at, self.name, self.chance = at, name, random.Random(seed)
        self.out = at.top / "strace.out"
        self.number = 0
        self.known: list[tuple[str, int]] = []  # calls that the operation makes
        self.untrue: list[str] = []

    def calls_of(self, begin: Callable[[Live, Any, int], Begun]) -> None:
        """Find out which calls the operation makes."""
        client = connected(self.at, "agent", "s")
        call, after = begin(self.at, client, self.number)
        self.out.unlink(missing_ok=True)
        with attached(self.at.daemon_pid(), ALL, self.out):
            ok(call())
        assert disk(self.at) == after
        self.known = calls(self.out)
        assert len(self.known) > 20, self.known
        client.close()

    def round(self, begin: Callable[[Live, Any, int], Begun]) -> bool:
        """One fault; was it met?"""
        self.number += 1
        client = connected(self.at, "agent", f"s{self.number}")
        call, after = begin(self.at, client, self.number)
        before = disk(self.at)
        fault = drawn(self.chance, self.known)
        self.out.unlink(missing_ok=True)
        with attached(self.at.daemon_pid(), fault.words, self.out):
            reply = call()
        client.close()
        if not faults_met(self.out):
            return False
        with connected(self.at, "boss", "boss") as boss:
            first = boss.call("op_status", {"op": reply["op"]}) if reply.get("op") else {}
            now = disk(self.at)  # only now: that call may have met another daemon, which had to make it first
        self.at.kill()
        with connected(self.at, "boss", "boss") as boss:
            then = disk(self.at)
            second = ok(boss.call("op_status", {"op": reply["op"]})) if reply.get("op") else {}
            told = self._compared(reply, first, second, (before, now, then, after))
            told += self._heads(boss, then)
        where = f"{self.name} {self.number} {fault} {met(self.out)}"
        told = [f"{where}\n   {one}" for one in told]
        count(self.name, fault, told)
        self.untrue += told
        return True

    def _compared(
        self, reply: dict[str, Any], first: dict[str, Any], second: dict[str, Any], disks: tuple[Files, ...]
    ) -> list[str]:
        """What is not so."""
        before, now, then, after = disks
        after = decided(reply, before, after)
        stands = stood(before, now, then, after)
        said = [f"reply {brief(reply)}", f"op_status {brief(first)}", f"then {brief(second)}", stands]
        wrong = []
        outcome = reply.get("outcome")
        if (bool(reply.get("ok")) != (outcome == "applied")) or outcome not in ("applied", "not_applied", "unknown"):
            wrong.append("the reply has no outcome that fits")
        if reply.get("ok") and (now != after or then != after):
            wrong.append("answered ok, and not on disk")
        if outcome == "not_applied" and (now != before or then != before):
            wrong.append("answered not_applied, and the disk has changed")
        for what, told, there in (("op_status", first, now), ("op_status after a start", second, then)):
            state = told.get("outcome")
            wrong += _untrue(what, told, there, before, after) if told.get("ok") else []
            sure = told.get("ok") and "unknown" not in (outcome, state)
            if sure and (state != "not_applied") != reply["ok"]:
                wrong.append(f"{what} contradicts the reply")
        states = {one.get("outcome", "unknown").replace("superseded", "applied") for one in (first, second)} - {
            "unknown"
        }
        if len(states) > 1:
            wrong.append("a start made, or took back, what op_status had settled")
        if second and second.get("outcome") == "unknown":
            wrong.append("op_status is not settled by a start")
        return [" | ".join([one, *said]) for one in wrong]

    def _heads(self, boss: Any, then: Files) -> list[str]:
        """Does the journal, when it has caught up, hold what stands on disk, and everything that was there before?"""
        caught_up(boss)
        wrong = []
        for name in sorted(then, key=lambda name: f"{self.number}" in name)[-6:]:
            reply = boss.call("read_file", {"path": name})
            if not reply.get("ok") or live.sha256(then[name]) != reply["sha256"]:
                wrong.append(f"{name} is not read as it is: {brief(reply)}")
            log = ok(boss.call("log", {"path": name, "limit": 1}))["records"]
            if not log or log[0].get("sha256") != live.sha256(then[name]):
                wrong.append(f"the newest version of {name} is another: {log}")
        return wrong


def _untrue(what: str, told: dict[str, Any], there: Files, before: Files, after: Files) -> list[str]:
    state, taken_back = told.get("outcome"), told.get("taken_back")
    if state == "not_applied" and there != before:
        return [f"{what} not_applied, and the disk has changed"]
    if state in ("applied", "superseded"):
        wanted = {**after}
        for name in taken_back or ():
            wanted.pop(name, None)
            wanted |= {name: before[name]} if name in before else {}
        if there != wanted:
            return [f"{what} {state}, and it is not on disk"]
    return []


def decided(reply: dict[str, Any], before: Files, after: Files) -> Files:
    """What the checkout holds after the call: `after`, but for each file that the reply of an undo says it left alone.

    Such a file could not be read when the call was decided, and stays exactly as it was.
    """
    left = {one["path"] for one in reply.get("files") or () if one.get("skipped")}
    stay = {name: data for name, data in before.items() if name in left}
    return {name: data for name, data in after.items() if name not in left} | stay


def brief(reply: dict[str, Any]) -> dict[str, Any]:
    """The parts of a reply that matter here."""
    return {name: reply[name] for name in ("ok", "error", "outcome", "taken_back", "message") if name in reply}


def stood(before: Files, now: Files, then: Files, after: Files) -> str:
    """Which of the two each disk is."""
    names = [("before", before), ("after", after)]

    def one(found: Files) -> str:
        differ = {n for n in {*found, *after} if found.get(n) != after.get(n)}
        return next((name for name, files in names if files == found), f"a mixture, not {sorted(differ)[:5]}")

    return f"disk: {one(now)}, then {one(then)}"


def settings(text: str) -> None:
    """The settings of the user."""
    folder = Path(os.environ["XDG_CONFIG_HOME"]) / "quire"
    folder.mkdir(exist_ok=True)
    (folder / "config.toml").write_text(text)


OTHERS = pytest.mark.wide


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name == "several" else OTHERS) for name in EDITS])
def test_no_fault_of_an_edit_is_told_untruly(name: str, daemon: Any) -> None:
    strace()
    at: Live = daemon()
    if name in ("several", "move"):
        settings('[journal]\ndurability = "strict"\n')
    campaign = Campaign(at, name, live.SEED)
    campaign.calls_of(EDITS[name])
    found, tried, wanted = 0, 0, live.length(2, 110)
    while found < wanted and tried < 3 * wanted:
        found += campaign.round(EDITS[name])
        tried += 1
    with connected(at, "boss", "boss") as boss:
        verified(boss)
    assert not campaign.untrue, "\n".join(campaign.untrue)
    assert found >= wanted * 2 // 3, "too few faults were met"
