"""Review: what nobody has accepted yet, and the marks of what somebody has. Pure."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.tools.review.tool import ACCEPT_TOOL as ACCEPT_TOOL, REVIEW_TOOL as REVIEW_TOOL
else:
    __getattr__ = face(__name__, tool="ACCEPT_TOOL REVIEW_TOOL")
