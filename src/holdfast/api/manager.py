"""ResourceManager: deploys, checks and undeploys objects with the same engine as the command line.

    manager = ResourceManager()
    lb = await manager.get_or_deploy_resource(lb)

Each call first compares the declaration, the applied revision and live state. It makes only the writes that are needed.
A call is safe to repeat, to kill, and to run in several processes at once.
"""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from os import PathLike
from pathlib import Path
from typing import Final, TypeVar

from holdfast.api import account_connection, deploy_steps, inventory, object_declarations, quick_check, workbench
from holdfast.api.account_connection import Chosen
from holdfast.api.class_call import also_on_class
from holdfast.api.inventory import Tracked
from holdfast.api.object_declarations import ObjectDeclarations, ObjectOptions
from holdfast.api.results import Checkup, Deployment, Undeployed
from holdfast.api.workbench import Workbench
from holdfast.compare import verdict_rules
from holdfast.errors import DeployError, InputError
from holdfast.manifests import project as projects
from holdfast.manifests.project import ProjectFile
from holdfast.model.decision import Action, Decision, Reason
from holdfast.model.json import Json
from holdfast.model.resource_spec import ResourceSpec
from holdfast.model.verdict import Status
from holdfast.reconcile.clock import Clock, SystemClock
from holdfast.reconcile.fleet_check import check_resources
from holdfast.reconcile.retry import RetryPolicy
from holdfast.store.protocol import StateStore
from holdfast.store.state import ResourceState

R = TypeVar("R", bound=ResourceSpec)

log: Final = logging.getLogger("holdfast")


