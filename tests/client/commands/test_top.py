"""`quire top`: what it shows of the replies, and that it fits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from exact import assert_exact
from fake_line import FakeOpener

from quire_client.__main__ import main
from quire_client.cli.render import Palette
from quire_client.commands.everyday import top_view
from quire_client.commands.everyday.top_view import TopReplies
from quire_journal.workspaces.identity import settle
from quire_journal.workspaces.layout import place_of

PLAIN = Palette(False, {})
AT = "2026-01-31T12:00:00.5Z"
ALICE = {"id": "w3", "type": "edit", "agent": "alice", "agent_session": "s1"}
STATUS: dict[str, Any] = {
    "ok": True,
    "message": "Serving /site, full, 812 records.",
    "pid": 7,
    "seq": 812,
    "at": AT,
    "workspace": "/site",
    "journal": {"bytes": 3 * 1024 * 1024, "versions": 640},
    "coverage": {"state": "full", "reasons": []},
    "capture": {"finished": True},
    "protection": {"lease": True, "exchange": False},
}
WHO = {"ok": True, "writers": [{**ALICE, "connections": 1, "present": True, "last_seen": AT, "on": {}}]}
LEASE = {"lease": 13, "kind": "exclusive", "path": "src/app.py", "expires_at": AT, "holder": ALICE, "reason": "parser"}
CLAIMS = {"ok": True, "leases": [LEASE], "waiting": []}


def record(seq: int, path: str = "src/app.py") -> dict[str, Any]:
    return {"seq": seq, "at": AT, "kind": "file_written", "path": path, "version": f"v{seq}", "writer": ALICE}


def seen(records: int = 3, **status: Any) -> TopReplies:
    log = {"ok": True, "records": [record(812 - n, f"src/{n % 2}.py") for n in range(records)]}
    return TopReplies({**STATUS, **status}, WHO, CLAIMS, log)


@pytest.fixture
def answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the daemon of the current folder says."""
    settle(place_of(tmp_path))
    monkeypatch.chdir(tmp_path)
    now = seen()
    return {"status": now.status, "who": now.who, "claims": now.claims, "log": now.log}


def test_once_it_prints_all_of_it(answers: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["top", "--once"], FakeOpener(answers)) == 0
    assert_exact(capsys.readouterr().out, "top.txt")


def test_where_stdout_is_no_terminal_it_ends_by_itself(
    answers: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["top"], FakeOpener(answers)) == 0
    assert "src/1.py" in capsys.readouterr().out


def test_as_json_it_is_the_replies(answers: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["top", "--json"], FakeOpener(answers)) == 0
    told = json.loads(capsys.readouterr().out)
    assert {name: told[name] for name in answers} == answers


