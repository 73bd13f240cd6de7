"""The plugins for editors: Neovim itself, without a screen, and VS Code's extension against a stub of its API."""

from __future__ import annotations

import getpass
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import quire_client
from live import Live, caught_up, eventually, ok

pytestmark = pytest.mark.real

EDITORS = Path(quire_client.__file__).parents[1] / "editors"
HERE = Path(__file__).parent
ME = f"user/{getpass.getuser()}"

needs_nvim = pytest.mark.skipif(shutil.which("nvim") is None, reason="there is no Neovim on this machine")
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="there is no Node on this machine")


@pytest.fixture
def command(served: Live, tmp_path: Path) -> str:
    """`quire`, with the state folder of the daemon under test."""
    words = [sys.executable, "-m", "quire_client", "--state-dir", os.fspath(served.state_dir)]
    script = tmp_path / "quire"
    script.write_text(f'#!/bin/sh\nexec {" ".join(words)} "$@"\n')
    script.chmod(0o755)
    return os.fspath(script)


@pytest.fixture
def file(served: Live, request: pytest.FixtureRequest) -> Iterator[Path]:
    name = f"{abs(hash(request.node.name))}.txt"
    served.write(name, "one\ntwo\n")
    caught_up(served.connect("eve"))
    return served.root / name


def authors(served: Live, file: Path) -> list[str]:
    """Who wrote each line, as blame has it."""
    client = served.connect("eve")
    caught_up(client)
    writers = [line["writer"] for line in ok(client.blame(file.name))["lines"]]
    names = (("user" if one["uid"] is not None else "outside", one["agent_session"]) for one in writers)
    return [f"{name}/{session}" if session else name for name, session in names]


def neovim(file: Path, command: str, *acts: str) -> str:
    """What Neovim printed; `acts` are commands of its own."""
    options = f"lua require('quire').setup {{ command = '{command}' }}"
    began = ["--cmd", f"set runtimepath^={EDITORS}/nvim autoread", "--cmd", options]
    words = ["nvim", "--headless", "-u", "NONE", "-i", "NONE", "-n", *began, os.fspath(file)]
    said = [word for act in acts for word in ("-c", act)]
    done = subprocess.run(
        [*words, *said, "-c", "qall!"],
        capture_output=True,
        text=True,
        timeout=20,
        stdin=subprocess.DEVNULL,
        cwd=file.parent,
    )
    assert done.returncode == 0
    return done.stdout + done.stderr


@needs_nvim
def test_a_line_that_a_person_saves_in_neovim_is_theirs(served: Live, file: Path, command: str) -> None:
    neovim(file, command, "normal Gothree", "write")
    assert authors(served, file) == ["outside", "outside", ME]


@needs_nvim
@pytest.mark.parametrize("setting", ["fileformat=dos", "bomb", "fileencoding=latin1", "nofixendofline noendofline"])
def test_the_bytes_of_a_save_are_known_in_each_format(served: Live, file: Path, command: str, setting: str) -> None:
    neovim(file, command, f"set {setting}", "normal Goä three", "write")
    assert authors(served, file)[-1] == ME


@needs_nvim
def test_what_neovim_writes_to_another_file_is_theirs(served: Live, file: Path, command: str) -> None:
    other = file.with_name(f"other-{file.name}")
    neovim(file, command, "normal Gothree", f"write {other}")
    assert authors(served, other) == [ME] * 3
    assert authors(served, file) == ["outside"] * 2


@needs_nvim
def test_a_save_is_told_also_if_neovim_ends_meanwhile(served: Live, file: Path, command: str, tmp_path: Path) -> None:
    """As of many files at once, which are told one after the other; here the program waits for a file."""
    flag, slow = tmp_path / "flag", tmp_path / "slow"
    slow.write_text(f'#!/bin/sh\nwhile [ ! -e {flag} ]; do sleep 0.05; done\nexec {command} "$@"\n')
    slow.chmod(0o755)
    neovim(file, os.fspath(slow), "normal Gothree", "write")
    flag.touch()
    eventually("who saved it", lambda: authors(served, file)[-1] == ME)


