#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The sinks prometheus and remote_write in ordinary use: skepd with the probe host, promtool on the page, a Prometheus
# server that scrapes the page, receives remote_write and answers queries; VictoriaMetrics where it is installed. Needs
# no privilege; 77 without prometheus.
[ -z "${SKEP_SANITIZE:-}" ] || { echo "skip: sanitizers: third-party servers are queried by the build without them"; exit 77; }
set -eu
. "$(dirname "$0")/../wait.sh"
work=$(mktemp -d)
pids=()
cleanup() {
	for p in "${pids[@]}"; do kill "$p" 2>/dev/null || :; done
	for p in "${pids[@]}"; do wait "$p" 2>/dev/null || :; done
	rm -rf "$work"
}
trap cleanup EXIT
die() { echo "scrape.sh: $*" >&2; exit 1; }
skip() { echo "scrape.sh: skipped: $*"; exit 77; }
# (tests/faults/prometheus.sh gives other versions.)
prometheus=${PROMETHEUS:-$(command -v prometheus)} && promtool=${PROMTOOL:-$(command -v promtool)} ||
	skip "no prometheus here; apt-get install -y --no-install-recommends prometheus"
command -v curl >/dev/null || skip "no curl here"

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
port=$(free_port) web=$(free_port) vm=$(free_port)
conf=${abs_srcdir:-$(dirname "$0")/../..}/tests/faults/scrape.conf
sed "s/@PORT@/$port/; s/@WEB@/$web/; s/@VICTORIA@/$vm/; s,@PLUGINS@,${SKEP_PLUGIN_DIRS:?the folder of the plugins}," "$conf" >"$work/skepd.conf"
"${SKEPD:-./skepd}" -c "$work/skepd.conf" >"$work/skepd.log" 2>&1 &
pids+=($!)

page() { curl -sf "http://127.0.0.1:$port/metrics" -o "$work/plain" && grep -q '^skep_system_cpu_time_user_seconds_total{' "$work/plain"; }
wait_for eval 'page || ! kill -0 "${pids[0]}"'
grep -q '^skep_system_cpu_time_user_seconds_total{.*host="h1"' "$work/plain" || { cat "$work/skepd.log" >&2; die "no figure of the host on the page"; }
curl -sf "http://127.0.0.1:$port/-/healthy" | grep -q 'skep is there' || die "/-/healthy does not answer"

# promtool checks the page: no complaint at all
"$promtool" check metrics <"$work/plain" >"$work/promtool" 2>&1 || { cat "$work/promtool" >&2; die "promtool does not like the page"; }

cat >"$work/prometheus.yml" <<END
global: { scrape_interval: 1s }
scrape_configs: [ { job_name: skep, static_configs: [ { targets: [ "127.0.0.1:$port" ] } ] } ]
END
"$prometheus" --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/tsdb" --web.listen-address="127.0.0.1:$web" \
	--web.enable-remote-write-receiver >"$work/prometheus.log" 2>&1 &
pids+=($!)
victoria=${VICTORIA:-$(command -v victoria-metrics || :)}
if [ -n "$victoria" ]; then
	"$victoria" -storageDataPath="$work/victoria" -httpListenAddr="127.0.0.1:$vm" -retentionPeriod=1d >"$work/victoria.log" 2>&1 &
	pids+=($!)
fi
ask() { # QUERY [PORT]
	curl -sf "http://127.0.0.1:${2:-$web}/api/v1/query" --data-urlencode "query=$1" | jq -r '.data.result[0].value[1] // empty'
}
enough() { # HOST: it has six samples
	local n
	n=$(ask "count_over_time(skep_system_cpu_time_idle_seconds_total{cpu=\"all\",host=\"$1\"}[2m])") && [ "${n:-0}" -ge 6 ]
}
for h in h1 h2; do
	wait_for enough $h || { tail -n 5 "$work/prometheus.log" "$work/skepd.log" >&2; die "the server has no six samples of $h"; }
done
up=$(ask 'up{job="skep"}')
[ "$up" = 1 ] || die "the server says up=$up"
# The states of all CPUs together grow by the number of CPUs a second. Between the first and the last sample: written
# samples have the record's time; scraped ones are coarse by the steps of probe and scrapes, a second each.
cpus() { # HOST
	curl -sf "http://127.0.0.1:$web/api/v1/query" --data-urlencode \
		"query={__name__=~\"skep_system_cpu_time_(user|nice|system|idle|iowait|interrupt|softirq|steal)_seconds_total\",cpu=\"all\",host=\"$1\"}[2m]" |
		jq -r '[.data.result[].values | select(length > 2) | .[1:] | select(length > 1) |
			((.[-1][1] | tonumber) - (.[0][1] | tonumber)) / (.[-1][0] - .[0][0])] | add // empty'
}
check() { # WHAT RATE TOLERANCE
	awk -v r="${2:-0}" -v n="$(nproc)" -v t="$3" 'BEGIN { exit !(r > n * (1 - t) && r < n * (1 + t)) }' ||
		die "$1: CPU time grows by ${2:-nothing} a second on $(nproc) CPUs"
}
rate=$(cpus h1)
check "scraped" "$rate" 0.5
written=$(cpus h2)
check "written to Prometheus" "$written" 0.1
if [ -n "$victoria" ]; then
	# its query evaluates 30 s ago by default, and at whole steps
	n=$(curl -sf "http://127.0.0.1:$vm/api/v1/export" --data-urlencode 'match[]=skep_system_cpu_time_idle_seconds_total{host="h3"}' | jq '.values | length')
	[ "${n:-0}" -ge 3 ] || { cat "$work/skepd.log" >&2; die "VictoriaMetrics has ${n:-no} samples"; }
fi
scraped=$(ask 'scrape_samples_scraped{job="skep"}')
kill "${pids[0]}"
wait "${pids[0]}" || die "skepd ended with status $?"
echo "scrape.sh: promtool finds nothing wrong; $scraped samples a scrape; CPU time grows by $rate s/s as scraped, $written as written, on $(nproc) CPUs; VictoriaMetrics $([ -z "$victoria" ] && echo is not here || echo "has $n samples")"
