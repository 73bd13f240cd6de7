"""`quire bisect`: the search, what counts as one change, and what is told."""

from __future__ import annotations

import math
from typing import Any

from command_line import Quire
from hypothesis import given, strategies as st

from quire_client.commands.history.bisect import changes_of, first_bad


@given(count=st.integers(1, 5000), data=st.data())
def test_the_first_bad_state_is_found_in_log2_of_the_states(count: int, data: st.DataObject) -> None:
    planted = data.draw(st.integers(1, count))
    found = first_bad(count, lambda at: at >= planted)
    assert (found.first, found.last_good) == (planted, planted - 1)
    assert found.runs <= math.ceil(math.log2(count)) if count > 1 else found.runs == 0


@given(count=st.integers(1, 60), data=st.data())
def test_states_that_cannot_be_judged_only_widen_the_answer(count: int, data: st.DataObject) -> None:
    planted = data.draw(st.integers(1, count))
    skipped = data.draw(st.sets(st.integers(1, count - 1))) if count > 1 else set()
    found = first_bad(count, lambda at: None if at in skipped else at >= planted)
    assert found.last_good < planted <= found.first
    assert {*range(found.last_good + 1, found.first)} <= skipped


def record(seq: int, batch: int = 0, turn: str = "", burst: int = 0) -> dict[str, Any]:
    call = {"call": {"burst": burst, "label": "Bash", "command": "make"}} if burst else {}
    writer = {"agent": "ada", "agent_session": "s1", "turn": turn}
    told = {"seq": seq, "batch": batch or seq, "writer": writer, "at": "2026-01-01T00:00:00Z", "path": f"f{seq}"}
    return {**told, "version": f"v{seq}", "evidence": None, **call}


def test_a_batch_a_call_and_a_turn_are_one_change_each() -> None:
    records = [record(1, 1, "t1"), record(2, 1, "t1"), record(3, 3, "t1", 9), record(4, 4, "t1", 9), record(5, 5, "t2")]
    assert [one.upto for one in changes_of(records, "call")] == [2, 4, 5]
    assert [one.upto for one in changes_of(records, "turn")] == [4, 5]
    assert [one.upto for one in changes_of(records, "write")] == [1, 2, 3, 4, 5]


def test_what_others_wrote_in_between_parts_a_turn() -> None:
    assert [one.upto for one in changes_of([record(1, 1, "t1"), record(2), record(3, 3, "t1")], "turn")] == [1, 2, 3]


def test_a_search_wants_a_beginning_and_a_command(quire: Quire) -> None:
    assert "--since POINT is missing" in quire("bisect", "run", "true").err
    assert "run CMD is missing" in quire("bisect", "--since", "v1").err


def test_a_command_without_run_in_front_of_it_is_told_with_it(quire: Quire) -> None:
    said = quire("bisect", "--since", "v1", "sh", "-c", "make test").err
    assert said == "quire: `run` is missing: `quire bisect --since POINT run sh -c 'make test'`.\n"
    said = quire("bisect", "start").err
    assert said == "quire: A search is one command, without `start`: `quire bisect --since POINT run CMD`.\n"
    assert quire("bisect", "run").err == "quire: run CMD is missing: `quire bisect --since POINT run CMD`.\n"


def test_a_search_names_versions_and_what_to_type(quire: Quire) -> None:
    records = [record(7), record(8)]
    tree: dict[str, Any] = {"ok": True, "at": "seq:8", "entries": [], "next": None}
    log = {"ok": True, "records": records, "next": None}
    ran = quire("bisect", "--since", "v1", "run", "false", log=log, tree=tree, syntax={"ok": True, "broken": []})
    assert "quire: after v8 the command failed (exit status 1).\n" in ran.err
    assert "quire: before v7 the command failed (exit status 1).\n" in ran.err


def test_where_nothing_changed_nothing_is_run(quire: Quire) -> None:
    ran = quire("bisect", "--since", "v1", "run", "false", log={"ok": True, "records": [], "next": None})
    assert (ran.status, "Nothing was changed there." in ran.err) == (1, True)
