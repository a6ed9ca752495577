#!/usr/bin/env bash
# The whole story on a real OpenStack of one's own, on this machine, without root or container: about three minutes the
# first time, most of it for installing the services. Everything it makes is in ./.cloud and ~/.cache/holdfast.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

python=${PYTHON:-python3}
"$python" -m holdfast.testing.openstack up .cloud keystone neutron glance
trap '"$python" -m holdfast.testing.openstack down .cloud' EXIT
export OS_CLIENT_CONFIG_FILE=$PWD/.cloud/clouds.yaml OS_CLOUD=local
OPENSTACK=$("$python" -m holdfast.testing.openstack client .cloud)
export OPENSTACK

holdfast() { "$python" -m holdfast "$@"; }
holdfast apply --yes
holdfast check --detailed-exitcode
bash vandalise.sh
holdfast check --detailed-exitcode || echo "(as expected: exit code $?, drifted)"
holdfast apply --yes
holdfast check --detailed-exitcode
