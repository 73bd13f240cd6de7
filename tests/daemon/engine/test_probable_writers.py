"""Who probably wrote, where neither bytes nor processes prove it: by command lines, and by the look of a change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memory_daemon import MemoryDaemon, lines
from quire_daemon.core.decision import Who
from quire_daemon.tools.agent_hooks import NATIVE_TOOL
from quire_daemon.tools.undo.tool import REDO_TOOL, UNDO_TOOL
from quire_journal.model.events import WorkspaceOpened, WorkspaceScanned, WriteAttributed

OLD = lines("a=1", "b=2", "def f(x,y):", "    return x")
FORMATTED = b"a = 1\nb = 2\n\n\ndef f(x, y):\n    return x\n"
SAVED = OLD + b"c=3\n"
ANN, BEN = "ann/s1", "ben/s2"


@pytest.fixture
def daemon() -> MemoryDaemon:
    daemon = MemoryDaemon()
    assert (daemon.ann.writer, daemon.ben.writer) == (1, 2)
    for path in ("src/a.py", "src/b.py", "notes.md"):
        daemon.outside(path, OLD)
    return daemon


def begins(daemon: MemoryDaemon, who: Who, command: str) -> None:
    assert daemon.call(NATIVE_TOOL, who, moment="before", tool="Bash", command=command)["ok"]


def ends(daemon: MemoryDaemon, who: Who, command: str, **args: Any) -> None:
    daemon.call(NATIVE_TOOL, who, moment="after", tool="Bash", command=command, **args)


def editing(daemon: MemoryDaemon, who: Who, moment: str, old: str, new: str, path: str = "src/a.py") -> None:
    payload = {"kind": "replace", "path": path, "edits": [{"old": old, "new": new}]}
    assert daemon.call(NATIVE_TOOL, who, moment=moment, tool="Edit", paths=[path], payloads=[payload])["ok"]


def last(daemon: MemoryDaemon, path: str = "src/a.py") -> tuple[str, str]:
    """(who is said to have written the newest version, by which evidence)."""
    with daemon.history() as history:
        head = history.file(path)
        assert head is not None
        return history.named(head.writer), head.evidence


def ran(daemon: MemoryDaemon, command: str, path: str, data: bytes) -> tuple[str, str]:
    """What is said of a write while Ann's command ran."""
    begins(daemon, daemon.ann, command)
    daemon.outside(path, data)
    ends(daemon, daemon.ann, command)
    return last(daemon, path)


def test_the_last_call_is_the_newest_one_though_it_is_only_probable(daemon: MemoryDaemon) -> None:
    """An undo of it took an older call, of which nobody had thought."""
    daemon.write("notes.md", OLD + b"proved\n", daemon.ann)
    assert ran(daemon, "sed -i s/b=2/b=3/ src/a.py", "src/a.py", OLD.replace(b"b=2", b"b=3")) == (ANN, "during")
    refused = daemon.call(UNDO_TOOL, daemon.ann, last=1)
    assert (refused["error"], "`--probable` takes it back, too" in refused["message"]) == ("not_found", True)
    both = daemon.call(UNDO_TOOL, daemon.ann, last=2)
    assert [file["path"] for file in both["files"] if file["action"] != "none"] == ["notes.md"]
    assert daemon.call(UNDO_TOOL, daemon.ann, last=1, probable=True)["ok"]
    assert daemon.files["src/a.py"] == OLD


@pytest.mark.parametrize("choice", [{}, {"last": 1}, {"writer": "ann", "last": 1}])
def test_of_a_last_call_that_is_probable_in_part_the_proved_part_goes_back(
    daemon: MemoryDaemon, choice: dict[str, Any]
) -> None:
    daemon.write("notes.md", OLD + b"older\n", daemon.ann)
    daemon.after(60)
    command = "sed -i s/b=2/b=3/ src/a.py src/b.py"
    begins(daemon, daemon.ann, command)
    for path in ("src/a.py", "src/b.py"):
        daemon.outside(path, OLD.replace(b"b=2", b"b=3"))
    ends(daemon, daemon.ann, command)
    with daemon.history() as history:
        first = history.file("src/a.py")
    assert first is not None
    daemon.note(WriteAttributed((first.seq,), daemon.ann.writer, "traced", _burst(daemon)))
    assert (last(daemon), last(daemon, "src/b.py")) == ((ANN, "traced"), (ANN, "during"))
    assert daemon.call(UNDO_TOOL, daemon.ann, **choice)["ok"]
    assert [daemon.files[path] == OLD for path in ("src/a.py", "src/b.py", "notes.md")] == [True, False, False]


