"""The MCP server: the daemon's tools and resources, through the SDK's low-level server.

Each call runs in its own thread. Progress is reported once a second if requested.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable
from functools import partial
from typing import Any, BinaryIO, Final, TypeVar

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from quire_client.hooks import Answerer
from quire_client.mcp import resources, tool_list, welcome
from quire_client.mcp.agents import AgentSession, AgentSessions, Answer
from quire_client.mcp.first_answers import FirstAnswers
from quire_client.mcp.identity import HANDLE, Own, Who, alone, among_others, ids_of
from quire_client.mcp.stdio import messages
from quire_client.setup import TOOL
from quire_journal import VERSION

T = TypeVar("T")

MOST_CALLS: Final = 64
PROGRESS_S: Final = 1.0


class Doorkeeper:
    """State shared by all MCP request handlers: agent sessions, callers, tools."""

    def __init__(self, sessions: AgentSessions, own: Own, *, shared: bool) -> None:
        self.sessions = sessions
        self.own = own
        self.shared = shared
        self.tools: dict[str, types.Tool] = {}  # tools that the daemon last offered, by name
        self._threads: anyio.CapacityLimiter | None = None

    def who(self, ctx: ServerRequestContext[Any], handle: object = None) -> Who:
        name, said = _client(ctx), ids_of(ctx.meta or {})
        if not self.shared:
            return alone(self.own, name, said)
        headers = {key.lower(): value for key, value in getattr(ctx.request, "headers", {}).items()}
        return among_others(self.own, name, said, headers, handle, f"mcp-{secrets.token_hex(4)}")

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Run `work`, which may block, in a thread and return its result. A cancelled request does not wait for it."""
        if self._threads is None:
            self._threads = anyio.CapacityLimiter(MOST_CALLS)
        return await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=self._threads)

    async def look(self, session: AgentSession) -> Answer:
        reply = await self.in_thread(partial(session.call, "describe", {"offered": True}))
        if reply.get("ok"):
            listed = [tool_list.tool(entry, with_handle=self.shared) for entry in reply["tools"]]
            self.tools = {tool["name"]: types.Tool.model_validate(tool) for tool in listed}
        return reply


def server(sessions: AgentSessions, own: Own, *, shared: bool, hooks: Answerer | None = None) -> Server[dict[str, Any]]:
    """Return the SDK's server for these agent sessions. With `hooks` it also answers the agent's hooks."""
    door = Doorkeeper(sessions, own, shared=shared)

    async def list_tools(ctx: ServerRequestContext[Any], params: object) -> types.ListToolsResult:
        reply = await door.look(_session(door, door.who(ctx)))
        if not reply.get("ok"):
            raise MCPError(types.INTERNAL_ERROR, str(reply.get("message")), data={"error": reply.get("error")})
        return types.ListToolsResult(tools=list(door.tools.values()))

    async def call_tool(ctx: ServerRequestContext[Any], params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name == TOOL and hooks is not None:
            answer = await door.in_thread(partial(hooks.answer, params.arguments or {}))
            return types.CallToolResult(content=[types.TextContent(type="text", text=json.dumps(answer))])
        args = tool_list.meant(params.arguments or {})
        who = door.who(ctx, args.pop(HANDLE, None) if shared else None)
        session = _session(door, who)
        if params.name not in door.tools:  # the daemon is not asked again for a tool that it has offered
            reply = await door.look(session)
            if not reply.get("ok"):
                return _result(ctx, reply)
            if params.name not in door.tools:
                raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name[:80]}")
        said = ids_of(ctx.meta or {})
        work = partial(session.call, params.name, args, turn=said.turn, tool_call=said.tool_call, model=said.model)
        reply = await _with_progress(door, ctx, params.name, work)
        return _result(ctx, {**reply, HANDLE: who.handle} if who.handle else reply)

    async def list_resources(ctx: ServerRequestContext[Any], params: object) -> types.ListResourcesResult:
        return types.ListResourcesResult.model_validate({"resources": resources.RESOURCES})

    async def list_templates(ctx: ServerRequestContext[Any], params: object) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult.model_validate({"resourceTemplates": resources.TEMPLATES})

    async def read_resource(
        ctx: ServerRequestContext[Any], params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        session = _session(door, door.who(ctx))
        uri = str(params.uri)
        try:
            contents = await door.in_thread(partial(resources.read, uri, session.call))
        except resources.NoSuchResource as missing:
            raise MCPError(types.INVALID_PARAMS, str(missing), data={"uri": uri}) from None
        return types.ReadResourceResult.model_validate({"contents": [contents]})

    return Server(
        welcome.NAME,
        version=VERSION,
        title=welcome.TITLE,
        description=welcome.ABOUT,
        instructions=welcome.INSTRUCTIONS,
        cache_hints={"tools/list": CacheHint(ttl_ms=welcome.KEPT_MS, scope="private")},
        get_tool_input_schema=lambda name: None,  # no argument is mirrored in a header
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )


def _session(door: Doorkeeper, who: Who) -> AgentSession:
    return door.sessions.of(who)


def _client(ctx: ServerRequestContext[Any]) -> str:
    said = ctx.session.client_params
    return said.client_info.name if said is not None else ""


def _result(ctx: ServerRequestContext[Any], reply: Answer) -> types.CallToolResult:
    return types.CallToolResult.model_validate(tool_list.result(reply, _client(ctx)))


async def _with_progress(
    door: Doorkeeper, ctx: ServerRequestContext[Any], name: str, work: Callable[[], Answer]
) -> Answer:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_tell, ctx, name)
        reply = await door.in_thread(work)
        tasks.cancel_scope.cancel()
    return reply


async def _tell(ctx: ServerRequestContext[Any], name: str) -> None:
    begun = time.monotonic()
    while True:
        await anyio.sleep(PROGRESS_S)
        passed = time.monotonic() - begun
        await ctx.session.report_progress(round(passed, 1), message=f"{name} has been going on for {passed:.0f} s")


async def over_stdio(
    sessions: AgentSessions,
    own: Own,
    hooks: Answerer | None,
    streams: tuple[BinaryIO, BinaryIO],
    first: FirstAnswers,
) -> None:
    """Serve the client at stdin and stdout until it closes stdin. `first` has already answered its first requests."""
    served = server(sessions, own, shared=False, hooks=hooks)
    async with messages(*streams, first=first) as (incoming, outgoing):
        await served.run(incoming, outgoing, served.create_initialization_options())
