"""CLI: the terminal: streams, pager, progress, times and tables as people read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_client.cli import render as render, stdio as stdio, wording as wording
    from quire_client.cli.human_time import (
        HERE as HERE,
        PARTED as PARTED,
        POINTS as POINTS,
        NoMoment as NoMoment,
        point as point,
    )
    from quire_client.cli.pager import git_pager as git_pager, page as page
    from quire_client.cli.progress import Progress as Progress
    from quire_client.cli.stdio import Output as Output, OutputFailure as OutputFailure, silence as silence
    from quire_client.cli.story_table import View as View, names_of as names_of, story_lines as story_lines
    from quire_client.cli.wording import sentence as sentence, step as step
else:
    __getattr__ = face(
        __name__,
        human_time="HERE NoMoment PARTED POINTS point",
        pager="git_pager page",
        progress="Progress",
        stdio="Output OutputFailure silence",
        story_table="View names_of story_lines",
        wording="sentence step",
    )
