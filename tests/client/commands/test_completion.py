"""Completion, in the shells themselves: what Tab offers behind a command line that somebody has begun."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from quire_client.__main__ import main
from quire_client.commands.completed_words import completed
from quire_client.commands.options import COMMON
from quire_client.commands.set_up.completion import SHELLS
from quire_client.commands.table import COMMANDS, offered as command_of

CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x1f]")
"""What moves a terminal's cursor."""

NAMES = {"points": ["before-lunch", "dinner"], "writers": ["outside", "ada"], "tools": ["read_file", "edit"]}
"""What the journal knows."""

QUIRE = f"""\
#!{sys.executable}
import sys
from quire_client.commands.set_up.completion import tell
tell([word for word in sys.argv[2:] if word != "--"], {NAMES}.__getitem__)
"""

ASK_BASH = """
shopt -s expand_aliases; compopt() {{ :; }}
. {script}
COMP_LINE={line}; COMP_POINT=${{#COMP_LINE}}
COMP_WORDS=({words}); COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
_quire; printf '%s\\n' "${{COMPREPLY[@]}}"
"""

ASK_ZSH = """
import os, pty, select, sys, time
folder, line, *wanted = sys.argv[1:]
pid, terminal = pty.fork()
if pid == 0:
    os.execvp("zsh", ["zsh", "-f", "-i"])
def until(*signs):
    seen, end = b"", time.monotonic() + 20.0
    while not all(sign.encode() in seen for sign in signs) and time.monotonic() < end:
        if select.select([terminal], [], [], 0.1)[0]:
            seen += os.read(terminal, 65536)
    return seen
start = (
    "PS1='>'; fpath=(%s $fpath); autoload -Uz compinit; compinit -u -d %s/dump; "
    "zstyle ':completion:*' list-separator ' -- '; zstyle ':completion:*' insert-tab false; "
    "LISTMAX=10000; unsetopt zle_bracketed_paste; bindkey '^I' complete-word; unsetopt auto_menu; setopt auto_list; "
    "print READY''NOW\\n" % (folder, folder)
)
os.write(terminal, start.encode())
until("READYNOW")
os.write(terminal, line.encode() + b"\\t\\t")
print(until(*wanted).decode(errors="replace"))
os.write(terminal, b"\\x15exit\\n")
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """A folder with `src/`, `app.py`, the scripts, and a `quire` that knows names; it is the current one."""
    (tmp_path / "src").mkdir()
    (tmp_path / "app.py").write_text("")
    (tmp_path / "two words.py").write_text("")
    scripts = tmp_path / "home" / "scripts"
    scripts.mkdir()
    for shell in SHELLS:
        assert main(["completion", shell]) == 0
        (scripts / f"quire.{shell}").write_text(capsys.readouterr().out)
    shutil.copy(scripts / "quire.zsh", scripts / "_quire")
    quire = scripts / "quire"
    quire.write_text(QUIRE)
    quire.chmod(0o755)
    monkeypatch.setenv("PATH", f"{scripts}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    return scripts


def offered(shell: str, line: str, folder: Path, wanted: Sequence[str] = ()) -> set[str]:
    """What Tab offers behind `line`, descriptions left out. zsh is listened to until it has said what is `wanted`."""
    if shell == "fish":
        return offered_by_fish([line], folder)[0]
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    if shell == "bash":
        words = [word for word in line.replace("@", " @ ").replace("=", " = ").split(" ") if word]
        words += [""] if line[-1] in " " else []
        ask = ASK_BASH.format(
            script=folder / "quire.bash", line=shlex.quote(line), words=" ".join(map(shlex.quote, words))
        )
        command = ["bash", "--norc", "-c", ask]
    else:
        command = [sys.executable, "-c", ASK_ZSH, str(folder), line, *wanted]
    done = subprocess.run(command, capture_output=True, text=True, timeout=40)
    assert done.returncode == 0, done.stderr
    if shell == "zsh":
        return set(CONTROL.sub(" ", done.stdout).split())
    assert not done.stderr
    return names(done.stdout)


def offered_by_fish(lines: Sequence[str], folder: Path) -> list[set[str]]:
    """The same behind each of `lines`, by one fish, which takes as long to start as to answer them all."""
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    ask = f"source {folder}/quire.fish; for line in $argv; complete -C $line; echo NEXT; end"
    done = subprocess.run(["fish", "-N", "-c", ask, *lines], capture_output=True, text=True, timeout=40)
    assert (done.returncode, done.stderr) == (0, "")
    *told, rest = done.stdout.split("NEXT\n")
    assert (len(told), rest) == (len(lines), "")
    return [names(one) for one in told]


def names(printed: str) -> set[str]:
    return {row.partition("\t")[0].rstrip("/") for row in printed.splitlines()}


CASES = [
    ("quire ", {"up", "log", "completion"}, {"app.py", "--json"}),
    ("quire --agent ada lo", {"log"}, {"status"}),
    ("quire log --w", {"--writer"}, {"--until"}),
    ("quire undo --conflicts ", {"skip", "markers", "abort"}, {"app.py"}),
    ("quire undo --writer ", {"outside", "ada"}, {"app.py"}),
    ("quire log --kind file_", {"file_written", "file_moved"}, {"purged"}),
    ("quire setup cl", {"claude-code"}, {"codex"}),
    ("quire checkpoint ", {"create", "list", "drop"}, {"app.py"}),
    ("quire call r", {"read_file"}, {"edit"}),
    ("quire rollback bef", {"before-lunch"}, {"dinner"}),
    ("quire read ", {"app.py", "two words.py"}, {"up", "create"}),
    ("quire -C src log --wr", {"--writer"}, {"--until"}),
    ("quire service ", {"install", "status"}, {"app.py"}),
    ("quire diff ", {"before-lunch", "dinner"}, {"up"}),
    ("quire export-tree dinner ", {"src"}, {"app.py", "before-lunch"}),
    ("quire help un", {"undo"}, {"up"}),
]


@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_tab_offers_what_can_stand_there(shell: str, folder: Path) -> None:
    lines = [line for line, _, _ in CASES]
    told = offered_by_fish(lines, folder) if shell == "fish" else [offered(shell, line, folder) for line in lines]
    for (line, wanted, unwanted), found in zip(CASES, told, strict=True):
        assert wanted <= found, (line, found)
        assert not unwanted & found, (line, found)


def test_tab_offers_points_behind_the_sign_of_a_point(folder: Path) -> None:
    assert offered("bash", "quire cat app.py@bef", folder) == {"before-lunch"}
    assert offered("bash", "quire cat app.py@", folder) == {"before-lunch", "dinner"}
    assert offered("bash", "quire undo --conflicts=ma", folder) == {"markers"}
    assert offered("fish", "quire cat app.py@bef", folder) == {"app.py@before-lunch"}


def test_zsh_offers_commands_values_and_names(folder: Path) -> None:
    """Few lines: slow to ask, for zsh has to be run on a terminal."""
    for line, *wanted in (
        ("quire undo --conflicts ", "skip", "markers", "abort"),
        ("quire rollback ", "before-lunch", "dinner"),
        ("quire cl", "claim", "claims"),
        ("quire cat app.py@", "app.py@before-lunch", "app.py@dinner"),
        ("quire read ", "app.py", "src/"),
    ):
        found = offered("zsh", line, folder, wanted)
        assert {*wanted} <= found, (line, found)


def words(*typed: str) -> list[str]:
    return [word for word, _ in completed(typed, lambda kind: NAMES[kind]).words]


def test_every_command_and_option_is_offered() -> None:
    assert words("") == [*COMMANDS, "help"]
    assert words("help", "") == [*COMMANDS]
    for name in COMMANDS:
        assert words(name, "--") == [f"--{option.name}" for option in (*command_of(name).options, *COMMON)]


def test_a_value_that_is_one_of_few_is_completed_by_those() -> None:
    choices = [(name, option) for name in COMMANDS for option in command_of(name).options if option.choices]
    assert choices
    for name, option in choices:
        assert words(name, f"--{option.name}", "") == [*option.choices]
        assert words(name, f"--{option.name}=") == [f"--{option.name}={choice}" for choice in option.choices]


def test_an_unknown_command_and_an_unknown_option_offer_nothing() -> None:
    assert words("nothing", "") == []
    assert words("log", "--nothing=") == []


def test_names_are_none_where_no_daemon_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-C", str(tmp_path), "completion", "words", "--", "undo", "--writer", ""]) == 0
    assert capsys.readouterr().out == ""
