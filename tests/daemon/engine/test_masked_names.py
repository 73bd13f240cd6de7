"""Masked names: no secret is kept that an agent's hook tells in a name, and calls with such names still join."""

from __future__ import annotations

from typing import Any

import pytest

from memory_daemon import MemoryDaemon, lines
from quire_journal.model.events import Event
from quire_journal.model.messages import Caller

TOKEN = "ghp_" + "a1B2" * 9
LONG = "x" * 10_000


@pytest.fixture
def daemon() -> MemoryDaemon:
    return MemoryDaemon({"a.py": "one\n"})


def hook(daemon: MemoryDaemon, moment: str, call: str = "c1", session: str = "s1", **more: Any) -> dict[str, Any]:
    caller = Caller("gemini", session, f"turn {TOKEN}", "c1" if moment == "turn" else call, f"model {TOKEN}")
    return daemon.said("native", {"moment": moment, "call": call, **more}, caller, 1)


def everything_kept(daemon: MemoryDaemon) -> str:
    return " ".join(str(event) for event in daemon.events(Event))


def test_no_secret_in_a_name_is_kept(daemon: MemoryDaemon) -> None:
    more = {"tool": f"Edit {TOKEN}", "paths": ["a.py"]}
    hook(daemon, "turn", session=TOKEN, prompt="do it", transcript=f"/home/ada/{TOKEN}.jsonl")
    hook(daemon, "before", TOKEN, TOKEN, **more)
    hook(daemon, "after", TOKEN, TOKEN, **more)
    kept = everything_kept(daemon)
    assert "GitHub token" in kept
    assert TOKEN not in kept


@pytest.mark.parametrize("call", [TOKEN, LONG, f"{TOKEN} {LONG}"])
def test_the_end_of_a_call_finds_its_beginning_whatever_the_call_is_named(daemon: MemoryDaemon, call: str) -> None:
    begun = hook(daemon, "before", call, paths=["a.py"])
    other = hook(daemon, "before", f"{call}2", paths=["a.py"])
    assert hook(daemon, "after", call, paths=["a.py"])["burst"] == begun["burst"]
    assert hook(daemon, "after", f"{call}2", paths=["a.py"])["burst"] == other["burst"]


def test_sessions_whose_names_are_masked_stay_one_each(daemon: MemoryDaemon) -> None:
    other = TOKEN[:-1] + "Z"
    for session in (TOKEN, other, TOKEN):
        hook(daemon, "before", "c1", session, paths=["a.py"])
    present = [one["agent_session"] for one in daemon.ask("who", {})["writers"]]
    assert len({one for one in present if "GitHub token" in one}) == 2


def test_lines_that_such_a_session_writes_are_its_own(daemon: MemoryDaemon) -> None:
    payload = {"kind": "content", "path": "a.py", "text": "two\n"}
    hook(daemon, "before", TOKEN, TOKEN, paths=["a.py"], payloads=[payload])
    daemon.outside("a.py", lines("two"))
    hook(daemon, "after", TOKEN, TOKEN, paths=["a.py"])
    assert daemon.ask("blame", {"path": "a.py"})["lines"][0]["writer"]["agent"] == "gemini"
