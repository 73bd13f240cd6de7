"""Hub: exchange between the hosts of a team over NATS: copies of journals, presence of writers, and leases. The hub
only stores and forwards.
"""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_client.hub.authorship import *
    from quire_client.hub.dev_server import *
    from quire_client.hub.history import *
    from quire_client.hub.member import *
    from quire_client.hub.membership import *
    from quire_client.hub.overview import *
    from quire_client.hub.safety import *
    from quire_client.hub.team import *
else:
    __getattr__ = face(
        __name__,
        authorship="CommitContents writers_elsewhere",
        dev_server="NoServer binary configure",
        history="HostHistory histories newest_work of_other_hosts",
        member="TeamMember",
        membership="join joined leave shipper shipping start_shipper stop_shipper",
        overview="card_of checked_journal journals_at_hub labels",
        safety="condition server_states warnings",
        team="Card at_hub make_team",
    )
