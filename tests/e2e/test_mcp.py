"""`quire mcp` as agents start it: the SDK's own client, over stdio and over HTTP, before a real daemon."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

import live
import sdk

pytestmark = pytest.mark.real

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}},
}

TEXT = "alpha\nbeta\ngamma\ndelta\nepsilon\n"


class Agent:
    """The SDK's client on a loop of its own, spoken to from the test."""

    def __init__(self, portal: BlockingPortal, client: sdk.Client) -> None:
        self.portal, self.client = portal, client

    def tools(self) -> list[str]:
        """The names of the tools that are listed."""
        return [tool.name for tool in self.portal.call(self.client.list_tools).tools]

    def call(self, tool: str, **args: Any) -> dict[str, Any]:
        """What the model gets; the three forms of it agree."""
        result = self.portal.call(partial(self.client.call_tool, tool, args))
        reply: dict[str, Any] = result.structured_content
        assert json.loads(result.content[0].text) == reply
        assert result.is_error is not reply["ok"]
        return reply

    def read(self, uri: str) -> str:
        """The text of a resource."""
        return str(self.portal.call(self.client.read_resource, uri).contents[0].text)

    def replace(self, shown: dict[str, Any], contains: str, content: str, **more: Any) -> dict[str, Any]:
        """An edit of the shown line with `contains` in it."""
        return self.call("edit", **live.replacing(shown, contains, content), **more)


def command(at: live.Live, *words: str) -> list[str]:
    """The arguments of the interpreter for a server."""
    return ["-m", "quire_client", "mcp", "-C", str(at.root), "--state-dir", str(at.state_dir), *words]


@pytest.fixture(scope="module")
def at() -> Iterator[live.Live]:
    """A checkout for all tests of this module; each has files of its own."""
    one = live.Live()
    yield one
    one.close()


@pytest.fixture(scope="module")
def ann(at: live.Live) -> Iterator[Agent]:
    """An agent whose server runs as its child."""
    words, session = command(at, "--agent", "ann"), {"CLAUDE_CODE_SESSION_ID": "conversation-7"}
    with contextlib.ExitStack() as open_:
        how = sdk.StdioServerParameters(command=sys.executable, args=words, env={**os.environ, **session})
        line = sdk.stdio_client(how, errlog=sys.__stderr__)  # else what `sys.stderr` was when the SDK was imported
        portal = open_.enter_context(start_blocking_portal())
        client = sdk.Client(line, read_timeout_seconds=30)
        yield Agent(portal, open_.enter_context(portal.wrap_async_context_manager(client)))


@pytest.fixture(scope="module")
def ben(at: live.Live) -> Any:
    """Another writer."""
    return at.connect("ben", "b1")


