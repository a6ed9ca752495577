"""The emulated RunPod does what the real one was seen to do (research/flash.md, section 8): other tests lean on it."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import urllib.error
import urllib.request
from dataclasses import dataclass, field

import aiohttp
import pytest

from holdfast.model.json import Json
from holdfast.testing.clock import FakeClock
from holdfast_emulators.runpod import Access, Fault, Habits, Limits, RunPodServer, Script, World, Wrong, running
from holdfast_emulators.runpod.graphql_parser import SyntaxWrongError, parse

GPU = {"pools": ["AMPERE_80", "ADA_24"], "excludedTypes": ["NVIDIA A100 80GB PCIe"]}
BODY = {
    "name": "e",
    "type": "QUEUE",
    "image": "user/image:1.0",
    "gpu": GPU,
    "scaling": {"type": "QUEUE_DELAY", "queueDelay": 4},
}
SAVE = "mutation s($input: EndpointInput!) { saveEndpoint(input: $input) { %s } }"
SAVED = "id workersMin workersMax idleTimeout scalerType scalerValue instanceIds gpuIds templateId locations"
INPUT: dict[str, Json] = {
    "name": "g",
    "gpuIds": "ADA_24,AMPERE_80",
    "template": {"name": "t", "imageName": "user/image:1.0", "env": [], "dockerArgs": ""},
}


@dataclass
class Desk:
    """A client at the server."""

    server: RunPodServer
    http: aiohttp.ClientSession
    token: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    async def ask(self, method, path, body=None, token=None):
        headers = {"Authorization": f"Bearer {token or self.token}"}
        async with self.http.request(method, self.server.url + path, json=body, headers=headers) as response:
            text = await response.text()
            self.headers = dict(response.headers)
            return response.status, json.loads(text) if text else None

    async def ok(self, method, path, body=None):
        status, found = await self.ask(method, path, body)
        assert status < 300, found
        return found

    async def graphql(self, query, token=None, **variables):
        status, body = await self.ask("POST", "/graphql", {"query": query, "variables": variables}, token)
        return body if status == 200 else (status, body)

    async def save(self, wanted=SAVED, **given):
        body = await self.graphql(SAVE % wanted, input=given)
        return body["data"]["saveEndpoint"] if isinstance(body, dict) and body["data"] else body


def at_desk(story, habits: Habits | None = None, **options):
    async def run():
        world = World(FakeClock().now, habits=habits or Habits())
        async with RunPodServer(world, **options) as server, aiohttp.ClientSession() as http:
            return await story(Desk(server, http, server.token))

    return asyncio.run(run())


# -- REST v2


def test_v2_fills_in_its_defaults_and_writes_gpus_in_its_own_order():
    made = at_desk(lambda desk: desk.ok("POST", "/v2/serverless", BODY))
    assert len(made["id"]) == 14
    assert made["workers"] == {"min": 0, "max": 3, "idleTimeout": 10}
    assert (made["timeout"], made["flashboot"], made["registry"]) == (300_000, "OFF", None)
    assert made["gpu"] == {
        "pools": ["ADA_24", "AMPERE_80"],
        "excludedTypes": ["NVIDIA A100 80GB PCIe"],
        "count": 1,
        "allowedCudaVersions": [],
        "minCudaVersion": None,
    }
    assert {"version", "templateId", "workersStandby"}.isdisjoint(made)


@pytest.mark.parametrize(
    "change, status",
    [
        ({"workerMax": 3}, 422),
        ({"name": None}, 422),
        ({"type": "BATCH"}, 422),
        ({"gpu": None, "cpu": None}, 400),
        ({"cpu": [{"id": "cpu3g", "vcpuCount": 2}]}, 400),
        ({"type": "LOAD_BALANCER"}, 400),
        ({"scaling": {"type": "QUEUE_DELAY", "requestCount": 4}}, 422),
        ({"workers": {"idleTimeout": 5}, "scaling": {"type": "REQUEST_COUNT", "requestCount": 4}}, 400),
        ({"workers": {"min": 4}}, 400),
        ({"workers": {"idleTimeout": 3601}}, 400),
        ({"gpu": {"pools": ["ADA_25"]}}, 400),
        ({"gpu": {"pools": ["ADA_24"], "excludedTypes": ["NVIDIA L4"]}}, 400),
        ({"gpu": {"pools": ["ADA_24"], "allowedCudaVersions": ["12.8"], "minCudaVersion": "12.8"}}, 400),
        ({"image": "runpod/pytorch:latest"}, 400),
        ({"image": None}, 422),
        ({"templateId": "nothing"}, 404),
        ({"networkVolumes": ["nothing"]}, 400),
        ({"env": {"A": 1}}, 422),
        ({"gpu": None, "cpu": [{"id": "cpu3g", "vcpuCount": 1}]}, 422),
        ({"gpu": None, "cpu": [{"id": "cpu3g", "vcpuCount": 6}]}, 422),
    ],
)
def test_v2_refuses_with_a_problem_document_and_leaves_nothing_behind(change, status):
    async def story(desk):
        body = {name: value for name, value in {**BODY, **change}.items() if value is not None}
        answer = await desk.ask("POST", "/v2/serverless", body)
        return answer, desk.headers["Content-Type"], desk.server.account

    (found, problem), kind, account = at_desk(story)
    assert (found, problem["status"], kind.partition(";")[0]) == (status, status, "application/problem+json")
    assert not account.endpoints
    assert not account.templates


def test_a_patch_changes_what_it_names_and_pools_without_exclusions_clear_them():
    async def story(desk):
        made = await desk.ok("POST", "/v2/serverless", {**BODY, "env": {"A": "1", "B": "2"}})
        path = f"/v2/serverless/{made['id']}"
        seen = [await desk.ok("PATCH", path, {"workers": {"max": 7}, "gpu": {"minCudaVersion": "12.8"}})]
        seen.append(await desk.ok("PATCH", path, {"gpu": {"pools": ["AMPERE_80"]}, "env": {"A": "1"}}))
        seen.append(await desk.ok("PATCH", path, {"gpu": {"minCudaVersion": ""}}))
        refused = [
            (await desk.ask("PATCH", path, {"cpu": [{"id": "cpu3g", "vcpuCount": 2}]}))[0],
            (await desk.ask("PATCH", path, {"type": "QUEUE"}))[0],
            (await desk.ask("PATCH", path, {"gpu": {"excludedTypes": ["NVIDIA L4"]}}))[0],
        ]
        return seen, refused

    (first, second, third), refused = at_desk(story)
    assert first["workers"] == {"min": 0, "max": 7, "idleTimeout": 10}
    assert first["gpu"]["excludedTypes"] == ["NVIDIA A100 80GB PCIe"]
    assert (second["gpu"]["excludedTypes"], second["env"]) == ([], {"A": "1"})
    assert (second["gpu"]["minCudaVersion"], third["gpu"]["minCudaVersion"]) == ("12.8", None)
    assert refused == [400, 422, 400]


def test_bugs_the_real_v2_had_can_be_switched_on():
    async def story(desk):
        gpu = await desk.ok("POST", "/v2/serverless", BODY)
        cpu = await desk.ok("POST", "/v2/serverless", _cpu())
        patched = await desk.ok("PATCH", f"/v2/serverless/{gpu['id']}", {"workers": {"max": 4}})
        return patched["gpu"]["excludedTypes"], await desk.ask("PATCH", f"/v2/serverless/{cpu['id']}", {"timeout": 1})

    dropped, (status, problem) = at_desk(story, Habits(drops_exclusions=True, breaks_cpu_patch=True))
    assert (dropped, status, problem["detail"]) == ([], 400, "gpuId(s) is required for a gpu endpoint")


def _cpu(**more):
    body = {name: value for name, value in BODY.items() if name != "gpu"}
    return {**body, "cpu": [{"id": "cpu3g", "vcpuCount": 2}], **more}


def test_queues_that_scale_by_requests_have_no_idle_timeout():
    body = {**BODY, "scaling": {"type": "REQUEST_COUNT", "requestCount": 4}}
    assert "idleTimeout" not in at_desk(lambda desk: desk.ok("POST", "/v2/serverless", body))["workers"]


def test_a_load_balancer_is_told_its_ports_once():
    async def story(desk):
        body = {**BODY, "type": "LOAD_BALANCER", "scaling": {"type": "REQUEST_COUNT", "requestCount": 4}}
        made = await desk.ok("POST", "/v2/serverless", {**body, "env": {"A": "1"}})
        return made["env"], (await desk.ok("PATCH", f"/v2/serverless/{made['id']}", {"env": {"A": "2"}}))["env"]

    assert at_desk(story) == ({"PORT": "80", "PORT_HEALTH": "80", "A": "1"}, {"A": "2"})


def test_a_template_is_expanded_once_and_its_env_merged():
    async def story(desk):
        given = {"name": "t", "image": "user/other:1", "serverless": True, "env": {"A": "1", "B": "1"}, "disk": 7}
        template = await desk.ok("POST", "/v2/templates", given)
        body = {**BODY, "templateId": template["id"], "env": {"B": "2"}}
        made = await desk.ok("POST", "/v2/serverless", {n: v for n, v in body.items() if n != "image"})
        await desk.ok("PATCH", f"/v2/templates/{template['id']}", {"image": "user/other:2"})
        after = await desk.ok("GET", f"/v2/serverless/{made['id']}")
        other = await desk.ok("POST", "/v2/templates", {"name": "pod", "image": "user/pod:1"})
        wrong = await desk.ask("POST", "/v2/serverless", {**body, "templateId": other["id"]})
        return made, after["image"], wrong[0], await desk.ask("POST", "/v2/templates", given)

    made, after, wrong, (twice, problem) = at_desk(story)
    assert (made["image"], made["env"], made["disk"]) == ("user/other:1", {"A": "1", "B": "2"}, 7)
    assert (after, wrong, twice, problem["detail"]) == ("user/other:1", 422, 400, "template name must be unique")


def test_deleting_through_v2_takes_the_endpoints_own_template_with_it():
    async def story(desk):
        made = await desk.ok("POST", "/v2/serverless", BODY)
        before = len(desk.server.account.templates), await desk.ok("GET", "/v2/templates")
        status, body = await desk.ask("DELETE", f"/v2/serverless/{made['id']}")
        again, _ = await desk.ask("DELETE", f"/v2/serverless/{made['id']}")
        return before, status, body, again, len(desk.server.account.templates)

    assert at_desk(story) == ((1, {"templates": []}), 204, None, 404, 0)


def test_volumes_grow_and_do_not_shrink_or_move():
    async def story(desk):
        made = await desk.ok("POST", "/v2/network-volumes", {"name": "v", "size": 50, "dataCenter": "EU-RO-1"})
        path = f"/v2/network-volumes/{made['id']}"
        grown = await desk.ok("PATCH", path, {"size": 60})
        wrong = [
            (await desk.ask("PATCH", path, body))[0] for body in ({"size": 50}, {"size": 5000}, {}, {"dataCenter": "X"})
        ]
        used = await desk.ok("POST", "/v2/serverless", {**BODY, "networkVolumes": [made["id"]]})
        busy, _ = await desk.ask("DELETE", path)
        await desk.ask("DELETE", f"/v2/serverless/{used['id']}")
        free, _ = await desk.ask("DELETE", path)
        return made, grown["size"], wrong, busy, free, await desk.ok("GET", "/v2/network-volumes")

    made, size, wrong, busy, free, left = at_desk(story)
    assert (len(made["id"]), made["type"], size) == (10, "STANDARD", 60)
    assert (wrong, busy, free, left) == ([400, 400, 422, 422], 400, 204, {"networkVolumes": []})


def test_one_volume_a_data_centre():
    async def story(desk):
        ids = []
        for name in "ab":
            volume = {"name": name, "size": 50, "dataCenter": "EU-RO-1"}
            ids.append((await desk.ok("POST", "/v2/network-volumes", volume))["id"])
        return await desk.ask("POST", "/v2/serverless", {**BODY, "networkVolumes": ids})

    assert at_desk(story)[0] == 400


def test_only_what_workers_must_restart_for_makes_a_release_with_a_name_on_it():
    async def story(desk):
        made = await desk.ok("POST", "/v2/serverless", {**BODY, "workers": {"min": 4, "max": 4}})
        path = f"/v2/serverless/{made['id']}"
        await desk.ok("PATCH", path, {"workers": {"max": 9}, "timeout": 1000, "name": "other"})
        quiet = await desk.ok("GET", f"{path}/releases")
        desk.server.console("user_alice").edit(made["id"], gpuCount=2, workersMax=8)
        desk.server.console("user_bob").set_env(made["id"], A="1")
        rolling = await desk.ok("GET", f"{path}/releases")
        desk.server.advance(30)
        half = await desk.ok("GET", f"{path}/workers")
        desk.server.advance(30)
        return quiet, rolling, half, await desk.ok("GET", f"{path}/releases")

    quiet, rolling, half, after = at_desk(story)
    assert (quiet["endpointVersion"], len(quiet["releases"]), quiet["rollout"]["inProgress"]) == (1, 1, False)
    told = [(release["version"], release["createdByUserId"], release["diff"]) for release in rolling["releases"][:2]]
    assert told == [
        (3, "user_bob", [{"field": "template.env", "old": {}, "new": {"A": "1"}}]),
        (2, "user_alice", [{"field": "gpuCount", "old": 1, "new": 2}]),
    ]
    assert rolling["rollout"] == {"inProgress": True, "workersOnLatest": 0, "workersTotal": 4, "percentOnLatest": 0}
    assert [worker["isStale"] for worker in half["workers"]] == [False, False, True, True]
    assert after["rollout"]["percentOnLatest"] == 100


def test_methods_that_a_path_has_not_are_named_with_those_it_has():
    async def story(desk):
        return (await desk.ask("PUT", "/v2/serverless"))[0], desk.headers["Allow"], (await desk.ask("GET", "/v2/x"))[0]

    assert at_desk(story) == (405, "GET, POST", 404)


def test_the_catalogue_names_what_there_is():
    async def story(desk):
        found = [await desk.ok("GET", f"/v2/catalog/{what}") for what in ("gpus", "cpus", "datacenters")]
        return found, (await desk.ask("GET", "/v2/catalog/boats"))[0]

    (gpus, cpus, centres), boats = at_desk(story)
    assert {"id": "NVIDIA L4", "pool": "AMPERE_24"} in gpus["gpus"]
    assert cpus["cpus"][0]["id"] == "cpu3g"
    assert ({"id": "EU-RO-1"} in centres["dataCenters"], boats) == (True, 404)


def test_lists_come_in_pages_where_a_test_wants_them():
    async def story(desk):
        for number in range(5):
            await desk.ok("POST", "/v2/serverless", {**BODY, "name": f"e{number}"})
        names, cursor, pages = [], "0", 0
        while cursor is not None:
            page = await desk.ok("GET", f"/v2/serverless?cursor={cursor}")
            names += [endpoint["name"] for endpoint in page["endpoints"]]
            cursor, pages = page["nextCursor"], pages + 1
        return names, pages

    assert at_desk(story, Habits(page_size=2)) == ([f"e{number}" for number in range(5)], 3)


# -- who may


def test_keys_open_one_account_and_may_be_read_only_or_revoked():
    async def story(desk):
        world = desk.server.world
        made = await desk.ok("POST", "/v2/serverless", BODY)
        world.add_account("user_other")
        other = next(token for token, key in world.keys.items() if key.user == "user_other")
        reader = world.add_key(desk.server.user, Access.READ)
        path = f"/v2/serverless/{made['id']}"
        seen = [
            (await desk.ask("GET", path, token=other))[0],
            (await desk.ask("GET", path, token=reader))[0],
            (await desk.ask("PATCH", path, {"timeout": 1}, token=reader))[0],
            (await desk.ask("GET", path, token="rpa_NEVER"))[0],
        ]
        world.keys[reader].revoked = True
        seen.append((await desk.ask("GET", path, token=reader))[0])
        return (
            seen,
            (await desk.graphql(SAVE % "id", input=INPUT, token=other))["data"]["saveEndpoint"]["id"],
            made["id"],
        )

    seen, one, other = at_desk(story)
    assert seen == [404, 200, 403, 401, 401]
    assert one != other


def test_graphql_knows_nobody_without_a_key_and_refuses_a_wrong_one():
    async def story(desk):
        query = {"query": "{ myself { id } }"}
        async with desk.http.post(desk.server.graphql_url, json=query) as anonymous:
            nobody = anonymous.status, await anonymous.json()
        async with desk.http.post(f"{desk.server.graphql_url}?api_key={desk.token}", json=query) as by_query:
            somebody = await by_query.json()
        wrong, _ = await desk.ask("POST", "/graphql", query, token="rpa_NEVER")
        return nobody, somebody["data"]["myself"]["id"], wrong

    assert at_desk(story) == ((200, {"data": {"myself": None}}), "user_holdfast", 401)


def test_quotas_are_told_in_headers_and_then_enforced():
    async def story(desk):
        await desk.ok("GET", "/v2/serverless")
        told = desk.headers["RateLimit"], desk.headers["RateLimit-Policy"]
        await desk.ok("GET", "/v2/serverless")
        status, problem = await desk.ask("GET", "/v2/serverless")
        wait = int(desk.headers["Retry-After"])
        desk.server.advance(wait)
        return told, status, problem["detail"], wait, (await desk.ask("GET", "/v2/serverless"))[0]

    told, status, detail, wait, later = at_desk(story, limits=Limits({"minute": 2}))
    assert told == (f'"minute";r=1;t={wait}', '"minute";q=2;w=60')
    assert (status, detail, later) == (429, "rate limit exceeded for the minute window", 200)


# -- GraphQL


def test_graphql_has_defaults_of_its_own_and_nothing_comes_back_as_it_was_sent():
    async def story(desk):
        wanted = (
            f"{SAVED} workersStandby executionTimeoutMs type flashBootType userId version computeType minCudaVersion"
        )
        return await desk.save(wanted, **INPUT, locations="", minCudaVersion="", instanceIds=[])

    saved = at_desk(story)
    assert (saved["workersMin"], saved["workersMax"], saved["idleTimeout"], saved["scalerValue"]) == (0, 3, 10, 4)
    assert (saved["workersStandby"], saved["executionTimeoutMs"], saved["type"]) == (1, 600_000, "QB")
    assert (saved["instanceIds"], saved["locations"], saved["minCudaVersion"]) == ([], None, None)
    assert (saved["computeType"], saved["version"], len(saved["templateId"])) == ("GPU", 1, 10)


def test_saving_over_an_endpoint_resets_what_is_left_out():
    async def story(desk):
        given = {
            **INPUT,
            "workersMax": 5,
            "idleTimeout": 42,
            "scalerValue": 9,
            "minCudaVersion": "12.8",
            "workersMin": 1,
        }
        made = await desk.save("id templateId", **given, locations="EU-RO-1")
        wanted = f"{SAVED} minCudaVersion"
        return made, await desk.save(wanted, id=made["id"], name="g")

    made, saved = at_desk(story)
    assert (saved["workersMax"], saved["idleTimeout"], saved["scalerValue"], saved["workersMin"]) == (3, 10, 4, 0)
    assert (saved["locations"], saved["minCudaVersion"], saved["gpuIds"]) == (None, "12.8", "ADA_24,AMPERE_80")
    assert saved["templateId"] == made["templateId"]


def test_cpu_instances_that_are_left_out_are_gone():
    async def story(desk):
        given = {name: value for name, value in INPUT.items() if name != "gpuIds"}
        made = await desk.save("id instanceIds computeType", **given, instanceIds=["cpu3g-1-4"])
        shown = await desk.ok("GET", f"/v2/serverless/{made['id']}")
        return made, shown["cpu"], (await desk.save(SAVED, id=made["id"], name="g"))["instanceIds"]

    made, cpu, after = at_desk(story)
    assert (made["instanceIds"], made["computeType"]) == (["cpu3g-1-4"], "CPU")
    assert (cpu, after) == ([{"id": "cpu3g", "vcpuCount": 1, "memory": 4}], [])


@pytest.mark.parametrize(
    "given, message",
    [
        ({"workerMax": 3}, 'Field "workerMax" is not defined by type "EndpointInput"'),
        ({"networkVolumeIds": [{"networkVolumeId": "v", "dataCenterId": "X"}]}, '"dataCenterId" is not defined'),
        ({"templateId": "t"}, "cannot both be set"),
        ({"gpuIds": ""}, "gpuId(s) is required"),
        ({"gpuIds": "NEW_99"}, "unknown gpuId"),
        ({"flashEnvironmentId": "nowhere"}, "flash environment not found"),
        ({"instanceIds": ["cpu3g-2-9"]}, "not an instance"),
        ({"type": "LB"}, "REQUEST_COUNT"),
    ],
)
def test_graphql_refuses_with_errors_and_leaves_nothing_behind(given, message):
    async def story(desk):
        answer = await desk.graphql(SAVE % "id", input={**INPUT, **given})
        return answer, desk.server.account

    answer, account = at_desk(story)
    body = answer[1] if isinstance(answer, tuple) else answer
    assert message in body["errors"][0]["message"]
    assert not account.endpoints
    assert not account.templates


def test_saving_a_template_needs_its_env_and_rolls_the_endpoints_on_it():
    save = "mutation t($input: SaveTemplateInput) { saveTemplate(input: $input) { id name env { key value } } }"

    async def story(desk):
        made = await desk.save("id templateId", **INPUT)
        whole = {"id": made["templateId"], "name": "t", "imageName": "user/image:2", "dockerArgs": "", "volumeInGb": 0}
        without_env = await desk.graphql(save, input=whole)
        without_args = await desk.graphql(save, input={**whole, "env": [], "dockerArgs": None})
        saved = await desk.graphql(save, input={**whole, "env": [{"key": "A", "value": "1"}]})
        releases = await desk.ok("GET", f"/v2/serverless/{made['id']}/releases")
        return without_env[0], without_args["errors"], saved["data"]["saveTemplate"], releases["releases"][0]["diff"]

    status, errors, saved, diff = at_desk(story)
    assert (status, errors[0]["message"][:20]) == (400, "Something went wrong")
    assert saved["env"] == [{"key": "A", "value": "1"}]
    assert {entry["field"] for entry in diff} == {"template.imageName", "template.env"}


def test_graphql_deletes_only_what_was_scaled_to_nothing_and_leaves_the_template_for_a_while():
    delete = "mutation d($id: String!) { deleteEndpoint(id: $id) }"
    drop = 'mutation { deleteTemplate(templateName: "t") }'

    async def story(desk):
        made = await desk.save("id", **INPUT)
        guarded = await desk.graphql(delete, id=made["id"])
        used = await desk.graphql(drop)
        await desk.save("id", id=made["id"], name="g", workersMax=0)
        gone = await desk.graphql(delete, id=made["id"])
        recent = await desk.graphql(drop)
        desk.server.advance(121)
        return guarded, used, gone, recent, await desk.graphql(drop), await desk.graphql(delete, id=made["id"])

    guarded, used, gone, recent, dropped, twice = at_desk(story)
    assert "must both be 0" in guarded["errors"][0]["message"]
    assert "in use" in used["errors"][0]["message"]
    assert gone == {"data": {"deleteEndpoint": None}}
    assert "recently" in recent["errors"][0]["message"]
    assert dropped == {"data": {"deleteTemplate": None}}
    assert "not found" in twice["errors"][0]["message"]


def test_the_list_of_endpoints_stops_at_its_cap_oldest_first():
    async def story(desk):
        ids = [
            (await desk.save("id", **{**INPUT, "template": {**INPUT["template"], "name": f"t{n}"}}))["id"]
            for n in range(4)
        ]
        listed = (await desk.graphql("{ myself { endpoints { id } } }"))["data"]["myself"]["endpoints"]
        one = await desk.graphql("query e($id: String!) { myself { endpoint(id: $id) { id } } }", id=ids[3])
        none = await desk.graphql('{ myself { endpoint(id: "x") { id } } }')
        return ids, [item["id"] for item in listed], one["data"]["myself"]["endpoint"]["id"], none["data"]

    ids, listed, one, none = at_desk(story, Habits(graphql_cap=3))
    assert (listed, one, none) == (ids[:3], ids[3], {"myself": {"endpoint": None}})


def test_environments_hold_endpoints():
    async def story(desk):
        app = await desk.graphql('mutation { createFlashApp(input: {name: "shop"}) { id } }')
        make = "mutation m($input: X!) { createFlashEnvironment(input: $input) { id name } }"
        ident = app["data"]["createFlashApp"]["id"]
        made = await desk.graphql(make, input={"flashAppId": ident, "name": "staging"})
        environment = made["data"]["createFlashEnvironment"]["id"]
        await desk.save("id", **INPUT, flashEnvironmentId=environment)
        found = await desk.graphql(
            "query q($input: X!) { flashEnvironmentByName(input: $input) { id endpoints { name } } }",
            input={"flashAppId": ident, "name": "staging"},
        )
        apps = await desk.graphql('{ flashAppByName(flashAppName: "shop") { flashEnvironments { name } } }')
        return environment, found["data"]["flashEnvironmentByName"], apps["data"]["flashAppByName"]

    environment, found, app = at_desk(story)
    assert found == {"id": environment, "endpoints": [{"name": "g"}]}
    assert app == {"flashEnvironments": [{"name": "staging"}]}


@pytest.mark.parametrize(
    "text, status",
    [
        ("{ myself { nothing } }", 400),
        ("{ nothing }", 400),
        ("{ myself { id }", 400),
        ("subscription { x }", 400),
        ("{ myself { ...fields } }", 400),
        ("", 400),
    ],
)
def test_requests_that_make_no_sense_are_400(text, status):
    assert at_desk(lambda desk: desk.graphql(text))[0] == status


def test_literals_of_all_kinds_are_read():
    text = 'mutation M { a: save(x: {s: "q\\"q", n: -1.5, l: [1, true, null, RED], v: $v}) { id } # done\n }'
    selection = parse(text, {"v": {"k": 1}}).selections[0]
    assert (selection.name, selection.alias, selection.below[0].name) == ("save", "a", "id")
    assert selection.arguments == {"x": {"s": 'q"q', "n": -1.5, "l": [1, True, None, "RED"], "v": {"k": 1}}}
    with pytest.raises(SyntaxWrongError):
        parse("{ a(x: ^) }", {})


# -- what the platform does, and what goes wrong


def test_the_platform_scales_down_what_nobody_uses_and_says_nothing():
    async def story(desk):
        idle = await desk.ok("POST", "/v2/serverless", {**BODY, "workers": {"min": 3, "max": 9}})
        busy = await desk.ok("POST", "/v2/serverless", {**BODY, "name": "busy"})
        desk.server.advance(days=2.5)
        await desk.ok("POST", f"/ai/v2/{busy['id']}/run", {"input": {}})
        first = desk.server.advance(days=1)
        path = f"/v2/serverless/{idle['id']}"
        slow = await desk.ok("GET", path)
        desk.server.advance(days=4)
        off = await desk.ok("GET", path)
        desk.server.platform.unhealthy(desk.server.account, busy["id"])
        releases = await desk.ok("GET", f"{path}/releases")
        return first == [idle["id"]], slow["workers"], off["workers"], len(releases["releases"])

    assert at_desk(story) == (
        True,
        {"min": 2, "max": 2, "idleTimeout": 10},
        {"min": 0, "max": 0, "idleTimeout": 10},
        1,
    )


def test_reads_lag_behind_writes_whichever_door_they_take():
    async def story(desk):
        made = await desk.ok("POST", "/v2/serverless", BODY)
        path = f"/v2/serverless/{made['id']}"
        new = [(await desk.ask("GET", path))[0] for _ in range(3)]
        await desk.ok("PATCH", path, {"timeout": 7})
        listed = (await desk.ok("GET", "/v2/serverless"))["endpoints"][0]["timeout"]
        query = "query e($id: String!) { myself { endpoint(id: $id) { executionTimeoutMs } } }"
        asked = (await desk.graphql(query, id=made["id"]))["data"]["myself"]["endpoint"]["executionTimeoutMs"]
        now = (await desk.ok("GET", path))["timeout"]
        await desk.ask("DELETE", path)
        gone = [(await desk.ask("GET", path))[0] for _ in range(3)]
        return new, listed, asked, now, gone

    assert at_desk(story, Habits(lag_reads=2)) == ([404, 404, 200], 300_000, 300_000, 7, [200, 200, 404])


def test_the_data_plane_learns_of_a_new_endpoint_late():
    async def story(desk):
        made = await desk.ok("POST", "/v2/serverless", BODY)
        return [(await desk.ask("GET", f"/ai/v2/{made['id']}/health"))[0] for _ in range(2)]

    assert at_desk(story) == [404, 200]


def test_a_write_may_take_effect_and_its_answer_be_lost():
    async def story(desk):
        desk.server.faults.append(Fault(Wrong.RESET_AFTER, "POST", "/v2/serverless"))
        with pytest.raises(aiohttp.ClientError):
            await desk.ask("POST", "/v2/serverless", BODY)
        return len(desk.server.account.endpoints)

    assert at_desk(story) == 1


def test_faults_speak_the_language_of_the_door_they_strike():
    async def story(desk):
        await desk.ok("POST", "/v2/serverless", BODY)
        desk.server.faults += [
            Fault(status=503, path="/v2/serverless"),
            Fault(Wrong.EMPTY_LIST, path="/v2/serverless"),
            Fault(status=500, path="/graphql#saveTemplate"),
            Fault(Wrong.EMPTY_LIST, path="/graphql#myself"),
            Fault(status=500, path="/v1/networkvolumes"),
        ]
        return [
            await desk.ask("GET", "/v2/serverless"),
            await desk.ask("GET", "/v2/serverless"),
            await desk.graphql("mutation { saveTemplate(input: {}) { id } }"),
            await desk.graphql("{ myself { id } }"),
            await desk.ask("GET", "/v1/networkvolumes"),
        ]

    assert at_desk(story) == [
        (503, {"title": "Service Unavailable", "status": 503, "detail": "made to fail"}),
        (200, {"endpoints": []}),
        (500, {"errors": [{"message": "Internal server error"}], "data": None}),
        {"data": {"myself": None}},
        (500, {"message": "made to fail"}),
    ]


def test_somebody_at_the_console_can_come_between_two_requests():
    async def story(desk):
        made = await desk.ok("POST", "/v2/serverless", BODY)
        path = f"/v2/serverless/{made['id']}"
        desk.server.scripts += [
            Script(lambda console: console.edit("e", workersMax=50), "GET", path, nth=2),
            Script(lambda console: console.delete("e"), "GET", path, nth=3, after=True),
        ]
        return [(await desk.ask("GET", path)) for _ in range(4)]

    seen = at_desk(story)
    assert [body["workers"]["max"] if status == 200 else status for status, body in seen] == [3, 50, 50, 404]


def test_the_console_shows_values_that_nobody_has_heard_of_yet():
    async def story(desk):
        made = await desk.ok("POST", "/v2/serverless", BODY)
        console = desk.server.console()
        console.edit(made["id"], gpuIds="RUBIN_288", minCudaVersion="14.2", locations="MOON-1")
        return await desk.ok("GET", f"/v2/serverless/{made['id']}")

    shown = at_desk(story)
    assert (shown["gpu"]["pools"], shown["gpu"]["minCudaVersion"], shown["dataCenterIds"]) == (
        ["RUBIN_288"],
        "14.2",
        ["MOON-1"],
    )


def test_deleted_volumes_vanish_from_the_endpoints_that_had_them():
    async def story(desk):
        volume = await desk.ok("POST", "/v2/network-volumes", {"name": "v", "size": 50, "dataCenter": "EU-RO-1"})
        made = await desk.ok("POST", "/v2/serverless", {**BODY, "networkVolumes": [volume["id"]]})
        desk.server.console().resize(desk.server.account.volumes[volume["id"]], 80)
        grown = (await desk.ok("GET", f"/v2/network-volumes/{volume['id']}"))["size"]
        desk.server.console().delete_volume(volume["id"])
        return grown, (await desk.ok("GET", f"/v2/serverless/{made['id']}"))["networkVolumes"]

    assert at_desk(story) == (80, [])


def test_the_journal_counts_requests_and_tells_writes_from_reads():
    async def story(desk):
        made = await desk.ok("POST", "/v2/serverless", BODY)
        await desk.ok("GET", f"/v2/serverless/{made['id']}")
        await desk.ok("GET", f"/v2/serverless/{made['id']}/releases")
        await desk.save("id", id=made["id"], name="e")
        await desk.graphql("{ myself { id } }")
        return desk.server.counts(), [entry.place for entry in desk.server.writes()]

    counts, writes = at_desk(story)
    assert counts == {
        "POST /v2/serverless": 1,
        "GET /v2/serverless/*": 1,
        "GET /v2/serverless/*/releases": 1,
        "POST /graphql#saveEndpoint": 1,
        "POST /graphql#myself": 1,
    }
    assert writes == ["/v2/serverless", "/graphql#saveEndpoint"]


def _called(url, body=None, token="rpa_HOLDFAST"):
    data = json.dumps(body).encode() if body is not None else None
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(url, data, headers)) as answer:
        return json.loads(answer.read())


def test_it_runs_on_a_thread_for_those_without_a_loop():
    with running(RunPodServer()) as server:
        made = _called(f"{server.rest_url}/serverless", BODY)
        assert server.environ["RUNPOD_API_KEY"] == "rpa_HOLDFAST"
        server.console().edit(made["id"], workersMax=9)
        assert _called(f"{server.rest_url}/serverless/{made['id']}")["workers"]["max"] == 9


def test_it_runs_as_a_process_of_its_own_and_is_steered_from_outside():
    command = [sys.executable, "-m", "holdfast_emulators.runpod", "--port", "0", "--page-size", "10"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            where = json.loads(process.stdout.readline())
            control = f"http://127.0.0.1:{where['port']}/_control"
            made = _called(f"{where['rest']}/serverless", BODY, where["token"])
            edit = {"endpoint": "e", "fields": {"workersMax": 50}, "template": {"dockerArgs": "-v"}, "by": "user_alice"}
            assert _called(f"{control}/edit", edit) is True
            shown = _called(f"{where['rest']}/serverless/{made['id']}")
            assert (shown["workers"]["max"], shown["args"]) == (50, "-v")
            assert _called(f"{control}/advance", {"days": 8}) == [made["id"]]
            assert _called(f"{control}/faults", [{"wrong": "empty_list", "path": "/v2/serverless"}]) == 1
            assert _called(f"{where['rest']}/serverless") == {"endpoints": []}
            assert _called(f"{control}/endpoints") == {made["id"]: "e"}
            assert _called(f"{control}/counts")["POST /v2/serverless"] == 1
            assert [entry["status"] for entry in _called(f"{control}/journal")] == [201, 200, 200]
            assert _called(f"{control}/delete", {"endpoint": "e"}) is True
            with pytest.raises(urllib.error.HTTPError) as unknown:
                _called(f"{control}/edit", {"fields": {}})
            unknown.value.close()
        finally:
            process.terminate()
