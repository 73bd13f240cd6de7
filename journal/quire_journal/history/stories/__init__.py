"""Stories: the log grouped for display, and which writes were made together."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_journal.history.stories.fold import *
    from quire_journal.history.stories.groups import *
    from quire_journal.history.stories.page import *
    from quire_journal.history.stories.story import *
else:
    __getattr__ = face(
        __name__,
        fold="STORY_KINDS",
        groups="joint_writes last_of_git stash_restored",
        page="story_page",
        story=(
            "CAPTURE CHECKPOINT CROWD FORMS FileRun GIT PERSON RUN SAVES Story StoryCall StoryQuery Straddler TURN "
            "UNDO first_of folders_of net_of"
        ),
    )
