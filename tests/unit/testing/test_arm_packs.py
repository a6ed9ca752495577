"""The shipped packs: real types do what recorded traffic shows of them (research/aso.md, sections 0 and 3)."""

from __future__ import annotations

import pytest

from holdfast.model.json import Json
from holdfast_emulators.azure import packs
from holdfast_emulators.azure.respelling import WAYS
from holdfast_emulators.azure.type_behaviour import Habits
from tests.unit.testing.armdesk import Desk

VNET = "Microsoft.Network/virtualNetworks"
NSG = "Microsoft.Network/networkSecurityGroups"
PIP = "Microsoft.Network/publicIPAddresses"
LB = "Microsoft.Network/loadBalancers"
NIC = "Microsoft.Network/networkInterfaces"
STORAGE = "Microsoft.Storage/storageAccounts"
AKS = "Microsoft.ContainerService/managedClusters"
COSMOS = "Microsoft.DocumentDB/databaseAccounts"
SQL = "Microsoft.Sql/servers"
REDIS = "Microsoft.Cache/redis"
VAULT = "Microsoft.KeyVault/vaults"
BUS = "Microsoft.ServiceBus/namespaces"
IDENTITY = "Microsoft.ManagedIdentity/userAssignedIdentities"
DISK = "Microsoft.Compute/disks"
VM = "Microsoft.Compute/virtualMachines"
ZONE = "Microsoft.Network/dnsZones"
PLAN = "Microsoft.Web/serverfarms"
SITE = "Microsoft.Web/sites"
HUB = "Microsoft.Devices/IotHubs"
TENANT = "11111111-1111-4111-8111-111111111111"

ACCOUNT: Json = {"location": "westus2", "kind": "StorageV2", "sku": {"name": "Standard_LRS"}, "properties": {}}
NETWORK: Json = {"location": "westus2", "properties": {"addressSpace": {"addressPrefixes": ["10.0.0.0/16"]}}}
CLUSTER: Json = {
    "location": "westus3",
    "identity": {"type": "SystemAssigned"},
    "properties": {"agentPoolProfiles": [{"name": "ap1", "count": 1, "mode": "System", "vmSize": "Standard_DS2_v2"}]},
}
SIMPLE: dict[str, Json] = {
    STORAGE: ACCOUNT,
    VNET: NETWORK,
    NSG: {"location": "westus2"},
    PIP: {"location": "westus2", "sku": {"name": "Standard"}, "properties": {"publicIPAllocationMethod": "Static"}},
    LB: {"location": "westus2", "sku": {"name": "Standard"}, "properties": {}},
    AKS: CLUSTER,
    COSMOS: {
        "location": "westus2",
        "kind": "MongoDB",
        "properties": {"databaseAccountOfferType": "Standard", "locations": [{"locationName": "westus2"}]},
    },
    SQL: {"location": "eastus", "properties": {"administratorLogin": "me", "administratorLoginPassword": "pw"}},
    REDIS: {"location": "westus2", "properties": {"sku": {"name": "Premium", "family": "P", "capacity": 1}}},
    VAULT: {"location": "westus2", "properties": {"tenantId": TENANT, "sku": {"family": "A", "name": "standard"}}},
    BUS: {"location": "westus2", "sku": {"name": "Standard"}, "properties": {}},
    IDENTITY: {"location": "westus2"},
    DISK: {"location": "westus2", "properties": {"creationData": {"createOption": "Empty"}, "diskSizeGB": 32}},
    VM: {"location": "westus2", "properties": {"hardwareProfile": {"vmSize": "Standard_D1_v2"}}},
    ZONE: {"location": "global"},
    PLAN: {"location": "westus3", "sku": {"name": "P1v2"}, "properties": {}},
    SITE: {"location": "westus3", "properties": {}},
    HUB: {"location": "westus2", "sku": {"name": "B1", "capacity": 1}, "properties": {}},
}


@pytest.fixture
def desk():
    return Desk()


