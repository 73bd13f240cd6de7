"""Every SHALL of seeds 000 and 002 about the tools has a test, and that test exists."""

from __future__ import annotations

import ast
import json
import re
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROWS = json.loads((HERE / "vectors" / "seeds_000_002.json").read_text(encoding="utf-8"))
CASES = {
    json.loads(line)["id"] for line in (HERE / "vectors" / "conformance.jsonl").read_text(encoding="utf-8").splitlines()
}


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_a_demand_of_the_seeds_names_a_test_that_exists(row: dict[str, str]) -> None:
    assert row["words"]
    path, _, node = row["test"].partition("::")
    found = re.fullmatch(r"(\w+)(?:\[(\w+)\])?", node)
    assert found is not None
    assert found[1] in functions(path)
    assert found[2] is None or found[2] in CASES


@cache
def functions(path: str) -> set[str]:
    """The names of all functions of a file."""
    tree = ast.parse((HERE.parent / path).read_text(encoding="utf-8"))
    return {item.name for item in ast.walk(tree) if isinstance(item, ast.FunctionDef)}


def test_no_demand_is_listed_twice() -> None:
    ids = [row["id"] for row in ROWS]
    assert len(ids) == len({*ids})
