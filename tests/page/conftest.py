"""A page of a checkout with some hours of work in it, in a real Chromium; nothing in its console, nothing refused."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import scene

import live

CHROMIUM = os.environ.get("QUIRE_CHROMIUM") or shutil.which("chromium") or ""
PICTURES = Path(__file__).resolve().parents[2] / "docs" / "page"

sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed; scripts/test --page does it")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All of them are of the browser."""
    here = Path(__file__).parent
    for item in items:
        if item.path.parent == here:
            item.add_marker(pytest.mark.page)
            item.add_marker(pytest.mark.timeout(180))


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


@pytest.fixture(scope="session")
def chromium() -> Iterator[sync_api.Browser]:
    """The browser; its own sandbox cannot be had in most containers."""
    if not CHROMIUM:
        pytest.skip("there is no Chromium here (Debian: apt-get install --no-install-recommends chromium)")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def server(chromium: sync_api.Browser) -> Iterator[Server]:
    """A page that journeys share which change nothing that another one looks at."""
    site = live.Live()
    scene.play(site)
    found = Server(site)
    yield found
    found.kill()
    site.close()


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


@pytest.fixture
def tab(chromium: sync_api.Browser) -> Iterator[Tabs]:
    """`tab(server)`; at the end none has a word in its console, nor asked anybody else."""
    made: list[Tab] = []

    def open_tab(server: Server, link: str = "", **how: object) -> Tab:
        made.append(Tab(chromium, server, link or server.another(), **how))
        made[-1].page.locator(".link.live").wait_for()
        return made[-1]

    yield open_tab
    told = [([] if one.forgiving else one.wrong, one.strange) for one in made]
    for one in made:
        one.context.close()
    assert told == [([], []) for _ in made]


@pytest.fixture
def own(chromium: sync_api.Browser) -> Iterator[Server]:
    """A page of a checkout for one test alone."""
    site = live.Live()
    try:
        scene.play(site)
        site.connect("codex", "9a02").release(all=True)
        found = Server(site)
        yield found
        found.kill()
    finally:
        site.close()
