"""What an ignore rule hides from the watcher is never told as if it were seen."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from outside_turns import Turns

from quire_daemon.watch import ignored_files
from quire_daemon.watch.hints import WATCH_LIMIT, Batch, Blind, blind_told, touching
from quire_journal.model.events import (
    CaptureFailed,
    FileWritten,
    OutsideDeleted,
    OutsideWritten,
    WriteAttributed,
    WriterIntroduced,
)
from quire_journal.model.evidence import EXACT, READ
from quire_journal.model.ids import SETUP, blob_id
from quire_journal.views.files import Version, standing


def rules(turns: Turns, text: str) -> None:
    """The rules change, and the watcher tells of it."""
    turns.write(".gitignore", text)
    turns.watcher.batches.append(Batch(dirty={".gitignore"}, touched={".gitignore"}))
    turns.turns(1.0)


def head(turns: Turns, path: str) -> Version | None:
    with turns.recorder.history() as history:
        return standing(history.file(path))


def told(turns: Turns, path: str) -> str:
    """Why the journal does not have the bytes that are there; "gone" for what it knows to be gone."""
    version = head(turns, path)
    return "gone" if version is None else version.uncaptured


def tool_writes(turns: Turns, path: str, text: str) -> None:
    turns.write(path, text)
    data = text.encode()
    turns.recorder.note(FileWritten(path, blob_id(data), len(data), 0o644, 0))
    turns.recorder.note_blob(data, path)
    turns.recorder.commit()
    turns.outside.landed(path, turns.workspace.look(path).signature, blob_id(data))


@pytest.fixture
def hidden(turns: Turns) -> Turns:
    """Three files were journaled in `build`, and then a rule hides them."""
    (turns.root / "build").mkdir()
    for name in "abc":
        turns.write(f"build/{name}", f"{name}\n")
    turns.opened()
    rules(turns, "build/\n")
    return turns


def test_a_journaled_file_that_a_rule_hides_is_told_once_as_not_watched_any_more(hidden: Turns) -> None:
    assert [told(hidden, f"build/{name}") for name in "abc"] == ["ignored"] * 3
    with hidden.recorder.history() as history:
        assert dict(history.uncaptured()) == {f"build/{name}": "ignored" for name in "abc"}
    records = len(hidden.events())
    rules(hidden, "build/\n# again\n")
    assert not [e for e in hidden.events()[records:] if isinstance(e, CaptureFailed)]


def test_files_of_quire_setup_that_a_rule_hides_afterwards_are_not_watched_any_more(turns: Turns) -> None:
    """`quire setup` advises such a rule, and `quire diff` went on to show its files."""
    turns.opened()
    turns.write("settings.json", "{}\n")
    writer = turns.recorder.writer(WriterIntroduced(0, agent=SETUP))
    turns.recorder.introduce(writer)
    seq = turns.recorder.note(OutsideWritten("settings.json", blob_id(b"{}\n"), 3, 0o644, READ))
    turns.recorder.note(WriteAttributed((seq,), writer, EXACT))
    turns.recorder.commit()
    rules(turns, "settings.json\n")
    assert told(turns, "settings.json") == "ignored"


def test_what_it_held_before_it_was_hidden_can_still_be_had(hidden: Turns) -> None:
    assert hidden.texts("build/a") == ["a\n"]


def test_a_hidden_file_that_is_deleted_is_not_taken_for_one_that_is_there(hidden: Turns) -> None:
    (hidden.root / "build/a").unlink()
    assert told(hidden, "build/a") == "ignored", "nobody says that its bytes are those of before"
    hidden.outside.scanner.scan("periodic")
    hidden.turns()
    assert [told(hidden, f"build/{name}") for name in "ab"] == ["gone", "ignored"]


def test_a_file_that_no_rule_hides_any_more_is_watched_again(hidden: Turns) -> None:
    hidden.write("build/a", "while nobody watched\n")
    rules(hidden, "")
    assert [told(hidden, f"build/{name}") for name in "abc"] == ["", "", ""]
    assert hidden.texts("build/a") == ["a\n", "while nobody watched\n"]


def test_the_next_start_tells_of_rules_that_changed_meanwhile(turns: Turns) -> None:
    (turns.root / "build").mkdir()
    turns.write("build/a", "a\n")
    turns.opened()
    turns.write(".gitignore", "build/\n")
    again = turns.again()
    again.outside.scanner.open()
    again.turns(1.0)
    assert told(again, "build/a") == "ignored"


def test_an_ignored_file_of_a_tool_is_looked_at_when_somebody_asks(turns: Turns) -> None:
    (turns.root / "build").mkdir()
    turns.write(".gitignore", "build/\n")
    turns.opened()
    tool_writes(turns, "build/made", "made\n")
    (turns.root / "build/made").unlink()
    turns.turns()
    assert told(turns, "build/made") == "", "nothing tells of it"
    turns.outside.look_at_unwatched()
    assert not turns.outside.idle(), "whoever asked waits for the look"
    turns.turns(1.0)
    assert told(turns, "build/made") == "gone"
    assert [e.evidence for e in turns.events() if isinstance(e, OutsideDeleted)] == ["read"]


def test_after_a_start_an_ignored_file_of_a_tool_is_known_again(turns: Turns) -> None:
    (turns.root / "build").mkdir()
    turns.write(".gitignore", "build/\n")
    turns.opened()
    tool_writes(turns, "build/made", "made\n")
    again = turns.again()
    again.outside.scanner.open()
    again.turns(1.0)
    (turns.root / "build/made").unlink()
    again.outside.look_at_unwatched()
    again.turns(1.0)
    assert told(again, "build/made") == "gone"


def test_an_ignored_file_that_a_call_read_keeps_the_version_that_was_read(turns: Turns) -> None:
    """To call it unwatched would be a change of it, and refuse an edit of what was just read."""
    (turns.root / "build").mkdir()
    turns.write(".gitignore", "build/\n")
    turns.write("build/lib", "lib\n")
    turns.opened()
    turns.files.file("build/lib", writing=False)
    read = head(turns, "build/lib")
    rules(turns, "build/\n# again\n")
    turns.outside.look_at_unwatched()
    turns.turns(1.0)
    assert read is not None
    assert head(turns, "build/lib") == read


def test_too_many_ignored_files_are_reported_instead_of_looked_at(turns: Turns) -> None:
    turns.opened()
    turns.write(".gitignore", "build/\n")
    turns.observer.unwatched.know(f"build/{n}" for n in range(ignored_files.MOST))
    assert turns.outside.reasons() == ["stopped"], "of the watcher of this test"
    turns.observer.unwatched.know(["build/one-more"])
    reason = f"{ignored_files.MOST + 1} journaled files are ignored and not watched"
    assert reason in turns.outside.reasons()
    assert Blind("", reason) in turns.outside.blind()
    assert turns.observer.unwatched.to_look_at() == []


# ── what nobody sees, and who is told ──

SPOTS = [Blind("src/deep", WATCH_LIMIT), Blind("docs", "unreadable_folder")]


@pytest.mark.parametrize(
    ("asked", "folders"),
    [
        ([], ["src/deep", "docs"]),
        (["."], ["src/deep", "docs"]),
        (["src/deep"], ["src/deep"]),
        (["src/deep/f.py"], ["src/deep"]),
        (["src"], ["src/deep"]),
        (["src/"], ["src/deep"]),
        (["src/deeper"], []),
        (["docs", "src/other.py"], ["docs"]),
        (["README.md"], []),
        (["*.py"], ["src/deep", "docs"]),
        (["src/**/*.py"], ["src/deep"]),
        (["src/deep/*.py"], ["src/deep"]),
        (["src/deep/below/*.py"], ["src/deep"]),
        (["lib/*.py"], []),
    ],
)
def test_a_question_reports_the_unwatched_parts_that_it_touches(asked: list[str], folders: Iterable[str]) -> None:
    assert [one.folder for one in touching(SPOTS, asked)] == folders


def test_an_unwatched_tree_concerns_every_question() -> None:
    assert touching([Blind("", "stopped")], ["src"]) == [Blind("", "stopped")]


def test_unwatched_parts_are_reported_in_one_sentence() -> None:
    several = [Blind("", "the first capture of the tree is under way"), *SPOTS, Blind("src/more", WATCH_LIMIT)]
    assert blind_told(several) == (
        "The journal may not know everything that is on disk: the first capture of the tree is under way; src/deep and "
        "1 other folder: not watched, for the limit of watches (fs.inotify.max_user_watches) is reached; docs: cannot "
        "be listed."
    )
