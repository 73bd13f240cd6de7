"""`stories`: what is told of each story, its files with their lines and definitions, and the filters."""

from __future__ import annotations

from typing import Any

import pytest

from memory_daemon import MemoryDaemon, lines
from quire_daemon.tools.history.pages import MOST_UNDONE
from quire_daemon.tools.history.stories import MOST_FILES, STORIES_TOOL
from quire_daemon.tools.undo.tool import UNDO_TOOL
from quire_journal.model.events import (
    FOLDER,
    BurstBegun,
    BurstEnded,
    CaptureFailed,
    CheckpointNamed,
    EditRefused,
    GitRan,
    OutsideDeleted,
    OutsideWritten,
    TurnBegan,
    WorkspaceScanned,
    WriteAttributed,
)
from quire_journal.model.ids import blob_id

CLOCK = "class Clock:\n    def now(self):\n        return 1\n\n    def later(self):\n        return 2\n"


def told(daemon: MemoryDaemon, **asked: Any) -> list[dict[str, Any]]:
    """The stories."""
    found: list[dict[str, Any]] = daemon.call(STORIES_TOOL, daemon.ann, **asked)["stories"]
    return found


def saved(daemon: MemoryDaemon, path: str, hint: str = "", evidence: str = "watched") -> int:
    """Another program saved a file of one line; the record."""
    return daemon.note(OutsideWritten(path, blob_id(b"x\n"), 2, 0o644, evidence, hint=hint), blobs=(b"x\n",))


def day() -> MemoryDaemon:
    """Ann's turn, Ben's work without one, a person who saves, git."""
    daemon = MemoryDaemon()
    daemon.outside("clock.py", CLOCK.encode())
    ann = daemon.introduce("ann", "s1", "t1")
    daemon.note(TurnBegan("make it three\nplease"), who=ann)
    daemon.write("clock.py", CLOCK.replace("2", "3").encode(), ann)
    daemon.write("docs/new.md", lines("one", "two"), ann)
    daemon.write("clock.py", CLOCK.replace("2", "4").encode(), daemon.ben)
    daemon.note(GitRan("commit -m x", head_before="main 1111111", head_after="main 2222222"))
    return daemon


def test_a_turn_tells_its_prompt_and_of_each_file_the_lines_and_the_definitions() -> None:
    turn = told(day())[2]
    assert (turn["form"], turn["prompt"], turn["writer"]["agent"]) == ("turn", "make it three\nplease", "ann")
    new, clock = turn["files"]
    assert (new["path"], new["status"], new["added"], new["removed"]) == ("docs/new.md", "added", 2, 0)
    assert (clock["status"], clock["added"], clock["removed"], clock["symbols"]) == ("changed", 1, 1, ["Clock.later"])
    assert [(call["label"], call["paths"]) for call in turn["calls"]] == [
        ("edit", ["clock.py"]),
        ("edit", ["docs/new.md"]),
    ]


def test_the_lines_that_another_wrote_in_between_are_not_counted() -> None:
    daemon = day()
    ann = daemon.introduce("ann", "s1", "t1", "later")
    daemon.write("clock.py", CLOCK.replace("2", "4").replace("1", "5").encode(), ann)
    (clock,) = [file for file in told(daemon)[0]["files"] if file["path"] == "clock.py"]
    assert (clock["added"], clock["removed"], clock["symbols"]) == (2, 2, ["Clock.now", "Clock.later"])


def test_changes_of_a_file_count_net_of_one_another_where_another_wrote_between() -> None:
    """A new file, whose author changed a line of it after another had written there, was told as added and `-1`."""
    daemon = MemoryDaemon()
    ann = daemon.introduce("ann", "s1", "t1")
    daemon.note(TurnBegan("go"), who=ann)
    daemon.write("n.txt", lines("a", "b", "c", "d"), ann)
    daemon.write("n.txt", lines("a", "ben's", "b", "c", "d"), daemon.ben)
    daemon.write("n.txt", lines("a", "ben's", "b", "c", "D"), ann)
    (turn,) = (one for one in told(daemon) if one["form"] == "turn" and one["writer"]["agent"] == "ann")
    assert [(f["status"], f["added"], f["removed"]) for f in turn["files"]] == [("added", 4, 0)]


