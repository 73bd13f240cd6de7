"""Bursts and their undo against a real daemon: other programs' writes, connections that end, kill -9 in the middle."""

from __future__ import annotations

from typing import Any

import pytest

import live
import quire_client
from live import Live, caught_up, eventually, ok, verified

pytestmark = pytest.mark.real

FILES = ("one.txt", "two.txt", "deep/three.txt")
BEFORE = "first\nmiddle\nlast\n"
AFTER = "first\nchanged\nlast\n"


def captured(client: Any) -> None:
    """The first look at the tree is over."""
    eventually("the first capture", lambda: ok(client.call("status", {}))["capture"]["finished"])
    caught_up(client)


def test_what_a_formatter_writes_between_begin_and_end_is_undone_as_one(served: Live) -> None:
    at = served
    for name in FILES:
        at.write(name, BEFORE)
    client = at.connect("ada")
    captured(client)
    at.write("one.txt", "first\nmine\nmiddle\nlast\n")
    begun = ok(client.burst("begin", label="fmt", kind="formatter"))
    for name in FILES[1:]:
        at.write(name, AFTER)
    at.write("made.txt", "made\n")
    ended = ok(client.burst("end"))
    at.write("later.txt", "later\n")
    assert (ended["batches"], ended["unclear"]) == (0, 3), ended
    caught_up(client)
    undone = ok(client.undo(burst=begun["burst"], probable=True))
    assert {f["path"]: f["action"] for f in undone["files"]} == {
        "two.txt": "write",
        "deep/three.txt": "write",
        "made.txt": "delete",
    }
    assert [at.read(name) for name in FILES[1:]] == [BEFORE.encode()] * 2
    assert at.read("one.txt") == b"first\nmine\nmiddle\nlast\n"
    assert not (at.root / "made.txt").exists()
    assert at.read("later.txt") == b"later\n"
    assert ok(client.redo(burst=begun["burst"]))["ok"]
    assert at.read("made.txt") == b"made\n"
    verified(client)


def test_a_burst_that_is_bound_to_a_connection_ends_with_it(served: Live) -> None:
    boss, ada = served.connect("boss"), served.connect("ada")
    bound = ok(ada.burst("begin", bind="connection"))["burst"]
    free = ok(ada.burst("begin"))["burst"]
    ada.close()

    def ended() -> bool:
        return bool(ok(boss.call("burst", {"action": "show", "burst": bound}))["state"] == "ended")

    eventually("the burst has ended", ended)
    assert ok(boss.call("burst", {"action": "show", "burst": bound}))["why"] == "connection"
    assert ok(boss.call("burst", {"action": "show", "burst": free}))["state"] == "open"


KILLS = [("after_commit", 1), ("after_stage", 1), *(("after_write", n) for n in (1, 2, 3)), ("before_reply", 1)]
KILLS += [("perform.exchanged", n) for n in (1, 2, 3)]


@pytest.mark.wide
@pytest.mark.parametrize(("step", "passing"), KILLS if live.LONG else KILLS[3:4])
def test_a_kill_in_the_middle_of_an_undo_over_several_files_leaves_all_of_it_or_nothing(
    daemon: Any, step: str, passing: int
) -> None:
    at: Live = daemon()
    for name in FILES:
        at.write(name, BEFORE)
    client = at.connect("ada")
    captured(client)
    burst = ok(client.burst("begin"))["burst"]
    for name in FILES:
        ok(client.call("edit_replace", {"file": name, "old_text": "middle", "new_text": "changed"}))
    ok(client.write_file("made.txt", "made\n"))
    ok(client.burst("end"))
    ok(client.shutdown_daemon())
    with at.fault(step, passing):
        doomed = at.connect("ada", timeout_s=20)
        captured(doomed)
        reply = doomed.call("undo", {"burst": burst})
    assert reply.get("outcome") == "unknown", reply
    eventually("the daemon has died", lambda: not at.pids())
    boss: quire_client.Client = at.connect("boss")
    said = ok(boss.op_status(reply["op"]))["outcome"]
    assert said in ("applied", "not_applied")
    wanted = BEFORE if said == "applied" else AFTER
    assert [at.read(name).decode() for name in FILES] == [wanted] * 3
    assert (at.root / "made.txt").exists() == (said == "not_applied")
    verified(boss)
    back = ok(boss.call("redo" if said == "applied" else "undo", {"burst": burst}))
    assert len(back["files"]) == 4
    assert (at.root / "made.txt").exists() == (said == "applied")
