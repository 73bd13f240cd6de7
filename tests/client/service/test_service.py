"""`quire service`: what it writes, what it tells the service manager, and that it removes nothing but its own."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_line import FakeOpener

from quire_client.__main__ import main
from quire_client.service import units
from quire_journal.workspaces.identity import settle
from quire_journal.workspaces.layout import Place, place_of

Quire = Callable[..., dict[str, Any]]

pytestmark = pytest.mark.skipif(sys.platform == "darwin", reason="the service manager is another there")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A workspace, and a PATH that holds no service manager."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (tmp_path / "my site").mkdir()
    place = place_of(tmp_path / "my site")
    settle(place)
    monkeypatch.chdir(place.root)
    return place


@pytest.fixture
def quire(site: Place, capsys: pytest.CaptureFixture[str]) -> Quire:
    """`quire("install")` is the reply, with the exit status."""

    def run(*words: str) -> dict[str, Any]:
        status = main(["service", *words, "--json"], FakeOpener({}))
        return {**json.loads(capsys.readouterr().out), "status": status}

    return run


@pytest.fixture
def systemctl(tmp_path: Path) -> Callable[[], list[str]]:
    """A service manager that notes what it is told, and does as it should."""
    told = tmp_path / "told"
    program = tmp_path / "bin" / "systemctl"
    program.write_text(f'#!/bin/sh\necho "$*" >> "{told}"\n')
    program.chmod(0o755)

    def lines() -> list[str]:
        found = told.read_text().splitlines() if told.exists() else []
        told.unlink(missing_ok=True)
        return found

    return lines


def written(home: Path) -> dict[str, str]:
    return {str(path.relative_to(home)): path.read_text() for path in sorted(home.rglob("*")) if path.is_file()}


HOME_UNITS = ".config/systemd/user"


def test_an_installation_writes_four_files_and_starts_both_units(
    quire: Quire, site: Place, tmp_path: Path, systemctl: Callable[[], list[str]]
) -> None:
    reply = quire("install")
    name = f"quired@{units.escaped(site.root)}"
    assert reply["status"] == 0, reply
    assert reply["performed"]
    assert reply["message"] == f"The service {name}.service is installed."
    files = written(tmp_path / "home")
    assert set(files) == {
        f"{HOME_UNITS}/quired@.service",
        f"{HOME_UNITS}/quired@.socket",
        f"{HOME_UNITS}/{name}.service.d/quire.conf",
        f"{HOME_UNITS}/{name}.socket.d/quire.conf",
    }
    quired = Path(sys.executable).with_name("quired")
    assert f"ExecStart=:{quired} --workspace %f\n" in files[f"{HOME_UNITS}/quired@.service"]
    assert systemctl() == ["--user daemon-reload", f"--user enable --now {name}.socket {name}.service"]
    assert quire("status")["installed"] == "yes"


def test_a_second_installation_changes_nothing(quire: Quire, systemctl: Callable[[], list[str]]) -> None:
    quire("install")
    assert {file["action"] for file in quire("install")["files"]} == {"unchanged"}


def test_on_demand_only_the_socket_is_started(quire: Quire, systemctl: Callable[[], list[str]]) -> None:
    quire("install", "--on-demand")
    (enable,) = [line for line in systemctl() if "enable" in line]
    assert enable.endswith(".socket")


def test_what_was_installed_goes_again_and_nothing_else(
    quire: Quire, site: Place, tmp_path: Path, systemctl: Callable[[], list[str]]
) -> None:
    quire("install")
    folder = tmp_path / "home" / HOME_UNITS
    mine = folder / f"quired@{units.escaped(site.root)}.service.d" / "override.conf"
    mine.write_text("[Service]\nNice=0\n")
    (folder / "other.service").write_text("[Service]\n")
    systemctl()
    reply = quire("uninstall")
    assert reply["performed"]
    assert [line.split()[1] for line in systemctl()] == ["disable", "daemon-reload"]
    assert set(written(folder)) == {"other.service", str(mine.relative_to(folder))}
    assert site.identity_file.exists()  # the journal stays
    assert quire("uninstall")["message"].endswith("is not installed.")


def test_a_service_that_cannot_be_stopped_keeps_its_files(quire: Quire, tmp_path: Path) -> None:
    """It runs on, and nobody could see any more where it comes from."""
    program = tmp_path / "bin" / "systemctl"
    program.write_text("#!/bin/sh\n[ $2 = disable ] && echo 'Failed to connect to bus' && exit 1\nexit 0\n")
    program.chmod(0o755)
    quire("install")
    before = written(tmp_path / "home")
    refused = quire("uninstall")
    assert (refused["ok"], refused["error"]) == (False, "busy")
    assert "nothing was removed. " in refused["message"]
    assert "Failed to connect to bus" in refused["message"]
    assert written(tmp_path / "home") == before


def test_what_another_workspace_needs_stays(quire: Quire, tmp_path: Path, systemctl: Callable[[], list[str]]) -> None:
    (tmp_path / "other").mkdir()
    settle(place_of(tmp_path / "other"))
    quire("install")
    quire("install", str(tmp_path / "other"))
    quire("uninstall")
    left = set(written(tmp_path / "home" / HOME_UNITS))
    other = f"quired@{units.escaped(Path(os.path.realpath(tmp_path / 'other')))}"
    templates = {"quired@.service", "quired@.socket"}
    assert left == {*templates, f"{other}.service.d/quire.conf", f"{other}.socket.d/quire.conf"}
    quire("uninstall", str(tmp_path / "other"))
    assert not written(tmp_path / "home")


def test_a_dry_run_shows_everything_and_does_nothing(
    quire: Quire, tmp_path: Path, systemctl: Callable[[], list[str]]
) -> None:
    reply = quire("install", "--dry-run")
    assert {file["action"] for file in reply["files"]} == {"create"}
    assert any(command.startswith("systemctl --user enable --now ") for command in reply["commands"])
    assert not written(tmp_path / "home")
    assert systemctl() == []


def test_without_a_service_manager_it_is_said_what_to_run(quire: Quire, tmp_path: Path) -> None:
    reply = quire("install")
    assert reply["status"] == 0
    assert not reply["performed"]
    assert "There is no systemctl here: run what stands above yourself." in reply["message"]
    assert reply["commands"][0] == "systemctl --user daemon-reload"
    assert len(written(tmp_path / "home")) == 4


def test_a_failing_service_manager_leaves_the_remaining_commands_with_the_reason(quire: Quire, tmp_path: Path) -> None:
    program = tmp_path / "bin" / "systemctl"
    program.write_text('#!/bin/sh\n[ "$2" = daemon-reload ] || { echo "Failed to connect to bus" >&2; exit 1; }\n')
    program.chmod(0o755)
    reply = quire("install")
    assert not reply["performed"]
    assert "Failed to connect to bus" in reply["message"]
    assert [command.split()[2] for command in reply["commands"]] == ["enable"]


def test_a_unit_that_somebody_else_wrote_is_left_alone(quire: Quire, tmp_path: Path) -> None:
    unit = tmp_path / "home" / HOME_UNITS / "quired@.service"
    unit.parent.mkdir(parents=True)
    unit.write_text("[Service]\nExecStart=/bin/true\n")
    reply = quire("install")
    assert (reply["status"], reply["error"]) == (1, "config_unusable")
    assert "it is not one that `quire service install` has written" in reply["message"]
    assert written(tmp_path / "home") == {f"{HOME_UNITS}/quired@.service": "[Service]\nExecStart=/bin/true\n"}


@pytest.mark.parametrize("words", [[], ["start"], ["install", "a", "b"]])
def test_a_wrong_command_line_is_a_usage_error(words: list[str], quire: Quire) -> None:
    assert quire(*words)["status"] == 2


def test_the_units_are_found_by_an_installation() -> None:
    """Without them it could install nothing. `tests/test_packaging.py` looks into the wheel."""
    found = {path.name for folder in units._UNITS for path in folder.glob("quired@*")}
    assert found == {"quired@.service", "quired@.socket"}
