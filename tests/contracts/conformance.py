"""The conformance cases of the contract, for a daemon in memory as for a real one in its own process.

A case is a line of `vectors/conformance.jsonl`: the text of f.txt, a call, and what comes of it. Placeholders in the
arguments stand for what a fresh read shows: {{h6:N}} for the hash of line N, {{peek6:N}} for the same as another caller
sees it, {{ref:N}} for its LINE#ID, {{fv}} for the version, {{sha256}} and {{sha256:FILE}} for the hash of a file.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Protocol

CASES: Final[list[dict[str, Any]]] = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "vectors" / "conformance.jsonl").read_text(encoding="utf-8").splitlines()
]

FILE: Final = "f.txt"
ANN: Final = "ann"
BOSS: Final = "boss"
"""Looks at the file, so that Ann has not been shown it."""

SETTINGS: Final = {
    "low_entropy": ("dialects", "edit", "low_entropy"),
    "range_ends": ("dialects", "edit", "range_ends"),
    "forbidden_globs": ("policy", "forbidden_globs"),
    "allow_replace_text": ("dialects", "hashline_edit", "allow_replace_text"),
}


class Daemon(Protocol):
    """A daemon, its checkout, and callers by their names."""

    def ask(self, name: str, args: Mapping[str, Any], by: str = ...) -> dict[str, Any]:
        """The reply to a call of the tool `name`."""

    def ask_together(self, calls: Mapping[str, tuple[str, Mapping[str, Any]]]) -> dict[str, dict[str, Any]]:
        """The replies to calls that are sent at once, by their callers."""

    def save(self, path: str, content: str) -> None:
        """Another program writes."""

    def read(self, path: str) -> str | None:
        """What is on the disk; None where there is no file."""


def options(case: Mapping[str, Any]) -> dict[str, Any]:
    """The tables of the settings that a case asks for."""
    tables: dict[str, Any] = {}
    for key, value in case["call"].get("options", {}).items():
        *sections, name = SETTINGS[key]
        at = tables
        for section in sections:
            at = at.setdefault(section, {})
        at[name] = value
    return tables


def require(case: Mapping[str, Any], daemon: Daemon) -> None:
    """Play the case in a checkout without files. Raises AssertionError where it does not hold."""
    call, expect = case["call"], case["expect"]
    for path, content in {FILE: case["initial"], **call.get("files", {})}.items():
        daemon.save(path, content)
    if "parallel" in call:
        ready = [fill(daemon, args) for args in call["parallel"]]
        calls = {f"caller {number}": (call["tool"], args) for number, args in enumerate(ready)}
        replies = daemon.ask_together(calls).values()
        assert sum(reply["ok"] for reply in replies) == expect["ok_count"]
        assert sum(reply.get("error") == "stale_file" for reply in replies) == expect["stale_count"]
        return
    reply = play(call, daemon)
    assert (reply["ok"], reply.get("error")) == (expect["ok"], expect.get("error")), reply
    for path, content in {FILE: expect["content"], **expect.get("files", {})}.items():
        assert daemon.read(path) == content
    for key, wanted in expect.get("details", {}).items():
        assert_holds(key, sha256(case["initial"]) if wanted == "{{sha256}}" else wanted, reply)


def play(call: Mapping[str, Any], daemon: Daemon) -> dict[str, Any]:
    """The reply to the call of a case, after what comes before it."""
    for step in call.get("before", []):
        reply = daemon.ask(step["tool"], fill(daemon, step["args"]), ANN)
        assert reply["ok"], reply
    args = fill(daemon, call["args"])
    if "external" in call:
        daemon.ask("read_file", {"path": FILE, "hashes": True}, ANN)
        daemon.save(FILE, call["external"])
    return daemon.ask(call["tool"], args, ANN)


def sha256(content: str) -> str:
    """As replies write it."""
    return hashlib.sha256(content.encode("utf-8", "surrogateescape")).hexdigest()


def fill(daemon: Daemon, value: Any) -> Any:
    """`value` with its placeholders replaced by what a fresh read shows."""

    def one(found: re.Match[str]) -> str:
        name, _, arg = found[1].partition(":")
        if name == "sha256":
            return sha256(daemon.read(arg or FILE) or "")
        if name == "ref":
            rows = daemon.ask("read_file", {"path": FILE, "format": "hashline"}, ANN)["lines"]
            return str(rows[int(arg) - 1]).split("|")[0]
        shown = daemon.ask("read_file", {"path": FILE, "hashes": True}, BOSS if name == "peek6" else ANN)
        if name == "fv":
            return str(shown["version"])
        return str(shown["lines"][int(arg) - 1])[len(arg) + 1 :][:6]

    if isinstance(value, str):
        return re.sub(r"\{\{([^}]+)\}\}", one, value)
    if isinstance(value, list):
        return [fill(daemon, item) for item in value]
    if isinstance(value, dict):
        return {key: fill(daemon, item) for key, item in value.items()}
    return value


def assert_holds(key: str, wanted: Any, reply: Mapping[str, Any]) -> None:
    """The reply carries what the case asks for."""
    match key:
        case "lines_match":
            assert len(reply["lines"]) == len(wanted)
            assert all(re.search(pattern, row) for pattern, row in zip(wanted, reply["lines"], strict=True))
        case "message_contains":
            assert all(part in reply["message"] for part in wanted)
        case "candidates":
            assert sorted(c["line"] for c in reply["candidates"]) == sorted(wanted)
        case "candidate_previews":
            previews = [c["preview"] for c in reply["candidates"]]
            assert all(part in preview for part, preview in zip(wanted, previews, strict=True))
        case "neighbor_lines":
            assert [int(anchor.split("#")[0]) for anchor in reply["neighbor_anchors"]] == wanted
        case "warning_types":
            assert set(wanted) <= {warning["type"] for warning in reply["warnings"]}
        case "matchStartLines":
            assert [place["startLine"] for place in reply["matchRanges"]] == wanted
        case "failed_count":
            assert len(reply["failed"]) == wanted
        case "failed_prefix":
            assert all(said.startswith(start) for said, start in zip(reply["failed"], wanted, strict=True))
        case _ if wanted == "nonempty":
            assert reply[key]
        case _:
            assert_has(wanted, reply[key])


def assert_has(wanted: Any, got: Any) -> None:
    """Equal, but that objects may have more fields."""
    if isinstance(wanted, dict):
        assert wanted.keys() <= got.keys()
        for key, value in wanted.items():
            assert_has(value, got[key])
    elif isinstance(wanted, list):
        for one, other in zip(wanted, got, strict=True):
            assert_has(one, other)
    else:
        assert got == wanted
