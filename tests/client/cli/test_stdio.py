"""The command line whose standard streams are closed, without a reader, or on a full disk.

Each line runs as a process of its own: what becomes of file descriptors cannot be seen from within.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import resource
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_line import FakeOpener

from quire_client.__main__ import main
from quire_journal.workspaces.identity import settle
from quire_journal.workspaces.layout import place_of

FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")


def ran(redirected: str, *words: str, code: str = "") -> subprocess.CompletedProcess[bytes]:
    """`quire WORDS` with its streams redirected as a shell does it; or, in its place, Python running `code`."""
    called = code or "import sys; from quire_client.__main__ import main; sys.exit(main())"
    shell = ["sh", "-c", f'exec "$@" {redirected}', "sh", sys.executable, "-c", called, *words]
    return subprocess.run(shell, capture_output=True, timeout=60)


@pytest.mark.parametrize("redirected", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed_change_nothing(redirected: str) -> None:
    done = ran(redirected, "help", "log")
    assert (done.returncode, done.stderr) == (0, b"")
    assert (b"Usage: quire log" in done.stdout) == (">&-" not in redirected.replace("2>&-", ""))


def test_the_numbers_of_closed_streams_are_not_given_to_other_files() -> None:
    code = (
        "import os, sys; from quire_client.__main__ import main; main(['help']); "
        "fd = os.open('/', os.O_RDONLY); sys.exit(fd if all(os.path.samestat(os.fstat(n), os.stat(os.devnull))"
        " for n in range(3)) else 99)"
    )
    assert 2 < ran("<&- >&- 2>&-", code=code).returncode < 99


@needs_full
@pytest.mark.parametrize("words", [("help",), ("--json", "help"), ("--json", "call", "x", "{")])
def test_output_that_finds_no_room_is_one_sentence_and_a_status_of_its_own(words: tuple[str, ...]) -> None:
    done = ran("> /dev/full", *words)
    assert done.returncode == 74
    sentence = "quire: The output could not be written: No space left on device. The output is incomplete;"
    assert done.stderr.decode().splitlines() == [f"{sentence} the command's changes stay."]


@needs_full
def test_a_hook_ends_with_0_whatever_becomes_of_its_answer() -> None:
    assert ran("> /dev/full < /dev/null", "hook", "nobody").returncode == 0


@needs_full
@pytest.mark.parametrize("redirected", ["2> /dev/full", "2>&-", "> /dev/full 2>&1", "<&- >&- 2>&-"])
def test_a_message_that_cannot_be_printed_does_not_change_the_status(redirected: str) -> None:
    assert ran(redirected, "--no-such-option").returncode == 2


@pytest.mark.parametrize("words", [("help", "log"), ("call", "x", "{", "--json")])
def test_a_reader_that_has_gone_leaves_the_status_as_it_is(words: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    code = f"import sys; from quire_client.__main__ import main; sys.exit(main({list(words)!r}))"
    with os.fdopen(writing, "wb") as closed:
        done = subprocess.run([sys.executable, "-c", code], stdout=closed, stderr=subprocess.PIPE, timeout=60)
    assert (done.returncode, done.stderr) == (0 if words[0] == "help" else 2, b"")


@needs_full
def test_what_python_itself_writes_at_the_exit_is_no_second_fault() -> None:
    """A large text is written before the end, and fails before it."""
    code = (
        "import sys; from quire_client.cli import stdio; stdio.settle()\n"
        "try: sys.stdout.write('x' * 1_000_000)\n"  # more than any buffer: 128 KiB from Python 3.14 on
        "except stdio.OutputFailure as reason: stdio.silence(); sys.exit(str(reason))"
    )
    done = ran("> /dev/full", code=code)
    assert (done.returncode, done.stderr) == (1, b"No space left on device\n")


def test_streams_of_a_test_are_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    mine = sys.stdout
    assert main(["--json", "help"]) == 0
    assert sys.stdout is mine
    assert json.loads(capsys.readouterr().out)["ok"]


@contextlib.contextmanager
def no_file_larger_than(limit: int) -> Iterator[None]:
    """A disk that is full as soon as a file has so many bytes; the kernel's word for it is another."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_an_export_that_finds_no_room_leaves_nothing_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settle(place_of(tmp_path))
    monkeypatch.chdir(tmp_path)
    content = base64.b64encode(b"x" * 100_000).decode()
    page = {"ok": True, "content_base64": content, "records": 1, "of": 1, "done": True, "export": "e", "page": 0}
    (tmp_path / "out").mkdir()
    with no_file_larger_than(20_000):
        status = main(["export", "jsonl", "--out", "out/history"], FakeOpener({"export": page, "since": {"ok": True}}))
    assert status == 74
    assert capsys.readouterr().err == ("out/history could not be written: File too large; nothing is left of it.\n")
    assert not [*(tmp_path / "out").iterdir()]


def test_an_export_into_a_pipe_or_device_is_written_there_and_does_not_take_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle(place_of(tmp_path))
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    reading = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
    content = base64.b64encode(b"history\n").decode()
    page = {"ok": True, "content_base64": content, "records": 1, "of": 1, "done": True, "export": "e", "page": 0}
    assert main(["export", "jsonl", "--out", "pipe"], FakeOpener({"export": page, "since": {"ok": True}})) == 0
    assert os.read(reading, 100) == b"history\n"
    os.close(reading)
    assert stat.S_ISFIFO(os.stat("pipe").st_mode)
