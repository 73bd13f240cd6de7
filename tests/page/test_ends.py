"""What ends in the middle, and what is too much: the daemon, the page's server, two tabs, many events."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Server, Tabs
from playwright import sync_api
from playwright.sync_api import expect

import live

sys.path.append(str(Path(__file__).resolve().parents[1] / "bench"))  # after the SDK, of whose name one of them is

import log
import rows_tree


def test_a_daemon_that_is_killed_is_said_and_the_page_goes_on_without_a_gap(own: Server, tab: Tabs) -> None:
    page = tab(own).page
    expect(page.locator(".story").first).to_be_visible()
    os.kill(own.site.connect(start=False).status()["pid"], signal.SIGKILL)
    expect(page.locator(".banner")).to_contain_text("The daemon ended")
    expect(page.locator(".link")).to_have_text("no daemon")
    own.site.write("meanwhile.txt", "nobody was there to see it\n")
    page.keyboard.press("3")
    page.get_by_role("button", name="Start the daemon").first.click()
    expect(page.locator(".link")).to_have_text("live")
    expect(page.locator(".banner")).to_have_count(0)
    page.keyboard.press("1")
    expect(page.locator(".story", has_text="meanwhile.txt").first).to_be_visible()
    own.site.write("after.txt", "seen again\n")
    expect(page.locator(".story", has_text="after.txt").first).to_be_visible()


def test_a_server_that_is_killed_is_said(own: Server, tab: Tabs) -> None:
    one = tab(own)
    one.forgiving = True
    expect(one.page.locator(".story").first).to_be_visible()
    own.kill()
    expect(one.page.locator(".banner")).to_contain_text("Run `quire page` again")


def test_two_tabs_show_the_same(own: Server, tab: Tabs) -> None:
    pages = [tab(own).page, tab(own).page]
    own.site.write("both.txt", "both\n")
    for page in pages:
        expect(page.locator(".story", has_text="both.txt").first).to_be_visible()


def test_many_tabs_leave_each_other_connections(own: Server, tab: Tabs) -> None:
    """A browser has six connections to a server: six tabs' feeds took them all, and the seventh tab never came."""
    one = tab(own)
    pages = [one.page]
    for _ in range(7):
        page = one.context.new_page()
        page.goto(own.top)
        page.locator(".link.live").wait_for()
        pages.append(page)
        hidden = "Object.defineProperty(document, 'visibilityState', {value: 'hidden', configurable: true})"
        page.evaluate(f"() => {{ {hidden}; document.dispatchEvent(new Event('visibilitychange')); }}")
    own.site.write("while-hidden.txt", "x\n")
    expect(one.page.locator(".story", has_text="while-hidden.txt").first).to_be_visible()
    seen = "delete document.visibilityState"
    for page in pages[1:3]:
        page.evaluate(f"() => {{ {seen}; document.dispatchEvent(new Event('visibilitychange')); }}")
        expect(page.locator(".story", has_text="while-hidden.txt").first).to_be_visible()


def test_a_revoked_browser_sees_nothing_more(own: Server, tab: Tabs) -> None:
    one = tab(own)
    one.forgiving = True
    expect(one.page.locator(".story").first).to_be_visible()
    words = ["page", "--revoke", "-C", str(own.site.root), "--state-dir", str(own.site.state_dir)]
    subprocess.run([sys.executable, "-m", "quire_client", *words], check=True, capture_output=True)
    one.page.keyboard.press("3")
    expect(one.page.locator(".closed")).to_contain_text("quire page")


