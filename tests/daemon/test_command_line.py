"""The options of `quired`: what is said before there is a daemon."""

from __future__ import annotations

import pytest

from quire_daemon.__main__ import main
from quire_journal import VERSION


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_every_option_is_explained(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([option]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in ("--workspace", "--state-dir", "--socket", "--version"))


def test_the_version_is_told_without_a_workspace(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"quired {VERSION}\n"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([], "--workspace is missing"),
        (["--workspace", ""], "--workspace is missing"),
        (["--workspace"], "option --workspace requires argument"),
        (["--colour", "--workspace", "."], "option --colour not recognized"),
        (["here", "--workspace", "."], "'here' is not an option"),
    ],
)
def test_a_wrong_command_line_starts_nothing_and_is_told(
    words: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    said = capsys.readouterr().err
    assert said.startswith("usage: quired --workspace")
    assert said.endswith(f"quired: {reason}\n")
