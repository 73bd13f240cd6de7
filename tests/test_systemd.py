"""The unit files are ones that systemd understands, line by line, and whose reasons stand beside each."""

from __future__ import annotations

import itertools
import os
import plistlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import live
import quire_client
from quire_client.service import units
from quire_journal.model.refusals import Refusal
from quire_journal.workspaces.layout import place_of
from quire_journal.workspaces.lock import running

FOLDER = Path(__file__).parents[1] / "systemd"
needs_systemd = pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="there is no systemd-analyze")
needs_activate = pytest.mark.skipif(
    not shutil.which("systemd-socket-activate"), reason="there is no systemd-socket-activate"
)


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The service's unit, with what the installation puts beside it, for a checkout with a difficult name."""
    root = tmp_path / "my 100% $HOME-site"
    root.mkdir()
    environ = {"XDG_CONFIG_HOME": str(tmp_path / "con fig")}
    place = place_of(root, tmp_path / "sta te" / "journal")
    service = units.systemd(place, "/bin/true", environ, tmp_path, on_demand=False)
    for part in service.parts:
        part.path.parent.mkdir(parents=True, exist_ok=True)
        part.path.write_text(part.text)
    return service.parts[0].path.with_name(service.name)


def analyze(*arguments: str | Path, tmp_path: Path, units: Path) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "XDG_RUNTIME_DIR": str(tmp_path),
        "SYSTEMD_LOG_LEVEL": "warning",
        "SYSTEMD_UNIT_PATH": f"{units}:",
    }
    return subprocess.run(["systemd-analyze", *arguments], env=environment, capture_output=True, text=True)


@needs_systemd
def test_systemd_has_nothing_to_say_against_the_units(installed: Path, tmp_path: Path) -> None:
    """Its exit status is 0 for an unknown key, too, so it is silence that counts."""
    for unit in (installed, installed.with_suffix(".socket")):
        said = analyze("verify", "--user", unit, tmp_path=tmp_path, units=installed.parent)
        assert not [line for line in said.stderr.splitlines() if "quire" in line], said.stderr
        assert said.returncode == 0


@needs_systemd
def test_systemd_would_say_something(installed: Path, tmp_path: Path) -> None:
    """The test above can fail: also for a line in what stands beside the unit."""
    (installed.with_name(f"{installed.name}.d") / "quire.conf").write_text("[Service]\nNoSuchThing=1\n")
    said = analyze("verify", "--user", installed, tmp_path=tmp_path, units=installed.parent)
    assert "NoSuchThing" in said.stderr


@needs_systemd
def test_what_the_unit_exposes_is_little(installed: Path, tmp_path: Path) -> None:
    """systemd's own measure, 0 to 10, in tenths; a bare unit has 96."""
    unit = tmp_path / "quired@tmp.service"
    unit.write_text((installed.parent / "quired@.service").read_text())
    said = analyze("security", "--offline=true", "--threshold=25", unit, tmp_path=tmp_path, units=tmp_path)
    assert said.returncode == 0, said.stdout[-400:] + said.stderr


@pytest.mark.parametrize("name", ["quired@.service", "quired@.socket"])
def test_each_setting_has_its_reason_beside_it(name: str) -> None:
    lines = (FOLDER / name).read_text().splitlines()
    plain = ("Description=", "[")  # they say it themselves, as what they are for does
    body = lines[lines.index("[Unit]") : lines.index("[Install]")]
    bare = [
        line
        for before, line in itertools.pairwise(body)
        if line and not line.startswith(("#", *plain)) and not before.startswith("#")
    ]
    assert bare == ["StartLimitBurst=5"] if name.endswith("service") else not bare


@pytest.mark.skipif(not shutil.which("systemd-escape"), reason="there is no systemd-escape")
def test_an_instance_is_named_as_systemd_names_it() -> None:
    paths = ["/home/me/site", "/", "/.hidden/.a", "/a b/c-d", "/über/x:y_z.1", "/a//b/", "/back\\slash/100%", "/a\nb/!"]
    wanted = subprocess.run(["systemd-escape", "--path", "--", *paths], capture_output=True, text=True, check=True)
    assert " ".join(units.escaped(Path(path)) for path in paths) == wanted.stdout.strip()


def test_a_path_that_makes_too_long_a_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match="makes a name of"):
        units.systemd(place_of(tmp_path / ("ü" * 60)), "/bin/true", {}, tmp_path, on_demand=False)


def test_a_socket_of_its_own_is_where_clients_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`%t` is the XDG_RUNTIME_DIR of the user's logins."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/tmp")
    place = place_of(tmp_path)
    listening = units.systemd(place, "/bin/true", {}, tmp_path, on_demand=True).parts[3]
    assert listening.path.parent.name == f"quired@{units.escaped(place.root)}.socket.d"
    assert re.findall(r"^ListenStream=(.*)$", listening.text, re.MULTILINE) == [f"%t/quire/{place.socket.name}"]


def test_launchd_gets_a_property_list(tmp_path: Path) -> None:
    place = place_of(tmp_path / "a & b", tmp_path / "state")
    service = units.launchd(place, "/opt/my tools/quired", {"XDG_STATE_HOME": "/s"}, tmp_path)
    (part,) = service.parts
    told = plistlib.loads(part.text.encode())
    assert part.path == tmp_path / "Library" / "LaunchAgents" / f"{told['Label']}.plist"
    assert told["ProgramArguments"] == [
        "/opt/my tools/quired",
        "--workspace",
        str(place.root),
        "--state-dir",
        str(place.state),
    ]
    assert told["EnvironmentVariables"] == {"XDG_STATE_HOME": "/s"}
    assert units.MARK in part.text
    assert service.stop[0][-1].endswith(f"/{told['Label']}")


def listens(path: Path) -> bool:
    """Does a process listen at a socket? Its file is there a moment before; a connection would start the service."""
    accepts = "00010000"  # __SO_ACCEPTCON
    rows = [line.split() for line in Path("/proc/net/unix").read_text().splitlines()]
    return any(row[3] == accepts and row[7:] == [str(path)] for row in rows)


@needs_activate
@pytest.mark.real
def test_a_client_that_finds_a_listening_socket_lets_its_owner_start_the_daemon(daemon) -> None:  # type: ignore[no-untyped-def]
    """As with `quired@.socket`: the client calls, systemd starts; the socket outlives the daemon."""
    home: live.Live = daemon()
    place = place_of(home.root, home.state_dir)
    place.socket.parent.mkdir(mode=0o700, parents=True)
    arguments = ["--workspace", str(place.root), "--state-dir", str(place.state)]
    activate = ["systemd-socket-activate", "-l", str(place.socket)]
    for name in ("QUIRE_TEST_MARK", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "HOME", "PATH"):
        activate += ["-E", name]
    with live.running(
        *activate, sys.executable, "-m", "quire_daemon", *arguments, stderr=subprocess.DEVNULL
    ) as systemd:
        live.eventually("it listens", lambda: listens(place.socket))
        with quire_client.connect(home.root, state_dir=home.state_dir, timeout_s=20) as client:
            assert live.ok(client.status())["pid"] == systemd.pid  # it became the daemon: nobody started another
            found = running(place)
            assert found is not None
            assert found.socket == str(place.socket)
            client.shutdown_daemon()
        assert systemd.wait(10) == 0
        assert place.socket.exists()  # systemd's own; it would listen there again
