"""What people do on the page, each way once, in a real browser under the page's own policy."""

from __future__ import annotations

import re

import pytest
import scene
from browser import Server, Tabs
from playwright.sync_api import Page, Route, expect

import live


def rows(page: Page):
    return page.locator(".story")


def turn(page: Page, session: str, what: str):
    """The row of a story."""
    return page.locator(".story", has_text=session).filter(has_text=what).first


def test_a_first_view_paints_after_three_requests_and_shows_who_did_what_when(server: Server, tab: Tabs) -> None:
    page = tab(server).page
    expect(rows(page).first).to_be_visible()
    expect(page.locator(".lanes .names button")).to_have_count(3)
    told = page.evaluate(
        "(() => { const paint = performance.getEntriesByType('paint').map(e => e.startTime);"
        " const first = Math.min(...paint);"
        " const asked = performance.getEntriesByType('resource').filter(e => e.startTime < first);"
        " return [paint.length, asked.map(e => new URL(e.name).pathname)]; })()"
    )
    assert told[0] > 0
    assert len([one for one in told[1] if not one.startswith("/api")]) + 1 <= 3
    assert page.get_by_role("img").get_attribute("aria-label", timeout=5000) is not None
    tab_title = page.title()
    assert tab_title == "checkout · Quire"


def test_a_click_shows_the_change_side_by_side_or_not_and_the_address_shows_the_same(server: Server, tab: Tabs) -> None:
    one = tab(server)
    page = one.page
    turn(page, "codex", "app/store.py").click()
    detail = page.locator(".detail")
    expect(detail.locator("tr.came em").first).to_have_text(re.compile("limit"))
    expect(detail.locator("tr.gone")).to_have_count(2)
    page.get_by_role("button", name="Side by side").click()
    expect(detail.locator("table.two td.gone.old").first).to_be_visible()
    page.get_by_role("button", name="Ignore spaces").click()
    expect(page).to_have_url(re.compile(r"story=\d+.*mode=split&space=1"))
    address = page.url.removeprefix(server.top)
    page.go_back()
    again = one.go(address)
    expect(again.locator(".detail table.two td.came.new").first).to_be_visible()
    expect(again.locator(".detail .terminal code").first).to_have_text(
        re.compile(r"^quire diff v\d+ v\d+ app/store.py")
    )


def test_the_lanes_are_zoomed_and_panned_and_lead_to_what_was_done(server: Server, tab: Tabs) -> None:
    page = tab(server).page
    canvas = page.locator(".lanes canvas")
    expect(page.locator(".lanes .names button")).to_have_count(3)
    box = canvas.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 10)
    page.mouse.wheel(0, -300)
    expect(page).to_have_url(re.compile(r"zoom=\d+-\d+"))
    before = page.url
    page.mouse.wheel(0, -300)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2 - 80, box["y"] + 10)
    page.mouse.up()
    assert page.url != before
    page.get_by_role("button", name="All", exact=True).click()
    expect(page).not_to_have_url(re.compile("zoom"))
    canvas.focus()
    page.keyboard.press("w")
    expect(page).to_have_url(re.compile(r"zoom="))
    page.keyboard.press("0")
    canvas.click(position={"x": box["width"] * 0.3, "y": 30})
    expect(page.locator(".detail h2")).to_contain_text("claude-code")
    page.get_by_role("button", name="By time").click()
    expect(page).to_have_url(re.compile("axis=time"))


def test_the_slider_goes_back_call_by_call_and_moves_list_tree_file_and_blame(server: Server, tab: Tabs) -> None:
    one = tab(server)
    page = one.page
    expect(rows(page)).not_to_have_count(0)
    many = rows(page).count()
    page.keyboard.press("[")
    expect(page.locator(".then")).to_contain_text("As it was after record")
    slider = page.get_by_role("slider", name="Moment")
    slider.fill("12")
    expect(page).to_have_url(re.compile(r"at=seq%3A\d+"))
    expect(rows(page)).not_to_have_count(many)
    at = page.locator(".then b").inner_text()
    page.get_by_role("button", name="The next call").click()
    expect(page.locator(".then b")).not_to_have_text(at)
    page.keyboard.press("2")
    expect(page.locator(".tree")).not_to_contain_text("test_main.py")
    page.locator(".node", has_text="store.py").click()
    expect(page.locator(".blame")).not_to_contain_text("limit=100")
    page.get_by_role("button", name="Play").click()
    expect(page.locator(".tree")).to_contain_text("test_main.py", timeout=40_000)
    page.get_by_role("button", name="Back to now").first.click()
    expect(page).not_to_have_url(re.compile("at="))