def test_a_change_on_disk_is_on_the_screen_at_once(own: Server, tab: Tabs) -> None:
    """Of a quiet run half within 150 ms; here, on a machine that others share, twice that is asked for."""
    page = tab(own).page
    expect(page.locator(".story").first).to_be_visible()
    page.evaluate(
        "() => { window.seen = {}; new MutationObserver(() => {"
        " for (const row of document.querySelectorAll('.story')) {"
        " const name = /tick-(\\d+)\\//.exec(row.textContent); if (name && !(name[1] in window.seen))"
        " window.seen[name[1]] = Date.now(); } }).observe(document.body, {childList: true, subtree: true,"
        " characterData: true}); }"
    )
    took = []
    for number in range(live.length(9, 40)):
        written = time.time() * 1000
        own.site.write(f"tick-{number}/a.txt", "x\n")
        seen = live.eventually("it is shown", lambda n=number: page.evaluate(f"window.seen['{n}']"))
        took.append(seen - written)
        page.wait_for_timeout(600)
    took.sort()
    print(json.dumps({"on_screen_ms": [round(one) for one in took], "p50_ms": round(took[len(took) // 2])}))
    assert took[len(took) // 2] <= 300


def test_64_events_a_second_leave_the_page_at_hand(own: Server, tab: Tabs) -> None:
    page = tab(own).page
    expect(page.locator(".story").first).to_be_visible()
    writer = own.site.connect("busy", "b1")
    begun, seconds = time.monotonic(), live.length(10, 60)
    for number in range(seconds * 64):
        if number % 8 == 0:
            page.wait_for_timeout(max(0.0, (number / 64 - (time.monotonic() - begun)) * 1000))
        assert writer.call("write_file", {"path": f"busy/{number}.txt", "content": "x\n"})["ok"]
    page.keyboard.press("j")
    expect(page.locator(".story[aria-selected=true]")).to_have_count(1)
    expect(page.locator(".lanes .names")).to_contain_text("busy/b1")
    print(json.dumps({"events_per_s": round(seconds * 64 / (time.monotonic() - begun), 1)}))


@pytest.fixture
def long(chromium: sync_api.Browser, tmp_path: Path) -> Iterator[Server]:
    """A page of a checkout with a long journal: at full length a million events, of which a first view is promised."""
    events = live.length(20_000, 1_000_000)
    site = live.Live(on_disk=True)
    try:
        rows_tree.moved_in(site, log.kept(tmp_path, events, 400))
        assert site.connect("ada", "s1", timeout_s=600.0).status()["seq"] >= events
        found = Server(site)
        yield found
        found.kill()
    finally:
        site.close()


@pytest.mark.timeout(900)  # at full length the journal alone takes minutes
def test_a_first_view_and_a_step_of_the_slider_are_cheap(long: Server, tab: Tabs) -> None:
    """By the processor's time: of a first view at most 100 ms of script and 60 MB of heap, of a step 16 ms."""
    one = tab(long)
    tools = one.context.new_cdp_session(one.page)
    tools.send("Performance.enable", {"timeDomain": "threadTicks"})

    def told(name: str) -> float:
        return next(one["value"] for one in tools.send("Performance.getMetrics")["metrics"] if one["name"] == name)

    page = one.go("/")
    expect(page.locator(".story").first).to_be_visible()
    page.wait_for_timeout(1000)
    first, heap = told("ScriptDuration"), told("JSHeapUsedSize")
    for _ in range(8):
        page.keyboard.press("[")
        page.wait_for_timeout(400)
    step = (told("ScriptDuration") - first) / 8
    calls = calls_of_a_step(page, tools)
    figures = {"script_ms": round(first * 1000), "heap_mb": round(heap / 1e6, 1), "step_ms": round(step * 1e3, 1)}
    print(json.dumps({**figures, "step_calls": calls}))
    assert first <= 0.1
    assert heap <= 60e6
    assert step <= 0.016
    assert calls <= 12_500


def calls_of_a_step(page: sync_api.Page, tools: sync_api.CDPSession) -> int:
    """How often a step of the slider calls functions of the page's script; the median of five steps.

    A part of the page that is drawn twice, or without a reason, shows here on any machine.
    """
    tools.send("Profiler.enable")
    tools.send("Profiler.startPreciseCoverage", {"callCount": True, "detailed": False})
    steps: list[int] = []
    for _ in range(5):
        tools.send("Profiler.takePreciseCoverage")
        page.keyboard.press("[")
        page.wait_for_timeout(1000)
        found = tools.send("Profiler.takePreciseCoverage")["result"]
        steps.append(sum(function["ranges"][0]["count"] for script in found for function in script["functions"]))
    tools.send("Profiler.stopPreciseCoverage")
    return sorted(steps)[2]
