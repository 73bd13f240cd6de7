"""Shipping from real daemons into a folder: all of it arrives once, nothing that is secret does, and `quire verify`
names what somebody did to either side."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from live import Live, eventually, ok, quire
from quire_client.ship.address import FarSide, open_far_side
from quire_client.ship.reader import FarJournal, read_journal
from quire_journal.export.jsonl_schema import (
    BlobLine,
    EndLine,
    EventLine,
    JsonLine,
    decode_line,
    stored_record,
    written,
)
from quire_journal.model.records import GENESIS, encode_record, link, read_record, record_hash
from quire_journal.shipment.cipher import decrypt
from quire_journal.shipment.ledger import content_key
from quire_journal.shipment.segment import Position, Segment, encode_segment, follow, read_segment
from quire_journal.storage.lmdb.store import LmdbStore
from quire_journal.workspaces import place_of, read_identity

pytestmark = [pytest.mark.real, pytest.mark.timeout(60)]


@pytest.fixture
def there(tmp_path: Path) -> Path:
    (folder := tmp_path / "far").mkdir()
    return folder


def cli(at: Live, *words: str) -> subprocess.CompletedProcess[bytes]:
    return quire(*words, "-C", str(at.root), "--state-dir", str(at.state_dir))


def ship(at: Live, to: Path) -> dict[str, Any]:
    ran = cli(at, "ship", str(to), "--once", "--json")
    assert ran.returncode == 0, ran.stderr
    told: dict[str, Any] = json.loads(ran.stdout)
    return told


def verify(at: Live, against: Path) -> tuple[int, str]:
    ran = cli(at, "verify", "--against", str(against))
    return ran.returncode, ran.stderr.decode()


def verified(at: Live, against: Path) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(cli(at, "verify", "--against", str(against), "--json").stdout)
    return told


def write(at: Live, path: str, content: str, **more: Any) -> None:
    client = at.connect("ada", "s1")
    version = client.call("read_file", {"path": path}).get("version")
    base = {"base": version} if version else {}
    ok(client.call("write_file", {"path": path, "content": content, **base, **more}))


def state(at: Live) -> dict[str, Any]:
    told: dict[str, Any] = at.connect().status()["shipping"]
    return told


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def bytes_of(folder: Path) -> bytes:
    return b"\0".join(name.encode() + data for name, data in files_of(folder).items())


def read(folder: Path, journal: str) -> FarJournal:
    found = read_journal(open_far_side(str(folder)), journal)
    assert found.wrong == ()
    return found


def contents(far: FarSide, journal: str) -> Iterator[tuple[bytes, bytes]]:
    """(sha256, encrypted bytes) of what the segments name."""
    at = Position(journal)
    for number in far.segments.numbers(journal):
        segment, at = follow(at, far.segments.get(journal, number) or b"")
        for blob, name in segment.blobs:
            yield blob, far.blobs.get(name.hex()) or b""


def readable(at: Live, far: Path) -> list[bytes]:
    """Every content at the far side of which the journal holds a key."""
    journal = str(state(at)["journal"])
    at.kill()
    store = LmdbStore.open(at.state_dir / "journal")
    try:
        with store.reading() as r:
            found = [
                decrypt(key, blob, data)
                for blob, data in contents(open_far_side(str(far)), journal)
                if (key := content_key(r, blob)) is not None
            ]
    finally:
        store.close()
    assert None not in found
    return [one for one in found if one is not None]


def test_everything_arrives_once_and_is_accepted(at: Live, there: Path) -> None:
    for n in range(150):
        write(at, f"{n % 7}.txt", f"{n}\n")
    ship(at, there)
    before = state(at)
    assert before["records"] >= 300
    assert ship(at, there)["segments"] <= 1, "only what was recorded since"
    found = read(there, state(at)["journal"])
    assert found.at.seq >= before["records"]
    assert verify(at, there) == (0, "")
    told = verified(at, there)
    counts = f"{found.segments} segments, {found.contents} contents read back, {found.segments} heads agree"
    assert told["message"] == f"The journal here is sound; at {there}: {counts}."
    heads = [head for head in told["heads"] if head["source"] == str(there)]
    assert len(heads) == found.segments
    far = {"at": str(there), "segments": found.segments, "contents": found.contents}
    assert told["far_side"] == {**far, "heads": len(heads), "agree": len(heads), "findings": []}


def test_what_is_secret_ignored_or_uncaptured_is_nowhere_at_the_far_side(at: Live, there: Path) -> None:
    planted = {name: secrets.token_hex(12) for name in ("env", "ignored", "token", "deny", "purged", "plain", "prompt")}
    (at.root / ".gitignore").write_text("build/\n")
    (at.root / ".env").write_text(f"KEY={planted['env']}\n")
    (at.root / "build").mkdir()
    (at.root / "build" / "out.txt").write_text(planted["ignored"])
    token = "ghp_" + (planted["token"] * 2)[:36]
    (at.root / "config.txt").write_text(f"token = {token}\n")
    write(at, "tool.txt", f"aws_token = '{token}'\n")
    write(at, "build/tool.txt", planted["ignored"])
    write(at, "purged.txt", planted["purged"])
    write(at, "plain.txt", planted["plain"])
    ok(at.connect("ada", "s1").call("native", {"moment": "turn", "prompt": planted["prompt"]}))
    ship(at, there)
    everything = bytes_of(there)
    for name, text in planted.items():
        assert text.encode() not in everything, name
    assert token.encode() not in everything
    for path in (b".env", b"config.txt", b"build/tool.txt", b"build/out.txt"):
        assert path not in everything
    assert b"plain.txt" in everything
    ok(at.connect().call("purge", {"matching": planted["purged"]}, timeout_s=40))
    ship(at, there)
    seen = b"\0".join(readable(at, there))
    assert planted["plain"].encode() in seen
    for name in ("env", "ignored", "purged", "prompt"):
        assert planted[name].encode() not in seen, name
    assert token.encode() not in seen


def test_the_settings_say_what_leaves(at: Live, there: Path) -> None:
    user = Path(os.environ["XDG_CONFIG_HOME"]) / "quire" / "config.toml"
    user.parent.mkdir(parents=True)
    user.write_text(f'[ship]\nto = "{there}"\npaths = ["src/**"]\ndeny = ["*.sql"]\nbytes = "none"\n')
    eventually("the settings are in force", lambda: at.connect().status().get("shipping", {}).get("to") == str(there))
    for path in ("src/a.py", "src/dump.sql", "notes.txt"):
        write(at, path, "x\n")
    assert cli(at, "ship", "--once").returncode == 0
    everything = bytes_of(there)
    assert b"src/a.py" in everything
    assert b"dump.sql" not in everything
    assert b"notes.txt" not in everything
    assert not list(there.glob("blobs/*"))
    assert verify(at, there) == (0, "")


def test_of_a_key_that_a_purge_destroyed_no_byte_is_left_in_the_state_folder(at: Live, there: Path) -> None:
    for n in range(40):
        write(at, f"{n}.txt", "purged text\n" if n == 20 else f"{n}\n")
    ship(at, there)
    at.kill()
    store = LmdbStore.open(at.state_dir / "journal")
    with store.reading() as r:
        key = content_key(r, hashlib.sha256(b"purged text\n").digest())
    store.close()
    assert key is not None
    assert key in bytes_of(at.state_dir)
    ok(at.connect().call("purge", {"matching": "purged text"}, timeout_s=40))
    at.kill()
    assert key not in bytes_of(at.state_dir)


def test_a_far_side_that_cannot_be_reached_changes_nothing_here(at: Live, tmp_path: Path) -> None:
    write(at, "a.txt", "one\n")
    gone = tmp_path / "not mounted"
    ran = cli(at, "ship", str(gone), "--once")
    assert ran.returncode == 70
    told = state(at)
    assert "trouble" in told
    assert told["behind"] == at.connect().status()["seq"]
    shown = cli(at, "status").stdout.decode()
    assert "records behind" in shown
    assert "unreachable since" in shown
    write(at, "a.txt", "two\n")
    gone.mkdir()
    ship(at, gone)
    assert state(at)["behind"] == 0
    assert "trouble" not in state(at)


def test_a_place_that_is_new_has_lost_nothing_and_the_old_one_is_where_it_was(
    at: Live, there: Path, tmp_path: Path
) -> None:
    for n in range(3):
        write(at, "a.txt", f"{n}\n")
        ship(at, there)
    number = state(at)["segments"]
    (other := tmp_path / "other").mkdir()
    at.kill()
    ship(at, other)
    assert {"lost", "gaps"}.isdisjoint(state(at))
    assert verify(at, other) == (0, "")
    assert verify(at, there) == (0, "")
    assert state(at)["to"] == str(other), "a look is no shipment"
    assert ok(at.connect().outbox(to=str(there), look=True))["number"] == number


def test_a_far_side_that_was_emptied_is_told_until_it_is_whole_again(at: Live, there: Path) -> None:
    write(at, "a.txt", "one\n")
    ship(at, there)
    shutil.rmtree(there / "segments")
    at.connect().outbox(to=str(there), restart=True)
    assert "the far side lost some of" in cli(at, "status").stdout.decode()
    ship(at, there)
    assert "lost" not in state(at)
    assert verify(at, there) == (0, "")


def _cut(folder: Path) -> None:
    max(folder.glob("segments/*/*")).unlink()


def _drop(folder: Path) -> None:
    sorted(folder.glob("segments/*/*"))[1].unlink()


def _change(folder: Path) -> None:
    path = sorted(folder.glob("segments/*/*"))[1]
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def _swap(folder: Path) -> None:
    one, other = sorted(folder.glob("segments/*/*"))[:2]
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)


def _chained(folder: Path, change: Callable[[list[Segment]], None]) -> None:
    """Somebody changes the segments, and chains them anew; the signed heads they cannot make."""
    paths = sorted(folder.glob("segments/*/*"))
    segments = [read_segment(path.read_bytes()) for path in paths]
    change(segments)
    before = b""
    for path, segment in zip(paths, segments, strict=True):
        data = encode_segment(replace(segment, prev=before))
        path.write_bytes(data)
        before = hashlib.sha256(data).digest()


def _insert(folder: Path) -> None:
    def twice(segments: list[Segment]) -> None:
        one = segments[1]
        segments[1] = replace(one, records=(one.records[0], *one.records))
        segments[2:] = [replace(later, first=later.first + 1) for later in segments[2:]]

    _chained(folder, twice)


def _forge(folder: Path) -> None:
    """Another agent has written it, from the first record on; the chain of hashes is made anew."""

    def renamed(segments: list[Segment]) -> None:
        before = GENESIS
        for number, segment in enumerate(segments):
            records = []
            for seq, stored in enumerate(segment.records, segment.first):
                if stored:
                    told = read_record(seq, stored.replace(b"ada", b"eve"))
                    stored = encode_record(replace(told, prev=before))
                    before = link(record_hash(stored))
                records.append(stored)
            segments[number] = replace(segment, records=tuple(records))

    _chained(folder, renamed)


def _content(folder: Path) -> None:
    path = next(path for path in folder.glob("blobs/*/*") if path.is_file())
    path.write_bytes(path.read_bytes()[:-1] + b"!")


def test_what_was_there_before_is_not_claimed_of_one_run(at: Live, there: Path) -> None:
    write(at, "a.txt", "one\n")
    ship(at, there)
    _content(there)
    said = ship(at, there)["message"]
    assert f"was not read again: `quire verify --against {there}` does that." in said
    assert "verything" not in said


@pytest.mark.parametrize("harm", [_cut, _drop, _change, _swap, _insert, _forge, _content])
def test_what_was_done_to_the_far_side_is_named(at: Live, there: Path, harm: Callable[[Path], None]) -> None:
    for n in range(3):
        write(at, "a.txt", f"{n}\n")
        ship(at, there)
    assert len(list(there.glob("segments/*/*"))) > 2
    assert verify(at, there) == (0, "")
    harm(there)
    status, said = verify(at, there)
    assert status == 7
    assert f"At {there}" in said
    told = verified(at, there)
    assert told["far_side"]["findings"]
    assert told["message"].startswith(f"The journal here is sound; at {there}: ")


def test_a_segment_that_was_lost_in_the_middle_is_put_back_as_it_was(at: Live, there: Path) -> None:
    for n in range(4):
        write(at, "a.txt", f"{n}\n")
        ship(at, there)
    write(at, "a.txt", "of the one that is shipped next\n")
    before = files_of(there)
    _drop(there)
    ship(at, there)
    assert before.items() <= files_of(there).items()
    assert verify(at, there) == (0, "")
    assert "." not in state(at)["journal"], "it forked from itself"
    assert "gaps" not in state(at)


def test_a_segment_that_other_settings_make_otherwise_stays_missing_and_is_told(at: Live, there: Path) -> None:
    for n in range(4):
        write(at, "a.txt", f"{n}\n")
        ship(at, there)
    _drop(there)
    user = Path(os.environ["XDG_CONFIG_HOME"]) / "quire" / "config.toml"
    user.parent.mkdir(parents=True)
    user.write_text('[ship]\ndeny = ["a.txt"]\n')
    at.kill()
    ship(at, there)
    assert state(at)["gaps"] == [2]
    assert "." not in state(at)["journal"], "it forked from itself"
    shown = cli(at, "status").stdout.decode()
    assert "the far side lost segment 2, which cannot be made again as it was" in shown
    status, said = verify(at, there)
    assert status == 7
    assert "segment 2 of" in said


def test_a_journal_that_was_made_anew_as_a_whole_is_found(at: Live, there: Path) -> None:
    for n in range(3):
        write(at, "a.txt", f"{n}\n")
        ship(at, there)
    at.kill()
    shutil.rmtree(at.state_dir / "journal")  # its name and its key stay
    for n in range(3):
        write(at, "a.txt", f"{n} by somebody else\n")
    status, said = verify(at, there)
    assert status == 7
    assert f"At {there}" in said


def _rewritten(export: bytes, old: bytes, new: bytes) -> bytes:
    """The export with other bytes of one version, by somebody else, and every hash made to fit."""
    was, then = hashlib.sha256(old).hexdigest(), hashlib.sha256(new).hexdigest()
    held: dict[str, bytes] = {}
    lines: list[JsonLine] = []
    last = b""
    for raw in export.splitlines():
        line = decode_line(raw)
        if isinstance(line, BlobLine):
            base = held.get(line.base, b"")
            data = held[line.sha256] = base[: line.head] + line.data + base[len(base) - line.tail :]
            data, name = (new, then) if data == old else (data, line.sha256)
            line = BlobLine(name, len(data), line.path, data)
        elif isinstance(line, EventLine):
            event = {name: "mallory" if value == "ada" else value for name, value in line.event.items()}
            if event.get("blob") == was:
                event |= {"blob": then, "size": len(new)}
            line = replace(line, event=event, prev=link(last).hex() if last else line.prev, stored=b"")
            last = record_hash(stored_record(replace(line, withheld=True)))
            line = replace(line, hash=last.hex())
        elif isinstance(line, EndLine):
            line = replace(line, hash=last.hex())
        lines.append(line)
    return b"".join(map(written, lines))


def test_a_history_that_was_rewritten_with_all_its_hashes_is_found(at: Live, there: Path) -> None:
    for n in range(4):
        write(at, "a.txt", f"line {n} by ada\n")
    ship(at, there)
    forged = _rewritten(cli(at, "export", "jsonl").stdout, b"line 2 by ada\n", b"line 2 by mallory\n")
    place = place_of(at.root, at.state_dir)
    identity = read_identity(place)
    assert identity is not None
    at.kill()
    other = Live(at.top / "forger")
    try:
        words = [sys.executable, "-m", "quire_daemon.maintenance.import_worker", "--workspace", str(other.root)]
        ran = subprocess.run([*words, "--state-dir", str(other.state_dir)], input=forged, capture_output=True)
        assert json.loads(ran.stdout.splitlines()[-1])["ok"], ran.stdout
        store = LmdbStore.open(other.state_dir / "journal")
        with store.writing() as w:
            w.put("meta", b"workspace", identity.id.encode())
        store.close()
        shutil.rmtree(place.journal)
        shutil.copytree(other.state_dir / "journal", place.journal)
    finally:
        other.close()
    for heads in at.state_dir.glob("heads*"):
        shutil.rmtree(heads)  # the far side alone knows better
    assert "mallory" in str(ok(at.connect().call("log", {"path": "a.txt"}))), "it is the forged one"
    assert ok(at.connect().verify())["findings"] == [], "nothing of it is wrong by itself"
    status, said = verify(at, there)
    assert status == 7
    assert f"At {there}" in said


def test_a_journal_put_back_from_an_old_copy_forks_and_is_told(at: Live, there: Path) -> None:
    write(at, "a.txt", "one\n")
    ship(at, there)
    at.kill()
    copy = at.top / "copy"
    shutil.copytree(at.state_dir, copy)
    write(at, "a.txt", "two\n")
    ship(at, there)
    name, before = state(at)["journal"], files_of(there)
    at.kill()
    shutil.move(at.state_dir, other := at.top / "other")
    shutil.copytree(copy, at.state_dir)
    write(at, "b.txt", "after the backup\n")
    assert verify(at, there)[0] == 7, "the far side has what this journal lost"
    shipped = cli(at, "ship", str(there), "--once")
    fork = state(at)["journal"]
    assert fork.startswith(f"{name}.")
    for output in (shipped.stderr, cli(at, "status").stdout):
        assert f"this one goes on there as {fork}" in output.decode()
    told = cli(at, "log", "--kind", "journal_forked", "--json").stdout.decode()
    assert told.count("journal_forked") == 1, told
    read(there, fork)
    read(there, name)
    assert before.items() <= files_of(there).items(), "nothing was overwritten"
    status, said = verify(at, there)
    assert status == 7
    assert "goes on there from segment" in said
    at.kill()
    shutil.rmtree(at.state_dir)
    shutil.move(other, at.state_dir)
    write(at, "c.txt", "of the one that was copied\n")
    ship(at, there)
    assert state(at)["journal"] == name, "who was there first keeps the name"
    status, said = verify(at, there)
    assert status == 7
    assert f"{fork} is there, too" in said


KILLED = """
import os, signal, sys
from quire_client.api import connect
from quire_client.ship import DaemonOutbox, Shipper, open_far_side

