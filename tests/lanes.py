"""Which of the tests run: the default lane, the wide one, or all of them at full length.

The default lane shows every kind of behaviour once, by the cheapest means that can show it. The wide lane
(`scripts/test --wide`, run by `.ci/run` as well) has what shows by dearer means what a test of the default lane shows
already: a decision through a real daemon and its processes, one more variant of a race. Each says which those are:
`@pytest.mark.wide(held_by="test_file.py::test_name")`, or several of them; `test_lanes` looks that they are there.
"""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator
from pathlib import Path
from typing import NamedTuple

MARK = b"mark.wide("
"""What a file has in it of which something belongs to the wide lane."""


def runs(marks: Container[str], wide: bool = False, named: bool = False, long: bool = False) -> bool:
    """Is a test with these marks one of those that were asked for? `named`: it was, or its file or folder."""
    if long:
        return True
    return "campaign" not in marks and (named or wide == ("wide" in marks))


class Wide(NamedTuple):
    """A mark of the wide lane: in which file, and which tests hold the same."""

    file: str
    held_by: tuple[str, ...]


def marks(path: Path) -> Iterator[Wide]:
    """The marks of the wide lane in a file of tests."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "wide":
            (held_by,) = [keyword.value for keyword in node.keywords if keyword.arg == "held_by"]
            told = ast.literal_eval(held_by)
            yield Wide(path.name, (told,) if isinstance(told, str) else tuple(told))


def wholly_wide(path: Path) -> Iterator[str]:
    """The tests in a file that are marked themselves, and not only some of their cases."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef):
            marked = [one.func for one in node.decorator_list if isinstance(one, ast.Call)]
            if any(isinstance(one, ast.Attribute) and one.attr == "wide" for one in marked):
                yield node.name
