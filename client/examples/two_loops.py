"""Two agents edit one file at the same time without losses: one adds tasks, the other ticks them off.

    python client/examples/two_loops.py PATH [--tasks 3]

Both edit by anchors, which name a line by its text, so no edit hits a line that another agent has changed. After a
refusal they read and decide again. The second agent waits with the tool `since` instead of polling.
"""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Callable
from typing import Any

from quire_client import Client, connect

FILE = "TASKS.md"
OPEN, DONE = "- [ ] ", "- [x] "
ATTEMPTS = 20


def main() -> int:
    """Run both agents until every task is done; print each line of the file with its writer."""
    parser = argparse.ArgumentParser(description="Two agents share one file.")
    parser.add_argument("path")
    parser.add_argument("--tasks", type=int, default=3)
    parser.add_argument("--state-dir")
    given = parser.parse_args()

    def agent(name: str) -> Client:
        return connect(given.path, agent=name, session="example", state_dir=given.state_dir)

    with agent("planner") as planner, agent("worker") as worker:
        made = planner.write_file(FILE, "# Tasks\n")
        if not made["ok"]:
            print(f"{made['message']} [{made['error']}]", file=sys.stderr)
            return 1
        start = planner.since()["cursor"]
        working = threading.Thread(target=work, args=(worker, start, given.tasks))
        working.start()
        for number in range(1, given.tasks + 1):
            hand_out(planner, f"task {number}")
        working.join()
        for line in planner.blame(FILE)["lines"]:
            print(f"{line['writer']['agent']:>8}  {line['text']}")
    return 0


def hand_out(client: Client, what: str) -> None:
    """Add a task after the last line, which the other agent may be changing."""

    def below_the_last(lines: list[tuple[str, str]]) -> dict[str, Any]:
        return {"op": "insert_after", "hash": lines[-1][0], "content": f"{OPEN}{what}"}

    edit(client, below_the_last)


def work(client: Client, cursor: str, tasks: int) -> None:
    """Tick off open tasks, and wait for more, until `tasks` of them are done."""
    while True:
        while edit(client, first_open):
            pass
        if sum(text.startswith(DONE) for _, text in read(client)) >= tasks:
            return
        cursor = client.since(cursor, path=FILE, wait_ms=10_000)["cursor"]


def first_open(lines: list[tuple[str, str]]) -> dict[str, Any] | None:
    """Return the edit that ticks off the first open task; None if there is none."""
    for anchor, text in lines:
        if text.startswith(OPEN):
            return {"op": "replace_line", "hash": anchor, "content": DONE + text.removeprefix(OPEN)}
    return None


def edit(client: Client, decide: Callable[[list[tuple[str, str]]], dict[str, Any] | None]) -> bool:
    """Read the file, `decide` on an edit and send it, again if the file changed meanwhile.

    Returns False if `decide` returns None.
    """
    for _ in range(ATTEMPTS):
        operation = decide(read(client))
        if operation is None:
            return False
        reply = client.edit(FILE, [operation])
        if reply["ok"]:
            return True
        print(f"{client.caller.agent} reads again: {reply['message']}", file=sys.stderr)
    raise RuntimeError(f"{FILE} changes faster than it can be edited")


def read(client: Client) -> list[tuple[str, str]]:
    """Return (anchor, text) of every line, split from the reply's `12#ab12cd3 [high]|text`."""
    reply = client.read_file(FILE, hashes=True)
    if not reply["ok"]:
        raise RuntimeError(reply["message"])
    rows = [row.partition("|") for row in reply["lines"]]
    return [(head.split()[0], text) for head, _, text in rows]


if __name__ == "__main__":
    sys.exit(main())