def test_a_file_that_went_and_came_back_between_is_counted_once() -> None:
    """Ann's new file of one line was told with two lines more and one less, after a branch went away and came back."""
    daemon = MemoryDaemon()
    ann = daemon.introduce("ann", "s1", "t1")
    daemon.note(TurnBegan("go"), who=ann)
    daemon.write("n.txt", lines("x"), ann)
    daemon.outside_deletes("n.txt")
    daemon.outside("n.txt", lines("x"))
    daemon.write("n.txt", lines("y"), ann)
    (turn,) = (one for one in told(daemon) if one["form"] == "turn")
    assert [(f["status"], f["added"], f["removed"]) for f in turn["files"]] == [("added", 1, 0)]


def test_a_file_that_git_removes_and_writes_again_is_told_by_what_changed() -> None:
    """`git checkout` of a file that it took for changed was told as every line of it gone, and come."""
    daemon = day()
    daemon.outside_deletes("clock.py")
    daemon.outside("clock.py", CLOCK.replace("2", "4").encode())  # as before
    daemon.outside_deletes("docs/new.md")
    daemon.outside("docs/new.md", lines("one", "three"))
    saves = told(daemon)[0]
    (new,) = saves["files"]
    assert (new["path"], new["status"], new["added"], new["removed"]) == ("docs/new.md", "changed", 1, 1)
    assert saves["files_count"] == 1


@pytest.mark.parametrize("by_tool", [False, True])
def test_a_plain_rename_is_told_with_both_names(by_tool: bool) -> None:
    """It was told as a story that left nothing changed."""
    daemon = day()
    if by_tool:
        daemon.move("clock.py", "src/clock.py", daemon.who("carl"))
    else:
        daemon.outside_moves("clock.py", "src/clock.py")
    (file,) = told(daemon)[0]["files"]
    assert (file["path"], file["status"], file["moved_from"]) == ("src/clock.py", "moved", "clock.py")
    assert (file["added"], file["removed"]) == (0, 0)


def test_a_file_that_was_renamed_and_back_is_as_before() -> None:
    daemon = day()
    daemon.outside_moves("clock.py", "src/clock.py")
    daemon.outside_moves("src/clock.py", "clock.py")
    assert told(daemon)[0]["files"] == []


def test_a_file_that_was_renamed_and_removed_is_removed_under_the_name_that_it_had_before() -> None:
    daemon = day()
    daemon.outside_moves("clock.py", "src/clock.py")
    daemon.outside_deletes("src/clock.py")
    (file,) = told(daemon)[0]["files"]
    assert (file["path"], file["status"], file["added"]) == ("clock.py", "removed", 0)


def test_an_empty_folder_that_goes_is_removed() -> None:
    """It was told as a change of its mode."""
    daemon = MemoryDaemon()
    made = daemon.note(OutsideWritten("e", b"", 0, 0o755, "watched", entry=FOLDER))
    daemon.note(OutsideDeleted("e", "watched", made))
    (story,) = told(daemon)
    assert [(file["path"], file["status"]) for file in story["files"]] == [("e", "removed")]


def test_git_tells_its_commands_and_where_head_went() -> None:
    git = told(day())[0]
    assert (git["form"], git["commands"], git["head_before"], git["head_after"]) == (
        "git",
        ["commit -m x"],
        "main 1111111",
        "main 2222222",
    )


