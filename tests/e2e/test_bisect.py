"""`quire bisect` beside a real daemon: planted changes, their writers, and a tree that stays as it is."""

from __future__ import annotations

import json
import math
import os
import random
import subprocess
import sys
from typing import Any

import pytest

from live import Live, caught_up, ok

pytestmark = pytest.mark.real

CHANGES = 20


def bisect(at: Live, *words: str) -> tuple[int, dict[str, Any]]:
    """(exit status, the reply)."""
    where = ["--state-dir", os.fspath(at.state_dir)]
    command = [sys.executable, "-m", "quire_client", *where, "bisect", "--json", *words]
    done = subprocess.run(command, cwd=at.root, capture_output=True, text=True, timeout=120)
    return done.returncode, json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("planted", [1, 2, 7, 13, CHANGES])
def test_the_change_that_broke_it_is_found_with_its_writer(served: Live, planted: int) -> None:
    at = served
    ann, ben = at.connect("ann"), at.connect("ben")
    name = f"p{planted}.txt"
    at.write(name, "0\n")
    caught_up(ann)
    start = f"seq:{ok(ann.call('status', {}))['seq']}"
    for number in range(1, CHANGES + 1):
        client = ann if number % 2 else ben
        ok(client.read_file(name))
        text = "broken" if number == planted else str(number)
        ok(client.call("insert_lines", {"path": name, "line_number": -1, "text": text}))
    before = at.read(name)
    script = f"! grep -q broken {name}"
    status, reply = bisect(at, "--since", start, "run", "sh", "-c", script)
    assert status == 0, reply
    (found,) = reply["found"]
    assert (found["paths"], found["writer"]["agent"]) == ([name], "ann" if planted % 2 else "ben")
    assert reply["runs"] <= math.ceil(math.log2(CHANGES)) + 1 + (planted == 1)
    assert at.read(name) == before
    assert ok(ann.undo(batch=found["number"]))["ok"]
    assert b"broken" not in at.read(name)


def test_what_does_well_or_fails_already_is_told(served: Live) -> None:
    at = served
    client = at.connect("ann")
    caught_up(client)
    start = f"seq:{ok(client.call('status', {}))['seq']}"
    ok(client.call("write_file", {"path": "one.txt", "content": "1\n"}))
    assert "does well at the end" in bisect(at, "--since", start, "run", "true")[1]["message"]
    assert "name an earlier point" in bisect(at, "--since", start, "run", "false")[1]["message"]
    assert "no-such-program" in bisect(at, "--since", start, "run", "no-such-program")[1]["message"]


def test_whose_work_it_is_is_told_by_leaving_it_out(served: Live) -> None:
    at = served
    ann, ben = at.connect("ann"), at.connect("ben")
    at.write("w.txt", "a\nb\nc\nd\n")
    caught_up(ann)
    start = f"seq:{ok(ann.call('status', {}))['seq']}"
    for client, old, new in ((ann, "a", "A"), (ben, "d", "broken")):
        ok(client.read_file("w.txt"))
        ok(client.call("edit_replace", {"path": "w.txt", "old_text": old, "new_text": new}))
    before = at.read("w.txt")
    script = ("run", "sh", "-c", "! grep -q broken w.txt")
    status, reply = bisect(at, "--since", start, "--without", "ann,ben", *script)
    assert status == 0, reply
    assert {one["writer"]: one["fails"] for one in reply["without"]} == {"ann": True, "ben": False}
    assert reply["message"] == "The command does well without the work of ben."
    assert at.read("w.txt") == before
    assert "nothing to be found" in bisect(at, "--since", start, "--without", "ann", "run", "true")[1]["message"]


def test_states_that_do_not_parse_are_skipped(served: Live) -> None:
    at = served
    ann, ben = at.connect("ann"), at.connect("ben")
    at.write("s.py", "VALUE = 0\n")
    caught_up(ann)
    start = f"seq:{ok(ann.call('status', {}))['seq']}"
    texts = ["VALUE = 1\n", "VALUE = (\n", "VALUE = [\n", "VALUE = 2 # bad\n", "VALUE = {\n", "VALUE = 3 # bad\n"]
    for number, text in enumerate(texts):
        client = ben if "bad" in text and number == 3 else ann
        base = ok(client.read_file("s.py"))["version"]
        ok(client.call("write_file", {"path": "s.py", "content": text, "base": base}))
    runs = at.top / "runs"
    script = f"cat s.py >> {runs}; ! grep -q bad s.py"
    status, reply = bisect(at, "--since", start, "run", "sh", "-c", script)
    assert status == 0, reply
    assert not {"VALUE = (", "VALUE = [", "VALUE = {"} & {*runs.read_text().splitlines()}
    assert [one["writer"]["agent"] for one in reply["found"]] == ["ann", "ann", "ben"], "those skipped may be it, too"


def test_what_does_not_parse_at_the_end_either_is_judged(served: Live) -> None:
    at = served
    ann = at.connect("ann")
    at.write("e.py", "VALUE = 0\n")
    caught_up(ann)
    start = f"seq:{ok(ann.call('status', {}))['seq']}"
    for text in ("VALUE = 1\n", "VALUE = (1\n", "VALUE = (2\n"):
        base = ok(ann.read_file("e.py"))["version"]
        ok(ann.call("write_file", {"path": "e.py", "content": text, "base": base, "safety_check": "off"}))
    status, reply = bisect(at, "--since", start, "run", sys.executable, "e.py")
    assert (status, len(reply["found"])) == (0, 1), reply


@pytest.mark.wide
@pytest.mark.timeout(300)
def test_fifty_planted_changes_among_two_hundred_are_found_with_their_writer(served: Live) -> None:
    """The change that makes the file longer than the command takes is the planted one."""
    at = served
    clients = at.connect("ann"), at.connect("ben")
    at.write("many.txt", "0\n")
    caught_up(clients[0])
    start = f"seq:{ok(clients[0].call('status', {}))['seq']}"
    writers = [random.Random(number).randrange(2) for number in range(201)]
    for number in range(1, 201):
        ok(clients[writers[number]].read_file("many.txt"))
        row = {"path": "many.txt", "line_number": -1, "text": str(number)}
        ok(clients[writers[number]].call("insert_lines", row))
    runs = list[int]()
    for planted in random.Random(1).sample(range(1, 201), 50):
        status, reply = bisect(at, "--since", start, "run", "sh", "-c", f"test $(wc -l < many.txt) -le {planted}")
        assert status == 0, reply
        (found,) = reply["found"]
        assert found["writer"]["agent"] == ("ann", "ben")[writers[planted]]
        shown = ok(clients[0].call("show", {"version": found["versions"][-1]}))
        assert f"+{planted}" in str(shown["diff"]), (planted, found)
        runs.append(reply["runs"])
    assert max(runs) <= math.ceil(math.log2(200)) + 1, runs
