"""What went wrong once against the real daemon, each as the sentence that holds since."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import pytest

import live
import quire_client
from quire_client.calls import base as calls_base
from quire_daemon.app import SWEEP_S

pytestmark = pytest.mark.real


def test_an_empty_file_can_be_read_and_written_as_often_as_one_likes(served: live.Live) -> None:
    served.write("empty.txt", "")
    with served.connect("ada") as client:
        for _ in range(3):
            assert live.ok(client.call("read_file", {"path": "empty.txt"}))["lineCount"] == 0
        version = client.call("read_file", {"path": "empty.txt"})["version"]
        live.ok(client.call("write_file", {"path": "empty.txt", "content": "one\n", "base": version}))


def test_the_log_tells_at_once_of_the_refusal_and_of_the_read_before_it(served: live.Live) -> None:
    served.write("told.txt", "one\n")
    with served.connect("ada") as client:
        for _ in range(3):
            client.call("read_file", {"path": "told.txt", "hashes": True})
            live.refused(client.call("delete_file", {"path": "told.txt", "base": "v1"}), "stale_base")
            before = client.call("log", {"kind": ["read_served", "edit_refused"], "limit": 2})["records"]
            assert [(one["kind"], one["path"]) for one in before] == [
                ("edit_refused", "told.txt"),
                ("read_served", "told.txt"),
            ]
            told = client.call("since", {"cursor": f"seq:{before[0]['seq'] - 1}", "kind": "edit_refused"})["records"]
            assert [one["seq"] for one in told] == [before[0]["seq"]]
            served.write("told.txt", f"{before[0]['seq']}\n")


def test_what_was_answered_as_applied_is_so_for_who_asks_right_after_it(served: live.Live) -> None:
    with served.connect("ada") as client:
        written = live.ok(client.call("write_file", {"path": "asked.txt", "content": "one\n"}))
        assert client.op_status(written["op"])["outcome"] == "applied"
        edited = client.call("edit_replace", {"path": "asked.txt", "old_text": "one", "new_text": "two"})
        assert [client.op_status(one["op"])["outcome"] for one in (written, edited)] == ["superseded", "applied"]


def test_the_text_editor_takes_absolute_paths_for_whatever_it_is_to_do(served: live.Live) -> None:
    path = os.fspath(served.root / "edited.txt")
    with served.connect("tom") as client:
        for command in (
            {"command": "create", "file_text": "one\n"},
            {"command": "view"},
            {"command": "str_replace", "old_str": "one", "new_str": "two"},
            {"command": "undo_edit"},
        ):
            live.ok(client.call("text_editor", {"path": path, **command}))
    assert served.read("edited.txt") == b"one\n"


def test_a_call_that_nobody_understands_and_one_that_leads_elsewhere_tell_what_others_changed_too(
    served: live.Live,
) -> None:
    served.write("told_anyway.txt", "one\n")
    with served.connect("ida") as client, served.connect("ben") as other:
        read = live.ok(client.call("read_file", {"path": "told_anyway.txt"}))
        live.ok(other.write_file("told_anyway.txt", "two\n", base=read["version"]))
        for tool, arguments, code in (
            ("read_file", {"path": "told_anyway.txt", "lines": 3}, "schema_invalid"),
            ("no_tool", {}, "unknown_tool"),
            ("read_file", {"path": "/etc/passwd"}, "outside_workspace"),
        ):
            reply = live.refused(client.call(tool, arguments), code)
            assert [one["path"] for one in reply["changed_since_your_read"]] == ["told_anyway.txt"]
        assert "changed_since_your_read" not in other.call("no_tool", {})


def test_a_dry_run_that_is_refused_says_that_it_was_one_and_leaves_no_record(served: live.Live) -> None:
    elsewhere = {"path": "../x", "old_text": "a", "new_text": "b"}
    with served.connect("dora") as client:
        for tool, arguments in (
            ("edit_replace", elsewhere),
            ("delete_file", {"path": ".git/config"}),
            ("undo", {"batch": 1 << 40}),
        ):
            reply = client.call(tool, {**arguments, "dry_run": True})
            assert (reply["ok"], reply["dry_run"], reply["valid"]) == (False, True, False), reply
        live.refused(client.undo(path="../x", plan=True), "outside_workspace")
        live.refused(client.call("edit_replace", elsewhere), "outside_workspace")
        told = client.log(kind="edit_refused", writer="dora")["records"]
    assert [(one["tool"], one["path"]) for one in told] == [("edit_replace", "../x")]


def test_a_service_tells_what_others_changed_too(served: live.Live) -> None:
    served.write("told_of.txt", "one\n")
    with served.connect("zoe") as client, served.connect("ben") as other:
        live.ok(client.call("read_file", {"path": "told_of.txt"}))
        live.ok(other.call("edit_replace", {"path": "told_of.txt", "old_text": "one", "new_text": "two"}))
        for tool, arguments in (("verify", {}), ("gc", {"dry_run": True}), ("doctor", {})):
            (change,) = live.ok(client.call(tool, arguments))["changed_since_your_read"]
            assert (change["path"], change["writer"]["agent"]) == ("told_of.txt", "ben")
        live.ok(client.call("read_file", {"path": "told_of.txt"}))
        assert "changed_since_your_read" not in client.call("verify", {})


def test_who_tells_of_a_caller_whose_only_call_was_the_read_before(served: live.Live) -> None:
    served.write("seen.txt", "one\n")
    with served.connect("reader") as client:
        live.ok(client.call("read_file", {"path": "seen.txt"}))
        (own,) = [one for one in client.call("who", {})["writers"] if one["you"]]
        assert own["agent"] == "reader"


def test_the_journal_is_asked_about_absolute_paths_of_the_workspace_and_no_others(served: live.Live) -> None:
    with served.connect("ada") as client:
        at = live.ok(client.call("write_file", {"path": "far/named.txt", "content": "one\n"}))["version"]
        live.ok(client.call("edit_replace", {"path": "far/named.txt", "old_text": "one", "new_text": "two"}))
        for path in ("far/named.txt", "far", "far/*.txt"):
            assert len(client.call("log", {"path": f"{served.root}/{path}"})["records"]) == 2
            assert len(client.call("diff", {"from": at, "paths": [f"{served.root}/{path}"]})["files"]) == 1
        for tool, more in [("undo", {}), ("restore", {"at": at}), ("rollback", {"to": at}), ("release", {})]:
            live.refused(client.call(tool, {"path": "/elsewhere/far/named.txt", **more}), "outside_workspace")
        assert served.read("far/named.txt") == b"two\n"
        live.ok(client.call("undo", {"path": f"{served.root}/far/named.txt"}))
        assert served.read("far/named.txt") == b"one\n"


def test_an_idempotency_key_stands_for_arguments_in_any_order(served: live.Live) -> None:
    edits = [{"old_text": "a", "new_text": "b"}]
    served.write("order.txt", "a a a\n")
    with served.connect("ada") as client:
        first = live.ok(client.call("multi_edit", {"path": "order.txt", "edits": edits, "idempotency_key": "k"}))
        turned = [dict(reversed(edits[0].items()))]
        again = client.call("multi_edit", {"idempotency_key": "k", "edits": turned, "path": "order.txt"})
        assert live.ok(again)["version"] == first["version"]
        other = client.call("multi_edit", {"path": "order.txt", "edits": edits * 2, "idempotency_key": "k"})
        live.refused(other, "schema_invalid")
    assert served.read("order.txt") == b"b a a\n"


LONGEST_WAIT_S = 1.0
"""For a read beside an undo that takes as long or longer: on a busy machine much of it is the machine's."""


