"""The first capture of a tree with many files, while others write in it."""

from __future__ import annotations

from typing import Any

import pytest

import live
from quire_daemon.watch.prefetch_client import READER_FROM

pytestmark = pytest.mark.real


def test_a_tree_with_many_files_is_held_whole_whoever_writes_meanwhile(daemon: Any) -> None:
    at = daemon()
    content = {f"src/part{n % 20}/file{n}.txt": f"{n}\n".encode() * (n % 7) for n in range(READER_FROM + 100)}
    for path, data in content.items():
        at.write(path, data)
    with at.connect("ada") as client:
        for n in range(0, READER_FROM, 50):
            path = f"src/part{n % 20}/file{n}.txt"
            if n % 100:
                version = live.ok(client.call("read_file", {"path": path}))["version"]
                live.ok(client.call("write_file", {"path": path, "content": f"by ada {n}\n", "base": version}))
                content[path] = f"by ada {n}\n".encode()
            else:
                content[path] = at.write(path, f"from outside {n}\n")
        live.eventually("the capture", lambda: live.ok(client.call("status", {}))["capture"]["finished"], 60.0)
        live.caught_up(client)
        verdict = live.ok(client.call("verify", {}))
        heads = {record["path"]: record for record in live.log(client) if "path" in record}
        held = {path: record.get("sha256") for path, record in heads.items()}
    assert {path: held.get(path) for path in content} == {path: live.sha256(data) for path, data in content.items()}
    assert verdict["ok"], verdict
