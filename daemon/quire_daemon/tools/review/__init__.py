"""Review: what nobody has accepted yet, and the marks of what somebody has. Pure."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.tools.review.review_places import open_rejections as open_rejections
    from quire_daemon.tools.review.tool import *
else:
    __getattr__ = face(__name__, review_places="open_rejections", tool="ACCEPT_TOOL REJECT_TOOL REVIEW_TOOL is_at_work")
