"""Watch: finds changes of the checkout by other programs, and journals them."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.watch.capture_policy import *
    from quire_daemon.watch.crawl import *
    from quire_daemon.watch.hints import *
    from quire_daemon.watch.ignore import *
    from quire_daemon.watch.observe import *
    from quire_daemon.watch.outside import *
    from quire_daemon.watch.root_guard import *
    from quire_daemon.watch.scan import *
    from quire_daemon.watch.watcher import *
else:
    __getattr__ = face(
        __name__,
        capture_policy="CapturePolicy",
        crawl="MOST_LISTED all_in names_in",
        hints="Blind blind_told touching",
        ignore="Ignore",
        observe="FileInFlight Observer RETRY_S Sighting",
        outside="Outside",
        root_guard="RootGuard",
        scan="RULES",
        watcher="Watcher",
    )
