"""Proofs of a real journal, checked by those who do not know Quire: the program in docs/proofs.md, and tlog-scales."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from base64 import b64decode, b64encode
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tlog_scales import signing, tlog
from tlog_scales.reader import TilesReader

from live import Live, eventually, ok, refused
from quire_daemon.heads.folder import HeadFolder
from quire_journal.model.records import record_hash

pytestmark = [pytest.mark.real, pytest.mark.timeout(60)]

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "proofs.md").read_text()
CHECK = re.search(r"```python\n(.*?)```", PAGE, re.S)


@pytest.fixture(scope="module")
def at() -> Iterator[Live]:
    live = Live()
    client = live.connect("ada", "s1")
    for n in range(3):
        ok(client.call("write_file", {"path": f"{n}.txt", "content": f"{n}\n"}))
    yield live
    live.close()


@pytest.fixture(scope="module")
def check(tmp_path_factory: pytest.TempPathFactory) -> Path:
    assert CHECK is not None
    path = tmp_path_factory.mktemp("stranger") / "check.py"
    path.write_text(CHECK[1])
    return path


def run(check: Path, proof: str, key: str, file: bytes | None = None) -> subprocess.CompletedProcess[str]:
    (check.parent / "proof").write_text(proof, newline="")
    (check.parent / "file").write_bytes(file or b"")
    words = [sys.executable, "-I", str(check), str(check.parent / "proof"), key]
    return subprocess.run(
        [*words, *([str(check.parent / "file")] if file is not None else [])], capture_output=True, text=True
    )


def written(at: Live, path: str) -> str:
    """The version of a file."""
    return str(ok(at.connect().call("read_file", {"path": path}))["version"])


def test_a_stranger_checks_the_proof_of_a_version_with_the_program_of_the_page(at: Live, check: Path) -> None:
    version = written(at, "1.txt")
    reply = ok(at.connect().prove(version))
    key = reply["keys"][0]
    ran = run(check, reply["proof"], key, b"1\n")
    assert ran.returncode == 0, ran.stderr
    assert f"Record {version[1:]} of {reply['records']} in {reply['origin']}: " in ran.stdout
    assert "It names the bytes of" in ran.stdout
    record = msgspec.msgpack.decode(bytes.fromhex(ran.stdout.splitlines()[0].rpartition(" ")[2]))
    assert (record[0], record[4], record[5][0]) == (int(version[1:]), 0, "1.txt")


@pytest.mark.parametrize("forged", ["record", "index", "sibling", "size", "root", "signature", "file", "key"])
def test_the_stranger_is_not_deceived(at: Live, check: Path, forged: str) -> None:
    reply = ok(at.connect().prove(written(at, "1.txt")))
    proof, key, file = str(reply["proof"]), str(reply["keys"][0]), b"1\n"
    lines = proof.split("\n")
    head = lines.index("") + 1

    def other(line: str) -> str:
        data = bytearray(b64decode(line))
        data[-1] ^= 1
        return b64encode(data).decode()

    match forged:
        case "record":
            lines[1] = "extra " + other(lines[1].split()[1])
        case "index":
            lines[2] = f"index {int(lines[2].split()[1]) + 1}"
        case "sibling":
            lines[3] = other(lines[3])
        case "size":
            lines[head + 1] = str(int(lines[head + 1]) + 1)
        case "root":
            lines[head + 2] = other(lines[head + 2])
        case "signature":
            *rest, signature = lines[head + 4].split(" ")
            lines[head + 4] = " ".join([*rest, other(signature)])
        case "file":
            file = b"2\n"
        case "key":
            key = signing.PlainEd25519Signer(reply["origin"], bytes(32)).vkey.serialize()
    assert run(check, "\n".join(lines), key, file).returncode != 0


class Folder:
    """The tiles of a journal as tlog-scales wants them."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def get(self, *parts: Any) -> bytes | None:
        path = self._path.joinpath(*map(str, parts))
        return path.read_bytes() if path.is_file() else None


