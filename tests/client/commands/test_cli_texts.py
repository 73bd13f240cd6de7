"""What a person sees: the exact help, colours where they are wanted, and a pager where a text is too long."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from exact import ROOT, assert_exact
from fake_line import FakeOpener

from quire_client.__main__ import main
from quire_client.cli.pager import fits, page, pager
from quire_client.cli.render import Palette
from quire_client.commands.help import WIDEST, of_command, overview
from quire_client.commands.reference import reference
from quire_client.commands.table import COMMANDS, GROUPS, offered
from quire_journal.workspaces.identity import settle
from quire_journal.workspaces.layout import place_of


def seen(words: list[str], environ: Mapping[str, str], rows: int = 24, columns: int = 120) -> str:
    """What `quire WORDS` shows on a terminal of that size."""
    above, below = pty.openpty()
    fcntl.ioctl(below, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    child = subprocess.Popen(
        [sys.executable, "-m", "quire_client", *words],
        stdin=below,
        stdout=below,
        stderr=below,
        env={"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "TERM": "xterm", **environ},
    )
    os.close(below)
    shown = b""
    with suppress(OSError):  # EIO: the last one that had the terminal open has closed it
        while piece := os.read(above, 65536):
            shown += piece
    os.close(above)
    assert child.wait() == 0
    return shown.decode().replace("\r\n", "\n")


# -- help --------------------------------------------------------------------------------------------------------


def test_the_help_is_this(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help"]) == 0
    assert_exact(capsys.readouterr().out, "help.txt")


def test_the_help_of_a_command_is_this(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["undo", "--help"]) == 0
    assert_exact(capsys.readouterr().out, "help-undo.txt")


def test_the_help_is_no_wider_than_the_terminal_and_says_the_same() -> None:
    plain = Palette(False, {})
    for width in (76, WIDEST):
        texts = {
            "": overview(plain, width),
            **{name: of_command(name, offered(name), plain, width) for name in COMMANDS},
        }
        for name, text in texts.items():
            example = offered(name).example if name else ""
            wide = [line for line in text.splitlines() if len(line) > width and line.strip() not in example]
            assert not [line for line in wide if " " in line.strip()], name  # a word that is longer stays whole
            assert (
                text.split() == (of_command(name, offered(name), plain, 999) if name else overview(plain, 999)).split()
            )
    assert max(map(len, seen(["help", "status", "--no-pager"], {}, columns=64).splitlines())) <= 64


def test_the_help_is_there_for_programs_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["groups"] == GROUPS
    assert main(["claim", "--help", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    (kind,) = (option for option in told["options"] if option["name"] == "kind")
    assert (told["name"], kind["choices"]) == ("claim", ["intent", "shared", "exclusive"])


def test_the_reference_of_all_commands_is_up_to_date() -> None:
    assert_exact(reference(), ROOT / "docs" / "commands.md")


def test_the_help_of_help_is_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help"]) == 0
    listed = capsys.readouterr().out
    assert main(["--help"]) == 0
    assert capsys.readouterr().out == listed


EXAMPLE = """