def _burst(daemon: MemoryDaemon) -> int:
    with daemon.history() as history:
        return next(iter(history.bursts())).number


def test_a_story_marks_the_files_that_are_only_probable(daemon: MemoryDaemon) -> None:
    ran(daemon, "sed -i s/b=2/b=3/ src/a.py", "src/a.py", OLD.replace(b"b=2", b"b=3"))
    (story,) = daemon.ask("stories", {"writer": "ann"})["stories"]
    assert (story["probable"], "probable" in story["files"][0]) == (True, False)
    daemon.write("notes.md", OLD + b"proved\n", daemon.ann)
    (story,) = daemon.ask("stories", {"writer": "ann"})["stories"]
    marks = {file["path"]: file.get("probable") for file in story["files"]}
    assert ("probable" in story, marks) == (False, {"src/a.py": True, "notes.md": None})


# ── what the change looks like ───────────────────────────────────────────────


def test_a_formatter_accounts_for_text_that_is_set_anew_and_nothing_else(daemon: MemoryDaemon) -> None:
    assert ran(daemon, "black src", "src/a.py", FORMATTED) == (ANN, "during")
    assert ran(daemon, "black src", "src/b.py", SAVED) == ("outside", "watched")
    assert ran(daemon, "gofmt -w x.go", "x.go", b'import (\n\t"a"\n)\n') == ("outside", "watched")


def test_a_formatter_may_sort_lines(daemon: MemoryDaemon) -> None:
    assert ran(daemon, "ruff format .", "src/a.py", lines("b = 2", "a = 1", "def f(x, y):", "    return x"))[0] == ANN


@pytest.mark.parametrize("command", ["make gen", "npm run codegen", "echo done > src/a.py", "cargo add serde"])
def test_text_that_is_only_set_anew_is_of_no_program_that_does_not_do_that(daemon: MemoryDaemon, command: str) -> None:
    assert ran(daemon, command, "src/a.py", FORMATTED) == ("outside", "watched")


def test_what_edits_a_file_in_place_may_set_text_anew(daemon: MemoryDaemon) -> None:
    assert ran(daemon, "make format", "notes.md", FORMATTED) == (ANN, "during")
    assert ran(daemon, "sed -i -f fix.sed src/a.py", "src/a.py", FORMATTED) == (ANN, "during")
    assert ran(daemon, "eslint --fix src/b.ts", "src/b.ts", b"x\n") == (ANN, "during")


def test_a_command_that_may_write_any_file_accounts_for_new_and_generated_ones(daemon: MemoryDaemon) -> None:
    assert ran(daemon, "make gen", "api/client.py", b"one\n") == (ANN, "during")
    assert ran(daemon, "make gen", "api/client.py", b"two\n") == (ANN, "during")
    assert ran(daemon, "make gen", "src/a.py", SAVED) == ("outside", "watched")
    daemon.outside("src/c.py", b"# Code generated by a tool. DO NOT EDIT.\nold\n")
    assert ran(daemon, "make gen", "src/c.py", b"# Code generated by a tool. DO NOT EDIT.\nnew\n") == (ANN, "during")
    daemon.outside("src/types.gen.ts", b"old\n")
    assert ran(daemon, "make gen", "src/types.gen.ts", b"new\n") == (ANN, "during")


@pytest.mark.parametrize("command", ["cp -r src lib", "cd . && cp -a ./src lib/", "cp -R /home/x/src /home/x/lib"])
def test_a_copy_of_a_folder_accounts_for_the_files_that_are_as_in_there_and_no_others(
    daemon: MemoryDaemon, command: str
) -> None:
    daemon.outside("src/a.py", SAVED)
    assert ran(daemon, command, "lib/a.py", SAVED) == (ANN, "during")
    assert ran(daemon, command, "lib/b.py", b"something else\n") == ("outside", "watched")
    assert ran(daemon, command, "lib/c.py", SAVED) == ("outside", "watched")
    assert ran(daemon, command, "src/b.py", SAVED) == ("outside", "watched")
    assert ran(daemon, "cp src lib2", "lib2/a.py", SAVED) == ("outside", "watched")


