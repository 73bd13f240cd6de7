"""A picture of each view, as a new user sees it; `QUIRE_REGENERATE=1 scripts/test --page` keeps them in docs/page."""

from __future__ import annotations

from browser import Server, Tabs
from playwright.sync_api import expect


def test_a_picture_of_each_view(server: Server, tab: Tabs) -> None:
    one = tab(server, color_scheme="light")
    page = one.page
    page.locator(".story", has_text="codex").filter(has_text="app/store.py").first.click()
    page.locator(".detail tr.came").first.wait_for()
    one.picture("activity")
    page.locator(".story", has_text="Refuse items without a name").click()
    page.locator(".detail h2", has_text="claude-code").wait_for()
    page.keyboard.press("u")
    page.locator(".plan .planned li").first.wait_for()
    one.picture("plan")
    page.keyboard.press("Escape")
    page.keyboard.press("[")
    page.keyboard.press("[")
    page.locator(".then").wait_for()
    one.picture("replay")
    page = one.go("/?view=files&path=app/store.py")
    page.locator(".blame .row", has_text="limit=100").locator(".who").click()
    page.locator(".origin .terminal").wait_for()
    one.picture("files")
    page = one.go("/?view=history&path=app/store.py&mode=split")
    page.locator(".versions li").nth(2).click()
    page.locator(".right .hunk").first.wait_for()
    one.picture("history")
    page = one.go("/?view=compare&from=before-validation")
    page.locator(".compare .hunk").first.wait_for()
    one.picture("compare")
    page = one.go("/?view=review")
    page.locator(".review .hunk").first.wait_for()
    one.picture("review")
    page = one.go("/?view=people")
    page.locator(".view.people table").nth(2).wait_for()
    one.picture("people")


def test_a_picture_in_the_dark_and_one_of_a_narrow_window(server: Server, tab: Tabs) -> None:
    dark = tab(server, color_scheme="dark")
    dark.page.locator(".story", has_text="3 files").first.click()
    dark.page.locator(".detail tr.came").first.wait_for()
    dark.picture("dark")
    narrow = tab(server)
    narrow.page.set_viewport_size({"width": 420, "height": 800})
    narrow.page.locator(".story").first.wait_for()
    assert narrow.page.evaluate("document.documentElement.scrollWidth") <= 420
    expect(narrow.page.locator(".story .counts").first).to_be_visible()
    narrow.picture("narrow")
    for view in (
        "review",
        "people",
        "history&path=app/store.py",
        "files&path=README.md",
        "compare&from=before-validation",
    ):
        page = narrow.go(address := f"/?view={view}")
        page.locator(".view").wait_for()
        page.wait_for_timeout(300)
        assert (address, page.evaluate("document.documentElement.scrollWidth")) == (address, 420)
    narrow.go("/").locator(".story").first.wait_for()
    narrow.page.locator(".story", has_text="codex").first.click()
    narrow.page.get_by_role("button", name="All that happened").wait_for()
    assert narrow.page.evaluate("document.documentElement.scrollWidth") <= 420