def test_another_package_reads_the_folder_and_makes_the_same_proofs(at: Live) -> None:
    client = at.connect()
    earlier = tlog.Checkpoint.from_text(ok(client.prove())["checkpoint"])
    for n in range(300):
        ok(client.call("write_file", {"path": f"more{n}.txt", "content": f"{n}\n"}))
    reply = ok(client.prove(written(at, "more7.txt")))
    checkpoint = tlog.Checkpoint.from_text(reply["checkpoint"])
    for vkey in reply["keys"]:
        checkpoint.verify(signing.Vkey.from_string(vkey))
    reader = TilesReader(Folder(HeadFolder.of(at.state_dir).path))
    assert reader.get_checkpoint() == checkpoint
    assert reader.calculate_root_hash() == checkpoint.root_hash
    index, lines = reply["seq"] - 1, reply["proof"].split("\n")
    theirs = reader.get_inclusion_proof(index, checkpoint.size)
    assert theirs.node_hashes == [b64decode(line) for line in lines[3 : lines.index("")]]
    entry = record_hash(b64decode(lines[1].split()[1]))
    theirs.check(sha256(b"\x00" + entry).digest(), checkpoint.root_hash)
    growth = reader.get_consistency_proof(earlier.size, checkpoint.size)
    growth.check(earlier.root_hash, checkpoint.root_hash)
    told = ok(client.prove(since=earlier.serialize()))["proof"].split("\n")
    assert told[0] == f"old {earlier.size}"
    assert [b64decode(line) for line in told[1 : told.index("")]] == growth.node_hashes


def test_the_writer_of_a_version_is_proved_by_the_record_that_introduced_it(at: Live, check: Path) -> None:
    reply = ok(at.connect().prove(written(at, "1.txt"), writer=True))
    ran = run(check, reply["proof"], reply["keys"][0])
    record = msgspec.msgpack.decode(bytes.fromhex(ran.stdout.splitlines()[0].rpartition(" ")[2]))
    assert record[5][4:6] == ["ada", "s1"]


def test_what_was_purged_is_proved_by_its_hash_alone(at: Live) -> None:
    client = at.connect()
    ok(client.call("checkpoint", {"action": "create", "name": "purged", "note": "it is hunter2secret"}))
    (record,) = client.call("log", {"kind": "checkpoint_named", "limit": 1})["records"]
    seq = record["seq"]
    ok(client.call("purge", {"matching": "hunter2secret"}, timeout_s=40))
    reply = ok(client.prove(f"seq:{seq}"))
    assert reply["masked"]
    assert "extra" not in reply["proof"]
    assert "hash alone" in reply["message"]


def test_a_prompt_is_shown_only_when_that_is_asked_for(at: Live) -> None:
    client = at.connect("ada", "s1")
    ok(client.call("native", {"moment": "turn", "prompt": "fix the parser"}))
    (record,) = eventually("it is recorded", lambda: client.call("log", {"kind": "turn_began"})["records"])
    hidden = ok(client.prove(f"seq:{record['seq']}"))
    assert (hidden["masked"], "extra" in hidden["proof"]) == (True, False)
    shown = ok(client.prove(f"seq:{record['seq']}", with_prompts=True))
    assert b"fix the parser" in b64decode(shown["proof"].splitlines()[1].split()[1])


def test_lost_tiles_are_made_again_for_a_proof(at: Live, check: Path) -> None:
    client = at.connect()
    ok(client.prove())
    shutil.rmtree(at.state_dir / "heads" / "tile")
    reply = ok(client.prove(written(at, "1.txt")))
    assert run(check, reply["proof"], reply["keys"][0], b"1\n").returncode == 0


def test_what_cannot_be_proved_is_refused(at: Live) -> None:
    client = at.connect()
    refused(client.prove("v99999"), "not_found")
    refused(client.prove("seq:1", writer=True), "not_found")
    refused(client.prove("seq:1", since="x"), "schema_invalid")
    refused(client.prove(writer=True), "schema_invalid")
    refused(client.prove(since="no head"), "schema_invalid")
    other = signing.PlainEd25519Signer("journal.quire.invalid/x/1", bytes(32))
    head = tlog.Checkpoint.make_signed("journal.quire.invalid/x/1", 3, bytes(32), [other]).serialize()
    assert "does not go on" in refused(client.prove(since=head), "not_found")["message"]


def test_the_command_prints_what_is_to_be_kept(at: Live, tmp_path: Path) -> None:
    def quire(*words: str, stdin: str = "") -> str:
        ran = subprocess.run(
            [sys.executable, "-m", "quire_client", *words, "-C", str(at.root), "--state-dir", str(at.state_dir)],
            capture_output=True,
            text=True,
            input=stdin,
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    (tmp_path / "site.checkpoint").write_text(quire("prove"))
    (tmp_path / "site.keys").write_text(quire("prove", "--keys"))
    eventually("it is there", lambda: (tmp_path / "site.keys").read_text().count("\n") == 2)
    files = ["--against", str(tmp_path / "site.checkpoint"), "--key", str(tmp_path / "site.keys")]
    assert quire("verify", *files).startswith("The journal is sound. The journal holds the ")
    proof = quire("prove", written(at, "2.txt"))
    assert proof.startswith("c2sp.org/tlog-proof@v1\nextra ")
    assert quire("verify", "--against", "-", stdin=proof).startswith("The journal is sound. The journal holds the ")
