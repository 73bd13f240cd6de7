"""What reaches a terminal: nothing that an agent wrote to control it."""

from __future__ import annotations

import json

import pytest

from quire_client.cli import render


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[31mred\x1b[0m", "[31mred[0m"),
        ("a\rb\x07\x00\x7f\x9b", "ab"),
        ("user\u202etxt.exe", "usertxt.exe"),
        ("\u2066hidden\u2069", "hidden"),
        ("über — 漢字 🙂", "über — 漢字 🙂"),
        ("half \udc80", "half "),
    ],
)
def test_control_and_direction_characters_are_taken_out(said: str, shown: str) -> None:
    assert render.clean(said) == shown


def test_texts_of_several_lines_keep_their_lines() -> None:
    assert render.clean_text("a\n\tb\x1b") == "a\n\tb"
    assert render.one_line("a\n\tb  c") == "a b c"
    assert render.one_line("x" * 300, 10) == "xxxxxxxxx…"


UNSAFE = "a\u202eb\x1b\n\x7f\x9b\u2028\udc80\ud83d"


def test_json_is_one_line_of_readable_text_without_control_characters() -> None:
    reply = {"ok": True, "message": UNSAFE, "über": "— 漢字 🙂"}
    text = render.as_json(reply, "utf-8")
    assert '"über": "— 漢字 🙂"' in text
    assert render.clean(text) == text
    assert json.loads(text) == reply


def test_json_is_ascii_where_what_prints_it_has_no_other_characters() -> None:
    reply = {"message": UNSAFE, "über": "🙂"}
    assert render.as_json(reply, "ascii").isascii()
    assert json.loads(render.as_json(reply, "latin-1")) == reply
    assert '"é"' in render.as_json({"é": UNSAFE}, "latin-1")


@pytest.mark.parametrize(
    ("terminal", "environ", "coloured"),
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"TERM": "dumb"}, False),
        (True, {"NO_COLOR": ""}, True),
    ],
)
def test_colours_are_for_terminals_that_want_them(terminal: bool, environ: dict[str, str], coloured: bool) -> None:
    assert render.Palette(terminal, environ).paint("x", "red") == ("\x1b[31mx\x1b[0m" if coloured else "x")


def test_columns_stand_below_each_other() -> None:
    assert render.columns([("a", "bb", "c"), ("aaa", "b", "")]) == ["a    bb  c", "aaa  b"]
    assert render.columns([]) == []


def test_sizes_times_and_writers_are_short() -> None:
    assert [render.size(n) for n in (0, 1023, 1024, 5 * 1024**2)] == ["0 bytes", "1023 bytes", "1.0 KiB", "5.0 MiB"]
    assert render.moment("2026-01-31T12:00:00.123456Z") == "2026-01-31 12:00:00"
    assert render.moment("yesterday") == "yesterday"
    assert render.writer({"id": "w3", "agent": "alice", "agent_session": "s1"}) == "alice/s1"
    assert render.writer({"id": "outside", "agent": ""}) == "outside"
    assert render.writer({"id": "w3", "agent": "", "uid": 1000}) == "user"
    assert render.writer("w3") == "w3"
    assert render.lines([{"start": 3, "end": 4}, {"start": 9, "end": 9}]) == "3-4, 9"


def test_each_lane_has_a_colour_of_its_own_on_a_terminal() -> None:
    drawn = render.lanes(["ann", "ben", "ann"], ["1", "2", "3"], render.Palette(True, {}))
    cyan, green = "\x1b[36m{}\x1b[0m".format, "\x1b[32m{}\x1b[0m".format
    assert drawn == [
        cyan("ann"),
        f"{cyan('|')} {green('ben')}",
        f"{cyan('*')} {green('|')}  1",
        f"{cyan('|')} {green('*')}  2",
        f"{cyan('*')}    3",
    ]


def test_the_colours_for_writers_begin_again() -> None:
    colours = render.Palette(True, {})
    assert len({colours.of(n) for n in range(6)}) == 6
    assert colours.of(6) == colours.of(0)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (f"git: checkout: moving from {'3f' * 20} to main (HEAD {'3f' * 6} -> main {'4e' * 6})", None),
        ("git: HEAD moved (HEAD main -> side)", "git: HEAD moved (HEAD main -> side)"),
        ("git: index.lock was held", "while git ran"),
        ("git checkout main (ada/s1)", "git checkout main (ada/s1)"),
        (f"Edit {'a' * 40}.py (claude-code/1)", f"Edit {'a' * 40}.py (claude-code/1)"),
    ],
)
def test_a_hint_is_told_in_a_few_words(said: str, shown: str | None) -> None:
    assert render.hint(said) == (shown or "git checkout main")


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("reset: moving to HEAD~1", "git reset HEAD~1"),
        ("checkout: moving from main to f1", "git checkout f1"),
        ("merge f1: Fast-forward", "git merge f1"),
        ("merge f1: Merge made by the 'ort' strategy.", "git merge f1"),
        ("pull origin main: Fast-forward", "git pull origin main"),
        ("pull --rebase (start): checkout 1a2b3c4", "git pull --rebase"),
        ("rebase (pick): moving to: a subject", "git rebase"),
        ("rebase (finish): returning to refs/heads/side", "git rebase"),
        ("commit (amend): merge x: Fast-forward", "git commit (amend): merge x: Fast-forward"),
        ("cherry-pick: rebase (start): x", "git cherry-pick: rebase (start): x"),
        ("commit -m reset: moving to HEAD~1", "git commit -m reset: moving to HEAD~1"),
        ("git reset --hard HEAD~1", "git reset --hard HEAD~1"),
    ],
)
def test_a_move_of_head_is_told_as_the_command_that_made_it(said: str, shown: str) -> None:
    assert render.git_command(said) == shown


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (
            "It was removed by ada at 2026-01-31T12:00:00Z, in v9.",
            "It was removed by ada at 2026-01-31 12:00:00, in v9.",
        ),
        ("Held until 2026-01-31T12:00:00Z.", "Held until 2026-01-31 12:00:00."),
        ("A point is a time (2026-01-31T12:00:00Z).", "A point is a time (2026-01-31T12:00:00Z)."),  # to be typed
    ],
)
def test_a_time_in_a_sentence_is_written_as_in_the_tables(message: str, shown: str) -> None:
    assert render.said(message) == shown


def test_a_table_that_is_wider_than_the_terminal_has_the_middle_of_its_widest_cells_cut() -> None:
    rows = [("v7", f"src/{'x' * 60}/end.py", "+1 -0"), ("v12", "a.py", "")]
    told = render.columns(rows, 60)
    assert told == ["v7   src/xxxxxxxxxxxxxxxxxxxx…xxxxxxxxxxxxxxxx/end.py  +1 -0", "v12  a.py"]
    assert max(map(len, told)) == 60
    assert render.columns(rows, 200) == render.columns(rows)


def test_of_many_findings_the_first_and_their_number_are_told() -> None:
    assert render.first_of(["one", "two\nlines"], 2) == ["one", "two lines"]
    assert render.first_of(["one", "two", "three", "four"], 2) == ["one", "two", "and 2 more; --json has all"]
