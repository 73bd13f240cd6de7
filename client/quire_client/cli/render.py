"""Formats replies as text for users and as JSON for programs.

Control characters in text from agents are removed for terminals, and escaped in JSON.
"""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from quire_journal.model import DURING, MARK, counted as counted, size as size

if TYPE_CHECKING:
    from datetime import tzinfo

_COLOURS: Final = {
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
    "bold": "1",
    "dim": "2",
}
_LEAST: Final = 12
"""Minimum width of a cell that is cut."""

_FOR_WRITERS: Final = ("cyan", "green", "yellow", "magenta", "blue", "red")
_HEAD: Final = (
    *("--- ", "+++ ", "diff --git ", "index ", "similarity index ", "rename from ", "rename to "),
    *("old mode ", "new mode ", "new file mode ", "deleted file mode "),
)

_DIRECTION: Final = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_ESCAPED: Final = f"[\x7f-\x9f\u2028\u2029\ud800-\udfff{''.join(sorted(_DIRECTION))}]"
_HEX: Final = frozenset("0123456789abcdef")
_UUID: Final = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_AT: Final = r"\b(at|since|until) (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)"


class Palette:
    """Terminal colours, or none. `NO_COLOR` (any value) disables them, else `CLICOLOR_FORCE` (any but 0) enables them;
    else terminals have them, except dumb ones.
    """

    def __init__(self, is_terminal: bool, environ: Mapping[str, str]) -> None:
        forced = environ.get("CLICOLOR_FORCE", "") not in ("", "0")
        self.on = not environ.get("NO_COLOR") and (forced or (is_terminal and environ.get("TERM") != "dumb"))

    def paint(self, text: str, colour: str) -> str:
        return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m" if self.on and text else text

    def of(self, number: int) -> str:
        """Return the colour name for writer number `number`, counted from 0; colours repeat."""
        return _FOR_WRITERS[number % len(_FOR_WRITERS)]

    def diff_line(self, line: str) -> str:
        if line.startswith(_HEAD):
            return self.paint(line, "bold")
        colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
        return self.paint(line, colour) if colour else line


def clean(text: object, keep: str = "") -> str:
    """Return `text` without control, direction and surrogate characters, except those in `keep`."""
    return "".join(c for c in str(text) if c in keep or not _unsafe(c))


def clean_text(text: object) -> str:
    return clean(text, keep="\n\t")


def one_line(text: object, limit: int = 200) -> str:
    """Return `text` on one line without control characters, cut at `limit` characters."""
    folded = clean(" ".join(str(text).split()))
    return folded if len(folded) <= limit else folded[: limit - 1] + "…"


def first_of(findings: Sequence[object], most: int = 20) -> list[str]:
    """Return the first of several findings, each on one line, and a line with the number of those left out."""
    more = len(findings) - most
    return [one_line(one, 500) for one in findings[:most]] + ([f"and {more} more; --json has all"] if more > 0 else [])


def path(name: object) -> str:
    """Return a path unchanged, or quoted as by git if a terminal cannot show the path."""
    whole = str(name)
    if clean(whole) == whole and "\n" not in whole and not whole.startswith('"'):
        return whole
    from quire_journal.export import quoted

    return quoted(whole).decode()


def said(sentence: object) -> str:
    """Return a reply's sentence without control characters, its times converted to local time."""
    return re.sub(_AT, lambda found: f"{found[1]} {moment(found[2])}", clean_text(sentence))


