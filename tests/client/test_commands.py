"""The command line: what it prints, what it asks for, and the status it ends with. The texts are exact."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from fake_line import FakeOpener

import quire_client.commands
from cases import every
from quire_client.__main__ import main
from quire_client.commands import COMMANDS
from quire_client.commands.base import COMMON, Command, Invocation
from quire_client.failures import NoReply
from quire_client.moments import HERE, PARTED, POINTS
from quire_client.shell_words import step
from quire_journal import VERSION
from quire_journal.identities import settle
from quire_journal.locks import Running, hold_lock
from quire_journal.places import make_private_folder, place_of, trace_socket

WRITER = {"id": "w3", "type": "edit", "agent": "alice", "agent_session": "s1"}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with a journal, which is the current folder."""
    root = tmp_path / "site"
    (root / "src").mkdir(parents=True)
    settle(place_of(root))
    monkeypatch.chdir(root)
    return root


class Ran:
    """What a command line printed and ended with, and what it asked the daemon."""

    def __init__(self, status: int, out: str, err: str, opener: FakeOpener) -> None:
        self.status, self.out, self.err, self.opener = status, out, err, opener
        self.asked = opener.asked


Quire = Callable[..., Ran]


@pytest.fixture
def quire(site: Path, capsys: pytest.CaptureFixture[str]) -> Quire:
    """`quire("log", "src", log={…reply…})`."""

    def run(*words: str, runs: bool = True, **answers: Any) -> Ran:
        opener = FakeOpener(answers, runs)
        status = main(words, opener)
        said = capsys.readouterr()
        return Ran(status, said.out, said.err, opener)

    return run


# -- points ------------------------------------------------------------------------------------------------------


@every(
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


@every(
    ("words", "said"),
    [
        (("log", "--since", "2026-13-45"), "'2026-13-45' is no time"),
        (("diff", "v1..2026-01-31T25:00"), "'2026-01-31T25:00' is no time"),
        (("checkpoint", "create", "yesterday"), "'yesterday' means a time wherever a point is named"),
        (("checkpoint", "create", "2d"), "'2d' means a time wherever a point is named"),
    ],
)
def test_what_looks_like_a_time_and_is_none_or_is_to_be_a_name_is_a_wrong_use(
    words: tuple[str, ...], said: str, quire: Quire
) -> None:
    ran = quire(*words)
    assert ran.status == 2
    assert said in ran.err
    assert not ran.asked


def _joined(text: str) -> str:
    """Its words, however they are parted into lines."""
    return " ".join(text.split())


@every("name", COMMANDS)
def test_the_help_of_a_command_that_takes_a_point_says_what_one_is(name: str, quire: Quire) -> None:
    text = quire("help", name).out
    takes = any(word in text for word in ("POINT ", "@POINT", "A..B [", "POINT]", "[CURSOR]"))
    assert (_joined(POINTS) in _joined(text)) is takes
    assert (_joined(PARTED) in _joined(text)) is (name in ("cat", "show", "restore"))


# -- help --------------------------------------------------------------------------------------------------------


def test_without_a_command_the_help_lists_all_of_them(quire: Quire) -> None:
    ran = quire()
    assert ran.status == 0
    for name, summary in COMMANDS.items():
        assert f"  {name:<{max(map(len, COMMANDS))}}  {summary}\n" in ran.out


@every("name", COMMANDS)
def test_every_command_has_help_with_an_example(name: str, quire: Quire) -> None:
    asked = [quire("help", name), quire(name, "--help"), quire(name, "-h")]
    assert len({ran.out for ran in asked}) == 1
    assert {ran.status for ran in asked} == {0}
    text = asked[0].out
    assert text.startswith(f"{COMMANDS[name]}.\n\nUsage: quire {name}")
    assert f"\nExample:\n\n  quire {name}" in text
    assert "--json" in text
    assert max(map(len, text.splitlines())) <= 120


@every("name", COMMANDS)
def test_every_commands_example_can_be_read_as_it_stands(name: str) -> None:
    """Its options exist. (What the words mean is up to the command.)"""
    command: Command = import_module(f"quire_client.commands.{name.replace('-', '_')}").COMMAND
    known = {f"--{option.name}" for option in (*COMMON, *command.options)} | {"-C"}
    assert {word for word in command.example.split() if word.startswith("-")} <= known


@every("name", COMMANDS)
def test_no_option_of_a_command_hides_a_common_one(name: str) -> None:
    command: Command = import_module(f"quire_client.commands.{name.replace('-', '_')}").COMMAND
    names = [option.name for option in (*COMMON, *command.options)]
    assert len(names) == len(set(names))
    assert all(option.meaning for option in command.options)


def test_every_file_of_commands_is_in_the_table() -> None:
    folder = Path(quire_client.commands.__path__[0])
    assert {path.stem for path in folder.glob("*.py")} - {"__init__", "base"} == {
        name.replace("-", "_") for name in COMMANDS
    }


def test_the_version_is_one_line(quire: Quire) -> None:
    assert quire("--version").out == f"quire {VERSION}\n"


# -- usage -------------------------------------------------------------------------------------------------------


@every(
    ("words", "sentence"),
    [
        (["fly"], "There is no command 'fly'; `quire help` lists them."),
        (["lgo"], "There is no command 'lgo'; `quire help` lists them. Did you mean log?"),
        (["log", "--limit"], "--limit wants N: at most so many; 50 if not said."),
        (["log", "-S"], "--changed-text wants TEXT: changes after which TEXT occurs more or less often than before."),
        (["log", "--oldest=yes"], "Option --oldest must not have an argument."),
        (["undo", "--from"], "--since wants POINT: batches after it."),
        (["export", "--t", "x"], "--t may be --timeout or --to."),
        (["log", "--un", "x", "--c", "y"], "--c may be --changed-text, --contains or --cursor."),
        (["log", "--limit", "many"], "--limit wants a whole number of at most 18 digits, not 'many'."),
        (["log", "--limit", "9" * 19], f"--limit wants a whole number of at most 18 digits, not '{'9' * 19}'."),
        (["log", "a", "b"], "There is no use for 'b'."),
        (["read"], "PATH is missing: `quire read PATH`."),
        (["read", "a", "--lines", "x"], "--lines wants A:B, A:, :B or A, not 'x'."),
        (["read", "a", "--lines", ":"], "--lines wants A:B, A:, :B or A, not ':'."),
        (["blame"], "PATH is missing: `quire blame PATH`."),
        (["rollback"], "POINT is missing: `quire rollback POINT [PATH ...]`."),
        (["checkpoint", "create"], "NAME is missing: `quire checkpoint create NAME`."),
        (["completion"], "SHELL is missing: `quire completion SHELL`, where SHELL is bash, zsh or fish."),
        (["blame", "a", "-L", "x,"], "--lines wants A:B, A:, :B or A, not 'x,'."),
        (["call"], "TOOL is missing: `quire call TOOL [JSON | -]`."),
        (["call", "edit", "[]"], "The arguments must be one JSON object."),
        (["diff"], "A..B is missing: the points to compare, as in `quire diff yesterday..` or `… v10..v12 PATH`."),
        (["diff", "--stat"], "There is no option --stat here; --state-dir, which begins so, wants DIR."),
        (["diff", "..v2"], "A..B begins with a point, not with '..v2'."),
        (["diff", "src"], "'src' is a path, not a point: try `quire diff v10.. src`."),
        (["diff", "../site"], "'../site' is a path, not a point: try `quire diff v10.. ../site`."),
        (
            ["restore", "a.py"],
            "PATH@POINT names a path and a point; 'a.py' does not: try `quire restore a.py@yesterday`, "
            "or a version of `quire log a.py`.",
        ),
        (["restore"], "PATH@POINT is missing: `quire restore PATH@POINT`."),
        (["status", "--timeout", "soon"], "--timeout wants a number of seconds, not 'soon'."),
        (["undo", "--conflicts", "mark"], "--conflicts is skip, markers or abort, not 'mark'. Did you mean markers?"),
        (["claim", "a", "--kind", "x"], "--kind is intent, shared or exclusive, not 'x'."),
        (["gc", "--dry-run", "--only", "drop"], "--only is kept or dropped, not 'drop'. Did you mean dropped?"),
        (
            ["checkpoint", "creat"],
            "What `quire checkpoint` can do is create, list, show, diff or drop, not 'creat'. Did you mean create?",
        ),
        (
            ["service", "instal"],
            "What `quire service` can do is install, uninstall or status, not 'instal'. Did you mean install?",
        ),
        (
            ["setup", "claude"],
            "AGENT is claude-code, codex, cursor, gemini or opencode, not 'claude'. Did you mean claude-code?",
        ),
        (["status", "--timeout", "0"], "--timeout wants a number of seconds, not '0'."),
    ],
)
def test_a_wrong_command_line_is_a_sentence_and_status_2(words: list[str], sentence: str, quire: Quire) -> None:
    ran = quire(*words)
    assert (ran.status, ran.out, ran.err) == (2, "", f"quire: {sentence}\n")
    assert not ran.asked


def test_an_option_that_there_is_not_leads_to_those_that_there_are(quire: Quire) -> None:
    ran = quire("who", "--minuts", "3")
    nearest, listed = ran.err.split("? ")
    assert (ran.status, nearest) == (2, "quire: `quire who` has no option --minuts. Did you mean --minutes")
    assert listed == "It has --all, --limit, --minutes, beside those of every command.\n"
    assert quire("down", "--fly").err == "quire: `quire down` has no option --fly.\n"
    assert quire("--fly").err.startswith("quire: `quire` has no option --fly. It has --agent, ")


def test_json_is_asked_for_also_where_the_command_line_is_wrong(quire: Quire) -> None:
    ran = quire("read", "--json")
    assert ran.status == 2
    assert json.loads(ran.out) == {"ok": False, "error": "usage", "message": "PATH is missing: `quire read PATH`."}
    assert ran.err == ""


def test_arguments_that_are_no_json_are_a_usage_error(quire: Quire) -> None:
    ran = quire("call", "edit", "{path}")
    assert ran.status == 2
    assert ran.err.startswith("quire: The arguments are not JSON:")


# -- refusals ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("anchor_stale", 1),
        ("schema_invalid", 1),
        ("not_found", 3),
        ("unknown", 4),
        ("expired", 4),
        ("permission_denied", 5),
        ("outside_workspace", 5),
        ("lease_held", 6),
        ("journal_damaged", 7),
        ("fault", 70),
    ],
)
def test_the_exit_status_tells_what_became_of_the_call(code: str, status: int, quire: Quire) -> None:
    refusal = {"ok": False, "error": code, "message": "It was refused.", "suggested_action": "re-read_file"}
    ran = quire("read", "a.py", read_file=refusal)
    assert (ran.status, ran.out) == (status, "")
    assert ran.err == f"It was refused. [{code}]\nNext: read the file again, with `quire read`.\n"
    assert quire("call", "read_file", read_file=refusal).status == status


