"""A page of a checkout with some hours of work in it, in a real Chromium; nothing in its console, nothing refused."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import scene

import live

if TYPE_CHECKING:
    from browser import Server, Tab, Tabs
    from playwright import sync_api

CHROMIUM = os.environ.get("QUIRE_CHROMIUM") or shutil.which("chromium") or ""

if importlib.util.find_spec("playwright") is None:  # `scripts/test --page` installs it
    collect_ignore_glob = ["test_*.py"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All of them are of the browser."""
    here = Path(__file__).parent
    for item in items:
        if item.path.parent == here:
            item.add_marker(pytest.mark.page)
            item.add_marker(pytest.mark.timeout(180))


@pytest.fixture(scope="session")
def chromium() -> Iterator[sync_api.Browser]:
    """The browser; its own sandbox cannot be had in most containers."""
    from playwright import sync_api

    if not CHROMIUM:
        pytest.skip("there is no Chromium here (Debian: apt-get install --no-install-recommends chromium)")
    with sync_api.sync_playwright() as playwright:
        rebound = "--host-resolver-rules=MAP evil.example 127.0.0.1"
        args = ["--no-sandbox", "--disable-gpu", rebound]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=args)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def server(chromium: sync_api.Browser) -> Iterator[Server]:
    """A page that journeys share which change nothing that another one looks at."""
    from browser import Server

    site = live.Live()
    scene.play(site)
    found = Server(site)
    yield found
    found.kill()
    site.close()


@pytest.fixture
def tab(chromium: sync_api.Browser) -> Iterator[Tabs]:
    """`tab(server)`; at the end none has a word in its console, nor asked anybody else."""
    from browser import Tab

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
    from browser import Server

    site = live.Live()
    try:
        scene.play(site)
        site.connect("codex", "9a02").release(all=True)
        found = Server(site)
        yield found
        found.kill()
    finally:
        site.close()