def as_json(reply: Mapping[str, Any], encoding: str = "") -> str:
    """Return the reply as one line of JSON; characters that `encoding` (default: stdout's) cannot represent are
    escaped.
    """
    text = re.sub(_ESCAPED, lambda found: f"\\u{ord(found[0]):04x}", json.dumps(reply, default=str, ensure_ascii=False))
    try:
        text.encode(encoding or sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return json.dumps(reply, default=str)
    return text


def columns(rows: Iterable[Sequence[str]], width: int = 0) -> list[str]:
    """Return the rows as lines with aligned columns, two blanks apart. If the lines are wider than `width` (0: no
    limit), the widest cells are shortened in the middle, except in the first column.
    """
    table = [list(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    beyond = sum(widths) + 2 * (len(widths) - 1) - width if width else 0
    while beyond > 0 and (most := max(widths[1:], default=0)) > _LEAST:
        widths[widths.index(most, 1)] -= 1
        beyond -= 1
    table = [[_without_middle(cell, most) for cell, most in zip(row, widths, strict=True)] for row in table]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]


def terminal_width() -> int:
    """Return the columns of the terminal at stdout; 0 if stdout is no terminal."""
    if not sys.stdout.isatty():
        return 0
    import shutil

    return shutil.get_terminal_size().columns


def _without_middle(cell: str, most: int) -> str:
    if len(cell) <= most:
        return cell
    end = (most - 1) // 2
    return f"{cell[: most - 1 - end]}…{cell[len(cell) - end :]}"


def lanes(whose: Sequence[str], rows: Sequence[str], colours: Palette) -> list[str]:
    """Return the rows below a heading, with a vertical line for each writer, as `git log --graph` draws branches.
    `whose` names the writer of each row.
    """
    names = list(dict.fromkeys(whose))
    last = {name: at for at, name in enumerate(whose)}
    painted = [[colours.paint(sign, colours.of(lane)) for sign in (name, "*", "|")] for lane, name in enumerate(names)]
    drawn = [" ".join([*(line for _, _, line in painted[:lane]), name]) for lane, (name, _, _) in enumerate(painted)]
    for at, (own, row) in enumerate(zip(whose, rows, strict=True)):
        signs = zip(names, painted, strict=True)
        cells = (star if name == own else line if last[name] > at else " " for name, (_, star, line) in signs)
        drawn.append(f"{' '.join(cells)}  {row}")
    return drawn


def moment(at: object, zone: tzinfo | None = None) -> str:
    """Return an RFC 3339 time as local time, `2026-01-31 12:00:00`; any other text unchanged."""
    from datetime import datetime  # imported late, as most commands print no time

    text = clean(at)
    try:
        there = datetime.fromisoformat(text) if text.endswith("Z") else None
        return text if there is None else there.astimezone(zone).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, ValueError):
        return text


def short_id(given: object) -> str:
    """Return a UUID's first group (for a version-7 UUID, its whole timestamp), and any other id unchanged."""
    text = one_line(given, 40)
    return text[: 13 if text[14] == "7" else 8] if re.match(_UUID, text) else text


def beginning(name: str, others: Iterable[str], least: int) -> str:
    """Return the shortest prefix of `name` with at least `least` characters that is no prefix of another name; `name`
    if there is none.
    """
    known = [*others]
    sizes = range(least, len(name))
    return next((name[:n] for n in sizes if not any(one.startswith(name[:n]) for one in known)), name)


def writer(who: object) -> str:
    """Return a writer's short name: `alice/s1`; `user` for a user without a name; `outside`; else its id, such as
    `w3`. A writer that is only probable has `~` in front.
    """
    if not isinstance(who, Mapping):
        return one_line(who or "?", 60)
    return f"{MARK}{_writer(who)}" if who.get("probable") else _writer(who)


def _writer(who: Mapping[str, Any]) -> str:
    agent, session = one_line(who.get("agent") or "", 40), short_id(who.get("agent_session") or "")
    if agent:
        return f"{agent}/{session}" if session else agent
    if session and who.get("uid") is not None:
        return f"user/{session}"
    # A user without a name gets a new writer id with every command: the number would be meaningless.
    return "user" if who.get("uid") is not None else one_line(who.get("id") or who.get("type") or "?", 60)


YOU: Final = f"{MARK}you"
"""Name shown for saves that were probably made by the user who reads the output."""

ABOUT_YOU: Final = (
    f"{YOU} is you or another program: as far as Quire knows, no agent's call and no git command wrote it."
)


def author(record: Mapping[str, Any], person: bool = False) -> str:
    """Return the short name of a record's writer, with `~` in front if the writer is only probable. With `person`, a
    write of which no agent and no git command is known is by `YOU` ("~you").
    """
    name = YOU if person and record.get("unclaimed") else writer(record.get("writer"))
    return f"{MARK}{name}" if record.get("evidence") == DURING else name


def meeting(collision: Mapping[str, Any], names: Sequence[str]) -> str:
    if common := collision.get("symbols"):
        return f", {'both' if len(names) == 2 else 'all'} in {_listed(common)}"
    within: dict[str, list[str]] = {}
    for name, each in zip(names, collision.get("writers") or (), strict=True):
        for symbol in each.get("symbols") or ():
            within.setdefault(symbol, []).append(name)
    met: dict[tuple[str, ...], list[str]] = {}
    for symbol, who in within.items():
        if len(who) > 1:
            met.setdefault(tuple(who), []).append(symbol)
    return "".join(f"; {' and '.join(who)} in {_listed(symbols)}" for who, symbols in met.items())


def _listed(symbols: Iterable[object]) -> str:
    return ", ".join(one_line(symbol, 80) for symbol in symbols)


def commit(found: Mapping[str, Any]) -> str:
    said = (found.get("id", "")[:7], one_line(found.get("author", ""), 40), found.get("at", "")[:10])
    return one_line(" ".join(("commit", *filter(None, said))))


GIT_RAN: Final = "while git ran"


def hint(said: object) -> str:
    text = one_line(said)
    if text.startswith("git: index.lock was "):
        return GIT_RAN
    if text.startswith("git: ") and not text.startswith("git: HEAD"):
        return git_command(text[5:].partition(" (HEAD ")[0])
    return commits(text)


_IN_HEADS_LOG: Final = re.compile(
    r"(?P<command>checkout|reset): moving (?:from \S+ )?to (?P<to>\S+)"
    r"|(?P<several>(?:pull|rebase)\b[^:(]*) \([a-z]+\): .*"
    r"|(?P<whole>(?:merge|pull|rebase)\b[^:]*): (?:Fast-forward|Merge made by |returning to |checkout |updating HEAD).*"
)
"""Pattern of an entry of HEAD's log that has more than the command; a group has what is left of the command."""


def git_command(said: str) -> str:
    """Return a git operation as a command, such as `git reset HEAD~1`. `said` is the command, or the entry that it left
    in HEAD's reflog.
    """
    found = _IN_HEADS_LOG.fullmatch(said)
    if found is not None:
        said = found["several"] or found["whole"] or f"{found['command']} {found['to']}"
    return commits(said if said.startswith("git ") else f"git {said}")


def commits(text: str) -> str:
    return " ".join(word[:10] if len(word) in (40, 64) and set(word) <= _HEX else word for word in text.split(" "))


def lines(ranges: object) -> str:
    if not isinstance(ranges, Sequence) or isinstance(ranges, str):
        return one_line(ranges or "")
    spans = [(one.get("start"), one.get("end")) for one in ranges if isinstance(one, Mapping)]
    return one_line(", ".join(str(start) if start == end else f"{start}-{end}" for start, end in spans))


def lacking(files: int) -> str:
    return f"the bytes of {counted(files, 'file')} are not in the journal"


def _unsafe(character: str) -> bool:
    if " " <= character <= "~":
        return False
    return character in _DIRECTION or unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")
