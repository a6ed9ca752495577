#!/usr/bin/env bash
# A complete example without an Azure account, in about ten seconds. A local emulator replaces Resource Manager, behind
# TLS. The script writes only to ./.azure and ./.holdfast.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

python=${PYTHON:-python3}
holdfast() {
  echo
  echo "\$ holdfast $*"
  "$python" -m holdfast "$@"
}
rm -rf .azure .holdfast # the emulator keeps no state, so an old store would not match it
mkdir .azure
"$python" -m holdfast_emulators.azure --port 8943 --certificates .azure >.azure/emulator.json &
emulator=$!
trap 'kill "$emulator"' EXIT
for _ in $(seq 100); do # its first line of output means that it is ready
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