def test_it_calls_without_a_name_so_that_no_agent_loses_its_notices(
    answers: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUIRE_AGENT", "ada")
    opener = FakeOpener(answers)
    assert main(["top", "--once"], opener) == 0
    assert (opener.wanted[0].agent, opener.wanted[0].start) == ("", False)


def test_without_a_daemon_it_ends_with_status_4(answers: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["top", "--once"], FakeOpener(answers, runs=False)) == 4
    assert "No daemon runs" in capsys.readouterr().err


@pytest.mark.parametrize("every", ["0", "nan", "soon", "3601"])
def test_how_often_is_a_number_of_seconds(every: str, answers: dict[str, Any]) -> None:
    assert main(["top", "--every", every], FakeOpener(answers)) == 2


@pytest.mark.parametrize("height", [1, 3, 8, 12, 24, 60])
@pytest.mark.parametrize("width", [20, 80, 200])
def test_the_picture_fits_the_terminal(height: int, width: int) -> None:
    drawn = top_view.lines(seen(200), height, width, PLAIN)
    assert len(drawn) <= height
    assert max(map(len, drawn)) <= width
    assert drawn[0].startswith("/site  pid 7")


def test_a_low_terminal_shows_writers_changes_and_problems() -> None:
    """They were used up by how well the daemon is."""
    others = [{**WHO["writers"][0], "agent": name} for name in ("bob", "eve")]
    now = seen(9, coverage={"state": "degraded", "reasons": ["x"]})._replace(
        who={"writers": [*WHO["writers"], *others]}, claims={}
    )
    drawn = top_view.lines(now, 10, 40, PLAIN)
    assert drawn == [
        "/site  pid 7  2026-01-31 12:00:00Z",
        "coverage    degraded: x",
        "Callers",
        "  alice/s1    present",
        "  bob/s1      present",
        "  eve/s1      present",
        "Files",
        "  v812  alice/s1  5 changes  src/0.py",
        "  v811  alice/s1  4 changes  src/1.py",
    ]
    assert top_view.lines(now, 4, 40, PLAIN)[2:] == ["Callers", "  alice/s1    present"]


@pytest.mark.parametrize(
    ("path", "width", "files", "events"),
    [
        ("src/a.py", 40, "v812  alice/s1  1 change  src/a.py", "v812  alice/s1  file written  src/a.py"),
        ("some/where/else.py", 40, "v812  alice/s1  some/where/else.py", "alice/s1  some/where/else.py"),
        ("a/path/that/is/never/shown.py", 40, "v812  alice/s1  a/path/that/is/never/…", ""),
        ("src/a.py", 60, "2026-01-31 12:00:00Z  v812  alice/s1  1 change  src/a.py", ""),
    ],
)
def test_a_narrow_terminal_shows_writer_and_path_first(path: str, width: int, files: str, events: str) -> None:
    drawn = top_view.lines(seen()._replace(log={"records": [record(812, path)]}), 60, width, PLAIN)
    assert drawn[drawn.index("Files") + 1] == f"  {files}"
    assert drawn[drawn.index("Events") + 1] == f"  {events}" or not events
    assert "src/app.py" in drawn[drawn.index("Leases") + 1]


def test_the_events_have_the_room_that_others_leave() -> None:
    drawn = top_view.lines(seen(200), 40, 120, PLAIN)
    assert len(drawn) == 40
    assert drawn[-1].strip().startswith("… and ")
    assert len(drawn) - drawn.index("Events") > 15


def test_wide_characters_count_twice() -> None:
    drawn = top_view.lines(seen(workspace="/" + "中" * 50), 24, 20, PLAIN)
    assert drawn[0] == "/" + "中" * 9 + "…"


def test_what_is_not_well_is_painted() -> None:
    colours = Palette(True, {})
    assert not [line for line in top_view.lines(seen(), 0, 0, colours) if "\x1b[33m" in line]
    blind = seen(coverage={"state": "degraded", "reasons": ["the watcher is blind"]})
    (warned,) = (line for line in top_view.lines(blind, 0, 0, colours) if "\x1b[33m" in line)
    assert "the watcher is blind" in warned


def test_the_health_of_the_journal_is_told_and_painted_as_by_status() -> None:
    taken = {"workspace": {"bytes": 1024, "limit": 2048}, "store": {"bytes": 4096, "limit": 8192}}
    full = {**taken, "reserve": {"bytes": 1024, "given_back": True}}
    lost = "The journal was damaged; 2 records were lost."
    journal = {**STATUS["journal"], "uncaptured": 1}
    now = seen(retention=full, salvaged=lost, journal=journal)
    drawn = [line[12:] for line in top_view.lines(now, 0, 0, PLAIN)]
    for said in (
        lost,
        "this journal 1.0 KiB (limit 2.0 KiB)",
        "all your journals 4.0 KiB (limit 8.0 KiB)",
        "the disk is full: it was given back",
        "the bytes of 1 file are not in the journal: `quire ls` says which",
    ):
        assert drawn.count(said) == 1
    warned = [line for line in top_view.lines(now, 0, 0, Palette(True, {})) if "\x1b[33m" in line]
    assert [lost in warned[0], "the disk is full" in warned[1], len(warned)] == [True, True, 2]


def test_a_daemon_that_is_gone_is_said() -> None:
    drawn = top_view.lines(TopReplies({}, {}, {}, {}, "No daemon runs for /site."), 24, 80, PLAIN)
    assert drawn[:2] == ["No daemon runs for /site.", "! Waiting for a daemon."]
    assert "Events" in drawn


def test_names_cannot_control_the_terminal() -> None:
    evil = TopReplies(STATUS, WHO, CLAIMS, {"records": [record(1, "a\x1b]0;owned\x07\n")]})
    assert not {"\x1b", "\x07"} & set("".join(top_view.lines(evil, 24, 80, PLAIN)))
