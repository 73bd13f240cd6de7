"""MCP: the server `quire mcp`, over stdio or as Streamable HTTP on this machine.

The official SDK speaks both protocol generations: with the `initialize` handshake, and with an envelope on each
request. A refusal of Quire is a result with `isError`, which a model can read. Only `quire mcp` imports `server`,
`stdio` and `http`, as the SDK takes a second to load.
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
