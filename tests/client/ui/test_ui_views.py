"""What the screen shows of the replies."""

from __future__ import annotations

import unicodedata
from datetime import UTC
from typing import Any

import pytest
from rich.cells import cell_len
from ui_samples import (
    BLAME,
    CLAIMS,
    CODEX,
    DIFF,
    EVIL,
    GIT,
    GONE,
    NOW,
    PLAN,
    REVIEW,
    SAVE,
    STATUS,
    STORIES,
    TURN,
    WHO,
    at,
    file,
    story,
    writer,
)

from quire_client.ui.blame_page import blame_rows
from quire_client.ui.diff_page import diff_rows, next_hunk
from quire_client.ui.key_page import HINTS, hint_row, key_rows
from quire_client.ui.now_page import NowReplies, now_rows, present
from quire_client.ui.plan_page import can_be_done, plan_rows
from quire_client.ui.review_page import review_rows
from quire_client.ui.rows import Row, plain
from quire_client.ui.story_page import story_rows
from quire_client.ui.styles import style_of
from quire_client.ui.timeline_page import timeline_rows
from quire_client.ui.writers import Marks

SEEN = NowReplies(STATUS, WHO, CLAIMS)


def timeline(stories: list[Any], width: int = 80) -> list[str]:
    return plain(timeline_rows(stories, Marks(), NOW, width, UTC))


def test_a_story_is_a_row_with_who_when_what_and_how_many_lines() -> None:
    assert timeline(STORIES) == [
        "B alice  4m ago  “Rename it”                                       2 files +4 -2",
        "y ~you   4m ago  src/app.py                                                +2 -1",
        "g git    4m ago  git checkout topic                        9 files, main → topic",
        "A codex  4m ago  src/app.py                                                +2 -1",
    ]


@pytest.mark.parametrize("width", [40, 80, 200])
def test_no_row_of_the_timeline_is_wider_than_the_screen(width: int) -> None:
    long = story(50, prompt="中文 " * 80, files=[file("a/" * 90 + "b.py")], refused_count=3)
    assert max(map(cell_len, timeline([*STORIES, long], width))) <= width


def test_the_time_is_that_of_the_newest_change() -> None:
    (line,) = timeline([story(9, at=at(300), ended_at=at(2))])
    assert "2m ago" in line


def test_agents_have_capitals_and_the_same_letter_and_colour_everywhere() -> None:
    marks = Marks()
    timeline_rows(STORIES, marks, NOW, 80, UTC)
    alice, codex = marks.of_story(TURN), marks.of_story(CODEX)
    assert (alice.letter, codex.letter) == ("B", "A")
    assert alice.style != codex.style
    blamed = blame_rows(BLAME, marks, NOW, UTC)
    assert [one.spans[0].text.strip() for one in blamed] == ["q", "B", "B", "A"]
    assert blamed[1].spans[0].style == alice.style
    here = [*present(WHO, marks)]
    assert here[0].text.startswith("  ! "), "what must not be cut off comes first"
    assert [(span.text, span.style) for span in here[1:3]] == [("  B alice", alice.style), ("  A codex", codex.style)]


def test_a_second_session_of_an_agent_is_another_writer_and_is_named() -> None:
    marks = Marks()
    first, second = (story(seq, writer=writer("codex", session)) for seq, session in ((9, "one"), (8, "two")))
    timeline_rows([first, second], marks, NOW, 80, UTC)
    assert [marks.of_story(one).name for one in (first, second)] == ["codex/one", "codex/two"]
    assert marks.of_story(first).letter != marks.of_story(second).letter


def test_what_is_only_probable_is_marked() -> None:
    assert timeline([{**TURN, "probable": True}])[0].startswith("A ~alice")
    hunk = {**REVIEW["files"][0]["hunks"][0], "writers": [{**writer("alice", "s1"), "probable": True}]}
    rows = plain(review_rows({**REVIEW, "files": [{**REVIEW["files"][0], "hunks": [hunk]}]}, Marks()))
    assert "@@ 2-2 @@ A ~alice" in rows


def test_an_open_story_has_the_prompt_its_files_and_its_calls() -> None:
    assert plain(story_rows(TURN, Marks(), NOW, 80, UTC)) == [
        "Rename it",
        "and say why",
        "A alice  5m ago to 4m ago  2 files",
        "  session s1",
        "",
        "Files",
        "  M src/app.py  +2 -1",
        "  M src/b.py    +2 -1",
        "",
        "Calls",
        "    5m ago  Edit  src/app.py",
    ]


def test_a_file_of_an_open_story_that_is_only_probably_of_its_writer_is_marked() -> None:
    first, *rest = TURN["files"]
    rows = plain(story_rows({**TURN, "files": [{**first, "probable": True}, *rest]}, Marks(), NOW, 80, UTC))
    assert [line for line in rows if "~" in line] == ["  M src/app.py  +2 -1  ~"]


def test_an_open_story_says_what_is_not_listed() -> None:
    lines = plain(story_rows({**GIT, "refused": [], "refused_count": 2}, Marks(), NOW, 80, UTC))
    assert "No file of it is listed." in lines
    assert "  ! and 2 more refused" in lines


