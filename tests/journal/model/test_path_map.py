"""A path as somebody sees it elsewhere is the path here, name by name."""

from __future__ import annotations

import pytest

from quire_journal.model.path_map import BadMap, checked, mapped, parsed

MAP = parsed("/workspace=/home/me/site:/workspace/lib=/opt/lib")


@pytest.mark.parametrize(
    ("there", "here"),
    [
        ("/workspace", "/home/me/site"),
        ("/workspace/", "/home/me/site"),
        ("/workspace/src/a.py", "/home/me/site/src/a.py"),
        ("//workspace/./src", "/home/me/site/src"),
        ("/workspace/lib/b.py", "/opt/lib/b.py"),  # the longest counts
        ("/workspaces/src", "/workspaces/src"),  # names, not prefixes
        ("/workspace/../etc/passwd", "/home/me/site/../etc/passwd"),  # whoever resolves it sees what it is
        ("src/a.py", "src/a.py"),
        ("", ""),
    ],
)
def test_a_path_is_mapped_by_whole_names(there: str, here: str) -> None:
    assert mapped(there, MAP) == here


def test_without_a_map_nothing_changes() -> None:
    assert mapped("//a/./b", {}) == "//a/./b"


def test_names_of_settings_may_end_with_a_slash() -> None:
    assert mapped("/w/a", checked([("/w/", "/h/")])) == "/h/a"


@pytest.mark.parametrize("text", ["/a", "a=/b", "/a=b", "/=/b", "/a/..=/b", "/a=/b/../c"])
def test_a_map_that_cannot_be_meant_is_an_error(text: str) -> None:
    with pytest.raises(BadMap):
        parsed(text)
