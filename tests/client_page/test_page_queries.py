"""What the page asks the daemon: arguments from an address, plans before changes, and the daemon's words unchanged."""

from __future__ import annotations

import asyncio
import json
import shlex
from typing import Any
from urllib.parse import unquote

import msgspec
import pytest
from page_world import CHANGING, PORT, TOKEN, Pages

from quire_client.page.app import MOST_SAVES
from quire_client.page.queries import CHANGES, MOST_REPLY, QUERIES, arguments_of, change_of
from quire_client.page.terminal import command_line
from quire_client.transport.errors import NoReply
from quire_daemon.tools.table import TOOLS
from quire_journal.model.refusals import Refusal


def test_every_query_is_a_tool_and_takes_what_the_tool_takes() -> None:
    for tool, arguments in QUERIES.items():
        fields = {field.encode_name for field in msgspec.structs.fields(TOOLS[tool].params)}
        assert arguments.keys() <= fields, tool


def test_nothing_that_writes_is_a_query() -> None:
    described = {"undo", "redo", "rollback", "restore", "write_file", "edit", "apply_patch", "delete_file", "claim"}
    assert not described & QUERIES.keys()


def test_a_reply_is_told_as_the_daemon_gave_it(page: Pages) -> None:
    reply = {"ok": True, "message": "1 record.", "records": [{"path": "<b>\u202e\x07"}], "next": None}
    site = page(log=reply)
    answer = site.browser().get("/api/log?limit=5&kind=file_written&kind=git_ran&stat=1")
    assert answer.json() == reply
    assert answer.text.isascii()
    assert answer.headers["content-type"] == "application/json"
    assert msgspec.msgpack.decode(site.line.requests[0].args) == {
        "limit": 5,
        "kind": ["file_written", "git_ran"],
        "stat": True,
    }


@pytest.mark.parametrize(
    ("tool", "query"),
    [
        ("log", [("limit", "-1")]),
        ("log", [("limit", "1"), ("limit", "2")]),
        ("log", [("nothing", "1")]),
        ("log", [("stat", "maybe")]),
        ("who", [("hours", "long")]),
        ("checkpoint", [("action", "drop"), ("name", "x")]),
        ("checkpoint", []),
        ("undo", []),
        ("shutdown", []),
        ("__class__", []),
    ],
)
def test_what_is_no_query_does_not_reach_the_daemon(tool: str, query: list[tuple[str, str]]) -> None:
    with pytest.raises(Refusal):
        arguments_of(tool, query)


def test_an_acceptance_says_which_review_was_read() -> None:
    assert change_of("accept", {"upto": 9, "path": "f"}) == {"upto": 9, "path": "f"}
    with pytest.raises(Refusal, match="which review was read"):
        change_of("accept", {"path": "f"})


@pytest.mark.parametrize("tool", CHANGES)
def test_a_change_is_planned_first_and_then_carried_out_by_its_token(tool: str) -> None:
    assert change_of(tool, {"plan": True, "batch": 3}) == {"plan": True, "batch": 3}
    assert change_of(tool, {"token": "t"}) == {"token": "t"}
    for body in ({}, {"batch": 3}, {"plan": False}, {"plan": 1}, {"plan": True, "token": "t"}, {"token": 1}, [], None):
        with pytest.raises(Refusal):
            change_of(tool, body)


def test_a_refusal_is_an_answer_with_all_its_words(page: Pages) -> None:
    refused = {"ok": False, "error": "plan_stale", "message": "Something moved.", "suggested_action": "plan_again"}
    site = page(undo=refused, show={"ok": False, "error": "not_found", "message": "", "suggested_action": "log"})
    browser = site.browser()
    answer = browser.post("/api/undo", json={"token": "x"}, headers=CHANGING)
    assert (answer.status_code, answer.json()) == (200, refused)
    assert browser.get("/api/show?version=v9").json()["error"] == "not_found"


def test_a_daemon_that_is_gone_is_said_and_not_started_by_looking(page: Pages) -> None:
    site = page(log=NoReply("it ended"))
    browser = site.browser()
    assert browser.get("/api/log").json()["error"] in ("unknown", "no_daemon")
    answer = browser.get("/api/log")
    assert answer.json()["error"] == "no_daemon"


def test_an_answer_that_is_too_large_is_a_refusal(page: Pages) -> None:
    site = page(log={"ok": True, "message": "", "records": ["x" * MOST_REPLY], "next": None})
    assert site.browser().get("/api/log").json()["error"] == "file_too_large"


def test_a_command_that_makes_a_header_too_long_is_not_told(page: Pages) -> None:
    site = page(undo={"ok": True, "message": ""})
    for words, told in ((["a"], True), (["a" * 100] * 300, False)):
        answer = site.browser().post("/api/undo", json={"plan": True, "paths": words}, headers=CHANGING)
        assert (answer.json()["ok"], "quire-command" in answer.headers) == (True, told)


def test_the_bytes_of_a_file_are_saved_and_never_shown(page: Pages) -> None:
    blobs = iter(
        [
            {"ok": True, "blobs": [{"content_base64": "PGI+", "next_offset": 3, "sizeBytes": 6, "offset": 0}]},
            {"ok": True, "blobs": [{"content_base64": "aGkK", "sizeBytes": 6, "offset": 3}]},
        ]
    )
    site = page(show={"ok": True, "sha256": "ab"}, blobs=lambda arguments: next(blobs))
    answer = site.browser().get("/file", params={"path": 'a/"<x>\n.html', "at": "v3"})
    assert answer.content == b"<b>hi\n"
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"] == "attachment; filename*=UTF-8''%22%3Cx%3E%0A.html"


