#!/usr/bin/env bash
# A fleet of ten files: created, rolled out, undone. The script works in a copy and changes nothing here.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

python=${PYTHON:-python3}
holdfast() {
  echo
  echo "\$ holdfast $*"
  "$python" -m holdfast "$@"
}
work=$(mktemp -d)
cp -r infra holdfast.yaml "$work"
cd "$work"
mkdir fleet

holdfast apply --yes -f infra
ls fleet

sed -i.bak 's/image: web:1.0/image: web:2.0/' infra/web.yaml
rm infra/web.yaml.bak
holdfast plan -f infra # shows how many children are rolled, in which waves
holdfast apply --yes -f infra
holdfast rollout history web -f infra
holdfast explain fleet/Document/web-3-r1

holdfast rollout undo web -f infra
holdfast apply --yes -f infra
holdfast rollout status web -f infra

sed -i.bak 's/ami: ami-1/ami: ami-2/' infra/api.yaml # a live part: written first, then its children roll
rm infra/api.yaml.bak
holdfast plan -f infra
holdfast apply --yes -f infra

holdfast upgrade-check -f infra
holdfast delete -f infra --yes
echo "all files are in $work"
