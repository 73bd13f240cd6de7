"""`quire run`: what it tells of a command that has ended, and the exit status that it passes on."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import Quire

from quire_client.isolation.overlay import command_end

BEGUN: dict[str, Any] = {"ok": True, "message": "begun", "burst": 12, "upto": 0}


Answer = Callable[[dict[str, Any]], dict[str, Any]]


def ended(**more: Any) -> Answer:
    told = {"ok": True, "message": "ended", "burst": 12}
    kinds = {f"{kind}_count": len(more.get(kind, ())) for kind in ("changed", "by_others", "doubtful")}
    return lambda asked: BEGUN if asked["action"] == "begin" else {**told, **kinds, **more}


def file(path: str, agent: str = "", **more: Any) -> dict[str, Any]:
    return {"path": path, "at": "2026-01-01T00:00:00Z", "writer": {"agent": agent, "agent_session": ""}, **more}


def test_a_command_that_changed_nothing_is_told_of_by_its_own_output_alone(quire: Quire, tmp_path: Path) -> None:
    ran = quire("run", "touch", str(tmp_path / "made"), run=ended())
    assert (ran.status, ran.out, ran.err, (tmp_path / "made").exists()) == (0, "", "", True)
    assert [arguments for _, arguments in ran.asked] == [
        {"action": "begin", "command": ["touch", str(tmp_path / "made")], "captured": True},
        {"action": "end", "burst": 12, "status": 0},
    ]


def test_options_behind_the_command_are_the_commands(quire: Quire) -> None:
    for words in (("test", "-n", "x"), ("--", "test", "-n", "x")):
        ran = quire("run", *words, run=ended())
        assert (ran.asked[0][1]["command"], ran.status) == (["test", "-n", "x"], 0)


@pytest.mark.parametrize(
    ("script", "status"), [("exit 3", 3), ("kill -9 $$", 137), ("kill -TERM $$", 143), ("kill -PIPE $$", 141)]
)
def test_the_exit_status_is_passed_on_and_recorded(quire: Quire, script: str, status: int) -> None:
    ran = quire("run", "sh", "-c", script, run=ended())
    assert (ran.status, ran.asked[1][1]["status"]) == (status, status)


@pytest.mark.parametrize(
    ("code", "heard", "end"),
    [
        (3, {2}, (3, 0)),
        (-9, set(), (137, 9)),
        (137, set(), (137, 0)),
        (130, {2}, (130, 2)),
        (143, {2}, (143, 0)),
        (128, {2}, (128, 0)),
    ],
)
def test_a_status_of_128_and_more_is_a_signals_if_that_came(code: int, heard: set[int], end: tuple[int, int]) -> None:
    assert command_end(code, heard) == end


def test_a_program_that_is_not_there_is_127_and_one_that_cannot_be_run_126(quire: Quire, tmp_path: Path) -> None:
    ran = quire("run", "quire-no-such-program", run=ended())
    assert (ran.status, ran.asked[1][1]["status"]) == (127, 127)
    assert "quire-no-such-program: there is no such program" in ran.err
    (tmp_path / "text").write_text("text")
    assert quire("run", str(tmp_path / "text"), run=ended()).status == 126


def test_a_descriptor_that_the_caller_opened_reaches_the_command(quire: Quire) -> None:
    """As with env(1): of make's jobserver, or of `3>log`."""
    kept, lost = os.pipe()
    with os.fdopen(kept), os.fdopen(lost):
        os.set_inheritable(kept, True)
        assert quire("run", "test", "-e", f"/dev/fd/{kept}", run=ended()).status == 0
        assert quire("run", "test", "-e", f"/dev/fd/{lost}", run=ended()).status == 1


def test_files_are_told_with_the_way_to_take_them_back(quire: Quire) -> None:
    changed = [file(f"{name}.py") for name in "abcdefg"]
    ran = quire("run", "true", run=ended(changed=changed))
    said = "a.py, b.py, c.py, d.py, e.py and 2 more files changed by it; `quire undo --burst 12` takes that back."
    assert said in ran.err
    ran = quire("run", "true", run=ended(changed=[file("a.py", probable=True)]))
    assert "~a.py changed by it; `quire undo --burst 12 --probable` takes that back." in ran.err


def test_what_git_wrote_for_the_command_is_told_as_gits(quire: Quire) -> None:
    by_git = [file(f"{number}.py") for number in range(12)]
    ran = quire("run", "git", "checkout", "main", run=ended(by_git=by_git, by_git_count=12, git="git checkout main"))
    assert ran.err == "quire: git checkout main: 12 files; `quire undo --git last` takes that back.\n"
    ran = quire("run", "true", run=ended(by_git=by_git[:1], by_git_count=1, git="git", changed=[file("n.py")]))
    assert ran.err == (
        "quire: n.py changed by it; `quire undo --burst 12` takes that back.\n"
        "quire: git: 1 file; `quire undo --git last` takes that back.\n"
    )


