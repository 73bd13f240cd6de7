"""`quire report`: what somebody did as Markdown; whom it is about, and what stays on this machine."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from command_line import Quire, Ran

AT = "2026-01-31T12:00:00.5Z"
ADA = {"id": "w3", "type": "", "agent": "ada", "agent_session": "s1", "turn": "t1"}
BOB = {**ADA, "agent": "bob", "agent_session": "s2"}
CLOCK = {"path": "clock.py", "status": "changed", "version": "v7", "added": 2, "removed": 1, "symbols": ["Clock.now"]}
CALL = {"at": AT, "label": "Bash", "command": "make secret", "burst": 4, "writes": 1, "paths": []}


def story(seq: int, writer: dict[str, Any] = ADA, form: str = "turn", **told: Any) -> dict[str, Any]:
    """A story about the clock."""
    base = {"form": form, "seq": seq, "first": seq - 2, "at": AT, "ended_at": AT, "writer": writer, "whole": True}
    return {**base, "writes": 1, "files": [CLOCK], "files_count": 1, **told}


ADAS = [
    story(30, form="git", writer={"id": "outside"}, files=[], commands=["commit -m x"]),
    story(9, prompt="make *it* fast\nplease", calls=[CALL], refused=[{"path": "b.py", "code": "anchor_stale"}]),
]


def stories(asked: dict[str, Any]) -> dict[str, Any]:
    """Ada's are hers by her name, session and turn; in the whole stretch Bob worked, too."""
    found: list[dict[str, Any]] = []
    if asked.get("writer") == "ada" or asked.get("agent_session") == "s1" or asked.get("turn") == "t1":
        found = ADAS
    elif asked.get("agents"):
        found = ADAS[1:]
    elif "since" in asked:
        found = [story(12, BOB), *ADAS]
    elif asked.get("writer"):
        return {"ok": False, "error": "not_found", "message": "Nobody in the journal is called so."}
    return {"ok": True, "stories": found, "next": None}


HUNK = {"old_start": 1, "old_lines": 1, "new_start": 1, "new_lines": 2, "lines": [" a", "-b", "+c", "+d"]}
DIFF = {"ok": True, "from": "seq:6", "to": "seq:30", "files": [{"path": "clock.py", "status": "changed"}]}
DIFF["files"][0]["hunks"] = [HUNK]  # type: ignore[index]

REPORT = """\
## ada/s1

1 turn, 1 file, +2 -1

### What was done

- {prompt}
  - `clock.py` +2 -1: `Clock.now`
- `git commit -m x`

### Files

- `clock.py` changed +2 -1

### Refused, or changed by others too

- `b.py`: refused, anchor stale
- `clock.py`: also changed by bob/s2
"""


def compared(ran: Ran) -> tuple[str, str | None]:
    """The points that a report compares; None for now."""
    ((_, asked),) = [call for call in ran.asked if call[0] == "diff"]
    return asked["from"], asked.get("to")


@pytest.mark.parametrize("what", ["ada", "s1", "t1"])
def test_a_report_is_about_a_writer_a_session_or_a_turn(what: str, quire: Quire) -> None:
    ran = quire("report", what, stories=stories, diff=DIFF)
    assert ran.out == REPORT.format(prompt="a turn")
    assert compared(ran) == ("seq:6", None)


def test_a_report_is_about_the_newest_agent_session_if_none_is_named(quire: Quire) -> None:
    assert quire("report", stories=stories, diff=DIFF).out == REPORT.format(prompt="a turn")


def test_a_report_is_about_a_stretch(quire: Quire) -> None:
    ran = quire("report", "v6..v30", stories=stories, diff=DIFF)
    assert ran.out.startswith("## v6 to v30, ada/s1, bob/s2, others\n")
    assert ran.asked[0][1].items() >= {"since": "v6", "until": "v30"}.items()


def test_a_report_can_begin_and_end_with_points(quire: Quire) -> None:
    ran = quire("report", "ada", "--since", "v3", "--until", "v40", stories=stories, diff=DIFF)
    assert ran.out.startswith("## v3 to v40, ada/s1\n")
    assert ran.asked[0][1].items() >= {"writer": "ada", "since": "v3", "until": "v40"}.items()
    assert quire("report", "--since", "v6", stories=stories, diff=DIFF).out.startswith(
        "## v6 to now, ada/s1, bob/s2, others\n"
    )


