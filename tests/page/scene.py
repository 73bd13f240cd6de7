"""A checkout with some hours of work in it: two agents, a person, git, an undo, a refusal, a lease, hostile names."""

from __future__ import annotations

import contextlib
from typing import Any, Final

import live
from quire_client import Client

APP: Final = """\
from flask import Flask, jsonify, request

from app.store import Store

app = Flask(__name__)
store = Store("site.db")


@app.get("/items")
def items():
    return jsonify(store.all())


@app.post("/items")
def add():
    item = request.get_json()
    store.add(item)
    return jsonify(item), 201
"""

STORE: Final = """\
import sqlite3


class Store:
    def __init__(self, path):
        self.path = path

    def all(self):
        with sqlite3.connect(self.path) as db:
            return [dict(row) for row in db.execute("select * from items")]

    def add(self, item):
        with sqlite3.connect(self.path) as db:
            db.execute("insert into items values (?)", (item["name"],))
"""

HOSTILE: Final = {
    "<img src=x onerror=alert(1)>.py": "<script>alert(2)</script>\n",
    "safe\u202egnp.exe": "turned \u202eback\u202c and \u200bhidden\u200b\n",
    "bell\x07and\x1b[31mred.txt": "\x1b[2Jescape\n",
    "'\"><svg onload=alert(3)>.md": "# <iframe src=javascript:alert(4)>\n",
    "line\nbreak.txt": "x\n",
}


def edit(client: Client, path: str, old: str, new: str, **said: str) -> dict[str, Any]:
    """An edit as an agent makes it: read, then replace."""
    client.read_file(path)
    return client.call("edit_replace", {"path": path, "old_text": old, "new_text": new}, **said)


def write(client: Client, path: str, content: str, **said: str) -> dict[str, Any]:
    return client.call("write_file", {"path": path, "content": content}, **said)


def asked(client: Client, turn: str, prompt: str) -> None:
    """A turn begins with what a person asked for, as an agent's hook tells it."""
    client.call("native", {"moment": "turn", "prompt": prompt}, turn=turn)


def play(site: live.Live) -> None:
    """Make it happen. Those who are present stay connected until `site` is closed."""
    site.write("app/main.py", APP)
    site.write("app/store.py", STORE)
    site.write("README.md", "# Items\n\nA small server.\n")
    site.write("logo.png", b"\x89PNG\r\n\x1a\n\x00\x01\x02")
    ada = site.connect("claude-code", "7f3a91")
    bob = site.connect("codex", "9a02")
    person = site.connect("", "")
    person.checkpoint("before-validation", note="all tests green")
    asked(ada, "t1", "Refuse items without a name, with a test for it")
    edit(ada, "app/main.py", "    store.add(item)\n", VALID, turn="t1", tool_call="call_1", model="sonnet")
    edit(ada, "app/store.py", "insert into items values (?)", "insert into items(name) values (?)", turn="t1")
    write(ada, "tests/test_items.py", TESTS, turn="t1", tool_call="call_3")
    asked(bob, "b1", "The list of items is slow: page it")
    edit(bob, "app/store.py", "def all(self):", "def all(self, limit=100):", turn="b1", model="gpt")
    edit(bob, "app/store.py", '"select * from items"', '"select * from items limit ?", (limit,)', turn="b1")
    site.write("README.md", "# Items\n\nA small server for items.\n\nRun it with `flask run`.\n")
    bob.claim("app/store.py", kind="exclusive", reason="paging of all lists")
    asked(ada, "t2", "Say in the README that <b>lists</b> are served, too")
    write(ada, "app/store.py", "nothing\n", turn="t2")  # refused: it never saw what bob made of it
    write(bob, "app/paging.py", PAGING, turn="b2")
    bob.undo(turn="b2")
    edit(ada, "README.md", "# Items", "# Items and lists", turn="t2")
    ada.call("move_file", {"path": "tests/test_items.py", "to": "tests/test_main.py"}, turn="t2")
    edit(ada, "tests/test_main.py", "assert", "assert client and", turn="t2")
    for name, content in HOSTILE.items():
        with contextlib.suppress(OSError):
            site.write(name, content)
    person.since()  # all that is on the disk is noticed


VALID: Final = """\
    if not isinstance(item, dict) or "name" not in item:
        return jsonify(error="an item has a name"), 400
    store.add(item)
"""

TESTS: Final = """\
from app.main import app


def test_an_item_needs_a_name():
    client = app.test_client()
    assert client.post("/items", json={}).status_code == 400
"""

PAGING: Final = """\
def page(rows, at, size=100):
    return rows[at : at + size]
"""
