"""MCP: `quire mcp`, over stdio or as Streamable HTTP on this machine.

A client process of the daemon. The official SDK does the wire for both protocol eras: with the `initialize` handshake,
and with `server/discover` and an envelope on each request. The rest is separate from the SDK:

* `agents`: one writer of the journal for each agent session: connections, and the outcome of a call that lost its
  daemon. Knows nothing of MCP.
* `identity`: the caller, from the client's name, the ids in a request, the environment, headers, or a handle that the
  model passes.
* `tool_list`: the tools, from the daemon's `describe`.
* `resources`: files at their versions, the log, the manuals, as URIs.
* `welcome`: the server's name and its instructions.
* `first_answers`: a client's first questions, answered before the SDK is loaded.
* `server`: all of these behind the SDK's low-level server.
* `stdio`, `http`: the two transports, with their limits and checks; `streams`: the lines of stdio.

A refusal of Quire is a result that a model can read and repair (`isError`, with the whole reply as text, structure, or
both). An invalid message (no JSON, unknown method, unknown tool) is an error of the protocol. Only the command `quire
mcp` imports `server`, `stdio` and `http`: the SDK takes a second to load.
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
