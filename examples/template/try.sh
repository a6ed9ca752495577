#!/bin/sh
# A fleet of ten: made, rolled, paused half way, resumed, undone. Works in a copy; nothing here is changed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
cp -r "$here/infra" "$here/holdfast.yaml" "$work"
cd "$work" && mkdir fleet
step() { printf '\n$ %s\n' "$*"; "$@"; }

step holdfast apply -f infra
step ls fleet

sed -i.bak 's/image: web:1.0/image: web:2.0/' infra/web.yaml && rm infra/web.yaml.bak
step holdfast plan -f infra            # how many children, in which waves
step holdfast apply -f infra
step holdfast rollout history web -f infra
step holdfast explain fleet/Document/web-3-r1

step holdfast rollout undo web -f infra
step holdfast apply -f infra
step holdfast rollout status web -f infra

step holdfast upgrade --dry-run -f infra
step holdfast delete -f infra --yes
echo "all of it was in $work"
