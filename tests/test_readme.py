"""The README is true: its quick start runs, and its tables name what is there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import live
from quire_client.commands.table import COMMANDS

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()
GUIDE = (ROOT / "docs" / "guide.md").read_text()
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text()
EXTENDING = (ROOT / "docs" / "extending.md").read_text()
PAGES = [README, GUIDE, ARCHITECTURE, EXTENDING]
BLOCK = re.compile(r"^```(bash|text|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_readme_says_what_it_is_and_shows_it_within_its_first_lines() -> None:
    top = "\n".join(README.splitlines()[:12])
    assert "records each saved version of its files" in top
    assert "(docs/demo.svg)" in top
    assert "./scripts/quire up" in README.split("\n## Connect")[0]
    assert len(README.splitlines()) <= 150


def assert_shows(printed: str, wanted: str, script: str) -> None:
    """Each line of `wanted` is in `printed`, in order; `…` in it stands for anything."""
    at = 0
    for line in wanted.splitlines():
        pattern = ".*?".join(re.escape(part) for part in line.split("…"))
        found = re.compile(f"^{pattern}" if not line.startswith("…") else pattern, re.MULTILINE).search(printed, at)
        assert found, f"{line!r} is not in (the rest of) what was printed:\n{printed}\nby\n{script}"
        at = found.end()


def play(document: str, home: live.Live) -> Path:
    """Run all blocks of a document in one shell, as a reader would; a text block is what the block before printed.

    Returns the home folder. The folder where it begins has `scripts/quire`, as a clone does that is set up already.
    """
    clone, python = home.top / "clone", Path(sys.executable)  # what a reader has, not the quicker one of the tests
    (clone / "scripts").mkdir(parents=True)
    (clone / "scripts" / "quire").symlink_to(python.with_name("quire"))
    owner = home.top / "home"
    (owner / "site").mkdir(parents=True)
    mark = "-- next block --"
    found = BLOCK.findall(document)
    script = [f"export HOME={owner} PATH={python.parent}:$PATH"]
    for language, text in found:
        if language == "bash":
            script += [text, f"echo '{mark}'"]
        elif language == "python":
            script += [f"{python} - <<'PYTHON'\n{text}PYTHON", f"echo '{mark}'"]
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join(script)], cwd=clone, capture_output=True, text=True, timeout=110
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    printed = iter(done.stdout.split(f"{mark}\n"))
    last, source = "", ""
    for language, text in found:
        if language == "text":
            assert_shows(last, text, source)
        else:
            last, source = next(printed), text
    return owner


@pytest.mark.real
@pytest.mark.timeout(120)  # some fifty processes, on a machine that may be busy
def test_every_snippet_of_the_readme_runs_as_it_stands(daemon) -> None:
    owner = play(
        README, daemon()
    )  # its folders and its mark are in the environment: what is started is found and ended
    assert (owner / "site" / "hello.py").read_text() == 'print("hello")\n', "undone and redone"
    assert "quire" in (owner / "site" / ".mcp.json").read_text()
    subprocess.run(
        [Path(sys.executable).with_name("quire"), "down"], cwd=owner / "site", check=True, capture_output=True
    )


@pytest.mark.real
@pytest.mark.timeout(120)  # some fifty processes, on a machine that may be busy
def test_every_section_of_the_guide_runs_as_it_stands_and_the_last_one_leaves_nothing(daemon) -> None:
    home = daemon()
    play(GUIDE, home)
    site = home.top / "clone" / "site"
    assert sorted(path.name for path in site.iterdir()) == ["greet.py"], "no settings of an agent, no folder of ours"
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        assert not (Path(os.environ[name]) / "quire").exists()
    assert not [*(Path(os.environ["XDG_RUNTIME_DIR"]) / "quire").glob("*")], "no socket"


def test_every_command_is_in_the_reference_and_told_of_elsewhere_by_its_name() -> None:
    told = README + GUIDE
    assert not [name for name in COMMANDS if not re.search(rf"`{name}`|\bquire (?:--\w+ \w+ )*{name}\b", told)]
    sections = re.findall(r"^### `([\w-]+)`$", (ROOT / "docs" / "commands.md").read_text(), re.MULTILINE)
    assert sections == [*COMMANDS]


def test_every_dependency_has_its_reason() -> None:
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    table = EXTENDING.split("\n## Dependencies\n")[1].split("\n## ")[0]
    names = {re.match(r"[\w.-]+", one)[0] for one in wanted}  # type: ignore[index]
    assert {row.split("|")[1].strip() for row in table.splitlines() if row.startswith("| ")} - {"package"} == names


@pytest.mark.parametrize("text", PAGES)
def test_every_file_that_a_document_names_is_there(text: str) -> None:
    named = set(re.findall(r"`((?:journal|daemon|client|tests|scripts|systemd|docs|\.ci)/[\w./-]*)`", text))
    assert named
    assert not [path for path in sorted(named) if not (ROOT / path).exists()]


def test_every_module_that_the_reading_order_names_is_there() -> None:
    named = {Path(path).name for path in re.findall(r"`([\w/]+\.py)`", ARCHITECTURE)}
    there = {path.name for folder in ("journal", "daemon", "client", "tests") for path in (ROOT / folder).rglob("*.py")}
    assert len(named) > 40
    assert named <= there


@pytest.mark.parametrize("page", ["README.md", "docs/costs.md"])
def test_every_picture_of_a_document_is_there(page: str) -> None:
    pictures = re.findall(r"!\[[^]]*\]\(([^)]+)\)", (ROOT / page).read_text())
    assert pictures
    assert not [picture for picture in pictures if not (ROOT / page).parent.joinpath(picture).exists()]
