"""The README is true: its quick start runs, and its tables name what is there."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

import live
from quire_client.commands import COMMANDS

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()
GUIDE = (ROOT / "docs" / "guide.md").read_text()
EXTENDING = (ROOT / "docs" / "extending.md").read_text()
BLOCK = re.compile(r"^```(bash|text|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_first_ten_lines_say_what_it_is_and_the_two_commands() -> None:
    top = "\n".join(README.splitlines()[:10])
    assert "journal beside coding agents" in top
    assert "./scripts/quire up PATH" in top
    assert "./scripts/test" in top


def blocks() -> list[tuple[str, str]]:
    """The fenced blocks of the quick start, in order: language and text."""
    start = README.split("\n## Quick start\n")[1].split("\n## ")[0]
    return BLOCK.findall(start)


def assert_shows(printed: str, wanted: str, script: str) -> None:
    """Each line of `wanted` is in `printed`, in order; `…` in it stands for anything."""
    at = 0
    for line in wanted.splitlines():
        pattern = ".*?".join(re.escape(part) for part in line.split("…"))
        found = re.compile(f"^{pattern}" if not line.startswith("…") else pattern, re.MULTILINE).search(printed, at)
        assert found, f"{line!r} is not in (the rest of) what was printed:\n{printed}\nby\n{script}"
        at = found.end()


@pytest.mark.real
def test_the_quick_start_runs_as_it_stands_and_prints_what_it_says(daemon) -> None:
    """All blocks in one shell, one after the other, as a reader would; a text block is what the one before printed."""
    home = daemon()  # its folders and its mark are in the environment now: whatever is started is found and ended
    python = live.python()
    mark = "-- next block --"
    found = blocks()
    script = [f"PATH={python.parent}:$PATH"]
    for language, text in found:
        if language == "bash":
            script += [text, f"echo '{mark}'"]
        elif language == "python":
            script += [f"{python} - <<'PYTHON'\n{text}PYTHON", f"echo '{mark}'"]
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join(script)], cwd=home.top, capture_output=True, text=True, timeout=55
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    printed = iter(done.stdout.split(f"{mark}\n"))
    last, source = "", ""
    for language, text in found:
        if language == "text":
            assert_shows(last, text, source)
        else:
            last, source = next(printed), text


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


@pytest.mark.parametrize("text", [README, GUIDE, EXTENDING], ids=["README", "guide", "extending"])
def test_every_file_that_a_document_names_is_there(text: str) -> None:
    named = set(re.findall(r"`((?:journal|daemon|client|tests|scripts|systemd|docs|\.ci)/[\w./-]*)`", text))
    assert named
    assert not [path for path in sorted(named) if not (ROOT / path).exists()]


@pytest.mark.parametrize("page", ["README.md", "docs/costs.md"])
def test_every_picture_of_a_document_is_there(page: str) -> None:
    pictures = re.findall(r"!\[[^]]*\]\(([^)]+)\)", (ROOT / page).read_text())
    assert pictures
    assert not [picture for picture in pictures if not (ROOT / page).parent.joinpath(picture).exists()]
