"""The page: the workspace's history in a local browser; a client of the daemon like any other.

- `keys`: permissions, one-time keys and cookies.
- `gate`: checks of each request's Host, Origin, Sec-Fetch-Site, key and header.
- `queries`: allowed tools and arguments; `terminal`: the same as command lines.
- `daemons`: connections to the daemon; `feed`: live events.
- `app`: the routes; `server`: the process; `owner`: a process that already serves the workspace.

`static/` holds the built page; its sources are in `client/page/`.
"""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_client.page.app import *
    from quire_client.page.daemons import *
    from quire_client.page.keys import *
    from quire_client.page.owner import *
    from quire_client.page.server import *
else:
    __getattr__ = face(
        __name__,
        app="application",
        daemons="Daemon",
        keys="Keys READ WRITE",
        owner="PageDown TOKEN ask hold link",
        server="serve",
    )
