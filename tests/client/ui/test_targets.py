"""What the keys ask the daemon for."""

from __future__ import annotations

from ui_samples import CODEX, GIT, SAVE, TURN, file, story, writer

from quire_client.ui import targets


def test_the_diff_of_a_file_is_between_its_versions_of_the_story() -> None:
    assert targets.diff_of(TURN, [file("a.py")]).arguments == {
        "from": "v4",
        "to": "v12",
        "paths": ["a.py"],
        "writer": "alice/s1",
    }


def test_the_diff_of_a_file_that_moved_names_both_paths() -> None:
    moved = file("new.py", "moved", moved_from="old.py")
    asked = targets.diff_of(SAVE, [moved]).arguments
    assert (asked["from"], asked["paths"]) == ("seq:27", ["old.py", "new.py"])


def test_a_turn_is_taken_back_by_session_turn_and_place_in_the_log() -> None:
    turn = {**TURN, "writer": writer("alice", "s1", turn="t9")}
    assert targets.undo_of(turn) == (
        "undo",
        {"writer": "alice/s1", "turn": "t9", "from": "seq:37", "to": "seq:40", "plan": True},
    )
    asked = targets.undo_of(turn, file("a.py"))
    assert asked is not None
    assert asked.arguments["paths"] == ["a.py"]
    assert "probable" not in asked.arguments


def test_a_file_that_is_only_probably_of_its_turn_is_taken_back_as_such() -> None:
    turn = {**TURN, "writer": writer("alice", "s1", turn="t9")}
    asked = targets.undo_of(turn, file("a.py", probable=True))
    assert asked is not None
    assert asked.arguments["probable"] is True


def test_a_turn_that_began_earlier_is_opened_and_taken_back_by_the_records_of_its_writer() -> None:
    cut = {**TURN, "writer": writer("alice", "s1", turn="t9"), "whole": False}
    whose = {"writer": "alice/s1", "turn": "t9"}
    assert targets.opened(cut) == ("stories", {**whose, "until": "seq:40", "all": True, "limit": 1})
    assert targets.undo_of(cut) == ("undo", {**whose, "to": "seq:40", "plan": True})
    turnless = {**TURN, "whole": False}
    assert targets.opened(turnless).arguments == {"writer": "alice/s1", "until": "seq:40", "all": True, "limit": 1}
    asked = targets.undo_of(turnless)
    assert asked is not None
    assert asked.arguments == {"writer": "alice/s1", "from": "seq:37", "to": "seq:40", "plan": True}


def test_a_story_that_is_whole_or_nobodys_is_opened_by_its_place_in_the_log() -> None:
    for one in (TURN, SAVE, {**SAVE, "whole": False}):
        assert {"since", "until"} < targets.opened(one).arguments.keys()


def test_a_session_is_named_with_its_agent_as_another_one_may_have_its_id() -> None:
    asked = targets.diff_of({**CODEX, "writer": writer("codex", "s9", parent="s1")}, [file("a.py")])
    assert asked.arguments["writer"] == "codex/s1"
    assert targets.diff_of({**CODEX, "writer": writer("codex")}, [file("a.py")]).arguments["writer"] == "codex"


def test_what_nobody_claims_is_taken_back_in_its_files_only() -> None:
    assert targets.undo_of(SAVE) == (
        "undo",
        {"writer": "outside", "from": "seq:27", "to": "seq:30", "paths": ["src/app.py"], "plan": True},
    )


def test_what_git_wrote_is_taken_back_as_of_git_whoever_ran_it() -> None:
    asked = {"git": "last", "from": "seq:17", "to": "seq:20", "plan": True}
    assert targets.undo_of(GIT) == ("undo", asked)
    assert targets.undo_of({**GIT, "writer": writer("alice", "s1"), "probable": True}) == ("undo", asked)
    assert targets.undo_of(GIT, file("a.py")) == ("undo", {**asked, "paths": ["a.py"]})
    assert targets.undo_of({**GIT, "writes": 0}) is None


def test_an_undo_is_taken_back_by_a_redo_and_a_call_by_its_number() -> None:
    assert targets.undo_of(story(60, "undo")) == ("redo", {"batch": 60, "plan": True})
    assert targets.undo_of(TURN, None, TURN["calls"][0]) == ("undo", {"burst": 3, "plan": True})
    assert targets.undo_of(story(1, "checkpoint", ())) is None


def test_what_is_only_probable_is_taken_back_where_the_story_is_no_more_than_that() -> None:
    asked = targets.undo_of({**CODEX, "probable": True})
    assert asked is not None
    assert asked.arguments["probable"] is True


def test_the_blame_of_a_file_that_went_is_of_the_version_before() -> None:
    assert targets.blame_of(file("a.py", "removed")).arguments == {"path": "a.py", "at": "v4"}
    assert targets.blame_of(file("a.py")).arguments == {"path": "a.py", "at": "v12"}


def test_a_call_is_shown_by_its_burst_or_by_its_records() -> None:
    assert targets.diff_of_call(TURN, TURN["calls"][0]).tool == "log"
    call = {"batch": 20, "writes": 2, "paths": ["a", "b"]}
    assert targets.diff_of_call(TURN, call).arguments == {"from": "seq:19", "to": "seq:21", "paths": ["a", "b"]}
