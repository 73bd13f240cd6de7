"""Arguments of an undo that stand beside each other narrow the choice together; none is passed over."""

from __future__ import annotations

from typing import Any

import pytest

from playbook import Playbook

FIVE = "one 1\ntwo 2\nthree 3\nfour 4\nfive 5\n"


def edited(book: Playbook, path: str, old: str, new: str, by: str = "ann") -> int:
    """The batch of an edit."""
    reply = book.call("edit_replace", {"path": path, "old_text": old, "new_text": new}, by=by)
    assert reply["ok"], reply
    return int(reply["version"][1:])


@pytest.fixture
def book() -> Playbook:
    """Ann has changed two files with one patch."""
    book = Playbook({"f.txt": FIVE, "g.txt": FIVE})
    parts = (f"*** Update File: {path}\n@@\n-one 1\n+ONE\n" for path in ("f.txt", "g.txt"))
    assert book.call("apply_patch", {"patch": f"*** Begin Patch\n{''.join(parts)}*** End Patch"})["ok"]
    return book


def planned(book: Playbook, **args: Any) -> str:
    """The token of a plan."""
    reply = book.call("undo", {**args, "plan": True})
    assert reply["ok"], reply
    return str(reply["token"])


@pytest.mark.parametrize(
    "more", [{"path": "f.txt"}, {"writer": "outside"}, {"writer": "ben"}, {"last": 1, "paths": ["g.txt"]}]
)
def test_a_token_beside_a_choice_that_is_not_its_plans_undoes_nothing(more: dict[str, Any]) -> None:
    """The path that it was to be narrowed to was passed over."""
    book = Playbook({"f.txt": FIVE, "g.txt": FIVE})
    edited(book, "g.txt", "two", "TWO", by="ben")
    edited(book, "f.txt", "one", "ONE")
    edited(book, "g.txt", "one", "ONE")
    reply = book.call("undo", {"token": planned(book, last=2), **more})
    assert not reply["ok"]
    assert (book.text("f.txt"), book.text("g.txt")[:3]) == (FIVE.replace("one", "ONE"), "ONE")


def test_of_a_patch_the_plan_is_not_narrowed_by_its_token(book: Playbook) -> None:
    reply = book.call("undo", {"token": planned(book), "path": "f.txt"})
    assert (reply["error"], reply["argument"], reply["suggested_action"]) == ("schema_invalid", "token", "plan_again")
    assert book.text("g.txt") == FIVE.replace("one 1", "ONE")


@pytest.mark.parametrize(
    "args", [{"path": "f.txt"}, {"last": 1}, {"writer": "ann"}, {"writer": "*", "paths": ["g.txt"]}]
)
def test_the_choice_of_the_plan_may_stand_beside_its_token_again(args: dict[str, Any]) -> None:
    book = Playbook({"f.txt": FIVE, "g.txt": FIVE})
    edited(book, "g.txt", "one", "ONE")
    edited(book, "f.txt", "one", "ONE")
    token = planned(book, **args)
    assert book.call("undo", {"token": token, **args})["ok"]


def test_a_rollback_is_not_another_one_than_planned(book: Playbook) -> None:
    assert book.call("checkpoint", {"name": "here"})["ok"]
    edited(book, "f.txt", "two", "TWO")
    plan = book.call("rollback", {"to": "here", "plan": True})
    for more in ({"to": "seq:1"}, {"path": "g.txt"}, {"only": "ben"}):
        assert not book.call("rollback", {"token": plan["token"], **more})["ok"]
    assert book.call("rollback", {"token": plan["token"], "to": "here", "only": "ann"})["ok"]
    assert book.text("f.txt") == FIVE.replace("one 1", "ONE")


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
    book = Playbook({"f.txt": FIVE})
    batch = edited(book, "f.txt", "one", "ONE")
    burst = book.call("burst", {"action": "begin"})["burst"]
    more = {name: value.format(batch=batch, burst=burst) for name, value in more.items()}
    reply = book.call("undo", {"batch": batch, **more})
    assert (reply["ok"], reply["error"]) == (False, "not_found"), reply
    assert book.text("f.txt") == FIVE.replace("one", "ONE")


@pytest.mark.parametrize(
    "more",
    [{"writer": "ben"}, {"writer": "*"}, {"last": 1}, {"from": "seq:1"}, {"to": "v{batch}"}, {"path": "f.txt"}],
)
def test_a_batch_that_they_do_name_is(more: dict[str, Any]) -> None:
    book = Playbook({"f.txt": FIVE})
    batch = edited(book, "f.txt", "one", "ONE", by="ben")
    more = {name: value.format(batch=batch) if isinstance(value, str) else value for name, value in more.items()}
    assert book.call("undo", {"batch": batch, **more})["ok"]
    assert book.text("f.txt") == FIVE
