"""The demo tells its story to the end, and the story is true."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import live

DEMO = Path(__file__).resolve().parents[1] / "scripts" / "_demo.py"


@pytest.mark.real
def test_the_demo_shows_a_refusal_an_undo_and_the_log_and_cleans_up(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    done = subprocess.run([live.python(), DEMO], capture_output=True, text=True, timeout=50)
    assert done.returncode == 0, done.stderr
    said = done.stdout
    assert "refused, anchor_stale" in said
    assert "ada" in said.partition("refused, anchor_stale")[2].partition("5. ")[0], "it is said who was there"
    final = said.partition("$ cat greet.py")[2].partition("8. ")[0]
    assert 'text = "Hello, " + name' in final, "Ada's edit is undone"
    assert "print(text, flush=True)" in final, "Bob's stays"
    assert "# reviewed" in final, "the program's stays"
    log = said.partition("8. ")[2]
    for word in ("outside", "ada/s1", "bob/s1"):
        assert word in log
    assert "sound" in log
    wide = [line for line in said.splitlines() if len(line) > 80 and str(tmp_path) not in line]
    assert not wide, "it is read on terminals of 80 columns"
    assert not list(tmp_path.iterdir()), "something was left behind"
