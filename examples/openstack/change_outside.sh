#!/usr/bin/env bash
# Changes the tenant outside Holdfast, with the ordinary client. Needs OS_CLOUD and, unless clouds.yaml is in a default
# folder of the client, OS_CLIENT_CONFIG_FILE.
set -euo pipefail
openstack=${OPENSTACK:-openstack}

"$openstack" network set --description "changed by hand" app
"$openstack" network unset --tag tier-1 app
"$openstack" subnet unset --dns-nameserver 1.1.1.1 app
"$openstack" router set --disable edge
"$openstack" security group rule create --ingress --protocol tcp --dst-port 23 web >/dev/null # telnet
"$openstack" port delete web-1 # its floating IP has no target now
echo "changed: a network, a subnet, a router, a security group; deleted: a port"