def test_a_step_that_comes_late_does_not_take_the_reader_back(server: Server, tab: Tabs) -> None:
    """While it was played, `Back to now` was overtaken by the answer of the step before."""
    one = tab(server)
    page = one.go("/?at=seq:12")
    slow = "**/api/log?since=**"

    def late(route: Route) -> None:
        page.get_by_role("button", name="Back to now").click()
        route.continue_()

    page.route(slow, late)
    page.get_by_role("button", name="The next call").click()
    expect(page).not_to_have_url(re.compile("at="))
    page.wait_for_timeout(500)
    expect(page).not_to_have_url(re.compile("at="))
    page.unroute(slow)


def test_any_two_moments_are_compared_by_shift_and_click(server: Server, tab: Tabs) -> None:
    page = tab(server).page
    turn(page, "claude-code", "app/main.py").or_(turn(page, "claude-code", "3 files")).first.click()
    turn(page, "codex", "app/store.py").click(modifiers=["Shift"])
    expect(page.locator(".compare h2")).to_be_visible()
    expect(page.locator(".compare .files")).to_contain_text("store.py")
    page.get_by_label("to", exact=True).fill("")
    page.get_by_role("button", name="Compare", exact=True).click()
    expect(page.locator(".compare .files")).to_contain_text("README.md")


def test_lines_are_followed_back_and_a_file_through_its_renames(server: Server, tab: Tabs) -> None:
    one = tab(server)
    page = one.go("/?view=files&path=app/store.py")
    page.get_by_role("cell", name="Line 14", exact=True).click()
    page.get_by_role("button", name="History of this line").click()
    versions = page.locator(".versions li")
    expect(versions).to_have_count(2)
    expect(versions.first).to_contain_text("claude-code")
    expect(page.locator(".right .came")).to_contain_text("items(name)")
    page.get_by_role("button", name="All of it").click()
    expect(versions).to_have_count(4)
    page = one.go("/?view=history&path=tests/test_main.py")
    expect(versions).to_have_count(3)
    expect(versions.nth(1)).to_contain_text("moved from tests/test_items.py")
    expect(versions.nth(2)).to_contain_text("as tests/test_items.py")
    versions.nth(2).click()
    expect(page.locator(".right .came").first).to_contain_text("from app.main import app")
    expect(page.locator(".left .terminal")).to_have_count(1)
    expect(page.locator(".left .terminal")).to_contain_text("tests/test_main.py")


def test_each_version_of_a_file_stands_beside_what_was_asked_for(server: Server, tab: Tabs) -> None:
    page = tab(server).go("/?view=history&path=app/store.py")
    versions = page.locator(".versions li")
    expect(versions.nth(0)).to_contain_text("The list of items is slow: page it")
    expect(versions.nth(2)).to_contain_text("Refuse items without a name")
    expect(versions.nth(3)).to_contain_text("first seen")
    expect(page.locator(".right .facts")).to_contain_text("The list of items is slow: page it")


def test_a_text_and_a_kind_find_records(server: Server, tab: Tabs) -> None:
    """They were words of the filter that did nothing: everything was shown, as if all of it had the text."""
    one = tab(server)
    page = one.page
    page.keyboard.press("/")
    page.keyboard.type('"limit=100"')
    page.keyboard.press("Enter")
    expect(rows(page)).to_have_count(2)
    expect(page.locator(".list .terminal code")).to_have_text("quire log --records --contains limit=100 --limit 30")
    page.keyboard.press("j")
    expect(page.locator(".detail")).to_contain_text("The list of items is slow")
    page.get_by_role("button", name="with").click()
    expect(rows(page).first).to_contain_text("saved")
    page = one.go("/?q=kind:edit_refused")
    expect(rows(page)).to_have_count(1)
    expect(rows(page)).to_contain_text("refused")
    page = one.go("/?q=%22nobody+wrote+this%22")
    expect(page.locator(".list .empty")).to_contain_text("Nothing fits this filter")


