"""A checkout that can only be read is read through Quire all the same; every write is refused, the doctor says so."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import pytest

import rights

pytestmark = pytest.mark.real

SCRIPT = """
import contextlib, io, json, os, sys, time
import quire_client
from quire_client.__main__ import main

root, state = sys.argv[1:]
told = {}
with contextlib.redirect_stdout(io.StringIO()) as said:
    assert main(["doctor", "--json", "-C", root, "--state-dir", state]) == 1
told["before"] = json.loads(said.getvalue())
with quire_client.connect(root, agent="ada", session="s1", state_dir=state) as client:
    until = time.monotonic() + 15
    while not client.status()["capture"]["captured"] and time.monotonic() < until:
        time.sleep(0.02)
    for name, tool, args in (
        ("read", "read_file", {"path": "src/a.txt"}),
        ("log", "log", {"path": "src"}),
        ("blame", "blame", {"path": "src/a.txt"}),
        ("since", "since", {}),
        ("try", "edit_replace", {"path": "src/a.txt", "old_text": "one", "new_text": "1", "dry_run": True}),
        ("edit", "edit_replace", {"path": "src/a.txt", "old_text": "one", "new_text": "1"}),
        ("write", "write_file", {"path": "new/b.txt", "content": "b"}),
        ("delete", "delete_file", {"path": "src/a.txt"}),
        ("status", "status", {}),
        ("doctor", "doctor", {}),
    ):
        told[name] = client.call(tool, args)
    for folder in (root, os.path.join(root, "src")):
        os.chmod(folder, 0o755)
    until = time.monotonic() + 15
    while not (written := client.call("write_file", {"path": "new/b.txt", "content": "b"}))["ok"]:
        if time.monotonic() > until:
            break
        time.sleep(0.05)
    told["mended"] = written
    told["found"] = client.call("verify", {})["findings"]
    client.shutdown_daemon()
print(json.dumps(told))
"""


def play(environ: dict[str, str], root: Path, state: Path) -> None:
    """The script, whose daemon has the rights of this process."""
    os.environ.update(environ)
    sys.argv[1:] = [str(root), str(state)]
    exec(SCRIPT, {})


def test_reads_go_on_where_nothing_can_be_written_and_writes_are_refused_until_something_can(tmp_path: Path) -> None:
    root = tmp_path / "site"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.txt").write_text("one\ntwo\n")
    time.sleep(0.02)  # without a lease it is a quiet time that proves a read
    before = sorted(root.rglob("*"))
    for folder in (root / "src", root):
        folder.chmod(0o555)
    run = tmp_path / "run"
    run.mkdir(mode=0o700)
    environ = {"XDG_RUNTIME_DIR": str(run), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    try:
        printed = rights.printed(rights.be_anybody, lambda: play(environ, root, tmp_path / "state"))
    finally:
        root.chmod(0o755)
        (root / "src").chmod(0o755)
    told = json.loads(printed)
    bad = [check["name"] for check in told["before"]["checks"] if not check["ok"]]
    assert bad == ["checkout"], "without a daemon, too"
    assert told["read"]["content"] == "one\ntwo\n"
    assert [record["path"] for record in told["log"]["records"]] == ["src/a.txt"]
    assert told["blame"]["ok"]
    assert told["since"]["ok"]
    assert (told["try"]["ok"], told["try"]["valid"]) == (True, True), "what would be done can be asked"
    for name in ("edit", "write", "delete"):
        assert (told[name]["error"], told[name]["suggested_action"]) == ("permission_denied", "check_permissions")
        assert "can only be read" in told[name]["message"]
    assert told["status"]["checkout_read_only"] == "Permission denied"
    assert told["status"]["coverage"]["state"] == "full"
    bad = [check for check in told["doctor"]["checks"] if not check["ok"]]
    assert [check["name"] for check in bad] == ["checkout"]
    assert told["mended"]["ok"], told["mended"]
    assert told["found"] == []
    assert [path for path in sorted(root.rglob("*")) if ".quire" not in path.parts] == sorted(
        [*before, root / "new", root / "new" / "b.txt"]
    )
