"""Git beside the real daemon: what a checkout leaves in the journal, heard and unheard; and `quire watch`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import live

pytestmark = pytest.mark.real


def git(root: Path, *words: str, **environ: str) -> None:
    """A git command, with nobody's configuration."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    nobody = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
    environment = {**plain, **nobody, **environ}
    subprocess.run(["git", *who, *words], cwd=root, env=environment, check=True, capture_output=True, timeout=30)


def checkout(at: live.Live) -> bytes:
    """A repository with two branches that differ in two files, one of which only `main` has; git's configuration."""
    git(at.root, "init", "-q")
    at.write("a.txt", "main\n")
    at.write("gone.txt", "only here\n")
    git(at.root, "add", "a.txt", "gone.txt")
    git(at.root, "commit", "-qm", "one")
    git(at.root, "checkout", "-qb", "side")
    at.write("a.txt", "side\n")
    git(at.root, "rm", "-q", "gone.txt")
    git(at.root, "commit", "-qam", "two")
    git(at.root, "checkout", "-q", "main")
    return at.read(".git/config")


def environment(at: live.Live, agent: str) -> dict[str, str]:
    """What `quire env` tells a shell."""
    where = ["-C", str(at.root), "--state-dir", str(at.state_dir), "--agent", agent, "--session", "s1"]
    variables: dict[str, str] = json.loads(live.quire(*where, "env", "--json").stdout)["env"]
    return variables


def changes(client: Any, cursor: str, kind: str) -> list[dict[str, Any]]:
    """What was recorded since, once a record of this kind is among it."""

    def look() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = live.ok(client.since(cursor))["records"]
        return found if kind in {record["kind"] for record in found} else []

    return list(live.eventually(kind, look))


def test_a_checkout_is_labelled_with_its_command_and_the_agent_that_ran_it_and_without_a_trace_by_the_move_of_head(
    daemon: Any,
) -> None:
    at = daemon()
    config = checkout(at)
    with at.connect("ada") as ada:
        live.eventually("the first capture", lambda: ada.status()["capture"]["finished"])
        live.ok(ada.read_file("a.txt"))
        variables = environment(at, "ada")
        cursor = live.ok(ada.since())["cursor"]
        git(at.root, "status", **variables)  # which changes nothing, and is not recorded
        git(at.root, "checkout", "-q", "side", **variables)
        records = {(r["kind"], r["path"]): r for r in changes(ada, cursor, "git_ran")}
        records.pop(("outside_deleted", "a.txt"), None)  # git removes it first; busy machines show that
        assert {*records} == {("outside_written", "a.txt"), ("outside_deleted", "gone.txt"), ("git_ran", None)}
        for kind, path in (("outside_written", "a.txt"), ("outside_deleted", "gone.txt")):
            assert records[kind, path]["writer"]["type"] == "outside"
            assert records[kind, path]["hint"].startswith("git checkout -q side (ada/s1, pid ")
        ran = records["git_ran", None]
        assert (ran["command"], ran["exit_code"], ran["evidence"]) == ("checkout -q side", 0, "trace2")
        assert (ran["writer"]["agent"], ran["writer"]["agent_session"]) == ("ada", "s1")
        assert ran["writer"]["uid"] == os.getuid()
        assert ran["worktree"] == str(at.root)
        assert ran["head_after"].startswith("side ")
        (told,) = live.ok(ada.status())["changed_since_your_read"]
        assert (told["path"], told["hint"]) == ("a.txt", records["outside_written", "a.txt"]["hint"])
        shown = live.ok(ada.show(records["outside_written", "a.txt"]["version"]))
        assert shown["record"]["hint"] == told["hint"]

        cursor = live.ok(ada.since())["cursor"]
        time.sleep(0.2)  # what has no time of its own is put down to a command that ended just now
        git(at.root, "checkout", "-q", "main")
        records = {(r["kind"], r["path"]): r for r in changes(ada, cursor, "git_ran")}
        hints = {r["hint"] for key, r in records.items() if key != ("git_ran", None)}
        moved = "git: checkout: moving from side to main (HEAD side "
        assert {hint for hint in hints if hint != "git: index.lock was held" and not hint.startswith(moved)} == set()
        ran = records["git_ran", None]
        assert (ran["command"], ran["evidence"]) == ("checkout: moving from side to main", "head")
        assert (ran["head_before"].split()[0], ran["head_after"].split()[0]) == ("side", "main")

        cursor = live.ok(ada.since())["cursor"]
        at.write("a.txt", "an editor\n")
        assert not [record["hint"] for record in changes(ada, cursor, "outside_written") if "hint" in record]
        here = live.ok(ada.who(present=True))["writers"][0]
        assert (here["agent"], here["connections"] >= 1, here["alive"]) == ("ada", True, True)
        assert here["on"]["files"][0]["path"] == "a.txt"
    assert at.read(".git/config") == config


@pytest.mark.wide
def test_a_watch_goes_on_through_a_restart_without_a_gap_and_ends_with_0(daemon: Any) -> None:
    at = daemon()
    with at.connect("ada") as ada:
        cursor = live.ok(ada.since())["cursor"]
        live.ok(ada.write_file("0.txt", "x\n"))
        where = ["-C", str(at.root), "--state-dir", str(at.state_dir)]
        words = ["watch", "--cursor", cursor, "--json", "--kind", "file_written", "--writer", "ada"]
        signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in what a shell runs in the background
        with live.running(sys.executable, "-m", "quire_client", *where, *words) as watch:
            assert watch.stdout is not None
            paths = [json.loads(watch.stdout.readline())["path"]]
            at.write("outside.txt", "not ada's\n")
            live.ok(ada.shutdown_daemon())
            live.ok(ada.write_file("1.txt", "x\n"))  # starts the next one
            paths.append(json.loads(watch.stdout.readline())["path"])
            watch.send_signal(signal.SIGINT)
            assert watch.wait(30) == 0
            assert paths == ["0.txt", "1.txt"]
