"""Trace: are the processes that the kernel saw writing a file those of one announced call? Pure.

They are when each of them descends from the agent's process and is no program that a person may type into, and when all
from the agent down to it started after the call was announced. A process that was there before the call (a server that
an earlier call started, the agent itself) may write for another reason.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from quire_daemon.core import Ancestor, AnnouncedCall, TracedWriter, WritePart
from quire_journal.model import OUTSIDE, OVERLAP, TRACED

TICK_S: Final = 0.01
"""What the kernel tells of the start of a process is so much too early at most: a tick, in which it counts starts."""

LATE_S: Final = 0.05
"""An event may be read so much later than its write."""


class EndedCall(NamedTuple):
    """A call that has ended; what it started may go on."""

    call: AnnouncedCall
    ended_s: float  # monotonic


Trace = Literal["traced", "unknown", "not_of_the_agent", "started_before", "wrote_after", "typed_into"]
"""What the processes say: they are those of the call, or why that is not proved."""

EDITORS: Final = frozenset(
    {"atom", "bbedit", "clion", "code", "code-insiders", "code-oss", "codium", "cursor", "datagrip", "eclipse"}
    | {"emacs", "emacsclient", "fleet", "geany", "gedit", "gnome-text-editor", "goland", "gvim", "helix", "hx", "idea"}
    | {"joe", "jupyter-lab", "jupyter-notebook", "kak", "kakoune", "kate", "kwrite", "lapce", "lite-xl", "mate", "mc"}
    | {"mcedit", "micro", "mousepad", "nano", "ne", "neovide", "netbeans", "notepadqq", "nvim", "phpstorm", "pico"}
    | {"pluma", "pycharm", "rider", "rstudio", "rubymine", "rustrover", "spyder", "studio", "subl", "sublime_text"}
    | {"textedit", "textmate", "vi", "view", "vim", "vimdiff", "vscodium", "webstorm", "windsurf", "xed", "zed"}
    | {"zed-editor", "zeditor"}
)
"""Programs in which a person edits files. Agents do not write with them."""

TERMINALS: Final = frozenset(
    {"abduco", "alacritty", "dtach", "foot", "ghostty", "gnome-terminal", "kitty", "konsole", "mosh-server", "rxvt"}
    | {"screen", "sshd", "st", "terminator", "tilix", "tmux", "ttyd", "urxvt", "uxterm", "wezterm", "xfce4-terminal"}
    | {"xterm", "zellij"}
)
"""Programs in which a person types commands."""

_TYPED_INTO: Final = EDITORS | TERMINALS
_VERSION: Final = re.compile(r"[.:\s]|-?\d")
_EDITORS_JAVA: Final = "/jbr/"  # the one that JetBrains' editors bring along; the process is called `java` else


def trace(
    writers: Sequence[TracedWriter] | None, agent: tuple[int, int], announced_s: float, ended_s: float = math.inf
) -> Trace:
    """What the writers of a file say about a call of the agent with this process (pid, start).

    `writers`: all that wrote since the journal knew last what stood there; None where that is not known. Times are
    monotonic seconds; `ended_s` is that of the call's end, as far as it has ended.
    """
    if not writers:
        return "unknown"
    return next((why for writer in writers if (why := _of(writer, agent, announced_s, ended_s)) != "traced"), "traced")


def by_processes(
    calls: Sequence[AnnouncedCall],
    path: str,
    writers: Sequence[TracedWriter] | None,
    over: Sequence[EndedCall] = (),
) -> WritePart | None:
    """What the processes that wrote a file say of the calls under way that could have; None where they prove nothing.

    `over`: calls that have ended of late. What one of them left in the background is not of another that is under way.

    A file that none of their agents' processes wrote is somebody else's, whatever the command lines say. One that both
    wrote may be of either. The agent's own process counts for a file that the call names: its own tools write there.
    """
    asked = [(call, call.process) for call in calls if call.process is not None]
    if not writers or not asked:
        return None
    said = {call.burst: [_own_or(writer, call, process, path) for writer in writers] for call, process in asked}
    proved = [call for call, _ in asked if {*said[call.burst]} == {"traced"}]
    if proved:
        left = [one.call for one in over if any(_is_left(writer, one) for writer in writers)]
        own = [*(call for call, _ in asked if "traced" in said[call.burst]), *left]  # each may have started a writer
        of_one = len({call.owner or call.writer for call in own}) == 1
        return WritePart(None, proved[-1].writer, TRACED, proved[-1].burst) if of_one else None
    foreign = [all(words[at] in _FOREIGN for words in said.values()) for at in range(len(writers))]
    if all(foreign):
        return None if any(map(_is_git, writers)) else WritePart(None, OUTSIDE, TRACED)
    return WritePart(None, OUTSIDE, OVERLAP, candidates=tuple(said)) if any(foreign) else None


_FOREIGN: Final = ("not_of_the_agent", "typed_into")
"""What is said of a process that does not work for the agent."""


def _is_left(writer: TracedWriter, over: EndedCall) -> bool:
    """May the process have been started by a call that has ended? It, or one above it, has begun during the call."""
    agent = over.call.process
    at = next((at for at, one in enumerate(writer.line) if (one.pid, one.start) == agent), 0)
    if at == 0 or agent is None:
        return False
    began_s = _began_s(writer, writer.line[at - 1])
    return over.call.began_s < began_s + TICK_S and began_s <= over.ended_s


def _own_or(writer: TracedWriter, call: AnnouncedCall, process: tuple[int, int], path: str) -> Trace:
    if path in call.paths and (writer.process.pid, writer.process.start) == process:
        return "typed_into" if _is_typed_into(writer.process) else "traced"
    return _of(writer, process, call.began_s, math.inf)


def _is_git(writer: TracedWriter) -> bool:
    """Git only moves what others wrote; its command is told as such."""
    return writer.process.name == "git" or writer.process.exe.rpartition("/")[2] == "git"


def _of(writer: TracedWriter, agent: tuple[int, int], announced_s: float, ended_s: float) -> Trace:
    at = next((at for at, one in enumerate(writer.line) if (one.pid, one.start) == agent), None)
    if at is None:
        return "unknown" if _left_its_parents(writer, announced_s) else "not_of_the_agent"
    if at == 0 or any(_began_s(writer, one) + TICK_S <= announced_s for one in writer.line[:at]):
        return "started_before"
    if writer.last_s > ended_s + LATE_S:
        return "wrote_after"
    return "typed_into" if any(map(_is_typed_into, writer.line[:at])) else "traced"


def _left_its_parents(writer: TracedWriter, announced_s: float) -> bool:
    """Did all of its line that is known begin after the call? Its parent has ended, and may have been the agent's."""
    top = next((one for one in reversed(writer.line) if one.pid != 1), writer.process)
    return _began_s(writer, top) + TICK_S > announced_s


def _began_s(writer: TracedWriter, one: Ancestor) -> float:
    """When the process, or one of those that it descends from, started."""
    return writer.began_s - (writer.process.start - one.start) * TICK_S


def _is_typed_into(one: Ancestor) -> bool:
    """May a person type into this process, or into what it shows?"""
    names = (one.name, one.exe.rpartition("/")[2])
    return one.at_terminal or _EDITORS_JAVA in one.exe or any(not _TYPED_INTO.isdisjoint(_stems(n)) for n in names)


def _stems(name: str) -> set[str]:
    """What a program may be called without version or variant: `vim` of `vim.basic`, `emacs` of `emacs-nox`."""
    parts = _VERSION.split(name.lower(), maxsplit=1)[0].split("-")
    return {"-".join(parts[:end]) for end in range(1, len(parts) + 1)}
