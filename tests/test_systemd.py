"""The unit file is one that systemd understands, line by line."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

UNIT = Path(__file__).resolve().parents[1] / "systemd" / "quired@.service"

pytestmark = pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="there is no systemd-analyze")


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The unit under an instance's name, with a daemon that exists in place of the one in the home folder."""
    unit = tmp_path / "quired@tmp.service"
    unit.write_text(UNIT.read_text().replace("%h/.local/bin/quired", "/bin/true"))
    return unit


def analyze(*arguments: str | Path, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path), "SYSTEMD_LOG_LEVEL": "warning"}
    return subprocess.run(["systemd-analyze", *arguments], env=environment, capture_output=True, text=True)


def test_systemd_has_nothing_to_say_against_the_unit(installed: Path, tmp_path: Path) -> None:
    """Its exit status is 0 for an unknown key, too, so it is silence that counts."""
    said = analyze("verify", "--user", installed, tmp_path=tmp_path)
    ours = [line for line in said.stderr.splitlines() if "quired@" in line]
    assert not ours
    assert said.returncode == 0


def test_what_the_unit_exposes_is_little(installed: Path, tmp_path: Path) -> None:
    """systemd's own measure, 0 to 10, in tenths; a bare unit has 96."""
    said = analyze("security", "--offline=true", "--threshold=25", installed, tmp_path=tmp_path)
    assert said.returncode == 0, said.stdout[-400:] + said.stderr
