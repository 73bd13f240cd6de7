"""The demo tells its story to the end, the story is true, and the README shows it as it is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[1]
DEMO = ROOT / "scripts" / "_demo.py"
RECORDING = ROOT / "docs" / "demo.svg"


@pytest.mark.real
def test_the_demo_shows_a_refusal_a_kill_an_undo_and_the_log_and_cleans_up(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    done = subprocess.run([sys.executable, DEMO], capture_output=True, text=True, timeout=50)
    assert done.returncode == 0, done.stderr
    said = done.stdout
    assert "refused, anchor_stale" in said
    assert "ada" in said.partition("refused, anchor_stale")[2].partition("Bob reads again")[0], (
        "it is said who was there"
    )
    after = said.partition("kill -9")[2]
    for word in ("outside", "ada/s1", "bob/s1"):
        assert word in after.partition("quire undo")[0], "the log has all of it, though the daemon was killed"
    final = after.partition("$ cat greet.py")[2].partition("# Nothing is missing")[0]
    assert 'text = "Hello, " + name' in final, "Ada's edit is undone"
    assert "print(text, flush=True)" in final, "Bob's stays"
    assert "# reviewed" in final, "the person's stays"
    assert "The journal is sound" in after
    wide = [line for line in said.splitlines() if len(line) > 80 and str(tmp_path) not in line]
    assert not wide, "it is read on terminals of 80 columns"
    assert not list(tmp_path.iterdir()), "something was left behind"


@pytest.mark.real
def test_the_recording_in_the_readme_is_what_the_demo_prints(tmp_path: Path) -> None:
    anew = tmp_path / "demo.svg"
    subprocess.run([sys.executable, DEMO, "--svg", anew], check=True, capture_output=True, timeout=50)
    shown, kept = ([text.text for text in ElementTree.parse(file).iter() if text.text] for file in (anew, RECORDING))
    assert shown == kept, "the demo prints something else now; `scripts/demo --svg docs/demo.svg` records it anew"
    assert anew.read_bytes() == RECORDING.read_bytes(), "`scripts/demo --svg docs/demo.svg` records it anew"
