"""Export and import as people run them: a real daemon, the command line, real git."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from live import Live, caught_up, eventually, ok, quire
from quire_client import connect
from quire_client.commands.history.export import MADE, OF_COMMITS
from quire_daemon.maintenance.import_worker import import_into
from quire_journal.export.formats import FORMATS
from quire_journal.export.source import Source, Stretch
from quire_journal.journal import Journal
from quire_journal.model.refusals import Refusal
from quire_journal.storage.lmdb import LmdbStore
from quire_journal.workspaces.layout import place_of
from shapes import REPLIES

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def site() -> Iterator[Live]:
    """A checkout with a link, a program, a file over the limit, and a little history."""
    at = Live()
    try:
        at.write(".quire.toml", "[capture]\nmax_bytes = 100000\n")
        at.write("src/a.py", "one\ntwo\n")
        at.write("run", "#!/bin/sh\n")
        (at.root / "run").chmod(0o755)
        at.write("large", b"x" * 200_000)
        (at.root / "link").symlink_to("src/a.py")
        client = at.connect("ada", "s1")
        ok(client.call("since", {}))
        shown = ok(client.read_file("src/a.py"))
        ok(client.write_file("src/a.py", "one\nTWO\n", expected_sha256=shown["sha256"]))
        ok(client.move_file("src/a.py", "src/b.py"))
        ok(client.call("checkpoint", {"action": "create", "name": "done"}))
        yield at
    finally:
        at.close()


def run(at: Live, *words: str, status: int = 0) -> subprocess.CompletedProcess[bytes]:
    """A command line of `quire`."""
    ran = quire(*words, cwd=at.root)
    assert ran.returncode == status, ran.stderr.decode()
    return ran


def export(at: Live, format: str, *words: str) -> bytes:
    return run(at, "export", format, "--state-dir", str(at.state_dir), *words).stdout


def test_the_command_offers_what_the_daemon_has_and_the_table() -> None:
    assert {*MADE} == {*FORMATS, *OF_COMMITS, "parquet", "schema"}


def test_an_import_makes_the_same_log_in_another_folder(
    site: Live, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", sys.executable)  # by which it starts the daemon's program
    kept = site.top / "site.jsonl"
    said = run(site, "export", "jsonl", "--state-dir", str(site.state_dir), "--out", str(kept), "--json")
    told = json.loads(said.stdout)
    assert told["sizeBytes"] == kept.stat().st_size
    assert kept.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in site.top.iterdir() if path.name.startswith(".")] == []
    (tmp_path / "new").mkdir()
    new, state = str(tmp_path / "new"), str(tmp_path / "state")
    reply = json.loads(run(site, "import", str(kept), "-C", new, "--state-dir", state, "--json").stdout)
    lines = kept.read_bytes().splitlines()
    assert reply["records"] == len([line for line in lines if b'"type":"event"' in line])
    journal = Journal.open(LmdbStore.open(place_of(new, state).journal), 1)
    assert journal.last_hash.hex() == json.loads(lines[-1])["hash"]
    again = b"".join(FORMATS["events"].export(Source(journal.store, Stretch(0, journal.head)), "batch"))
    assert again.splitlines()[1:] == [line for line in lines[1:] if json.loads(line)["type"] in ("event", "end")]
    journal.close()
    refused = run(site, "import", str(kept), "-C", new, "--state-dir", state, "--json", status=1)
    assert json.loads(refused.stdout)["error"] == "already_exists"
    with connect(new, state_dir=state) as client:
        assert ok(client.verify())["message"] == "The journal is sound."
        assert (
            ok(client.call("show", {"path": "src/b.py", "version": f"seq:{reply['seq']}"}))["content"] == "one\nTWO\n"
        )
        client.shutdown_daemon()


def test_an_import_that_fails_leaves_nothing(site: Live, tmp_path: Path) -> None:
    lines = export(site, "jsonl").splitlines(keepends=True)
    (tmp_path / "new").mkdir()
    words = ["import", "-", "-C", str(tmp_path / "new"), "--state-dir", str(tmp_path / "state")]
    process = [sys.executable, "-m", "quire_client", *words]  # which hands its standard input to the daemon's program
    refused = subprocess.run(process, input=b"".join(lines[:-1]), capture_output=True, check=False)
    assert refused.returncode == 1
    assert b"it was cut off" in refused.stderr
    assert not (tmp_path / "state" / "journal").exists()
    assert not (tmp_path / "state" / "journal.import").exists()
    subprocess.run(process, input=b"".join(lines), capture_output=True, check=True)


@pytest.mark.parametrize("kept", ["db.damaged-20260101T000000.000Z", "salvage"])
def test_an_import_removes_no_journal_that_was_set_aside_or_is_being_salvaged(
    site: Live, tmp_path: Path, kept: str
) -> None:
    """A kill in the middle of a salvage leaves both, and no database."""
    (tmp_path / "new").mkdir()
    place = place_of(tmp_path / "new", tmp_path / "state")
    (place.journal / kept / "db").mkdir(parents=True)
    with pytest.raises(Refusal, match=f"{kept}") as refused:
        import_into(place, io.BytesIO(export(site, "jsonl")))
    assert refused.value.code == "already_exists"
    assert (place.journal / kept / "db").is_dir()


def test_a_page_can_be_asked_for_again_and_by_nobody_else(site: Live) -> None:
    client = site.connect("ada", "s1")
    first = ok(client.call("export", {"format": "events"}))
    assert ok(client.call("export", {"export": first["export"], "page": 1})) == first
    other = site.connect("eve", "s9").call("export", {"export": first["export"], "page": 1})
    assert (other["ok"], other["error"]) == (False, "not_found")
    wrong = client.call("export", {"export": first["export"], "page": 7})
    assert (wrong["error"], wrong["argument"]) == ("schema_invalid", "page")


def test_what_a_daemon_answers_has_the_stated_shape(site: Live) -> None:
    client = site.connect("ada", "s1")
    for tool, arguments in (("export", {"format": "git"}), ("status", {}), ("log", {}), ("diff", {"from": "seq:0"})):
        msgspec.convert(ok(client.call(tool, arguments)), REPLIES[tool], strict=True)


@pytest.mark.parametrize(
    ("arguments", "code", "argument"),
    [
        ({"format": "tar"}, "schema_invalid", "format"),
        ({"format": "git", "by": "hour"}, "schema_invalid", "by"),
        ({"format": "git", "from": "done", "to": "seq:1"}, "schema_invalid", "from"),
        ({"format": "git", "from": "nowhere"}, "not_found", None),
    ],
)
def test_what_cannot_be_exported_is_refused(
    site: Live, arguments: dict[str, str], code: str, argument: str | None
) -> None:
    reply = site.connect().call("export", arguments)
    assert (reply["error"], reply.get("argument")) == (code, argument)


def test_a_refused_export_leaves_no_file(site: Live, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ("export", "git", "--from", "nowhere", "--out", str(out), "--state-dir", str(site.state_dir))
    assert b"nowhere" in run(site, *words, status=3).stderr
    assert list(tmp_path.iterdir()) == []


def test_a_link_stays_and_the_export_is_where_it_leads(site: Live, tmp_path: Path) -> None:
    kept, link = tmp_path / "kept.jsonl", tmp_path / "link"
    kept.touch()
    link.symlink_to(kept)
    run(site, "export", "jsonl", "--state-dir", str(site.state_dir), "--out", str(link))
    assert link.is_symlink()
    assert kept.stat().st_size


def test_a_stretch_ends_and_begins_at_points(site: Live) -> None:
    mails = export(site, "patches", "--until", "done")
    assert b"+TWO" in mails
    assert export(site, "patches", "--since", "done") == b""


def test_the_schema_needs_no_workspace(site: Live, tmp_path: Path) -> None:
    assert json.loads(quire("export", "schema", cwd=tmp_path).stdout)["title"] == "A line of a Quire export"


def test_a_table_has_a_row_for_each_event(site: Live) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed (extra parquet)")
    rows = parquet.read_table(io.BytesIO(export(site, "parquet"))).to_pylist()
    assert [row["seq"] for row in rows] == list(range(1, len(rows) + 1))
    moved = next(row for row in rows if row["kind"] == "file_moved")
    assert (moved["agent"], moved["path"], moved["to"]) == ("ada", "src/a.py", "src/b.py")
    assert json.loads(moved["event"])["kind"] == "file_moved"


def test_bytes_that_go_while_an_export_is_under_way_end_it_and_are_no_damage() -> None:
    """It was told as a damaged journal, and the next start checked everything."""
    at = Live()
    try:
        for n in range(6):
            (at.root / f"{n}.bin").write_bytes(os.urandom(400_000))
        late = "9.bin"  # and small: what is purged is looked for line by line
        (at.root / late).write_bytes(os.urandom(1000))
        client = at.connect("ada", "s1")
        caught_up(client)
        eventually("all is captured", lambda: ok(client.call("status", {}))["journal"]["versions"] == 7)
        page = ok(client.call("export", {"format": "git"}))
        assert not page["done"]
        assert late.encode() not in b64decode(page["content_base64"])
        ok(client.purge(path=late))
        reply = page
        while reply["ok"] and not reply["done"]:
            reply = client.call("export", {"export": page["export"], "page": reply["page"] + 1})
        assert (reply["error"], reply["suggested_action"]) == ("busy", "begin_again")
        assert ok(client.call("verify", {}))["ok"]
        assert "journal_damaged" not in (at.state_dir / "daemon.log").read_text()
        assert (at.state_dir / "journal" / "boot").exists(), "the next start need not check everything"
    finally:
        at.close()
