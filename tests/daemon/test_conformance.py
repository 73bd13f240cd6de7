"""The conformance cases of the contract, played in one process."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from playbook import play, play_in_parallel
from quire_journal.ids import blob_id

OF_THE_WORKSPACE = {"E22", "S06", "N24"}
"""Cases about what paths are and which are protected: `tests/e2e/test_conformance_paths.py` plays them on a disk."""

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "vectors" / "conformance.jsonl").read_text(encoding="utf-8").splitlines()
    if not OF_THE_WORKSPACE & {json.loads(line)["id"]}
]


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_a_case_of_the_contract_holds(case: dict[str, Any]) -> None:
    expect = case["expect"]
    if "parallel" in case["call"]:
        replies = play_in_parallel(case)
        assert sum(reply["ok"] for reply in replies) == expect["ok_count"]
        assert sum(reply.get("error") == "stale_file" for reply in replies) == expect["stale_count"]
        return
    book, reply = play(case)
    assert (reply["ok"], reply.get("error")) == (expect["ok"], expect.get("error")), reply
    if "content" in expect:
        assert book.text("f.txt") == expect["content"]
    for name, content in expect.get("files", {}).items():
        assert book.text(name) == content
    for key, wanted in expect.get("details", {}).items():
        wanted = blob_id(case["initial"].encode()).hex() if wanted == "{{sha256}}" else wanted
        assert_holds(key, wanted, reply)


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
