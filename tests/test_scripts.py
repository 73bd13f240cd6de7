"""The scripts set their environment up by themselves: once, again when it must be, and one at a time.

Each test works on a scratch checkout with a Python of its own on PATH, which keeps account of what is asked of it
instead of making environments and installing packages.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import live

ROOT = Path(__file__).resolve().parents[1]

PYTHON = """\
#!{bash}
# Stands in for a Python: answers questions with the real one, and only pretends to make and to install.
real={python} account={account}
case "$1 ${{2-}} ${{3-}}" in
  "-c import ensurepip"*) exit 0 ;;  # it has that
  "-c "*) exec "$real" -IS "$@" ;;
  "-m venv --clear")
    echo "venv" >>"$account"
    rm -rf "$4"; mkdir -p "$4/bin"; cp "${{BASH_SOURCE[0]}}" "$4/bin/python" ;;
  "-m pip --version") ;;
  "-m pip install")
    echo "install ${{*: -1}}" >>"$account"
    sleep 0.1
    printf '#!{bash}\\necho "quire $*"\\n' >"${{BASH_SOURCE[0]%/*}}/quire"
    chmod +x "${{BASH_SOURCE[0]%/*}}/quire" ;;
  "-m pytest"*) echo "pytest ${{*:3}}" ;;
