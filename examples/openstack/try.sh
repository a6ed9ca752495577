#!/usr/bin/env bash
# The whole story on a real OpenStack of one's own, on this machine, without root or container: about three minutes the
# first time, most of it for installing the services. Everything it makes is in ./.cloud and ~/.cache/holdfast.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

python=${PYTHON:-python3}
holdfast() { "$python" -m holdfast "$@"; }
say() { printf '\n==> %s\n' "$*"; }

say "a cloud"
"$python" -m holdfast_emulators.openstack up .cloud keystone neutron glance
trap '"$python" -m holdfast_emulators.openstack down .cloud' EXIT
rm -rf .holdfast # what is remembered of an earlier cloud
export OS_CLIENT_CONFIG_FILE=$PWD/.cloud/clouds.yaml OS_CLOUD=local
OPENSTACK=$("$python" -m holdfast_emulators.openstack client .cloud)
export OPENSTACK

say "a tenant in it"
holdfast apply --yes
holdfast check --detailed-exitcode

say "somebody is let loose on it"
bash vandalise.sh
holdfast check --detailed-exitcode || echo "(as expected: exit code $?)"

say "brought back"
holdfast apply --yes
holdfast check --detailed-exitcode
