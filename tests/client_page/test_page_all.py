"""One page for all workspaces: the list, and the way from it to the page of each."""

from __future__ import annotations

from pathlib import Path

from page_world import PORT, TOKEN, Page
from starlette.testclient import TestClient

from quire_client.page.gate import PageGate, host_of
from quire_client.page.overview import Overview, WorkspaceRow

TOP = f"http://{host_of(TOKEN)}:{PORT}"
STATIC = {"/": (b"page", "text/html"), "/app.1.css": (b"css", "text/css")}
LISTED = [
    WorkspaceRow("a1", "shop", "/home/ada/<shop>", "runs", "now", True),
    WorkspaceRow("b2", "gone", "/home/ada/gone", "the folder is gone", "never written", False),
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
    assert ("<td>gone</td>" in told, "/go/b2" in told) == (True, False)
    assert 'href="/app.1.css"' in told
    assert site.browser().get("/app.1.css").text == "css"
    assert site.client().get("/").status_code == 401
    assert site.made == [], "no page is made before somebody goes there"


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


def test_a_foreign_host_is_nobodys(tmp_path: Path) -> None:
    site = All(tmp_path)
    assert site.browser().get("/", headers={"Host": "evil.example"}).status_code == 421