@pytest.mark.parametrize(
    ("ran", "told_as"),
    [
        (["am: one", "am: two"], ["am"]),
        (["rebase (finish): returning to refs/heads/main", "rebase: 1a2b3c4"], ["rebase"]),
        (["cherry-pick: one"], ["cherry-pick: one"]),
    ],
)
def test_a_command_of_several_steps_is_told_once(ran: list[str], told_as: list[str]) -> None:
    daemon = MemoryDaemon()
    for command in ran[::-1]:
        ended_ns = daemon.recorder.clock.now_ns()
        daemon.note(GitRan(command, evidence="head", ended_ns=ended_ns, head_before="main 1", head_after="main 2"))
    (git,) = [story for story in told(daemon) if story["form"] == "git"]
    assert git["commands"] == told_as


def test_what_a_person_saved_is_told_as_unclaimed() -> None:
    saves = told(day())[-1]
    assert (saves["form"], saves["unclaimed"], saves["files"][0]["status"]) == ("saves", True, "added")


def test_a_file_that_is_as_it_was_is_not_listed() -> None:
    daemon = MemoryDaemon()
    daemon.outside("a.py", b"1\n")
    ann = daemon.introduce("ann", "s1", "t1")
    daemon.write("a.py", b"2\n", ann)
    daemon.write("a.py", b"1\n", ann)
    (story, *_) = told(daemon)
    assert (story["files"], story["files_count"], story["writes"]) == ([], 0, 2)


def test_a_file_whose_bytes_are_not_kept_says_why() -> None:
    """A file with a secret was told as any other that was added."""
    daemon = day()
    daemon.note(CaptureFailed("leak.txt", "holds_secret", 8, evidence="watched"))
    (leak,) = told(daemon)[0]["files"]
    assert (leak["path"], leak["status"], leak["uncaptured"]) == ("leak.txt", "added", "holds_secret")


def test_many_files_are_counted_and_more_are_listed_with_all() -> None:
    daemon = MemoryDaemon()
    ann = daemon.introduce("ann", "s1", "t1")
    for number in range(MOST_FILES + 8):
        daemon.write(f"src/{number}.py", lines("x"), ann)
    (story,) = told(daemon)
    assert (len(story["files"]), story["files_more"], story["folders"]) == (MOST_FILES, 8, ["src/"])
    (opened,) = told(daemon, all=True)
    assert len(opened["files"]) == MOST_FILES + 8


def test_the_files_of_a_git_operation_are_listed_with_all() -> None:
    daemon = MemoryDaemon()
    for number in range(3):
        saved(daemon, f"{number}.py", "git checkout x")
    (story,) = told(daemon)
    assert (story["files"], story["files_count"]) == ([], 3)
    assert [file["path"] for file in told(daemon, all=True)[0]["files"]] == ["2.py", "1.py", "0.py"]


def test_writes_that_are_probably_an_agents_are_marked() -> None:
    daemon = MemoryDaemon()
    ann = daemon.introduce("ann", "s1", "t1", "c1")
    burst = daemon.note(BurstBegun("Bash", "native", 1 << 62, True, command="make"), who=ann)
    made = saved(daemon, "a.o", "Bash")
    daemon.note(WriteAttributed((made,), ann.writer, "during", burst))
    (story,) = told(daemon)
    assert (story["probable"], story["calls"][0]["command"], story["calls"][0]["burst"]) == (True, "make", burst)


def test_a_call_whose_end_was_not_reported_does_not_stand_as_run() -> None:
    """A command that a person denied was listed like one that ran."""
    daemon = MemoryDaemon()
    ann = daemon.introduce("ann", "s1", "t1", "c1")
    daemon.note(TurnBegan("go"), who=ann)
    ran, denied, asked = (
        daemon.note(BurstBegun("Bash", "native", 1 << 62, True, command=command), who=ann)
        for command in ("make", "rm a", "rm b")
    )
    daemon.note(BurstEnded(ran), who=ann)
    daemon.note(BurstEnded(denied, "unreported"), who=ann)
    (story,) = told(daemon, all=True)
    assert [(call["burst"], call.get("end")) for call in story["calls"]] == [
        (ran, None),
        (denied, "unreported"),
        (asked, "open"),
    ]


