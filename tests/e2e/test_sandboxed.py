"""A client that reaches no socket works by files, with a real daemon; one may see the checkout at another path."""

from __future__ import annotations

import errno
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


IN_A_SANDBOX = """
import ctypes, struct, sys
call, code = sys.argv[1], int(sys.argv[2])
refused = 0x00050000 | code
of_unix = [(0x20, 0, 0, 16), (0x15, 0, 1, 1)]  # `socket` has the family for its first argument
number, more = {"socket": (41, of_unix), "connect": (42, [])}[call]
rules = [(0x20, 0, 0, 4), (0x15, 0, len(more) + 3, 0xC000003E), (0x20, 0, 0, 0), (0x15, 0, len(more) + 1, number)]
rules += [*more, (0x06, 0, 0, refused), (0x06, 0, 0, 0x7FFF0000)]
filters = b"".join(struct.pack("HBBI", *rule) for rule in rules)
held = ctypes.create_string_buffer(filters, len(filters))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(rules), ctypes.addressof(held)))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0, "no_new_privs"
if libc.prctl(22, 2, ctypes.c_void_p(ctypes.addressof(program)), 0, 0) != 0:
    sys.exit(77)  # the kernel offers none
import socket
try:
    with socket.socket(socket.AF_UNIX) as line:
        line.connect("/nobody")
except PermissionError as error:
    assert error.errno == code
except OSError:
    sys.exit(78)
from quire_client.__main__ import main
sys.exit(main(sys.argv[3:]))
"""
"""A program that a seccomp filter keeps from Unix sockets, as agents' sandboxes do; then `quire`."""

SANDBOXES = [("connect", errno.EPERM), ("connect", errno.EACCES), ("socket", errno.EPERM)]
"""The call that is refused, and how: the first is that of Codex."""

seccomp = pytest.mark.skipif(
    platform.machine() != "x86_64" or sys.platform != "linux", reason="the filter is for x86-64"
)


def boxed(sandbox: tuple[str, int], at: live.Live, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
    """A command in a sandbox."""
    place = ["-C", str(at.root), "--state-dir", str(at.state_dir)]
    told = [words[0], *place, *words[1:]]
    done = subprocess.run(
        [sys.executable, "-c", IN_A_SANDBOX, sandbox[0], str(sandbox[1]), *told],
        capture_output=True,
        text=True,
        timeout=30,
        input=given,
    )
    if done.returncode == 77:
        pytest.skip("no seccomp here")
    return done


@seccomp
@pytest.mark.parametrize("sandbox", SANDBOXES)
def test_a_command_in_a_sandbox_that_blocks_unix_sockets_does_its_work(
    home: live.Live, sandbox: tuple[str, int]
) -> None:
    home.write("boxed.txt", "in the box\n")
    done = boxed(sandbox, home, "read", "--agent", "boxed", "boxed.txt")
    assert (done.returncode, done.stdout) == (0, "in the box\n"), done.stderr
    edited = boxed(
        sandbox, home, "call", "edit_replace", "-", given='{"path": "boxed.txt", "old_text": "in", "new_text": "IN"}'
    )
    assert edited.returncode == 0, edited.stderr
    assert home.read("boxed.txt") == b"IN the box\n"


@seccomp
@pytest.mark.parametrize("sandbox", SANDBOXES)
def test_without_a_spool_such_a_command_says_at_once_what_would_help(
    daemon: Callable[[], live.Live], sandbox: tuple[str, int]
) -> None:
    at = daemon()  # of this test alone: as long as one lives, its folders are those of this process
    live.ok(at.connect().status())
    began = time.monotonic()
    for words in (["status"], ["undo"]):  # which only reads and is asked without ZeroMQ, and which is not
        done = boxed(sandbox, at, *words)
        assert done.returncode == 4
        assert "This process may not connect to the daemon: it is in a sandbox" in done.stderr
        assert "[spool] enabled = true" in done.stderr
        assert "kill" not in done.stderr
    assert time.monotonic() - began < 10  # and not after the 30 s that a call may take


@seccomp
def test_a_hook_in_a_sandbox_lets_the_agent_go_on_and_says_why(daemon: Callable[[], live.Live]) -> None:
    at = daemon()
    live.ok(at.connect().status())
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "cwd": str(at.root), "prompt": "go"}
    done = boxed(SANDBOXES[0], at, "hook", "codex", given=json.dumps(event))
    assert done.returncode == 0
    assert "in a sandbox" in json.loads(done.stdout)["systemMessage"]


@seccomp
def test_where_no_daemon_runs_none_is_started_in_a_sandbox(daemon: Callable[[], live.Live]) -> None:
    """It would end with the sandbox, and could write less than it has to."""
    at = daemon()
    live.ok(at.connect().status())
    live.ok(at.connect().shutdown_daemon())
    done = boxed(SANDBOXES[0], at, "undo")
    assert done.returncode == 4
    assert "Start one outside of it with `quire up`" in done.stderr
    assert at.pids() == []
