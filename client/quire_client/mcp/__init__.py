"""Quire for agents that speak MCP: `quire mcp`, over stdio or as Streamable HTTP on this machine.

A client process of the daemon like any other. The official SDK does the wire, in both of its eras: with
the `initialize` handshake, and with `server/discover` and an envelope on each request. Everything that is ours is kept
apart from it:

* `agents` — one writer of the journal for each agent session: connections, and what became of a call whose daemon
  ended. Knows nothing of MCP.
* `identity` — who calls: from the client's name, the ids in a request, the environment, headers, or a handle that the
  model passes.
* `tool_list` — the tools: names, schemas and descriptions come from the daemon's `describe`, so that none is known
  here.
* `resources` — files at their versions, the log, the manuals, as URIs.
* `welcome` — who the server is, and how its tools are used.
* `first_answers` — what a client asks when it starts, answered before the SDK is loaded.
* `server` — puts these behind the SDK's low-level server.
* `stdio`, `http` — the two transports, with their limits and checks; `streams`, the lines of the first.

A refusal of Quire is a result that a model reads and repairs (`isError`, and the whole reply as text, as structure, or
as both); what is wrong with the message itself (no JSON, unknown method, unknown tool) is an error of the protocol.
Nothing imports `server`, `stdio` and `http` but the command `quire mcp`: the SDK takes a second to load.
"""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_client.mcp.agents import *
    from quire_client.mcp.first_answers import *
    from quire_client.mcp.http import *
    from quire_client.mcp.identity import *
    from quire_client.mcp.server import *
    from quire_client.mcp.streams import *
else:
    __getattr__ = face(
        __name__,
        agents="AgentSessions",
        first_answers="FirstAnswers Given",
        http="serve",
        identity="Own Who alone",
        server="over_stdio",
        streams="standard_streams",
    )
