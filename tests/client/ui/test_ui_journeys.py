"""The screen as somebody uses it, with a daemon that is made up."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

import pytest
from rich.style import Style
from textual.pilot import Pilot
from textual.worker import WorkerCancelled
from ui_samples import SAVE, STORIES, TURN, FakeDaemon, file, story, writer

from quire_client.ui.app import QuireApp
from quire_client.ui.feed import News
from quire_client.ui.filters import Filter
from quire_client.ui.now_page import NOW
from quire_client.ui.pane import Pane
from quire_client.ui.rows import plain
from quire_client.ui.timeline_page import TIMELINE


class Screen:
    """What is on the screen, and the keys."""

    def __init__(self, daemon: FakeDaemon, app: QuireApp, pilot: Pilot[None]) -> None:
        self.daemon, self.app, self.pilot = daemon, app, pilot

    async def type(self, *keys: str) -> None:
        """Type, and wait until all that follows from it is done."""
        for key in keys:
            await self.pilot.press(key)
            await self.rest()

    async def rest(self) -> None:
        """Wait until nothing is under way but the watch for what is new."""
        for _ in range(3):
            others = [one for one in self.app.workers if one.group != "follow"]
            with contextlib.suppress(WorkerCancelled):  # by the one that took its place
                if others:  # none would mean all
                    await self.app.workers.wait_for_complete(others)
            await self.pilot.pause()

    async def until(self, what: Callable[[], bool]) -> None:
        """Wait until it is so."""
        for _ in range(500):
            if what():
                break
            await self.pilot.pause(0.01)
        assert what()
        await self.rest()

    async def news(self, what: Callable[[], bool]) -> None:
        """The feed tells of something; wait until it is so."""
        self.app.hear(News(1))
        await self.until(what)

    @property
    def rows(self) -> list[str]:
        return plain(self.pane.page.rows)

    @property
    def pane(self) -> Pane:
        return self.app.query_one(Pane)

    @property
    def chosen(self) -> str:
        return self.rows[self.pane.page.place.at]

    def line(self, name: str) -> str:
        return str(self.app.query_one(f"#{name}").render())


def journey(
    walk: Callable[[Screen], Awaitable[None]],
    stories: list[dict[str, object]] = STORIES,
    first: str = TIMELINE,
    size: tuple[int, int] = (80, 24),
) -> None:
    async def run() -> None:
        daemon = FakeDaemon([*stories])
        app = QuireApp(daemon.ask, "~/site", first, Filter())
        async with app.run_test(size=size) as pilot:
            screen = Screen(daemon, app, pilot)
            await screen.until(lambda: bool(screen.rows))
            await walk(screen)

    asyncio.run(run())


def test_from_the_timeline_to_a_story_a_diff_a_blame_and_back() -> None:
    async def walk(screen: Screen) -> None:
        assert "“Rename it”" in screen.chosen
        await screen.type("enter")
        assert screen.chosen.strip().startswith("M src/app.py")
        await screen.type("enter")
        assert screen.chosen == "@@ -1,2 +1,2 @@"
        await screen.type("n", "j", "b")
        assert screen.daemon.called("blame") == [{"path": "src/app.py", "at": "v12"}]
        assert "TWO" in screen.rows[1]
        await screen.type("home", "enter")
        assert "before the journal began" in screen.line("status")
        await screen.type("j", "enter")
        assert screen.daemon.called("show") == [{"version": "v12"}]
        await screen.type("escape", "escape", "escape", "escape")
        assert len(screen.rows) == 4

    journey(walk)


def test_an_undo_shows_the_plan_asks_and_can_be_redone() -> None:
    async def walk(screen: Screen) -> None:
        await screen.type("u")
        assert "          keeps what codex/t-1 wrote" in screen.rows
        assert "Take it back? y/n" in screen.line("status")
        await screen.type("n")
        assert "Nothing was taken back." in screen.line("status")
        assert [one for one in screen.daemon.called("undo") if "token" in one] == []
        await screen.type("u", "y")
        assert screen.daemon.called("undo")[-1] == {"token": "t0ken"}
        assert "Undone in 1 file." in screen.line("status")
        assert screen.line("hint").startswith("r redo")
        await screen.type("r")
        assert screen.daemon.called("redo") == [{"batch": 77}]
        await screen.type("r")
        assert len(screen.daemon.called("redo")) == 1

    journey(walk)


def test_a_plan_is_carried_out_once_and_no_other_key_cuts_it_off() -> None:
    async def walk(screen: Screen) -> None:
        await screen.type("u")
        await screen.pilot.press("y", "y", "escape", "enter")
        await screen.rest()
        assert [one for one in screen.daemon.called("undo") if "token" in one] == [{"token": "t0ken"}]
        assert screen.line("hint").startswith("r redo")

    journey(walk)


def test_a_file_and_a_call_of_a_story_are_taken_back_by_themselves() -> None:
    async def walk(screen: Screen) -> None:
        await screen.type("enter", "j", "u")
        assert screen.daemon.called("undo")[-1]["paths"] == ["src/b.py"]
        await screen.type("escape", "j", "u")
        assert screen.daemon.called("undo")[-1] == {"burst": 3, "plan": True}

    journey(walk)


def test_a_turn_that_is_cut_in_the_list_is_opened_and_taken_back_as_a_whole() -> None:
    whose = writer("alice", "s1", turn="t9")
    cut = {**TURN, "writer": whose, "whole": False}
    whole = {**cut, "whole": True, "first": 11, "files": [*TURN["files"], file("src/c.py")], "files_count": 3}

    async def walk(screen: Screen) -> None:
        screen.daemon.wholes["alice/s1"] = whole
        assert "began earlier" in screen.chosen
        await screen.type("u")
        taken = {"writer": "alice/s1", "turn": "t9", "from": "seq:10", "to": "seq:40", "plan": True}
        assert screen.daemon.called("undo")[-1] == taken
        await screen.type("escape", "enter")
        assert any("src/c.py" in row for row in screen.rows)
        assert not any("began earlier" in row for row in screen.rows)
        grown = {**cut, "seq": 43}
        screen.daemon.stories[0], screen.daemon.wholes["alice/s1"] = grown, {**whole, "seq": 43, "refused_count": 1}
        await screen.news(lambda: any("1 refused" in row for row in screen.rows))
        await screen.type("u")
        assert screen.daemon.called("undo")[-1] == {**taken, "to": "seq:43", "paths": ["src/app.py"]}

    journey(walk, [cut, SAVE])


def test_a_plan_says_since_when_of_a_story_of_which_no_more_is_known() -> None:
    cut = {**TURN, "whole": False}

    async def walk(screen: Screen) -> None:
        screen.daemon.wholes["alice/s1"] = cut
        await screen.type("u")
        assert "take back “Rename it”, the part since " in screen.line("head")

    journey(walk, [cut, SAVE], size=(100, 24))


def test_news_comes_in_at_the_top_and_leaves_the_selection_where_it_is() -> None:
    many = [story(seq, prompt=f"number {seq}") for seq in range(300, 0, -5)]

    async def walk(screen: Screen) -> None:
        assert "number 300" in screen.chosen
        screen.daemon.stories.insert(0, story(310, prompt="number 310"))
        await screen.news(lambda: "number 310" in screen.chosen)  # nobody has moved: the newest is followed
        await screen.type("pagedown", "j")
        chosen, line = screen.chosen, screen.pane.page.place.at - screen.pane.page.place.top
        screen.daemon.stories[:0] = [story(330, prompt="number 330"), story(320, prompt="number 320")]
        await screen.news(lambda: "2 new above (g)" in screen.line("status"))
        assert screen.chosen == chosen
        assert screen.pane.page.place.at - screen.pane.page.place.top == line
        await screen.type("g")
        assert "number 330" in screen.chosen
        assert "new above" not in screen.line("status")

    journey(walk, many)


def test_older_stories_are_loaded_when_somebody_comes_near_the_end() -> None:
    async def walk(screen: Screen) -> None:
        before = len(screen.rows)
        await screen.type("end")
        await screen.until(lambda: len(screen.rows) > before)

    journey(walk, [story(seq) for seq in range(600, 0, -3)])


def test_a_filter_is_typed_used_and_taken_away() -> None:
    async def walk(screen: Screen) -> None:
        await screen.type("slash", *"w:codex", "enter")
        await screen.until(lambda: [row[0] for row in screen.rows] == ["A"])
        assert screen.line("status").strip() == "Filter: w:codex"
        await screen.type("escape")
        await screen.until(lambda: len(screen.rows) == 4)
        await screen.type("a")
        await screen.until(lambda: len(screen.rows) == 2)
        await screen.type("slash", *"q", "escape")
        assert "agents only" in screen.line("status")
        await screen.type("slash", *"xyzzy", "enter")
        await screen.until(lambda: "Nothing matches." in screen.line("status"))
        await screen.type("escape")
        await screen.until(lambda: len(screen.rows) == 4)
        assert "Nothing" not in screen.line("status")

    journey(walk)


def test_a_filter_that_the_daemon_refuses_is_told_and_dropped() -> None:
    async def walk(screen: Screen) -> None:
        await screen.type("slash", *"w:nobody", "enter")
        await screen.until(lambda: "Nobody is called nobody." in screen.line("status"))
        await screen.until(lambda: len(screen.rows) == 4)

    journey(walk)


def test_a_lost_daemon_is_said_and_what_was_missed_is_there_when_it_is_back() -> None:
    async def walk(screen: Screen) -> None:
        screen.daemon.runs = False
        screen.app.hear(News(lost="No daemon runs."))
        await screen.until(lambda: "No daemon; waiting for one." in screen.line("status"))
        assert len(screen.rows) == 4
        await screen.type("d")
        screen.daemon.runs = True
        screen.daemon.stories.insert(0, story(50, prompt="meanwhile"))
        screen.app.hear(News())
        await screen.until(lambda: any("meanwhile" in row for row in screen.rows))
        assert "No daemon" not in screen.line("status")

    journey(walk)


def test_who_works_now_leads_to_what_they_did() -> None:
    async def walk(screen: Screen) -> None:
        assert screen.rows[0].startswith("! src/app.py: ")
        await screen.type("enter")
        await screen.until(lambda: "Filter: w:alice/s1" in screen.line("status"))

    journey(walk, first=NOW)


def test_a_refusal_is_told_to_its_end_on_a_narrow_screen() -> None:
    why = "ak.txt: it was there when it was first looked at; nothing shows that it was written since, so it stays."

    async def walk(screen: Screen) -> None:
        screen.daemon.replies["undo"] = {"ok": False, "error": "not_found", "message": why}
        height = screen.pane.size.height
        await screen.type("u")
        assert screen.line("status").strip() == why
        assert screen.app.query_one("#status").size.height == 2
        assert screen.pane.size.height == height - 1
        await screen.type("j")
        assert screen.pane.size.height == height

    journey(walk)


@pytest.mark.parametrize("size", [(20, 5), (80, 24), (200, 60)])
def test_it_fits_a_terminal_that_changes(size: tuple[int, int]) -> None:
    async def walk(screen: Screen) -> None:
        await screen.pilot.resize_terminal(*size)
        await screen.rest()
        assert screen.pane.size.height == size[1] - 3
        for key in ("enter", "enter", "b", "escape", "escape", "escape", "u", "escape", "w", "question_mark"):
            await screen.type(key)

    journey(walk)


def coloured(style: Style) -> bool:
    return any(colour is not None and not colour.is_default for colour in (style.color, style.bgcolor))


def test_without_colours_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    async def walk(screen: Screen) -> None:
        strips = screen.app.screen._compositor.render_strips()
        styles = [segment.style for strip in strips for segment in strip.apply_filter(screen.app._filters[-1], None)]  # type: ignore[arg-type]
        assert not [one for one in styles if one is not None and coloured(one)]

    journey(walk)


def test_q_leaves() -> None:
    async def walk(screen: Screen) -> None:
        await screen.type("enter")
        await screen.pilot.press("q")
        assert not screen.app.is_running or screen.app._exit

    journey(walk, [TURN])


def test_places_are_reviewed_accepted_and_rejected() -> None:
    async def walk(screen: Screen) -> None:
        await screen.type("v")
        assert screen.daemon.called("review") == [{"since": "HEAD"}]
        assert screen.chosen.startswith("@@ 2-2 @@ ")
        await screen.type("y")
        accepted = {"since": "HEAD", "upto": 41, "path": "src/app.py", "lines": "2-2"}
        assert screen.daemon.called("accept") == [accepted]
        assert "1 place accepted" in screen.line("status")
        await screen.type("n", "u")
        rejected = {"since": "HEAD", "upto": 41, "path": "src/app.py", "lines": "9-9"}
        assert screen.daemon.called("reject") == [rejected]
        assert "taken back" in screen.line("status")
        await screen.type("n", "A")
        assert screen.daemon.called("accept")[-1] == {"since": "HEAD", "upto": 41}
        await screen.type("v")
        assert len(screen.rows) == 4

    journey(walk)


def test_without_git_the_review_begins_with_what_was_there_first() -> None:
    async def walk(screen: Screen) -> None:
        asked = screen.daemon.ask
        refused = {"ok": False, "error": "not_found", "suggested_action": "name_a_point", "message": "no point"}
        screen.app._ask_now = lambda tool, given: refused if given.get("since") else asked(tool, given)
        await screen.type("v")
        assert screen.daemon.called("review") == [{}]

    journey(walk)
