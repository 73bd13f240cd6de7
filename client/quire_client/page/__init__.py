"""The page: shows the workspace's history in a local browser. `static/` holds the built page, `client/page/` its
sources.
"""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_client.page.app import *
    from quire_client.page.daemons import *
    from quire_client.page.gate import *
    from quire_client.page.keys import *
    from quire_client.page.other_hosts import *
    from quire_client.page.overview import *
    from quire_client.page.owner import *
    from quire_client.page.queries import *
    from quire_client.page.server import *
else:
    __getattr__ = face(
        __name__,
        app="application static_files",
        daemons="Daemon",
        other_hosts="OtherHosts",
        gate="PageGate",
        keys="Keys READ WRITE",
        overview="Overview WorkspaceRow",
        owner="PageDown TOKEN ask forward hold serving",
        queries="QUERY_S",
        server="serve",
    )