@pytest.mark.parametrize("gone", [False, True])
def test_a_folder_that_a_command_made_or_removed_is_undone_as_probable(daemon: MemoryDaemon, gone: bool) -> None:
    command, folder = ("rmdir new" if gone else "mkdir new"), Path(daemon.files.at("new"))
    if gone:
        folder.mkdir()
        daemon.look_at("new")
    begins(daemon, daemon.ann, command)
    folder.rmdir() if gone else folder.mkdir()
    daemon.look_at("new")
    ends(daemon, daemon.ann, command)
    left = daemon.call(UNDO_TOOL, daemon.ben, writer="ann")
    assert (left["error"], folder.is_dir()) == ("not_found", not gone)
    assert daemon.call(UNDO_TOOL, daemon.ben, writer="ann", probable=True)["ok"]
    assert folder.is_dir() is gone
    assert daemon.call(REDO_TOOL, daemon.ben)["ok"]
    assert folder.is_dir() is not gone


# ── what the program can make of the file ──

CHANGED = OLD.replace(b"a=1", b"a=3")
MORE = OLD.replace(b"a=1\n", b"a=1\nown=1\n")


@pytest.mark.parametrize(
    ("command", "made"),
    [
        ("sed -i s/a=1/a=3/ src/a.py", CHANGED),
        ("sed -i 's/a=[0-9]/a=3/' src/a.py", CHANGED),
        ("sed -i 1d src/a.py", OLD.split(b"\n", 1)[1]),
        ("sed -i -e '/zz/d; s/a=1/a=3/' src/a.py", CHANGED),
        ("sed -i 's/a=1/a=1\\nown=1/' src/a.py", MORE),
        ("sed -i '1a own=1' src/a.py", MORE),
        ("cat more >> src/a.py", SAVED),
        ("ls | tee -a src/a.py", SAVED),
        ("./fill.sh > src/a.py", MORE),
        ("sed -i s/b=2/b=5/ src/a.py && cat more >> src/a.py", OLD.replace(b"b=2", b"b=5") + b"c=3\n"),
    ],
)
def test_a_command_wrote_what_its_program_makes_of_the_file(daemon: MemoryDaemon, command: str, made: bytes) -> None:
    assert ran(daemon, command, "src/a.py", made) == (ANN, "during")


@pytest.mark.parametrize(
    ("command", "made"),
    [
        ("sed -i s/a=1/a=3/ src/a.py", MORE),
        ("sed -i s/a=1/a=3/ src/a.py", OLD.replace(b"a=1", b"a=4")),
        ("sed -i s/a=1/a=3/ src/a.py", OLD.replace(b"b=2", b"b=3")),
        ("sed -i s/a=1/a=3/ src/a.py", FORMATTED),
        ("sed -i 's/a=[0-9]/a=3/' src/a.py", MORE),
        ("sed -i 1d src/a.py", MORE),
        ("cat more >> src/a.py", MORE),
        ("ls | tee -a src/a.py", CHANGED),
    ],
)
def test_what_its_program_cannot_make_of_the_file_is_no_commands(
    daemon: MemoryDaemon, command: str, made: bytes
) -> None:
    assert ran(daemon, command, "src/a.py", made) == ("outside", "watched")


def test_a_command_that_fills_a_file_once_did_not_do_so_twice(daemon: MemoryDaemon) -> None:
    begins(daemon, daemon.ann, "./fill.sh > src/a.py")
    for data in (MORE, CHANGED):
        daemon.outside("src/a.py", data)
    ends(daemon, daemon.ann, "./fill.sh > src/a.py")
    assert last(daemon) == ("outside", "overlap")


def test_a_file_that_a_command_fills_may_grow(daemon: MemoryDaemon) -> None:
    begins(daemon, daemon.ann, "./fill.sh > src/a.py")
    for data in (b"one\n", b"one\ntwo\n"):
        daemon.outside("src/a.py", data)
    ends(daemon, daemon.ann, "./fill.sh > src/a.py")
    assert last(daemon) == (ANN, "during")