@pytest.mark.wide
def test_while_many_files_are_undone_others_are_answered(at: live.Live) -> None:
    names = [f"d{n // 20}/f{n}.txt" for n in range(400)]
    for name in names:
        at.write(name, f"before {name}\n" + "a line\n" * 100)
    with at.connect("ada") as client, at.connect("ben", "s2") as other, ThreadPoolExecutor(1) as pool:
        live.caught_up(client)
        patch = "".join(f"*** Update File: {name}\n-before {name}\n+after {name}\n" for name in names)
        live.ok(client.call("apply_patch", {"patch": f"*** Begin Patch\n{patch}*** End Patch\n"}))
        live.ok(other.call("write_file", {"path": "beside.txt", "content": "x\n"}))
        for plan in (True, False):
            going, waits = pool.submit(client.call, "undo", {"plan": plan}), list[float]()
            while not going.done():
                begun = time.monotonic()
                live.ok(other.call("read_file", {"path": "beside.txt"}))
                waits.append(time.monotonic() - begun)
            assert len(live.ok(going.result())["files"]) == len(names)
            assert len(waits) > 3
            assert max(waits) < LONGEST_WAIT_S
        assert {at.read(name).partition(b"\n")[0].decode() for name in names} == {f"before {name}" for name in names}
        live.verified(client)


