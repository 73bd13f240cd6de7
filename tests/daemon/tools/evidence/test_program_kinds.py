"""The kind of program that a command line runs."""

from __future__ import annotations

import pytest

from quire_daemon.tools.evidence.program_kinds import program_kind


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("make", ("build", "make")),
        ("cd src && make -j4 build 2>&1 | tail", ("build", "make build")),
        ("uv run ruff format .", ("formatter", "ruff format")),
        ("ruff check --fix src", ("formatter", "ruff check")),
        ("npx prettier --write src", ("formatter", "prettier")),
        ("make fmt", ("formatter", "make fmt")),
        ("npm run build", ("build", "npm run build")),
        ("npm install left-pad", ("packages", "npm install")),
        ("cargo build --release", ("build", "cargo build")),
        ("cargo add serde", ("packages", "cargo add")),
        ("gcc -o a a.c", ("build", "gcc")),
        ("tar xf a.tar", ("archive", "tar")),
    ],
)
def test_a_program_is_known_by_its_name_and_subcommand(command: str, told: tuple[str, str]) -> None:
    assert program_kind(command) == told


@pytest.mark.parametrize("command", ["", "ls -l", "ruff check src", "black --check .", "pytest -q", "sed -i s/a/b/ x"])
def test_what_only_looks_and_what_is_not_known_has_no_kind(command: str) -> None:
    assert program_kind(command) is None
