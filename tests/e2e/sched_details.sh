#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/sched_details.sh - the details of "sched" on the live kernel. Counts and sums equal the kernel's own, with
# each way of storing threads (tests/exact/details.c). In skepd a detail ends with its process and leaves no program
# behind. Environment: EXACT_BIN, SKEP, SKEPD, SKEP_PLUGIN_DIRS.
[ -z "${SKEP_SANITIZE:-}" ] || { echo "skip: sanitizers: the test compares figures; the build without sanitizers runs it"; exit 77; }
. "$(dirname "$0")/../attempts.sh"
name=details
. "$(dirname "$0")/probe_lib.sh"
"$EXACT_BIN/details" hash
rc=0
"$EXACT_BIN/details" task || rc=$?
[ $rc -eq 77 ] || [ $rc -eq 0 ] || exit $rc

cat >"$work/conf" <<END
{ "interval": "500ms",
  "probes": [ { "plugin": "proc", "required": true }, { "plugin": "sched", "required": true } ],
  "sinks": [ { "plugin": "file", "path": "$work/out" } ],
  "control": { "socket": "$work/socket" } }
END
start
sleep 1 # until its first scan is over
"$EXACT_BIN/details" naps &
naps=$!
sleep 1 # until skepd knows the process
"$SKEP" attach offcpu --pid $naps --for 30s --socket "$work/socket" --json >"$work/attached" 2>&1 ||
	die "skep attach: $(cat "$work/attached")"
wait $naps
"$SKEP" doctor --socket "$work/socket" >"$work/doctor" 2>&1 || :
stop
grep -q 'offcpu detached from pid .*: the process has ended' "$work/log" || die "the detail did not end with its process"
grep -q 'sched.offcpu *off' "$work/doctor" || die "skep doctor still lists the hook: $(cat "$work/doctor")"
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
# skepd attached the detail some time after the first nap
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
