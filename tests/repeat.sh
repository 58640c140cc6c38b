#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/repeat.sh [RUNS [LOADED]] - does CI give one verdict?  Runs .ci/run RUNS times (5), each in a fresh clone of
# HEAD, the last LOADED of them (2) with a busy loop on each core beside it.  Prints for each run: verdict, minutes, the
# names of its flaky tests, of its failed ones.  Exits 1 unless all runs pass.  As root; each run takes up to 90
# minutes.
set -euo pipefail
src=$(cd "$(dirname "$0")/.." && pwd)
runs=${1:-5} loaded=${2:-2} hang=5400
work=$(mktemp -d "${TMPDIR:-/tmp}/skep-repeat.XXXXXX")
loops=()
end_loops() {
	[ ${#loops[@]} -eq 0 ] || kill "${loops[@]}" 2>/dev/null || true
	loops=()
}
trap end_loops EXIT
trap 'exit 130' HUP INT TERM
rc=0
printf '%3s %-6s %-7s %7s  %s\n' run beside verdict minutes 'flaky; failed'
for ((run = 1; run <= runs; run++)); do
	clone=$work/$run beside=idle verdict=green began=$SECONDS
	git clone -q "$src" "$clone"
	if [ $run -gt $((runs - loaded)) ]; then
		beside=loops
		for ((cpu = 0; cpu < $(nproc); cpu++)); do
			timeout "$hang" sh -c 'while :; do :; done' &
			loops+=($!)
		done
	fi
	(cd "$clone" && exec env --default-signal CI=true timeout -k 30 "$hang" bash .ci/run) </dev/null >"$work/$run.log" 2>&1 ||
		verdict=red rc=1
	end_loops
	printf '%3d %-6s %-7s %7d  %s; %s\n' $run $beside $verdict $(((SECONDS - began + 30) / 60)) \
		"$(sed -n 's/^flaky: *//p' "$work/$run.log")" "$(sed -n 's/^failed: *//p' "$work/$run.log")"
	[ $verdict = red ] || rm -rf "$clone"
done
echo "logs: $work"
exit $rc
