"""What providers do alike whose models run on servers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rag.clients.servers.advice import Advice


class ServerProvider:
    """A base of providers; see `rag.clients.protocols.ModelProvider`."""

    @property
    def addresses(self) -> Sequence[str]:
        """The servers that are asked, any of which will do."""
        raise NotImplementedError

    @property
    def advice(self) -> Advice:
        """What to tell when none of them answers."""
        raise NotImplementedError

    def check_allowed(self) -> None:
        """Refuse to go on when the settings forbid to ask, or name nobody.

        :raises ConfigError: saying which.
        """
        raise NotImplementedError

    def check_listening(self) -> None:
        """Raise an error when it is plain that no server answers."""
        self.check_allowed()
        from rag.clients.servers.reachability import check_listening

        check_listening(self.addresses, self.advice)

    def forget_silence(self) -> None:
        """Ask the servers again, whatever is remembered of them."""
        from rag.clients.servers.silent_servers import forget

        forget(self.addresses)