def test_an_undo_tells_what_it_undid() -> None:
    daemon = MemoryDaemon({"a.py": "1\n"})
    batch = daemon.write("a.py", b"2\n", daemon.ann)
    daemon.call(UNDO_TOOL, daemon.ann)
    (undo, *_) = told(daemon)
    assert (undo["form"], undo["how"], undo["undone"], undo["files"][0]["removed"]) == ("undo", "undo", [batch], 1)
    assert len(undo["undone"]) <= MOST_UNDONE


def test_a_refusal_a_checkpoint_and_the_first_capture_are_told() -> None:
    daemon = MemoryDaemon()
    saved(daemon, "a.py", evidence="captured")
    daemon.note(WorkspaceScanned("start", 1, 1))
    daemon.note(EditRefused("edit", "a.py", "anchor_stale"), who=daemon.ann)
    daemon.note(CheckpointNamed("lunch", 1, "before it"), who=daemon.ann)
    checkpoint, turn, capture = told(daemon)
    assert (checkpoint["name"], checkpoint["note"]) == ("lunch", "before it")
    assert turn["refused"] == [{"path": "a.py", "code": "anchor_stale"}]
    assert (capture["form"], capture["files_count"]) == ("capture", 1)


@pytest.mark.parametrize(
    ("asked", "forms"),
    [
        ({"agents": True}, ["turn", "turn"]),
        ({"writer": "ann"}, ["turn"]),
        ({"writer": "ann/s1"}, ["turn"]),
        ({"writer": "outside"}, ["git", "saves"]),
        ({"writer": "me"}, ["saves"]),
        ({"agent_session": "s2"}, ["turn"]),
        ({"turn": "t1"}, ["turn"]),
        ({"path": "docs"}, ["turn"]),
        ({"path": "clock.py"}, ["turn", "turn", "saves"]),
        ({"path": "*.rs"}, []),
        ({"path": "docs", "writer": "ben"}, []),
        ({"until": "seq:1"}, ["saves"]),
        ({"since": "seq:6"}, ["git", "turn"]),
    ],
)
def test_filters_choose_stories(asked: dict[str, Any], forms: list[str]) -> None:
    assert [story["form"] for story in told(day(), **asked)] == forms


def test_a_story_of_a_path_has_that_path_alone_and_its_prompt_all_the_same() -> None:
    (story,) = told(day(), path="docs")
    assert ([file["path"] for file in story["files"]], story["prompt"]) == (["docs/new.md"], "make it three\nplease")


def test_pages_go_on_by_cursor() -> None:
    daemon = day()
    first = daemon.call(STORIES_TOOL, daemon.ann, limit=2)
    second = daemon.call(STORIES_TOOL, daemon.ann, limit=2, cursor=first["next"])
    assert [story["seq"] for story in first["stories"] + second["stories"]] == [s["seq"] for s in told(daemon)]
    assert second["next"] is None


@pytest.mark.parametrize("cursor", ["c12.ab", "s1.0", "s99999.ab"])
def test_a_cursor_of_elsewhere_is_refused(cursor: str) -> None:
    daemon = day()
    assert daemon.call(STORIES_TOOL, daemon.ann, cursor=cursor)["error"] == "schema_invalid"


def test_a_writer_that_nobody_is_called_is_refused_with_the_nearest_name() -> None:
    daemon = day()
    refused = daemon.call(STORIES_TOOL, daemon.ann, writer="anm")
    assert (refused["error"], "Did you mean" in refused["message"], "ann" in refused["message"]) == (
        "not_found",
        True,
        True,
    )


