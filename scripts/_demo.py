"""The story that `scripts/demo` tells. Everything it makes is in one temporary folder, which goes away with it.

With `--svg FILE` the story is also drawn as a recorded terminal: what differs from run to run (the process id, the
folder, the time) is shown as a constant there, so that two recordings of one version of Quire are equal.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from quire_client import Client, connect

QUIRE = Path(sys.executable).with_name("quire")
BOLD, PLAIN = ("\033[1m", "\033[0m") if sys.stdout.isatty() else ("", "")

WIDTH = 80
"""Columns, as of a terminal that nobody has made wider."""

GREET = """\
def greet(name):
    text = "Hello, " + name
    print(text)
    return text
"""

CONSTANT = (
    (re.compile(r"(\(pid |kill -9 )\d+"), r"\g<1>4242"),
    (re.compile(r"\d{4}-\d\d-\d\d([ T])\d\d:\d\d:\d\d"), r"2026-11-22\g<1>10:00:00"),
    (re.compile(r"\b\d+[sm] ago +"), "1s ago  "),
    (re.compile(r"(Recording files|The daemon is still starting).*\n"), ""),  # of a busy machine
    (re.compile(r"\S*/quire-demo-\w+/site"), "~/site"),
)
"""What differs from run to run, and the text that a recording shows for it."""

VERSION = re.compile(r"\bv\d+\b *")
"""A version: a place in the log, which also counts reads as they are noted. A recording numbers them as they appear."""


class Line(NamedTuple):
    """One line of the terminal: a sentence of the story (`say`), a command (`run`), or what it printed (`out`)."""

    kind: str
    text: str


class Story:
    """Prints the story line by line, and keeps the lines where they are recorded."""

    def __init__(self, recorded: bool) -> None:
        self.recorded = recorded
        self.lines: list[Line] = []
        self._versions: dict[str, str] = {}

    def _version(self, found: re.Match[str]) -> str:
        name = self._versions.setdefault(found[0].strip(), f"v{len(self._versions) + 1}")
        return name.ljust(len(found[0]))

    def put(self, kind: str, text: str, indent: str = "") -> None:
        """Show `text`; of a line that is too wide, the rest goes on in the next one, as on a terminal."""
        if self.recorded:
            for pattern, constant in CONSTANT:
                text = pattern.sub(constant, text)
            text = VERSION.sub(self._version, text)
        for line in text.splitlines() or [""]:
            parts = [line] if len(indent + line) <= WIDTH else textwrap.wrap(line, WIDTH - len(indent))
            for part in parts:
                self.lines.append(Line(kind, indent + part))
                print(f"{BOLD}{indent}{part}{PLAIN}" if kind == "say" else indent + part, flush=True)

    def say(self, sentence: str) -> None:
        """A sentence of the story."""
        if self.lines:
            self.put("out", "")
        self.put("say", textwrap.fill(f"# {sentence}", WIDTH, subsequent_indent="# "))

    def shell(self, *words: str) -> None:
        """A command, and what it prints."""
        self.put("run", f"$ {shlex.join(words)}")
        command = [str(QUIRE), *words[1:]] if words[0] == "quire" else list(words)
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.put("out", done.stdout, "  ")

    def edit(self, agent: Client, shown: list[str], text: str, content: str) -> None:
        """An agent replaces the line in which it was shown `text`."""
        anchor = next(line for line in shown if text in line).split()[0]
        change = {"op": "replace_line", "hash": anchor, "content": content}
        self.put("run", f"{agent.caller.agent}> edit greet.py: line {anchor} becomes {content.strip()!r}")
        reply: dict[str, Any] = agent.edit("greet.py", [change])
        verdict = "ok" if reply["ok"] else f"refused, {reply['error']}"
        self.put("out", f"{verdict}: {reply['message'].splitlines()[0]}", "  ")


def read(agent: Client) -> list[str]:
    """The file as an agent is shown it, each line behind its anchor."""
    lines: list[str] = agent.read_file("greet.py", hashes=True)["lines"]
    return lines


def tell(story: Story, site: Path) -> None:
    """The story."""
    story.say("A folder with one file. One command records it.")
    Path("greet.py").write_text(GREET)
    story.shell("quire", "up", ".")

    with connect(site, agent="ada", session="s1") as ada, connect(site, agent="bob", session="s1") as bob:
        story.say("Two agents read the file. Ada edits first.")
        by_ada, by_bob = read(ada), read(bob)
        story.edit(ada, by_ada, "text =", '    text = f"Hello, {name}!"')

        story.say("Bob edits what he read. It is not what is there any more, so he is told why.")
        story.edit(bob, by_bob, "print", "    print(text, flush=True)")

        story.say("Bob reads again. His edit is answered, and the daemon is killed at once.")
        story.edit(bob, read(bob), "print", "    print(text, flush=True)")
        story.shell("kill", "-9", str(ada.status()["pid"]))

    story.say("A person saves the file from an editor. The next command starts the daemon.")
    with open("greet.py", "a") as file:
        file.write("# reviewed\n")
    story.put("run", "$ echo '# reviewed' >> greet.py")
    story.shell("quire", "log", "greet.py")

    story.say("Who wrote which line?")
    story.shell("quire", "blame", "greet.py")

    story.say("Take back what Ada did. What Bob and the person wrote stays.")
    story.shell("quire", "undo", "--writer", "ada")
    story.shell("cat", "greet.py")

    story.say("Nothing is missing.")
    story.shell("quire", "verify")


SECONDS = 30.0
"""Length of the recording, the last screen included."""

REST_S = 5.0
"""How long the last screen stands."""

WEIGHT = {"say": 3.0, "run": 1.5, "out": 0.5}
"""How long a line stands before the next one comes, in parts of the whole."""

ROWS, LINE, COLUMN, EDGE = 26, 19, 8.43, 14
"""Rows of the drawn terminal; height of a line, width of a column and the margin in pixels."""

STYLE = """\
.t{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#d6deeb;white-space:pre}
.say{fill:#7fdbca;font-weight:bold}.run{fill:#ffeb95}"""


def drawing(lines: list[Line]) -> str:
    """The lines as an SVG: a terminal in which they appear one by one. Without animation: the last screen."""
    height, width = ROWS * LINE, WIDTH * COLUMN
    weights = [WEIGHT[line.kind] for line in lines]
    second = (SECONDS - REST_S) / sum(weights)
    steps, at = [], 0.0
    for number, weight in enumerate(weights, 1):
        steps.append((at / SECONDS * 100, number))
        at += weight * second

    def keyframes(name: str, offset: Any) -> str:
        frames = "".join(f"{percent:.2f}%{{transform:translateY({offset(number)}px)}}" for percent, number in steps)
        return f"@keyframes {name}{{{frames}100%{{transform:translateY({offset(len(lines))}px)}}}}"

    def scrolled(number: int) -> int:
        return -max(0, number - ROWS) * LINE

    def covered(number: int) -> int:
        return number * LINE

    texts = [
        f'<text class="t {line.kind}" y="{row * LINE + 14}" textLength="{len(line.text) * COLUMN:.0f}">'
        f"{escape(line.text, quote=False)}</text>"
        for row, line in enumerate(lines)
        if line.text
    ]
    timing = f"{SECONDS:g}s step-end infinite"
    size = f"{width + 2 * EDGE:.0f} {height + 2 * EDGE}"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" role="img" aria-label="Quire at work">',
            "<!-- Made by scripts/demo. -->",
            f"<style>{STYLE}",
            f"#s{{transform:translateY({scrolled(len(lines))}px);animation:s {timing}}}",
            f"#c{{transform:translateY({covered(len(lines))}px);animation:c {timing}}}",
            keyframes("s", scrolled),
            keyframes("c", covered),
            "@media(prefers-reduced-motion){#s,#c{animation:none}}</style>",
            '<rect width="100%" height="100%" rx="8" fill="#011627"/>',
            f'<svg x="{EDGE}" y="{EDGE}" width="{width:.0f}" height="{height}"><g id="s">',
            *texts,
            f'<rect id="c" width="100%" height="{len(lines) * LINE}" fill="#011627"/>',
            "</g></svg></svg>",
            "",
        ]
    )


def main(argv: list[str]) -> None:
    """Tell the story in folders of its own, and leave nothing behind, however it ends."""
    if argv and (len(argv) != 2 or argv[0] != "--svg"):
        sys.exit("usage: scripts/demo [--svg FILE]")
    picture = Path(argv[1]).absolute() if argv else None
    story = Story(recorded=picture is not None)
    with tempfile.TemporaryDirectory(prefix="quire-demo-") as top:
        site = Path(top, "site")
        site.mkdir()
        for name in ("XDG_STATE_HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME"):
            folder = Path(top, name.lower())
            folder.mkdir(mode=0o700)
            os.environ[name] = str(folder)
        os.environ.pop("QUIRE_AGENT", None)
        os.environ.pop("QUIRE_SESSION", None)
        os.chdir(site)
        try:
            tell(story, site)
        finally:
            subprocess.run([QUIRE, "down"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            os.chdir("/")
    if picture is not None:
        picture.write_text(drawing(story.lines), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
