#!/usr/bin/env bash
# A complete example on a real OpenStack on this machine, without root or container. The first run takes about three
# minutes, most of it for installing the services. The script writes only to ./.cloud and ~/.cache/holdfast.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

python=${PYTHON:-python3}
holdfast() { "$python" -m holdfast "$@"; }
say() { printf '\n==> %s\n' "$*"; }

say "start a cloud"
"$python" -m holdfast_emulators.openstack up .cloud keystone neutron glance
trap '"$python" -m holdfast_emulators.openstack down .cloud' EXIT
rm -rf .holdfast # the store of an earlier cloud
export OS_CLIENT_CONFIG_FILE=$PWD/.cloud/clouds.yaml OS_CLOUD=local
OPENSTACK=$("$python" -m holdfast_emulators.openstack client .cloud)
export OPENSTACK

say "apply a tenant"
holdfast apply --yes
holdfast check --detailed-exitcode

say "change it outside Holdfast"
bash change_outside.sh
holdfast check --detailed-exitcode || echo "(as expected: exit code $?)"

say "correct it"
holdfast apply --yes
holdfast check --detailed-exitcode