def test_a_report_ends_now_unless_it_has_an_end(quire: Quire) -> None:
    """At the last record of a writer, git may have had files of this writer checked out elsewhere."""
    for words in (["ada"], [], ["ada", "--since", "v3"], ["v3.."]):
        ran = quire("report", *words, stories=stories, diff=DIFF)
        assert compared(ran) == ("seq:6", None)
        assert not [asked for called, asked in ran.asked if called == "stories" and asked.get("until")]
    for words in (["ada", "--until", "v40"], ["v3..v40"]):
        assert compared(quire("report", *words, stories=stories, diff=DIFF)) == ("seq:6", "seq:30")


def test_prompts_and_command_lines_are_told_only_where_they_are_asked_for(quire: Quire) -> None:
    told = quire("report", "ada", "--with-prompts", stories=stories, diff=DIFF).out
    assert told == REPORT.format(prompt="make \\*it\\* fast")
    assert "make" not in quire("report", "ada", "--json", stories=stories, diff=DIFF).out
    whole = json.loads(quire("report", "ada", "--json", "--with-prompts", stories=stories, diff=DIFF).out)
    assert whole["stories"][0]["calls"][0]["command"] == "make secret"
    assert whole["files"] == [{"path": "clock.py", "status": "changed", "added": 2, "removed": 1}]


def test_of_a_story_with_many_files_the_first_are_listed(quire: Quire) -> None:
    many = [{**CLOCK, "path": f"gen{number}"} for number in range(40)]
    out = quire("report", "ada", stories={"ok": True, "stories": [story(9, files=many, files_count=70)]}, diff=DIFF).out
    assert (out.count("  - `gen"), "  - and 58 more files\n" in out) == (12, True)


def test_of_many_files_the_most_changed_are_named_and_the_others_counted(quire: Quire, site: Path) -> None:
    names = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    for words in (("init", "-q"), (*names, "commit", "-q", "--allow-empty", "-m", "one")):
        subprocess.run(["git", *words], cwd=site, check=True)
    for number in range(70):
        (site / f"gen{number}").write_text("x\n")
    (site / "clock.py").write_text("x\n")
    many = [{"path": f"gen{number}", "status": "added"} for number in range(70)]
    out = quire("report", "ada", stories=stories, diff={**DIFF, "files": [*many, *DIFF["files"]]}).out
    files = out.partition("### Files\n\n")[2].partition("\n\n")[0].splitlines()
    assert (files[0], len(files), files[-1]) == ("- `clock.py` changed +2 -1", 51, "- and 21 more")
    assert "None of the 71 files is committed." in out


def test_another_story_of_the_same_writer_is_nobody_elses_change(quire: Quire) -> None:
    def asked(arguments: dict[str, Any]) -> dict[str, Any]:
        reply = stories(arguments)
        return {**reply, "stories": [story(20), *reply["stories"]]} if "since" in arguments else reply

    assert quire("report", "ada", stories=asked, diff=DIFF).out == REPORT.format(prompt="a turn")


def test_saves_of_unknown_programs_are_called_outside(quire: Quire) -> None:
    def asked(arguments: dict[str, Any]) -> dict[str, Any]:
        reply = stories(arguments)
        saved = story(20, {"id": "outside"}, "saves", unclaimed=True)
        return {**reply, "stories": [saved, *reply["stories"]]} if "since" in arguments else reply

    assert "- `clock.py`: also changed by outside, bob/s2\n" in quire("report", "ada", stories=asked, diff=DIFF).out


def test_work_of_an_agent_that_tells_of_no_turns_is_not_called_a_turn(quire: Quire) -> None:
    page = {"ok": True, "stories": [story(9, {**ADA, "turn": ""})], "next": None}
    out = quire("report", "ada", stories=page, diff=DIFF).out
    assert "\n1 file, +2 -1\n" in out
    assert "- work outside of turns\n  - `clock.py`" in out


