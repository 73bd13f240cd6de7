"""The files that git processes leave in the folder of `quire setup git`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from quire_daemon.watch.git.trace2 import Commands
from quire_daemon.watch.git.trace_folder import MOST_FILES, MOST_READ, OLD_NS, TraceFolder

NOW = 1_790_000_000_000_000_000
ROOT = "/w/site"
PID = 0x1BB1
NAME = f"20261123T205435.646766Z-H0a7c9cdf-P{PID:08x}"


def told(event: str, **fields: Any) -> str:
    return json.dumps({"event": event, "sid": "s", **fields}, separators=(",", ":")) + "\n"


def begins(name: str, worktree: str = ROOT) -> str:
    parts = [
        told("start", argv=["git", name]),
        told("cmd_ancestry", ancestry=["sh", "claude"]),
        told("def_repo", repo=1, worktree=worktree),
        told("cmd_name", name=name),
        told("def_param", param="QUIRE_AGENT", value="codex"),
    ]
    return "".join(parts)


class Scene:
    def __init__(self, folder: Path) -> None:
        self.folder, self.commands, self.alive = folder, Commands(ROOT), {PID}
        self.trace = TraceFolder(folder, self.commands, lambda pid: pid in self.alive)

    def says(self, text: str, name: str = NAME) -> None:
        with open(self.folder / name, "a") as file:
            file.write(text)

    def look(self, now_ns: int = NOW) -> None:
        self.trace.look(lambda: now_ns)

    @property
    def names(self) -> list[str]:
        return sorted(os.listdir(self.folder))

    @property
    def ended(self) -> list[tuple[str, str, tuple[str, ...], int]]:
        return [(one.line, one.agent, one.parents, one.uid) for one in self.commands.ended]


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_a_command_runs_until_its_end_is_reported_and_its_file_is_removed(scene: Scene) -> None:
    assert not Scene(scene.folder / "none").trace.stirs()
    scene.says(begins("stash"))
    assert scene.trace.stirs()
    scene.look()
    assert scene.trace.stirs()
    assert [one.line for one in scene.commands.writing("f", NOW)] == ["stash"]
    scene.says(told("exit", code=0))
    scene.look()
    assert scene.ended == [("stash", "codex", ("sh", "claude"), os.getuid())]
    assert scene.names == []
    scene.look()
    assert not scene.trace.stirs()


def test_a_line_may_come_in_parts(scene: Scene) -> None:
    text = begins("checkout") + told("exit", code=1)
    for part in (text[:70], text[70:171], text[171:]):
        scene.says(part)
        scene.look()
    assert [one.exit_code for one in scene.commands.ended] == [1]


def test_what_a_command_reports_as_it_ends_is_read(scene: Scene) -> None:
    scene.says(begins("stash"))
    scene.look()

    def ends_now(pid: int) -> bool:
        scene.says(told("exit", code=3))
        return False

    scene.trace._is_alive = ends_now
    scene.look()
    assert [one.exit_code for one in scene.commands.ended] == [3]


def test_commands_go_on_though_the_folder_has_more_files_than_are_listed(scene: Scene) -> None:
    for number in range(8):
        scene.says(begins("rebase"), f"{number}{NAME}")
    scene.look()
    for number in range(2 * MOST_FILES):
        scene.says("", f"{number}-P00000001")
    scene.look()
    assert [one.line for one in scene.commands.writing("f", NOW)] == ["rebase"] * 8
    assert len([name for name in scene.names if name.endswith(NAME)]) == 8


def test_a_command_that_was_killed_is_over(scene: Scene) -> None:
    scene.says(begins("rebase"))
    scene.look()
    scene.alive.clear()
    scene.look()
    assert [one[0] for one in scene.ended] == ["rebase"]
    assert scene.names == []


def test_a_command_that_changes_nothing_leaves_no_file_and_no_record(scene: Scene) -> None:
    scene.says(begins("status"))
    scene.look()
    assert (scene.ended, scene.names) == ([], [])


def test_a_command_of_another_checkout_is_left_to_its_daemon_and_removed_when_it_is_old(scene: Scene) -> None:
    scene.says(begins("stash", "/elsewhere") + told("exit", code=0))
    scene.look()
    assert (scene.ended, scene.names) == ([], [NAME])
    changed = (scene.folder / NAME).stat().st_mtime_ns
    scene.look(changed + OLD_NS - 1)
    assert scene.names == [NAME]
    scene.look(changed + OLD_NS + 1)
    assert scene.names == []


def test_what_is_no_file_of_ours_is_not_read(scene: Scene) -> None:
    os.symlink("/etc/passwd", scene.folder / "link")
    os.mkfifo(scene.folder / "pipe")
    (scene.folder / "folder").mkdir()
    scene.says("no json\n\0\xff{", "odd")
    scene.look()
    assert scene.ended == []


def test_a_file_without_an_end_is_read_so_far_only(scene: Scene) -> None:
    scene.says("x" * (MOST_READ + 10))
    scene.look()
    scene.look()
    assert scene.commands.of(-1) is None


def test_what_runs_at_the_end_of_the_daemon_is_over(scene: Scene) -> None:
    scene.says(begins("stash"))
    scene.look()
    scene.trace.close()
    assert scene.commands.of(-1) is None
    assert [one[0] for one in scene.ended] == ["stash"]