def test_there_are_enough_of_them_and_their_ways_of_spelling_exist():
    shipped = packs.shipped()
    assert len(shipped) > 50
    assert {rule.how for habits in shipped.values() for rule in habits.rewrites} <= {*WAYS, "renamed"}
    assert all(isinstance(habits, Habits) for habits in shipped.values())


@pytest.mark.parametrize("type_", SIMPLE)
def test_a_second_put_of_the_same_changes_nothing_but_where_that_is_the_habit(desk, type_):
    id_ = desk.id("thing1", type_)
    first = desk.settled(id_, SIMPLE[type_])
    desk.put(id_, SIMPLE[type_])
    entry = desk.world.journal.entries[-1]
    desk.clock.advance(3_600)
    second = desk.get(id_)
    moving = {PLAN: "maximumElasticWorkerCount", HUB: "routing"}
    assert entry.changed is (type_ in moving)
    assert _without(first, moving.get(type_)) == _without(second, moving.get(type_))


def _without(document, field):
    volatile = {"systemData", "etag", "eTag"}
    kept = {key: value for key, value in document.items() if key not in volatile}
    moved = {field, "updatedAt", "lastModifiedTimeUtc", "agentPoolProfiles", "accessedAt"}
    properties = {key: value for key, value in kept.get("properties", {}).items() if key not in moved}
    return {**kept, "properties": properties}


@pytest.mark.parametrize("type_", SIMPLE)
def test_a_put_of_what_is_shown_changes_nothing(desk, type_):
    id_ = desk.id("thing1", type_)
    shown = desk.settled(id_, SIMPLE[type_])
    if type_ in (VNET, NSG, LB, AKS):
        shown["properties"] = {key: value for key, value in shown["properties"].items() if not isinstance(value, list)}
    desk.put(id_, shown)
    assert desk.world.journal.entries[-1].changed is False


def test_storage_is_patch_like_and_hidden_while_it_is_made(desk):
    id_ = desk.id("store1", STORAGE)
    response = desk.put(id_, {**ACCOUNT, "tags": None})
    assert (response.status, response.body, response.headers["Retry-After"]) == (202, b"", "17")
    assert desk.refused("GET", id_) == (404, "ResourceNotFound")
    desk.clock.advance(20)
    assert desk.send("GET", response.headers["Location"]).json()["name"] == "store1"
    found = desk.get(id_)
    assert found["tags"] == {}
    assert found["sku"] == {"name": "Standard_LRS", "tier": "Standard"}
    assert found["properties"]["minimumTlsVersion"] == "TLS1_2"
    desk.world.console("alice").edit(id_, {"/properties/minimumTlsVersion": "TLS1_0"})
    desk.put(id_, ACCOUNT)
    assert desk.get(id_)["properties"]["minimumTlsVersion"] == "TLS1_0", "what is omitted stays"
    desk.put(id_, {**ACCOUNT, "properties": {"networkAcls": {"ipRules": [{"value": "1.2.3.4/32"}]}}})
    assert desk.get(id_)["properties"]["networkAcls"]["ipRules"] == [{"value": "1.2.3.4"}]
    assert desk.send("POST", f"{id_}/listKeys").json()["keys"][0]["value"] == "key1-of-store1"


def test_a_blob_container_answers_with_less_than_the_next_read_shows(desk):
    id_ = desk.id("store1", STORAGE)
    desk.settled(id_, ACCOUNT)
    assert desk.get(f"{id_}/blobServices/default")["name"] == "default"
    assert desk.refused("DELETE", f"{id_}/blobServices/default") == (405, "MethodNotAllowed")
    box = f"{id_}/blobServices/default/containers/box"
    assert "publicAccess" not in desk.put(box, {}).json()["properties"]
    desk.clock.advance(1)
    assert desk.get(box)["properties"]["publicAccess"] == "None"