def test_a_refusal_as_json_is_on_stdout_alone(quire: Quire) -> None:
    refusal = {"ok": False, "error": "not_found", "message": "a.py does not exist."}
    ran = quire("read", "a.py", "--json", read_file=refusal)
    assert (json.loads(ran.out), ran.err, ran.status) == (refusal, "", 3)


def test_without_a_daemon_the_status_is_4_with_the_reason(quire: Quire, site: Path) -> None:
    sentence = f"No daemon runs for {site}; start one with `quire up`."
    ran = quire("status", runs=False)
    assert (ran.status, ran.out, ran.err) == (4, "", f"quire: {sentence}\n")
    assert json.loads(quire("status", "--json", runs=False).out)["error"] == "no_daemon"


def test_a_folder_that_is_no_workspace_is_refused(quire: Quire, tmp_path: Path) -> None:
    ran = quire("status", "-C", str(tmp_path / "missing"))
    assert (ran.status, ran.err) == (3, f"quire: {tmp_path / 'missing'} is not a folder.\n")
    assert json.loads(quire("status", "--json", "-C", str(tmp_path / "missing")).out)["error"] == "not_found"


def test_what_nobody_expected_is_a_sentence_and_status_70(quire: Quire) -> None:
    ran = quire("status", status=RuntimeError("surprise"))
    assert ran.status == 70
    assert ran.err == "quire: Something unexpected happened: RuntimeError: surprise. QUIRE_TRACEBACK=1 shows where.\n"


def test_an_interruption_is_status_130(quire: Quire) -> None:
    def interrupted(args: dict[str, Any]) -> dict[str, Any]:
        raise KeyboardInterrupt

    assert quire("status", status=interrupted).status == 130


def test_text_of_agents_cannot_control_the_terminal(quire: Quire) -> None:
    ran = quire("read", "a", read_file={"ok": False, "error": "x", "message": "by \x1b]0;owned\x07\u202eevil"})
    assert ran.err == "by ]0;ownedevil [x]\n"


# -- who and where -----------------------------------------------------------------------------------------------


def test_the_caller_is_the_one_of_the_options_then_of_the_environment(
    quire: Quire, monkeypatch: pytest.MonkeyPatch
) -> None:
    def caller(*words: str) -> tuple[str, str]:
        wanted = quire(*words).opener.wanted[0]
        return wanted.agent, wanted.session

    assert caller("log") == ("", "")
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


