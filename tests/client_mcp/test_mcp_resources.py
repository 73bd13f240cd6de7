"""What URIs of resources ask for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import sdk


@pytest.mark.parametrize(
    ("uri", "tool", "args"),
    [
        ("quire://file/src/app.py", "read_file", {"path": "src/app.py"}),
        ("quire://file/src/app.py?at=v812", "read_file", {"path": "src/app.py", "at": "v812"}),
        ("quire://file/a%20b%23%3F.txt", "read_file", {"path": "a b#?.txt"}),
        ("quire://file/%C3%BC/100%25.md?at=v3", "read_file", {"path": "ü/100%.md", "at": "v3"}),
        ("quire://log", "log", {}),
        ("quire://log?path=src&limit=20", "log", {"path": "src", "limit": 20}),
        (f"quire://log?limit={'9' * 5000}", "log", {"limit": "9" * 5000}),  # for the daemon to refuse
        ("quire://manual/edit", "manual", {"dialect": "edit"}),
        ("quire://manual", "manual", {}),
        ("quire://status", "status", {}),
    ],
)
def test_a_uri_is_a_call(uri: str, tool: str, args: dict[str, Any]) -> None:
    assert sdk.resources.wanted(uri) == (tool, args)


@pytest.mark.parametrize(
    "uri",
    [
        "file:///etc/passwd",
        "quire://file/",
        "quire://file/a?of=b",
        "quire://nothing",
        "quire://log/x",
        "x",
        "quire://[",
    ],
)
def test_what_is_no_resource_says_so(uri: str) -> None:
    with pytest.raises(sdk.resources.NoSuchResource):
        sdk.resources.wanted(uri)


def test_a_long_file_is_read_page_by_page_all_of_one_version() -> None:
    asked: list[Mapping[str, Any]] = []

    def call(tool: str, args: Mapping[str, Any]) -> dict[str, Any]:
        asked.append(args)
        page = {"ok": True, "message": "", "version": "v5"}
        if "start_line" in args:
            return {**page, "content": "three\n", "truncated": False}
        return {**page, "content": "one\ntwo", "truncated": True, "next_line": 3}

    assert sdk.resources.read("quire://file/a.txt", call)["text"] == "one\ntwo\nthree\n"
    assert asked == [{"path": "a.txt"}, {"path": "a.txt", "start_line": 3, "at": "v5"}]


def test_a_refusal_is_told_with_its_code() -> None:
    with pytest.raises(sdk.resources.NoSuchResource, match=r"It is binary. \[binary_file\]"):
        sdk.resources.read(
            "quire://file/a.bin", lambda tool, args: {"ok": False, "error": "binary_file", "message": "It is binary."}
        )
