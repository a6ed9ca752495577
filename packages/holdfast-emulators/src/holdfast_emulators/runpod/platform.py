"""The changes that RunPod makes by itself: it scales down unused endpoints, and those whose workers fail.

The owner gets no notice, the releases do not show it, and the number is never raised again.
"""

from __future__ import annotations

from dataclasses import dataclass

from holdfast_emulators.runpod.objects import PLATFORM, Account, Endpoint
from holdfast_emulators.runpod.service import World


@dataclass(frozen=True, slots=True)
class Platform:
    """The automatic changes of the platform."""

    world: World

    def tick(self) -> list[str]:
        """Scale down what has been idle for too long; return the ids of what was changed."""
        changed = []
        for account in self.world.accounts.values():
            for endpoint in account.endpoints.values():
                limit = self._limit(endpoint)
                if limit is not None and endpoint.fields["workersMax"] > limit:
                    self._scale(account, endpoint, limit)
                    changed.append(endpoint.id)
        return changed

    def _limit(self, endpoint: Endpoint) -> int | None:
        idle = self.world.now() - endpoint.last_request_at
        if idle >= self.world.habits.idle_off_seconds:
            return 0
        return 2 if idle >= self.world.habits.idle_seconds else None

    def unhealthy(self, account: Account, ident: str) -> None:
        """Scale an endpoint down because its workers keep failing."""
        endpoint = account.endpoints[ident]
        self._scale(account, endpoint, max(1, endpoint.fields["workersMax"] // 2))

    def _scale(self, account: Account, endpoint: Endpoint, workers: int) -> None:
        fewer = {"workersMax": workers, "workersMin": min(workers, endpoint.fields["workersMin"])}
        self.world.change_endpoint(account, endpoint, fewer, {}, PLATFORM)