@needs_nvim
def test_neovim_shows_who_wrote_and_says_when_an_agent_changes_the_file(
    served: Live, file: Path, command: str, tmp_path: Path
) -> None:
    call = json.dumps({"path": file.name, "line_number": -1, "text": "four"})
    script = tmp_path / "look.lua"
    script.write_text(
        f"""
        local marked = vim.api.nvim_get_namespaces()['quire_blame']
        local function marks() return vim.api.nvim_buf_get_extmarks(0, marked, 0, -1, {{}}) end
        vim.wait(20000, function() return #marks() == 1 end, 20)
        io.write('marked line ', marks()[1][2] + 1, '\\n')
        local notices = {{}}
        vim.notify = function(text) table.insert(notices, text) end
        vim.wait(3000, function() return false end, 20)
        vim.fn.system({{ '{command}', '--agent', 'ada', '--session', 's1', 'call', 'insert_lines', '{call}' }})
        vim.wait(20000, function() return #notices > 0 end, 20)
        io.write(notices[1] or 'no notice', '\\n')
        vim.wait(20000, function() return vim.api.nvim_buf_line_count(0) == 4 end, 20)
        io.write('lines ', vim.api.nvim_buf_line_count(0), '\\n')
        """
    )
    said = neovim(file, command, "normal Gothree", "write", f"luafile {script}")
    assert "marked line 3" in said
    assert f"Quire: ada/s1 changed {file.name}" in said
    assert "lines 4" in said


@needs_nvim
@pytest.mark.parametrize("name", ["no-such-program", "quire"])
def test_neovim_is_silent_where_quire_is_not(tmp_path: Path, served: Live, command: str, name: str) -> None:
    """Neither a missing program nor a folder without a daemon says or starts anything."""
    file = tmp_path / "alone" / "a.txt"
    file.parent.mkdir()
    file.write_text("one\ntwo\n")
    state = tmp_path / "state"
    script = tmp_path / "elsewhere"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m quire_client --state-dir {state} "$@"\n')
    script.chmod(0o755)
    said = neovim(file, os.fspath(script) if name == "quire" else name, "normal Gothree", "write", "messages")
    assert file.read_text() == "one\ntwo\nthree\n"
    assert "uire" not in said.replace(os.fspath(tmp_path), "")
    assert not state.exists()
    del served, command


class Session:
    """VS Code's extension at work on one file; what it shows and says is in `told`."""

    def __init__(self, file: Path, command: str, *more: str) -> None:
        words = ["node", os.fspath(HERE / "stub_of_vscode.js"), os.fspath(EDITORS / "vscode" / "extension.js")]
        self.process = subprocess.Popen(
            [*words, os.fspath(file), command, *more], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.told: list[dict[str, Any]] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.told.append(json.loads(line))

    def until(self, field: str) -> None:
        eventually(field, lambda: any(field in told for told in self.told))

    def shown(self, kind: str) -> list[Any]:
        """The marks of one kind of decoration that were shown, without the empty ones."""
        return [told["marks"] for told in self.told if told.get("decorations") == kind and told["marks"]]

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *error: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(timeout=30)
        self._reader.join(timeout=30)
        assert self.process.stdout is not None
        self.process.stdout.close()


@needs_node
@pytest.mark.parametrize("more", [(), ("bom",)])
def test_a_line_that_a_person_saves_in_vs_code_is_theirs(
    served: Live, file: Path, command: str, more: tuple[str, ...]
) -> None:
    with Session(file, command, *more) as session:
        session.until("saved")
    assert authors(served, file)[1:] == ["outside", ME]
    assert session.shown("current")[-1][0]["renderOptions"]["after"]["contentText"].startswith(f"{ME[:17]}, 2")


@needs_node
def test_vs_code_says_when_an_agent_changes_the_file_and_shows_leases(served: Live, file: Path, command: str) -> None:
    client = served.connect("ada", "s1")
    with Session(file, command) as session:
        session.until("saved")
        caught_up(client)
        ok(client.claim(file.name))

        def is_told() -> bool:
            """The extension begins to follow at some time: an edit after that is told."""
            ok(client.call("insert_lines", {"path": file.name, "line_number": -1, "text": "more"}))
            return {"message": f"Quire: ada/s1 changed {file.name}"} in session.told

        eventually("the notice", is_told)
        eventually("the lease", lambda: bool(session.shown("leased")))
    assert session.shown("leased")[0][0]["hoverMessage"].startswith("ada/s1 holds a lease")


@needs_node
def test_vs_code_is_silent_where_quire_is_not(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("one\ntwo\n")
    with Session(file, "no-such-program") as session:
        session.until("saved")
    assert session.told == [{"saved": True}]
