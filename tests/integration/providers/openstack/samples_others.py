"""Samples of the kinds of Keystone, Glance, Nova and Cinder."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from holdfast.model.json import Json
from holdfast.model.resource import Declaration
from tests.integration.providers.openstack.bench import Bench
from tests.integration.providers.openstack.samples_network import net_and_subnet
from tests.integration.providers.openstack.sampling import Drift, Sample, changed


def project(path: str, body: Mapping[str, Json]) -> Drift:
    return Drift(path, changed("/projects", "project", body, "identity", "PATCH"))


def user(path: str, body: Mapping[str, Json]) -> Drift:
    return Drift(path, changed("/users", "user", body, "identity", "PATCH"))


PROJECT = Sample(
    "Project",
    "identity",
    "/projects",
    "project",
    minimal={},
    full={
        "name": "{unique}-full",
        "description": "all there is",
        "enabled": True,
        "tags": ["b", "a"],
        "domainId": "default",
        "parentId": "default",
        "options": {"immutable": False},
    },
    drifts=(
        project("/name", {"name": "vandalised-{unique}"}),
        project("/description", {"description": "altered"}),
        project("/enabled", {"enabled": False}),
        project("/tags", {"tags": ["a", "intruder"]}),
        project("/options/immutable", {"options": {"immutable": True}}),
        project("/options/immutable", {"options": {"immutable": True}, "description": "locked in"}),
    ),
    immutable=("parentId", "{project}"),
    later={"description": "edited", "enabled": False, "tags": ["edited"]},
)

USER = Sample(
    "User",
    "identity",
    "/users",
    "user",
    parents=lambda bench: [bench.declare("Project", f"{bench.tenant.name}-home")],
    minimal={},
    full={
        "name": "{unique}-full",
        "description": "all there is",
        "enabled": True,
        "email": "full@example.org",
        "defaultProjectId": "${Project/{unique}-home.id}",
        "domainId": "default",
        "options": {"ignore_password_expiry": True},
    },
    drifts=(
        user("/name", {"name": "vandalised-{unique}"}),
        user("/description", {"description": "altered"}),
        user("/enabled", {"enabled": False}),
        user("/email", {"email": "vandal@example.org"}),
        user("/defaultProjectId", {"default_project_id": None}),
        user("/options/ignore_password_expiry", {"options": {"ignore_password_expiry": False}}),
    ),
    later={"description": "edited", "enabled": False, "email": "edited@example.org"},
)

MICROVERSION = "2.79"
SERVERS = "2.46"


def image(path: str, *steps: Mapping[str, Json]) -> Drift:
    def act(bench: Bench, ident: str) -> None:
        kind = {"Content-Type": "application/openstack-images-v2.1-json-patch"}
        bench.drift_injector.request("image", "PATCH", f"/images/{ident}", list(steps), headers=kind)

    return Drift(path, act)


def put(path: str, value: Json) -> Mapping[str, Json]:
    return {"op": "add", "path": path, "value": value}


IMAGE = Sample(
    "Image",
    "image",
    "/images",
    "",
    minimal={"diskFormat": "raw", "containerFormat": "bare"},
    full={
        "name": "full-image",
        "visibility": "public",
        "protected": True,
        "tags": ["b", "a"],
        "minDisk": 2,
        "minRam": 128,
        "hidden": False,
        "diskFormat": "raw",
        "containerFormat": "bare",
        "properties": {"os_distro": "debian", "hw_disk_bus": "virtio", "my~odd/name": "x"},
        "content": {"file": "{data}"},
        "projectId": "{project}",
    },
    drifts=(
        image("/name", put("/name", "altered")),
        image("/visibility", put("/visibility", "private")),
        image("/protected", put("/protected", False)),
        image("/tags", put("/tags", ["intruder"])),
        image("/minDisk", put("/min_disk", 3)),
        image("/minRam", put("/min_ram", 64)),
        image("/hidden", put("/os_hidden", True)),
        image("/projectId", put("/owner", "{elsewhere}")),
        image("/properties/os_distro", put("/os_distro", "vandalix")),
        image("/properties/hw_disk_bus", {"op": "remove", "path": "/hw_disk_bus"}),
        image("/properties/my~0odd~1name", put("/my~0odd~1name", "y")),
    ),
    immutable=("containerFormat", "ovf"),
    later={
        "protected": True,
        "tags": ["edited"],
        "minDisk": 5,
        "visibility": "private",
        "hidden": True,
        "properties": {"os_distro": "debian"},
    },
    kept=("os_distro",),
)


def compute(path: str, where: str, body: Json, method: str = "PUT", version: str = MICROVERSION) -> Drift:
    def act(bench: Bench, ident: str) -> None:
        bench.drift_injector.request("compute", method, where.format(id=ident), body, microversion=version)

    return Drift(path, act)


FLAVOR = Sample(
    "Flavor",
    "compute",
    "/flavors",
    "flavor",
    needs=("nova",),
    microversion=MICROVERSION,
    minimal={"ram": 64, "vcpus": 1, "disk": 0},
    full={
        "name": "{unique}-full",
        "description": "all there is",
        "ram": 128,
        "vcpus": 2,
        "disk": 1,
        "swap": 16,
        "ephemeral": 1,
        "rxtxFactor": 1.5,
        "isPublic": False,
        "extraSpecs": {"hw:cpu_policy": "shared", "hw:watchdog_action": "none"},
    },
    drifts=(
        compute("/description", "/flavors/{id}", {"flavor": {"description": "altered"}}),
        compute(
            "/extraSpecs/hw:cpu_policy",
            "/flavors/{id}/os-extra_specs/hw:cpu_policy",
            {"hw:cpu_policy": "dedicated"},
        ),
        compute("/extraSpecs", "/flavors/{id}/os-extra_specs/hw:watchdog_action", None, "DELETE"),
        compute("/extraSpecs", "/flavors/{id}/os-extra_specs", {"extra_specs": {"hw:mem_page_size": "large"}}, "POST"),
    ),
    immutable=("ram", 256),
    later={"description": "edited", "extraSpecs": {"hw:cpu_policy": "dedicated"}},
)

KEY = (
    "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQDx8nkQv/zgGgB4rMYmIf+6A4l6Rr+o/6lHBQdW5aYd44bd8JttDCE/F/pNRr0lRE+PiqSPO8nDPH"
    "w0010JeMH9gYgnnFlyY3/OcJ02RhIPyyxYpv9FhY+2YiUkpwFOcLImyrxEsYXpD/0d3ac30bNH6Sw9JD9UZHYcpSxsIbECHw== me@here"
)
OTHER_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl me@there"


def other_key(bench: Bench, ident: str) -> None:
    """Take the place of a key pair, which cannot be changed."""
    bench.drift_injector.delete("compute", f"/os-keypairs/{ident}", microversion=MICROVERSION)
    body = {"keypair": {"name": ident, "public_key": OTHER_KEY}}
    bench.drift_injector.post("compute", "/os-keypairs", body, microversion=MICROVERSION)


KEY_PAIR = Sample(
    "KeyPair",
    "compute",
    "/os-keypairs",
    "keypair",
    needs=("nova",),
    microversion=MICROVERSION,
    minimal={"publicKey": KEY},
    full={"name": "full-key", "publicKey": KEY, "type": "ssh"},
    drifts=(),
    immutable=("publicKey", OTHER_KEY),
)

SERVER_GROUP = Sample(
    "ServerGroup",
    "compute",
    "/os-server-groups",
    "server_group",
    needs=("nova",),
    microversion=MICROVERSION,
    minimal={"policy": "affinity"},
    full={"name": "full-group", "policy": "anti-affinity", "rules": {"maxServerPerHost": 3}},
    drifts=(),
    immutable=("rules", {"maxServerPerHost": 5}),
)


def cinder(path: str, where: str, body: Json, method: str = "PUT") -> Drift:
    def act(bench: Bench, ident: str) -> None:
        bench.drift_injector.request("block-storage", method, where.format(id=ident), body)

    return Drift(path, act)


VOLUME_TYPE = Sample(
    "VolumeType",
    "block-storage",
    "/types",
    "volume_type",
    needs=("cinder",),
    minimal={},
    full={
        "name": "{unique}-full",
        "description": "all there is",
        "isPublic": False,
        "extraSpecs": {"volume_backend_name": "fake", "replication_enabled": "<is> False"},
    },
    drifts=(
        cinder("/name", "/types/{id}", {"volume_type": {"name": "vandalised-{unique}"}}),
        cinder("/description", "/types/{id}", {"volume_type": {"description": "altered"}}),
        cinder("/isPublic", "/types/{id}", {"volume_type": {"is_public": True}}),
        cinder(
            "/extraSpecs/volume_backend_name",
            "/types/{id}/extra_specs/volume_backend_name",
            {"volume_backend_name": "intruder"},
        ),
        cinder("/extraSpecs", "/types/{id}/extra_specs/replication_enabled", None, "DELETE"),
        cinder("/extraSpecs", "/types/{id}/extra_specs", {"extra_specs": {"intruder": "here"}}, "POST"),
    ),
    later={"description": "edited", "isPublic": False, "extraSpecs": {"volume_backend_name": "fake"}},
)


def _types(bench: Bench) -> list[Declaration]:
    raw = {"diskFormat": "raw", "containerFormat": "bare", "content": {"file": "{data}"}}
    types = [bench.declare("VolumeType", f"{bench.tenant.name}-{name}") for name in ("gold", "iron")]
    return [*types, bench.declare("Image", "image", bench.filled(raw))]


VOLUME = Sample(
    "Volume",
    "block-storage",
    "/volumes",
    "volume",
    needs=("cinder",),
    parents=_types,
    minimal={"size": 1},
    full={
        "name": "full-volume",
        "description": "all there is",
        "size": 2,
        "metadata": {"a": "1", "b": "2"},
        "volumeType": "${VolumeType/{unique}-gold.name}",
        "availabilityZone": "nova",
        "bootable": True,
        "imageId": "${Image/image.id}",
        "multiattach": False,
    },
    drifts=(
        cinder("/name", "/volumes/{id}", {"volume": {"name": "altered"}}),
        cinder("/description", "/volumes/{id}", {"volume": {"description": "altered"}}),
        cinder("/metadata/a", "/volumes/{id}", {"volume": {"metadata": {"a": "9", "b": "2"}}}),
        cinder("/metadata/c", "/volumes/{id}", {"volume": {"metadata": {"a": "1", "b": "2", "c": "3"}}}),
        cinder("/bootable", "/volumes/{id}/action", {"os-set_bootable": {"bootable": False}}, "POST"),
        cinder(
            "/volumeType",
            "/volumes/{id}/action",
            {"os-retype": {"new_type": "{unique}-iron", "migration_policy": "never"}},
            "POST",
        ),
    ),
    later={"description": "edited", "metadata": {"x": "y"}},
)


def _hosted(bench: Bench) -> list[Declaration]:
    """Everything that servers are made of."""
    prefix = bench.tenant.name
    flavor = {"ram": 64, "vcpus": 1, "disk": 0}
    raw = {"diskFormat": "raw", "containerFormat": "bare", "content": {"file": "{data}"}}
    addressed = {"networkId": "${Network/net.id}", "fixedIps": [{"subnetId": "${Subnet/sub.id}"}]}
    return [
        bench.declare("Flavor", f"{prefix}-flavor", flavor),
        bench.declare("Flavor", f"{prefix}-larger", {**flavor, "ram": 128}),
        bench.declare("Image", "image", bench.filled(raw)),
        bench.declare("KeyPair", "key", {"publicKey": KEY}),
        bench.declare("ServerGroup", "group", {"policy": "anti-affinity"}),
        *net_and_subnet(bench),
        *(bench.declare("Port", name, addressed) for name in ("one", "two", "three")),
        *(bench.declare("Volume", name, {"size": 1}) for name in ("data", "more")),
    ]


def _plug(bench: Bench, ident: str) -> None:
    (port,) = bench.drift_injector.get("network", f"/ports?name=three&project_id={bench.tenant.project_id}")["ports"]
    body = {"interfaceAttachment": {"port_id": port["id"]}}
    bench.drift_injector.post("compute", f"/servers/{ident}/os-interface", body, microversion=SERVERS)


def _unplug(bench: Bench, ident: str) -> None:
    (port,) = bench.drift_injector.get("network", f"/ports?name=two&project_id={bench.tenant.project_id}")["ports"]
    bench.drift_injector.delete("compute", f"/servers/{ident}/os-interface/{port['id']}", microversion=SERVERS)
    bench.until(
        lambda: not bench.drift_injector.get("network", f"/ports/{port['id']}")["port"]["device_id"],
        "the port is unplugged",
    )


def _attached(bench: Bench, ident: str) -> list[str]:
    server = bench.drift_injector.get("compute", f"/servers/{ident}", microversion=SERVERS)["server"]
    return [item["id"] for item in server["os-extended-volumes:volumes_attached"]]


def _unmount(bench: Bench, ident: str) -> None:
    (volume,) = _attached(bench, ident)
    bench.drift_injector.delete("compute", f"/servers/{ident}/os-volume_attachments/{volume}", microversion=SERVERS)
    bench.until(lambda: not _attached(bench, ident), "the volume is detached")


def _mount(bench: Bench, ident: str) -> None:
    (volume,) = bench.drift_injector.get("block-storage", "/volumes/detail?name=more")["volumes"]
    body = {"volumeAttachment": {"volumeId": volume["id"]}}
    bench.drift_injector.post("compute", f"/servers/{ident}/os-volume_attachments", body, microversion=SERVERS)
    bench.until(lambda: len(_attached(bench, ident)) == 2, "the volume is attached")


def _stopped(bench: Bench, ident: str) -> None:
    bench.drift_injector.post("compute", f"/servers/{ident}/action", {"os-stop": None}, microversion=SERVERS)

    def is_off() -> bool:
        server = bench.drift_injector.get("compute", f"/servers/{ident}", microversion=SERVERS)["server"]
        return bool(server["status"] == "SHUTOFF")

    bench.until(is_off, "the server is off")


def _resized(bench: Bench, ident: str) -> None:
    flavors = bench.drift_injector.get("compute", "/flavors", microversion=SERVERS)["flavors"]
    (larger,) = [flavor["id"] for flavor in flavors if flavor["name"] == f"{bench.tenant.name}-larger"]

    def is_now(status: str) -> bool:
        server = bench.drift_injector.get("compute", f"/servers/{ident}", microversion=SERVERS)["server"]
        return bool(server["status"] == status)

    for action, status in (({"resize": {"flavorRef": larger}}, "VERIFY_RESIZE"), ({"confirmResize": None}, "ACTIVE")):
        bench.drift_injector.post("compute", f"/servers/{ident}/action", action, microversion=SERVERS)
        bench.until(partial(is_now, status), f"the server is in {status}")


SERVER = Sample(
    "Server",
    "compute",
    "/servers",
    "server",
    needs=("nova", "cinder"),
    microversion=SERVERS,
    parents=_hosted,
    minimal={"flavorId": "${Flavor/{unique}-flavor.id}", "imageId": "${Image/image.id}"},
    full={
        "name": "full-server",
        "description": "all there is",
        "flavorId": "${Flavor/{unique}-flavor.id}",
        "imageId": "${Image/image.id}",
        "keyName": "${KeyPair/key.id}",
        "metadata": {"a": "1", "b": "2"},
        "tags": ["s"],
        "interfaces": [{"portId": "${Port/one.id}"}, {"portId": "${Port/two.id}"}],
        "volumes": [{"volumeId": "${Volume/data.id}"}],
        "serverGroupId": "${ServerGroup/group.id}",
        "userData": "#cloud-config",
        "schedulerHints": {"mine": "kept"},
        "configDrive": True,
        "availabilityZone": "nova",
        "powerState": "running",
    },
    drifts=(
        compute("/name", "/servers/{id}", {"server": {"name": "altered"}}, version=SERVERS),
        compute("/description", "/servers/{id}", {"server": {"description": "altered"}}, version=SERVERS),
        compute("/metadata/a", "/servers/{id}/metadata", {"metadata": {"a": "9", "b": "2"}}, version=SERVERS),
        compute("/metadata", "/servers/{id}/metadata", {"metadata": {}}, version=SERVERS),
        compute("/tags", "/servers/{id}/tags", {"tags": ["intruder"]}, version=SERVERS),
        Drift("/powerState", _stopped),
        Drift("/flavorId", _resized),
        Drift("/interfaces", _unplug),
        Drift("/interfaces", _plug),
        Drift("/volumes", _unmount),
        Drift("/volumes", _mount),
    ),
    immutable=("configDrive", False),
    later={
        "description": "edited",
        "metadata": {"x": "y"},
        "tags": ["edited"],
        "flavorId": "${Flavor/{unique}-larger.id}",
    },
)


def _bootable(bench: Bench) -> list[Declaration]:
    boot = {"size": 1, "imageId": "${Image/image.id}"}
    return [*_hosted(bench), bench.declare("Volume", "boot", boot)]


SERVER_FROM_VOLUME = Sample(
    "Server",
    "compute",
    "/servers",
    "server",
    variant="from-volume",
    needs=("nova", "cinder"),
    microversion=SERVERS,
    parents=_bootable,
    minimal={"flavorId": "${Flavor/{unique}-flavor.id}", "bootVolumeId": "${Volume/boot.id}"},
    full={
        "flavorId": "${Flavor/{unique}-flavor.id}",
        "bootVolumeId": "${Volume/boot.id}",
        "networkIds": ["${Network/net.id}"],
        "volumes": [{"volumeId": "${Volume/boot.id}"}, {"volumeId": "${Volume/data.id}"}],
    },
    drifts=(compute("/name", "/servers/{id}", {"server": {"name": "altered"}}, version=SERVERS),),
    unseen=("${Subnet/sub.id}",),
)