def test_what_others_changed_meanwhile_is_told_with_their_names(quire: Quire) -> None:
    ran = quire("run", "true", run=ended(by_others=[file("a.py", "ada")], doubtful=[file("b.py")]))
    assert "a.py (by ada) changed by others meanwhile." in ran.err
    assert "b.py changed meanwhile, by it or by others." in ran.err
    assert ran.status == 0


@pytest.mark.parametrize("kind", ["by_others", "doubtful"])
def test_strict_is_75_where_the_tree_moved_and_the_command_did_well(quire: Quire, kind: str) -> None:
    told = ended(**{kind: [file("a.py", "ada")]})
    assert quire("run", "--strict", "true", run=told).status == 75
    assert quire("run", "--strict", "sh", "-c", "exit 2", run=told).status == 2
    assert quire("run", "--strict", "true", run=ended()).status == 0


def first_capture(looks: int, **more: Any) -> tuple[Answer, Answer]:
    """(answers of `run`, of `status`) while a capture goes on that is over after so many looks at it."""
    left, answer = [looks], ended(**more)
    refused = {"ok": False, "error": "busy", "message": "Later.", "capturing": True, "retry_after_ms": 1}

    def run(asked: dict[str, Any]) -> dict[str, Any]:
        return refused if asked.get("captured") and left[0] > 0 else answer(asked)

    def status(asked: dict[str, Any]) -> dict[str, Any]:
        left[0] -= 1
        return {"ok": True, "capture": {"finished": left[0] <= 0, "done": 1, "total": 2}}

    return run, status


def test_a_command_begins_when_the_first_capture_is_over(quire: Quire) -> None:
    """Its writes were taken for what had been there before."""
    run, status = first_capture(2)
    ran = quire("run", "true", run=run, status=status)
    assert [tool for tool, _ in ran.asked] == ["run", "status", "status", "run", "run"]
    assert (ran.status, ran.err) == (0, "")


def test_a_command_that_began_during_the_first_capture_is_told_as_such(quire: Quire) -> None:
    run, status = first_capture(1000, early=True)
    ran = quire("run", "--timeout", "0.001", "true", run=run, status=status)
    assert ran.asked[-2][1] == {"action": "begin", "command": ["true"]}
    assert "It began before all files were recorded for the first time" in ran.err
    assert ran.status == 0
    assert quire("run", "--timeout", "0.001", "--strict", "true", run=run, status=status).status == 75


def test_an_end_that_could_not_be_recorded_is_told_and_strict_takes_nothing_for_granted(quire: Quire) -> None:
    refused = ended(ok=False, error="busy", message="The disk is full.", by_others_count=None)
    ran = quire("run", "true", run=refused)
    assert "The command ended with 0; how it ended could not be recorded: The disk is full." in ran.err
    assert ran.status == 0
    assert quire("run", "--strict", "true", run=refused).status == 75


def test_where_quire_refuses_the_command_is_not_run(quire: Quire, tmp_path: Path) -> None:
    made = tmp_path / "made"
    ran = quire("run", "touch", str(made), run={"ok": False, "error": "busy", "message": "Too many."})
    assert (ran.status, made.exists()) == (125, False)
    assert "The command was not run." in ran.err


@pytest.mark.parametrize("how", [(), ("--isolated",), ("--at", "1m")])
def test_outside_of_any_workspace_the_command_is_not_run(quire: Quire, how: tuple[str, ...], tmp_path: Path) -> None:
    made = tmp_path / "made"
    ran = quire("-C", "/tmp", "run", *how, "touch", str(made), run=ended())
    assert (ran.status, made.exists()) == (125, False), ran.err
    assert "The command was not run." in ran.err


def test_an_agent_by_name_is_told_to_the_commands_within(quire: Quire, tmp_path: Path) -> None:
    script = f"echo $QUIRE_AGENT/$QUIRE_SESSION > {tmp_path}/said"
    quire("run", "--agent", "aider", "--session", "s1", "sh", "-c", script, run=ended())
    assert (tmp_path / "said").read_text() == "aider/s1\n"


def test_a_run_wants_a_command(quire: Quire) -> None:
    ran = quire("run")
    assert (ran.status, "CMD is missing" in ran.err) == (2, True)
    assert "--strict is about the checkout" in quire("run", "--strict", "--at", "v3", "true").err


def test_a_long_command_line_and_one_of_any_bytes_are_told_as_far_as_they_go(quire: Quire, tmp_path: Path) -> None:
    name = os.fsdecode(b"f\xff")
    ran = quire("run", "touch", os.fspath(tmp_path / name), run=ended())
    assert ((tmp_path / name).exists(), ran.asked[0][1]["command"][1][-2:]) == (True, "f\ufffd")
    ran = quire("run", "true", *["word"] * 20_000, run=ended())
    assert ran.status == 0
    assert sum(map(len, ran.asked[0][1]["command"])) <= 16_000
