"""The benchmark runs: a row of it, small, with its figures kept, read back and told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import live
from bench import house
from bench.table import HEADLINES, beside, figure, put

RUN = Path(__file__).parent / "bench" / "run.py"
ROOT = Path(__file__).resolve().parents[1]
FIGURES = ROOT / "docs" / "bench" / "figures.json"


def bench(*words: str, status: int = 0) -> str:
    """What it prints."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("QUIRE_PEERS")}
    ran = subprocess.run([sys.executable, RUN, *words], stdout=subprocess.PIPE, text=True, env=environ, timeout=50)
    assert ran.returncode == status, words
    return ran.stdout


@pytest.mark.real
def test_a_row_prints_its_figures_and_keeps_them(tmp_path: Path) -> None:
    kept = tmp_path / "figures.json"
    printed = bench("read", "--quick", "--json", str(kept))
    assert "read with hashes, 2,000 lines, unchanged" in printed
    figures = json.loads(kept.read_text())
    assert figures["scale"] == "quick"
    *_, line, peer = figures["rows"]["read"]
    assert peer["note"].startswith("skipped: @oh-my-pi/hashline is not installed: npm install --prefix peers bun @oh")
    assert 0 < line["spread"][0] <= line["ours"] <= line["spread"][1]
    table = bench("--from", str(kept), "--markdown")
    assert f"echo of {line['reference'].split()[2]} bytes" in table
    assert ("holds" in table) == any(one["holds"] for one in figures["rows"]["read"])


def test_the_journal_of_what_is_measured_lies_on_the_disk_beside_its_checkout() -> None:
    """One in memory would be synced for nothing."""
    at = live.Live(on_disk=True)
    try:
        assert at.state_dir.parent.stat().st_dev == at.root.stat().st_dev
    finally:
        at.close()


def test_a_row_takes_its_place_among_figures_that_were_kept_and_those_of_another_machine_are_not_mixed_in() -> None:
    kept = {"machine": "m", "scale": "full", "date": "then", "rows": {"edit": [{}], "undo": [{}]}}
    for machine, rows in (("m", ["edit", "read", "undo"]), ("another", ["read"])):
        figures = {"machine": machine, "scale": "full", "date": "", "rows": {}}
        assert beside(kept, figures) is (machine == "m")
        put(figures, "read", [{"what": "new"}], "now", ["edit", "read", "undo"])
        assert (list(figures["rows"]), figures["date"]) == (rows, "now")
    assert list(kept["rows"]) == ["edit", "undo"]


def test_a_row_that_was_measured_on_another_machine_says_on_which(tmp_path: Path) -> None:
    line = {"what": "a thing", "unit": "ms", "ours": 5.0, "spread": [0, 0]}
    kept = tmp_path / "figures.json"
    figures = {"machine": "m", "date": "d", "scale": "full", "rows": {"edit": [line], "read": [line]}}
    kept.write_text(json.dumps({**figures, "elsewhere": {"read": "another"}}))
    edit, read = bench("--from", str(kept), "--markdown").split("## ")[1:]
    assert ("Measured on" in edit, "Measured on another." in read) == (False, True)
    figures["elsewhere"] = {"read": "another", "edit": "another"}
    measured: dict[str, Any] = {"machine": "m", "scale": "full", "rows": {}}
    assert beside(figures, measured)
    for name, machine in (("edit", "m"), ("undo", "another")):
        put(measured, name, [line], "now", ["edit", "read", "undo"], machine)
    assert measured["elsewhere"] == {"read": "another", "undo": "another"}


def test_a_row_that_misses_its_budget_says_by_how_much(tmp_path: Path) -> None:
    line = {"what": "a thing", "unit": "ms", "ours": 5.0, "spread": [0, 0]}
    line |= {"budget": "≤ 2 ms", "holds": False, "over": 2.5}
    kept = tmp_path / "figures.json"
    kept.write_text(json.dumps({"machine": "m", "date": "d", "scale": "full", "rows": {"read": [line]}}))
    told = bench("--from", str(kept), "--markdown")
    assert "| ≤ 2 ms, behind, 2.5 × the budget |" in told
    assert "Why it is behind: the file is opened under a lease" in told


