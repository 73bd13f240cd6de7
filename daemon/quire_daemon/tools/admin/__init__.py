"""Tools that describe the daemon: `describe`, `manual`, `status`, `who`, `op_status`."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.tools.admin.describe import *
    from quire_daemon.tools.admin.manual import MANUAL_TOOL as MANUAL_TOOL
    from quire_daemon.tools.admin.status import *
else:
    __getattr__ = face(
        __name__,
        describe="describe_tool",
        manual="MANUAL_TOOL",
        status="OP_STATUS_TOOL STATUS_TOOL WHO_TOOL",
    )
