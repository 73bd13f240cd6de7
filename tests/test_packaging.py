"""The package says one version everywhere and leaves no folder behind."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

import quire_journal
from quire_client.commands.table import COMMANDS

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_the_version_in_the_code_is_the_one_in_pyproject() -> None:
    assert PYPROJECT["project"]["version"] == quire_journal.VERSION


def test_the_changelog_has_an_entry_for_this_version() -> None:
    assert f"## [{quire_journal.VERSION}]" in (ROOT / "CHANGELOG.md").read_text()


def test_every_folder_with_python_in_the_source_roots_is_a_package_in_the_wheel() -> None:
    """An editable install imports a folder that the wheel would silently leave out."""
    listed = {ROOT / folder for folder in PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]}
    for source_root in ("journal", "daemon", "client"):
        for path in (ROOT / source_root).rglob("*.py"):
            if path.parent == ROOT / "client" / "examples":
                continue  # programs to be read and run, for nobody to import
            assert any(package in path.parents for package in listed), f"{path} is in no package of the wheel"
            assert (path.parent / "__init__.py").is_file(), f"{path.parent} has no __init__.py"


def test_the_sdk_of_mcp_comes_with_its_extra_alone() -> None:
    """Its forty packages are half of the time that an installation takes."""
    project = PYPROJECT["project"]
    names = {name: [one.partition(">")[0] for one in extra] for name, extra in project["optional-dependencies"].items()}
    assert "mcp" not in [one.partition(">")[0] for one in project["dependencies"]]
    assert names["mcp"] == ["mcp"]
    assert "quire[mcp,page,ui,ship,hub]" in names["dev"]


def test_textual_comes_with_its_extra_alone() -> None:
    project = PYPROJECT["project"]
    assert not [one for one in project["dependencies"] if one.startswith("textual")]
    assert project["optional-dependencies"]["ui"] == ["textual>=8.2,<9"]


def test_every_package_is_marked_as_typed() -> None:
    for folder in PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]:
        assert (ROOT / folder / "py.typed").is_file()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT]
    built = subprocess.run(build, capture_output=True, text=True)
    if built.returncode and "hatchling" in built.stderr:
        pytest.skip("what builds the wheel cannot be had here")
    assert built.returncode == 0, built.stderr
    (made,) = folder.glob("*.whl")
    return made


@pytest.mark.campaign  # it asks the package index for what builds the wheel
@pytest.mark.timeout(300)
def test_the_wheel_has_the_marks_of_types_and_the_units_of_the_service(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {f"{package}/py.typed" for package in ("quire_journal", "quire_daemon", "quire_client")} <= {*names}
    assert {f"quire_client/service/quired@.{kind}" for kind in ("service", "socket")} <= {*names}
    assert {f"quire_client/page/static/{one}" for one in ("index.html", "LICENSES.txt")} <= {*names}
    assert not [name for name in names if "node_modules" in name or name.endswith(".tsx")]
    assert not [name for name in names if "example" in name or "test" in name]


def installed(installer: str, wheel: Path, top: Path) -> Path:
    """The folder of `quire`, installed into an empty environment by pip, pipx or uv."""
    wanted = f"quire[mcp,page,syntax,ui] @ {wheel.as_uri()}"
    run = functools.partial(subprocess.run, check=True, capture_output=True, env={**os.environ, "HOME": os.fspath(top)})
    run([sys.executable, "-m", "venv", top / "tools"])
    pip = [top / "tools" / "bin" / "python", "-m", "pip", "install", "--quiet"]
    if installer == "pip":
        run([*pip, wanted])
        return top / "tools" / "bin"
    run([*pip, installer])
    tool = top / "tools" / "bin" / installer
    run([tool, "install", wanted] if installer == "pipx" else [tool, "tool", "install", wanted])
    return top / ".local" / "bin"


@pytest.mark.campaign  # it asks the package index for all that Quire needs
@pytest.mark.timeout(600)
@pytest.mark.parametrize("installer", ["pip", "pipx", "uv"])
def test_every_command_starts_after_an_install_of_the_wheel(installer: str, wheel: Path, tmp_path: Path) -> None:
    quire = installed(installer, wheel, tmp_path) / "quire"
    for name in COMMANDS:
        said = subprocess.run([quire, name, "--help"], capture_output=True, text=True)
        assert (said.returncode, said.stderr) == (0, ""), name
        assert f"quire {name}" in said.stdout
    (tmp_path / "site").mkdir()
    environ = {**os.environ, **{f"XDG_{one}_HOME": str(tmp_path / one) for one in ("STATE", "CONFIG")}}
    environ |= {"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)}
    with contextlib.ExitStack() as stack:
        stack.callback(subprocess.run, [quire, "down", "-C", tmp_path / "site"], env=environ, capture_output=True)
        for words in (["up", "."], ["setup", "claude-code"], ["doctor"], ["log"], ["verify"]):
            ran = subprocess.run([quire, *words], cwd=tmp_path / "site", env=environ, capture_output=True, text=True)
            assert ran.returncode == 0, (words, ran.stdout, ran.stderr)


def test_nothing_that_the_packages_need_is_left_out_of_what_git_and_so_the_wheel_has() -> None:
    """The builder takes what git does not ignore: marks of types, units, the built page, texts, tables, scripts."""
    wanted = [
        path
        for folder in ("journal", "daemon", "client", "systemd")
        for path in (ROOT / folder).rglob("*")
        if path.is_file()
    ]
    needed = [
        path
        for path in wanted
        if path.name == "py.typed" or path.name.startswith("quired@") or path.parent.name == "static"
    ]
    assert len(needed) == 5 + len({"index.html", "LICENSES.txt", "script", "style"})
    texts = (".md", ".toml", ".bash", ".zsh", ".fish")
    needed += [path for path in wanted if path.parts[len(ROOT.parts) + 1].startswith("quire_") and path.suffix in texts]
    if shutil.which("git") and (ROOT / ".git").exists():
        ignored = subprocess.run(["git", "check-ignore", *needed], cwd=ROOT, capture_output=True, text=True)
        assert ignored.stdout == ""


def test_quire_version_prints_the_version() -> None:
    quire = Path(sysconfig.get_path("scripts"), "quire")
    said = subprocess.run([quire, "--version"], capture_output=True, text=True, check=True)
    assert said.stdout.split() == ["quire", quire_journal.VERSION]
    assert said.stderr == ""


def test_both_commands_are_installed_and_importable() -> None:
    names = {
        point.name: point for point in metadata.distribution("quire").entry_points if point.group == "console_scripts"
    }
    assert set(names) == {"quire", "quired"}
    for point in names.values():
        assert callable(point.load())


def test_the_daemon_runs_as_a_module() -> None:
    """The client starts it that way: the interpreter that runs the client is the one that has the daemon."""
    said = subprocess.run(
        [sys.executable, "-m", "quire_daemon", "--version"], capture_output=True, text=True, check=True
    )
    assert quire_journal.VERSION in said.stdout