def test_a_file_that_a_command_changed_once_is_no_generated_one(daemon: MemoryDaemon) -> None:
    assert ran(daemon, "cat more >> src/a.py", "src/a.py", SAVED) == (ANN, "during")
    assert ran(daemon, "make gen", "src/a.py", MORE) == ("outside", "watched")


def test_what_git_set_back_is_of_no_formatter_of_an_edit(daemon: MemoryDaemon) -> None:
    editing(daemon, daemon.ann, "before", "a=1", "a=10")
    daemon.outside("src/a.py", OLD.replace(b"a=1", b"a=10"))
    daemon.app.observer.hint = lambda *_: "git checkout main"
    daemon.outside("src/a.py", FORMATTED.replace(b"a = 1", b"a = 10"))
    editing(daemon, daemon.ann, "after", "a=1", "a=10")
    assert last(daemon) == ("outside", "watched")


@pytest.mark.parametrize("command", ["./fill.sh > src/a.py", "black src"])
def test_bytes_that_stood_there_before_are_brought_back_by_nobody_known(daemon: MemoryDaemon, command: str) -> None:
    daemon.outside("src/a.py", FORMATTED)
    daemon.outside("src/a.py", OLD)
    assert ran(daemon, command, "src/a.py", FORMATTED) == ("outside", "watched")


def test_what_the_script_of_a_command_makes_once_more_is_the_commands(daemon: MemoryDaemon) -> None:
    for _ in range(2):
        daemon.outside("src/b.py", b"a\n")
        assert ran(daemon, "sed -i s/a/b/ src/b.py", "src/b.py", b"b\n") == (ANN, "during")


# ── while the daemon was away ──


def started(daemon: MemoryDaemon, reason: str = "start", opened: bool = True) -> None:
    """What the journal has of the time when the next daemon started and compared the tree."""
    if opened:
        daemon.note(WorkspaceOpened("/", "another", "0"))
    daemon.watch("scanned")
    daemon.note(WorkspaceScanned(reason, 3, 1))


def test_what_a_command_wrote_while_the_daemon_was_away_is_younger_than_its_call(daemon: MemoryDaemon) -> None:
    begins(daemon, daemon.ann, "cat more >> src/a.py")
    daemon.save("src/a.py", SAVED)
    daemon.kill()
    started(daemon)
    ends(daemon, daemon.ann, "cat more >> src/a.py")
    assert last(daemon) == (ANN, "during")


def test_what_an_edit_may_have_written_meanwhile_is_no_commands(daemon: MemoryDaemon) -> None:
    editing(daemon, daemon.ben, "before", "a=1", "a=10")
    begins(daemon, daemon.ann, "./fill.sh > src/a.py")
    daemon.save("src/a.py", b"other\n")
    daemon.kill()
    started(daemon)
    ends(daemon, daemon.ann, "./fill.sh > src/a.py")
    assert last(daemon) == ("outside", "scanned")


@pytest.mark.parametrize(("reason", "opened"), [("periodic", False), ("overflow", False), ("rules", True)])
def test_what_another_comparison_found_may_be_older_than_the_call(
    daemon: MemoryDaemon, reason: str, opened: bool
) -> None:
    begins(daemon, daemon.ann, "cat more >> src/a.py")
    daemon.save("src/a.py", SAVED)
    started(daemon, reason, opened)
    ends(daemon, daemon.ann, "cat more >> src/a.py")
    assert last(daemon) == ("outside", "scanned")


def test_what_the_comparison_at_the_start_finds_after_the_call_began_may_be_older(daemon: MemoryDaemon) -> None:
    daemon.note(WorkspaceOpened("/", "another", "0"))
    begins(daemon, daemon.ann, "cat more >> notes.md")
    daemon.save("notes.md", SAVED)
    started(daemon, opened=False)
    ends(daemon, daemon.ann, "cat more >> notes.md")
    assert last(daemon, "notes.md") == ("outside", "scanned")


# ── several commands ─────────────────────────────────────────────────────────


def test_the_command_that_names_a_file_wrote_it_rather_than_one_that_may_write_any(daemon: MemoryDaemon) -> None:
    begins(daemon, daemon.ann, "make gen")
    begins(daemon, daemon.ben, "cp x src/new.py")
    daemon.outside("src/new.py", b"new\n")
    ends(daemon, daemon.ann, "make gen")
    assert last(daemon, "src/new.py") == (BEN, "during")


