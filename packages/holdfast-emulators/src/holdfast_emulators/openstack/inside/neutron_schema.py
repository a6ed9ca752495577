"""Runs inside Neutron's environment: makes its tables.

The chain of migrations runs neither on SQLite nor on recent PostgreSQL, so the tables come from the models, and the
four template rules that a migration would have inserted (without them new security groups are empty) from here.
"""

from __future__ import annotations

import sys
import uuid

import sqlalchemy as sa
from neutron.db.migration.models import head

RULES = (  # direction, family, remote, also for groups that are not the default one
    ("egress", "IPv4", None, True),
    ("egress", "IPv6", None, True),
    ("ingress", "IPv4", "PARENT", False),
    ("ingress", "IPv6", "PARENT", False),
)

engine = sa.create_engine(sys.argv[1])
head.get_metadata().create_all(engine)
with engine.begin() as connection:
    metadata = sa.MetaData()
    metadata.reflect(connection, only=["standardattributes", "securitygroupdefaultrules"])
    attributes, rules = metadata.tables["standardattributes"], metadata.tables["securitygroupdefaultrules"]
    for direction, family, remote, elsewhere in RULES:
        made = connection.execute(attributes.insert().values(resource_type=rules.name, revision_number=0))
        values = {
            "id": str(uuid.uuid4()),
            "standard_attr_id": made.inserted_primary_key[0],
            "direction": direction,
            "ethertype": family,
            "remote_group_id": remote,
            "used_in_default_sg": True,
            "used_in_non_default_sg": elsewhere,
        }
        connection.execute(rules.insert().values(**values))
