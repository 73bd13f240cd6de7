"""The page tells the same as the command line: of a random journal each view's data equals `quire … --json`."""

from __future__ import annotations

import json
import random
import shlex
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

import pytest
from page_world import CHANGING, ORIGIN, PORT, TOKEN
from starlette.testclient import TestClient

import live
from quire_client.__main__ import main
from quire_client.api import connect
from quire_client.page.app import application
from quire_client.page.daemons import Daemon
from quire_client.page.keys import Keys

pytestmark = pytest.mark.real

PATHS = ["src/a.py", "src/b c.py", "docs/é.md", "-rf", "x@y:3", "7", "deep/er/f.txt"]
ROUNDS = live.length(40, 400)

PASSING = {"age_s", "expires_in_s", "last_seen", "connections", "token", "alive", "you", "at", "present", "total"}
"""What two calls tell differently of one journal."""


ONCE = {"op", "changed_since_your_read", "changed_since_your_read_more"}
"""What is of one call, or told once."""


def random_journal(site: live.Live, chance: random.Random) -> None:
    """Edits by two agents and a person, saves, moves, deletions, refusals, undo, checkpoints, a lease."""
    agents = [site.connect("ada", "s1"), site.connect("bob/x", "s2"), site.connect("", "")]
    for number in range(ROUNDS):
        client, path, said = chance.choice(agents), chance.choice(PATHS), {"turn": f"t{number // 7}"}
        shown = client.read_file(path)
        text = "".join(f"line {chance.randrange(30)}\n" for _ in range(chance.randrange(1, 12)))
        match chance.randrange(9):
            case 0:
                site.write(path, text)
            case 1 if shown.get("ok"):
                client.call("delete_file", {"path": path, "base": shown["version"]}, **said)
            case 2 if shown.get("ok"):
                client.call("move_file", {"path": path, "to": f"moved/{number}.txt"}, **said)
            case 3:
                client.undo(last=1)
            case 4:
                client.checkpoint(f"point-{number}")
            case 5:
                client.call("write_file", {"path": path, "content": text, "base": "v1"}, **said)  # mostly refused
            case _:
                base = {"base": shown["version"]} if shown.get("ok") else {}
                client.call("write_file", {"path": path, "content": text, **base}, **said)
    agents[0].claim("src", reason="all of it")
    agents[2].since()


@pytest.fixture(scope="module")
def browser(served: live.Live) -> Iterator[TestClient]:
    random_journal(served, random.Random(live.SEED))
    keys = Keys()
    daemon = Daemon(lambda start: connect(served.root, state_dir=served.state_dir, start=start))
    client = TestClient(application(daemon, keys, TOKEN, PORT, lambda: 0.0, str), base_url=ORIGIN)
    assert client.get("/open", params={"key": keys.mint("write", 0.0)}).status_code == 200
    yield client
    daemon.close()


def steady(told: Any, leave: set[str] = PASSING) -> Any:
    """A reply without what differs from call to call."""
    if isinstance(told, dict):
        return {name: steady(value, leave) for name, value in told.items() if name not in leave | ONCE}
    return [steady(one, leave) for one in told] if isinstance(told, list) else told


def in_a_terminal(command: str, served: live.Live, capsys: pytest.CaptureFixture[str]) -> Any:
    """What the command prints with --json."""
    quire, *words = shlex.split(command)
    assert quire == "quire"
    capsys.readouterr()
    name, *rest = words
    main([name, "-C", str(served.root), "--state-dir", str(served.state_dir), "--json", *rest])
    return json.loads(capsys.readouterr().out)


def same(browser: TestClient, served: live.Live, capsys: pytest.CaptureFixture[str], tool: str, **asked: Any) -> Any:
    """The answer, which is the command's."""
    answer = browser.get(f"/api/{tool}", params=asked)
    here, there = answer.json(), in_a_terminal(unquote(answer.headers["quire-command"]), served, capsys)
    if tool == "tree" and "quire ls" in answer.headers["quire-command"]:
        assert here.pop("next") is None
        here["message"] = there["message"]
        here["entries"].sort(key=lambda entry: entry["path"])
    passing = PASSING if tool in ("who", "claims", "status") else ONCE
    assert steady(there, passing) == steady(here, passing)
    return here


def test_stories_records_and_lanes_are_the_same(
    browser: TestClient, served: live.Live, capsys: pytest.CaptureFixture[str]
) -> None:
    stories = same(browser, served, capsys, "stories", limit=20)["stories"]
    assert len(stories) > 5
    for asked in (
        {"writer": "ada"},
        {"writer": "bob/x/s2", "limit": 5},
        {"path": "src", "all": "1"},
        {"agents": "1", "since": "seq:20"},
        {"turn": "t2"},
        {"until": f"seq:{stories[3]['seq']}", "limit": 1, "all": "1"},
    ):
        same(browser, served, capsys, "stories", **asked)
    for asked in ({"limit": 200}, {"path": "-rf"}, {"kind": "edit_refused"}, {"order": "oldest", "since": "seq:9"}):
        same(browser, served, capsys, "log", **asked)
    for asked in ({}, {"by": "time", "buckets": 50}, {"since": "seq:10", "until": "seq:40"}):
        assert same(browser, served, capsys, "lanes", **asked)["lanes"]
    for asked in ({}, {"all": "1"}, {"path": "src", "writer": "ada"}):
        same(browser, served, capsys, "review", **asked)


def test_versions_differences_and_authors_are_the_same(
    browser: TestClient, served: live.Live, capsys: pytest.CaptureFixture[str]
) -> None:
    records = same(browser, served, capsys, "log", limit=200)["records"]
    made = [one for one in records if one["version"] and not one.get("abandoned")]
    for one in random.Random(live.SEED).sample(made, min(12, len(made))):
        path, version = one["to"] if one["kind"].endswith("moved") else one["path"], one["version"]
        same(browser, served, capsys, "show", version=version)
        same(browser, served, capsys, "show", version=version, path=path)
        same(browser, served, capsys, "diff", **{"from": f"seq:{one['seq'] - 1}", "to": version, "paths": path})
        same(browser, served, capsys, "blame", path=path, at=version)
        same(browser, served, capsys, "why", path=path, at=version)
        same(browser, served, capsys, "tree", at=version)
    same(browser, served, capsys, "diff", **{"from": "seq:9", "ignore_space": "1", "context": "1"})
    same(browser, served, capsys, "blame", path="nowhere.txt")


def test_who_leases_and_checkpoints_are_the_same(
    browser: TestClient, served: live.Live, capsys: pytest.CaptureFixture[str]
) -> None:
    assert same(browser, served, capsys, "claims")["leases"]
    assert same(browser, served, capsys, "checkpoint", action="list")["ok"]
    assert same(browser, served, capsys, "who", present="1")["ok"]


def test_a_plan_is_the_same(browser: TestClient, served: live.Live, capsys: pytest.CaptureFixture[str]) -> None:
    for tool, asked in (
        ("undo", {"writer": "ada"}),
        ("undo", {"turn": "t3", "writer": "bob/x"}),
        ("redo", {"writer": "*"}),
        ("restore", {"path": "src", "at": "seq:30"}),
        ("rollback", {"to": "seq:30", "writer": "ada"}),
    ):
        answer = browser.post(f"/api/{tool}", json={**asked, "plan": True}, headers=CHANGING)
        command = unquote(answer.headers["quire-command"])
        assert command.startswith(f"quire {tool} ")
        assert steady(in_a_terminal(command, served, capsys)) == steady(answer.json())