def test_a_plan_says_what_a_renamed_file_was_called(server: Server, tab: Tabs) -> None:
    page = tab(server).page
    turn(page, "claude-code", "Refuse items").click()
    page.locator(".detail .takeback").click()
    expect(page.locator(".planned li", has_text="test_main.py")).to_contain_text("It was tests/test_items.py then")


def test_the_tree_and_the_lists_answer_to_arrows_and_say_where_one_is(server: Server, tab: Tabs) -> None:
    one = tab(server)
    page = one.go("/?view=files")
    tree = page.get_by_role("tree")
    tree.focus()
    current = "(box) => document.getElementById(box.getAttribute('aria-activedescendant'))?.textContent"
    page.keyboard.press("Home")
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    assert "app" in tree.evaluate(current)
    expect(page.get_by_role("treeitem", name="store.py")).to_have_count(1)
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("treeitem", name="store.py")).to_have_count(0)
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("j")
    expect(page).to_have_url(re.compile("path=app%2Fstore.py"))
    expect(page.locator(".blame")).to_contain_text("limit=100")
    page = one.go("/")
    expect(rows(page).first).to_be_visible()
    page.get_by_role("listbox").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(rows(page).nth(1)).to_have_attribute("aria-selected", "true")
    assert rows(page).nth(1).inner_text().split()[0] in page.get_by_role("listbox").evaluate(current)


def test_places_are_reviewed_without_a_mouse(own: Server, tab: Tabs) -> None:
    page = tab(own).go("/?view=review")
    places = page.locator(".review .hunk")
    expect(places.first).to_be_visible()
    before = places.count()
    page.keyboard.press("n")
    expect(page.locator(".review .hunks:focus")).to_have_count(1)
    # To a place of codex: the page runs below the process that plays claude-code, and no agent accepts its own lines.
    page.locator(".review li", has_text="store.py").locator(".hunks").first.focus()
    page.keyboard.press("a")
    expect(places).to_have_count(before - 1)
    page.keyboard.press("n")
    page.keyboard.press("u")
    expect(page.locator(".view.review")).to_contain_text("taken back when its turn has ended")


VIEWS = {
    "/": "quire log",
    "/?story=31": "quire diff",
    "/?q=kind:edit_refused": "quire log --records",
    "/?view=files&path=app/store.py": "quire blame",
    "/?view=files": "quire ls",
    "/?view=history&path=app/store.py": "quire log --records",
    "/?view=compare&from=before-validation": "quire diff",
    "/?view=people": "quire who",
    "/?view=review": "quire review",
    "/?plan=%7B%22tool%22%3A%22undo%22%2C%22writer%22%3A%22codex%22%7D": "quire undo",
}


@pytest.mark.parametrize("address", VIEWS)
def test_each_view_says_the_same_in_a_terminal(server: Server, tab: Tabs, address: str) -> None:
    page = tab(server).go(address)
    expect(page.locator(".terminal code", has_text=VIEWS[address]).first).to_be_visible()


def test_blame_names_who_and_leads_to_the_change_and_before_it(server: Server, tab: Tabs) -> None:
    one = tab(server)
    page = one.go("/?view=files&path=app/store.py")
    page.locator(".blame .row", has_text="limit=100").locator(".who").click()
    origin = page.locator(".origin")
    expect(origin).to_contain_text("codex/9a02")
    expect(origin).to_contain_text("b1")
    origin.get_by_role("button", name="Blame before this").click()
    expect(page.locator(".blame")).to_contain_text("def all(self):")
    page.go_back()
    page.locator(".blame .row", has_text="limit=100").locator(".who").click()
    page.locator(".origin").get_by_role("button", name="The change").click()
    expect(page.locator(".detail h2")).to_contain_text("codex")


