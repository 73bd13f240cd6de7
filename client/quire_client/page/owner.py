"""Finds the page that already serves the workspace, and sends it requests by token.

The port is in a file of the state folder that the serving process locks, so the token goes to no other process.
"""

from __future__ import annotations

import html
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

ADDRESS: Final = "page.port"

FORWARD: Final = "page.html"

_ANSWER_S: Final = 5.0


class PageDown(Exception):
    """The page does not answer; the text says why."""


@contextmanager
def hold(state: Path, port: int) -> Iterator[int]:
    """Become the process that serves the page, and store `port`. Yields 0, or the port of another process that serves
    it.
    """
    with hold_lock(state / ADDRESS) as lock:
        if lock is None:
            yield _port_of(state)
            return
        os.pwrite(lock.fd, str(port).encode(), 0)
        yield 0


def serving(state: Path) -> int:
    """Return the port of the process that serves the page of this state folder, or 0. Raises PageDown while it starts
    or ends.
    """
    if not (state / ADDRESS).exists():
        return 0
    with hold_lock(state / ADDRESS, 0.0) as lock:
        return _port_of(state) if lock is None else 0


def _port_of(state: Path) -> int:
    text = (state / ADDRESS).read_text(encoding="ascii", errors="replace").strip()
    if not text.isdigit():
        raise PageDown("A page is starting or ending there; try again in a moment.")
    return int(text)


def ask(port: int, token: str, what: str, body: Mapping[str, str]) -> str:
    """Send the page at this port a `/control/` request and return the response. Raises PageDown if it fails."""
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


def link(host: str, key: str) -> str:
    return f"http://{host}/open?key={key}"


def forward(folder: Path, url: str) -> str:
    """Write an HTML file that redirects a browser to `url`, and return the file's URL.

    So the key in `url` is not on the browser's command line, which every user can read.
    """
    file = folder / FORWARD
    file.unlink(missing_ok=True)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "w") as opened:
        opened.write(f'<!doctype html><meta http-equiv="refresh" content="0;url={html.escape(url)}">')
    return file.as_uri()