def step(name):
    if name == sys.argv[4]:
        os.kill(os.getpid(), signal.SIGKILL)

client = connect(sys.argv[1], state_dir=sys.argv[2])
shipper = Shipper(DaemonOutbox(lambda arguments: client.outbox(**arguments)), open_far_side(sys.argv[3]), step)
while shipper.ship():
    pass
"""


@pytest.mark.parametrize("step", ["sealed", "contents_put", "segment_put", "read_back", "told"])
def test_a_shipper_that_is_killed_at_a_step_loses_nothing(at: Live, there: Path, step: str) -> None:
    for n in range(60):
        write(at, f"{n % 5}.txt", f"{n}\n")
    for _ in range(2):
        ran = subprocess.run([sys.executable, "-c", KILLED, at.root, at.state_dir, there, step], capture_output=True)
        assert ran.returncode == -signal.SIGKILL, ran.stderr
        write(at, "more.txt", secrets.token_hex(4))
    at.kill()
    write(at, "more.txt", "after the kill of the daemon")
    ship(at, there)
    assert verify(at, there) == (0, "")
    assert "." not in state(at)["journal"], "it forked from itself"
    assert read(there, state(at)["journal"]).at.seq >= 120


def test_two_shippers_beside_each_other_make_no_fork(at: Live, there: Path) -> None:
    command = [sys.executable, "-m", "quire_client", "ship", str(there), "--once", "--state-dir", str(at.state_dir)]
    for _ in range(2):
        for n in range(60):
            write(at, f"{n % 5}.txt", f"{n}\n")
        both = [subprocess.Popen(command, cwd=at.root, stdout=subprocess.DEVNULL) for _ in range(2)]
        assert [one.wait(40) for one in both] == [0, 0]
    assert verify(at, there) == (0, "")
    assert "." not in state(at)["journal"]
