"""The token of a plan is short, however much the plan names, and stands for that plan alone."""

from __future__ import annotations

import pytest

from memory_daemon import MemoryDaemon, lines
from quire_daemon.tools.undo.params import UndoParams
from quire_daemon.tools.undo.plan_tokens import DIGITS, MOST_KEPT, PlanTokens
from quire_journal.model.refusals import Refusal


def test_a_plan_of_many_batches_has_a_working_token_of_ten_digits() -> None:
    daemon = MemoryDaemon()
    for number in range(30):
        daemon.write("f.txt", lines(str(number)), daemon.ann)
    plan = daemon.ask("undo", {"last": 29, "plan": True})
    assert len(plan["token"]) == DIGITS
    assert daemon.ask("undo", {"token": plan["token"]})["ok"]
    assert daemon.text("f.txt") == lines("0")


def test_who_sees_a_plan_may_carry_it_out_for_who_made_it() -> None:
    daemon = MemoryDaemon()
    daemon.write("f.txt", lines("one"), daemon.ann)
    plan = daemon.ask("undo", {"plan": True}, "ann")
    assert daemon.ask("undo", {"token": plan["token"]}, "ben")["ok"]


def test_a_plan_that_nobody_knows_any_more_is_to_be_made_anew() -> None:
    refused = MemoryDaemon().ask("undo", {"token": "0" * DIGITS})
    assert (refused["error"], refused["suggested_action"]) == ("plan_stale", "plan_again")


def test_only_the_latest_plans_are_kept() -> None:
    tokens = PlanTokens()
    short = [str(tokens.shortened({"plan": True, "token": f"{n}"})["token"]) for n in range(MOST_KEPT + 1)]
    assert tokens.meant(UndoParams(token=short[-1])).token == str(MOST_KEPT)
    with pytest.raises(Refusal):
        tokens.meant(UndoParams(token=short[0]))
