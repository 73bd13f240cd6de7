"""`gc` in a real daemon: what no rule keeps goes beside everything else, and every question still has an answer."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

import live
from live import Live, ok, refused, verified

pytestmark = pytest.mark.real

SETTINGS = """
[retention]
keep_last = 2
keep_within = ""
daily = 0
thin_outside = ""
grace = "0"
"""


def set_retention(text: str) -> None:
    """The user's own settings of the daemon that is started next."""
    folder = Path(os.environ["XDG_CONFIG_HOME"]) / "quire"
    folder.mkdir(exist_ok=True)
    (folder / "config.toml").write_text(text)


def written(client: Any, path: str, number: int) -> dict[str, Any]:
    """Version `number` of a file of some lines, each different."""
    content = "".join(f"{number * n * n} of {path}\n" for n in range(200))
    arguments = {"path": path, "content": content}
    if number:
        arguments["base"] = ok(client.call("read_file", {"path": path, "end_line": 1}))["version"]
    return ok(client.call("write_file", arguments))


def past(client: Any, path: str, version: str) -> dict[str, Any]:
    return client.call("read_file", {"path": path, "at": version})


def test_what_no_rule_keeps_goes_and_every_question_still_has_an_answer(daemon: Any) -> None:
    at: Live = daemon()
    set_retention(SETTINGS)
    with at.connect() as client:
        versions = [written(client, "a.py", n)["version"] for n in range(8)]
        ok(client.call("checkpoint", {"action": "create", "name": "before-lunch", "at": versions[3]}))
        at.kill()
    with at.connect("another", "s2") as client:  # what `tester` was shown is kept for it for a day
        report = ok(client.call("gc", {"dry_run": True}))
        reasons = {blob["version"]: (blob["keep"], blob["reason"]) for blob in report["blobs"]}
        assert reasons[versions[7]][0], reasons
        assert reasons[versions[3]] == (True, "checkpoint before-lunch")
        assert reasons[versions[6]] == (True, "one of the last 2 of a.py")
        assert not reasons[versions[0]][0] or "made from it" in reasons[versions[0]][1]
        goes = [version for version, (keep, _) in reasons.items() if not keep]
        assert goes, reasons
        assert report["droppable"]["blobs"] == len(goes)
        assert all(reasons[version][1].startswith("dropped: ") for version in goes)

        done = ok(client.call("gc", {"compact": True}))
        assert done["dropped"]["blobs"] == len(goes)
        assert done["compacted"]["after_bytes"] > 0
        assert re.search(r"the journal took \d+\.\d [KM]iB and takes \d+\.\d [KM]iB", done["message"])
        told = refused(past(client, "a.py", goes[0]), "uncaptured")
        assert told["why"] == "dropped"
        assert "dropped by retention on 2" in told["message"]
        assert "keep-last 2" in told["message"]
        assert ok(client.call("show", {"version": goes[0], "path": "a.py"}))["uncaptured"] == "dropped"
        refused(client.call("blame", {"path": "a.py", "at": goes[0]}), "uncaptured")
        ok(client.call("blame", {"path": "a.py"}))
        ok(client.call("diff", {"from": goes[0], "to": versions[7]}))
        for version in versions:
            if version not in goes:
                ok(past(client, "a.py", version))
        restored = refused(client.call("restore", {"path": "a.py", "at": goes[0]}), "uncaptured")
        assert "they were dropped by retention on" in restored["files"][0]["why"]
        verified(client)
        again = ok(client.call("gc", {"dry_run": True, "only": "dropped"}))
        assert (again["droppable"]["blobs"], again["blobs"]) == (0, [])
        at.kill()
    with at.connect() as client:
        verified(client)
        refused(past(client, "a.py", goes[0]), "uncaptured")


def test_a_collection_that_was_killed_and_never_taken_up_is_told_of_until_one_ends(daemon: Any) -> None:
    at: Live = daemon()
    set_retention(SETTINGS)
    with at.connect() as client:
        for n in range(8):
            written(client, "a.py", n)
        at.kill()  # what the writer was shown is kept for it
    with at.fault("gc_dropped"):
        boss = at.connect("boss", "boss")
    assert not boss.call("gc", {})["ok"]
    with at.connect("boss", "boss") as boss:
        doctor = ok(boss.call("doctor", {}))
        told = {check["name"]: check for check in doctor["checks"]}
        assert not told["collection"]["ok"]
        assert "A collection of 6 blobs that began at" in told["collection"]["detail"]
        ok(boss.call("gc", {"dry_run": True}))
        assert "unfinished" in ok(boss.call("status", {}))["retention"]
        ok(boss.call("gc", {}))
        assert "unfinished" not in ok(boss.call("status", {}))["retention"]


@pytest.mark.wide
def test_over_its_limit_a_journal_is_collected_by_itself_where_the_settings_say_so(daemon: Any) -> None:
    at: Live = daemon()
    set_retention(SETTINGS)
    with at.connect() as client:
        for n in range(6):
            written(client, "a.py", n)
            ok(client.call("write_file", {"path": f"b{n}", "content": "other\n"}))
        at.kill()
    set_retention(SETTINGS + 'automatic = "over_quota"\nworkspace_bytes = 4096\n')
    with at.connect("boss", "boss") as boss:
        live.eventually("a collection", lambda: "gc_finished" in at.log_tail(200))
        assert '"by": "automatic"' in at.log_tail(200)
        verified(boss)


def test_limits_are_told_in_every_reply_and_a_listing_comes_in_pages(daemon: Any) -> None:
    at: Live = daemon()
    set_retention(SETTINGS + "workspace_bytes = 4096\nstore_bytes = 0\n")
    with at.connect() as client:
        for n in range(4):
            written(client, "a.py", n)
        warned = live.eventually("the warning", lambda: client.call("status", {}).get("warnings"))
        assert [one["type"] for one in warned] == ["retention"]
        assert client.call("read_file", {"path": "nothing"})["warnings"] == warned
        status = ok(client.call("status", {}))
        assert status["retention"]["workspace"]["limit"] == 4096
        assert status["retention"]["reserve"] == {"bytes": 16 << 20, "held": True, "given_back": False}
        assert (at.state_dir / "reserve").stat().st_blocks * 512 >= 16 << 20

        pages, skip = [], 0
        while skip is not None:
            page = ok(client.call("gc", {"dry_run": True, "limit": 3, "skip": skip}))
            pages += page["blobs"]
            skip = page["next"]
        assert len(pages) == len({(one["path"], one["version"]) for one in pages}) == 4
        refused(client.call("gc", {"limit": -1}), "schema_invalid")
        refused(client.call("gc", {"only": "some"}), "schema_invalid")
