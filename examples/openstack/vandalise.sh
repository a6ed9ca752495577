#!/usr/bin/env bash
# What people do at three in the morning, with the ordinary client. Needs OS_CLOUD and, unless clouds.yaml lies where
# the client looks for it, OS_CLIENT_CONFIG_FILE.
set -euo pipefail
openstack=${OPENSTACK:-openstack}

"$openstack" network set --description "changed by hand" app
"$openstack" network unset --tag tier-1 app
"$openstack" subnet unset --dns-nameserver 1.1.1.1 app
"$openstack" router set --disable edge
"$openstack" security group rule create --ingress --protocol tcp --dst-port 23 web >/dev/null # telnet, of all things
"$openstack" port delete web-1                                                                # and its address leads nowhere
echo "vandalised: a network, a subnet, a router, a security group, and a port that is gone"
