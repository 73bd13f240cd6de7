"""The examples of `client/examples` do what they say, against a real daemon; so do the refusals that are documented."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import live
from quire_client import Client

EXAMPLES = Path(__file__).resolve().parents[2] / "client" / "examples"

pytestmark = pytest.mark.real


def run(name: str, home: live.Live, *words: str, status: int = 0) -> list[str]:
    """What the example prints."""
    command = [sys.executable, str(EXAMPLES / name), str(home.root), "--state-dir", str(home.state_dir), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50)
    assert done.returncode == status, done.stderr
    return done.stdout.splitlines()


def test_two_loops_do_all_tasks_and_lose_none(served: live.Live) -> None:
    printed = run("two_loops.py", served, "--tasks", "4")
    assert printed == [" planner  # Tasks", *(f"  worker  - [x] task {number}" for number in range(1, 5))]
    assert served.read("TASKS.md").decode().count("[x]") == 4


def test_the_formatter_tidies_what_others_wrote_as_one_burst(served: live.Live) -> None:
    client = served.connect(session="untidy")
    start = live.caught_up(client)
    live.ok(client.write_file("messy.py", "a = 1   \n\n\n"))
    live.ok(client.write_file("clean.py", "b = 2\n"))
    served.write("outside.txt", "no end")
    served.write("dos.txt", b"left  \r\nalone\r\n")
    live.caught_up(client)
    assert run("formatter.py", served, "--since", start, "--rounds", "1") == ["messy.py: tidied", "outside.txt: tidied"]
    assert served.read("messy.py") == b"a = 1\n"
    assert served.read("outside.txt") == b"no end\n"
    assert served.read("dos.txt") == b"left  \r\nalone\r\n"
    bursts = live.ok(client.burst("list"))["bursts"]
    (burst,) = [one for one in bursts if one["label"] == "tidied"]
    live.ok(client.undo(burst=burst["burst"]))
    assert served.read("messy.py") == b"a = 1   \n\n\n"


def test_the_auditor_names_every_writer_and_finds_what_came_from_outside(served: live.Live) -> None:
    client = served.connect(agent="ada", session="audited")
    live.ok(client.checkpoint("audit"))
    live.ok(client.write_file("audited.txt", "one\n"))
    *told, sums = map(json.loads, run("auditor.py", served, "--since", "audit", "--strict"))
    assert [(one["by"], one["path"]) for one in told] == [("ada", "audited.txt")]
    assert sums == {"changes": {"ada": 1}, "complete": True, "why_not": [], "sound": True}
    served.write("audited.txt", "two\n")
    *_, last, sums = map(json.loads, run("auditor.py", served, "--since", "audit", "--strict", status=1))
    assert (last["by"], last["path"]) == ("outside", "audited.txt")
    assert sums["changes"] == {"ada": 1, "outside": 1}


Refusing = Callable[[Client], dict[str, Any]]

DOCUMENTED: dict[str, tuple[str, Refusing]] = {
    "describe": ("not_found", lambda client: client.describe("nope")),
    "move_file": ("already_exists", lambda client: client.move_file("there.txt", "other.txt")),
    "delete_file": ("not_found", lambda client: client.delete_file("nowhere")),
    "checkpoint": ("not_found", lambda client: client.checkpoint("none", action="drop")),
    "op_status": ("schema_invalid", lambda client: client.op_status("no hex")),
    "blame": ("binary_file", lambda client: client.blame("binary")),
    "why": ("line_out_of_range", lambda client: client.why("there.txt", 99)),
    "log": ("schema_invalid", lambda client: client.log(cursor="no cursor")),
    "since": ("not_found", lambda client: client.since("no point")),
    "show": ("not_found", lambda client: client.show("v999999")),
    "diff": ("not_found", lambda client: client.diff("no point")),
    "tree": ("schema_invalid", lambda client: client.tree(cursor=-1)),
    "blobs": ("schema_invalid", lambda client: client.blobs([])),
    "manual": ("not_found", lambda client: client.manual("nope")),
    "read_file": ("binary_file", lambda client: client.read_file("binary")),
    "write_file": ("write_conflict", lambda client: client.write_file("there.txt", "x")),
    "edit_file": (
        "stale_file",
        lambda client: client.edit_file("there.txt", "0" * 64, [{"oldText": "a", "newText": ""}]),
    ),
    "apply_patch": ("patch_parse_error", lambda client: client.apply_patch("nonsense")),
    "undo": ("not_found", lambda client: client.undo()),
    "redo": ("not_found", lambda client: client.redo()),
    "rollback": ("not_found", lambda client: client.rollback("no point")),
    "restore": ("not_found", lambda client: client.restore("nowhere", "seq:1")),
    "burst": ("not_found", lambda client: client.burst("end")),
    "claim": ("not_found", lambda client: client.claim(renew=1)),
    "release": ("not_found", lambda client: client.release(lease=1)),
    "purge": ("invalid_regex", lambda client: client.purge(matching="(", plan=True)),
    "export": ("schema_invalid", lambda client: client.export("nope", lambda piece: None)),
    "gc": ("schema_invalid", lambda client: client.gc(only="nope")),
}


def test_what_a_method_says_that_it_is_refused_with_is_what_it_is_refused_with(served: live.Live) -> None:
    for name, data in {"there.txt": b"a\n", "other.txt": b"b\n", "binary": b"\0"}.items():
        served.write(name, data)
    client = served.connect(agent="refused", session="newcomer")
    live.caught_up(client)
    for name, (code, act) in DOCUMENTED.items():
        reply = act(client)
        assert reply.get("error") == code, (name, reply)
        told = re.search(r"^(?:Refused: )(.*?)^Source:", inspect.getdoc(getattr(Client, name)) or "", re.S | re.M)
        assert told
        assert f"`{code}`" in told[1] or "as `undo`" in told[1], name
