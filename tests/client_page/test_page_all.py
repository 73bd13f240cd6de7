"""One page for all workspaces: the list, and the way from it to the page of each."""

from __future__ import annotations

from pathlib import Path

from page_world import PORT, TOKEN, Page
from starlette.testclient import TestClient

from quire_client.page.gate import PageGate, host_of
from quire_client.page.overview import Overview, WorkspaceRow, summary

TOP = f"http://{host_of(TOKEN)}:{PORT}"
STATIC = {"/": (b"page", "text/html"), "/app.1.css": (b"css", "text/css")}
LISTED = [
    WorkspaceRow("a1", "shop", "/home/ada/<shop>", "now", recorded=True, at_work=("<ada>/s1", "codex")),
    WorkspaceRow("b2", "gone", "/home/ada/gone", "never written", exists=False),
    WorkspaceRow("c3", "blog", "/home/ada/blog", "1m ago", recorded=True, trouble="inotify is <full>"),
    WorkspaceRow("d4", "idle", "/home/ada/idle", "2026-01-01 12:00"),
]


class All:
    """The page over two workspaces, one of which is gone."""

    def __init__(self, folder: Path) -> None:
        self.made: list[str] = []
        self.shop = Page(folder, {"status": {"ok": True, "workspace": "/home/ada/shop"}}, "s" * 43)
        self.now_s = 1000.0
        self.app = Overview(TOKEN, PORT, lambda: self.now_s, lambda: "n" * 43, lambda: LISTED, self._page_of, STATIC)

    def _page_of(self, asked: str) -> PageGate:
        if asked != "a1":
            raise LookupError(asked)
        self.made.append(asked)
        return self.shop.gate

    def client(self, top: str = TOP) -> TestClient:
        return TestClient(self.app, top, follow_redirects=False, raise_server_exceptions=False)

    def browser(self, right: str = "write") -> TestClient:
        browser = self.client()
        assert browser.get(self.app.link(right)).status_code == 303  # type: ignore[arg-type]
        return browser


def test_the_list_names_each_workspace_and_links_those_that_are_there(tmp_path: Path) -> None:
    site = All(tmp_path)
    told = site.browser().get("/").text
    assert '<a href="/go/a1">shop</a>' in told
    assert "&lt;shop&gt;" in told
    assert (">gone</th>" in told, "/go/b2" in told) == (True, False)
    assert 'href="/app.1.css"' in told
    assert site.browser().get("/app.1.css").text == "css"
    assert site.client().get("/").status_code == 401
    assert site.made == [], "no page is made before somebody goes there"


def test_the_head_says_how_many_are_recorded_need_a_look_and_who_is_at_work(tmp_path: Path) -> None:
    told = All(tmp_path).browser().get("/").text
    assert "2 of 4 recorded now · 1 needs a look · 2 agents at work" in told
    for text in ("inotify is &lt;full&gt;", "&lt;ada&gt;/s1, codex", "not recorded: no daemon runs", "quire list"):
        assert text in told
    assert summary(LISTED[3:]) == "0 of 1 recorded now"


def test_a_click_leads_to_the_page_of_a_workspace_at_its_own_host(tmp_path: Path) -> None:
    site = All(tmp_path)
    browser = site.browser()
    for _ in range(2):
        answer = browser.get("/go/a1")
        assert (answer.status_code, site.made) == (303, ["a1"])
        link = answer.headers["location"]
        assert link.startswith(f"http://{host_of('s' * 43)}:{PORT}/open?key=")
        there = site.client(link.partition("/open")[0])
        assert there.get("/api/status").status_code == 401
        assert there.get(link).status_code == 303
        assert there.get("/api/status").json()["workspace"] == "/home/ada/shop"
        assert there.get("/go/a1").status_code == 404, "a workspace's page leads to no other"
    assert browser.get("/go/b2").status_code == 404
    assert site.client().get("/go/a1").status_code == 401
    assert browser.get("/api/status").status_code == 404


def test_who_may_look_only_may_look_only_everywhere(tmp_path: Path) -> None:
    site = All(tmp_path)
    link = site.browser("read").get("/go/a1").headers["location"]
    there = site.client(link.partition("/open")[0])
    there.get(link)
    assert there.get("/api/key").json()["right"] == "read"


def test_a_revocation_is_for_all_pages(tmp_path: Path) -> None:
    site = All(tmp_path)
    browser = site.browser()
    link = browser.get("/go/a1").headers["location"]
    there = site.client(link.partition("/open")[0])
    there.get(link)
    script = site.client(f"http://127.0.0.1:{PORT}")
    said = {"Authorization": f"Bearer {TOKEN}", "X-Quire": "1"}
    assert script.post("/control/revoke", json={}, headers=said).text == "2"
    assert [one.get("/").status_code for one in (browser, there)] == [401, 401]


def test_a_revocation_of_one_workspace_leaves_the_list(tmp_path: Path) -> None:
    site = All(tmp_path)
    browser = site.browser()
    link = browser.get("/go/a1").headers["location"]
    there = site.client(link.partition("/open")[0])
    there.get(link)
    script = site.client(f"http://127.0.0.1:{PORT}")
    said = {"Authorization": f"Bearer {TOKEN}", "X-Quire": "1"}
    assert script.post("/control/revoke/b2", json={}, headers=said).text == "0"
    assert script.post("/control/revoke/a1", json={}, headers=said).text == "1"
    assert [one.get("/").status_code for one in (browser, there)] == [200, 401]
    assert browser.post("/control/revoke/a1", json={}, headers={**said, "Authorization": ""}).status_code == 401


def test_a_double_click_leads_to_one_page(tmp_path: Path) -> None:
    """Both made a page, of which the later took the place of the other, and its link with it."""
    site = All(tmp_path)
    browser, links = site.browser(), list[str]()
    made = site.app._page_of

    def slowly(asked: str) -> PageGate:
        if not links:  # the second click, while the first one's page is made
            links.append("")
            links[0] = browser.get("/go/a1").headers["location"]
            return Page(tmp_path, {}, "s" * 43).gate
        return made(asked)

    site.app._page_of = slowly
    links.append(browser.get("/go/a1").headers["location"])
    for link in links:
        assert site.client(link.partition("/open")[0]).get(link).status_code == 303


def test_a_foreign_host_is_nobodys(tmp_path: Path) -> None:
    site = All(tmp_path)
    assert site.browser().get("/", headers={"Host": "evil.example"}).status_code == 421
