"""The widget that shows rows and moves the cursor through them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from quire_client.ui.rows import Place, Row, kept, moved, shown
from quire_client.ui.styles import CHOSEN, style_of


@dataclass
class Page:
    kind: str
    title: str
    rows: list[Row] = field(default_factory=list)
    place: Place = field(default_factory=Place)
    sideways: int = 0
    about: Any = None  # data from which the rows were made


class Pane(Widget, can_focus=True):
    class Chosen(Message):
        """A message: the selected row was clicked."""

    class Resized(Message):
        """A message: the width changed."""

    class Moved(Message):
        """A message: the cursor moved or the rows scrolled."""

    def __init__(self, page: Page) -> None:
        super().__init__()
        self.page = page

    def show(self, page: Page) -> None:
        self.page = page
        self._go(shown(page.rows, page.place, self._height))

    def put(self, rows: list[Row], following: bool = False) -> None:
        """Replace the page's rows and keep the selected row; with `following`, select the first row."""
        page = self.page
        if following or not page.rows:
            place = moved(rows, Place(), 0, self._height)
        else:
            place = kept(page.rows, page.place, rows, self._height)
        page.rows = rows
        self._go(place)

    def move(self, steps: int) -> None:
        self._go(moved(self.page.rows, self.page.place, steps, self._height))

    def turn(self, pages: int) -> None:
        self.move(pages * max(self._height - 1, 1))

    def go_to(self, at: int) -> None:
        if at != self.page.place.at:
            self._go(shown(self.page.rows, Place(at, max(at - 2, 0)), self._height))

    def shift(self, columns: int) -> None:
        widest = max((sum(cell_len(span.text) for span in row.spans) for row in self.page.rows), default=0)
        self.page.sideways = min(max(self.page.sideways + columns, 0), max(widest - self.size.width + 1, 0))
        self.refresh()

    @property
    def chosen(self) -> Row | None:
        """The row with the cursor, or None if it cannot be selected."""
        page = self.page
        row = page.rows[page.place.at] if page.place.at < len(page.rows) else None
        return row if row is not None and row.key is not None else None

    @property
    def _height(self) -> int:
        return max(self.size.height, 1)

    def _go(self, place: Place) -> None:
        self.page.place = place
        self.refresh()
        self.post_message(self.Moved())

    def render_line(self, y: int) -> Strip:
        page, width = self.page, self.size.width
        at = page.place.top + y
        if at >= len(page.rows):
            return Strip.blank(width)
        row = page.rows[at]
        strip = Strip([Segment(span.text, style_of(span.style)) for span in row.spans])
        strip = strip.crop(page.sideways, page.sideways + width).extend_cell_length(width)
        return strip.apply_style(CHOSEN) if at == page.place.at and row.key is not None else strip

    def on_resize(self, event: events.Resize) -> None:
        self._go(shown(self.page.rows, self.page.place, self._height))
        self.post_message(self.Resized())

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self.move(3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self.move(-3)

    def on_click(self, event: events.Click) -> None:
        at = self.page.place.top + event.y
        if at >= len(self.page.rows) or self.page.rows[at].key is None:
            return
        if at == self.page.place.at:
            self.post_message(self.Chosen())
        else:
            self._go(Place(at, self.page.place.top))
