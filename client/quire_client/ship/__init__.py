"""Ship: copies a journal, as signed segments and encrypted blobs, to a remote store that its agents cannot rewrite."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_client.ship.address import *
    from quire_client.ship.daemon_outbox import *
    from quire_client.ship.port import *
    from quire_client.ship.reader import *
    from quire_client.ship.shipper import *
else:
    __getattr__ = face(
        __name__,
        address="is_address open_far_side",
        daemon_outbox="DaemonOutbox NoOutbox",
        port="FarSideUnreachable",
        reader="audit",
        shipper="Shipper",
    )