@pytest.mark.parametrize(("told", "said"), [({"how": "restore"}, "restore"), ({"undone": [4, 7]}, "undo of 4, 7")])
def test_an_undo_is_named_with_the_calls_that_it_took_back(told: dict[str, Any], said: str, quire: Quire) -> None:
    page = {"ok": True, "stories": [story(9, form="undo", **told)], "next": None}
    assert f"- {said}\n  - `clock.py`" in quire("report", "ada", stories=page, diff=DIFF).out


def test_a_command_of_git_that_failed_is_reported_as_failed(quire: Quire) -> None:
    told = {"ok": True, "stories": [ADAS[0] | {"failed": True}, ADAS[1]], "next": None}
    ran = quire("report", "v6..v30", stories=told, diff=DIFF)
    assert "- `git commit -m x`, failed\n" in ran.out


def test_what_git_ignores_is_no_part_of_a_report(quire: Quire, site: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=site, check=True)
    (site / ".gitignore").write_text("cache/\n")
    cached = {**CLOCK, "path": "cache/a"}
    both = {"ok": True, "stories": [story(9, files=[CLOCK, cached], files_count=2)], "next": None}
    diff = {**DIFF, "files": [*DIFF["files"], {"path": "cache/a", "status": "added"}]}
    out = quire("report", "ada", stories=both, diff=diff).out
    assert "clock.py" in out
    assert "cache" not in out


def test_a_report_on_nobody_is_refused(quire: Quire) -> None:
    ran = quire("report", "eve", stories=stories, diff=DIFF)
    assert (ran.status, ran.err.startswith("Nobody in the journal is called so.")) == (3, True)
    nothing = quire("report", stories={"ok": True, "stories": [], "next": None})
    assert (nothing.status, nothing.err.startswith("No agent has done anything yet.")) == (3, True)


def test_a_file_is_named_as_it_is_now_and_then(quire: Quire, site: Path) -> None:
    """A file that was renamed since was named as it is no more, and as committed."""
    names = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    for words in (("init", "-q"), (*names, "commit", "-q", "--allow-empty", "-m", "one")):
        subprocess.run(["git", *words], cwd=site, check=True)
    (site / "now.py").write_text("x\n")
    files = [
        {"path": "then.py", "moved_from": "old.py", "moved_to": "now.py", "status": "changed", "hunks": [HUNK]},
        {"path": "b.py", "moved_from": "a.py", "status": "same", "hunks": []},
    ]
    early = story(5, BOB, files=[{**CLOCK, "path": "older.py"}, {**CLOCK, "path": "old.py", "moved_from": "older.py"}])

    def told(asked: dict[str, Any]) -> dict[str, Any]:
        return {**stories(asked), "stories": [*stories(asked)["stories"], *([early] if "since" in asked else [])]}

    out = quire("report", "ada", stories=told, diff={**DIFF, "files": files}).out
    assert "- `now.py` changed, moved from `old.py`, `then.py` then +2 -1\n" in out
    assert "- `b.py` renamed, moved from `a.py`\n" in out
    assert "- `now.py`: also changed by bob/s2\n" in out
    assert out.endswith("### Not committed\n\n- `now.py`\n")


def test_a_file_is_not_committed_if_the_commit_lacks_reported_lines(quire: Quire, site: Path) -> None:
    names = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    (site / "clock.py").write_text("x\n")
    for words in (("init", "-q"), ("add", "clock.py"), (*names, "commit", "-q", "-m", "one")):
        subprocess.run(["git", *words], cwd=site, check=True)
    for name in ("clock.py", "new.py"):
        (site / name).write_text("y\n")
    both = [*DIFF["files"], {"path": "new.py", "status": "added"}]

    def told(since_the_commit: list[Any]) -> Any:
        def diff(asked: dict[str, Any]) -> dict[str, Any]:
            return {**DIFF, "files": since_the_commit if asked["from"].startswith("commit:") else both}

        return diff

    def left(what: str, since_the_commit: list[Any]) -> str:
        return quire("report", what, stories=stories, diff=told(since_the_commit)).out.partition("committed\n\n")[2]

    assert left("ada", DIFF["files"]) == "- `clock.py`\n- `new.py`\n"
    assert left("ada", []) == "- `new.py`\n", "the lines of others in the clock are no part of the report"
    assert left("v6..v30", []) == "- `clock.py`\n- `new.py`\n"


