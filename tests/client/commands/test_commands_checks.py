"""The commands that start, stop, check and adopt: up, down, status, verify, doctor, adopt, env. The texts are exact."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from command_line import WRITER, Quire

from quire_client.commands.everyday.up import NEXT, files_of
from quire_client.transport.errors import NoDaemon
from quire_journal import VERSION
from quire_journal.workspaces.layout import make_private_folder, place_of, trace_socket
from quire_journal.workspaces.lock import LockHolder, hold_lock

# -- each command ------------------------------------------------------------------------------------------------


def test_up_waits_for_the_first_capture(quire: Quire, site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quire_client.commands.capture_wait.PAUSE_S", 0.0)
    left = [3, 2, 1, 0]

    def status(args: dict[str, Any]) -> dict[str, Any]:
        left.pop(0)
        capture = {"done": 4 - len(left), "total": 4, "finished": not left}
        return {"ok": True, "message": "", "pid": 7, "workspace": str(site), "capture": capture}

    ran = quire("up", status=status)
    first, *rest = ran.out.splitlines()
    assert (ran.status, first) == (0, f"The daemon (pid 7) runs for {site} and records every change.")
    assert ran.err == "Starting the daemon.\n"
    assert rest == ["Not recorded: what .gitignore and .quireignore name.", *NEXT.splitlines()]
    assert not left


def test_up_says_how_far_it_is_where_no_person_watches(
    quire: Quire, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quire_client.commands.capture_wait.PAUSE_S", 0.0)
    monkeypatch.setattr("quire_client.commands.capture_wait.TOLD_S", 0.0)
    monkeypatch.setattr("quire_client.commands.capture_wait.SHORT_S", 0.0)
    left = [1, 0]

    def status(args: dict[str, Any]) -> dict[str, Any]:
        capture = {"done": 1200, "total": 20_000, "finished": not left.pop(0)}
        return {"ok": True, "pid": 7, "workspace": str(site), "capture": capture}

    assert quire("up", status=status).err == "Starting the daemon.\nRecording files: 1,200 of 20,000.\n"


def test_up_names_what_is_not_recorded_and_why(quire: Quire, site: Path) -> None:
    status = {"ok": True, "pid": 7, "workspace": str(site), "journal": {"versions": 9, "uncaptured": 5}}
    names = [".env", "a.bin", "b.bin", "c.bin", "d.bin"]
    entries = [{"path": name, "uncaptured": "secret" if name == ".env" else "too_large"} for name in names]
    tree = {"ok": True, "at": "seq:9", "entries": entries, "complete": True}
    told = quire("up", status=status, tree=tree).out.splitlines()[1]
    assert told == (
        "Not recorded: what .gitignore and .quireignore name; .env (secret), a.bin (too large), b.bin (too large), "
        "2 more files (`quire ls` marks each with the reason)."
    )
    many = {**status, "journal": {"versions": 10**6, "uncaptured": 5}}
    told = quire("up", status=many).out.splitlines()[1]
    assert told.endswith("; the bytes of 5 files (`quire ls` marks each with the reason).")


def test_up_asks_before_it_records_a_folder_of_very_many_files(
    quire: Quire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quire_client.commands.everyday.up.MANY_FILES", 2)
    new = tmp_path / "new"
    new.mkdir()
    for name in "abc":
        (new / name).touch()
    refused = quire("up", "../new")
    assert (refused.status, refused.asked) == (1, [])
    assert "holds more than 2 files. Nothing was started. `quire up --yes` records them all" in refused.err
    status = {"ok": True, "pid": 7, "workspace": str(new)}
    assert quire("up", "../new", "--yes", status=status).status == 0
    (new / "c").unlink()
    assert quire("up", "../new", status=status).status == 0


def test_files_that_git_ignores_do_not_count_for_the_question(tmp_path: Path) -> None:
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "made").touch()
    (tmp_path / ".gitignore").write_text("*\n!.gitignore\n")
    assert {*files_of(tmp_path)} >= {".gitignore", "made"}, "no checkout of git yet"
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    assert [*files_of(tmp_path)] == [".gitignore"]


def test_up_without_waiting_says_that_the_capture_goes_on(quire: Quire, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    status = {"ok": True, "pid": 7, "workspace": "/x", "capture": {"done": 0, "total": 9, "finished": False}}
    ran = quire("up", "../new", "--no-wait", status=status)
    assert ran.out.startswith("The daemon (pid 7) runs for /x; it is still recording the files.\n")
    assert ran.opener.wanted[0].place.root == tmp_path / "new"


def test_up_waits_for_no_capture_that_waits_for_something_itself(quire: Quire) -> None:
    """It did so for good where a disk was not mounted, or the system had no descriptors left."""
    capture = {"done": 0, "total": 0, "finished": False, "waits_for": "Too many open files"}
    status = {"ok": True, "pid": 7, "workspace": "/x", "capture": capture}
    told = "The daemon (pid 7) runs for /x; its files are not recorded yet: Too many open files."
    assert quire("up", status=status).out.splitlines() == [told, "Not recorded: what .gitignore and .quireignore name."]
    assert "waits: Too many open files" in quire("status", status=status).out


def test_down_is_done_when_none_runs(quire: Quire) -> None:
    ran = quire("down", runs=False)
    assert (ran.status, ran.out) == (0, "No daemon runs.\n")


def test_down_is_about_the_folder_that_is_named(quire: Quire, site: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    assert quire("down", "../other", runs=False).out == f"No daemon runs for {tmp_path / 'other'}.\n"
    with hold_lock(place_of(site).lock) as lock:
        assert lock is not None
        lock.announce(LockHolder(7, "e", "/nowhere"))
        assert quire("down", "../other", runs=False).status == 0
        assert quire("down", f"../{site.name}", runs=False).status == 4


def test_down_says_when_a_daemon_cannot_be_reached(quire: Quire, site: Path) -> None:
    with hold_lock(place_of(site).lock) as lock:
        assert lock is not None
        lock.announce(LockHolder(7, "e", "/nowhere"))
        assert quire("down", runs=False).status == 4


def test_status_tells_everything_in_a_few_lines(quire: Quire, site: Path) -> None:
    reply = {
        "ok": True,
        "message": "The daemon is well.",
        "pid": 7,
        "epoch": "e1",
        "seq": 812,
        "workspace": str(site),
        "state_dir": "/state",
        "versions": {"daemon": VERSION, "journal_format": 1},
        "journal": {"bytes": 3 * 1024 * 1024, "versions": 640, "uncaptured": 1},
        "capture": {"done": 5, "total": 1000, "finished": False},
        "coverage": {"state": "degraded", "reasons": ["the watcher\nis blind"], "since": "2026-01-31T12:00:00Z"},
        "protection": {"lease": True, "exchange": True, "openat2": False},
        "writers": [WRITER, {"id": "outside"}],
        "writers_total": 5,
        "retention": {
            "workspace": {"bytes": 3 * 1024 * 1024, "limit": 1 << 30},
            "store": {"bytes": 5 * 1024 * 1024, "limit": 2 << 30},
            "reserve": {"bytes": 1 << 24, "held": True, "given_back": False},
        },
    }
    ran = quire("status", status=reply)
    assert ran.out == (
        f"workspace   {site}\n"
        "kept in     /state\n"
        f"daemon      pid 7, version {VERSION}, journal format 1\n"
        "journal     812 records, 640 versions of files, 3.0 MiB on disk\n"
        "space       this journal 3.0 MiB (limit 1.0 GiB)\n"
        "            all your journals 5.0 MiB (limit 2.0 GiB)\n"
        "reserve     16.0 MiB, held for a full disk\n"
        "capture     under way: 5 of 1000 files looked at\n"
        "            the bytes of 1 file are not in the journal: `quire ls` says which\n"
        "coverage    degraded since 2026-01-31 12:00:00: the watcher is blind\n"
        "protection  active: lease, exchange; not available here: openat2\n"
        "writers     alice/s1, outside and 3 more\n"
    )
    well = {
        "journal": {"uncaptured": 0},
        "coverage": {"state": "full", "reasons": []},
        "protection": {"lease": True},
        "capture": {"finished": True},
    }
    told = quire("status", status={**reply, **well, "versions": {"daemon": "0.0.1"}}).out
    assert "capture     finished: every file has been looked at\ncoverage    full: every change is seen\n" in told
    assert f"daemon      pid 7, version 0.0.1 (this client is {VERSION})\n" in told
    assert "protection  all active: lease\n" in told
    waits = 'trace = "off" waits for the next start of the daemon; until then it is "auto"'
    assert f"\nsetting     {waits}\n" in quire("status", status={**reply, "settings_waiting": [waits]}).out


def test_verify_ends_with_7_when_something_is_wrong(quire: Quire) -> None:
    assert quire("verify", verify={"ok": True, "message": "The journal is sound.", "findings": []}).status == 0
    damaged = {"ok": False, "error": "journal_damaged", "message": "2 findings.", "findings": ["a", "b"]}
    ran = quire("verify", verify=damaged)
    assert (ran.status, ran.err) == (7, "2 findings.\n  a\n  b\n")


@pytest.mark.parametrize("error", [NoDaemon("No daemon runs."), RuntimeError("a connection that broke")])
def test_the_bar_of_a_check_whose_daemon_ends_leaves_the_sentence_to_the_check(
    quire: Quire, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """The bar follows on a thread of its own, which ended with a traceback on the terminal."""
    asked = threading.Event()

    def gone(_: dict[str, Any]) -> dict[str, Any]:
        asked.set()
        raise error

    def lost(_: dict[str, Any]) -> dict[str, Any]:
        assert asked.wait(10)
        return {"ok": False, "error": "unknown", "message": "The daemon ended."}

    monkeypatch.setattr("quire_client.commands.journal_care.verify.PAUSE_S", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    ran = quire("verify", verify=lost, status=gone)
    assert (ran.status, ran.err) == (4, "The daemon ended.\n")


def test_doctor_without_a_daemon_checks_this_side(quire: Quire, site: Path) -> None:
    ran = quire("doctor", runs=False)
    state, runtime = place_of(site).state, place_of(site).socket.parent
    assert ran.out == (
        f"ok    client          quire {VERSION}\n"
        f"ok    workspace       {site}\n"
        f"ok    state folder    {state}\n"
        f"ok    runtime folder  {runtime}\n"
        "ok    settings        no files; the defaults hold\n"
        "ok    daemon          not running; the next call starts it\n"
        "All is well.\n"
    )
    assert ran.status == 0


@pytest.mark.parametrize("runs", [False, True])
def test_doctor_names_the_files_of_agents_that_cannot_be_read(quire: Quire, site: Path, runs: bool) -> None:
    (site / ".mcp.json").write_text('{\n  "mcpServers": {,}\n}\n')
    (site / ".codex").mkdir()
    (site / ".codex" / "config.toml").write_text("[mcp_servers\n")
    (site / ".cursor").mkdir()
    (site / ".cursor" / "mcp.json").write_bytes(b"\xff")
    (site / ".gemini").mkdir()
    (site / ".gemini" / "settings.json").write_text("{}")
    ran = quire("doctor", "--json", runs=runs, doctor={"ok": True, "checks": []}, status={"ok": True})
    told = {check["name"]: check["detail"] for check in json.loads(ran.out)["checks"] if not check["ok"]}
    assert ran.status == 1
    assert told.pop("files of claude-code").startswith(f"{site / '.mcp.json'} cannot be read: line 2")
    assert told.pop("files of codex").startswith(f"{site / '.codex/config.toml'} cannot be read: Expected ']'")
    assert told.pop("files of cursor") == f"{site / '.cursor/mcp.json'} cannot be read: it is not UTF-8; " + (
        "mend it, then `quire setup cursor`"
    )
    assert not told


def test_doctor_fails_when_a_check_of_the_daemon_does(quire: Quire, site: Path) -> None:
    checks = [{"name": "watcher", "ok": False, "detail": "blind"}]
    make_private_folder(place_of(site).state)
    with hold_lock(place_of(site).lock):
        ran = quire(
            "doctor",
            "--json",
            doctor={"ok": True, "checks": checks},
            status={"ok": True, "pid": 7, "versions": {"daemon": VERSION}},
        )
    reply = json.loads(ran.out)
    assert (ran.status, reply["healthy"], reply["checks"][-1]) == (1, False, checks[0])
    assert reply["checks"][-2] == {"name": "daemon", "ok": True, "detail": f"pid 7, version {VERSION}"}


def test_doctor_sees_an_older_daemon(quire: Quire, site: Path) -> None:
    with hold_lock(place_of(site).lock):
        ran = quire("doctor", doctor={"ok": True}, status={"ok": True, "versions": {"daemon": "0.0.1"}})
    assert ran.status == 1
    assert "BAD   daemon          pid ?, version 0.0.1; this client is" in ran.out


def test_doctor_says_why_a_folder_cannot_be_a_workspace(quire: Quire, tmp_path: Path) -> None:
    ran = quire("doctor", "-C", str(tmp_path / "home"))
    assert ran.status == 1
    assert "is your home folder" in ran.out


def test_adopt_gives_a_moved_folder_its_journal_back(quire: Quire, site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    after = site.rename(site.with_name("moved"))
    monkeypatch.chdir(after)
    ran = quire("adopt")
    assert (ran.status, ran.out) == (0, f"{after} has its journal back.\n")
    assert quire("adopt", "-C", "..").status == 1


# -- env ---------------------------------------------------------------------------------------------------------


def test_env_prints_what_a_shell_needs_to_let_git_say_who_runs_it(quire: Quire, site: Path) -> None:
    ran = quire("env", "--agent", "ada l", "--session", "s1")
    trace = trace_socket(place_of(site).socket)
    assert ran.out == (
        f"export GIT_TRACE2_EVENT=af_unix:stream:{trace}\n"
        "export GIT_TRACE2_ENV_VARS=QUIRE_AGENT,QUIRE_SESSION\n"
        "export QUIRE_AGENT='ada l'\n"
        "export QUIRE_SESSION=s1\n"
    )
    assert ran.asked == []
    assert trace.is_absolute()


def test_env_keeps_what_others_want_git_to_tell(quire: Quire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_TRACE2_ENV_VARS", "CI,QUIRE_AGENT")
    monkeypatch.setenv("QUIRE_AGENT", "bo")
    told = json.loads(quire("env", "--json").out)["env"]
    assert told["GIT_TRACE2_ENV_VARS"] == "CI,QUIRE_AGENT,QUIRE_SESSION"
    assert told["QUIRE_AGENT"] == "bo"
    assert "unset GIT_TRACE2_EVENT\n" in quire("env", "--unset").out


def test_a_collection_is_told_version_by_version_with_the_reasons_in_short(quire: Quire) -> None:
    kept = {
        "path": "src/a.py",
        "version": "v12",
        "at": "2026-01-31T12:00:00Z",
        "size": 2048,
        "keep": True,
        "reason": "head of src/a.py",
    }
    gone = {**kept, "version": "v3", "keep": False, "reason": "no rule keeps it", "size": 12}
    reply = {"ok": True, "message": "1 blob could go.", "blobs": [kept, gone], "reasons": {"head": 1}, "next": 2}
    assert quire("gc", "--dry-run", gc=reply).out == (
        "v12  2026-01-31 12:00:00     2.0 KiB  kept: head        src/a.py\n"
        "v3   2026-01-31 12:00:00    12 bytes  no rule keeps it  src/a.py\n"
        "… more with --skip 2\n"
        "  1 version: head\n"
        "1 blob could go.\n"
    )