def test_the_filter_is_the_address_and_has_one_click_forms(server: Server, tab: Tabs) -> None:
    one = tab(server)
    page = one.page
    page.keyboard.press("/")
    page.keyboard.type("writer:codex")
    page.keyboard.press("Enter")
    expect(page.locator(".story", has_text="claude-code")).to_have_count(0)
    expect(page.locator(".list .terminal code")).to_have_text("quire log --writer codex --limit 30")
    page.get_by_role("button", name="by codex").click()
    page.get_by_role("button", name="Agents only").click()
    expect(page).to_have_url(re.compile("q=agents"))
    expect(page.locator(".story", has_text="first capture")).to_have_count(0)
    page.get_by_role("button", name="Last turn").click()
    expect(page).to_have_url(re.compile(r"turn%3A"))
    page = one.go("/?q=nothing-is-called-so.txt")
    page.get_by_role("button", name="Take the filter away").click()
    expect(rows(page)).not_to_have_count(0)


def test_what_an_agent_did_is_taken_back_by_plan_and_brought_back(own: Server, tab: Tabs) -> None:
    page = tab(own).page
    turn(page, "codex", "app/store.py").click()
    page.locator(".detail .takeback").click()
    plan = page.locator(".plan")
    expect(plan).to_contain_text("Nothing is changed yet")
    expect(plan).to_contain_text("app/store.py")
    assert b"limit=100" in own.site.read("app/store.py")
    plan.get_by_role("button", name="Take it back").click()
    expect(plan.get_by_role("button", name="Bring it back…")).to_be_visible()
    assert b"limit=100" not in own.site.read("app/store.py")
    assert b"items(name)" in own.site.read("app/store.py")
    plan.get_by_role("button", name="Bring it back…").click()
    plan.get_by_role("button", name="Bring it back", exact=True).click()
    expect(plan.get_by_role("button", name="Take it back again…")).to_be_visible()
    assert b"limit=100" in own.site.read("app/store.py")


def test_a_plan_that_is_overtaken_changes_nothing(own: Server, tab: Tabs) -> None:
    page = tab(own).page
    turn(page, "codex", "app/store.py").click()
    page.locator(".detail .takeback").click()
    plan = page.locator(".plan")
    expect(plan.get_by_role("button", name="Take it back")).to_be_enabled()
    own.site.write("app/store.py", own.site.read("app/store.py") + b"# mine\n")
    expect(plan).to_contain_text("Something happened since the plan was made")
    plan.get_by_role("button", name="Take it back").click()
    expect(plan.locator(".bad").first).to_be_visible()
    assert b"limit=100" in own.site.read("app/store.py")
    assert b"# mine" in own.site.read("app/store.py")


def test_a_file_is_restored_from_the_view_of_an_earlier_moment(own: Server, tab: Tabs) -> None:
    one = tab(own)
    page = one.go("/?view=files&path=README.md&at=before-validation")
    expect(page.locator(".blame")).to_contain_text("A small server.")
    page.get_by_role("button", name="Restore this…").click()
    expect(page.locator(".plan")).to_contain_text("gives up")
    page.locator(".plan").get_by_role("button", name="Restore", exact=True).click()
    live.eventually("it is as it was", lambda: own.site.read("README.md") == b"# Items\n\nA small server.\n")


def test_what_happens_slides_in_and_does_not_move_what_is_looked_at(own: Server, tab: Tabs) -> None:
    page = tab(own).page
    expect(rows(page)).not_to_have_count(0)
    turn(page, "codex", "app/store.py").click()
    expect(page.locator(".detail tr.came").first).to_be_visible()
    own.site.write("fresh.txt", "fresh\n")
    expect(page.locator(".story", has_text="fresh.txt").first).to_be_visible()
    expect(page.locator(".detail h2")).to_contain_text("codex")
    page.evaluate("document.querySelector('.list ul').style.maxHeight = '120px'")
    page.locator(".list ul").evaluate("(list) => { list.scrollTop = 60; }")
    for number in range(3):
        own.site.write(f"later-{number}.txt", "later\n")
    page.locator(".news").click()
    expect(page.locator(".story", has_text="later").first).to_be_visible()


def test_refusals_leases_and_collisions_are_rows(server: Server, tab: Tabs) -> None:
    page = tab(server).go("/?view=people")
    people = page.locator(".view.people")
    expect(people).to_contain_text("paging of all lists")
    expect(people).to_contain_text("without having read its newest version. Nothing was written.")
    expect(people).to_contain_text("changed by several")
    page.get_by_role("button", name="What they did").first.click()
    expect(page.locator(".story").first).to_be_visible()