class ResourceManager:
    """Manager of objects in one account and one environment, with its store in `.holdfast/` beside the project.

    `folder` is the folder of the project. The holdfast.yaml in it or above it names connections. Without one the
    environment of the process describes the connection. Resources of one `environment` are separate from those of other
    environments in the same account. `options` are managedOptions as in a manifest, for all deployed resources.
    """

    def __init__(
        self,
        folder: str | PathLike[str] | None = None,
        *,
        connection: str | None = None,
        environment: str | None = None,
        options: Mapping[str, Json] | None = None,
        clock: Clock | None = None,
        patience: RetryPolicy | None = None,
    ) -> None:
        self._folder = Path(folder or ".").absolute()
        self._connection = connection
        self._environment = environment
        self._options = dict(options or {})
        self._clock = clock or SystemClock()
        self._patience = patience or RetryPolicy()
        self._chosen: dict[str, Chosen] = {}  # by provider: the account does not change during the life of a manager

    # -- deploying

    @also_on_class
    async def get_or_deploy_resource(self, config: R) -> R:
        """Return the deployed resource with its id, after creating, updating or replacing it if that is needed.

        Raise InputError if the object cannot be deployed, DeployError if the deployment failed.
        """
        return (await self.deploy(config)).resource

    @also_on_class
    async def deploy(self, config: R) -> Deployment[R]:
        """Deploy a resource like `get_or_deploy_resource` and return the verdict and the action as well."""
        async with self._opened(object_declarations.provider_of(config)) as bench:
            draft = ObjectDeclarations(self._place(bench))
            address = draft.add(config)
            states = await bench.store.states(list(draft.declarations))
            brought = await deploy_steps.about(bench, draft.known(states), address)
            before, now = states.get(address), await bench.store.state(address)
            if now is None or now.observed.provider_id is None:
                raise DeployError(str(address), "it is there, and its id is not known")
            deployment = Deployment(
                config.deployed(now.observed.provider_id),
                now.observed.provider_id,
                address,
                brought.action,
                brought.checked.verdict,
                brought.checked.decision,
                brought.checked.likely_actors,
                brought.resumed,
                brought.notes(before, draft.outlines[address].stamp),
                brought.changes,
            )
        for note in deployment.notes:  # the engine already logs verdicts and actions
            log.warning("%s: %s", address, note)
        return deployment

    async def adopt(self, config: R, ident: str, stamp: str | None = None) -> Deployment[R]:
        """Adopt a resource that another tool created: track it under its id, and apply the declaration to it.

        `stamp` is the last stamp of that tool. Raise InputError if it is not the stamp of this configuration, because
        then a changed declaration could not be distinguished from a change outside Holdfast.
        """
        if stamp is not None and not config.has_stamp(stamp):
            raise InputError("the stamp is of another configuration; adopt it with the one that was deployed last")
        return await self.deploy(config.deployed(ident))

    # -- checking

    @also_on_class
    async def check(self, *configs: R) -> list[Checkup[R]]:
        """Return the verdict on each object, with likely actors if they are known. Write and record nothing."""
        found: dict[int, Checkup[R]] = {}
        for provider in dict.fromkeys(map(object_declarations.provider_of, configs)):
            async with self._opened(provider) as bench:
                mine = {place: config for place, config in enumerate(configs) if provider == config.PROVIDER}
                found |= await self._looked(bench, mine)
        return [found[place] for place in range(len(configs))]

    async def _looked(self, bench: Workbench, configs: Mapping[int, R]) -> dict[int, Checkup[R]]:
        draft = ObjectDeclarations(self._place(bench))
        sketches = {place: draft.sketch(config) for place, config in configs.items()}
        states = await bench.store.states([address for address, _ in sketches.values()])
        async with bench.world() as world:
            unmoved = await quick_check.unmoved(
                bench, world, draft, [(*sketches[n], configs[n]) for n in configs], states
            )
            closer = [config for place, config in configs.items() if sketches[place][0] not in unmoved]
            addresses = dict.fromkeys(draft.add(config) for config in closer)
            declarations = draft.known(await bench.store.states(list(draft.declarations)))
            preparer = bench.preparer(world, declarations)
            report = await check_resources(preparer, bench.checker(world), addresses, record=False, attribute=True)
        seen = {result.address: (result.verdict, result.decision, result.likely_actors) for result in report.checked}
        for blocked in report.waiting:
            status = Status.UNKNOWN if blocked.is_error else Status.PENDING
            decision = Decision(Action.NONE, (Reason("waiting", blocked.reason),))
            seen[blocked.declaration.address] = (verdict_rules.recorded(status, blocked.reason), decision, ())
        return {
            place: Checkup(configs[place], address, *seen.get(address, quick_check.UNMOVED))
            for place, (address, _) in sketches.items()
        }

    async def resources(self) -> list[Tracked]:
        """Return the tracked resources of all accounts and environments, or of those this manager is limited to."""
        return [inventory.tracked(state) for state in await self._states(self._project())]

    async def documents(self) -> list[tuple[Tracked, Json]]:
        """Return the tracked resources with their last declared documents, in which secrets are fingerprints."""
        async with workbench.memory(self._project()) as store:
            states = await self._states_in(store)
            return [
                (
                    inventory.tracked(state),
                    await store.document(state.declared.document) if state.declared.document is not None else {},
                )
                for state in states
            ]

    # -- removing

    @also_on_class
    async def undeploy(self, config: ResourceSpec | str) -> Undeployed:
        """Delete the resource of an object, a name or an address. Tracking ends only when the deletion is confirmed.

        Raise InputError if no resource of that name is tracked here, DeployError if it could not be deleted.
        """
        if not isinstance(config, str):
            provider, meant = object_declarations.provider_of(config), None
        else:
            meant = inventory.named(config, await self._states(self._project()))
            provider = meant.declared.provider
        async with self._opened(provider) as bench:
            place = self._place(bench)
            address = meant.address if meant is not None else ObjectDeclarations(place).add(config)  # type: ignore[arg-type]
            state = await bench.store.state(address)
            if state is None:
                raise InputError(f"{address} is not tracked here")
            if state.address.connection != place.connection:
                raise InputError(f"{address} is not in {place.connection}, which this manager is for")
            object_declarations.insist_on_account(state, place.account)
            document = (
                await bench.store.document(state.declared.document) if state.declared.document is not None else {}
            )
            return await deploy_steps.removed(bench, state, object_declarations.remembered(state, document))

    # -- project and store

    def _project(self) -> ProjectFile:
        return projects.load(None, self._folder)

    @asynccontextmanager
    async def _opened(self, provider: str) -> AsyncIterator[Workbench]:
        project = self._project()
        if provider not in self._chosen:
            self._chosen[provider] = await account_connection.choose(project, provider, self._connection, os.environ)
        chosen = self._chosen[provider]
        async with workbench.opened(project, chosen, self._clock, self._patience, os.environ) as bench:
            yield bench

    def _place(self, bench: Workbench) -> ObjectOptions:
        name, provider, account = bench.chosen.connection.name, bench.chosen.connection.provider, bench.chosen.account
        return ObjectOptions(name, provider, account, self._environment, bench.key, self._options)

    async def _states(self, project: ProjectFile) -> list[ResourceState]:
        async with workbench.memory(project) as store:
            return await self._states_in(store)

    async def _states_in(self, store: StateStore) -> list[ResourceState]:
        found = [state async for state in store.all_states(connection=self._connection)]
        wanted = self._environment
        return [state for state in found if wanted is None or state.address.namespace == wanted]
