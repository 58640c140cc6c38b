#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/ring_full.sh - the test stops skepd (SIGSTOP) while more happens than its ring can hold. skepd counts the
# records without room. The end and the totals of every process still arrive, through the kernel's maps, and equal the
# results of wait4. Afterwards skepd records everything again. Environment: SKEPD, SKEP_PLUGIN_DIRS, EXACT_BIN,
# STORM_SECONDS (1; slow hosts take longer to fill the ring).
name=ring
. "$(dirname "$0")/probe_lib.sh"
cat >"$work/conf" <<END
{ "interval": "1s",
  "probes": [ { "plugin": "proc", "required": true, "ring": "64KiB" } ],
  "sinks": [ { "plugin": "file", "path": "$work/out" } ] }
END
start
recorded "$work/out"
long=$(printf '%08000d' 0)
/bin/echo roomy "$long" >"$work/echo"
wait_for grep -q '"roomy"' "$work/out"
kill -STOP $skepd
# Fills the ring. Once it is half full the programs cut long arguments, so that more records find room.
i=0
while [ $i -lt 50 ]; do
	/bin/echo crowded "$long" >"$work/echo"
	i=$((i + 1))
done
# about ten times the ring's size, and less than the size of the map for totals
"$EXACT_BIN/storm" "$EXACT_BIN/tiny" 1500 "${STORM_SECONDS:-1}" >"$work/storm"
kill -CONT $skepd
wait_for grep -q '"loss".*"process.exec"' "$work/out"
"$EXACT_BIN/storm" "$EXACT_BIN/tiny" 50 1 >"$work/after"
cat >"$work/judge" <<'END'
import json, os, sys
work = sys.argv[1]
storm, after = (json.load(open(f"{work}/{f}")) for f in ("storm", "after"))
records = [json.loads(line) for line in open(f"{work}/out") if line.endswith("\n")]
images = [r for r in records if r["stream"] == "process.exit"]
known = {r["upid"] for r in images if (r["exe"] or "").endswith("/tiny")}
lost = {}
for r in records:
    if r["stream"] == "loss":
        lost[r["loss.stream"]] = lost.get(r["loss.stream"], 0) + r["count"]
# the children of the two storms, also the ones with few fields
parents = {r["upid"] for r in images if (r["exe"] or "").endswith("/storm") and r["last"]}
unknown = {}
for r in images:
    if r["upid"] not in known and "/storm" not in (r["exe"] or ""):
        unknown.setdefault(r["upid"], []).append(r)
print(f"while stopped {storm['processes']} processes; after it {after['processes']}; lost: {lost}")
cpu = sum(r["cpu_ns"] for r in images if r["upid"] in known) / 1000
stubs = [u for u, rs in unknown.items() if rs[-1]["approx"] & 64]
cpu += sum(r["cpu_ns"] for u in stubs for r in unknown[u]) / 1000
truth = storm["cpu_us"] + after["cpu_us"]
started = storm["processes"] + after["processes"]
bad = []
if lost.get("process.fork", 0) + lost.get("process.exec", 0) == 0:
    bad.append("the ring was not full: the test tests nothing")
if lost.get("process.exit_event", 0) > 0:
    bad.append("ends were lost, for which a map has room")
sizes = {"roomy": set(), "crowded": set()} # of all words
for r in images:
    if (r["exe"] or "").endswith("/echo") and r["argv"][1:2] in (["roomy"], ["crowded"]):
        sizes[r["argv"][1]].add(sum(len(word) + 1 for word in r["argv"]))
if min(sizes["roomy"], default=0) < 8000:
    bad.append(f"while the ring was empty, 8 KiB of arguments were cut: {sizes}")
cut = [n for n in sizes["crowded"] if n < 8000]
if not cut or min(cut) <= 900 or max(cut) > 1025:
    bad.append(f"while half of the ring was full, arguments were not cut to 1 KiB: {sizes}")
finals = lost.get("process.final", 0)
# Other programs run on this host too, so the records have at least our processes and their time. With sanitizers skepd
# is slow, and while it has the CPU the kernel may skip the programs of one end in a thousand (skep/preempt.h).
slack = started // 100 if os.environ.get("SKEP_SANITIZE") else 0
if len(known) + len(stubs) + finals + slack < started:
    bad.append(f"{started} processes, records of {len(known)} + {len(stubs)}")
if not finals and cpu < truth * 0.999:
    bad.append(f"CPU: skep {cpu:.0f} us, wait4 {truth} us")
# Bit 1: split; bit 8: the memory peak of so small a process is only a bound.
late = sum(1 for r in images if r["upid"] in known and r["execed"] and r["last"] and not r["approx"] & ~9)
if late + finals < after["processes"]:
    bad.append(f"after it: {late} of {after['processes']} processes known in full")
for b in bad:
    print("not ok -", b)
sys.exit(1 if bad else 0)
END
wait_for /usr/bin/python3 "$work/judge" "$work" || :
stop
/usr/bin/python3 "$work/judge" "$work"
echo "ok - a full ring: counted, totals complete, healed"
