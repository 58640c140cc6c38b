#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/cgroup.sh - the probe "cgroup" on this kernel's cgroups, v1 or v2: compares its records with the files of
# a cgroup that lives through several intervals, one that lives 100 ms, and one that runs out of memory; and the path of
# a cgroup that is deeper than the probe "proc" goes up in the kernel (PROC_CGROUP_DEPTH).
# Environment: SKEPD, SKEP_PLUGIN_DIRS.
set -u
. "$(dirname "$0")/../wait.sh"
here=$(cd "$(dirname "$0")" && pwd)
skip() { echo "skip: $*"; exit 77; }
[ "$(id -u)" = 0 ] || skip "needs root (BPF, cgroups)"
for plugin in proc cgroup file; do
	[ -e "$SKEP_PLUGIN_DIRS/$plugin.so" ] || skip "the plugin $plugin is not built"
done
work=$(mktemp -d "${TMPDIR:-/tmp}/skep-cgroup.XXXXXX")
daemon= beside= top=skep-test-$$ mounted=
clean() {
	[ -z "$daemon$beside" ] || kill $daemon $beside 2>/dev/null
	[ -z "$beside" ] || wait "$beside" 2>/dev/null
	for c in /sys/fs/cgroup /sys/fs/cgroup/*; do
		[ -d "$c/$top" ] && find "$c/$top" -depth -type d -exec rmdir {} \; 2>/dev/null
	done
	[ -z "$mounted" ] || umount /sys/fs/cgroup
	rm -rf "$work"
}
trap clean EXIT
trap 'exit 1' INT TERM HUP
if ! grep -q cgroup /proc/self/mountinfo; then
	mount -t cgroup2 none /sys/fs/cgroup && mounted=1 || skip "no cgroups are mounted, and cgroup v2 cannot be"
fi
# The folders in which the test makes its cgroup.
if [ -e /sys/fs/cgroup/memory/cgroup.procs ]; then
	version=1 folders=
	for c in memory cpu cpuacct pids; do [ -e "/sys/fs/cgroup/$c/cgroup.procs" ] && folders="$folders /sys/fs/cgroup/$c"; done
else
	version=2 folders=/sys/fs/cgroup
	for c in memory cpu pids io; do echo "+$c" >/sys/fs/cgroup/cgroup.subtree_control 2>/dev/null; done
	grep -q memory /sys/fs/cgroup/cgroup.subtree_control || skip "cgroup v2 without its memory controller"
fi
first=${folders%% /*} first=/sys/fs/cgroup${folders#*/sys/fs/cgroup} first=${first%% *}
mkdir "$first/$top" 2>/dev/null || skip "cgroups cannot be made in $first"
rmdir "$first/$top"
make() { # NAME MEMORY-LIMIT
	local f
	for f in $folders; do
		mkdir -p "$f/$top"
		[ $version = 1 ] || for c in memory cpu pids io; do echo "+$c" >"$f/$top/cgroup.subtree_control" 2>/dev/null; done
		mkdir "$f/$top/$1"
	done
	if [ $version = 1 ]; then
		echo "$2" >"/sys/fs/cgroup/memory/$top/$1/memory.limit_in_bytes"
		echo "$2" >"/sys/fs/cgroup/memory/$top/$1/memory.memsw.limit_in_bytes" 2>/dev/null
		echo 20000 >"/sys/fs/cgroup/cpu/$top/$1/cpu.cfs_quota_us"
	else
		echo "$2" >"$first/$top/$1/memory.max"
		echo 0 >"$first/$top/$1/memory.swap.max" 2>/dev/null
		echo '20000 100000' >"$first/$top/$1/cpu.max"
	fi
}
enter() { for f in $folders; do echo $BASHPID >"$f/$top/$1/cgroup.procs"; done; }
remove() { # NAME [SECONDS]: removes it shortly after its last process ends, as a runtime does
	sleep "${2:-0.05}"
	for f in $folders; do rmdir "$f/$top/$1"; done
}

