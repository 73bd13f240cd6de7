"""Settings files that cannot be used: nothing is guessed, every door says so, and a mended one is taken at once."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import live
import quire_client

pytestmark = pytest.mark.real


def doctor(at: live.Live, status: int) -> dict[str, dict[str, Any]]:
    """The checks of `quire doctor` by their names, which ends with `status`."""
    ran = live.quire("doctor", "--json", "-C", str(at.root), "--state-dir", str(at.state_dir))
    assert ran.returncode == status, (ran.stdout, ran.stderr)
    return {check["name"]: check for check in json.loads(ran.stdout)["checks"]}


def status(client: quire_client.Client, state: str) -> dict[str, Any]:
    """The coverage, once it is in this state."""

    def look() -> Any:
        coverage = client.status()["coverage"]
        return coverage if coverage["state"] == state else None

    return dict(live.eventually(f"the coverage is {state}", look))


def test_a_bad_file_keeps_the_daemon_from_starting_and_the_doctor_says_so_without_one(
    daemon: Any,
) -> None:
    at = daemon()
    file = at.root / ".quire.toml"
    at.write(".quire.toml", '[capture]\nsecret_glob = ["*.secret"]\n')
    with pytest.raises(quire_client.NoDaemon) as refused:
        at.connect()
    assert f"{file}: line 2: there is no key `capture.secret_glob`. Did you mean secret_globs?" in str(refused.value)
    assert "move it away" in str(refused.value)
    told = doctor(at, 1)
    assert not told["settings"]["ok"]
    assert told["settings"]["detail"].startswith(f"{file}: line 2: ")
    assert not told["daemon"]["ok"]
    asked = live.quire("status", "-C", str(at.root), "--state-dir", str(at.state_dir))
    assert (asked.returncode, f"{file}: line 2: ".encode() in asked.stderr) == (4, True), asked.stderr
    assert b"nothing is recorded" in asked.stderr
    assert not at.pids(), "the doctor starts nothing, nor does the status"


def test_settings_that_change_are_taken_without_a_restart_and_bad_ones_leave_those_of_before(daemon: Any) -> None:
    at = daemon()
    user = Path(os.environ["XDG_CONFIG_HOME"]) / "quire" / "config.toml"
    user.parent.mkdir()
    # The doctor tries a server of MCP that is set up, else one of its own, which computes for two seconds.
    at.write(".mcp.json", json.dumps({"mcpServers": {"quire": {"command": "/gone/quire", "args": ["mcp"]}}}))
    with at.connect() as client:
        status(client, "full")
        at.write(".quire.toml", "[capture\n")
        assert f"{at.root / '.quire.toml'}: line 1" in status(client, "degraded")["reasons"][0]
        told = doctor(at, 1)
        assert (told["settings"]["ok"], told["settings in force"]["ok"]) == (False, False)
        assert told["watcher"]["ok"], "it sees everything as before"
        at.write(".quire.toml", '[capture]\nsecret_globs = ["*.hidden"]\n')
        status(client, "full")
        at.write("a.hidden", "the password\n")
        live.caught_up(client)
        kinds = [record["kind"] for record in live.log(client, path="a.hidden")]
        assert kinds == ["capture_failed"], "what is secret from now on is not journaled from now on"
        at.write(".quire.toml", "")
        live.caught_up(client)
        kinds = [record["kind"] for record in live.log(client, path="a.hidden")]
        assert kinds == ["capture_failed", "outside_written"], "nor is it any longer than that"
        user.write_bytes(b"\xff")
        assert f"{user}: line 1: not UTF-8" in status(client, "degraded")["reasons"][0]
        user.write_text('[limits]\nedit_bytes = 3\n[watch]\ntrace = "off"\n')
        status(client, "full")
        waiting = ['trace = "off" waits for the next start of the daemon; until then it is "auto"']
        assert client.call("status", {})["settings_waiting"] == waiting
        assert client.call("write_file", {"path": "b.txt", "content": "four\n"})["error"] == "file_too_large"


def test_rules_that_an_edit_changes_hold_at_once(daemon: Any) -> None:
    """Of our own edits nobody looks at what the watcher tells, but at these."""
    at = daemon()
    at.write(".gitignore", "*.log\n")
    with at.connect("ada") as client:
        version = live.ok(client.call("read_file", {"path": ".gitignore"}))["version"]
        live.ok(client.call("write_file", {"path": ".gitignore", "content": "*.log\n*.made\n", "base": version}))
        live.caught_up(client)
        at.write("a.made", "x")
        at.write("b.kept", "x")
        live.caught_up(client)
        paths = {record["path"] for record in live.log(client) if "path" in record}
    assert ("a.made" in paths, "b.kept" in paths) == (False, True)
