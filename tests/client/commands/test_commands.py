"""The command line as a whole: help, usage, how a refusal is told, and the status at the end. The texts are exact."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from shlex import quote
from typing import Any

import pytest
from command_line import Quire

import quire_client.commands
from quire_client.commands.base import Command, Invocation
from quire_client.commands.options import COMMON
from quire_client.commands.table import COMMANDS, offered
from quire_client.hub import join
from quire_journal import VERSION
from quire_journal.workspaces import place_of

# -- help --------------------------------------------------------------------------------------------------------


def test_without_a_command_the_help_lists_all_of_them(quire: Quire) -> None:
    ran = quire()
    assert ran.status == 0
    for name, summary in COMMANDS.items():
        assert f"  {name:<{max(map(len, COMMANDS))}}  {summary}\n" in ran.out


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
    command: Command = offered(name)
    known = {f"--{option.name}" for option in (*COMMON, *command.options)} | {"-C"}
    own = command.example.partition(" -- ")[0]
    assert {word for word in own.split() if word.startswith("-")} <= known


@pytest.mark.parametrize("name", COMMANDS)
def test_no_option_of_a_command_hides_a_common_one(name: str) -> None:
    command: Command = offered(name)
    names = [option.name for option in (*COMMON, *command.options)]
    assert len(names) == len(set(names))
    assert all(option.meaning for option in command.options)


PARTS = ("consent", "diff_text", "entry_points")
"""Modules of a room that are parts of a command."""


def test_every_file_of_commands_is_in_the_table() -> None:
    rooms = Path(quire_client.commands.__path__[0])
    assert {path.stem for path in rooms.glob("*/*.py")} - {"__init__", *PARTS} == {
        name.replace("-", "_") for name in COMMANDS
    }


def test_the_version_is_one_line(quire: Quire) -> None:
    assert quire("--version").out == f"quire {VERSION}\n"


# -- usage -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["fly"], "There is no command 'fly'; `quire help` lists them."),
        (["lgo"], "There is no command 'lgo'; `quire help` lists them. Did you mean log?"),
        (["edit"], "edit is a tool: `quire call edit JSON` calls it, `quire call edit --help` explains it."),
        (["write"], "There is no command 'write'; `quire help` lists them. Did you mean write_file?"),
        (["log", "--limit"], "--limit wants N: at most so many, as -5; 15 stories or 50 records if not said."),
        (["undo", "--token", ""], "--token wants TOKEN: carry out this plan, unless something moved."),
        (["undo", "--from="], "--since wants POINT: batches after it."),
        (["log", "-S"], "--changed-text wants TEXT: changes after which TEXT occurs more or less often than before."),
        (["log", "--oldest=yes"], "Option --oldest must not have an argument."),
        (["undo", "--from"], "--since wants POINT: batches after it."),
        (["export", "--t", "x"], "--t may be --timeout or --to."),
        (["log", "--un", "x", "--c", "y"], "--c may be --changed-text, --commit, --contains or --cursor."),
        (["log", "--limit", "many"], "--limit wants a whole number of at most 18 digits, not 'many'."),
        (["log", "--limit", "9" * 19], f"--limit wants a whole number of at most 18 digits, not '{'9' * 19}'."),
        (["log", "a", "b"], "Unexpected argument 'b'. Usage: `quire log [PATH]`; a glob wants quotes."),
        (["cat", "a", "b"], "Unexpected argument 'b'. Usage: `quire cat PATH[@POINT]`."),
        (["down", "src", "b"], "Unexpected argument 'b'. Usage: `quire down [PATH]`."),
        (["checkpoint", "list", "x"], "Unexpected argument 'x'. Usage: `quire checkpoint list`."),
        (["checkpoint", "drop", "a", "b"], "Unexpected argument 'b'. Usage: `quire checkpoint drop NAME`."),
        (
            ["burst", "begin", "the", "tree"],
            "Unexpected argument 'tree'. Usage: `quire burst begin LABEL`; a LABEL of several words wants quotes.",
        ),
        (["export", "jsonl", "--out", "no/file"], "--out: no is not a folder; make it first."),
        (["read"], "PATH is missing: `quire read PATH`."),
        (["read", "a", "--lines", "x"], "--lines wants A:B, A:, :B or A, not 'x'."),
        (["read", "a", "--lines", ":"], "--lines wants A:B, A:, :B or A, not ':'."),
        (["read", "a", "--lines", "9" * 5000], f"--lines wants A:B, A:, :B or A, not '{'9' * 40}'."),  # int() raises
        (["help", "log", "x"], "Unexpected argument 'x'. `quire help COMMAND` explains one command."),
        (
            ["log", "--kind", "first seen"],
            "--kind: what is `first seen` is an 'outside written' that was there when the journal began.",
        ),
        (["burst", "end", "9" * 5000], f"N is the number of a burst, not '{'9' * 40}'."),
        (["blame"], "PATH is missing: `quire blame PATH`."),
        (["rollback", "v1", ""], "A path is empty; `.` names the whole folder."),
        (["claim", ""], "A path is empty; `.` names the whole folder."),
        (["rollback"], "POINT is missing: `quire rollback POINT [PATH ...]`."),
        (["checkpoint", "v 1"], "`quire checkpoint create 'v 1'` gives this moment that name; `show` tells of one."),
        (["checkpoint", "create"], "NAME is missing: `quire checkpoint create NAME`."),
        (["completion"], "SHELL is missing: `quire completion SHELL`, where SHELL is bash, zsh or fish."),
        (["blame", "a", "-L", "x,"], "--lines wants A:B, A:, :B or A, not 'x,'."),
        (["call"], "TOOL is missing: `quire call TOOL [JSON | -]`."),
        (
            ["call", "edit", "[]"],
            "The arguments must be one JSON object. `quire call edit --help` tells what it takes.",
        ),
        (["since", "--stat"], "There is no option --stat here; --state-dir, which begins so, wants DIR."),
        (["diff", "..v2"], "A..B has two dots and a point in front of them: `quire diff v10..v12`, not '..v2'."),
        (
            ["diff", "main...work"],
            "main...work is in git what work has since both parted: `quire diff $(git merge-base main work)..work` "
            "shows it, `quire diff main..work` how the two differ.",
        ),
        (["diff", "v1", "--stat", "--name-only"], "--stat and --name-only do not go together."),
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
            "AGENT is claude-code, codex, cursor, gemini, opencode, git or git-hooks, not 'claude'. "
            "Did you mean claude-code?",
        ),
        (["status", "--timeout", "0"], "--timeout wants a number of seconds, not '0'."),
    ],
)
def test_a_wrong_command_line_is_a_sentence_and_status_2(words: list[str], sentence: str, quire: Quire) -> None:
    ran = quire(*words)
    assert (ran.status, ran.out, ran.err) == (2, "", f"quire: {sentence}\n")
    assert not ran.asked


def test_an_unknown_option_is_answered_with_the_known_ones(quire: Quire) -> None:
    ran = quire("who", "--minuts", "3")
    nearest, listed = ran.err.split("? ")
    assert (ran.status, nearest) == (2, "quire: `quire who` has no option --minuts. Did you mean --minutes")
    assert listed == "It has --all, --all-checkouts, --limit, --minutes, beside those of every command.\n"
    assert quire("down", "--fly").err == "quire: `quire down` has no option --fly.\n"
    assert quire("--fly").err.startswith("quire: `quire` has no option --fly. It has --agent, ")


def test_json_is_asked_for_also_where_the_command_line_is_wrong(quire: Quire) -> None:
    ran = quire("read", "--json")
    assert ran.status == 2
    assert json.loads(ran.out) == {"ok": False, "error": "usage", "message": "PATH is missing: `quire read PATH`."}
    assert ran.err == ""


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["read", "a.py", "--lines", f"{1 << 64}:"], "a number of more than 64 bits"),
        (["why", f"a.py:{1 << 64}"], "a number of more than 64 bits"),
        (["release", str(1 << 64)], "a number of more than 64 bits"),
        (["burst", "end", str(1 << 64)], "a number of more than 64 bits"),
        (["call", "edit", f'{{"base": {1 << 64}}}'], "a number of more than 64 bits"),
        (["log", "--writer", "\udcff"], "text that is not UTF-8"),
        (["checkpoint", "create", "\udcff"], "text that is not UTF-8"),
        (["call", "edit", '{"base": "\\ud800"}'], "text that is not UTF-8"),
    ],
)
def test_what_no_message_can_carry_is_a_wrong_use(words: list[str], what: str, quire: Quire) -> None:
    ran = quire(*words)
    assert (ran.status, ran.asked) == (2, [])
    assert ran.err == f"quire: The arguments hold {what}, which no message can carry.\n"


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
    assert ran.err == "It was refused.\nNext: read the file again, with `quire read`.\n"
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


def test_a_file_says_which_workspace_is_meant_as_its_folder_does(quire: Quire, site: Path, tmp_path: Path) -> None:
    """`-C FILE` was refused as no folder, though any path in a workspace names it."""
    (site / "src" / "app.py").touch()
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").touch()
    ran = quire("log", "--records", "app.py", "-C", "src/app.py", log={"ok": True, "records": [], "next": None})
    assert (ran.status, ran.asked[0]) == (0, ("log", {"path": "src/app.py"}))
    ran = quire("log", "-C", str(tmp_path / "notes" / "a.md"))
    assert (ran.status, ran.err.partition(" and in no")[0]) == (1, f"quire: {tmp_path}/notes is in no workspace")


def test_an_import_goes_into_no_folder_that_is_not_named(quire: Quire, site: Path) -> None:
    (site / "a.jsonl").touch()
    ran = quire("import", "a.jsonl", "-C", "a.jsonl")
    assert (ran.status, ran.err) == (3, f"quire: {site}/a.jsonl is not a folder.\n")


@pytest.mark.skipif(find_spec("pyarrow") is not None, reason="pyarrow is installed")
def test_a_table_without_what_makes_it_is_refused_with_the_command_that_installs_it(quire: Quire) -> None:
    """The extra of a package was named, which nobody can ask for who has this checkout and its scripts."""
    ran = quire("export", "parquet")
    installs = f"`{quote(sys.executable)} -m pip install pyarrow` puts it beside quire"
    assert (ran.status, ran.asked) == (2, [])
    assert ran.err == f"quire: pyarrow is not installed (No module named 'pyarrow'); {installs}.\n"


def test_what_nobody_expected_is_a_sentence_and_status_70(quire: Quire) -> None:
    ran = quire("status", status=RuntimeError("surprise"))
    assert ran.status == 70
    assert ran.err == "quire: Something unexpected happened: RuntimeError: surprise. QUIRE_TRACEBACK=1 shows where.\n"


def test_a_hub_that_cannot_be_reached_is_status_4(quire: Quire, site: Path) -> None:
    join(place_of(site).state, "http://hub.invalid/team")
    ran = quire("hub", "verify", "--json")
    assert (ran.status, json.loads(ran.out)["error"]) == (4, "unreachable")


def test_an_interruption_is_status_130(quire: Quire) -> None:
    def interrupted(args: dict[str, Any]) -> dict[str, Any]:
        raise KeyboardInterrupt

    assert quire("status", status=interrupted).status == 130
    up = quire("up", status=interrupted)
    assert (up.status, up.out) == (130, "")
    assert up.err.startswith("Starting the daemon.\nThe daemon goes on by itself; ")


def test_text_of_agents_cannot_control_the_terminal(quire: Quire) -> None:
    ran = quire("read", "a", read_file={"ok": False, "error": "x", "message": "by \x1b]0;owned\x07\u202eevil"})
    assert ran.err == "by ]0;ownedevil\n"


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
    for absent in ("'zmq'", "'msgspec'", "'click'", "'rich'", "'argparse'", "'quire_client.commands.everyday.up'"):
        assert absent not in loaded


def test_the_version_loads_no_command_and_nothing_that_a_workspace_needs() -> None:
    code = "import sys; from quire_client.__main__ import main; main(['--version']); print(sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for absent in ("'quire_client.commands.base'", "'quire_client.cli.render'", "'quire_journal.workspaces'", "'json'"):
        assert absent not in loaded


def test_an_invocation_knows_whether_a_person_watches() -> None:
    assert not Invocation([], {"json": ""}, {}).person_watches
