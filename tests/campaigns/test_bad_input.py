"""Bad input of every kind: a clear error each, nothing lost, and the daemon goes on.

After each test the daemon must still be the same process and answer `status`; after all of them its journal must be
sound: what one of them damages stays damaged.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zmq

import live
from disks import fill, small_disk
from live import Live, caught_up, eventually, journaled, ok, refused, replacing, sha256, verified
from quire_journal.model.messages import MAX_MESSAGE, decode_reply

pytestmark = [pytest.mark.real, pytest.mark.timeout(live.length(60, 300))]

HELLO = "def hello():\n    return 1\n"


@pytest.fixture(scope="module")
def checkout() -> Iterator[Live]:
    """One daemon for all of these tests: what one of them sends must not hurt the next."""
    one = Live()
    if not live.LONG:
        settings = Path(os.environ["XDG_CONFIG_HOME"]) / "quire" / "config.toml"
        settings.parent.mkdir()
        settings.write_text("[capture]\nmax_bytes = 8000000\n")
    yield one
    try:
        verified(one.connect("boss"))
    finally:
        one.close()


@pytest.fixture(scope="module")
def boss(checkout: Live) -> Any:
    """A client that was there before the bad input came, and is not disturbed by it."""
    return checkout.connect("boss")


@pytest.fixture
def at(checkout: Live, boss: Any) -> Iterator[Live]:
    """A checkout with one file; whatever the test does, its daemon must be the same and well afterwards."""
    for path in checkout.root.iterdir():
        if path.name != ".quire":
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    shutil.rmtree(checkout.top / "outside", ignore_errors=True)
    checkout.write("hello.py", HELLO)
    before = ok(boss.call("status", {}))["pid"]
    yield checkout
    assert ok(boss.call("status", {}))["pid"] == before, "the daemon died and was started again"
    assert checkout.read("hello.py") == HELLO.encode(), "a refused call changed a file"
    ok(boss.call("read_file", {"path": "hello.py"}))


READS_AND_WRITES = [
    ("read_file", {}),
    ("write_file", {"content": "mine\n"}),
    ("edit", {"operations": [{"op": "delete_line", "hash": "abcdef"}]}),
    ("delete_file", {}),
    ("move_file", {"to": "moved.txt"}),
]


# ── paths ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "kind", ["parent", "deep_parent", "absolute", "link", "folder_link", "magic", "git", "folded", "own"]
)
def test_no_path_leads_out_of_the_workspace_or_into_what_is_protected(at, kind: str) -> None:
    outside = at.top / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("secret\n")
    (at.root / ".git").mkdir()
    (at.root / ".git" / "config").write_text("[core]\n")
    (at.root / "link.txt").symlink_to(outside / "secret.txt")
    (at.root / "folder").symlink_to(outside)
    (at.root / "magic").symlink_to("/proc/self/root")
    path, codes = {
        "parent": ("../outside/secret.txt", ["outside_workspace"]),
        "deep_parent": ("a/b/../../../outside/secret.txt", ["outside_workspace"]),
        "absolute": (str(outside / "secret.txt"), ["outside_workspace"]),
        "link": ("link.txt", ["outside_workspace"]),
        "folder_link": ("folder/secret.txt", ["outside_workspace"]),
        "magic": (f"magic{outside}/secret.txt", ["outside_workspace"]),
        "git": (".git/config", ["permission_denied"]),
        "folded": (".GIT/config", ["permission_denied", "not_found"]),
        "own": (".quire/tmp/x", ["permission_denied"]),
    }[kind]
    with at.connect("mallory") as client:
        for tool, args in (*READS_AND_WRITES, ("move_file", {"path": "hello.py", "to": path})):
            refused(client.call(tool, {"path": path, **args}), *codes)
            assert [p.name for p in outside.iterdir()] == ["secret.txt"], tool
            assert (outside / "secret.txt").read_text() == "secret\n", tool
            assert (at.root / ".git" / "config").read_text() == "[core]\n", tool
            assert not (at.root / ".GIT").exists(), tool
            assert not (at.root / "moved.txt").exists(), tool


@pytest.mark.parametrize("path", ["", ".", "/", "hello.py/below", "a\0b", "x" * 300, "y/" * 3000 + "z", "\n"])
def test_a_path_that_names_no_possible_file_is_refused_by_every_tool(at, path: str) -> None:
    codes = ("schema_invalid", "not_found", "not_a_file", "outside_workspace", "permission_denied")
    with at.connect("mallory") as client:
        for tool, args in READS_AND_WRITES:
            if path == "\n" and tool == "write_file":
                continue  # a legal name, if an odd one
            refused(client.call(tool, {"path": path, **args}), *codes)


def test_a_fifo_a_socket_and_a_folder_are_not_files_and_nothing_waits_for_them(at) -> None:
    os.mkfifo(at.root / "fifo")
    (at.root / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as listener, at.connect("mallory", timeout_s=5) as client:
        listener.bind(str(at.root / "sock"))
        for name in ("fifo", "sock", "folder"):
            for tool, args in READS_AND_WRITES:
                refused(client.call(tool, {"path": name, **args}), "not_a_file", "write_conflict")
            assert (at.root / name).exists()
        caught_up(client)


# ── contents ─────────────────────────────────────────────────────────────────


def test_a_line_of_100_megabytes_is_too_large_for_tools_and_left_alone(at) -> None:
    """Short, of ten, which is beyond the limits as well: `checkout` has a lower one for what is captured."""
    megabytes = live.length(10, 100)
    with open(at.root / "long.txt", "wb") as file:
        for _ in range(megabytes):
            file.write(b"x" * 1_000_000)
    with at.connect("mallory") as client:
        refused(client.call("read_file", {"path": "long.txt"}), "file_too_large")
        refused(
            client.call("edit", {"path": "long.txt", "operations": [{"op": "delete_line", "hash": "abcdef"}]}),
            "file_too_large",
        )
        refused(
            client.call("write_file", {"path": "long.txt", "content": "short\n", "base": "v1"}),
            "file_too_large",
            "uncaptured",
            "write_conflict",
        )
        reply = client.call("delete_file", {"path": "long.txt"})
        refused(reply, "uncaptured", "file_too_large")
        caught_up(client)
    assert (at.root / "long.txt").stat().st_size == megabytes * 1_000_000


def test_nul_bytes_make_a_file_binary_for_the_text_tools_and_it_is_captured_all_the_same(at) -> None:
    data = at.write("image.bin", b"\x89PNG\0\0" + os.urandom(2000))
    with at.connect("mallory") as client:
        refused(client.call("read_file", {"path": "image.bin", "hashes": True}), "binary_file")
        refused(
            client.call("edit", {"path": "image.bin", "operations": [{"op": "delete_line", "hash": "abcdef"}]}),
            "binary_file",
        )
        caught_up(client)
        assert sha256(data) in journaled(client, "image.bin")
    assert at.read("image.bin") == data


def test_bytes_that_are_not_utf8_are_shown_as_lossy_and_survive_an_edit_of_another_line(at) -> None:
    at.write("latin.txt", b"caf\xe9 one\nplain two\n\xff\xfe three\n")
    with at.connect("ada") as client:
        shown = ok(client.call("read_file", {"path": "latin.txt", "hashes": True}))
        assert shown["lossy"] is True
        ok(client.call("edit", replacing(shown, "plain two", "plain 2")))
    assert at.read("latin.txt") == b"caf\xe9 one\nplain 2\n\xff\xfe three\n"


def test_a_name_that_is_not_utf8_is_captured_and_can_be_named_percent_escaped(at) -> None:
    raw = os.fsencode(at.root) + b"/na\xefve.txt"
    with open(raw, "wb") as file:
        file.write(b"odd name\n")
    with at.connect("ada") as client:
        cursor = caught_up(client)
        assert cursor
        reply = ok(client.call("read_file", {"path": "na%EFve.txt"}))
        assert reply["content"] == "odd name\n"
        assert reply["path_encoding"] == "percent"
        ok(client.call("write_file", {"path": "na%EFve.txt", "content": "x\n", "base": reply["version"]}))
        (me,) = [one for one in ok(client.who())["writers"] if one["you"]]
        shown = {"path": "na%EFve.txt", "path_encoding": "percent"}
        for told in (
            *[one for one in ok(client.tree())["entries"] if one["path"].startswith("na")],
            *[one for one in me["on"]["files"] if one["path"].startswith("na")],
            ok(client.show(reply["version"])),
            *ok(client.diff("seq:0", paths=["na%EFve.txt"]))["files"],
            *ok(client.undo(path="na%EFve.txt", plan=True))["files"],
        ):
            assert told.items() >= shown.items()
        assert ok(client.blame("na%EFve.txt"))["names"] == ["na%EFve.txt"]


# ── messages ─────────────────────────────────────────────────────────────────


class RawDoor:
    """A DEALER that says whatever it likes to the daemon's socket."""

    def __init__(self, at: Live) -> None:
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._socket = self._context.socket(zmq.DEALER)
        self._socket.linger = 0
        self._socket.connect(f"ipc://{json.loads((at.state_dir / 'lock').read_text())['socket']}")

    def say(self, *frames: bytes, wait_s: float = 5.0) -> dict[str, Any] | None:
        """Send, and give the reply's body; None when none comes."""
        self._socket.send_multipart(frames)
        if not self._socket.poll(int(wait_s * 1000)):
            return None
        return decode_reply(self._socket.recv()).body

    def close(self) -> None:
        self._context.destroy(linger=0)