def test_a_second_daemon_with_another_journal_is_refused(served: live.Live) -> None:
    with (
        served.connect("ada"),
        pytest.raises(quire_client.NoDaemon, match="another state folder"),
    ):
        quire_client.connect(served.root, state_dir=served.top / "elsewhere")


def test_a_removed_quire_folder_comes_back_with_the_next_daemon(daemon: Any) -> None:
    at = daemon()
    with at.connect("ada") as client:
        live.ok(client.call("write_file", {"path": "a.txt", "content": "one\n"}))
        os.rename(at.root / ".quire", at.top / "cleaned")
        refused = client.call("write_file", {"path": "b.txt", "content": "two\n"})
        assert refused["error"] == "busy", refused
        live.eventually("the daemon has ended", lambda: not at.pids())
        live.ok(client.call("write_file", {"path": "b.txt", "content": "two\n"}))


def test_a_daemon_whose_state_folder_is_removed_ends_and_the_next_one_serves(daemon: Any) -> None:
    at = daemon()
    with at.connect("ada", timeout_s=8.0) as client:
        live.ok(client.call("write_file", {"path": "a.txt", "content": "one\n"}))
        first = at.daemon_pid()
        os.rename(at.state_dir, at.state_dir.parent / "moved")  # as a removal, but its log can be read
        live.ok(client.call("write_file", {"path": "b.txt", "content": "two\n"}))
        assert at.daemon_pid() != first
        live.eventually("the first has ended", lambda: at.pids() == [at.daemon_pid()])
    assert re.search('"(state_folder|journal)_gone"', (at.state_dir.parent / "moved" / "daemon.log").read_text())
    assert not (at.state_dir.parent / "moved" / "journal" / "clean").exists()


def test_nothing_is_acknowledged_when_the_journal_is_removed_under_its_daemon(daemon: Any) -> None:
    """Its lock still stands, so that clients find it; the daemon ends, and the next one begins a journal."""
    at = daemon()
    with at.connect("ada", timeout_s=8.0) as client:
        live.ok(client.call("write_file", {"path": "a.txt", "content": "one\n"}))
        first = at.daemon_pid()
        live.ok(client.call("status", {}))  # what was answered is folded by then, so that nothing but a call meets it
        os.rename(at.state_dir / "journal", at.state_dir.parent / "moved")
        refused = client.call("write_file", {"path": "b.txt", "content": "two\n"})
        assert (refused["ok"], refused["error"], refused["suggested_action"]) == (False, "journal_damaged", "retry")
        assert "was removed or replaced" in refused["message"]
        assert "Nothing was written" in refused["message"]
        assert not (at.root / "b.txt").exists()
        live.eventually("the daemon has ended", lambda: first not in at.pids())
        live.ok(client.call("write_file", {"path": "b.txt", "content": "two\n"}))
        assert client.call("verify")["ok"]
    assert not (at.state_dir.parent / "moved" / "clean").exists()


