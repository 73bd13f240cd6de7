"""The page: what the journal knows, in a browser on this machine; a client of the daemon like any other.

* `keys` — who may look, and who may change: one-time keys, cookies, the long token's place.
* `gate` — each request's Host, Origin, Sec-Fetch-Site, key and header, before anything else looks at it.
* `queries` — which tools can be asked, with which arguments; `terminal` — the same on a command line.
* `daemons` — connections to the daemon; `feed` — what happens, as it happens.
* `app` — the addresses; `server` — the process; `owner` — the process that serves a workspace already.

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
