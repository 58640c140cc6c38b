#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The alerts of packaging/prometheus: promtool finds the rules right, each alert fires in its case of
# rules.test.yaml and
# only there, and no alert is without a case. Needs no privilege; 77 without promtool.
set -eu
src=${abs_srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
promtool=${PROMTOOL:-$(command -v promtool)} || { echo "skip: no promtool here; apt-get install -y prometheus"; exit 77; }
rules=$src/packaging/prometheus/skep.rules.yaml cases=$src/tests/grafana/rules.test.yaml
"$promtool" check rules "$rules"
"$promtool" test rules "$cases"
failed=0
for alert in $(sed -n 's/^ *- alert: //p' "$rules"); do
	# A case that must fire has labels of the alert.
	awk -v alert="$alert" '/alertname:/ { at = $0 ~ "alertname: " alert "[ ,]*$" } at && /exp_labels:/ { found = 1 } END { exit !found }' "$cases" ||
		{ echo "rules.sh: no case of rules.test.yaml lets $alert fire"; failed=1; }
done
exit $failed