def test_a_network_wipes_subnets_that_it_is_not_told_about(desk):
    id_ = desk.id("net", VNET)
    subnet = {"name": "a", "properties": {"addressPrefix": "10.0.1.0/24"}}
    desk.settled(id_, {**NETWORK, "properties": {**NETWORK["properties"], "subnets": [subnet]}})
    desk.settled(f"{id_}/subnets/b", {"properties": {"addressPrefix": "10.0.2.0/24"}})
    shown = desk.get(id_)["properties"]["subnets"]
    assert [item["name"] for item in shown] == ["a", "b"]
    assert shown[0]["properties"]["privateEndpointNetworkPolicies"] == "Disabled"
    assert shown[0]["etag"].startswith('W/"')
    assert desk.settled(id_, NETWORK)["properties"]["subnets"] == []


def test_a_network_that_is_not_ready_is_not_a_throttled_one(desk):
    id_ = desk.id("net", VNET)
    desk.put(id_, NETWORK)
    response = desk.send("PUT", f"{id_}/subnets/a", {"properties": {"addressPrefix": "10.0.1.0/24"}})
    assert (response.status, response.code) == (429, "RetryableError")
    assert response.json()["error"]["details"][0]["code"] == "ReferencedResourceNotProvisioned"
    assert int(response.headers["x-ms-ratelimit-remaining-subscription-writes"]) > 0


def test_network_parts_hold_one_another(desk):
    net, nic = desk.id("net", VNET), desk.id("nic", NIC)
    desk.settled(net, NETWORK)
    body = {"properties": {"subnet": {"id": f"{net}/subnets/a"}}, "name": "ip"}
    card = {"location": "westus2", "properties": {"ipConfigurations": [body]}}
    assert desk.refused("PUT", nic, card) == (400, "InvalidResourceReference")
    desk.settled(f"{net}/subnets/a", {"properties": {"addressPrefix": "10.0.1.0/24"}})
    shown = desk.settled(nic, card)
    assert shown["properties"]["ipConfigurations"][0]["id"] == f"{nic}/ipConfigurations/ip"
    assert desk.refused("DELETE", f"{net}/subnets/a") == (400, "InUseSubnetCannotBeDeleted")


def test_security_groups_embed_their_rules_and_show_rules_nobody_wrote(desk):
    id_ = desk.id("nsg", NSG)
    rule = {"access": "Allow", "direction": "Inbound", "priority": 100, "protocol": "tcp"}
    shown = desk.settled(
        id_, {"location": "westus2", "properties": {"securityRules": [{"name": "r", "properties": rule}]}}
    )
    assert shown["properties"]["securityRules"][0]["properties"]["protocol"] == "Tcp"
    assert shown["properties"]["defaultSecurityRules"][0]["id"] == f"{id_}/defaultSecurityRules/AllowVnetInBound"
    assert desk.get(f"{id_}/securityRules/r")["properties"]["sourcePortRanges"] == []


def test_addresses_and_balancers(desk):
    pip, lb = desk.id("pip", PIP), desk.id("lb", LB)
    address = desk.settled(pip, SIMPLE[PIP])["properties"]["ipAddress"]
    assert desk.settled(pip, SIMPLE[PIP])["properties"]["ipAddress"] == address
    assert desk.refused("PUT", pip, {"location": "westus2", "sku": {"name": "Basic"}})[1] == "PropertyChangeNotAllowed"
    front = {"name": "front", "properties": {"publicIPAddress": {"id": pip}}}
    body = {"location": "westus2", "properties": {"frontendIPConfigurations": [front]}}
    shown = desk.settled(lb, body)["properties"]
    assert shown["frontendIPConfigurations"][0]["id"] == f"{lb}/frontendIPConfigurations/front"
    assert shown["inboundNatRules"] == []
    desk.settled(f"{lb}/inboundNatRules/n", {"properties": {"backendPort": 22, "frontendPort": 23}})
    assert desk.get(lb)["properties"]["inboundNatRules"][0]["properties"]["idleTimeoutInMinutes"] == 4
    assert desk.refused("DELETE", pip) == (400, "PublicIPAddressCannotBeDeleted")


def test_fields_of_newer_versions(desk):
    pip = desk.id("pip", PIP)
    desk.settled(pip, SIMPLE[PIP])
    assert "ddosSettings" not in desk.get(pip, "2020-11-01")["properties"]
    assert desk.get(pip, "2024-03-01")["properties"]["ddosSettings"] == {"protectionMode": "VirtualNetworkInherited"}