def test_what_is_only_probable_is_marked(quire: Quire) -> None:
    run = story(9, {**ADA, "agent": "", "uid": 1000}, "run", commands=["make"], probable=True, status=0)
    saved = story(20, {"id": "outside"}, "saves", unclaimed=True)
    page = {"ok": True, "stories": [saved, run], "next": None}
    out = quire("report", "me", stories=page, diff={**DIFF, "files": [{**DIFF["files"][0], "probable": True}]}).out
    assert "- `$ make`, exit 0, only probably (~)\n" in out
    assert "- saved, only probably (~)\n" in out
    assert "- `clock.py` changed +2 -1, a part only probably (~)\n" in out


def test_a_file_of_which_others_replaced_all_lines_is_named_with_them(quire: Quire, site: Path) -> None:
    """It stood in "What was done" alone, and everything was said to be committed."""
    for words in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", *words], cwd=site, check=True)
    who = ["-c", "user.name=u", "-c", "user.email=u@x"]
    subprocess.run(["git", *who, "commit", "-q", "--allow-empty", "-m", "x"], cwd=site, check=True)
    (site / "gone.py").write_text("theirs")
    (site / "own.py").write_text("as before")
    subprocess.run(["git", "add", "own.py"], cwd=site, check=True)
    subprocess.run(["git", *who, "commit", "-q", "-m", "y"], cwd=site, check=True)
    files = [{**CLOCK, "path": path} for path in ("clock.py", "gone.py", "own.py")]
    hers = story(9, files=files, files_count=3)

    def told(asked: dict[str, Any]) -> dict[str, Any]:
        theirs = [] if asked.get("writer") else [story(12, BOB, files=files[1:2])]
        return {"ok": True, "stories": [*theirs, hers], "next": None}

    ran = quire("report", "ada", stories=told, diff=DIFF)
    assert "- `gone.py`: nothing of what is reported is left in it, changed by bob/s2\n" in ran.out
    assert "### Not committed\n\n- `gone.py`\n" in ran.out
    assert ran.out.count("own.py") == 1, "she took it back herself"


@pytest.mark.parametrize("left", [True, False])
def test_a_file_that_others_renamed_is_one_file(left: bool, quire: Quire) -> None:
    """Its old name was told as a file of which nothing is left."""
    hers = story(9, files=[{**CLOCK, "path": "old.py"}])
    theirs = story(12, BOB, files=[{**CLOCK, "moved_from": "old.py"}])

    def told(asked: dict[str, Any]) -> dict[str, Any]:
        return {"ok": True, "stories": [*([] if asked.get("writer") else [theirs]), hers], "next": None}

    out = quire("report", "ada", stories=told, diff=DIFF if left else {**DIFF, "files": []}).out
    said = "also changed by" if left else "nothing of what is reported is left in it, changed by"
    assert out.partition("by others too\n\n")[2] == f"- `clock.py`: {said} bob/s2\n"


def test_stories_of_ignored_files_alone_are_left_out_and_all_others_are_named(quire: Quire, site: Path) -> None:
    (site / ".gitignore").write_text("*.log\n")
    subprocess.run(["git", "init", "-q"], cwd=site, check=True)
    logged = [{**CLOCK, "path": "x.log"}]
    saved = story(20, {"id": "outside"}, "saves", files=logged)
    setup = story(9, {**ADA, "agent": "quire"}, "person", hint="quire setup codex")
    first = story(3, {"id": "outside"}, "capture", files=[])
    page = {"ok": True, "stories": [saved, setup, first], "next": None}
    out = quire("report", "v1..v30", stories=page, diff=DIFF).out
    done = out.partition("done\n\n")[2].partition("\n\n")[0].splitlines()
    assert [line for line in done if line[0] == "-"] == ["- first capture of the checkout", "- “quire setup codex”"]