def test_the_formatter_set_text_anew_rather_than_a_command_that_names_the_file(daemon: MemoryDaemon) -> None:
    begins(daemon, daemon.ann, "sed -i s/x/y/ src/a.py")
    begins(daemon, daemon.ben, "black .")
    daemon.outside("src/a.py", FORMATTED)
    ends(daemon, daemon.ann, "sed -i s/x/y/ src/a.py")
    assert last(daemon) == (BEN, "during")


@pytest.mark.parametrize(("path", "wrote"), [("web/api.ts", BEN), ("api/out.py", ANN)])
def test_a_command_for_one_language_made_files_of_that_one(daemon: MemoryDaemon, path: str, wrote: str) -> None:
    begins(daemon, daemon.ann, "make gen")
    begins(daemon, daemon.ben, "npm run codegen")
    daemon.outside(path, b"new\n")
    ends(daemon, daemon.ann, "make gen")
    assert last(daemon, path) == (wrote, "during")


def test_the_command_that_made_a_file_before_made_it_again(daemon: MemoryDaemon) -> None:
    assert ran(daemon, "make gen", "api/out.txt", b"one\n") == (ANN, "during")
    begins(daemon, daemon.ann, "just gen")
    begins(daemon, daemon.ben, "make gen")
    daemon.outside("api/out.txt", b"two\n")
    ends(daemon, daemon.ann, "just gen")
    assert last(daemon, "api/out.txt") == (BEN, "during")


def test_commands_of_several_agents_that_name_a_file_are_candidates(daemon: MemoryDaemon) -> None:
    for who in (daemon.ann, daemon.ben):
        begins(daemon, who, "cat x >> src/a.py")
    daemon.outside("src/a.py", SAVED)
    ends(daemon, daemon.ann, "cat x >> src/a.py")
    assert last(daemon) == ("outside", "overlap")


def test_commands_of_one_session_that_name_a_file_are_no_rivals(daemon: MemoryDaemon) -> None:
    for command in ("sed -i s/x/y/ src/a.py", "cat x >> src/a.py"):
        begins(daemon, daemon.ann, command)
    daemon.outside("src/a.py", SAVED)
    ends(daemon, daemon.ann, "cat x >> src/a.py")
    assert last(daemon) == (ANN, "during")


def test_a_file_for_which_no_command_accounts_is_nobodys(daemon: MemoryDaemon) -> None:
    commands = {daemon.ann: "pytest -q", daemon.ben: "cat notes.md"}
    for who, command in commands.items():
        begins(daemon, who, command)
    daemon.outside("src/a.py", SAVED)
    for who, command in commands.items():
        ends(daemon, who, command)
    assert last(daemon) == ("outside", "watched")


def test_the_end_of_a_command_is_told_from_that_of_another_where_calls_have_no_numbers(daemon: MemoryDaemon) -> None:
    for command in ("cp x src/new.py", "pytest -q"):
        begins(daemon, daemon.ann, command)
    daemon.outside("src/new.py", b"new\n")
    ends(daemon, daemon.ann, "cp x src/new.py")
    assert last(daemon, "src/new.py") == (ANN, "during")
    with daemon.history() as history:
        assert [burst.command for burst in history.open_bursts()] == ["pytest -q"]


# ── commands beside edits ────────────────────────────────────────────────────


@pytest.mark.parametrize("first", ["edit", "command"], ids=["edit first", "command first"])
def test_a_command_wrote_what_an_edit_that_waits_does_not_account_for(daemon: MemoryDaemon, first: str) -> None:
    """Whichever of the calls ends first."""
    editing(daemon, daemon.ann, "before", "a=1", "a=10")
    begins(daemon, daemon.ben, "cat x >> src/a.py")
    daemon.outside("src/a.py", SAVED)
    if first == "edit":
        daemon.call(NATIVE_TOOL, daemon.ann, moment="end")
    else:
        ends(daemon, daemon.ben, "cat x >> src/a.py")
    assert last(daemon) == (BEN, "during")