def test_a_client_of_another_wire_is_told_to_end_the_daemon_and_can(
    daemon: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = daemon()
    with at.connect("ada") as client:
        live.ok(client.call("status", {}))
        monkeypatch.setattr(calls_base, "WIRE", 99)
        refused = client.call("status", {})
        assert refused["suggested_action"] == "restart_daemon"
        assert "`quire down`" in refused["message"]
        live.ok(client.shutdown_daemon())
    live.eventually("the daemon has ended", lambda: not at.pids())


def test_two_agents_whose_long_names_begin_alike_stay_two(served: live.Live) -> None:
    served.write("f.txt", "one\n")
    with served.connect("x" * 200 + "1") as first, served.connect("x" * 200 + "2") as second:
        base = second.call("read_file", {"path": "f.txt"})["version"]
        live.ok(first.call("write_file", {"path": "f.txt", "content": "first\n", "base": base}))
        reply = second.call("write_file", {"path": "f.txt", "content": "second\n", "base": base})
    assert reply["error"] == "write_conflict"


@pytest.mark.skipif(not hasattr(os, "O_PATH"), reason="leases are Linux's")
def test_a_program_that_opens_a_displaced_file_rings_and_does_not_wait_for_the_next_look(served: live.Live) -> None:
    """It found the file before the swap, and opens it for writing after."""
    waited = []
    with served.connect("ada") as client:
        live.ok(client.call("write_file", {"path": "late.txt", "content": "0\n"}))
        for number in range(1, 6):
            found = os.open(served.root / "late.txt", os.O_PATH)
            base = client.call("read_file", {"path": "late.txt"})["version"]
            live.ok(client.call("write_file", {"path": "late.txt", "content": f"{number}\n", "base": base}))
            begun = time.monotonic()
            os.close(os.open(f"/proc/self/fd/{found}", os.O_WRONLY))
            waited.append(time.monotonic() - begun)
            os.close(found)
    assert sorted(waited)[2] < SWEEP_S / 16, waited


def test_who_waits_for_news_is_told_of_it_though_another_file_is_being_written(served: live.Live) -> None:
    with served.connect("ada") as client, ThreadPoolExecutor(1) as beside:
        cursor = live.caught_up(client)
        waiting = beside.submit(client.call, "since", {"cursor": cursor, "wait_ms": 20_000})
        time.sleep(0.1)  # until it waits
        with (served.root / "growing.log").open("w") as growing:
            growing.write("a line\n")
            growing.flush()
            begun = time.monotonic()
            served.write("saved.txt", "whole\n")
            paths = [record["path"] for record in live.ok(waiting.result())["records"]]
            assert "saved.txt" in paths
            assert time.monotonic() - begun < 1.0


SLOW: Final = ("zmq", "msgspec", "subprocess", "threading", "hashlib")
"""Modules whose import would be half of the time that an agent's shell waits for a command."""


def test_a_command_that_calls_a_running_daemon_loads_nothing_slow(served: live.Live) -> None:
    served.write("quick.txt", "one\n")
    with served.connect("ada") as client:
        live.caught_up(client)
    told = "import sys; from quire_client.__main__ import main; status = main(sys.argv[1:]); "
    told += f"sys.exit(status or ' '.join({{*{SLOW}}} & {{*sys.modules}}) or 0)"
    where = ["--state-dir", str(served.state_dir), "-C", str(served.root)]
    status, read = (["status"], str(served.root)), (["read", "quick.txt"], "one")
    for words, wanted in (status, read, (["run", "--", "echo", "ran"], "ran"), (["log"], "echo ran")):
        ran = subprocess.run([sys.executable, "-c", told, *where, *words], capture_output=True, text=True, check=False)
        assert (ran.returncode, ran.stderr) == (0, "")
        assert wanted in ran.stdout


def test_the_daemon_of_a_folder_above_leaves_the_own_files_of_a_workspace_below_alone(daemon) -> None:
    """Both write the same file, and neither loses a line of the other."""
    outer = daemon()
    outer.write("sub/f.txt", "start\n")
    inner = daemon(root=outer.root / "sub")
    with outer.connect("out") as above, inner.connect("in") as below:
        live.ok(below.call("status", {}))
        for path in ("sub/.quire/tmp/x", "sub/.quire.toml", "sub/.quireignore", "sub/.quire/workspace-id"):
            live.refused(above.call("write_file", {"path": path, "content": "theirs\n"}), "permission_denied")
        live.refused(above.call("read_file", {"path": "sub/.quire/workspace-id"}), "permission_denied")
        for number in range(5):
            for client, path in ((above, "sub/f.txt"), (below, "f.txt")):
                said = {"file": path, "line_number": -1, "text": f"{path} {number}"}
                live.eventually(
                    "the line is in", lambda client=client, said=said: client.call("insert_lines", said)["ok"]
                )
    lines = outer.read("sub/f.txt").decode().splitlines()
    assert sorted(lines[1:]) == sorted(f"{path} {n}" for path in ("sub/f.txt", "f.txt") for n in range(5))