```json
{"path": "src/app.py", "reason": "what is to be copied stays as it is, however long it is"}
```
"""

CLAIM = {
    "name": "claim",
    "title": "Claim ground",
    "description": "Say that you work on a file.\n\n| a | table |\n" + "It ends by itself after a time. " * 5 + EXAMPLE,
    "writes": True,
    "schema": {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "A file, a folder, or a glob."},
            "kind": {"type": "string", "enum": ["intent", "shared"], "default": "intent"},
            "ttl_s": {"type": "number", "minimum": 1, "maximum": 86400},
            "renew": {"anyOf": [{"type": "integer"}, {"type": "string"}], "description": "By number\x1b[2J or name."},
            "areas": {
                "type": "array",
                "description": "Where.",
                "items": {
                    "type": "object",
                    "description": "One of: {lines}, {name}.",
                    "properties": {"lines": {"type": "array", "items": {"type": "integer"}}, "name": {}},
                    "required": ["lines"],
                },
            },
        },
        "required": ["path"],
    },
    "aliases": ["file"],
}


def test_a_tool_is_explained_with_its_arguments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settle(place_of(tmp_path))
    monkeypatch.chdir(tmp_path)
    opener = FakeOpener({"describe": {"ok": True, "message": "1 tool.", "tools": [CLAIM]}})
    assert main(["call", "claim", "--help"], opener) == 0
    assert opener.asked == [("describe", {"tool": "claim"})]
    told = capsys.readouterr().out
    assert_exact(told, "call-claim-help.txt")
    assert main(["help", "call", "claim"], opener) == 0
    assert capsys.readouterr().out == told


def test_without_a_tool_the_help_is_that_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["call", "--help"]) == 0
    assert capsys.readouterr().out.startswith("Call any tool with JSON arguments.\n\nUsage: quire call TOOL")


# -- colours -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("is_terminal", "environ", "on"),
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"TERM": "xterm"}, True),
        (True, {"TERM": "dumb"}, False),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"NO_COLOR": ""}, True),
        (False, {"CLICOLOR_FORCE": "1"}, True),
        (False, {"CLICOLOR_FORCE": "0"}, False),
        (True, {"CLICOLOR_FORCE": "1", "TERM": "dumb"}, True),
        (True, {"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_colours_are_for_terminals_unless_the_environment_says_otherwise(
    is_terminal: bool, environ: dict[str, str], on: bool
) -> None:
    assert Palette(is_terminal, environ).on is on


# -- the pager ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environ", "command"),
    [
        ({}, "less"),
        ({"PAGER": "more -d"}, "more -d"),
        ({"PAGER": "more", "QUIRE_PAGER": "most"}, "most"),
        ({"PAGER": "more", "QUIRE_PAGER": ""}, ""),
        ({"PAGER": "cat"}, ""),
        ({"TERM": "dumb"}, ""),
        ({"TERM": "dumb", "PAGER": "more"}, ""),
    ],
)
def test_the_pager_is_the_one_of_the_environment(environ: dict[str, str], command: str) -> None:
    assert pager({"TERM": "xterm", **environ}) == command


@pytest.mark.parametrize(
    ("text", "fitting"),
    [
        ("", True),
        ("a\n" * 9, True),
        ("a\n" * 10, False),
        ("x" * 90 + "\n", True),
        ("x" * 91 + "\n", False),
        ("中" * 45 + "\n", True),
        ("中" * 46 + "\n", False),
        ("\x1b[31m" + "x" * 90 + "\x1b[0m\n", True),
        ("\t" * 12 + "\n", False),
    ],
)
def test_a_text_fits_if_the_terminal_shows_it_with_its_prompt(text: str, fitting: bool) -> None:
    assert fits(text, columns=10, rows=10) is fitting


def test_a_pager_that_is_not_there_loses_nothing(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINES", "5")
    page("line\n" * 50, {"TERM": "xterm", "PAGER": "no-such-pager 2>/dev/null"})
    assert capfd.readouterr().out == "line\n" * 50


def test_a_pager_that_is_left_early_is_no_error(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINES", "5")
    page("line\n" * 500_000, {"TERM": "xterm", "PAGER": "head -n 2", "PATH": os.environ["PATH"]})
    assert capfd.readouterr().out == "line\n" * 2


@pytest.mark.skipif(not Path("/usr/bin/sed").exists() and not Path("/bin/sed").exists(), reason="sed is the pager")
def test_on_a_terminal_a_long_text_goes_through_the_pager_and_a_short_one_does_not() -> None:
    through = {"PAGER": "sed s/^/paged:/", "NO_COLOR": "1"}
    help = seen(["help"], through)
    assert help.startswith("paged:Quire keeps")
    assert seen(["help", "--no-pager"], through) == help.replace("paged:", "")
    assert seen(["help"], through, rows=200) == help.replace("paged:", "")
    assert "\x1b[1mEveryday\x1b[0m\n" in seen(["help", "--no-pager"], {})


def test_a_person_who_runs_an_agents_command_is_told_so_at_once() -> None:
    said = seen(["hook", "claude-code"], {})
    assert said == "quire hook: agents call it, with an event on stdin; `quire setup AGENT` has them do so.\n{}\n"