def test_all_of_it_without_a_mouse(server: Server, tab: Tabs) -> None:
    one = tab(server)
    page = one.page
    expect(rows(page).first).to_be_visible()
    for _ in range(2):
        page.keyboard.press("j")
    expect(rows(page).nth(1)).to_have_attribute("aria-selected", "true")
    page.keyboard.press("k")
    expect(rows(page).nth(0)).to_have_attribute("aria-selected", "true")
    page.keyboard.press("o")
    page.keyboard.press("s")
    expect(page).to_have_url(re.compile("mode=split"))
    page.keyboard.press("?")
    expect(page.locator(".keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".keys")).to_have_count(0)
    page.keyboard.press("c")
    expect(page.locator(".said")).to_contain_text("Copied")
    page.keyboard.press("u")
    expect(page.locator(".plan")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".plan")).to_have_count(0)
    page.keyboard.press("4")
    expect(page.locator(".view.people")).to_be_visible()


@pytest.mark.parametrize(
    "address",
    [
        "/",
        "/?view=files&path=app/store.py",
        "/?view=history&path=app/store.py",
        "/?view=people",
        "/?story=31",
        "/?view=review",
        "/?view=compare&from=before-validation",
        "/?q=kind:edit_refused",
    ],
)
def test_everything_that_can_be_pressed_has_a_name(server: Server, tab: Tabs, address: str) -> None:
    page = tab(server).go(address)
    page.wait_for_timeout(500)
    nameless = page.evaluate(
        "[...document.querySelectorAll('button, a, input, canvas, [role=listbox], [role=tree], [role=table]')]"
        ".filter(e => !(e.getAttribute('aria-label') || e.textContent.trim() || e.title || e.labels?.length))"
        ".map(e => e.outerHTML)"
    )
    assert nameless == []
    assert page.locator("main").count() == 1
    assert page.evaluate("document.documentElement.lang") == "en"
    assert page.locator("h1").count() == 1
    twice = "(() => { const all = [...document.querySelectorAll('[id]')].map(e => e.id);"
    assert page.evaluate(f"{twice} return all.filter((one, i) => all.indexOf(one) !== i); }})()") == []


def test_names_and_texts_that_mean_harm_are_shown_and_do_nothing(server: Server, tab: Tabs) -> None:
    one = tab(server)
    page = one.page
    page.locator(".story", has_text="saved").first.click()
    expect(page.locator(".detail")).to_contain_text("<img src=x onerror=alert(1)>.py")
    expect(page.locator(".detail .mark", has_text="202E").first).to_be_visible()
    for fold in page.locator(".detail .files .fold").all():
        if fold.get_attribute("aria-expanded") == "false":
            fold.click()
            page.wait_for_timeout(150)
    page = one.go("/?view=files&path=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E.py")
    expect(page.locator(".blame")).to_contain_text("<script>alert(2)</script>")
    page = one.go("/?view=files&path=..%2F..%2F..%2Fetc%2Fpasswd")
    expect(page.locator(".right")).not_to_contain_text("root:")
    page = one.go("/?view=compare&from=%3Cscript%3E&q=%22%3E%3Cimg%20src%3Dx%3E&plan=%7B%22tool%22%3A%22shutdown%22%7D")
    expect(page.locator(".plan")).to_contain_text("names nothing that could be taken back")
    assert page.locator("img, iframe, script:not([src]), svg[onload]").count() == 0


def test_names_of_writers_that_mean_harm_are_shown_and_do_nothing(own: Server, tab: Tabs) -> None:
    """Whoever can call the daemon chooses such a name, a turn, a reason, and the name of a checkpoint."""
    eve = own.site.connect("<img src=x onerror=alert(5)>", "<svg/onload=alert(6)>")
    scene.asked(eve, "<i>turn", "<script>alert(7)</script>\u202e\u2028")
    assert scene.write(eve, "eve.txt", "x\n", turn="<i>turn", model="<b>model")["ok"]
    eve.claim("eve.txt", kind="exclusive", reason="<img src=x onerror=alert(8)>")
    eve.checkpoint("point", note="<img src=x onerror=alert(9)>")
    one = tab(own)
    page = one.page
    turn(page, "<img", "eve.txt").click()
    expect(page.locator(".detail")).to_contain_text("<script>alert(7)</script>")
    expect(page.locator(".detail .mark").first).to_be_visible()
    page.locator(".detail .takeback").click()
    expect(page.locator(".plan h2")).to_contain_text("<img src=x onerror=alert(5)>")
    page = one.go("/?view=people")
    expect(page.locator(".view.people")).to_contain_text("<img src=x onerror=alert(8)>")
    for address in ("/?view=files&path=eve.txt", "/?view=history&path=eve.txt", "/?view=review", "/?q=checkpoint"):
        page = one.go(address)
        page.wait_for_timeout(400)
        assert page.locator("img, iframe, script:not([src]), svg[onload], svg:not([aria-hidden])").count() == 0


def test_what_cannot_be_read_is_said_in_place(server: Server, tab: Tabs) -> None:
    one = tab(server)
    page = one.go("/?view=files&path=logo.png")
    expect(page.locator(".right")).to_contain_text("It is not text")
    page = one.go("/?view=files&path=nowhere.py")
    expect(page.locator(".right")).to_contain_text("It was not there then")
    page = one.go("/?view=files&path=app/main.py&at=seq:1")
    expect(page.locator(".views")).to_contain_text("It was not there then")


def test_places_are_reviewed_accepted_and_rejected(own: Server, tab: Tabs) -> None:
    page = tab(own).go("/?view=review")
    places = page.locator(".review .hunk")
    expect(places.first).to_be_visible()
    before = places.count()
    page.locator(".review li", has_text="store.py").get_by_role("button", name="Accept", exact=True).first.click()
    expect(places).to_have_count(before - 1)
    page.locator(".review li", has_text="test_main.py").get_by_role("button", name="Reject").first.click()
    expect(page.locator(".review li", has_text="test_main.py")).to_contain_text("taken back when its turn has ended")
    # The page runs below the process that plays claude-code, and no agent accepts its own lines.
    page.locator(".turns tr", has_text="The list of items is slow").get_by_role("button").click()
    expect(page.locator(".turns tr", has_text="The list of items is slow")).to_have_count(0)
    page.keyboard.press("4")
    expect(page.locator(".view.people")).to_be_visible()
    page.keyboard.press("3")
    expect(page.locator(".review h2")).to_have_text("What did agents write that nobody has accepted yet?")


def test_who_may_look_only_is_offered_no_change(server: Server, tab: Tabs) -> None:
    one = tab(server, server.another("--read-only"))
    page = one.page
    expect(page.locator(".badge")).to_have_text("read-only")
    turn(page, "codex", "app/store.py").click()
    expect(page.locator(".detail tr.came").first).to_be_visible()
    expect(page.get_by_role("button", name="Take back")).to_have_count(0)
    page = one.go("/?view=review")
    expect(page.locator(".review .hunk").first).to_be_visible()
    expect(page.get_by_role("button", name="Accept")).to_have_count(0)
    page = one.go("/?plan=%7B%22tool%22%3A%22undo%22%7D")
    expect(page.locator(".plan")).to_contain_text("may look only")


def test_the_change_of_an_agents_story_has_its_own_lines_and_says_who_else_changed_the_file(
    own: Server, tab: Tabs
) -> None:
    cleo = own.site.connect("cleo", "c1")
    scene.edit(cleo, "app/main.py", "app = Flask", "# cleo one\napp = Flask")
    rewritten = own.site.read("app/main.py").replace(b"# cleo one", b"# cleo one, rewritten by me")
    own.site.write("app/main.py", b"# me: secret line\n" + rewritten)
    cleo.since()  # the save is noticed
    scene.edit(cleo, "app/main.py", "store = Store", "# cleo two\nstore = Store")
    page = tab(own).page
    turn(page, "cleo", "app/main.py").click()
    detail = page.locator(".detail")
    expect(detail.locator("tr.came")).to_have_count(1)
    expect(detail.locator("tr.came")).to_contain_text("# cleo two")
    expect(detail.locator(".filediff")).to_contain_text("Also changed by outside meanwhile")
    expect(detail.locator(".terminal code").first).to_have_text(re.compile("--writer cleo/c1$"))
    turn(page, "outside", "app/main.py").click()
    expect(detail.locator("tr.came")).to_have_count(2)
    expect(detail.locator(".filediff")).not_to_contain_text("# cleo two")


def test_at_a_change_exactly_its_lines_are_taken_back_where_they_are_now(own: Server, tab: Tabs) -> None:
    cleo = own.site.connect("cleo", "c1")
    cleo.read_file("app/main.py")
    edits = [
        {"old_text": "from flask", "new_text": "# cleo one\nfrom flask"},
        {"old_text": "    item = request", "new_text": "    # cleo far\n    item = request"},
    ]
    assert cleo.call("multi_edit", {"path": "app/main.py", "edits": edits})["ok"]
    own.site.write("app/main.py", b"# mine\n" + own.site.read("app/main.py"))
    cleo.since()  # the save is noticed
    page = tab(own).page
    turn(page, "cleo", "app/main.py").click()
    hunks = page.locator(".detail tbody.hunk")
    expect(hunks).to_have_count(2)
    hunks.nth(1).get_by_role("button", name="Take back these lines…").click()
    plan = page.locator(".plan")
    expect(plan.locator("h2")).to_have_text(re.compile(r"Take back line \d+ of app/main.py by cleo/c1"))
    expect(plan.locator(".planned")).to_contain_text("+0 −1")
    line = own.site.read("app/main.py").splitlines().index(b"    # cleo far") + 1
    expect(plan.locator(".terminal code")).to_have_text(f"quire undo app/main.py:{line} --writer cleo/c1 --plan")
    plan.get_by_role("button", name="Take it back").click()
    expect(plan.get_by_role("button", name="Bring it back…")).to_be_visible()
    now = own.site.read("app/main.py")
    assert b"# cleo far" not in now
    assert now.startswith(b"# mine\n# cleo one\n")


def test_lines_that_went_are_taken_back_with_all_of_the_story_in_the_file(own: Server, tab: Tabs) -> None:
    cleo = own.site.connect("cleo", "c1")
    scene.edit(cleo, "app/main.py", "from app.store import Store\n", "")
    scene.edit(cleo, "app/store.py", "class Store", "# cleo\nclass Store")
    page = tab(own).page
    turn(page, "cleo", "2 files").click()
    page.locator(".detail .fold", has_text="main.py").click()
    gone = page.locator(".detail tbody.hunk", has_text="from app.store")
    expect(gone.get_by_role("button")).to_have_text(["Take back all of it in this file…"])
    gone.get_by_role("button").click()
    plan = page.locator(".plan")
    expect(plan.locator("h2")).to_contain_text("Take back what cleo/c1 did in app/main.py")
    expect(plan.locator(".planned li")).to_have_count(1)
    expect(plan.locator(".planned")).to_contain_text("+1 −0")


def test_a_turn_is_shown_and_taken_back_as_a_whole_however_much_others_wrote_within_it(own: Server, tab: Tabs) -> None:
    cleo, dan, eve = (own.site.connect(name, "c1") for name in ("cleo", "dan", "eve"))
    for number in range(1, 3):
        scene.write(cleo, f"cleo/{number}.txt", "c\n", turn="long")
    for number in range(200):
        for other in (dan, eve):
            scene.write(other, f"{number}-{other.caller.agent}.txt", "x\n", turn="busy")
    scene.write(cleo, "cleo/3.txt", "c\n", turn="long")
    page = tab(own).page
    turn(page, "cleo", "3 files").click()
    detail = page.locator(".detail")
    expect(detail.locator(".facts")).to_contain_text("3 files")
    expect(detail.locator(".facts")).not_to_contain_text("began earlier")
    detail.locator(".takeback").click()
    expect(page.locator(".planned li")).to_have_count(3)


def test_saves_are_taken_back_in_their_files_whatever_these_are_called(own: Server, tab: Tabs) -> None:
    page = tab(own).page
    turn(page, "outside", "5 files").click()
    expect(page.locator(".detail .files > li")).to_have_count(5)
    page.locator(".detail .takeback").click()
    expect(page.locator(".planned li")).to_have_count(5)
    expect(page).to_have_url(re.compile("plan=.*paths.*bell"))
    expect(page.locator(".plan h2")).to_contain_text("Take back what outside did in 5 files then")