def test_a_diff_has_the_lines_of_now_and_its_hunks_are_found_in_turn() -> None:
    rows = diff_rows(DIFF, Marks())
    assert plain(rows) == [
        "src/app.py  changed",
        "@@ -1,2 +1,2 @@",
        "1  one",
        "  -two",
        "2 +TWO",
        "@@ -9,1 +9,2 @@ f",
        " 9  nine",
        "10 +ten |",
    ]
    assert [rows[at].key[1] for at in (4, 6)] == [2, 9]  # type: ignore[index]
    assert next_hunk(rows, 0, 1) == 1
    assert next_hunk(rows, 1, 1) == 5
    assert next_hunk(rows, 5, 1) == 5
    assert next_hunk(rows, 5, -1) == 1


def test_a_diff_without_lines_says_why() -> None:
    told = {"path": "a.bin", "status": "changed"}
    shown = [
        plain(diff_rows({"files": [{**told, **more}]}, Marks()))[1]
        for more in ({"binary": True}, {"binary": False}, {"truncated": True}, {"mode": ["0644", "0755"]})
    ]
    assert shown == [
        "binary",
        "its bytes are not in the journal",
        "too long to be shown; `quire diff` prints it",
        "mode 0644 → 0755",
    ]
    assert plain(diff_rows({"files": []}, Marks())) == ["Nothing differs: what was changed was changed back."]


def test_a_blame_names_a_version_at_its_first_line() -> None:
    assert plain(blame_rows(BLAME, Marks(), NOW, UTC)) == [
        "q first seen v3   10:30 1 one",
        "A alice      v12 4m ago 2 TWO",
        "A                       3 three",
        "B codex      v8  9m ago 4 four",
    ]


def test_a_plan_says_what_goes_what_stays_and_whose_it_is() -> None:
    assert plain(plan_rows(PLAN, 80)) == [
        "Plan: 1 file to change.",
        "  write   src/app.py  +1 -2",
        "          keeps what codex/t-1 wrote",
        "  of alice/s1: 1 change",
    ]
    assert can_be_done(PLAN)
    assert not can_be_done({**PLAN, "files": [{"path": "a", "action": "none"}]})


def test_a_story_of_a_moment_has_one_time() -> None:
    moment = {**TURN, "at": TURN["ended_at"]}
    assert "A alice  4m ago  2 files" in plain(story_rows(moment, Marks(), NOW, 80, UTC))


def test_a_plan_is_folded_to_the_width() -> None:
    why = "it was there when it was first looked at; nothing shows that it was written since then"
    plan = {**PLAN, "files": [{"path": "ak.txt", "action": "none", "skipped": "first_seen", "why": why}]}
    rows = plain(plan_rows(plan, 40))
    assert max(map(len, rows)) <= 40
    assert why in " ".join(" ".join(rows).split())


def test_who_works_now_begins_with_where_they_collide() -> None:
    assert plain(now_rows(SEEN, Marks(), NOW, 80, UTC)) == [
        "! src/app.py: B alice and A codex, both in dispatch",
        "",
        "Who works now",
        "  B alice             present, seen 0s ago",
        "      writes src/app.py  1m ago",
        "  A codex             present, seen 2m ago",
        "",
        "Leases",
        "  B alice  exclusive  src/app.py  p",
        "",
        "Serving /site, full, 40 records.",
    ]


def test_what_is_not_well_comes_first() -> None:
    blind = {**STATUS, "coverage": {"state": "degraded", "reasons": ["the watcher is blind"]}}
    assert plain(now_rows(SEEN._replace(status=blind), Marks(), NOW, 80, UTC))[0] == (
        "! Not every change is seen (degraded): the watcher is blind"
    )
    assert plain(now_rows(NowReplies(GONE, GONE, GONE), Marks(), NOW, 80, UTC))[0] == f"! {GONE['message']}"


@pytest.mark.parametrize("page", HINTS)
def test_keys_fit_a_narrow_terminal(page: str) -> None:
    assert max(map(cell_len, plain([hint_row(page, undone=True), *key_rows()]))) <= 80


def test_names_prompts_and_contents_cannot_act_on_the_terminal() -> None:
    def evil(value: Any) -> Any:
        if isinstance(value, dict):
            times = ("at", "ended_at", "last_seen")
            known = ("form", "status", "action", "version", "before", "how", *times)
            return {name: one if name in known else evil(one) for name, one in value.items()}
        return (
            [evil(one) for one in value]
            if isinstance(value, list)
            else EVIL + value
            if isinstance(value, str)
            else value
        )

    marks = Marks()
    stories = [evil(one) for one in (TURN, SAVE, GIT, CODEX)]
    hunks = [{**hunk, "lines": [f"+{EVIL}"], "heading": EVIL} for hunk in DIFF["files"][0]["hunks"]]  # type: ignore[index]
    pages: list[list[Row]] = [
        timeline_rows(stories, marks, NOW, 80, UTC),
        *(story_rows(one, marks, NOW, 80, UTC) for one in stories),
        diff_rows({"files": [{"path": EVIL, "status": "changed", "hunks": hunks, "others": [EVIL]}]}, marks),
        blame_rows(evil(BLAME), marks, NOW, UTC),
        plan_rows(evil(PLAN), 80),
        now_rows(NowReplies(evil({**STATUS, "salvaged": EVIL}), evil(WHO), evil(CLAIMS)), marks, NOW, 80, UTC),
    ]
    for page in pages:
        text = "".join(plain(page))
        assert "<U+202E>" in text
        assert not {unicodedata.category(c) for c in text} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
        assert [style_of(span.style) for one in page for span in one.spans]
