#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/exact/exact.sh - every figure of skep against the figures that the kernel gives the parent of each process
# (wait4, /proc/PID/io). Environment: SKEP, SKEP_PLUGIN_DIRS, EXACT_BIN (where workload, drive, storm, tiny are),
# LONGEST (ms; default 2000).
set -eu
. "$(dirname "$0")/../wait.sh"
[ "$(id -u)" = 0 ] || { echo "skip: needs root (BPF)"; exit 77; }
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/skep-exact.XXXXXX")
trap 'rm -rf "$work"' EXIT
"$SKEP" run --no-report --no-live --lake "$work/lake" --json "$work/report.json" -- \
	"$EXACT_BIN/drive" "$EXACT_BIN/workload" "$work" "$work/truth.json" "${LONGEST:-2000}"
/usr/bin/python3 "$here/compare.py" "$work/truth.json" "$work/report.json" "$@"
echo "ok - every process exact"
