"""What runs in forks of pytest is told as pytest tells it."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import live

CONFTEST = "from abreast import pytest_addoption, pytest_runtestloop\n"

FIRST = """
import os, pytest

@pytest.fixture(scope="module")
def where(tmp_path_factory):
    path = tmp_path_factory.mktemp("kept") / "process"
    path.write_text(f"{os.getpid()}")
    yield path
    print("taken", "down")

def test_that_sets_up(where):
    assert where.read_text() == f"{os.getpid()}"

def test_that_shares_it(where):
    assert where.read_text() == f"{os.getpid()}"

def test_that_fails(where):
    print("said", "before")
    assert 1 + 1 == 3

def test_that_is_skipped():
    pytest.skip("not here")

def test_that_ends_its_process():
    os._exit(3)

def test_after_it(tmp_path):
    assert os.listdir(tmp_path) == []
"""

OTHER = """
import pytest

@pytest.mark.parametrize("n", range(5))
def test_of_another_file(n, capfd):
    print(n)
    assert capfd.readouterr().out == f"{n}\\n"
"""


def run(folder: Path, *words: str) -> tuple[int, str]:
    """The status of pytest there, and what it prints."""
    plain = [
        "--disable-plugin-autoload",
        "-c",
        os.devnull,
        "--rootdir",
        str(folder),
        "--basetemp",
        str(folder / "made"),
    ]
    fork = live.Fork(lambda: int(pytest.main([*plain, *words, str(folder)])))
    try:
        said = fork.stdout.read()
        return fork.wait(15), said
    finally:
        fork.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two files of tests."""
    for name, text in (("conftest.py", CONFTEST), ("test_first.py", FIRST), ("test_other.py", OTHER)):
        (tmp_path / name).write_text(text)
    return tmp_path


ALONE = pytest.mark.wide(
    held_by="test_abreast.py::test_each_test_runs_once_and_what_failed_is_shown_also_where_a_process_ended"
)


@pytest.mark.parametrize("count", [pytest.param(1, marks=ALONE), 3])
def test_each_test_runs_once_and_what_failed_is_shown_also_where_a_process_ended(folder: Path, count: int) -> None:
    status, said = run(folder, "-n", str(count), "-v", "-rs")
    assert status == 1
    assert "assert (1 + 1) == 3" in said
    assert "said before" in said
    assert "not here" in said
    assert "the process that ran this test ended in it" in said
    assert re.search(r"2 failed, 8 passed, 1 skipped in ", said)
    outcomes = re.findall(r"test_\w+\.py::test_\w+(?:\[\d\])? (?:PASSED|FAILED|SKIPPED)", said)
    assert len(outcomes) == len(set(outcomes)) == 11


def test_after_the_first_failure_nothing_new_begins_if_that_is_asked_for(folder: Path) -> None:
    status, said = run(folder, "-n", "1", "-x", "-q")
    assert status == 1
    assert re.search(r"1 failed, 2 passed in ", said)
