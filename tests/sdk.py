"""What the tests of `quire mcp` use of MCP's SDK, and of ours that stands on it, imported when it is first asked for.

The SDK's models take longer to import than all else that is collected, and each process of pytest would import them,
whichever tests it runs afterwards.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

WHERE: Final = {
    "types": "mcp_types",
    "Client": "mcp:Client",
    "StdioServerParameters": "mcp:StdioServerParameters",
    "stdio_client": "mcp.client.stdio:stdio_client",
    "streamable_http_client": "mcp.client.streamable_http:streamable_http_client",
    "MCPError": "mcp.shared.exceptions:MCPError",
    "SessionMessage": "mcp.shared.message:SessionMessage",
    "server": "quire_client.mcp.server:server",
    "stdio": "quire_client.mcp.stdio",
    "resources": "quire_client.mcp.resources",
}


def __getattr__(name: str) -> Any:
    if name not in WHERE:
        raise AttributeError(name)
    module, _, inside = WHERE[name].partition(":")
    return getattr(import_module(module), inside) if inside else import_module(module)
