"""Purge: after it the secret is in no file of the state folder or `.quire`; the log tells that there was something."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from live import Live, caught_up, eventually, length, log, ok, refused, verified
from quire_journal.storage.blobs import blobs
from quire_journal.storage.lmdb import LmdbStore
from quire_journal.storage.port import Store

pytestmark = [pytest.mark.real, pytest.mark.timeout(120)]

SECRET = "s3cr3t-9f8e7d6c5b4a-of-nobody"
VERSIONS = length(10, 30)
FILLING = "".join(f"filling {n} of the file\n" for n in range(200))


def every_byte(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Every file below `folder`."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield str(path.relative_to(folder)), path.read_bytes()


def every_blob(store: Store) -> Iterator[bytes]:
    """Everything that the journal can unpack, whether something leads to it or not."""
    with store.reading() as r:
        for key, _ in r.scan("blobs"):
            yield blobs.unpack(r, int.from_bytes(key, "big"))


def require_gone(at: Live, secret: str) -> None:
    """No byte of the secret, after a stop that gives every file back."""
    ok(at.connect().call("shutdown", {}))
    eventually("the daemon has stopped", lambda: not at.pids())
    for folder in (at.state_dir, at.root / ".quire"):
        assert [name for name, data in every_byte(folder) if secret.encode() in data] == []
    store = LmdbStore.open(at.state_dir / "journal")
    assert not any(secret.encode() in data for data in every_blob(store))
    store.close()
    (at.state_dir / "journal" / "clean").unlink(missing_ok=True)


def test_an_expression_may_begin_with_its_flags(served: Live) -> None:
    at = served
    at.write("a.py", f'KEY = "{SECRET}"\n# the end\n')
    client = at.connect(agent="ann")
    caught_up(client)
    for matching in (f"(?s){SECRET}.*end", f"(?ix) {SECRET.upper()}  # a remark"):
        plan = ok(client.call("purge", {"matching": matching, "plan": True}))
        assert [one["path"] for one in plan["versions"]] == ["a.py"], matching


def test_who_read_is_told_alike_by_views_and_log_after_a_purge_of_names(at: Live) -> None:
    """Also of what it reads from then on, over the same connection: no edit on it gets by what others did."""
    at.write("a.py", f'KEY = "{SECRET}"\n')
    client = at.connect(agent="ann", session="a-session-of-ann")
    ok(client.call("read_file", {"path": "a.py", "hashes": True}))
    ok(client.call("purge", {"matching": f"a-session-of-ann|{SECRET}"}))
    at.write("b.py", "one\n")
    ok(client.call("read_file", {"path": "b.py", "hashes": True}))
    at.write("b.py", "another\n")
    caught_up(client)
    refused(client.call("insert_lines", {"path": "b.py", "line_number": 1, "text": "first"}), "stale_base")
    verified(client)


def told_often(at: Live) -> str:
    """A journal in which the secret is in versions, kept replies and refusals; the version with it."""
    at.write("a.py", FILLING + f'KEY = "{SECRET}"\n' + FILLING)
    at.write("b.py", FILLING)
    client = at.connect(agent="ann")
    caught_up(client)
    base = ok(client.call("read_file", {"path": "a.py"}))["version"]
    edit = {"path": "a.py", "old_text": f'KEY = "{SECRET}"', "new_text": f'KEY = "{SECRET}"  # ours', "base": base}
    with_key = client.call("edit_replace", {**edit, "idempotency_key": "k1"})
    assert with_key["ok"], with_key
    refused(
        client.call("edit_replace", {**edit, "old_text": f"no {SECRET} here"}),
        "old_text_not_found",
        "stale_base",
        "pattern_not_found",
    )
    ok(client.call("write_file", {"path": "a.py", "content": FILLING, "base": with_key["version"]}))
    for n in range(VERSIONS):  # versions that are made of earlier ones
        base = ok(client.call("read_file", {"path": "a.py"}))["version"]
        ok(client.call("write_file", {"path": "a.py", "content": f"{n}\n{FILLING}", "base": base}))
    return str(with_key["version"])


def test_what_matches_a_pattern_goes_from_everywhere_and_the_log_still_tells_of_it(at: Live) -> None:
    version = told_often(at)
    client = at.connect(agent="ann")
    before = log(client, path="a.py")

    plan = ok(client.purge(matching="s3cr3t-[0-9a-z-]+", plan=True))
    assert [one["version"] for one in plan["versions"]].count(version) == 1
    assert ok(client.call("read_file", {"path": "a.py", "at": version}))["ok"]

    done = ok(client.purge(matching="s3cr3t-[0-9a-z-]+"))
    assert done["blobs"] == plan["blobs"] == 2
    assert done["on_disk"] == []
    assert "git" in done["message"]
    verified(client)
    assert [r["seq"] for r in log(client, path="a.py")][: len(before)] == [r["seq"] for r in before]
    gone = refused(client.call("read_file", {"path": "a.py", "at": version}), "uncaptured")
    assert "purged on" in gone["message"]
    assert "ann" in gone["message"]
    assert ok(client.call("read_file", {"path": "a.py"}))["content"] == f"{VERSIONS - 1}\n{FILLING}"
    require_gone(at, SECRET)
    verified(at.connect())  # and the next daemon, which checks it first, finds it sound
    assert "salvaged" not in ok(at.connect().call("status", {}))


def test_all_versions_of_a_path_go_and_what_is_still_on_disk_is_not_kept_again(at: Live) -> None:
    at.write("keys.txt", f"{SECRET}\nand more of it\n")
    at.write("b.py", FILLING)
    client = at.connect(agent="ann")
    caught_up(client)
    done = ok(client.purge(path="keys.txt"))
    assert done["on_disk"] == ["keys.txt"]
    caught_up(client)
    shown = ok(client.call("read_file", {"path": "keys.txt"}))
    assert shown["uncaptured"] == "purged"
    refused(
        client.call("write_file", {"path": "keys.txt", "content": "x\n", "base": shown["version"]}),
        "uncaptured",
        "write_conflict",
        "stale_base",
    )
    verified(client)
    at.write("keys.txt", "nothing secret\n")
    caught_up(client)
    assert "uncaptured" not in ok(client.call("read_file", {"path": "keys.txt"}))
    require_gone(at, SECRET)


def test_what_is_not_one_clear_wish_is_refused(served: Live) -> None:
    client = served.connect()
    wishes: tuple[dict[str, Any], ...] = (
        {},
        {"path": "a", "blob": "00"},
        {"blob": "00"},
        {"matching": "("},
        {"matching": "x*"},
    )
    for wanted in wishes:
        refused(client.purge(**wanted), "schema_invalid", "invalid_regex")


def test_a_path_that_the_journal_does_not_know_is_not_told_as_purged(served: Live) -> None:
    at = served
    client = at.connect()
    ok(client.call("write_file", {"path": "folder/named.txt", "content": "one\n"}))  # nobody sees its folder empty
    for path in ("folder/./named.txt", f"{at.root}/folder/named.txt"):
        assert [one["path"] for one in ok(client.purge(path=path, plan=True))["versions"]] == ["folder/named.txt"]
    for path in ("named.txt", "folder", "folder/*"):
        refused(client.purge(path=path), "not_found")
    nothing = ok(client.purge(matching="nowhere at all"))
    assert nothing["message"].startswith("The journal holds no such bytes: there is nothing to purge.")
    for path in ("../named.txt", "/elsewhere/folder/named.txt"):
        refused(client.purge(path=path), "outside_workspace")


def test_an_expression_that_never_ends_is_stopped_and_the_daemon_answers_others_meanwhile(at: Live) -> None:
    at.write(".quire.toml", "[limits]\nregex_ms = 300\n")
    at.write("a.txt", "a" * 60 + "!\n")
    client = at.connect(agent="ann")
    caught_up(client)
    version = ok(client.call("read_file", {"path": "a.txt"}))["version"]
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(lambda: at.connect(agent="bob").purge(matching="(a+)+$", timeout_s=60))
        eventually("the purge looks", lambda: "purge" in ok(client.call("status", {})).get("progress", {}))
        assert ok(client.call("read_file", {"path": "a.txt"}))["ok"]
        stopped = refused(asked.result(), "regex_timeout")
    assert "(a+)+$" in stopped["message"]
    assert stopped["limit_ms"] == 300
    assert ok(client.call("read_file", {"path": "a.txt", "at": version}))["content"] == "a" * 60 + "!\n"
    assert "progress" not in ok(client.call("status", {}))


def test_a_daemon_that_is_to_end_does_not_wait_for_a_purge_that_looks(at: Live) -> None:
    at.write(".quire.toml", "[limits]\nregex_ms = 100000\n")
    at.write("a.txt", "a" * 60 + "!\n")
    client = at.connect(agent="ann")
    caught_up(client)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: at.connect(agent="bob").purge(matching="(a+)+$", timeout_s=30))
        eventually("the purge looks", lambda: "purge" in ok(client.call("status", {})).get("progress", {}))
        ok(client.call("shutdown", {}))
        eventually("the daemon has stopped", lambda: not at.pids())