def test_clusters_take_null_for_nothing_and_only_an_empty_value_clears(desk):
    id_ = desk.id("aks", AKS)
    pool = {**CLUSTER["properties"]["agentPoolProfiles"][0], "nodeTaints": ["a=b:NoSchedule"], "nodeLabels": {"x": "y"}}
    body = {**CLUSTER, "tags": {}, "properties": {"agentPoolProfiles": [pool], "identityProfile": None}}
    made = desk.put(id_, body)
    assert "Azure-AsyncOperation" in made.headers
    assert desk.get(made.headers["Azure-AsyncOperation"])["status"] == "InProgress"
    assert desk.refused("PUT", id_, body) == (409, "OperationNotAllowed")
    desk.clock.advance(239)
    assert "identityProfile" not in desk.get(id_)["properties"]
    desk.clock.advance(100)
    shown = desk.get(id_)
    assert "/resourcegroups/" in shown["id"]
    assert "tags" not in shown
    assert "kubeletidentity" in shown["properties"]["identityProfile"]
    assert shown["properties"]["agentPoolProfiles"][0]["maxPods"] == 250
    pool |= {"nodeTaints": None, "nodeLabels": {}}
    shown = desk.settled(id_, body)["properties"]["agentPoolProfiles"][0]
    assert shown["nodeTaints"] == ["a=b:NoSchedule"]
    assert "nodeLabels" not in shown
    pool["nodeTaints"] = []
    assert "nodeTaints" not in desk.settled(id_, body)["properties"]["agentPoolProfiles"][0]


def test_pools_of_a_cluster_are_also_resources_and_move_its_etag(desk):
    id_ = desk.id("aks", AKS)
    tag = desk.settled(id_, CLUSTER)["eTag"]
    assert desk.get(f"{id_}/agentPools/ap1")["properties"]["mode"] == "System"
    desk.settled(f"{id_}/agentPools/ap2", {"properties": {"count": 2, "vmSize": "Standard_DS2_v2"}})
    shown = desk.get(id_)
    assert shown["eTag"] != tag
    assert [pool["name"] for pool in shown["properties"]["agentPoolProfiles"]] == ["ap1", "ap2"]
    assert [pool["name"] for pool in desk.settled(id_, CLUSTER)["properties"]["agentPoolProfiles"]] == ["ap1", "ap2"]
    assert desk.refused("PUT", id_, CLUSTER, If_Match="something else") == (412, "PreconditionFailed")
    assert desk.refused("PUT", id_, CLUSTER, If_None_Match="*") == (412, "PreconditionFailed")


@pytest.mark.parametrize("kind, schema", [("MongoDB", "FullFidelity"), ("GlobalDocumentDB", "WellDefined")])
def test_cosmos_shows_regions_by_name_and_defaults_by_kind(desk, kind, schema):
    id_ = desk.id("cosmos", COSMOS)
    made = desk.put(id_, {**SIMPLE[COSMOS], "kind": kind})
    assert (made.status, "Azure-AsyncOperation" in made.headers) == (200, True), "a 200 that is still an operation"
    assert desk.refused("PUT", id_, {**SIMPLE[COSMOS], "kind": kind}) == (412, "PreconditionFailed")
    desk.clock.advance(200)
    shown = desk.get(id_)
    assert shown["location"] == "West US 2"
    assert shown["properties"]["locations"][0]["locationName"] == "West US 2"
    assert shown["properties"]["locations"][0]["id"] == "cosmos-westus2"
    assert shown["properties"]["analyticalStorageConfiguration"] == {"schemaType": schema}


