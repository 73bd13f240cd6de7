"""A full disk under the journal: edits are refused, everything else is answered, and a collection makes room."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from disks import fill, small_disk
from live import Live, eventually, ok, refused, verified
from quire_client import NoDaemon

pytestmark = pytest.mark.real

SETTINGS = """
[retention]
keep_last = 1
keep_within = ""
daily = 0
thin_outside = ""
grace = "0"
reserve_bytes = 4194304
"""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 40 MiB."""
    with small_disk(tmp_path / "disk", 40) as disk:
        yield disk


def _takes_nothing(client: Any) -> bool:
    coverage = ok(client.call("status", {}))["coverage"]
    return coverage["state"] == "degraded" and "has taken nothing" in "; ".join(coverage["reasons"])


def _doctor_finds(client: Any, wrong: str) -> bool:
    journal = next(check for check in ok(client.call("doctor", {}))["checks"] if check["name"] == "journal")
    return not journal["ok"] and wrong in journal["detail"]


def _warns(client: Any, what: str) -> bool:
    return any(warning["type"] == what for warning in ok(client.call("log", {})).get("warnings", ()))


def test_the_reserve_is_given_back_so_that_the_past_can_be_read_and_collected(daemon: Any, disk: Path) -> None:
    at: Live = daemon(state_dir=disk / "state")
    folder = Path(os.environ["XDG_CONFIG_HOME"]) / "quire"
    folder.mkdir()
    (folder / "config.toml").write_text(SETTINGS)
    with at.connect("writer", "s1") as client:
        base: dict[str, str] = {}
        for _ in range(4):  # versions that hardly shrink and have nothing in common
            content = os.urandom(400_000).hex() + "\n"
            base = {"base": ok(client.call("write_file", {"path": "a", "content": content, **base}))["version"]}
        assert ok(client.call("status", {}))["retention"]["reserve"]["held"]
        free = os.statvfs(disk)
        (disk / "ballast").write_bytes(b"x" * (free.f_bavail * free.f_frsize - (64 << 10)))

        def write(reason: str) -> dict[str, Any]:
            content = f"{reason} {os.urandom(300_000).hex()}\n"
            reply: dict[str, Any] = client.call("write_file", {"path": "a", "content": content, **base})
            return reply

        refused(write("the disk is full"), "disk_full")
        assert "reserve was given back" in refused(write("and stays full"), "disk_full")["message"]
        assert at.read("a").decode() == content
        status = ok(client.call("status", {}))
        assert status["retention"]["reserve"] == {"bytes": 4 << 20, "held": False, "given_back": True}
        assert not ok(client.call("doctor", {}))["healthy"]
        fill(disk / "more")  # the space of the reserve, too
        at.write("outside", os.urandom(3_000_000))
        eventually("the journal says that it takes nothing", lambda: _takes_nothing(client))
        eventually("doctor says so", lambda: _doctor_finds(client, "has taken nothing"))
        eventually("the log says so", lambda: _warns(client, "disk_full"))  # else nothing would seem to be written
        (disk / "more").unlink()
        eventually("it takes records again", lambda: not _takes_nothing(client))
        outside = {"path": "outside"}  # looked at again within a second or two
        eventually("what came meanwhile is journaled", lambda: ok(client.call("log", outside))["records"])
        (at.root / "outside").unlink()
    with at.connect("boss", "boss") as boss:
        assert ok(boss.call("read_file", {"path": "a", "end_line": 1}))
        assert ok(boss.call("gc", {}))["dropped"]["blobs"] == 3
        (disk / "ballast").unlink()
        eventually("the reserve is taken again", lambda: ok(boss.call("status", {}))["retention"]["reserve"]["held"])
        verified(boss)
        newest = ok(boss.call("read_file", {"path": "a", "end_line": 1}))["version"]
        ok(boss.call("write_file", {"path": "a", "content": "room\n", "base": newest}))


def test_a_daemon_starts_on_a_full_disk_and_the_past_can_be_read(daemon: Any, disk: Path) -> None:
    at: Live = daemon(state_dir=disk / "state")
    folder = Path(os.environ["XDG_CONFIG_HOME"]) / "quire"
    folder.mkdir()
    (folder / "config.toml").write_text(SETTINGS)
    with at.connect("writer", "s1") as client:
        version = ok(client.call("write_file", {"path": "a", "content": "one\n"}))["version"]
        assert ok(client.call("status", {}))["retention"]["reserve"]["held"]
    at.kill()
    fill(disk / "ballast")
    with at.connect("reader", "s2") as client:
        assert ok(client.call("read_file", {"path": "a"}))
        assert ok(client.call("show", {"version": version}))["content"] == "one\n"
        refused(client.call("write_file", {"path": "b", "content": "b\n"}), "disk_full")
        assert ok(client.call("status", {}))["retention"]["reserve"]["given_back"]
        (disk / "ballast").unlink()
        eventually("there is a reserve again", lambda: ok(client.call("status", {}))["retention"]["reserve"]["held"])
        assert ok(client.call("write_file", {"path": "b", "content": "b\n"}))
        verified(client)


def test_a_start_that_a_full_disk_without_a_reserve_does_not_allow_says_so(daemon: Any, disk: Path) -> None:
    at: Live = daemon(state_dir=disk / "state")
    folder = Path(os.environ["XDG_CONFIG_HOME"]) / "quire"
    folder.mkdir()
    (folder / "config.toml").write_text("[retention]\nreserve_bytes = 0\n")
    with at.connect("writer", "s1") as client:
        ok(client.call("write_file", {"path": "a", "content": "one\n"}))
    at.kill()
    fill(disk / "ballast")
    with pytest.raises(NoDaemon, match=r"the disk of .* is full"):
        at.connect("reader", "s2").call("status", {})
    (disk / "ballast").unlink()
    with at.connect("reader", "s2") as client:
        assert ok(client.call("read_file", {"path": "a"}))


def test_a_daemon_starts_on_a_checkout_whose_disk_is_full(daemon: Any, disk: Path) -> None:
    """What protects writes there is tried on a file, and that took the start with it."""
    at: Live = daemon(root=disk / "checkout")
    with at.connect("writer", "s1") as client:
        version = ok(client.call("write_file", {"path": "a", "content": "one\n"}))["version"]
    at.kill()
    fill(disk / "ballast")
    with at.connect("reader", "s2") as client:
        assert ok(client.call("show", {"version": version}))["content"] == "one\n"
        refused(client.call("write_file", {"path": "b", "content": "b\n"}), "disk_full")
        (disk / "ballast").unlink()
        assert ok(client.call("write_file", {"path": "b", "content": "b\n"}))
        verified(client)
