"""The page of all workspaces: from the list to one of them and back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from browser import PICTURES
from playwright import sync_api
from playwright.sync_api import expect


def test_from_the_list_of_workspaces_to_one_and_back(chromium: sync_api.Browser, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir(mode=0o700)
    places = {"HOME": tmp_path, "XDG_STATE_HOME": tmp_path / "state", "XDG_RUNTIME_DIR": run}
    environ = {**os.environ, **{name: str(place) for name, place in places.items()}}

    def quire(*words: str) -> list[str]:
        return [sys.executable, "-m", "quire_client", *words]

    names = ("shop", "<b>tools")
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text(f"{name}\n")
        subprocess.run(quire("up", str(tmp_path / name)), env=environ, check=True, capture_output=True)
    page = subprocess.Popen(quire("page", "--all", "--json"), env=environ, stdout=subprocess.PIPE)
    try:
        assert page.stdout is not None
        link = json.loads(page.stdout.readline())["url"]
        context = chromium.new_context(viewport={"width": 1000, "height": 400})
        tab = context.new_page()
        wrong: list[str] = []
        tab.on(
            "console",
            lambda said: wrong.append(f"{said.text} {said.location}") if said.type in ("error", "warning") else None,
        )
        tab.goto(link)
        expect(tab.locator("tbody tr")).to_have_count(2)
        expect(tab.get_by_role("link", name="<b>tools")).to_be_visible()
        expect(tab.get_by_role("status")).to_have_text("2 of 2 recorded now")
        expect(tab.get_by_role("cell", name="recorded", exact=True)).to_have_count(2)
        expect(tab.locator(".terminal code")).to_have_text("quire list")
        taken = tab.screenshot()
        if os.environ.get("QUIRE_REGENERATE"):
            (PICTURES / "all.png").write_bytes(taken)
        tab.get_by_role("link", name="shop").click()
        tab.locator(".link.live").wait_for()
        expect(tab.locator(".workspace")).to_have_text("shop")
        expect(tab.locator(".story").first).to_contain_text("first capture")
        tab.goto(link.partition("/open")[0])
        expect(tab.locator("h1")).to_contain_text("Your workspaces")
        tab.set_viewport_size({"width": 420, "height": 600})
        assert tab.evaluate("document.documentElement.scrollWidth") <= 420
        context.close()
        assert wrong == []
    finally:
        page.kill()
        page.wait()
        if page.stdout is not None:
            page.stdout.close()
        for name in names:
            subprocess.run(quire("down", "-C", str(tmp_path / name)), env=environ, check=True, capture_output=True)
