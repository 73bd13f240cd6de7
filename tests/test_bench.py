"""The benchmark runs: a row of it, small, with its figures kept, read back and told."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).parent / "bench" / "run.py"
ROOT = Path(__file__).resolve().parents[1]
FIGURES = ROOT / "docs" / "bench" / "figures.json"


def bench(*words: str) -> str:
    return subprocess.run([sys.executable, str(RUN), *words], check=True, capture_output=True, text=True).stdout


@pytest.mark.real
def test_a_row_prints_its_figures_and_keeps_them(tmp_path: Path) -> None:
    kept = tmp_path / "figures.json"
    printed = bench("read", "--quick", "--json", str(kept))
    assert "read with hashes, 2,000 lines, unchanged" in printed
    figures = json.loads(kept.read_text())
    assert figures["scale"] == "quick"
    line = figures["rows"]["read"][-1]
    assert 0 < line["spread"][0] <= line["ours"] <= line["spread"][1]
    table = bench("--from", str(kept), "--markdown")
    assert f"echo of {line['reference'].split()[2]} bytes" in table
    assert ("holds" in table) == any(one["holds"] for one in figures["rows"]["read"])


def test_a_row_that_there_is_not_is_named() -> None:
    ran = subprocess.run([sys.executable, str(RUN), "nosuch"], capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert "there is no row 'nosuch'" in ran.stderr


def test_the_table_of_the_readme_is_that_of_the_figures_that_were_kept() -> None:
    readme = (ROOT / "README.md").read_text()
    assert bench("--from", str(FIGURES), "--markdown").strip() in readme
    kept = json.loads(FIGURES.read_text())
    assert kept["scale"] == "full"
    assert f"{kept['machine']}, shared with others; {kept['date']}." in readme.replace("\n", " ")
