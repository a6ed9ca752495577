#!/usr/bin/env bash
# A complete example on a real Kubernetes API server on this machine, without root or container: about a minute. The
# programs come from ../shared/bin beside the repository, or from the folder HOLDFAST_KUBE_BIN. The script writes only to
# ./.cluster, ./.holdfast and ~/.cache/holdfast.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

python=${PYTHON:-python3}
holdfast() { "$python" -m holdfast "$@"; }
say() { printf '\n==> %s\n' "$*"; }

say "start a cluster"
rm -rf .holdfast .cluster # of an earlier run
"$python" -m holdfast_emulators.kubernetes up .cluster
trap '"$python" -m holdfast_emulators.kubernetes down .cluster' EXIT

say "apply a shop"
holdfast plan -f k8s/
holdfast apply -f k8s/ --yes
holdfast check -f k8s/ --detailed-exitcode

say "change it outside Holdfast"
"$python" edit.py
holdfast check -f k8s/ --detailed-exitcode || echo "(as expected: exit code $?)"

say "correct it"
holdfast apply -f k8s/ --yes
holdfast check -f k8s/ --detailed-exitcode || echo "(the label is reported: exit code $?)"
