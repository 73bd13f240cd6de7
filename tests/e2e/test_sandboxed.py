"""A client that reaches no socket works by files, with a real daemon; one may see the checkout at another path."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import live
import quire_client
from quire_client.transport.fast_client import Quick
from quire_client.transport.file_transport import SpoolLine, way_in
from quire_journal import VERSION
from quire_journal.model.file_transport import SPOOL_FOLDER
from quire_journal.workspaces.layout import place_of

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def home() -> Iterator[live.Live]:
    """A daemon whose user wants a spool, and maps a container's path."""
    one = live.Live()
    settings = Path(os.environ["XDG_CONFIG_HOME"], "quire", "config.toml")
    settings.parent.mkdir()
    settings.write_text(f'[spool]\nenabled = true\n[paths.map]\n"/workspace" = "{one.root}"\n')
    live.ok(one.connect().status())
    yield one
    one.close()


@pytest.fixture
def unreachable(home: live.Live) -> Iterator[live.Live]:
    """Its socket is not where it is said to be; it comes back."""
    socket = place_of(home.root, home.state_dir).socket
    socket.rename(socket.with_suffix(".away"))
    yield home
    socket.with_suffix(".away").rename(socket)


def spool(home: live.Live) -> Path:
    return home.root.joinpath(*SPOOL_FOLDER)


def by_files(home: live.Live, session: str) -> quire_client.Client:
    client = quire_client.connect(
        home.root, agent="sandboxed", session=session, state_dir=home.state_dir, timeout_s=20, start=False
    )
    assert isinstance(client._connection, SpoolLine)
    return client


def test_where_the_socket_can_be_reached_nobody_uses_files(home: live.Live) -> None:
    assert (spool(home) / "daemon").exists()
    assert way_in(place_of(home.root, home.state_dir)) is None


def test_edits_by_files_are_journaled_under_the_callers_name(unreachable: live.Live) -> None:
    before = {*os.listdir(spool(unreachable))}
    with by_files(unreachable, "s1") as client:
        live.ok(client.write_file("a.txt", "one\ntwo\n"))
        shown = live.ok(client.read_file("a.txt", hashes=True))
        live.ok(client.call("edit", live.replacing(shown, "two", "TWO")))
        assert unreachable.read("a.txt") == b"one\nTWO\n"
        refusal = live.refused(client.call("edit", live.replacing(shown, "two", "three")), "anchor_stale", "stale_base")
        assert refusal["outcome"] == "not_applied"
        record = live.ok(client.log("a.txt"))["records"][0]
        assert (record["writer"]["agent"], record["writer"]["agent_session"]) == ("sandboxed", "s1")
    assert {*os.listdir(spool(unreachable))} == before, "all that it needed is gone"


def test_callers_by_files_do_not_get_each_others_replies(unreachable: live.Live) -> None:
    def work(number: int) -> None:
        with by_files(unreachable, f"many{number}") as client:
            for turn in range(3):
                live.ok(client.write_file(f"many/{number}.{turn}", f"{number} {turn}\n"))
                if live.ok(client.read_file(f"many/{number}.{turn}"))["content"] != f"{number} {turn}\n":
                    wrong.append(number)

    wrong: list[int] = []
    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_what_is_bound_to_a_connection_ends_with_a_caller_by_files(unreachable: live.Live) -> None:
    with by_files(unreachable, "watcher") as other:
        with by_files(unreachable, "holder") as client:
            live.ok(client.claim("held.txt", "exclusive", bind="connection"))
            assert len(live.ok(other.claims())["leases"]) == 1
        live.eventually("the lease is gone", lambda: not live.ok(other.claims())["leases"])


def test_nonsense_in_the_folder_ends_nothing(unreachable: live.Live) -> None:
    (spool(unreachable) / "00000000000000aa-1.request").write_bytes(b"\xff nonsense")
    live.eventually("it was taken", lambda: not list(spool(unreachable).glob("00*.request")))
    with by_files(unreachable, "after") as client:
        live.ok(client.status())


def test_a_path_of_the_container_is_the_file_here(home: live.Live) -> None:
    client = home.connect(session="container")
    live.ok(client.write_file("/workspace/mapped.txt", "here\n"))
    assert home.read("mapped.txt") == b"here\n"
    live.refused(client.write_file("/workspace/../etc/passwd", "x"), "outside_workspace")
    live.refused(client.write_file("/workspaces/mapped.txt", "x"), "outside_workspace")


def test_the_daemons_version_can_be_asked_for_without_being_journaled(home: live.Live) -> None:
    with Quick(place_of(home.root, home.state_dir), {"agent": "nobody"}, time.monotonic() + 10) as line:
        line.call("hello", {})
        assert line.version == VERSION
    writers = live.ok(home.connect().who())
    assert "nobody" not in json.dumps(writers)


NO_UNIX_SOCKETS = """
import ctypes, os, struct, sys
rules = [(0x20, 0, 0, 4), (0x15, 0, 4, 0xC000003E), (0x20, 0, 0, 0), (0x15, 0, 2, 41), (0x20, 0, 0, 16),
         (0x15, 1, 0, 1), (0x06, 0, 0, 0x7FFF0000), (0x06, 0, 0, 0x00050001)]
filters = b"".join(struct.pack("HBBI", *rule) for rule in rules)
held = ctypes.create_string_buffer(filters, len(filters))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(rules), ctypes.addressof(held)))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0, "no_new_privs"
if libc.prctl(22, 2, ctypes.c_void_p(ctypes.addressof(program)), 0, 0) != 0:
    sys.exit(77)  # the kernel offers none
import socket
try:
    socket.socket(socket.AF_UNIX)
    sys.exit(78)
except PermissionError:
    pass
from quire_client.__main__ import main
sys.exit(main())
"""
"""A program that a seccomp filter keeps from making Unix sockets, as agents' sandboxes do; then `quire`."""


@pytest.mark.skipif(platform.machine() != "x86_64" or sys.platform != "linux", reason="the filter is for x86-64")
def test_a_command_in_a_sandbox_that_blocks_unix_sockets_does_its_work(home: live.Live) -> None:
    home.write("boxed.txt", "in the box\n")
    words = ["-C", str(home.root), "--state-dir", str(home.state_dir), "--agent", "boxed", "read", "boxed.txt"]
    done = subprocess.run([sys.executable, "-c", NO_UNIX_SOCKETS, *words], capture_output=True, text=True, timeout=30)
    if done.returncode == 77:
        pytest.skip("no seccomp here")
    assert (done.returncode, done.stdout) == (0, "in the box\n"), done.stderr


@pytest.mark.skipif(platform.machine() != "x86_64" or sys.platform != "linux", reason="the filter is for x86-64")
def test_without_a_spool_such_a_command_says_at_once_what_would_help(daemon: Callable[[], live.Live]) -> None:
    at = daemon()  # of this test alone: as long as one lives, its folders are those of this process
    live.ok(at.connect().status())
    words = ["-C", str(at.root), "--state-dir", str(at.state_dir), "status"]
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-c", NO_UNIX_SOCKETS, *words], capture_output=True, text=True, timeout=30)
    if done.returncode == 77:
        pytest.skip("no seccomp here")
    assert done.returncode == 4
    assert "may not make Unix sockets" in done.stderr
    assert "[spool]" in done.stderr
    assert time.monotonic() - began < 10  # and not after the 30 s that a call may take