def test_few_files_are_saved_at_once_and_piece_by_piece(page: Pages) -> None:
    """A hundred answers of 20 MB that nobody read held 2 GB."""
    piece = {"content_base64": "PGI+", "next_offset": 3, "sizeBytes": 6, "offset": 0}
    site = page(show={"ok": True, "sha256": "ab"}, blobs={"ok": True, "blobs": [piece]})  # without an end
    scope = {"type": "http", "method": "GET", "path": "/file", "query_string": b"path=a&at=v1", "http_version": "1.1"}
    headers = [(b"host", b"127.0.0.1:%d" % PORT), (b"authorization", b"Bearer " + TOKEN.encode())]
    statuses: list[int] = []

    async def save(gone: asyncio.Event, begun: asyncio.Event) -> None:
        async def receive() -> dict[str, Any]:
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])
                begun.set()
            elif statuses[-1] == 200:
                await gone.wait()  # nobody reads

        await site.gate({**scope, "headers": headers}, receive, send)

    async def run() -> None:
        gone = asyncio.Event()
        async with asyncio.TaskGroup() as savers:
            for _ in range(MOST_SAVES + 1):
                begun = asyncio.Event()
                savers.create_task(save(gone, begun))
                await begun.wait()
            pieces = site.asked.count("blobs")
            gone.set()
        assert pieces <= 2 * MOST_SAVES

    asyncio.run(run())
    assert statuses == [200] * MOST_SAVES + [429]


def test_the_same_for_a_terminal_stands_in_a_header(page: Pages) -> None:
    site = page()
    answer = site.browser().get("/api/stories", params={"path": "src", "writer": "ada's é", "limit": "5"})
    assert unquote(answer.headers["quire-command"]) == "quire log src --writer 'ada'\"'\"'s é' --limit 5"


@pytest.mark.parametrize(
    ("tool", "arguments", "line"),
    [
        ("stories", {"limit": 15}, "quire log --limit 15"),
        ("log", {"path": "a b.py", "order": "oldest"}, "quire log --records 'a b.py' --oldest"),
        ("log", {"kind": ["git_ran"]}, "quire log --records --kind git_ran"),
        ("diff", {"from": "v1", "to": "v3", "paths": ["src"], "context": 5}, "quire diff v1 v3 src --unified 5"),
        ("diff", {"from": "v1", "ignore_space": True}, "quire diff v1 --ignore-all-space"),
        ("blame", {"path": "a.py", "at": "v7"}, "quire blame a.py --at v7"),
        ("blame", {"path": "a.py", "start_line": 3, "end_line": 5}, "quire blame a.py:3-5"),
        ("why", {"path": "a.py", "line": 3, "at": "v2"}, "quire why a.py:3 --at v2"),
        ("show", {"version": "v3"}, "quire show v3"),
        ("show", {"version": "v3", "path": "a.py"}, "quire show a.py@v3"),
        ("tree", {"at": "seq:9"}, "quire ls --at seq:9"),
        ("checkpoint", {"action": "list"}, "quire checkpoint list"),
        ("status", {}, "quire status"),
        ("undo", {"batch": 7, "plan": True}, "quire undo --batch 7 --plan"),
        (
            "undo",
            {"path": "a.py", "lines": "3-7", "writer": "ada/s1", "plan": True},
            "quire undo a.py:3-7 --writer ada/s1 --plan",
        ),
        (
            "undo",
            {"git": "last", "from": "seq:7", "to": "seq:9", "plan": True},
            "quire undo --git last --since seq:7 --until seq:9 --plan",
        ),
        ("redo", {"writer": "ada", "plan": True}, "quire redo --writer ada --plan"),
        ("restore", {"path": "src", "at": "v3", "plan": True}, "quire restore src@v3 --plan"),
        ("rollback", {"to": "v3", "writer": "*", "plan": True}, "quire rollback v3 --only '*' --plan"),
    ],
)
def test_the_same_in_a_terminal(tool: str, arguments: dict[str, Any], line: str) -> None:
    assert command_line(tool, arguments) == line


@pytest.mark.parametrize("path", ["-rf", "a@b", "a:3", "7", "v7", "a\nb", "a*", "\u202ea", "", "~x", "é"])
def test_a_path_that_a_command_could_misread_is_asked_for_by_call(path: str) -> None:
    line = command_line("show", {"path": path, "version": "v3"})
    words = shlex.split(line)
    if words[1] == "call":
        assert json.loads(words[3]) == {"path": path, "version": "v3"}
        assert line.isascii()
    else:
        assert (path, words) == ("v7", ["quire", "show", "v7@v3"])


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("log", {"contains": "a\x1b[201~\nrm -rf x"}),
        ("diff", {"from": "--output=x", "to": "-h"}),
        ("rollback", {"to": "--only"}),
    ],
)
def test_a_command_to_copy_holds_no_control_characters_and_no_options_of_others(
    tool: str, arguments: dict[str, Any]
) -> None:
    line = command_line(tool, arguments)
    assert line.startswith(f"quire call {tool} ")
    assert line.isprintable()


@pytest.mark.parametrize("tool", [*QUERIES, *CHANGES, "accept"])
def test_arguments_that_the_daemon_refuses_have_a_command_too(tool: str) -> None:
    """A difference without `from`, or `paths` that was no list, was an internal error and the end of the connection."""
    for name in ("from", "to", "path", "paths", "line", "start_line", "at", "version", "writer", "action", "token"):
        for value in (None, True, -1, 2**70, float("nan"), "", "-x", "v3", "\ud800", [], [1], ["a"], {}):
            assert command_line(tool, {name: value}).startswith("quire "), (name, value)
    assert command_line(tool, {}).startswith("quire ")