def test_the_log_tells_stories_where_it_is_asked_to_page_by_page() -> None:
    daemon = day()
    page = daemon.ask("log", {"stories": True, "limit": 2})
    assert page["stories"] == told(daemon)[:2]
    rest = daemon.ask("log", {"stories": True, "cursor": page["next"]})
    assert [*page["stories"], *rest["stories"]] == told(daemon)


@pytest.mark.parametrize("asked", [{"kind": "git_ran"}, {"patch": True}, {"order": "oldest"}, {"contains": "x"}])
def test_the_log_refuses_stories_by_what_only_records_have(asked: dict[str, Any]) -> None:
    refused = day().ask("log", {"stories": True, **asked})
    assert (refused["error"], refused["argument"]) == ("schema_invalid", *asked)


def test_a_burst_of_files_is_named_by_the_command_of_the_call_that_was_under_way() -> None:
    daemon = MemoryDaemon()
    ann = daemon.introduce("ann", "s1", "t1")
    daemon.note(BurstBegun("Bash", "tool_call", 1 << 62, outside=True, command="make -j2 build"), who=ann)
    for number in range(20):
        saved(daemon, f"build/{number}.o", hint="Bash (ann/s1)")
    build = next(story for story in told(daemon) if story["form"] == "crowd")
    assert build["program"] == {"kind": "build", "called": "make build"}


def test_what_the_kernel_saw_no_call_write_is_not_told_as_the_open_calls() -> None:
    daemon = MemoryDaemon()
    ann = daemon.introduce("ann", "s1", "t1")
    daemon.note(BurstBegun("Bash", "tool_call", 1 << 62, outside=True, command="make -j2 build"), who=ann)
    made = saved(daemon, "notes.md", hint="Bash (ann/s1)")
    daemon.note(WriteAttributed((made,), 0, "traced"))
    (mine,) = (story for story in told(daemon) if story["form"] == "saves")
    assert (mine["unclaimed"], mine["hint"], "program" in mine) == (True, "Bash (ann/s1)", False)


def test_a_burst_of_files_that_nothing_explains_has_no_program() -> None:
    daemon = MemoryDaemon()
    for number in range(20):
        saved(daemon, f"build/{number}.o")
    assert "program" not in told(daemon)[0]


@pytest.mark.parametrize(("path", "called"), [("a.py", "ruff format"), ("c.py", "")])
def test_what_was_found_after_the_daemon_was_away_is_a_calls_only_if_its_command_line_says_so(
    path: str, called: str
) -> None:
    """A person's save of another file was told as by the formatter that an agent's call ran later."""
    daemon = MemoryDaemon()
    ann = daemon.introduce("ann", "s1", "t1")
    daemon.note(BurstBegun("Bash", "tool_call", 1 << 62, outside=True, command="ruff format a.py"), who=ann)
    saved(daemon, path, hint="Bash (ann/s1)", evidence="scanned")
    (mine,) = (story for story in told(daemon) if story["form"] == "saves")
    assert mine.get("program", {}).get("called", "") == called


def test_a_burst_tells_how_many_of_its_files_were_removed() -> None:
    daemon = MemoryDaemon()
    made = [saved(daemon, f"build/{number}.o") for number in range(20)]
    daemon.after(60)
    for number in range(18):
        daemon.note(OutsideDeleted(f"build/{number}.o", "watched", made[number]))
    removed, made_first = told(daemon)
    assert (removed["form"], removed["files_count"], removed["gone_count"]) == ("crowd", 18, 18)
    assert "gone_count" not in made_first


def test_only_the_stories_of_named_versions_with_their_prompts() -> None:
    daemon = day()
    with daemon.history() as history:
        ann, ben = [version.seq for version in history.versions("clock.py")][1:]
    (turn,) = told(daemon, versions=[ann])
    assert (turn["prompt"], [file["path"] for file in turn["files"]]) == ("make it three\nplease", ["clock.py"])
    assert [story["writer"]["agent"] for story in told(daemon, versions=[ann, ben])] == ["ben", "ann"]