def test_cosmos_adds_a_path_and_forgets_the_options(desk):
    id_ = desk.id("cosmos", COSMOS)
    desk.settled(id_, SIMPLE[COSMOS])
    desk.settled(f"{id_}/sqlDatabases/db", {"location": "westus2", "properties": {"resource": {"id": "db"}}})
    path = f"{id_}/sqlDatabases/db/containers/c"
    policy = {"excludedPaths": [{"path": "/mine/*"}]}
    body = {"properties": {"resource": {"id": "c", "indexingPolicy": policy}, "options": {"throughput": 400}}}
    shown = desk.settled(path, {"location": "westus2", **body})
    assert "location" not in shown
    assert "options" not in shown["properties"]
    paths = shown["properties"]["resource"]["indexingPolicy"]["excludedPaths"]
    assert paths == [{"path": "/mine/*"}, {"path": '/"_etag"/?'}]
    assert desk.refused("DELETE", f"{id_}/sqlDatabases/db/throughputSettings/default") == (405, "MethodNotAllowed")


def test_sql_has_its_own_words_for_done_and_hides_the_password(desk):
    id_ = desk.id("sql", SQL)
    shown = desk.settled(id_, SIMPLE[SQL])
    assert shown["properties"]["state"] == "Ready"
    assert "administratorLoginPassword" not in shown["properties"]
    assert desk.world.stored(id_)["properties"]["administratorLoginPassword"] == "pw"
    base = {"location": "eastus", "properties": {}}
    assert desk.settled(f"{id_}/databases/db", base)["properties"]["maxSizeBytes"] == 34359738368
    basic = {**base, "sku": {"name": "Basic", "tier": "Basic"}}
    assert desk.settled(f"{id_}/databases/db2", basic)["properties"]["maxSizeBytes"] == 2147483648
    audit = f"{id_}/databases/db/auditingSettings/default"
    assert "retentionDays" not in desk.put(audit, {"properties": {"state": "Enabled"}}).json()["properties"]
    desk.clock.advance(1)
    assert desk.get(audit)["properties"]["retentionDays"] == 0


def test_redis_tells_only_by_its_state_and_overrules_what_is_asked_for(desk):
    id_ = desk.id("cache", REDIS)
    sku = SIMPLE[REDIS]["properties"]["sku"]
    wanted = {"sku": sku, "redisVersion": "6", "redisConfiguration": {"maxmemory-delta": "10"}}
    made = desk.put(id_, {"location": "westus2", "properties": wanted})
    assert (made.status, made.json()["properties"]["provisioningState"]) == (201, "Creating")
    assert not {"Azure-AsyncOperation", "Location"} & set(made.headers)
    desk.clock.advance(300)
    shown = desk.get(id_)
    assert (shown["type"], shown["location"]) == ("Microsoft.Cache/Redis", "West US 2")
    assert shown["properties"]["redisVersion"] == "6.0"
    assert shown["properties"]["redisConfiguration"]["maxmemory-delta"] == "642"
    assert shown["properties"]["accessKeys"] is None


def test_vaults_keep_their_names_after_deletion(desk):
    id_ = desk.id("vault", VAULT)
    properties = {**SIMPLE[VAULT]["properties"], "enableSoftDelete": False, "createMode": "default"}
    made = desk.put(id_, {"location": "westus2", "properties": properties})
    assert made.json()["properties"]["provisioningState"] == "RegisteringDns"
    desk.clock.advance(20)
    shown = desk.get(id_)["properties"]
    assert shown["enableSoftDelete"] is True
    assert "createMode" not in shown
    desk.send("DELETE", id_)
    assert desk.refused("PUT", id_, SIMPLE[VAULT]) == (409, "ConflictError")
    desk.world.add_group("other")
    elsewhere = id_.replace("/rg/", "/other/")
    assert desk.refused("PUT", elsewhere, SIMPLE[VAULT]) == (409, "ConflictError")
    desk.put(id_, {"location": "westus2", "properties": {**properties, "createMode": "recover"}})
    assert desk.refused("PUT", elsewhere, SIMPLE[VAULT]) == (409, "VaultAlreadyExists")


