"""Decides whether the processes that the kernel reported as writers of a file belong to one announced call. Pure.

Each process must descend from the agent's process, have started after the announcement, and not be a program into which
a user types. An older process may write for another reason.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from quire_daemon.core import Ancestor, AnnouncedCall, TracedWriter, WritePart
from quire_journal.model import OUTSIDE, OVERLAP, TRACED

TICK_S: Final = 0.01
"""Maximum error in seconds of a process's start time, which the kernel counts in ticks."""

LATE_S: Final = 0.05
"""Maximum delay in seconds between a write and its event."""


class EndedCall(NamedTuple):
    """An ended call whose processes may still run."""

    call: AnnouncedCall
    ended_s: float  # monotonic


MOST_AWAY: Final = 1 << 16
"""Distance greater than any number of generations between two processes."""


Trace = Literal["traced", "unknown", "not_of_the_agent", "started_before", "wrote_after", "typed_into"]
"""`traced` if the processes belong to the call, else the reason why they do not."""

EDITORS: Final = frozenset(
    {"atom", "bbedit", "clion", "code", "code-insiders", "code-oss", "codium", "cursor", "datagrip", "eclipse"}
    | {"emacs", "emacsclient", "fleet", "geany", "gedit", "gnome-text-editor", "goland", "gvim", "helix", "hx", "idea"}
    | {"joe", "jupyter-lab", "jupyter-notebook", "kak", "kakoune", "kate", "kwrite", "lapce", "lite-xl", "mate", "mc"}
    | {"mcedit", "micro", "mousepad", "nano", "ne", "neovide", "netbeans", "notepadqq", "nvim", "phpstorm", "pico"}
    | {"pluma", "pycharm", "rider", "rstudio", "rubymine", "rustrover", "spyder", "studio", "subl", "sublime_text"}
    | {"textedit", "textmate", "vi", "view", "vim", "vimdiff", "vscodium", "webstorm", "windsurf", "xed", "zed"}
    | {"zed-editor", "zeditor"}
)
"""Programs in which a user edits files, and agents do not."""

TERMINALS: Final = frozenset(
    {"abduco", "alacritty", "dtach", "foot", "ghostty", "gnome-terminal", "kitty", "konsole", "mosh-server", "rxvt"}
    | {"screen", "sshd", "st", "terminator", "tilix", "tmux", "ttyd", "urxvt", "uxterm", "wezterm", "xfce4-terminal"}
    | {"xterm", "zellij"}
)
"""Programs in which a user types commands."""

_TYPED_INTO: Final = EDITORS | TERMINALS
_VERSION: Final = re.compile(r"[.:\s]|-?\d")
_EDITORS_JAVA: Final = "/jbr/"  # JetBrains' own Java, whose process is otherwise called `java`


def trace(
    writers: Sequence[TracedWriter] | None, agent: tuple[int, int], announced_s: float, ended_s: float = math.inf
) -> Trace:
    """Return `traced` if all of a file's writers belong to a call of the agent with process `agent` (pid, start), else
    the reason. `writers` are those since the journal's last version, None if unknown; times are monotonic seconds.
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
    """Return the writer that the processes prove: one of the open calls, or somebody else (`OUTSIDE`) if no agent's
    process wrote the file; all calls as candidates if some processes are no agent's, and None if nothing is proved.
    Background processes of the ended calls `over` belong to no open call; the agent's own process counts for a file
    that its call names.
    """
    asked = [(call, call.process) for call in calls if call.process is not None]
    if not writers or not asked:
        return None
    said = {call.burst: [_own_or(writer, call, process, path) for writer in writers] for call, process in asked}
    proved = [call for call, _ in asked if {*said[call.burst]} == {"traced"}]
    if proved:
        left = [one.call for one in over if any(_is_left(writer, one) for writer in writers)]
        own = [
            *(call for call, _ in asked if "traced" in said[call.burst]),
            *left,
        ]  # each of them may have started a writer
        of_one = len({call.owner or call.writer for call in own}) == 1
        nearest = proved[-1] if of_one else _nearest(own, proved, writers)
        return None if nearest is None else WritePart(None, nearest.writer, TRACED, nearest.burst)
    foreign = [all(words[at] in _FOREIGN for words in said.values()) for at in range(len(writers))]
    if all(foreign):
        return None if any(map(_is_git, writers)) else WritePart(None, OUTSIDE, TRACED)
    return WritePart(None, OUTSIDE, OVERLAP, candidates=tuple(said)) if any(foreign) else None


def _nearest(
    own: Sequence[AnnouncedCall], proved: Sequence[AnnouncedCall], writers: Sequence[TracedWriter]
) -> AnnouncedCall | None:
    """Return the call whose process is a descendant of those of all other calls, as that of `quire run` in an agent's
    shell; None if there is none.
    """

    def away(call: AnnouncedCall) -> list[int]:
        return [
            next((at for at, one in enumerate(writer.line) if (one.pid, one.start) == call.process), MOST_AWAY)
            for writer in writers
        ]

    nearest = min(proved, key=away)
    others = [away(call) for call in own if call is not nearest]
    here = away(nearest)
    below = all(near < far for other in others for near, far in zip(here, other, strict=True))
    return nearest if below else None


_FOREIGN: Final = ("not_of_the_agent", "typed_into")


def _is_left(writer: TracedWriter, over: EndedCall) -> bool:
    """True if the process, or an ancestor below the agent, began during the ended call."""
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
    """True for git, whose writes are attributed to git, as it moves changes of others."""
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
    """True if all known ancestors began after the call: an ancestor that has ended may have been the agent."""
    top = next((one for one in reversed(writer.line) if one.pid != 1), writer.process)
    return _began_s(writer, top) + TICK_S > announced_s


def _began_s(writer: TracedWriter, one: Ancestor) -> float:
    return writer.began_s - (writer.process.start - one.start) * TICK_S


def _is_typed_into(one: Ancestor) -> bool:
    names = (one.name, one.exe.rpartition("/")[2])
    return one.at_terminal or _EDITORS_JAVA in one.exe or any(not _TYPED_INTO.isdisjoint(_stems(n)) for n in names)


def _stems(name: str) -> set[str]:
    """Return a program's names without version and variant: `vim` for `vim.basic`, `emacs` for `emacs-nox`."""
    parts = _VERSION.split(name.lower(), maxsplit=1)[0].split("-")
    return {"-".join(parts[:end]) for end in range(1, len(parts) + 1)}
