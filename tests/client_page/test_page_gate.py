"""Attacks on the page by their requests: who gets past, and what the others are told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from page_world import CHANGING, ORIGIN, PORT, TOKEN, Page, Pages

PLAN = {"batch": 7, "plan": True}


def test_a_link_opens_the_page_once(page: Pages) -> None:
    site = page()
    key = site.keys.mint("write", site.now_s)
    first, second = site.stranger(), site.stranger()
    opened = first.get("/open", params={"key": key})
    assert (opened.status_code, opened.headers["location"]) == (303, "/")
    said = opened.headers["set-cookie"]
    assert said.startswith(f"quire{PORT}=")
    assert {"httponly", "samesite=strict", "path=/"} <= {part.strip().lower() for part in said.split(";")}
    assert first.get("/").status_code == 200
    assert second.get("/open", params={"key": key}).status_code == 401
    assert second.get("/").status_code == 401


def test_a_link_that_is_too_old_or_guessed_opens_nothing(page: Pages) -> None:
    site = page()
    key = site.keys.mint("write", site.now_s)
    site.now_s += 61
    for wrong in (key, "guess", "", "é", "x" * 5000):
        assert site.stranger().get("/open", params={"key": wrong}).status_code == 401


@pytest.mark.parametrize("host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", "127.0.0.1:80", "[::1]:8123"])
def test_a_name_that_was_bound_to_this_machine_is_not_ours(page: Pages, host: str) -> None:
    site = page()
    assert site.browser().get("/", headers={"Host": host}).status_code == 421
    assert site.script().get("/api/status", headers={"Host": host}).status_code == 421
    assert site.asked == []


def test_another_port_of_this_machine_is_another_host(page: Pages) -> None:
    """A browser sends a cookie to every port: a dev server at 127.0.0.1 was handed the right to write."""
    site = page()
    assert site.gate.host.endswith(f".localhost:{PORT}")
    assert site.gate.host != Page(Path("elsewhere"), {}, "u" * 43).gate.host
    for local in (f"127.0.0.1:{PORT}", f"localhost:{PORT}"):
        assert site.browser().get("/", headers={"Host": local}).status_code == 421
        assert site.script("wrong").get("/", headers={"Host": local}).status_code == 401


def test_a_link_that_is_followed_from_elsewhere_opens_the_page(page: Pages) -> None:
    """From a file or a chat: a strict cookie goes along only with what the page itself then asks for."""
    site = page()
    said = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    browser = site.stranger()
    opened = browser.get("/open", params={"key": site.keys.mint("write", site.now_s)}, headers=said)
    assert (opened.status_code, 'http-equiv="refresh"' in opened.text) == (200, True)
    assert browser.get("/", headers={"Sec-Fetch-Site": "same-origin"}).status_code == 200
    assert browser.get("/", headers=said).status_code == 403
    assert browser.get("/open", headers={**said, "Sec-Fetch-Mode": "no-cors"}).status_code == 403


def test_a_page_that_leads_on_names_its_icon(page: Pages) -> None:
    """The browser asked for /favicon.ico: now and then a 404 in the console of the page that followed."""
    site = page()
    said = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    key = site.keys.mint("write", site.now_s)
    assert 'rel="icon"' in site.stranger().get("/open", params={"key": key}, headers=said).text


def test_an_address_that_was_named_with_host_is_ours(page: Pages) -> None:
    site = page()
    assert site.script().get("/api/status", headers={"Host": "box.example:80"}).status_code == 200


def test_a_change_comes_through_a_forwarder_that_ends_tls_at_the_named_address_only(page: Pages) -> None:
    """A forwarded port of a container is reached by https: the page was shown, and every change refused."""
    site = page(undo={"ok": True, "message": "", "token": "p1"})
    cookie = {"Cookie": f"quire{PORT}={site.browser().cookies[f'quire{PORT}']}", "X-Quire": "1"}
    for host, origin, status in (
        ("box.example:80", "https://box.example:80", 200),
        ("box.example:80", "http://box.example:80", 200),
        ("box.example:80", ORIGIN, 403),
        (ORIGIN.removeprefix("http://"), "http://box.example:80", 403),
        (ORIGIN.removeprefix("http://"), ORIGIN.replace("http:", "https:"), 403),
    ):
        asked = site.stranger().post("/api/undo", json=PLAN, headers={**cookie, "Host": host, "Origin": origin})
        assert (host, origin, asked.status_code) == (host, origin, status)


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:9", f"https://127.0.0.1:{PORT}"])
def test_a_foreign_origin_is_refused(page: Pages, origin: str) -> None:
    site = page()
    browser = site.browser()
    assert browser.get("/api/status", headers={"Origin": origin}).status_code == 403
    said = browser.post("/api/undo", json=PLAN, headers={**CHANGING, "Origin": origin})
    assert said.status_code == 403
    assert site.asked == []


@pytest.mark.parametrize("sent_from", ["cross-site", "same-site", "", "same-origin, none"])
def test_what_another_site_makes_a_browser_ask_is_refused(page: Pages, sent_from: str) -> None:
    site = page()
    assert site.browser().get("/", headers={"Sec-Fetch-Site": sent_from}).status_code == 403
    assert site.browser().get("/", headers={"Sec-Fetch-Site": "none"}).status_code == 200


def test_a_change_from_a_browser_needs_its_origin_our_header_and_json(page: Pages) -> None:
    site = page(undo={"ok": True, "message": "", "token": "p1"})
    browser = site.browser()
    for lacking in CHANGING:
        given = {name: value for name, value in CHANGING.items() if name != lacking}
        assert browser.post("/api/undo", json=PLAN, headers=given).status_code == 403
    form = {**CHANGING, "Content-Type": "application/x-www-form-urlencoded"}
    assert browser.post("/api/undo", content=json.dumps(PLAN), headers=form).status_code == 415
    assert site.asked == []
    assert browser.post("/api/undo", json=PLAN, headers=CHANGING).json()["token"] == "p1"
    assert site.asked == ["undo"]


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_do_nothing(page: Pages, method: str) -> None:
    site = page()
    assert site.browser().request(method, "/api/undo", headers=CHANGING).status_code == 405


def test_who_may_look_only_changes_nothing(page: Pages) -> None:
    site = page()
    guest = site.browser("read")
    assert guest.get("/api/status").status_code == 200
    assert guest.get("/api/key").json()["right"] == "read"
    for address in ("/api/undo", "/api/restore", "/api/start"):
        assert guest.post(address, json=PLAN, headers=CHANGING).status_code == 403
    assert site.asked == ["status"]


def test_without_a_cookie_nothing_is_told_not_even_what_there_is(page: Pages) -> None:
    site = page()
    for address in ("/", "/api/status", "/api/live", "/app.1.js", "/nowhere", "/file", "/control/key"):
        assert site.stranger().get(address).status_code == 401
    stolen = {"Cookie": f"quire{PORT + 1}=x; quire{PORT}=guess; quire{PORT}"}
    assert site.stranger().get("/", headers=stolen).status_code == 401
    for token in ("", "x", TOKEN[1:], TOKEN + "t", "é"):
        asked = site.stranger().get("/", headers=[(b"Authorization", f"Bearer {token}".encode())])
        assert asked.status_code == 401


def test_a_cookie_is_no_token(page: Pages) -> None:
    site = page()
    for address in ("/control/key", "/control/revoke"):
        assert site.browser().post(address, json={}, headers=CHANGING).status_code == 403


def test_who_has_the_token_makes_links_and_revokes_all(page: Pages) -> None:
    site = page()
    browser, script = site.browser(), site.script()
    link = script.post("/control/key", json={"right": "read"}, headers={"X-Quire": "1"}).text
    assert link.startswith(f"{ORIGIN}/open?key=")
    guest = site.stranger()
    assert guest.get(link).status_code == 303
    assert guest.get("/api/key").json()["right"] == "read"
    assert script.post("/control/revoke", json={}, headers={"X-Quire": "1"}).text == "2"
    assert [one.get("/").status_code for one in (browser, guest, script)] == [401, 401, 401]
    assert site.script("n" * 43).get("/").status_code == 200


def test_every_answer_says_what_a_browser_may_do_with_it_and_none_shares_it(page: Pages) -> None:
    site = page()
    answers = [
        site.browser().get("/"),
        site.browser().get("/nowhere"),
        site.stranger().get("/"),
        site.browser().get("/", headers={"Host": "evil.example"}),
        site.browser().post("/api/undo", json=PLAN),
        site.script().get("/api/status"),
    ]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "require-trusted-types-for 'script'" in policy
        assert "worker-src 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert not [name for name in answer.headers if name.startswith("access-control")]


def test_no_key_cookie_or_token_stands_in_an_answer(page: Pages) -> None:
    site = page()
    browser = site.browser()
    secrets = [TOKEN, *browser.cookies.values()]
    for address in ("/", "/api/key", "/api/status", "/api/nothing", "/open?key=used"):
        answer = browser.get(address)
        told = answer.text + str(dict(answer.headers))
        assert not [one for one in secrets if one in told]


@pytest.mark.parametrize(
    "path",
    ["/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/..%2f..%2fetc/passwd", "/app.1.js/..", "//etc/passwd", "/\\x"],
)
def test_a_path_leads_to_a_file_of_the_page_or_nowhere(page: Pages, path: str) -> None:
    answer = page().browser().get(f"{ORIGIN}{path}")
    assert answer.status_code == 404 or answer.content in (b"<!doctype html>", b"1")


def test_a_body_that_is_too_large_or_no_json_changes_nothing(page: Pages) -> None:
    site = page()
    browser = site.browser()
    large = b'{"plan": true, "path": "' + b"x" * (100 << 20) + b'"}'
    headers = {**CHANGING, "Content-Type": "application/json"}
    assert browser.post("/api/undo", content=large, headers=headers).status_code == 413

    def chunks() -> object:
        for _ in range(100):
            yield large[: 1 << 20]

    assert browser.post("/api/undo", content=chunks(), headers=headers).json()["error"] == "schema_invalid"
    for body in (b"", b"{", b"[" * 60_000, b"[]", b'"plan"', b"\xff"):
        assert browser.post("/api/undo", content=body, headers=headers).json()["ok"] is False
    assert site.asked == []