class Site:
    """The HTTP server: where it is, and the token that it wants."""

    def __init__(self, told: dict[str, Any]) -> None:
        self.url = str(told["url"])
        self.port = int(self.url.split(":")[2].split("/")[0])
        self.token = Path(told["token_file"]).read_text().strip()

    def post(self, body: Any, **headers: str) -> tuple[int, Any]:
        """Status and body of a request as any program could make it. A header of "" is left out."""
        said = {
            "authorization": f"Bearer {self.token}",
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        try:
            connection.request("POST", "/mcp", data, {name: value for name, value in said.items() if value})
            answer = connection.getresponse()
            read = answer.read()
        finally:
            connection.close()
        try:
            return answer.status, json.loads(read)
        except ValueError:
            return answer.status, read

    @contextlib.contextmanager
    def agent(self, mode: str, **headers: str) -> Iterator[Agent]:
        """A connected agent that sends these headers."""
        said = {"authorization": f"Bearer {self.token}", **{n.replace("_", "-"): v for n, v in headers.items()}}
        with (
            start_blocking_portal() as portal,
            portal.wrap_async_context_manager(httpx2.AsyncClient(headers=said, timeout=30, verify=False)) as web,
            portal.wrap_async_context_manager(
                sdk.Client(sdk.streamable_http_client(self.url, http_client=web), mode=mode, read_timeout_seconds=30)
            ) as client,
        ):
            yield Agent(portal, client)


@pytest.fixture(scope="module")
def site(at: live.Live) -> Iterator[Site]:
    """One server for all."""
    with live.running(sys.executable, *command(at, "--http", "--json")) as server:
        assert server.stdout is not None
        yield Site(json.loads(server.stdout.readline()))


# ── stdio ──


def test_the_tools_are_listed(ann: Agent) -> None:
    names = ann.tools()
    assert {"read_file", "edit", "undo", "log", "diff", "blame", "manual"} <= set(names)
    assert len(names) <= 12


def test_an_agent_reads_edits_is_told_what_others_did_rebases_and_undoes(at: live.Live, ann: Agent, ben: Any) -> None:
    at.write("story.txt", TEXT)
    shown = live.ok(ann.call("read_file", path="story.txt", hashes=True))
    assert live.ok(ann.replace(shown, "alpha", "ALPHA"))["writer_type"] == "edit"

    shown = live.ok(ann.call("read_file", path="story.txt", hashes=True))
    theirs = live.ok(ben.read_file("story.txt", hashes=True))
    live.ok(ben.call("edit", live.replacing(theirs, "epsilon", "EPSILON")))

    stale = live.refused(ann.replace(shown, "beta", "BETA"), "anchor_stale")
    assert stale["changes"][0]["writer"]["agent"] == "ben"
    assert stale["changes"][0]["lines"] == [[5, 5]]
    assert stale["suggested_action"] == "re-read_file"

    # A refusal shows the lines as they are now, so the older version has to be named for the call to be stale again.
    rebased = live.ok(ann.replace(shown, "beta", "BETA", base=shown["version"], on_stale="rebase"))
    assert rebased["cross_version"] is True
    assert at.read("story.txt") == b"ALPHA\nBETA\ngamma\ndelta\nEPSILON\n"

    live.ok(ann.call("undo"))
    assert at.read("story.txt") == b"ALPHA\nbeta\ngamma\ndelta\nEPSILON\n"


def test_the_agent_and_its_session_are_the_writer(at: live.Live, ann: Agent, ben: Any) -> None:
    at.write("mine.txt", TEXT)
    live.ok(ann.replace(live.ok(ann.call("read_file", path="mine.txt", hashes=True)), "alpha", "mine"))
    writer = live.log(ben, path="mine.txt", kind="file_written")[-1]["writer"]
    assert (writer["agent"], writer["agent_session"]) == ("ann", "conversation-7")


def test_files_at_versions_and_the_log_are_resources(at: live.Live, ann: Agent) -> None:
    at.write("old.txt", "one\n")
    first = live.ok(ann.call("read_file", path="old.txt"))["version"]
    at.write("old.txt", "two\n")
    assert ann.read("quire://file/old.txt") == "two\n"
    assert ann.read(f"quire://file/old.txt?at={first}") == "one\n"
    assert {record["path"] for record in json.loads(ann.read("quire://log?path=old.txt"))["records"]} == {"old.txt"}
    assert ann.read("quire://manual/edit").startswith("# `edit`")


@pytest.mark.wide
@pytest.mark.parametrize(("step", "noted"), [("stage.written", False), ("perform.exchanged", True)])
def test_a_call_under_which_the_daemon_dies_is_answered_and_applied_once(
    at: live.Live, ann: Agent, step: str, noted: bool
) -> None:
    """Where the journal had noted it, its successor finished it; where not, it is sent to that one."""
    path = f"{step}.txt"
    at.write(path, TEXT)
    shown = live.ok(ann.call("read_file", path=path, hashes=True))
    insert = {"op": "insert_after", "hash": live.anchor(shown, "beta"), "content": "once"}
    with at.connect("stopper") as stopper:  # cleanly: the next one need not check the journal first
        pid = at.daemon_pid()
        live.ok(stopper.shutdown_daemon())
    assert at.died(pid, within_s=10)
    with at.fault(step):
        doomed = at.connect("starter")
        live.ok(doomed.status())
    reply = live.ok(ann.call("edit", path=path, operations=[insert]))
    assert reply.get("reply_lost", False) is noted
    assert at.read(path) == TEXT.replace("beta\n", "beta\nonce\n").encode()
    with at.connect("looker") as looker:
        assert len(live.log(looker, path=path, writer="ann", kind="file_written")) == 1


@pytest.fixture
def claims_offered(at: live.Live, ben: Any) -> Iterator[None]:
    """The settings offer agents to claim files."""

    def offered() -> bool:
        return "claim" in [tool["name"] for tool in ben.describe(offered=True)["tools"]]

    at.write(".quire.toml", '[mcp]\ntools = ["claim"]\n')
    live.eventually("claims are offered", offered)
    yield
    (at.root / ".quire.toml").unlink()
    live.eventually("claims are offered no more", lambda: not offered())


@pytest.mark.usefixtures("claims_offered")
def test_the_server_ends_when_its_client_closes_stdin_even_if_a_call_waits(at: live.Live, ben: Any) -> None:
    lease = live.ok(ben.claim("held.txt", "exclusive"))["lease"]
    waiting = {"name": "claim", "arguments": {"path": "held.txt", "kind": "exclusive", "wait_ms": 50_000}}
    said: list[dict[str, Any]] = [
        INITIALIZE,
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": waiting},
    ]
    with live.running(sys.executable, *command(at, "--agent", "waiter"), stdin=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write("".join(json.dumps(message) + "\n" for message in said) + "nonsense\n")
        server.stdin.flush()
        answers = [json.loads(server.stdout.readline()) for _ in range(2)]
        assert {answer.get("id"): "error" in answer for answer in answers} == {1: False, None: True}
        live.eventually("it waits", lambda: ben.claims()["waiting"])
        server.stdin.close()
        assert server.wait(30) == 0
    live.ok(ben.release(lease=lease))


# ── HTTP ──


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_agents_that_share_the_http_server_are_writers_of_their_own(at: live.Live, site: Site, mode: str) -> None:
    """By the session of the handshake era, or by a header in the one that has no sessions."""
    path = f"shared-{mode}.txt"
    at.write(path, TEXT)
    ours: list[dict[str, str]] = [{}, {}] if mode == "legacy" else [{"quire_session": "c1"}, {"quire_session": "d1"}]
    with site.agent(mode, **ours[0]) as cid, site.agent(mode, **ours[1]) as dan:
        cids = live.ok(cid.call("read_file", path=path, hashes=True))
        dans = live.ok(dan.call("read_file", path=path, hashes=True))
        live.ok(cid.replace(cids, "alpha", "CID"))
        stale = live.refused(dan.replace(dans, "beta", "DAN"), "anchor_stale")
        assert stale["changes"][0]["writer"]["agent_session"].startswith("mcp-" if mode == "legacy" else "c1")
        live.ok(dan.replace(live.ok(dan.call("read_file", path=path, hashes=True)), "beta", "DAN"))
        live.ok(cid.call("undo"))
        assert at.read(path) == TEXT.replace("beta", "DAN").encode()


def test_an_agent_without_a_session_passes_its_handle_along(at: live.Live, site: Site) -> None:
    at.write("handle.txt", TEXT)
    with site.agent("auto") as eve:
        shown = live.ok(eve.call("read_file", path="handle.txt", hashes=True))
        handle = shown["my_agent_session"]
        with at.connect("ben", "b1") as ben:
            theirs = live.ok(ben.read_file("handle.txt", hashes=True))
            live.ok(ben.call("edit", live.replacing(theirs, "epsilon", "EPSILON")))
        stale = live.refused(eve.replace(shown, "beta", "BETA", my_agent_session=handle), "anchor_stale")
        assert stale["my_agent_session"] == handle


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"authorization": ""}, 401),
        ({"authorization": "Bearer wrong"}, 401),
        ({"origin": "http://evil.example"}, 403),
        ({"host": "evil.example"}, 421),
        ({"content_type": "text/plain"}, 400),
        ({"accept": "text/html"}, 406),
        ({"mcp_session_id": "unknown"}, 404),
        ({"mcp_protocol_version": "2099-01-01"}, 400),
    ],
)
def test_requests_that_may_not_pass_get_the_status_that_the_specification_names(
    site: Site, headers: dict[str, str], status: int
) -> None:
    assert site.post(INITIALIZE, **headers)[0] == status


def test_a_body_that_is_no_message_is_a_parse_error_and_one_that_is_too_large_is_413(site: Site) -> None:
    status, answer = site.post(b"{nonsense")
    assert (status, answer["error"]["code"]) == (400, -32700)
    assert site.post(b"[1]")[0] == 400
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it may answer before it was told all
        assert site.post(b" " * (25 * 1024 * 1024))[0] == 413
    assert site.post(INITIALIZE)[0] == 200


def test_it_listens_on_loopback_only_and_its_token_is_its_owners(at: live.Live, site: Site) -> None:
    listening = [line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines() if line.split()[3] == "0A"]
    ours = [one for one in listening if int(one.split(":")[1], 16) == site.port]
    assert ours == [f"0100007F:{site.port:04X}"]
    assert (at.state_dir / "mcp.token").stat().st_mode & 0o777 == 0o600
