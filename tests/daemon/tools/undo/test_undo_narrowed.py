"""Arguments of an undo that stand beside each other narrow the choice together; none is passed over."""

from __future__ import annotations

from typing import Any

import pytest

from memory_daemon import MemoryDaemon

FIVE = "one 1\ntwo 2\nthree 3\nfour 4\nfive 5\n"


def edited(daemon: MemoryDaemon, path: str, old: str, new: str, by: str = "ann") -> int:
    """The batch of an edit."""
    reply = daemon.ask("edit_replace", {"path": path, "old_text": old, "new_text": new}, by=by)
    assert reply["ok"], reply
    return int(reply["version"][1:])


@pytest.fixture
def daemon() -> MemoryDaemon:
    """Ann has changed two files with one patch."""
    daemon = MemoryDaemon({"f.txt": FIVE, "g.txt": FIVE})
    parts = (f"*** Update File: {path}\n@@\n-one 1\n+ONE\n" for path in ("f.txt", "g.txt"))
    assert daemon.ask("apply_patch", {"patch": f"*** Begin Patch\n{''.join(parts)}*** End Patch"})["ok"]
    return daemon


def planned(daemon: MemoryDaemon, **args: Any) -> str:
    """The token of a plan."""
    reply = daemon.ask("undo", {**args, "plan": True})
    assert reply["ok"], reply
    return str(reply["token"])


@pytest.mark.parametrize(
    "more", [{"path": "f.txt"}, {"writer": "outside"}, {"writer": "ben"}, {"last": 1, "paths": ["g.txt"]}]
)
def test_a_token_beside_a_choice_that_is_not_its_plans_undoes_nothing(more: dict[str, Any]) -> None:
    """The path that it was to be narrowed to was passed over."""
    daemon = MemoryDaemon({"f.txt": FIVE, "g.txt": FIVE})
    edited(daemon, "g.txt", "two", "TWO", by="ben")
    edited(daemon, "f.txt", "one", "ONE")
    edited(daemon, "g.txt", "one", "ONE")
    reply = daemon.ask("undo", {"token": planned(daemon, last=2), **more})
    assert not reply["ok"]
    assert (daemon.read("f.txt"), daemon.read("g.txt")[:3]) == (FIVE.replace("one", "ONE"), "ONE")


def test_of_a_patch_the_plan_is_not_narrowed_by_its_token(daemon: MemoryDaemon) -> None:
    reply = daemon.ask("undo", {"token": planned(daemon), "path": "f.txt"})
    assert (reply["error"], reply["argument"], reply["suggested_action"]) == ("schema_invalid", "token", "plan_again")
    assert daemon.read("g.txt") == FIVE.replace("one 1", "ONE")


@pytest.mark.parametrize(
    "args", [{"path": "f.txt"}, {"last": 1}, {"writer": "ann"}, {"writer": "*", "paths": ["g.txt"]}]
)
def test_the_choice_of_the_plan_may_stand_beside_its_token_again(args: dict[str, Any]) -> None:
    daemon = MemoryDaemon({"f.txt": FIVE, "g.txt": FIVE})
    edited(daemon, "g.txt", "one", "ONE")
    edited(daemon, "f.txt", "one", "ONE")
    token = planned(daemon, **args)
    assert daemon.ask("undo", {"token": token, **args})["ok"]


def test_a_rollback_is_not_another_one_than_planned(daemon: MemoryDaemon) -> None:
    assert daemon.ask("checkpoint", {"name": "here"})["ok"]
    edited(daemon, "f.txt", "two", "TWO")
    plan = daemon.ask("rollback", {"to": "here", "plan": True})
    for more in ({"to": "seq:1"}, {"path": "g.txt"}, {"only": "ben"}):
        assert not daemon.ask("rollback", {"token": plan["token"], **more})["ok"]
    assert daemon.ask("rollback", {"token": plan["token"], "to": "here", "only": "ann"})["ok"]
    assert daemon.read("f.txt") == FIVE.replace("one 1", "ONE")


@pytest.mark.parametrize(
    "more",
    [
        {"writer": "outside"},
        {"writer": "ben"},
        {"turn": "t9"},
        {"agent_session": "none"},
        {"to": "seq:1"},
        {"from": "seq:{batch}"},
        {"burst": "{burst}"},
    ],
)
def test_a_batch_that_the_other_arguments_do_not_name_is_not_undone(more: dict[str, Any]) -> None:
    """It was undone whoever's it was said to be."""
    daemon = MemoryDaemon({"f.txt": FIVE})
    batch = edited(daemon, "f.txt", "one", "ONE")
    burst = daemon.ask("burst", {"action": "begin"})["burst"]
    more = {name: value.format(batch=batch, burst=burst) for name, value in more.items()}
    reply = daemon.ask("undo", {"batch": batch, **more})
    assert (reply["ok"], reply["error"]) == (False, "not_found"), reply
    assert daemon.read("f.txt") == FIVE.replace("one", "ONE")


@pytest.mark.parametrize(
    "more",
    [{"writer": "ben"}, {"writer": "*"}, {"last": 1}, {"from": "seq:1"}, {"to": "v{batch}"}, {"path": "f.txt"}],
)
def test_a_batch_that_they_do_name_is(more: dict[str, Any]) -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    batch = edited(daemon, "f.txt", "one", "ONE", by="ben")
    more = {name: value.format(batch=batch) if isinstance(value, str) else value for name, value in more.items()}
    assert daemon.ask("undo", {"batch": batch, **more})["ok"]
    assert daemon.read("f.txt") == FIVE
