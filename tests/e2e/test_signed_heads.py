"""Signed heads of real journals: what an honest one goes through is accepted, and what somebody does to its files is
found."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from live import Live, caught_up, eventually, ok, refused
from quire_daemon.heads.folder import HeadFolder
from quire_journal.journal import Journal
from quire_journal.storage.lmdb.store import LmdbStore
from quire_journal.workspaces.identity import read_identity
from quire_journal.workspaces.layout import place_of

pytestmark = [pytest.mark.real, pytest.mark.timeout(60)]


def edit(at: Live, *contents: str, path: str = "a.txt") -> None:
    client = at.connect("ada", "s1")
    for content in contents:
        version = client.call("read_file", {"path": path}).get("version")
        ok(client.call("write_file", {"path": path, "content": content, **({"base": version} if version else {})}))


def saved(at: Live, name: str) -> str:
    """The head that is signed for a checkpoint, as an auditor saves it."""
    client = at.connect()
    seq = ok(client.call("checkpoint", {"action": "create", "name": name}))["seq"]
    folder = HeadFolder.of(at.state_dir)
    eventually("the head is signed", lambda: (head := folder.head()) is not None and head.size > seq)
    return folder.checkpoint()


def down(at: Live) -> None:
    at.connect().shutdown_daemon()
    eventually("the daemon has ended", lambda: not at.pids())


def accepted(at: Live, *heads: str) -> dict[str, Any]:
    reply = ok(at.connect().verify(against="".join(heads)))
    assert reply["findings"] == []
    assert all(head["state"] == "held" and head["vouched"] for head in reply["heads"])
    assert len([head for head in reply["heads"] if head["source"] == "the file"]) == len(heads)
    return reply


def test_an_honest_journal_is_accepted_whatever_it_goes_through(at: Live, tmp_path: Path) -> None:
    edit(at, *(f"{n}\n" for n in range(30)))
    edit(at, "hunter2secret\n", path="secret.txt")
    client = at.connect("ada", "s1")
    ok(client.call("native", {"moment": "turn", "prompt": "fix the parser"}))
    first = saved(at, "one")
    ok(client.call("purge", {"matching": "hunter2secret"}, timeout_s=40))
    ok(client.call("gc", {"compact": True}, timeout_s=40))
    edit(at, "after\n")
    second = saved(at, "two")
    accepted(at, first, second)
    at.kill()
    edit(at, "after the kill\n")
    accepted(at, first, second)
    down(at)
    third = HeadFolder.of(at.state_dir).checkpoint()
    assert third != second, "the end was signed"
    edit(at, "after the start\n")
    told = accepted(at, first, second, third)
    assert "had texts removed since" not in told["message"]
    export = tmp_path / "export.jsonl"
    with export.open("wb") as file:
        ok(at.connect().export("jsonl", file.write))
    other = Live(tmp_path / "other")
    try:
        words = [sys.executable, "-m", "quire_daemon.maintenance.import_worker", "--workspace", os.fspath(other.root)]
        with export.open("rb") as file:
            ran = subprocess.run([*words, "--state-dir", os.fspath(other.state_dir)], stdin=file, capture_output=True)
        assert json.loads(ran.stdout.splitlines()[-1])["ok"], ran.stdout
        reply = ok(other.connect().verify(against=first + second + third))
        assert [head["state"] for head in reply["heads"]] == ["held"] * 3
        assert all(head["vouched"] for head in reply["heads"]), "its records name the keys"
        assert all("had texts removed since" in head["said"] for head in reply["heads"]), "the export had no prompts"
    finally:
        other.close()


def findings(at: Live, against: str | None = None) -> str:
    reply = refused(at.connect().verify(against=against), "journal_damaged")
    assert reply["suggested_action"] == "keep_copies"
    return "\n".join(reply["findings"])


def forge(at: Live, target: Path) -> None:
    """What somebody does who has all the files: a history by somebody else, with every hash right."""
    other = Live(target / "forger")
    try:
        edit(other, *(f"line {n} by mallory\n" for n in range(12)))
        down(other)
        place = place_of(at.root, at.state_dir)
        identity = read_identity(place)
        assert identity is not None
        store = LmdbStore.open(other.state_dir / "journal")
        with store.writing() as w:
            w.put("meta", b"workspace", identity.id.encode())
        Journal.open(store, 1).close()
        (other.state_dir / "journal" / "clean").unlink()
        shutil.rmtree(at.state_dir / "journal")
        shutil.copytree(other.state_dir / "journal", at.state_dir / "journal")
    finally:
        other.close()


def test_a_forged_journal_in_the_place_of_the_true_one_is_found(at: Live, tmp_path: Path) -> None:
    edit(at, *(f"line {n} by ada\n" for n in range(6)))
    head = saved(at, "before-lunch")
    down(at)
    forge(at, tmp_path)
    broken = eventually("it is noticed", lambda: at.connect().status()["signed_heads"].get("broken"))
    assert "is not the one with which the last signed head ends" in broken[0]
    told = [at.connect("eve", "s1").call("read_file", {"path": "a.txt"}).get("warnings", []) for _ in range(2)]
    assert [[one["type"] for one in warnings] for warnings in told] == [["head_broken"], []], "each caller, once"
    checks = ok(at.connect().doctor())
    assert not checks["healthy"]
    assert "is not the one that was signed" in findings(at)
    assert "is not the one that was signed: the file has the head" in findings(at, head)
    for folder in at.state_dir.glob("heads*"):
        shutil.rmtree(folder)
    assert "are not those that were signed: the file has the head" in findings(at, head)
    told = at.connect().call("log", {"kind": "head_signed", "order": "oldest"})["records"]
    assert [one["broken"] for one in told if one["broken"]] == [broken[0].partition(" Kept in")[0]], "for good"


def old_copy(at: Live, tmp_path: Path) -> None:
    shutil.rmtree(at.state_dir / "journal")
    shutil.copytree(tmp_path / "old", at.state_dir / "journal")


def test_a_journal_put_back_from_an_old_copy_is_found(at: Live, tmp_path: Path) -> None:
    edit(at, "one\n")
    down(at)
    shutil.copytree(at.state_dir / "journal", tmp_path / "old")
    edit(at, "two\n", "three\n", "four\n")
    head = saved(at, "then")
    down(at)
    old_copy(at, tmp_path)
    assert "put back from an older copy" in findings(at, head)


def test_a_fork_is_found(at: Live, tmp_path: Path) -> None:
    """The whole state folder was copied, as with a cloned machine; key and tree are in both."""
    edit(at, "one\n")
    down(at)
    shutil.copytree(at.state_dir, tmp_path / "clone", copy_function=shutil.copy2)
    edit(at, "two\n", "three\n")
    head = saved(at, "here")
    down(at)
    for name in ("journal", "heads"):
        shutil.rmtree(at.state_dir / name)
        shutil.copytree(tmp_path / "clone" / name, at.state_dir / name)
    edit(at, *(f"there {n}\n" for n in range(8)))
    saved(at, "there")
    told = findings(at, head)
    assert "one of the two is a fork" in told


def test_a_head_of_another_journal_is_told(at: Live, daemon: Callable[[], Live]) -> None:
    edit(at, "one\n")
    assert "are not those that were signed" in findings(at, _of_another())


def _of_another() -> str:
    from quire_journal.transparency.checkpoint import TreeHead, signed

    return signed(TreeHead("journal.quire.invalid/another/1", 3, bytes(32)), bytes(32), 1).encoded()


def test_the_key_that_is_given_must_have_signed(at: Live) -> None:
    edit(at, "one\n")
    head = saved(at, "one")
    keys = HeadFolder.of(at.state_dir).keys().split()
    ok(at.connect().verify(against=head, keys=keys))
    from quire_journal.transparency.checkpoint import keys_of

    others = [key.vkey for key in keys_of("somebody", bytes(range(32)))]
    told = refused(at.connect().verify(against=head, keys=others), "journal_damaged")["findings"]
    assert told == ["The head of the file is not signed by the key that was given."]
    assert "against" in refused(at.connect().verify(against="nonsense"), "schema_invalid")["message"]
    assert "keys" in refused(at.connect().verify(against=head, keys=["x"]), "schema_invalid")["message"]


def test_nothing_is_lost_or_doubled_when_the_daemon_is_killed_while_it_signs(at: Live) -> None:
    heads = []
    for n in range(2):
        edit(at, f"{n}\n")
        ok(at.connect().call("checkpoint", {"action": "create", "name": f"c{n}"}))
        at.kill()
        caught_up(at.connect())
        heads.append(saved(at, f"d{n}"))
    accepted(at, *heads)
    assert len({head.split("\n")[0] for head in heads}) == 1, "one tree"
