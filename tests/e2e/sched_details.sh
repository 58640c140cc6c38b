#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/sched_details.sh - the details of "sched" on the live kernel. Counts and sums equal the kernel's own, with
# each way of storing threads (tests/exact/details.c). In skepd a detail ends with its process and leaves no program
# behind. Environment: EXACT_BIN, SKEP, SKEPD, SKEP_PLUGIN_DIRS.
[ -z "${SKEP_SANITIZE:-}" ] || { echo "skip: sanitizers: the test compares figures; the build without sanitizers runs it"; exit 77; }
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
"$EXACT_BIN/details" naps &
naps=$!
children=$naps
wait_for "$SKEP" recognize "$naps" --socket "$work/socket"
"$SKEP" attach offcpu --pid $naps --for 10m --socket "$work/socket" --json >"$work/attached" 2>&1 &
attach=$!
cat >"$work/judge" <<'END'
import json, sys
lines = [line for line in open(sys.argv[1]) if line.endswith("\n")]
records = [r for r in map(json.loads, lines) if r["stream"] == "sched.offcpu"]
lost = [json.loads(line) for line in lines if '"loss"' in line and '"sched.offcpu"' in line]
bad = [f"a record of another process: {r}" for r in records if int(r["upid"].split("-")[1]) != int(sys.argv[2])]
naps = [r for r in records if r["state"] == "sleeping"]
count, total = sum(r["count"] for r in naps), sum(r["sum_ns"] for r in naps)
print(f"{len(naps)} records: {count} naps, {total / 1e6:.1f} ms; lost: {lost}")
if len(naps) < 2:
    bad.append("not a record for each interval")
# on a busy machine a part of a nap goes by before the process leaves its CPU
if count < 50 or total < count * 5e6:
    bad.append("less than 50 naps of 10 ms")
for r in naps:
    h = r["duration"]
    if h["zero_count"] + sum(h["counts"]) != r["count"] or h["sum"] != r["sum_ns"]:
        bad.append(f"the histogram does not add up: {r}")
for b in bad:
    print("not ok -", b)
sys.exit(bool(bad))
END
wait_for /usr/bin/python3 "$work/judge" "$work/out" $naps || :
kill $naps
wait $naps || :
wait $attach || die "skep attach: $(cat "$work/attached")"
"$SKEP" doctor --socket "$work/socket" >"$work/doctor" 2>&1 || :
stop
grep -q 'offcpu detached from pid .*: the process has ended' "$work/log" || die "the detail did not end with its process"
grep -q 'sched.offcpu *off' "$work/doctor" || die "skep doctor still lists the hook: $(cat "$work/doctor")"
/usr/bin/python3 "$work/judge" "$work/out" $naps
echo "ok - a detail through skepd, from attach to the end of its process"
