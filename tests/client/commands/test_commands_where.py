"""The command line: who asks, for which workspace, path and point in time. The texts are exact."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from command_line import Quire

from quire_client.cli.human_time import HERE, PARTED, POINTS
from quire_client.commands.base import Invocation
from quire_client.commands.table import COMMANDS
from quire_journal.workspaces.layout import place_of

# -- points ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ("log", "--since", "2d"),
        ("log", "--until", "2d"),
        ("undo", "--since", "2d"),
        ("undo", "--from", "2d"),
        ("redo", "--until", "2d"),
        ("redo", "--to", "2d"),
        ("rollback", "2d"),
        ("cat", "a@2d"),
        ("show", "a@2d"),
        ("restore", "a@2d"),
        ("read", "a", "--at", "2d"),
        ("blame", "a", "--at", "2d"),
        ("why", "a", "--at", "2d"),
        ("ls", "--at", "2d"),
        ("diff", "2d.."),
        ("since", "2d"),
        ("diff", "v1..2d"),
        ("export-tree", "2d", "../x"),
        ("export", "jsonl", "--since", "2d"),
        ("export", "jsonl", "--from", "2d"),
        ("checkpoint", "create", "then", "--at", "2d"),
        ("checkpoint", "diff", "then", "--to", "2d"),
    ],
)
def test_wherever_a_point_is_named_it_can_be_a_time_ago(words: tuple[str, ...], quire: Quire) -> None:
    refused = {"ok": False, "error": "not_found", "message": "No."}
    tools = (
        "log",
        "undo",
        "redo",
        "rollback",
        "read_file",
        "show",
        "restore",
        "blame",
        "why",
        "tree",
        "diff",
        "export",
    )
    ran = quire(*words, **dict.fromkeys((*tools, "checkpoint"), refused), since={"ok": True})
    sent = [value for _, arguments in ran.asked for value in arguments.values()]
    times = [datetime.fromisoformat(one) for one in sent if isinstance(one, str) and one.startswith("20")]
    assert times, ran.asked
    assert all(abs(datetime.now(UTC) - timedelta(days=2) - at) < timedelta(minutes=5) for at in times)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("log", "--since", "2026-13-45"), "'2026-13-45' is not a time"),
        (("diff", "v1..2026-01-31T25:00"), "'2026-01-31T25:00' is not a time"),
    ],
)
def test_what_looks_like_a_time_and_is_none_is_a_wrong_use(words: tuple[str, ...], said: str, quire: Quire) -> None:
    ran = quire(*words)
    assert ran.status == 2
    assert said in ran.err
    assert not ran.asked


def _joined(text: str) -> str:
    """Its words, however they are parted into lines."""
    return " ".join(text.split())


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_that_takes_a_point_says_what_one_is(name: str, quire: Quire) -> None:
    text = quire("help", name).out
    takes = any(word in text for word in ("POINT ", "@POINT", "A..B [", "POINT]", "[CURSOR]"))
    assert (_joined(POINTS) in _joined(text)) is takes
    assert (_joined(PARTED) in _joined(text)) is (name in ("cat", "show", "restore"))


# -- who and where -----------------------------------------------------------------------------------------------


def test_the_caller_is_the_one_of_the_options_then_of_the_environment(
    quire: Quire, monkeypatch: pytest.MonkeyPatch
) -> None:
    def caller(*words: str) -> tuple[str, str]:
        wanted = quire(*words).opener.wanted[0]
        return wanted.agent, wanted.session

    assert caller("log") == ("", "")
    monkeypatch.setenv("CODEX_SESSION_ID", "c1")
    assert caller("log") == ("codex", "c1"), "its shell has said so"
    monkeypatch.setenv("CODEX_THREAD_ID", "t1")
    subagent = quire("log").opener.wanted[0]
    assert (subagent.session, subagent.parent) == ("c1.t1", "c1")
    monkeypatch.setenv("QUIRE_AGENT", "alice")
    monkeypatch.setenv("QUIRE_SESSION", "s1")
    assert caller("log") == ("alice", "s1")
    assert caller("log", "--agent", "bob") == ("bob", "s1")
    assert caller("--agent", "bob", "--session", "s2", "log") == ("bob", "s2")


def test_the_workspace_is_the_one_that_holds_the_current_folder_or_the_one_named(
    quire: Quire, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(site / "src")
    assert quire("log").opener.wanted[0].place.root == site
    (tmp_path / "other").mkdir()
    assert quire("log", "-C", "../../other").opener.wanted[0].place.root == tmp_path / "other"
    place = quire("-C", "../../other", "--state-dir", "../../st", "log").opener.wanted[0].place
    assert place.state == tmp_path / "st"


def test_in_a_folder_that_is_gone_a_command_says_so_and_works_for_a_workspace_that_is_named(
    quire: Quire, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["/usr/bin/quire"])
    monkeypatch.chdir(site / "src")
    (site / "src").rmdir()
    gone = "The current folder is gone; go to another one, or name the workspace by its whole path with -C."
    gone_too = "The current folder is gone; go to another one, or name the state folder by its whole path."
    for command in ("status", "read a", "up x", "up -C x", "setup claude-code", "forget", "adopt", "env", "mcp"):
        ran = quire(*command.split())
        assert (ran.status, ran.err) == (3, f"quire: {gone}\n"), command
    assert gone in quire("doctor").out
    for command in (f"status -C {site}", "list", "forget", f"adopt -C {site}"):
        ran = quire(*command.split(), "--state-dir", "kept")
        assert (ran.status, ran.err) == (3, f"quire: {gone_too}\n"), command
    assert quire("status", "-C", str(site), status={"ok": True}).status == 0


def test_an_empty_state_dir_is_a_wrong_use_and_not_the_current_folder(quire: Quire) -> None:
    for command in ("status", "list", "forget --yes"):
        ran = quire(*command.split(), "--state-dir", "")
        assert ran.status == 2, command
        assert "--state-dir wants DIR" in ran.err


@pytest.mark.parametrize(("name", "starts"), [("status", False), ("down", False), ("log", True), ("up", True)])
def test_looking_and_stopping_start_nothing(name: str, starts: bool, quire: Quire) -> None:
    assert quire(name).opener.wanted[0].start is starts


def test_paths_are_relative_to_the_current_folder(quire: Quire, site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def path(word: str) -> Any:
        return quire("read", word).asked[0][1]["path"]

    assert path("src/a.py") == "src/a.py"
    monkeypatch.chdir(site / "src")
    assert path("a.py") == "src/a.py"
    assert path("../b.py") == "b.py"
    assert path(str(site / "src" / "a.py")) == "src/a.py"
    assert path("../../elsewhere") == str(site.parent / "elsewhere")
    assert path("..a") == "src/..a"


def test_paths_of_a_container_are_those_of_the_checkout(
    quire: Quire, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "workspace" / "src").mkdir(parents=True)
    monkeypatch.setenv("QUIRE_PATH_MAP", f"{tmp_path / 'workspace'}={site}")
    monkeypatch.chdir(tmp_path / "workspace" / "src")
    ran = quire("read", "a.py", read_file={"ok": True, "content": ""})
    assert ran.asked == [("read_file", {"path": "src/a.py"})]
    assert ran.opener.wanted[0].place == place_of(site)


def test_a_path_that_is_not_utf8_is_escaped_as_it_is_in_the_journal(quire: Quire) -> None:
    assert quire("read", "caf\udce9 %").asked == [("read_file", {"path": "%/caf%E9%20%25"})]


def test_a_path_may_hold_the_sign_that_parts_it_from_its_point() -> None:
    call = Invocation([], {}, {})
    assert call.path_at("a@b.py@v3") == ("a@b.py", "v3")
    assert call.path_at("a.py") == ("a.py", "")


@pytest.mark.parametrize(
    ("command", "asked"),
    [
        ("cat", ("read_file", {"path": "src/icon@2x.png", "content_base64": True})),
        ("show", ("show", {"path": "src/icon@2x.png", "version": "TIME"})),
        ("restore", None),
    ],
)
def test_a_file_that_is_called_all_of_it_is_no_path_at_a_point(
    command: str, asked: Any, quire: Quire, site: Path
) -> None:
    (site / "src" / "icon@2x.png").touch()
    ran = quire(command, "src/icon@2x.png", read_file={"ok": True}, show={"ok": True, "content": ""})
    told = [
        (tool, {name: "TIME" if str(value).startswith("2") else value for name, value in arguments.items()})
        for tool, arguments in ran.asked
    ]
    assert told == ([asked] if asked else [])
    assert ran.status == (0 if asked else 2)
    there = {"ok": True, "content": "x", "files": []}
    ran = quire(command, "src/icon@2x.png@v3", read_file=there, show=there, restore=there)
    assert ran.asked[0][1]["path"] == "src/icon@2x.png"
    assert "v3" in ran.asked[0][1].values()


def test_an_unknown_point_is_answered_with_the_forms_of_points_or_the_path_that_was_meant(
    quire: Quire,
) -> None:
    def refused(arguments: dict[str, Any]) -> dict[str, Any]:
        wrong = {"error": "not_found", "message": "There is none.", "suggested_action": "name_a_point"}
        return {"ok": False, **wrong, "point": arguments["at"]}

    first = ["There is none.", "Next: name a POINT that there is."]
    assert quire("cat", "a.py@befor", read_file=refused).err.splitlines() == [*first, HERE]
    for gone, told in (("gone@2x.png", "gone@2x.png@v12"), ("@scope/a", "@scope/a@v12")):
        sentence = f"If {gone} is a path, it wants a point of its own: {told}."
        assert quire("cat", gone, read_file=refused).err.splitlines() == [*first, sentence]


@pytest.mark.parametrize("command", ["blame", "cat", "ls", "read", "restore", "show", "why"])
def test_a_point_is_said_with_at_or_behind_the_path_by_every_command_about_a_file(quire: Quire, command: str) -> None:
    asked = [quire(command, *words).asked[0][1] for words in (("--at", "v3", "gone.py"), ("gone.py@v3",))]
    assert asked[0] == asked[1]
    assert "v3" in asked[0].values()
    assert asked[0]["path"] == "gone.py"


@pytest.mark.parametrize("command", ["blame", "cat", "ls", "read", "restore", "show", "why"])
def test_a_point_behind_a_path_may_have_a_colon(quire: Quire, command: str) -> None:
    """`quire blame a.py@seq:8` was read as line 8 of `a.py@seq`."""
    asked = quire(command, "gone.py@seq:8").asked[0][1]
    assert asked["path"] == "gone.py"
    assert "seq:8" in asked.values()
    assert quire(command, "gone.py@00:00").asked[0][1]["path"] == "gone.py"
