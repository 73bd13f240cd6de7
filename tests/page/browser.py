"""The page's server in a process of its own, and tabs of a browser, of which is counted what they must not do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from playwright import sync_api

import live

PICTURES = Path(__file__).resolve().parents[2] / "docs" / "page"


class Server:
    """`quire page` of a checkout, in a process of its own."""

    def __init__(self, site: live.Live, *options: str) -> None:
        self.site = site
        words = ["page", "--json", "-C", str(site.root), "--state-dir", str(site.state_dir), *options]
        self.process = subprocess.Popen([sys.executable, "-m", "quire_client", *words], stdout=subprocess.PIPE)
        assert self.process.stdout is not None
        self.link: str = json.loads(self.process.stdout.readline())["url"]
        self.top = self.link.partition("/open")[0]

    def another(self, *options: str) -> str:
        """Another link."""
        words = ["page", "--json", "-C", str(self.site.root), "--state-dir", str(self.site.state_dir), *options]
        told = subprocess.run([sys.executable, "-m", "quire_client", *words], capture_output=True, check=True)
        return str(json.loads(told.stdout)["url"])

    def kill(self) -> None:
        """End it as a crash does."""
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


class Tab:
    """A tab that has opened a link; what it must not do is counted."""

    def __init__(self, browser: sync_api.Browser, server: Server, link: str, **how: object) -> None:
        self.server = server
        self.context = browser.new_context(viewport={"width": 1280, "height": 800}, **how)  # type: ignore[arg-type]
        self.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=server.top)
        self.page = self.context.new_page()
        self.page.set_default_timeout(15_000)
        self.forgiving = False  # its server ends, of which the browser tells
        self.wrong: list[str] = []
        self.page.on(
            "console", lambda said: self.wrong.append(said.text) if said.type in ("error", "warning") else None
        )
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("dialog", lambda dialog: self.wrong.append(f"dialog: {dialog.message}"))
        self.page.on("requestfailed", self._failed)
        self.strange: list[str] = []
        self.page.on(
            "request",
            lambda asked: None if asked.url.startswith((server.top, "data:")) else self.strange.append(asked.url),
        )
        self.page.goto(link)

    def _failed(self, request: sync_api.Request) -> None:
        """A question that was given up for a newer one is no failure."""
        if "ERR_ABORTED" not in (request.failure or ""):
            self.wrong.append(f"{request.url}: {request.failure}")

    def go(self, address: str) -> sync_api.Page:
        """To an address of the page; what it asks at first has been answered."""
        self.page.goto(self.server.top + address)
        self.page.locator(".link.live").wait_for()
        return self.page

    def picture(self, name: str) -> None:
        """Of the view as it is, kept in docs/page where that is asked for."""
        self.page.wait_for_timeout(300)
        taken = self.page.screenshot()
        assert taken
        if os.environ.get("QUIRE_REGENERATE"):
            PICTURES.mkdir(exist_ok=True)
            (PICTURES / f"{name}.png").write_bytes(taken)


Tabs = Callable[..., Tab]
