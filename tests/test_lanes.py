"""No lane leaves a test out unseen, and what the wide one has, the default lane holds."""

from __future__ import annotations

from pathlib import Path

import pytest

import lanes

FILES = {path.name: path for path in Path(__file__).parent.rglob("test_*.py")}
WIDE = [path for path in FILES.values() if lanes.MARK in path.read_bytes() and path.name != Path(__file__).name]


@pytest.mark.parametrize(
    ("marks", "by_default", "wide", "named"),
    [((), True, False, True), (("wide",), False, True, True), (("campaign",), False, False, False)],
)
def test_a_test_runs_in_one_lane_and_at_full_length(
    marks: tuple[str, ...], by_default: bool, wide: bool, named: bool
) -> None:
    assert lanes.runs(marks) is by_default
    assert lanes.runs(marks, wide=True) is wide
    assert lanes.runs(marks, named=True) is named
    assert lanes.runs(marks, long=True)


def test_whatever_the_wide_lane_shows_a_test_of_the_default_lane_holds() -> None:
    found = [mark for path in WIDE for mark in lanes.marks(path)]
    assert found
    assert all(mark.held_by for mark in found)
    holding = {one for mark in found for one in mark.held_by}
    by_file = {file: {one.split("::")[1] for one in holding if one.startswith(f"{file}::")} for file in FILES}
    assert holding == {f"{file}::{test}" for file, tests in by_file.items() for test in tests}, "of no file"
    for file, tests in by_file.items():
        if tests:
            text = FILES[file].read_text()
            assert [test for test in tests if f"def {test}(" not in text] == [], f"not in {file}"
            assert tests & {*lanes.wholly_wide(FILES[file])} == set(), f"themselves in the wide lane, {file}"
