"""The conformance cases that are about paths: what they lead to, and what is protected. Played on a real disk."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.real

CASES = {
    case["id"]: case
    for line in (Path(__file__).parents[1] / "vectors" / "conformance.jsonl").read_text(encoding="utf-8").splitlines()
    if (case := json.loads(line))["id"] in {"E22", "S06", "N24"}
}


def test_the_cases_about_paths_hold(daemon: Any) -> None:
    at = daemon()
    at.write(".quire.toml", "[policy]\n" + 'forbidden_globs = ["**/*.env"]\n')
    assert len(CASES) == 3
    with at.connect() as client:
        for name, case in CASES.items():
            call, expect = case["call"], case["expect"]
            for path, content in {"f.txt": case["initial"], **call.get("files", {})}.items():
                at.write(path, content)
            sha256 = hashlib.sha256(call.get("files", {}).get("secret.env", "").encode()).hexdigest()
            args = json.loads(json.dumps(call["args"]).replace("{{sha256:secret.env}}", sha256))
            reply = client.call(call["tool"], args)
            assert (reply["ok"], reply["error"]) == (expect["ok"], expect["error"]), (name, reply)
            assert at.read("f.txt").decode() == expect["content"], name
            for path, content in expect.get("files", {}).items():
                assert at.read(path).decode() == content, name
