"""The conformance cases that are about these tools, played in one process."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from playbook import play
from quire_journal.ids import blob_id

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "vectors" / "conformance.jsonl").read_text(encoding="utf-8").splitlines()
]


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_a_case_of_the_contract_holds(case: dict[str, Any]) -> None:
    book, reply = play(case)
    expect = case["expect"]
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
        case _ if wanted == "nonempty":
            assert reply[key]
        case _:
            assert reply[key] == wanted