def test_bus_topics_fill_in_late_and_change_at_each_look(desk):
    id_ = desk.id("bus", BUS)
    made = desk.put(id_, {**SIMPLE[BUS], "properties": {"zoneRedundant": False}})
    assert made.json()["properties"]["provisioningState"] == "Created"
    desk.clock.advance(60)
    assert desk.get(id_)["properties"]["zoneRedundant"] is True
    topic = f"{id_}/topics/t"
    assert (
        "supportOrdering"
        not in desk.put(topic, {"properties": {"defaultMessageTimeToLive": "PT336H"}}).json()["properties"]
    )
    desk.clock.advance(2)
    first = desk.get(topic)["properties"]
    assert first["supportOrdering"] is True
    assert first["defaultMessageTimeToLive"] == "P14D"
    desk.clock.advance(1)
    assert desk.get(topic)["properties"]["accessedAt"] != first["accessedAt"]


def test_identities_answer_with_a_location_that_is_no_operation(desk):
    id_ = desk.id("me", IDENTITY)
    made = desk.put(id_, SIMPLE[IDENTITY])
    assert (made.status, made.headers["Location"]) == (201, id_)
    first = desk.get(id_)
    assert "/resourcegroups/" in first["id"]
    desk.send("DELETE", id_)
    desk.put(id_, SIMPLE[IDENTITY])
    assert desk.get(id_)["properties"]["principalId"] != first["properties"]["principalId"]


def test_disks_can_do_what_their_sku_can(desk):
    id_ = desk.id("disk", DISK)
    assert desk.settled(id_, SIMPLE[DISK])["properties"]["diskIOPSReadWrite"] == 500
    shown = desk.settled(id_, {**SIMPLE[DISK], "sku": {"name": "Premium_LRS"}})
    assert (shown["properties"]["diskIOPSReadWrite"], shown["sku"]["tier"]) == (2300, "Premium")


def test_machines_wait_for_their_cards(desk):
    net, nic, vm = desk.id("net", VNET), desk.id("nic", NIC), desk.id("vm", VM)
    desk.settled(net, NETWORK)
    desk.settled(f"{net}/subnets/a", {"properties": {"addressPrefix": "10.0.1.0/24"}})
    properties = {
        "osProfile": {"adminUsername": "me", "adminPassword": "pw", "computerName": "c"},
        "networkProfile": {"networkInterfaces": [{"id": nic}]},
    }
    machine = {"location": "westus2", "properties": properties}
    assert desk.refused("PUT", vm, machine) == (404, "NotFound")
    ip = {"name": "ip", "properties": {"subnet": {"id": f"{net}/subnets/a"}}}
    desk.put(nic, {"location": "westus2", "properties": {"ipConfigurations": [ip]}})
    assert desk.refused("PUT", vm, machine) == (409, "ReferencedResourceNotProvisioned")
    desk.clock.advance(10)
    first = desk.settled(vm, machine)
    assert "adminPassword" not in first["properties"]["osProfile"]
    assert "/resourceGroups/RG/" in first["properties"]["networkProfile"]["networkInterfaces"][0]["id"]
    again = desk.settled(vm, machine)
    assert again["properties"]["storageProfile"]["osDisk"] == first["properties"]["storageProfile"]["osDisk"]
    assert again["etag"] != first["etag"]


def test_zones_and_records(desk):
    zone = desk.id("example.com", ZONE)
    assert desk.settled(zone, SIMPLE[ZONE])["type"] == "Microsoft.Network/dnszones"
    record = desk.settled(f"{zone}/TXT/hello", {"properties": {"TTL": 60, "TXTRecords": [{"value": ["x"]}]}})
    assert record["properties"]["fqdn"] == "hello.example.com."
    assert desk.refused("PUT", f"{zone}/TXT/hello", {"properties": {}}, If_Match="old") == (412, "PreconditionFailed")


def test_plans_and_sites(desk):
    plan, site = desk.id("plan", PLAN), desk.id("site", SITE)
    first = desk.settled(plan, SIMPLE[PLAN])
    assert (first["location"], first["sku"]["tier"]) == ("West US 3", "PremiumV2")
    assert first["properties"]["maximumElasticWorkerCount"] == 1
    assert desk.settled(plan, SIMPLE[PLAN])["properties"]["maximumElasticWorkerCount"] == 0
    settings = [{"name": "A", "value": "secret"}]
    body = {"location": "westus3", "properties": {"serverFarmId": plan, "siteConfig": {"appSettings": settings}}}
    shown = desk.settled(site, body)
    assert shown["properties"]["siteConfig"]["appSettings"] is None
    assert shown["properties"]["state"] == "Running"
    refused = desk.send("DELETE", plan)
    assert (refused.status, refused.json()["Code"]) == (409, "Conflict")