def test_a_row_that_there_is_not_is_named(capfd: pytest.CaptureFixture[str]) -> None:
    assert bench("nosuch", status=2) == ""
    assert "there is no row 'nosuch'" in capfd.readouterr().err


def test_figures_that_could_not_be_kept_are_not_measured_first(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert bench("read", "--quick", "--json", str(tmp_path / "nosuch" / "figures.json"), status=2) == ""
    said = capfd.readouterr().err
    assert f"{tmp_path / 'nosuch'} is no folder that can be written to; nothing was measured" in said


def test_the_documents_show_the_figures_that_were_kept() -> None:
    readme = (ROOT / "README.md").read_text()
    assert bench("--from", str(FIGURES), "--headlines").strip() in readme
    assert (ROOT / "docs" / "costs.md").read_text() == bench("--from", str(FIGURES), "--markdown")
    kept = json.loads(FIGURES.read_text())
    assert kept["scale"] == "full"
    assert f"{kept['machine']}, shared with others; {kept['date']}." in readme.replace("\n", " ")


def test_the_figures_that_are_kept_have_a_row_for_each_that_the_readme_shows() -> None:
    """One under another name was left out without a word."""
    rows = json.loads(FIGURES.read_text())["rows"]
    assert set(HEADLINES) - {line["what"] for lines in rows.values() for line in lines} == set()


# ── the house ────────────────────────────────────────────────────────────────

FACE = """\
if TYPE_CHECKING:
    from quire_daemon.room import whole as whole
    from quire_daemon.room.part import *
else:
    __getattr__ = face(__name__, part="Part other")
"""
LOOP = """\
import os
from quire_daemon import room
from quire_daemon.room import Part as Other, whole

def turn(recorder, store):
    whole.recorder.commit(room.other)
    recorder.commit
    store.commit()
"""


def source(root: Path) -> dict[str, house.Source]:
    """A product of one room, which a loop beside it uses."""
    files = {"room/__init__.py": FACE, "room/part.py": "import quire_daemon\n", "room/whole.py": "", "loop.py": LOOP}
    files["room/part.py"] += "def act():\n    from quire_daemon.room.whole import x\n    self._recorder.commit()\n"
    for name, text in {"__init__.py": "", **files}.items():
        path = root / "daemon" / "quire_daemon" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return house.sources(root)


def test_a_name_of_a_face_counts_for_the_module_that_defines_it(tmp_path: Path) -> None:
    known, part, whole, loop = source(tmp_path), *(f"quire_daemon.{m}" for m in ("room.part", "room.whole", "loop"))
    found = house.importers(known)
    assert (found[part], found[whole]) == ({loop}, {loop, part})
    assert house.imported_once(known) == [part]


def test_lines_modules_and_places_that_commit_are_counted_by_room(tmp_path: Path) -> None:
    known = source(tmp_path)
    assert house.lines_by_room(known) == {"quire_daemon": 8, "quire_daemon.room": 9}
    assert house.modules_by_room(known) == {"quire_daemon": 1, "quire_daemon.room": 2}
    assert house.commits(known) == {"quire_daemon.loop": 1, "quire_daemon.room.part": 1}
    (tmp_path / "tests" / "daemon").mkdir(parents=True)
    for name in ("tests/live.py", "tests/daemon/test_loop.py"):
        (tmp_path / name).write_text("x\n")
    assert house.lines_of_tests(tmp_path) == {"beside them": 1, "daemon": 1}


def test_calls_of_the_folders_that_are_asked_about_are_counted_and_imports_are_not(tmp_path: Path) -> None:
    tally = house.Tally(Path(house.__file__).parent)
    run = compile("import json", house.__file__, "exec")
    before = sys.getprofile()
    sys.setprofile(tally)
    try:
        exec(run)
        figure(1, "calls")
        figure(2, "calls")
        house.lines_of_tests(tmp_path)
        json.dumps({})
    finally:
        sys.setprofile(before)
    assert tally.size() == (3, 2, 2)
    tally.clear()
    assert tally.size() == (0, 0, 0)


def test_a_count_has_all_of_its_digits_and_no_fraction() -> None:
    assert [figure(one, "frames") for one in (7, 58, 1187, 59_269)] == [
        "7 frames", "58 frames", "1,187 frames", "59,269 frames",
    ]  # fmt: skip
