#!/usr/bin/env bash
# A complete example in about half a minute, without a server: monitoring.py replaces Prometheus and Alertmanager. The
# script writes only to ./live and ./.holdfast.
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
echo "A user enlarges the cache. Memory rises, an alert fires, and Holdfast reverts the change:"
sed -i.old 's/cache: small/cache: big/' live/cart.yaml
"$python" -c 'import time; time.sleep(6)' # until Prometheus has scraped it
holdfast apply --yes
echo
echo "Did the correction hold, and did it help?"
holdfast remediation assess --wait
holdfast remediation list shop/Document/cart

echo
echo "A runbook announces that it scales the service. Another writer changes the service at the same time:"
holdfast remediation start shop/Document/cart --action scale --alert HighMemory --label service=cart
sed -i.old 's/workers: 4/workers: 8/' live/cart.yaml
holdfast remediation complete shop/Document/cart
sed -i.old 's/workers: 8/workers: 2/' live/cart.yaml
holdfast remediation assess --wait shop/Document/cart
holdfast remediation list shop/Document/cart
holdfast events --type effectiveness.assessment.completed -o json
holdfast audit verify
