"""CLI: input and output of the terminal: streams, pager, progress bar, times, tables and wording."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_client.cli import render as render, stdio as stdio, wording as wording
    from quire_client.cli.git_queries import git_output as git_output
    from quire_client.cli.human_time import *
    from quire_client.cli.pager import *
    from quire_client.cli.plan_table import *
    from quire_client.cli.progress import *
    from quire_client.cli.shipping_state import *
    from quire_client.cli.stdio import *
    from quire_client.cli.story_table import *
else:
    __getattr__ = face(
        __name__,
        git_queries="git_output",
        human_time="HERE NoMoment PARTED POINTS point",
        pager="git_pager page",
        plan_table="in_the_way show_files whose",
        progress="Progress",
        shipping_state="fork_told gaps_told lost_told",
        stdio="Output OutputFailure silence",
        story_table=(
            "NO_PROMPT SAVED View author_of call_end is_turn names_of signs_explained story_facts story_lines "
            "story_title when"
        ),
    )
