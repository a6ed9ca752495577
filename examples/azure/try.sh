#!/usr/bin/env bash
# The whole story without an Azure account, in about ten seconds: the emulator stands in for Resource Manager, behind
# TLS. Everything it makes is in ./.azure and ./.holdfast.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

python=${PYTHON:-python3}
holdfast() {
  echo
  echo "\$ holdfast $*"
  "$python" -m holdfast "$@"
}
rm -rf .azure .holdfast # the emulator forgets when it ends; what is remembered of it must go with it
mkdir .azure
"$python" -m holdfast_emulators.azure --port 8943 --certificates .azure >.azure/emulator.json &
emulator=$!
trap 'kill "$emulator"' EXIT
for _ in $(seq 100); do # its first line says that it is there
  [[ -s .azure/emulator.json ]] && break
  kill -0 "$emulator" || exit 1
  sleep 0.1
done
export AZURE_CLIENT_SECRET=not-a-secret

holdfast apply --yes
holdfast check --detailed-exitcode

echo
"$python" portal.py
holdfast check --detailed-exitcode || echo "(as expected: exit code $?, drifted)"
holdfast explain prod/UserAssignedIdentity/reader /tags/owner
holdfast apply --yes
holdfast plan
holdfast corrections
