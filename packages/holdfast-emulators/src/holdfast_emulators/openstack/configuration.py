"""The services' configuration files: everything on loopback, in SQLite files, with an in-process message bus."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from holdfast_emulators.openstack import install

SERVICES: Final = ("keystone", "neutron", "glance", "placement", "nova", "cinder")
CATALOGUE: Final = {  # service -> its type, and the path of its API
    "neutron": ("network", ""),
    "glance": ("image", ""),
    "placement": ("placement", ""),
    "nova": ("compute", "/v2.1"),
    "cinder": ("block-storage", "/v3"),
}
HOST: Final = "127.0.0.1"
REGION: Final = "RegionOne"
PASSWORD: Final = "secret"  # noqa: S105 - of services that only this machine can reach

_UNLIMITED: Final = ("network", "subnet", "port", "router", "floatingip", "security_group", "security_group_rule")
_DRIVERS: Final = """[neutron.ml2.mechanism_drivers]
holdfast_bindall = holdfast_neutron:BindAll
"""

Section = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Layout:
    """Where a control plane lives: its folder, its environment, and the first of its ports."""

    folder: Path
    python: Path
    base_port: int

    def port(self, service: str) -> int:
        """Return the port of a service."""
        return self.base_port + SERVICES.index(service)

    def url(self, service: str) -> str:
        """Return the address of a service."""
        return f"http://{HOST}:{self.port(service)}"

    @property
    def identity(self) -> str:
        """The address of Keystone's API."""
        return self.url("keystone") + "/v3"

    @property
    def var(self) -> Path:
        """The folder of databases and other state."""
        return self.folder / "var"

    @property
    def etc(self) -> Path:
        """The folder of configuration files."""
        return self.folder / "etc"

    @property
    def logs(self) -> Path:
        """The folder of logs."""
        return self.folder / "log"

    @property
    def plugins(self) -> Path:
        """The folder that the services find our drivers in."""
        return self.folder / "plug"

    @property
    def share(self) -> Path:
        """Where the wheels put their paste files."""
        return self.python.parent.parent / "etc"

    def database(self, name: str) -> str:
        """Return the URL of a database."""
        return f"sqlite:///{self.var}/{name}.sqlite"


def configure(layout: Layout) -> None:
    """Write all files; what is there already is written again."""
    for name in ("lock", "images", "staging", "tasks", "neutron", "nova/instances", "cinder"):
        (layout.var / name).mkdir(parents=True, exist_ok=True)
    layout.logs.mkdir(exist_ok=True)
    for name, sections in (
        ("keystone/keystone.conf", _keystone(layout)),
        ("neutron/neutron.conf", _neutron(layout)),
        ("glance/glance-api.conf", _glance(layout)),
        ("placement/placement.conf", _placement(layout)),
        ("nova/nova.conf", _nova(layout)),
        ("cinder/cinder.conf", _cinder(layout)),
    ):
        _write(layout.etc / name, sections)
    paste = (layout.share / "nova/api-paste.ini").read_text()
    (layout.etc / "nova/api-paste.ini").write_text(paste)
    _plug(layout)