def test_an_edit_of_which_nobody_knows_what_it_makes_may_have_written_the_file(daemon: MemoryDaemon) -> None:
    args = {"tool": "Edit", "paths": ["src/a.py"]}
    daemon.call(NATIVE_TOOL, daemon.ann, moment="before", **args)
    begins(daemon, daemon.ben, "cat x >> src/a.py")
    daemon.outside("src/a.py", SAVED)
    ends(daemon, daemon.ben, "cat x >> src/a.py")
    assert last(daemon) == ("outside", "watched")
    daemon.call(NATIVE_TOOL, daemon.ann, moment="after", **args)
    assert last(daemon) == ("outside", "overlap")


def test_an_edit_that_failed_is_no_candidate(daemon: MemoryDaemon) -> None:
    editing(daemon, daemon.ann, "before", "a=1", "a=10")
    begins(daemon, daemon.ben, "cat x >> src/a.py")
    daemon.outside("src/a.py", SAVED)
    daemon.call(NATIVE_TOOL, daemon.ann, moment="after", tool="Edit", paths=["src/a.py"], ok=False)
    ends(daemon, daemon.ben, "cat x >> src/a.py")
    assert last(daemon) == (BEN, "during")


def test_the_own_formatter_of_an_edit_comes_before_a_command_that_names_the_file(daemon: MemoryDaemon) -> None:
    begins(daemon, daemon.ben, "sed -i s/x/y/ src/a.py")
    editing(daemon, daemon.ann, "before", "a=1", "a=10")
    for data in (OLD.replace(b"a=1", b"a=10"), FORMATTED.replace(b"a = 1", b"a = 10")):
        daemon.outside("src/a.py", data)
    ends(daemon, daemon.ben, "sed -i s/x/y/ src/a.py")
    editing(daemon, daemon.ann, "after", "a=1", "a=10")
    assert last(daemon) == (ANN, "during")


def test_another_agents_formatter_and_that_of_an_edit_are_both_candidates(daemon: MemoryDaemon) -> None:
    begins(daemon, daemon.ben, "black src")
    editing(daemon, daemon.ann, "before", "a=1", "a=10")
    for data in (OLD.replace(b"a=1", b"a=10"), FORMATTED.replace(b"a = 1", b"a = 10")):
        daemon.outside("src/a.py", data)
    editing(daemon, daemon.ann, "after", "a=1", "a=10")
    ends(daemon, daemon.ben, "black src")
    assert last(daemon) == ("outside", "overlap")


def test_a_formatter_that_runs_over_the_tree_is_not_that_of_an_edit(daemon: MemoryDaemon) -> None:
    editing(daemon, daemon.ann, "before", "a=1", "a=10")
    daemon.outside("src/a.py", OLD.replace(b"a=1", b"a=10"))
    daemon.outside("src/b.py", FORMATTED)
    daemon.outside("src/a.py", FORMATTED.replace(b"a = 1", b"a = 10"))
    editing(daemon, daemon.ann, "after", "a=1", "a=10")
    assert last(daemon) == ("outside", "watched")


# ── calls that nobody ends ───────────────────────────────────────────────────


def test_what_a_command_wrote_whose_end_nobody_tells_is_told_when_its_time_is_over(daemon: MemoryDaemon) -> None:
    begins(daemon, daemon.ann, "cp x src/new.py; cp x src/later.py")
    daemon.outside("src/new.py", b"new\n")
    daemon.after(300)
    daemon.outside("src/later.py", b"a person's\n")
    daemon.after(1000)
    daemon.app.burst_expiry.tidy()
    daemon.recorder.commit()
    assert last(daemon, "src/new.py") == (ANN, "during")
    assert last(daemon, "src/later.py") == ("outside", "watched"), "so long no command is taken to run"
    with daemon.history() as history:
        assert history.open_bursts() == []


def test_a_call_that_may_have_been_declined_removed_nothing_for_sure(daemon: MemoryDaemon) -> None:
    """A person said no to `rm`, and what the person then removed was the agent's, and came back with an undo."""
    begins(daemon, daemon.ann, "rm -r src && sed -i s/b=2/b=3/ notes.md")
    daemon.outside_deletes("src/a.py")
    daemon.outside("notes.md", OLD.replace(b"b=2", b"b=3"))
    daemon.call(NATIVE_TOOL, daemon.ann, moment="turn")
    assert last(daemon) == ("outside", "overlap")
    assert last(daemon, "notes.md") == (ANN, "during"), "of bytes the count of its process would have said if not"