cat >"$work/skepd.conf" <<END
{ "interval": "500ms", "plugin_dirs": [ "$SKEP_PLUGIN_DIRS" ], "control": { "socket": false },
  "probes": [ { "plugin": "proc", "required": true }, { "plugin": "cgroup", "required": true } ],
  "sinks": [ { "plugin": "file", "path": "$work/out" } ] }
END
"$SKEPD" -c "$work/skepd.conf" 2>"$work/log" & daemon=$!
wait_skepd "$daemon" "$work/log" || exit $?
grep -q 'no hooks' "$work/log" && { cat "$work/log"; exit 1; }

make beside 200000000
(enter beside; exec sleep 1000) & beside=$!
make long 200000000
(enter long; exec python3 -c '
import os, sys
hold = bytearray(40 << 20)
while not os.path.exists(sys.argv[1]): pass' "$work/over") &
cpu=$first
[ $version = 2 ] || cpu=/sys/fs/cgroup/cpu
wait_for grep -q '^nr_throttled [1-9]' "$cpu/$top/long/cpu.stat"
wait_for has 3 '"stream":"cgroup".*"cgroup":"'"/$top/long\"" "$work/out"
touch "$work/over"
wait $!
if [ $version = 1 ]; then
	cat "/sys/fs/cgroup/cpuacct/$top/long/cpuacct.usage" >"$work/cpu"
	cat "/sys/fs/cgroup/memory/$top/long/memory.max_usage_in_bytes" >"$work/peak"
	sed -n 's/^nr_throttled //p' "/sys/fs/cgroup/cpu/$top/long/cpu.stat" >"$work/throttled"
else
	sed -n 's/^usage_usec \(.*\)/\1000/p' "$first/$top/long/cpu.stat" >"$work/cpu"
	cat "$first/$top/long/memory.peak" >"$work/peak" 2>/dev/null || echo 0 >"$work/peak"
	sed -n 's/^nr_throttled //p' "$first/$top/long/cpu.stat" >"$work/throttled"
fi
remove long
kill "$beside"; wait "$beside"; beside=
remove beside
# A slow machine reads it only when it stays longer.
for seconds in 0.05 0.1 0.2 0.4 0.8 1.6 3.2 6.4; do
	make "short$seconds" 200000000
	(enter "short$seconds"; exec sleep 0.1)
	remove "short$seconds" $seconds
	gone='"stream":"cgroup".*"cgroup":"'"/$top/short$seconds\".*\"gone\":true"
	wait_for grep -q "$gone" "$work/out"
	! grep "$gone" "$work/out" | grep -q '"cpu_ns":[1-9]' || break
done
make oom 20000000
(enter oom; exec python3 -c 'hold = bytearray(60 << 20)') >/dev/null 2>&1
remove oom
deep=$(printf 'level/%.0s' $(seq 30))deep
for f in $folders; do mkdir -p "$f/$top/$deep"; done
# skepd looks for the whole path while the process lives
for seconds in 1 2 4 8 16; do
	(enter "$deep"; exec sleep $seconds)
	recorded "$work/out"
	! grep -q '"stream":"process.exit".*"cgroup":"[^"]*/deep"' "$work/out" || break
done
for f in $folders; do (cd "$f/$top" && rmdir -p "$deep"); done
# A limit far above its victim; with cgroup v1 it may not hold there (memory.use_hierarchy).
if [ $version = 2 ]; then
	make far 20000000
	mkdir -p "$first/$top/far/$deep"
	level=$first/$top/far
	for i in $(seq 31); do echo +memory >"$level/cgroup.subtree_control"; level=$level/level; done
	(enter "far/$deep"; exec python3 -c 'hold = bytearray(60 << 20)') >/dev/null 2>&1
	recorded "$work/out"
	(cd "$first/$top/far" && rmdir -p "$deep")
	remove far
fi
cat >"$work/judge" <<'END'
import json, sys
work, top, version = sys.argv[1:]
records = [json.loads(line) for line in open(work + "/out") if line.endswith("\n")]
failures = 0
def check(what, good, detail=""):
    global failures
    print(("ok - " if good else "FAIL - ") + what + ("" if good else f": {detail}"))
    failures += not good
def of(name): return [r for r in records if r["stream"] == "cgroup" and r["cgroup"].startswith(f"{top}/{name}")]
def number(name): return int(open(f"{work}/{name}").read())
def total(rs, key): return sum(r[key] for r in rs)

rs = of("long")
cpu, peak, throttled = number("cpu"), number("peak"), number("throttled")
check("a cgroup that stays has several records", len(rs) >= 3, len(rs))
check("only the last record says that the cgroup is gone", [r["gone"] for r in rs] == [False] * (len(rs) - 1) + [True], [r["gone"] for r in rs])
got = total(rs, "cpu_ns")
check(f"CPU time {got / 1e6:.1f} ms, in the cgroup's file {cpu / 1e6:.1f}", abs(got - cpu) <= 0.02 * cpu + 2e6)
check(f"throttled in {total(rs, 'cpu_throttled_periods')} periods, in the cgroup's file {throttled}",
      total(rs, "cpu_throttled_periods") == throttled > 0 and total(rs, "cpu_throttled_ns") > 0)
check("the record has the quota, a fifth of a CPU", rs[0]["cpu_limit"] == 0.2, rs[0]["cpu_limit"])
check("the record has the memory limit", abs(rs[0]["memory_limit_bytes"] - 200000000) < 65536, rs[0]["memory_limit_bytes"])
check(f"memory peak {rs[-1]['memory_peak_bytes']}, in the cgroup's file {peak or 'none'}",
      rs[-1]["memory_peak_bytes"] >= 40 << 20 and (peak == 0 or rs[-1]["memory_peak_bytes"] == peak))
check("a record counts a process in the cgroup", max(r["pids"] for r in rs) >= 1)
check("a pass gives its records one time", len({r["time"] for r in rs} & {r["time"] for r in of("beside")}) >= 2)
check("the cgroup above them repeats nothing", not [r for r in records if r["stream"] == "cgroup" and r["cgroup"] == top and r["cpu_ns"]])
rs = of("short")
check("a cgroup of 100 ms: a record reports its end", [r["gone"] for r in rs][-1:] == [True], rs)
check("a cgroup of 100 ms: the last record has its memory peak", rs and rs[-1]["memory_peak_bytes"] > 0, rs)
check("a cgroup of 100 ms: a record has its CPU time, read when the last process left", any("cpu" in r["controllers"] and r["cpu_ns"] > 0 for r in rs), rs)
rs = of("oom")
check("the cgroup that ran out of memory: the kernel killed one process", total(rs, "oom_kills") == 1 and total(rs, "oom_events") >= 1, rs)
check("the cgroup that ran out of memory: its peak is the limit", rs and abs(max(r["memory_peak_bytes"] for r in rs) - 20000000) < 2 << 20, rs)
ends = [r for r in records if r["stream"] == "process.exit"]
paths = {r["cgroup"] for r in ends if r["cgroup"].endswith("/deep") and "/far/" not in r["cgroup"]}
check("a cgroup 32 levels down has its whole path", paths == {f"{top}/" + 30 * "level/" + "deep"}, paths)
if version == "2":
    hit = {r["oom_cgroup"]: r["oom_limit_bytes"] for r in ends if r["oom_cgroup"]}
    check("the limit that was hit is 31 levels above the victim", 0 <= 20000000 - hit.get(f"{top}/far", 0) < 65536, hit)
sys.exit(1 if failures else 0)
END
wait_for python3 "$work/judge" "$work" "/$top" $version
kill "$daemon"; wait "$daemon"; daemon=
python3 "$work/judge" "$work" "/$top" $version
