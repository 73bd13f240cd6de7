"""A daemon that keeps the real one's manners (lock, announcement, socket) and nothing else; run with its arguments.

What it does with a request depends on the tool's name:

    shutdown  answers and ends        silent  never answers           late   answers after 0.5 s
    die       ends without an answer  noise   answers another id, garbage is not sent, then the answer
    anything  answers with what it was asked
"""

from __future__ import annotations

import argparse
import os
import socket
import sys
import time
from pathlib import Path

import msgspec
import zmq

from quire_journal.messages import Reply, Request, decode_request, encode
from quire_journal.places import Place, Running, settle, take_lock


def listen(path: Path) -> socket.socket:
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(os.fspath(path))
    listener.listen(16)
    return listener


def answer(request: Request) -> dict[str, object]:
    asked = {"tool": request.tool, "args": msgspec.msgpack.decode(request.args), "epoch": request.epoch}
    caller = {"agent": request.caller.agent, "agent_session": request.caller.agent_session}
    return {"ok": True, "message": "Done.", **asked, **caller, "op": request.op.hex(), "pid": os.getpid()}


def serve(router: zmq.Socket[bytes], epoch: str) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if not router.poll(1000):
            continue
        who, frame = router.recv_multipart()
        request = decode_request(frame)
        if request.tool == "silent":
            continue
        if request.tool == "die":
            os._exit(3)
        if request.tool == "late":
            time.sleep(0.5)
        if request.tool == "noise":
            router.send_multipart(
                [who, encode(Reply(request.id + 1000, {"ok": False, "message": "Not yours."}, epoch))]
            )
        router.send_multipart([who, encode(Reply(request.id, answer(request), epoch))])
        if request.tool == "shutdown":
            time.sleep(0.05)
            return


def main() -> int:
    parser = argparse.ArgumentParser()
    for name in ("--workspace", "--state-dir", "--socket"):
        parser.add_argument(name, type=Path, required=True)
    args = parser.parse_args()
    place = Place(args.workspace, args.state_dir)
    if (place.root / "refuse").exists():
        print("Something is wrong.\n.quire.toml: line 3: the key `edti` is unknown.", file=sys.stderr)
        return 2
    lock = take_lock(place.lock)
    if lock is None:
        print("Another daemon holds the lock.", file=sys.stderr)
        return 4
    settle(place)
    with open(place.state / "starts", "a") as starts:
        starts.write(f"{os.getpid()}\n")
    epoch = os.urandom(8).hex()
    lock.announce(Running(os.getpid(), epoch, os.fspath(args.socket)))
    listener = listen(args.socket)
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    context.linger = 0
    router = context.socket(zmq.ROUTER)
    router.setsockopt(zmq.USE_FD, listener.detach())
    router.bind(f"ipc://{args.socket}")
    serve(router, epoch)
    context.destroy(linger=0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