def _write(file: Path, sections: Mapping[str, Section]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    lines: list[str] = []
    for name, options in sections.items():
        lines += [f"[{name}]", *(f"{option} = {value}" for option, value in options.items())]
    file.write_text("\n".join(lines) + "\n")


def _plug(layout: Layout) -> None:
    """Offer our two drivers, and what serves the applications, through PYTHONPATH alone."""
    about = layout.plugins / "holdfast_plug-0.dist-info"
    about.mkdir(parents=True, exist_ok=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: holdfast-plug\nVersion: 0\n")
    (about / "entry_points.txt").write_text(_DRIVERS)
    for name in ("serve.py", "holdfast_neutron.py", "holdfast_cinder.py"):
        (layout.plugins / name).write_text(install.inside(name).read_text())


def _store(layout: Layout, name: str) -> Section:
    return {"connection": layout.database(name), "sqlite_synchronous": "false"}


def _credentials(layout: Layout, user: str) -> Section:
    return {
        "auth_url": layout.identity,
        "auth_type": "password",
        "username": user,
        "password": PASSWORD,
        "project_name": "service",
        "project_domain_id": "default",
        "user_domain_id": "default",
    }


def _tokens(layout: Layout, user: str) -> Section:
    own = {"www_authenticate_uri": layout.identity, "service_token_roles_required": "true"}
    return {**_credentials(layout, user), **own}


def _client(layout: Layout, user: str) -> Section:
    return {**_credentials(layout, user), "region_name": REGION}


def _common(layout: Layout, name: str) -> Section:
    return {"log_file": layout.logs / f"{name}.log", "transport_url": "fake:///", "rpc_response_timeout": 60}


def _messages(layout: Layout) -> Mapping[str, Section]:
    return {"oslo_concurrency": {"lock_path": layout.var / "lock"}, "oslo_messaging_notifications": {"driver": "noop"}}


def _keystone(layout: Layout) -> Mapping[str, Section]:
    keys = layout.etc / "keystone"
    return {
        "DEFAULT": {"log_file": layout.logs / "keystone.log"},
        "database": _store(layout, "keystone"),
        "fernet_tokens": {"key_repository": keys / "fernet-keys"},
        "fernet_receipts": {"key_repository": keys / "fernet-keys"},  # else it writes below /etc
        "credential": {"key_repository": keys / "credential-keys"},
        "cache": {"enabled": "true", "backend": "dogpile.cache.memory"},  # else validating a token takes half a second
        "identity": {"password_hash_rounds": 4},
    }


def _neutron(layout: Layout) -> Mapping[str, Section]:
    return {
        "DEFAULT": {
            **_common(layout, "neutron"),
            "state_path": layout.var / "neutron",
            "api_paste_config": layout.share / "neutron/api-paste.ini",
            "auth_strategy": "keystone",
            "core_plugin": "ml2",
            "service_plugins": "router,trunk,qos",
            "dns_domain": "holdfast.test.",  # with the usual one the names of ports are not kept
            "dhcp_agent_notification": "false",
            "notify_nova_on_port_status_changes": "false",
            "notify_nova_on_port_data_changes": "false",
        },
        "database": _store(layout, "neutron"),
        "keystone_authtoken": _tokens(layout, "neutron"),
        "placement": _client(layout, "placement"),
        "quotas": {f"quota_{name}": -1 for name in _UNLIMITED},
        "ml2": {
            "type_drivers": "local,flat,vlan,vxlan",
            "tenant_network_types": "vxlan",
            "mechanism_drivers": "openvswitch,holdfast_bindall",  # the first only because the trunk plugin insists
            "extension_drivers": "port_security,qos,subnet_dns_publish_fixed_ip",  # the last has all of dns in it
        },
        "ml2_type_vxlan": {"vni_ranges": "1:2000"},  # each is a row made at start
        "ml2_type_flat": {"flat_networks": "*"},
        "ml2_type_vlan": {"network_vlan_ranges": "physnet1:100:400,physnet2:100:1000"},
        **_messages(layout),
    }


def _glance(layout: Layout) -> Mapping[str, Section]:
    return {
        "DEFAULT": {**_common(layout, "glance"), "enabled_backends": "local:file"},
        "database": _store(layout, "glance"),
        "glance_store": {"default_backend": "local"},
        "local": {"filesystem_store_datadir": layout.var / "images"},
        "os_glance_staging_store": {"filesystem_store_datadir": layout.var / "staging"},
        "os_glance_tasks_store": {"filesystem_store_datadir": layout.var / "tasks"},
        "paste_deploy": {"flavor": "keystone", "config_file": layout.share / "glance/glance-api-paste.ini"},
        "keystone_authtoken": _tokens(layout, "glance"),
        **_messages(layout),
    }


def _placement(layout: Layout) -> Mapping[str, Section]:
    return {
        "DEFAULT": {"log_file": layout.logs / "placement.log"},
        "api": {"auth_strategy": "keystone"},
        "placement_database": {**_store(layout, "placement"), "sync_on_startup": "true"},
        "keystone_authtoken": _tokens(layout, "placement"),
    }


def _nova(layout: Layout) -> Mapping[str, Section]:
    return {
        "DEFAULT": {
            **_common(layout, "nova"),
            "host": "fakehost",
            "state_path": layout.var / "nova",
            "compute_driver": "fake.FakeDriverWithoutFakeNodes",  # the plain one makes a new node at every start
            "instances_path": layout.var / "nova/instances",
            "concurrency_backend": "threading",
            "service_down_time": 86400,
            "allow_resize_to_same_host": "true",  # there is no other
        },
        "api": {"auth_strategy": "keystone"},
        "api_database": _store(layout, "nova_api"),
        "database": _store(layout, "nova_cell1"),
        "glance": {"api_servers": layout.url("glance")},
        "neutron": _client(layout, "neutron"),
        "placement": _client(layout, "placement"),
        "cinder": {**_credentials(layout, "nova"), "os_region_name": REGION},
        "service_user": {"send_service_user_token": "true", **_credentials(layout, "nova")},
        "keystone_authtoken": _tokens(layout, "nova"),
        "filter_scheduler": {"track_instance_changes": "false"},
        "vnc": {"enabled": "false"},
        **_messages(layout),
    }


def _cinder(layout: Layout) -> Mapping[str, Section]:
    return {
        "DEFAULT": {
            **_common(layout, "cinder"),
            "host": "fakehost",
            "state_path": layout.var / "cinder",
            "auth_strategy": "keystone",
            "api_paste_config": layout.share / "cinder/api-paste.ini",
            "resource_query_filters_file": layout.share / "cinder/resource_filters.json",
            "enabled_backends": "fake",
            "periodic_interval": 1,  # the scheduler sleeps that long at start
            "periodic_fuzzy_delay": 0,
            "service_down_time": 86400,
        },
        "fake": {"volume_driver": "holdfast_cinder.FakeDriver", "volume_backend_name": "fake"},
        "database": _store(layout, "cinder"),
        "coordination": {"backend_url": f"file://{layout.var}/cinder"},
        "keystone_authtoken": _tokens(layout, "cinder"),
        **_messages(layout),
    }
