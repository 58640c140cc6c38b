#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/kernels/signals.sh - every probe starts on this kernel, and each signal has the method that expected/ says: the
# test thereby checks the choice of each fallback chain, and a missing signal is a line that a person has once read.
# expected/SERIES-CGROUP has "probe signal state how" lines, as this script writes them to /results/signals; "matrix.sh
# -u" puts them there. A kernel newer than all tables is compared with the newest table: it may have more signals, and
# then gets a table of its own. Environment as tests/e2e.
set -u
export LC_ALL=C.UTF-8
here=$(cd "$(dirname "$0")" && pwd)
[ -e /run/host/settings ] || { echo "skip: the tables are for the guests of tests/kernels"; exit 77; }
cgroup=v2
# shellcheck disable=SC1091 # run-in.sh's
. /run/host/settings
work=$(mktemp -d "${TMPDIR:-/tmp}/skep-signals.XXXXXX")
trap 'rm -rf "$work"' EXIT
release=$(uname -r)
series=$(cut -d . -f 1,2 <<<"${release%%[-+]*}")

probes=''
for so in "$SKEP_PLUGIN_DIRS"/*.so; do
	name=$(basename "$so" .so)
	options=
	[ "$name" != net ] || options=', "calls": true' # off by default, and the chain with most fallbacks
	[ ! -d "$here/../../plugins/$name" ] || probes="$probes${probes:+, }{ \"plugin\": \"$name\"$options }"
done
echo "{ \"interval\": \"1s\", \"probes\": [ $probes ], \"sinks\": [ { \"plugin\": \"file\", \"path\": \"$work/out\" } ] }" >"$work/conf"
"$SKEPD" --tryload --json -c "$work/conf" >"$work/json" 2>"$work/err"
status=$?
cp "$work/json" /results/signals.json 2>/dev/null
/usr/bin/python3 - "$work/json" >"$work/signals" <<'END' || { cat "$work/err"; exit 1; }
import json, sys
for plugin in json.load(open(sys.argv[1]))["plugins"]:
    if plugin["kind"] != "probe":
        continue
    if plugin["state"] != "running":
        print(plugin["name"], "-", plugin["state"], plugin["reason"], sep="\t")
    for signal in plugin["signals"]:
        print(plugin["name"], signal["name"], signal["state"], signal["how"] or "", sep="\t")
END
sort -o "$work/signals" "$work/signals"
cp "$work/signals" /results/signals 2>/dev/null
failed=$(awk -F '\t' '$2 == "-"' "$work/signals")
if [ -n "$failed" ]; then
	echo "not ok - these probes do not start on $release:"
	echo "$failed"
	cat "$work/err"
	exit 1
fi
[ $status -eq 0 ] || { echo "not ok - skepd --tryload: status $status"; cat "$work/err"; exit 1; }

table=$here/expected/$series-$cgroup
if [ -e "$table" ]; then
	if diff -U 0 "$table" "$work/signals" >"$work/diff"; then
		echo "ok - $(wc -l <"$work/signals") signals as $series has them"
		exit 0
	fi
	echo "not ok - signals differ from expected/$series-$cgroup (if that is right: tests/kernels/matrix.sh -u):"
	grep '^[-+][^-+]' "$work/diff"
	exit 1
fi
newest=$(basename -a "$here"/expected/*-"$cgroup" | sort -V | tail -n 1)
[ "$(printf '%s\n' "$newest" "$series-$cgroup" | sort -V | tail -n 1)" = "$series-$cgroup" ] ||
	{ echo "skip: no table expected/$series-$cgroup; to make it: tests/kernels/matrix.sh -u"; exit 77; }
lost=$(awk -F '\t' 'NR == FNR { if ($3 == "ok") had[$1 " " $2] = 1; next } ($1 " " $2) in had && $3 != "ok"' \
	"$here/expected/$newest" "$work/signals")
if [ -n "$lost" ]; then
	echo "not ok - $release lacks what $newest has:"
	echo "$lost"
	exit 1
fi
echo "ok - Linux $series has no table yet; nothing of $newest is missing (to make one: tests/kernels/matrix.sh -u)"