@every(
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


def test_a_point_that_there_is_not_leads_to_those_of_the_command_line_or_to_the_path_that_was_meant(
    quire: Quire,
) -> None:
    def refused(arguments: dict[str, Any]) -> dict[str, Any]:
        wrong = {"error": "not_found", "message": "There is none.", "suggested_action": "name_a_point"}
        return {"ok": False, **wrong, "point": arguments["at"]}

    first = ["There is none. [not_found]", "Next: name a POINT that there is."]
    assert quire("cat", "a.py@befor", read_file=refused).err.splitlines() == [*first, HERE]
    for gone, told in (("gone@2x.png", "gone@2x.png@v12"), ("@scope/a", "@scope/a@v12")):
        sentence = f"If {gone} is a path, it wants a point of its own: {told}."
        assert quire("cat", gone, read_file=refused).err.splitlines() == [*first, sentence]


# -- each command ------------------------------------------------------------------------------------------------


def test_up_waits_for_the_first_capture(quire: Quire, site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quire_client.commands.up.PAUSE_S", 0.0)
    left = [3, 2, 1, 0]

    def status(args: dict[str, Any]) -> dict[str, Any]:
        left.pop(0)
        capture = {"done": 4 - len(left), "total": 4, "finished": not left}
        return {"ok": True, "message": "", "pid": 7, "workspace": str(site), "capture": capture}

    ran = quire("up", status=status)
    assert (ran.status, ran.out, ran.err) == (0, f"The daemon (pid 7) runs for {site}.\n", "")
    assert not left


def test_up_without_waiting_says_that_the_capture_goes_on(quire: Quire, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    status = {"ok": True, "pid": 7, "workspace": "/x", "capture": {"done": 0, "total": 9, "finished": False}}
    ran = quire("up", "../new", "--no-wait", status=status)
    assert ran.out == "The daemon (pid 7) runs for /x; it captures the files.\n"
    assert ran.opener.wanted[0].place.root == tmp_path / "new"


def test_down_is_done_when_none_runs(quire: Quire) -> None:
    ran = quire("down", runs=False)
    assert (ran.status, ran.out) == (0, "No daemon runs.\n")


def test_down_says_when_a_daemon_cannot_be_reached(quire: Quire, site: Path) -> None:
    with hold_lock(place_of(site).lock) as lock:
        assert lock is not None
        lock.announce(Running(7, "e", "/nowhere"))
        assert quire("down", runs=False).status == 4


def test_status_tells_everything_in_a_few_lines(quire: Quire, site: Path) -> None:
    reply = {
        "ok": True,
        "message": "The daemon is well.",
        "pid": 7,
        "epoch": "e1",
        "seq": 812,
        "workspace": str(site),
        "state_dir": "/state",
        "versions": {"daemon": VERSION, "journal_format": 1},
        "journal": {"bytes": 3 * 1024 * 1024, "versions": 640},
        "capture": {"done": 5, "total": 1000, "finished": False},
        "coverage": {"state": "degraded", "reasons": ["the watcher\nis blind"], "since": "2026-01-31T12:00:00Z"},
        "protection": {"lease": True, "exchange": True, "openat2": False},
        "writers": [WRITER, {"id": "outside"}],
        "writers_total": 5,
        "retention": {
            "workspace": {"bytes": 3 * 1024 * 1024, "limit": 1 << 30},
            "store": {"bytes": 5 * 1024 * 1024, "limit": 2 << 30},
            "reserve": {"bytes": 1 << 24, "held": True, "given_back": False},
        },
    }
    ran = quire("status", status=reply)
    assert ran.out == (
        f"workspace   {site}\n"
        "kept in     /state\n"
        f"daemon      pid 7, version {VERSION}, journal format 1\n"
        "journal     812 records, 640 versions of files, 3.0 MiB on disk\n"
        "space       this journal 3.0 MiB, limit 1.0 GiB; all your journals 5.0 MiB, limit 2.0 GiB; "
        "a reserve of 16.0 MiB for a full disk\n"
        "capture     under way: 5 of 1000 files looked at\n"
        "coverage    degraded since 2026-01-31 12:00:00Z: the watcher is blind\n"
        "protection  active: lease, exchange; not available here: openat2\n"
        "writers     alice/s1, outside and 3 more\n"
    )
    well = {"coverage": {"state": "full", "reasons": []}, "protection": {"lease": True}, "capture": {"finished": True}}
    told = quire("status", status={**reply, **well, "versions": {"daemon": "0.0.1"}}).out
    assert "capture     finished: every file has been looked at\ncoverage    full: every change is seen\n" in told
    assert f"daemon      pid 7, version 0.0.1 (this client is {VERSION})\n" in told
    assert "protection  all active: lease\n" in told


def test_call_prints_the_reply_as_one_json_object(quire: Quire, monkeypatch: pytest.MonkeyPatch) -> None:
    reply = {"ok": True, "message": "Done.", "path": "ü"}
    ran = quire("call", "edit", '{"path": "ü"}', edit=reply)
    assert json.loads(ran.out) == reply
    assert ran.asked == [("edit", {"path": "ü"})]
    monkeypatch.setattr(sys, "stdin", io.StringIO('{"path": "from stdin"}'))
    assert quire("call", "edit", "-").asked == [("edit", {"path": "from stdin"})]
    assert quire("call", "status").asked == [("status", {})]


def test_read_prints_the_file_as_it_is(quire: Quire) -> None:
    ran = quire("read", "a", read_file={"ok": True, "content": "a\n\tb\x1b without an end"})
    assert ran.out == "a\n\tb\x1b without an end"


def test_read_with_anchors_prints_the_lines_as_shown(quire: Quire) -> None:
    reply = {"ok": True, "lines": ["3#abc123 [high]|x", "4#def456 [low]|}"], "truncated": True, "next_line": 5}
    ran = quire("read", "a", "--hashes", "--lines", "3:", read_file=reply)
    assert ran.asked == [("read_file", {"path": "a", "hashes": True, "start_line": 3})]
    assert ran.out == "3#abc123 [high]|x\n4#def456 [low]|}\n"
    assert ran.err == "The reply was cut; `--lines 5:` shows the rest.\n"


@pytest.mark.parametrize(
    ("lines", "bounds"),
    [("2:4", {"start_line": 2, "end_line": 4}), (":4", {"end_line": 4}), ("7", {"start_line": 7, "end_line": 7})],
)
def test_read_takes_some_lines(lines: str, bounds: dict[str, int], quire: Quire) -> None:
    assert quire("read", "a", "--hashline", "--at", "v3", "--lines", lines).asked == [
        ("read_file", {"path": "a", "format": "hashline", "at": "v3", **bounds})
    ]


def test_log_is_a_table_that_says_how_to_go_on(quire: Quire) -> None:
    at = "2026-01-31T12:00:00.5Z"
    records = [
        {"seq": 812, "at": at, "kind": "file_written", "path": "a\nb.py", "version": "v812", "writer": WRITER},
        {
            "seq": 9,
            "at": at,
            "kind": "file_moved",
            "path": "x",
            "to": "y",
            "version": "v9",
            "writer": {"id": "outside"},
        },
        {
            "seq": 8,
            "at": at,
            "kind": "checkpoint_named",
            "path": None,
            "name": "before",
            "version": None,
            "writer": "w3",
        },
        {"seq": 7, "at": at, "kind": "file_deleted", "path": "z", "version": "v7", "writer": WRITER, "how": "rollback"}
        | {"undone": [5, 3], "undone_more": 1},
    ]
    ran = quire(
        "log", "src", "--limit", "3", "--oldest", "--kind", "k", log={"ok": True, "records": records, "next": "c8"}
    )
    assert ran.asked == [("log", {"path": "src", "kind": "k", "limit": 3, "order": "oldest"})]
    assert ran.out == (
        "2026-01-31 12:00:00Z  v812   alice/s1  file written      a b.py\n"
        "2026-01-31 12:00:00Z  v9     outside   file moved        x -> y\n"
        "2026-01-31 12:00:00Z  seq:8  w3        checkpoint named  before\n"
        "2026-01-31 12:00:00Z  v7     alice/s1  file deleted      z  (rollback of 5 and 2 more)\n"
    )
    assert ran.err == "There is more: --cursor c8\n"


def test_a_log_goes_on_through_short_pages_until_it_has_what_is_wanted(quire: Quire) -> None:
    record = {"at": AT, "kind": "file_written", "path": "a", "writer": WRITER}
    pages = iter(
        [
            {"ok": True, "records": [], "next": "c9"},
            {"ok": True, "records": [{**record, "version": "v7", "stat": {"added": 2, "removed": 1}}], "next": "c6"},
            {"ok": True, "records": [{**record, "version": "v5", "occurrences": [0, 3]}], "next": "c4"},
        ]
    )
    ran = quire("log", "-S", "x y", "--turn", "t1", "--limit", "2", "--stat", log=lambda args: next(pages))
    asked = {"turn": "t1", "text_changed": "x y", "stat": True}
    assert ran.asked == [
        ("log", {**asked, "limit": 2}),
        ("log", {**asked, "limit": 2, "cursor": "c9"}),
        ("log", {**asked, "limit": 1, "cursor": "c6"}),
    ]
    assert ran.out == (
        "2026-01-31 12:00:00Z  v7  alice/s1  file written  a  +2 -1\n"
        "2026-01-31 12:00:00Z  v5  alice/s1  file written  a  0 -> 3\n"
    )
    assert ran.err == "There is more: --cursor c4\n"


def test_what_the_first_capture_found_is_not_told_as_if_somebody_had_written_it_then(quire: Quire) -> None:
    found = {"at": AT, "kind": "outside_written", "version": "v2", "path": "a", "writer": {"id": "outside"}}
    records = [{**found, "evidence": "watched"}, {**found, "evidence": "captured"}]
    told = quire("log", log={"ok": True, "records": records, "next": None}).out.splitlines()
    assert [line.split("  ")[3].strip() for line in told] == ["outside written", "first seen"]


def test_many_files_to_which_nothing_is_done_are_told_in_two_lines(quire: Quire) -> None:
    idle = [{"path": f"{n}.txt", "action": "none", "skipped": "first_seen", "why": "It was there."} for n in range(9)]
    held = {"path": "held.txt", "action": "none", "skipped": "uncaptured", "why": "`allow_uncaptured` goes over it."}
    files = [*idle, {"path": "done.txt", "action": "write"}, held, {**idle[0], "conflicts": [{"writer": {}}]}]
    out = quire("undo", undo={"ok": True, "message": "Undone in 1 file.", "files": files}).out
    assert out == (
        "Undone in 1 file.\n"
        "  write   done.txt\n"
        "  none    held.txt\n"
        "          left alone: --allow-uncaptured goes over it.\n"
        "  none    0.txt\n"
        "          left alone: It was there.\n"
        "          conflict: ? built on it\n"
        "  9 files left alone: It was there.\n"
        "          0.txt, 1.txt, 2.txt and 6 more; --json lists them\n"
    )


def test_a_file_that_is_not_captured_is_told_with_the_reason(quire: Quire) -> None:
    record = {"at": AT, "kind": "capture_failed", "version": "v2", "path": ".env", "writer": {"id": "outside"}}
    out = quire("log", log={"ok": True, "records": [{**record, "why": "too_large"}], "next": None}).out
    assert out.rstrip().endswith("v2  outside  not captured  .env  (too large)")


def test_an_operation_is_named_where_it_is_not_known_what_became_of_it(quire: Quire) -> None:
    refusal = {"ok": False, "error": "not_found", "message": "Nothing.", "op": "ab12", "outcome": "not_applied"}
    assert quire("undo", undo=refusal).err == "Nothing. [not_found]\n"
    lost = {**refusal, "error": "unknown", "outcome": "unknown", "suggested_action": "op_status"}
    said = quire("undo", undo=lost).err.splitlines()
    assert said[1:] == ["Operation: ab12", f"Next: {step('op_status', 'ab12')}."]


def test_a_log_or_listing_of_a_path_that_nobody_knows_is_refused_and_one_that_only_fits_nothing_is_empty(
    quire: Quire, site: Path
) -> None:
    def log(arguments: dict[str, Any]) -> dict[str, Any]:
        known = arguments == {"path": "src/gone.py", "limit": 1}
        return {"ok": True, "records": [{"path": "src/gone.py"}] if known else [], "next": None}

    empty = {"ok": True, "at": "seq:9", "time": AT, "complete": True, "entries": [], "next": None}
    (site / "src" / "new.py").touch()
    for command in (("log",), ("log", "--writer", "bob"), ("ls",)):
        said = quire(*command, "src/nosuch.py", log=log, tree=empty)
        assert (said.status, said.out) == (3, "")
        assert said.err.startswith("Neither the journal nor the disk has src/nosuch.py. [not_found]\nNext: look at the")
        for known in ("src/new.py", "src/gone.py", "src/*.rs"):
            assert quire(*command, known, log=log, tree=empty).status == 0
    assert json.loads(quire("log", "x", "--json", log=log).out)["error"] == "not_found"


@every(
    ("words", "writers", "hints"),
    [
        (("--agent", "bob"), ["alice"], True),
        (("--agent", "bob"), [], True),
        (("--agent", "alice"), ["alice"], False),
        (("--agent", "bob", "--session", "s1"), ["alice"], False),
        (("--agent", "bob", "--writer", "alice"), ["alice"], False),
        ((), ["alice"], False),
    ],
)
def test_an_agent_that_looks_like_a_filter_of_the_log_is_said_to_be_none(
    words: tuple[str, ...], writers: list[str], hints: bool, quire: Quire
) -> None:
    records = [{"at": AT, "kind": "file_written", "path": "a", "writer": {**WRITER, "agent": one}} for one in writers]
    ran = quire("log", *words, log={"ok": True, "records": records, "next": None})
    assert ran.err == ("--agent only says who calls; --writer bob lists what bob did.\n" if hints else "")


def test_a_log_with_patches_shows_each_below_its_record(quire: Quire) -> None:
    change = {"path": "a", "status": "changed", "patch": "--- a/a\n+++ b/a\n@@ -1,1 +1,1 @@\n-x\n+y\n"}
    record = {"at": AT, "kind": "file_written", "path": "a", "version": "v7", "writer": WRITER, "diff": change}
    ran = quire("log", "-p", log={"ok": True, "records": [record], "next": None})
    assert ran.asked == [("log", {"patch": True})]
    assert ran.out.splitlines()[1:] == ["--- a/a", "+++ b/a", "@@ -1,1 +1,1 @@", "-x", "+y"]


def test_why_names_a_line_and_tells_what_is_behind_it(quire: Quire, site: Path) -> None:
    before = {"version": "v3", "at": AT, "kind": "file_written", "writer": {"id": "outside"}}
    reply = {
        "ok": True,
        "message": "Line 2 of a was written by alice in v7.",
        "version": "v7",
        "line": 2,
        "text": "two",
        "operation": "edit",
        "record": {"batch": 7, "writer": {**WRITER, "turn": "t4"}, "base": "v3"},
        "replaced": {"lines": ["2"], "by": [before]},
        "previous": before,
        "next": None,
        "batch_files": [{"path": "b"}],
        "diff": {"path": "a", "status": "changed", "patch": "@@ -2,1 +2,1 @@\n-2\n+two\n"},
    }
    ran = quire("why", "src/a:2", why=reply)
    assert ran.asked == [("why", {"path": "src/a", "line": 2})]
    assert ran.out == (
        "Line 2 of a was written by alice in v7.\n"
        "     2| two\n"
        "\n"
        "  version    v7, batch 7\n"
        "  writer     alice/s1\n"
        "  turn       t4\n"
        "  operation  edit\n"
        "  made from  v3\n"
        "  replaced   v3 (outside, 2026-01-31 12:00:00Z)\n"
        "  before it  v3 (outside, 2026-01-31 12:00:00Z)\n"
        "  beside it  b\n"
        "\n"
        "@@ -2,1 +2,1 @@\n-2\n+two\n"
    )
    (site / "odd:2").touch()
    assert quire("why", "odd:2", why=reply).asked == [("why", {"path": "odd:2"})]
    undoing = {**reply["record"], "how": "undo", "undone": [4]}
    brought_back = {**reply, "path": "a b", "record": undoing, "diff": {**reply["diff"], "partial": True}}
    out = quire("why", "src/a:2", why=brought_back).out
    assert "  operation  undo of 4\n" in out
    assert out.endswith("\nOnly what is around the line; `quire log 'a b' --until v7 --limit 1 --patch` has all.\n")
    found = {**reply, "record": {**reply["record"], "evidence": "captured"}, "diff": None}
    out = quire("why", "src/a:2", why=found).out
    assert "  operation  first seen\n" in out
    assert out.endswith("\n\n`quire show v7` prints the file as it was found.\n")


@every("typed", ["file written", "file-written", "file_written"])
def test_a_kind_is_typed_as_it_is_printed(typed: str, quire: Quire) -> None:
    for words in (["log"], ["since", "seq:1"]):
        ((_, arguments),) = quire(*words, "--kind", typed).asked
        assert arguments["kind"] == "file_written"
    assert quire("log", "--kind", "not captured").asked[0][1]["kind"] == "capture_failed"


def test_where_an_agent_did_nothing_through_quire_its_own_tools_are_named(quire: Quire) -> None:
    nothing = {"ok": True, "records": [], "next": None}
    assert quire("log", "--writer", "claude-code", log=nothing).err.startswith("--writer finds what claude-code did ")
    assert "`quire burst list`" in quire("log", "--writer", "claude-code", log=nothing).err
    assert quire("log", "--writer", "outside", log=nothing).err == ""


def test_what_a_reply_warns_of_is_said_by_every_command(quire: Quire) -> None:
    warned = {
        "ok": True,
        "records": [],
        "next": None,
        "warnings": [{"type": "disk_full", "message": "Nothing is taken."}],
    }
    assert quire("log", log=warned).err == "Nothing is taken.\n"
    assert quire("log", "--json", log=warned).err == ""


def test_a_log_of_nothing_says_so(quire: Quire) -> None:
    assert quire("log", log={"ok": True, "records": [], "next": None}).out == "Nothing is recorded there.\n"
    ran = quire("log", log={"ok": True, "records": [], "next": None, "capturing": True})
    assert ran.err == "The first capture still goes on, so there may be more; `quire up` waits until it is over.\n"


AT = "2026-01-31T12:00:00Z"


def test_a_graph_of_the_log_has_a_lane_for_each_writer(quire: Quire) -> None:
    whose = [WRITER, {"id": "outside"}, WRITER, {"id": "w4", "uid": 1000}, {"id": "outside"}]
    records = [
        {"seq": 9 - n, "at": AT, "kind": "file_written", "path": "a", "version": f"v{9 - n}", "writer": who}
        for n, who in enumerate(whose)
    ]
    ran = quire("log", "--graph", log={"ok": True, "records": records, "next": None})
    assert ran.asked == [("log", {})]
    assert ran.out == (
        "alice/s1\n"
        "| outside\n"
        "| | user\n"
        "* | |  2026-01-31 12:00:00Z  v9  alice/s1  file written  a\n"
        "| * |  2026-01-31 12:00:00Z  v8  outside   file written  a\n"
        "* | |  2026-01-31 12:00:00Z  v7  alice/s1  file written  a\n"
        "  | *  2026-01-31 12:00:00Z  v6  user      file written  a\n"
        "  *    2026-01-31 12:00:00Z  v5  outside   file written  a\n"
    )
    assert quire("log", "--graph", log={"ok": True, "records": []}).out == "Nothing is recorded there.\n"


def blamed(line: int, version: int, who: dict[str, Any], text: str, **more: Any) -> dict[str, Any]:
    """A line of a `blame` reply."""
    return {"line": line, "seq": version, "version": f"v{version}", "writer": who, "at": AT, "text": text, **more}


def test_blame_shows_before_each_line_where_it_comes_from(quire: Quire) -> None:
    lines = [
        blamed(9, 812, WRITER, "def f():\x1b", turn="t7"),
        blamed(10, 3, {"id": "outside"}, "\treturn 1", turn=""),
        blamed(11, 9, {**WRITER, "type": "undo"}, "", turn="", how="restore"),
        blamed(12, 2, {"id": "outside"}, "pass", turn="", evidence="captured"),
    ]
    reply = {"ok": True, "path": "src/a.py", "lines": lines, "names": ["old.py", "src/a.py"], "gaps": []}
    ran = quire("blame", "src/a.py", "--at", "v900", "-L", "9,11", blame=reply)
    assert ran.asked == [("blame", {"path": "src/a.py", "at": "v900", "start_line": 9, "end_line": 11})]
    assert ran.out == (
        "v812  alice/s1            t7  2026-01-31 12:00:00Z   9| def f():\n"
        "v3    outside                 2026-01-31 12:00:00Z  10| \treturn 1\n"
        "v9    alice/s1 (restore)      2026-01-31 12:00:00Z  11|\n"
        "v2    first seen              2026-01-31 12:00:00Z  12| pass\n"
    )
    assert ran.err == "Earlier names: old.py.\n"


def test_blame_says_where_nothing_is_known(quire: Quire) -> None:
    gap = {"version": "v5", "why": "too_large", "attributed_to": "v6"}
    reply = {"ok": True, "path": "a", "lines": [blamed(1, 6, WRITER, "x")], "names": ["a"], "gaps": [gap]}
    ran = quire("blame", "a", blame=reply)
    assert ran.out == "v6  alice/s1  2026-01-31 12:00:00Z  1| x\n"
    assert ran.err == "Of v5 and before nothing is known (too large): their lines stand under v6.\n"
    empty = quire("blame", "a", blame={"ok": True, "path": "a", "lines": [], "names": ["a"], "gaps": []})
    assert (empty.status, empty.out, empty.err) == (0, "", "")


def test_blame_asks_for_all_pages_of_one_version(quire: Quire) -> None:
    def blame(args: dict[str, Any]) -> dict[str, Any]:
        page = {"ok": True, "version": "v8", "endLine": args.get("start_line", 1)}
        line = blamed(args.get("start_line", 1), 8, WRITER, "x")
        more = {"truncated": True, "next_line": 2} if "start_line" not in args else {"truncated": False}
        return {**page, "lines": [line], "runs": [{"start": line["line"]}], **more}

    ran = quire("blame", "a", "--json", blame=blame)
    assert ran.asked == [("blame", {"path": "a"}), ("blame", {"path": "a", "at": "v8", "start_line": 2})]
    reply = json.loads(ran.out)
    assert [line["line"] for line in reply["lines"]] == [run["start"] for run in reply["runs"]] == [1, 2]
    assert (reply["truncated"], reply["next_line"], reply["endLine"]) == (False, None, 2)


def test_a_refused_blame_is_a_sentence_also_on_a_later_page(quire: Quire) -> None:
    refusal = {"ok": False, "error": "binary_file", "message": "b holds NUL bytes."}
    assert quire("blame", "b", blame=refusal).err == "b holds NUL bytes. [binary_file]\n"

    def blame(args: dict[str, Any]) -> dict[str, Any]:
        return (
            refusal if "at" in args else {"ok": True, "version": "v8", "lines": [], "truncated": True, "next_line": 2}
        )

    ran = quire("blame", "b", blame=blame)
    assert (ran.status, ran.out, ran.err) == (1, "", "b holds NUL bytes. [binary_file]\n")


def test_show_prints_the_text_and_tells_beside_it_who_wrote_it(quire: Quire) -> None:
    record = {"seq": 812, "at": "2026-01-31T12:00:00Z", "kind": "file_written", "path": "a.py", "version": "v812"}
    ran = quire("show", "v812", show={"ok": True, "record": {**record, "writer": WRITER}, "content": "x\ny"})
    assert ran.asked == [("show", {"version": "v812"})]
    assert (ran.out, ran.err) == ("x\ny", "2026-01-31 12:00:00Z  v812  alice/s1  file written  a.py\n")


@every(
    ("given", "sent"),
    [("14", "seq:14"), ("v14", "v14"), ("v3", "v3"), ("before-lunch", "before-lunch")],
)
def test_show_takes_a_records_number_and_a_version_before_a_file_of_that_name(
    given: str, sent: str, quire: Quire, site: Path
) -> None:
    (site / "v3").touch()
    (site / "14").touch()
    assert quire("show", given, show={"ok": True, "content": ""}).asked == [("show", {"version": sent})]


def test_show_takes_a_path_at_a_point_and_all_pages(quire: Quire) -> None:
    def show(args: dict[str, Any]) -> dict[str, Any]:
        if "start_line" in args:
            return {"ok": True, "content": "3\n"}
        return {"ok": True, "content": "1\n2\n", "truncated": True, "next_line": 3}

    ran = quire("show", "src/a.py@seq:9", show=show)
    assert ran.asked[0] == ("show", {"path": "src/a.py", "version": "seq:9"})
    assert ran.out == "1\n2\n3\n"


def test_a_folder_has_no_text_to_show_and_is_listed(quire: Quire, site: Path) -> None:
    (site / "lib").mkdir()
    ran = quire("show", "lib", show={"ok": False, "error": "not_found", "message": "'lib' had no version at …."})
    said = "lib is a folder, which has no text: `quire ls lib` lists it, with --at POINT as it was then. [not_a_file]\n"
    assert (ran.status, ran.err) == (1, said)


@pytest.mark.parametrize(
    ("fields", "out", "sentence"),
    [
        ({"binary": True, "content_base64": "AAE="}, "\x00\x01", ""),
        ({"binary": True, "truncated": True}, "", "It is no text; `quire restore` brings it back.\n"),
        ({"uncaptured": "too_large"}, "", "Its bytes are not in the journal (too_large).\n"),
        ({"gone": True}, "", ""),
    ],
)
def test_show_of_what_is_no_text(fields: dict[str, Any], out: str, sentence: str, quire: Quire) -> None:
    ran = quire("show", "v9", show={"ok": True, "record": {"seq": 9, "writer": "w1"}, **fields})
    assert (ran.status, ran.out) == (0, out)
    assert ran.err == f"seq:9  w1\n{sentence}"


def test_diff_keeps_the_cr_of_line_ends_and_shows_it_to_a_person(quire: Quire, monkeypatch: pytest.MonkeyPatch) -> None:
    """`git apply` needs it; and where it is all that differs, a person would see two equal lines."""
    patch = "--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@\n-one\r\n+o\x07n\re\n"
    told = {"ok": True, "files": [{"path": "x", "status": "changed", "patch": patch}]}
    assert quire("diff", "v1..", diff=told).out == "--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@\n-one\r\n+one\n"

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdout", Terminal())
    quire("diff", "v1..", "--no-pager", diff=told)
    seen = re.sub("\x1b\\[[0-9]*m", "", sys.stdout.getvalue())  # type: ignore[attr-defined]
    assert seen == "--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@\n-one^M\n+one\n"


def test_diff_prints_the_patch_of_each_file_and_a_line_where_there_is_none(quire: Quire) -> None:
    files = [
        {"path": "a.py", "status": "changed", "patch": "--- a/a.py\n+++ b/a.py\n@@ -1,1 +1,1 @@\n-old\x1b\n+new\n"},
        {"path": "b.png", "status": "replaced", "binary": True},
        {"path": "run.sh", "status": "mode", "mode": ["0644", "0755"], "hunks": []},
        {"path": "long.txt", "status": "added", "truncated": True},
    ]
    ran = quire("diff", "v1..v2", "a.py", "src", diff={"ok": True, "files": files})
    assert ran.asked == [("diff", {"from": "v1", "to": "v2", "paths": ["a.py", "src"]})]
    assert ran.out == (
        "--- a/a.py\n+++ b/a.py\n@@ -1,1 +1,1 @@\n-old\n+new\n"
        "b.png: replaced, binary\n"
        "run.sh: mode 0644 -> 0755\n"
        "long.txt: added; too long to be shown with the others, name it alone\n"
    )
    assert quire("diff", "v1").asked == quire("diff", "v1..").asked == [("diff", {"from": "v1"})]
    assert quire("diff", "v1", diff={"ok": True, "files": []}).out == "Nothing differs.\n"


def test_cat_writes_the_bytes_of_all_pages_of_one_version(quire: Quire) -> None:
    def read(args: dict[str, Any]) -> dict[str, Any]:
        if args.get("start_line", 1) == 1:
            page = {"content_base64": "MQ0KMgo=", "truncated": True, "next_line": 3}
        else:
            page = {"content_base64": "M8Op"}
        return {"ok": True, "version": "v5", "hasBom": True, **page}

    ran = quire("cat", "a", read_file=read)
    assert ran.out.encode() == b"\xef\xbb\xbf1\r\n2\n3\xc3\xa9"
    pinned = {"path": "a", "content_base64": True, "at": "v5", "start_line": 3}
    assert ran.asked == [("read_file", {"path": "a", "content_base64": True}), ("read_file", pinned)]


def test_cat_as_json_is_one_reply_with_the_whole_text(quire: Quire) -> None:
    def read(args: dict[str, Any]) -> dict[str, Any]:
        first = args.get("start_line", 1) == 1
        page = {"content": "1\n2", "truncated": True, "next_line": 3} if first else {"content": "3\n"}
        return {"ok": True, "version": "v5", **page}

    ran = quire("cat", "a@v5", "--json", read_file=read)
    assert json.loads(ran.out)["content"] == "1\n2\n3\n"
    no = {"ok": False, "error": "binary_file", "message": "No."}
    assert quire("cat", "a", read_file=no, tree={**no, "error": "not_found"}).status == 1


def test_undo_passes_the_choice_on_and_tells_what_stays(quire: Quire) -> None:
    files = [
        {
            "path": "a.py",
            "action": "write",
            "kept": [{"version": "v9", "writer": {"id": "w4", "agent": "bob"}}],
            "conflicts": [{"writer": WRITER, "lines": [{"start": 3, "end": 4}], "why": "overlap"}],
            "skipped": None,
        },
        {"path": "b.py", "action": "none", "kept": [], "conflicts": [], "skipped": "gone", "why": "It is gone."},
        {"path": "c.py", "action": "move", "to": "d.py", "kept": [], "conflicts": [], "skipped": None},
    ]
    reply = {"ok": True, "message": "Plan: 2 files to change.", "files": files, "token": "T1"}
    ran = quire("undo", "src", "--writer", "bob", "--last", "3", "--batch", "17", "--from", "v1", "--plan", undo=reply)
    assert ran.asked == [
        ("undo", {"path": "src", "writer": "bob", "batch": 17, "from": "v1", "last": 3, "plan": True}),
    ]
    assert ran.out == (
        "Plan: 2 files to change.\n"
        "  write   a.py\n"
        "          keeps what bob wrote\n"
        "          conflict: alice/s1 built on it (lines 3-4)\n"
        "  none    b.py\n"
        "          left alone: It is gone.\n"
        "  move    c.py -> d.py\n"
        "To carry it out: --token T1\n"
    )


def test_undo_of_a_version_names_it(quire: Quire) -> None:
    assert quire("undo", "--batch", "v12").asked == [("undo", {"batch": "v12"})]


def test_restore_takes_a_path_at_a_point_or_a_plan(quire: Quire) -> None:
    assert quire("restore", "a.py@v3", "--plan").asked == [("restore", {"path": "a.py", "at": "v3", "plan": True})]
    assert quire("restore", "--token", "T").asked == [("restore", {"token": "T"})]


def test_manual_prints_the_text_as_it_is(quire: Quire) -> None:
    text = "# `edit`: change lines\n\nThe hash is the identity.\n\t`</div>`\n"
    ran = quire("manual", "edit", manual={"ok": True, "message": "The manual of edit.", "manual": text})
    assert (ran.status, ran.out, ran.err) == (0, text, "")
    assert ran.asked == [("manual", {"dialect": "edit"})]


def test_manual_without_a_name_asks_for_all_of_them(quire: Quire) -> None:
    reply = {"ok": True, "message": "The manuals of 14 tools.", "manual": "# Tools\n", "dialects": []}
    assert quire("manual", manual=reply).asked == [("manual", {})]
    assert json.loads(quire("manual", "--json", manual=reply).out) == reply
    assert quire("manual", "edit", "read_file", manual=reply).status == 2


def test_manual_needs_no_workspace_and_makes_none(
    quire: Quire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    ran = quire("manual", "edit")
    assert (ran.status, ran.err, ran.asked) == (0, "", [])
    assert ran.out.startswith("# `edit`: ")
    assert not any(elsewhere.iterdir())
    assert quire("manual", "-C", str(elsewhere / "none"), "edit").status == 3


def test_manual_of_what_has_none_ends_with_3(quire: Quire) -> None:
    ran = quire("manual", "sed", manual={"ok": False, "error": "not_found", "message": "There is no manual of 'sed'."})
    assert (ran.status, ran.out) == (3, "")
    assert "There is no manual of 'sed'. [not_found]" in ran.err


LEASE = {
    "lease": 17,
    "kind": "exclusive",
    "path": "src/a.py",
    "lines": {"start": 3, "end": 9},
    "expires_at": "2026-01-31T12:00:00.5Z",
    "holder": {"id": "w4", "agent": "bob", "agent_session": "s2"},
    "reason": "re\x1bwriting",
    "yours": False,
}


def test_claim_says_what_is_wanted_and_tells_the_number_and_who_else_is_there(quire: Quire, site: Path) -> None:
    reply = {"ok": True, "message": "src/a.py is yours.", "lease": 18, "conflicts": [{**LEASE, "kind": "intent"}]}
    options = ["--kind", "shared", "--lines", "1:4", "--ttl", "60", "--reason", "tidying", "--wait", "5", "--dry-run"]
    ran = quire("claim", "src/a.py", *options, claim=reply)
    asked = {"kind": "shared", "start_line": 1, "end_line": 4, "ttl_s": 60, "reason": "tidying", "wait_ms": 5000}
    assert ran.asked == [("claim", {"path": "src/a.py", **asked, "dry_run": True})]
    assert ran.out == (
        "src/a.py is yours.\nLease 18\n  17  intent  until 2026-01-31 12:00:00Z  bob/s2  src/a.py:3-9  rewriting\n"
    )
    assert quire("claim", "src/*.py").asked == [("claim", {"path": "src/*.py"})]
    assert quire("claim", "--renew", "17", "--ttl", "9").asked == [("claim", {"renew": 17, "ttl_s": 9})]


def test_a_claim_of_what_another_holds_ends_with_6(quire: Quire) -> None:
    refusal = {"ok": False, "error": "lease_held", "message": "bob has it.", "suggested_action": "wait"}
    ran = quire("claim", "src/a.py", claim=refusal)
    told = "`quire claims` says who holds it, and until when; `quire claim PATH --wait SECONDS` waits for it, "
    told += "`quire release PATH --force` takes it away"
    assert (ran.status, ran.out, ran.err) == (6, "", f"bob has it. [lease_held]\nNext: {told}.\n")


def test_release_names_a_path_a_lease_or_all(quire: Quire, site: Path) -> None:
    ran = quire("release", "src/a.py", release={"ok": True, "message": "1 lease released."})
    assert (ran.asked, ran.out) == ([("release", {"path": "src/a.py"})], "1 lease released.\n")
    broken = {"lease": 17, "force": True, "reason": "bob hangs"}
    assert quire("release", "--lease", "17", "--force", "--reason", "bob hangs").asked == [("release", broken)]
    assert quire("release", "--all").asked == [("release", {"all": True})]
    assert quire("release", "--force").err == "quire: Say which: PATH, LEASE or --all.\n"
    assert quire("release", "17", "--force").asked == [("release", {"lease": 17, "force": True})]  # as `claims` has it
    (site / "17").touch()
    assert quire("release", "17").asked == [("release", {"path": "17"})]
    assert quire("claim", "--kind", "shared").err == "quire: PATH is missing: `quire claim PATH`.\n"


def test_claims_lists_what_is_held_who_waits_and_what_was_broken(quire: Quire) -> None:
    mine = {**LEASE, "lease": 9, "yours": True, "lines": None, "reason": ""}
    waits = {**LEASE, "lease": None, "expires_at": None, "lines": None, "holder": {"id": "w5", "agent": ""}}
    broken = [{**mine, "broken_by": WRITER, "broken_why": "stuck"}]
    reply = {"ok": True, "message": "2 leases.", "leases": [mine, LEASE], "waiting": [waits], "broken": broken}
    ran = quire("claims", "src", claims=reply)
    assert ran.asked == [("claims", {"path": "src"})]
    assert ran.out == (
        "2 leases.\n"
        "  9      exclusive  until 2026-01-31 12:00:00Z  you     src/a.py\n"
        "  17     exclusive  until 2026-01-31 12:00:00Z  bob/s2  src/a.py:3-9  rewriting\n"
        "  waits  exclusive                              user    src/a.py      rewriting\n"
        "Your lease 9 on src/a.py was broken by alice/s1: stuck\n"
    )
    assert quire("claims", claims={"ok": True, "message": "0 leases.", "leases": []}).out == "0 leases.\n"


def test_verify_ends_with_7_when_something_is_wrong(quire: Quire) -> None:
    assert quire("verify", verify={"ok": True, "message": "The journal is sound.", "findings": []}).status == 0
    damaged = {"ok": False, "error": "journal_damaged", "message": "2 findings.", "findings": ["a", "b"]}
    ran = quire("verify", verify=damaged)
    assert (ran.status, ran.err) == (7, "2 findings. [journal_damaged]\n  a\n  b\n")


def test_doctor_without_a_daemon_checks_this_side(quire: Quire, site: Path) -> None:
    ran = quire("doctor", runs=False)
    state, runtime = place_of(site).state, place_of(site).socket.parent
    assert ran.out == (
        f"ok    client          quire {VERSION}\n"
        f"ok    workspace       {site}\n"
        f"ok    state folder    {state}\n"
        f"ok    runtime folder  {runtime}\n"
        "ok    settings        no files; the defaults hold\n"
        "ok    daemon          not running; the next call starts it\n"
        "All is well.\n"
    )
    assert ran.status == 0


@pytest.mark.parametrize("runs", [False, True])
def test_doctor_names_the_files_of_agents_that_cannot_be_read(quire: Quire, site: Path, runs: bool) -> None:
    (site / ".mcp.json").write_text('{\n  "mcpServers": {,}\n}\n')
    (site / ".codex").mkdir()
    (site / ".codex" / "config.toml").write_text("[mcp_servers\n")
    (site / ".cursor").mkdir()
    (site / ".cursor" / "mcp.json").write_bytes(b"\xff")
    (site / ".gemini").mkdir()
    (site / ".gemini" / "settings.json").write_text("{}")
    ran = quire("doctor", "--json", runs=runs, doctor={"ok": True, "checks": []}, status={"ok": True})
    told = {check["name"]: check["detail"] for check in json.loads(ran.out)["checks"] if not check["ok"]}
    assert ran.status == 1
    assert told.pop("files of claude-code").startswith(f"{site / '.mcp.json'} cannot be read: line 2")
    assert told.pop("files of codex").startswith(f"{site / '.codex/config.toml'} cannot be read: Expected ']'")
    assert told.pop("files of cursor") == f"{site / '.cursor/mcp.json'} cannot be read: it is not UTF-8; " + (
        "mend it, then `quire setup cursor`"
    )
    assert not told


def test_doctor_fails_when_a_check_of_the_daemon_does(quire: Quire, site: Path) -> None:
    checks = [{"name": "watcher", "ok": False, "detail": "blind"}]
    make_private_folder(place_of(site).state)
    with hold_lock(place_of(site).lock):
        ran = quire(
            "doctor",
            "--json",
            doctor={"ok": True, "checks": checks},
            status={"ok": True, "pid": 7, "versions": {"daemon": VERSION}},
        )
    reply = json.loads(ran.out)
    assert (ran.status, reply["healthy"], reply["checks"][-1]) == (1, False, checks[0])
    assert reply["checks"][-2] == {"name": "daemon", "ok": True, "detail": f"pid 7, version {VERSION}"}


def test_doctor_sees_an_older_daemon(quire: Quire, site: Path) -> None:
    with hold_lock(place_of(site).lock):
        ran = quire("doctor", doctor={"ok": True}, status={"ok": True, "versions": {"daemon": "0.0.1"}})
    assert ran.status == 1
    assert "BAD   daemon          pid ?, version 0.0.1; this client is" in ran.out


def test_doctor_says_why_a_folder_cannot_be_a_workspace(quire: Quire, tmp_path: Path) -> None:
    ran = quire("doctor", "-C", str(tmp_path / "home"))
    assert ran.status == 1
    assert "is your home folder" in ran.out


def test_adopt_gives_a_moved_folder_its_journal_back(quire: Quire, site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    after = site.rename(site.with_name("moved"))
    monkeypatch.chdir(after)
    ran = quire("adopt")
    assert (ran.status, ran.out) == (0, f"{after} has its journal back.\n")
    assert quire("adopt", "-C", "..").status == 1


# -- streams -----------------------------------------------------------------------------------------------------


def test_a_terminal_without_unicode_still_gets_the_output(site: Path) -> None:
    settings = {**os.environ, "PYTHONIOENCODING": "ascii"}
    code = (
        "import sys; from quire_client.__main__ import main; sys.exit(main(['read', '\\u00fc', '--lines', 'x\\u00fc']))"
    )
    ran = subprocess.run([sys.executable, "-c", code], env=settings, capture_output=True, cwd=site)
    assert ran.returncode == 2
    assert b"x\\xfc" in ran.stderr


def test_help_loads_neither_the_socket_nor_other_commands() -> None:
    code = "import sys; from quire_client.__main__ import main; main(['help', 'log']); print(sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for absent in ("'zmq'", "'msgspec'", "'click'", "'rich'", "'argparse'", "'quire_client.commands.up'"):
        assert absent not in loaded


def test_an_invocation_knows_whether_a_person_watches() -> None:
    assert not Invocation([], {"json": ""}, {}).person_watches


def test_undo_tells_that_a_file_goes_back_to_how_it_was_first_seen_and_why(quire: Quire) -> None:
    first = {"version": "v3", "writer": {"id": "outside"}, "why": "it was there."}
    files = [{"path": "z", "action": "write", "kept": [], "conflicts": [], "first_seen": first, "skipped": None}]
    ran = quire("undo", "z", undo={"ok": True, "message": "Undid 1 file.", "files": files})
    assert ran.out == "Undid 1 file.\n  write   z\n          back to v3 only: it was there.\n"


def test_undo_tells_who_is_in_the_way_with_what_and_where_markers_stand(quire: Quire) -> None:
    conflicts = [
        {"writer": WRITER, "version": "v812", "why": "lines", "lines": [{"start": 3, "end": 3}]},
        {"writer": {"id": "outside"}, "version": "v9", "why": "deleted", "lines": []},
    ]
    files = [{"path": "a.py", "action": "write", "conflicts": conflicts, "marked": 1}]
    ran = quire("undo", "a", "b", "--burst", "7", "--conflicts", "markers", undo={"ok": True, "files": files})
    assert ran.asked == [("undo", {"paths": ["a", "b"], "burst": 7, "conflicts": "markers"})]
    assert ran.out == (
        "\n"
        "  write   a.py\n"
        "          conflict: alice/s1 built on it with v812 (line 3)\n"
        "          conflict: outside deleted it with v9\n"
        "          1 place with both sides, between conflict markers\n"
    )
    assert quire("undo", "--conflicts", "fight").status == 2


def test_redo_takes_the_same_choice(quire: Quire) -> None:
    assert quire("redo").asked == [("redo", {})]
    assert quire("redo", "--batch", "812", "--plan").asked == [("redo", {"batch": 812, "plan": True})]
    assert quire("redo", "--burst", "last").status == 2


def test_rollback_takes_a_point_paths_and_whose_work(quire: Quire) -> None:
    ran = quire("rollback", "before", "src", "--only", "alice", "--plan")
    assert ran.asked == [("rollback", {"to": "before", "path": "src", "writer": "alice", "plan": True})]
    assert quire("rollback", "--token", "T").asked == [("rollback", {"token": "T"})]
    assert quire("rollback", "v1", "--writer", "bo").asked == [("rollback", {"to": "v1", "writer": "bo"})]
    ran = quire("rollback")
    assert (ran.status, ran.err) == (2, "quire: POINT is missing: `quire rollback POINT [PATH ...]`.\n")


def test_checkpoints_are_named_listed_and_compared(quire: Quire) -> None:
    lost = {"count": 3, "files": [{"path": "big", "why": "too_large"}], "more": 2, "never": "what is ignored"}
    made = {"ok": True, "message": "Checkpoint 'here' is at seq:9.", "note": "green", "not_captured": lost}
    ran = quire("checkpoint", "create", "here", "--note", "green", checkpoint=made)
    assert ran.asked == [("checkpoint", {"action": "create", "name": "here", "note": "green"})]
    assert ran.out == (
        "Checkpoint 'here' is at seq:9.\n  green\n  not captured: big (too_large)\n  and 2 more\n"
        "  never captured: what is ignored\n"
    )
    named = {"name": "here", "seq": 9, "at": "2026-01-31T12:00:00Z", "writer": WRITER, "not_captured": {"count": 3}}
    ran = quire("checkpoint", checkpoint={"ok": True, "checkpoints": [named]})
    assert ran.asked == [("checkpoint", {"action": "list"})]
    assert ran.out == "here  seq:9  2026-01-31 12:00:00Z  alice/s1  3 not captured\n"
    compared = {"ok": True, "files": [], "not_captured": {"count": 1, "blind": "overflow"}}
    ran = quire("checkpoint", "diff", "here", "src", "--to", "v12", checkpoint=compared)
    assert ran.asked == [("checkpoint", {"action": "diff", "name": "here", "paths": ["src"], "to": "v12"})]
    told = "  1 file not captured\n  the journal may not have known everything: overflow\n"
    assert ran.out == f"Nothing differs.\n{told}"


@pytest.mark.parametrize("words", [["forget", "it"], ["create"], ["show", "a", "b"], ["list", "a"]])
def test_checkpoint_wants_what_it_can_do(words: list[str], quire: Quire) -> None:
    assert quire("checkpoint", *words).status == 2


def test_burst_begin_prints_the_number_for_scripts_and_the_sentence_beside_it(quire: Quire) -> None:
    reply = {"ok": True, "message": "Burst 12 has begun.", "burst": 12, "warnings": [{"message": "Careful."}]}
    ran = quire("burst", "begin", "make format", "--kind", "formatter", "--ttl", "60", "--not-outside", burst=reply)
    asked = {"action": "begin", "label": "make format", "kind": "formatter", "ttl_s": 60, "outside": False}
    assert ran.asked == [("burst", asked)]
    assert (ran.out, ran.err) == ("12\n", "Burst 12 has begun.\nCareful.\n")


def test_bursts_are_ended_listed_and_shown(quire: Quire) -> None:
    burst = {"burst": 12, "began_at": "2026-01-31T12:00:00Z", "owner": WRITER, "state": "ended", "why": "ttl"}
    burst |= {"batches": 1, "kind": "git", "label": "switch"}
    ran = quire("burst", "end", burst={"ok": True, "message": "Burst 12 has ended.", **burst})
    assert ran.asked == [("burst", {"action": "end"})]
    assert ran.out == "Burst 12 has ended.\nTo take it back: quire undo --burst 12\n"
    empty = {"ok": True, "message": "Burst 13 has ended: 0 batches.", "burst": 13, "batches": 0, "outside": False}
    said = "Burst 13 has ended: 0 batches.\nWhat is written past Quire belongs to a burst that began with --outside.\n"
    assert quire("burst", "end", burst=empty).out == said
    row = "12  2026-01-31 12:00:00Z  alice/s1  ended (ttl)  1 batch  git  switch\n"
    assert quire("burst", burst={"ok": True, "bursts": [burst]}).out == row
    contents = [{"batch": 13, "at": "2026-01-31T12:00:01Z", "writer": {"id": "outside"}, "paths": ["a", "b"]}]
    contents += [{**contents[0], "belongs": False, "evidence": "scanned", "paths_more": 3}]
    ran = quire("burst", "show", "12", burst={"ok": True, **burst, "contents": contents, "more": 4})
    assert ran.asked == [("burst", {"action": "show", "burst": 12})]
    assert ran.out == (
        f"{row}"
        "  13  2026-01-31 12:00:01Z  outside                        a, b\n"
        "  13  2026-01-31 12:00:01Z  outside  may belong (scanned)  a, b and 3 more\n"
        "  and 4 more\n"
    )


@pytest.mark.parametrize("words", [["stop"], ["show"], ["end", "the-last"], ["list", "3"], ["begin", "a", "b"]])
def test_burst_wants_what_it_can_do(words: list[str], quire: Quire) -> None:
    assert quire("burst", *words).status == 2


def test_who_shows_a_caller_once_and_says_how_many_writers_it_was(quire: Quire) -> None:
    ann = {"id": "w8", "agent": "ann", "agent_session": "s1", "turns": 6, "ids": ["w8", "w5"], "present": True}
    ben = {"id": "w9", "agent": "ben", "agent_session": "s2", "turns": 1, "ids": ["w9"], "connections": 1}
    out = quire("who", who={"ok": True, "writers": [ann, ben], "total": 2}).out
    assert out == "w8 and 5 before  ann/s1    present\nw9               ben/s2    connected\n"


def test_who_lists_who_is_present_and_on_what(quire: Quire) -> None:
    lease = {"kind": "exclusive", "path": "src"}
    on = {"files": [{"path": "a.py"}, {"path": "b.py"}], "leases": [lease], "bursts": [{"burst": 12, "label": "fmt"}]}
    ann = {**WRITER, "turn": "t9", "you": True, "present": True, "connections": 1, "alive": True, "on": on}
    user = {"id": "w1", "uid": 1000, "present": True, "connections": 0, "alive": False, "last_seen": None}
    cleo = {"id": "w2", "agent": "cleo", "present": True, "connections": 0, "alive": None, "hooks": True}
    reply = {"ok": True, "writers": [{**ann, "last_seen": "2026-01-31T12:00:00Z"}, user, cleo], "total": 6}
    ran = quire("who", "--limit", "2", who=reply)
    assert ran.asked == [("who", {"present": True, "limit": 2})]
    assert ran.out == (
        "w3  alice/s1 (you)  turn t9  connected                            2026-01-31 12:00:00Z  "
        "exclusive lease on src; burst 12 fmt; a.py, b.py\n"
        "w1  user                     present, its last process has ended\n"
        "w2  cleo                     present, heard of by its hooks\n"
        "and 3 more; --all lists them\n"
    )
    assert quire("who", "--all", "--minutes", "0.5").asked == [("who", {"present": False, "minutes": 0.5})]
    assert quire("who", who={"ok": True, "writers": [], "total": 0}).out == "Nobody is there.\n"
    assert quire("who", "--minutes", "many").status == 2


def test_an_agent_is_told_what_was_changed_since_it_read_it_and_a_person_is_not(quire: Quire) -> None:
    entry = {"path": "a.py", "writer": {"id": "outside"}, "at": "2026-01-31T12:00:00Z", "hint": "git pull (bo/s2)"}
    told = {"ok": True, "writers": [], "total": 0, "changed_since_your_read": [entry]}
    said = "a.py was changed since you read it, by outside at 2026-01-31 12:00:00Z (git pull (bo/s2)).\n"
    assert quire("who", "--agent", "ada", who=told).err == said
    assert quire("who", who=told).err == ""
    assert quire("who", "--agent", "ada", "--json", who=told).err == ""
    told["changed_since_your_read"] = [{**entry, "path": "my a.py", "since": "v9"}]
    assert quire("who", "--agent", "ada", who=told).err.endswith("; see `quire diff v9.. 'my a.py'`.\n")
    told["changed_since_your_read"] = [{**entry, "writer": WRITER}, entry]
    by = "a.py was changed since you read it, by alice/s1 and outside, last at 2026-01-31 12:00:00Z"
    assert quire("who", "--agent", "ada", who=told).err.startswith(by)


# -- watch -------------------------------------------------------------------------------------------------------


def feed(*replies: dict[str, Any] | Exception) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Answers to `since`, one after the other; then somebody types Ctrl-C."""
    left = list(replies)

    def answer(asked: dict[str, Any]) -> dict[str, Any]:
        if not left:
            raise KeyboardInterrupt
        reply = left.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply

    return answer


def page(cursor: str, *records: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"ok": True, "records": list(records), "cursor": cursor, "more": False, "fresh": False, **more}


RECORD = {
    "seq": 812,
    "at": "2026-01-31T12:00:00Z",
    "kind": "outside_written",
    "path": "a.py",
    "version": "v812",
    "writer": {"id": "outside", "type": "outside"},
    "hint": "git checkout main (ada/s1)",
}


def test_watch_prints_a_line_for_each_record_and_ends_with_0_when_it_is_interrupted(quire: Quire) -> None:
    ran = quire("watch", "src", "--writer", "outside", since=feed(page("c1"), page("c3", RECORD), page("c4")))
    assert ran.status == 0
    filters = {"writer": "outside", "path": "src"}
    assert [asked.get("cursor") for _, asked in ran.asked] == [None, "c1", "c3", "c4"]
    assert all({**asked, **filters} == asked for _, asked in ran.asked)
    assert all(asked["wait_ms"] > 0 for _, asked in ran.asked[1:])
    assert ran.out == "2026-01-31 12:00:00Z  v812  outside  outside written  a.py  [git checkout main (ada/s1)]\n"
    assert ran.err == "To go on from here: --cursor c4\n"


def test_watch_goes_on_from_a_cursor_and_prints_one_json_object_a_line(quire: Quire) -> None:
    ran = quire("watch", "--cursor", "c2", "--json", since=feed(page("c3", RECORD, RECORD, fresh=True)))
    assert [asked["cursor"] for _, asked in ran.asked] == ["c2", "c3"]
    assert [json.loads(line)["seq"] for line in ran.out.splitlines()] == [812, 812]
    assert (ran.status, ran.err) == (0, "")


def test_watch_waits_for_the_next_daemon_and_asks_it_with_the_cursor_of_the_last(
    quire: Quire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quire_client.commands.watch.AGAIN_S", 0.0)
    answers = feed(page("c1"), page("c3", RECORD), NoReply("The daemon ended during the call."), page("c5", RECORD))
    ran = quire("watch", since=answers)
    assert [asked.get("cursor") for _, asked in ran.asked] == [None, "c1", "c3", "c3", "c5"]
    assert [wanted.start for wanted in ran.opener.wanted] == [True, False]
    assert len(ran.out.splitlines()) == 2
    assert "The daemon ended; waiting for the next one.\n" in ran.err


def test_a_refusal_ends_a_watch(quire: Quire) -> None:
    refusal = {"ok": False, "error": "schema_invalid", "message": "There is no such kind."}
    ran = quire("watch", "--kind", "x", since=refusal)
    assert (ran.status, ran.err) == (1, "There is no such kind. [schema_invalid]\n")
    assert quire("watch", "--kind", "x", "--json", since=refusal).status == 1


# -- since -------------------------------------------------------------------------------------------------------


def test_since_without_a_cursor_prints_the_one_of_now(quire: Quire) -> None:
    ran = quire("since", since={"ok": True, "records": [], "cursor": "c4.ab", "more": False})
    assert (ran.status, ran.out, ran.err) == (0, "c4.ab\n", "")
    assert ran.asked == [("since", {})]


def test_since_a_cursor_prints_all_that_came_after_it_and_the_next_cursor(quire: Quire) -> None:
    pages = {None: page("c3", RECORD, more=True), "c3": page("c4", RECORD, more=False)}
    first = {"cursor": "c2", "path": "src", "writer": "outside", "kind": "file_written", "wait_ms": 1500}

    def answer(asked: dict[str, Any]) -> dict[str, Any]:
        return pages[None if asked["cursor"] == "c2" else asked["cursor"]]

    words = ("since", "c2", "src", "--writer", "outside", "--kind", "file_written", "--wait", "1.5")
    ran = quire(*words, since=answer)
    assert ran.asked == [("since", first), ("since", {**first, "cursor": "c3", "wait_ms": 0})]
    row = "2026-01-31 12:00:00Z  v812  outside  outside written  a.py  [git checkout main (ada/s1)]\n"
    assert (ran.status, ran.out, ran.err) == (0, row * 2, "The next cursor is c4\n")
    told = json.loads(quire(*words, "--json", since=answer).out)
    assert (len(told["records"]), told["cursor"]) == (2, "c4")


def test_since_tells_no_more_than_is_wanted_and_says_that_there_is_more(quire: Quire) -> None:
    ran = quire("since", "c2", "--limit", "1", since=page("c3", RECORD, more=True, fresh=True))
    assert ran.asked == [("since", {"cursor": "c2", "limit": 1})]
    assert ran.err == (
        "The cursor is of no use here; this is everything from the beginning.\nThere is more.\nThe next cursor is c3\n"
    )


def test_since_says_that_nothing_came_and_how_long_it_can_wait(quire: Quire) -> None:
    ran = quire("since", "c2", since=page("c2"))
    assert (ran.out, ran.err) == ("Nothing was recorded since.\n", "The next cursor is c2\n")
    for wrong in ("soon", "61", "-1", "nan"):
        ran = quire("since", "c2", "--wait", wrong)
        assert (ran.status, ran.asked) == (2, [])
        assert "at most 60" in ran.err


# -- env ---------------------------------------------------------------------------------------------------------


def test_env_prints_what_a_shell_needs_to_let_git_say_who_runs_it(quire: Quire, site: Path) -> None:
    ran = quire("env", "--agent", "ada l", "--session", "s1")
    trace = trace_socket(place_of(site).socket)
    assert ran.out == (
        f"export GIT_TRACE2_EVENT=af_unix:stream:{trace}\n"
        "export GIT_TRACE2_ENV_VARS=QUIRE_AGENT,QUIRE_SESSION\n"
        "export QUIRE_AGENT='ada l'\n"
        "export QUIRE_SESSION=s1\n"
    )
    assert ran.asked == []
    assert trace.is_absolute()


def test_env_keeps_what_others_want_git_to_tell(quire: Quire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_TRACE2_ENV_VARS", "CI,QUIRE_AGENT")
    monkeypatch.setenv("QUIRE_AGENT", "bo")
    told = json.loads(quire("env", "--json").out)["env"]
    assert told["GIT_TRACE2_ENV_VARS"] == "CI,QUIRE_AGENT,QUIRE_SESSION"
    assert told["QUIRE_AGENT"] == "bo"
    assert "unset GIT_TRACE2_EVENT\n" in quire("env", "--unset").out
