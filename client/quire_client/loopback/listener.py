"""The listening socket of an HTTP server on 127.0.0.1."""

from __future__ import annotations

import socket
from typing import Final

HOST: Final = "127.0.0.1"


def listen(port: int) -> socket.socket:
    """Return a listening TCP socket on 127.0.0.1. Port 0 takes a free port. Raises OSError if the port is taken."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((HOST, port))
        found.listen(128)
    except OSError:
        found.close()
        raise
    return found
