"""The command line: what it prints, what it asks for, and the status it ends with. The texts are exact."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from fake_line import FakeOpener

import quire_client.commands
from quire_client.__main__ import main
from quire_client.commands import COMMANDS
from quire_client.commands.base import COMMON, Command, Invocation, path_at
from quire_journal import VERSION
from quire_journal.places import Running, hold_lock, make_private_folder, place_of, settle

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


# -- help --------------------------------------------------------------------------------------------------------


def test_without_a_command_the_help_lists_all_of_them(quire: Quire) -> None:
    ran = quire()
    assert ran.status == 0
    for name, summary in COMMANDS.items():
        assert f"  {name:<7}  {summary}\n" in ran.out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(name: str, quire: Quire) -> None:
    asked = [quire("help", name), quire(name, "--help"), quire(name, "-h")]
    assert len({ran.out for ran in asked}) == 1
    assert {ran.status for ran in asked} == {0}
    text = asked[0].out
    assert text.startswith(f"{COMMANDS[name]}.\n\nUsage: quire {name}")
    assert f"\nExample:\n\n  quire {name}" in text
    assert "--json" in text
    assert max(map(len, text.splitlines())) <= 120


@pytest.mark.parametrize("name", COMMANDS)
def test_every_commands_example_can_be_read_as_it_stands(name: str) -> None:
    """Its options exist. (What the words mean is up to the command.)"""
    command: Command = import_module(f"quire_client.commands.{name}").COMMAND
    known = {f"--{option.name}" for option in (*COMMON, *command.options)} | {"-C"}
    assert {word for word in command.example.split() if word.startswith("-")} <= known


@pytest.mark.parametrize("name", COMMANDS)
def test_no_option_of_a_command_hides_a_common_one(name: str) -> None:
    command: Command = import_module(f"quire_client.commands.{name}").COMMAND
    names = [option.name for option in (*COMMON, *command.options)]
    assert len(names) == len(set(names))
    assert all(option.meaning for option in command.options)


def test_every_file_of_commands_is_in_the_table() -> None:
    folder = Path(quire_client.commands.__path__[0])
    assert {path.stem for path in folder.glob("*.py")} - {"__init__", "base"} == set(COMMANDS)


def test_the_version_is_one_line(quire: Quire) -> None:
    assert quire("--version").out == f"quire {VERSION}\n"


# -- usage -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["fly"], "There is no command 'fly'; `quire help` lists them."),
        (["--fly"], "Option --fly not recognized."),
        (["log", "--limit"], "Option --limit requires argument."),
        (["log", "--limit", "many"], "--limit wants a whole number, not 'many'."),
        (["log", "a", "b"], "There is no use for 'b'."),
        (["read"], "PATH is missing."),
        (["read", "a", "--lines", "x"], "--lines wants A:B, A:, :B or A, not 'x'."),
        (["read", "a", "--lines", ":"], "--lines wants A:B, A:, :B or A, not ':'."),
        (["call"], "TOOL is missing."),
        (["call", "edit", "[]"], "The arguments must be one JSON object."),
        (["diff"], "A..B is missing."),
        (["diff", "..v2"], "A..B begins with a point, not with '..v2'."),
        (["restore", "a.py"], "PATH@POINT names a path and a point; 'a.py' does not."),
        (["restore"], "PATH@POINT is missing."),
        (["status", "--timeout", "soon"], "--timeout wants a number of seconds, not 'soon'."),
        (["status", "--timeout", "0"], "--timeout wants a number of seconds, not '0'."),
    ],
)
def test_a_wrong_command_line_is_a_sentence_and_status_2(words: list[str], sentence: str, quire: Quire) -> None:
    ran = quire(*words)
    assert (ran.status, ran.out, ran.err) == (2, "", f"quire: {sentence}\n")
    assert not ran.asked


def test_json_is_asked_for_also_where_the_command_line_is_wrong(quire: Quire) -> None:
    ran = quire("read", "--json")
    assert ran.status == 2
    assert json.loads(ran.out) == {"ok": False, "error": "usage", "message": "PATH is missing."}
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
    assert ran.err == f"It was refused. [{code}]\nNext: re-read_file\n"
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
    assert (ran.status, ran.err) == (1, f"quire: {tmp_path / 'missing'} is not a folder.\n")


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


def test_a_path_that_is_not_utf8_is_escaped_as_it_is_in_the_journal(quire: Quire) -> None:
    assert quire("read", "caf\udce9 %").asked == [("read_file", {"path": "%/caf%E9%20%25"})]


def test_a_path_may_hold_the_sign_that_parts_it_from_its_point() -> None:
    assert path_at("a@b.py@v3") == ("a@b.py", "v3")
    assert path_at("a.py") == ("a.py", "")


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
    }
    ran = quire("status", status=reply)
    assert ran.out == (
        f"workspace   {site}\n"
        "state       /state\n"
        f"daemon      pid 7, client {VERSION}, daemon {VERSION}, journal_format 1\n"
        "journal     record 812, 640 versions, 3.0 MiB\n"
        "capture     5 of 1000 files\n"
        "coverage    degraded since 2026-01-31 12:00:00Z: the watcher is blind\n"
        "protection  lease, exchange active; openat2 not available here\n"
        "writers     alice/s1, outside\n"
    )


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
    ]
    ran = quire(
        "log", "src", "--limit", "3", "--oldest", "--kind", "k", log={"ok": True, "records": records, "next": "c8"}
    )
    assert ran.asked == [("log", {"path": "src", "kind": "k", "limit": 3, "order": "oldest"})]
    assert ran.out == (
        "2026-01-31 12:00:00Z  v812   alice/s1  file written      a b.py\n"
        "2026-01-31 12:00:00Z  v9     outside   file moved        x -> y\n"
        "2026-01-31 12:00:00Z  seq:8  w3        checkpoint named  before\n"
    )
    assert ran.err == "There is more: --cursor c8\n"


def test_a_log_of_nothing_says_so(quire: Quire) -> None:
    assert quire("log", log={"ok": True, "records": [], "next": None}).out == "Nothing is recorded there.\n"


def test_show_prints_the_text_and_tells_beside_it_who_wrote_it(quire: Quire) -> None:
    record = {"seq": 812, "at": "2026-01-31T12:00:00Z", "kind": "file_written", "path": "a.py", "version": "v812"}
    ran = quire("show", "v812", show={"ok": True, "record": {**record, "writer": WRITER}, "content": "x\ny"})
    assert ran.asked == [("show", {"version": "v812"})]
    assert (ran.out, ran.err) == ("x\ny", "2026-01-31 12:00:00Z  v812  alice/s1  file written  a.py\n")


def test_show_takes_a_path_at_a_point_and_all_pages(quire: Quire) -> None:
    def show(args: dict[str, Any]) -> dict[str, Any]:
        if "start_line" in args:
            return {"ok": True, "content": "3\n"}
        return {"ok": True, "content": "1\n2\n", "truncated": True, "next_line": 3}

    ran = quire("show", "src/a.py@seq:9", show=show)
    assert ran.asked[0] == ("show", {"path": "src/a.py", "version": "seq:9"})
    assert ran.out == "1\n2\n3\n"


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
    assert quire("cat", "a", read_file={"ok": False, "error": "binary_file", "message": "No."}).status == 1


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
        "ok    daemon          not running; the next call starts it\n"
        "All is well.\n"
    )
    assert ran.status == 0


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


def test_a_reader_that_has_seen_enough_is_no_fault() -> None:
    code = "import sys; from quire_client.__main__ import main; sys.exit(main(['help', 'log']))"
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as closed:
        ran = subprocess.run([sys.executable, "-c", code], stdout=closed, stderr=subprocess.PIPE)
    assert (ran.returncode, ran.stderr) == (0, b"")


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
