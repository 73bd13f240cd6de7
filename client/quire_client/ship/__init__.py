"""Ship: copies a journal, as signed segments and encrypted blobs, to a remote store that its agents cannot rewrite."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_client.ship.address import *
    from quire_client.ship.daemon_outbox import *
    from quire_client.ship.jetstream import *
    from quire_client.ship.nats_connection import *
    from quire_client.ship.port import *
    from quire_client.ship.reader import *
    from quire_client.ship.shipper import *
else:
    __getattr__ = face(
        __name__,
        address="FarSide from_here is_address is_hub open_far_side without_password",
        daemon_outbox="DaemonOutbox NoOutbox",
        jetstream="JetStreamObjects StoredMessage Stream stream_of subjects_of",
        nats_connection="HubAddress NatsConnection",
        port="FarSideUnreachable",
        reader="FarJournal audit read_journal siblings",
        shipper="Shipper",
    )
