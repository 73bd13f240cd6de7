"""Filter of the timeline: `w:NAME`, `p:PATH`, and words that an entry must contain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from quire_client.cli import render, story_title
from quire_client.ui.visible import visible


class Filter(NamedTuple):
    """Filter of the timeline. The daemon applies writer and path; words are searched in the loaded entries only."""

    writer: str = ""
    path: str = ""
    text: str = ""
    agents: bool = False

    @classmethod
    def typed(cls, line: str, agents: bool = False) -> Filter:
        """Parse a filter as typed: the last `w:NAME` or `writer:NAME`, the last `p:PATH` or `path:PATH`, and all other
        words as text. `agents`: only agents' entries.
        """
        named = {"w": "", "p": ""}
        words = []
        for word in line.split():
            kind, colon, value = word.partition(":")
            if colon and value and kind in ("w", "p", "writer", "path"):
                named[kind[0]] = value
            else:
                words.append(word)
        return cls(named["w"], named["p"], " ".join(words), agents)

    @property
    def line(self) -> str:
        named = (f"{kind}:{value}" for kind, value in (("w", self.writer), ("p", self.path)) if value)
        return " ".join([*named, *([self.text] if self.text else [])])

    @property
    def words(self) -> str:
        return ", ".join([*(["agents only"] if self.agents else []), *([visible(self.line)] if self.line else [])])

    def arguments(self) -> dict[str, Any]:
        given = {"writer": self.writer, "path": self.path, "agents": self.agents}
        return {name: value for name, value in given.items() if value}

    def admits(self, story: Mapping[str, Any]) -> bool:
        """Return True if the timeline entry `story` contains all words, in upper or lower case."""
        if not self.text:
            return True
        paths = [f"{file['path']} {' '.join(file.get('symbols') or ())}" for file in story.get("files") or ()]
        said = [story_title(story), str(story.get("prompt") or ""), str(story.get("note") or ""), *paths]
        said.append(render.writer(story.get("writer")))
        calls = story.get("calls") or ()
        said += [" ".join([call.get("command", ""), call.get("label", ""), *call.get("paths", ())]) for call in calls]
        whole = "\n".join(said).casefold()
        return all(word in whole for word in self.text.casefold().split())
