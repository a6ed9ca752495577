#!/usr/bin/env bash
# The whole story in about half a minute, without servers of your own: monitoring.py stands in for Prometheus and
# Alertmanager. Everything it makes is in ./live and ./.holdfast.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

python=${PYTHON:-python3}
holdfast() {
  echo
  echo "\$ holdfast $*"
  "$python" -m holdfast "$@"
}
rm -rf live .holdfast
mkdir live
"$python" monitoring.py 8944 &
monitoring=$!
trap 'kill "$monitoring"' EXIT
for _ in $(seq 100); do
  "$python" -c 'import urllib.request; urllib.request.urlopen("http://127.0.0.1:8944/-/ready")' 2>/dev/null && break
  kill -0 "$monitoring" || exit 1
  sleep 0.1
done

holdfast apply --yes

echo
echo "Somebody makes the cache big. The memory rises, an alert fires, and Holdfast puts the file back:"
sed -i.old 's/cache: small/cache: big/' live/cart.yaml
"$python" -c 'import time; time.sleep(6)' # for Prometheus to see it
holdfast apply --yes
echo
echo "Did it hold, and did it help?"
holdfast remediation assess --wait
holdfast remediation list shop/Document/cart

echo
echo "A runbook scales the service, and says so; meanwhile somebody else changes it, too:"
holdfast remediation start shop/Document/cart --action scale --alert HighMemory --label service=cart
sed -i.old 's/workers: 4/workers: 8/' live/cart.yaml
holdfast remediation complete shop/Document/cart
sed -i.old 's/workers: 8/workers: 2/' live/cart.yaml
holdfast remediation assess --wait shop/Document/cart
holdfast remediation list shop/Document/cart
holdfast events --type effectiveness.assessment.completed -o json
holdfast audit verify