@pytest.fixture
def door(at) -> Iterator[RawDoor]:
    """A raw connection to the daemon."""
    one = RawDoor(at)
    yield one
    one.close()


def request(**fields: Any) -> bytes:
    """A request as bytes, right or wrong."""
    return msgspec.msgpack.encode({"id": 1, "tool": "status", "args": {}, **fields})


def nested(depth: int, opener: bytes = b"\x91") -> bytes:
    """Arrays (or one-key maps) in arrays, built by hand: an encoder would refuse."""
    return opener * depth + b"\xc0"


MALFORMED = {
    "empty": b"",
    "not msgpack": b"\xc1\xc1\xc1",
    "text": b"GET / HTTP/1.1\r\n\r\n",
    "cut off": request()[:-3],
    "not a map": msgspec.msgpack.encode([1, 2, 3]),
    "no tool": msgspec.msgpack.encode({"id": 1}),
    "id is text": request(id="one"),
    "id is huge": request(id=2**64 - 1),
    "id is negative": request(id=-5),
    "op is text": request(op="x" * 16),
    "caller is a list": request(caller=[1, 2]),
    "wire of the future": request(wire=99),
    "a claim of a megabyte": request(caller={"agent": "x" * 1_000_000}),
    "a map that promises four billion entries": b"\xdf\xff\xff\xff\xff",
    "a text that promises four gigabytes": b"\x82\xa2id\x01\xa4tool\xdb\xff\xff\xff\xff",
    "arguments that are a number": request(args=5),
    "arguments that are a list": request(args=[1]),
    "deep arrays as the whole message": nested(100_000),
    "deep maps in an unknown field": b"\x83\xa2id\x01\xa4tool\xa6status\xa1x" + nested(100_000, b"\x81\xa1k"),
    "deep arrays in the arguments": b"\x83\xa2id\x01\xa4tool\xa4edit\xa4args\x81\xa4path" + nested(100_000),
    "deep arrays where a text belongs": b"\x83\xa2id\x01\xa4tool\xa4edit\xa4args\x81\xa4path" + nested(65),
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_a_malformed_message_is_answered_or_dropped_and_never_stops_the_daemon(at, door, kind: str) -> None:
    answer = door.say(MALFORMED[kind])
    assert answer is not None, "no answer"
    if answer.get("ok"):
        assert kind in ("id is huge", "id is negative", "a claim of a megabyte", "deep maps in an unknown field"), (
            answer
        )
    else:
        refused(answer, "schema_invalid")
    assert ok(door.say(request()) or {})["pid"]


def test_several_frames_are_refused(at, door) -> None:
    refused(door.say(b"", request()) or {}, "schema_invalid")
    refused(door.say(*[request()] * 50) or {}, "schema_invalid")


def test_an_oversized_message_ends_its_connection_and_no_other(at, door) -> None:
    with at.connect("ada") as client:
        assert door.say(b"x" * (MAX_MESSAGE + 1), wait_s=0.5) is None
        ok(client.call("status", {}))


def test_an_unknown_tool_is_named_with_those_that_exist(at) -> None:
    with at.connect("ada") as client:
        reply = refused(client.call("reed_file", {"path": "hello.py"}), "unknown_tool")
        assert "reed_file" in reply["message"]
        assert "read_file" in reply["message"]


@pytest.mark.parametrize(
    ("tool", "args", "named"),
    [
        ("read_file", {"path": 5}, "path"),
        ("read_file", {}, "path"),
        ("read_file", {"path": "hello.py", "start_line": "one"}, "start_line"),
        ("read_file", {"path": "hello.py", "colour": "red"}, "colour"),
        ("write_file", {"path": "new.txt"}, "content"),
        ("write_file", {"path": "new.txt", "content": None}, "content"),
        ("write_file", {"path": "new.txt", "content": "x", "expectedSha256": "xyz"}, "expectedSha256"),
        ("edit", {"path": "hello.py"}, "operations"),
        ("edit", {"path": "hello.py", "operations": {}}, "operations"),
        ("edit", {"path": "hello.py", "operations": [{"op": "explode", "hash": "abcdef"}]}, "op"),
        ("edit", {"path": "hello.py", "operations": [7]}, "operations"),
        ("move_file", {"path": "hello.py"}, "to"),
        ("delete_file", {"path": "hello.py", "on_stale": "shrug"}, "on_stale"),
        ("log", {"limit": "many"}, "limit"),
        ("op_status", {"op": 12}, "op"),
    ],
)
def test_wrong_arguments_are_refused_by_name(at, tool: str, args: dict, named: str) -> None:
    with at.connect("ada") as client:
        assert named in refused(client.call(tool, args), "schema_invalid")["message"]


@pytest.mark.parametrize("text", ["\ud800", "a\0b\x1b[31m", "\u202egpj.exe"])
def test_odd_texts_in_claims_and_contents_do_no_harm(at, text: str) -> None:
    with contextlib.suppress(UnicodeEncodeError), at.connect(agent=text, session=text) as client:
        ok(client.call("status", {}))
        client.call("write_file", {"path": "odd.txt", "content": text})
        shown = json.dumps(ok(client.call("log", {"limit": 20})), ensure_ascii=False)
        assert "\x1b" not in shown
        assert "\u202e" not in shown


# ── a disk that says no ──────────────────────────────────────────────────────


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MiB."""
    with small_disk(tmp_path / "disk", 4) as disk:
        yield disk


def hello_on(disk: Path, daemon: Any) -> tuple[Live, Any, dict[str, Any]]:
    """A checkout on `disk` with one file, a caller, and what the caller was shown of it."""
    (disk / "checkout").mkdir()
    at = daemon(root=disk / "checkout")
    at.write("hello.py", HELLO)
    client = at.connect("ada")
    return at, client, ok(client.call("read_file", {"path": "hello.py", "hashes": True}))


def noise(kilobytes: int, before: str = "") -> str:
    """Text that does not compress; each line has `before` before it."""
    noise = os.urandom(kilobytes * 1024 // 65 * 32).hex()
    return "".join(f"{before}{noise[at : at + 64]}\n" for at in range(0, len(noise), 64))


def test_a_full_disk_of_the_workspace_refuses_writes_by_name_and_leaves_the_files_alone(disk: Path, daemon) -> None:
    at, client, shown = hello_on(disk, daemon)
    fill(disk / "filler")
    refused(client.call("write_file", {"path": "big.txt", "content": noise(300)}), "disk_full")
    reply = client.call("edit", replacing(shown, "return 1", "    return 2\n" + noise(100, "# ")))
    refused(reply, "disk_full")
    assert at.read("hello.py") == HELLO.encode()
    assert sorted(p.name for p in at.root.iterdir() if not p.name.startswith(".")) == ["hello.py"]
    (disk / "filler").unlink()
    ok(
        client.call(
            "edit",
            replacing(ok(client.call("read_file", {"path": "hello.py", "hashes": True})), "return 1", "    return 2"),
        )
    )
    assert at.read("hello.py") == HELLO.replace("1", "2").encode()
    assert sha256(at.read("hello.py")) in journaled(client, "hello.py")
    verified(client)


def test_a_read_only_disk_is_permission_denied(disk: Path, daemon) -> None:
    """Root may write into any folder, so what is made read-only here is the mount."""
    _, client, shown = hello_on(disk, daemon)
    eventually("the start is through", lambda: caught_up(client))
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    refused(client.call("edit", replacing(shown, "return 1", "    return 2")), "permission_denied")
    refused(client.call("write_file", {"path": "new.txt", "content": "x\n"}), "permission_denied")
    refused(client.call("delete_file", {"path": "hello.py"}), "permission_denied")
    ok(client.call("read_file", {"path": "hello.py"}))
    subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
    ok(client.call("write_file", {"path": "new.txt", "content": "x\n"}))
    verified(client)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write into any folder; the read-only mount above stands for it")
def test_a_read_only_folder_is_permission_denied(at) -> None:
    at.write("locked/file.txt", "one\n")
    (at.root / "locked").chmod(0o500)
    try:
        with at.connect("ada") as client:
            shown = ok(client.call("read_file", {"path": "locked/file.txt", "hashes": True}))
            refused(client.call("edit", replacing(shown, "one", "two")), "permission_denied")
            refused(client.call("write_file", {"path": "locked/new.txt", "content": "x\n"}), "permission_denied")
    finally:
        (at.root / "locked").chmod(0o700)
    assert at.read("locked/file.txt") == b"one\n"


# ── things that vanish ───────────────────────────────────────────────────────

VANISHING = """
import os, sys, time
path, until = sys.argv[1], time.monotonic() + float(sys.argv[2])
while time.monotonic() < until:
    with open(path, "w") as file:
        file.write("here\\nnow\\n")
    time.sleep(0.002)
    os.unlink(path)
    time.sleep(0.001)
"""


def test_a_file_that_vanishes_in_the_middle_of_calls_is_not_found_or_stale_and_never_a_fault(at) -> None:
    at.write("ghost.txt", "here\nnow\n")
    explained = ("not_found", "anchor_stale", "write_conflict", "stale_base", "busy", "schema_invalid")
    with (
        at.connect("ada") as client,
        live.running(sys.executable, "-IS", "-c", VANISHING, at.root / "ghost.txt", "1") as ghost,
    ):
        while ghost.poll() is None:
            shown = client.call("read_file", {"path": "ghost.txt", "hashes": True})
            if not shown.get("ok"):
                refused(shown, *explained)
                continue
            if not any("now" in line for line in shown["lines"]):
                continue  # read between the opening and the writing of the save, or edited by us already
            reply = client.call("edit", replacing(shown, "now", "then"))
            if not reply.get("ok"):
                refused(reply, *explained)
    caught_up_with(at)


def caught_up_with(at: Live) -> None:
    """The daemon has seen everything, and its journal is sound."""
    with at.connect("boss") as client:
        caught_up(client)
        verified(client)


def test_a_folder_that_is_replaced_by_a_file_and_back_does_no_harm(at) -> None:
    at.write("d/x.txt", "one\n")
    with at.connect("ada") as client:
        caught_up(client)
        shutil.rmtree(at.root / "d")
        at.write("d", "now a file\n")
        refused(client.call("read_file", {"path": "d/x.txt"}), "not_found", "not_a_file")
        refused(
            client.call("write_file", {"path": "d/x.txt", "content": "x\n"}),
            "not_a_file",
            "not_found",
            "already_exists",
        )
        (at.root / "d").unlink()
        at.write("d/x.txt", "two\n")
        assert ok(client.call("read_file", {"path": "d/x.txt"}))["content"] == "two\n"