esac
"""

ASKED = "".join(line for line in PYTHON.splitlines(keepends=True) if "ensurepip" not in line)
"""The same, which has the real one say whether it can make environments: that loads much."""


class Checkout:
    """A scratch checkout with the real scripts in it."""

    def __init__(self, top: Path) -> None:
        self.root = top / "check out"
        self.tools = top / "tools"
        self.account = top / "account"
        self.tools.mkdir()
        shutil.copytree(ROOT / "scripts", self.root / "scripts")
        shutil.copy(ROOT / "pyproject.toml", self.root)
        for tool in ("bash", "env", "readlink", "dirname", "cat", "head", "rm", "mkdir", "cp", "chmod", "sleep"):
            (self.tools / tool).symlink_to(shutil.which(tool) or "")
        self.put("python3.12", "#!{bash}\nexit 127\n")  # a shim for a version that is not installed

    def put(self, name: str, script: str) -> None:
        """A program on PATH."""
        script = script.format(bash=shutil.which("bash"), python=sys.executable, account=f"'{self.account}'")
        (self.tools / name).write_text(script)
        (self.tools / name).chmod(0o755)

    def start(self, *command: str) -> subprocess.Popen[str]:
        """Run one of the scripts, with nothing on PATH but what this checkout was given."""
        return subprocess.Popen(
            [str(self.root / command[0]), *command[1:]],
            env={"PATH": str(self.tools), "HOME": os.environ.get("HOME", "/")},
            cwd="/",
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *command: str) -> tuple[int, str, str]:
        """The same, to its end: status, stdout, stderr."""
        process = self.start(*command)
        out, err = process.communicate(timeout=30)
        return process.returncode, out, err

    def done(self) -> list[str]:
        """What was asked of the Python: `venv`, `install`, `install dev`, and where it was so `without grammars`."""
        if not self.account.exists():
            return []
        lines = self.account.read_text().splitlines()
        return [_short(line.replace(f" {self.root}", "")) for line in lines]


def _short(asked: str) -> str:
    """An entry of the account: what is asked for by default is only told of when it is not."""
    what, _, extras = asked.rstrip("]").partition("[")
    if what != "install":
        return asked
    names = extras.split(",") if extras else []
    more = [name for name in names if name != "syntax"]
    return " ".join([what, *more, *(["without grammars"] if "syntax" not in names else [])])


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """A checkout that was just cloned."""
    return Checkout(tmp_path)


def test_without_a_python_it_says_what_is_missing(checkout: Checkout) -> None:
    status, out, err = checkout.run("scripts/quire", "status")
    assert status == 1
    assert out == ""
    assert "no Python 3.11 or newer" in err
    assert not (checkout.root / ".venv").exists()


def test_the_first_use_sets_up_and_later_ones_only_pass_their_arguments_on(checkout: Checkout) -> None:
    checkout.put("python3", ASKED)
    assert checkout.run("scripts/quire", "up", "a b")[:2] == (0, "quire up a b\n")
    assert checkout.done() == ["venv", "install"]
    assert checkout.run("scripts/quire", "status") == (0, "quire status\n", "")
    assert checkout.done() == ["venv", "install"]


def test_a_broken_shim_is_passed_over_and_python_names_one_outside_of_path(checkout: Checkout, tmp_path: Path) -> None:
    checkout.put("python3", "#!{bash}\nexit 1\n")  # one that is too old
    checkout.put("python3.11", PYTHON)
    assert checkout.run("scripts/quire")[0] == 0


def test_the_tests_add_what_development_needs_and_that_serves_the_command_too(checkout: Checkout) -> None:
    checkout.put("python3", PYTHON)
    status, out, _ = checkout.run("scripts/test", "-x")
    assert status == 0
    assert out.startswith("pytest -n 3")
    assert out.endswith("-x\n")
    assert checkout.run("scripts/quire")[0] == 0
    assert checkout.done() == ["venv", "install dev"]


def test_the_sdk_of_mcp_comes_with_the_first_set_up_of_an_agent(checkout: Checkout) -> None:
    checkout.put("python3", PYTHON)
    checkout.run("scripts/quire", "up", ".")
    checkout.run("scripts/quire", "setup", "codex", "--dry-run")
    assert checkout.done() == ["venv", "install"]
    assert checkout.run("scripts/quire", "setup", "codex")[:2] == (0, "quire setup codex\n")
    checkout.run("scripts/quire", "-C", "a b", "mcp")
    assert checkout.done() == ["venv", "install", "install mcp"]


def test_a_slow_installation_says_at_least_every_two_seconds_how_far_it_is(checkout: Checkout) -> None:
    checkout.put("python3", PYTHON.replace("sleep 0.1", "echo Collecting lmdb; sleep 3"))
    process = checkout.start("scripts/quire", "up")
    assert process.stderr is not None
    told, last = [], time.monotonic()
    for line in process.stderr:
        told.append((line, time.monotonic() - last))
        last = time.monotonic()
    process.communicate()
    assert max(waited for _, waited in told) < 2.5, told
    assert any("Collecting lmdb" in line for line, _ in told)


def test_an_installation_that_fails_shows_what_was_printed(checkout: Checkout) -> None:
    checkout.put("python3", PYTHON.replace("    sleep 0.1\n", "    echo no such package; exit 1\n"))
    status, out, err = checkout.run("scripts/quire", "up")
    assert (status, out) == (1, "")
    assert "no such package" in err


def test_where_the_grammars_cannot_be_had_it_is_set_up_without_them(checkout: Checkout) -> None:
    checkout.put("python3", PYTHON.replace("    sleep 0.1\n", "    [[ $* != *syntax* ]] || exit 1\n"))
    status, out, err = checkout.run("scripts/quire", "up")
    assert (status, out) == (0, "quire up\n")
    assert "without the grammars" in err
    assert checkout.run("scripts/quire", "up") == (0, "quire up\n", ""), "it is not tried every time"
    assert checkout.done() == ["venv", "install", "install without grammars"]


def test_a_changed_pyproject_installs_again(checkout: Checkout) -> None:
    checkout.put("python3", PYTHON)
    checkout.run("scripts/quire")
    with open(checkout.root / "pyproject.toml", "a") as file:
        file.write("# another dependency\n")
    checkout.run("scripts/quire")
    assert checkout.done() == ["venv", "install", "install"]


def test_a_moved_checkout_makes_its_environment_anew(checkout: Checkout, tmp_path: Path) -> None:
    """The first lines of the scripts in .venv/bin name the old place."""
    checkout.put("python3", PYTHON)
    checkout.run("scripts/quire")
    checkout.root = checkout.root.rename(tmp_path / "moved")
    assert checkout.run("scripts/quire", "hello")[:2] == (0, "quire hello\n")
    assert [line.split()[0] for line in checkout.done()] == ["venv", "install", "venv", "install"]


def test_a_set_up_that_was_cut_off_is_done_again(checkout: Checkout) -> None:
    checkout.put("python3", PYTHON)
    first = checkout.start("scripts/quire")
    live.eventually("it installs", lambda: "install" in checkout.done())
    first.kill()
    first.communicate()
    assert checkout.run("scripts/quire", "hello")[:2] == (0, "quire hello\n")


def test_several_at_once_set_up_one_after_the_other_and_only_once(checkout: Checkout) -> None:
    checkout.put("python3", PYTHON)
    started = [checkout.start("scripts/quire", str(n)) for n in range(4)]
    assert [process.communicate(timeout=30)[0] for process in started] == [f"quire {n}\n" for n in range(4)]
    assert checkout.done() == ["venv", "install"]


def test_a_link_to_the_script_finds_its_checkout(checkout: Checkout) -> None:
    checkout.put("python3", PYTHON)
    (checkout.tools / "q").symlink_to(checkout.root / "scripts" / "quire")
    said = subprocess.run(["q", "x"], env={"PATH": str(checkout.tools)}, capture_output=True, text=True, cwd="/")
    assert said.stdout == "quire x\n"


def test_naming_a_test_runs_it_in_one_process(checkout: Checkout) -> None:
    checkout.put("python3", PYTHON)
    ran = checkout.run("scripts/test", "tests/test_scripts.py")[1]
    assert ran == "pytest -m not campaign and not agents and not page tests/test_scripts.py\n"


def test_a_change_is_taken_when_both_suites_hold_and_what_failed_in_one_is_run_once_more(checkout: Checkout) -> None:
    shutil.copytree(ROOT / ".ci", checkout.root / ".ci")
    checkout.put("python3", PYTHON.replace('"pytest ${{*:3}}"', '"pytest ${{*:3}}"; [[ $* == *--last-failed* ]]'))
    status, out, _ = checkout.run(".ci/run")
    assert status == 0
    wide, default = (
        "-m wide and not campaign and not agents and not page",
        "-m not wide and not campaign and not agents and not page",
    )
    runs = [f"pytest {how}" for how in (f"-n 3 {wide}", f"-n 0 {wide} --last-failed")]
    runs += [f"pytest {how}" for how in (f"-n 3 {default}", f"-n 0 {default} --last-failed")]
    assert out.splitlines() == runs
