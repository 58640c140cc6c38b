#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/sched_details.sh - the details of "sched" on the live kernel: counts and sums equal the kernel's own
# (tests/exact/details.c), with each way of storing threads; and through skepd, where a detail ends with its process and
# leaves no program behind. Environment: EXACT_BIN, SKEP, SKEPD, SKEP_PLUGIN_DIRS.
[ -z "${SKEP_SANITIZE:-}" ] || { echo "skip: sanitizers: figures are compared, for which the build without them is there"; exit 77; }
set -eu
. "$(dirname "$0")/../attempts.sh"
[ "$(id -u)" = 0 ] || { echo "skip: needs root (BPF)"; exit 77; }
"$EXACT_BIN/details" hash
rc=0
"$EXACT_BIN/details" task || rc=$?
[ $rc -eq 77 ] || [ $rc -eq 0 ] || exit $rc

work=$(mktemp -d "${TMPDIR:-/tmp}/skep-details.XXXXXX")
cat >"$work/conf" <<END
{ "interval": "500ms",
  "probes": [ { "plugin": "proc", "required": true }, { "plugin": "sched", "required": true } ],
  "sinks": [ { "plugin": "file", "path": "$work/out" } ],
  "control": { "socket": "$work/socket" } }
END
"$SKEPD" -f -c "$work/conf" 2>"$work/log" &
skepd=$!
trap 'kill $skepd 2>/dev/null || :; rm -rf "$work"' EXIT
i=0
until grep -q collects "$work/log"; do
	i=$((i + 1))
	[ $i -lt 100 ] || { echo "not ok - skepd did not start: $(cat "$work/log")"; exit 1; }
	sleep 0.1
done
sleep 1 # its first sweep
"$EXACT_BIN/details" naps &
naps=$!
sleep 1 # until skepd knows the process
"$SKEP" attach offcpu --pid $naps --for 30s --socket "$work/socket" --json >"$work/attached" 2>&1 ||
	{ echo "not ok - skep attach: $(cat "$work/attached")"; exit 1; }
wait $naps
"$SKEP" doctor --socket "$work/socket" >"$work/doctor" 2>&1 || :
kill -TERM $skepd
wait $skepd || { echo "not ok - skepd: status $?: $(cat "$work/log")"; exit 1; }
grep -q 'offcpu detached from pid .*: the process has ended' "$work/log" ||
	{ echo "not ok - the detail did not end with its process: $(cat "$work/log")"; exit 1; }
grep -q 'sched.offcpu *off' "$work/doctor" ||
	{ echo "not ok - the hook is still said to be there: $(cat "$work/doctor")"; exit 1; }
/usr/bin/python3 - "$work/out" $naps <<'END'
import json, sys
records = [r for r in map(json.loads, open(sys.argv[1])) if r["stream"] == "sched.offcpu"]
lost = [json.loads(line) for line in open(sys.argv[1]) if '"loss"' in line and '"sched.offcpu"' in line]
bad = [f"a record of another process: {r}" for r in records if int(r["upid"].split("-")[1]) != int(sys.argv[2])]
naps = [r for r in records if r["state"] == "sleeping"]
count, total = sum(r["count"] for r in naps), sum(r["sum_ns"] for r in naps)
print(f"{len(naps)} records: {count} naps, {total / 1e6:.1f} ms; lost: {lost}")
if len(naps) < 2:
    bad.append("not a record for each interval")
# it was attached some time after the first nap
if not 50 <= count <= 600 or total < count * 10e6:
    bad.append("600 naps of 10 ms at most, 50 at least")
for r in naps:
    h = r["duration"]
    if h["zero_count"] + sum(h["counts"]) != r["count"] or h["sum"] != r["sum_ns"]:
        bad.append(f"the histogram does not add up: {r}")
for b in bad:
    print("not ok -", b)
sys.exit(bool(bad))
END
echo "ok - a detail through skepd, from attach to the end of its process"