def test_a_hub_is_changed_by_a_put_that_changes_nothing(desk):
    id_ = desk.id("hub", HUB)
    assert desk.settled(id_, SIMPLE[HUB])["properties"]["routing"]["fallbackRoute"]["isEnabled"] is True
    assert desk.settled(id_, SIMPLE[HUB])["properties"]["routing"]["fallbackRoute"]["isEnabled"] is False


def test_types_that_cannot_be_read_or_come_back_reversed(desk):
    service = desk.id("api", "Microsoft.ApiManagement/service")
    desk.settled(service, {"location": "westus2"})
    desk.settled(f"{service}/products/p", {})
    link = f"{service}/products/p/apis/a"
    desk.put(link, {})
    assert desk.send("HEAD", link).status == 204
    refused = desk.send("GET", link)
    assert (refused.status, refused.headers["Allow"], set(refused.json())) == (405, "HEAD,PUT,DELETE", {"Message"})
    policy = desk.settled(f"{service}/policies/policy", {"properties": {"value": "<a><b/></a>"}})
    assert policy["properties"]["value"] == "<a>\r\n\t<b/>\r\n</a>"
    front = desk.id("f", "Microsoft.Cdn/profiles")
    desk.put(front, {})
    desk.put(f"{front}/afdEndpoints/e", {})
    sets = [{"id": "1"}, {"id": "2"}]
    shown = desk.settled(f"{front}/afdEndpoints/e/routes/r", {"properties": {"ruleSets": sets}})
    assert shown["properties"]["ruleSets"] == sets[::-1]


def test_apps_wait_for_their_environment(desk):
    env, app = desk.id("env", "Microsoft.App/managedEnvironments"), desk.id("app", "Microsoft.App/containerApps")
    body = {"location": "westus2", "properties": {"environmentId": env, "template": {"containers": [{"name": "c"}]}}}
    assert desk.refused("PUT", app, body) == (404, "ManagedEnvironmentNotFound")
    desk.put(env, {"location": "westus2", "properties": {}})
    assert desk.refused("PUT", app, body) == (409, "ManagedEnvironmentNotProvisioned")
    desk.clock.advance(120)
    profiles = desk.get(env)["properties"]["workloadProfiles"]
    assert profiles == [{"name": "Consumption", "workloadProfileType": "Consumption"}]
    assert desk.settled(app, body)["properties"]["configuration"]["maxInactiveRevisions"] == 100
    assert (
        desk.settled(app, {**body, "tags": {"a": "b"}})["properties"]["configuration"]["maxInactiveRevisions"] is None
    )


def test_a_role_is_shown_with_its_subscription(desk):
    id_ = f"{desk.group}/providers/Microsoft.Authorization/roleAssignments/{TENANT}"
    role = "/providers/Microsoft.Authorization/roleDefinitions/reader"
    shown = desk.settled(id_, {"properties": {"principalId": TENANT, "roleDefinitionId": role}})
    assert shown["properties"]["roleDefinitionId"] == f"/subscriptions/{desk.world.subscription}{role}"
    assert shown["properties"]["scope"] == desk.group


def test_a_server_is_where_chance_put_it(desk):
    id_ = desk.id("pg", "Microsoft.DBforPostgreSQL/flexibleServers")
    body = {"location": "uksouth", "properties": {"maintenanceWindow": {"customWindow": "enabled"}}}
    made = desk.put(id_, body)
    assert made.body == b"null"
    desk.clock.advance(300)
    shown = desk.get(id_)["properties"]
    assert (shown["state"], shown["maintenanceWindow"]["customWindow"]) == ("Ready", "Enabled")
    assert desk.settled(id_, body)["properties"]["availabilityZone"] == shown["availabilityZone"]
