"""The page that serves a workspace already: its address in the state folder, and what it can be asked by its token.

Who serves holds a lock for life, so an address that a dead one left means nothing, and the token goes to nobody else.
"""

from __future__ import annotations

import http.client
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from quire_client.loopback import HOST
from quire_journal.workspaces import hold_lock

TOKEN: Final = "page.token"
"""The file in the state folder that holds the token of the page."""

ADDRESS: Final = "page.port"
"""The one that holds its port, and is locked by who serves."""

_ANSWER_S: Final = 5.0


class PageDown(Exception):
    """The page that should be there does not answer; the text says why."""


@contextmanager
def hold(state: Path, port: int) -> Iterator[int]:
    """Be who serves: 0 inside the block, or the port of who does already."""
    with hold_lock(state / ADDRESS) as lock:
        if lock is None:
            yield _port_of(state)
            return
        os.pwrite(lock.fd, str(port).encode(), 0)
        yield 0


def _port_of(state: Path) -> int:
    text = (state / ADDRESS).read_text(encoding="ascii", errors="replace").strip()
    if not text.isdigit():
        raise PageDown("A page is starting or ending there; try again in a moment.")
    return int(text)


def ask(port: int, token: str, what: str, body: Mapping[str, str]) -> str:
    """What the page at this port answers to its owner. Raises PageDown."""
    connection = http.client.HTTPConnection(HOST, port, timeout=_ANSWER_S)
    headers = {"Authorization": f"Bearer {token}", "X-Quire": "1", "Content-Type": "application/json"}
    try:
        connection.request("POST", f"/control/{what}", json.dumps(dict(body)), headers)
        answer = connection.getresponse()
        text = answer.read(4096).decode("utf-8", "replace")
    except (OSError, http.client.HTTPException) as error:
        raise PageDown(f"The page at port {port} does not answer: {error}.") from error
    finally:
        connection.close()
    if answer.status != 200:
        raise PageDown(f"The page at port {port} refused: {text}")
    return text


def link(port: int, key: str) -> str:
    """What a browser opens: once, within a minute."""
    return f"http://{HOST}:{port}/open?key={key}"
