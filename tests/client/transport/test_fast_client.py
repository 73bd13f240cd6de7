"""The quick line: the bytes of msgspec and of ZeroMQ, without either; both are the oracle here."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zmq
from hypothesis import given, strategies as st

import live
from letters import texts
from quire_client.transport.fast_client import DaemonAbsent, Quick, Unreachable
from quire_client.transport.message_codec import pack, unpack
from quire_journal.model.messages import Reply, decode_request, encode
from quire_journal.workspaces.layout import Place
from quire_journal.workspaces.lock import LockHolder, hold_lock

MOST = live.length(8, 20)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 63), (1 << 64) - 1)
    | st.floats(allow_nan=False)
    | texts()
    | st.binary(max_size=300),
    lambda inner: st.lists(inner, max_size=MOST) | st.dictionaries(texts(40), inner, max_size=MOST),
    max_leaves=live.length(16, 30),
)


@given(VALUES)
def test_what_is_packed_here_msgspec_reads_and_the_other_way_round(value: Any) -> None:
    assert msgspec.msgpack.decode(pack(value)) == value
    assert unpack(msgspec.msgpack.encode(value)) == value


@pytest.mark.parametrize("size", [0, 15, 16, 31, 32, 255, 256, 65_535, 65_536])
def test_every_width_of_a_length_is_understood(size: int) -> None:
    for value in ("x" * size, b"x" * size, [None] * size, {str(n): None for n in range(size)}):
        assert msgspec.msgpack.decode(pack(value)) == value
        assert unpack(msgspec.msgpack.encode(value)) == value


@given(st.binary(max_size=40))
def test_bytes_that_are_no_message_are_a_value_error_and_nothing_else(data: bytes) -> None:
    with contextlib.suppress(ValueError):
        unpack(data)


@pytest.mark.parametrize(
    "data", [b"\x91" * 1000, b"\xdf\xff\xff\xff\xff", b"\xdb\xff\xff\xff\xff", b"\x81\x01\x01", b"\x01\x01"]
)
def test_hostile_messages_are_refused_before_they_cost_anything(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"nested|early|not a text|follow"):
        unpack(data)


@contextlib.contextmanager
def daemon(place: Place, replies: list[Any]) -> Iterator[list[Any]]:
    """A ROUTER of the real library that sends one reply, or raw frames, for each request; what it was asked."""
    place.state.mkdir(parents=True, exist_ok=True)
    path = Path(os.environ["XDG_RUNTIME_DIR"]) / "d.sock"
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    router = context.socket(zmq.ROUTER)
    router.bind(f"ipc://{path}")
    asked: list[Any] = []

    def serve() -> None:
        while replies and router.poll(5000):
            identity, frame = router.recv_multipart()
            request = decode_request(frame)
            asked.append(request)
            for reply in replies.pop(0):
                router.send_multipart([identity, encode(reply(request.id)) if callable(reply) else reply])

    thread = threading.Thread(target=serve)
    with hold_lock(place.lock) as lock:
        assert lock is not None
        lock.announce(LockHolder(os.getpid(), "e1", str(path)))
        thread.start()
        try:
            yield asked
        finally:
            thread.join(5)
            context.destroy(linger=0)


def quick(place: Place, seconds: float = 5.0, **caller: str) -> Quick:
    return Quick(place, caller, time.monotonic() + seconds)


def test_calls_reach_a_real_router_and_replies_to_others_are_dropped(place: Place) -> None:
    def mine(body: dict[str, Any]) -> Any:
        return lambda request_id: Reply(request_id, body, "e1")

    big = {"ok": True, "text": "x" * 100_000}
    with (
        daemon(place, [[lambda _: Reply(0, {}), mine({"ok": True, "n": 1})], [mine(big)]]) as asked,
        quick(place, agent="ann", model="") as line,
    ):
        assert line.call("status", {}) == {"ok": True, "n": 1}
        assert line.call("native", {"paths": ["a" * 300]}) == big
    assert [(request.tool, request.caller.agent) for request in asked] == [("status", "ann"), ("native", "ann")]
    assert msgspec.msgpack.decode(asked[1].args) == {"paths": ["a" * 300]}
    assert asked[0].deadline_ns > time.time_ns()


def test_an_answer_that_never_comes_or_is_none_says_so(place: Place) -> None:
    with (
        daemon(place, [[]]),
        quick(place, 0.2) as line,
        pytest.raises(Unreachable, match=r"did not answer status|time"),
    ):
        line.call("status", {})
    with daemon(place, [[b"\xc1"]]), quick(place) as line, pytest.raises(Unreachable, match="did not answer"):
        line.call("status", {})


def test_without_a_daemon_it_says_which_it_is(place: Place) -> None:
    with pytest.raises(DaemonAbsent, match="No daemon runs"):
        quick(place)


def test_something_else_behind_the_socket_is_no_daemon(place: Place) -> None:
    place.state.mkdir(parents=True)
    path = Path(os.environ["XDG_RUNTIME_DIR"]) / "x.sock"
    with socket.socket(socket.AF_UNIX) as listener, hold_lock(place.lock) as lock:
        listener.bind(str(path))
        listener.listen()
        assert lock is not None
        lock.announce(LockHolder(os.getpid(), "e1", str(path)))
        with pytest.raises(Unreachable, match="does not answer"):
            quick(place, 0.2)
        lock.announce(LockHolder(os.getpid(), "e1", str(path.with_name("missing.sock"))))
        with pytest.raises(Unreachable, match="is missing"):
            quick(place)


def test_a_hook_imports_neither_zeromq_nor_msgspec_nor_the_sdk() -> None:
    """It runs twice for each tool call of each agent: what it imports is what it costs."""
    script = (
        "import sys, json, quire_client.__main__, quire_client.commands.agents.hook\n"
        "import quire_client.transport.fast_client\n"
        "from quire_client.hooks.table import AGENTS, agent\n"
        "for name in AGENTS: agent(name)\n"
        "print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))\n"
    )
    loaded = json.loads(subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout)
    assert not {"zmq", "msgspec", "mcp", "rich", "click", "asyncio", "tomllib", "subprocess", "socket"} & set(loaded)
