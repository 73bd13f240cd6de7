"""The terminal program `quire ui`: a stack of pages, key bindings, and daemon calls in the background."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar, Final

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.message import Message
from textual.widgets import Input, Static

from quire_client.cli import when
from quire_client.ui import targets
from quire_client.ui.blame_page import blame_rows
from quire_client.ui.diff_page import diff_rows, next_hunk
from quire_client.ui.feed import LOST, News
from quire_client.ui.filters import Filter
from quire_client.ui.key_page import hint_row, key_rows
from quire_client.ui.now_page import NOW, NOW_ASKED, WRITER_KEY, NowReplies, now_rows, present
from quire_client.ui.pane import Page, Pane
from quire_client.ui.plan_page import can_be_done, plan_rows
from quire_client.ui.review_page import SINCE_GIT, accept_of, reject_of, review_rows
from quire_client.ui.rows import BOLD, DIM, WARN, Span, kept, shown
from quire_client.ui.story_list import Answers, StoryList, load_newer, load_older
from quire_client.ui.story_page import FILE, story_rows
from quire_client.ui.styles import style_of
from quire_client.ui.timeline_page import TIMELINE, story_key, timeline_rows, title_of
from quire_client.ui.visible import fitted, visible
from quire_client.ui.writers import Marks

FIRST: Final = 45
NEAR: Final = 20

AGAIN_S: Final = 0.4
TICK_S: Final = 5.0
ALL: Final = Filter()

SIDEWAYS: Final = 16
Story = Mapping[str, Any]


class QuireApp(App[None]):
    CSS = """
    Screen { layout: vertical; background: ansi_default; color: ansi_default; }
    Static { height: 1; background: ansi_default; color: ansi_default; }
    #status { height: auto; min-height: 1; max-height: 3; }
    Pane { height: 1fr; background: ansi_default; color: ansi_default; }
    Input { display: none; border: none; height: 1; padding: 0; background: ansi_default; color: ansi_default; }
    Input.typing { display: block; }
    """
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar = [
        Binding("down,j", "move(1)"),
        Binding("up,k", "move(-1)"),
        Binding("pagedown,space", "turn(1)"),
        Binding("pageup", "turn(-1)"),
        Binding("home,g", "edge(0)"),
        Binding("end,G", "edge(1)"),
        Binding("enter,right,l", "open"),
        Binding("escape,left,h,backspace", "leave"),
        Binding("d", "diff"),
        Binding("b", "blame"),
        Binding("n", "next_or_no(1)"),
        Binding("p", "next_or_no(-1)"),
        Binding("less_than_sign", f"sideways(-{SIDEWAYS})"),
        Binding("greater_than_sign", f"sideways({SIDEWAYS})"),
        Binding("u", "undo"),
        Binding("y", "agree"),
        Binding("r", "redo"),
        Binding("w", "now"),
        Binding("v", "review"),
        Binding("A", "accept_all"),
        Binding("slash", "filter"),
        Binding("a", "agents"),
        Binding("question_mark", "keys"),
        Binding("q,ctrl+c,ctrl+q", "quit", priority=False),
        Binding("ctrl+c", "quit", priority=True),
        Binding("ctrl+z", "suspend_process"),
    ]

    class Heard(Message):
        def __init__(self, news: News) -> None:
            super().__init__()
            self.news = news

    def __init__(self, ask: Answers, workspace: str, first: str = TIMELINE, wanted: Filter = ALL) -> None:
        super().__init__(ansi_color=True)
        self.on_start: Callable[[], None] = lambda: None
        self._ask_now = ask
        self._workspace = workspace
        self._first = first
        self._marks = Marks()
        self._filter = wanted
        self._loaded = StoryList()
        self._settled = False  # True once the stories that the filter admits are loaded
        self._older = FIRST  # number of older stories to load
        self._who: Mapping[str, Any] = {}
        self._pages = [Page("timeline", "")]
        self._pane = Pane(self._pages[0])  # held here, as news may arrive while the screen closes
        self._following = True  # the cursor has not moved, or is at the newest entry
        self._seen_seq = 0  # newest record shown while the top of the list was visible
        self._said = ""
        self._lost = ""
        self._undone: int | None = None  # the batch of the last undo
        self._news = asyncio.Event()

    # ── the screen ──

    def compose(self) -> ComposeResult:
        yield Static(id="head", markup=False)
        yield self._pane
        yield Input(id="filter", placeholder="w:NAME  p:PATH  words", compact=True)
        yield Static(id="status", markup=False)
        yield Static(id="hint", markup=False)

    def on_mount(self) -> None:
        self._pane.focus()
        self._news.set()
        self.run_worker(self._follow(), group="follow")
        self.set_interval(TICK_S, self._tick)
        if self._first == NOW:
            self.action_now()
        self._draw()
        self.on_start()

    def hear(self, news: News) -> None:
        self.post_message(self.Heard(news))

    def on_quire_app_heard(self, message: Heard) -> None:
        was, self._lost = self._lost, message.news.lost
        if message.news.records or (was and not self._lost):
            self._news.set()
        self._draw()

    @property
    def _page(self) -> Page:
        return self._pages[-1]

    def on_pane_resized(self) -> None:
        self._refit()
        if self._page.kind == "now":
            self.run_worker(self._look_now(self._page), group="now", exclusive=True)

    def on_pane_moved(self) -> None:
        page = self._page
        if page.kind == "timeline":
            if page.place.top == 0:
                self._seen_seq = max([self._seen_seq, *(story["seq"] for story in self._loaded.stories)])
            if self._loaded.cursor and page.place.at > len(page.rows) - NEAR and not self._older:
                self._older = FIRST
                self._news.set()
        self._draw()

    def on_pane_chosen(self) -> None:
        self.action_open()

    def _draw(self) -> None:
        if not self.is_running or not self.query("#hint"):
            return
        width, page = self.size.width, self._page
        where = [Span("quire ", BOLD), Span(visible(self._workspace))]
        if page.kind == "timeline":
            where += [*present(self._who, self._marks)]
        else:
            where += [Span(f"  › {one.title}") for one in self._pages[1:]]
        self.query_one("#head", Static).update(_text(where, width))
        self.query_one("#status", Static).update(_text([*self._status()]))
        self.query_one("#hint", Static).update(_text(hint_row(page.kind, self._undone is not None).spans, width))

    def _status(self) -> Sequence[Span]:
        spans = []
        if self._lost:
            spans.append(Span("No daemon; waiting for one. ", WARN))
        if self._page.kind == "timeline" and (new := self._new_above()):
            spans.append(Span(f"{new} new above (g). ", WARN))
        if self._page.kind == "plan":
            done = can_be_done(self._page.about[0])
            spans.append(Span("Take it back? y/n " if done else "Nothing can be done of that. ", BOLD))
        if self._said:
            spans.append(Span(f"{visible(self._said)} "))
        elif self._page.kind == "timeline" and self._settled and not self._loaded.stories and not self._lost:
            spans.append(Span("Nothing matches. " if self._filter.words else "Nothing is recorded yet. "))
        if self._filter.words and self._page.kind == "timeline":
            spans.append(Span(f"Filter: {self._filter.words} ", DIM))
        return spans

    def _new_above(self) -> int:
        return sum(story["seq"] > self._seen_seq for story in self._loaded.stories[: self._page.place.top])

    def _say(self, sentence: str) -> None:
        self._said = " ".join(sentence.split())
        self._draw()

    # ── what is new ──

    async def _ask(self, tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        reply = await asyncio.to_thread(self._ask_now, tool, arguments)
        if not reply.get("ok"):
            gone = reply.get("error") in LOST
            self._say("" if gone and self._lost else str(reply.get("message") or "The call was refused."))
        return reply

    async def _follow(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            asked = self._filter
            found = await asyncio.to_thread(self._load, asked, self._loaded, self._older)
            if asked != self._filter:
                continue
            if not found.refusal:
                self._loaded, self._older, self._settled = found, 0, True
                self._who = await asyncio.to_thread(self._ask_now, "who", {"present": True, "limit": 50})
                await self._refresh_page()
            elif not found.lost:
                self._say(found.refusal)
                if self._filter.line:
                    self._filter = Filter(agents=self._filter.agents)
                    self._news.set()
            await asyncio.sleep(AGAIN_S)

    def _load(self, wanted: Filter, known: StoryList, older: int) -> StoryList:
        newer = load_newer(self._ask_now, wanted, known) if known.newest else known
        return load_older(self._ask_now, wanted, newer, older) if older and not newer.refusal else newer

    async def _refresh_page(self) -> None:
        self._refit()
        if self._page.kind == "story":
            await self._open_story(self._page.about, self._page)
        elif self._page.kind == "now":
            await self._look_now(self._page)

    def _tick(self) -> None:
        if self._page.kind == "now":
            self.run_worker(self._look_now(self._page), group="now", exclusive=True)
        self._refit()

    def _refit(self) -> None:
        page, now, width = self._page, datetime.now(UTC), self._pane.size.width
        timeline = self._pages[0]
        rows = timeline_rows(self._loaded.stories, self._marks, now, max(width, 20))
        if page is timeline:
            self._pane.put(rows, self._following)
        elif timeline.rows:
            timeline.place = kept(timeline.rows, timeline.place, rows, max(self._pane.size.height, 1))
            timeline.rows = rows
        if page.kind == "plan" and page.about[0]:
            self._pane.put(plan_rows(page.about[0], width))
        if page.kind == "story" and page.about is not None:
            self._pane.put(story_rows(page.about, self._marks, now, width))
        if not self._loaded.stories and page is timeline:
            timeline.rows = []
        self._draw()

    # ── moving ──

    def action_move(self, steps: int) -> None:
        self._touched()
        self._pane.move(steps)

    def action_turn(self, pages: int) -> None:
        self._touched()
        self._pane.turn(pages)

    def action_edge(self, end: int) -> None:
        self._touched()
        count = len(self._page.rows)
        if end:
            self._pane.move(count)
        else:
            self._page.place = self._page.place._replace(top=0)
            self._pane.move(-count)
            self._following = self._page.kind == "timeline"

    def action_sideways(self, columns: int) -> None:
        self._pane.shift(columns)

    def action_next_or_no(self, steps: int) -> None:
        if self._page.kind == "plan" and steps > 0:
            self.action_leave()
            self._say("Nothing was taken back.")
        elif self._page.kind in ("diff", "review"):
            self._pane.go_to(next_hunk(self._page.rows, self._page.place.at, steps))

    def _touched(self) -> None:
        self._following = False
        self._said = ""

    # ── pages ──

    def _push(self, page: Page) -> None:
        self._pages.append(page)
        page.place = shown(page.rows, page.place, max(self._pane.size.height, 1))
        self._pane.page = page
        self._pane.move(0)
        self._draw()

    def action_leave(self) -> None:
        self._touched()
        if len(self._pages) > 1:
            self._pages.pop()
            self._pane.show(self._page)
            self._refit()
        elif self._filter.words:
            self._narrow(Filter())

    def action_open(self) -> None:
        self._touched()
        kind, chosen = self._page.kind, self._pane.chosen
        if kind == "timeline" and (story := self._story()) is not None:
            self._work(self._open_story(story))
        elif kind == "story":
            self.action_diff()
        elif kind == "blame" and chosen is not None:
            self._work(self._open_version(chosen.key))
        elif kind == "now" and chosen is not None and isinstance(chosen.key, tuple):
            is_writer = chosen.key[0] == WRITER_KEY
            self._pages = self._pages[:1]
            self._pane.show(self._page)
            self._narrow(Filter(writer=chosen.key[1]) if is_writer else Filter(path=chosen.key[1]))

    def _work(self, work: Any) -> None:
        self.run_worker(work, group="open", exclusive=True)

    def _finish(self, work: Any) -> None:
        self.run_worker(work, group="finish")

    def _story(self) -> Story | None:
        if self._page.kind == "story":
            story: Story = self._page.about
            return story
        chosen = self._pane.chosen
        if self._page.kind != "timeline" or chosen is None:
            return None
        return next((story for story in self._loaded.stories if story_key(story) == chosen.key), None)

    def _part(self) -> tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]:
        chosen = self._pane.chosen
        if self._page.kind != "story" or chosen is None or not isinstance(chosen.key, tuple):
            return None, None
        what, number = chosen.key
        story = self._page.about
        return (story["files"][number], None) if what == FILE else (None, story["calls"][number])

    async def _open_story(self, story: Story, page: Page | None = None) -> None:
        now = next((one for one in self._loaded.stories if targets.is_same(one, story)), story)
        whole = await self._whole(now)
        rows = story_rows(whole, self._marks, datetime.now(UTC), self._pane.size.width)
        if page is None:
            self._push(Page("story", fitted(title_of(whole), 24).rstrip(), rows, about=whole))
        elif page is self._page:
            page.about = whole
            self._pane.put(rows)

    async def _whole(self, story: Story) -> Story:
        ask = targets.opened(story)
        reply = await self._ask(*ask)
        found = next((one for one in reply.get("stories") or () if targets.is_same(story, one)), story)
        is_searched = "since" not in ask.arguments
        return {**found, "whole": found["whole"] if is_searched else story["whole"]}

    def action_diff(self) -> None:
        self._touched()
        story = self._story()
        if story is None:
            return
        file, call = self._part()
        if call is not None:
            self._work(self._open_diff(targets.diff_of_call(story, call), visible(call.get("label") or "call")))
        elif file is not None:
            self._work(self._open_diff(targets.diff_of(story, [file]), visible(file["path"])))
        elif story["files"]:
            self._work(self._open_diff(targets.diff_of(story, story["files"]), "all files"))
        else:
            self._work(self._open_all(story))

    async def _open_all(self, story: Story) -> None:
        found = await self._whole(story)
        if found["files"]:
            await self._open_diff(targets.diff_of(found, found["files"]), "all files")
        else:
            self._say("No file of it is listed, so there is no difference to show.")

    async def _open_diff(self, ask: targets.Ask, title: str) -> None:
        reply = await self._ask(*ask)
        if reply.get("ok"):
            rows = diff_rows(reply, self._marks)
            self._push(Page("diff", title, rows, about=(reply.get("to") or "", ask)))
            self._pane.go_to(next_hunk(rows, -1, 1) if rows else 0)

    async def _open_version(self, key: Any) -> None:
        version = key[1] if isinstance(key, tuple) else None
        if not version:
            self._say("That line was there before the journal began, or came with a commit of git.")
            return
        reply = await self._ask("show", {"version": version})
        if reply.get("ok"):
            rows = diff_rows(reply, self._marks)
            self._push(Page("diff", f"{visible(reply.get('path', ''))} {version}", rows, about=(version, None)))
            self._pane.go_to(next_hunk(rows, -1, 1))

    def action_blame(self) -> None:
        self._touched()
        page, chosen = self._page, self._pane.chosen
        if page.kind == "diff" and chosen is not None and isinstance(chosen.key, tuple):
            path, line, _ = chosen.key
            point = {"at": page.about[0]} if page.about[0] else {}
            self._work(self._open_blame(targets.Ask("blame", {"path": path, **point}), line))
            return
        story, (file, _) = self._story(), self._part()
        if file is None and story is not None and len(story["files"]) == 1:
            file = story["files"][0]
        if file is not None:
            self._work(self._open_blame(targets.blame_of(file), 1))
        elif page.kind in ("timeline", "story"):
            self._say("Open the story and choose a file, then b.")

    async def _open_blame(self, ask: targets.Ask, line: int) -> None:
        reply = await self._ask(*ask)
        lines = [*(reply.get("lines") or ())]
        page = reply
        while page.get("ok") and page.get("truncated") and page.get("next_line"):
            pinned = {**ask.arguments, "at": reply["version"], "start_line": page["next_line"]}
            page = await self._ask("blame", pinned)
            lines += page.get("lines") or ()
        if reply.get("ok"):
            rows = blame_rows({"lines": lines}, self._marks, datetime.now(UTC))
            title = f"{visible(ask.arguments['path'])} at {reply.get('version', '')}"
            self._push(Page("blame", title, rows))
            self._pane.go_to(min(max(line, 1), len(rows)) - 1)

    def action_now(self) -> None:
        self._touched()
        if self._page.kind == "now":
            self.action_leave()
            return
        page = Page("now", "who works now")
        self._push(page)
        self.run_worker(self._look_now(page), group="now", exclusive=True)

    async def _look_now(self, page: Page) -> None:
        status, who, claims = [await asyncio.to_thread(self._ask_now, tool, given) for tool, given in NOW_ASKED]
        if status.get("ok") or not page.rows:
            page.about = NowReplies(status, who, claims)
        if page is self._page and page.about is not None:
            self._pane.put(now_rows(page.about, self._marks, datetime.now(UTC), self._pane.size.width))

    def action_review(self) -> None:
        self._touched()
        if self._page.kind == "review":
            self.action_leave()
        else:
            self._work(self._look_for_review(None))

    async def _look_for_review(self, page: Page | None) -> None:
        given: Mapping[str, Any] = SINCE_GIT
        reply = await asyncio.to_thread(self._ask_now, "review", given)
        if reply.get("suggested_action") == "name_a_point":  # not a git repository, or no commit
            given = {}
            reply = await asyncio.to_thread(self._ask_now, "review", given)
        if not reply.get("ok"):
            self._say(str(reply.get("message") or "The call was refused."))
            return
        rows = review_rows(reply, self._marks)
        if page is None:
            page = Page("review", "review", rows)
            self._push(page)
        page.about = (reply, given)
        if page is self._page:
            self._pane.put(rows)
            self._pane.go_to(next_hunk(rows, min(page.place.at, len(rows) - 1) - 1, 1))

    async def _accept(self, key: Any) -> None:
        reply, given = self._page.about
        await self._mark(accept_of(reply, key, given))

    async def _mark(self, ask: targets.Ask) -> None:
        """Make the call `ask` (`accept` or `reject`), and show the changes that remain for review."""
        page = self._page
        told = await self._ask(*ask)
        if told.get("ok"):
            await self._look_for_review(page)
            self._say(str(told["message"]))

    def action_accept_all(self) -> None:
        if self._page.kind == "review":
            self._finish(self._accept(None))

    def action_keys(self) -> None:
        self._touched()
        if self._page.kind != "keys":
            self._push(Page("keys", "keys", key_rows()))

    # ── taking back ──

    def action_undo(self) -> None:
        self._touched()
        if self._page.kind == "review":
            chosen = self._pane.chosen
            ask = reject_of(self._page.about[0], None if chosen is None else chosen.key, self._page.about[1])
            if ask is not None:
                self._finish(self._mark(ask))
            return
        story, (file, call) = self._story(), self._part()
        if story is None:
            return
        self._work(self._plan(story, file, call))

    async def _plan(self, story: Story, file: Mapping[str, Any] | None, call: Mapping[str, Any] | None) -> None:
        if self._page.kind == "timeline" and (len(story["files"]) < story["files_count"] or not story["whole"]):
            story = await self._whole(story)
        ask = targets.undo_of(story, file, call)
        if ask is None:
            self._say("There is nothing to take back in that.")
            return
        what = visible((file or {}).get("path") or (call or {}).get("label") or title_of(story))
        part = f", the part since {visible(when(story['at'], datetime.now(UTC)))}"
        await self._plan_of(ask, fitted(what, 40).rstrip() + (part if targets.is_of_a_part(story, ask) else ""))

    async def _plan_of(self, ask: targets.Ask, what: str) -> None:
        plan = await self._ask(*ask)
        if plan.get("ok"):
            rows = plan_rows(plan, self._pane.size.width)
            self._push(Page("plan", f"take back {what}", rows, about=(plan, ask.tool)))

    def action_agree(self) -> None:
        chosen = self._pane.chosen
        if self._page.kind == "review" and chosen is not None and isinstance(chosen.key, tuple):
            self._finish(self._accept(chosen.key))
            return
        if self._page.kind == "plan" and can_be_done(self._page.about[0]):
            plan, tool = self._page.about
            self._page.about = ({}, tool)  # a second `y` must not repeat it
            self._finish(self._carry_out(tool, {"token": plan["token"]}))

    async def _carry_out(self, tool: str, arguments: Mapping[str, Any]) -> None:
        reply = await self._ask(tool, arguments)
        if self._page.kind == "plan":
            self._pages.pop()
            self._pane.show(self._page)
        if reply.get("ok"):
            undone = tool == "undo"
            self._undone = reply.get("batch") if undone else None
            if self._page.kind == "review":
                await self._look_for_review(self._page)
            self._say(str(reply.get("message", "")))
            self._news.set()
        self._draw()

    def action_redo(self) -> None:
        self._touched()
        if self._page.kind == "plan":
            return
        if self._undone is None:
            self._say("Nothing was taken back here that could be brought back.")
        else:
            self._finish(self._carry_out("redo", {"batch": self._undone}))

    # ── the filter ──

    def action_filter(self) -> None:
        self._touched()
        if self._page.kind == "plan":
            return
        self._pages = self._pages[:1]
        self._pane.show(self._page)
        line = self.query_one(Input)
        line.value = self._filter.line
        line.add_class("typing")
        line.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self._close_line()
        self._narrow(Filter.typed(event.value, self._filter.agents))

    def on_key(self, event: Any) -> None:
        if event.key == "escape" and self.query_one(Input).has_class("typing"):
            event.prevent_default().stop()
            self._close_line()

    def _close_line(self) -> None:
        self.query_one(Input).remove_class("typing")
        self._pane.focus()

    def action_agents(self) -> None:
        self._touched()
        if self._page.kind == "timeline":
            self._narrow(self._filter._replace(agents=not self._filter.agents))

    def _narrow(self, wanted: Filter) -> None:
        self._filter, self._loaded, self._older, self._settled = wanted, StoryList(), FIRST, False
        self._following, self._said, self._seen_seq = True, "", 0
        self._news.set()
        self._draw()


def _text(spans: Sequence[Span], width: int = 0) -> Text:
    text = Text(no_wrap=bool(width), overflow="ellipsis" if width else "fold", end="")
    for span in spans:
        text.append(span.text, style_of(span.style))
    if width:
        text.truncate(width, overflow="ellipsis")
    return text
