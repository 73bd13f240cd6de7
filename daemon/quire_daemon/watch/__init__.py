"""Watch: what other programs do to the checkout, noticed by hints and scans, and noted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.watch.capture_policy import CapturePolicy as CapturePolicy
    from quire_daemon.watch.crawl import MOST_LISTED as MOST_LISTED, all_in as all_in, names_in as names_in
    from quire_daemon.watch.hints import Blind as Blind, blind_told as blind_told, touching as touching
    from quire_daemon.watch.ignore import Ignore as Ignore
    from quire_daemon.watch.observe import (
        RETRY_S as RETRY_S,
        FileInFlight as FileInFlight,
        Observer as Observer,
        Sighting as Sighting,
    )
    from quire_daemon.watch.outside import Outside as Outside
    from quire_daemon.watch.root_guard import RootGuard as RootGuard
    from quire_daemon.watch.scan import RULES as RULES
    from quire_daemon.watch.watcher import Watcher as Watcher
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
