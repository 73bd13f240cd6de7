"""Folders with nothing in them, links, and names that are not UTF-8: recorded, listed and exported by a real daemon."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from live import Live, caught_up, eventually, ok, verified
from quire_client.__main__ import main
from quire_client.api import Client

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def live() -> Iterator[Live]:
    live = Live()
    (live.root / "was there" / "inside").mkdir(parents=True)
    yield live
    live.close()


@pytest.fixture(scope="module")
def client(live: Live) -> Client:
    client = live.connect()
    eventually("the first capture", lambda: ok(client.call("status", {}))["capture"]["finished"])
    return client


def there(client: Client) -> dict[str, Any]:
    """What the journal says there is now: path → entry."""
    caught_up(client)
    return {entry["path"]: entry for entry in ok(client.call("tree", {}))["entries"]}


def test_a_folder_that_was_empty_from_the_start_is_told_and_not_the_one_around_it(client: Client) -> None:
    tree = there(client)
    assert tree["was there/inside"]["kind"] == "folder"
    assert "was there" not in tree


def test_a_new_folder_is_told_and_its_mode_and_its_end(live: Live, client: Client) -> None:
    folder = live.root / "new" / "deep"
    folder.mkdir(parents=True)
    assert there(client)["new/deep"]["kind"] == "folder"
    folder.chmod(0o700)
    assert there(client)["new/deep"]["mode"] == "0700"
    folder.rmdir()
    tree = there(client)
    assert "new/deep" not in tree
    assert tree["new"]["kind"] == "folder"


@pytest.mark.parametrize("by_tool", [True, False])
def test_a_folder_that_loses_its_last_file_is_told(by_tool: bool, live: Live, client: Client) -> None:
    path = f"losing {by_tool}/file"
    made = live.top / "made beside"  # so that it is never seen without its file
    made.mkdir()
    (made / "file").write_text("x\n")
    made.rename((live.root / path).parent)
    assert f"losing {by_tool}" not in there(client)
    if by_tool:
        ok(client.call("delete_file", {"path": path}))
    else:
        (live.root / path).unlink()
    assert there(client)[f"losing {by_tool}"]["kind"] == "folder"


def test_a_folder_that_moves_takes_names_that_are_not_utf8_along(live: Live, client: Client) -> None:
    live.write("from here/\udcff", b"bytes")
    assert "from%20here/%FF" in there(client)
    (live.root / "from here").rename(live.root / "to there")
    tree = there(client)
    assert "from%20here/%FF" not in tree
    assert tree["to%20there/%FF"]["path_encoding"] == "percent"


def test_an_undo_leaves_empty_folders_alone(live: Live, client: Client) -> None:
    live.write("undone/file", "x\n")
    caught_up(client)
    ok(client.call("delete_file", {"path": "undone/file"}))
    assert "undone" in there(client)
    ok(client.call("undo", {"path": "undone"}))
    assert live.read("undone/file") == b"x\n"


def test_the_commands_list_and_export_what_there_was(
    live: Live, client: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    live.write("kept/run.sh", "#!/bin/sh\n")
    (live.root / "kept/run.sh").chmod(0o755)
    (live.root / "kept/link").symlink_to("run.sh")
    (live.root / "kept/nothing").mkdir()
    live.write("kept/.env", "SECRET=1\n")
    caught_up(client)
    ok(client.call("checkpoint", {"action": "create", "name": "full"}))
    shutil.rmtree(live.root / "kept")
    caught_up(client)
    common = ["-C", str(live.root), "--state-dir", str(live.state_dir)]

    assert main([*common, "ls", "--at", "full", str(live.root / "kept")]) == 0
    said = capsys.readouterr()
    # The folder itself may have been seen before anything was in it.
    assert [line.partition("kept/")[2] for line in said.out.splitlines() if not line.endswith(" kept/")] == [
        ".env  [not captured: secret]",
        "link -> run.sh",
        "nothing/",
        "run.sh",
    ]
    assert said.err == "The bytes of 1 file are not in the journal: kept/.env.\n"

    target = tmp_path / "out"
    assert main([*common, "--json", "export-tree", "full", str(target)]) == 0
    reply = json.loads(capsys.readouterr().out)
    assert [entry["path"] for entry in reply["uncaptured"]] == ["kept/.env"]
    assert sorted(os.listdir(target / "kept")) == ["link", "nothing", "run.sh"]
    assert stat.S_IMODE((target / "kept/run.sh").stat().st_mode) == 0o755
    assert os.readlink(target / "kept/link") == "run.sh"

    assert main([*common, "export-tree", "full", str(target)]) == 1
    assert "is there already" in capsys.readouterr().err
    assert main([*common, "export-tree", "full", str(live.root / "copy")]) == 2
    assert not (live.root / "copy").exists()
    assert main([*common, "export-tree", "nowhere", str(tmp_path / "other")]) == 3
    assert not (tmp_path / "other").exists()


def test_a_restore_brings_links_and_empty_folders_back_where_nothing_is(live: Live, client: Client) -> None:
    live.write("back/file", "x\n")
    (live.root / "back/link").symlink_to("file")
    (live.root / "back/out").symlink_to("/nowhere")
    (live.root / "back/empty").mkdir(mode=0o750)
    (live.root / "back/taken").symlink_to("file")
    at = f"seq:{caught_up(client)[1:].partition('.')[0]}"
    shutil.rmtree(live.root / "back")
    live.write("back/taken", "somebody's\n")
    caught_up(client)
    reply = ok(client.call("restore", {"path": "back", "at": at}))
    done = {file["path"]: (file["action"], file["skipped"]) for file in reply["files"]}
    assert done["back/link"] == done["back/out"] == done["back/empty"] == ("make", None)
    assert done["back/taken"] == ("none", "not_a_file")
    assert os.readlink(live.root / "back/link") == "file"
    assert os.readlink(live.root / "back/out") == "/nowhere"
    assert stat.S_IMODE((live.root / "back/empty").stat().st_mode) == 0o750
    assert live.read("back/taken") == b"somebody's\n"
    tree = there(client)
    assert (tree["back/link"]["kind"], tree["back/empty"]["kind"]) == ("link", "folder")
    records = ok(client.call("log", {"path": "back/link", "limit": 1}))["records"]
    assert (records[0]["kind"], records[0]["writer"]["type"]) == ("file_written", "undo")
    verified(client)


def test_a_restore_of_a_folder_as_it_is_does_nothing(live: Live, client: Client) -> None:
    live.write("as it is/file", "x\n")
    (live.root / "as it is/link").symlink_to("file")
    (live.root / "as it is/empty").mkdir()
    at = f"seq:{caught_up(client)[1:].partition('.')[0]}"
    reply = ok(client.call("restore", {"path": "as it is", "at": at}))
    assert [file["action"] for file in reply["files"]] == ["none"] * 3


def test_a_file_is_read_through_a_link_as_it_led_then(live: Live, client: Client) -> None:
    live.write("led/one", "one\n")
    live.write("led/two", "two\n")
    (live.root / "led/link").symlink_to("one")
    at = f"seq:{caught_up(client)[1:].partition('.')[0]}"
    (live.root / "led/link").unlink()
    (live.root / "led/link").symlink_to("two")
    caught_up(client)
    then = ok(client.call("read_file", {"path": "led/link", "at": at}))
    assert (then["path"], then["content"]) == ("led/one", "one\n")
    assert ok(client.call("read_file", {"path": "led/link"}))["content"] == "two\n"
    assert [ok(client.blame("led/link", point))["path"] for point in (at, None)] == ["led/one", "led/two"]
    (live.root / "led/link").unlink()
    (live.root / "led/link").symlink_to("/etc/passwd")
    caught_up(client)
    (live.root / "led/link").unlink()
    out = f"seq:{int(caught_up(client)[1:].partition('.')[0]) - 1}"
    assert client.call("read_file", {"path": "led/link", "at": out})["error"] == "not_found"


def test_cat_gives_the_bytes_of_what_is_no_text(live: Live, client: Client) -> None:
    live.write("bytes.bin", b"\0\1\2" * 200_000)
    at = f"seq:{caught_up(client)[1:].partition('.')[0]}"
    (live.root / "bytes.bin").unlink()
    caught_up(client)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "quire_client",
            "-C",
            live.root,
            "--state-dir",
            live.state_dir,
            "cat",
            f"bytes.bin@{at}",
        ],
        capture_output=True,
        check=True,
        cwd=live.root,
    )
    assert done.stdout == b"\0\1\2" * 200_000
